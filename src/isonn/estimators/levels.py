"""Numbers brought to a few levels, so that equal subgraphs can be found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.data.graphs import IntArray
from isonn.estimators.distinct import DistinctRows

#: Degrees up to this are told apart one by one; beyond it a level is half an octave.
EXACT_DEGREES = 8
#: Values looked at to find levels; more change little.
MAX_VALUES = 20_000


@dataclass(frozen=True, eq=False)
class Levels:
    """Centres that rows of numbers are brought to.

    Attributes:
        shift, scale: what rows are brought to zero mean and unit size with, ``(width,)``.
        centres: in these units, ``(levels, width)``.
    """

    shift: NDArray[np.float64]
    scale: NDArray[np.float64]
    centres: NDArray[np.float64]

    @classmethod
    def of(cls, column: NDArray[np.float64], count: int, scale: bool = False) -> Levels:
        """At most ``count`` levels of a column: all its values when they are few, else centres of clusters.

        Args:
            scale: only divide by the largest absolute value: 0 stays 0. Else every number is standardised, and the
                squared distance of two rows is, in the mean, that of two one-hot labels.
        """
        width = 1 if column.ndim == 1 else column.shape[1]
        values = DistinctRows(width)
        values.add(column.reshape(len(column), width))
        return cls.of_distinct(values, count, scale)

    @classmethod
    def of_distinct(cls, values: DistinctRows, count: int, scale: bool = False) -> Levels:
        """The levels of a column of which the distinct rows are known; none at all count as ones."""
        distinct, often, width = values.rows, values.often, values.rows.shape[1]
        if not len(distinct):
            distinct, often = np.ones((1, width)), np.ones(1, dtype=np.int64)
        if scale:
            shift, size = np.zeros(width), values.largest
        else:  # sorted: sums do not depend on the order of rows
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
        """Numbers of a row."""
        return int(self.centres.shape[1])

    def nearest(self, column: NDArray[np.float64]) -> IntArray:
        """The level of each row."""
        rows = (column.reshape(len(column), self.width) - self.shift) / self.scale
        squares = [((rows - centre) ** 2).sum(axis=1) for centre in self.centres]
        level: IntArray = np.argmin(squares, axis=0).astype(np.int64)
        return level

    def as_json(self) -> dict[str, Any]:
        """The levels as JSON."""
        return {"shift": self.shift.tolist(), "scale": self.scale.tolist(), "centres": self.centres.tolist()}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Levels:
        """The levels `as_json` wrote."""
        return cls(*(np.array(stored[name], dtype=np.float64) for name in ("shift", "scale", "centres")))


def _clusters(rows: NDArray[np.float64], often: IntArray, count: int) -> NDArray[np.float64]:
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    step = -(-len(rows) // MAX_VALUES)
    with threadpool_limits(1):  # sums are split by thread, and levels must not depend on the machine
        fitted = KMeans(count, n_init=1, random_state=0).fit(rows[::step], sample_weight=often[::step])
    centres: NDArray[np.float64] = np.unique(fitted.cluster_centers_, axis=0)
    return centres


def degree_levels(degree: IntArray) -> IntArray:
    """The level of each degree.

    Example:
        >>> degree_levels(np.array([0, 1, 8, 9, 12, 17])).tolist()
        [0, 1, 8, 8, 9, 10]
    """
    beyond = np.round(2 * np.log2((1.0 + degree) / (1 + EXACT_DEGREES))).astype(np.int64)
    return np.where(degree <= EXACT_DEGREES, degree, EXACT_DEGREES + beyond)


def degree_values(level: IntArray) -> NDArray[np.float64]:
    """log2(1 + degree) of each level."""
    low = np.log2(1.0 + np.minimum(level, EXACT_DEGREES))
    return low + np.maximum(level - EXACT_DEGREES, 0) / 2
