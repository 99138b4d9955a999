"""Reader of TU folders, the format of the public collection of graph-kernel benchmarks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from isonn.errors import DatasetError
from isonn.graphs.graph import GraphSet, graphset_from_cells
from isonn.graphs.io.registry import Reader
from isonn.graphs.io.text import NumberReader, read_numbers
from isonn.packing import IntArray


class TUReader(Reader):
    """TU folders, read whole by `read_tu` and in pieces by `tu_pieces`."""

    name = "tu"
    expects = "a TU folder (*_A.txt)"

    def recognises(self, path: Path) -> bool:
        """A folder with a ``*_A.txt`` file, or that file itself, for which `read` names the folder."""
        return any(path.glob("*_A.txt")) if path.is_dir() else path.name.endswith("_A.txt")

    def read(self, path: Path) -> GraphSet:
        """See `read_tu`."""
        return read_tu(path)

    def stream(self, path: Path, at_once: int) -> Iterator[GraphSet]:
        """See `tu_pieces`."""
        return tu_pieces(path, at_once)

    def title(self, path: Path) -> str:
        """What stands before ``_A.txt``."""
        return tu_name(path)


READER = TUReader()


def read_tu(folder: str | os.PathLike[str]) -> GraphSet:
    """The graphs of a TU folder; ``DS`` below is what stands before ``_A.txt``.

    ===============================  ================================================================
    ``DS_A.txt``                     a line ``row, column`` per cell, nodes counted from 1 over all
                                     graphs; a repeated line counts once
    ``DS_graph_indicator.txt``       the graph of each node, from 1; need not be sorted
    ``DS_graph_labels.txt``          the class of each graph
    ``DS_node_labels.txt``           optional
    ``DS_edge_labels.txt``           optional, one per line of ``DS_A.txt``
    ``DS_node_attributes.txt``       optional, real numbers
    ===============================  ================================================================

    Labels of several columns become one number per distinct row, and ``node_label_names`` or
    ``edge_label_names`` say which row it stands for. Edge attributes and graph attributes are not read:
    isonn has no place for them.
    """
    folder = Path(folder)
    name = tu_name(folder)
    owner = _indicator(folder / f"{name}_graph_indicator.txt")
    n_nodes, n_graphs = len(owner), int(owner.max()) + 1
    y = read_labels(folder / f"{name}_graph_labels.txt")
    if len(y) != n_graphs:
        raise DatasetError(
            f"{name}_graph_labels.txt has {len(y)} lines for the {n_graphs} graphs of {name}_graph_indicator.txt in "
            f"{folder}; give one class per graph"
        )
    cells = _cells(folder / f"{name}_A.txt", owner)
    node_labels, node_label_names = coded_labels(_optional(folder / f"{name}_node_labels.txt", n_nodes, "nodes"))
    edge_labels, edge_label_names = coded_labels(
        _optional(folder / f"{name}_edge_labels.txt", len(cells), f"{name}_A lines")
    )
    attributes_file = folder / f"{name}_node_attributes.txt"
    attributes = read_numbers(attributes_file) if attributes_file.exists() else None
    if attributes is not None:
        _check_length(attributes_file, len(attributes), n_nodes, "nodes")
        bad = ~np.isfinite(attributes).all(axis=1)
        if bad.any():
            raise DatasetError(
                f"line {int(bad.argmax()) + 1} of {attributes_file} is not finite; replace NaN and infinity"
            )

    order = np.argsort(owner, kind="stable")  # nodes of one graph side by side, otherwise as in the files
    sizes = np.bincount(owner, minlength=n_graphs)
    within = np.empty(n_nodes, dtype=np.int64)
    within[order] = np.arange(n_nodes) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return graphset_from_cells(
        owner[cells[:, 0]],
        within[cells],
        sizes,
        edge_labels=edge_labels,
        node_labels=None if node_labels is None else node_labels[order],
        node_attributes=None if attributes is None else attributes[order],
        y=y[:, 0] if y.shape[1] == 1 else y,
        name=name,
        node_label_names=node_label_names,
        edge_label_names=edge_label_names,
    )


def tu_name(folder: Path) -> str:
    """What stands before ``_A.txt`` in the one file of that kind."""
    if not folder.exists():
        raise DatasetError(f"{folder} is not a folder; give the folder that holds the *_A.txt file of a TU dataset")
    if not folder.is_dir():
        raise DatasetError(f"{folder} is one file of a TU dataset; give its folder {folder.parent}")
    found = sorted(path.name[: -len("_A.txt")] for path in folder.glob("*_A.txt"))
    if len(found) != 1:
        what = f"those of {', '.join(found)}" if found else "no *_A.txt"
        raise DatasetError(f"{folder} holds {what}; a TU folder holds the files of one dataset")
    return found[0]


def _indicator(path: Path) -> IntArray:
    """The graph of each node, from 0."""
    table = read_numbers(path, int)
    if not table.size:
        raise DatasetError(f"{path} is empty; it holds one graph number per node")
    if table.shape[1] != 1:
        raise DatasetError(f"{path} has {table.shape[1]} columns; it holds one graph number per node")
    owner = table[:, 0].astype(np.int64)
    if owner.min() != 1:
        line = int(owner.argmin()) + 1
        raise DatasetError(f"{path} starts with graph {owner.min()} (line {line}); graphs are counted from 1")
    present = np.unique(owner)
    if present[-1] != len(present):
        empty = int((present != np.arange(1, len(present) + 1)).argmax()) + 1
        raise DatasetError(f"graph {empty} of {owner.max()} in {path} has no nodes; drop it and relabel the rest")
    return owner - 1


def _cells(path: Path, owner: IntArray) -> IntArray:
    """Row and column of each line, counted from 0 over all graphs."""
    table = read_numbers(path, int)
    if not table.size:
        return np.zeros((0, 2), dtype=np.int64)
    if table.shape[1] != 2:
        raise DatasetError(f"{path} has {table.shape[1]} columns; a line is 'row, column'")
    outside = ((table < 1) | (table > len(owner))).any(axis=1)
    if outside.any():
        line = int(outside.argmax())
        raise DatasetError(
            f"line {line + 1} of {path} has the edge {tuple(table[line].tolist())} but nodes are counted from 1 to "
            f"{len(owner)}; correct the line or graph_indicator"
        )
    cells = table.astype(np.int64) - 1
    apart = owner[cells[:, 0]] != owner[cells[:, 1]]
    if apart.any():
        line = int(apart.argmax())
        first, second = (owner[cells[line]] + 1).tolist()
        raise DatasetError(
            f"line {line + 1} of {path} joins node {table[line, 0]} of graph {first} to node {table[line, 1]} of graph "
            f"{second}; an edge stays within its graph"
        )
    return cells


def read_labels(path: Path) -> NDArray[Any]:
    """Labels of shape (lines, columns), as integers when all of them are."""
    table = read_numbers(path)
    bad = ~np.isfinite(table).all(axis=1)
    if bad.any():
        raise DatasetError(f"line {int(bad.argmax()) + 1} of {path} is not finite; a label is a finite number")
    return table.astype(np.int64) if (table == np.rint(table)).all() else table


def _optional(path: Path, needed: int, what: str) -> NDArray[Any] | None:
    if not path.exists():
        return None
    labels = read_labels(path)
    _check_length(path, len(labels), needed, what)
    return labels


def _check_length(path: Path, found: int, needed: int, what: str) -> None:
    if found != needed:
        raise DatasetError(f"{path} has {found} lines for {needed} {what}; give one line each")


def coded_labels(labels: NDArray[Any] | None) -> tuple[NDArray[Any] | None, dict[Any, str]]:
    """Labels of one column, and what each stands for if they had several."""
    if labels is None or labels.shape[1] <= 1:
        return (None if labels is None else labels.reshape(-1)), {}
    rows, codes = np.unique(labels, axis=0, return_inverse=True)
    return codes.reshape(-1), {i: ", ".join(map(str, row)) for i, row in enumerate(rows.tolist())}


# TU folders read a few thousand graphs at a time: what `read_tu` reads, where nothing but the classes is held.
#
# The lines of all files have to be sorted by graph, as they are in the public collection.


#: Lines read in one go: some megabytes.
LINES_AT_ONCE = 2**17


class UnsortedError(DatasetError):
    """The lines of a TU folder are not sorted by graph: it can be read whole, and not in pieces."""


def tu_pieces(folder: Path, at_once: int) -> Iterator[GraphSet]:
    """Slices of ``at_once`` graphs of what `read_tu` makes of the folder."""
    name = tu_name(folder)
    y = read_labels(folder / f"{name}_graph_labels.txt")
    classes = y[:, 0] if y.shape[1] == 1 else y
    labels: dict[str, _Labels] = {}
    with ExitStack() as stack:
        for what in ("node", "edge"):
            labels[what] = _Labels.of(folder / f"{name}_{what}_labels.txt")
            stack.enter_context(labels[what].lines)
        indicator = stack.enter_context(_Lines(folder / f"{name}_graph_indicator.txt", int, 1))
        cells = stack.enter_context(_Lines(folder / f"{name}_A.txt", int, 2))
        attributes = stack.enter_context(_Lines(folder / f"{name}_node_attributes.txt", float, None, optional=True))
        for first in range(0, len(y), at_once):
            stop = min(first + at_once, len(y))
            start = indicator.done
            owner = _owners(indicator, first, stop, len(y))
            pairs = _tu_pieces_cells(cells, owner, start, first)
            sizes = np.bincount(owner)
            within = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            cell_owner = owner[pairs[:, 0]]
            yield graphset_from_cells(
                cell_owner,
                within[pairs],
                sizes,
                edge_labels=labels["edge"].take(first + 1 + cell_owner, len(y)),
                node_labels=labels["node"].take(first + 1 + owner, len(y)),
                node_attributes=_finite(attributes.take(first + 1 + owner, len(y)), attributes),
                y=classes[first:stop],
                name=name,
                node_label_names=labels["node"].names,
                edge_label_names=labels["edge"].names,
            )
        _check_end(indicator, cells, [attributes, labels["node"].lines, labels["edge"].lines], len(y))


class _Lines:
    """A file of numbers that is read as far as is asked for."""

    def __init__(self, path: Path, dtype: type, columns: int | None, optional: bool = False) -> None:
        self.path, self.done, self._columns = path, 0, columns
        self.there = path.exists() or not optional
        self._reader = NumberReader(path, dtype) if self.there else None
        self._ahead: NDArray[Any] = np.zeros((0, columns or 1), dtype=dtype)

    def __enter__(self) -> _Lines:
        return self

    def __exit__(self, *about: object) -> None:
        if self._reader is not None:
            self._reader.close()

    def until(self, last: int) -> NDArray[Any]:
        """The next lines up to the first whose first number is above ``last``."""
        while not len(beyond := np.flatnonzero(self._ahead[:, 0] > last)) and self._more():
            pass
        return self._give(int(beyond[0]) if len(beyond) else len(self._ahead))

    def take(self, graphs: IntArray, total: int) -> NDArray[Any] | None:
        """As many lines as there are in ``graphs``, which says of which graph each is; None without a file."""
        if not self.there:
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
        return not self.there or not (len(self._ahead) or self._more())

    def peek(self) -> list[int]:
        """The next line."""
        return [int(number) for number in self._ahead[0]]

    def stop(self, what: str, remedy: str) -> NoReturn:
        raise DatasetError(f"{self.path} {what}; {remedy}")

    def _more(self) -> bool:
        assert self._reader is not None
        rows = self._reader.read(LINES_AT_ONCE)
        if not len(rows):
            return False
        if self._columns is not None and rows.shape[1] != self._columns:
            needed = "it holds one graph number per node" if self._columns == 1 else "a line is 'row, column'"
            self.stop(f"has {rows.shape[1]} columns", needed)
        self._ahead = np.concatenate([self._ahead, rows]) if len(self._ahead) else rows
        return True

    def _give(self, count: int) -> NDArray[Any]:
        rows, self._ahead = self._ahead[:count], self._ahead[count:]
        self.done += count
        return rows


class _Labels:
    """Labels of nodes or edges, coded as they would be if all of them were known."""

    def __init__(self, lines: _Lines, integers: bool, rows: NDArray[Any] | None) -> None:
        self.lines, self._integers, self._rows = lines, integers, rows
        self.names: dict[Any, str] = {} if rows is None else coded_labels(rows)[1]

    @classmethod
    def of(cls, path: Path) -> _Labels:
        if not path.exists():
            return cls(_Lines(path, float, None, optional=True), True, None)
        with path.open("rb") as file:
            blocks = iter(lambda: file.read(2**20), b"")
            telling = any(sign in block for block in blocks for sign in (b",", b".", b"e", b"E", b"n", b"N"))
        rows: NDArray[Any] | None = None
        integers = True
        if telling:  # several columns or fractions: what the labels are depends on all of them
            reader = NumberReader(path)
            while len(block := reader.read(LINES_AT_ONCE)):
                integers = integers and bool((block == np.rint(block)).all())
                if block.shape[1] > 1:
                    rows = np.unique(block if rows is None else np.concatenate([rows, block]), axis=0)
            reader.close()
        return cls(
            _Lines(path, float, None), integers, rows.astype(np.int64) if rows is not None and integers else rows
        )

    def take(self, graphs: IntArray, total: int) -> NDArray[Any] | None:
        first = self.lines.done + 1
        labels = self.lines.take(graphs, total)
        if labels is None:
            return None
        bad = ~np.isfinite(labels).all(axis=1)
        if bad.any():
            raise DatasetError(
                f"line {first + int(bad.argmax())} of {self.lines.path} is not finite; a label is a finite number"
            )
        labels = labels.astype(np.int64) if self._integers else labels
        if self._rows is None:
            return labels.reshape(-1)
        both = np.concatenate([self._rows, labels])  # all rows are known, so the numbers are their places
        return np.unique(both, axis=0, return_inverse=True)[1].reshape(-1)[len(self._rows) :]


def _owners(indicator: _Lines, first: int, stop: int, total: int) -> IntArray:
    """The graph of each node of the next graphs, from 0 for the first of them."""
    line = indicator.done + 1
    numbers = indicator.until(stop)[:, 0].astype(np.int64)
    steps = np.diff(numbers, prepend=first)
    if (wrong := np.flatnonzero((steps < 0) | (steps > 1) | (numbers <= first))).size:
        at = int(wrong[0])
        number, before = int(numbers[at]), int(numbers[at - 1] if at else first)
        if number < 1 or (first == 0 and at == 0):
            indicator.stop(f"starts with graph {number} (line {line + at})", "graphs are counted from 1")
        if number > before:
            raise DatasetError(
                f"graph {before + 1} of {total} in {indicator.path} has no nodes; drop it and relabel the rest"
            )
        raise UnsortedError(
            f"line {line + at} of {indicator.path} goes back to graph {number} after graph {before}; a stream needs "
            f"lines sorted by graph, so sort them, or read the folder whole with isonn.load"
        )
    if not len(numbers) or numbers[-1] < stop:
        reached = int(numbers[-1]) if len(numbers) else first
        if indicator.at_end():
            indicator.stop(
                f"ends after line {indicator.done}, in graph {reached} of {total}",
                "get the whole file again, or correct graph_labels, which has a line per graph",
            )
        raise DatasetError(
            f"graph {reached + 1} of {total} in {indicator.path} has no nodes; drop it and relabel the rest"
        )
    return numbers - first - 1


def _tu_pieces_cells(cells: _Lines, owner: IntArray, start: int, first: int) -> IntArray:
    """Rows and columns in the next graphs, counted from 0 over them.

    Args:
        start: nodes before those of ``owner``.
        first: graphs before those of ``owner``.
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
        f"{where} joins node {edge[0]} of graph {graph} to node {edge[1]}, which is not in that graph; an edge stays "
        f"within its graph"
    )


def _finite(rows: NDArray[Any] | None, lines: _Lines) -> NDArray[Any] | None:
    if rows is None:
        return None
    bad = ~np.isfinite(rows).all(axis=1)
    if bad.any():
        line = lines.done - len(rows) + int(bad.argmax()) + 1
        raise DatasetError(f"line {line} of {lines.path} is not finite; replace NaN and infinity")
    return rows


def _check_end(indicator: _Lines, cells: _Lines, others: list[_Lines], graphs: int) -> None:
    """Nothing may be left once all graphs have been read."""
    if not indicator.at_end():
        indicator.stop(
            f"goes on with graph {indicator.peek()[0]} in line {indicator.done + 1}",
            f"graph_labels has {graphs} lines, so give one class per graph",
        )
    if not cells.at_end():
        cells.stop(
            f"has the edge {tuple(cells.peek())} in line {cells.done + 1} but nodes are counted from 1 to "
            f"{indicator.done}",
            "correct the line or graph_indicator",
        )
    for lines in others:
        if not lines.at_end():
            short = cells if "edge_labels" in lines.path.name else indicator
            lines.stop(
                f"goes on after line {lines.done} where {short.path.name} ends", "give one line each, or the whole file"
            )
