"""Edits of graphs: keep or delete nodes, change edges and labels."""

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


def set_edge(graph: Graph, first: int, second: int, weight: float = 1.0, label: Any = None) -> Graph:
    """Return the graph with an edge of this weight between two nodes, or without the edge if the weight is 0.

    Args:
        graph: an undirected graph.
        first, second: the nodes.
        weight: the weight of the edge.
        label: the label of the edge, in graphs with edge labels; None keeps that of the edge, or takes the first
            label of the graph.

    Example:
        >>> path = Graph(3, [[0, 1], [1, 0], [1, 2], [2, 1]])
        >>> set_edge(path, 0, 2).edges.tolist()
        [[0, 1], [0, 2], [1, 0], [1, 2], [2, 0], [2, 1]]
    """
    for node in (first, second):
        check_node(graph, node)
    if first == second:
        raise InputError(f"an edge joins two nodes, got node {first} twice")
    same = (np.sort(graph.edges, axis=1) == sorted((first, second))).all(axis=1)
    labels = graph.edge_labels
    if labels is not None and label is None:
        label = next(iter([*labels[same].tolist(), *labels.tolist()]), None)
        if label is None and weight:
            raise InputError("the edges of this graph have labels; give the label of the new edge")
    added = 2 * (weight != 0)
    both = np.array([[first, second], [second, first]], dtype=np.int64)
    edges = np.concatenate([graph.edges[~same], both[:added]])
    order = np.lexsort(edges.T[::-1])
    weights = np.ones(len(graph.edges)) if graph.weights is None else graph.weights
    weights = np.concatenate([weights[~same], [float(weight)] * added])[order]
    if labels is not None:
        labels = np.array([*labels[~same].tolist(), *[label] * added], dtype=labels.dtype)[order]
    return graph.but_with(
        edges=edges[order],
        weights=None if (weights == 1).all() else weights,
        edge_labels=labels,
        row={},
        id=None,
    )


def add_node(graph: Graph, label: Any = None) -> Graph:
    """Return the graph with another node, which is the last and has no edges.

    Args:
        graph: a graph without node attributes.
        label: its label, in graphs with node labels; None takes that of the first node.

    Example:
        >>> add_node(Graph(1, np.zeros((0, 2), dtype=int), node_labels=["A"]), "B").node_labels.tolist()
        ['A', 'B']
    """
    if graph.node_attributes is not None:
        raise InputError("the nodes of this graph have attributes, which a new node lacks; edit its edges instead")
    labels, names = graph.node_labels, graph.node_names
    if labels is not None:
        labels = np.array([*labels.tolist(), labels[0].item() if label is None else label])
    if names is not None:
        names = np.array([*names.tolist(), f"new {graph.n}"])
    return graph.but_with(n=graph.n + 1, node_labels=labels, node_names=names, row={}, id=None)


def set_label(graph: Graph, node: int, label: Any) -> Graph:
    """Return the graph with another label of a node.

    Example:
        >>> set_label(Graph(1, np.zeros((0, 2), dtype=int), node_labels=["A"]), 0, "B").node_labels.tolist()
        ['B']
    """
    check_node(graph, node)
    if graph.node_labels is None:
        raise InputError("the nodes of this graph have no labels; edit its nodes and edges instead")
    labels = graph.node_labels.tolist()
    labels[node] = label
    return graph.but_with(node_labels=np.array(labels), row={}, id=None)


def check_node(graph: Graph, node: int) -> None:
    """Raise `InputError` if the graph has no such node."""
    if not 0 <= node < graph.n:
        raise InputError(f"the graph has no node {node}; use 0 to {graph.n - 1}")
