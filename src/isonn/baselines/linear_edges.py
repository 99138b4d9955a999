"""The weights of the edges, added up with a sign: what aligned graphs give away without any structure."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.linear_model import Ridge

from isonn.errors import InputError
from isonn.estimator import GraphClassifier
from isonn.graphs.graph import GraphSet

#: Fisher's z of a correlation of 1 is infinite; this is 7.25.
LARGEST = 1 - 1e-6


class LinearEdgesClassifier(GraphClassifier):
    """Ridge regression on the adjacency matrix, for graphs whose node i is the same thing in every graph.

    The plainest of connectome classifiers, as in Dadi et al., "Benchmarking functional connectome-based predictive
    models" (NeuroImage 2019), who find linear models on vectorised matrices hard to beat; the paper does not have
    it. Features are the cells on and above the diagonal, or all cells when some training graph is not symmetric;
    smaller graphs are padded with zeros. Correlations are transformed by Fisher's z = arctanh(r): training weights
    are taken for correlations when they have both signs and none is outside [-1, 1] (``fisher="auto"``). One ridge
    regression per class (or per column of an indicator matrix) has the target 1 for the class and -1 for the others;
    the probabilities are the softmax of their outputs (with two classes or an indicator matrix: the logistic
    function of twice the output), which keeps their order but is not calibrated.

    Args:
        alpha: strength of the L2 penalty.
        fisher: "auto", True or False.
        size: nodes to leave room for; None is the largest training graph.
    """

    _fixed_size = True

    def __init__(self, alpha: float = 1.0, fisher: bool | str = "auto", size: int | None = None) -> None:
        self.alpha = alpha
        self.fisher = fisher
        self.size = size

    def _check_params(self) -> None:
        """Refuse a penalty that is none."""
        if isinstance(self.alpha, bool) or not isinstance(self.alpha, Real) or not 0 < self.alpha < np.inf:
            raise InputError(f"alpha={self.alpha!r} is no penalty; use a number above 0")
        if not (self.fisher == "auto" or isinstance(self.fisher, bool)):
            raise InputError(f'fisher={self.fisher!r} is unknown; use "auto", True or False')

    def _fit(self, graphs: GraphSet, targets: NDArray[Any]) -> None:
        weights = np.ones(1) if graphs.weights is None else graphs.weights
        correlations = bool(weights.min() < 0 < weights.max() and np.abs(weights).max() <= 1)
        self.fisher_ = correlations if self.fisher == "auto" else bool(self.fisher)
        matrices = graphs.dense(self.size_, np.float64)
        difference = np.abs(matrices - matrices.transpose(0, 2, 1)).max()
        self.symmetric_ = bool(difference <= 1e-6 * np.abs(matrices).max())  # numpy's corrcoef is, but for rounding
        wanted = targets if self.multilabel_ else np.eye(len(self.classes_))[targets]
        self.ridge_ = Ridge(alpha=self.alpha).fit(self._features(graphs), 2.0 * wanted - 1)

    def _features(self, graphs: GraphSet) -> NDArray[np.float64]:
        matrices = graphs.dense(self.size_, np.float64)
        rows, columns = (
            np.triu_indices(self.size_) if self.symmetric_ else np.indices(matrices.shape[1:]).reshape(2, -1)
        )
        cells: NDArray[np.float64] = matrices[:, rows, columns]
        return np.arctanh(np.clip(cells, -LARGEST, LARGEST)) if self.fisher_ else cells

    def _answers(self, graphs: GraphSet) -> NDArray[np.float64]:
        outputs = self.ridge_.predict(self._features(graphs))
        probabilities: NDArray[np.float64] = expit(2 * outputs) if self.multilabel_ else softmax(outputs, axis=1)
        return probabilities
