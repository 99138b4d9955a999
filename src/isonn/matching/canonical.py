"""The canonical order of the nodes of a region or a graph, and regions as integers that sort as their codes do.

A region is a row of codes: of its k nodes, then of its pairs of nodes, row by row of the upper triangle.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from isonn.matching.permutations import permutations

IntArray = NDArray[np.int64]

#: Orderings of regions looked at at once while one is chosen.
ORDERINGS_AT_ONCE = 2**20


def canonical_regions(regions: IntArray, k: int) -> IntArray:
    """Each region in the order of its nodes that makes its row of codes smallest.

    Example:
        >>> canonical_regions(np.array([[7, 5, 1], [5, 7, 1]]), k=2).tolist()
        [[5, 7, 1], [5, 7, 1]]
    """
    # the smallest row has its nodes sorted, so that only orders among nodes of one code are left to try
    best = _renumbered(regions, regions[:, :k].argsort(axis=1, kind="stable"), k)
    ties = (best[:, 1:k] == best[:, : k - 1]) @ (1 << np.arange(k - 1))
    for pattern in np.flatnonzero(np.bincount(ties)).tolist() if len(ties) else ():
        places = _places(k, pattern)
        if len(places) == 1:
            continue
        of_pattern = np.flatnonzero(ties == pattern)
        at_once = max(1, ORDERINGS_AT_ONCE // len(places))
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


@lru_cache(maxsize=64)
def _places(k: int, ties: int = -1) -> IntArray:
    """Where each entry of a renumbered region comes from, for all orderings: ``(orderings, k + k*(k-1)/2)``.

    Args:
        ties: bit i says that nodes i and i + 1 may change places.
    """
    orders = permutations(k).numpy()
    group = np.cumsum([0, *(1 - (ties >> i & 1) for i in range(k - 1))])
    orders = orders[(group[orders] == group).all(axis=1)]
    return np.concatenate([orders, _pair_places(orders, k)], axis=1)


def _pair_places(orders: IntArray, k: int) -> IntArray:
    """Where the pairs of nodes are found when nodes are put in other orders, ``(w, k*(k-1)/2)``."""
    rows, columns = np.triu_indices(k, 1)
    number = np.zeros((k, k), dtype=np.int64)
    number[rows, columns] = number[columns, rows] = k + np.arange(len(rows))
    return number[orders[:, rows], orders[:, columns]]


def _renumbered(regions: IntArray, orders: IntArray, k: int) -> IntArray:
    """Each region with its nodes in its own order."""
    return np.take_along_axis(regions, np.concatenate([orders, _pair_places(orders, k)], axis=1), axis=1)


def bits_of(codes: IntArray) -> int:
    """How many bits the largest code takes."""
    return max(1, int(codes.max(initial=0)).bit_length())


def words_of(columns: Sequence[IntArray], bits: Sequence[int]) -> Iterator[IntArray]:
    """Columns of codes packed into 63-bit integers, the first column in the highest bits."""
    word, free = np.zeros(columns[0].shape, dtype=np.int64), 63
    for column, width in zip(columns, bits, strict=True):
        if width > free:
            yield word
            word, free = np.zeros(columns[0].shape, dtype=np.int64), 63
        word <<= width
        word |= column
        free -= width
    yield word


def region_words(regions: IntArray, k: int) -> Iterator[IntArray]:
    """Regions packed into integers that compare as their rows do."""
    bits = [bits_of(regions[:, :k])] * k + [bits_of(regions[:, k:])] * (regions.shape[1] - k)
    return words_of(list(regions.T), bits)


def roughly_sorted(regions: IntArray, k: int) -> IntArray:
    """Each region with its nodes ordered by their codes and, among equals, by the codes of their edges."""
    weight = np.zeros((len(regions), k), dtype=np.int64)
    for place, (i, j) in enumerate(itertools.combinations(range(k), 2), start=k):
        square = regions[:, place] ** 2
        weight[:, i] += square
        weight[:, j] += square
    key = regions[:, :k] * (weight.max() + 1) + weight
    return _renumbered(regions, key.argsort(axis=1, kind="stable"), k)
