"""Flat arrays of many graphs: which columns there are, offsets, selections, the order of cells, and confounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from isonn.errors import InputError
from isonn.packing import IntArray

if TYPE_CHECKING:
    from isonn.graphs.graph import Graph, GraphSet

#: Columns with one entry per cell, per node and per graph.
OF_CELLS = ("weights", "edge_labels")
OF_NODES = ("node_labels", "node_attributes", "node_names")
OF_GRAPHS = ("y", "folds", "ids")


def take(column: NDArray[Any] | None, rows: Any) -> Any:
    """Return some rows of a column, read-only, or None if there is no such column."""
    return None if column is None else read_only(column[rows])


def columns_at(graphs: Graph | GraphSet, cells: Any, nodes: Any) -> dict[str, Any]:
    """Return what belongs to some cells and nodes, each given by a slice, a mask or indices."""
    rows = {**dict.fromkeys(OF_CELLS, cells), **dict.fromkeys(OF_NODES, nodes)}
    return {name: take(getattr(graphs, name), which) for name, which in rows.items()}


def by_first(labels: NDArray[Any]) -> IntArray:
    """Return the order of nodes by label, with labels in the order in which they occur first.

    Example:
        >>> by_first(np.array(["b", "a", "b"])).tolist()
        [0, 2, 1]
    """
    _, first, code = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(first[code.reshape(-1)], kind="stable")


def are_numbers(names: NDArray[np.str_]) -> bool:
    """Return whether names of nodes are all numbers, such as the ids of another library."""
    return bool(np.char.isdecimal(names).all())


def numbers_of_nodes(sizes: IntArray) -> IntArray:
    """Return the number of each node in its graph, given the sizes of graphs.

    Example:
        >>> numbers_of_nodes(np.array([2, 3])).tolist()
        [0, 1, 0, 1, 2]
    """
    return np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)


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


def ends_of(graphs: GraphSet) -> IntArray:
    """Return both nodes of each cell, numbered over all graphs, shape (m, 2)."""
    return graphs.edges + np.repeat(graphs.node_offsets[:-1], np.diff(graphs.edge_offsets))[:, None]


def count_components(graphs: GraphSet) -> IntArray:
    """Return the number of connected components of each graph, shape (g,); all are searched together."""
    nodes = int(graphs.node_offsets[-1])
    here, there = ends_of(graphs).T
    links = coo_array((np.ones(len(here), dtype=np.int8), (here, there)), shape=(nodes, nodes))
    # each component counts at its first node
    first = np.unique(connected_components(links, directed=False)[1], return_index=True)[1]
    return np.bincount(np.searchsorted(graphs.node_offsets, first, side="right") - 1, minlength=len(graphs))


def offsets_of(counts: IntArray) -> IntArray:
    """Return where each graph starts, and the end, given how many entries each has."""
    return read_only(np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts, dtype=np.int64)]))


def ranges(offsets: IntArray, chosen: IntArray | slice) -> tuple[IntArray | slice, IntArray]:
    """Return the rows of graphs, given by their numbers or as a run, and their offsets in the selection."""
    if isinstance(chosen, slice):
        start = offsets[chosen.start]
        return slice(start, offsets[chosen.stop]), read_only(offsets[chosen.start : chosen.stop + 1] - start)
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


def confound_columns(
    confounds: Any, table: Mapping[str, NDArray[Any]], targets: Sequence[str] = ()
) -> dict[str, NDArray[Any]]:
    """Return the columns of confounds by name; ``targets`` are the columns to predict."""
    if confounds is None:
        return {}
    if hasattr(confounds, "columns") and hasattr(confounds, "to_numpy"):  # a DataFrame
        return {str(name): _plain_column(confounds[name].tolist()) for name in confounds.columns}
    if isinstance(confounds, Mapping):
        return {str(name): _plain_column(values) for name, values in confounds.items()}
    names = [confounds] if isinstance(confounds, str) else confounds
    if isinstance(names, (list, tuple)) and all(isinstance(name, str) for name in names):
        missing = [name for name in names if name not in table]
        if missing and missing[0] in targets:
            raise InputError(f"confound {missing[0]!r} is the target, so nothing would be left to find; leave it out")
        if missing:
            columns = ", ".join(map(str, table)) or "none"
            raise InputError(f"confound {missing[0]!r} is not a column of the graphs; their columns are: {columns}")
        return {name: table[name] for name in names}
    values = np.asarray(confounds)
    if values.ndim not in (1, 2) or values.dtype.kind not in "biufUO":
        raise InputError(f"confounds have shape {values.shape} and type {values.dtype}; give one row per graph")
    values = values.reshape(len(values), -1)
    return {f"confound {i + 1}": _plain_column(values[:, i].tolist()) for i in range(values.shape[1])}


def _plain_column(values: Any) -> NDArray[Any]:
    """Return numbers as numbers and anything else as text; None is a gap."""
    array = np.asarray(values)
    if array.dtype.kind in "biuf":
        return array
    cells = array.tolist() if array.ndim == 1 else [array]
    try:
        return np.array([np.nan if cell is None else float(cell) for cell in cells])
    except (TypeError, ValueError):
        gaps = [cell is None or cell != cell for cell in cells]
        return np.array(["" if gap else str(cell) for cell, gap in zip(cells, gaps, strict=True)], dtype=np.str_)
