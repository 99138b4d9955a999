"""`IsoNNClassifier` and `IsoNNRegressor`: the paper's model as scikit-learn estimators."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from torch import Tensor, nn

from isonn.errors import InputError, IsoNNWarning
from isonn.estimator import GraphClassifier, GraphRegressor
from isonn.explain import Explanation
from isonn.explain.template import Template
from isonn.graphs.convert import as_one_graph
from isonn.graphs.graph import GraphSet
from isonn.graphs.stream import GraphStream
from isonn.matching import matcher_named
from isonn.params import check_class_weight, check_count, check_memory, check_plain, check_widths
from isonn.seeding import resolve_seed, torch_stream, torch_threads
from isonn.targets import Classes
from isonn.torch_estimator import TorchEstimator
from isonn.training import History
from isonn.windows.bank import WindowBank, all_windows, bank_windows
from isonn.windows.cut import is_symmetric
from isonn.windows.explain import WindowMatches
from isonn.windows.incremental import CertifiedWindows
from isonn.windows.layer import IsoLayer, LayerInputs, check_layer, check_sizes
from isonn.windows.match import worth_compiling
from isonn.windows.network import IsoNN, map_shape

#: From this k on, certificates cost less than trying the k! permutations at every step.
MIN_CERTIFIED_K = 5


@dataclass(eq=False, repr=False)
class _IsoNN(TransformerMixin, TorchEstimator):
    """The common base of the classifier and the regressor."""

    k: int = 4
    c: int = 2
    _: KW_ONLY
    matching: str = "exact"
    layers: Sequence[tuple[int, int]] | None = None
    normalize: str = "positions"
    symmetric: bool = False
    hidden: Sequence[int] = (1024, 128)
    device: str = "cpu"

    _fixed_size = True
    model_: IsoNN = field(init=False)

    def _fit(self, graphs: GraphSet, targets: NDArray[Any]) -> None:
        if not _usable(self.device):
            raise InputError(f"device={self.device!r} cannot be used here; use 'cpu'")
        self.seed_ = resolve_seed(self.random_state)
        with torch_threads(self.n_jobs):
            maps, side = map_shape(self.size_, self._layers)  # names the layer if graphs are too small
            at_once = min(len(graphs), self.batch_size or len(graphs))
            check_memory("maps", (at_once, maps, side, side), "use fewer templates, a smaller size or batches")
            inputs = self._certified(self._inputs(graphs))
            # The weights have their own random stream, so that they do not depend on the shuffling of batches.
            model = self._build(torch_stream(self.seed_, "weights")).to(self.device)
            wanted = torch.from_numpy(targets).to(self.device)
            self.history_ = self._train(model, inputs, wanted, self._loss(targets))
        self.model_ = model

    def _loss(self, targets: NDArray[Any]) -> Callable[[Tensor, Tensor], Tensor]:
        """Return the mean loss of outputs and targets."""
        return self.target_.loss()

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the maps of the last layer, one row per graph, with one feature per map and window.

        Args:
            X: graphs, as in ``fit``.

        Returns:
            ndarray of shape (g, features), columns as in `get_feature_names_out`.

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> clf = isonn.IsoNNClassifier(k=2, c=2, epochs=1, random_state=0).fit(graphs)
            >>> clf.transform(graphs).shape  # 2 templates, 27 x 27 windows
            (188, 1458)
        """
        if isinstance(X, GraphStream):
            return np.concatenate([self.transform(chunk) for chunk in X])
        features = self._in_batches(self._checked(X), lambda inputs: self.model_.features(inputs).flatten(1))
        return np.asarray(features.numpy())

    def explain(self, X: Any, label: Any = None, top: int | None = 100) -> Explanation:
        """Explain the prediction for one graph: matches with their contributions, and importances.

        Args:
            X: one graph: a `Graph`, a NetworkX graph, a matrix, or a set of one.
            label: the class to explain; None means the predicted one (the most likely of several labels).
            top: number of matches to list; None lists all. Importances always include all matches.

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> clf = isonn.IsoNNClassifier(k=3, c=1, epochs=5, random_state=0).fit(graphs, graphs.y)
            >>> len(clf.explain(graphs[0]).matches[0].nodes)
            3
        """
        self._require_fit()
        with torch_threads(self.n_jobs):
            return Explanation(self._matched_graph(X), label, top, self.label_names_)

    def _matched_graph(self, X: Any) -> WindowMatches:
        """Return one graph with all its matches, for explanations."""
        self._require_fit()
        graphs = self._checked(as_one_graph(X))
        return WindowMatches(self.model_, self._inputs(graphs), graphs[0], self.target_)

    @property
    def templates_(self) -> list[Template]:
        """The learned templates of the first layer."""
        self._require_fit()
        first = self.model_.features[0]
        assert isinstance(first, IsoLayer)
        return [Template(matrix) for matrix in first.templates.detach().cpu().numpy()]

    def _description(self) -> dict[str, Any]:
        return {"history": {"loss": self.history_.loss, "seconds": self.history_.seconds}}

    def _tensors(self) -> dict[str, NDArray[Any]]:
        return {name: tensor.detach().cpu().numpy() for name, tensor in self.model_.state_dict().items()}

    def _restore(self, details: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> None:
        if not _usable(self.device):
            warnings.warn(
                f"the model was fitted on device {self.device!r}, which this machine lacks; it now uses the CPU",
                IsoNNWarning,
                stacklevel=3,
            )
            self.device = "cpu"
        self.history_ = History(**details["history"])
        with torch.device("meta"), warnings.catch_warnings():  # shapes first, so that a wrong size allocates nothing
            warnings.filterwarnings("ignore", message="Initializing zero-element tensors")
            self.model_ = self._build(None)
        self.model_.load_state_dict({name: torch.from_numpy(t.copy()) for name, t in tensors.items()}, assign=True)
        self.model_.to(self.device).eval()

    def _answers(self, graphs: GraphSet) -> NDArray[np.float64]:
        return self.target_.link(self._in_batches(graphs, self.model_).numpy().astype(np.float64))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the map and the window start of each feature of `transform`.

        Args:
            input_features: ignored; scikit-learn passes it.

        Returns:
            ndarray of strings.

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> clf = isonn.IsoNNClassifier(k=2, c=2, epochs=1, random_state=0).fit(graphs)
            >>> clf.get_feature_names_out()[-1]
            'template1_row26_column26'
        """
        self._require_fit()
        maps, side = map_shape(self.size_, self._layers)
        kind = "template" if len(self._layers) == 1 else "map"
        names = [f"{kind}{i}_row{s}_column{t}" for i in range(maps) for s in range(side) for t in range(side)]
        return np.array(names, dtype=object)

    def _check_params(self) -> None:
        check_plain(self.get_params(deep=False))
        super()._check_params()
        if self.layers is not None:
            _check_pairs(self.layers)
        check_sizes(self.k, self.c)
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
        """The (c, k) of each layer."""
        given = ((self.c, self.k),) if self.layers is None else self.layers
        # NumPy's small integers would overflow
        return tuple(tuple(int(n) if isinstance(n, np.integer) else n for n in pair) for pair in given)  # type: ignore[misc]

    def _build(self, generator: torch.Generator | None) -> IsoNN:
        hidden, symmetric = self.hidden, self.symmetric
        outputs = self.target_.outputs
        return IsoNN(self.size_, outputs, self._layers, self.matching, self.normalize, hidden, generator, symmetric)

    def _inputs(self, graphs: GraphSet) -> Tensor | WindowBank:
        """Return the bank of distinct windows if the matcher gains by it, else the matrices ``(graphs, n, n)``."""
        adjacency, k = torch.from_numpy(graphs.dense(self.size_)), self._layers[0][1]
        matcher = matcher_named(self.matching)
        bank = bank_windows(adjacency, k, relabelled=not matcher.depends_on_order) if matcher.merges else None
        if matcher.prepares:
            bank = (all_windows(adjacency, k) if bank is None else bank).prepared_for(matcher)
        return (adjacency if bank is None else bank).to(self.device)

    def _certified(self, inputs: Tensor | WindowBank) -> LayerInputs:
        """Return the inputs with certificates, if these save time in training."""
        c, k = self._layers[0]
        if not matcher_named(self.matching).exact or k < MIN_CERTIFIED_K:
            return inputs
        if not isinstance(inputs, Tensor) or not worth_compiling(inputs, k, c):
            return inputs  # a bank is small, and other devices try all permutations fast
        return CertifiedWindows(inputs, k, half=self.symmetric and is_symmetric(inputs))

    def _cells_per_graph(self) -> int:
        k = self._layers[0][1]
        return (self.size_ - k + 1) ** 2 * k * k


@dataclass(eq=False, repr=False)
class IsoNNClassifier(_IsoNN, GraphClassifier):
    """Classify graphs with templates matched against windows of the adjacency matrix (the paper's IsoNN).

    Windows are blocks of consecutive node numbers, so use this model for graphs whose node order has a meaning, such as
    brain atlases. Graphs are padded with zeros at the end to one size. For other graphs, use `SubgraphClassifier`.

    Args:
        k: nodes per template. Cost grows as k!.
        c: number of templates.
        matching: name of the matcher, one of `isonn.matching.MATCHERS`.
        layers: (c, k) of each layer of a deep IsoNN, such as ((2, 3), (3, 4)). Replaces k and c.
        normalize: axis of the softmax, "positions" or "templates"; or "relative", which deep models need to learn from
            graphs with 90 or more nodes. See `isonn.nn.IsoLayer`.
        symmetric: keep the templates symmetric; halves the work on undirected weighted graphs. The paper does not.
        size: number of nodes that graphs are padded to; None uses the largest training graph. Larger graphs cannot be
            predicted, because the head has one input per window.
        hidden: widths of the head's hidden layers.
        class_weight: weights of classes in the loss: None, "balanced", or a dict from class to weight.
        epochs: number of passes over the training graphs.
        learning_rate: learning rate of Adam.
        batch_size: graphs per step; None uses all at once.
        patience: stop after this many epochs without a lower training loss, or "settled": stop once the loss has fallen
            and no longer falls (`isonn.training.Settled`); None runs all epochs.
        device: torch device.
        n_jobs: number of torch threads. With the default of 1, a seed gives the same bits on any machine.
        random_state: seed of all weights and shuffles; None draws one.
        verbose: 1 shows a progress bar.

    Example:
        >>> graphs = isonn.load("MUTAG")
        >>> clf = isonn.IsoNNClassifier(k=3, c=1, epochs=5, random_state=0).fit(graphs)
        >>> clf.predict(graphs[:3]).shape
        (3,)
    """

    _: KW_ONLY
    class_weight: str | Mapping[Any, float] | None = None

    _supports_gaps = True

    def _check_params(self) -> None:
        super()._check_params()
        check_class_weight(self.class_weight)

    def _loss(self, targets: NDArray[Any]) -> Callable[[Tensor, Tensor], Tensor]:
        if self.class_weight is None:
            return super()._loss(targets)
        if not isinstance(self.target_, Classes):
            raise InputError("class_weight is for one class per graph; leave it out for an indicator matrix")
        weights = self.target_.class_weights(self.class_weight, targets)
        return nn.CrossEntropyLoss(weight=torch.from_numpy(weights.astype(np.float32)).to(self.device))


class IsoNNRegressor(_IsoNN, GraphRegressor):
    """Predict numbers with templates matched against windows of the adjacency matrix.

    This is the paper's IsoNN with the squared error as its loss. ``y`` is one number per graph or one column per
    measurement, with NaN for missing values. For graphs whose node order has no meaning, use `SubgraphRegressor`.

    Args:
        k: nodes per template. Cost grows as k!.
        c: number of templates.
        matching, layers, normalize, symmetric, size, hidden: as in `IsoNNClassifier`.
        epochs, learning_rate, batch_size, patience, device, n_jobs, random_state, verbose: as in `IsoNNClassifier`.

    Example:
        >>> graphs = isonn.load("MUTAG")
        >>> nodes = graphs.sizes.astype(float)
        >>> isonn.IsoNNRegressor(k=3, c=1, epochs=5, random_state=0).fit(graphs, nodes).predict(graphs[:3]).shape
        (3,)
    """


def _check_pairs(layers: Any) -> None:
    """Raise `InputError` unless ``layers`` is (c, k) of at least one layer."""
    try:
        pairs = [(c, k) for c, k in layers]
    except (TypeError, ValueError) as error:
        raise InputError(f"layers={layers!r} are not pairs; give (c, k) of each layer, as ((2, 3), (3, 4))") from error
    if not pairs:
        raise InputError(f"layers={layers!r} is empty; give at least one (c, k), or None")


def _usable(device: Any) -> bool:
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, TypeError, ValueError):
        return False
    return True
