"""Predict files of any size with a saved model: in processes or on a cluster, resumable, with memory that stays flat.

`screen` is what ``isonn predict`` runs: `isonn.screening.sources` reads DATA in pieces, `isonn.screening.predictions`
predicts a piece, with the columns of `isonn.screening.columns` that options add, `isonn.screening.partial` keeps
finished pieces, and `isonn.screening.output` writes the file.
"""

from isonn.screening.predictions import Best
from isonn.screening.run import Screened, screen

__all__ = ["Best", "Screened", "screen"]
