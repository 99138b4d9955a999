"""How large a graph is, and nothing else."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from isonn.baselines.logistic import LogisticGraphClassifier
from isonn.baselines.shapes import components_of, links_of
from isonn.graphs.graph import GraphSet


class GraphSizeClassifier(LogisticGraphClassifier):
    """Logistic regression on the numbers of nodes, edges and independent cycles of a graph.

    An edge in either direction or in both counts once, whatever its weight, and a loop counts as an edge;
    independent cycles are edges - nodes + connected pieces. A method that reads structure has to beat this one:
    on MUTAG the paper's model does not.

    Example:
        >>> triangle = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
        >>> path = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
        >>> GraphSizeClassifier().fit([triangle, path], ["ring", "chain"]).predict([triangle]).tolist()
        ['ring']
    """

    def _features(self, graphs: GraphSet) -> NDArray[np.float64]:
        links = links_of(graphs)
        edges = np.bincount(links.graph, minlength=len(graphs))
        cycles = edges - graphs.sizes + components_of(graphs, links)
        return np.column_stack([graphs.sizes, edges, cycles]).astype(np.float64)
