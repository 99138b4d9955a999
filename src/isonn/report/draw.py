"""Graphs as SVG, written by hand: small, the same everywhere, and coloured by the page's style sheet.

A drawing holds every match it may have to show, hidden; the page shows one by giving it the class ``on``.
"""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.graphs.graph import Graph, GraphSet, graphset_from_cells
from isonn.report.layout import Points, layout

#: Length of an edge, radius of a node with text and without, and the margin, in pixels.
UNIT, RADIUS, DOT, MARGIN = 38, 10, 5, 26
#: A larger graph is drawn around its matches only.
LARGEST = 300
#: Nodes that such a drawing has at most.
AROUND = 120
#: Beyond this share of cells a graph of more than `MATRIX_NODES` nodes is a matrix: as a drawing it is a blot.
DENSE, MATRIX_NODES = 0.3, 16
#: Steps of importance in a colour scale, to either side.
LEVELS = 4


@dataclass(frozen=True)
class Mark:
    """Nodes that can be shown as one match.

    Attributes:
        nodes: in the order of the template's nodes; -1 is padding.
        columns: the nodes of the columns of a window off the diagonal, or None.
        positive: whether the match speaks for the class.
        ordered: whether the order of the nodes means anything.
    """

    nodes: tuple[int, ...]
    columns: tuple[int, ...] | None = None
    positive: bool = True
    ordered: bool = True

    @property
    def all_nodes(self) -> set[int]:
        """Its nodes, without padding."""
        return {node for node in (*self.nodes, *(self.columns or ())) if node >= 0}


@dataclass(frozen=True)
class Drawing:
    """A picture.

    Attributes:
        svg: the picture.
        box: its viewBox.
        note: what the picture leaves out, as a sentence, or "".
        kind: "graph" or "matrix".
    """

    svg: str
    box: str
    note: str = ""
    kind: str = "graph"


def draw_graph(
    graph: Graph,
    symbols: Symbols | None = None,
    title: str = "graph",
    marks: Sequence[Mark] = (),
    shown: int | None = None,
    node_importance: NDArray[np.float64] | None = None,
    edge_importance: NDArray[np.float64] | None = None,
    texts: Sequence[str] | None = None,
    name: str = "",
    numbered: bool = False,
) -> Drawing:
    """One graph as SVG: a dense one as a matrix, a very large one around its matches.

    Args:
        title: what a reader who does not see the picture is told.
        marks: matches that the page may show.
        shown: which of them is shown at first.
        node_importance, edge_importance: shape (n,) and (n, n), for colouring by importance.
        texts: text in the nodes instead of their labels.
        name: an id for what is drawn, so that the page can show it again elsewhere.
        numbered: whether the number of each node is written beside it.
    """
    symbols = symbols or Symbols()
    if graph.n > MATRIX_NODES and len(graph.edges) > DENSE * graph.n**2:
        svg, box = draw_matrix(graph, title, marks, shown, _levels(node_importance), name)
        return Drawing(svg, box, kind="matrix")
    note = ""
    node_levels, edge_levels = _levels(node_importance), _edge_levels(edge_importance)
    kept: NDArray[np.int64] | None = None
    if graph.n > LARGEST:
        kept = _around(graph, [node for mark in marks for node in sorted(mark.all_nodes)])
        note = f"The graph has {graph.n} nodes; the {len(kept)} nearest to the matches are drawn."
    plan = _Plan(graph, symbols, texts, kept)
    parts = [
        f'<svg class="graph" role="img" viewBox="{plan.box}" width="{plan.width}" height="{plan.height}">',
        f"<title>{escape(title)}</title>",
        f'<g id="{name}">' if name else "<g>",
        *_halos(plan, marks, shown),
        '<g class="edges">',
        *_edges(plan, edge_levels),
        '</g><g class="nodes">',
        *_nodes(plan, node_levels),
        "</g>",
        *_tags(plan, [Mark(tuple(plan.nodes))] if numbered else marks, 0 if numbered else shown),
        "</g></svg>",
    ]
    return Drawing("".join(parts), plan.box, note)


class _Plan:
    """What is drawn where."""

    def __init__(
        self, graph: Graph, symbols: Symbols, texts: Sequence[str] | None, kept: NDArray[np.int64] | None
    ) -> None:
        self.graph, self.symbols, self.texts = graph, symbols, texts
        self.nodes = list(range(graph.n)) if kept is None else kept.tolist()
        points: Points = UNIT * layout(graph if kept is None else _induced(graph, kept))
        self.at = {node: (round(x, 1), round(y, 1)) for node, (x, y) in zip(self.nodes, points.tolist(), strict=True)}
        low, high = points.min(axis=0) - MARGIN, points.max(axis=0) + MARGIN
        self.width, self.height = (round(float(side)) for side in high - low)
        self.box = f"{_number(low[0])} {_number(low[1])} {self.width} {self.height}"
        self.labelled = texts is not None or bool(symbols.nodes and graph.node_labels is not None)
        self.radius = RADIUS if self.labelled else DOT

    def cell(self, a: int, b: int) -> bool:
        return bool(self.graph.adjacency[a, b] != 0)


def _halos(plan: _Plan, marks: Sequence[Mark], shown: int | None) -> Iterable[str]:
    for i, mark in enumerate(marks):
        rows = [node for node in mark.nodes if node in plan.at]
        columns = rows if mark.columns is None else [node for node in mark.columns if node in plan.at]
        links = {
            (min(a, b), max(a, b)) for a in rows for b in columns if a != b and (plan.cell(a, b) or plan.cell(b, a))
        }
        path = "".join(f"M{_point(plan.at[node])}h0" for node in sorted({*rows, *columns}))
        path += "".join(f"M{_point(plan.at[a])}L{_point(plan.at[b])}" for a, b in sorted(links))
        name = f"halo {'pos' if mark.positive else 'neg'}{' on' if i == shown else ''}"
        yield f'<path class="{name}" data-m="{i}" d="{path}"/>'


def _tags(plan: _Plan, marks: Sequence[Mark], shown: int | None) -> Iterable[str]:
    """The number of the template's node beside each node of a match."""
    for i, mark in enumerate(marks):
        if not mark.ordered:
            continue
        words: dict[int, list[str]] = {}
        for letter, nodes in (("" if mark.columns is None else "r", mark.nodes), ("c", mark.columns or ())):
            for j, node in enumerate(nodes):
                if node in plan.at:
                    words.setdefault(node, []).append(f"{letter}{j}")
        yield f'<g class="tag{" on" if i == shown else ""}" data-m="{i}">'
        for node, tags in words.items():
            x, y = plan.at[node]
            out = plan.radius + 3
            yield f'<text x="{_number(x + out)}" y="{_number(y - out + 3)}">{" ".join(tags)}</text>'
        yield "</g>"


def _edges(plan: _Plan, levels: NDArray[np.int64] | None) -> Iterable[str]:
    graph = plan.graph
    labels = None if graph.edge_labels is None else graph.edge_labels.tolist()
    largest = None if graph.weights is None or not len(graph.weights) else float(np.abs(graph.weights).max())
    for i, (a, b) in enumerate(graph.edges.tolist()):
        both = a != b and plan.cell(b, a)
        if a not in plan.at or b not in plan.at or (both and a > b):
            continue
        order = "1" if labels is None else plan.symbols.bonds.get(labels[i], "1")
        classes = []
        if levels is not None and (
            level := int(levels[a, b] if abs(levels[a, b]) >= abs(levels[b, a]) else levels[b, a])
        ):
            classes.append(_level_class(level))
        if largest is not None and graph.weights is not None:
            classes.append(f"w{max(1, math.ceil(3 * abs(float(graph.weights[i])) / largest))}")
            classes += ["neg"] if graph.weights[i] < 0 else []
        named = f' class="{" ".join(classes)}"' if classes else ""
        if a == b:
            x, y = plan.at[a]
            size = _number(1.1 * plan.radius)  # a circle that looks out from behind the node
            yield f'<path{named} d="M{_point((x, y))}a{size} {size} 0 1 1 .1 0"/>'
            continue
        p, q = plan.at[a], plan.at[b]
        if order == "2":
            yield f'<path{named} d="{_line(p, q, 2.6)}{_line(p, q, -2.6)}"/>'
        elif order == "3":
            yield f'<path{named} d="{_line(p, q)}{_line(p, q, 4.2)}{_line(p, q, -4.2)}"/>'
        elif order == "a":
            yield f'<path{named} d="{_line(p, q, 2.6)}"/>'
            yield f'<path class="{" ".join(["aromatic", *classes])}" d="{_line(p, q, -2.6)}"/>'
        else:
            yield f'<path{named} d="{_line(p, q)}{"" if both else _arrow(p, q, plan.radius)}"/>'


def _nodes(plan: _Plan, levels: NDArray[np.int64] | None) -> Iterable[str]:
    graph = plan.graph
    labels = None if graph.node_labels is None else graph.node_labels.tolist()
    for node in plan.nodes:
        x, y = plan.at[node]
        text, colour = "", "plain"
        if labels is not None and labels[node] in plan.symbols.nodes:
            text, colour = plan.symbols.nodes[labels[node]]
        if plan.texts is not None:
            text = plan.texts[node]
        level = "" if levels is None or not levels[node] else f" {_level_class(int(levels[node]))}"
        yield f'<g class="{colour}{level}"><title>{escape(plan.symbols.name(graph, node))}</title>'
        yield f'<circle cx="{_number(x)}" cy="{_number(y)}" r="{plan.radius}"/>'
        if text:
            small = ' class="s"' if len(text) > 2 else ""
            yield f'<text{small} x="{_number(x)}" y="{_number(y + 4)}">{escape(text)}</text>'
        yield "</g>"


def _line(p: tuple[float, float], q: tuple[float, float], aside: float = 0.0) -> str:
    length = math.dist(p, q) or 1.0
    dx, dy = aside * (p[1] - q[1]) / length, aside * (q[0] - p[0]) / length
    return f"M{_point((p[0] + dx, p[1] + dy))}L{_point((q[0] + dx, q[1] + dy))}"


def _arrow(p: tuple[float, float], q: tuple[float, float], radius: float) -> str:
    """The head of an arrow that ends at the rim of the node."""
    angle = math.atan2(q[1] - p[1], q[0] - p[0])
    tip = (q[0] - radius * math.cos(angle), q[1] - radius * math.sin(angle))
    ends = [(tip[0] - 7 * math.cos(angle + turn), tip[1] - 7 * math.sin(angle + turn)) for turn in (-0.45, 0.45)]
    return f"M{_point(ends[0])}L{_point(tip)}L{_point(ends[1])}"


def _levels(importance: NDArray[np.float64] | None) -> NDArray[np.int64] | None:
    """Importance in steps of a colour scale, relative to the largest: -LEVELS to LEVELS, 0 for next to nothing."""
    if importance is None:
        return None
    largest = float(np.abs(importance).max(initial=0.0))
    if largest == 0:
        return np.zeros(importance.shape, dtype=np.int64)
    return np.asarray(np.sign(importance) * np.floor(LEVELS * np.abs(importance) / largest + 0.5), dtype=np.int64)


def _edge_levels(importance: NDArray[np.float64] | None) -> NDArray[np.int64] | None:
    return None if importance is None else _levels(importance + importance.T)


def _level_class(level: int) -> str:
    return f"{'p' if level > 0 else 'n'}{abs(level)}"


def _around(graph: Graph, starts: Sequence[int]) -> NDArray[np.int64]:
    """The nodes nearest to these, in steps; without any, to the node of most neighbours."""
    near = graph.adjacency != 0
    near = near | near.T
    found: dict[int, None] = dict.fromkeys(starts or [int(near.sum(axis=0).argmax())])
    queue = list(found)
    for node in queue:
        for other in np.flatnonzero(near[node]).tolist():
            if other not in found:
                found[other] = None
                queue.append(other)
        if len(found) >= AROUND:
            break
    return np.sort(np.array(list(found)[:AROUND]))


def _induced(graph: Graph, kept: NDArray[np.int64]) -> Graph:
    place = {node: i for i, node in enumerate(kept.tolist())}
    cells = [(i, place[a], place[b]) for i, (a, b) in enumerate(graph.edges.tolist()) if a in place and b in place]
    chosen = np.array([i for i, _, _ in cells], dtype=np.int64)

    def take(column: NDArray[Any] | None, rows: NDArray[np.int64]) -> NDArray[Any] | None:
        return None if column is None else column[rows]

    return replace(
        graph,
        n=len(kept),
        edges=np.array([(a, b) for _, a, b in cells], dtype=np.int64).reshape(-1, 2),
        weights=take(graph.weights, chosen),
        edge_labels=take(graph.edge_labels, chosen),
        node_labels=take(graph.node_labels, kept),
        node_attributes=take(graph.node_attributes, kept),
        node_names=take(graph.node_names, kept),
    )


def matrix_graph(
    adjacency: NDArray[Any],
    threshold: float = 0.0,
    node_labels: NDArray[Any] | None = None,
    edge_labels: NDArray[Any] | None = None,
) -> Graph:
    """A matrix as a graph: a cell whose absolute value exceeds the threshold is an edge.

    Args:
        node_labels, edge_labels: shape (n,) and (n, n), or None.
    """
    rows, columns = np.nonzero(np.abs(adjacency) > threshold)
    cells = np.column_stack([rows, columns])
    values = np.asarray(adjacency, dtype=np.float64)[rows, columns]
    return graphset_from_cells(
        np.zeros(len(cells), dtype=np.int64),
        cells,
        [len(adjacency)],
        weights=values,
        edge_labels=None if edge_labels is None else edge_labels[rows, columns],
        node_labels=node_labels,
    )[0]


def _point(point: tuple[float, float]) -> str:
    return f"{_number(point[0])} {_number(point[1])}"


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


# A dense graph as a picture of its matrix: one pixel a cell, with a match as a frame around its cells.


#: Side of the matrix in pixels, about; and the room at its left and top for importance and numbers.
SIDE, MATRIX_MARGIN = 440, 34
#: Steps of the colour scale to either side of zero.
_STEPS = 24
#: Positive and negative weights: a blue and an orange that all kinds of colour vision tell apart.
_POSITIVE, _NEGATIVE = (0x2B, 0x6C, 0xB0), (0xD9, 0x7A, 0x0B)


def draw_matrix(
    graph: Graph,
    title: str,
    marks: Sequence[Mark] = (),
    shown: int | None = None,
    levels: NDArray[np.int64] | None = None,
    name: str = "",
) -> tuple[str, str]:
    """The adjacency matrix as SVG, and its viewBox.

    Args:
        marks, shown: matches, and which of them is framed at first.
        levels: importance of the nodes in steps of the colour scale, shape (n,).
        name: an id for what is drawn.
    """
    size = max(2, round(SIDE / graph.n))
    side = size * graph.n
    whole = side + MATRIX_MARGIN + 8
    box = f"{-MATRIX_MARGIN} {-MATRIX_MARGIN} {whole} {whole}"
    parts = [
        f'<svg class="matrix" role="img" viewBox="{box}" width="{whole}" height="{whole}">',
        f"<title>{escape(title)}</title>",
        f'<g id="{name}">' if name else "<g>",
        f'<image width="{side}" height="{side}" href="data:image/png;base64,{_png(graph.adjacency)}"/>',
        f'<rect class="frame" width="{side}" height="{side}"/>',
        *_ticks(graph.n, size),
        *(_strips(levels, size) if levels is not None else ()),
        *_frames(marks, shown, size, side),
        "</g></svg>",
    ]
    return "".join(parts), box


def _ticks(n: int, size: int) -> Iterable[str]:
    step = next(step for step in (5, 10, 20, 50, 100, 200, 500) if n / step <= 12 or step == 500)
    for node in range(0, n, step):
        at = size * (node + 0.5)
        yield f'<text class="tick" x="{at:.0f}" y="-14">{node}</text>'
        yield f'<text class="tick row" x="-14" y="{at + 3.5:.0f}">{node}</text>'


def _strips(levels: NDArray[np.int64], size: int) -> Iterable[str]:
    """The importance of each node beside its row and above its column."""
    yield '<g class="strips">'
    for node in np.flatnonzero(levels).tolist():
        name = f"{'p' if levels[node] > 0 else 'n'}{abs(int(levels[node]))}"
        yield f'<rect class="{name}" x="-9" y="{size * node}" width="7" height="{size}"/>'
        yield f'<rect class="{name}" x="{size * node}" y="-9" width="{size}" height="7"/>'
    yield "</g>"


def _frames(marks: Sequence[Mark], shown: int | None, size: int, side: int) -> Iterable[str]:
    """A frame around the cells of each match, and lines that lead the eye to it: two cells of 8,100 are small."""
    for i, mark in enumerate(marks):
        rows = sorted({node for node in mark.nodes if node >= 0})
        columns = rows if mark.columns is None else sorted({node for node in mark.columns if node >= 0})
        blocks = [(r, c) for r in _runs(rows) for c in _runs(columns)]
        path = "".join(
            f"M{size * left} {size * top}H{size * (right + 1)}V{size * (bottom + 1)}H{size * left}z"
            for (top, bottom), (left, right) in blocks
        )
        on = " on" if i == shown else ""
        guides = "".join(f"M0 {size * (top + bottom + 1) / 2:g}H{side}" for top, bottom in _runs(rows))
        guides += "".join(f"M{size * (left + right + 1) / 2:g} 0V{side}" for left, right in _runs(columns))
        yield f'<path class="guide{on}" data-m="{i}" d="{guides}"/>'
        yield f'<path class="frame-match {"pos" if mark.positive else "neg"}{on}" data-m="{i}" d="{path}"/>'


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """First and last of each run of consecutive numbers."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs


def _png(matrix: NDArray[np.float64]) -> str:
    """The matrix as a PNG with a palette: colour says the sign, opacity the size, so that any background works."""
    largest = float(np.abs(matrix).max(initial=0.0)) or 1.0
    steps = np.round(_STEPS * matrix / largest).astype(np.int64) + _STEPS
    colours = [_NEGATIVE if i < _STEPS else _POSITIVE for i in range(2 * _STEPS + 1)]
    opacity = [round(255 * abs(i - _STEPS) / _STEPS) for i in range(2 * _STEPS + 1)]
    rows = b"".join(b"\0" + row.tobytes() for row in steps.astype(np.uint8))
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", matrix.shape[1], matrix.shape[0], 8, 3, 0, 0, 0)),
        (b"PLTE", bytes(channel for colour in colours for channel in colour)),
        (b"tRNS", bytes(opacity)),
        (b"IDAT", zlib.compress(rows, 9)),
        (b"IEND", b""),
    ]
    data = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks
    )
    return base64.b64encode(data).decode()


# How labels of nodes and edges look: a text, and the name of a colour that the style sheet knows.


#: Elements with a colour of their own (after the CPK convention); others take a colour by their number.
ELEMENTS = ("H", "C", "N", "O", "F", "P", "S", "Cl", "Br", "I")
#: How many colours there are for labels that are no elements.
COLOURS = 8
_BONDS = {"single": "1", "double": "2", "triple": "3", "aromatic": "a"}
_LONGEST = 3


@dataclass(frozen=True)
class Symbols:
    """The look of the labels of one dataset.

    Attributes:
        nodes: by label, the text in a node and its colour's name.
        bonds: by edge label, "1", "2", "3" or "a" for aromatic; labels that are no bonds are not there.
        names: by label, what it means in full.
    """

    nodes: Mapping[Any, tuple[str, str]] = field(default_factory=dict)
    bonds: Mapping[Any, str] = field(default_factory=dict)
    names: Mapping[Any, str] = field(default_factory=dict)

    @property
    def molecules(self) -> bool:
        """Whether the graphs are molecules: their edges are bonds."""
        return bool(self.bonds)

    def name(self, graph: Graph, node: int) -> str:
        """What a person calls a node: its name, or its label and number."""
        if graph.node_names is not None:
            return str(graph.node_names[node])
        if graph.node_labels is None:
            return str(node)
        label = graph.node_labels.tolist()[node]
        return f"{self.names[label]} {node}" if label in self.names else str(node)


def symbols(graphs: GraphSet) -> Symbols:
    """The symbols of a set; a label keeps its text and colour in every graph of it."""
    nodes, names = {}, {}
    if graphs.node_labels is not None:
        for number, label in enumerate(
            sorted(set(graphs.node_labels.tolist()), key=lambda value: (str(type(value)), value))
        ):
            name = str(graphs.node_label_names.get(label, label))
            text = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
            nodes[label] = (text, f"el{name}" if name in ELEMENTS else f"k{number % COLOURS}")
            if label in graphs.node_label_names:
                names[label] = name
    bonds = {label: _BONDS[name] for label, name in graphs.edge_label_names.items() if name in _BONDS}
    return Symbols(nodes, bonds, names)
