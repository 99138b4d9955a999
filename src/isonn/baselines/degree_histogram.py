"""How many nodes have how many neighbours, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.baselines.features import FeatureClassifier, FeatureRegressor
from isonn.baselines.shapes import links_of
from isonn.errors import InputError
from isonn.graphs.graph import GraphSet


class _DegreeHistogram:
    bins: int

    def _check_params(self) -> None:
        if not isinstance(self.bins, (int, np.integer)) or isinstance(self.bins, bool) or self.bins < 2:
            raise InputError(f"bins={self.bins!r} makes no histogram; use an integer >= 2")

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
