"""Pieces that mark a class: in words, drawn, counted in the graphs of a page, with examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.explain.reasons import ClassReason
from isonn.graphs.graph import GraphSet
from isonn.report.cases import Cases
from isonn.report.charts import share_bar
from isonn.report.draw import Drawing, Mark, draw_graph, draw_template, shortened
from isonn.report.holders import count_by_class, has_classes, sides_of
from isonn.report.section import Section
from isonn.report.words import brief
from isonn.targets import Numbers

#: Maximum number of pieces per class, of classes, and of examples per piece.
PIECES, CLASSES, EXAMPLES = 5, 8, 30
#: Pieces with less than this share of the largest effect are not shown.
LEAST = 0.005
#: If at least this share of the other graphs contain a piece as well, only its counts tell classes apart.
MOST = 0.5


class PiecesSection(Section):
    """The pieces that mark each class, or that a number depends on.

    Args:
        cases: the graphs.
        pieces: pieces by class, from `class_pieces`.
        first: the class to begin with.
    """

    anchor, template, listed = "reasons", "pieces.html", "Reasons"

    def __init__(self, cases: Cases, pieces: Mapping[Any, Sequence[Piece]], first: Any) -> None:
        self.cases, self.first = cases, first
        self.pieces = {value: pieces[value] for value in sorted(pieces, key=lambda v: v != first) if pieces[value]}
        self.numeric = isinstance(cases.clf.target_, Numbers)

    @property
    def title(self) -> str:
        """What the section answers."""
        return "What the value depends on" if self.numeric else f"What marks each {self.cases.naming.word}"

    def applies(self) -> bool:
        """Return whether the model has such pieces."""
        return bool(self.pieces)

    def content(self) -> dict[str, Any]:
        """Return the pieces by class, and which signs of formulas they need explained."""
        texts = "".join(piece.text for pieces in self.pieces.values() for piece in pieces).replace(": ", "")
        return {
            "groups": [(output_name(self.cases, value), pieces) for value, pieces in self.pieces.items()],
            "numeric": self.numeric,
            "noun": self.cases.naming.noun,
            "ring_links": "~" in texts,
            "aromatic": ":" in texts,
        }


def output_name(cases: Cases, value: Any) -> str:
    """Return the name of a class, or of a column of numbers."""
    return cases.naming.target(value) if isinstance(cases.clf.target_, Numbers) else cases.naming.class_(value)


@dataclass(frozen=True)
class Piece:
    """A piece that marks a class, on a page.

    Attributes:
        text: the piece in words.
        column: its number in ``templates_``.
        drawing: the drawing of the piece.
        bar: its effect as a picture; effect: the number.
        counts: per class its name, the graphs that contain it, and all of them.
        examples: numbers of graphs that contain it.
        example: one of them, drawn with the piece highlighted, or None.
        means: of numbers, the mean of graphs that contain it and of the others; else None.
        times: per entry of ``counts``, how often its graphs contain the piece on average; () unless only that tells
            the classes apart.
    """

    text: str
    column: int
    drawing: Drawing | None
    bar: str
    effect: float
    counts: tuple[tuple[str, int, int], ...]
    examples: tuple[int, ...]
    example: Drawing | None
    means: tuple[float, float] | None = None
    times: tuple[float, ...] = ()

    def counted(self, name: str) -> tuple[int, int]:
        """Return the number of graphs of a class that contain the piece, and of all."""
        return next((held, of) for class_, held, of in self.counts if class_ == name)

    @property
    def marks(self) -> bool:
        """Whether the first class of ``counts`` contains it more often, or values differ with it."""
        if self.means is not None or self.times:
            return True
        (_, held, of), (all_held, all_of) = self.counts[0], self.outside
        return len(self.counts) > 1 and held * (all_of - of) > (all_held - held) * of

    @property
    def outside(self) -> tuple[int, int]:
        """The same numbers for all classes together."""
        return sum(held for _, held, _ in self.counts), sum(of for _, _, of in self.counts)


def class_pieces(cases: Cases) -> dict[Any, list[Piece]]:
    """Return the pieces of ``clf.reasons_`` by class, with counts over these graphs; {} for models without them."""
    reasons_by_class = getattr(cases.clf, "reasons_", {})
    largest = max((abs(reason.effect) for reasons in reasons_by_class.values() for reason in reasons), default=0.0)
    return {
        value: [
            _piece(reason, cases, largest)
            for reason in [reason for reason in reasons if cases.counts[:, [reason.column]].nnz][:PIECES]
            if abs(reason.effect) >= LEAST * largest
        ]
        for value, reasons in list(reasons_by_class.items())[:CLASSES]
    }


def _piece(reason: ClassReason, cases: Cases, largest: float) -> Piece:
    graphs = cases.graphs
    times = cases.counts[:, [reason.column]].toarray().ravel()
    held, text = times > 0, shortened(brief(reason.text, graphs.kind), 160)
    if brief(reason.text, graphs.kind) != reason.text:
        text += " (neighbours as drawn)"
    examples = _examples(reason, held, graphs)
    example = None
    if examples:
        nodes = next(iter(cases.nodes_of(examples[0], reason.column)), ())
        title = f"Graph {examples[0]} with {text} highlighted"
        example = draw_graph(graphs[examples[0]], symbols=cases.look, title=title, marks=[Mark(nodes)], shown=[0])
    sides = sides_of(graphs, cases.naming, reason.explained)
    return Piece(
        text=text,
        column=reason.column,
        drawing=draw_template(reason.template, graphs.kind, title=text, symbols=cases.look),
        bar=share_bar(reason.effect / largest if largest else 0.0),
        effect=float(reason.effect),
        counts=count_by_class(held, sides),
        examples=tuple(examples[:EXAMPLES]),
        example=example,
        means=None if has_classes(graphs) else _means(held, graphs, int(reason.explained)),
        times=_times(held, times, sides),
    )


def _examples(reason: ClassReason, held: NDArray[np.bool_], graphs: GraphSet) -> list[int]:
    """Return the graphs that contain a piece, smallest first; those of its class if there are any."""
    holding = np.flatnonzero(held)
    if graphs.y is not None and has_classes(graphs):
        column = graphs.y if graphs.y.ndim == 1 else graphs.y[:, int(reason.explained)]
        of_class = holding[column[holding] == (reason.explained if graphs.y.ndim == 1 else 1)]
        holding = of_class if len(of_class) else holding
    return sorted(holding.tolist(), key=lambda i: (graphs.sizes[i], i))


def _times(
    held: NDArray[np.bool_], times: NDArray[Any], sides: Sequence[tuple[str, NDArray[np.bool_]]]
) -> tuple[float, ...]:
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
