"""The classification component: fully connected layers with ReLU between."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import nn


class Head(nn.Sequential):
    """Linear layers of the given widths with ReLU between; the last gives logits.

    The paper's equation puts a ReLU on the output, too, which would feed log(0); its code does not.

    Args:
        inputs: features per example.
        hidden: widths of the hidden layers; the paper's are (1024, 128).
        outputs: classes.
        generator: draws the weights as torch does by default, from a stream of its own.

    Example:
        >>> Head(8, (4,), 2)(torch.zeros(5, 8)).shape
        torch.Size([5, 2])
    """

    def __init__(
        self, inputs: int, hidden: Sequence[int], outputs: int, generator: torch.Generator | None = None
    ) -> None:
        widths = [inputs, *hidden, outputs]
        layers: list[nn.Module] = []
        for before, after in pairwise(widths):
            # weights are drawn below; skip_init would ignore a `with torch.device("meta")` of the caller
            linear = nn.utils.skip_init(nn.Linear, before, after, device=torch.get_default_device())
            layers += [linear, nn.ReLU()]
        super().__init__(*layers[:-1])
        for layer in self:
            if isinstance(layer, nn.Linear):
                bound = 1 / math.sqrt(layer.in_features)
                nn.init.uniform_(layer.weight, -bound, bound, generator=generator)
                nn.init.uniform_(layer.bias, -bound, bound, generator=generator)
