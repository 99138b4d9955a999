"""Adjacency matrices, dense and sparse, as a `GraphSet`; every nonzero cell is an edge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import InputError
from isonn.graphs.checks import MAX_NODES
from isonn.graphs.columns import offsets_of, read_only
from isonn.graphs.foreign.links import merge_parallel
from isonn.graphs.graph import GraphSet
from isonn.packing import IntArray, to_numpy

Cells = tuple[IntArray, NDArray[Any]]


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
    return _from_cells([_dense_cells(matrix) for matrix in _numbers(array, "X")], [rows] * g)


def from_matrices(items: Sequence[Any], sparse: bool = False) -> GraphSet:
    """Read square arrays or SciPy matrices, whose sizes may differ."""
    cells, sizes = [], []
    for i, item in enumerate(items):
        where = f"graph {i} of {len(items)}"
        matrix = item if sparse else _array(item, where)
        _check_square(where, matrix.shape)
        cells.append(_sparse_cells(matrix, where) if sparse else _dense_cells(_numbers(matrix, where)))
        sizes.append(matrix.shape[0])
    return _from_cells(cells, sizes)


def _from_cells(cells: Sequence[Cells], sizes: Sequence[int]) -> GraphSet:
    """Build graphs from the nonzero cells of each, sorted and distinct, and their values."""
    weights = np.concatenate([values for _, values in cells])
    return GraphSet(
        node_offsets=offsets_of(np.array(sizes)),
        edge_offsets=offsets_of(np.array([len(edges) for edges, _ in cells])),
        edges=read_only(np.concatenate([edges for edges, _ in cells])),
        weights=None if (weights == 1).all() else weights.astype(np.float64),
    )


def _dense_cells(matrix: NDArray[Any]) -> Cells:
    cells = np.nonzero(matrix)
    return np.column_stack(cells), matrix[cells]


def _sparse_cells(item: Any, where: str) -> Cells:
    """Return the cells of a sparse matrix; SciPy's own conversions crash the process on a wrong index."""
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
    cells = np.column_stack([row, column]).astype(np.int64)
    cells, summed, _ = merge_parallel(where, item.shape[0], cells, weights, None)
    values = np.asarray(summed)
    return cells[values != 0], values[values != 0]


def _array(item: Any, where: str) -> NDArray[Any]:
    try:
        return to_numpy(item)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    except ValueError as error:
        raise InputError(f"{where} has rows of different lengths; give n rows of n numbers") from error


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
