"""Networks on the padded adjacency matrix: CNN, autoencoder and SDBN."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.cluster import SpectralClustering
from torch import Tensor, nn

from isonn.baselines.neural import Dropout, NeuralClassifier, check_dropout, draw_weights
from isonn.errors import InputError
from isonn.graphs.graph import GraphSet
from isonn.packing import IntArray
from isonn.params import check_count, check_memory, check_widths
from isonn.seeding import derive_seed, torch_stream
from isonn.torch_estimator import MLP
from isonn.training import Inputs

#: Sides of the filters of the CNN, and of the cells that it pools.
FILTER, POOL = 5, 2
#: Smallest side of a matrix that SDBN can pool twice.
SMALLEST = 4


@dataclass(eq=False, repr=False)
class CNNClassifier(NeuralClassifier):
    """CNN: one layer of 5 x 5 filters over the adjacency matrix, max-pooling, ReLU and an MLP.

    The convolutional network of Krizhevsky et al. (NeurIPS 2012), reduced as in the IsoNN paper: 50 filters, 2 x 2
    max-pooling, ReLU, fully connected layers of 1024 and 128. The paper does not give epochs and learning rate; these
    are our choice. Graphs of fewer than 6 nodes are padded to 6, the smallest size that can be filtered and pooled.
    Most of the cost is the first layer of the MLP, 138 million weights for graphs of 109 nodes (2.2 GB with Adam's
    state). Node order matters: relabelling changes predictions.

    Args:
        channels: number of filters.
        hidden: widths of the hidden layers.
        size: nodes that graphs are padded to; None uses the largest training graph.
        epochs: number of training epochs.
        learning_rate: learning rate of Adam.
        batch_size: graphs per step; None means all.
        patience: stop after this many epochs without a lower training loss, or "settled"; None runs all epochs.
        n_jobs: number of torch threads; with one, the default, a seed gives identical results on any machine.
        random_state: seed of weights and shuffles; None draws a new one.
        verbose: 1 shows a progress bar.

    Example:
        >>> graphs = isonn.load("MUTAG")[:40]
        >>> clf = CNNClassifier(channels=4, hidden=(8,), epochs=2, random_state=0).fit(graphs)
        >>> clf.predict_proba(graphs[:3]).shape
        (3, 2)
    """

    _fixed_size = True

    channels: int = 50
    hidden: Sequence[int] = (1024, 128)
    _: KW_ONLY
    epochs: int = 15

    def _check_params(self) -> None:
        """Validate parameters."""
        super()._check_params()
        check_count("channels", self.channels)
        check_widths("hidden", self.hidden)

    @property
    def _side(self) -> int:
        return max(self.size_, FILTER + POOL - 1)

    def _inputs(self, graphs: GraphSet) -> Tensor:
        return torch.from_numpy(graphs.dense(self._side)).unsqueeze(1)  # (g, 1, side, side)

    def _build(self) -> nn.Module:
        maps = self.channels * ((self._side - FILTER + 1) // POOL) ** 2
        check_memory(
            "weights of the first layer", (maps, self.hidden[0]), "use fewer channels or narrower hidden layers"
        )
        return nn.Sequential(
            nn.Conv2d(1, self.channels, FILTER),
            nn.MaxPool2d(POOL),
            nn.ReLU(),
            nn.Flatten(),
            MLP(maps, self.hidden, len(self.classes_)),
        )

    def _cells_per_graph(self) -> int:
        return self.channels * self._side**2


@dataclass(eq=False, repr=False)
class AutoEncoderClassifier(NeuralClassifier):
    """AE: compress the adjacency matrix without using classes, then classify the codes.

    The autoencoder of Vincent et al., "Stacked denoising autoencoders" (JMLR 2010), as the IsoNN paper uses it:
    two encoder and two decoder layers on the padded matrix written as one vector, trained on the squared error
    of the reconstruction; then the encoder is frozen and an MLP learns the classes from the codes. Differences: both
    parts train end to end without noise or layer-wise pre-training, and the widths are our choice, since the IsoNN
    paper does not give them. The paper's accuracy of 50 %, with one class for every graph, indicates a network that did
    not learn; this one does. Node order matters: relabelling changes predictions.

    Args:
        encoder: widths of the encoder's two layers, the second that of the code; the decoder mirrors them.
        hidden: widths of the classifier's hidden layers.
        epochs: training epochs of the autoencoder, and again of the classifier.
        size, learning_rate, batch_size, patience, n_jobs, random_state, verbose: as in `CNNClassifier`.

    Attributes set by ``fit``:
        reconstruction_history_: loss and seconds of each epoch of the autoencoder.

    Example:
        >>> graphs = isonn.load("MUTAG")[:40]
        >>> clf = AutoEncoderClassifier(encoder=(16, 4), hidden=(8,), epochs=2, random_state=0).fit(graphs)
        >>> clf.predict_proba(graphs[:3]).shape
        (3, 2)
    """

    _fixed_size = True

    encoder: Sequence[int] = (512, 128)
    hidden: Sequence[int] = (1024, 128)

    def _check_params(self) -> None:
        """Validate parameters."""
        super()._check_params()
        check_widths("encoder", self.encoder)
        check_widths("hidden", self.hidden)

    def _inputs(self, graphs: GraphSet) -> Tensor:
        return torch.from_numpy(graphs.dense(self.size_)).flatten(1)

    def _learn(self, inputs: Inputs, targets: Tensor) -> nn.Module:
        assert isinstance(inputs, Tensor)
        pixels, widths, code = self.size_**2, tuple(self.encoder), self.encoder[-1]

        def autoencoder() -> nn.Module:
            return nn.Sequential(MLP(pixels, widths[:-1], code), MLP(code, widths[-2::-1], pixels))

        def classifier() -> nn.Module:
            return MLP(code, self.hidden, len(self.classes_))

        both = draw_weights(autoencoder, torch_stream(self.seed_, "weights", "autoencoder"))
        self.reconstruction_history_ = self._train(both, inputs, inputs, nn.MSELoss(), "autoencoder")
        with torch.inference_mode():
            codes = both[0](inputs)  # type: ignore[index]
        head = draw_weights(classifier, torch_stream(self.seed_, "weights"))
        self.history_ = self._train(head, codes.clone(), targets, self._loss())
        return nn.Sequential(both[0], head)  # type: ignore[index]


@dataclass(eq=False, repr=False)
class SDBNClassifier(NeuralClassifier):
    """SDBN: reorder nodes by module, add block means as a second channel, classify with a small CNN.

    Wang et al., "Structural deep brain network mining" (KDD 2017), as the IsoNN paper sets it up. Modules are found by
    spectral clustering of the mean absolute adjacency matrix of the training graphs. Nodes are sorted by module, in one
    order for all graphs, so that filters see related nodes together. A second channel (structural augmentation)
    replaces every cell by the mean of its block, the cells between its row's module and its column's. Two rounds of 3 x
    3 convolution (16, then 32 filters), 2 x 2 max-pooling and ReLU, a layer of 100 units and dropout lead to the
    classes. A decoder (upsampling and convolution, twice) reconstructs both channels, and its squared error is added to
    the loss. Differences: the published network is 3-D and larger; the number of modules, filters and the decoder's
    weight are our choice, since the IsoNN paper does not give them. On graphs that are not aligned (molecules), the
    modules carry little meaning, because they only reflect which node *numbers* tend to be linked, and node numbers
    beyond the training graphs form empty modules.

    Args:
        modules: number of modules; at most one fewer than nodes.
        reconstruction: weight of the decoder's error in the loss.
        dropout: share of the 100 units dropped in training.
        random_state: seed of modules, weights and shuffles; None draws a new one.
        size, epochs, learning_rate, batch_size, patience, n_jobs, verbose: as in `CNNClassifier`.

    Attributes set by ``fit``:
        modules_: ndarray of shape (size_,), the module of each node, numbered by their first nodes.
        order_: ndarray of shape (size_,), the nodes sorted by module.

    Example:
        >>> graphs = isonn.load("MUTAG")[:40]
        >>> clf = SDBNClassifier(modules=3, epochs=1, random_state=0).fit(graphs)
        >>> clf.predict_proba(graphs[:3]).shape
        (3, 2)
    """

    _fixed_size = True

    modules: int = 8
    reconstruction: float = 1.0
    _: KW_ONLY
    dropout: float = 0.5
    epochs: int = 30
    batch_size: int | None = 32

    def _check_params(self) -> None:
        """Validate parameters."""
        super()._check_params()
        check_count("modules", self.modules)
        check_dropout(self.dropout)
        if not self.reconstruction >= 0:
            raise InputError(f"reconstruction={self.reconstruction!r} is not a weight; use a number >= 0")

    def _prepare(self, graphs: GraphSet) -> None:
        mean = np.zeros((self.size_, self.size_))
        weights = 1.0 if graphs.weights is None else np.abs(graphs.weights)
        np.add.at(mean, (graphs.edges[:, 0], graphs.edges[:, 1]), weights)
        self.modules_ = find_modules(mean / len(graphs), self.modules, derive_seed(self.seed_, "modules") % 2**32)
        self.order_ = np.argsort(self.modules_, kind="stable")

    def _inputs(self, graphs: GraphSet) -> Tensor:
        adjacency = graphs.dense(self.size_)[:, self.order_][:, :, self.order_]
        both = np.stack([adjacency, block_means(adjacency, self.modules_[self.order_])], axis=1)
        room = max(0, SMALLEST - self.size_)
        return torch.from_numpy(np.pad(both, ((0, 0), (0, 0), (0, room), (0, room))))  # (g, 2, side, side)

    def _build(self) -> nn.Module:
        return _Network(max(self.size_, SMALLEST), len(self.classes_), self.dropout)

    def _loss(self) -> Callable[[Any, Tensor], Tensor]:
        supervised = super()._loss()
        return lambda outputs, targets: supervised(outputs[0], targets) + self.reconstruction * outputs[1]

    def _cells_per_graph(self) -> int:
        return 16 * max(self.size_, SMALLEST) ** 2


class _Network(nn.Module):
    """SDBN network; returns logits, and in training also the mean squared error of the decoder."""

    def __init__(self, side: int, outputs: int, dropout: float) -> None:
        super().__init__()
        half, quarter = side // 2, side // 4
        self.encoder = nn.Sequential(
            nn.Conv2d(2, 16, 3, padding=1),
            nn.MaxPool2d(2),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.MaxPool2d(2),
            nn.ReLU(),
        )
        self.decoder = nn.Sequential(
            nn.Upsample(half),
            nn.Conv2d(32, 16, 3, padding=1),
            nn.ReLU(),
            nn.Upsample(side),
            nn.Conv2d(16, 2, 3, padding=1),
        )
        self.head = nn.Sequential(
            nn.Flatten(), nn.Linear(32 * quarter**2, 100), nn.ReLU(), Dropout(dropout), nn.Linear(100, outputs)
        )

    def forward(self, pictures: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        features = self.encoder(pictures)  # (b, 32, quarter, quarter)
        logits: Tensor = self.head(features)
        if not self.training:
            return logits
        return logits, (self.decoder(features) - pictures).square().mean()


def find_modules(affinity: NDArray[np.float64], count: int, seed: int) -> IntArray:
    """Return the module of each node, shape (n,), by spectral clustering; modules are numbered by their first nodes.

    Args:
        affinity: non-negative strength of the links between nodes, shape (n, n); directions are averaged.
        count: number of modules; at most n - 1 are used.
        seed: seed of the clustering.
    """
    n = len(affinity)
    count = min(count, n - 1)
    if count < 2:
        return np.zeros(n, dtype=np.int64)
    links = (affinity + affinity.T) / 2
    links += 1e-6 * max(
        float(links.max()), 1e-6
    )  # a weak link between all nodes, so that isolated nodes belong to a module
    labels = SpectralClustering(count, affinity="precomputed", random_state=seed).fit(links).labels_
    _, first, label = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[label]


def block_means(matrices: NDArray[np.float32], modules: IntArray) -> NDArray[np.float32]:
    """Replace every cell by the mean of its block, the cells between its row's module and its column's.

    Example:
        >>> block_means(np.array([[[0, 2, 5], [2, 0, 7], [5, 7, 1]]], dtype=np.float32), np.array([0, 0, 1]))[0]
        array([[1., 1., 6.],
               [1., 1., 6.],
               [6., 6., 1.]], dtype=float32)
    """
    member = (modules[:, None] == np.unique(modules)).astype(np.float32)  # (n, modules)
    share = member / member.sum(axis=0)
    means: NDArray[np.float32] = member @ (share.T @ matrices @ share) @ member.T
    return means
