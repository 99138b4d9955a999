"""Structural twins: graphs that are equal up to relabelling.

A model can predict a test graph with a twin in the training set by memory alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isonn.graphs.columns import ends_of, weights_of
from isonn.graphs.graph import Graph, GraphSet
from isonn.packing import IntArray, mix64, row_hashes

if TYPE_CHECKING:
    import igraph

#: Rounds of refinement before graphs are compared; each further round costs as much and separates few more graphs.
ROUNDS = 4
_Hashes = NDArray[np.uint64]
#: Cells that are hashed at a time; more need a lot of memory.
CELLS_AT_ONCE = 2**21


def twin_groups(graphs: GraphSet) -> IntArray:
    """Return the group of each graph; two graphs are in one group if they are equal up to relabelling.

    Only adjacency matrices are compared: edges, directions and exact weights. Labels and attributes are ignored. Groups
    are numbered in the order of their first graph.

    Weisfeiler-Lehman colours first separate most graphs, all at once. The rest is compared exactly by igraph, with
    BLISS, or with VF2 if edges have weights or directions.

    Returns:
        ndarray of shape (g,).

    Example:
        >>> from isonn.graphs import as_graphset
        >>> path, same, triangle = [[0, 1, 0], [1, 0, 1], [0, 1, 0]], [[0, 1, 1], [1, 0, 0], [1, 0, 0]], 1 - np.eye(3)
        >>> twin_groups(as_graphset(np.array([path, triangle, same]))).tolist()
        [0, 1, 0]
    """
    colours = _colours(graphs)
    buckets: dict[tuple[int, int, int], list[int]] = {}
    totals = _totals(graphs, colours).tolist()
    keys = zip(graphs.sizes.tolist(), np.diff(graphs.edge_offsets).tolist(), totals, strict=True)
    for i, key in enumerate(keys):
        buckets.setdefault(key, []).append(i)

    first = np.arange(len(graphs))  # the first graph in the group of each graph
    for members in buckets.values():
        distinct: list[_Structure] = []
        for i in members if len(members) > 1 else []:
            structure = _Structure(i, graphs[i], colours[graphs.node_offsets[i] : graphs.node_offsets[i + 1]])
            twin = next((other for other in distinct if structure.equals(other)), None)
            if twin is None:
                distinct.append(structure)
            else:
                first[i] = twin.number
    return np.unique(first, return_inverse=True)[1].astype(np.int64)


class _Structure:
    """A graph prepared for igraph. BLISS and VF2 do not support self-loops, so these go into the node colours."""

    def __init__(self, number: int, graph: Graph, colours: _Hashes) -> None:
        import igraph

        self.number = number
        self.colours = colours
        cells, weights = graph.edges, weights_of(graph)
        turned = np.lexsort(cells.T)  # cells are sorted by row, then column
        symmetric = bool((cells == cells[turned, ::-1]).all() and (weights == weights[turned]).all())
        keep = cells[:, 0] < cells[:, 1] if symmetric else cells[:, 0] != cells[:, 1]
        self.weights = weights[keep]
        self.plain = symmetric and bool((weights == 1).all())
        self.graph: igraph.Graph = igraph.Graph(n=graph.n, edges=cells[keep].tolist(), directed=not symmetric)

    def equals(self, other: _Structure) -> bool:
        if self.graph.is_directed() != other.graph.is_directed() or self.plain != other.plain:
            return False
        colours, others = _numbered(self.colours, other.colours)
        if sorted(colours) != sorted(others):
            return False
        if self.plain:
            return bool(self.graph.isomorphic_bliss(other.graph, color1=colours, color2=others))
        edges, other_edges = _numbered(self.weights, other.weights)
        return bool(
            self.graph.isomorphic_vf2(
                other.graph, color1=colours, color2=others, edge_color1=edges, edge_color2=other_edges
            )
        )


def graph_hashes(graphs: GraphSet, salt: int | None = None) -> _Hashes:
    """Return a hash per graph, shape (g,), equal for graphs that are equal up to relabelling.

    Labels, attributes and weights count.

    Graphs that four rounds of Weisfeiler-Lehman do not separate also have equal hashes; this is rare among molecules.
    With a salt of its own, a model recognises its training graphs without storing them.

    Example:
        >>> hashes = graph_hashes(isonn.load("MUTAG"))
        >>> len(hashes), bool((hashes == graph_hashes(isonn.load("MUTAG"), salt=1)).any())
        (188, False)
    """
    step = max(1, CELLS_AT_ONCE * len(graphs) // max(len(graphs.edges), 1))
    if step < len(graphs):  # a graph's hash does not depend on the others
        return np.concatenate([graph_hashes(graphs[i : i + step], salt) for i in range(0, len(graphs), step)])
    colours = _colours(graphs, _node_hashes(graphs), _label_hashes(graphs.edge_labels))
    hashes = mix64(mix64(graphs.sizes.astype(np.uint64)) + _totals(graphs, colours))
    return hashes if salt is None else mix64(hashes ^ np.uint64(salt))


def _totals(graphs: GraphSet, colours: _Hashes) -> _Hashes:
    """Return the sum over the nodes of each graph, which does not depend on their order."""
    return np.add.reduceat(mix64(colours), graphs.node_offsets[:-1])


def _node_hashes(graphs: GraphSet) -> _Hashes | None:
    """Return a hash of the label and the attributes of each node."""
    labels, attributes = _label_hashes(graphs.node_labels), graphs.node_attributes
    if attributes is None:
        return labels
    bits = np.ascontiguousarray(attributes.astype(np.float64) + 0.0).view(np.uint64)  # + 0.0: minus zero is zero
    return row_hashes(bits, labels)


def _label_hashes(labels: NDArray[Any] | None) -> _Hashes | None:
    """Return a hash of each label that is the same in every set."""
    if labels is None:
        return None
    distinct, number = np.unique(labels, return_inverse=True)
    digests = [hashlib.blake2b(str(label).encode(), digest_size=8).digest() for label in distinct.tolist()]
    return np.frombuffer(b"".join(digests), dtype=np.uint64)[number.reshape(-1)]


def _colours(graphs: GraphSet, nodes: _Hashes | None = None, cells: _Hashes | None = None) -> _Hashes:
    """Return a colour per node, shape (nodes,), that depends on its surroundings and not on its number.

    Args:
        nodes, cells: initial colours of nodes and edges, or None.
    """
    rows, columns = np.ascontiguousarray(ends_of(graphs).T)
    weight = mix64(np.ascontiguousarray(weights_of(graphs), dtype=np.float64).view(np.uint64))
    weight = weight if cells is None else mix64(weight + cells)
    colours = np.zeros(int(graphs.node_offsets[-1]), dtype=np.uint64) if nodes is None else nodes.copy()
    loops = rows == columns
    np.add.at(colours, rows[loops], weight[loops])
    return refine_colours(colours, rows, columns, weight)


def refine_colours(
    colours: _Hashes, rows: IntArray, columns: IntArray, cells: _Hashes, rounds: int = ROUNDS
) -> _Hashes:
    """Refine node colours by those of their neighbours (Weisfeiler-Lehman), as hashes of 64 bits.

    Sums of hashes do not depend on the order of neighbours; outgoing and incoming cells are hashed differently.

    Args:
        colours: initial colour of each node, ``(n,)``.
        rows, columns: the nodes of each cell.
        cells: the colour of each cell.

    Example:
        >>> path = np.array([0, 1, 1, 2]), np.array([1, 0, 2, 1])
        >>> ends = refine_colours(np.zeros(3, dtype=np.uint64), *path, np.zeros(4, dtype=np.uint64))
        >>> bool(ends[0] == ends[2]), bool(ends[0] == ends[1])
        (True, False)
    """
    for _ in range(rounds):
        around = np.zeros_like(colours)
        np.add.at(around, rows, mix64(colours[columns] ^ cells))
        np.add.at(around, columns, mix64(~colours[rows] ^ cells))
        colours = mix64(colours + mix64(around))
    return colours


def _numbered(first: NDArray[Any], second: NDArray[Any]) -> tuple[list[int], list[int]]:
    """Number the distinct values of two columns together, from 0."""
    numbers = np.unique(np.concatenate([first, second]), return_inverse=True)[1].tolist()
    return numbers[: len(first)], numbers[len(first) :]


def canonical_order(n: int, links: Sequence[Sequence[int]], colours: Sequence[int]) -> IntArray:
    """Return the first n nodes of a coloured graph in an order that, up to symmetry, relabelling does not change.

    Args:
        n: number of nodes to order; the remaining nodes may represent edges, so that edges can have colours.
        links: pairs of nodes.
        colours: the colour of every node, shape (nodes,).
    """
    import igraph

    graph = igraph.Graph(n=len(colours), edges=links)
    # igraph versions before 1.0 permute in the opposite direction; the permuted graph does not depend on it
    graph.vs["number"] = range(len(colours))
    order = np.array(graph.permute_vertices(graph.canonical_permutation(color=colours)).vs["number"], dtype=np.int64)
    return order[order < n]
