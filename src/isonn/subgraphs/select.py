"""Short lists: choose a few templates that together explain the targets."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from isonn.packing import IntArray, mix64

#: Templates are added one at a time up to the first number, then four at a time up to the second; above it a lasso
#: chooses them.
SINGLE, FEW = 64, 256
#: Largest correlation of two templates that are added together, and of two templates in a list.
ALIKE_IN_BATCH, ALIKE_IN_LIST = 0.7, 0.95
#: Penalty of the regression between two additions, on standardised columns.
PENALTY = 1.0
#: The sizes that ``n_templates="auto"`` chooses from, and the number of folds.
AUTO_SIZES, AUTO_FOLDS = (4, 8, 16, 32, 64, 128, 256), 5


def short_list(features: csr_array, wanted: NDArray[np.float64], c: int) -> IntArray:
    """Choose the columns of a short list.

    Up to 256 columns are chosen greedily: each is the column that explains most of the remaining error. Longer lists
    hold the columns that a lasso keeps. Near-duplicates of a chosen column are skipped.

    Args:
        features: features of the training graphs, ``(g, p)``.
        wanted: targets as numbers, ``(g, t)``; NaN counts as the mean.
        c: number of columns.

    Returns:
        At most c columns, in the order they were chosen.
    """
    values = np.where(np.isfinite(wanted), wanted, np.nanmean(wanted, axis=0))
    values = values - values.mean(axis=0)
    if c <= FEW:
        return _greedy(features, values, c)
    kept = _lasso(features, values, c)
    # in the order of the greedy rule, so that a longer list starts with the shorter one
    return kept[_greedy(csr_array(features[:, kept]), values, len(kept))]


def _greedy(features: csr_array, values: NDArray[np.float64], c: int) -> IntArray:
    g, p = features.shape
    features = features.tocsc()
    mean = np.asarray(features.mean(axis=0)).ravel()
    square = np.asarray(features.multiply(features).mean(axis=0)).ravel()
    deviation = np.sqrt(np.maximum(square - mean**2, 1e-12))
    constant = square - mean**2 <= 1e-12
    chosen: list[int] = []
    passed = np.flatnonzero(constant).tolist()  # constant, or a near-duplicate of a chosen column
    dense = np.zeros((g, 0))
    residual = values
    while len(chosen) + len(passed) < p and len(chosen) < c:
        # standardised columns times the residual, without making them dense; the residual has mean 0
        score = np.sqrt(((features.T @ residual / deviation[:, None]) ** 2).sum(axis=1))
        score[chosen], score[passed] = -1, -1
        batch = 1 if len(chosen) < SINGLE else 4 if len(chosen) < FEW else 16
        added: list[NDArray[np.float64]] = []
        for column in np.argsort(-score, kind="stable")[: 100 * batch].tolist():
            if score[column] < 0 or len(added) == batch or len(chosen) == c:
                break
            own = np.full(g, -mean[column])
            entries = slice(features.indptr[column], features.indptr[column + 1])
            own[features.indices[entries]] += features.data[entries]
            own /= deviation[column]
            if dense.shape[1] and np.abs(own @ dense).max() > ALIKE_IN_LIST * g:
                passed.append(column)
            elif all(abs(float(own @ other)) <= ALIKE_IN_BATCH * g for other in added):
                added.append(own)
                chosen.append(column)
        if added:
            dense = np.concatenate([dense, np.stack(added, axis=1)], axis=1)
            weights = np.linalg.solve(dense.T @ dense + PENALTY * np.eye(dense.shape[1]), dense.T @ values)
            residual = values - dense @ weights
    return np.array(chosen, dtype=np.int64)


def _lasso(features: csr_array, values: NDArray[np.float64], c: int) -> IntArray:
    """Return about c columns: for each target those with the largest weights once the penalty leaves enough."""
    from sklearn.linear_model import Lasso

    g, p = features.shape
    if c >= p:
        return np.arange(p)
    mean = np.asarray(features.mean(axis=0)).ravel()
    square = np.asarray(features.multiply(features).mean(axis=0)).ravel()
    deviation = np.sqrt(np.maximum(square - mean**2, 1e-12))
    scaled = csr_array(features.multiply(1 / deviation[None, :])).tocsc()
    scaled.indices, scaled.indptr = scaled.indices.astype(np.int32), scaled.indptr.astype(np.int32)
    each = -(-c // values.shape[1])
    weight = np.zeros(p)
    for column in values.T:
        alpha = float(np.abs(scaled.T @ column).max()) / g
        model = Lasso(alpha=alpha, warm_start=True, max_iter=200, tol=1e-2)
        for step in range(1, 60):
            model.set_params(alpha=alpha * 0.85**step)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a path need not converge to the last digit
                model.fit(scaled, column)
            if np.count_nonzero(model.coef_) >= each:
                break
        largest = np.argsort(-np.abs(model.coef_), kind="stable")[:each]
        weight[largest] = np.maximum(weight[largest], np.abs(model.coef_[largest]))
    return np.sort(np.argsort(-weight, kind="stable")[: min(c, int(np.count_nonzero(weight)))])


def auto_size(
    features: csr_array, wanted: NDArray[np.float64], losses: NDArray[np.float64], hashes: NDArray[np.uint64]
) -> int:
    """Return the smallest number of columns whose held-out loss is within one standard error of the full vocabulary's.

    Args:
        features: features of the training graphs.
        wanted: targets as numbers, ``(g, t)``.
        losses: leave-one-out squared error of each graph with the full vocabulary, ``(g,)``.
        hashes: equal for equal graphs, ``(g,)``; they decide the folds, so that the order of graphs does not.
    """
    g = len(wanted)
    values = np.where(np.isfinite(wanted), wanted, np.nanmean(wanted, axis=0))
    fold = np.unique(mix64(hashes), return_inverse=True)[1].reshape(-1) % AUTO_FOLDS
    sizes = [c for c in AUTO_SIZES if c < features.shape[1]] or [features.shape[1]]
    held_out = np.zeros((len(sizes), g))
    for number in range(1 + int(fold.max())):
        train, test = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        centre = values[train].mean(axis=0)
        order = _greedy(csr_array(features[train]), values[train] - centre, sizes[-1])
        dense = features[:, order].toarray()
        mean, deviation = dense[train].mean(axis=0), dense[train].std(axis=0)
        dense = (dense - mean) / np.where(deviation > 0, deviation, 1)
        for i, c in enumerate(sizes):
            own = dense[train, :c]
            weights = np.linalg.solve(own.T @ own + PENALTY * np.eye(own.shape[1]), own.T @ (values[train] - centre))
            error = values[test] - centre - dense[test, :c] @ weights
            held_out[i, test] = np.minimum(error**2, np.inf).mean(axis=1)
    gap = held_out - losses
    enough = gap.mean(axis=1) <= gap.std(axis=1) / np.sqrt(g)
    return sizes[int(enough.argmax())] if enough.any() else sizes[int(held_out.mean(axis=1).argmin())]
