r"""Regions in numpy, the oracle of the kernels: list or sample connected induced subgraphs, and order their nodes.

Up to a budget `list_subgraphs` lists all of them. Above it they are sampled, each with a weight that keeps the expected
counts correct. A sample S grows from a node drawn by its degree. In each step one of the edges that leave the nodes so
far is drawn uniformly, and its far end joins them. With :math:`b(T)` the number of edges leaving T and :math:`e(u, T)`
those between u and T,

.. math:: P(S) = \sum_{u \in S} P(S \setminus u) \, \frac{e(u, S \setminus u)}{b(S \setminus u)}

summed over the :math:`2^k` subsets of S. The weight :math:`1 / (m P(S))` of each of m samples is therefore exact, and
the expected weighted count of any kind of subgraph is its true count. (igraph's own ``cut_prob`` is not used, because
it does not sample with the product of its probabilities.)
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import InputError
from isonn.graphs.isomorphism import canonical_order
from isonn.packing import IntArray, bits_of, mix64, words_of
from isonn.params import check_subgraph_size
from isonn.seeding import numpy_stream

#: Largest number of nodes for which a sampled graph is put into canonical order.
MOST_CANONICAL = 5000
#: Number of samples from a graph with too many subgraphs to list; the error of a frequent one's count is then below one
#: percent.
MOST_SAMPLES = 20_000

#: Number of node orders of regions compared at once.
PERMUTATIONS_AT_ONCE = 2**20


@dataclass(frozen=True, eq=False)
class Cut:
    """Connected subgraphs of one graph.

    Attributes:
        nodes: the nodes of each, ``(w, k)``.
        weights: number of subgraphs each stands for, ``(w,)``; None if all subgraphs are listed once.
    """

    nodes: IntArray
    weights: NDArray[np.float64] | None = None

    @property
    def share(self) -> float:
        """The share of the graph's subgraphs listed here, estimated if they were sampled."""
        if self.weights is None or not len(self.nodes):
            return 1.0
        return float(min(1.0, len(self.nodes) / self.weights.sum()))


def cut_subgraphs(
    n: int, edges: IntArray, k: int, limit: int, node_codes: IntArray, edge_codes: IntArray, seed: int = 0
) -> Cut:
    """Return the connected induced k-node subgraphs of a graph, or ``limit`` samples if there are more.

    The choice of samples does not depend on node order, because the graph is first put into canonical order.

    Args:
        n: number of nodes.
        edges: each undirected edge once, ``(m, 2)``.
        limit: maximum number of subgraphs to list.
        node_codes: codes that distinguish nodes, ``(n,)``; graphs with equal codes have equal samples.
        edge_codes: the same for edges, ``(m,)``.
        seed: seed of the samples.

    Example:
        >>> path = np.array([[0, 1], [1, 2], [2, 3]])
        >>> cut = cut_subgraphs(4, path, 3, 100, np.zeros(4, int), np.zeros(3, int))
        >>> sorted(map(sorted, cut.nodes.tolist()))
        [[0, 1, 2], [1, 2, 3]]
    """
    check_subgraph_size(k)
    if limit < 1:
        raise InputError(f"a budget of {limit} subgraphs is too small; use at least 1")
    if k == 1:
        return Cut(np.arange(n, dtype=np.int64)[:, None])
    if k == 2:
        return Cut(np.asarray(edges, dtype=np.int64))
    listed = list_subgraphs(np.array([0, n]), edges, k, limit)
    if not listed.too_many:
        return Cut(listed.nodes)
    return sample_subgraphs(n, edges, k, limit, node_codes, edge_codes, seed)


def sample_subgraphs(
    n: int, edges: IntArray, k: int, limit: int, node_codes: IntArray, edge_codes: IntArray, seed: int = 0
) -> Cut:
    """Draw ``limit`` samples, or MOST_SAMPLES, of a graph known to have more subgraphs; see `cut_subgraphs`."""
    order = _order_of(n, edges, node_codes, edge_codes)
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    count = min(limit, MOST_SAMPLES)
    nodes, weights = _merge(*_sample(n, place[edges], k, count, numpy_stream(seed, "subgraphs", k)))
    return Cut(order[nodes], weights)


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
        low, high = neighbourhood_codes(edges, node_codes, edge_codes, 4)[-1]
        return np.lexsort((high, low))
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


# List the connected induced k-node subgraphs of many graphs, each once, with ESU (Wernicke 2006). A subgraph grows from
# its smallest node. A node that joins adds those of its neighbours as candidates that no earlier node has. All
# subgraphs of a size grow together in numpy, some ten thousand at a time. This takes a third of the time of igraph,
# which calls back once for each.


#: Number of subgraphs that grow together, so that their arrays stay in the cache.
GROWN_AT_ONCE = 2**14
#: Number of neighbours of a joining node that cost as much as one more subgraph.
NEIGHBOURS_PER_SUBGRAPH = 64
#: Number of subgraphs listed together, unless a single graph has more: 2**20 of five nodes are 40 MB.
MOST_LISTED = 2**20
#: Largest number of node pairs for a table of neighbours, 16 MB; above it edges are found by binary search.
MOST_PAIRS = 2**24


@dataclass(frozen=True, eq=False)
class Listed:
    """All connected subgraphs of the first graphs of a list.

    Attributes:
        nodes: nodes of each, ``(w, k)``, numbered over all graphs; graph by graph.
        owner: the graph of each, ``(w,)``.
        done: number of these graphs.
        too_many: graphs among them with too many subgraphs, none of which are listed.
    """

    nodes: IntArray
    owner: IntArray
    done: int
    too_many: tuple[int, ...] = ()


def list_subgraphs(offsets: IntArray, edges: IntArray, k: int, limit: int) -> Listed:
    """List the connected induced k-node subgraphs of many graphs together.

    They are ordered by their smallest nodes, and so by graph. Listing can therefore stop early if there are very many.

    Args:
        offsets: where the nodes of each graph start, ``(g + 1,)``.
        edges: nodes numbered over all graphs, ``(m, 2)``.
        limit: maximum number of subgraphs of one graph; sizes 1 and 2 are always listed.
    """
    graphs = len(offsets) - 1
    if k <= 2:
        nodes = np.arange(offsets[-1])[:, None] if k == 1 else np.asarray(edges, dtype=np.int64)
        return Listed(nodes, _owner(offsets, nodes), graphs)
    hubs = _graphs_with_hubs(offsets, edges, k, limit)
    if hubs.any():
        edges = edges[~hubs[_owner(offsets, edges)]]
    parts: list[NDArray[np.int32]] = []
    counts = np.zeros(graphs, dtype=np.int64)
    last = -1  # the graph at which listing stopped
    for nodes in _Growth(offsets, edges).subgraphs(k):
        owner = _owner(offsets, nodes)
        parts.append(nodes.astype(np.int32))
        counts[owner[0] : owner[-1] + 1] += np.bincount(owner - owner[0])
        current = int(owner[-1])
        if counts[current] > limit or (counts.sum() > MOST_LISTED and counts[:current].any()):
            last = current
            break
    done = graphs if last < 0 else last + int(counts[last] > limit)
    too_many = np.flatnonzero((counts[:done] > limit) | hubs[:done])
    listed = np.concatenate(parts) if parts else np.zeros((0, k), dtype=np.int32)
    owner = _owner(offsets, listed)
    whole = (owner < done) & (counts[owner] <= limit)
    if not whole.all():
        listed, owner = listed[whole], owner[whole]
    return Listed(listed.astype(np.int64), owner, done, tuple(too_many.tolist()))


def _graphs_with_hubs(offsets: IntArray, edges: IntArray, k: int, limit: int) -> NDArray[np.bool_]:
    """Return the graphs in which one node has so many neighbours that it exceeds ``limit`` alone, ``(g,)``.

    A node with any k - 1 of its neighbours is a connected subgraph, so those of a hub need not be listed, which would
    take memory quadratic in its degree.
    """
    found = np.zeros(len(offsets) - 1, dtype=bool)
    degree = np.bincount(np.asarray(edges).ravel(), minlength=int(offsets[-1]))
    if math.comb(int(degree.max(initial=0)), k - 1) > limit:
        once = np.unique(np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1), axis=0)
        degree = np.bincount(once.ravel(), minlength=int(offsets[-1]))
        large = [d for d in np.unique(degree).tolist() if math.comb(d, k - 1) > limit]
        found[_owner(offsets, np.flatnonzero(np.isin(degree, large))[:, None])] = True
    return found


def _owner(offsets: IntArray, nodes: NDArray[Any]) -> IntArray:
    """Return the graph of each subgraph."""
    return np.searchsorted(offsets, nodes[:, 0], side="right") - 1


@dataclass(frozen=True, eq=False)
class _Grown:
    """Connected subgraphs of one size, and for each the nodes that may join it.

    Attributes:
        nodes: nodes of each, the smallest first, ``(w, size)``.
        choices: candidates of all of them, concatenated.
        count: number of candidates of each, ``(w,)``.
        work: cost of the candidates of each, ``(w,)``, in subgraphs.
    """

    nodes: IntArray
    choices: IntArray
    count: IntArray
    work: IntArray

    def split(self, most: int) -> Iterator[_Grown]:
        """Yield runs of them with at most this much work, or a single one with more."""
        stops, done = self.count.cumsum(), self.work.cumsum()
        start, before = 0, 0
        while start < len(stops):
            worked = int(done[start - 1]) if start else 0
            stop = max(start + 1, int(np.searchsorted(done, worked + most, side="right")))
            after, run = int(stops[stop - 1]), slice(start, stop)
            yield _Grown(self.nodes[run], self.choices[before:after], self.count[run], self.work[run])
            start, before = stop, after


class _Growth:
    """The graphs in the form that growing needs."""

    def __init__(self, offsets: IntArray, edges: IntArray) -> None:
        self.n = int(offsets[-1])
        ends = np.concatenate([edges, edges[:, ::-1]]).astype(np.int64)
        self.keys = np.unique((ends[:, 0] * self.n + ends[:, 1])[ends[:, 0] != ends[:, 1]])
        self.neighbours = self.keys % max(1, self.n)
        self.first = np.searchsorted(self.keys, np.arange(self.n + 1) * self.n)
        self.joined = self._table(offsets) or self._search
        more = np.diff(self.first) // NEIGHBOURS_PER_SUBGRAPH
        self.more_work = more if more.any() else None  # cost of a candidate beyond one subgraph

    def _table(self, offsets: IntArray) -> Callable[[IntArray, IntArray], NDArray[np.bool_]] | None:
        """Return a table lookup for whether two nodes of a graph are neighbours, or None if the table is too large."""
        sizes = np.diff(offsets)
        squares = np.concatenate([[0], np.cumsum(sizes * sizes)])
        if squares[-1] > MOST_PAIRS:
            return None
        # a node has a row of the table, with one entry per node of its graph; it starts at the graph's node 0
        within = np.arange(self.n) - np.repeat(offsets[:-1], sizes)
        row = np.repeat(squares[:-1] - offsets[:-1], sizes) + within * np.repeat(sizes, sizes)
        table = np.zeros(squares[-1], dtype=bool)
        table[row[np.repeat(np.arange(self.n), np.diff(self.first))] + self.neighbours] = True
        return lambda some, others: table[row[some] + others]

    def _search(self, some: IntArray, others: IntArray) -> NDArray[np.bool_]:
        key = some * self.n + others
        place = np.minimum(np.searchsorted(self.keys, key), len(self.keys) - 1)
        found: NDArray[np.bool_] = self.keys[place] == key
        return found

    def subgraphs(self, k: int) -> Iterator[IntArray]:
        """Yield the nodes of all subgraphs, a few thousand at a time, by their smallest nodes."""
        own = np.repeat(np.arange(self.n), np.diff(self.first))
        later = self.neighbours > own
        count = np.bincount(own[later], minlength=self.n)
        waiting = [self._grown(np.arange(self.n)[:, None], self.neighbours[later], count).split(GROWN_AT_ONCE)]
        while waiting:  # depth first, to keep the queue short
            grown = next(waiting[-1], None)
            if grown is None:
                waiting.pop()
            elif grown.nodes.shape[1] == k - 1:
                if len(grown.choices):
                    yield np.column_stack([np.repeat(grown.nodes, grown.count, axis=0), grown.choices])
            else:
                waiting.append(self._grow(grown).split(GROWN_AT_ONCE))

    def _grow(self, grown: _Grown) -> _Grown:
        """Add each candidate to its subgraph."""
        parent = np.repeat(np.arange(len(grown.nodes)), grown.count)
        number = np.arange(len(parent))
        nodes = grown.nodes[parent]
        left = grown.count.cumsum()[parent] - number - 1  # candidates after the one taken
        # new candidates: neighbours of the joining node, later than the first node, that no other node has as a
        # neighbour
        degree = self.first[grown.choices + 1] - self.first[grown.choices]
        child = np.repeat(number, degree)
        new = self.neighbours[_ranges(self.first[grown.choices], degree)]
        fits = np.flatnonzero(new > nodes[child, 0])
        for column in nodes.T:
            child, new = child[fits], new[fits]
            other = column[child]
            fits = np.flatnonzero(~(self.joined(other, new) | (other == new)))
        child, new = child[fits], new[fits]
        brought = np.bincount(child, minlength=len(number))
        count = left + brought
        start = count.cumsum() - count
        choices = np.empty(int(count.sum()), dtype=np.int64)
        choices[_ranges(start, left)] = grown.choices[_ranges(number + 1, left)]
        choices[_ranges(start + left, brought)] = new
        return self._grown(np.column_stack([nodes, grown.choices]), choices, count)

    def _grown(self, nodes: IntArray, choices: IntArray, count: IntArray) -> _Grown:
        if self.more_work is None:
            return _Grown(nodes, choices, count, count)
        more = np.concatenate([[0], self.more_work[choices].cumsum()])
        stops = count.cumsum()
        return _Grown(nodes, choices, count, count + more[stops] - more[stops - count])


def _ranges(start: IntArray, length: IntArray) -> IntArray:
    """Concatenate the ranges that begin at ``start`` and have the given lengths."""
    ranges: IntArray = np.arange(int(length.sum()))
    ranges += np.repeat(start - (length.cumsum() - length), length)
    return ranges


#: Odd numbers that keep the two halves of a neighbourhood's code independent.
_LOW, _HIGH, _MORE = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9


def neighbourhood_codes(ends: IntArray, node_codes: IntArray, edge_codes: IntArray, radius: int) -> IntArray:
    """Return a 124-bit code of what lies within 0 to ``radius`` steps of each node, by colour refinement.

    The code of radius r is a hash of the node's code of radius r - 1 and the sum, over its edges, of hashes of the edge
    and the neighbour's code of radius r - 1. Sums do not depend on the order of neighbours. For a million distinct
    neighbourhoods, the probability that any two share a code is below 10^-25.

    Args:
        ends: edges, ``(m, 2)``.
        node_codes, edge_codes: codes of nodes and edges, ``(n,)`` and ``(m,)``.

    Returns:
        ndarray of shape (radius + 1, 2, n), 62 bits in each half.
    """
    first, second = np.concatenate([ends, ends[:, ::-1]]).T
    edge = np.tile(edge_codes, 2).astype(np.uint64)
    code = node_codes.astype(np.uint64) + np.uint64(1)
    low, high = mix64(code * np.uint64(_LOW)), mix64(code * np.uint64(_HIGH) + np.uint64(_MORE))
    found = np.empty((radius + 1, 2, len(node_codes)), dtype=np.int64)
    found[0] = low >> np.uint64(2), high >> np.uint64(2)
    for r in range(1, radius + 1):
        a, b = np.zeros_like(low), np.zeros_like(high)
        np.add.at(a, first, mix64(low[second] + edge * np.uint64(_LOW)))
        np.add.at(b, first, mix64(high[second] + edge * np.uint64(_HIGH)))
        low, high = mix64(low * np.uint64(3) + a), mix64(high * np.uint64(5) + b + np.uint64(r))
        found[r] = low >> np.uint64(2), high >> np.uint64(2)
    return found


# Canonical order: a region is a row of codes, of its k nodes and then of its node pairs in the order of the upper
# triangle. Regions that are equal up to the order of their nodes have the same canonical row.


def canonical_regions(regions: IntArray, k: int) -> IntArray:
    """Put the nodes of each region into the order that makes its row of codes smallest.

    Example:
        >>> canonical_regions(np.array([[7, 5, 1], [5, 7, 1]]), k=2).tolist()
        [[5, 7, 1], [5, 7, 1]]
    """
    # the smallest row has sorted nodes, so only orders among nodes with equal codes remain
    best = _relabelled(regions, regions[:, :k].argsort(axis=1, kind="stable"), k)
    ties = (best[:, 1:k] == best[:, : k - 1]) @ (1 << np.arange(k - 1))
    for pattern in np.flatnonzero(np.bincount(ties)).tolist() if len(ties) else ():
        places = _places(k, pattern)
        if len(places) == 1:
            continue
        of_pattern = np.flatnonzero(ties == pattern)
        at_once = max(1, PERMUTATIONS_AT_ONCE // len(places))
        for start in range(0, len(of_pattern), at_once):
            rows = of_pattern[start : start + at_once]
            part = best[rows]
            columns = [part[:, column] for column in places[:, k:].T]
            open_orders = np.ones((len(part), len(places)), dtype=bool)
            for word in words_of(columns, [bits_of(regions[:, k:])] * len(columns)):
                smallest = np.where(open_orders, word, np.iinfo(np.int64).max).min(axis=1, keepdims=True)
                open_orders &= word == smallest
            best[rows] = np.take_along_axis(part, places[open_orders.argmax(axis=1)], axis=1)
    return best


@lru_cache(maxsize=64)
def _places(k: int, ties: int = -1) -> IntArray:
    """Return the source of each entry of a relabelled region for all permutations, ``(permutations, k + k*(k-1)/2)``.

    Args:
        ties: bit i is set if nodes i and i + 1 may be swapped.
    """
    orders = np.array(list(itertools.permutations(range(k))), dtype=np.int64).reshape(-1, k)
    group = np.cumsum([0, *(1 - (ties >> i & 1) for i in range(k - 1))])
    orders = orders[(group[orders] == group).all(axis=1)]
    return np.concatenate([orders, _pair_places(orders, k)], axis=1)


def _pair_places(orders: IntArray, k: int) -> IntArray:
    """Return the positions of node pairs after reordering the nodes, ``(w, k*(k-1)/2)``."""
    rows, columns = np.triu_indices(k, 1)
    number = np.zeros((k, k), dtype=np.int64)
    number[rows, columns] = number[columns, rows] = k + np.arange(len(rows))
    return number[orders[:, rows], orders[:, columns]]


def _relabelled(regions: IntArray, orders: IntArray, k: int) -> IntArray:
    """Reorder the nodes of each region."""
    return np.take_along_axis(regions, np.concatenate([orders, _pair_places(orders, k)], axis=1), axis=1)


def roughly_sorted(regions: IntArray, k: int) -> IntArray:
    """Order the nodes of each region by their codes and, among equals, by the codes of their edges."""
    weight = np.zeros((len(regions), k), dtype=np.int64)
    for place, (i, j) in enumerate(itertools.combinations(range(k), 2), start=k):
        square = regions[:, place] ** 2
        weight[:, i] += square
        weight[:, j] += square
    key = regions[:, :k] * (weight.max() + 1) + weight
    return _relabelled(regions, key.argsort(axis=1, kind="stable"), k)
