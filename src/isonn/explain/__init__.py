"""Why a graph got its class: matches and what each is worth, template cards, and how far to trust them."""

from isonn.explain.cards import Example, TemplateCard, template_cards
from isonn.explain.explanation import Explanation, Match, explain_matched
from isonn.explain.faithfulness import Faithfulness, edge_auroc, faithfulness
from isonn.explain.matched import MatchedGraph, Occurrences
from isonn.explain.pooled import PooledMatches
from isonn.explain.removal import edge_removal
from isonn.explain.windows import WindowMatches

__all__ = [
    "Example",
    "Explanation",
    "Faithfulness",
    "Match",
    "MatchedGraph",
    "Occurrences",
    "PooledMatches",
    "TemplateCard",
    "WindowMatches",
    "edge_auroc",
    "edge_removal",
    "explain_matched",
    "faithfulness",
    "template_cards",
]
