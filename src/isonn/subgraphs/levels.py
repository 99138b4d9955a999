"""Levels: numbers rounded to a few values, so that equal subgraphs can be found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from isonn.packing import IntArray, row_hashes

#: Number of levels for node attributes and edge weights; with more, hardly any two subgraphs would be equal.
LEVELS = 8
#: Degrees up to this have a level each; above it a level is half an octave.
EXACT_DEGREES = 8
#: Number of values used to find levels; more change little.
MAX_VALUES = 20_000


@dataclass(frozen=True, eq=False)
class Levels:
    """Centres that rows of numbers are rounded to.

    Attributes:
        shift, scale: map rows to zero mean and unit size, ``(width,)``.
        centres: the levels in these units, ``(levels, width)``.
    """

    shift: NDArray[np.float64]
    scale: NDArray[np.float64]
    centres: NDArray[np.float64]

    @classmethod
    def fit(cls, values: DistinctRows, count: int = LEVELS, scale: bool = False) -> Levels:
        """Find at most ``count`` levels of a column: all its values if they are few, else cluster centres.

        Args:
            values: the distinct rows of the column; an empty column counts as ones.
            scale: only divide by the largest absolute value, so that 0 stays 0. Otherwise each number is standardised.
        """
        distinct, often, width = values.rows, values.often, values.rows.shape[1]
        if not len(distinct):
            distinct, often = np.ones((1, width)), np.ones(1, dtype=np.int64)
        if scale:
            shift, size = np.zeros(width), values.largest
        else:  # sorted, so that sums do not depend on the order of rows
            shift = often @ distinct / often.sum()
            size = np.sqrt(often @ (distinct - shift) ** 2 / often.sum() * width)
        size = np.where(size > 0, size, 1.0)
        distinct = (distinct - shift) / size
        if len(distinct) > count:
            distinct = _clusters(distinct, often, count)
        return cls(shift, size, distinct)

    def __len__(self) -> int:
        return len(self.centres)

    @property
    def width(self) -> int:
        """Number of values in a row."""
        return int(self.centres.shape[1])

    def value(self, level: int) -> tuple[float, ...]:
        """Return a level in the units of the column."""
        return tuple((self.centres[level] * self.scale + self.shift).tolist())

    def nearest(self, column: NDArray[np.float64]) -> IntArray:
        """Return the nearest level of each row."""
        rows = (column.reshape(len(column), self.width) - self.shift) / self.scale
        squares = [((rows - centre) ** 2).sum(axis=1) for centre in self.centres]
        level: IntArray = np.argmin(squares, axis=0).astype(np.int64)
        return level

    def as_json(self) -> dict[str, Any]:
        """Return the levels as JSON."""
        return {"shift": self.shift.tolist(), "scale": self.scale.tolist(), "centres": self.centres.tolist()}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Levels:
        """Read levels that `as_json` returned."""
        return cls(*(np.array(stored[name], dtype=np.float64) for name in ("shift", "scale", "centres")))


def _clusters(rows: NDArray[np.float64], often: IntArray, count: int) -> NDArray[np.float64]:
    from sklearn.cluster import KMeans

    step = -(-len(rows) // MAX_VALUES)
    with threadpool_limits(1):  # threads split sums, and levels must not depend on the machine
        fitted = KMeans(count, n_init=1, random_state=0).fit(rows[::step], sample_weight=often[::step])
    centres: NDArray[np.float64] = np.unique(fitted.cluster_centers_, axis=0)
    return centres


def degree_levels(degree: IntArray) -> IntArray:
    """Return the level of each degree.

    Example:
        >>> degree_levels(np.array([0, 1, 8, 9, 12, 17])).tolist()
        [0, 1, 8, 8, 9, 10]
    """
    beyond = np.round(2 * np.log2((1.0 + degree) / (1 + EXACT_DEGREES))).astype(np.int64)
    return np.where(degree <= EXACT_DEGREES, degree, EXACT_DEGREES + beyond)


def degree_values(level: IntArray) -> NDArray[np.float64]:
    """Return log2(1 + degree) of each level."""
    low = np.log2(1.0 + np.minimum(level, EXACT_DEGREES))
    return low + np.maximum(level - EXACT_DEGREES, 0) / 2


#: Number of values kept, and the minimum number of rows kept.
MOST_NUMBERS, FEWEST_ROWS = 2**19, 2**16


class DistinctRows:
    """Distinct rows of numbers, with their counts and the largest absolute values.

    If there are more distinct rows than fit, those with the smallest hashes are kept. This choice does not depend on
    the order of the rows. A row that is kept at the end was kept all along, so every count is exact.

    Attributes:
        rows: the rows kept, sorted, ``(d, width)``.
        often: the count of each row, ``(d,)``.
        largest: the largest absolute value of each column over all rows added, ``(width,)``.
    """

    def __init__(self, width: int) -> None:
        self.rows: NDArray[np.float64] = np.zeros((0, width))
        self.often: IntArray = np.zeros(0, dtype=np.int64)
        self.largest: NDArray[np.float64] = np.zeros(width)
        self._room = max(FEWEST_ROWS, MOST_NUMBERS // max(width, 1))
        self._last = np.uint64(2**64 - 1)  # the largest hash kept, once rows were dropped

    def add(self, rows: NDArray[np.float64], times: int = 1) -> None:
        """Add rows, each with the count ``times``."""
        if not len(rows):
            return
        rows = rows.astype(np.float64) + 0.0  # turns -0.0 into 0.0
        self.largest = np.maximum(self.largest, np.abs(rows).max(axis=0))
        if self._last < np.uint64(2**64 - 1):
            rows = rows[_hashes(rows) <= self._last]
        both = np.concatenate([self.rows, rows])
        weights = np.concatenate([self.often, np.full(len(rows), times)])
        if both.shape[1] == 1:  # the same result, faster
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
    return row_hashes(np.ascontiguousarray(rows).view(np.uint64))
