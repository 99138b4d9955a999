"""The files of a TU folder, a few lines at a time or sorted in memory."""

from __future__ import annotations

import itertools
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from isonn.errors import DatasetError
from isonn.graphs.io.text import NumberReader, read_numbers
from isonn.packing import IntArray

FILES = {
    "graph_indicator": (int, 1),
    "A": (int, 2),
    "node_labels": (float, None),
    "edge_labels": (float, None),
    "node_attributes": (float, None),
}


class Lines:
    """Lines of numbers, read on demand.

    Attributes:
        path: the path of the file.
        done: number of lines returned so far.
    """

    def __init__(
        self, path: Path, reader: NumberReader | None, ahead: NDArray[Any], whole: bool = True, done: int = 0
    ) -> None:
        self.path, self.done = path, done
        self._blocks, self._ahead, self._whole = None if reader is None else reader.blocks(), ahead, whole
        self._there = reader is not None or len(ahead) > 0

    @property
    def in_memory(self) -> bool:
        """Whether all lines are in memory, sorted by graph."""
        return self._blocks is None

    def until(self, last: int) -> NDArray[Any]:
        """Return the next lines up to the first whose first number is above ``last``."""
        while not len(beyond := np.flatnonzero(self._ahead[:, 0] > last)) and self._more():
            pass
        return self._give(int(beyond[0]) if len(beyond) else len(self._ahead))

    def take(self, graphs: IntArray, total: int) -> NDArray[Any] | None:
        """Return one line per entry of ``graphs``, the graph of each line; None without a file."""
        if not self._there:
            return None
        while len(self._ahead) < len(graphs) and self._more():
            pass
        if (found := len(self._ahead)) < len(graphs):
            self.stop(
                f"ends after line {self.done + found}, in the middle of graph {graphs[found]} of {total}",
                "get the whole file again",
            )
        return self._give(len(graphs))

    def at_end(self) -> bool:
        """Return whether all lines were returned."""
        return not (len(self._ahead) or self._more())

    def peek(self) -> list[int]:
        """Return the next line without consuming it."""
        return [int(number) for number in self._ahead[0]]

    def stop(self, what: str, remedy: str) -> NoReturn:
        """Raise `DatasetError` about the file."""
        raise DatasetError(f"{self.path} {what}; {remedy}")

    def _more(self) -> bool:
        if self._blocks is None:
            return False
        blocks = list(itertools.islice(self._blocks, None if self._whole else 1))
        if not blocks:
            return False
        check_width(self.path, blocks[0])
        self._ahead = np.concatenate([self._ahead, *blocks]) if len(self._ahead) else np.concatenate(blocks)
        return True

    def _give(self, count: int) -> NDArray[Any]:
        rows, self._ahead = self._ahead[:count], self._ahead[count:]
        self.done += count
        return rows


def check_width(path: Path, rows: NDArray[Any]) -> None:
    """Check the number of columns of a file."""
    for what, (_, columns) in FILES.items():
        if columns is not None and path.name.endswith(f"_{what}.txt") and rows.shape[1] != columns:
            needed = "it holds one graph number per node" if columns == 1 else "a line is 'row, column'"
            raise DatasetError(f"{path} has {rows.shape[1]} columns; {needed}")


def file_lines(
    folder: Path,
    name: str,
    stack: ExitStack,
    whole: bool,
    places: dict[str, tuple[int, int, int]] | None = None,
) -> dict[str, Lines]:
    """Open the lines of all files; the stack closes them.

    Args:
        whole: read each file at once.
        places: as in `TUPart`; None reads whole files.
    """
    lines = {}
    for what, (dtype, columns) in FILES.items():
        path = folder / f"{name}_{what}.txt"
        start, stop, done = (None, None, 0) if places is None else places.get(what, (0, 0, 0))
        span = None if start is None or stop is None else (start, stop)
        reader = NumberReader(path, dtype, span) if columns is not None or path.exists() else None
        if reader is not None:
            stack.callback(reader.close)
        nothing: NDArray[Any] = np.zeros((0, columns or 1), dtype=dtype)
        lines[what] = Lines(path, reader, nothing, whole, done)
    return lines


def sorted_lines(folder: Path, name: str) -> dict[str, Lines]:
    """Read all lines, sort them by graph, and relabel the nodes in that order."""
    paths = {what: folder / f"{name}_{what}.txt" for what in FILES}
    tables = {
        what: read_numbers(paths[what], dtype) if columns is not None or paths[what].exists() else np.zeros((0, 1))
        for what, (dtype, columns) in FILES.items()
    }
    for what in ("graph_indicator", "A"):
        if not tables[what].size:
            tables[what] = np.zeros((0, 2 if what == "A" else 1), dtype=np.int64)
        check_width(paths[what], tables[what])
    graph_of_node, cells = tables["graph_indicator"][:, 0], tables["A"]
    wrong = ((cells < 1) | (cells > len(graph_of_node))).any(axis=1)
    problem = f"but nodes are counted from 1 to {len(graph_of_node)}"
    if not wrong.any():
        wrong = graph_of_node[cells[:, 0] - 1] != graph_of_node[cells[:, 1] - 1]
        problem = "between two graphs"
    if wrong.any():
        line = int(wrong.argmax())
        edge = tuple(cells[line].tolist())
        raise DatasetError(
            f"line {line + 1} of {paths['A']} has the edge {edge} {problem}; correct it or graph_indicator"
        )
    order = np.argsort(graph_of_node, kind="stable")
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(1, len(order) + 1)
    cell_order = np.argsort(graph_of_node[cells[:, 0] - 1], kind="stable")
    in_order = {"graph_indicator": order, "node_labels": order, "node_attributes": order, "edge_labels": cell_order}
    tables["A"] = number[cells[cell_order] - 1]
    for what, rows in in_order.items():
        if len(tables[what]) not in (0, len(rows)):
            needed = "A" if what == "edge_labels" else "graph_indicator"
            raise DatasetError(
                f"{paths[what]} has {len(tables[what])} lines for the {len(rows)} of {paths[needed].name}; give as many"
            )
        tables[what] = tables[what][rows] if len(tables[what]) else tables[what]
    return {what: Lines(paths[what], None, table) for what, table in tables.items()}
