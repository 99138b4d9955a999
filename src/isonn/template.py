"""A learned template, as people meet it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import MissingDependencyError

if TYPE_CHECKING:
    import networkx


@dataclass(frozen=True, eq=False)
class Template:
    """One learned template.

    Attributes:
        adjacency: ndarray of shape (k, k).
        node_labels: ndarray of shape (k,), the likeliest label of each node, or None for a template without labels.
        edge_labels: ndarray of shape (k, k), the likeliest label of each edge (value above 0.5), else None; or None.
        degrees: ndarray of shape (k,), the degrees its nodes should have in the whole graph, or None.
        label_weights: ndarray of shape (k, labels), what each label counts at each node, or None.
    """

    adjacency: NDArray[np.float32]
    node_labels: NDArray[Any] | None = None
    edge_labels: NDArray[Any] | None = None
    degrees: NDArray[np.float32] | None = None
    label_weights: NDArray[np.float32] | None = None

    @property
    def k(self) -> int:
        """Number of nodes."""
        return len(self.adjacency)

    def to_networkx(self, threshold: float = 0.5) -> networkx.DiGraph:
        """The template as a NetworkX graph: an edge wherever a cell exceeds the threshold, its value as the weight."""
        try:
            import networkx
        except ImportError as error:
            raise MissingDependencyError("to_networkx needs networkx; pip install networkx") from error
        graph = networkx.DiGraph()
        for node in range(self.k):
            graph.add_node(node, **({} if self.node_labels is None else {"label": self.node_labels[node]}))
        for row, column in np.argwhere(self.adjacency > threshold).tolist():
            graph.add_edge(row, column, weight=float(self.adjacency[row, column]))
        return graph
