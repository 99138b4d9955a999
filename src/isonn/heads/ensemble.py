"""The ensemble head: the linear head and the forest, averaged."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit, logit, softmax
from typing_extensions import Self

from isonn.heads.base import Floats, Head, register_head
from isonn.heads.forest import MARGIN, ForestHead
from isonn.heads.linear import LinearHead
from isonn.targets import Target


@register_head
class EnsembleHead(Head):
    """The mean of the probabilities (or values) of the linear head and the forest; explained by removal.

    Example:
        >>> from scipy.sparse import csr_array
        >>> from isonn.targets import Classes
        >>> features = csr_array(np.eye(2)[[0, 0, 0, 0, 1, 1, 1, 1]])
        >>> target, y = Classes(np.array(["a", "b"])), np.array([0, 0, 0, 0, 1, 1, 1, 1])
        >>> EnsembleHead().fit(features, y, target).outputs(features).argmax(axis=1).tolist()
        [0, 0, 0, 0, 1, 1, 1, 1]
    """

    name = "ensemble"

    def fit(
        self,
        features: csr_array,
        targets: NDArray[Any],
        target: Target,
        weights: Floats | None = None,
        seed: int = 0,
    ) -> Self:
        """Fit both."""
        self.linear = LinearHead().fit(features, targets, target, weights, seed)
        self.forest = ForestHead().fit(features, targets, target, weights, seed)
        return self

    def outputs(self, features: csr_array) -> Floats:
        """Log-odds of the mean probability, or the mean value."""
        linear, forest = self.linear.outputs(features), self.forest.votes_of(features)
        if self.forest.numbers:
            return np.asarray((linear + forest) / 2)
        if self.forest.one_class:
            return np.asarray(np.log(np.maximum((softmax(linear, axis=1) + forest) / 2, MARGIN)))
        return np.asarray(logit(np.clip((expit(linear) + forest) / 2, MARGIN, 1 - MARGIN)))

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Those of both."""
        own = (("linear", self.linear), ("forest", self.forest))
        return {f"{part}.{name}": tensor for part, head in own for name, tensor in head.tensors().items()}

    @classmethod
    def restore(cls, tensors: dict[str, NDArray[Any]]) -> EnsembleHead:
        """The heads with these tensors."""
        head = cls()

        def below(part: str) -> dict[str, NDArray[Any]]:
            return {name.removeprefix(part): tensor for name, tensor in tensors.items() if name.startswith(part)}

        head.linear, head.forest = LinearHead.restore(below("linear.")), ForestHead.restore(below("forest."))
        return head
