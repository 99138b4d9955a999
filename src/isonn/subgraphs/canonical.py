"""The canonical order of the nodes of a region or a graph, and regions as integers that sort as their codes do.

A region is a row of codes: of its k nodes, then of its pairs of nodes, row by row of the upper triangle.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from isonn.packing import IntArray, bits_of, words_of

#: Orderings of regions looked at at once while one is chosen.
ORDERINGS_AT_ONCE = 2**20


def canonical_regions(regions: IntArray, k: int) -> IntArray:
    """Each region in the order of its nodes that makes its row of codes smallest.

    Example:
        >>> canonical_regions(np.array([[7, 5, 1], [5, 7, 1]]), k=2).tolist()
        [[5, 7, 1], [5, 7, 1]]
    """
    # the smallest row has its nodes sorted, so that only orders among nodes of one code are left to try
    best = _relabelled(regions, regions[:, :k].argsort(axis=1, kind="stable"), k)
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


@lru_cache(maxsize=64)
def _places(k: int, ties: int = -1) -> IntArray:
    """Where each entry of a relabelled region comes from, for all orderings: ``(orderings, k + k*(k-1)/2)``.

    Args:
        ties: bit i says that nodes i and i + 1 may change places.
    """
    orders = np.array(list(itertools.permutations(range(k))), dtype=np.int64).reshape(-1, k)
    group = np.cumsum([0, *(1 - (ties >> i & 1) for i in range(k - 1))])
    orders = orders[(group[orders] == group).all(axis=1)]
    return np.concatenate([orders, _pair_places(orders, k)], axis=1)


def _pair_places(orders: IntArray, k: int) -> IntArray:
    """Where the pairs of nodes are found when nodes are put in other orders, ``(w, k*(k-1)/2)``."""
    rows, columns = np.triu_indices(k, 1)
    number = np.zeros((k, k), dtype=np.int64)
    number[rows, columns] = number[columns, rows] = k + np.arange(len(rows))
    return number[orders[:, rows], orders[:, columns]]


def _relabelled(regions: IntArray, orders: IntArray, k: int) -> IntArray:
    """Each region with its nodes in its own order."""
    return np.take_along_axis(regions, np.concatenate([orders, _pair_places(orders, k)], axis=1), axis=1)


def row_words(rows: IntArray) -> Iterator[IntArray]:
    """Rows of codes packed into integers that compare as the rows do."""
    return words_of(list(rows.T), [bits_of(column) for column in rows.T])


def roughly_sorted(regions: IntArray, k: int) -> IntArray:
    """Each region with its nodes ordered by their codes and, among equals, by the codes of their edges."""
    weight = np.zeros((len(regions), k), dtype=np.int64)
    for place, (i, j) in enumerate(itertools.combinations(range(k), 2), start=k):
        square = regions[:, place] ** 2
        weight[:, i] += square
        weight[:, j] += square
    key = regions[:, :k] * (weight.max() + 1) + weight
    return _relabelled(regions, key.argsort(axis=1, kind="stable"), k)
