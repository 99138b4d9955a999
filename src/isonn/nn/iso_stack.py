"""Deep IsoNN: the maps of one isomorphic layer are the graphs of the next."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from isonn.errors import InputError
from isonn.nn.iso_layer import Inputs, IsoLayer

#: One (c, k) per layer: c templates of k nodes.
Layers = Sequence[tuple[int, int]]


class IsoStack(nn.Sequential):
    r"""Isomorphic layers on top of each other.

    Every map of a layer is an input matrix of the next, for each of its templates: 2 maps, then 3 templates,
    give 6 maps. Gradients reach the first templates. Only the first layer can be fed more than a tensor; the maps
    of later layers are weighted and change as the templates learn.

    Args:
        layers: ``(c, k)`` of each layer.
        matching, normalize, generator, symmetric: as in `IsoLayer`.

    Shapes:
        - adjacency ``(batch, n, n)``, or a `WindowBank` or `CertifiedWindows`
        - output ``(batch, c_1 * ... * c_L, m, m)`` with ``m = n - (k_1 - 1) - ... - (k_L - 1)``

    Example:
        >>> IsoStack(((2, 3), (3, 4)))(torch.zeros(5, 9, 9)).shape
        torch.Size([5, 6, 4, 4])
    """

    def __init__(
        self,
        layers: Layers,
        matching: str = "exact",
        normalize: str = "positions",
        generator: torch.Generator | None = None,
        symmetric: bool = False,
    ) -> None:
        super().__init__(*(IsoLayer(k, c, matching, normalize, generator, symmetric) for c, k in layers))

    def forward(self, graphs: Inputs) -> Tensor:
        batch = len(graphs)
        maps: Inputs = graphs
        for layer in self:
            maps = layer(maps).flatten(0, 1)  # every map a graph of its own
        assert isinstance(maps, Tensor)
        return maps.view(batch, -1, *maps.shape[1:])


def map_shape(n: int, layers: Layers) -> tuple[int, int]:
    """Number and side of the maps ``layers`` make of a graph with n nodes; refuses layers that leave none."""
    count, side = 1, n
    for number, (c, k) in enumerate(layers, start=1):
        if side < k:
            sizes = "graphs of" if number == 1 else "maps of side"
            raise InputError(
                f"layer {number} of {len(layers)} has templates of k={k} nodes but is given {sizes} {side}"
                f"{' nodes' if number == 1 else ''}; use k <= {side}{' there' if len(layers) > 1 else ''}"
            )
        count, side = count * c, side - k + 1
    return count, side


def deep_equivalent(k: int, c: int) -> tuple[tuple[int, int], ...]:
    """The paper's deep counterpart of one layer of ``c`` templates of size ``k``: layers of 2 templates of size 3.

    Example:
        >>> deep_equivalent(k=9, c=4)
        ((2, 3), (2, 3))
    """
    depth = max(_ceil_log(c, 2), _ceil_log(k, 3), 1)
    return ((2, 3),) * depth


def _ceil_log(value: int, base: int) -> int:
    """The least power that reaches the value; in integers, for log(243, 3) is not 5 in floating point."""
    if value < 1:
        raise InputError(f"{value} is not a size; use k >= 1 and c >= 1")
    power = 0
    while base**power < value:
        power += 1
    return power
