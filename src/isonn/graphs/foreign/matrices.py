"""Adjacency matrices, dense and sparse, as a `GraphSet`; every nonzero cell is an edge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import InputError
from isonn.graphs.checks import MAX_NODES
from isonn.graphs.foreign.links import merge_parallel
from isonn.graphs.graph import Graph, GraphSet
from isonn.packing import IntArray, to_numpy


def from_stack(array: NDArray[Any]) -> GraphSet:
    """Read one array of shape (g, n, n)."""
    if array.ndim == 2 and array.shape[0] == array.shape[1]:
        raise InputError(f"X is a single {array.shape[0]} x {array.shape[1]} matrix, not a list of graphs; give [X]")
    if array.ndim != 3:
        raise InputError(f"X is an array of shape {array.shape}; adjacency matrices have shape (g, n, n)")
    g, rows, columns = array.shape
    if g == 0:
        raise InputError(f"X of shape {array.shape} holds no graph; give at least one")
    if rows != columns:
        raise InputError(f"graph 0 of {g} is {rows} x {columns}, not square; adjacency matrices have shape (g, n, n)")
    array = _numbers(array, "X")
    cells = np.flatnonzero(array)  # flat indices over all matrices; np.nonzero would need three times the memory
    edges = np.empty((len(cells), 2), dtype=np.int64)
    edges[:, 0], edges[:, 1] = cells // rows % rows if rows else 0, cells % rows if rows else 0
    counts = np.bincount(cells // max(rows * rows, 1), minlength=g)
    return _from_nonzero(counts, edges, np.full(g, rows), array.reshape(-1)[cells])


def from_matrices(items: Sequence[Any]) -> GraphSet:
    """Read square arrays, whose sizes may differ."""
    matrices = []
    for i, item in enumerate(items):
        where = f"graph {i} of {len(items)}"
        try:
            matrix = to_numpy(item)
        except InputError as error:
            raise InputError(f"{where}: {error}") from error
        except ValueError as error:
            raise InputError(f"{where} has rows of different lengths; give n rows of n numbers") from error
        _check_square(where, matrix.shape)
        matrices.append(_numbers(matrix, where))
    cells = [np.nonzero(matrix) for matrix in matrices]
    edges = np.concatenate([np.column_stack(cell) for cell in cells])
    weights = np.concatenate([matrix[cell] for matrix, cell in zip(matrices, cells, strict=True)])
    counts = np.array([len(row) for row, _ in cells])
    return _from_nonzero(counts, edges, np.array([len(matrix) for matrix in matrices]), weights)


def from_sparse(items: Sequence[Any]) -> list[Graph]:
    """Read square SciPy matrices; entries that occur twice are added."""
    graphs = []
    for i, item in enumerate(items):
        where = f"graph {i} of {len(items)}"
        _check_square(where, item.shape)
        edges, weights, _ = merge_parallel(where, item.shape[0], *_sparse_cells(where, item), None, None)
        graphs.append(Graph.unchecked(n=item.shape[0], edges=edges, weights=weights))
    return graphs


def _sparse_cells(where: str, item: Any) -> tuple[IntArray, NDArray[np.float64]]:
    """Return cells and weights; SciPy's own conversions crash the process on a wrong index."""
    try:
        if hasattr(item, "check_format"):
            item.check_format(full_check=True)
        matrix = item.tocoo()
        row, column, values = (np.asarray(entries).reshape(-1) for entries in (matrix.row, matrix.col, matrix.data))
    except (ValueError, TypeError, IndexError, AttributeError, RuntimeError) as error:
        raise InputError(f"{where} is a damaged sparse matrix ({error!s:.100}); build it again") from error
    weights = _numbers(values, where).astype(np.float64)
    if not len(row) == len(column) == len(weights) or row.dtype.kind not in "iu" or column.dtype.kind not in "iu":
        raise InputError(f"{where} has {len(row)} rows, {len(column)} columns, {len(weights)} values; build it again")
    return np.column_stack([row, column]).astype(np.int64), weights


def _from_nonzero(counts: IntArray, edges: IntArray, sizes: IntArray, weights: NDArray[Any]) -> GraphSet:
    """Build a graph from cells in the order of np.nonzero: sorted and distinct, so they need no sorting."""
    return GraphSet(
        node_offsets=np.concatenate([[0], np.cumsum(sizes)]),
        edge_offsets=np.concatenate([[0], np.cumsum(counts)]),
        edges=edges,
        weights=None if (weights == 1).all() else weights.astype(np.float64),
    )


def _check_square(where: str, shape: tuple[int, ...]) -> None:
    if max(shape, default=0) > MAX_NODES:
        raise InputError(f"{where} has {max(shape)} nodes, above the limit of {MAX_NODES}; check its shape")
    if len(shape) != 2:
        single = "; if X is a single matrix, give [X]" if len(shape) == 1 else ""
        raise InputError(f"{where} is an array of shape {shape}, not a matrix; give n rows of n numbers{single}")
    if shape[0] != shape[1]:
        raise InputError(f"{where} is {shape[0]} x {shape[1]}, not square; give an adjacency matrix of n x n")


def _numbers(array: NDArray[Any], where: str) -> NDArray[Any]:
    if array.dtype.kind == "O":
        try:
            return array.astype(np.float64)
        except (TypeError, ValueError):
            pass
    if array.dtype.kind == "c":
        raise InputError(f"{where} has complex weights ({array.dtype}); use their real part or absolute value")
    if array.dtype.kind not in "biuf":
        value = array.reshape(-1)[:1].tolist()
        raise InputError(f"{where} holds {value} of type {array.dtype}; adjacency matrices hold real numbers")
    return array
