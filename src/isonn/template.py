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
        node_labels: ndarray of shape (k,), or None for a template without labels.
    """

    adjacency: NDArray[np.float32]
    node_labels: NDArray[Any] | None = None

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
