"""Cut a graph into windows: the paper's k x k blocks of the adjacency matrix."""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

from isonn.errors import InputError


def cut_windows(adjacency: Tensor, k: int) -> Tensor:
    """Return every k x k block of every adjacency matrix, row by row.

    The block at row s, column t of graph g is ``output[g, s, t]``. Off the diagonal it is not symmetric even if the
    graph is.

    Shapes:
        - adjacency ``(batch, n, n)``, n >= k
        - output ``(batch, m, m, k, k)`` with ``m = n-k+1``

    Example:
        >>> cut_windows(torch.zeros(5, 4, 4), k=2).shape
        torch.Size([5, 3, 3, 2, 2])
    """
    check_windows(adjacency, k)
    n = adjacency.shape[1]
    # One gather is four times as fast as copying the strided view of unfold, whose runs are only k long.
    cells = adjacency.flatten(1).index_select(1, window_cells(n, k).to(adjacency.device))
    return cells.view(len(adjacency), n - k + 1, n - k + 1, k, k)


@lru_cache(maxsize=16)
def window_cells(n: int, k: int) -> Tensor:
    """Return the position in a flat n x n matrix of each cell of each window, ``(m * m * k * k,)``."""
    start, step = torch.arange(n - k + 1), torch.arange(k)
    row = start[:, None, None, None] + step[:, None]
    column = start[:, None, None] + step
    return (row * n + column).flatten()


def check_windows(adjacency: Tensor, k: int) -> None:
    """Raise `InputError` for matrices without k x k windows."""
    if adjacency.ndim != 3 or adjacency.shape[1] != adjacency.shape[2]:
        raise InputError(f"adjacency has shape {tuple(adjacency.shape)}; give a stack of square matrices (batch, n, n)")
    if k < 1:
        raise InputError(f"k must be at least 1, got {k}")
    if adjacency.shape[1] < k:
        raise InputError(
            f"graphs of {adjacency.shape[1]} nodes are too small for templates of k={k} nodes; "
            f"use k <= {adjacency.shape[1]}"
        )


# Windows of symmetric graphs: the one at (t, s) is the transpose of the one at (s, t).
#
# Both have the same distance to a symmetric template, because :math:`P K P^\top` is symmetric too, so half the windows
# are enough.


def is_symmetric(adjacency: Tensor) -> bool:
    """Return whether every matrix of a stack equals its transpose exactly."""
    return bool((adjacency == adjacency.mT).all())


def cut_half(adjacency: Tensor, k: int) -> Tensor:
    """Return the windows at (s, t) with s <= t, ``(batch, m * (m+1) / 2, k, k)``, row by row.

    Example:
        >>> cut_half(torch.zeros(5, 4, 4), k=2).shape
        torch.Size([5, 6, 2, 2])
    """
    check_windows(adjacency, k)
    n = adjacency.shape[1]
    cells = window_cells(n, k).view(-1, k * k)[half_places(n - k + 1)[0]].flatten()
    return adjacency.flatten(1).index_select(1, cells.to(adjacency.device)).view(len(adjacency), -1, k, k)


@lru_cache(maxsize=16)
def half_places(m: int) -> tuple[Tensor, Tensor]:
    """Return which of the m * m positions `cut_half` keeps, and which of those represents each of the m * m.

    Example:
        >>> [places.tolist() for places in half_places(2)]
        [[0, 1, 3], [0, 1, 1, 2]]
    """
    rows, columns = torch.triu_indices(m, m)
    number = torch.empty(m, m, dtype=torch.int64)
    number[rows, columns] = number[columns, rows] = torch.arange(len(rows))
    return rows * m + columns, number.flatten()
