"""Explanations: matches and their contributions, template cards, and tests of faithfulness."""

from isonn.explain.cards import TemplateCard, template_cards
from isonn.explain.explanation import Explanation, Match
from isonn.explain.faithfulness import Faithfulness, edge_auroc, edge_removal, faithfulness
from isonn.explain.matched import MatchedGraph, Occurrences

__all__ = [
    "Explanation",
    "Faithfulness",
    "Match",
    "MatchedGraph",
    "Occurrences",
    "TemplateCard",
    "edge_auroc",
    "edge_removal",
    "faithfulness",
    "template_cards",
]
