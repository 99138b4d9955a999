"""Heads predict from features and counts of graphs: sums (ridge), logic (boosted trees), and both, weighed."""

from isonn.heads.calibration import temperature
from isonn.heads.data import Distinct, Inputs
from isonn.heads.folds import join_groups
from isonn.heads.head import HEADS, Contributions, Head, get_head, register_head
from isonn.heads.linear import LARGEST_SQUARE, PENALTIES, LinearHead, leave_one_out
from isonn.heads.scale import held_out_loss, prefers_logarithm
from isonn.heads.stacked import StackedHead
from isonn.heads.trees import TreesHead

__all__ = [
    "HEADS",
    "LARGEST_SQUARE",
    "PENALTIES",
    "Contributions",
    "Distinct",
    "Head",
    "Inputs",
    "LinearHead",
    "StackedHead",
    "TreesHead",
    "get_head",
    "held_out_loss",
    "join_groups",
    "leave_one_out",
    "prefers_logarithm",
    "register_head",
    "temperature",
]
