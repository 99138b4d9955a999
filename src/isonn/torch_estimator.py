"""What estimators with a torch model share: training, prediction in batches, and the multilayer perceptron."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from isonn import progress
from isonn.estimator import GraphEstimator
from isonn.graphs.graph import GraphSet
from isonn.params import check_count, check_learning_rate, check_memory
from isonn.seeding import torch_stream, torch_threads
from isonn.training import History, Inputs, Schedule, train
from isonn.training.stopping import stopping_rule


@dataclass(kw_only=True, eq=False, repr=False)
class TorchEstimator(GraphEstimator):
    """Base of estimators whose model is a torch module over graphs.

    Subclasses are dataclasses: their fields are the constructor arguments. They implement these hooks:

    - ``_inputs(graphs)``: the inputs of the model, a tensor or anything that supports ``[rows]``;
    - ``_cells_per_graph()``: the size of the largest layer per graph.

    Attributes set by ``fit``:
        history_: loss and seconds of each epoch.
        seed_: the integer seed from ``random_state``.
    """

    size: int | None = None
    epochs: int = 100
    learning_rate: float = 1e-3
    batch_size: int | None = None
    patience: int | str | None = None
    n_jobs: int = 1
    random_state: Any = None
    verbose: int = 0

    history_: History = field(init=False)
    seed_: int = field(init=False)
    #: Largest prediction batch, in numbers: 256 MB of float32.
    _batch_cells: ClassVar[int] = 2**26

    def _check_params(self) -> None:
        """Validate parameters."""
        for name in ("epochs", "n_jobs"):
            check_count(name, getattr(self, name))
        if self.batch_size is not None:
            check_count("batch_size", self.batch_size)
        stopping_rule(self.patience)
        check_learning_rate(self.learning_rate)

    def _inputs(self, graphs: GraphSet) -> Inputs:
        raise TypeError(f"{type(self).__name__} does not implement _inputs")

    def _cells_per_graph(self) -> int:
        return self.size_**2

    def _train(
        self,
        model: nn.Module,
        inputs: Inputs,
        targets: Tensor,
        loss: Callable[[Any, Tensor], Tensor],
        *part: str,
    ) -> History:
        """Train in place.

        Args:
            part: names the random streams of a method that trains more than once.
        """
        schedule = Schedule(self.epochs, self.learning_rate, self.batch_size, self.patience)
        generator = torch_stream(self.seed_, "batches", *part)
        with progress.bar(" ".join(("training", *part)), self.epochs, show=self.verbose > 0) as report:
            return train(model, inputs, targets, loss, schedule, generator, report)

    def _in_batches(self, graphs: GraphSet, compute: Callable[[Any], Tensor]) -> Tensor:
        """Return what a module computes from the inputs of all graphs."""
        batch = max(1, self._batch_cells // self._cells_per_graph())
        with torch_threads(self.n_jobs), torch.inference_mode():
            starts = range(0, len(graphs), batch)
            return torch.cat([compute(self._inputs(graphs[start : start + batch])).cpu() for start in starts])


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
