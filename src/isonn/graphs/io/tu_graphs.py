"""The next graphs of a TU folder, from the lines of its files, with errors that name the line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import DatasetError, InputError
from isonn.graphs.graph import GraphSet
from isonn.graphs.io.text import EXACT, NumberReader, read_numbers
from isonn.graphs.io.tu_lines import Lines
from isonn.graphs.join import graphset_from_cells
from isonn.packing import IntArray


class UnsortedError(DatasetError):
    """The lines of a TU folder are not sorted by graph, so it cannot be read in pieces."""


def next_graphs(
    lines: dict[str, Lines],
    labels: dict[str, Labels],
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


def tu_name(folder: Path) -> str:
    """Return the part of the file name before ``_A.txt``; there must be one such file."""
    if not folder.exists():
        raise DatasetError(f"{folder} is not a folder; give the folder that holds the *_A.txt file of a TU dataset")
    if not folder.is_dir():
        raise DatasetError(f"{folder} is one file of a TU dataset; give its folder {folder.parent}")
    names = sorted(path.name[: -len("_A.txt")] for path in folder.glob("*_A.txt"))
    if len(names) != 1:
        what = f"those of {', '.join(names):.100}" if names else "no *_A.txt"
        raise DatasetError(f"{folder} holds {what}; a TU folder holds the files of one dataset")
    return names[0]


def targets_of(folder: Path, name: str, target: str | None) -> tuple[NDArray[Any], str]:
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


class Labels:
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

    def codes(self, rows: NDArray[Any] | None, lines: Lines) -> NDArray[Any] | None:
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


def _owners(indicator: Lines, first: int, stop: int, total: int, y_file: str) -> IntArray:
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


def _empty(graph: int, total: int, indicator: Lines) -> DatasetError:
    return DatasetError(f"graph {graph} of {total} in {indicator.path} has no nodes; drop it and close the gap")


def _cells(cells: Lines, owner: IntArray, start: int, first: int) -> IntArray:
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


def _finite(rows: NDArray[Any] | None, lines: Lines) -> NDArray[Any] | None:
    if rows is None:
        return None
    bad = ~np.isfinite(rows).all(axis=1)
    if bad.any():
        line = lines.done - len(rows) + int(bad.argmax()) + 1
        raise DatasetError(f"line {line} of {lines.path} is not finite; replace NaN and infinity")
    return rows


def check_end(lines: dict[str, Lines], graphs: int, y_file: str) -> None:
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
