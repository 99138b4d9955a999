"""The matrix drawer, for dense graphs: one pixel per cell, a reason as a frame around its cells."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterable, Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from isonn.explain.template import Template
from isonn.graphs.graph import Graph
from isonn.report.draw import Drawer, Drawing, Scene, Symbols, level_class, levels, register_drawer
from isonn.report.node_link import NodeLinkDrawer

#: Graphs of more than `MATRIX_NODES` nodes with a larger share of cells are drawn as a matrix.
DENSE, MATRIX_NODES = 0.3, 16
SIDE = 440
Colour = tuple[int, int, int]
#: Width of a matrix and size of its text on a phone, in pixels; the text shrinks with the picture.
PHONE, TEXT = 288, 11.5
#: Steps of the colour scale on each side of zero.
_STEPS = 24


def suits(graph: Graph) -> bool:
    """Return whether a graph is too dense for nodes and lines, not counting the diagonal."""
    links = int((graph.edges[:, 0] != graph.edges[:, 1]).sum())
    return graph.n > MATRIX_NODES and links > DENSE * graph.n * (graph.n - 1)


class MatrixDrawer(Drawer):
    """The adjacency matrix as a picture.

    With importances there are two pictures, of which the page shows one: the cells coloured by contribution (shown
    first), and the weights. The contributions of nodes are beside their rows and columns.
    """

    name = "matrix"
    #: A style class for other colours of contributions, after a space.
    colours = ""
    #: Positive and negative values: a blue and an orange that are distinct in all kinds of colour vision.
    positive, negative = (0x2B, 0x6C, 0xB0), (0xD9, 0x7A, 0x0B)

    def draw(self, scene: Scene) -> Drawing:
        """Draw one graph; see `Drawer.draw`."""
        graph, size = scene.graph, self.cell(scene.graph.n)
        side = size * graph.n
        margin = self.margin(side)
        whole = side + margin + 8
        text = TEXT * whole / PHONE
        steps = levels(scene.node_importance)
        pictures = [self._image("weights", graph.adjacency, side)]
        if scene.edge_importance is not None:
            pictures.append(self._image("cells", _lifted(scene.edge_importance), side))
        parts = [
            *pictures,
            f'<rect class="frame" width="{side}" height="{side}"/>',
            *self.ticks(graph, size, text),
            *(_strips(steps, size) if steps is not None else ()),
            f'<g font-size="{text:.1f}">',
            *_frames(scene, size, side),
            "</g>",
            *self.names(scene, size, text),
        ]
        svg = self.frame(scene, f"{-margin} {-margin} {whole} {whole}", parts, self.colours)
        return Drawing(svg, f"-10 -10 {side + 12} {side + 12}", "", self.name)  # thumbnails have no names

    def _image(self, name: str, matrix: NDArray[np.float64], side: int) -> str:
        data = _png(matrix, self.positive, self.negative)
        return f'<image class="{name}" width="{side}" height="{side}" href="data:image/png;base64,{data}"/>'

    def cell(self, n: int) -> int:
        """Return the side of a cell in an n x n matrix, in pixels."""
        return max(1, round(SIDE / n))

    def margin(self, side: int) -> int:
        """Return the pixels at the left and the top of a matrix of ``side`` pixels, for importances and names."""
        return 60

    def ticks(self, graph: Graph, size: int, text: float) -> Iterable[str]:
        """Yield the numbers of some nodes, ``text`` pixels high, beside rows and columns of ``size`` pixels."""
        step = next(step for step in (5, 10, 20, 50, 100, 200, 500) if step * size >= 2 * text or step == 500)
        yield f'<g class="ticks" font-size="{text:.1f}">'
        for node in range(0, graph.n, step):
            at = size * (node + 0.5)
            yield f'<text class="tick" x="{at:.0f}" y="-14">{node}</text>'
            yield f'<text class="tick row" x="-14" y="{at + 0.35 * text:.0f}">{node}</text>'
        yield "</g>"

    def names(self, scene: Scene, size: int, text: float) -> Iterable[str]:
        """Return the names of each mark's nodes beside their rows and columns; here the numbers are enough."""
        return ()

    def draw_template(self, template: Template, title: str = "", symbols: Symbols | None = None) -> Drawing:
        """Draw a template as nodes and lines, because it has few nodes."""
        return NodeLinkDrawer().draw_template(template, title, symbols)

    def legend(self) -> list[tuple[str, str]]:
        """Return the meaning of the cell colours."""
        return [
            ("p4", "cell that speaks for the explained class; darker means more"),
            ("n4", "cell that speaks against it"),
            ("p0", "strips beside rows and columns: contributions of nodes"),
        ]


def _lifted(importance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return signed square roots, so that one strong cell does not leave all others white."""
    return np.asarray(np.sign(importance) * np.sqrt(np.abs(importance)))


def _strips(steps: NDArray[np.int64], size: int) -> Iterable[str]:
    """Yield the importance of each node beside its row and above its column."""
    yield '<g class="strips">'
    for node in np.flatnonzero(steps).tolist():
        name = level_class(int(steps[node]))
        yield f'<rect class="{name}" x="-9" y="{size * node}" width="7" height="{size}"/>'
        yield f'<rect class="{name}" x="{size * node}" y="-9" width="{size}" height="7"/>'
    yield "</g>"


def _frames(scene: Scene, size: int, side: int) -> Iterable[str]:
    """Yield a frame around the cells of each mark, and lines towards it, because two of 8,100 cells are small."""
    room = round(0.006 * side)  # so that a frame does not cover the colour of a small cell
    for i, mark in enumerate(scene.marks):
        rows = sorted({node for node in mark.nodes if node >= 0})
        columns = rows if mark.columns is None else sorted({node for node in mark.columns if node >= 0})
        blocks = [(r, c) for r in _runs(rows) for c in _runs(columns)]
        path = "".join(
            f"M{size * left - room} {size * top - room}H{size * (right + 1) + room}V{size * (bottom + 1) + room}"
            f"H{size * left - room}z"
            for (top, bottom), (left, right) in blocks
        )
        on = scene.on(i)
        guides = "".join(f"M0 {size * (top + bottom + 1) / 2:g}H{side}" for top, bottom in _runs(rows))
        guides += "".join(f"M{size * (left + right + 1) / 2:g} 0V{side}" for left, right in _runs(columns))
        yield f'<path class="guide{on}" data-m="{i}" d="{guides}"/>'
        yield f'<path class="frame-match {"pos" if mark.positive else "neg"}{on}" data-m="{i}" d="{path}"/>'
        if mark.text and rows:
            place = f'x="{side - 2}" y="{size * rows[0] - 3}"'
            yield f'<g class="tag{on}" data-m="{i}"><text {place}>{escape(mark.text)}</text></g>'


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Return first and last of each run of consecutive numbers."""
    runs = np.split(np.asarray(numbers), np.flatnonzero(np.diff(numbers) > 1) + 1)
    return [(int(run[0]), int(run[-1])) for run in runs if len(run)]


def _png(matrix: NDArray[np.float64], positive: Colour, negative: Colour) -> str:
    """Encode the matrix as a PNG with a palette: colour for the sign, opacity for the size, for any background."""
    largest = float(np.abs(matrix).max(initial=0.0)) or 1.0
    steps = np.round(_STEPS * matrix / largest).astype(np.int64) + _STEPS
    colours = [negative if i < _STEPS else positive for i in range(2 * _STEPS + 1)]
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


register_drawer("matrix", MatrixDrawer())
