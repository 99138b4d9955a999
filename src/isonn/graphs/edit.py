"""Parts of a graph as graphs: keep or delete some of its nodes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import InputError
from isonn.graphs.graph import Graph
from isonn.packing import IntArray


def induced(graph: Graph, nodes: Iterable[int]) -> Graph:
    """Return the subgraph on some nodes, numbered in the order given.

    Example:
        >>> path = Graph(3, [[0, 1], [1, 0], [1, 2], [2, 1]], node_labels=["A", "B", "C"])
        >>> induced(path, [2, 1]).node_labels.tolist()
        ['C', 'B']
    """
    kept = np.fromiter(nodes, dtype=np.int64)
    if not len(kept):
        raise InputError("no node of the graph is left; keep at least one")
    place = np.full(graph.n, -1)
    place[kept] = np.arange(len(kept))
    edges = place[graph.edges]
    cells = np.flatnonzero((edges >= 0).all(axis=1))
    cells = cells[np.lexsort((edges[cells, 1], edges[cells, 0]))]

    def take(column: NDArray[Any] | None, rows: IntArray) -> NDArray[Any] | None:
        return None if column is None else column[rows]

    return graph.but_with(
        n=len(kept),
        edges=edges[cells].reshape(-1, 2),
        weights=take(graph.weights, cells),
        edge_labels=take(graph.edge_labels, cells),
        node_labels=take(graph.node_labels, kept),
        node_attributes=take(graph.node_attributes, kept),
        node_names=take(graph.node_names, kept),
    )


def delete_nodes(graph: Graph, nodes: Iterable[int]) -> Graph:
    """Return the graph without some nodes and their edges; the others keep their order.

    Example:
        >>> path = Graph(3, [[0, 1], [1, 0], [1, 2], [2, 1]])
        >>> delete_nodes(path, [0]).edges.tolist()
        [[0, 1], [1, 0]]
    """
    return induced(graph, np.setdiff1d(np.arange(graph.n), np.fromiter(nodes, dtype=np.int64)))
