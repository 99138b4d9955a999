"""`Head`: what reads the features of graphs and predicts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from typing_extensions import Self

from isonn.errors import InputError
from isonn.targets import Target

Floats = NDArray[np.float64]


class Head(ABC):
    """Fits features to targets. To add one, subclass it and register it with `register_head`.

    Features are a sparse matrix, one row per graph; targets are what ``target.encode`` gives. `outputs` gives the
    numbers that ``target.link`` turns into answers. A head whose outputs are sums over features is `additive` and
    returns the summands' weights from `coefficients`; explanations of other heads are computed by removal. `tensors`
    and `restore` carry all that was learned.

    Example:
        >>> class Shares(Head):
        ...     name = "shares"
        ...
        ...     def fit(self, features, targets, target, weights=None, seed=0):
        ...         self.shares = np.bincount(targets, minlength=target.outputs) / len(targets)
        ...         return self
        ...
        ...     def outputs(self, features):
        ...         return np.tile(np.log(self.shares), (features.shape[0], 1))
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

    @abstractmethod
    def fit(
        self,
        features: csr_array,
        targets: NDArray[Any],
        target: Target,
        weights: Floats | None = None,
        seed: int = 0,
    ) -> Self:
        """Learn from features (g, p) and targets; ``weights`` are one per graph."""

    @abstractmethod
    def outputs(self, features: csr_array) -> Floats:
        """Outputs of shape (g, target.outputs)."""

    @abstractmethod
    def tensors(self) -> dict[str, NDArray[Any]]:
        """What was learned, by name."""

    @classmethod
    @abstractmethod
    def restore(cls, tensors: dict[str, NDArray[Any]]) -> Head:
        """The head whose `tensors` these are."""

    def coefficients(self) -> tuple[Floats, Floats] | None:
        """Weights (outputs, p) and intercepts (outputs,) of an additive head, else None."""
        return None


#: Every head by name.
HEADS: dict[str, type[Head]] = {}


def register_head(cls: type[Head]) -> type[Head]:
    """Make a head known by its name; use it as a decorator.

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
    """The head of that name.

    Example:
        >>> from isonn.heads import get_head
        >>> get_head("linear").additive
        True
    """
    if not isinstance(name, str) or name not in HEADS:
        raise InputError(f"head={name!r} is unknown; use one of {', '.join(map(repr, HEADS))}")
    return HEADS[name]
