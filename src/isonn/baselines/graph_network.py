"""What graph networks share: what a node is known by, and where the layers come from."""

from __future__ import annotations

import importlib
import threading
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import batch_norm

from isonn.baselines.degree_histogram import degrees
from isonn.baselines.graph_batches import Batch, CodedGraphs, PaddedGraphs
from isonn.baselines.neural import NeuralClassifier, check_dropout
from isonn.data.graphs import GraphSet
from isonn.errors import InputError, MissingDependencyError
from isonn.training.settings import check_count

FEATURES = ("adjacency", "labels", "degree")

_IMPORTING = threading.Lock()


class GraphNetworkClassifier(NeuralClassifier):
    """Base of the graph networks; a subclass has these constructor arguments and builds the network.

    ``features`` says what a node is known by: "adjacency", its row of the padded matrix, as in the IsoNN paper;
    "labels", its label among those of the training graphs (an unknown one is all zeros); "degree", its number of
    neighbours, all from ``max_degree`` on as one. The last two take graphs of any size, and renumbering the nodes
    of a graph changes nothing.
    """

    features: str
    layers: int
    hidden: int
    dropout: float
    max_degree: int

    def check_settings(self) -> None:
        """Refuse constructor arguments that mean nothing."""
        super().check_settings()
        if self.features not in FEATURES:
            raise InputError(f"features={self.features!r} is not known; use one of {', '.join(FEATURES)}")
        for name in ("layers", "hidden", "max_degree"):
            check_count(name, getattr(self, name))
        check_dropout(self.dropout)

    def why_not(self, graphs: GraphSet) -> str | None:
        """Labels that are not there cannot be features."""
        if self.features == "labels" and graphs.node_labels is None:
            return _no_labels(graphs)
        return super().why_not(graphs)

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
            f"{method} is built on torch_geometric, which is not installed; pip install 'isonn[baselines]'"
        ) from error
