"""Confounds of a study and how they are removed from the features of graphs."""

from isonn.confounds.adjustment import Adjustment
from isonn.confounds.columns import Confounds
from isonn.confounds.combat import Combat
from isonn.confounds.regression import CHUNK, Nuisance, check_determined, slope_matrix, subtract

__all__ = ["CHUNK", "Adjustment", "Combat", "Confounds", "Nuisance", "check_determined", "slope_matrix", "subtract"]
