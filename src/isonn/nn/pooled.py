"""Templates pooled over the subgraphs of a graph: features that do not know in which order nodes are numbered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from isonn.matching.exact import exact_flat_distance
from isonn.matching.layout import GraphLayout

#: How sharply a soft count falls off with the distance. At 0.5 a wrong edge still counts for 0.4, at 8 for nothing.
TEMPERATURES = (0.5, 2.0, 8.0)


class PooledTemplates(nn.Module):
    r"""Soft counts of ``c`` learnable templates over the k-node subgraphs of graphs.

    With :math:`M_r` the distinct subgraphs, :math:`n_{gr}` how often graph g has each, :math:`K_i` template i,
    w a weight per kind of entry and :math:`\sigma_i` a width per template,

    .. math::
        z_{ri} = \min_P \lVert \sqrt{w} \, (P K_i P^\top - M_r) \rVert^2, \qquad
        S_{gis} = \sum_r n_{gr} \, e^{-s \sigma_i z_{ri}}

    for each temperature s: :math:`S` is how often the template is found, counting near misses the less the further
    they are. A sum over all subgraphs does not change when nodes are renumbered.

    Args:
        layout: what the entries of regions and templates are.
        kinds: the kind of each entry, ``(layout.width,)``, from 0; the entries of one kind share a weight.
        zero_one: whether each entry of a region is 0 or 1, ``(layout.width,)``.
        weights: where the weight of each kind starts.
        templates: where the templates start, ``(c, layout.width)``.

    Shapes:
        - regions ``(d, layout.width)``
        - counts: sparse ``(graphs, d)``
        - output ``(graphs, c, len(TEMPERATURES))``
    """

    kinds: Tensor
    zero_one: Tensor

    def __init__(
        self,
        layout: GraphLayout,
        kinds: Sequence[int],
        zero_one: Sequence[bool],
        weights: Sequence[float],
        templates: Tensor,
    ) -> None:
        super().__init__()
        self.layout = layout
        self.templates = nn.Parameter(templates)
        self.log_width = nn.Parameter(templates.new_zeros(len(templates)))
        self.log_weight = nn.Parameter(torch.tensor(list(weights), dtype=templates.dtype).log())
        self.register_buffer("kinds", torch.tensor(list(kinds), dtype=torch.int64))
        self.register_buffer("zero_one", torch.tensor(list(zero_one), dtype=torch.bool))

    @property
    def c(self) -> int:
        """Number of templates."""
        return len(self.templates)

    def distances(self, regions: Tensor) -> Tensor:
        """The :math:`z_{ri}`, ``(d, c)``."""
        weights = (self.log_weight / 2).exp()[self.kinds]
        return exact_flat_distance(self.templates * weights, regions * weights, self.layout)

    def terms(self, distances: Tensor) -> Tensor:
        """What one subgraph at each distance adds to the sums: ``(d, c)`` to ``(d, c, temperatures)``."""
        scaled = distances * self.log_width.exp()
        return torch.exp(-scaled[:, :, None] * scaled.new_tensor(TEMPERATURES))

    def forward(self, regions: Tensor, counts: csr_array) -> Tensor:
        terms = self.terms(self.distances(regions))
        sums: Tensor = _SparseProduct.apply(counts, terms.flatten(1))
        return sums.view(-1, self.c, len(TEMPERATURES))

    def penalty(self) -> Tensor:
        """How far the templates are from graphs one can draw: entries that are 0 or 1 in graphs, and neither here."""
        entries = self.templates[:, self.zero_one]
        return (entries * (1 - entries)).square().sum()

    def extra_repr(self) -> str:
        return f"{self.layout}, c={self.c}"


class _SparseProduct(torch.autograd.Function):
    """A sparse matrix of SciPy times a tensor; on the CPU several times as fast as torch's own."""

    @staticmethod
    def forward(ctx: Any, matrix: csr_array, tensor: Tensor) -> Tensor:
        ctx.matrix = matrix
        return _times(matrix, tensor)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor]:
        return None, _times(ctx.matrix.T, grad)


def _times(matrix: csr_array, tensor: Tensor) -> Tensor:
    # counts may be kept in less than they are added up in
    return torch.from_numpy(matrix.astype(np.float64, copy=False) @ tensor.detach().cpu().numpy()).to(tensor)
