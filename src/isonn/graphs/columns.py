"""Flat arrays of many graphs: which columns there are, offsets, selections, and the order of cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isonn.packing import IntArray

if TYPE_CHECKING:
    from isonn.graphs.graph import Graph, GraphSet

#: Columns with one entry per cell, per node and per graph.
OF_CELLS = ("weights", "edge_labels")
OF_NODES = ("node_labels", "node_attributes", "node_names")
OF_GRAPHS = ("y", "folds", "ids")


def take(column: NDArray[Any] | None, rows: Any) -> Any:
    """Return some rows of a column, or None if there is no such column."""
    return None if column is None else column[rows]


def read_only_copy(values: Any) -> NDArray[Any]:
    """Return a read-only array, copied if the caller could still modify it."""
    array = np.asarray(values)
    return read_only(array.copy()) if array.flags.writeable else array


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Mark a new array as read-only, so that a `GraphSet` does not copy it."""
    array.flags.writeable = False
    return array


def weights_of(graphs: Graph | GraphSet) -> NDArray[np.float64]:
    """Return the weights of all cells, 1 where none are stored."""
    return np.ones(len(graphs.edges)) if graphs.weights is None else graphs.weights


def offsets_of(counts: IntArray) -> IntArray:
    """Return where each graph starts, and the end, given how many entries each has."""
    return read_only(np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts, dtype=np.int64)]))


def ranges(offsets: IntArray, chosen: IntArray) -> tuple[IntArray, IntArray]:
    """Return the rows of the selected graphs and their offsets in the selection."""
    counts = np.diff(offsets)[chosen]
    new_offsets = offsets_of(counts)
    rows = np.arange(new_offsets[-1]) + np.repeat(offsets[chosen] - new_offsets[:-1], counts)
    return rows, new_offsets


def cell_order(owner: IntArray, pairs: IntArray, weights: NDArray[np.float64] | None) -> IntArray:
    """Return the order of cells by graph, row and column, with the last of equal cells and none of weight 0."""
    order = np.lexsort((pairs[:, 1], pairs[:, 0], owner))  # a stable sort, so the last of equal cells stays last
    keep = np.ones(len(order), dtype=bool)
    if len(order):
        key = np.column_stack([owner, pairs])[order]
        keep[:-1] = (key[1:] != key[:-1]).any(axis=1)
    if weights is not None:
        keep &= weights[order] != 0
    return order[keep]
