"""Base of the baselines that are torch networks: seeds, threads, training, prediction."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from isonn.errors import InputError
from isonn.estimator import GraphClassifier
from isonn.graphs.graph import GraphSet
from isonn.seeding import resolve_seed, torch_stream, torch_threads
from isonn.torch_estimator import TorchEstimator
from isonn.training import History, Inputs


@dataclass(kw_only=True, eq=False, repr=False)
class NeuralClassifier(TorchEstimator, GraphClassifier):
    """Base of the baselines whose model is a torch network.

    Besides the hooks of `TorchEstimator`, subclasses implement these:

    - ``_prepare(graphs)``: learn anything needed before the network, such as a node order;
    - ``_build()``: the network, whose weights are drawn again afterwards by `draw_weights`.
    """

    _batch_cells: ClassVar[int] = 2**25

    def _prepare(self, graphs: GraphSet) -> None:
        """Learn anything needed before the network; nothing by default."""

    def _build(self) -> nn.Module:
        raise TypeError(f"{type(self).__name__} does not implement _build")

    def _loss(self) -> Callable[[Any, Tensor], Tensor]:
        return self.target_.loss()

    def _fit(self, graphs: GraphSet, targets: NDArray[Any]) -> None:
        self.seed_ = resolve_seed(self.random_state)
        with torch_threads(self.n_jobs):
            self._prepare(graphs)
            self.model_: nn.Module = self._learn(self._inputs(graphs), torch.from_numpy(targets))

    def _learn(self, inputs: Inputs, targets: Tensor) -> nn.Module:
        model = draw_weights(self._build, torch_stream(self.seed_, "weights"))
        self.history_ = self._train(model, inputs, targets, self._loss())
        return model

    def _train(self, model: nn.Module, *given: Any, **options: Any) -> History:
        set_dropout(model, torch_stream(self.seed_, "dropout", *given[3:]))
        history = super()._train(model, *given, **options)
        set_dropout(model, None)
        return history

    def _answers(self, graphs: GraphSet) -> NDArray[np.float64]:
        return self.target_.link(self._in_batches(graphs, self.model_).double().numpy())


class Dropout(nn.Module):
    """Dropout with its own generator, so that threads do not share a random state.

    Args:
        p: share of entries set to 0 in training; the others are divided by 1 - p.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p
        self.generator: torch.Generator | None = None

    def forward(self, x: Tensor) -> Tensor:
        """Return a tensor of the same shape."""
        if not self.training or self.p == 0:
            return x
        if self.generator is None:
            raise TypeError("dropout has no generator; call set_dropout before training")
        return x * torch.empty_like(x).bernoulli_(1 - self.p, generator=self.generator) / (1 - self.p)


def set_dropout(model: nn.Module, generator: torch.Generator | None) -> None:
    """Set the generator of every `Dropout` of the model, or remove it."""
    for module in model.modules():
        if isinstance(module, Dropout):
            module.generator = generator


def draw_weights(build: Callable[[], nn.Module], generator: torch.Generator) -> nn.Module:
    """Build the network and draw its weights from ``generator`` instead of the global random state.

    Weights and biases are uniform within plus and minus one over the root of the number of inputs, torch's rule for
    linear and convolution layers. The bias of a graph convolution is 0.
    """
    with torch.device("meta"):  # layers draw weights when created; on the meta device they have none
        model = build()
    model.to_empty(device="cpu")
    for module in model.modules():
        entries = dict(module.named_parameters(recurse=False)) | dict(module.named_buffers(recurse=False))
        if isinstance(module, nn.BatchNorm1d):
            module.reset_parameters()
        elif "weight" in entries:
            bound = 1 / math.sqrt(entries["weight"][0].numel())
            for entry in entries.values():
                nn.init.uniform_(entry, -bound, bound, generator=generator)
        elif entries.keys() <= {"bias", "eps"}:
            for entry in entries.values():
                nn.init.zeros_(entry)
        else:
            raise TypeError(f"there is no rule for the weights {sorted(entries)} of {type(module).__name__}")
    return model


def check_dropout(value: float) -> None:
    """Validate a dropout share."""
    if not 0 <= value < 1:
        raise InputError(f"dropout={value!r} must be at least 0 and below 1")
