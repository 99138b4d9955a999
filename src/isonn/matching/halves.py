"""Windows of symmetric graphs: the one at (t, s) is the transpose of the one at (s, t).

Under a symmetric template both are equally far, for :math:`P K P^\\top` is symmetric too; half the windows are enough.
"""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

from isonn.matching.windows import check_windows, window_cells


def is_symmetric(adjacency: Tensor) -> bool:
    """Whether every matrix of a stack equals its transpose, to the bit."""
    return bool((adjacency == adjacency.mT).all())


def cut_half(adjacency: Tensor, k: int) -> Tensor:
    """The windows at (s, t) with s <= t, ``(batch, m * (m+1) / 2, k, k)``, row by row.

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
    """Which of the m * m positions `cut_half` keeps, and which of those stands for each of the m * m.

    Example:
        >>> [places.tolist() for places in half_places(2)]
        [[0, 1, 3], [0, 1, 1, 2]]
    """
    rows, columns = torch.triu_indices(m, m)
    number = torch.empty(m, m, dtype=torch.int64)
    number[rows, columns] = number[columns, rows] = torch.arange(len(rows))
    return rows * m + columns, number.flatten()
