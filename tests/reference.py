"""The paper's equations as slow loops: the only oracle of the numeric tests."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor


def permutation_matrix(order: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    """P with ``P[a, order[a]] = 1``."""
    matrix = torch.zeros(len(order), len(order), dtype=dtype)
    for a, node in enumerate(order):
        matrix[a, node] = 1
    return matrix


def distance_by_definition(templates: Tensor, regions: Tensor) -> Tensor:
    """min over P of the squared Frobenius norm of P K P' - M, one pair and one permutation at a time."""
    k = templates.shape[-1]
    rows = []
    for region in regions:
        row = []
        for template in templates:
            candidates = []
            for order in itertools.permutations(range(k)):
                p = permutation_matrix(order, templates.dtype)
                candidates.append(((p @ template @ p.T - region) ** 2).sum())
            row.append(torch.stack(candidates).min())
        rows.append(torch.stack(row))
    return torch.stack(rows)


def layer_by_definition(templates: Tensor, adjacency: Tensor, normalize: str = "positions") -> Tensor:
    """The isomorphic layer, min-pooling and softmax of one graph, window by window: (c, m, m)."""
    c, k, _ = templates.shape
    m = len(adjacency) - k + 1
    features = torch.zeros(c, m, m, dtype=templates.dtype)
    for s in range(m):
        for t in range(m):
            window = adjacency[s : s + k, t : t + k]
            features[:, s, t] = distance_by_definition(templates, window[None])[0]
    if normalize == "templates":
        return torch.softmax(-features, dim=0)
    maps = torch.stack([torch.softmax(-map_.flatten(), dim=0).view(m, m) for map_ in features])
    return maps / maps.mean((1, 2), keepdim=True) if normalize == "relative" else maps


def relabelled(matrix: Tensor, order: Tensor) -> Tensor:
    """The same graph with its nodes in another order."""
    return matrix[order][:, order]
