"""Linear models on a few numbers per graph; a baseline says which numbers.

A baseline is a class with `_features`, mixed into `FeatureClassifier` and `FeatureRegressor`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler

from isonn.estimator import GraphClassifier, GraphEstimator, GraphRegressor
from isonn.graphs.graph import GraphSet

Floats = NDArray[np.float64]


class _Features(GraphEstimator):
    """What the classifier and the regressor share."""

    #: Whether features are standardised.
    _standardised = True

    def _prepare(self, graphs: GraphSet, targets: NDArray[Any]) -> None:
        """Learn what `_features` needs from the training graphs; nothing by default."""

    def _features(self, graphs: GraphSet) -> Floats:
        raise TypeError(f"{type(self).__name__} does not say what it counts")

    def _learn_features(self, graphs: GraphSet, targets: NDArray[Any]) -> Floats:
        self._prepare(graphs, targets)
        self.scaler_ = StandardScaler() if self._standardised else None
        features = self._features(graphs)
        return features if self.scaler_ is None else np.asarray(self.scaler_.fit_transform(features))

    def _new_features(self, graphs: GraphSet) -> Floats:
        features = self._features(graphs)
        return features if self.scaler_ is None else np.asarray(self.scaler_.transform(features))


class FeatureClassifier(_Features, GraphClassifier):
    """A classifier on ``_features(graphs)``, shape (g, d): logistic regression (L2, C = 1) unless `_model` is another.

    The solver draws nothing, so there is no ``random_state``. Each column of an indicator matrix has a model of its
    own, fitted to the graphs where it was measured; a column that is constant in training stays constant.
    """

    _supports_gaps = True

    def _model(self) -> Any:
        return LogisticRegression(max_iter=1000)

    def _fit(self, graphs: GraphSet, targets: NDArray[Any]) -> None:
        features = self._learn_features(graphs, targets)
        self.models_ = [self._column(features, column) for column in (targets.T if self.multilabel_ else [targets])]

    def _column(self, features: Floats, column: NDArray[Any]) -> Any:
        known = ~np.isnan(column)
        codes = column[known].astype(np.int64)
        return float(codes[0]) if (codes == codes[0]).all() else self._model().fit(features[known], codes)

    def _answers(self, graphs: GraphSet) -> Floats:
        features = self._new_features(graphs)
        columns = [
            np.full((len(features), 2), model) if isinstance(model, float) else model.predict_proba(features)
            for model in self.models_
        ]
        return np.column_stack([column[:, 1] for column in columns]) if self.multilabel_ else columns[0]


class FeatureRegressor(_Features, GraphRegressor):
    """A regressor on ``_features(graphs)``, shape (g, d): ridge regression (alpha = 1) unless `_model` is another.

    Each column of ``y`` has a model of its own, fitted to the graphs where it was measured.
    """

    def _model(self) -> Any:
        return Ridge()

    def _fit(self, graphs: GraphSet, targets: NDArray[Any]) -> None:
        features = self._learn_features(graphs, targets)
        self.models_ = []
        for column in targets.T:
            known = ~np.isnan(column)
            self.models_.append(self._model().fit(features[known], column[known]))

    def _answers(self, graphs: GraphSet) -> Floats:
        features = self._new_features(graphs)
        return self.target_.link(np.column_stack([model.predict(features) for model in self.models_]))
