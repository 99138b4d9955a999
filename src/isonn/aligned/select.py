r"""Find sets of regions whose connections change together, and how often chance finds any as good.

Every connection has a partial t statistic, its association with the target given the confounds. The score of a set of
regions is the sum of the statistics of its connections. Sets grow greedily: from each of the strongest connections, the
region that adds most is added, one at a time. The same search on shuffled data calibrates the scores, so that sets of
any size are ranked by

.. math:: z = (\text{score} - \mu_k) / \sigma_k

with the mean and deviation of the best score of k regions.

Shuffles follow Freedman and Lane (1983): what the confounds do not explain of the connections is shuffled over the
graphs, one order for all connections, and the confounds are fitted again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from isonn.aligned.model import RegionSet
from isonn.confounds import Nuisance
from isonn.packing import Floats, IntArray

#: Number of connections of each sign that sets grow from.
STARTS = 30
#: Numbers that the search on shuffled data may hold at a time: 16 MB.
BLOCK_NUMBERS = 2**21
#: Statistics of shuffled data are counted in steps of this size, up to a largest one.
STEP, MOST_STEPS = 0.01, 4000


@dataclass(frozen=True, eq=False)
class Shuffled:
    """The results of the search on the data as it is and on shuffled data.

    Attributes:
        mean, deviation: of the best score of k regions on shuffled data, at index k.
        best: the largest rank of any allowed size, for each order; the first order is the data as it is.
        others: the same for each shuffle, relative to the other shuffles only.
        strongest: the largest absolute t statistic of any connection, for each order.
        counts: how many statistics of shuffled data are at least ``i * STEP``, at index i.
    """

    mean: Floats
    deviation: Floats
    best: Floats
    others: Floats
    strongest: Floats
    counts: IntArray

    def rank(self, score: Floats | float, k: int) -> Floats:
        """Return the ranks of scores of k regions."""
        return np.asarray((score - self.mean[k]) / self.deviation[k])

    def uncorrected(self, statistics: Floats) -> Floats:
        """Return the p-value of each connection on its own, from the shuffled statistics of all connections."""
        at = np.minimum((np.abs(statistics) / STEP).astype(np.int64), MOST_STEPS)
        return np.asarray((1 + self.counts[at]) / (1 + self.counts[0]))


def exceedance(shuffled: Floats, values: Floats) -> Floats:
    """Return (1 + shuffles that are as large) / (1 + shuffles), for each value.

    Example:
        >>> exceedance(np.array([1.0, 2.0, 3.0]), np.array([2.5, 0.0])).tolist()
        [0.5, 1.0]
    """
    ordered = np.sort(shuffled)
    above = len(ordered) - np.searchsorted(ordered, values - 1e-12)
    return np.asarray((1 + above) / (1 + len(ordered)))


class PartialT:
    """The partial t statistics of all connections, for the data as it is and for shuffled residuals.

    Args:
        cells: connections, shape (g, p).
        target, weights: shape (g,).
        confounds: shape (g, columns); none by default.

    Example:
        >>> draw = np.random.default_rng(0)
        >>> cells, target = draw.normal(size=(20, 3)), draw.normal(size=20)
        >>> PartialT(cells, target, np.ones(20))().shape
        (1, 3)
    """

    def __init__(self, cells: Floats, target: Floats, weights: Floats, confounds: Floats | None = None) -> None:
        self._nuisance = Nuisance.of(np.zeros((len(cells), 0)) if confounds is None else confounds, weights)
        self.freedom = self._nuisance.freedom
        self._weights = self._nuisance.root**2
        self._rest = self._nuisance.residuals(target[:, None])[:, 0]
        self._residuals = self._nuisance.residuals(cells)
        self._even = bool(np.ptp(self._weights) < 1e-12)
        total = np.einsum("g,gp,gp->p", self._weights, self._residuals, self._residuals)
        size = np.einsum("g,gp,gp->p", self._weights, cells, cells)
        self._flat = total <= 1e-18 * np.maximum(size, 1e-300)
        self._total = total
        self._length = float(self._weights @ self._rest**2)

    def __call__(self, orders: IntArray | None = None) -> Floats:
        """Return the statistics of each order of the residuals (None: as they are), shape (orders, p)."""
        if orders is None:
            covariance, variance = ((self._weights * self._rest) @ self._residuals)[None], self._total[None]
        else:
            covariance = (self._weights * self._rest)[orders].T @ self._residuals
            variance = self._shuffled_variance(orders)
        spread = np.sqrt(np.maximum(variance, 0.0) * self._length)
        good = (spread > 1e-12 * np.sqrt(max(self._length, 1e-300))) & ~self._flat
        r = np.clip(np.divide(covariance, spread, out=np.zeros_like(covariance), where=good), -1 + 1e-9, 1 - 1e-9)
        return np.asarray(r * np.sqrt(self.freedom / (1 - r**2)))

    def _shuffled_variance(self, orders: IntArray) -> Floats:
        """Return the sum of squares of shuffled residuals after the confounds are fitted again, shape (orders, p)."""
        basis = self._nuisance.basis * self._nuisance.root[:, None]
        if self._even:  # shuffled residuals have the same sum of squares, and their mean stays 0
            variance = np.tile(self._total, (orders.shape[1], 1))
            basis = basis[:, 1:]
        else:
            variance = self._weights[orders].T @ self._residuals**2
        for column in basis.T:
            variance -= (column[orders].T @ self._residuals) ** 2
        return variance


def as_matrices(statistics: Floats, pairs: IntArray, n: int) -> Floats:
    """Return statistics as symmetric matrices with an empty diagonal, shape (b, n, n); both directions are added."""
    matrices = np.zeros((len(statistics), n, n))
    matrices[:, pairs[:, 0], pairs[:, 1]] = statistics
    matrices += matrices.transpose(0, 2, 1)
    matrices[:, np.arange(n), np.arange(n)] = 0.0
    return matrices


def grow(matrices: Floats, largest: int, starts: int = STARTS) -> tuple[IntArray, Floats]:
    """Grow sets from the largest entries of each matrix.

    Args:
        matrices: symmetric, shape (b, n, n), with an empty diagonal.
        largest: maximum number of regions in a set.

    Returns:
        Regions in the order they joined, shape (b, starts, largest), and the score of the first k of them at index k,
        shape (b, starts, largest + 1).

    Example:
        >>> matrix = np.array([[[0, 5, 4, 0], [5, 0, 3, 0], [4, 3, 0, 1], [0, 0, 1, 0.0]]])
        >>> nodes, scores = grow(matrix, largest=3, starts=1)
        >>> nodes[0, 0].tolist(), scores[0, 0].tolist()
        ([0, 1, 2], [0.0, 0.0, 5.0, 12.0])
    """
    b, n, _ = matrices.shape
    row, column = np.triu_indices(n, 1)
    flat = matrices[:, row, column]
    count = min(starts, flat.shape[1])
    top = np.argpartition(-flat, count - 1, axis=1)[:, :count]
    nodes = np.zeros((b, count, largest), dtype=np.int64)
    nodes[:, :, 0], nodes[:, :, 1] = row[top], column[top]
    scores = np.zeros((b, count, largest + 1))
    scores[:, :, 2] = np.take_along_axis(flat, top, axis=1)
    every = np.arange(b)[:, None]
    gain = matrices[every, nodes[:, :, 0]] + matrices[every, nodes[:, :, 1]]  # (b, starts, n)
    np.put_along_axis(gain, nodes[:, :, :2], -np.inf, axis=2)
    for k in range(2, largest):
        new = gain.argmax(axis=2)
        nodes[:, :, k] = new
        scores[:, :, k + 1] = scores[:, :, k] + np.take_along_axis(gain, new[:, :, None], axis=2)[:, :, 0]
        gain += matrices[every, new]
        np.put_along_axis(gain, new[:, :, None], -np.inf, axis=2)
    return nodes, scores


def search_shuffled(statistics: PartialT, orders: IntArray, pairs: IntArray, n: int, sizes: Sequence[int]) -> Shuffled:
    """Run the search on shuffled data, to calibrate scores.

    Every order, and so the data as it is, is ranked by the mean and deviation of all others. Under the null hypothesis
    each is then as likely to be the best, and p-values are exact.

    Args:
        statistics: the statistics of the connections.
        orders: the orders of the graphs, shape (g, orders); the first is the order as it is.
        pairs: the regions of each connection.
        n: number of regions.
        sizes: allowed numbers of regions in a set.
    """
    largest, count = max(sizes), orders.shape[1]
    best, strongest = np.zeros((count, largest + 1)), np.zeros(count)
    steps = np.zeros(MOST_STEPS + 1, dtype=np.int64)
    step = max(1, BLOCK_NUMBERS // (n * n + STARTS * n))
    for start in range(0, count, step):
        block = slice(start, min(start + step, count))
        t = statistics(orders[:, block])
        strongest[block] = np.abs(t).max(axis=1, initial=0.0)
        shuffles = np.abs(t[1:] if start == 0 else t)
        steps += np.bincount(np.minimum(shuffles / STEP, MOST_STEPS).astype(np.int64).ravel(), minlength=len(steps))
        matrices = as_matrices(t, pairs, n)
        for sign in (1, -1):
            best[block] = np.maximum(best[block], grow(sign * matrices, largest)[1].max(axis=1))
    allowed = [k for k in range(largest + 1) if k in sizes]
    mean, deviation = _of_the_others(best)
    ranks = ((best - mean) / deviation)[:, allowed].max(axis=1)
    # a strong effect of the data as it is would lower the ranks of all shuffles, and so the p-values of other sets
    means, deviations = _of_the_others(best[1:])
    others = ((best[1:] - means) / deviations)[:, allowed].max(axis=1)
    return Shuffled(mean[0], deviation[0], ranks, others, strongest, np.cumsum(steps[::-1])[::-1])


def _of_the_others(scores: Floats) -> tuple[Floats, Floats]:
    """Return the mean and deviation of all other rows, for each row."""
    count = max(len(scores) - 1, 1)
    centre = scores.mean(axis=0)
    off = scores - centre
    mean = (off.sum(axis=0) - off) / count
    square = ((off**2).sum(axis=0) - off**2) / count
    return centre + mean, np.sqrt(np.maximum(square - mean**2, 1e-18))


def propose(
    statistics: Floats, pairs: IntArray, n: int, sizes: Sequence[int], shuffled: Shuffled, count: int
) -> list[RegionSet]:
    """Return the sets with the highest ranks, best first; no two of them share a connection.

    Args:
        statistics: t statistic of each connection, shape (p,).
        sizes: allowed numbers of regions in a set.
        count: maximum number of sets.
    """
    matrix = as_matrices(statistics[None], pairs, n)
    candidates: list[RegionSet] = []
    for sign in (1, -1):
        nodes, scores = grow(sign * matrix, max(sizes))
        for k in sizes:
            ranks = shuffled.rank(scores[0, :, k], k)
            candidates += [
                RegionSet(tuple(nodes[0, start, :k].tolist()), sign, float(scores[0, start, k]), float(ranks[start]))
                for start in range(len(ranks))
            ]
    chosen: list[RegionSet] = []
    taken = np.zeros((n, n), dtype=bool)
    for regions in sorted(candidates, key=lambda candidate: -candidate.rank):
        block = np.ix_(regions.nodes, regions.nodes)
        if taken[block].any():
            continue
        chosen.append(regions)
        if len(chosen) == count:
            break
        taken[block] = True
        np.fill_diagonal(taken, False)
    return chosen
