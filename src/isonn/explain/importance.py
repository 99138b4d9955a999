"""Importances of nodes and edges: the contributions of regions, shared among them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from isonn.packing import IntArray

#: Numbers shared at a time: 64 MB of float64.
BLOCK_NUMBERS = 2**23


def node_shares(
    n: int, nodes: IntArray, columns: IntArray | None, contributions: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Share every contribution equally among the nodes of its region, those of rows and columns alike.

    Args:
        n: number of nodes of the graph.
        nodes: nodes of each region, shape (R, k), padded with -1.
        columns: the same for columns, or None if they are the same nodes.
        contributions: contribution of each region, shape (R,).

    Returns:
        ndarray of shape (n,) with the sum of ``contributions``.
    """
    both = nodes if columns is None else np.concatenate([nodes, columns], axis=1)
    real = both >= 0
    share = np.broadcast_to((contributions / np.maximum(real.sum(axis=1), 1))[:, None], both.shape)
    return np.bincount(both[real], weights=share[real], minlength=n).astype(np.float64)


def edge_shares(
    adjacency: NDArray[np.float64], nodes: IntArray, columns: IntArray | None, contributions: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Share every contribution among the cells of its region in proportion to their absolute weight.

    A region without edges shares equally among all its cells, because the absence of edges was matched.

    Returns:
        ndarray of shape (n, n) with the sum of ``contributions``.
    """
    n, (count, k) = len(adjacency), nodes.shape
    total, weight = np.zeros(n * n), np.abs(adjacency).reshape(-1)
    step = max(1, BLOCK_NUMBERS // (k * k))
    for start in range(0, count, step):
        block = slice(start, start + step)
        row, column = nodes[block, :, None], (nodes if columns is None else columns)[block, None, :]
        real = ((row >= 0) & (column >= 0)).reshape(-1, k * k)
        cell = (row * n + column).reshape(-1, k * k)
        share = np.where(real, weight[np.where(real, cell, 0)], 0.0)
        empty = share.sum(axis=1) == 0
        share[empty] = real[empty]
        share *= (contributions[block] / np.maximum(share.sum(axis=1), np.finfo(float).tiny))[:, None]
        total += np.bincount(cell[real], weights=share[real], minlength=n * n)
    return total.reshape(n, n)
