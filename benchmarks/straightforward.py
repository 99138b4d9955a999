"""The paper's definition without any optimisation, the rival of every ratio of exact matching."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor


def straightforward_distance(templates: Tensor, regions: Tensor) -> Tensor:
    """Compute all permuted templates and differences, then the minimum; autograd does the rest."""
    k = templates.shape[-1]
    orders = torch.tensor(list(itertools.permutations(range(k))))
    permuted = templates[:, orders[:, :, None], orders[:, None, :]]  # (c, k!, k, k)
    differences = permuted[None] - regions[:, None, None]  # (w, c, k!, k, k)
    return differences.square().sum((-2, -1)).amin(2)


def straightforward_layer(templates: Tensor, adjacency: Tensor) -> Tensor:
    """Compute windows, distances and softmax over positions, ``(batch, c, positions)``."""
    k = templates.shape[-1]
    windows = adjacency.unfold(1, k, 1).unfold(2, k, 1)
    distances = straightforward_distance(templates, windows.reshape(-1, k, k))
    return torch.softmax(-distances.view(len(adjacency), -1, len(templates)).mT, dim=2)
