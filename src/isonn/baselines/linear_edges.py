"""Linear models on edge weights, for aligned graphs, where node i has the same meaning in every graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.linear_model import Ridge
from sklearn.svm import SVC

from isonn.baselines.simple import FeatureRegressor, margins_as_probabilities
from isonn.confounds import Adjustment
from isonn.errors import InputError
from isonn.estimator import GraphClassifier, GraphEstimator
from isonn.graphs.graph import GraphSet
from isonn.packing import Floats

#: Correlations are clipped here, where Fisher's z is 7.25; z of 1 is infinite.
LARGEST = 1 - 1e-6


@dataclass(kw_only=True, eq=False, repr=False)
class EdgeEstimator(GraphEstimator):
    """Base of methods on edge weights: the cells on and above the diagonal, or all cells if graphs are not symmetric.

    Confounds of the graphs are regressed out of the features, and differences between sites removed, as learned from
    the training graphs. Subclasses are dataclasses: their fields are the constructor arguments.
    """

    _fixed_size = True
    _standardised = False
    takes_confounds = True

    fisher: bool | str = "auto"
    size: int | None = None
    harmonize: str | None = None

    def _check_params(self) -> None:
        if not (self.fisher == "auto" or isinstance(self.fisher, bool)):
            raise InputError(f'fisher={self.fisher!r} is unknown; use "auto", True or False')
        for name in ("alpha", "C", "threshold"):
            value = getattr(self, name, 1.0)
            if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < np.inf:
                raise InputError(f"{name} must be a number above 0, got {value!r}")

    def _prepare(self, graphs: GraphSet, targets: NDArray[Any]) -> None:
        weights = np.ones(1) if graphs.weights is None else graphs.weights
        correlations = bool(weights.min() < 0 < weights.max() and np.abs(weights).max() <= 1)
        self.fisher_ = correlations if self.fisher == "auto" else bool(self.fisher)
        matrices = graphs.dense(self.size_, np.float64)
        difference = np.abs(matrices - matrices.transpose(0, 2, 1)).max()
        self.symmetric_ = bool(difference <= 1e-6 * np.abs(matrices).max())  # as of numpy's corrcoef, up to rounding
        self.adjustment_, _ = Adjustment.learn(graphs, self._weights_of(graphs), site=self.harmonize)

    @property
    def _cells(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the row and column of each feature."""
        if self.symmetric_:
            return np.triu_indices(self.size_)
        rows, columns = np.indices((self.size_, self.size_)).reshape(2, -1)
        return rows, columns

    def _features(self, graphs: GraphSet) -> Floats:
        return self.adjustment_.apply(graphs, self._weights_of(graphs))

    def _weights_of(self, graphs: GraphSet) -> Floats:
        """Return the features with what confounds explain of them."""
        cells: Floats = graphs.dense(self.size_, np.float64)[(slice(None), *self._cells)]
        return np.arctanh(np.clip(cells, -LARGEST, LARGEST)) if self.fisher_ else cells


class SignClassifier(EdgeEstimator, GraphClassifier):
    """A regression of 1 for a class and -1 for the others, one column per class; ``_model`` makes it."""

    def _model(self, features: Any) -> Any:
        raise TypeError(f"{type(self).__name__} does not implement _model")

    def _fit(self, graphs: GraphSet, targets: NDArray[Any]) -> None:
        self._prepare(graphs, targets)
        wanted = targets if self.multilabel_ else np.eye(len(self.classes_))[targets]
        features = self._features(graphs)
        self.model_ = self._model(features).fit(features, 2.0 * wanted - 1)

    def _answers(self, graphs: GraphSet) -> Floats:
        outputs = self.model_.predict(self._features(graphs))
        return np.asarray(expit(2 * outputs) if self.multilabel_ else softmax(outputs, axis=1))


@dataclass(eq=False, repr=False)
class LinearEdgesClassifier(SignClassifier):
    """Ridge regression on the adjacency matrix, for aligned graphs.

    The simplest connectome classifier, as in Dadi et al., "Benchmarking functional connectome-based predictive models"
    (NeuroImage 2019), who find linear models on vectorised matrices hard to beat. It is not in the IsoNN paper.
    Features are the cells on and above the diagonal, or all cells if some training graph is not symmetric. Smaller
    graphs are padded with zeros. Correlations are transformed by Fisher's z = arctanh(r). With ``fisher="auto"``,
    weights are treated as correlations if training weights have both signs and lie in [-1, 1]. One ridge regression per
    class (or per column of an indicator matrix) has the target 1 for the class and -1 for the others. Probabilities are
    the softmax of the outputs (for an indicator matrix, the logistic function of twice the output) and are not
    calibrated.

    Args:
        alpha: strength of the L2 penalty.
        fisher: "auto", True or False.
        size: largest number of nodes of a graph; None uses the largest training graph.
        harmonize: a column of the table, such as "site", whose differences in mean and spread are removed (ComBat).

    Example:
        >>> draw = np.random.default_rng(0)
        >>> y = np.arange(40) % 2
        >>> matrices = draw.normal(size=(40, 6, 6))
        >>> matrices[:, 1, 4] += 4 * y
        >>> matrices += matrices.transpose(0, 2, 1)
        >>> LinearEdgesClassifier().fit(matrices, y).score(matrices, y) > 0.9
        True
    """

    alpha: float = 1.0

    def _model(self, features: Any) -> Any:
        return Ridge(alpha=self.alpha)


@dataclass(eq=False, repr=False)
class LinearEdgesRegressor(EdgeEstimator, FeatureRegressor):
    """Ridge regression of numbers on the adjacency matrix, for aligned graphs; see `LinearEdgesClassifier`.

    Args:
        alpha: strength of the L2 penalty.
        fisher, size, harmonize: as in `LinearEdgesClassifier`.

    Example:
        >>> draw = np.random.default_rng(0)
        >>> y = draw.normal(size=40)
        >>> matrices = draw.normal(size=(40, 6, 6))
        >>> matrices[:, 1, 4] += 4 * y
        >>> matrices += matrices.transpose(0, 2, 1)
        >>> LinearEdgesRegressor().fit(matrices, y).predict(matrices).shape
        (40,)
    """

    alpha: float = 1.0

    def _model(self, features: Any) -> Any:
        return Ridge(alpha=self.alpha)


@dataclass(eq=False, repr=False)
class EdgesSVMClassifier(EdgeEstimator, GraphClassifier):
    """A linear support vector machine on the adjacency matrix, for aligned graphs.

    Features are those of `LinearEdgesClassifier`. Probabilities are a logistic function or softmax of the decision
    function and are not calibrated.

    Args:
        C: inverse strength of the penalty.
        fisher, size, harmonize: as in `LinearEdgesClassifier`.

    Example:
        >>> draw = np.random.default_rng(0)
        >>> y = np.arange(40) % 2
        >>> matrices = draw.normal(size=(40, 6, 6))
        >>> matrices[:, 1, 4] += 4 * y
        >>> matrices += matrices.transpose(0, 2, 1)
        >>> EdgesSVMClassifier().fit(matrices, y).score(matrices, y) > 0.9
        True
    """

    _supports_multilabel = False

    C: float = 1.0

    def _fit(self, graphs: GraphSet, targets: NDArray[Any]) -> None:
        self._prepare(graphs, targets)
        self.svm_ = SVC(C=self.C, kernel="linear").fit(self._features(graphs), targets)

    def _answers(self, graphs: GraphSet) -> Floats:
        return margins_as_probabilities(self.svm_.decision_function(self._features(graphs)))


@dataclass(eq=False, repr=False)
class TangentSVMClassifier(EdgesSVMClassifier):
    """A linear support vector machine in the tangent space of correlation matrices, for connectomes.

    Correlation matrices are points of a curved space. They are projected to its tangent space at the mean of the
    training subjects, as in Varoquaux et al., "Detection of brain functional-connectivity difference in post-stroke
    patients using group-level covariance modeling" (MICCAI 2010), and in nilearn's
    ``ConnectivityMeasure(kind="tangent")`` for standardised time series. The diagonal, which isonn's connectomes do not
    store, is set to 1.

    Every matrix must be a symmetric positive definite correlation matrix without missing regions.

    Args:
        C: inverse strength of the penalty.
        size: number of regions; None uses the largest training graph.
        harmonize: as in `LinearEdgesClassifier`.

    Example:
        >>> together, apart = [[1, 0.8], [0.8, 1]], [[1, -0.2], [-0.2, 1]]
        >>> TangentSVMClassifier().fit([together, apart] * 4, ["yes", "no"] * 4).predict([together, apart])
        array(['yes', 'no'], dtype='<U3')
    """

    fisher: bool | str = field(default=False, init=False)

    @staticmethod
    def suits(graphs: GraphSet) -> bool:
        """Return whether every graph is a positive definite correlation matrix over the same regions."""
        if not (graphs.sizes == graphs.sizes[0]).all():
            return False
        return _not_definite(_correlations(graphs, int(graphs.sizes[0]))) is None

    def _prepare(self, graphs: GraphSet, targets: NDArray[Any]) -> None:
        mean = _geometric_mean(self._matrices(graphs))
        self.whitening_ = _on_eigenvalues(mean, lambda values: values**-0.5)
        super()._prepare(graphs, targets)

    def _matrices(self, graphs: GraphSet) -> Floats:
        matrices = _correlations(graphs, self.size_)
        wrong = _not_definite(matrices)
        if wrong is not None:
            name = f"graph {wrong} of {len(graphs)}" if graphs.ids is None else f"graph {str(graphs.ids[wrong])!r}"
            raise InputError(
                f"{name} is not a positive definite correlation matrix; use EdgesSVMClassifier (edges-svm)"
            )
        return matrices

    def _weights_of(self, graphs: GraphSet) -> Floats:
        whitened = self.whitening_ @ self._matrices(graphs) @ self.whitening_
        tangent = _on_eigenvalues(whitened, np.log)
        rows, columns = np.triu_indices(self.size_)
        return np.asarray(tangent[:, rows, columns] * np.where(rows == columns, 0.5**0.5, 1.0))


def _correlations(graphs: GraphSet, size: int) -> Floats:
    matrices = graphs.dense(size, np.float64)
    matrices[:, np.arange(size), np.arange(size)] = 1.0
    return matrices


def _not_definite(matrices: Floats) -> int | None:
    """Return the index of the first matrix that is not a positive definite correlation matrix."""
    symmetric = np.abs(matrices - matrices.transpose(0, 2, 1)).max(axis=(1, 2)) <= 1e-6
    wrong = ~symmetric | (np.abs(matrices).max(axis=(1, 2)) > 1 + 1e-6) | (np.linalg.eigvalsh(matrices)[:, 0] < 1e-6)
    return int(wrong.argmax()) if wrong.any() else None


def _on_eigenvalues(matrices: Floats, function: Callable[[Floats], Floats]) -> Floats:
    """Apply a function, such as the logarithm, to the eigenvalues of symmetric matrices."""
    values, vectors = np.linalg.eigh(matrices)
    return np.asarray((vectors * function(values)[..., None, :]) @ np.swapaxes(vectors, -1, -2))


def _geometric_mean(matrices: Floats) -> Floats:
    """Return the matrix around which the logarithms of all matrices sum to 0, by descent with step halving."""
    mean, step, last = matrices.mean(axis=0), 1.0, np.inf
    for _ in range(50):
        root, inverse = _on_eigenvalues(mean, np.sqrt), _on_eigenvalues(mean, lambda values: values**-0.5)
        rest = _on_eigenvalues(inverse @ matrices @ inverse, np.log).mean(axis=0)
        size = float(np.linalg.norm(rest))
        if size < 1e-7 * len(mean):
            break
        step, last = (step, size) if size < last else (step / 2, last)
        mean = root @ _on_eigenvalues(step * rest, np.exp) @ root
    return np.asarray(mean)
