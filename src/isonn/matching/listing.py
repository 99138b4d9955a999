"""List the connected induced k-node subgraphs of many graphs side by side, each once.

The algorithm is ESU (Wernicke 2006): a subgraph grows from its smallest node, and a node that joins brings along as
later choices those of its neighbours that no earlier node has. All subgraphs of a size grow together, in numpy, some
ten thousand at a time, which takes a third of the time igraph needs to call back once for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]

#: Subgraphs that grow together: their arrays stay in the cache.
GROWN_AT_ONCE = 2**14
#: Neighbours of a node that joins which are as much work as one more subgraph.
NEIGHBOURS_PER_SUBGRAPH = 64
#: Subgraphs that are listed together, unless a single graph has more: 2**20 of five nodes are 40 MB.
MOST_LISTED = 2**20
#: Pairs of nodes for which a table of neighbours is made, 16 MB; beyond, edges are looked up by binary search.
MOST_PAIRS = 2**24


@dataclass(frozen=True, eq=False)
class Listed:
    """All connected subgraphs of the first few of some graphs.

    Attributes:
        nodes: of each, ``(w, k)``, numbered over all graphs; the graphs one after the other.
        owner: the graph of each, ``(w,)``.
        done: how many graphs these are.
        too_many: those of them with more subgraphs than may be listed; none of theirs are here.
    """

    nodes: IntArray
    owner: IntArray
    done: int
    too_many: tuple[int, ...] = ()


def list_subgraphs(offsets: IntArray, edges: IntArray, k: int, limit: int) -> Listed:
    """The connected induced k-node subgraphs of graphs side by side.

    They come by their smallest nodes and so in the order of the graphs. That is why listing can stop in the middle
    when there are very many.

    Args:
        offsets: where the nodes of each graph start, ``(g + 1,)``.
        edges: nodes numbered over all graphs, ``(m, 2)``.
        limit: how many subgraphs of one graph may be listed; sizes 1 and 2 always are.
    """
    graphs = len(offsets) - 1
    if k <= 2:
        nodes = np.arange(offsets[-1])[:, None] if k == 1 else np.asarray(edges, dtype=np.int64)
        return Listed(nodes, _owner(offsets, nodes), graphs)
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
    too_many = np.flatnonzero(counts[:done] > limit)
    listed = np.concatenate(parts) if parts else np.zeros((0, k), dtype=np.int32)
    owner = _owner(offsets, listed)
    whole = (owner < done) & (counts[owner] <= limit)
    if not whole.all():
        listed, owner = listed[whole], owner[whole]
    return Listed(listed.astype(np.int64), owner, done, tuple(too_many.tolist()))


def _owner(offsets: IntArray, nodes: NDArray[Any]) -> IntArray:
    """The graph of each subgraph."""
    return np.searchsorted(offsets, nodes[:, 0], side="right") - 1


@dataclass(frozen=True, eq=False)
class _Grown:
    """Connected subgraphs of one size, and for each the nodes that may join it.

    Attributes:
        nodes: of each, the smallest first, ``(w, size)``.
        choices: of all of them, one after the other.
        count: how many choices each has, ``(w,)``.
        work: what the choices of each cost, ``(w,)``, in subgraphs.
    """

    nodes: IntArray
    choices: IntArray
    count: IntArray
    work: IntArray

    def split(self, most: int) -> Iterator[_Grown]:
        """Runs of them with at most so much work in all, or one with more."""
        stops, done = self.count.cumsum(), self.work.cumsum()
        start, before = 0, 0
        while start < len(stops):
            worked = int(done[start - 1]) if start else 0
            stop = max(start + 1, int(np.searchsorted(done, worked + most, side="right")))
            after, run = int(stops[stop - 1]), slice(start, stop)
            yield _Grown(self.nodes[run], self.choices[before:after], self.count[run], self.work[run])
            start, before = stop, after


class _Growth:
    """The graphs, as growing needs them."""

    def __init__(self, offsets: IntArray, edges: IntArray) -> None:
        self.n = int(offsets[-1])
        ends = np.concatenate([edges, edges[:, ::-1]]).astype(np.int64)
        self.keys = np.unique((ends[:, 0] * self.n + ends[:, 1])[ends[:, 0] != ends[:, 1]])
        self.neighbours = self.keys % max(1, self.n)
        self.first = np.searchsorted(self.keys, np.arange(self.n + 1) * self.n)
        self.joined = self._table(offsets) or self._search
        more = np.diff(self.first) // NEIGHBOURS_PER_SUBGRAPH
        self.more_work = more if more.any() else None  # what a choice costs beyond one subgraph

    def _table(self, offsets: IntArray) -> Callable[[IntArray, IntArray], NDArray[np.bool_]] | None:
        """Whether two nodes of one graph are neighbours, from a table; None if that would be too large."""
        sizes = np.diff(offsets)
        squares = np.concatenate([[0], np.cumsum(sizes * sizes)])
        if squares[-1] > MOST_PAIRS:
            return None
        # a node has a row of the table, as long as its graph has nodes; it starts where the graph's node 0 is
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
        """The nodes of all subgraphs, a few thousand at a time, by their smallest nodes."""
        own = np.repeat(np.arange(self.n), np.diff(self.first))
        later = self.neighbours > own
        count = np.bincount(own[later], minlength=self.n)
        waiting = [self._grown(np.arange(self.n)[:, None], self.neighbours[later], count).split(GROWN_AT_ONCE)]
        while waiting:  # depth first, so that little waits
            grown = next(waiting[-1], None)
            if grown is None:
                waiting.pop()
            elif grown.nodes.shape[1] == k - 1:
                if len(grown.choices):
                    yield np.column_stack([np.repeat(grown.nodes, grown.count, axis=0), grown.choices])
            else:
                waiting.append(self._grow(grown).split(GROWN_AT_ONCE))

    def _grow(self, grown: _Grown) -> _Grown:
        """Every subgraph with every one of its choices."""
        parent = np.repeat(np.arange(len(grown.nodes)), grown.count)
        number = np.arange(len(parent))
        nodes = grown.nodes[parent]
        left = grown.count.cumsum()[parent] - number - 1  # choices behind the one that is taken
        # new choices: neighbours of the one that joins, later than the first node, that no other has as a neighbour
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
    """``start[0], start[0] + 1, ...``, as many as the length says, then those from ``start[1]``, and so on."""
    ranges: IntArray = np.arange(int(length.sum()))
    ranges += np.repeat(start - (length.cumsum() - length), length)
    return ranges
