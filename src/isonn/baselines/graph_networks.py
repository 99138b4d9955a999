"""GCN and GIN on layers of PyTorch Geometric, with their node features and batches."""

from __future__ import annotations

import importlib
import threading
import warnings
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import batch_norm

from isonn.baselines.neural import Dropout, NeuralClassifier, check_dropout
from isonn.baselines.simple import degrees
from isonn.errors import InputError, naming_the_extra
from isonn.graphs.graph import GraphSet
from isonn.params import check_count

FEATURES = ("adjacency", "labels", "degree")
#: Degrees above this count as this.
MAX_DEGREE = 32

_IMPORTING = threading.Lock()


@dataclass(eq=False, repr=False)
class GraphNetworkClassifier(NeuralClassifier):
    """Base of the graph networks, whose node features are the rows of the padded matrix, as in the IsoNN paper."""

    _fixed_size = True

    layers: int = 2
    _: KW_ONLY
    hidden: int = 64
    dropout: float = 0.5
    batch_size: int | None = 32

    def _check_params(self) -> None:
        """Validate parameters."""
        super()._check_params()
        for name in ("layers", "hidden"):
            check_count(name, getattr(self, name))
        check_dropout(self.dropout)

    def _prepare(self, graphs: GraphSet) -> None:
        geometric_layers(type(self).__name__)
        self.width_ = self.size_

    def _inputs(self, graphs: GraphSet) -> PaddedGraphs | OneHotGraphs:
        return PaddedGraphs.of(graphs, self.size_)

    def _cells_per_graph(self) -> int:
        return self.size_ * max(self.size_, self.width_, self.hidden)


class NodeNorm(nn.BatchNorm1d):
    """Batch norm over all nodes of a batch, shape (..., d); a single node uses the running statistics."""

    def forward(self, x: Tensor) -> Tensor:
        """Return a tensor of the same shape."""
        nodes = x.flatten(0, -2)
        if self.training and len(nodes) == 1:
            return batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps)
        return super().forward(nodes).view_as(x)


def geometric_layers(method: str) -> Any:
    """Import ``torch_geometric.nn``, when a network is first built."""
    with naming_the_extra(method), _IMPORTING, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # importing it scripts classes, which warns
        return importlib.import_module("torch_geometric.nn")


# Inputs of graph networks: padded matrices, or one big graph with a code per node. Both have ``x`` (node features),
# ``links()`` (the edges for a layer), ``pool(h)`` (node features to graph features), and ``[rows]``.


@dataclass(frozen=True)
class PaddedGraphs:
    """Padded matrices of one size, whose rows are the node features.

    Attributes:
        x: the matrices, shape (g, n, n).
        real: 1 for nodes, 0 for padding, shape (g, n, 1).
    """

    x: Tensor
    real: Tensor

    @classmethod
    def of(cls, graphs: GraphSet, size: int) -> PaddedGraphs:
        """Pad graphs with zeros at the end."""
        real = np.arange(size) < graphs.sizes[:, None]
        return cls(torch.from_numpy(graphs.dense(size)), torch.from_numpy(real.astype(np.float32))[:, :, None])

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, rows: Tensor) -> PaddedGraphs:
        return PaddedGraphs(self.x[rows], self.real[rows])

    def links(self) -> Tensor:
        """Return matrices of 1 for every edge, shape (g, n, n)."""
        return (self.x != 0).to(self.x.dtype)

    def pool(self, h: Tensor) -> Tensor:
        """Return the sum of the features of real nodes, without padding: (g, n, d) to (g, d)."""
        return (h * self.real).sum(dim=1)


@dataclass(frozen=True)
class OneHotGraphs:
    """Graphs of any size with one-hot node features.

    Attributes:
        graphs: graphs whose ``node_labels`` are codes below ``width``; a negative code means all zeros.
        width: number of features per node.
    """

    graphs: GraphSet
    width: int

    def __len__(self) -> int:
        return len(self.graphs)

    def __getitem__(self, rows: Tensor) -> OneHotGraphs:
        return replace(self, graphs=self.graphs[rows.numpy()])

    @cached_property
    def x(self) -> Tensor:
        """Node features, shape (nodes, width)."""
        codes = np.asarray(self.graphs.node_labels)
        return torch.from_numpy((codes[:, None] == np.arange(self.width)).astype(np.float32))

    def links(self) -> Tensor:
        """Return the edges, shape (2, m), from column to row like a matrix product."""
        first = self.graphs.node_offsets[self.graphs.graph_of_cell]
        return torch.from_numpy((self.graphs.edges[:, ::-1] + first[:, None]).T.copy())

    def pool(self, h: Tensor) -> Tensor:
        """Return the sum over the nodes of each graph: (nodes, d) to (g, d)."""
        owner = torch.repeat_interleave(torch.arange(len(self)), torch.from_numpy(self.graphs.sizes))
        return h.new_zeros(len(self), h.shape[1]).index_add(0, owner, h)


class GCNClassifier(GraphNetworkClassifier):
    """GCN: two graph convolutions, all node features as graph features, one linear layer.

    Kipf & Welling, "Semi-supervised classification with graph convolutional networks" (ICLR 2017), on
    PyTorch Geometric's layers, in the IsoNN paper's set-up: node features are rows of the padded matrix and are
    concatenated, so node order matters. Differences: edge weights enter by their absolute value, since the
    normalisation divides by the root of a node's summed weights (the rows keep their signs). The paper does not give
    widths, epochs and learning rate; these are our choice.

    Args:
        layers: number of convolutions.
        size: nodes that graphs are padded to; None uses the largest training graph.
        hidden: width of each convolution.
        dropout: share of the graph features dropped in training.
        epochs, learning_rate, batch_size, patience, n_jobs, random_state, verbose: as in `CNNClassifier`.

    Example:
        >>> graphs = isonn.load("MUTAG")[:40]
        >>> clf = GCNClassifier(hidden=8, epochs=2, random_state=0).fit(graphs)
        >>> clf.predict_proba(graphs[:3]).shape
        (3, 2)
    """

    def _build(self) -> nn.Module:
        layer, widths = geometric_layers(type(self).__name__), [self.width_] + [self.hidden] * self.layers
        convolutions = [layer.DenseGCNConv(a, b) for a, b in pairwise(widths)]
        return _GCN(convolutions, nn.Linear(self.size_ * self.hidden, len(self.classes_)), self.dropout)


class _GCN(nn.Module):
    """Convolutions, each followed by ReLU; then dropout and one linear layer."""

    def __init__(self, convolutions: list[nn.Module], last: nn.Linear, dropout: float) -> None:
        super().__init__()
        self.convolutions, self.dropout, self.last = nn.ModuleList(convolutions), Dropout(dropout), last

    def forward(self, batch: PaddedGraphs) -> Tensor:
        h, weights = batch.x, batch.x.abs()
        for convolution in self.convolutions:
            h = convolution(h, weights).relu()
        logits: Tensor = self.last(self.dropout(h.flatten(1)))
        return logits


@dataclass(eq=False, repr=False)
class GINClassifier(GraphNetworkClassifier):
    """GIN-0: sums over neighbours with an MLP after each; graph features are the sums over nodes of every layer.

    Xu et al., "How powerful are graph neural networks?" (ICLR 2019), on PyTorch Geometric's layers with epsilon
    fixed at 0: MLPs of two layers with batch-norm, sum-pooling after every layer and of the input, dropout 0.5
    on the scores of each, batches of 32. ``features="adjacency"`` is the IsoNN paper's set-up (node features are rows
    of the padded matrix, so node order matters); "labels" and "degree" are GIN as published. Differences: the learning
    rate is 0.001 throughout, not 0.01 halved every 50 epochs (with a constant 0.01, the running means of batch norm lag
    behind the weights, which hurts accuracy on new graphs). The number of epochs is fixed, not chosen on the test
    folds. With "adjacency" the batch statistics include the padding. As published, GIN ignores edge weights (the rows
    in "adjacency" contain them), so it sees little structure in complete graphs such as correlations of brain regions.

    Args:
        layers: number of layers.
        features: node features: "adjacency", the row of the padded matrix; "labels", the one-hot node label (all zeros
            for labels not seen in training); "degree", the one-hot number of neighbours, at most 32. The last two
            accept graphs of any size and are relabelling-invariant.
        dropout: share of the layers' scores dropped in training, as in the published code.
        size, hidden: as in `GCNClassifier`.
        epochs, learning_rate, batch_size, patience, n_jobs, random_state, verbose: as in `CNNClassifier`.

    Example:
        >>> graphs = isonn.load("MUTAG")[:40]
        >>> clf = GINClassifier(features="labels", hidden=8, epochs=2, random_state=0).fit(graphs)
        >>> clf.predict_proba(graphs[:3]).shape
        (3, 2)
    """

    layers: int = 5
    _: KW_ONLY
    features: str = "adjacency"

    def _check_params(self) -> None:
        """Validate parameters."""
        super()._check_params()
        if self.features not in FEATURES:
            raise InputError(f"features={self.features!r} is unknown; use one of {', '.join(FEATURES)}")

    def _unsupported(self, graphs: GraphSet) -> str | None:
        """Return an error for features="labels" on graphs without node labels."""
        if self.features == "labels" and graphs.node_labels is None:
            return _no_labels(graphs)
        return super()._unsupported(graphs)

    def _prepare(self, graphs: GraphSet) -> None:
        super()._prepare(graphs)
        self._fixed_size = self.features == "adjacency"
        if self.features == "labels":
            labels = np.unique(_labels(graphs)).tolist()
            self.label_codes_ = {label: code for code, label in enumerate(labels)}
            self.width_ = len(labels)
        elif self.features == "degree":
            self.width_ = min(int(degrees(graphs).max()), MAX_DEGREE) + 1

    def _inputs(self, graphs: GraphSet) -> PaddedGraphs | OneHotGraphs:
        if self.features == "adjacency":
            return super()._inputs(graphs)
        if self.features == "labels":
            distinct, inverse = np.unique(_labels(graphs), return_inverse=True)
            codes = np.array([self.label_codes_.get(label, -1) for label in distinct.tolist()])[inverse]
        else:
            codes = np.minimum(degrees(graphs), self.width_ - 1)
        return OneHotGraphs(replace(graphs, node_labels=codes), self.width_)

    def _build(self) -> nn.Module:
        layer = geometric_layers(type(self).__name__)
        kind = layer.DenseGINConv if self.features == "adjacency" else layer.GINConv
        widths = [self.width_] + [self.hidden] * self.layers
        convolutions = [kind(_mlp(a, b), eps=0.0, train_eps=False) for a, b in pairwise(widths)]
        return _GIN(convolutions, widths, len(self.classes_), self.dropout)


def _labels(graphs: GraphSet) -> NDArray[Any]:
    if graphs.node_labels is None:
        raise InputError(_no_labels(graphs))
    return graphs.node_labels


def _no_labels(graphs: GraphSet) -> str:
    return f"{graphs.name} has no node labels for features='labels'; use features='degree' or 'adjacency'"


def _mlp(inputs: int, width: int) -> nn.Module:
    return nn.Sequential(nn.Linear(inputs, width), NodeNorm(width), nn.ReLU(), nn.Linear(width, width))


class _GIN(nn.Module):
    """GIN network; its logits sum a linear layer on the pooled features of the input and of every layer."""

    def __init__(self, convolutions: list[nn.Module], widths: list[int], outputs: int, dropout: float) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(convolutions)
        self.norms = nn.ModuleList(NodeNorm(width) for width in widths[1:])
        self.read = nn.ModuleList(nn.Linear(width, outputs) for width in widths)
        self.dropout = Dropout(dropout)

    def forward(self, batch: PaddedGraphs | OneHotGraphs) -> Tensor:
        h, links = batch.x, batch.links()
        logits: Tensor = self.dropout(self.read[0](batch.pool(h)))
        for convolution, norm, read in zip(self.convolutions, self.norms, self.read[1:], strict=True):
            h = norm(convolution(h, links)).relu()
            logits = logits + self.dropout(read(batch.pool(h)))
        return logits
