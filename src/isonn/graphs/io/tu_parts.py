"""Parts of a TU folder that several processes can read at once."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import DatasetError
from isonn.graphs.graph import GraphSet
from isonn.graphs.io.tu_graphs import Labels, next_graphs, targets_of, tu_name
from isonn.graphs.io.tu_lines import FILES, file_lines


@dataclass(frozen=True, eq=False)
class TUPart:
    """Some graphs of a TU folder, read when called.

    Attributes:
        y: the targets of the graphs.
        first, total: number of graphs before them, and in all.
        places: first byte, last byte and number of lines before, of each file.
    """

    folder: Path
    name: str
    labels: dict[str, Labels]
    y: NDArray[Any]
    y_file: str
    first: int
    total: int
    places: dict[str, tuple[int, int, int]]

    def __len__(self) -> int:
        return len(self.y)

    def __call__(self) -> GraphSet:
        """Read the graphs."""
        with ExitStack() as stack:
            lines = file_lines(self.folder, self.name, stack, whole=True, places=self.places)
            graphs = next_graphs(lines, self.labels, self.name, self.y, self.first, self.total, self.y_file)
            if not all(rest.at_end() for rest in lines.values()):
                raise DatasetError(f"{self.folder} has lines that belong to no graph; read it in one piece")
        return graphs


def tu_parts(folder: Path, at_once: int, target: str | None = None) -> list[TUPart] | None:
    """Return the pieces of `tu_pieces` unread; None if the files cannot be split.

    Bisection finds where parts start, as graphs are in order. A part whose lines are not those of its graphs raises
    `DatasetError`; `tu_pieces` then has the error message, or reads the folder after all.
    """
    name = tu_name(folder)
    y, y_file = targets_of(folder, name, target)
    graphs = range(0, len(y), at_once)
    paths = {what: folder / f"{name}_{what}.txt" for what in FILES}
    try:
        # the first part starts with the file, so that the parts hold all lines even if these are not sorted
        indicator = [0, *(_first_above(paths["graph_indicator"], first) for first in graphs[1:])]
        nodes = _lines_before(paths["graph_indicator"], indicator)
        cells = [0, *(_first_above(paths["A"], before) for before in nodes[1:])]
        bounds = {"graph_indicator": (indicator, nodes), "A": (cells, _lines_before(paths["A"], cells))}
        for what in ("node_labels", "edge_labels", "node_attributes"):
            if paths[what].exists():
                before = bounds["A" if what == "edge_labels" else "graph_indicator"][1]
                bounds[what] = _starts_of_lines(paths[what], before), before
        ends = {what: [*starts[1:], paths[what].stat().st_size] for what, (starts, _) in bounds.items()}
    except (ValueError, OSError):
        return None  # blank lines, text or a missing file: tu_pieces has the error message
    labels = {what: Labels(paths[f"{what}_labels"]) for what in ("node", "edge")}
    return [
        TUPart(
            folder,
            name,
            labels,
            y[first : first + at_once],
            y_file,
            first,
            len(y),
            {what: (starts[i], ends[what][i], before[i]) for what, (starts, before) in bounds.items()},
        )
        for i, first in enumerate(graphs)
    ]


#: More bytes than a line of two numbers has.
LINE_BYTES = 256


def _first_above(path: Path, value: int) -> int:
    """Return the start of the first line whose first number is above ``value``; first numbers are sorted."""
    with path.open("rb") as file:
        low, high = 0, file.seek(0, os.SEEK_END)
        while low < high:
            middle = (low + high) // 2
            begin = max(low, middle - LINE_BYTES)
            file.seek(begin)
            text = file.read(2 * LINE_BYTES)
            start = text.rfind(b"\n", 0, middle - begin) + 1
            if not start and begin > low:
                raise ValueError("a line is too long")
            end = text.find(b"\n", middle - begin)
            line = text[start : end if end >= 0 else len(text)]
            if int(line.split(b",")[0].removeprefix(codecs.BOM_UTF8)) > value:
                high = begin + start
            else:
                low = begin + (end + 1 if end >= 0 else len(text))
    return low


def _blocks(path: Path) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    """Yield the bytes of a file in blocks, with the position of each."""
    with path.open("rb") as file:
        start = 0
        while block := file.read(2**22):
            yield start, np.frombuffer(block, dtype=np.uint8)
            start += len(block)


def _lines_before(path: Path, places: list[int]) -> list[int]:
    """Count the lines before each of some positions, which are sorted."""
    counts: list[int] = []
    done = total = 0
    for start, block in _blocks(path):
        inside = [place - start for place in places[len(counts) :] if place < start + len(block)]
        for place in inside:
            total += int(np.count_nonzero(block[done - start : place] == ord("\n")))
            done = start + place
            counts.append(total)
        total += int(np.count_nonzero(block[done - start :] == ord("\n")))
        done = start + len(block)
    return counts + [total] * (len(places) - len(counts))


def _starts_of_lines(path: Path, lines: list[int]) -> list[int]:
    """Return the position where each of some lines starts; lines are sorted and count from 0."""
    starts, before = [0 for line in lines if line == 0], 0
    for start, block in _blocks(path):
        newlines = np.flatnonzero(block == ord("\n"))
        while len(starts) < len(lines) and lines[len(starts)] <= before + len(newlines):
            starts.append(start + int(newlines[lines[len(starts)] - before - 1]) + 1)
        before += len(newlines)
    if len(starts) < len(lines):
        raise ValueError("lines are missing")
    return starts
