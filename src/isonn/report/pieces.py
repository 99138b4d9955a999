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
#: A piece that at least this share of the other graphs contain as well tells classes apart only by how often.
MOST = 0.5
#: Larger pieces are not searched for in other graphs.
LARGEST = 12
#: Maximum number of nodes named per reason.
NAMED = 12


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

    @classmethod
    def of_one(cls, explanation: Any) -> Naming:
        """Return the names that an explanation carries."""
        names, noun = explanation.class_names, noun_of(explanation.graph.kind)
        if explanation.target.exclusive:
            return cls(names, noun=noun)
        return cls(targets=tuple(str(names[column]) for column in sorted(names)), noun=noun, word="label")

    def class_(self, value: Any) -> str:
        """Return the name of a class; text classes are their own name."""
        plain = value.item() if isinstance(value, np.generic) else value
        plain = int(plain) if isinstance(plain, float) and plain.is_integer() else plain  # gaps make classes floats
        if plain in self.classes:
            return shortened(str(self.classes[plain]))
        if len(self.targets) > 1 and isinstance(plain, int) and 0 <= plain < len(self.targets) and not self.classes:
            return shortened(self.targets[plain])
        return shortened(plain) if isinstance(plain, str) and plain else f"{self.word} {plain}"

    def being(self, value: Any) -> str:
        """Return what follows "graphs that": "are mutagenic", "are of class 1", "have label NR-AR".

        Example:
            >>> Naming({1: "mutagenic"}).being(1), Naming().being(1), Naming().being("patient")
            ('are mutagenic', 'are of class 1', 'are of class patient')
        """
        name = self.class_(value)
        if self.word == "label":
            return f"have {name}" if name.startswith("label ") else f"have label {name}"
        if (value.item() if isinstance(value, np.generic) else value) in self.classes:
            return f"are {name}"
        return f"are of {name}" if name.startswith("class ") else f"are of class {name}"

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


def side(name: str) -> str:
    """Return what follows the number of graphs of a class: "mutagenic", "of class 1"."""
    return f"of {name}" if name.startswith(("class ", "label ")) else name


def noun_of(kind: str) -> str:
    """Return the noun for a graph of a kind."""
    return {"molecules": "molecule", "connectomes": "brain network"}.get(kind, "graph")


def reason_words(reason: Any) -> str:
    """Describe a reason: its formula, or its nodes if they have names or the graph is dense."""
    names = [brief(name, reason.graph.kind) for name in reason.names]
    if reason.graph.kind == "connectomes":
        rest = [f"{len(names) - NAMED} more"] if len(names) > NAMED else []
        return connections([*map(shortened, names[:NAMED]), *rest])
    if reason.graph.node_names is not None:
        return listed(names)
    dense = reason.graph.node_labels is None and suits(reason.graph)
    return f"nodes {listed(names)}" if dense else shortened(brief(reason.text, reason.graph.kind), 120)


def listed(names: Sequence[str]) -> str:
    """Join names with commas; of many, say how many more there are.

    Example:
        >>> listed(list("abcdefghijklmn"))
        'a, b, c, d, e, f, g, h, i, j, k, l and 2 more'
    """
    rest = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(map(shortened, names[:NAMED])) + rest


def connections(names: Sequence[str]) -> str:
    """Name the connections among some regions.

    Example:
        >>> connections(["left insula", "right insula"]), connections(["A", "B", "C"])
        ('the connection between left insula and right insula', 'the connections among A, B and C')
    """
    if len(names) < 3:
        return f"the connection between {' and '.join(names)}" if len(names) == 2 else ", ".join(names)
    return f"the connections among {', '.join(names[:-1])} and {names[-1]}"


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
    times = clf.count(graphs).tocsc()
    largest = max((abs(reason.effect) for reasons in found.values() for reason in reasons), default=0.0)
    made: dict[Any, list[Piece]] = {}
    for value, reasons in list(found.items())[:CLASSES]:
        made[value] = [
            _piece(
                reason,
                np.asarray(features[:, [reason.column]].toarray() > 0).ravel(),
                times[:, [reason.column]].toarray().ravel() if reason.column < times.shape[1] else None,
                clf,
                graphs,
                look,
                naming,
                largest,
            )
            for reason in [one for one in reasons if features[:, [one.column]].nnz][:PIECES]
            if abs(reason.effect) >= LEAST * largest
        ]
    return made


def _piece(
    reason: Any,
    held: NDArray[np.bool_],
    times: NDArray[Any] | None,
    clf: Any,
    graphs: GraphSet,
    look: Symbols,
    naming: Naming,
    largest: float,
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
    sides = _sides(graphs, naming, reason.explained)
    return Piece(
        text=text,
        column=reason.column,
        drawing=drawing,
        bar=share_bar(reason.effect / largest if largest else 0.0),
        effect=float(reason.effect),
        counts=count_by_class(held, sides),
        examples=tuple(small[:EXAMPLES]),
        example=example,
        means=None if _of_classes(graphs) else _means(held, graphs, int(reason.explained)),
        times=() if times is None else _times(held, times, sides),
    )


def _times(
    held: NDArray[np.bool_], times: NDArray[Any], sides: Sequence[tuple[str, NDArray[np.bool_]]]
) -> tuple[float, ...]:
    """Return how often the graphs of each side contain a piece on average, if most of the others contain it."""
    if len(sides) < 2 or not all(side.any() for _, side in sides):
        return ()
    own, others = sides[0][1], np.any([side for _, side in sides[1:]], axis=0)
    if held[others].mean() < MOST or times[own].mean() <= times[others].mean():
        return ()
    return tuple(float(times[side].mean()) for _, side in sides)


def _means(held: NDArray[np.bool_], graphs: GraphSet, column: int) -> tuple[float, float] | None:
    """Return the mean value of graphs in ``held`` and of the others; None if one of these sets is empty."""
    y = np.asarray(graphs.y, dtype=np.float64).reshape(len(graphs), -1)[:, column]
    known = np.isfinite(y)
    if not (held & known).any() or not (~held & known).any():
        return None
    return float(y[held & known].mean()), float(y[~held & known].mean())


def count_by_class(
    held: NDArray[np.bool_], sides: Sequence[tuple[str, NDArray[np.bool_]]]
) -> tuple[tuple[str, int, int], ...]:
    """Return per side its name, how many of its graphs are in ``held``, and how many there are."""
    return tuple((name, int((held & side).sum()), int(side.sum())) for name, side in sides)


def _sides(graphs: GraphSet, naming: Naming, first: Any = None) -> list[tuple[str, NDArray[np.bool_]]]:
    """Return the name and the graphs of each class, or of all graphs if there are no classes.

    Args:
        first: the class to begin with; of several labels, the only one, with and without it. None returns all in order.
    """
    if not _of_classes(graphs) or graphs.y is None:
        return [(f"{naming.noun}s", np.ones(len(graphs), dtype=bool))]
    if graphs.y.ndim == 2 and first is not None:
        column, name = graphs.y[:, int(first)], naming.class_(first)
        return [(name, column == 1), (f"not {name}", column == 0)]  # where it was not measured, it counts for neither
    if graphs.y.ndim == 2:
        return [(naming.class_(i), column == 1) for i, column in enumerate(graphs.y.T)]
    known = has_target(graphs.y)
    values = sorted(np.unique(graphs.y[known]).tolist(), key=lambda value: value != first)
    sides = [(naming.class_(value), graphs.y == value) for value in values]
    return sides + ([] if known.all() else [(f"of unknown {naming.word}", ~known)])


def has_target(y: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which graphs have a class or a value, shape (g,); it is NaN or "" for the others."""
    if y.dtype.kind == "f":
        return np.asarray(~np.isnan(y))
    return np.asarray(y != "") if y.dtype.kind == "U" else np.ones(len(y), dtype=bool)


def _of_classes(graphs: GraphSet) -> bool:
    """Return whether y has few enough distinct values to count by."""
    if graphs.y is None:
        return False
    if graphs.y.ndim == 2:
        return bool(np.isin(graphs.y[np.isfinite(graphs.y.astype(float))], (0, 1)).all())
    known = graphs.y[has_target(graphs.y)]
    whole = known.dtype.kind != "f" or bool((known == np.round(known)).all())
    return whole and len(np.unique(known)) <= max(12, len(graphs) // 10)


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
        counts = count_by_class(held, _sides(self.graphs, naming))[:4]
        of = f" of {len(self.graphs):,} {naming.noun}s searched" if self.sampled else ""
        return "in " + ", ".join(f"{n:,} of {all_:,} {side(name)}" for name, n, all_ in counts) + of


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
