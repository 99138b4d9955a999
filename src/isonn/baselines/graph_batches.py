"""What graph networks are fed: graphs as padded matrices, or as one big graph with a number per node.

Both offer the same to a network: ``x`` (features of the nodes), ``links(weighted)`` (what a layer is called with
next to the features), ``pool(h, mean)`` (node features to graph features), and ``[rows]``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from isonn.data.graphs import GraphSet


@dataclass(frozen=True)
class PaddedGraphs:
    """Matrices of one size; a node's features are its row.

    Attributes:
        adjacency: shape (g, n, n).
        real: shape (g, n, 1): 1 for nodes, 0 for padding.
    """

    adjacency: Tensor
    real: Tensor

    @classmethod
    def of(cls, graphs: GraphSet, size: int) -> PaddedGraphs:
        """The graphs padded with zeros at the end."""
        real = np.arange(size) < graphs.sizes[:, None]
        return cls(torch.from_numpy(graphs.dense(size)), torch.from_numpy(real.astype(np.float32))[:, :, None])

    def __len__(self) -> int:
        return len(self.adjacency)

    def __getitem__(self, rows: Tensor) -> PaddedGraphs:
        return PaddedGraphs(self.adjacency[rows], self.real[rows])

    @property
    def x(self) -> Tensor:
        """Shape (g, n, n): row i is what node i is known by."""
        return self.adjacency

    def links(self, weighted: bool) -> tuple[Tensor, ...]:
        """The matrices with absolute weights, or with 1 for every edge; shape (g, n, n)."""
        return (self.adjacency.abs() if weighted else (self.adjacency != 0).to(self.adjacency.dtype),)

    def pool(self, h: Tensor, mean: bool = False) -> Tensor:
        """Sum, or mean, of the features of the nodes that are no padding: (g, n, d) to (g, d)."""
        total = (h * self.real).sum(dim=1)
        return total / self.real.sum(dim=1) if mean else total


@dataclass(frozen=True)
class CodedGraphs:
    """Graphs of any size; a node's features are a 1 at its number.

    Attributes:
        graphs: their ``node_labels`` are numbers below ``width``; a negative one has no features.
        width: features per node.
    """

    graphs: GraphSet
    width: int

    def __len__(self) -> int:
        return len(self.graphs)

    def __getitem__(self, rows: Tensor) -> CodedGraphs:
        return replace(self, graphs=self.graphs[rows.numpy()])

    @cached_property
    def x(self) -> Tensor:
        """Shape (nodes, width)."""
        codes = np.asarray(self.graphs.node_labels)
        return torch.from_numpy((codes[:, None] == np.arange(self.width)).astype(np.float32))

    def links(self, weighted: bool) -> tuple[Tensor, ...]:
        """Edges of shape (2, m) from column to row, as a matrix product sums them, and their absolute weights."""
        first = self.graphs.node_offsets[self.graphs.graph_of_cell]
        edges = torch.from_numpy((self.graphs.edges[:, ::-1] + first[:, None]).T.copy())
        if not weighted or self.graphs.weights is None:
            return (edges,)
        return edges, torch.from_numpy(np.abs(self.graphs.weights).astype(np.float32))

    def pool(self, h: Tensor, mean: bool = False) -> Tensor:
        """Sum, or mean, over the nodes of each graph: (nodes, d) to (g, d)."""
        sizes = torch.from_numpy(self.graphs.sizes)
        owner = torch.repeat_interleave(torch.arange(len(self)), sizes)
        total = h.new_zeros(len(self), h.shape[1]).index_add(0, owner, h)
        return total / sizes[:, None] if mean else total


Batch = PaddedGraphs | CodedGraphs
