"""Undirected, unweighted graphs without loops, for methods on plain labelled graphs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from isonn.errors import InputError
from isonn.graphs.graph import GraphSet
from isonn.packing import IntArray


class Shape(NamedTuple):
    """An undirected graph without weights and loops.

    Attributes:
        labels: ndarray of shape (n,), the label number of each node; all 0 if labels are not used.
        edges: ndarray of shape (m, 2), each edge once, smaller node first.
    """

    labels: IntArray
    edges: IntArray


#: Share of the pairs of nodes that are edges in graphs with weights.
DENSITY = 0.1


class ShapeReader:
    """Converts graphs to shapes in the same way as the training graphs.

    Node labels are used if the training graphs have them. Directions are ignored. With weights, only the strongest
    pairs are edges: the tenth of the n(n-1)/2 pairs of a graph with the largest absolute weights (the larger of both
    directions). Pairs that tie with the last are included, so that the choice does not depend on node order.

    Args:
        graphs: the training graphs.
        method: the estimator's name, for errors.
    """

    def __init__(self, graphs: GraphSet, method: str) -> None:
        self.method, self.labelled, self.weighted = method, graphs.node_labels is not None, graphs.weights is not None
        self.codes = _numbered(self._values(graphs), {})

    def read(self, graphs: GraphSet) -> list[Shape]:
        """Convert graphs to shapes; labels not seen in training get new numbers."""
        values, first = self._values(graphs), graphs.node_offsets
        codes = _numbered(values, self.codes)
        labels = np.array([codes[value] for value in values], dtype=np.int64)
        edges = self._edges_by_graph(graphs)
        return [Shape(labels[first[i] : first[i + 1]], ends - first[i]) for i, ends in enumerate(edges)]

    def _values(self, graphs: GraphSet) -> list[Any]:
        if not self.labelled:
            return [0] * int(graphs.node_offsets[-1])
        if graphs.node_labels is None:
            raise InputError(
                f"{graphs.name} has no node labels, but this {self.method} was fitted with them; give labels, or fit "
                "it to graphs without them"
            )
        values: list[Any] = graphs.node_labels.tolist()
        return values

    def _edges_by_graph(self, graphs: GraphSet) -> Iterator[IntArray]:
        links = linked_pairs(graphs)
        pairs = links.ends[:, 0] != links.ends[:, 1]
        ends, strength = links.ends[pairs], links.strength[pairs]
        cuts = np.searchsorted(links.graph[pairs], np.arange(len(graphs) + 1))
        for i, n in enumerate(graphs.sizes.tolist()):
            here = slice(cuts[i], cuts[i + 1])
            wanted = round(DENSITY * n * (n - 1) / 2)
            if self.weighted and 0 < wanted < cuts[i + 1] - cuts[i]:
                yield ends[here][strength[here] >= np.partition(strength[here], -wanted)[-wanted]]
            else:
                yield ends[here]


def _numbered(values: list[Any], numbers: Mapping[Any, int]) -> dict[Any, int]:
    codes = dict(numbers)
    new = set(values) - codes.keys()
    for value in sorted(new, key=lambda value: (type(value).__name__, value)):
        codes[value] = len(codes)
    return codes


# The undirected shapes of a set as one big graph, used by the counting baselines.


class LinkedPairs(NamedTuple):
    """Pairs of linked nodes, each once, ignoring direction; a loop pairs a node with itself.

    Attributes:
        graph: ndarray of shape (l,), the graph of each link.
        ends: ndarray of shape (l, 2), its nodes, numbered over the whole set, smaller first.
        strength: ndarray of shape (l,), its absolute weight, the larger of both directions.
    """

    graph: IntArray
    ends: IntArray
    strength: NDArray[np.float64]


def linked_pairs(graphs: GraphSet) -> LinkedPairs:
    """Return the links of all graphs."""
    first = graphs.node_offsets[graphs.graph_of_cell]
    ends = np.sort(graphs.edges, axis=1) + first[:, None]
    # One integer per pair sorts many times faster than rows; a set has far fewer than 2**31 nodes.
    nodes = int(graphs.node_offsets[-1])
    keys = ends[:, 0] * nodes + ends[:, 1]
    key, cell = np.unique(keys, return_index=True)
    strength = np.full(len(key), 1.0 if graphs.weights is None else 0.0)
    if graphs.weights is not None:
        np.maximum.at(strength, np.searchsorted(key, keys), np.abs(graphs.weights))
    return LinkedPairs(graphs.graph_of_cell[cell], np.column_stack([key // nodes, key % nodes]), strength)
