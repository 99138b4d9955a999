"""What estimators with a torch model share: training with checkpoints, prediction in batches, explanations."""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from typing_extensions import Self

from isonn import progress
from isonn.errors import InputError, IsoNNWarning
from isonn.estimator import GraphEstimator
from isonn.explain import Explanation, MatchedGraph, explain_matched
from isonn.explain.explanation import Template
from isonn.graphs.convert import as_one_graph
from isonn.graphs.graph import GraphSet
from isonn.graphs.stream import GraphStream
from isonn.params import check_count, check_learning_rate, check_memory, check_plain
from isonn.seeding import resolve_seed, torch_stream, torch_threads
from isonn.training import Checkpoint, History, Inputs, train

#: Numbers a batch of graphs may be cut into when predicting: 256 MB of float32.
PREDICTION_CELLS = 2**26


class TorchEstimator(GraphEstimator):
    """Base of the estimators whose model is a torch module over graphs.

    A subclass has the constructor arguments used below and fills in these hooks:

    - ``_inputs(graphs)``: what its model is fed, as a tensor or anything ``[rows]`` selects from;
    - ``_build(generator)``: the model, once ``size_`` and ``classes_`` are known;
    - ``_cells_per_graph()``: how many numbers one graph is cut into;
    - ``_features(inputs)`` and ``_templates()``: what the head sees, and what was learned;
    - ``_matched(graphs)``: one graph with its matches, for `explain`.

    Attributes set by ``fit``:
        history_: loss and seconds of each epoch.
        seed_: the integer behind ``random_state``.
    """

    epochs: int
    learning_rate: float
    batch_size: int | None
    patience: int | None
    device: str
    random_state: Any
    n_jobs: int
    verbose: int

    history_: History
    seed_: int
    model_: nn.Module

    def fit(self, X: Any, y: Any = None, *, checkpoint: str | Path | None = None, resume: bool = False) -> Self:
        """Learn templates and head from graphs ``X`` and classes ``y``.

        Args:
            X: a `GraphSet`, or anything `isonn.as_graphset` takes.
            y: classes of any type, shape (g,), or an indicator matrix of shape (g, labels).
            checkpoint: a file to save the run to as it goes; Ctrl-C then finishes the epoch and saves.
            resume: go on from ``checkpoint`` if it exists. The result is the same, to the bit, as without a stop.
        """
        self._check_params()
        if not _usable(self.device):
            raise InputError(f"device={self.device!r} cannot be used here; use 'cpu'")
        graphs, targets = self._start(X, y)
        self.seed_ = resolve_seed(self.random_state)
        saved = None if checkpoint is None else Checkpoint(Path(checkpoint), self._identity(graphs.digest, targets))
        self._train(lambda: self._prepare(graphs, targets), targets, saved, resume)
        self._fitted = True
        return self

    def _check_params(self) -> None:
        """Validate parameters."""
        check_plain(self.get_params(deep=False))
        for name in ("epochs", "n_jobs"):
            check_count(name, getattr(self, name))
        for name in ("batch_size", "patience"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name))
        check_learning_rate(self.learning_rate)

    def transform(self, X: Any) -> NDArray[np.float32]:
        """The features the head sees, one row per graph."""
        if isinstance(X, GraphStream):
            return np.concatenate([self.transform(chunk) for chunk in X])
        return self._in_batches(self._checked(X), self._features)

    def explain(self, X: Any, label: Any = None, top: int | None = 100) -> Explanation:
        """Why one graph gets its class: matches by what they contribute, importances, and the model without them.

        Args:
            X: one graph: a `Graph`, a NetworkX graph, a matrix, or a set of one.
            label: the class to explain; None takes the predicted one (of several labels the most likely).
            top: matches to list; None lists all. The importances count all matches either way.

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> clf = isonn.IsoNNClassifier(k=3, c=1, epochs=5, random_state=0).fit(graphs, graphs.y)
            >>> len(clf.explain(graphs[0]).matches[0].nodes)
            3
        """
        self._require_fit()
        with torch_threads(self.n_jobs):
            return explain_matched(
                self._matched_graph(X), self.target_, label, top, self.label_names_["node"], self.label_names_["edge"]
            )

    def _matched_graph(self, X: Any) -> MatchedGraph:
        """One graph with all its matches: what explanations and template cards are made of."""
        self._require_fit()
        return self._matched(self._checked(as_one_graph(X)))

    @property
    def templates_(self) -> list[Template]:
        """The learned templates of the first layer."""
        self._require_fit()
        return self._templates()

    def _description(self) -> dict[str, Any]:
        return {"history": {"loss": self.history_.loss, "seconds": self.history_.seconds}}

    def _tensors(self) -> dict[str, NDArray[Any]]:
        return {name: tensor.detach().cpu().numpy() for name, tensor in self.model_.state_dict().items()}

    def _restore(self, details: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> None:
        if not _usable(self.device):
            warnings.warn(
                f"the model was made on device {self.device!r}, which this machine lacks; it computes on the CPU",
                IsoNNWarning,
                stacklevel=3,
            )
            self.device = "cpu"
        self.history_ = History(**details["history"])
        with torch.device("meta"), warnings.catch_warnings():  # shapes first: a false size must not allocate anything
            warnings.filterwarnings("ignore", message="Initializing zero-element tensors")
            self.model_ = self._build(None)
        self.model_.load_state_dict({name: torch.from_numpy(t.copy()) for name, t in tensors.items()}, assign=True)
        self.model_.to(self.device).eval()

    def _prepare(self, graphs: GraphSet, targets: NDArray[Any]) -> Inputs:
        """What the model is trained on; may set whatever `_build` needs."""
        return self._inputs(graphs)

    def _epochs(self) -> int:
        return self.epochs

    def _graphs_per_step(self, graphs: int) -> int | None:
        return self.batch_size

    def _loss(self, model: nn.Module, targets: NDArray[Any]) -> Callable[[Tensor, Tensor], Tensor]:
        """Mean loss of outputs and targets."""
        return self.target_.loss()

    def _finish(self, inputs: Any, targets: NDArray[Any]) -> None:
        """Anything to do after training."""

    def _inputs(self, graphs: GraphSet) -> Inputs:
        raise TypeError(f"{type(self).__name__} does not say what its model is fed")

    def _look_over(self, graphs: GraphSet) -> None:
        """Warn once of unusual graphs, before they are predicted in batches."""

    def _build(self, generator: torch.Generator | None) -> nn.Module:
        raise TypeError(f"{type(self).__name__} does not say what its model is")

    def _cells_per_graph(self) -> int:
        raise TypeError(f"{type(self).__name__} does not say how large its inputs are")

    def _features(self, inputs: Any) -> Tensor:
        raise TypeError(f"{type(self).__name__} does not say what its features are")

    def _templates(self) -> list[Template]:
        raise TypeError(f"{type(self).__name__} does not say what its templates are")

    def _matched(self, graphs: GraphSet) -> MatchedGraph:
        raise TypeError(f"{type(self).__name__} does not say what its matches are")

    def _train(
        self, prepare: Callable[[], Inputs], targets: NDArray[Any], checkpoint: Checkpoint | None, resume: bool
    ) -> None:
        with torch_threads(self.n_jobs):
            inputs = prepare()
            # The weights have a stream of their own, so that they do not depend on how batches are shuffled.
            model = self._build(torch_stream(self.seed_, "weights")).to(self.device)
            with progress.bar("training", self._epochs(), show=self.verbose > 0) as report:
                self.history_ = train(
                    model,
                    inputs,
                    torch.from_numpy(targets).to(self.device),
                    self._loss(model, targets),
                    epochs=self._epochs(),
                    learning_rate=self.learning_rate,
                    batch_size=self._graphs_per_step(len(targets)),
                    patience=self.patience,
                    generator=torch_stream(self.seed_, "batches"),
                    checkpoint=checkpoint,
                    resume=resume,
                    report=report,
                )
            self.model_ = model
            self._finish(inputs, targets)

    def _identity(self, digest: str, targets: NDArray[Any]) -> str:
        """Which run a checkpoint belongs to, as a hash; ``digest`` is that of the graphs."""
        # A longer run may continue a shorter one; display and device do not change what is computed.
        free = ("epochs", "verbose", "device", "random_state")
        settings = {name: value for name, value in self.get_params(deep=False).items() if name not in free}
        identity = [type(self).__name__, settings, self.seed_, digest, targets.tolist()]
        return hashlib.sha256(json.dumps(identity, default=str).encode()).hexdigest()

    def _answers(self, graphs: GraphSet) -> NDArray[np.float64]:
        return self.target_.link(self._in_batches(graphs, self.model_).astype(np.float64))

    def _in_batches(self, graphs: GraphSet, compute: Callable[[Any], Tensor]) -> NDArray[np.float32]:
        self._look_over(graphs)
        parts = []
        with torch_threads(self.n_jobs), torch.inference_mode():
            batch = max(1, PREDICTION_CELLS // self._cells_per_graph())
            for start in range(0, len(graphs), batch):
                parts.append(compute(self._inputs(graphs[start : start + batch])).cpu().numpy())
        return np.concatenate(parts)


class MLP(nn.Sequential):
    """The paper's classification component: linear layers with ReLU between them; the last one gives logits.

    The paper's equation puts a ReLU on the output, too, which would feed log(0); its code does not.

    Args:
        inputs: features per example.
        hidden: widths of the hidden layers; the paper's are (1024, 128).
        outputs: classes.
        generator: draws the weights as torch does by default, from a stream of its own.

    Example:
        >>> MLP(8, (4,), 2)(torch.zeros(5, 8)).shape
        torch.Size([5, 2])
    """

    def __init__(
        self, inputs: int, hidden: Sequence[int], outputs: int, generator: torch.Generator | None = None
    ) -> None:
        widths = [inputs, *hidden, outputs]
        layers: list[nn.Module] = []
        for before, after in pairwise(widths):
            check_memory("weights of the head", (before, after), "use fewer templates, or narrower hidden layers")
            # weights are drawn below; skip_init would ignore a `with torch.device("meta")` of the caller
            linear = nn.utils.skip_init(nn.Linear, before, after, device=torch.get_default_device())
            layers += [linear, nn.ReLU()]
        super().__init__(*layers[:-1])
        for layer in self:
            if isinstance(layer, nn.Linear):
                bound = 1 / math.sqrt(layer.in_features)
                nn.init.uniform_(layer.weight, -bound, bound, generator=generator)
                nn.init.uniform_(layer.bias, -bound, bound, generator=generator)


def _usable(device: Any) -> bool:
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, TypeError, ValueError):
        return False
    return True
