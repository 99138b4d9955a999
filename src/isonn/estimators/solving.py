"""What is solved for once templates are learned, with the features of a few thousand graphs in memory at a time.

Everything here gives the same for graphs that were in memory and for those that came from a folder of banks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from isonn.data.graphs import IntArray
from isonn.nn.subgraph_model import SMALLEST_VARIANCE, SubgraphInputs, SubgraphModel, raw_features
from isonn.seeding import numpy_stream

#: Graphs whose features are computed together.
GRAPHS_AT_ONCE = 2**14
#: Numbers that a linear head is solved for from (512 MB), and that a forest is grown on, which copies them. A larger
#: set is sampled: hundreds of thousands of graphs determine some hundred weights.
LINEAR_NUMBERS, FOREST_NUMBERS = 2**27, 2**25


def settle(model: SubgraphModel, inputs: SubgraphInputs) -> None:
    """Standardise features by their mean and deviation over all these graphs from now on."""
    if len(inputs) <= GRAPHS_AT_ONCE:
        model.standardize.settle(next(_raw_parts(model, inputs))[1])
        return
    count, mean, squares = 0, torch.zeros(()), torch.zeros(())
    for _, raw in _raw_parts(model, inputs):  # Chan, Golub, LeVeque: means and squares of parts, joined
        part = raw.double()
        apart = part.mean(0) - mean
        total = count + len(part)
        squares = squares + (part - part.mean(0)).square().sum(0) + apart.square() * (count * len(part) / total)
        mean = mean + apart * (len(part) / total)
        count = total
    model.standardize.mean.copy_(mean)
    model.standardize.deviation.copy_((squares / count + SMALLEST_VARIANCE).sqrt())


def head_features(model: SubgraphModel, inputs: SubgraphInputs, rows: IntArray | None = None) -> NDArray[np.float32]:
    """What the head sees of the given graphs, or of all; ``rows`` are sorted."""
    if rows is None:
        rows = np.arange(len(inputs))
    features = np.empty((len(rows), len(model.standardize.mean)), dtype=np.float32)
    for first, raw in _raw_parts(model, inputs):
        start, stop = np.searchsorted(rows, [first, first + len(raw)])
        chosen = torch.from_numpy(rows[start:stop] - first).to(raw.device)
        features[start:stop] = model.standardize(raw[chosen]).cpu().numpy()
    return features


def solved_from(
    model: SubgraphModel, inputs: SubgraphInputs, targets: NDArray[Any], numbers: int, seed: int
) -> tuple[NDArray[np.float32], NDArray[Any]]:
    """Features and targets of all graphs, or of a sample of them when there are more than so many numbers."""
    rows = sampled_rows(targets, len(model.standardize.mean), numbers, seed)
    with torch.no_grad():
        features = head_features(model, inputs, rows)
    return features, targets if rows is None else targets[rows]


def sampled_rows(targets: NDArray[Any], width: int, numbers: int, seed: int) -> IntArray | None:
    """Graphs to solve from, sorted, so that there are about so many numbers; every class is there. None takes all."""
    if len(targets) * width <= numbers:
        return None
    rows = numpy_stream(seed, "rows").choice(len(targets), max(1, numbers // width), replace=False)
    first = np.unique(targets, return_index=True)[1] if targets.ndim == 1 else rows[:0]
    return np.unique(np.concatenate([rows, first]))


def accuracy(model: SubgraphModel, inputs: SubgraphInputs, targets: NDArray[Any]) -> float:
    """The share of graphs that get their class, or all of their labels."""
    right = 0
    for first, part in _parts(inputs):
        with torch.no_grad():
            logits = model(part).cpu().numpy()
        truth = targets[first : first + len(part)]
        if targets.ndim == 1:
            right += int((logits.argmax(axis=1) == truth).sum())
        else:
            right += int(((logits > 0) == (truth > 0)).all(axis=1).sum())
    return right / len(targets)


def _raw_parts(model: SubgraphModel, inputs: SubgraphInputs) -> Iterator[tuple[int, Tensor]]:
    for first, part in _parts(inputs):
        yield first, raw_features(model.sums(part))


def _parts(inputs: SubgraphInputs) -> Iterator[tuple[int, SubgraphInputs]]:
    """The graphs a few thousand at a time, each time with the number of the first."""
    if len(inputs) <= GRAPHS_AT_ONCE:
        yield 0, inputs
        return
    for first in range(0, len(inputs), GRAPHS_AT_ONCE):
        yield first, inputs[torch.arange(first, min(first + GRAPHS_AT_ONCE, len(inputs)))]
