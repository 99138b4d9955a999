"""All permutations of k nodes, as index tensors."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
import torch
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


def cells_of(permutations: Tensor) -> Tensor:
    """Return the source of each cell of a relabelled matrix: ``matrix[p][:, p].flatten() == matrix.flatten()[cells]``.

    Shapes:
        - permutations ``(f, k)``
        - output ``(f, k*k)``
    """
    k = permutations.shape[1]
    return (permutations[:, :, None] * k + permutations[:, None, :]).reshape(-1, k * k)


# The flat vector of a k-node region, and the positions of its entries when its nodes are relabelled.


class Layout(Protocol):
    """Positions of the entries of flat regions when nodes are relabelled."""

    @property
    def k(self) -> int:
        """Number of nodes of a region."""

    def __hash__(self) -> int: ...

    def cells(self, permutations: Tensor) -> Tensor:
        """Return the source of each entry of a relabelled region, ``(f, entries)``, for permutations ``(f, k)``."""


@dataclass(frozen=True)
class MatrixLayout:
    """All k * k cells of a matrix, row by row."""

    k: int

    def cells(self, permutations: Tensor) -> Tensor:
        """Compute `cells_of`."""
        return cells_of(permutations)


@dataclass(frozen=True)
class GraphLayout:
    """An undirected labelled graph: the channels of every node, then those of every pair of nodes.

    Attributes:
        k: number of nodes.
        node_channels: number of values that describe a node (a one-hot label, a degree).
        edge_channels: number of values that describe a pair of nodes (an edge or none, a one-hot label).
    """

    k: int
    node_channels: int
    edge_channels: int

    @property
    def pairs(self) -> int:
        """Number of node pairs, in the order of the upper triangle, row by row."""
        return self.k * (self.k - 1) // 2

    @property
    def width(self) -> int:
        """Number of entries of a region."""
        return self.k * self.node_channels + self.pairs * self.edge_channels

    def cells(self, permutations: Tensor) -> Tensor:
        """Return the source of each entry of a relabelled region.

        Example:
            >>> GraphLayout(k=2, node_channels=2, edge_channels=1).cells(torch.tensor([[1, 0]])).tolist()
            [[2, 3, 0, 1, 4]]
        """
        rows, columns = torch.from_numpy(np.stack(np.triu_indices(self.k, 1))).to(permutations.device)
        number = permutations.new_zeros(self.k, self.k)
        number[rows, columns] = number[columns, rows] = torch.arange(self.pairs, device=permutations.device)
        pairs = number[permutations[:, rows], permutations[:, columns]]
        parts = [(permutations, self.node_channels, 0), (pairs, self.edge_channels, self.k * self.node_channels)]
        return torch.cat(
            [
                (first + place[:, :, None] * channels + torch.arange(channels, device=place.device)).flatten(1)
                for place, channels, first in parts
            ],
            dim=1,
        )
