"""The first screen of a model's page: the question, the answer in one sentence, and a graph that shows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from isonn.report.cases import Cases
from isonn.report.header import Example
from isonn.report.panels import Panel
from isonn.report.sections.pieces import Piece
from isonn.report.sections.units import UnitGroup
from isonn.targets import Labels, Numbers

#: Graphs with more nodes than this are not chosen for the first screen if there is a smaller one.
LARGE = 40
#: Graphs predicted with a lower probability are not chosen for the first screen if there is another one.
SURE = 0.8


class Answer(NamedTuple):
    """What the first screen says about a class: a sentence, and the graph that shows it."""

    text: str
    example: Example | None


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
    if naming.targets and explained not in naming.classes:
        return f"Which {naming.noun}s of {name} have {naming.target()} = {explained}, and why?"
    return f"Which {naming.noun}s of {name} {naming.being(explained)}, and why?"


def answer_of_units(cases: Cases, group: UnitGroup) -> Answer:
    """Answer with the named units that speak for a class, and the graph where the strongest contributes most."""
    row = next((line.row for line in group.lines if not line.contradicted), group.lines[0].row)
    panel = next(panel for panel in cases.panels if panel.number == row.graphs[0])
    return Answer(group.sentence, cases.highlighted(panel, row.nodes, row.mean >= 0, row.text))


def answer_of_pieces(cases: Cases, explained: Any, pieces: Sequence[Piece]) -> Answer:
    """Answer with the strongest piece whose counts differ; without such pieces, with the most frequent reason."""
    piece = next((piece for piece in pieces if piece.marks), next(iter(pieces), None))
    return Answer(_text(cases, explained, piece), _example(cases, explained, piece))


def _text(cases: Cases, explained: Any, piece: Piece | None) -> str:
    name, noun = cases.output_name(explained), cases.naming.noun
    if piece is not None and piece.means is not None:
        return (
            f"{piece.held:,} of the {piece.total:,} {noun}s contain {piece.text}, the most important piece that not "
            f"all contain: their mean {cases.naming.target(explained).removeprefix('the ')} is {piece.means[0]:.3g}, "
            f"that of the others {piece.means[1]:.3g}."
        )
    if piece is not None and piece.counts[0][0] == name:
        return _counted(piece, f"{noun}s that {cases.naming.being(explained)}")
    of = sum(panel.explained == name for panel in cases.panels)
    text, count = _leading(cases.panels, name)
    if not count:
        return f"No piece of these {noun}s speaks for {name} in particular."
    if count == 1 < of:
        return f"No single piece decides {name}: the {of:,} {noun}s predicted so all have different reasons."
    return f"For {count:,} of the {of:,} {noun}s predicted {name}, the strongest reason is {text}."


def _counted(piece: Piece, which: str) -> str:
    """Describe how many graphs of a class and of the others contain a piece, or how often."""
    _, held, of = piece.counts[0]
    others_held, others = piece.held - held, piece.total - of
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


def _example(cases: Cases, explained: Any, piece: Piece | None) -> Example | None:
    """Return a graph of the class in question that is predicted correctly.

    It contains the answer's piece where that contributes most. Without such a graph it is the one whose strongest
    reason exceeds the others most, first of those whose strongest reason is the most frequent one.
    """
    name = cases.output_name(explained)
    suitable = {panel.number: panel for panel in cases.panels if _suits(panel, name)}
    if piece is not None:
        places = [_best_place(cases, suitable[number], piece) for number in piece.examples if number in suitable]
        best = max((place for place in places if place is not None), key=lambda place: place.rank, default=None)
        if best is not None:
            return cases.highlighted(best.panel, best.nodes, best.positive, piece.text)
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
    positive: bool


def _best_place(cases: Cases, panel: Panel, piece: Piece) -> _Place | None:
    """Return the match of a piece that contributes most to the prediction of a graph; None if none contributes."""
    importance = cases.explanation(panel.number).node_importance
    sign = -1.0 if piece.means is not None and piece.means[0] < piece.means[1] else 1.0
    whole, sure = np.abs(importance).sum() or 1.0, (panel.confidence or 1.0) > SURE
    places = [
        _Place((sure, worth), panel, nodes, sign > 0)
        for nodes in cases.nodes_of(panel.number, piece.column)
        if (worth := sign * float(importance[list(nodes)].sum() / whole)) > 0
    ]
    return max(places, key=lambda place: place.rank, default=None)
