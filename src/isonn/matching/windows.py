"""Cut a graph into windows: the paper's k x k blocks of the adjacency matrix."""

from __future__ import annotations

from torch import Tensor

from isonn.errors import InputError


def cut_windows(adjacency: Tensor, k: int) -> Tensor:
    """Every k x k block of every adjacency matrix, row by row.

    The block at row s, column t of graph g is ``output[g, s, t]``. Off the diagonal it is not symmetric
    even when the graph is.

    Shapes:
        - adjacency ``(batch, n, n)``, n >= k
        - output ``(batch, m, m, k, k)`` with ``m = n-k+1``; a view, no copy

    Example:
        >>> cut_windows(torch.zeros(5, 4, 4), k=2).shape
        torch.Size([5, 3, 3, 2, 2])
    """
    check_windows(adjacency, k)
    return adjacency.unfold(1, k, 1).unfold(2, k, 1)


def check_windows(adjacency: Tensor, k: int) -> None:
    """Refuse matrices from which no k x k window can be cut."""
    if adjacency.ndim != 3 or adjacency.shape[1] != adjacency.shape[2]:
        raise InputError(f"adjacency has shape {tuple(adjacency.shape)}; give a stack of square matrices (batch, n, n)")
    if k < 1:
        raise InputError(f"k={k} is no template size; use k >= 1")
    if adjacency.shape[1] < k:
        raise InputError(
            f"graphs of {adjacency.shape[1]} nodes are too small for templates of k={k} nodes; "
            f"use k <= {adjacency.shape[1]}"
        )
