"""Connectome-based predictive modelling (CPM): sums of the edges that follow the target."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from scipy.stats import t as students_t
from sklearn.linear_model import LinearRegression

from isonn.baselines.linear_edges import _check_positive, _Edges
from isonn.estimator import GraphClassifier, GraphRegressor
from isonn.graphs.graph import GraphSet
from isonn.packing import Floats


class _CPM(_Edges):
    """Edges with a correlation of p below the threshold, and a regression on their positive and negative sums."""

    def __init__(
        self,
        threshold: float = 0.01,
        fisher: bool | str = "auto",
        *,
        size: int | None = None,
        harmonize: str | None = None,
    ) -> None:
        self.threshold = threshold
        self.fisher = fisher
        self.size = size
        self.harmonize = harmonize

    def _check_params(self) -> None:
        super()._check_params()
        _check_positive("threshold", self.threshold)

    def _fit_columns(self, features: Floats, wanted: Floats) -> None:
        self.signs_ = np.stack([edge_signs(features, column, self.threshold) for column in wanted.T])
        self.models_ = []
        for signs, column in zip(self.signs_, wanted.T, strict=True):
            known = np.isfinite(column)
            self.models_.append(LinearRegression().fit(strengths(features[known], signs), column[known]))

    def _outputs(self, features: Floats) -> Floats:
        columns = zip(self.models_, self.signs_, strict=True)
        return np.column_stack([model.predict(strengths(features, signs)) for model, signs in columns])


def edge_signs(features: Floats, target: Floats, threshold: float) -> NDArray[np.int64]:
    """Return +1 and -1 for edges that correlate with the target with p below the threshold, else 0."""
    known = np.isfinite(target)
    x = features[known] - features[known].mean(axis=0)
    y = target[known] - target[known].mean()
    size = np.sqrt((x**2).sum(axis=0) * (y @ y))
    r = np.clip(np.divide(y @ x, size, out=np.zeros(x.shape[1]), where=size > 1e-12), -1 + 1e-12, 1 - 1e-12)
    freedom = max(len(y) - 2, 1)
    p = 2 * students_t.sf(np.abs(r) * np.sqrt(freedom / (1 - r**2)), freedom)
    return np.where(p < threshold, np.sign(r), 0).astype(np.int64)


def strengths(features: Floats, signs: NDArray[np.int64]) -> Floats:
    """Return the sums of the positive and of the negative edges of each graph, shape (g, 2)."""
    return np.column_stack([features[:, signs > 0].sum(axis=1), features[:, signs < 0].sum(axis=1)])


class CPMRegressor(_CPM, GraphRegressor):
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

    def _fit(self, graphs: GraphSet, targets: NDArray[Any]) -> None:
        self._prepare(graphs, targets)
        self._fit_columns(self._features(graphs), targets.reshape(len(targets), -1))

    def _answers(self, graphs: GraphSet) -> Floats:
        return self.target_.link(self._outputs(self._features(graphs)))


class CPMClassifier(_CPM, GraphClassifier):
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

    def _fit(self, graphs: GraphSet, targets: NDArray[Any]) -> None:
        self._prepare(graphs, targets)
        wanted = targets if self.multilabel_ else np.eye(len(self.classes_))[targets]
        self._fit_columns(self._features(graphs), 2.0 * wanted - 1)

    def _answers(self, graphs: GraphSet) -> Floats:
        outputs = self._outputs(self._features(graphs))
        return np.asarray(expit(2 * outputs) if self.multilabel_ else softmax(outputs, axis=1))
