"""Graph convolution."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from torch import Tensor, nn

from isonn.baselines.graph_network import Batch, GraphNetworkClassifier, NodeNorm, PaddedGraphs, geometric_layers
from isonn.baselines.neural import Dropout


class GCNClassifier(GraphNetworkClassifier):
    """GCN: two graph convolutions, all node features as graph features, one linear layer.

    Kipf & Welling, "Semi-supervised classification with graph convolutional networks" (ICLR 2017), on
    PyTorch Geometric's layers. With ``features="adjacency"`` it is the IsoNN paper's set-up: a node is known by
    its row of the padded matrix, the features of all nodes stand side by side, so the order of the nodes matters.
    With "labels" or "degree" it is what anyone would use: batch-norm after each convolution, node features
    averaged, graphs of any size. Ours differs: a weight counts by its absolute value, since the
    normalisation divides by the root of a node's summed weights (the rows in "adjacency" keep their signs); the
    paper's widths, epochs and learning rate are not given and are ours.

    Args:
        features: what a node is known by: "adjacency", "labels" or "degree".
        layers: number of convolutions.
        hidden: width of each.
        dropout: share of the graph features dropped in training.
        max_degree: where degrees are capped with ``features="degree"``.
        size: nodes that graphs are padded to with ``features="adjacency"``; None takes the largest training graph.
        epochs: passes over the training graphs.
        learning_rate: of Adam.
        batch_size: graphs per step; None takes all at once.
        random_state: seed of all weights and shuffles; None draws one.
        n_jobs: torch threads; one by default, so that the same seed gives the same bits anywhere.
        verbose: 1 shows a progress bar.

    Example:
        >>> graphs = isonn.load("MUTAG")[:40]
        >>> clf = GCNClassifier(features="labels", hidden=8, epochs=2, random_state=0).fit(graphs)
        >>> clf.predict_proba(graphs[:3]).shape
        (3, 2)
    """

    def __init__(
        self,
        features: str = "adjacency",
        layers: int = 2,
        hidden: int = 64,
        dropout: float = 0.5,
        max_degree: int = 32,
        size: int | None = None,
        epochs: int = 100,
        learning_rate: float = 1e-3,
        batch_size: int | None = 32,
        random_state: Any = None,
        n_jobs: int = 1,
        verbose: int = 0,
    ) -> None:
        self.features = features
        self.layers = layers
        self.hidden = hidden
        self.dropout = dropout
        self.max_degree = max_degree
        self.size = size
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _build(self) -> nn.Module:
        layer = geometric_layers(type(self).__name__)
        widths = [self.width_] + [self.hidden] * self.layers
        outputs = len(self.classes_)
        if self.features == "adjacency":
            convolutions = [layer.DenseGCNConv(a, b) for a, b in pairwise(widths)]
            return _GCN(convolutions, None, nn.Linear(self.size_ * self.hidden, outputs), self.dropout)
        convolutions = [layer.GCNConv(a, b) for a, b in pairwise(widths)]
        norms = [NodeNorm(self.hidden) for _ in convolutions]
        return _GCN(convolutions, norms, nn.Linear(self.hidden, outputs), self.dropout)


class _GCN(nn.Module):
    """Convolutions, each followed by batch-norm (if any) and ReLU; then one linear layer on dropped-out features."""

    def __init__(
        self, convolutions: list[nn.Module], norms: list[NodeNorm] | None, last: nn.Linear, dropout: float
    ) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(convolutions)
        self.norms = nn.ModuleList([nn.Identity() for _ in convolutions] if norms is None else norms)
        self.dropout = Dropout(dropout)
        self.last = last

    def forward(self, batch: Batch) -> Tensor:
        h, links = batch.x, batch.links(weighted=True)
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            h = norm(convolution(h, *links)).relu()
        graph = h.flatten(1) if isinstance(batch, PaddedGraphs) else batch.pool(h, mean=True)
        logits: Tensor = self.last(self.dropout(graph))
        return logits
