"""Where templates start: subgraphs of the training graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from isonn.packing import IntArray
from isonn.subgraphs.bank import SubgraphBank

#: Graphs whose counts are copied at a time.
GRAPHS_AT_ONCE = 2**16


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
