"""Short lists: choose a few templates that together explain the targets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from isonn.packing import Floats, IntArray
from isonn.subgraphs.features import LOG, SumFeatures
from isonn.subgraphs.table import CountTable, mean_and_variance
from isonn.targets import Target

#: Templates are added one at a time up to the first number, then four at a time up to the second, then sixteen.
SINGLE, FEW = 64, 256
#: Largest correlation of two templates that are added together, and of two templates in a list.
ALIKE_IN_BATCH, ALIKE_IN_LIST = 0.7, 0.95
#: Penalty of the regression between two additions, on standardised columns.
PENALTY = 1.0


def shorten(
    features: SumFeatures, counted: CountTable, targets: NDArray[Any], target: Target, count: int
) -> tuple[SumFeatures, IntArray, csr_array]:
    """Return the features of a short list, its columns of the whole vocabulary, and the features of the graphs.

    The features are logarithms of counts, each divided by its deviation, without terms.
    """
    width = len(features.vocabulary)
    logs = replace(features, scales=np.ones(width), transform=LOG, terms=None)
    table = logs.of(counted, np.zeros((len(targets), 0)))
    with threadpool_limits(1, "blas"):  # with hundreds of small systems, threads would wait for each other
        chosen = np.sort(short_list(table, target.columns(targets), count))
    table = csr_array(table[:, chosen])
    scales = 1 / (np.sqrt(np.maximum(mean_and_variance(table)[1], 1e-12)) * np.sqrt(max(1, len(chosen))))
    kept = replace(logs, vocabulary=logs.vocabulary.keep(chosen), scales=scales)
    return kept, chosen, csr_array(table.multiply(scales[None, :]))


def short_list(features: csr_array, wanted: Floats, c: int) -> IntArray:
    """Choose the columns of a short list: each is the column that explains most of the remaining error.

    Near-duplicates of a chosen column are skipped.

    Args:
        features: features of the training graphs, ``(g, p)``.
        wanted: targets as numbers, ``(g, t)``; NaN counts as the mean.
        c: number of columns.

    Returns:
        At most c columns, in the order they were chosen.
    """
    values = np.where(np.isfinite(wanted), wanted, np.nanmean(wanted, axis=0))
    values = values - values.mean(axis=0)
    g, p = features.shape
    features = features.tocsc()
    mean, variance = mean_and_variance(features)
    deviation = np.sqrt(np.maximum(variance, 1e-12))
    chosen: list[int] = []
    passed = np.flatnonzero(variance <= 1e-12).tolist()  # constant, or a near-duplicate of a chosen column
    dense = np.zeros((g, 0))
    residual = values
    while len(chosen) + len(passed) < p and len(chosen) < c:
        # standardised columns times the residual, without making them dense; the residual has mean 0
        score = np.sqrt(((features.T @ residual / deviation[:, None]) ** 2).sum(axis=1))
        score[chosen], score[passed] = -1, -1
        batch = 1 if len(chosen) < SINGLE else 4 if len(chosen) < FEW else 16
        added: list[Floats] = []
        for column in np.argsort(-score, kind="stable")[: 100 * batch].tolist():
            if score[column] < 0 or len(added) == batch or len(chosen) == c:
                break
            values_of = np.full(g, -mean[column])
            entries = slice(features.indptr[column], features.indptr[column + 1])
            values_of[features.indices[entries]] += features.data[entries]
            values_of /= deviation[column]
            if dense.shape[1] and np.abs(values_of @ dense).max() > ALIKE_IN_LIST * g:
                passed.append(column)
            elif all(abs(float(values_of @ other)) <= ALIKE_IN_BATCH * g for other in added):
                added.append(values_of)
                chosen.append(column)
        if added:
            dense = np.concatenate([dense, np.stack(added, axis=1)], axis=1)
            weights = np.linalg.solve(dense.T @ dense + PENALTY * np.eye(dense.shape[1]), dense.T @ values)
            residual = values - dense @ weights
    return np.array(chosen, dtype=np.int64)
