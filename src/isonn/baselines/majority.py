"""The class most training graphs have, whatever the graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.estimator import GraphClassifier
from isonn.graphs.graph import GraphSet


class MajorityClassifier(GraphClassifier):
    """Answer every graph with the most frequent training class: what accuracy is worth nothing.

    Probabilities are the frequencies of the classes; of equally frequent classes the first in ``classes_`` is
    answered, so that on balanced data with two classes the F1 of the larger label is 0. Of an indicator matrix
    each column is answered on its own.

    Example:
        >>> MajorityClassifier().fit(np.zeros((3, 2, 2)), ["b", "a", "b"]).predict(np.zeros((1, 4, 4))).tolist()
        ['b']
    """

    def _fit(self, graphs: GraphSet, targets: NDArray[Any]) -> None:
        if self.multilabel_:
            self.frequencies_ = targets.mean(axis=0, dtype=np.float64)
        else:
            self.frequencies_ = np.bincount(targets, minlength=len(self.classes_)) / len(targets)

    def _answers(self, graphs: GraphSet) -> NDArray[np.float64]:
        return np.tile(self.frequencies_, (len(graphs), 1))
