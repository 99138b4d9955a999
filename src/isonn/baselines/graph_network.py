"""Base of the graph networks: node features, batches, and layers of PyTorch Geometric."""

from __future__ import annotations

import importlib
import threading
import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import batch_norm

from isonn.baselines.degree_histogram import degrees
from isonn.baselines.neural import NeuralClassifier, check_dropout
from isonn.errors import InputError, MissingDependencyError
from isonn.estimator import check_count
from isonn.graphs.graph import GraphSet

FEATURES = ("adjacency", "labels", "degree")

_IMPORTING = threading.Lock()


class GraphNetworkClassifier(NeuralClassifier):
    """Base of the graph networks; a subclass has these constructor arguments and builds the network.

    ``features`` says what a node is known by: "adjacency", its row of the padded matrix, as in the IsoNN paper;
    "labels", its label among those of the training graphs (an unknown one is all zeros); "degree", its number of
    neighbours, all from ``max_degree`` on as one. The last two take graphs of any size, and relabelling the nodes
    of a graph changes nothing.
    """

    features: str
    layers: int
    hidden: int
    dropout: float
    max_degree: int

    def _check_params(self) -> None:
        """Validate parameters."""
        super()._check_params()
        if self.features not in FEATURES:
            raise InputError(f"features={self.features!r} is unknown; use one of {', '.join(FEATURES)}")
        for name in ("layers", "hidden", "max_degree"):
            check_count(name, getattr(self, name))
        check_dropout(self.dropout)

    def _unsupported(self, graphs: GraphSet) -> str | None:
        """Graphs without node labels cannot use them as features."""
        if self.features == "labels" and graphs.node_labels is None:
            return _no_labels(graphs)
        return super()._unsupported(graphs)

    def _prepare(self, graphs: GraphSet) -> None:
        geometric_layers(type(self).__name__)
        self._fixed_size = self.features == "adjacency"
        if self.features == "labels":
            known = np.unique(self._labels(graphs)).tolist()
            self.label_codes_ = {label: code for code, label in enumerate(known)}
            self.width_ = len(known)
        elif self.features == "degree":
            self.width_ = min(int(degrees(graphs).max()), self.max_degree) + 1
        else:
            self.width_ = self.size_

    def _inputs(self, graphs: GraphSet) -> Batch:
        if self.features == "adjacency":
            return PaddedGraphs.of(graphs, self.size_)
        if self.features == "labels":
            distinct, inverse = np.unique(self._labels(graphs), return_inverse=True)
            codes = np.array([self.label_codes_.get(label, -1) for label in distinct.tolist()])[inverse]
        else:
            codes = np.minimum(degrees(graphs), self.width_ - 1)
        return CodedGraphs(replace(graphs, node_labels=codes), self.width_)

    def _labels(self, graphs: GraphSet) -> NDArray[Any]:
        if graphs.node_labels is None:
            raise InputError(_no_labels(graphs))
        return graphs.node_labels

    def _cells_per_graph(self) -> int:
        return self.size_ * max(self.size_, self.width_, self.hidden)


def _no_labels(graphs: GraphSet) -> str:
    return f"{graphs.name} has no node labels for features='labels'; use features='degree' or 'adjacency'"


class NodeNorm(nn.BatchNorm1d):
    """Batch-norm over all nodes of a batch, (..., d) to the same; a single node is measured by the running values."""

    def forward(self, x: Tensor) -> Tensor:
        """A tensor of the same shape."""
        nodes = x.flatten(0, -2)
        if self.training and len(nodes) == 1:
            return batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps)
        return super().forward(nodes).view_as(x)


def geometric_layers(method: str) -> Any:
    """The module ``torch_geometric.nn``, loaded when a network is first built."""
    try:
        with _IMPORTING, warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # it scripts classes as it loads
            return importlib.import_module("torch_geometric.nn")
    except ImportError as error:
        raise MissingDependencyError(
            f"{method} needs torch_geometric, which is not installed; pip install 'isonn[baselines]'"
        ) from error


# Inputs of graph networks: padded matrices, or one big graph with a number per node. Both offer
# ``x`` (features of the nodes), ``links(weighted)`` (what a layer is called with
# next to the features), ``pool(h, mean)`` (node features to graph features), and ``[rows]``.


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
