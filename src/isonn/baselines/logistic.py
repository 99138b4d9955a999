"""Logistic regression on a few numbers per graph; the counting baselines say which numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from isonn.estimator import GraphClassifier
from isonn.graphs.graph import GraphSet


class LogisticGraphClassifier(GraphClassifier):
    """Standardise ``_features(graphs)``, shape (g, d), and fit a logistic regression (L2, C = 1).

    The solver draws nothing, so there is no ``random_state``. Of an indicator matrix each column has a
    regression of its own; a column that is constant in training keeps that constant.
    """

    def _features(self, graphs: GraphSet) -> NDArray[np.float64]:
        raise TypeError(f"{type(self).__name__} does not say what it counts")

    def _fit(self, graphs: GraphSet, targets: NDArray[Any]) -> None:
        scaler = StandardScaler()
        features = scaler.fit_transform(self._features(graphs))
        columns = targets.T.astype(np.int64) if self.multilabel_ else [targets]
        self.scaler_ = scaler
        self.models_ = [_regression(features, column) for column in columns]

    def _answers(self, graphs: GraphSet) -> NDArray[np.float64]:
        features = self.scaler_.transform(self._features(graphs))
        columns = [
            np.full((len(features), 2), model) if isinstance(model, float) else model.predict_proba(features)
            for model in self.models_
        ]
        return np.column_stack([column[:, 1] for column in columns]) if self.multilabel_ else columns[0]


def _regression(features: NDArray[np.float64], column: NDArray[np.int64]) -> LogisticRegression | float:
    if (column == column[0]).all():
        return float(column[0])
    return LogisticRegression(max_iter=1000).fit(features, column)
