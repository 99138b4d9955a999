r"""Find sets of regions whose connections change together.

Every connection has a t statistic, its association with the target over the training graphs. The score of a set of
regions is the sum of the statistics of its connections. Sets grow greedily: from each of the strongest connections, the
region that adds most is added, one at a time. The same search on shuffled targets calibrates the scores, so that sets
of any size are ranked by

.. math:: z = (\text{score} - \mu_k) / \sigma_k

with the mean and deviation of the best score of k regions under shuffling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from isonn.packing import Floats, IntArray

#: Number of connections of each sign that sets grow from.
STARTS = 30
#: Numbers that the search on shuffled targets may hold at a time: 128 MB.
BLOCK_NUMBERS = 2**24


@dataclass(frozen=True, eq=False)
class RegionSet:
    """A set of regions.

    Attributes:
        nodes: its regions, beginning with the two it grew from.
        sign: +1 if its connections are stronger for larger targets, else -1.
        score: the sum of its t statistics.
        rank: the score relative to the best of shuffled targets, in standard deviations.
    """

    nodes: tuple[int, ...]
    sign: int
    score: float
    rank: float


@dataclass(frozen=True, eq=False)
class Shuffled:
    """The best scores of the search on shuffled targets.

    Attributes:
        mean, deviation: of the best score of k regions, at index k.
        best: the largest rank of any size in each shuffle, for p-values.
    """

    mean: Floats
    deviation: Floats
    best: Floats

    def rank(self, score: Floats | float, k: int) -> Floats:
        """Return the ranks of scores of k regions, relative to shuffled targets."""
        return np.asarray((score - self.mean[k]) / self.deviation[k])

    def p_value(self, rank: float) -> float:
        """Return how often shuffled targets give a set of any size with as high a rank (family-wise)."""
        return float((1 + (self.best >= rank).sum()) / (1 + len(self.best)))


def t_statistics(cells: Floats, targets: Floats, weights: Floats) -> Floats:
    """Return the t statistic of every connection and target, from weighted correlations.

    Args:
        cells: shape (g, p).
        targets, weights: shape (g, b), a column of weights for each column of targets.

    Returns:
        ndarray of shape (b, p).
    """
    weights = weights / weights.sum(axis=0)
    centred = targets - (weights * targets).sum(axis=0)
    mean = weights.T @ cells
    covariance = (weights * centred).T @ cells
    variance = np.maximum(weights.T @ cells**2 - mean**2, 0.0)
    spread = np.sqrt(variance * (weights * centred**2).sum(axis=0)[:, None])
    r = np.clip(covariance / np.where(spread > 1e-12, spread, np.inf), -1 + 1e-9, 1 - 1e-9)
    return np.asarray(r * np.sqrt(max(len(cells) - 2, 1) / (1 - r**2)))


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


def search_shuffled(
    cells: Floats,
    target: Floats,
    weights: Floats,
    pairs: IntArray,
    n: int,
    largest: int,
    shuffles: int,
    draw: np.random.Generator,
) -> Shuffled:
    """Run the search on shuffled targets, to calibrate scores.

    Args:
        cells: standardised connections, shape (g, p).
        target, weights: shape (g,); shuffled together.
        pairs: the regions of each connection.
        n: number of regions.
        largest: maximum number of regions in a set.
    """
    order = np.stack([draw.permutation(len(target)) for _ in range(shuffles)], axis=1)
    best = np.zeros((shuffles, largest + 1))
    step = max(1, BLOCK_NUMBERS // (n * n + STARTS * n))
    for start in range(0, shuffles, step):
        block = order[:, start : start + step]
        matrices = as_matrices(t_statistics(cells, target[block], weights[block]), pairs, n)
        for sign in (1, -1):
            scores = grow(sign * matrices, largest)[1].max(axis=1)
            best[start : start + step] = np.maximum(best[start : start + step], scores)
    mean, deviation = best.mean(axis=0), np.maximum(best.std(axis=0), 1e-9)
    return Shuffled(mean, deviation, ((best - mean) / deviation)[:, 2:].max(axis=1))


def propose(
    statistics: Floats, pairs: IntArray, n: int, sizes: Sequence[int], shuffled: Shuffled, count: int, apart: str
) -> list[RegionSet]:
    """Return the sets with the highest ranks, best first.

    Args:
        statistics: t statistic of each connection, shape (p,).
        sizes: allowed numbers of regions in a set.
        count: maximum number of sets.
        apart: what two sets must not share: "connections", "regions" or "nothing", which allows nested sets.
    """
    matrix = as_matrices(statistics[None], pairs, n)
    found: list[RegionSet] = []
    for sign in (1, -1):
        nodes, scores = grow(sign * matrix, max(sizes))
        for k in sizes:
            ranks = shuffled.rank(scores[0, :, k], k)
            for start in range(len(ranks)):
                members = tuple(nodes[0, start, :k].tolist())
                found.append(RegionSet(members, sign, float(scores[0, start, k]), float(ranks[start])))
    found.sort(key=lambda one: -one.rank)
    chosen: list[RegionSet] = []
    taken, seen = np.zeros((n, n), dtype=bool), set()
    for one in found:
        inside = np.array(one.nodes)
        block = np.ix_(inside, inside)
        key = tuple(sorted(one.nodes))
        if key in seen or (apart != "nothing" and taken[block].any()):
            continue
        seen.add(key)
        chosen.append(one)
        if len(chosen) == count:
            break
        if apart == "regions":
            taken[inside] = taken[:, inside] = True
        else:
            taken[block] = True
            taken[np.arange(n), np.arange(n)] = False
    return chosen
