"""The training graphs as a table, with what a permutation test may exchange."""

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
class Sample:
    """Training graphs as a table, with all their targets, or one of them.

    Attributes:
        cells: standardised connections without the effect of confounds, shape (g, p).
        columns: a column for each class (+1 and -1), label or number, NaN if unknown, shape (g, t).
        weights: shape (g,).
        numeric: whether targets are measurements.
        confounds: columns of confounds, shape (g, q).
        source: the graphs that effects of confounds are estimated from, shape (g,).
        exchange: which graphs may be exchanged in permutations.
    """

    cells: Floats
    columns: Floats
    weights: Floats
    numeric: bool
    confounds: Floats
    source: NDArray[np.bool_]
    exchange: Exchange

    def merged(self) -> Sample:
        """Average the graphs of each group if groups of different sizes would have to be exchanged."""
        groups, strata = self.exchange.groups, self.exchange.strata
        if groups is None or not self.exchange.uneven:
            return self
        sizes = np.bincount(groups)
        warnings.warn(
            f"groups have {sizes.min()} to {sizes.max()} graphs, so they cannot be exchanged; the graphs of each of "
            f"the {len(sizes)} groups are averaged before fitting",
            IsoNNWarning,
            stacklevel=4,
        )
        mean, first = averaging(groups), np.unique(groups, return_index=True)[1]
        return replace(
            self,
            cells=mean @ self.cells,
            columns=self.columns[first],
            weights=mean @ self.weights,
            confounds=mean @ self.confounds,
            source=self.source[first],
            exchange=Exchange(strata=None if strata is None else strata[first]),
        )

    def rows(self, number: int) -> IntArray:
        """Return the graphs whose target is known in a column."""
        return np.flatnonzero(np.isfinite(self.columns[:, number]))

    def samples(self) -> list[Sample]:
        """Return the graphs of each column, with this column alone and weights of mean 1."""
        samples = []
        for number in range(self.columns.shape[1]):
            rows = self.rows(number)
            sample = self if len(rows) == len(self.columns) else self.select(rows)
            weights = sample.weights / sample.weights.mean()
            samples.append(replace(sample, columns=sample.columns[:, [number]], weights=weights))
        return samples

    @property
    def target(self) -> Floats:
        """The first column, shape (g,)."""
        return self.columns[:, 0]

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
        if not self.confounds.shape[1]:
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
        if not self.confounds.shape[1]:
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
            columns=self.columns[rows],
            weights=self.weights[rows],
            confounds=self.confounds[rows],
            source=self.source[rows],
            exchange=self.exchange.at(rows),
        )
