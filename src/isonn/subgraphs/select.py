"""Short lists: a few templates instead of the whole vocabulary, and where soft templates start."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from isonn.packing import IntArray
from isonn.subgraphs.bank import SubgraphBank

#: Graphs whose counts are copied at a time.
GRAPHS_AT_ONCE = 2**16
#: Templates of a short list are added one at a time up to the first number, four at a time to the second, then 16.
SINGLE, FEW = 64, 256
#: No two templates that are added together may be correlated more than this.
MOST_ALIKE = 0.7
#: Penalty of the regression between two additions, on standardised columns.
PENALTY = 1.0


def short_list(features: csr_array, wanted: NDArray[np.float64], c: int) -> IntArray:
    """The columns of a short list: greedily those that explain most of what the earlier ones leave unexplained.

    Args:
        features: of the training graphs, ``(g, p)``.
        wanted: targets as numbers, ``(g, t)``; NaN counts as the mean.
        c: how many columns to choose.

    Returns:
        Columns in the order they were chosen, ``(min(c, p),)``.
    """
    g, p = features.shape
    count = min(c, p)
    values = np.where(np.isfinite(wanted), wanted, np.nanmean(wanted, axis=0))
    values = values - values.mean(axis=0)
    mean = np.asarray(features.mean(axis=0)).ravel()
    square = np.asarray(features.multiply(features).mean(axis=0)).ravel()
    deviation = np.sqrt(np.maximum(square - mean**2, 1e-12))
    chosen: list[int] = []
    dense = np.zeros((g, 0))
    residual = values
    while len(chosen) < count:
        # standardised columns times the residual, without making them dense; the residual has mean 0
        score = np.sqrt(((features.T @ residual / deviation[:, None]) ** 2).sum(axis=1))
        score[chosen] = -1
        batch = 1 if len(chosen) < SINGLE else 4 if len(chosen) < FEW else 16
        added: list[NDArray[np.float64]] = []
        for column in np.argsort(-score, kind="stable")[: 20 * batch].tolist():
            own = (features[:, [column]].toarray()[:, 0] - mean[column]) / deviation[column]
            if all(abs(float(own @ other)) <= MOST_ALIKE * g for other in added):
                added.append(own)
                chosen.append(column)
            if len(added) == batch or len(chosen) == count:
                break
        dense = np.concatenate([dense, np.stack(added, axis=1)], axis=1)
        weights = np.linalg.solve(dense.T @ dense + PENALTY * np.eye(dense.shape[1]), dense.T @ values)
        residual = values - dense @ weights
    return np.array(chosen, dtype=np.int64)


def starting_subgraphs(banks: dict[int, SubgraphBank], targets: NDArray[Any], c: int) -> dict[int, IntArray]:
    """At most c regions of the banks of one view, as row numbers by size.

    Half are those whose logarithmic counts separate the classes best (F statistic), half the ones that most of
    the graphs have. A region that only one graph has separates nothing but that graph.

    Args:
        banks: by size.
        targets: class numbers, or a 0/1 matrix, of the graphs the banks were made from.
    """
    size = np.concatenate([np.full(len(bank.regions), k) for k, bank in banks.items()])
    row = np.concatenate([np.arange(len(bank.regions)) for bank in banks.values()])
    graphs = np.concatenate([np.bincount(bank.counts.indices, minlength=len(bank.regions)) for bank in banks.values()])
    separation = np.concatenate([_separation(bank.counts, targets) for bank in banks.values()])
    separation[graphs < 2] = -1.0
    best = np.argsort(-separation, kind="stable")[: c // 2]  # stable: ties go to the smaller codes
    rest = np.argsort(-graphs, kind="stable")
    chosen = np.concatenate([best, rest[~np.isin(rest, best)][: c - len(best)]])
    return {k: np.sort(row[chosen[size[chosen] == k]]) for k in banks}


def _separation(counts: csr_array, targets: NDArray[Any]) -> NDArray[np.float64]:
    """F statistic of log(1 + count) between the classes, up to a factor; of several labels the largest."""
    if targets.ndim == 2:
        largest: NDArray[np.float64] = np.max([_separation(counts, column) for column in targets.T], axis=0)
        return largest
    classes, number = np.unique(targets, return_inverse=True)
    n = np.bincount(number)[:, None]
    sums, squares = np.zeros((len(classes), counts.shape[1])), np.zeros(counts.shape[1])
    for start in range(0, len(number), GRAPHS_AT_ONCE):
        logs = counts[start : start + GRAPHS_AT_ONCE].astype(np.float64).log1p()
        of = number[start : start + GRAPHS_AT_ONCE]
        member = csr_array((np.ones(len(of)), (of, np.arange(len(of)))), shape=(len(classes), len(of)))
        sums += (member @ logs).toarray()
        squares += np.asarray(logs.multiply(logs).sum(axis=0)).ravel()
    total = sums.sum(axis=0)
    between = (sums**2 / n).sum(axis=0) - total**2 / len(number)
    within = squares - (sums**2 / n).sum(axis=0)
    ratio: NDArray[np.float64] = np.maximum(between, 0) / (np.maximum(within, 0) + 1e-6)
    return ratio
