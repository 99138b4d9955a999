"""Reader of TU folders, the format of the TUDataset benchmarks, whole or a few graphs at a time.

A folder whose lines are not sorted by graph is read whole.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isonn.errors import DatasetError, InputError, IsoNNWarning
from isonn.graphs.graph import GraphSet
from isonn.graphs.io.registry import Reader
from isonn.graphs.io.text import EXACT, number_blocks, read_numbers
from isonn.graphs.join import graphset_from_cells

#: The files with a line per node or per cell, and the type of their numbers.
FILES = {"graph_indicator": int, "A": int, "node_labels": float, "edge_labels": float, "node_attributes": float}
#: The number of columns that a file must have.
COLUMNS = {"graph_indicator": 1, "A": 2}

Tables = dict[str, NDArray[Any]]


class TUReader(Reader):
    """Reader of TU folders; ``DS`` below is the part of the file name before ``_A.txt``.

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
    """

    name = "tu"
    expects = "a TU folder (*_A.txt)"

    def recognises(self, path: Path) -> bool:
        """Return whether the path is a folder with a ``*_A.txt`` file, or that file (`read` then names the folder)."""
        return any(path.glob("*_A.txt")) if path.is_dir() else path.name.endswith("_A.txt")

    def read(self, path: Path, *, target: str | None = None) -> GraphSet:
        """Read the graphs of the folder.

        Args:
            target: read ``y`` from "labels" or "attributes"; None prefers labels.
        """
        return _Folder.open(path, target).read()

    def stream(self, path: Path, at_once: int, *, target: str | None = None) -> Iterator[GraphSet]:
        """Yield slices of ``at_once`` graphs of the folder; hold only ``y`` and one slice in memory."""
        folder = _Folder.open(path, target)
        done = 0
        with suppress(DatasetError, OSError):  # reading the whole folder has the error message, or sorts it
            for graphs in folder.runs(at_once):
                yield graphs
                done += len(graphs)
        if done < len(folder.y):
            whole = folder.read()
            warnings.warn(
                f"{path} is not sorted by graph, so all of it is read into memory; sort its lines to read it in pieces",
                IsoNNWarning,
                stacklevel=2,
            )
            yield from (whole[first : first + at_once] for first in range(done, len(whole), at_once))

    def title(self, path: Path) -> str:
        """Return the part of the file name before ``_A.txt``."""
        return _name(path)


READER = TUReader()


@dataclass(frozen=True, eq=False)
class _Folder:
    """A TU folder.

    Attributes:
        path: the folder.
        name: the part of the file names before ``_A.txt``.
        y: the targets.
        y_file: the name of the file of ``y``.
        labels: the codes of node and edge labels, the same in every part.
    """

    path: Path
    name: str
    y: NDArray[Any]
    y_file: str
    labels: dict[str, _Labels]

    @classmethod
    def open(cls, path: Path, target: str | None) -> _Folder:
        name = _name(path)
        labels = {what: _Labels.of(path / f"{name}_{what}.txt") for what in ("node_labels", "edge_labels")}
        return cls(path, name, *_targets(path, name, target), labels)

    def file(self, what: str) -> Path:
        return self.path / f"{self.name}_{what}.txt"

    def read(self) -> GraphSet:
        tables = {what: _joined(what, self.blocks(what)) for what in FILES if self.needs(what)}
        return self.graphs(tables if self.check(tables) else _sorted(tables))

    def runs(self, at_once: int) -> Iterator[GraphSet]:
        """Yield ``at_once`` graphs at a time; stop where the lines are not sorted by graph."""
        firsts = range(0, len(self.y), at_once)
        nodes = self._count_lines("graph_indicator", [min(first + at_once, len(self.y)) for first in firsts])
        cells = None if nodes is None else self._count_lines("A", np.cumsum(nodes))
        if nodes is None or cells is None:
            return
        counts = {what: cells if what in ("A", "edge_labels") else nodes for what in FILES if self.needs(what)}
        rows = zip(*(_runs_of_rows(what, self.blocks(what), counts[what].tolist()) for what in counts), strict=True)
        for first, earlier, run in zip(firsts, np.cumsum(nodes) - nodes, rows, strict=True):
            tables = dict(zip(counts, run, strict=True))
            tables |= {"graph_indicator": tables["graph_indicator"] - first, "A": tables["A"] - earlier}
            some = replace(self, y=self.y[first : first + at_once])
            if not some.check(tables):
                return
            yield some.graphs(tables)

    def _count_lines(self, what: str, last: ArrayLike) -> NDArray[np.int64] | None:
        """Count the lines of each run of graphs by their first number; None if they are not sorted by run.

        Args:
            last: the largest number in each run.
        """
        counts = np.zeros(len(np.asarray(last)), dtype=np.int64)
        current = 0
        for rows in self.blocks(what):
            run = np.searchsorted(last, rows[:, 0])
            if run[0] < current or (np.diff(run) < 0).any() or run[-1] == len(counts):
                return None
            counts += np.bincount(run, minlength=len(counts))
            current = int(run[-1])
        return counts

    def needs(self, what: str) -> bool:
        return what in ("graph_indicator", "A") or self.file(what).exists()

    def blocks(self, what: str) -> Iterator[NDArray[Any]]:
        """Yield the lines of a file, some at a time."""
        columns = COLUMNS.get(what)
        for rows in number_blocks(self.file(what), FILES[what]):
            if columns not in (None, rows.shape[1]):
                needed = "it holds one graph number per node" if columns == 1 else "a line is 'row, column'"
                raise DatasetError(f"{self.file(what)} has {rows.shape[1]} columns; {needed}")
            yield rows

    def check(self, tables: Tables) -> bool:
        """Raise `DatasetError` if lines do not fit together; return whether they are sorted by graph."""
        total, graph, cells = len(self.y), tables["graph_indicator"][:, 0], tables["A"]
        indicator, edges, n = self.file("graph_indicator"), self.file("A"), len(tables["graph_indicator"])
        if n and graph.min() < 1:
            line = int((graph < 1).argmax())
            raise DatasetError(f"{indicator} has graph {graph[line]} in line {line + 1}; graphs are counted from 1")
        empty = np.flatnonzero(np.bincount(graph[graph <= total], minlength=total + 1)[1:] == 0) + 1
        if len(empty) and empty[0] > graph.max(initial=0):
            raise DatasetError(
                f"{indicator} ends after line {n}, in graph {graph.max(initial=0)} of {total}; get the whole file "
                f"again, or correct {self.y_file}, which has a line per graph"
            )
        if len(empty):
            raise DatasetError(f"graph {empty[0]} of {total} in {indicator} has no nodes; drop it and close the gap")
        if graph.max() > total:
            line = int((graph > total).argmax())
            raise DatasetError(
                f"{indicator} continues with graph {graph[line]} in line {line + 1}; {self.y_file} has {total} lines; "
                f"it needs one per graph"
            )
        wrong = ((cells < 1) | (cells > n)).any(axis=1)
        if not wrong.any():
            wrong = graph[cells[:, 0] - 1] != graph[cells[:, 1] - 1]
        if wrong.any():
            raise _wrong_edge(edges, int(wrong.argmax()), cells, graph)
        owner = graph[cells[:, 0] - 1]
        for what in ("node_labels", "edge_labels", "node_attributes"):
            lines, (other, of_line) = tables.get(what), (edges, owner) if what == "edge_labels" else (indicator, graph)
            if lines is not None and len(lines) < len(of_line):
                raise DatasetError(
                    f"{self.file(what)} ends after line {len(lines)}, in the middle of graph {of_line[len(lines)]} of "
                    f"{total}; get the whole file again"
                )
            if lines is not None and len(lines) > len(of_line):
                raise DatasetError(
                    f"{self.file(what)} continues after line {len(of_line)} where {other.name} ends; give one line "
                    f"each, or the whole file"
                )
        return bool((np.diff(graph) >= 0).all() and (np.diff(owner) >= 0).all())

    def graphs(self, tables: Tables) -> GraphSet:
        """Build the graphs of lines that are sorted by graph."""
        owner, pairs = tables["graph_indicator"][:, 0] - 1, tables["A"] - 1
        sizes = np.bincount(owner)
        within = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        attributes = tables.get("node_attributes")
        if attributes is not None and (bad := ~np.isfinite(attributes).all(axis=1)).any():
            where = f"line {int(bad.argmax()) + 1} of {self.file('node_attributes')}"
            raise DatasetError(f"{where} is not finite; replace NaN and infinity")
        codes = {
            what: labels.codes(tables[what], self.file(what)) for what, labels in self.labels.items() if what in tables
        }
        return graphset_from_cells(
            owner[pairs[:, 0]],
            within[pairs],
            sizes,
            edge_labels=codes.get("edge_labels"),
            node_labels=codes.get("node_labels"),
            node_attributes=attributes,
            y=self.y,
            name=self.name,
            node_label_names=self.labels["node_labels"].names,
            edge_label_names=self.labels["edge_labels"].names,
        )


def _name(folder: Path) -> str:
    """Return the part of the file name before ``_A.txt``; there must be one such file."""
    if not folder.is_dir():
        raise DatasetError(f"{folder} is one file of a TU dataset; give its folder {folder.parent}")
    names = sorted(path.name[: -len("_A.txt")] for path in folder.glob("*_A.txt"))
    if len(names) != 1:
        raise DatasetError(
            f"{folder} holds those of {', '.join(names):.100}; a TU folder holds the files of one dataset"
        )
    return names[0]


def _targets(folder: Path, name: str, target: str | None) -> tuple[NDArray[Any], str]:
    """Return ``y`` and the name of its file."""
    if target not in (None, "labels", "attributes"):
        raise InputError(f"target={target!r:.60} is not in a TU folder; use 'labels' or 'attributes'")
    attributes = folder / f"{name}_graph_attributes.txt"
    file = folder / f"{name}_graph_labels.txt"
    if target == "attributes" or (target is None and attributes.exists() and not file.exists()):
        file, y = attributes, read_numbers(attributes)
    else:
        y = _as_labels(read_numbers(file), file)
    if not len(y):
        raise DatasetError(f"{file} is empty; it needs one line per graph")
    return (y[:, 0] if y.shape[1] == 1 else y), file.name


def _as_labels(rows: NDArray[Any], path: Path, first: int = 1, integers: bool | None = None) -> NDArray[Any]:
    """Convert labels to integers if all are whole numbers; ``first`` is the line of the first row."""
    bad = ~np.isfinite(rows).all(axis=1)
    if bad.any():
        raise DatasetError(f"line {first + int(bad.argmax())} of {path} is not finite; labels must be finite")
    large = (np.abs(rows) >= EXACT).any(axis=1)
    if large.any():
        at = int(large.argmax())
        raise DatasetError(
            f"line {first + at} of {path} has the label {rows[at].max():g}, beyond 2**53; use smaller ones"
        )
    whole = bool((rows == np.rint(rows)).all()) if integers is None else integers
    return rows.astype(np.int64) if whole else rows


@dataclass(frozen=True, eq=False)
class _Labels:
    """Codes of node or edge labels.

    Attributes:
        integers: whether all labels of the file are whole numbers.
        rows: the sorted distinct rows, if labels have several columns; their indices are the codes.
    """

    integers: bool = True
    rows: NDArray[Any] | None = None

    @classmethod
    def of(cls, path: Path) -> _Labels:
        """Read the file, unless it holds plain integers, which are their own codes."""
        if not path.exists():
            return cls()
        with path.open("rb") as file:
            if not any(sign in block for block in iter(lambda: file.read(2**20), b"") for sign in b",.eEnN"):
                return cls()
        integers, rows, line = True, None, 1
        for numbers in number_blocks(path):
            block = _as_labels(numbers, path, line, integers=False)
            line += len(block)
            integers = integers and bool((block == np.rint(block)).all())
            if block.shape[1] > 1:
                rows = np.unique(block if rows is None else np.concatenate([rows, block]), axis=0)
        return cls(integers, rows)

    @property
    def names(self) -> dict[Any, str]:
        """The label rows of the codes, if labels have several columns."""
        if self.rows is None:
            return {}
        rows = self.rows.astype(np.int64) if self.integers else self.rows
        return {i: ", ".join(map(str, row)) for i, row in enumerate(rows.tolist())}

    def codes(self, rows: NDArray[Any], path: Path) -> NDArray[Any]:
        """Return one label code per row."""
        labels = _as_labels(rows, path, integers=self.integers)
        if self.rows is None or not len(rows):
            return labels.reshape(-1)
        both = np.concatenate([self.rows, rows])
        return np.unique(both, axis=0, return_inverse=True)[1].reshape(-1)[len(self.rows) :]


def _wrong_edge(path: Path, line: int, cells: NDArray[np.int64], graph: NDArray[np.int64]) -> DatasetError:
    """Return the error about an edge that does not lie within a graph."""
    edge, n = tuple(cells[line].tolist()), len(graph)
    if min(edge) < 1:
        return DatasetError(
            f"line {line + 1} of {path} has the edge {edge} but nodes are counted from 1; correct the line"
        )
    if edge[0] > n:
        return DatasetError(
            f"{path} has the edge {edge} in line {line + 1} but nodes are counted from 1 to {n}; correct the line or "
            f"graph_indicator"
        )
    return DatasetError(
        f"line {line + 1} of {path} joins node {edge[0]} of graph {graph[edge[0] - 1]} to node {edge[1]}, which is not "
        f"in that graph; an edge must stay within its graph"
    )


def _sorted(tables: Tables) -> Tables:
    """Sort lines by graph, and number the nodes in that order."""
    graph, cells = tables["graph_indicator"][:, 0], tables["A"]
    nodes = np.argsort(graph, kind="stable")
    edges = np.argsort(graph[cells[:, 0] - 1], kind="stable")
    number = np.empty(len(nodes), dtype=np.int64)
    number[nodes] = np.arange(1, len(nodes) + 1)
    ordered = {what: rows[edges if what == "edge_labels" else nodes] for what, rows in tables.items() if what != "A"}
    return {**ordered, "A": number[cells[edges] - 1]}


def _joined(what: str, blocks: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """Join lines of a file."""
    given = [*blocks] or [np.zeros((0, COLUMNS.get(what, 1)), dtype=FILES[what])]
    return given[0] if len(given) == 1 else np.concatenate(given)


def _runs_of_rows(what: str, blocks: Iterator[NDArray[Any]], counts: Sequence[int]) -> Iterator[NDArray[Any]]:
    """Yield so many lines of a file each time, and the last time all that are left."""
    waiting: list[NDArray[Any]] = []
    for count in counts[:-1]:
        while sum(map(len, waiting)) < count and (block := next(blocks, None)) is not None:
            waiting.append(block)
        rows = _joined(what, waiting)
        yield rows[:count]
        waiting = [rows[count:]]
    yield _joined(what, [*waiting, *blocks])
