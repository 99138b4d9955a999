"""The undirected shape under a set of graphs, as one big graph: what the counting baselines count."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from isonn.data.graphs import GraphSet, IntArray


class Links(NamedTuple):
    """Pairs of nodes with an edge in either direction, each once; a loop is a node paired with itself.

    Attributes:
        graph: ndarray of shape (l,): the graph of each link.
        ends: ndarray of shape (l, 2): its nodes, numbered through the whole set, smaller first.
    """

    graph: IntArray
    ends: IntArray


def links_of(graphs: GraphSet) -> Links:
    """Every link of every graph."""
    first = graphs.node_offsets[graphs.graph_of_cell]
    ends = np.sort(graphs.edges, axis=1) + first[:, None]
    # One integer per pair sorts many times faster than rows; nodes of a set are far fewer than 2**31.
    nodes = int(graphs.node_offsets[-1])
    key, cell = np.unique(ends[:, 0] * nodes + ends[:, 1], return_index=True)
    return Links(graphs.graph_of_cell[cell], np.column_stack([key // nodes, key % nodes]))


def components_of(graphs: GraphSet, links: Links) -> IntArray:
    """ndarray of shape (g,): connected pieces of each graph."""
    nodes = int(graphs.node_offsets[-1])
    ones = np.ones(len(links.graph), dtype=np.int8)
    _, piece = connected_components(coo_array((ones, (links.ends[:, 0], links.ends[:, 1])), (nodes, nodes)), False)
    _, some_node = np.unique(piece, return_index=True)
    owner = np.searchsorted(graphs.node_offsets, some_node, side="right") - 1
    return np.bincount(owner, minlength=len(graphs))
