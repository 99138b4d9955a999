"""Heads: what reads the features of graphs and predicts."""

from isonn.heads.base import HEADS, Head, get_head, register_head
from isonn.heads.ensemble import EnsembleHead
from isonn.heads.forest import ForestHead
from isonn.heads.linear import LinearHead

__all__ = ["HEADS", "EnsembleHead", "ForestHead", "Head", "LinearHead", "get_head", "register_head"]
