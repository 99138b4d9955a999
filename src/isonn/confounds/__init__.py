"""Confounds of a study and how they are removed from the features of graphs."""

from isonn.confounds.adjustment import CHUNK, Adjustment, Nuisance, check_determined, slope_matrix, subtract
from isonn.confounds.columns import Confound, confound_strata
from isonn.confounds.combat import Combat

__all__ = [
    "CHUNK",
    "Adjustment",
    "Combat",
    "Confound",
    "Nuisance",
    "check_determined",
    "confound_strata",
    "slope_matrix",
    "subtract",
]
