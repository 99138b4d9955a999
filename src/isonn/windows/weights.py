"""Weights of training graphs: the units of numbers, and the loss."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from isonn.packing import Floats
from isonn.targets import Numbers, Target


def weighted_numbers(target: Numbers, targets: Floats, weights: Floats) -> tuple[Numbers, Floats]:
    """Return a target with weighted means and deviations, and the targets ``(g, columns)`` in its units."""
    share = np.where(np.isfinite(targets), weights[:, None], 0.0)
    share /= share.sum(axis=0)
    mean = (share * np.nan_to_num(targets)).sum(axis=0)
    scale = np.sqrt((share * np.nan_to_num(targets - mean) ** 2).sum(axis=0))
    scale = np.where(scale > 0, scale, 1.0)
    weighted = Numbers(target.mean + target.scale * mean, target.scale * scale, target.single)
    return weighted, np.asarray((targets - mean) / scale)


class WeightedLoss:
    """The weighted mean of the target's loss; the last column of the targets holds the weights of graphs.

    Args:
        classes: further weights, of classes.
    """

    def __init__(self, target: Target, classes: Tensor | None = None) -> None:
        self._target, self._classes = target, classes

    def __call__(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the loss of outputs, ``(g, outputs)``, and targets, ``(g, columns + 1)``."""
        wanted, weights = targets[:, :-1], targets[:, -1:]
        if self._target.exclusive:
            number = wanted[:, 0].long()
            each = nn.functional.cross_entropy(outputs, number, reduction="none")[:, None]
            weights = weights if self._classes is None else weights * self._classes[number, None]
        else:
            measured = ~wanted.isnan()
            wanted, weights = torch.where(measured, wanted, 0.0).to(outputs.dtype), weights * measured
            if self._target.numeric:
                each = (outputs - wanted) ** 2
            else:
                each = nn.functional.binary_cross_entropy_with_logits(outputs, wanted, reduction="none")
        weights = weights.to(outputs.dtype)
        return (weights * each).sum() / weights.sum().clamp(min=torch.finfo(outputs.dtype).tiny)
