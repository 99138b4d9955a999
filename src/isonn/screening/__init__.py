"""Predict files of any size with a saved model: in processes or on a cluster, resumable, with memory that stays flat.

`screen` is what ``isonn predict`` runs. `isonn.screening.sources` reads DATA in pieces, `isonn.screening.pieces`
predicts one piece, `isonn.screening.partial` keeps what is finished, and `isonn.screening.columns` holds the columns
that options add, such as reasons.
"""

from isonn.screening.pieces import Best
from isonn.screening.run import Screened, screen

__all__ = ["Best", "Screened", "screen"]
