"""The drawer of dense graphs and connectomes: one pixel per cell, a reason as a frame around its cells."""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Iterable, Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from isonn.explain.template import Template
from isonn.graphs.columns import by_first
from isonn.graphs.graph import Graph
from isonn.packing import Floats, IntArray
from isonn.report.draw import Drawer, Drawing, Scene, Symbols, level_class, levels, register_drawer, shortened
from isonn.report.node_link import NodeLinkDrawer
from isonn.report.words import short_names

SIDE = 440
Colour = tuple[int, int, int]
#: Width of a matrix and size of its text on a phone, in pixels; the text shrinks with the picture.
PHONE, TEXT = 288, 11.5
#: Steps of the colour scale on each side of zero.
_STEPS = 24
#: Height of a line of text; number of letters that fit beside the matrix, and beside that of a page.
LINE, LETTERS, FEW = 11, 20, 12
#: Maximum number of nodes named per mark.
NAMED = 8
#: Maximum side of a matrix with names in pixels; above it rows are lower than a line of text.
LARGEST = 1320


class MatrixDrawer(Drawer):
    """The adjacency matrix as a picture, ordered by node label, with a name at every row and column if nodes have any.

    With importances there are two pictures, of which the page shows one: the cells coloured by contribution (shown
    first), and the weights. The contributions of nodes are beside their rows and columns.

    Args:
        colours: a style class for other colours of contributions, after a space, or "".
        positive, negative: the colours of positive and negative values.
    """

    name = "matrix"

    def __init__(self, colours: str, positive: Colour, negative: Colour) -> None:
        self.colours, self.positive, self.negative = colours, positive, negative

    def draw(self, scene: Scene) -> Drawing:
        """Draw one graph; see `Drawer.draw`."""
        graph, n = scene.graph, scene.graph.n
        order = np.arange(n) if graph.node_labels is None else by_first(graph.node_labels)
        names = None
        if graph.node_names is not None and graph.has_named_nodes:
            names = [short_names(graph.node_names.tolist())[node] for node in order.tolist()]
        size = max(1, round(SIDE / n), 0 if names is None else min(LINE, LARGEST // n))
        side = size * n
        margin = 60 if names is None else max(140, round(0.55 * side))
        whole = side + margin + 8
        text = TEXT * whole / PHONE
        steps, cells = levels(scene.node_importance), np.ix_(order, order)
        pictures = [self._image("weights", graph.adjacency[cells], side)]
        if scene.edge_importance is not None:
            pictures.append(self._image("cells", _lifted(scene.edge_importance[cells]), side))
        place = np.argsort(order)
        parts = [
            *pictures,
            f'<rect class="frame" width="{side}" height="{side}"/>',
            *(_numbers(order, size, text) if names is None else _every_name(names, size)),
            *_borders(graph, order, size),
            *(_strips(steps[order], size) if steps is not None else ()),
            f'<g font-size="{text:.1f}">',
            *_frames(scene, place, size, side),
            "</g>",
            *(() if names is None else _names_of_marks(scene, place, names, size, text)),
        ]
        svg = self.frame(scene, f"{-margin} {-margin} {whole} {whole}", parts, self.colours)
        return Drawing(svg, f"-10 -10 {side + 12} {side + 12}", "", self.name)  # thumbnails have no names

    def _image(self, name: str, matrix: Floats, side: int) -> str:
        data = _png(matrix, self.positive, self.negative)
        return f'<image class="{name}" width="{side}" height="{side}" href="data:image/png;base64,{data}"/>'

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


def _lifted(importance: Floats) -> Floats:
    """Return signed square roots, so that one strong cell does not leave all others white."""
    return np.asarray(np.sign(importance) * np.sqrt(np.abs(importance)))


def _numbers(order: IntArray, size: int, text: float) -> Iterable[str]:
    """Yield the numbers of some nodes, ``text`` pixels high, beside rows and columns of ``size`` pixels."""
    step = next(step for step in (5, 10, 20, 50, 100, 200, 500) if step * size >= 2 * text or step == 500)
    yield f'<g class="ticks" font-size="{text:.1f}">'
    for row in range(0, len(order), step):
        at = size * (row + 0.5)
        yield f'<text class="tick" x="{at:.0f}" y="-14">{order[row]}</text>'
        yield f'<text class="tick row" x="-14" y="{at + 0.35 * text:.0f}">{order[row]}</text>'
    yield "</g>"


def _every_name(names: Sequence[str], size: int) -> Iterable[str]:
    """Yield the names of nodes, of some only if rows are lower than a line of text.

    A page hides them, because the picture is too small to read them; see `_names_of_marks`.
    """
    yield f'<g class="ticks every" font-size="{LINE}">'
    for row in range(0, len(names), math.ceil(LINE / size)):
        at, name = size * (row + 0.5), names[row]
        whole = f"<title>{escape(name)}</title>" if len(name) > LETTERS else ""
        text = f'text-anchor="end"{{}}>{escape(shortened(name, LETTERS))}{whole}</text>'
        yield '<text class="tick row" ' + text.format(f' x="-12" y="{at + 3.5:.1f}"')
        yield '<text class="tick row" ' + text.format(f' transform="translate({at + 3.5:.1f} -12) rotate(90)"')
    yield "</g>"


def _borders(graph: Graph, order: IntArray, size: int) -> Iterable[str]:
    """Yield lines between the nodes of different labels, such as the networks of a brain."""
    if graph.node_labels is None:
        return
    labels, side = graph.node_labels[order], size * graph.n
    ends = np.flatnonzero(labels[1:] != labels[:-1]) + 1
    lines = "".join(f"M0 {size * end}H{side}M{size * end} 0V{side}" for end in ends.tolist())
    yield f'<path class="frame" d="{lines}"/>' if lines else ""


def _strips(steps: NDArray[np.int64], size: int) -> Iterable[str]:
    """Yield the importance of each node beside its row and above its column."""
    yield '<g class="strips">'
    for row in np.flatnonzero(steps).tolist():
        name = level_class(int(steps[row]))
        yield f'<rect class="{name}" x="-9" y="{size * row}" width="7" height="{size}"/>'
        yield f'<rect class="{name}" x="{size * row}" y="-9" width="{size}" height="7"/>'
    yield "</g>"


def _frames(scene: Scene, place: IntArray, size: int, side: int) -> Iterable[str]:
    """Yield a frame around the cells of each mark, and lines towards it, because two of 8,100 cells are small."""
    room = round(0.006 * side)  # so that a frame does not cover the colour of a small cell
    for i, mark in enumerate(scene.marks):
        rows = _places(mark.nodes, place)
        columns = rows if mark.columns is None else _places(mark.columns, place)
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
            at = f'x="{side - 2}" y="{size * rows[0] - 3}"'
            yield f'<g class="tag{on}" data-m="{i}"><text {at}>{escape(mark.text)}</text></g>'


def _names_of_marks(scene: Scene, place: IntArray, names: Sequence[str], size: int, text: float) -> Iterable[str]:
    """Yield the names of each mark's nodes, in letters that are readable on a phone."""
    for i, mark in enumerate(scene.marks):
        yield f'<g class="names{scene.on(i)}" data-m="{i}" font-size="{text:.1f}">'
        low = -math.inf
        for row in _places(mark.all_nodes, place)[:NAMED]:
            at = low = max(size * (row + 0.5) + 0.35 * text, low + text)  # not on top of the previous name
            word = escape(shortened(names[row], FEW))
            yield f'<text x="-12" y="{at:.0f}">{word}</text>'
            yield f'<text transform="translate({at:.0f} -12) rotate(90)">{word}</text>'
        yield "</g>"


def _places(nodes: Iterable[int], place: IntArray) -> list[int]:
    """Return the rows of some nodes, ascending; -1 is padding."""
    return sorted({int(place[node]) for node in nodes if node >= 0})


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Return first and last of each run of consecutive numbers."""
    runs = np.split(np.asarray(numbers), np.flatnonzero(np.diff(numbers) > 1) + 1)
    return [(int(run[0]), int(run[-1])) for run in runs if len(run)]


def _png(matrix: Floats, positive: Colour, negative: Colour) -> str:
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


#: A blue and an orange that are distinct in all kinds of colour vision; red and blue as in nilearn's figures.
register_drawer("matrix", MatrixDrawer("", (0x2B, 0x6C, 0xB0), (0xD9, 0x7A, 0x0B)))
register_drawer("connectomes", MatrixDrawer(" red-blue", (0xB2, 0x18, 0x2B), (0x21, 0x66, 0xAC)))
