"""The same graphs with their nodes in another order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from isonn.data.graphs import GraphSet


def renumbered(graphs: GraphSet, generator: np.random.Generator) -> GraphSet:
    """Every graph with its nodes in an order drawn at random; labels, attributes, names and weights go along.

    Example:
        >>> path = isonn.as_graphset([np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])])
        >>> int(renumbered(path, np.random.default_rng(0))[0].adjacency.sum())
        4
    """
    nodes = int(graphs.node_offsets[-1])
    owner = np.repeat(np.arange(len(graphs)), graphs.sizes)
    start = graphs.node_offsets[:-1]
    old = np.lexsort((generator.random(nodes), owner))  # the node, over all graphs, that takes each place
    new = np.empty(nodes, dtype=np.int64)
    new[old] = np.arange(nodes)
    cell_owner = graphs.graph_of_cell
    edges = new[graphs.edges + start[cell_owner, None]] - start[cell_owner, None]
    order = np.lexsort((edges[:, 1], edges[:, 0], cell_owner))
    return replace(
        graphs,
        edges=edges[order],
        weights=None if graphs.weights is None else graphs.weights[order],
        edge_labels=None if graphs.edge_labels is None else graphs.edge_labels[order],
        node_labels=None if graphs.node_labels is None else graphs.node_labels[old],
        node_attributes=None if graphs.node_attributes is None else graphs.node_attributes[old],
        node_names=None if graphs.node_names is None else graphs.node_names[old],
    )
