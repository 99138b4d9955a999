"""Connectome-based predictive modelling (CPM): sums of the edges that follow the target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as students_t
from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression
from sklearn.multioutput import MultiOutputRegressor

from isonn.baselines.linear_edges import EdgeEstimator, SignClassifier
from isonn.baselines.simple import FeatureRegressor
from isonn.packing import Floats


class SignedSums(BaseEstimator):
    """Regression on the sums of the edges that correlate with a target.

    Args:
        threshold: largest p-value of a selected edge.
    """

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold

    def fit(self, features: Floats, target: Floats) -> SignedSums:
        """Select edges and fit; the target has shape (g,)."""
        self.signs_ = edge_signs(features, target, self.threshold)
        self.regression_ = LinearRegression().fit(strengths(features, self.signs_), target)
        return self

    def predict(self, features: Floats) -> Floats:
        """Return values of shape (g,)."""
        return np.asarray(self.regression_.predict(strengths(features, self.signs_)))


def edge_signs(features: Floats, target: Floats, threshold: float) -> NDArray[np.int64]:
    """Return +1 and -1 for edges that correlate with the target with p below the threshold, else 0."""
    x, y = features - features.mean(axis=0), target - target.mean()
    size = np.sqrt((x**2).sum(axis=0) * (y @ y))
    r = np.clip(np.divide(y @ x, size, out=np.zeros(x.shape[1]), where=size > 1e-12), -1 + 1e-12, 1 - 1e-12)
    freedom = max(len(y) - 2, 1)
    p = 2 * students_t.sf(np.abs(r) * np.sqrt(freedom / (1 - r**2)), freedom)
    return np.where(p < threshold, np.sign(r), 0).astype(np.int64)


def strengths(features: Floats, signs: NDArray[np.int64]) -> Floats:
    """Return the sums of the positive and of the negative edges of each graph, shape (g, 2)."""
    return np.column_stack([features[:, signs > 0].sum(axis=1), features[:, signs < 0].sum(axis=1)])


@dataclass(eq=False, repr=False)
class CPMRegressor(EdgeEstimator, FeatureRegressor):
    """Predict numbers from aligned graphs by connectome-based predictive modelling.

    As in Shen et al., "Using connectome-based predictive modeling to predict individual behavior from brain
    connectivity" (Nature Protocols 2017): edges whose correlation with the training numbers has p below ``threshold``
    are summed, those with a positive and those with a negative correlation separately, and the number is predicted by
    linear regression on the two sums.

    Args:
        threshold: largest p-value of a selected edge.
        fisher, size, harmonize: as in `LinearEdgesClassifier`.

    Example:
        >>> draw = np.random.default_rng(0)
        >>> y = draw.normal(size=40)
        >>> matrices = draw.normal(size=(40, 6, 6))
        >>> matrices[:, 1, 4] += 4 * y
        >>> matrices += matrices.transpose(0, 2, 1)
        >>> CPMRegressor().fit(matrices, y).score(matrices, y) > 0.8
        True
    """

    threshold: float = 0.01

    def _model(self, features: Any) -> Any:
        return SignedSums(self.threshold)


@dataclass(eq=False, repr=False)
class CPMClassifier(SignClassifier):
    """Classify aligned graphs by connectome-based predictive modelling of -1 and +1; see `CPMRegressor`.

    There is one regression per class. Probabilities are the softmax of the outputs and are not calibrated.

    Args:
        threshold: largest p-value of a selected edge.
        fisher, size, harmonize: as in `LinearEdgesClassifier`.

    Example:
        >>> draw = np.random.default_rng(0)
        >>> y = np.arange(40) % 2
        >>> matrices = draw.normal(size=(40, 6, 6))
        >>> matrices[:, 1, 4] += 4 * y
        >>> matrices += matrices.transpose(0, 2, 1)
        >>> CPMClassifier().fit(matrices, y).score(matrices, y) > 0.8
        True
    """

    threshold: float = 0.01

    def _model(self, features: Any) -> Any:
        return MultiOutputRegressor(SignedSums(self.threshold))
