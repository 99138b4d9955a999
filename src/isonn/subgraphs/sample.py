r"""Sample the connected subgraphs of a graph that has too many to list.

A sample S grows from a node drawn by its degree. In each step one of the edges that leave the nodes so far is drawn
uniformly, and its far end joins them. With :math:`b(T)` the number of edges leaving T and :math:`e(u, T)` those between
u and T,

.. math:: P(S) = \sum_{u \in S} P(S \setminus u) \, \frac{e(u, S \setminus u)}{b(S \setminus u)}

summed over the :math:`2^k` subsets of S. The weight :math:`1 / (m P(S))` of each of m samples is therefore exact, and
the expected weighted count of any kind of subgraph is its true count. (igraph's own ``cut_prob`` is not used, because
it does not sample with the product of its probabilities.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from isonn.graphs.isomorphism import canonical_order, refine_colours
from isonn.packing import IntArray
from isonn.seeding import numpy_stream
from isonn.subgraphs.encode import CodedGraphs

#: Largest number of nodes for which a sampled graph is put into canonical order.
MOST_CANONICAL = 5000
#: Number of samples from a graph with too many subgraphs to list; the error of a frequent one's count is then below one
#: percent.
MOST_SAMPLES = 20_000


class Sample(NamedTuple):
    """Sampled connected subgraphs of one graph.

    Attributes:
        nodes: the nodes of each, ``(w, k)``.
        weights: number of subgraphs each stands for, ``(w,)``.
    """

    nodes: IntArray
    weights: NDArray[np.float64]

    @property
    def share(self) -> float:
        """The estimated share of the graph's subgraphs that were drawn."""
        return float(min(1.0, len(self.nodes) / self.weights.sum())) if len(self.nodes) else 1.0


def sample_subgraphs(graphs: CodedGraphs, i: int, k: int, limit: int, seed: int) -> Sample:
    """Draw ``limit`` k-node subgraphs of graph i, or MOST_SAMPLES.

    The choice does not depend on node order in graphs of up to 5,000 nodes, because these are first put into canonical
    order; graphs with equal codes have equal samples.
    """
    nodes = slice(graphs.node_offsets[i], graphs.node_offsets[i + 1])
    cells = slice(graphs.edge_offsets[i], graphs.edge_offsets[i + 1])
    n, edges = int(nodes.stop - nodes.start), graphs.edges[cells]
    node_codes = _joint_codes(graphs.node_codes[:, nodes])
    edge_codes = _joint_codes(graphs.edge_codes[:, cells])
    order = _order_of(n, edges, node_codes, edge_codes)
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    count = min(limit, MOST_SAMPLES)
    drawn, weights = _merge(*_sample(n, place[edges], k, count, numpy_stream(seed, "subgraphs", k)))
    return Sample(order[drawn], weights)


def _joint_codes(codes: IntArray) -> IntArray:
    """Combine the codes of several views, ``(views, n)``, into one."""
    return np.unique(codes.T, axis=0, return_inverse=True)[1].reshape(-1)


def _merge(nodes: IntArray, weights: NDArray[np.float64]) -> tuple[IntArray, NDArray[np.float64]]:
    """Merge equal samples into the first one, adding up their weights."""
    _, first, which = np.unique(np.sort(nodes, axis=1), axis=0, return_index=True, return_inverse=True)
    kept = np.argsort(first)
    return nodes[first[kept]], np.asarray(np.bincount(which.reshape(-1), weights)[kept], dtype=np.float64)


def _order_of(n: int, edges: IntArray, node_codes: IntArray, edge_codes: IntArray) -> IntArray:
    """Return an order of the nodes that does not depend on node numbering, up to symmetries.

    In large graphs, whose canonical order takes minutes, nodes that colour refinement cannot separate keep theirs.
    """
    if n > MOST_CANONICAL:
        both = np.concatenate([edges, edges[:, ::-1]])
        cells = np.tile(edge_codes, 2).astype(np.uint64)
        refined = refine_colours(node_codes.astype(np.uint64), both[:, 0], both[:, 1], cells)
        return np.argsort(refined, kind="stable")
    colours = np.unique(node_codes, return_inverse=True)[1].reshape(-1)
    kinds, kind = np.unique(edge_codes, return_inverse=True)
    if len(kinds) <= 1:
        return canonical_order(n, edges.tolist(), colours.tolist())
    # each edge becomes a node coloured by its code, because the algorithm only supports node colours
    middle = n + np.arange(len(edges))
    links = np.concatenate([np.column_stack([edges[:, side], middle]) for side in (0, 1)])
    colours = np.concatenate([colours, colours.max(initial=0) + 1 + kind.reshape(-1)])
    return canonical_order(n, links.tolist(), colours.tolist())


def _sample(
    n: int, edges: IntArray, k: int, count: int, draw: np.random.Generator
) -> tuple[IntArray, NDArray[np.float64]]:
    """Draw ``count`` connected subgraphs independently; return them with their weights, as described above."""
    ends = np.concatenate([edges, edges[:, ::-1]])
    table = coo_array((np.ones(len(ends), dtype=np.int8), (ends[:, 0], ends[:, 1])), shape=(n, n)).tocsr()
    table.sort_indices()
    first, neighbours, degree = table.indptr.astype(np.int64), table.indices.astype(np.int64), np.diff(table.indptr)
    component = connected_components(table, directed=False)[1]
    chance = np.where(np.bincount(component)[component] >= k, degree, 0).astype(np.float64)
    if not chance.any():  # no component has so many nodes
        return np.zeros((0, k), dtype=np.int64), np.zeros(0)
    chance /= chance.sum()
    nodes = np.empty((count, k), dtype=np.int64)
    nodes[:, 0] = draw.choice(n, size=count, p=chance)
    for size in range(1, k):
        open_rows = np.arange(count)
        while len(open_rows):
            inside = nodes[open_rows, :size]
            reach = degree[inside].cumsum(axis=1)
            ticket = (draw.random(len(inside)) * reach[:, -1]).astype(np.int64)  # one of the edge ends of these nodes
            which = (ticket[:, None] >= reach).sum(axis=1)
            start = inside[np.arange(len(inside)), which]
            ticket -= reach[np.arange(len(inside)), which] - degree[start]
            nodes[open_rows, size] = neighbours[first[start] + ticket]
            # this end points back inside, so draw again
            open_rows = open_rows[(inside == nodes[open_rows, size, None]).any(axis=1)]
    joined = np.asarray(table[nodes[:, :, None].repeat(k, 2).ravel(), nodes[:, None, :].repeat(k, 1).ravel()])
    return nodes, 1.0 / (count * _chances(joined.reshape(count, k, k) != 0, degree[nodes], chance[nodes]))


def _chances(joined: NDArray[np.bool_], degree: IntArray, start: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability of each sample, ``(count,)``, summed over all orders in which its nodes can be drawn."""
    count, k = degree.shape
    chance = np.zeros((2**k, count))
    leaving = np.zeros((2**k, count))  # edges that leave each subset
    for subset in range(1, 2**k):
        members = [i for i in range(k) if subset >> i & 1]
        last = members[-1]
        rest = subset ^ (1 << last)
        within = joined[:, last, members].sum(axis=1)
        leaving[subset] = leaving[rest] + degree[:, last] - 2 * within
        if len(members) == 1:
            chance[subset] = start[:, last]
            continue
        for i in members:
            rest = subset ^ (1 << i)
            links = joined[:, i, [j for j in members if j != i]].sum(axis=1)
            chance[subset] += chance[rest] * links / np.maximum(leaving[rest], 1)
    whole: NDArray[np.float64] = chance[-1]
    return whole
