"""The base class of estimators with a torch model: training, checkpoints, batched prediction, explanations."""

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
from isonn.explain.template import Template
from isonn.graphs.convert import as_one_graph
from isonn.graphs.graph import GraphSet
from isonn.graphs.stream import GraphStream
from isonn.params import check_count, check_learning_rate, check_memory, check_plain
from isonn.seeding import resolve_seed, torch_stream, torch_threads
from isonn.training import Checkpoint, History, Inputs, check_patience, train

#: Largest size of a prediction batch, in numbers: 256 MB of float32.
PREDICTION_CELLS = 2**26


class TorchEstimator(GraphEstimator):
    """Base of estimators whose model is a torch module over graphs.

    A subclass has the constructor arguments used below and implements these hooks:

    - ``_inputs(graphs)``: the inputs of the model, a tensor or anything that supports ``[rows]``;
    - ``_build(generator)``: the model, after ``size_`` and ``classes_`` are set;
    - ``_cells_per_graph()``: the number of input values per graph;
    - ``_features(inputs)`` and ``_templates()``: the features of the head, and the learned templates;
    - ``_matched(graphs)``: one graph with its matches, for `explain`.

    Attributes set by ``fit``:
        history_: loss and seconds of each epoch.
        seed_: the integer seed from ``random_state``.
    """

    epochs: int
    learning_rate: float
    batch_size: int | None
    patience: int | str | None
    device: str
    random_state: Any
    n_jobs: int
    verbose: int

    history_: History
    seed_: int
    model_: nn.Module

    def fit(self, X: Any, y: Any = None, *, checkpoint: str | Path | None = None, resume: bool = False) -> Self:
        """Fit templates and head to graphs ``X`` and classes ``y``.

        Args:
            X: a `GraphSet`, or anything `isonn.as_graphset` accepts.
            y: classes of any type, shape (g,), or an indicator matrix of shape (g, labels).
            checkpoint: a file to save the run to; Ctrl-C then finishes the epoch and saves.
            resume: continue from ``checkpoint`` if it exists. The result is bit-identical to a run without a stop.
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
        if self.batch_size is not None:
            check_count("batch_size", self.batch_size)
        check_patience(self.patience)
        check_learning_rate(self.learning_rate)

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the features of the head, one row per graph."""
        if isinstance(X, GraphStream):
            return np.concatenate([self.transform(chunk) for chunk in X])
        return self._in_batches(self._checked(X), self._features)

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
            return explain_matched(self._matched_graph(X), self.target_, label, top, self.label_names_)

    def _matched_graph(self, X: Any) -> MatchedGraph:
        """Return one graph with all its matches, for explanations and template cards."""
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

    def _prepare(self, graphs: GraphSet, targets: NDArray[Any]) -> Inputs:
        """Return the training inputs; may set attributes that `_build` needs."""
        return self._inputs(graphs)

    def _epochs(self) -> int:
        return self.epochs

    def _graphs_per_step(self, graphs: int) -> int | None:
        return self.batch_size

    def _loss(self, model: nn.Module, targets: NDArray[Any]) -> Callable[[Tensor, Tensor], Tensor]:
        """Return the mean loss of outputs and targets."""
        return self.target_.loss()

    def _loss_targets(self, targets: NDArray[Any]) -> NDArray[Any]:
        """Return the targets in the form that the loss takes, one row per graph."""
        return targets

    def _finish(self, inputs: Any, targets: NDArray[Any]) -> None:
        """Hook called after training."""

    def _inputs(self, graphs: GraphSet) -> Inputs:
        raise TypeError(f"{type(self).__name__} does not implement _inputs")

    def _warn_of_unusual(self, graphs: GraphSet) -> None:
        """Warn once about unusual graphs, before they are predicted in batches."""

    def _build(self, generator: torch.Generator | None) -> nn.Module:
        raise TypeError(f"{type(self).__name__} does not implement _build")

    def _cells_per_graph(self) -> int:
        raise TypeError(f"{type(self).__name__} does not implement _cells_per_graph")

    def _features(self, inputs: Any) -> Tensor:
        raise TypeError(f"{type(self).__name__} does not implement _features")

    def _templates(self) -> list[Template]:
        raise TypeError(f"{type(self).__name__} does not implement _templates")

    def _matched(self, graphs: GraphSet) -> MatchedGraph:
        raise TypeError(f"{type(self).__name__} does not implement _matched")

    def _train(
        self, prepare: Callable[[], Inputs], targets: NDArray[Any], checkpoint: Checkpoint | None, resume: bool
    ) -> None:
        with torch_threads(self.n_jobs):
            inputs = prepare()
            # The weights have their own random stream, so that they do not depend on the shuffling of batches.
            model = self._build(torch_stream(self.seed_, "weights")).to(self.device)
            with progress.bar("training", self._epochs(), show=self.verbose > 0) as report:
                self.history_ = train(
                    model,
                    inputs,
                    torch.from_numpy(self._loss_targets(targets)).to(self.device),
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
        """Return a hash that identifies the run of a checkpoint; ``digest`` is that of the graphs."""
        # A longer run may continue a shorter one; display and device do not affect the result.
        free = ("epochs", "verbose", "device", "random_state")
        settings = {name: value for name, value in self.get_params(deep=False).items() if name not in free}
        identity = [type(self).__name__, settings, self.seed_, digest, targets.tolist()]
        return hashlib.sha256(json.dumps(identity, default=str).encode()).hexdigest()

    def _answers(self, graphs: GraphSet) -> NDArray[np.float64]:
        return self.target_.link(self._in_batches(graphs, self.model_).astype(np.float64))

    def _in_batches(self, graphs: GraphSet, compute: Callable[[Any], Tensor]) -> NDArray[np.float32]:
        self._warn_of_unusual(graphs)
        parts = []
        with torch_threads(self.n_jobs), torch.inference_mode():
            batch = max(1, PREDICTION_CELLS // self._cells_per_graph())
            for start in range(0, len(graphs), batch):
                parts.append(compute(self._inputs(graphs[start : start + batch])).cpu().numpy())
        return np.concatenate(parts)


class MLP(nn.Sequential):
    """The paper's classification component: linear layers with ReLU between them; the last returns logits.

    The paper's equation also has a ReLU on the output, which could lead to log(0); its code does not.

    Args:
        inputs: number of features per example.
        hidden: widths of the hidden layers; the paper's are (1024, 128).
        outputs: number of classes.
        generator: random generator for the weights, which follow torch's default distribution.

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
            # weights are drawn below; skip_init would ignore the caller's `with torch.device("meta")`
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
