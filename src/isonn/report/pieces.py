"""Pieces that mark a class: in words, drawn, counted in the graphs of a page, with examples."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.graphs.graph import Graph, GraphSet
from isonn.report.charts import share_bar
from isonn.report.draw import Drawing, Mark, Symbols, draw_graph, draw_template, shortened
from isonn.report.layout import canonical_order
from isonn.report.matrix import suits
from isonn.report.node_link import induced

#: Maximum number of pieces per class, of classes, and of examples per piece.
PIECES, CLASSES, EXAMPLES = 5, 8, 30
#: Maximum number of graphs searched for the reasons of single graphs, as each piece is compared with every graph.
COUNTED = 1000
#: Pieces with less than this share of the largest effect are not shown.
LEAST = 0.005
_NEIGHBOURS = re.compile(r" with \d+ neighbours?")
#: Larger pieces are not searched for in other graphs.
LARGEST = 12


@dataclass(frozen=True)
class Naming:
    """The names of classes and of the columns of y.

    Example:
        >>> Naming({1: "mutagenic"}).class_(1), Naming().class_(1)
        ('mutagenic', 'class 1')
    """

    classes: Mapping[Any, str] = field(default_factory=dict)
    targets: tuple[str, ...] = ()
    noun: str = "graph"
    word: str = "class"

    @classmethod
    def of(cls, graphs: GraphSet) -> Naming:
        """Return the names of a set."""
        word = "label" if graphs.y is not None and graphs.y.ndim == 2 else "class"
        return cls(graphs.class_names, graphs.target_names, noun_of(graphs.kind), word)

    def class_(self, value: Any) -> str:
        """Return the name of a class; text classes are their own name."""
        plain = value.item() if isinstance(value, np.generic) else value
        if plain in self.classes:
            return shortened(str(self.classes[plain]))
        if len(self.targets) > 1 and isinstance(plain, int) and 0 <= plain < len(self.targets) and not self.classes:
            return shortened(self.targets[plain])
        return shortened(plain) if isinstance(plain, str) and plain else f"{self.word} {plain}"

    def verb(self, name: str) -> str:
        """Return the verb between a graph and the name of a class: it *is* mutagenic, it *has* label 1."""
        return "have" if name.startswith("label ") else "are"

    def target(self, column: Any = 0) -> str:
        """Return the name of a column of numbers."""
        number = int(column)
        return shortened(self.targets[number]) if number < len(self.targets) else "the value"


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

    def counted(self, name: str) -> tuple[int, int]:
        """Return the number of graphs of a class that contain the piece, and of all."""
        return next((held, of) for class_, held, of in self.counts if class_ == name)

    @property
    def outside(self) -> tuple[int, int]:
        """The same numbers for all classes together."""
        return sum(held for _, held, _ in self.counts), sum(of for _, _, of in self.counts)


def noun_of(kind: str) -> str:
    """Return the noun for a graph of a kind."""
    return {"molecules": "molecule", "connectomes": "brain network"}.get(kind, "graph")


def reason_words(reason: Any) -> str:
    """Describe a reason: its formula, or its nodes if they have names or the graph is dense."""
    names = ", ".join(shortened(brief(name, reason.graph.kind)) for name in reason.names[:12])
    if reason.graph.node_names is not None:
        return names
    dense = reason.graph.node_labels is None and suits(reason.graph)
    return f"nodes {names}" if dense else shortened(brief(reason.text, reason.graph.kind), 120)


def brief(text: str, kind: str) -> str:
    """Remove the number of neighbours from atoms of molecules, because the drawing shows it.

    Example:
        >>> brief("O with 1 neighbour-N+ with 3 neighbours", "molecules"), brief("ring C with 3 neighbours", "")
        ('O-N+', 'ring C with 3 neighbours')
    """
    return _NEIGHBOURS.sub("", text) if kind == "molecules" else text


def reason_marks(reasons: Sequence[Any]) -> list[Mark]:
    """Convert reasons to marks of a drawing, with their number and sign."""
    signs = ["+" if reason.contribution >= 0 else "-" for reason in reasons]
    return [
        Mark(reason.nodes, positive=sign == "+", text=f"{i} {sign}")
        for i, (reason, sign) in enumerate(zip(reasons, signs, strict=True), start=1)
    ]


def class_pieces(clf: Any, graphs: GraphSet, look: Symbols) -> dict[Any, list[Piece]]:
    """Return the pieces of ``clf.reasons_`` by class, with counts over these graphs; {} for models without them."""
    try:
        found = clf.reasons_
    except (AttributeError, ValueError):  # not this kind of model, or soft templates
        return {}
    naming = Naming.of(graphs)
    features = clf.transform(graphs).tocsc()
    largest = max((abs(reason.effect) for reasons in found.values() for reason in reasons), default=0.0)
    made: dict[Any, list[Piece]] = {}
    for value, reasons in list(found.items())[:CLASSES]:
        made[value] = [
            _piece(
                reason,
                np.asarray(features[:, [reason.column]].toarray() > 0).ravel(),
                clf,
                graphs,
                look,
                naming,
                largest,
            )
            for reason in reasons[:PIECES]
            if abs(reason.effect) >= LEAST * largest
        ]
    return made


def _piece(
    reason: Any, held: NDArray[np.bool_], clf: Any, graphs: GraphSet, look: Symbols, naming: Naming, largest: float
) -> Piece:
    holding, text = np.flatnonzero(held), shortened(brief(reason.text, graphs.kind), 160)
    if brief(reason.text, graphs.kind) != reason.text:
        text += " (neighbours as drawn)"
    if graphs.y is not None and _of_classes(graphs):
        column = graphs.y if graphs.y.ndim == 1 else graphs.y[:, int(reason.explained)]
        own = holding[column[holding] == (reason.explained if graphs.y.ndim == 1 else 1)]
        holding = own if len(own) else holding
    example = None
    small = sorted(holding.tolist(), key=lambda i: (graphs.sizes[i], i))
    if small:
        number = small[0]
        nodes = next(iter(piece_nodes(clf, graphs, number, reason.column)), ())
        example = draw_graph(
            graphs[number],
            symbols=look,
            title=f"Graph {number} with {text} highlighted",
            marks=[Mark(nodes)],
            shown=[0],
        )
    drawing = draw_template(reason.template, graphs.kind, title=text, symbols=look)
    return Piece(
        text=text,
        column=reason.column,
        drawing=drawing,
        bar=share_bar(reason.effect / largest if largest else 0.0),
        effect=float(reason.effect),
        counts=count_by_class(held, graphs, naming, reason.explained),
        examples=tuple(small[:EXAMPLES]),
        example=example,
        means=None if _of_classes(graphs) else _means(held, graphs, int(reason.explained)),
    )


def _means(held: NDArray[np.bool_], graphs: GraphSet, column: int) -> tuple[float, float] | None:
    """Return the mean value of graphs in ``held`` and of the others; None if one of these sets is empty."""
    y = np.asarray(graphs.y, dtype=np.float64).reshape(len(graphs), -1)[:, column]
    known = np.isfinite(y)
    if not (held & known).any() or not (~held & known).any():
        return None
    return float(y[held & known].mean()), float(y[~held & known].mean())


def count_by_class(
    held: NDArray[np.bool_], graphs: GraphSet, naming: Naming, label: Any = None
) -> tuple[tuple[str, int, int], ...]:
    """Return per class its name, how many of its graphs are in ``held``, and how many there are; else one row.

    Args:
        label: of graphs with several labels: the one to count by, with and without it; None counts by each.
    """
    if not _of_classes(graphs) or graphs.y is None:
        return ((f"{naming.noun}s", int(held.sum()), len(held)),)
    if graphs.y.ndim == 2 and label is not None:
        column, name = graphs.y[:, int(label)], naming.class_(label)
        sides = ((name, column == 1), (f"not {name}", column == 0))  # where it was not measured, it counts for neither
        return tuple((text, int((held & side).sum()), int(side.sum())) for text, side in sides)
    if graphs.y.ndim == 2:
        return tuple(
            (naming.class_(i), int((held & (column == 1)).sum()), int((column == 1).sum()))
            for i, column in enumerate(graphs.y.T)
        )
    return tuple(
        (naming.class_(value), int((held & (graphs.y == value)).sum()), int((graphs.y == value).sum()))
        for value in np.unique(graphs.y).tolist()
    )


def _of_classes(graphs: GraphSet) -> bool:
    """Return whether y has few enough distinct values to count by."""
    if graphs.y is None:
        return False
    if graphs.y.ndim == 2:
        return bool(np.isin(graphs.y[np.isfinite(graphs.y.astype(float))], (0, 1)).all())
    whole = graphs.y.dtype.kind != "f" or bool((graphs.y == np.round(graphs.y)).all())
    return whole and len(np.unique(graphs.y)) <= max(12, len(graphs) // 10)


def piece_nodes(clf: Any, graphs: GraphSet, number: int, column: int) -> list[tuple[int, ...]]:
    """Return the nodes of every match of a template in a graph."""
    found = clf._matched_graph(graphs[number : number + 1]).occurrences
    rows = np.flatnonzero(found.template == column)
    return [tuple(node for node in found.nodes[found.region[row]].tolist() if node >= 0) for row in rows]


class Holders:
    """The graphs that contain the reasons of single graphs; each distinct piece is searched for once.

    Args:
        graphs: the graphs to search; if there are more than `COUNTED`, that many, evenly spread.
    """

    def __init__(self, graphs: GraphSet) -> None:
        every = np.arange(len(graphs))
        if len(graphs) > COUNTED:
            every = np.linspace(0, len(graphs) - 1, COUNTED).astype(np.int64)
        self.graphs = graphs[every]
        self.sampled = len(graphs) > COUNTED
        self._known: dict[Any, NDArray[np.bool_]] = {}

    def held(self, reason: Any) -> NDArray[np.bool_] | None:
        """Return whether each graph contains the piece; None for named nodes (places, not kinds) and dense graphs."""
        if reason.graph.node_names is not None or len(reason.nodes) > LARGEST or suits(reason.graph):
            return None
        key = piece_key(reason.graph, reason.nodes)
        if key not in self._known:
            self._known[key] = np.asarray(reason.found_in(self.graphs))
        return self._known[key]

    def words(self, reason: Any, naming: Naming) -> str:
        """Describe how many graphs of each class contain the piece."""
        held = self.held(reason)
        if held is None:
            return ""
        counts = count_by_class(held, self.graphs, naming)[:4]
        of = f" of {len(self.graphs):,} {naming.noun}s searched" if self.sampled else ""
        return "in " + ", ".join(f"{n:,} of {all_:,} {name}" for name, n, all_ in counts) + of


def piece_key(graph: Graph, nodes: Sequence[int]) -> tuple[Any, ...]:
    """Return a key that is equal for pieces that are equal up to relabelling, including node and edge labels."""
    piece = induced(graph, np.array(sorted(nodes), dtype=np.int64))
    order = canonical_order(piece)
    place = np.empty(piece.n, dtype=np.int64)
    place[order] = np.arange(piece.n)
    labels = () if piece.node_labels is None else tuple(piece.node_labels[order].tolist())
    marks = [None] * len(piece.edges) if piece.edge_labels is None else piece.edge_labels.tolist()
    cells = sorted((*pair, str(mark)) for pair, mark in zip(place[piece.edges].tolist(), marks, strict=True))
    return (piece.n, labels, tuple(cells))
