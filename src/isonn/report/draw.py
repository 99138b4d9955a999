"""Drawings of graphs and templates as SVG: the `Drawer` interface and the drawers by kind of graph.

`draw_graph` and `draw_template` choose the drawer by the graph's ``kind``. Without a kind, a dense graph is drawn as a
matrix and any other as nodes and lines. `register_drawer` adds a kind.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import InputError
from isonn.explain.template import Template
from isonn.graphs.graph import Graph, GraphSet, words_of
from isonn.packing import Floats
from isonn.plugins import Registry

if TYPE_CHECKING:
    from isonn.explain.explanation import Explanation

#: Number of steps of importance in a colour scale, on each side.
LEVELS = 4
#: Positions by node.
Points = Mapping[int, tuple[float, float]]
#: Names longer than this are cut in drawings and tables.
LONGEST_NAME = 60
#: Graphs of more than `MATRIX_NODES` nodes with a larger share of cells are drawn as a matrix.
DENSE, MATRIX_NODES = 0.3, 16


@dataclass(frozen=True)
class Mark:
    """A piece of a graph that a drawing can highlight: a reason or a match.

    Attributes:
        nodes: its nodes; -1 is padding.
        columns: the nodes of the columns of a window off the diagonal, or None.
        positive: whether the piece speaks for the class.
        text: a word or two beside the piece, such as "1 +".
    """

    nodes: tuple[int, ...]
    columns: tuple[int, ...] | None = None
    positive: bool = True
    text: str = ""

    @property
    def all_nodes(self) -> set[int]:
        """Its nodes, without padding."""
        return {node for node in (*self.nodes, *(self.columns or ())) if node >= 0}


@dataclass(frozen=True, eq=False)
class Scene:
    """What a drawing shows.

    Attributes:
        graph: the graph.
        title: the alternative text; "" uses `Drawer.alternative`.
        marks: pieces that can be highlighted.
        shown: numbers of the marks that are highlighted at first.
        node_importance, edge_importance: shape (n,) and (n, n), in any unit; the largest gets the strongest colour.
        symbols: the look of labels.
    """

    graph: Graph
    title: str = ""
    marks: Sequence[Mark] = ()
    shown: Sequence[int] = ()
    node_importance: Floats | None = None
    edge_importance: Floats | None = None
    symbols: Symbols = field(default_factory=lambda: Symbols())

    def on(self, number: int) -> str:
        """Return the class of a mark that is highlighted at first, else ""."""
        return " on" if number in self.shown else ""


@dataclass(frozen=True)
class Drawing:
    """A picture.

    Attributes:
        svg: the picture, an ``<svg>`` element as text.
        box: its viewBox as a thumbnail.
        note: a sentence about anything left out of the picture, or "".
        kind: the drawer's name.
        points: the position of each node in the picture; () if not every node has one.
    """

    svg: str
    box: str
    note: str = ""
    kind: str = "graph"
    points: tuple[tuple[float, float], ...] = ()


class Drawer(ABC):
    """Base class of drawers. To draw graphs of a new kind and their templates, subclass it and call `register_drawer`.

    `isonn.report.node_link.NodeLinkDrawer`, which draws plain graphs, is an example.

    The result of `draw` and `draw_template` must work in a page and in a notebook:

    - one ``<svg>`` element, well-formed, with ``class="isonn ..."``, ``role="img"``, a ``viewBox``, a ``width``, a
      ``height`` and a first child ``<title>`` that describes the picture in words;
    - colours by the classes of ``html/drawing.css`` or by attributes such as ``fill``; no ``style`` attribute, no
      script and no address but ``data:``, because the policy of a page forbids them;
    - all user text is escaped (``html.escape``);
    - every mark is drawn but hidden, as elements with ``data-m="0"`` for the first mark and so on, and a class for the
      look (``halo``, ``tag`` or ``frame-match`` with ``pos`` or ``neg``). The page shows a mark by adding the class
      ``on``; marks in ``shown`` have it from the start;
    - importances are steps of the colour scale (`levels`, `level_class`), and evidence against the class differs by
      more than its colour, such as a dashed line or a sign in its text;
    - everything is drawn in one ``<g>`` after the title, which the page also shows as a thumbnail.
    """

    #: The drawer's name in class names.
    name: str = "graph"

    @abstractmethod
    def draw(self, scene: Scene) -> Drawing:
        """Draw one graph.

        Args:
            scene: the graph, its marks and importances, and what is shown from the start.

        Returns:
            `Drawing`.
        """

    @abstractmethod
    def draw_template(self, template: Template, title: str = "", symbols: Symbols | None = None) -> Drawing:
        """Draw a learned template.

        Args:
            template: the template.
            title: its description for readers who do not see it.
            symbols: the look of the labels; None shows them as they are.

        Returns:
            `Drawing`.
        """

    def legend(self) -> list[tuple[str, str]]:
        """Return the meaning of the importance colours: a style class and a text for each.

        Returns:
            pairs of a style class and a text.
        """
        return [
            ("p4", "speaks for the explained class; darker means more"),
            ("n4", "speaks against it (dashed)"),
            ("p0", "hardly matters"),
        ]

    def alternative(self, scene: Scene) -> str:
        """Describe the graph in words, as the drawing's alternative text.

        Args:
            scene: the graph and its marks.

        Returns:
            the text.

        Example:
            >>> triangle = isonn.as_graphset([np.ones((3, 3)) - np.eye(3)])[0]
            >>> drawer_of(triangle).alternative(Scene(triangle, marks=[Mark((0, 2))], shown=[0]))
            'Graph of 3 nodes, 3 edges. Highlighted: 0, 2.'
        """
        words = f"Graph of {describe(scene.graph)}."
        for number in scene.shown[:1]:
            nodes = sorted(scene.marks[number].all_nodes)
            rest = f" and {len(nodes) - 12} more" if len(nodes) > 12 else ""
            words += f" Highlighted: {', '.join(scene.symbols.name(scene.graph, node) for node in nodes[:12])}{rest}."
        return words

    def frame(self, scene: Scene, box: str, parts: Iterable[str], colours: str = "") -> str:
        """Return the ``<svg>`` element of a drawing.

        Args:
            box: the viewBox.
            parts: what is drawn.
            colours: a style class for other colours, or "".
        """
        width, height = box.split()[2:]
        coloured = " importance" if scene.node_importance is not None or scene.edge_importance is not None else ""
        return (
            f'<svg class="isonn {self.name}{colours}{coloured}" role="img" viewBox="{box}" width="{width}" '
            f'height="{height}"><title>{escape(scene.title or self.alternative(scene))}</title>'
            f"<g>{''.join(parts)}</g></svg>"
        )


#: Drawers by kind of graph; "matrix" and "graph" are for graphs without a kind, dense ones and others.
_DRAWERS: Registry[Drawer] = Registry(
    "drawers",
    {
        "graph": "isonn.report.node_link",
        "matrix": "isonn.report.matrix",
        "molecules": "isonn.molecules.draw",
        "connectomes": "isonn.report.matrix",
    },
)


def register_drawer(kind: str, drawer: Drawer) -> None:
    """Draw graphs of a kind (``GraphSet.kind``) with this drawer, replacing an earlier one.

    Args:
        kind: the kind of graphs, as in ``GraphSet.kind``.
        drawer: an instance of a subclass of `Drawer`.
    """
    if not isinstance(drawer, Drawer):
        raise InputError(f"{drawer!r:.60} is not a Drawer; give an instance of a subclass")
    _DRAWERS[kind] = drawer


def find_drawer(kind: str) -> Drawer:
    """Return the drawer of a kind; other kinds, and those whose extra is missing, are drawn as nodes and lines."""
    return _DRAWERS.find(kind) or find_drawer("graph")


def drawer_of(graph: Graph) -> Drawer:
    """Return the drawer of a graph, by its kind or its density."""
    return find_drawer(graph.kind or ("matrix" if is_dense(graph) else "graph"))


def is_dense(graph: Graph) -> bool:
    """Return whether a graph is too dense for nodes and lines, not counting the diagonal."""
    links = int((graph.edges[:, 0] != graph.edges[:, 1]).sum())
    return graph.n > MATRIX_NODES and links > DENSE * graph.n * (graph.n - 1)


def draw_graph(graph: Graph, **options: Any) -> Drawing:
    """Draw one graph with the drawer of its kind; the options are those of `Scene`.

    Example:
        >>> drawing = draw_graph(isonn.load("MUTAG")[0], title="a molecule")
        >>> drawing.kind, drawing.svg[:36]
        ('graph', '<svg class="isonn graph" role="img" ')
    """
    return drawer_of(graph).draw(Scene(graph, **options))


def draw_explained(explanation: Explanation, symbols: Symbols | None = None, **options: Any) -> Drawing:
    """Draw an explained graph, coloured by contribution.

    Args:
        symbols: the look of labels; None takes the names that the explanation has.
        options: as of `draw_graph`.
    """
    e = explanation
    look = symbols or symbols_of(e.graph.node_labels, e.label_names, e.edge_label_names)
    importances = {"node_importance": e.node_importance, "edge_importance": e.edge_importance}
    return draw_graph(e.graph, symbols=look, **importances, **options)


def draw_template(template: Template, kind: str = "", **options: Any) -> Drawing:
    """Draw a template like the graphs it was learned from; the options are those of `Drawer.draw_template`."""
    return find_drawer(kind).draw_template(template, **options)


def describe(graph: Graph) -> str:
    """Describe the number of nodes and edges in words.

    Example:
        >>> describe(isonn.as_graphset([np.ones((3, 3)) - np.eye(3)])[0])
        '3 nodes, 3 edges'
    """
    _, node, edge = words_of(graph.kind)
    links = count_edges(graph)
    return f"{graph.n:,} {node}{'s' * (graph.n != 1)}, {links:,} {edge}{'s' * (links != 1)}"


def count_edges(graph: Graph) -> int:
    """Return the number of edges; both cells of an undirected edge count once, a full diagonal does not count."""
    rows, columns = graph.edges.T
    loops = rows == columns
    if loops.sum() == graph.n > 1:  # the diagonal of a matrix, not edges
        rows, columns = rows[~loops], columns[~loops]
    return len(np.unique(np.minimum(rows, columns) * graph.n + np.maximum(rows, columns)))


def levels(importance: Floats | None) -> NDArray[np.int64] | None:
    """Convert importance to steps of the colour scale, -LEVELS to LEVELS, relative to the largest; 0 for nearly none.

    Example:
        >>> levels(np.array([2.0, -1.0, 0.1]))
        array([ 4, -2,  0])
    """
    if importance is None:
        return None
    largest = float(np.abs(importance).max(initial=0.0))
    if largest == 0 or not math.isfinite(largest):
        return np.zeros(importance.shape, dtype=np.int64)
    return np.asarray(np.sign(importance) * np.floor(LEVELS * np.abs(importance) / largest + 0.5), dtype=np.int64)


def edge_levels(importance: Floats | None) -> NDArray[np.int64] | None:
    """Compute `levels` of edges, adding the two cells of each edge."""
    return None if importance is None else levels(importance + importance.T)


def level_class(level: int) -> str:
    """Return the style class of a step: "p1" to "p4" for the class, "n1" to "n4" against it."""
    return f"{'n' if level < 0 else 'p'}{abs(level)}"


def free_place(points: Floats, links: Sequence[Sequence[int]], beside: Sequence[int], reach: float, box: str) -> Floats:
    """Return a place for a short text beside some nodes, away from all nodes and links; of equals, the highest.

    Args:
        points: positions of all nodes, ``(n, 2)``.
        links: pairs of linked nodes, as rows of ``points``.
        beside: the nodes, as rows of ``points``.
        reach: distance from the node.
        box: the viewBox of the drawing, which the text does not leave.
    """
    left, top, width, height = map(float, box.split())
    angles = np.arange(16) * (np.pi / 8)
    around = reach * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    places = (points[list(beside)][:, None] + around).reshape(-1, 2)
    places = np.clip(places, (left + 12, top + 8), (left + width - 12, top + height - 8))
    ends = points[np.array(links, dtype=np.int64).reshape(-1, 2)]
    taken = np.concatenate([points, *(ends[:, 0] + share * (ends[:, 1] - ends[:, 0]) for share in (0.25, 0.5, 0.75))])
    room = np.sqrt(((places[:, None] - taken) ** 2).sum(axis=2)).min(axis=1)
    return np.asarray(places[np.lexsort((places[:, 0], places[:, 1], -np.minimum(room, reach).round()))[0]])


def halos(points: Points, scene: Scene) -> Iterable[str]:
    """Yield a highlight behind the nodes and links of each mark.

    Args:
        points: the position of each node that is drawn.
    """
    cells = set(map(tuple, scene.graph.edges.tolist()))
    for i, mark in enumerate(scene.marks):
        rows = [node for node in mark.nodes if node in points]
        columns = rows if mark.columns is None else [node for node in mark.columns if node in points]
        links = {(min(a, b), max(a, b)) for a in rows for b in columns if (a, b) in cells or (b, a) in cells}
        path = "".join(f"M{svg_point(points[node])}h0" for node in sorted({*rows, *columns}))
        path += "".join(f"M{svg_point(points[a])}L{svg_point(points[b])}" for a, b in sorted(links) if a != b)
        yield f'<path class="halo {"pos" if mark.positive else "neg"}{scene.on(i)}" data-m="{i}" d="{path}"/>'


def tags(points: Points, scene: Scene, radius: float, box: str) -> Iterable[str]:
    """Yield the text of each mark beside one of its nodes.

    Args:
        points: the position of each node that is drawn.
        radius: of a node.
        box: the viewBox of the drawing.
    """
    row = {node: i for i, node in enumerate(points)}
    places = np.array(list(points.values()))
    links = [(row[a], row[b]) for a, b in scene.graph.edges.tolist() if a in row and b in row]
    for i, mark in enumerate(scene.marks):
        here = [row[node] for node in sorted(mark.all_nodes) if node in row]
        if mark.text and here:
            x, y = map(svg_number, free_place(places, links, here, radius + 11, box) + np.array([0, 4]))
            yield f'<g class="tag{scene.on(i)}" data-m="{i}"><text x="{x}" y="{y}">{escape(mark.text)}</text></g>'


def svg_point(point: tuple[float, float]) -> str:
    """Format a position."""
    return f"{svg_number(point[0])} {svg_number(point[1])}"


def svg_number(value: float) -> str:
    """Format a coordinate to a tenth of a pixel, in as few characters as possible."""
    return f"{value:.1f}".removesuffix(".0")


def standalone(svg: str) -> str:
    """Add the style to a drawing, in light colours, for files and notebooks."""
    head, _, rest = svg.partition(">")
    if "xmlns=" not in head:
        head = head.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    return f"{head}><style>{standalone_style()}</style>{rest}"


@cache
def standalone_style() -> str:
    """Return the rules of drawings with colours instead of variables, which many SVG programs do not support."""
    page = (files("isonn.report") / "html" / "style.css").read_text(encoding="utf-8")
    colours = dict(re.findall(r"(--[\w-]+): ([^;]+);", page[: page.index("@media")]))
    rules = (files("isonn.report") / "html" / "drawing.css").read_text(encoding="utf-8")
    while "var(" in rules:
        rules = re.sub(r"var\((--[\w-]+)\)", lambda match: colours[match[1]], rules)
    return f".isonn {{ background: {colours['--bg']}; font-family: sans-serif; }}\n{rules}"


# The look of node and edge labels: a text and the name of a colour in the style sheet.


#: Elements with their own colour (CPK convention); others get a colour by their number.
ELEMENTS = ("H", "C", "N", "O", "F", "P", "S", "Cl", "Br", "I")
#: Number of colours for labels that are not elements.
COLOURS = 8
_BONDS = {"single": "1", "double": "2", "triple": "3", "aromatic": "a"}
_LONGEST = 3
#: Cut labels of a graph that a note spells out.
_KEYS = 12


@dataclass(frozen=True)
class Symbols:
    """The look of the labels of one dataset.

    Attributes:
        nodes: the text and colour name of each node label.
        bonds: "1", "2", "3" or "a" (aromatic) by edge label, for labels that are bonds.
        names: the full name of each label.
    """

    nodes: Mapping[Any, tuple[str, str]] = field(default_factory=dict)
    bonds: Mapping[Any, str] = field(default_factory=dict)
    names: Mapping[Any, str] = field(default_factory=dict)

    @property
    def molecules(self) -> bool:
        """Whether the graphs are molecules, with bonds as edges."""
        return bool(self.bonds)

    def key(self, graph: Graph) -> str:
        """Say which labels of a graph the cut texts of its drawing stand for; "" if none is cut."""
        labels = set() if graph.node_labels is None else set(graph.node_labels.tolist())
        texts = [
            (text, str(self.names.get(label, label))) for label, (text, _) in self.nodes.items() if label in labels
        ]
        cut = [f"{text} is {shortened(name)}" for text, name in texts if text != name]
        more = [f"{len(cut) - _KEYS} more are cut"] if len(cut) > _KEYS else []
        return f"Labels: {', '.join([*cut[:_KEYS], *more])}." if cut else ""

    def name(self, graph: Graph, node: int) -> str:
        """Return the name of a node, or its label and number."""
        number = str(node) if graph.node_names is None else shortened(str(graph.node_names[node]))
        if graph.has_named_nodes or graph.node_labels is None:
            return number
        label = graph.node_labels.tolist()[node]
        return f"{shortened(self.names[label])} {number}" if label in self.names else number


def symbols_of(
    labels: NDArray[Any] | None, names: Mapping[Any, str] | None = None, edge_names: Mapping[Any, str] | None = None
) -> Symbols:
    """Create the symbols of some labels; the same labels always get the same text and colour."""
    nodes, given, full = {}, dict(names or {}), {}
    if labels is not None:
        for number, label in enumerate(sorted(set(labels.tolist()), key=lambda value: (str(type(value)), value))):
            name = str(given.get(label, label))
            text = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
            nodes[label] = (text, f"el{name}" if name in ELEMENTS else f"k{number % COLOURS}")
            if label in given:
                full[label] = name
    bonds = {label: _BONDS[name] for label, name in (edge_names or {}).items() if name in _BONDS}
    return Symbols(nodes, bonds, full)


def symbols(graphs: GraphSet) -> Symbols:
    """Create the symbols of a set; a label has the same text and colour in all its graphs."""
    return symbols_of(graphs.node_labels, graphs.node_label_names, graphs.edge_label_names)


def shortened(text: str, longest: int = LONGEST_NAME) -> str:
    """Cut a name to a readable length, without characters that could break a page.

    Example:
        >>> shortened("left insula"), len(shortened("a" * 10_000))
        ('left insula', 60)
    """
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
