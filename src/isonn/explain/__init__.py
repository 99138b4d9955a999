"""Explanations: matches and their contributions, template cards, and tests of faithfulness."""

from isonn.explain.cards import Example, TemplateCard, template_cards
from isonn.explain.explanation import Explanation, Match, MatchedGraph, Occurrences, explain_matched
from isonn.explain.faithfulness import Faithfulness, edge_auroc, edge_removal, faithfulness

__all__ = [
    "Example",
    "Explanation",
    "Faithfulness",
    "Match",
    "MatchedGraph",
    "Occurrences",
    "TemplateCard",
    "edge_auroc",
    "edge_removal",
    "explain_matched",
    "faithfulness",
    "template_cards",
]
