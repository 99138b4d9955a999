"""A dense graph as a picture of its matrix: one pixel a cell, with a match as a frame around its cells."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from isonn.data.graphs import Graph

if TYPE_CHECKING:
    from isonn.report.draw import Mark

#: Side of the matrix in pixels, about; and the room at its left and top for importance and numbers.
SIDE, MARGIN = 440, 34
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
    whole = side + MARGIN + 8
    box = f"{-MARGIN} {-MARGIN} {whole} {whole}"
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
