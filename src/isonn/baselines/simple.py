"""The simplest methods: the majority class, the size of a graph, its degrees. Others have to beat these.

`FeatureClassifier` and `FeatureRegressor` are linear models on a few numbers per graph. A method is a class with
`_features`, mixed into both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler

from isonn.baselines.shapes import components_of, links_of
from isonn.errors import InputError
from isonn.estimator import GraphClassifier, GraphEstimator, GraphRegressor
from isonn.graphs.graph import GraphSet

Floats = NDArray[np.float64]


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


class _GraphSize:
    def _features(self, graphs: GraphSet) -> NDArray[np.float64]:
        links = links_of(graphs)
        edges = np.bincount(links.graph, minlength=len(graphs))
        cycles = edges - graphs.sizes + components_of(graphs, links)
        return np.column_stack([graphs.sizes, edges, cycles]).astype(np.float64)


class GraphSizeClassifier(_GraphSize, FeatureClassifier):
    """Logistic regression on the numbers of nodes, edges and independent cycles of a graph.

    An edge in either direction or in both counts once, whatever its weight, and a loop counts as an edge; independent
    cycles are edges - nodes + connected components. A method that reads structure has to beat this one: on MUTAG the
    paper's model does not.

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


class _DegreeHistogram:
    bins: int

    def _check_params(self) -> None:
        if not isinstance(self.bins, (int, np.integer)) or isinstance(self.bins, bool) or self.bins < 2:
            raise InputError(f"bins={self.bins!r} is not a number of bins; use an integer >= 2")

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
    """Logistic regression on the histogram of node degrees: nodes with 0, 1, 2, ... neighbours.

    A neighbour is another node with an edge in either direction. The last bin is open: it holds every node with
    ``bins - 1`` neighbours or more. Weighted training graphs are often complete (every brain region correlates with
    every other), so that all degrees are equal; with weights the strength of a node takes the place of its degree: the
    sum of the absolute weights of its edges, binned at the quantiles of the training nodes, the first and the last bin
    open.

    Args:
        bins: number of bins, at least 2.

    Example:
        >>> star, path = np.zeros((4, 4)), np.diag([1, 1, 1], 1)
        >>> star[0, 1:] = 1
        >>> clf = DegreeHistogramClassifier().fit([star + star.T, path + path.T], ["star", "path"])
        >>> clf.predict([star + star.T]).tolist()
        ['star']
    """

    def __init__(self, bins: int = 32) -> None:
        self.bins = bins


class DegreeHistogramRegressor(_DegreeHistogram, FeatureRegressor):
    """Ridge regression on the histogram of node degrees; see `DegreeHistogramClassifier`.

    Args:
        bins: number of bins, at least 2.

    Example:
        >>> graphs = isonn.load("MUTAG")
        >>> round(DegreeHistogramRegressor().fit(graphs, graphs.sizes).score(graphs, graphs.sizes), 2)
        1.0
    """

    def __init__(self, bins: int = 32) -> None:
        self.bins = bins


def degrees(graphs: GraphSet) -> NDArray[np.int64]:
    """ndarray of shape (nodes,): neighbours of each node of the set, itself not counted."""
    ends = links_of(graphs).ends
    ends = ends[ends[:, 0] != ends[:, 1]]
    return np.bincount(ends.ravel(), minlength=int(graphs.node_offsets[-1]))


def strengths(graphs: GraphSet) -> NDArray[np.float64]:
    """ndarray of shape (nodes,): absolute weight of each node's edges; of a directed one, half at either end."""
    loop = graphs.edges[:, 0] == graphs.edges[:, 1]
    weights = np.ones(len(loop)) if graphs.weights is None else np.abs(graphs.weights)
    nodes = graphs.edges + graphs.node_offsets[graphs.graph_of_cell][:, None]
    node, half = nodes.ravel(), np.repeat(np.where(loop, 0.0, weights / 2), 2)
    # added by size: in the order of nodes the last digit would depend on it, and bins end where such sums are
    order = np.lexsort((half, node))
    return np.asarray(np.bincount(node[order], half[order], minlength=int(graphs.node_offsets[-1])), dtype=np.float64)
