"""The simplest baselines: majority class, graph size and node degrees. Other methods should beat these.

`FeatureClassifier` and `FeatureRegressor` are linear models on a few numbers per graph. A method is a mixin class with
`_features`, combined with either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler

from isonn.baselines.shapes import linked_pairs
from isonn.errors import InputError
from isonn.estimator import GraphClassifier, GraphEstimator, GraphRegressor
from isonn.graphs.columns import count_components, weights_of
from isonn.graphs.graph import GraphSet
from isonn.packing import Floats


class MajorityClassifier(GraphClassifier):
    """Predict the most frequent training class for every graph.

    Probabilities are the class frequencies. Ties go to the first class in ``classes_``, so on balanced data with two
    classes the F1 of the larger one is 0. Columns of an indicator matrix are predicted separately.

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
    """Predict the mean of the training numbers for every graph, which has an R² of 0.

    Example:
        >>> MajorityRegressor().fit(np.zeros((3, 2, 2)), [1.0, 2.0, 6.0]).predict(np.zeros((1, 4, 4))).tolist()
        [3.0]
    """

    def _fit(self, graphs: GraphSet, targets: NDArray[Any]) -> None:
        self.means_ = np.nanmean(targets, axis=0)

    def _answers(self, graphs: GraphSet) -> NDArray[np.float64]:
        return self.target_.link(np.tile(self.means_, (len(graphs), 1)))


class _Features(GraphEstimator):
    """Shared by the classifier and the regressor."""

    #: Whether features are standardised.
    _standardised = True

    def _prepare(self, graphs: GraphSet, targets: NDArray[Any]) -> None:
        """Learn anything `_features` needs from the training graphs; nothing by default."""

    def _features(self, graphs: GraphSet) -> Floats:
        raise TypeError(f"{type(self).__name__} does not implement _features")

    def _learn_features(self, graphs: GraphSet, targets: NDArray[Any]) -> Floats:
        self._prepare(graphs, targets)
        self.scaler_ = StandardScaler() if self._standardised else None
        features = self._features(graphs)
        return features if self.scaler_ is None else np.asarray(self.scaler_.fit_transform(features))

    def _new_features(self, graphs: GraphSet) -> Floats:
        features = self._features(graphs)
        return features if self.scaler_ is None else np.asarray(self.scaler_.transform(features))


class FeatureClassifier(_Features, GraphClassifier):
    """A classifier on ``_features(graphs)``, shape (g, d); by default logistic regression (L2, C = 1).

    The solver is deterministic, so there is no ``random_state``. Each column of an indicator matrix has its own model,
    fitted to the graphs with a known label; a column that is constant in training is predicted as constant.
    """

    _supports_gaps = True

    def _model(self, features: Any) -> Any:
        return LogisticRegression(max_iter=1000)

    def _fit(self, graphs: GraphSet, targets: NDArray[Any]) -> None:
        features = self._learn_features(graphs, targets)
        self.models_ = [self._column(features, column) for column in (targets.T if self.multilabel_ else [targets])]

    def _column(self, features: Floats, column: NDArray[Any]) -> Any:
        measured = ~np.isnan(column)
        features, codes = features[measured], column[measured].astype(np.int64)
        return float(codes[0]) if (codes == codes[0]).all() else self._model(features).fit(features, codes)

    def _answers(self, graphs: GraphSet) -> Floats:
        features = self._new_features(graphs)
        columns = [
            np.full((features.shape[0], 2), model) if isinstance(model, float) else model.predict_proba(features)
            for model in self.models_
        ]
        return np.column_stack([column[:, 1] for column in columns]) if self.multilabel_ else columns[0]


class FeatureRegressor(_Features, GraphRegressor):
    """A regressor on ``_features(graphs)``, shape (g, d); by default ridge regression (alpha = 1).

    Each column of ``y`` has its own model, fitted to the graphs with a known value.
    """

    def _model(self, features: Any) -> Any:
        return Ridge()

    def _fit(self, graphs: GraphSet, targets: NDArray[Any]) -> None:
        features = self._learn_features(graphs, targets)
        self.models_ = []
        for column in targets.T:
            measured = ~np.isnan(column)
            self.models_.append(self._model(features[measured]).fit(features[measured], column[measured]))

    def _answers(self, graphs: GraphSet) -> Floats:
        features = self._new_features(graphs)
        return self.target_.link(np.column_stack([model.predict(features) for model in self.models_]))


def margins_as_probabilities(margins: Floats) -> Floats:
    """Return the logistic function of the margins of two classes, or the softmax of those of several, (g, classes).

    Example:
        >>> margins_as_probabilities(np.array([0.0])).tolist()
        [[0.5, 0.5]]
    """
    if margins.ndim > 1:
        return np.asarray(softmax(margins, axis=1))
    positive = expit(margins)
    return np.column_stack([1 - positive, positive])


class _GraphSize:
    def _features(self, graphs: GraphSet) -> NDArray[np.float64]:
        links = linked_pairs(graphs)
        edges = np.bincount(links.graph, minlength=len(graphs))
        cycles = edges - graphs.sizes + count_components(graphs)
        return np.column_stack([graphs.sizes, edges, cycles]).astype(np.float64)


class GraphSizeClassifier(_GraphSize, FeatureClassifier):
    """Logistic regression on the numbers of nodes, edges and independent cycles of a graph.

    Directions and weights of edges are ignored, and a loop is an edge. The number of independent cycles is edges -
    nodes + connected components. A method that uses structure should beat this one; on MUTAG the paper's model does
    not.

    Example:
        >>> triangle = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
        >>> path = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
        >>> GraphSizeClassifier().fit([triangle, path], ["ring", "chain"]).predict([triangle]).tolist()
        ['ring']
    """


class GraphSizeRegressor(_GraphSize, FeatureRegressor):
    """Ridge regression on the numbers of nodes, edges and independent cycles of a graph.

    Example:
        >>> graphs = isonn.load("MUTAG")
        >>> round(GraphSizeRegressor().fit(graphs, graphs.sizes).score(graphs, graphs.sizes), 2)
        1.0
    """


@dataclass(eq=False, repr=False)
class _DegreeHistogram(GraphEstimator):
    bins: int = 32

    def _check_params(self) -> None:
        if not isinstance(self.bins, (int, np.integer)) or isinstance(self.bins, bool) or self.bins < 2:
            raise InputError(f"bins={self.bins!r} is not a valid number of bins; use an integer >= 2")

    def _prepare(self, graphs: GraphSet, targets: NDArray[Any]) -> None:
        self.weighted_ = graphs.weights is not None
        if self.weighted_:
            quantiles = np.quantile(strengths(graphs), np.linspace(0, 1, self.bins + 1)[1:-1])
            self.edges_ = np.unique(quantiles)
        else:
            self.edges_ = np.arange(1, self.bins, dtype=np.float64)

    def _features(self, graphs: GraphSet) -> NDArray[np.float64]:
        values: NDArray[Any] = strengths(graphs) if self.weighted_ else degrees(graphs)
        bins = len(self.edges_) + 1
        owner = np.repeat(np.arange(len(graphs)), graphs.sizes)
        place = owner * bins + np.searchsorted(self.edges_, values, side="right")
        return np.bincount(place, minlength=len(graphs) * bins).reshape(len(graphs), bins).astype(np.float64)


class DegreeHistogramClassifier(_DegreeHistogram, FeatureClassifier):
    """Logistic regression on the histogram of node degrees: the number of nodes with 0, 1, 2, ... neighbours.

    A neighbour is another node with an edge in either direction. The last bin contains all nodes with ``bins - 1`` or
    more neighbours. Weighted graphs are often complete (every brain region correlates with every other), so all degrees
    are equal. For weighted training graphs, the strength of a node replaces its degree: the sum of the absolute weights
    of its edges, binned at the quantiles of the training nodes, with open first and last bins.

    Args:
        bins: number of bins, at least 2.

    Example:
        >>> star, path = np.zeros((4, 4)), np.diag([1, 1, 1], 1)
        >>> star[0, 1:] = 1
        >>> clf = DegreeHistogramClassifier().fit([star + star.T, path + path.T], ["star", "path"])
        >>> clf.predict([star + star.T]).tolist()
        ['star']
    """


class DegreeHistogramRegressor(_DegreeHistogram, FeatureRegressor):
    """Ridge regression on the histogram of node degrees; see `DegreeHistogramClassifier`.

    Args:
        bins: number of bins, at least 2.

    Example:
        >>> graphs = isonn.load("MUTAG")
        >>> round(DegreeHistogramRegressor().fit(graphs, graphs.sizes).score(graphs, graphs.sizes), 2)
        1.0
    """


def degrees(graphs: GraphSet) -> NDArray[np.int64]:
    """Return the number of neighbours of each node of the set, without itself, shape (nodes,)."""
    ends = linked_pairs(graphs).ends
    ends = ends[ends[:, 0] != ends[:, 1]]
    return np.bincount(ends.ravel(), minlength=int(graphs.node_offsets[-1]))


def strengths(graphs: GraphSet) -> NDArray[np.float64]:
    """Return the summed absolute edge weights of each node, shape (nodes,); directed edges count half at either end."""
    loop = graphs.edges[:, 0] == graphs.edges[:, 1]
    weights = np.abs(weights_of(graphs))
    nodes = graphs.edges + graphs.node_offsets[graphs.graph_of_cell][:, None]
    node, half = nodes.ravel(), np.repeat(np.where(loop, 0.0, weights / 2), 2)
    # summed in order of size, because the last digit must not depend on node order: bins end at such sums
    order = np.lexsort((half, node))
    return np.asarray(np.bincount(node[order], half[order], minlength=int(graphs.node_offsets[-1])), dtype=np.float64)
