"""The network of the CNN baseline on matrices padded with zeros, which costs what the graphs have, not the padding.

Wherever a filter sees only zeros, its answer is its bias. The answers of graphs of m nodes therefore differ from those
of an empty matrix in the first (m + 1) // 2 rows and columns of a pooled map only, and so much is convolved and
multiplied; the rest of the first dense layer is one sum of its weights for all graphs. On PTC (26 of 109 nodes on
average) this is a twelfth of the multiplications. The function is the same but for rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from isonn.params import check_memory
from isonn.torch_estimator import MLP

#: Side of the filters.
KERNEL = 5
#: Ratio of the sides of maps that are computed together with padding: a product of few graphs is bound by memory.
RATIO = 0.75


class PaddedCNN(nn.Module):
    """Filters of 5 x 5, max-pooling of 2 x 2, ReLU, and an MLP on the flat maps.

    Args:
        side: rows of the padded matrices, at least 6.
        channels: number of filters.
        hidden: widths of the hidden layers.
        outputs: number of classes.

    Shapes:
        - pictures ``(batch, 1, side, side)``
        - output ``(batch, outputs)``
    """

    def __init__(self, side: int, channels: int, hidden: Sequence[int], outputs: int) -> None:
        super().__init__()
        first, *rest = hidden
        self.pooled = (side - KERNEL + 1) // 2
        self.filters = nn.Conv2d(1, channels, KERNEL)
        self.wide = WideLinear(channels, self.pooled, first)
        self.head = MLP(first, rest, outputs)

    def forward(self, pictures: Tensor) -> Tensor:
        """Return the logits."""
        order, groups = self._by_side(pictures)
        bias = self.filters.bias
        empty = bias.relu() if bias is not None and groups[0][0] < self.pooled else None  # of an empty matrix
        parts = []
        for side, rows in groups:
            seen = 2 * side + KERNEL - 1
            maps = functional.max_pool2d(self.filters(pictures[rows, :, :seen, :seen]), 2).relu()
            cells = maps.flatten(2)[:, :, by_shell(side)].mT  # (graphs, cells, channels)
            parts.append((cells if empty is None else cells - empty).flatten(1))
        hidden = self.wide(parts, empty)
        logits: Tensor = self.head(hidden[order.argsort()].relu())
        return logits

    def _by_side(self, pictures: Tensor) -> tuple[Tensor, list[tuple[int, Tensor]]]:
        """Return the graphs by ascending side of what their maps show, and these sides with their graphs."""
        filled = pictures[:, 0] != 0
        number = torch.arange(1, filled.shape[-1] + 1)
        nodes = ((filled.any(1) | filled.any(2)) * number).amax(1)  # (batch,)
        ladder = torch.tensor(list(_ladder(self.pooled)))  # ascending
        rung = torch.searchsorted(ladder, ((nodes + 1) // 2).clamp(max=self.pooled))
        order = rung.argsort(stable=True)
        found, counts = rung.unique(return_counts=True)
        return order, list(zip(ladder[found].tolist(), order.split(counts.tolist()), strict=True))


def _ladder(side: int) -> Iterator[int]:
    """Yield sides up to the given one, ascending, each at most about a third larger than the one before."""
    if side > 1:
        yield from _ladder(min(side - 1, math.ceil(RATIO * side)))
    yield side


def by_shell(side: int) -> Tensor:
    """Return the cells of a flat square map, shape (side * side,), by the larger of their row and column.

    The first m * m of them are the cells of its upper left square of side m, in the same order.
    """
    number = torch.arange(side)
    return torch.maximum(number[:, None], number).flatten().argsort(stable=True)


class WideLinear(nn.Module):
    """A linear layer on the flat maps of `PaddedCNN`, which knows that they end in the answer to an empty matrix.

    The weights are stored by input, shape (inputs, outputs), cell after cell as `by_shell` has them and within a cell
    by channel, so that the weights of small maps are the first rows. With 20 graphs and 90,000 inputs, the gradient of
    the weights is computed three times as fast as in ``nn.Linear``.
    """

    def __init__(self, channels: int, side: int, outputs: int) -> None:
        super().__init__()
        inputs = channels * side**2
        check_memory("weights of the first layer", (inputs, outputs), "use fewer channels or narrower hidden layers")
        self.channels, self.side = channels, side
        self.weight = nn.Parameter(torch.empty(inputs, outputs))
        self.bias = nn.Parameter(torch.empty(outputs))
        self.gradient: Tensor | None = None

    def draw(self, generator: torch.Generator) -> None:
        """Draw the weights of ``nn.Linear`` on maps that are flat by channel, row and column."""
        inputs, outputs = self.weight.shape
        bound, drawn = 1 / math.sqrt(inputs), torch.empty(outputs, self.channels, self.side**2)
        drawn.uniform_(-bound, bound, generator=generator)
        cells, order = self.weight.detach().view(self.side**2, self.channels, outputs), by_shell(self.side)
        for channel in range(self.channels):  # one by one, so that transposing stays in the cache
            cells[:, channel] = drawn[:, channel].mT[order]
        with torch.no_grad():
            self.bias.uniform_(-bound, bound, generator=generator)

    def forward(self, parts: list[Tensor], empty: Tensor | None) -> Tensor:
        """Map flat maps to the outputs of all graphs, shape (batch, outputs).

        Args:
            parts: maps of graphs with the same number of cells, shape (graphs, cells * channels), less ``empty``.
            empty: shape (channels,), what a cell shows that sees only zeros; None: all maps are of the full size.
        """
        product: Tensor = _WideProduct.apply(self, self.weight, empty, *parts)
        return product + self.bias

    def train(self, mode: bool = True) -> WideLinear:
        """Set the mode; leaving the training mode frees the memory of the gradient."""
        if not mode:
            self.gradient = None
        return super().train(mode)


class _WideProduct(torch.autograd.Function):
    """The product of parts of maps with the first weights, plus that of an empty map with all.

    The gradient of the weights is written into the memory of the last one: half a gigabyte that the allocator would
    otherwise give back to the system and get again, page by page, in every step.
    """

    @staticmethod
    def forward(ctx: Any, layer: WideLinear, weight: Tensor, empty: Tensor | None, *parts: Tensor) -> Tensor:
        product = torch.cat([part @ weight[: part.shape[1]] for part in parts])
        sums = None
        if empty is not None:
            sums = weight.view(-1, len(empty) * weight.shape[1]).sum(0).view(len(empty), -1)  # (channels, outputs)
            product += empty @ sums
        ctx.layer = layer
        ctx.save_for_backward(weight, empty, sums, *parts)
        return product

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        weight, empty, sums, *parts = ctx.saved_tensors
        (gradient,) = gradients
        total = gradient.sum(0)
        by_part = gradient.split([len(part) for part in parts])
        if ctx.layer.gradient is None:
            ctx.layer.gradient = torch.empty_like(weight)
        found = ctx.layer.gradient
        if empty is None:
            torch.mm(parts[0].mT, gradient, out=found)
        else:
            found.view(-1, len(empty), len(total))[:] = torch.outer(empty, total)
            for part, own in zip(parts, by_part, strict=True):
                found[: part.shape[1]].addmm_(part.mT, own)
        ctx.layer.weight.grad = found  # returned, it would be copied, because the layer keeps it
        inputs = [own @ weight[: part.shape[1]].mT for part, own in zip(parts, by_part, strict=True)]
        return None, None, None if empty is None else sums @ total, *inputs
