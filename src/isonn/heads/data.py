"""The table that heads learn from: features and counts of graphs, which graphs are equal, and which stay together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from isonn.packing import Floats, IntArray, mix64

Digests = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Inputs:
    """Features and counts of graphs, one row each.

    Only `fit` reads digests and groups. Without them, graphs with equal rows of counts are equal, and each distinct
    graph is a group.

    Attributes:
        features: scaled features for sums, shape (g, p).
        counts: counts of pieces for the trees, shape (g, c), columns in the order of the pieces' codes; whole-graph
            terms are the last columns and may be negative or NaN.
        digests: equal for equal graphs, shape (g,).
        groups: equal for graphs that no fold may separate, shape (g,); see `isonn.heads.join_groups`.
        sizes: the nodes of each column's piece, shape (c,), 1 for terms; trees prefer small pieces. None: all the same.

    Example:
        >>> inputs = Inputs.of(csr_array(np.eye(3)))
        >>> len(inputs), inputs.rows(np.array([0, 2])).features.shape
        (3, (2, 3))
    """

    features: csr_array
    counts: csr_array
    digests: Digests | None = None
    groups: IntArray | None = None
    sizes: IntArray | None = None

    @classmethod
    def of(cls, table: csr_array) -> Inputs:
        """Return inputs whose features and counts are the same table."""
        return cls(table, table)

    def __len__(self) -> int:
        return int(self.features.shape[0])

    def rows(self, rows: IntArray) -> Inputs:
        """Return some of the graphs."""
        digests = None if self.digests is None else self.digests[rows]
        groups = None if self.groups is None else self.groups[rows]
        return Inputs(csr_array(self.features[rows]), csr_array(self.counts[rows]), digests, groups, self.sizes)


@dataclass(frozen=True, eq=False)
class Distinct:
    """The distinct training graphs, sorted by digest, so that the order of rows has no influence.

    Attributes:
        rows: a row of each distinct graph, shape (d,).
        digests: sorted, shape (d,).
        groups: the group of each distinct graph, shape (d,), numbered by the smallest digest.
        graph: the distinct graph of each row, shape (g,); -1 for rows without weight.
        weights: of each row, shape (g,).

    Example:
        >>> len(Distinct.of(Inputs.of(csr_array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]))).rows)  # the first is repeated
        2
    """

    rows: IntArray
    digests: Digests
    groups: IntArray
    graph: IntArray
    weights: Floats

    @classmethod
    def of(cls, inputs: Inputs, weights: Floats | None = None) -> Distinct:
        """Find the distinct graphs among the rows with positive weight."""
        weights = np.ones(len(inputs)) if weights is None else np.asarray(weights, dtype=np.float64)
        kept = np.flatnonzero(weights > 0)
        digests = row_digests(inputs.counts) if inputs.digests is None else inputs.digests
        values, first, number = np.unique(digests[kept], return_index=True, return_inverse=True)
        graph = np.full(len(inputs), -1, dtype=np.int64)
        graph[kept] = number.reshape(-1)
        groups = np.arange(len(values)) if inputs.groups is None else in_order(inputs.groups[kept][first])
        return cls(kept[first], values, groups, graph, weights)

    def merge(self, columns: Floats) -> tuple[IntArray, Floats, Floats]:
        """Merge rows of equal graphs: return graphs with a known value, weighted mean values and summed weights.

        Columns must be known for the same rows. Weights have mean 1, so that a common factor changes nothing.
        """
        known = np.flatnonzero((self.graph >= 0) & np.isfinite(columns[:, 0]))
        number, weights, size = self.graph[known], self.weights[known], len(self.rows)
        total = np.bincount(number, weights, minlength=size)
        sums = [np.bincount(number, weights * column, minlength=size) for column in columns[known].T]
        graphs = np.flatnonzero(total)
        means = np.stack(sums, axis=1)[graphs] / total[graphs, None]
        return graphs, means, total[graphs] / total[graphs].mean()

    def pairs(self, column: Floats, known: NDArray[np.bool_] | None = None) -> tuple[IntArray, Floats]:
        """Merge rows of equal graphs with equal values: return a row of each pair, sorted, and weights of mean 1.

        Rows where the value is NaN or ``known`` is False are left out.
        """
        rows = np.flatnonzero((self.graph >= 0) & np.isfinite(column) & (True if known is None else known))
        order = rows[np.lexsort((column[rows], self.graph[rows]))]
        if not len(order):
            return order, np.zeros(0)
        changes = (np.diff(self.graph[order]) != 0) | (np.diff(column[order]) != 0)
        starts = np.flatnonzero(np.append(True, changes))
        weights = np.add.reduceat(self.weights[order], starts)
        return order[starts], weights / weights.mean()

    def disagreeing(self, targets: NDArray[Any]) -> int:
        """Return the number of distinct graphs whose copies have different targets, for a warning.

        Example:
            >>> distinct = Distinct.of(Inputs.of(csr_array([[1.0], [1.0], [2.0], [2.0]])))
            >>> distinct.disagreeing(np.array([0, 1, 1, 1]))
            1
        """
        columns = np.asarray(targets, dtype=np.float64).reshape(len(targets), -1).T
        numbers = [np.bincount(self.graph[self.pairs(column)[0]], minlength=len(self.rows)) for column in columns]
        return int((np.stack(numbers) > 1).any(axis=0).sum())


def in_order(groups: IntArray) -> IntArray:
    """Number groups in the order in which they occur."""
    _, first, number = np.unique(groups, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[number.reshape(-1)], dtype=np.int64)


def row_digests(table: csr_array) -> Digests:
    """Return a digest of each row that does not depend on the order of rows.

    Example:
        >>> one, other, same = row_digests(csr_array(np.array([[1.0, 0], [0, 1], [1, 0]])))
        >>> bool(one == same), bool(one == other)
        (True, False)
    """
    bits = (table.data.astype(np.float64) + 0.0).view(np.uint64)  # + 0.0: minus zero is zero
    with np.errstate(over="ignore"):
        hashed = mix64(mix64(table.indices.astype(np.uint64)) ^ bits)
        hashed[table.data == 0] = 0  # ignore explicitly stored zeros
        sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(hashed, dtype=np.uint64)])
        return mix64(sums[table.indptr[1:]] - sums[table.indptr[:-1]])
