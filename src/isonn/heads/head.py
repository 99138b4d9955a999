"""The base class of heads, which predict from features and counts, and their registry."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from typing_extensions import Self

from isonn.heads.calibration import Blend, calibration_error, fit_blend
from isonn.heads.data import Distinct, Inputs
from isonn.packing import Floats
from isonn.plugins import Registry
from isonn.targets import Target


@dataclass(frozen=True, eq=False)
class Contributions:
    """The contributions of all columns to one output of a few graphs; with ``base`` they sum to it.

    Attributes:
        base: the output for the reference, before any column contributes.
        features: sparse, shape (g, p), columns as in `Inputs.features`.
        counts: sparse, shape (g, c), columns as in `Inputs.counts`.

    Example:
        >>> Contributions(0.5, csr_array([[1.0, 0.0]]), csr_array([[0.0, -0.25]])).sums().tolist()
        [1.25]
    """

    base: float
    features: csr_array
    counts: csr_array

    def sums(self) -> Floats:
        """Return the outputs, shape (g,).

        Returns:
            ndarray of shape (g,).
        """
        return np.asarray(self.base + self.features.sum(axis=1) + self.counts.sum(axis=1))


class Head(ABC):
    """Base class of heads. To add one, subclass it and register it with `register_head`.

    `fit` gets `Inputs` with one row per graph, and targets from ``target.encode``. ``target.link`` converts `outputs`
    to answers. `contributions` splits an output into a sum over columns, from which explanations are made. `tensors`
    and `restore` save and load the learned state.

    Attributes:
        held_out: outputs for the training graphs, each from models that saw no graph of its group, shape (g, outputs);
            NaN where there are none, None if the head computes none.
        calibration: the expected calibration error of each output, shape (outputs,), NaN for numbers; None if unknown.

    Example:
        >>> class Shares(Head):
        ...     name = "shares"
        ...
        ...     def fit(self, inputs, targets, target, weights=None, seed=0):
        ...         self.shares = np.bincount(targets, minlength=target.outputs) / len(targets)
        ...         return self
        ...
        ...     def outputs(self, inputs):
        ...         return np.tile(np.log(self.shares), (len(inputs), 1))
        ...
        ...     def contributions(self, inputs, output, reference=None):
        ...         shape = inputs.features.shape
        ...         return Contributions(np.log(self.shares)[output], csr_array(shape), csr_array(inputs.counts.shape))
        ...
        ...     def tensors(self):
        ...         return {"shares": self.shares}
        ...
        ...     @classmethod
        ...     def restore(cls, tensors):
        ...         head = cls()
        ...         head.shares = tensors["shares"]
        ...         return head
        >>> Shares().name
        'shares'
    """

    name: ClassVar[str]
    #: Whether outputs are an intercept plus one term per feature.
    additive: ClassVar[bool] = False
    #: Whether the outputs for two classes are minus and plus half of one score.
    symmetric: ClassVar[bool] = False
    held_out: Floats | None = None
    calibration: Floats | None = None

    @property
    def weights(self) -> list[dict[str, float]]:
        """The weights of the heads it consists of, one dict per output, or one for all."""
        return [{self.name: 1.0}]

    @abstractmethod
    def fit(
        self,
        inputs: Inputs,
        targets: NDArray[Any],
        target: Target,
        weights: Floats | None = None,
        seed: int = 0,
    ) -> Self:
        """Fit the head to graphs and targets.

        Args:
            inputs: features and counts, one row per graph.
            targets: what ``target.encode`` returned for them.
            target: what is predicted: number of outputs, and how they become answers.
            weights: a weight per graph; a weight of 2 means the graph twice.
            seed: for everything that is drawn at random.

        Returns:
            the head itself.
        """

    def _calibrate(self, parts: Sequence[Floats], targets: NDArray[Any], target: Target, distinct: Distinct) -> Blend:
        """Return the best blend of held-out outputs; keep what it makes of them, and their calibration error."""
        blend = fit_blend(parts, targets, target, distinct)
        self.held_out = blend(parts)
        self.calibration = calibration_error(self.held_out, targets, target, distinct.weights)
        return blend

    @abstractmethod
    def outputs(self, inputs: Inputs) -> Floats:
        """Return outputs for graphs; ``target.link`` converts them to answers.

        Args:
            inputs: features and counts, one row per graph.

        Returns:
            ndarray of shape (g, target.outputs).
        """

    @abstractmethod
    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the learned arrays by name.

        Returns:
            arrays by name; numbers and booleans only, since models are saved as safetensors.
        """

    @classmethod
    @abstractmethod
    def restore(cls, tensors: dict[str, NDArray[Any]]) -> Head:
        """Restore a head from its `tensors`; raise ValueError if they are invalid.

        Args:
            tensors: what `tensors` returned.

        Returns:
            a head that predicts as the saved one did.
        """

    @abstractmethod
    def contributions(self, inputs: Inputs, output: int, reference: Inputs | None = None) -> Contributions:
        """Return the contributions of all columns to one output of a few graphs.

        Args:
            inputs: the graphs.
            output: the output to explain.
            reference: a row to compare with, whose output is the base; None means zeros. A column that equals it should
                contribute nothing.

        Returns:
            `Contributions`, whose sums equal `outputs`.
        """


#: All heads by name.
HEADS: Registry[type[Head]] = Registry("heads")


def register_head(cls: type[Head]) -> type[Head]:
    """Register a head under its name; use as a decorator.

    Args:
        cls: a subclass of `Head` with a ``name``.

    Returns:
        the class.

    Example:
        >>> from isonn.heads import HEADS, LinearHead, register_head
        >>> @register_head
        ... class Named(LinearHead):
        ...     name = "linear again"
        >>> HEADS.pop("linear again").additive  # pop: only so that this example leaves nothing behind
        True
    """
    HEADS[cls.name] = cls
    return cls


def get_head(name: Any) -> type[Head]:
    """Return the head of a name.

    Args:
        name: a name such as "linear", or that of an installed extension.

    Returns:
        the class of the head.

    Example:
        >>> from isonn.heads import get_head
        >>> get_head("linear").additive
        True
    """
    return HEADS.named(name, "head")
