r"""Cut: the connected induced k-node subgraphs of a graph.

Up to a budget every one of them is listed (`isonn.matching.listing`). Beyond it they are sampled, each with a weight
that keeps the expected counts right. A sample S is grown from a node drawn by its degree: again and again one of
the edges that leave the nodes so far is drawn, all with the same chance, and its far end joins them. With
:math:`b(T)` the number of edges leaving T and :math:`e(u, T)` those between u and T,

.. math:: P(S) = \sum_{u \in S} P(S \setminus u) \, \frac{e(u, S \setminus u)}{b(S \setminus u)}

which is summed over the :math:`2^k` subsets of S, so the weight :math:`1 / (m P(S))` of each of m samples is exact
and the weighted count of any kind of subgraph has its true count as its mean. (igraph's own ``cut_prob`` is not
used: what it keeps is not the product of its probabilities.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isonn.errors import InputError
from isonn.matching.canonical import canonical_order
from isonn.matching.listing import list_subgraphs
from isonn.seeding import numpy_stream

IntArray = NDArray[np.int64]

#: A graph of 100 nodes can have a billion subgraphs of six nodes, and 720 orderings of each are tried.
MAX_K = 6


@dataclass(frozen=True, eq=False)
class Cut:
    """Connected subgraphs of one graph.

    Attributes:
        nodes: the nodes of each, ``(w, k)``.
        weights: how many subgraphs each stands for, ``(w,)``; None when all are there, once each.
    """

    nodes: IntArray
    weights: NDArray[np.float64] | None = None

    @property
    def share(self) -> float:
        """The share of the graph's subgraphs that is here, estimated where they were sampled."""
        if self.weights is None or not len(self.nodes):
            return 1.0
        return float(min(1.0, len(self.nodes) / self.weights.sum()))


def check_subgraph_size(k: int) -> None:
    """Refuse sizes that are not enumerated."""
    if isinstance(k, (bool, np.bool_)) or not isinstance(k, (int, np.integer)) or not 1 <= k <= MAX_K:
        raise InputError(f"k={k!r} is not a size of subgraphs that can be enumerated; use 1 to {MAX_K}")


def cut_subgraphs(
    n: int, edges: IntArray, k: int, limit: int, node_codes: IntArray, edge_codes: IntArray, seed: int = 0
) -> Cut:
    """The connected induced k-node subgraphs of a graph, or those of ``limit`` samples when there are more.

    Which are sampled does not depend on the order of the nodes: the graph is brought into canonical order first.

    Args:
        n: nodes of the graph.
        edges: each undirected edge once, ``(m, 2)``.
        limit: how many subgraphs may be listed.
        node_codes: what tells nodes apart, ``(n,)``; samples of two graphs agree when these do.
        edge_codes: likewise for edges, ``(m,)``.
        seed: of the samples.

    Example:
        >>> path = np.array([[0, 1], [1, 2], [2, 3]])
        >>> cut = cut_subgraphs(4, path, 3, 100, np.zeros(4, int), np.zeros(3, int))
        >>> sorted(map(sorted, cut.nodes.tolist()))
        [[0, 1, 2], [1, 2, 3]]
    """
    check_subgraph_size(k)
    if limit < 1:
        raise InputError(f"a budget of {limit} subgraphs leaves nothing to match; use at least 1")
    if k == 1:
        return Cut(np.arange(n, dtype=np.int64)[:, None])
    if k == 2:
        return Cut(np.asarray(edges, dtype=np.int64))
    listed = list_subgraphs(np.array([0, n]), edges, k, limit)
    if not listed.too_many:
        return Cut(listed.nodes)
    order = _canonical_order(n, edges, node_codes, edge_codes)
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    nodes, weights = _merge(*_sample(n, place[edges], k, limit, numpy_stream(seed, "subgraphs", k)))
    return Cut(order[nodes], weights)


def _merge(nodes: IntArray, weights: NDArray[np.float64]) -> tuple[IntArray, NDArray[np.float64]]:
    """Each subgraph once, in the place where it was drawn first, with the weights of all its draws."""
    _, first, which = np.unique(np.sort(nodes, axis=1), axis=0, return_index=True, return_inverse=True)
    kept = np.argsort(first)
    return nodes[first[kept]], np.asarray(np.bincount(which.reshape(-1), weights)[kept], dtype=np.float64)


def _canonical_order(n: int, edges: IntArray, node_codes: IntArray, edge_codes: IntArray) -> IntArray:
    """The nodes in an order that is the same, up to symmetries, however the graph was numbered."""
    colours = np.unique(node_codes, return_inverse=True)[1].reshape(-1)
    kinds, kind = np.unique(edge_codes, return_inverse=True)
    if len(kinds) <= 1:
        return canonical_order(n, edges.tolist(), colours.tolist())
    # an edge becomes a node of its own, coloured by its code: the algorithm knows colours of nodes only
    middle = n + np.arange(len(edges))
    halves = np.concatenate([np.column_stack([edges[:, side], middle]) for side in (0, 1)])
    colours = np.concatenate([colours, colours.max(initial=0) + 1 + kind.reshape(-1)])
    return canonical_order(n, halves.tolist(), colours.tolist())


def _sample(
    n: int, edges: IntArray, k: int, count: int, draw: np.random.Generator
) -> tuple[IntArray, NDArray[np.float64]]:
    """``count`` connected subgraphs, drawn independently, and their weights; see the module's text."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ends = np.concatenate([edges, edges[:, ::-1]])
    table = coo_array((np.ones(len(ends), dtype=np.int8), (ends[:, 0], ends[:, 1])), shape=(n, n)).tocsr()
    table.sort_indices()
    first, neighbours, degree = table.indptr.astype(np.int64), table.indices.astype(np.int64), np.diff(table.indptr)
    component = connected_components(table, directed=False)[1]
    chance = np.where(np.bincount(component)[component] >= k, degree, 0).astype(np.float64)
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
            # an end that points back inside is no edge that leaves: draw again
            open_rows = open_rows[(inside == nodes[open_rows, size, None]).any(axis=1)]
    joined = np.asarray(table[nodes[:, :, None].repeat(k, 2).ravel(), nodes[:, None, :].repeat(k, 1).ravel()])
    return nodes, 1.0 / (count * _chances(joined.reshape(count, k, k) != 0, degree[nodes], chance[nodes]))


def _chances(joined: NDArray[np.bool_], degree: IntArray, start: NDArray[np.float64]) -> NDArray[np.float64]:
    """The chance of each sample, ``(count,)``, summed over all orders in which its nodes can have come."""
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
