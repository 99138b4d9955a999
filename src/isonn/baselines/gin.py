"""Graph isomorphism network."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from torch import Tensor, nn

from isonn.baselines.graph_network import Batch, GraphNetworkClassifier, NodeNorm, geometric_layers
from isonn.baselines.neural import Dropout


class GINClassifier(GraphNetworkClassifier):
    """GIN-0: sums over neighbours, an MLP after each; the sums over nodes of every layer are the graph's features.

    Xu et al., "How powerful are graph neural networks?" (ICLR 2019), on PyTorch Geometric's layers with epsilon
    fixed at 0: MLPs of two layers with batch-norm, sum-pooling after every layer and of the input, dropout 0.5
    on the scores of each, batches of 32. With ``features="adjacency"`` it is the IsoNN paper's set-up (a node is
    known by its row of the padded matrix, so the order of the nodes matters); with "labels" or "degree" it is GIN
    as published. Ours differs: the learning rate is 0.001 throughout, not 0.01 halved every 50 epochs
    (left at 0.01, the running means of batch-norm lag behind the weights and accuracy on new graphs suffers);
    the number of epochs is fixed, not chosen on the test folds; with "adjacency" the batch statistics include
    the padding. As published, GIN has no edge weights: a neighbour is a neighbour whatever the weight (the rows
    in "adjacency" hold the weights), so on complete graphs such as correlations of brain regions it sees little.

    Args:
        features: what a node is known by: "adjacency", "labels" or "degree".
        layers: number of convolutions.
        hidden: width of each.
        dropout: share of the layers' scores dropped in training, as in the published code.
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
        >>> clf = GINClassifier(features="labels", hidden=8, epochs=2, random_state=0).fit(graphs)
        >>> clf.predict_proba(graphs[:3]).shape
        (3, 2)
    """

    def __init__(
        self,
        features: str = "adjacency",
        layers: int = 5,
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
        kind = layer.DenseGINConv if self.features == "adjacency" else layer.GINConv
        widths = [self.width_] + [self.hidden] * self.layers
        convolutions = [kind(_mlp(a, b), eps=0.0, train_eps=False) for a, b in pairwise(widths)]
        return _GIN(convolutions, widths, len(self.classes_), self.dropout)


def _mlp(inputs: int, width: int) -> nn.Module:
    return nn.Sequential(nn.Linear(inputs, width), NodeNorm(width), nn.ReLU(), nn.Linear(width, width))


class _GIN(nn.Module):
    """Logits are the sum, over the input and every layer, of a linear layer on the pooled features."""

    def __init__(self, convolutions: list[nn.Module], widths: list[int], outputs: int, dropout: float) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(convolutions)
        self.norms = nn.ModuleList(NodeNorm(width) for width in widths[1:])
        self.read = nn.ModuleList(nn.Linear(width, outputs) for width in widths)
        self.dropout = Dropout(dropout)

    def forward(self, batch: Batch) -> Tensor:
        h, links = batch.x, batch.links(weighted=False)
        logits: Tensor = self.dropout(self.read[0](batch.pool(h)))
        for convolution, norm, read in zip(self.convolutions, self.norms, self.read[1:], strict=True):
            h = norm(convolution(h, *links)).relu()
            logits = logits + self.dropout(read(batch.pool(h)))
        return logits
