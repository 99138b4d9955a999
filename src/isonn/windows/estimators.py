"""`IsoNNClassifier`: the paper's model as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from isonn.errors import InputError
from isonn.explain.explanation import Template
from isonn.graphs.graph import GraphSet
from isonn.params import check_count, check_widths
from isonn.torch_estimator import TemplateClassifier
from isonn.windows.bank import WindowBank, all_windows, bank_windows
from isonn.windows.cut import is_symmetric
from isonn.windows.explain import WindowMatches
from isonn.windows.incremental import CertifiedWindows
from isonn.windows.layer import IsoLayer, check_layer, map_shape
from isonn.windows.model import IsoNN

#: From this k on, keeping certificates costs less than trying the k! orderings anew at every step.
MIN_CERTIFIED_K = 5


class IsoNNClassifier(TemplateClassifier):
    """Classify graphs by templates matched against windows of the adjacency matrix (the paper's IsoNN).

    Windows are blocks of consecutive node numbers, so this model is for graphs whose node order carries
    meaning, such as brain atlases. Graphs are padded with zeros at the end to one size.

    Args:
        k: nodes per template. Cost grows as k!.
        c: number of templates.
        matching: how templates are matched, one of `isonn.matching.MATCHERS`.
        layers: deep IsoNN; ((2, 3), (3, 4)) is 2 templates of size 3, then 3 of size 4. Replaces k and c.
        normalize: "positions" or "templates", the axis of the softmax, or "relative", without which deep models
            of large graphs (90 nodes) do not learn; see `isonn.nn.IsoLayer`.
        symmetric: keep the templates symmetric, as the paper does not; halves the work on undirected weighted graphs.
        size: nodes that graphs are padded to; None takes the largest training graph. A larger graph than this
            cannot be predicted: the head has one input per window.
        hidden: widths of the head's hidden layers.
        epochs: passes over the training graphs.
        learning_rate: of Adam.
        batch_size: graphs per step; None takes all at once.
        patience: stop after this many epochs without a lower training loss; None runs all epochs.
        device: where torch computes.
        random_state: seed of all weights and shuffles; None draws one.
        threads: torch threads. One by default, so that the same seed gives the same bits in any number of jobs.
        verbose: 1 shows a progress bar.

    Example:
        >>> graphs = isonn.load("MUTAG")
        >>> clf = isonn.IsoNNClassifier(k=3, c=1, epochs=5, random_state=0).fit(graphs, graphs.y)
        >>> clf.predict(graphs[:3]).shape
        (3,)
    """

    model_: IsoNN

    _fixed_size = True

    def __init__(
        self,
        k: int = 4,
        c: int = 2,
        matching: str = "exact",
        layers: Sequence[tuple[int, int]] | None = None,
        normalize: str = "positions",
        size: int | None = None,
        hidden: Sequence[int] = (1024, 128),
        epochs: int = 100,
        learning_rate: float = 1e-3,
        batch_size: int | None = None,
        patience: int | None = None,
        device: str = "cpu",
        random_state: Any = None,
        threads: int = 1,
        verbose: int = 0,
        symmetric: bool = False,
    ) -> None:
        self.k = k
        self.c = c
        self.matching = matching
        self.layers = layers
        self.normalize = normalize
        self.size = size
        self.hidden = hidden
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.patience = patience
        self.device = device
        self.random_state = random_state
        self.threads = threads
        self.verbose = verbose
        self.symmetric = symmetric

    def check_settings(self) -> None:
        """Refuse constructor arguments that mean nothing, or that contradict each other."""
        super().check_settings()
        if self.layers is not None:
            _check_pairs(self.layers)
        contradicted = [name for name, default in (("k", 4), ("c", 2)) if getattr(self, name) != default]
        if self.layers is not None and contradicted and (self.c, self.k) != self._layers[0]:
            name = contradicted[0]
            raise InputError(
                f"{name}={getattr(self, name)} and layers={self.layers!r} contradict each other; "
                f"layers replaces k and c, so leave those out"
            )
        for c, k in self._layers:
            check_layer(k, c, self.matching, self.normalize)
        check_widths("hidden", self.hidden)
        if self.size is not None:
            check_count("size", self.size)
            map_shape(self.size, self._layers)

    @property
    def _layers(self) -> tuple[tuple[int, int], ...]:
        """(c, k) of each layer."""
        return ((self.c, self.k),) if self.layers is None else tuple((c, k) for c, k in self.layers)

    def _build(self, generator: torch.Generator | None) -> IsoNN:
        outputs = len(self.classes_)
        hidden, symmetric = self.hidden, self.symmetric
        return IsoNN(self.size_, outputs, self._layers, self.matching, self.normalize, hidden, generator, symmetric)

    def _prepare(self, graphs: GraphSet, targets: NDArray[Any]) -> Tensor | WindowBank | CertifiedWindows:
        map_shape(self.size_, self._layers)  # refuses graphs that are too small in the words of all layers
        inputs, k = self._inputs(graphs), self._layers[0][1]
        if not isinstance(inputs, Tensor) or inputs.device.type != "cpu":
            return inputs  # a bank is small, and other devices try all orderings fast
        if self.matching != "exact" or k < MIN_CERTIFIED_K:
            return inputs
        return CertifiedWindows(inputs, k, half=self.symmetric and is_symmetric(inputs))

    def _inputs(self, graphs: GraphSet) -> Tensor | WindowBank:
        adjacency = torch.from_numpy(graphs.dense(self.size_))
        k = self._layers[0][1]
        bank = bank_windows(adjacency, k, relabelled=self.matching != "fast")
        if self.matching == "fast":  # regions do not change while templates learn, nor do their eigenvectors
            bank = (all_windows(adjacency, k) if bank is None else bank).with_eigenvectors()
        return (adjacency if bank is None else bank).to(self.device)

    def _cells_per_graph(self) -> int:
        k = self._layers[0][1]
        return (self.size_ - k + 1) ** 2 * k * k

    def _features(self, inputs: Any) -> Tensor:
        features: Tensor = self.model_.features(inputs)
        return features.flatten(1)

    def _templates(self) -> list[Template]:
        first = self.model_.features[0]
        assert isinstance(first, IsoLayer)
        return [Template(matrix) for matrix in first.templates.detach().cpu().numpy()]

    def _matched(self, graphs: GraphSet) -> WindowMatches:
        return WindowMatches(self.model_, self._inputs(graphs), graphs[0])


def _check_pairs(layers: Any) -> None:
    """Refuse what are not (c, k) of at least one layer."""
    try:
        pairs = [(c, k) for c, k in layers]
    except (TypeError, ValueError) as error:
        raise InputError(f"layers={layers!r} are not pairs; give (c, k) of each layer, as ((2, 3), (3, 4))") from error
    if not pairs:
        raise InputError(f"layers={layers!r} holds no layer; give at least one (c, k), or None")
