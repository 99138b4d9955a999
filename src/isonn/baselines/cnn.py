"""The adjacency matrix read as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from isonn.baselines.neural import NeuralClassifier
from isonn.estimator import check_count, check_widths
from isonn.graphs.graph import GraphSet
from isonn.torch_estimator import MLP

KERNEL = 5


class CNNClassifier(NeuralClassifier):
    """CNN: one layer of 5 x 5 filters over the adjacency matrix, max-pooling, ReLU and an MLP.

    The convolutional network of Krizhevsky et al. (NeurIPS 2012), cut down as the IsoNN paper does: 50 filters,
    2 x 2 max-pooling, ReLU, fully connected layers of 1024 and 128. Ours differs: the paper gives neither
    epochs nor learning rate, so they are ours; graphs of fewer than 6 nodes are padded to 6, the least that can
    be filtered and pooled. Nearly all of the cost is the first layer of the MLP, 138 million weights on graphs of
    109 nodes (2.2 GB with Adam's state). Nodes are known by their number, so relabelling changes predictions.

    Args:
        channels: number of filters.
        hidden: widths of the hidden layers.
        size: nodes that graphs are padded to; None takes the largest training graph.
        epochs: passes over the training graphs.
        learning_rate: of Adam.
        batch_size: graphs per step; None takes all at once.
        random_state: seed of all weights and shuffles; None draws one.
        n_jobs: torch threads; one by default, so that the same seed gives the same bits anywhere.
        verbose: 1 shows a progress bar.

    Example:
        >>> graphs = isonn.load("MUTAG")[:40]
        >>> clf = CNNClassifier(channels=4, hidden=(8,), epochs=2, random_state=0).fit(graphs)
        >>> clf.predict_proba(graphs[:3]).shape
        (3, 2)
    """

    _fixed_size = True

    def __init__(
        self,
        channels: int = 50,
        hidden: Sequence[int] = (1024, 128),
        size: int | None = None,
        epochs: int = 15,
        learning_rate: float = 1e-3,
        batch_size: int | None = None,
        random_state: Any = None,
        n_jobs: int = 1,
        verbose: int = 0,
    ) -> None:
        self.channels = channels
        self.hidden = hidden
        self.size = size
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_params(self) -> None:
        """Validate parameters."""
        super()._check_params()
        check_count("channels", self.channels)
        check_widths("hidden", self.hidden)

    @property
    def _side(self) -> int:
        return max(self.size_, KERNEL + 1)

    def _inputs(self, graphs: GraphSet) -> Tensor:
        return torch.from_numpy(graphs.dense(self._side)).unsqueeze(1)  # (g, 1, side, side)

    def _build(self) -> nn.Module:
        pooled = (self._side - KERNEL + 1) // 2
        return nn.Sequential(
            nn.Conv2d(1, self.channels, KERNEL),
            nn.MaxPool2d(2),
            nn.ReLU(),
            nn.Flatten(),
            MLP(self.channels * pooled**2, self.hidden, len(self.classes_)),
        )

    def _cells_per_graph(self) -> int:
        return self.channels * self._side**2
