"""The graphs of a study as tables: all of them, and those that one column of targets is learned from."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from isonn.aligned.exchange import Exchange, averaging
from isonn.aligned.select import PartialT
from isonn.confounds import CHUNK, slope_matrix, subtract
from isonn.errors import IsoNNWarning
from isonn.packing import Floats, IntArray

INNER_FOLDS = 5


@dataclass(frozen=True, eq=False)
class Study:
    """What is known about the training graphs.

    Attributes:
        cells: standardised connections without the effect of confounds, shape (g, p).
        columns: a column for each class, label or number, NaN if unknown, shape (g, t).
        weights: shape (g,).
        numeric: whether targets are measurements.
        confounds: shape (g, q), or None.
        source: the graphs that effects of confounds are estimated from, shape (g,).
        groups: the group of each graph, shape (g,), or None.
        strata: the category of each graph within which permutations exchange graphs, shape (g,), or None.
    """

    cells: Floats
    columns: Floats
    weights: Floats
    numeric: bool
    confounds: Floats | None
    source: NDArray[np.bool_]
    groups: IntArray | None
    strata: IntArray | None

    def exchange(self) -> Exchange:
        """Return which graphs may be exchanged in permutations."""
        return Exchange.of(self.groups, self.columns, self.strata)

    def merged(self) -> Study:
        """Average the graphs of each group if groups of different sizes would have to be exchanged."""
        if self.groups is None or not self.exchange().uneven:
            return self
        sizes = np.bincount(self.groups)
        warnings.warn(
            f"groups have {sizes.min()} to {sizes.max()} graphs, so they cannot be exchanged; the graphs of each of "
            f"the {len(sizes)} groups are averaged before fitting",
            IsoNNWarning,
            stacklevel=4,
        )
        mean, first = averaging(self.groups), np.unique(self.groups, return_index=True)[1]
        return Study(
            mean @ self.cells,
            self.columns[first],
            mean @ self.weights,
            self.numeric,
            None if self.confounds is None else mean @ self.confounds,
            self.source[first],
            None,
            None if self.strata is None else self.strata[first],
        )

    def rows(self, number: int) -> IntArray:
        """Return the graphs whose target is known in a column."""
        return np.flatnonzero(np.isfinite(self.columns[:, number]))

    def samples(self) -> list[Sample]:
        """Return the graphs of each column."""
        exchange, samples = self.exchange(), []
        for number in range(self.columns.shape[1]):
            rows = self.rows(number)
            weights = self.weights[rows]
            samples.append(
                Sample(
                    self.cells if len(rows) == len(self.columns) else self.cells[rows],
                    self.columns[rows, number],
                    weights / weights.mean(),
                    self.numeric,
                    None if self.confounds is None else self.confounds[rows],
                    self.source[rows],
                    exchange.at(rows),
                )
            )
        return samples


@dataclass(frozen=True, eq=False)
class Sample:
    """The graphs that one column of targets is learned from.

    Attributes:
        cells: standardised connections without the effect of confounds, shape (g, p).
        target, weights: shape (g,); +1 and -1 for classes; weights have mean 1.
        numeric: whether the target is a measurement.
        confounds: columns of confounds, shape (g, q), or None.
        source: the graphs that effects of confounds are estimated from, shape (g,).
        exchange: the groups of graphs.
    """

    cells: Floats
    target: Floats
    weights: Floats
    numeric: bool
    confounds: Floats | None
    source: NDArray[np.bool_]
    exchange: Exchange

    @property
    def constant(self) -> bool:
        """Whether there is nothing to learn."""
        return bool(np.ptp(self.target) == 0) or not self.cells.any()

    @property
    def folds(self) -> int:
        """Number of inner folds that the graphs, or their groups, allow."""
        groups = self.exchange.groups
        if self.numeric:
            return min(INNER_FOLDS, (len(self.target) if groups is None else int(groups.max()) + 1) // 2)
        units = np.arange(len(self.target)) if groups is None else groups
        return min(INNER_FOLDS, *(len(np.unique(units[self.target == value])) for value in np.unique(self.target)))

    def statistics(self) -> PartialT:
        """Return the partial t statistics of the connections, for any order of the graphs."""
        return PartialT(self.cells, self.target, self.weights, self.confounds)

    def observed(self) -> Floats:
        """Return the statistics of the graphs as they are, shape (p,), without a copy of all connections."""
        blocks = [
            PartialT(self.cells[:, start : start + CHUNK], self.target, self.weights, self.confounds)()[0]
            for start in range(0, self.cells.shape[1], CHUNK)
        ]
        return np.concatenate(blocks)

    def draw_folds(self, draw: np.random.Generator) -> IntArray:
        """Return the fold of each graph; every fold has its share of small and large targets, and whole groups."""
        groups, folds = self.exchange.groups, self.folds
        target = self.target if groups is None else averaging(groups) @ self.target
        order = np.lexsort((draw.random(len(target)), target))
        fold = np.concatenate([draw.permutation(folds) for _ in range(-(-len(target) // folds))])[: len(target)]
        of_group = np.empty(len(target), dtype=np.int64)
        of_group[order] = fold
        return of_group if groups is None else of_group[groups]

    def split(self, train: IntArray, test: IntArray, kernel: Floats) -> tuple[Sample, Sample, Floats]:
        """Return training and test graphs, with confounds regressed out by the training graphs, and their kernel."""
        if self.confounds is None:
            return self.select(train), self.select(test), kernel[np.ix_(train, train)]
        source = np.zeros(len(self.target), dtype=bool)
        source[train] = self.source[train]
        operator = slope_matrix(self.confounds, source if source.sum() > self.confounds.shape[1] else self.source)
        slopes = operator @ self.cells
        keep = np.eye(len(self.target)) - self.confounds @ operator
        kernel = keep @ kernel @ keep.T
        samples = self.select(train), self.select(test)
        for sample, rows in zip(samples, (train, test), strict=True):
            subtract(sample.cells, self.confounds[rows], slopes)
        return *samples, kernel[np.ix_(train, train)]

    def unexplained(self, train: IntArray, test: IntArray) -> Floats:
        """Return the targets of test graphs without what the confounds predict by the training graphs."""
        target = self.target if self.numeric else self.target / 2  # so that classes differ by 1
        if self.confounds is None:
            return target[test]
        source = np.zeros(len(target), dtype=bool)
        source[train] = True
        return np.asarray(target[test] - self.confounds[test] @ (slope_matrix(self.confounds, source) @ target))

    def merge(self, values: Floats) -> Floats:
        """Return the mean over the graphs of each group, if whole groups are exchanged."""
        if self.exchange.groups is None or self.exchange.within:
            return values
        return np.asarray(averaging(self.exchange.groups) @ values)

    def select(self, rows: IntArray) -> Sample:
        """Return some of the graphs."""
        return replace(
            self,
            cells=self.cells[rows],
            target=self.target[rows],
            weights=self.weights[rows],
            confounds=None if self.confounds is None else self.confounds[rows],
            source=self.source[rows],
            exchange=self.exchange.at(rows),
        )
