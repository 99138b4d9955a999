"""Explanations: matches and their contributions, and tests of faithfulness."""

from isonn.explain.explanation import Explanation, Match
from isonn.explain.faithfulness import Faithfulness, edge_auroc, edge_removal, faithfulness
from isonn.explain.matched import MatchedGraph, Occurrences

__all__ = [
    "Explanation",
    "Faithfulness",
    "Match",
    "MatchedGraph",
    "Occurrences",
    "edge_auroc",
    "edge_removal",
    "faithfulness",
]
