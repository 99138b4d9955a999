"""Predictions that take the confounds of the graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.estimator import GraphEstimator
from isonn.graphs.convert import as_graphset
from isonn.packing import Floats


def with_confounds(X: Any, confounds: Any) -> Any:
    """Return the graphs with their confounds; as they are if none are given."""
    return X if confounds is None else as_graphset(X).with_confounds(confounds)


class ConfoundedPredictions(GraphEstimator):
    """Base of estimators whose predictions take ``confounds``."""

    def predict(self, X: Any, confounds: Any = None, *, on_error: str = "raise") -> NDArray[Any]:
        """Predict graphs; the result has the shape of ``y``.

        Args:
            X: the graphs.
            confounds: their confounds, as in ``fit``; None uses those of ``X``.
            on_error: as in other estimators; only molecules have rows that cannot be read.
        """
        return super().predict(with_confounds(X, confounds), on_error=on_error)

    def predict_interval(self, X: Any, coverage: float = 0.9, confounds: Any = None) -> Floats:
        """Return an interval for each number that contains the truth with probability ``coverage``.

        Args:
            X: the graphs.
            coverage: between 0 and 1; too few training graphs or groups give infinite intervals, with a warning.
            confounds: the confounds of ``X``, as in ``fit``; None uses those that it has.

        Returns:
            ndarray of shape (g, 2), or (g, t, 2) for several columns, in the units of ``y``.
        """
        return super().predict_interval(with_confounds(X, confounds), coverage)

    def predict_set(self, X: Any, coverage: float = 0.9, confounds: Any = None) -> NDArray[np.bool_]:
        """Return a set of classes for each graph that contains the true one with probability ``coverage``.

        Args:
            X: the graphs.
            coverage: between 0 and 1; it holds for each class by itself.
            confounds: the confounds of ``X``, as in ``fit``; None uses those that it has.

        Returns:
            ndarray of booleans of shape (g, classes), or (g, labels, 2) for several labels: absent, present.
        """
        return super().predict_set(with_confounds(X, confounds), coverage)
