"""The default drawer: nodes as circles and edges as lines, with a layout that does not depend on node numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from isonn.explain.template import Template
from isonn.graphs.edit import induced
from isonn.graphs.graph import Graph
from isonn.graphs.join import graphset_from_cells
from isonn.report.draw import (
    Drawer,
    Drawing,
    Scene,
    Symbols,
    edge_levels,
    halos,
    level_class,
    levels,
    register_drawer,
    svg_number,
    svg_point,
    tags,
)
from isonn.report.layout import Points, layout

#: Length of an edge, radius of a node with and without text, and the margin of a graph and a template, in pixels.
UNIT, RADIUS, DOT, MARGIN, NARROW = 38, 10, 5, 26, 13
#: Minimum size of the drawing of a graph, so that pages do not enlarge small ones.
LEAST = (220.0, 130.0)
#: Larger graphs are drawn only around their marks.
LARGEST = 300
#: Maximum number of nodes in such a drawing.
AROUND = 60
#: How far aside the lines of a bond lie, by its order; an aromatic one has a dashed line as well.
LINES = {"1": (0.0,), "2": (2.6, -2.6), "3": (0.0, 4.2, -4.2), "a": (2.6,)}
#: The edges of a template are its cells above this value.
THRESHOLD = 0.5


class NodeLinkDrawer(Drawer):
    """Nodes as circles, edges as lines; very large graphs only around their marks."""

    name = "graph"

    def draw(self, scene: Scene) -> Drawing:
        """Draw one graph; see `Drawer.draw`."""
        graph, kept, note = scene.graph, None, ""
        if graph.n > LARGEST:
            reasons = [mark for mark in scene.marks if mark.text] or scene.marks
            kept = _around(graph, [node for mark in reasons for node in sorted(mark.all_nodes)])
            what = "nearest to the reasons" if scene.marks else "around the node with most neighbours"
            note = f"The graph has {graph.n:,} nodes; the {len(kept)} {what} are drawn."
        plan = _Plan(graph, scene.symbols, None, kept)
        points = tuple(plan.at.values()) if kept is None else ()
        note = f"{note} {scene.symbols.key(graph)}".strip()
        return Drawing(self._svg(plan, scene), plan.box, note, self.name, points)

    def draw_template(self, template: Template, title: str = "", symbols: Symbols | None = None) -> Drawing:
        """Draw a template, with labels in its nodes or else their numbers."""
        look = symbols or Symbols()
        graph, labels = template_graph(template), template.node_labels
        texts = None
        if labels is None or not all(label in look.nodes for label in labels.tolist()):
            look, texts = Symbols(), [str(node) for node in range(template.k)]
        loops = bool((graph.edges[:, 0] == graph.edges[:, 1]).any())  # they look out from behind their node
        plan = _Plan(graph, look, texts, None, MARGIN if loops else NARROW)
        title = title or f"Template of {template.k} nodes, {len(graph.edges) // 2} edges"
        return Drawing(self._svg(plan, Scene(graph, title, symbols=look)), plan.box, "", self.name)

    def _svg(self, plan: _Plan, scene: Scene) -> str:
        parts = [
            *halos(plan.at, scene),
            '<g class="edges">',
            *_edges(plan, edge_levels(scene.edge_importance)),
            '</g><g class="nodes">',
            *_nodes(plan, levels(scene.node_importance)),
            "</g>",
            *tags(plan.at, scene, plan.radius, plan.box),
        ]
        return self.frame(scene, plan.box, parts)


def template_graph(template: Template) -> Graph:
    """Convert a template to a graph with an edge for each cell above `THRESHOLD`; without labels, widths show values.

    If all values are small, the edges are the cells above half of the largest.
    """
    adjacency = np.asarray(template.adjacency, dtype=np.float64)
    threshold = THRESHOLD * min(1.0, float(adjacency.max(initial=0.0)) or 1.0)
    cells = np.where(adjacency > threshold, 1.0 if template.edge_labels is not None else adjacency, 0.0)
    rows, columns = np.nonzero(cells)
    kinds, edges = template.edge_labels, np.column_stack([rows, columns])
    return graphset_from_cells(
        np.zeros(len(edges), dtype=np.int64),
        edges,
        [template.k],
        weights=cells[rows, columns],
        edge_labels=None if kinds is None else kinds[rows, columns],  # None for a link of any kind on a ring
        node_labels=template.node_labels,
    )[0]


class _Plan:
    """The positions of everything drawn."""

    def __init__(
        self,
        graph: Graph,
        symbols: Symbols,
        texts: Sequence[str] | None,
        kept: NDArray[np.int64] | None,
        margin: int = MARGIN,
    ) -> None:
        self.graph, self.symbols, self.texts = graph, symbols, texts
        self.nodes = list(range(graph.n)) if kept is None else kept.tolist()
        points: Points = UNIT * layout(graph if kept is None else induced(graph, kept))
        self.at = {node: (round(x, 1), round(y, 1)) for node, (x, y) in zip(self.nodes, points.tolist(), strict=True)}
        low, high = points.min(axis=0) - margin, points.max(axis=0) + margin
        spare = np.maximum(0.0, (np.array(LEAST) if margin == MARGIN else 0.0) - (high - low)) / 2
        low, high = low - spare, high + spare
        width, height = (round(float(side)) for side in high - low)
        self.box = f"{svg_number(low[0])} {svg_number(low[1])} {width} {height}"
        self.labelled = texts is not None or bool(symbols.nodes and graph.node_labels is not None)
        self.radius = RADIUS if self.labelled else DOT
        self.cells = set(map(tuple, graph.edges.tolist()))


def _edges(plan: _Plan, steps: NDArray[np.int64] | None) -> Iterable[str]:
    graph = plan.graph
    edge_labels = None if graph.edge_labels is None else graph.edge_labels.tolist()
    largest = None if graph.weights is None or not len(graph.weights) else float(np.abs(graph.weights).max())
    for i, (a, b) in enumerate(graph.edges.tolist()):
        both = a != b and (b, a) in plan.cells
        if a not in plan.at or b not in plan.at or (both and a > b):
            continue
        order = "1" if edge_labels is None else plan.symbols.bonds.get(edge_labels[i], "1")
        classes = []
        if steps is not None and (level := int(steps[a, b] if abs(steps[a, b]) >= abs(steps[b, a]) else steps[b, a])):
            classes.append(level_class(level))
        if largest is not None and graph.weights is not None:
            classes.append(f"w{max(1, math.ceil(3 * abs(float(graph.weights[i])) / largest))}")
            classes += ["neg"] if graph.weights[i] < 0 else []
        named = f' class="{" ".join(classes)}"' if classes else ""
        if a == b:
            x, y = plan.at[a]
            size = svg_number(1.1 * plan.radius)  # a circle that shows behind the node
            yield f'<path{named} d="M{svg_point((x, y))}a{size} {size} 0 1 1 .1 0"/>'
            continue
        p, q = plan.at[a], plan.at[b]
        lines = "".join(_line(p, q, aside) for aside in LINES[order])
        head = "" if both or order != "1" else _arrow(p, q, plan.radius)
        yield f'<path{named} d="{lines}{head}"/>'
        if order == "a":
            yield f'<path class="{" ".join(["aromatic", *classes])}" d="{_line(p, q, -2.6)}"/>'


def _nodes(plan: _Plan, steps: NDArray[np.int64] | None) -> Iterable[str]:
    graph = plan.graph
    labels = None if graph.node_labels is None else graph.node_labels.tolist()
    for node in plan.nodes:
        x, y = plan.at[node]
        text, colour = "", "plain"
        if labels is not None and labels[node] in plan.symbols.nodes:
            text, colour = plan.symbols.nodes[labels[node]]
        if plan.texts is not None:
            text = plan.texts[node]
        level = "" if steps is None or not steps[node] else f" {level_class(int(steps[node]))}"
        yield f'<g class="{colour}{level}"><title>{escape(plan.symbols.name(graph, node))}</title>'
        yield f'<circle cx="{svg_number(x)}" cy="{svg_number(y)}" r="{plan.radius}"/>'
        if text:
            small = ' class="s"' if len(text) > 2 else ""
            yield f'<text{small} x="{svg_number(x)}" y="{svg_number(y + 4)}">{escape(text)}</text>'
        yield "</g>"


def _line(p: tuple[float, float], q: tuple[float, float], aside: float) -> str:
    length = math.dist(p, q) or 1.0
    dx, dy = aside * (p[1] - q[1]) / length, aside * (q[0] - p[0]) / length
    return f"M{svg_point((p[0] + dx, p[1] + dy))}L{svg_point((q[0] + dx, q[1] + dy))}"


def _arrow(p: tuple[float, float], q: tuple[float, float], radius: float) -> str:
    """Return an arrowhead that ends at the rim of the node."""
    angle = math.atan2(q[1] - p[1], q[0] - p[0])
    tip = (q[0] - radius * math.cos(angle), q[1] - radius * math.sin(angle))
    ends = [(tip[0] - 7 * math.cos(angle + turn), tip[1] - 7 * math.sin(angle + turn)) for turn in (-0.45, 0.45)]
    return f"M{svg_point(ends[0])}L{svg_point(tip)}L{svg_point(ends[1])}"


def _around(graph: Graph, starts: Sequence[int]) -> NDArray[np.int64]:
    """Return the nodes nearest to the first of these, or else to the node with most neighbours."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import dijkstra

    rows, columns = graph.edges.T
    links = coo_array((np.ones(len(rows)), (rows, columns)), shape=(graph.n, graph.n)).tocsr()
    first = list(starts)[:AROUND] or [int(np.bincount(graph.edges.ravel(), minlength=graph.n).argmax())]
    steps = dijkstra(links, directed=False, indices=first, unweighted=True, min_only=True)
    nearest = np.argsort(steps, kind="stable")[:AROUND]
    return np.sort(nearest[np.isfinite(steps[nearest])])


register_drawer("graph", NodeLinkDrawer())
