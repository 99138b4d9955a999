"""Reader of TU folders, the format of the TUDataset benchmarks, whole or a few graphs at a time.

Lines are read in the order of the graphs. A folder that is not sorted by graph can only be read whole, because its
lines are sorted in memory first.
"""

from __future__ import annotations

import codecs
import itertools
import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from isonn.errors import DatasetError, InputError
from isonn.graphs.graph import GraphSet
from isonn.graphs.io.registry import Reader
from isonn.graphs.io.text import EXACT, NumberReader, read_numbers
from isonn.graphs.join import graphset_from_cells
from isonn.packing import IntArray


class UnsortedError(DatasetError):
    """The lines of a TU folder are not sorted by graph, so it cannot be read in pieces."""


class TUReader(Reader):
    """Reader of TU folders, whole with `read_tu` and in pieces with `tu_pieces`."""

    name = "tu"
    expects = "a TU folder (*_A.txt)"

    def recognises(self, path: Path) -> bool:
        """Return whether the path is a folder with a ``*_A.txt`` file, or that file (`read` then names the folder)."""
        return any(path.glob("*_A.txt")) if path.is_dir() else path.name.endswith("_A.txt")

    def read(self, path: Path, *, target: str | None = None) -> GraphSet:
        """See `read_tu`."""
        return read_tu(path, target)

    def stream(self, path: Path, at_once: int, *, target: str | None = None) -> Iterator[GraphSet]:
        """See `tu_pieces`."""
        return tu_pieces(path, at_once, target)

    def parts(self, path: Path, at_once: int, *, target: str | None = None) -> list[Part] | None:
        """See `tu_parts`."""
        return tu_parts(path, at_once, target)

    def title(self, path: Path) -> str:
        """Return the part of the file name before ``_A.txt``."""
        return tu_name(path)


READER = TUReader()


def read_tu(folder: str | os.PathLike[str], target: str | None = None) -> GraphSet:
    """Read the graphs of a TU folder; ``DS`` below is the part of the file name before ``_A.txt``.

    ===============================  ================================================================
    ``DS_A.txt``                     a line ``row, column`` per cell, nodes counted from 1 over all
                                     graphs; a repeated line counts once
    ``DS_graph_indicator.txt``       the graph of each node, from 1; need not be sorted
    ``DS_graph_labels.txt``          the class of each graph
    ``DS_graph_attributes.txt``      optional, the numbers to predict for each graph
    ``DS_node_labels.txt``           optional
    ``DS_edge_labels.txt``           optional, one per line of ``DS_A.txt``
    ``DS_node_attributes.txt``       optional, real numbers
    ===============================  ================================================================

    Labels of several columns become one number per distinct row; ``node_label_names`` or ``edge_label_names`` map it to
    the row. Edge attributes are not read.

    Args:
        target: read ``y`` from "labels" or "attributes"; None prefers labels.
    """
    folder = Path(folder)
    try:
        (graphs,) = tu_pieces(folder, None, target)
    except UnsortedError:
        (graphs,) = tu_pieces(folder, None, target, in_memory=True)
    return graphs


def tu_pieces(
    folder: Path, at_once: int | None, target: str | None = None, in_memory: bool = False
) -> Iterator[GraphSet]:
    """Yield the result of `read_tu` in slices of ``at_once`` graphs, or whole; hold only ``y`` in memory.

    Args:
        in_memory: read all lines first and sort them by graph.
    """
    name = tu_name(folder)
    y, y_file = _targets(folder, name, target)
    labels = {what: _Labels(folder / f"{name}_{what}_labels.txt") for what in ("node", "edge")}
    with ExitStack() as stack:
        lines = _sorted_lines(folder, name) if in_memory else _file_lines(folder, name, stack, whole=at_once is None)
        step = len(y) if at_once is None else at_once
        for first in range(0, len(y), step):
            stop = min(first + step, len(y))
            yield _next_graphs(lines, labels, name, y[first:stop], first, len(y), y_file)
        _check_end(lines, len(y), y_file)


def _next_graphs(
    lines: dict[str, _Lines],
    labels: dict[str, _Labels],
    name: str,
    y: NDArray[Any],
    first: int,
    total: int,
    y_file: str,
) -> GraphSet:
    """Read the next graphs, one for each of ``y``, after the first ``first`` of ``total``."""
    indicator, cells, attributes = lines["graph_indicator"], lines["A"], lines["node_attributes"]
    start = indicator.done
    owner = _owners(indicator, first, first + len(y), total, y_file)
    pairs = _cells(cells, owner, start, first)
    sizes = np.bincount(owner)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    cell_owner = owner[pairs[:, 0]]
    rows = {
        "node": lines["node_labels"].take(first + 1 + owner, total),
        "edge": lines["edge_labels"].take(first + 1 + cell_owner, total),
    }
    return graphset_from_cells(
        cell_owner,
        within[pairs],
        sizes,
        edge_labels=labels["edge"].codes(rows["edge"], lines["edge_labels"]),
        node_labels=labels["node"].codes(rows["node"], lines["node_labels"]),
        node_attributes=_finite(attributes.take(first + 1 + owner, total), attributes),
        y=y,
        name=name,
        node_label_names=labels["node"].names,
        edge_label_names=labels["edge"].names,
    )


# Parts of a folder that several processes can read at once.


@dataclass(frozen=True, eq=False)
class Part:
    """Some graphs of a TU folder, read when called.

    Attributes:
        y: the targets of the graphs.
        first, total: number of graphs before them, and in all.
        places: first byte, last byte and number of lines before, of each file.
    """

    folder: Path
    name: str
    labels: dict[str, _Labels]
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
            lines = _file_lines(self.folder, self.name, stack, whole=True, places=self.places)
            graphs = _next_graphs(lines, self.labels, self.name, self.y, self.first, self.total, self.y_file)
            if not all(own.at_end() for own in lines.values()):
                raise DatasetError(f"{self.folder} has lines that belong to no graph; read it in one piece")
        return graphs


def tu_parts(folder: Path, at_once: int, target: str | None = None) -> list[Part] | None:
    """Return the pieces of `tu_pieces` unread; None if the files cannot be split.

    Bisection finds where parts start, as graphs are in order. A part whose lines are not those of its graphs raises
    `DatasetError`; `tu_pieces` then has the error message, or reads the folder after all.
    """
    name = tu_name(folder)
    y, y_file = _targets(folder, name, target)
    graphs = range(0, len(y), at_once)
    paths = {what: folder / f"{name}_{what}.txt" for what in _FILES}
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
        ends = {what: [*own[0][1:], paths[what].stat().st_size] for what, own in bounds.items()}
    except (ValueError, OSError):
        return None  # blank lines, text or a missing file: tu_pieces has the error message
    labels = {what: _Labels(paths[f"{what}_labels"]) for what in ("node", "edge")}
    return [
        Part(
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


def tu_name(folder: Path) -> str:
    """Return the part of the file name before ``_A.txt``; there must be one such file."""
    if not folder.exists():
        raise DatasetError(f"{folder} is not a folder; give the folder that holds the *_A.txt file of a TU dataset")
    if not folder.is_dir():
        raise DatasetError(f"{folder} is one file of a TU dataset; give its folder {folder.parent}")
    found = sorted(path.name[: -len("_A.txt")] for path in folder.glob("*_A.txt"))
    if len(found) != 1:
        what = f"those of {', '.join(found):.100}" if found else "no *_A.txt"
        raise DatasetError(f"{folder} holds {what}; a TU folder holds the files of one dataset")
    return found[0]


def _targets(folder: Path, name: str, target: str | None) -> tuple[NDArray[Any], str]:
    """Return ``y`` and the name of its file."""
    if target not in (None, "labels", "attributes"):
        raise InputError(f"target={target!r:.60} is not in a TU folder; use 'labels' or 'attributes'")
    attributes = folder / f"{name}_graph_attributes.txt"
    file = folder / f"{name}_graph_labels.txt"
    if target == "attributes" or (target is None and attributes.exists() and not file.exists()):
        file, y = attributes, read_numbers(attributes)
    else:
        y = _as_labels(read_numbers(file), file, 1)
    if not len(y):
        raise DatasetError(f"{file} is empty; it needs one line per graph")
    return (y[:, 0] if y.shape[1] == 1 else y), file.name


def _as_labels(rows: NDArray[Any], path: Path, first: int, integers: bool | None = None) -> NDArray[Any]:
    """Convert labels to integers if all are whole numbers; ``first`` is the line of the first row."""
    bad = ~np.isfinite(rows).all(axis=1)
    if bad.any():
        raise DatasetError(f"line {first + int(bad.argmax())} of {path} is not finite; labels must be finite")
    whole = bool((rows == np.rint(rows)).all()) if integers is None else integers
    large = (np.abs(rows) >= EXACT).any(axis=1)
    if large.any():
        at = int(large.argmax())
        raise DatasetError(
            f"line {first + at} of {path} has the label {rows[at].max():g}, beyond 2**53; use smaller ones"
        )
    return rows.astype(np.int64) if whole else rows


# The files of a folder, a few lines at a time or sorted in memory.

_FILES = {
    "graph_indicator": (int, 1),
    "A": (int, 2),
    "node_labels": (float, None),
    "edge_labels": (float, None),
    "node_attributes": (float, None),
}


class _Lines:
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
        return not (len(self._ahead) or self._more())

    def peek(self) -> list[int]:
        """Return the next line without consuming it."""
        return [int(number) for number in self._ahead[0]]

    def stop(self, what: str, remedy: str) -> NoReturn:
        raise DatasetError(f"{self.path} {what}; {remedy}")

    def _more(self) -> bool:
        if self._blocks is None:
            return False
        blocks = list(itertools.islice(self._blocks, None if self._whole else 1))
        if not blocks:
            return False
        _check_width(self.path, blocks[0])
        self._ahead = np.concatenate([self._ahead, *blocks]) if len(self._ahead) else np.concatenate(blocks)
        return True

    def _give(self, count: int) -> NDArray[Any]:
        rows, self._ahead = self._ahead[:count], self._ahead[count:]
        self.done += count
        return rows


def _check_width(path: Path, rows: NDArray[Any]) -> None:
    for what, (_, columns) in _FILES.items():
        if columns is not None and path.name.endswith(f"_{what}.txt") and rows.shape[1] != columns:
            needed = "it holds one graph number per node" if columns == 1 else "a line is 'row, column'"
            raise DatasetError(f"{path} has {rows.shape[1]} columns; {needed}")


def _file_lines(
    folder: Path,
    name: str,
    stack: ExitStack,
    whole: bool,
    places: dict[str, tuple[int, int, int]] | None = None,
) -> dict[str, _Lines]:
    """Open the lines of all files; the stack closes them.

    Args:
        whole: read each file at once.
        places: as in `Part`; None reads whole files.
    """
    lines = {}
    for what, (dtype, columns) in _FILES.items():
        path = folder / f"{name}_{what}.txt"
        start, stop, done = (None, None, 0) if places is None else places.get(what, (0, 0, 0))
        span = None if start is None or stop is None else (start, stop)
        reader = NumberReader(path, dtype, span) if columns is not None or path.exists() else None
        if reader is not None:
            stack.callback(reader.close)
        nothing: NDArray[Any] = np.zeros((0, columns or 1), dtype=dtype)
        lines[what] = _Lines(path, reader, nothing, whole, done)
    return lines


def _sorted_lines(folder: Path, name: str) -> dict[str, _Lines]:
    """Read all lines, sort them by graph, and relabel the nodes in that order."""
    paths = {what: folder / f"{name}_{what}.txt" for what in _FILES}
    tables = {
        what: read_numbers(paths[what], dtype) if columns is not None or paths[what].exists() else np.zeros((0, 1))
        for what, (dtype, columns) in _FILES.items()
    }
    for what in ("graph_indicator", "A"):
        if not tables[what].size:
            tables[what] = np.zeros((0, 2 if what == "A" else 1), dtype=np.int64)
        _check_width(paths[what], tables[what])
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
    return {what: _Lines(paths[what], None, table) for what, table in tables.items()}


class _Labels:
    """Codes of node or edge labels, the same in every piece.

    Attributes:
        names: the label rows of the codes, if labels have several columns.
    """

    def __init__(self, path: Path) -> None:
        self.names: dict[Any, str] = {}
        self._integers = True
        self._rows: NDArray[Any] | None = None  # the sorted distinct rows, if labels have several columns
        if not path.exists() or not _not_only_integers(path):
            return
        reader, first = NumberReader(path), 1
        try:
            for numbers in reader.blocks():
                block = _as_labels(numbers, path, first, integers=False)
                first += len(block)
                self._integers = self._integers and bool((block == np.rint(block)).all())
                if block.shape[1] > 1:
                    self._rows = np.unique(block if self._rows is None else np.concatenate([self._rows, block]), axis=0)
        finally:
            reader.close()
        if self._rows is not None:
            rows = self._rows.astype(np.int64) if self._integers else self._rows
            self.names = {i: ", ".join(map(str, row)) for i, row in enumerate(rows.tolist())}

    def codes(self, rows: NDArray[Any] | None, lines: _Lines) -> NDArray[Any] | None:
        """Return one label code per row."""
        if rows is None:
            return None
        labels = _as_labels(rows, lines.path, lines.done - len(rows) + 1, self._integers)
        if self._rows is None:
            return labels.reshape(-1)
        both = np.concatenate([self._rows, rows])  # all rows are known, so the codes are their indices
        return np.unique(both, axis=0, return_inverse=True)[1].reshape(-1)[len(self._rows) :]


def _not_only_integers(path: Path) -> bool:
    """Return whether the file may hold several columns or fractions, so that codes depend on all lines."""
    with path.open("rb") as file:
        return any(sign in block for block in iter(lambda: file.read(2**20), b"") for sign in b",.eEnN")


# Reading and checking the lines of the next graphs.


def _owners(indicator: _Lines, first: int, stop: int, total: int, y_file: str) -> IntArray:
    """Return the graph of each node of the next graphs, counted from 0 for the first of them."""
    line = indicator.done + 1
    numbers = indicator.until(stop)[:, 0].astype(np.int64)
    steps = np.diff(numbers, prepend=first)
    if (wrong := np.flatnonzero((steps < 0) | (steps > 1) | (numbers <= first))).size:
        at = int(wrong[0])
        number, before = int(numbers[at]), int(numbers[at - 1] if at else first)
        if number < 1:
            indicator.stop(f"has graph {number} in line {line + at}", "graphs are counted from 1")
        if indicator.in_memory:
            raise _empty(before + 1, total, indicator)
        raise UnsortedError(
            f"line {line + at} of {indicator.path} goes from graph {before} to graph {number}; a stream needs lines "
            f"sorted by graph, so sort them, or read the folder whole with isonn.load"
        )
    if not len(numbers) or numbers[-1] < stop:
        reached = int(numbers[-1]) if len(numbers) else first
        if indicator.at_end():
            indicator.stop(
                f"ends after line {indicator.done}, in graph {reached} of {total}",
                f"get the whole file again, or correct {y_file}, which has a line per graph",
            )
        raise _empty(reached + 1, total, indicator)
    return numbers - first - 1


def _empty(graph: int, total: int, indicator: _Lines) -> DatasetError:
    return DatasetError(f"graph {graph} of {total} in {indicator.path} has no nodes; drop it and close the gap")


def _cells(cells: _Lines, owner: IntArray, start: int, first: int) -> IntArray:
    """Return the cells of the next graphs, with nodes counted from 0 over these graphs.

    Args:
        start: number of nodes before those of ``owner``.
        first: number of graphs before those of ``owner``.
    """
    line = cells.done + 1
    table = cells.until(start + len(owner))
    pairs = table.astype(np.int64) - start - 1
    outside = ((pairs < 0) | (pairs >= len(owner))).any(axis=1)
    if not outside.any():
        outside = owner[pairs[:, 0]] != owner[pairs[:, 1]]
        if not outside.any():
            return pairs
    at = int(outside.argmax())
    edge, where = tuple(table[at].tolist()), f"line {line + at} of {cells.path}"
    if min(edge) < 1:
        raise DatasetError(f"{where} has the edge {edge} but nodes are counted from 1; correct the line")
    if edge[0] <= start:
        raise UnsortedError(
            f"{where} goes back to node {edge[0]}, of a graph before graph {first + 1}; a stream needs lines sorted "
            f"by graph, so sort them, or read the folder whole with isonn.load"
        )
    graph = first + 1 + int(owner[edge[0] - start - 1])
    raise DatasetError(
        f"{where} joins node {edge[0]} of graph {graph} to node {edge[1]}, which is not in that graph; "
        "an edge must stay within its graph"
    )


def _finite(rows: NDArray[Any] | None, lines: _Lines) -> NDArray[Any] | None:
    if rows is None:
        return None
    bad = ~np.isfinite(rows).all(axis=1)
    if bad.any():
        line = lines.done - len(rows) + int(bad.argmax()) + 1
        raise DatasetError(f"line {line} of {lines.path} is not finite; replace NaN and infinity")
    return rows


def _check_end(lines: dict[str, _Lines], graphs: int, y_file: str) -> None:
    """Raise an error if lines remain after the last graph."""
    indicator, cells = lines["graph_indicator"], lines["A"]
    if not indicator.at_end():
        indicator.stop(
            f"continues with graph {indicator.peek()[0]} in line {indicator.done + 1}",
            f"{y_file} has {graphs} lines; it needs one per graph",
        )
    if not cells.at_end():
        cells.stop(
            f"has the edge {tuple(cells.peek())} in line {cells.done + 1} but nodes are counted from 1 to "
            f"{indicator.done}",
            "correct the line or graph_indicator",
        )
    for what in ("node_attributes", "node_labels", "edge_labels"):
        if not lines[what].at_end():
            short = cells if what == "edge_labels" else indicator
            lines[what].stop(
                f"continues after line {lines[what].done} where {short.path.name} ends",
                "give one line each, or the whole file",
            )
