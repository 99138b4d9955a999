"""Structural twins: graphs that are equal up to relabelling.

A test graph with a twin in the training set only tests memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isonn.graphs.graph import Graph, GraphSet, join_graphs
from isonn.packing import IntArray, mix64

if TYPE_CHECKING:
    import igraph

#: Rounds of refinement before graphs are compared; more separate few graphs more, and cost as much again each.
ROUNDS = 4
_Hashes = NDArray[np.uint64]


def twin_groups(graphs: GraphSet | Iterable[Graph]) -> IntArray:
    """The group of each graph; graphs of one group are equal up to relabelling, those of two are not.

    What is compared is the adjacency matrix: edges, their direction and their weights, to the last bit. Labels and
    attributes of nodes and labels of edges are ignored. Groups are numbered in the order of their first graph.

    Graphs are first told apart by colours refined over neighbours (Weisfeiler-Lehman), all graphs at once; what
    that leaves together is compared exactly (igraph: BLISS, or VF2 where edges have weights or directions).

    Returns:
        ndarray of shape (g,).

    Example:
        >>> from isonn.graphs import as_graphset
        >>> path, same, triangle = [[0, 1, 0], [1, 0, 1], [0, 1, 0]], [[0, 1, 1], [1, 0, 0], [1, 0, 0]], 1 - np.eye(3)
        >>> twin_groups(as_graphset(np.array([path, triangle, same]))).tolist()
        [0, 1, 0]
    """
    graphs = graphs if isinstance(graphs, GraphSet) else join_graphs([_structure(graph) for graph in graphs])
    colours = _colours(graphs)
    buckets: dict[tuple[int, int, int], list[int]] = {}
    totals = np.zeros(len(graphs), dtype=np.uint64)
    np.add.at(totals, np.repeat(np.arange(len(graphs)), graphs.sizes), mix64(colours))
    keys = zip(graphs.sizes.tolist(), np.diff(graphs.edge_offsets).tolist(), totals.tolist(), strict=True)
    for i, key in enumerate(keys):
        buckets.setdefault(key, []).append(i)

    first = np.arange(len(graphs))  # the first graph of each graph's group
    for members in buckets.values():
        found: list[_Structure] = []
        for i in members if len(members) > 1 else []:
            own = _Structure(i, graphs[i], colours[graphs.node_offsets[i] : graphs.node_offsets[i + 1]])
            twin = next((other for other in found if own.equals(other)), None)
            if twin is None:
                found.append(own)
            else:
                first[i] = twin.number
    return np.unique(first, return_inverse=True)[1].astype(np.int64)


class _Structure:
    """A graph as igraph compares it. A self-loop is part of the colour of its node, for BLISS and VF2 know none."""

    def __init__(self, number: int, graph: Graph, colours: _Hashes) -> None:
        import igraph

        self.number = number
        self.colours = colours
        cells, weights = graph.edges, np.ones(len(graph.edges)) if graph.weights is None else graph.weights
        symmetric = np.array_equiv(_sorted(cells, weights), _sorted(cells[:, ::-1], weights))
        keep = cells[:, 0] < cells[:, 1] if symmetric else cells[:, 0] != cells[:, 1]
        self.weights = weights[keep]
        self.plain = symmetric and bool((weights == 1).all())
        self.graph: igraph.Graph = igraph.Graph(n=graph.n, edges=cells[keep].tolist(), directed=not symmetric)

    def equals(self, other: _Structure) -> bool:
        if self.graph.is_directed() != other.graph.is_directed() or self.plain != other.plain:
            return False
        own, others = _numbered(self.colours, other.colours)
        if sorted(own) != sorted(others):
            return False
        if self.plain:
            return bool(self.graph.isomorphic_bliss(other.graph, color1=own, color2=others))
        edges, other_edges = _numbered(self.weights, other.weights)
        return bool(
            self.graph.isomorphic_vf2(
                other.graph, color1=own, color2=others, edge_color1=edges, edge_color2=other_edges
            )
        )


def graph_hashes(graphs: GraphSet, salt: int | None = None) -> _Hashes:
    """A number per graph, equal for graphs that are equal up to relabelling, labels and weights included, shape (g,).

    Graphs that four rounds of Weisfeiler-Lehman cannot tell apart have equal numbers, too; few molecules do. With a
    salt of its own, a model can know its training graphs again without storing them.

    Example:
        >>> hashes = graph_hashes(isonn.load("MUTAG"))
        >>> len(hashes), bool((hashes == graph_hashes(isonn.load("MUTAG"), salt=1)).any())
        (188, False)
    """
    colours = _colours(graphs, _label_hashes(graphs.node_labels), _label_hashes(graphs.edge_labels))
    totals = mix64(graphs.sizes.astype(np.uint64))
    np.add.at(totals, np.repeat(np.arange(len(graphs)), graphs.sizes), mix64(colours))
    hashes = mix64(totals)
    return hashes if salt is None else mix64(hashes ^ np.uint64(salt))


def _label_hashes(labels: NDArray[Any] | None) -> _Hashes | None:
    """A well-mixed number for each label, the same in every set."""
    if labels is None:
        return None
    distinct, number = np.unique(labels, return_inverse=True)
    digests = [hashlib.blake2b(str(label).encode(), digest_size=8).digest() for label in distinct.tolist()]
    return np.frombuffer(b"".join(digests), dtype=np.uint64)[number.reshape(-1)]


def _colours(graphs: GraphSet, nodes: _Hashes | None = None, cells: _Hashes | None = None) -> _Hashes:
    """One number per node that depends on what surrounds it and not on how nodes are numbered, shape (nodes,).

    Args:
        nodes, cells: numbers that nodes and edges start with, or None.
    """
    starts = graphs.node_offsets[graphs.graph_of_cell]
    rows, columns = starts + graphs.edges[:, 0], starts + graphs.edges[:, 1]
    values = np.ones(len(graphs.edges)) if graphs.weights is None else graphs.weights
    weight = mix64(np.ascontiguousarray(values, dtype=np.float64).view(np.uint64))
    weight = weight if cells is None else mix64(weight + cells)
    colours = np.zeros(int(graphs.node_offsets[-1]), dtype=np.uint64) if nodes is None else nodes.copy()
    loops = rows == columns
    np.add.at(colours, rows[loops], weight[loops])
    for _ in range(ROUNDS):
        # sums of scrambled numbers: the same for any order of the neighbours; cells that leave and arrive differ
        around = np.zeros_like(colours)
        np.add.at(around, rows, mix64(colours[columns] ^ weight))
        np.add.at(around, columns, mix64(~colours[rows] ^ weight))
        colours = mix64(colours + mix64(around))
    return colours


def _numbered(one: NDArray[Any], other: NDArray[Any]) -> tuple[list[int], list[int]]:
    """Two columns with their distinct values, of both together, numbered from 0."""
    numbers = np.unique(np.concatenate([one, other]), return_inverse=True)[1].tolist()
    return numbers[: len(one)], numbers[len(one) :]


def _sorted(cells: IntArray, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    table = np.column_stack([cells, weights])
    return table[np.lexsort((cells[:, 1], cells[:, 0]))]


def _structure(graph: Graph) -> Graph:
    return Graph(graph.n, graph.edges, graph.weights)


def canonical_order(n: int, links: Sequence[Sequence[int]], colours: Sequence[int]) -> IntArray:
    """The first n nodes of a coloured graph, in an order that is the same, up to symmetries, however it is numbered.

    Args:
        n: how many nodes to order; the others may stand for edges, to give these colours.
        links: pairs of nodes.
        colours: of all nodes; those of one colour can be told apart by their links only.
    """
    import igraph

    graph = igraph.Graph(n=len(colours), edges=links)
    # igraph 1.0 and earlier ones disagree on which way a permutation goes; what it carries along does not depend on it
    graph.vs["number"] = range(len(colours))
    order = np.array(graph.permute_vertices(graph.canonical_permutation(color=colours)).vs["number"], dtype=np.int64)
    return order[order < n]
