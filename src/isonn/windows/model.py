"""IsoNN, shallow or deep: isomorphic features, then the head."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from isonn.torch_estimator import MLP
from isonn.windows.layer import Inputs, IsoStack, Layers, deep_equivalent, map_shape


class IsoNN(nn.Module):
    """The paper's model: templates matched against every window, maps flattened, three linear layers.

    Args:
        n: nodes of the (padded) graphs.
        outputs: classes, or labels of a multi-label task.
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

    def forward(self, graphs: Inputs) -> Tensor:
        logits: Tensor = self.head(self.features(graphs).flatten(1))
        return logits

    @staticmethod
    def deep_equivalent(k: int, c: int) -> tuple[tuple[int, int], ...]:
        """``layers`` of the paper's deep counterpart of a shallow model with c templates of size k."""
        return deep_equivalent(k, c)
