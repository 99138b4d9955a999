"""How far to trust a prediction: its interval or set, its domain, what is new, and the nearest known graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isonn.domain import Neighbour
from isonn.explain.explanation import Explanation
from isonn.report.draw import Mark, Symbols, draw_graph, shortened
from isonn.report.page import Section
from isonn.report.words import Naming, number_text

#: Maximum number of graphs that are listed, and of graphs whose unseen pieces are drawn.
LISTED, DRAWN = 50, 3


class TrustRow:
    """What is known about the trust in one prediction, in words.

    Args:
        explanation: the explanation of the graph.
        name: its name.
        naming: the names of classes.
        look: the look of labels; None draws nothing.

    Attributes:
        range: the interval or set, in words; "" if the model has none.
        verdict: "in", "borderline" or "out", or "".
        sentence: the verdict with its reasons.
        neighbours: id, true value, similarity and shared pieces of the nearest known graphs, as text.
        drawing: the graph with its unseen pieces marked, or None.
    """

    def __init__(self, explanation: Explanation, name: str, naming: Naming, look: Symbols | None = None) -> None:
        self.name, self.range = name, _range_words(explanation, naming)
        self.verdict, self.sentence, self.neighbours, self.drawing = "", "", [], None
        domain = explanation.domain
        if domain is None:
            return
        self.verdict, self.sentence = domain.verdict, domain.text
        self.neighbours = [_case(case, explanation, naming) for case in domain.neighbours]
        if domain.unseen and look is not None:
            marks = [Mark(piece.nodes, text="new") for piece in domain.unseen]
            title, shown = f"{name}: pieces that no training graph has", range(len(marks))
            self.drawing = draw_graph(explanation.graph, symbols=look, title=title, marks=marks, shown=shown)


def trust_section(
    explanations: Sequence[Explanation], names: Sequence[str], naming: Naming, look: Symbols
) -> Section | None:
    """Return intervals, domains and neighbours of explained graphs; None for models without intervals and sets."""
    first = explanations[0].assessment
    if first is None or (first.interval is None and first.sets is None):
        return None
    rows: list[TrustRow] = []
    for name, explanation in zip(names[:LISTED], explanations, strict=False):
        drawn = sum(row.drawing is not None for row in rows)
        rows.append(TrustRow(explanation, name, naming, look if drawn < DRAWN else None))
    content = {
        "rows": rows,
        "noun": naming.noun,
        "left_out": len(names) - len(rows),
        "neighbours": any(row.neighbours for row in rows),
        "domains": any(row.verdict for row in rows),
        "sets": first.sets is not None,
    }
    return Section("trust", "How far can this be trusted?", content, "Trust")


def _range_words(explanation: Explanation, naming: Naming) -> str:
    """Return the interval or set of a prediction in words, "" if there is none; of several labels with its name."""
    interval, values, name = explanation.interval, explanation.prediction_set, _label(explanation, naming)
    if interval is not None:
        return f"{name}{interval[0]:.3g} to {number_text(interval[1], explanation.unit)}"
    if values is None:
        return ""
    if not explanation.target.exclusive:
        return name + (" or ".join("yes" if value else "no" for value in values) or "neither yes nor no")
    return " or ".join(naming.class_(value) for value in values) or "typical of no class"


def _value_words(value: Any, explanation: Explanation, naming: Naming) -> str:
    """Return the true value of a known graph in words; of several labels with its name."""
    if isinstance(value, list):
        value = value[explanation.column]
    name = _label(explanation, naming)
    if value is None:
        return f"{name}unknown"
    if explanation.target.exclusive:
        return naming.class_(value)
    if explanation.target.numeric:
        return name + number_text(value, explanation.unit)
    return name + ("yes" if value else "no")


def _label(explanation: Explanation, naming: Naming) -> str:
    """Return which of several labels or columns is meant, before its value; "" if there is only one."""
    if explanation.target.exclusive or explanation.target.outputs == 1:
        return ""
    return f"{naming.output(explanation.explained, explanation.target)}: "


def _case(case: Neighbour, explanation: Explanation, naming: Naming) -> tuple[str, str, str, str]:
    shared = ", ".join(case.shared)
    return shortened(case.id), _value_words(case.value, explanation, naming), f"{case.similarity:.2f}", shared
