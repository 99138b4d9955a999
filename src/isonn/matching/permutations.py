"""All permutations of k nodes, as index tensors."""

from __future__ import annotations

import itertools
import math
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from isonn.errors import InputError

#: 9! = 362,880 permutations of 81 cells are 29 million numbers per template; 10! would be 363 million.
MAX_ENUMERABLE_K = 9


def check_enumerable(k: int) -> None:
    """Raise `InputError` if the k! permutations are too many to enumerate."""
    if k > 50:  # the factorial would be too long to read
        raise InputError(f"k={str(k)[:40]} is too large for exact matching; use k <= {MAX_ENUMERABLE_K}")
    if k > MAX_ENUMERABLE_K:
        count = f"{math.factorial(k):,}" if k <= 12 else f"more than 10^{len(str(math.factorial(k))) - 1}"
        raise InputError(
            f"k={k} means {count} permutations of every template in every region, too many to try one by one; "
            f"use k <= {MAX_ENUMERABLE_K}, or matching='assigned', which finds good permutations without trying all"
        )


@lru_cache(maxsize=16)
def permutations(k: int) -> Tensor:
    """Return all permutations of ``range(k)``, lexicographic, shape ``(k!, k)``; cached, so do not modify.

    Example:
        >>> permutations(2).tolist()
        [[0, 1], [1, 0]]
    """
    check_enumerable(k)
    return torch.tensor(list(itertools.permutations(range(k))), dtype=torch.int64).reshape(-1, k)


@lru_cache(maxsize=16)
def cells_of_all(k: int) -> NDArray[np.uint8]:
    """Return `cells_of` all permutations, ``(k!, k*k)``, in one byte each; cached, so do not modify."""
    return cells_of(permutations(k)).numpy().astype(np.uint8)


def cells_of(permutations: Tensor) -> Tensor:
    """Return the source of each cell of a relabelled matrix: ``matrix[p][:, p].flatten() == matrix.flatten()[cells]``.

    Shapes:
        - permutations ``(f, k)``
        - output ``(f, k*k)``
    """
    k = permutations.shape[1]
    return (permutations[:, :, None] * k + permutations[:, None, :]).reshape(-1, k * k)
