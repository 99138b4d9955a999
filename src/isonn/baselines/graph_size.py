"""How large a graph is, and nothing else."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from isonn.baselines.features import FeatureClassifier, FeatureRegressor
from isonn.baselines.shapes import components_of, links_of
from isonn.graphs.graph import GraphSet


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
