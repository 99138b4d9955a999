"""Deep IsoNN, where the maps of one isomorphic layer are the graphs of the next, and the whole network of the paper."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from isonn.errors import InputError
from isonn.torch_estimator import MLP
from isonn.windows.layer import IsoLayer, LayerInputs

#: One (c, k) per layer: c templates of k nodes.
Layers = Sequence[tuple[int, int]]


class IsoStack(nn.Sequential):
    r"""A stack of isomorphic layers.

    Every map of a layer is an input matrix of the next, for each of its templates: 2 maps, then 3 templates, give 6
    maps. Gradients reach the first templates. Only the first layer accepts inputs other than tensors, because the maps
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

    def forward(self, graphs: LayerInputs) -> Tensor:
        """Return the maps of the last layer.

        Args:
            graphs: adjacency matrices of shape (batch, n, n), or a `WindowBank` or `CertifiedWindows`.

        Returns:
            Tensor of shape (batch, maps, m, m).
        """
        batch = len(graphs)
        maps: LayerInputs = graphs
        for layer in self:
            maps = layer(maps).flatten(0, 1)  # every map a graph of its own
        assert isinstance(maps, Tensor)
        return maps.view(batch, -1, *maps.shape[1:])


def map_shape(n: int, layers: Layers) -> tuple[int, int]:
    """Return number and side of the maps that ``layers`` compute for n nodes; raise `InputError` if none is left."""
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


def _ceil_log(value: int, base: int) -> int:
    """Return the smallest power that reaches the value; in integers, because log(243, 3) is not 5 in floating point."""
    if value < 1:
        raise InputError(f"k and c must be at least 1, got {value}")
    power = 0
    while base**power < value:
        power += 1
    return power


class IsoNN(nn.Module):
    """The paper's model: templates matched against every window, maps flattened, three linear layers.

    Args:
        n: nodes of the (padded) graphs.
        outputs: number of classes, or of labels in a multi-label problem.
        layers: ``(c, k)`` of each isomorphic layer; one pair is the paper's IsoNN, more are its deep variant.
        matching, normalize, symmetric: as in `IsoLayer`.
        hidden: widths of the head's hidden layers.
        generator: draws all weights.

    Shapes:
        - adjacency ``(batch, n, n)``, or a `WindowBank` or `CertifiedWindows` cut with the first layer's k
        - output ``(batch, outputs)``, logits

    Example:
        >>> IsoNN(n=6, outputs=2, layers=((3, 4),))(torch.zeros(5, 6, 6)).shape
        torch.Size([5, 2])
    """

    def __init__(
        self,
        n: int,
        outputs: int,
        layers: Layers = ((2, 4),),
        matching: str = "exact",
        normalize: str = "positions",
        hidden: Sequence[int] = (1024, 128),
        generator: torch.Generator | None = None,
        symmetric: bool = False,
    ) -> None:
        super().__init__()
        self.features = IsoStack(layers, matching, normalize, generator, symmetric)
        count, side = map_shape(n, layers)
        self.head = MLP(count * side * side, hidden, outputs, generator)

    def forward(self, graphs: LayerInputs) -> Tensor:
        """Return the logits of each graph.

        Args:
            graphs: adjacency matrices of shape (batch, n, n), or a `WindowBank` or `CertifiedWindows`.

        Returns:
            Tensor of shape (batch, outputs).
        """
        logits: Tensor = self.head(self.features(graphs).flatten(1))
        return logits

    @staticmethod
    def deep_equivalent(k: int, c: int) -> tuple[tuple[int, int], ...]:
        """Return the paper's deep counterpart of ``c`` templates of size ``k``: layers of 2 templates of size 3.

        The paper calls the two equivalent. They have about as many maps, but L layers of size 3 see blocks of 2 L + 1
        nodes, not of 3 to the power of L.

        Args:
            k: nodes per template of the shallow model.
            c: its number of templates.

        Returns:
            the ``layers`` argument of the deep model, a pair (templates, size) for each layer.

        Example:
            >>> IsoNN.deep_equivalent(k=9, c=4)
            ((2, 3), (2, 3))
        """
        return ((2, 3),) * max(_ceil_log(c, 2), _ceil_log(k, 3), 1)
