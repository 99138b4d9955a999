"""The drawer of connectomes: the matrix with region names, ordered by network."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from html import escape

import numpy as np

from isonn.connectomes.atlas import by_network
from isonn.explain.template import Template
from isonn.graphs.columns import columns_at
from isonn.graphs.graph import Graph
from isonn.packing import IntArray
from isonn.report.draw import Drawing, Mark, Scene, Symbols, register_drawer, shortened
from isonn.report.matrix import MatrixDrawer
from isonn.report.words import short_names

#: Height of a line of text; number of letters that fit beside the matrix, and beside that of a page.
LINE, LETTERS, FEW = 11, 20, 12
#: Maximum number of regions named per mark.
NAMED = 8
#: Maximum side of the matrix in pixels; above it rows are lower than a line of text.
LARGEST = 1320


class ConnectomeDrawer(MatrixDrawer):
    """A matrix with a name at every row and column, ordered by network (the node labels) if the atlas has them."""

    name = "matrix"
    colours = " red-blue"
    positive, negative = (0xB2, 0x18, 0x2B), (0x21, 0x66, 0xAC)  # as in nilearn's figures

    def draw(self, scene: Scene) -> Drawing:
        """Draw one connectome; see `isonn.report.draw.Drawer.draw`."""
        labels = scene.graph.node_labels
        order = np.arange(scene.graph.n) if labels is None else by_network(labels)
        place, nodes, edges = np.argsort(order), scene.node_importance, scene.edge_importance
        reordered = replace(
            scene,
            graph=_reordered(scene.graph, order),
            title=scene.title or self.alternative(scene),
            marks=[_moved(mark, place) for mark in scene.marks],
            node_importance=None if nodes is None else nodes[order],
            edge_importance=None if edges is None else edges[np.ix_(order, order)],
        )
        return super().draw(reordered)

    def cell(self, n: int) -> int:
        """Return the height of a line of text, for up to 120 regions."""
        return max(super().cell(n), min(LINE, LARGEST // n))

    def margin(self, side: int) -> int:
        """Return the pixels for `LETTERS` of a name, or `FEW` in the larger letters of a page."""
        return max(140, round(0.55 * side))

    def ticks(self, graph: Graph, size: int, text: float) -> Iterable[str]:
        """Yield region names (only some if rows are lower than a line of text), and lines between networks.

        A page hides these names, because the picture is too small to read them; see `names`.
        """
        assert graph.node_names is not None
        step = math.ceil(LINE / size)
        yield f'<g class="ticks every" font-size="{LINE}">'
        for node in range(0, graph.n, step):
            at = size * (node + 0.5)
            name = str(graph.node_names[node])
            shown = escape(shortened(name, LETTERS))
            whole = f"<title>{escape(name)}</title>" if len(name) > LETTERS else ""
            yield f'<text class="tick row" text-anchor="end" x="-12" y="{at + 3.5:.1f}">{shown}{whole}</text>'
            yield (
                f'<text class="tick row" text-anchor="end" transform="translate({at + 3.5:.1f} -12) rotate(90)">'
                f"{shown}{whole}</text>"
            )
        yield "</g>"
        if graph.node_labels is not None:
            side = size * graph.n
            ends = np.flatnonzero(graph.node_labels[1:] != graph.node_labels[:-1]) + 1
            lines = "".join(f"M0 {size * end}H{side}M{size * end} 0V{side}" for end in ends.tolist())
            yield f'<path class="frame" d="{lines}"/>' if lines else ""

    def names(self, scene: Scene, size: int, text: float) -> Iterable[str]:
        """Yield the names of each mark's regions, in letters that are readable on a phone."""
        graph = scene.graph
        assert graph.node_names is not None
        for i, mark in enumerate(scene.marks):
            yield f'<g class="names{scene.on(i)}" data-m="{i}" font-size="{text:.1f}">'
            low = -math.inf
            for node in sorted(mark.all_nodes)[:NAMED]:
                at = low = max(size * (node + 0.5) + 0.35 * text, low + text)  # not on top of the previous name
                word = escape(shortened(str(graph.node_names[node]), FEW))
                yield f'<text x="-12" y="{at:.0f}">{word}</text>'
                yield f'<text transform="translate({at:.0f} -12) rotate(90)">{word}</text>'
            yield "</g>"

    def draw_template(self, template: Template, title: str = "", symbols: Symbols | None = None) -> Drawing:
        """Draw a set of regions as nodes and lines; its title names them."""
        named = title or f"Connections among {', '.join(template.texts or ())}".strip()
        return super().draw_template(template, named, symbols)


def _reordered(graph: Graph, order: IntArray) -> Graph:
    """Return the graph with its nodes in another order, and names without the words that all begin with."""
    edges = np.argsort(order)[graph.edges]
    cells = np.lexsort((edges[:, 1], edges[:, 0]))
    names = map(str, range(graph.n)) if graph.node_names is None else short_names(graph.node_names.tolist())
    moved = {**columns_at(graph, cells, order), "node_names": np.array([*names])[order]}
    return replace(graph, edges=edges[cells], **moved)


def _moved(mark: Mark, place: IntArray) -> Mark:
    def at(nodes: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(int(place[node]) if node >= 0 else node for node in nodes)

    return replace(mark, nodes=at(mark.nodes), columns=None if mark.columns is None else at(mark.columns))


register_drawer("connectomes", ConnectomeDrawer())
