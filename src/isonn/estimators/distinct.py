"""The distinct rows among more numbers than memory holds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from isonn.data.graphs import IntArray

#: Numbers that are kept, and rows of them that are kept at least.
MOST_NUMBERS, FEWEST_ROWS = 2**19, 2**16


class DistinctRows:
    """Distinct rows of numbers, how often each came, and the largest absolute numbers.

    Of more rows than there is room for, those with the smallest hashes are kept. Whether a row is among them depends
    on the row and on what the others are, and not on the order in which they come; and whoever is among them at the end
    has always been, so that all counts are exact.

    Attributes:
        rows: those kept, sorted, ``(d, width)``.
        often: how often each came, ``(d,)``.
        largest: over all rows that came, ``(width,)``.
    """

    def __init__(self, width: int) -> None:
        self.rows: NDArray[np.float64] = np.zeros((0, width))
        self.often: IntArray = np.zeros(0, dtype=np.int64)
        self.largest: NDArray[np.float64] = np.zeros(width)
        self._room = max(FEWEST_ROWS, MOST_NUMBERS // max(width, 1))
        self._last = np.uint64(2**64 - 1)  # the largest hash of what is kept, once rows were left out

    def add(self, rows: NDArray[np.float64], times: int = 1) -> None:
        """Take in some more rows, each of which came so many times."""
        if not len(rows):
            return
        rows = rows.astype(np.float64) + 0.0  # -0.0 is 0.0
        self.largest = np.maximum(self.largest, np.abs(rows).max(axis=0))
        if self._last < np.uint64(2**64 - 1):
            rows = rows[_hashes(rows) <= self._last]
        both = np.concatenate([self.rows, rows])
        weights = np.concatenate([self.often, np.full(len(rows), times, dtype=np.int64)])
        if both.shape[1] == 1:  # the same, and faster
            distinct, number = np.unique(both[:, 0], return_inverse=True)
            self.rows = distinct[:, None]
        else:
            self.rows, number = np.unique(both, axis=0, return_inverse=True)
        self.often = np.bincount(number.reshape(-1), weights, minlength=len(self.rows)).astype(np.int64)
        if len(self.rows) > self._room:
            hashes = _hashes(self.rows)
            self._last = np.partition(hashes, self._room - 1)[self._room - 1]
            kept = hashes <= self._last
            self.rows, self.often = self.rows[kept], self.often[kept]


def _hashes(rows: NDArray[np.float64]) -> NDArray[np.uint64]:
    """A well-mixed number for each row (splitmix64, column after column)."""
    state = np.zeros(len(rows), dtype=np.uint64)
    for column in np.ascontiguousarray(rows).view(np.uint64).T:
        state = state + column + np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            state = (state ^ (state >> np.uint64(shift))) * np.uint64(factor)
        state = state ^ (state >> np.uint64(31))
    return state
