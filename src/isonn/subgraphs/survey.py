"""`Survey`: one pass over the training graphs collects everything that must be known before they are counted."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from typing_extensions import Self

from isonn import progress
from isonn.errors import InputError
from isonn.graphs.columns import ends_of
from isonn.graphs.graph import GraphSet
from isonn.graphs.isomorphism import graph_hashes
from isonn.graphs.stream import GraphStream
from isonn.progress import Report
from isonn.subgraphs.levels import DistinctRows
from isonn.subgraphs.terms import term_table
from isonn.subgraphs.views import COLUMNS, View

#: Weights of the two directions of an edge may differ by this share: matrices of `numpy.corrcoef` do, by rounding.
SYMMETRY = 1e-8
#: Number of graphs on which the size of templates is chosen.
SAMPLED = 500


@dataclass(frozen=True, eq=False)
class Survey:
    """What one pass over graphs finds.

    Attributes:
        values: labels and values.
        y: the targets, or None if the graphs have none.
        terms: their `term_table`, ``(g, terms)``.
        largest: number of nodes of the largest graph.
        label_names: names of node and edge labels, targets and classes.
        hashes: their `graph_hashes`, ``(g,)``, equal for equal graphs.
        ids: their ids, or None.
        kind: the kind of the graphs.
        sample: at most SAMPLED distinct graphs, those with the smallest hashes.
        directed: the number of the first directed graph, or None.
    """

    values: DistinctValues
    y: NDArray[Any] | None
    terms: NDArray[np.float64]
    largest: int
    label_names: dict[str, dict[Any, str]]
    hashes: NDArray[np.uint64]
    ids: NDArray[Any] | None
    kind: str
    sample: GraphSet
    directed: int | None = None

    def __len__(self) -> int:
        return len(self.hashes)

    @classmethod
    def of(cls, graphs: GraphStream, views: tuple[View, ...], show: bool = False) -> Survey:
        """Read graphs once.

        Args:
            graphs: the graphs.
            views: the views that will look at them.
            show: whether to show a progress bar.
        """
        with progress.bar("reading", None, show=show) as report:
            return _joined(_chunks(graphs, views), graphs, report)

    @property
    def graph_ids(self) -> NDArray[Any]:
        """The id of each graph, or its number."""
        return np.arange(len(self)) if self.ids is None else self.ids

    def names_for(self, y: Any) -> dict[str, dict[Any, str]]:
        """Return the names; a ``y`` that does not come from the graphs has none."""
        return {
            kind: {} if y is not None and kind in ("target", "class") else names
            for kind, names in self.label_names.items()
        }


def columns_of(views: tuple[View, ...], graphs: GraphSet) -> list[str]:
    """Return the columns to look at, given the first graphs."""
    has = {**DistinctValues(()).add(graphs).has, "edge_weights": True}  # later graphs may have weights
    used = [view.uses(has) for view in views]
    return [name for name in sorted(COLUMNS) if any(use[name] for use in used)]


def _chunks(graphs: GraphStream, views: tuple[View, ...]) -> Iterator[Survey]:
    columns: list[str] | None = None
    for chunk in graphs:
        columns = columns_of(views, chunk) if columns is None else columns
        yield survey_of(chunk, columns)


def survey_of(graphs: GraphSet, columns: Collection[str]) -> Survey:
    """Return the survey of some graphs, looking at some columns."""
    names = {"node": dict(graphs.node_label_names), "edge": dict(graphs.edge_label_names)}
    names.update(target=dict(enumerate(graphs.target_names)), **{"class": dict(graphs.class_names)})
    hashes = graph_hashes(graphs)
    return Survey(
        DistinctValues(columns).add(graphs),
        graphs.y,
        term_table(graphs, graphs.kind),
        int(graphs.sizes.max()),
        names,
        hashes,
        _ids_or_rows(graphs),
        graphs.kind,
        _smallest(graphs, hashes),
        directed_graph(graphs),
    )


def _ids_or_rows(graphs: GraphSet) -> NDArray[Any] | None:
    """Return the ids, with the row of the file for graphs that have none; None if there are neither."""
    if "row" not in graphs.table:
        return graphs.ids
    rows = graphs.table["row"].astype(np.str_)
    return rows if graphs.ids is None else np.where(graphs.ids == "", rows, graphs.ids)


def _smallest(graphs: GraphSet, hashes: NDArray[np.uint64]) -> GraphSet:
    """Return the distinct graphs with the smallest hashes, sorted by them."""
    return graphs[np.unique(hashes, return_index=True)[1][:SAMPLED]]


def _joined(surveys: Iterable[Survey], graphs: GraphStream, report: Report) -> Survey:
    """Join the surveys of all chunks."""
    chunks: list[Survey] = []
    count = 0
    for chunk in surveys:
        if chunk.directed is not None:
            of = graphs.name if graphs.whole is None else len(graphs.whole)
            raise InputError(directed_error(count + chunk.directed, of))
        # the values are joined at once, because they may be large
        if chunks:
            sample = GraphSet.concat([chunks[0].sample, chunk.sample])
            chunks[0] = replace(chunks[0], sample=_smallest(sample, graph_hashes(sample)))
            chunk = replace(chunk, values=chunks[0].values.join(chunk.values), sample=chunk.sample[[0]])
        chunks.append(chunk)
        count += len(chunk)
        report(count, "graphs read")
    if not chunks:
        raise InputError(f"{graphs.name} has no graphs; give at least one")
    graphs.graphs = count
    names: dict[str, dict[Any, str]] = {"node": {}, "edge": {}, "target": {}, "class": {}}
    for chunk in chunks:
        for what, given in chunk.label_names.items():
            names[what].update(given)
    return Survey(
        chunks[0].values,
        _all([chunk.y for chunk in chunks]),
        np.concatenate([chunk.terms for chunk in chunks]),
        max(chunk.largest for chunk in chunks),
        names,
        np.concatenate([chunk.hashes for chunk in chunks]),
        _all([chunk.ids for chunk in chunks]),
        chunks[-1].kind,
        chunks[0].sample,
    )


def _all(columns: list[NDArray[Any] | None]) -> NDArray[Any] | None:
    given = [column for column in columns if column is not None]
    return np.concatenate(given) if len(given) == len(columns) else None


class DistinctValues:
    """The labels and values of graphs; neither the order of the graphs nor their batches matter.

    Args:
        wanted: which of COLUMNS to look at.

    Attributes:
        has: whether the graphs have each of COLUMNS.
        labels: the distinct labels of each column, sorted.
        values: the distinct rows of numbers of each column; weights default to 1.
    """

    def __init__(self, wanted: Collection[str] = COLUMNS) -> None:
        self.has = dict.fromkeys(COLUMNS, False)
        self.labels: dict[str, NDArray[Any]] = {}
        self.values: dict[str, DistinctRows] = {}
        self._wanted = wanted

    def add(self, graphs: GraphSet) -> Self:
        """Add the labels and values of some graphs, ignoring self-loops."""
        proper = graphs.edges[:, 0] != graphs.edges[:, 1]
        for name in COLUMNS:
            column = graphs.weights if name == "edge_weights" else getattr(graphs, name)
            self.has[name] |= column is not None
            if name not in self._wanted:
                continue
            if name == "edge_weights":
                values = self.values.setdefault(name, DistinctRows(1))
                if column is None:
                    values.add(np.ones((int(proper.any()), 1)), int(proper.sum()))
                else:
                    values.add(column[proper, None])
            elif column is None:
                continue
            elif name == "node_attributes":
                self.values.setdefault(name, DistinctRows(column.shape[1])).add(column)
            else:
                self._add_labels(name, np.unique(column if name == "node_labels" else column[proper]))
        return self

    def join(self, other: DistinctValues) -> Self:
        """Add the labels and values of other graphs, for the same columns."""
        for name in COLUMNS:
            self.has[name] |= other.has[name]
        for name, labels in other.labels.items():
            self._add_labels(name, labels)
        for name, values in other.values.items():
            self.values.setdefault(name, DistinctRows(values.rows.shape[1])).join(values)
        return self

    def _add_labels(self, name: str, labels: NDArray[Any]) -> None:
        self.labels[name] = np.unique(np.concatenate([self.labels.get(name, labels[:0]), labels]))


def directed_graph(graphs: GraphSet) -> int | None:
    """Return the first graph with an edge that differs between the two directions, or None."""
    owner, n = graphs.graph_of_cell, int(graphs.node_offsets[-1])
    here, there = ends_of(graphs).T
    first = np.concatenate([[0], np.cumsum(np.bincount(here, minlength=n))])
    # edges are sorted, by their first node; `turned` sorts them by their second
    turned = csr_array((np.arange(len(owner)), there, first), shape=(n, n)).tocsc().data
    differs = (here[turned] != there) | (there[turned] != here)
    if graphs.weights is not None:
        there, back = graphs.weights, graphs.weights[turned]
        differs |= np.abs(there - back) > SYMMETRY * np.maximum(np.abs(there), np.abs(back))
    if graphs.edge_labels is not None:
        differs |= graphs.edge_labels[turned] != graphs.edge_labels
    return int(owner[differs][0]) if differs.any() else None


def check_undirected(graphs: GraphSet) -> None:
    """Raise `InputError` if a graph is directed."""
    i = directed_graph(graphs)
    if i is not None:
        raise InputError(directed_error(i, len(graphs)))


def directed_error(number: int, of: object) -> str:
    """Return the error for a directed graph; ``of`` is the size or the name of its set."""
    return (
        f"graph {number} of {of} is directed, and subgraphs need undirected graphs; make it symmetric, or use "
        f"IsoNNClassifier"
    )
