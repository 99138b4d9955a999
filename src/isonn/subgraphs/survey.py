"""`Survey`: one pass over the training graphs collects everything that must be known before they are counted."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
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
from isonn.subgraphs.levels import DistinctRows
from isonn.subgraphs.terms import term_table
from isonn.subgraphs.views import COLUMNS, View
from isonn.targets import names_of_columns

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
        sample: at most SAMPLED distinct graphs, those with the smallest hashes.
    """

    values: DistinctValues
    y: NDArray[Any] | None
    terms: NDArray[np.float64]
    largest: int
    label_names: dict[str, dict[Any, str]]
    hashes: NDArray[np.uint64]
    ids: NDArray[Any] | None
    sample: GraphSet

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
        values: DistinctValues | None = None
        names: dict[str, dict[Any, str]] = {"node": {}, "edge": {}, "target": {}, "class": {}}
        y, terms, hashes, ids = [], [], [], []
        sample: GraphSet | None = None
        largest = count = 0
        with progress.bar("reading", None, show=show) as report:
            for chunk in graphs:
                if (directed := directed_graph(chunk)) is not None:
                    of = graphs.name if graphs.whole is None else len(graphs.whole)
                    raise InputError(directed_error(count + directed, of))
                values = (DistinctValues(columns_of(views, chunk)) if values is None else values).add(chunk)
                names["node"].update(chunk.node_label_names)
                names["edge"].update(chunk.edge_label_names)
                names["target"].update(enumerate(chunk.target_names))
                names["class"].update(chunk.class_names)
                y.append(chunk.y)
                terms.append(term_table(chunk, chunk.kind))
                hashes.append(graph_hashes(chunk))
                ids.append(_ids_or_rows(chunk))
                few = _smallest(chunk, hashes[-1])
                if sample is not None:
                    few = GraphSet.concat([sample, few])
                    few = _smallest(few, graph_hashes(few))
                sample, largest = few, max(largest, int(chunk.sizes.max()))
                count += len(chunk)
                report(count, "graphs read")
        if values is None or sample is None:
            raise InputError(f"{graphs.name} has no graphs; give at least one")
        hashed, table = np.concatenate(hashes), np.concatenate(terms)
        return cls(values, _all(y), table, largest, names, hashed, _all(ids), sample)

    @property
    def kind(self) -> str:
        """The kind of the graphs."""
        return self.sample.kind

    @property
    def graph_ids(self) -> NDArray[Any]:
        """The id of each graph, or its number."""
        return np.arange(len(self)) if self.ids is None else self.ids

    def names_for(self, y: Any) -> dict[str, dict[Any, str]]:
        """Return the names; of a ``y`` that does not come from the graphs, those of its columns if it is a table."""
        if y is None:
            return self.label_names
        return {**self.label_names, "target": names_of_columns(y), "class": {}}


def columns_of(views: tuple[View, ...], graphs: GraphSet) -> list[str]:
    """Return the columns to look at, given the first graphs."""
    has = {name: getattr(graphs, name) is not None for name in COLUMNS if name != "edge_weights"}
    used = [view.uses({**has, "edge_weights": True}) for view in views]  # later graphs may have weights
    return [name for name in COLUMNS if any(use[name] for use in used)]


def _ids_or_rows(graphs: GraphSet) -> NDArray[Any] | None:
    """Return the ids, with the row of the file for graphs that have none; None if there are neither."""
    if "row" not in graphs.table:
        return graphs.ids
    rows = graphs.table["row"].astype(np.str_)
    return rows if graphs.ids is None else np.where(graphs.ids == "", rows, graphs.ids)


def _smallest(graphs: GraphSet, hashes: NDArray[np.uint64]) -> GraphSet:
    """Return the distinct graphs with the smallest hashes, sorted by them."""
    return graphs[np.unique(hashes, return_index=True)[1][:SAMPLED]]


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
                labels = column if name == "node_labels" else column[proper]
                self.labels[name] = np.unique(np.concatenate([self.labels.get(name, labels[:0]), labels]))
        return self


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
