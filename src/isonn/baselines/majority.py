"""The most frequent class, or the mean, whatever the graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.estimator import GraphClassifier, GraphRegressor
from isonn.graphs.graph import GraphSet


class MajorityClassifier(GraphClassifier):
    """Predict the most frequent training class for every graph: the accuracy that is worth nothing.

    Probabilities are the frequencies of the classes; of equally frequent classes the first in ``classes_`` is
    predicted, so on balanced data with two classes the F1 of the larger one is 0. Each column of an indicator matrix
    is predicted on its own.

    Example:
        >>> MajorityClassifier().fit(np.zeros((3, 2, 2)), ["b", "a", "b"]).predict(np.zeros((1, 4, 4))).tolist()
        ['b']
    """

    _supports_gaps = True

    def _fit(self, graphs: GraphSet, targets: NDArray[Any]) -> None:
        if self.multilabel_:
            self.frequencies_ = np.nanmean(targets, axis=0, dtype=np.float64)
        else:
            self.frequencies_ = np.bincount(targets, minlength=len(self.classes_)) / len(targets)

    def _answers(self, graphs: GraphSet) -> NDArray[np.float64]:
        return np.tile(self.frequencies_, (len(graphs), 1))


class MajorityRegressor(GraphRegressor):
    """Predict the mean of the training numbers for every graph: an R² of 0.

    Example:
        >>> MajorityRegressor().fit(np.zeros((3, 2, 2)), [1.0, 2.0, 6.0]).predict(np.zeros((1, 4, 4))).tolist()
        [3.0]
    """

    def _fit(self, graphs: GraphSet, targets: NDArray[Any]) -> None:
        self.means_ = np.nanmean(targets, axis=0)

    def _answers(self, graphs: GraphSet) -> NDArray[np.float64]:
        return self.target_.link(np.tile(self.means_, (len(graphs), 1)))
