"""Pieces that mark a class: in words, drawn, counted in the graphs of a page, with examples."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.explain.reasons import ClassReason
from isonn.graphs.graph import GraphSet
from isonn.report.cases import Cases
from isonn.report.counts import Sides, count_by_class, sides_of
from isonn.report.draw import Drawing, Mark, draw_graph, draw_template, shortened
from isonn.report.page import Section

#: Maximum number of pieces per class, of classes, and of examples per piece.
PIECES, CLASSES, EXAMPLES = 5, 8, 30
#: Pieces with less than this share of the largest effect are not shown.
LEAST = 0.02
#: If at least this share of the other graphs contain a piece as well, only its counts tell classes apart.
MOST = 0.5


class Piece:
    """A piece that marks a class, on a page.

    Args:
        reason: the piece, as the model found it in its training graphs.
        cases: the graphs of the page, in which it is counted.

    Attributes:
        text: the piece in words.
        phrase: the piece in a sentence beside its drawing, without the number of neighbours of each node.
        column: its number in ``templates_``.
        drawing: the drawing of the piece.
        effect: its importance.
        counts: per class its name, the graphs that contain it, and all of them.
        examples: numbers of graphs that contain it.
        example: one of them, drawn with the piece highlighted, or None.
        unit: of numbers, their unit, else "".
        means: of numbers, the mean of graphs that contain it and of the others; else None.
        times: per entry of ``counts``, how often its graphs contain the piece on average; () unless only that tells
            the classes apart.
    """

    def __init__(self, reason: ClassReason, cases: Cases) -> None:
        graphs, look = cases.judged_graphs, cases.look
        sides = sides_of(graphs, cases.target, cases.naming, reason.explained)
        times = cases.counts[:, [reason.column]].toarray().ravel()
        held = times > 0
        self.text, self.column, self.effect = shortened(reason.text, 160), reason.column, float(reason.effect)
        self.phrase = _phrase(self.text, cases)
        self.drawing = draw_template(reason.template, graphs.kind, title=self.text, symbols=look)
        self.counts, self.times = count_by_class(held, sides), _times(held, times, sides)
        self.unit = cases.naming.unit(reason.explained) if cases.target.numeric else ""
        self.means = _means(held, graphs, int(reason.explained)) if cases.target.numeric else None
        of_class = held & sides[0][1]  # the graphs of its class that contain it, if there are any, smallest first
        examples = np.flatnonzero(of_class if of_class.any() else held).tolist()
        examples.sort(key=lambda i: (graphs.sizes[i], i))
        self.examples = [cases.numbers[i] for i in examples[:EXAMPLES]]
        self.example: Drawing | None = None
        if self.examples:
            number = self.examples[0]
            marks = [Mark(next(iter(cases.nodes_of(number, reason.column)), ()))]
            title = f"Graph {number} with {self.text} highlighted"
            self.example = draw_graph(cases.graphs[number], symbols=look, title=title, marks=marks, shown=[0])

    @property
    def held(self) -> int:
        """Number of graphs that contain it."""
        return sum(held for _, held, _ in self.counts)

    @property
    def total(self) -> int:
        """Number of all graphs."""
        return sum(of for _, _, of in self.counts)

    @property
    def lowers(self) -> bool:
        """Whether numbers are lower with it."""
        return self.means is not None and self.means[0] < self.means[1]

    @property
    def marks(self) -> bool:
        """Whether the first class of ``counts`` contains it more often, or values differ with it."""
        if self.means is not None or self.times:
            return True
        _, held, of = self.counts[0]
        return held * (self.total - of) > (self.held - held) * of


def class_pieces(cases: Cases) -> dict[Any, list[Piece]]:
    """Return the pieces of ``clf.reasons_`` by class, with counts over these graphs; {} for models without them."""
    reasons_by_class = dict(list(getattr(cases.clf, "reasons_", {}).items())[:CLASSES])
    largest = max((abs(reason.effect) for reasons in reasons_by_class.values() for reason in reasons), default=0.0)
    return {
        value: [
            Piece(reason, cases)
            for reason in [reason for reason in reasons if cases.counts[:, [reason.column]].nnz][:PIECES]
            if abs(reason.effect) >= LEAST * largest
        ]
        for value, reasons in reasons_by_class.items()
    }


def pieces_section(cases: Cases, pieces: Mapping[Any, Sequence[Piece]], first: Any) -> Section | None:
    """Return the pieces that mark each class, or that a number depends on; ``first`` is the class to begin with."""
    ordered = {value: pieces[value] for value in sorted(pieces, key=lambda value: value != first) if pieces[value]}
    if not ordered:
        return None
    numeric = cases.target.numeric
    texts = "".join(piece.text for pieces in ordered.values() for piece in pieces).replace(": ", "")
    content = {
        "groups": [(cases.output_name(value), pieces) for value, pieces in ordered.items()],
        "largest": max(piece.effect for pieces in ordered.values() for piece in pieces),
        "numeric": numeric,
        "noun": cases.naming.noun,
        "ring_links": "~" in texts,
        "aromatic": ":" in texts,
    }
    title = "What the value depends on" if numeric else f"What marks each {cases.naming.word}"
    return Section("pieces", title, content, "Reasons")


def _phrase(text: str, cases: Cases) -> str:
    phrase = re.sub(r" \(neighbours: [^)]*\)", " with neighbours as drawn", text)
    unnamed = cases.look.nodes and not cases.look.names and "\u2013" in phrase
    return f"a piece labelled {phrase}" if unnamed else phrase


def _times(held: NDArray[np.bool_], times: NDArray[Any], sides: Sides) -> tuple[float, ...]:
    """Return how often the graphs of each side contain a piece on average, if most of the others contain it."""
    if len(sides) < 2 or not all(side.any() for _, side in sides):
        return ()
    first, others = sides[0][1], np.any([side for _, side in sides[1:]], axis=0)
    if held[others].mean() < MOST or times[first].mean() <= times[others].mean():
        return ()
    return tuple(float(times[side].mean()) for _, side in sides)


def _means(held: NDArray[np.bool_], graphs: GraphSet, column: int) -> tuple[float, float] | None:
    """Return the mean value of graphs in ``held`` and of the others; None if one of these sets is empty."""
    y = np.asarray(graphs.y, dtype=np.float64).reshape(len(graphs), -1)[:, column]
    given = np.isfinite(y)
    if not (held & given).any() or not (~held & given).any():
        return None
    return float(y[held & given].mean()), float(y[~held & given].mean())
