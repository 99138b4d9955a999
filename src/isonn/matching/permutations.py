"""Every ordering of k nodes, as index tensors."""

from __future__ import annotations

import itertools
import math
from functools import lru_cache

import torch
from torch import Tensor

from isonn.errors import InputError

#: 9! = 362,880 orderings of 81 cells are 29 million numbers a template; 10! would be 363 million.
MAX_ENUMERABLE_K = 9


def check_enumerable(k: int) -> None:
    """Refuse a ``k`` whose k! orderings cannot be tried one by one."""
    if k > MAX_ENUMERABLE_K:
        raise InputError(
            f"k={k} means {math.factorial(k):,} orderings of every template in every region, "
            f"{math.factorial(k) // math.factorial(MAX_ENUMERABLE_K):,} times the largest exact matching tries; "
            f"use k <= {MAX_ENUMERABLE_K}, or matching='assigned', which finds good orderings without trying all"
        )


@lru_cache(maxsize=16)
def permutations(k: int) -> Tensor:
    """All orderings of ``range(k)``, lexicographic, shape ``(k!, k)``; shared, not to be written to.

    Example:
        >>> permutations(2).tolist()
        [[0, 1], [1, 0]]
    """
    check_enumerable(k)
    return torch.tensor(list(itertools.permutations(range(k))), dtype=torch.int64).reshape(-1, k)


def cells_of(orderings: Tensor) -> Tensor:
    """Where each cell of a renumbered matrix comes from: ``matrix[p][:, p].flatten() == matrix.flatten()[cells]``.

    Shapes:
        - orderings ``(f, k)``
        - output ``(f, k*k)``
    """
    k = orderings.shape[1]
    return (orderings[:, :, None] * k + orderings[:, None, :]).reshape(-1, k * k)
