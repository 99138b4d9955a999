"""The answer of a model's page in words, and the graph that shows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from isonn.explain.explanation import Explanation
from isonn.report.cases import Cases
from isonn.report.draw import Mark, draw_graph
from isonn.report.header import Example
from isonn.report.panels import Panel
from isonn.report.sections.pieces import Piece, output_name
from isonn.targets import Labels, Numbers

#: Graphs with more nodes than this are not chosen for the first screen if there is a smaller one.
LARGE = 40
#: Graphs predicted with a lower probability are not chosen for the first screen if there is another one.
SURE = 0.8


def question_text(cases: Cases, explained: Any) -> str:
    """Return the question that the model answers."""
    target, naming = cases.clf.target_, cases.naming
    name = "this set" if cases.graphs.name == "graphs" else cases.graphs.name  # no name was given
    if isinstance(target, Numbers):
        return f"What decides {naming.target()} in {name}?"
    if isinstance(target, Labels):
        return f"Which labels does a {naming.noun} of {name} have, and why?"
    if len(target.classes) > 2:
        return f"What tells the {len(target.classes)} classes of {name} apart?"
    return f"Which {naming.noun}s of {name} {naming.being(explained)}, and why?"


def answer_text(cases: Cases, explained: Any, piece: Piece | None) -> str:
    """Return the answer in one sentence, with counts in these graphs.

    Args:
        explained: the class (or column of numbers) in question.
        piece: the piece that marks it best, or None.
    """
    name, noun = output_name(cases, explained), cases.naming.noun
    if piece is not None and piece.means is not None:
        held, of = piece.outside
        return (
            f"{held:,} of the {of:,} {noun}s contain {piece.text}, the most important piece that not all "
            f"contain: their mean {cases.naming.target(explained).removeprefix('the ')} is {piece.means[0]:.3g}, that "
            f"of the others {piece.means[1]:.3g}."
        )
    if piece is not None and any(class_name == name for class_name, _, _ in piece.counts):
        return _counted(piece, name, f"{noun}s that {cases.naming.being(explained)}")
    of = sum(panel.explained == name for panel in cases.panels)
    text, count = _leading(cases.panels, name)
    if not count:
        return f"No piece of these {noun}s speaks for {name} in particular."
    if count == 1 < of:
        return f"No single piece decides {name}: the {of:,} {noun}s predicted so all have different reasons."
    return f"For {count:,} of the {of:,} {noun}s predicted {name}, the strongest reason is {text}."


def _counted(piece: Piece, name: str, which: str) -> str:
    """Describe how many graphs of a class and of the others contain a piece, or how often."""
    held, of = piece.counted(name)
    others_held, others = piece.outside[0] - held, piece.outside[1] - of
    if piece.times:
        rest = float(np.average(piece.times[1:], weights=[of for _, _, of in piece.counts[1:]]))
        return (
            f"The {of:,} {which} contain {piece.text} {piece.times[0]:.1f} times on average, "
            f"the {others:,} others {rest:.1f} times."
        )
    do = "does" if others_held == 1 else "do"
    return f"{held:,} of the {of:,} {which} contain {piece.text}, and {others_held:,} of the {others:,} others {do}."


def _leading(shown: Sequence[Panel], name: str) -> tuple[str, int]:
    """Return the most frequent strongest reason of graphs predicted so, and how many have it."""
    first = Counter(panel.reasons[0].text for panel in shown if panel.reasons and panel.explained == name)
    return first.most_common(1)[0] if first else ("", 0)


def example_of(cases: Cases, explained: Any, piece: Piece | None) -> Example | None:
    """Return the graph of the first screen: of the class in question, and predicted correctly.

    It contains the answer's piece where that contributes most. Without such a graph it is the one whose strongest
    reason exceeds the others most, first of those whose strongest reason is the most frequent one.
    """
    name = output_name(cases, explained)
    suitable = {panel.number: panel for panel in cases.panels if _suits(panel, name)}
    places = [] if piece is None else [_best_place(cases, suitable[i], piece) for i in piece.examples if i in suitable]
    best = max((place for place in places if place is not None), key=lambda place: place.rank, default=None)
    if piece is not None and best is not None:
        return _highlighted(cases, best, piece)
    candidates = [panel for panel in cases.panels if panel.reasons]
    if not candidates:
        return None
    leading = _leading(cases.panels, name)[0]

    def rank(panel: Panel) -> tuple[Any, ...]:
        first, whole = panel.reasons[0].contribution, sum(abs(reason.contribution) for reason in panel.reasons)
        large = panel.drawing.kind != "matrix" and cases.graphs.sizes[panel.number] > LARGE
        other = panel.reasons[0].text != leading
        return not _suits(panel, name), first <= 0, large, other, -first / (whole or 1.0), panel.number

    panel = min(candidates, key=rank)
    first = panel.reasons[0]
    where = "" if first.nodes in first.text or len(first.members) > 6 else f" ({first.nodes})"
    return Example(panel, panel.drawing, f"{first.text}{where}")


def _suits(panel: Panel, name: str) -> bool:
    return bool(panel.reasons) and panel.right is not False and panel.explained == name


class _Place(NamedTuple):
    """A match of a piece in a graph; a higher rank shows the piece better."""

    rank: tuple[bool, float]
    panel: Panel
    nodes: tuple[int, ...]


def _best_place(cases: Cases, panel: Panel, piece: Piece) -> _Place | None:
    """Return the match of a piece that contributes most to the prediction of a graph; None if none contributes."""
    importance = cases.explanation(panel.number).node_importance
    sign = -1.0 if piece.means is not None and piece.means[0] < piece.means[1] else 1.0
    whole, sure = np.abs(importance).sum() or 1.0, (panel.confidence or 1.0) > SURE
    best: _Place | None = None
    for nodes in cases.nodes_of(panel.number, piece.column):
        worth = sign * float(importance[list(nodes)].sum() / whole)
        if worth > 0 and (best is None or worth > best.rank[1]):
            best = _Place((sure, worth), panel, nodes)
    return best


def _highlighted(cases: Cases, place: _Place, piece: Piece) -> Example:
    """Draw a graph with a match of a piece."""
    explanation: Explanation = cases.explanation(place.panel.number)
    drawing = draw_graph(
        explanation.graph,
        symbols=cases.look,
        title=f"{place.panel.title}, predicted {place.panel.predicted}; highlighted: {piece.text}",
        marks=[Mark(place.nodes, positive=bool(explanation.node_importance[list(place.nodes)].sum() >= 0))],
        shown=[0],
        node_importance=explanation.node_importance,
        edge_importance=explanation.edge_importance,
    )
    return Example(place.panel, drawing, piece.text)
