"""The training loop for any torch module, on any inputs that support ``[rows]``."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from isonn.errors import TrainingError
from isonn.progress import Report, silent
from isonn.training.history import History
from isonn.training.stopping import stopping_rule


class Inputs(Protocol):
    """Inputs of a model: a tensor, or anything indexed by examples like a tensor.

    Example:
        >>> inputs: Inputs = torch.zeros(5, 3)
        >>> inputs[torch.tensor([0, 2])].shape
        torch.Size([2, 3])
    """

    def __len__(self) -> int: ...
    def __getitem__(self, rows: Tensor, /) -> Any: ...


@dataclass(frozen=True)
class Schedule:
    """How long and in which steps to train.

    Attributes:
        epochs: largest number of passes over the examples.
        learning_rate: learning rate of Adam.
        batch_size: examples per step; None means all.
        patience: stop after this many epochs without a lower loss, or "settled" (see `Settled`); None: all epochs.

    Example:
        >>> Schedule(epochs=100, learning_rate=1e-3, patience="settled").batch_size is None
        True
    """

    epochs: int
    learning_rate: float
    batch_size: int | None = None
    patience: int | str | None = None


def train(
    model: torch.nn.Module,
    inputs: Inputs,
    targets: Tensor,
    loss: Callable[[Tensor, Tensor], Tensor],
    schedule: Schedule,
    generator: torch.Generator,
    report: Report = silent,
) -> History:
    """Train ``model`` in place with Adam.

    Args:
        model: maps ``inputs[rows]`` to outputs.
        inputs: the examples.
        targets: one target per example.
        loss: mean loss of outputs and targets.
        schedule: epochs, learning rate, batches and when to stop.
        generator: random generator for shuffling the batches.
        report: called after each epoch.

    Returns:
        `History`: loss and seconds of each epoch.

    Example:
        >>> model, x = torch.nn.Linear(1, 1), torch.linspace(-1, 1, 20)[:, None]
        >>> schedule = Schedule(epochs=50, learning_rate=0.1)
        >>> history = train(model, x, 3 * x, torch.nn.functional.mse_loss, schedule, torch.Generator())
        >>> history.loss[-1] < history.loss[0] / 10
        True
    """
    # fused: one pass over the weights instead of a dozen; a head on 90-node graphs has 24 million weights
    optimizer = torch.optim.Adam(model.parameters(), lr=schedule.learning_rate, fused=True)
    stopping = stopping_rule(schedule.patience)
    history = History()
    stopped = False
    model.train()
    while len(history) < schedule.epochs and not stopped:
        start, total = time.perf_counter(), 0.0
        for batch, target in _batches(inputs, targets, schedule.batch_size, generator):
            optimizer.zero_grad()
            step = loss(model(batch), target)
            step.backward()
            optimizer.step()
            total += step.item() * len(target)
        mean = total / len(targets)  # of the losses before each step
        if not math.isfinite(mean):
            raise _diverged(f"the loss became {mean}", len(history) + 1, schedule)
        history.add(mean, time.perf_counter() - start)
        report(len(history), f"loss {mean:.4f}")
        stopped = stopping.update(mean)
    # also check the last step; a sum is finite only if every weight is, and takes one pass instead of six
    if not all(bool(parameter.detach().sum().isfinite()) for parameter in model.parameters()):
        raise _diverged("the weights are not finite", len(history), schedule)
    model.eval()
    return history


def _diverged(what: str, epoch: int, schedule: Schedule) -> TrainingError:
    rate = schedule.learning_rate
    return TrainingError(
        f"{what} in epoch {epoch}; use a learning_rate below {rate}, or scale the weights of the graphs"
    )


def _batches(
    inputs: Inputs, targets: Tensor, batch_size: int | None, generator: torch.Generator
) -> Iterator[tuple[Any, Tensor]]:
    if batch_size is None or batch_size >= len(targets):
        yield inputs, targets  # one batch, so no shuffling and no copying
        return
    order = torch.randperm(len(targets), generator=generator).to(targets.device)
    for rows in order.split(int(batch_size)):
        yield inputs[rows], targets[rows]
