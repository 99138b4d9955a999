"""Heads that are solved for, not trained: logistic regression and a random forest on fixed features."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from isonn.heads.mlp import Head

#: L2 penalty of the regression on standardised features, for each graph, and the most it comes to: graphs that are
#: alike say no more for being many, and thousands of graphs say enough to be believed.
PENALTY_PER_GRAPH, LARGEST_PENALTY = 1 / 8, 200.0
TREES = 300
#: Standardised features nearer to each other than this are the same number, computed in another order.
ROUNDING = 1e-4


def fit_linear(features: NDArray[np.float32], targets: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weights (outputs, features) and biases (outputs,) of a logistic regression; of labels, one for each."""
    if targets.ndim == 2:
        rows = [_one_label(features, column) for column in targets.T]
        return np.stack([weights for weights, _ in rows]), np.array([bias for _, bias in rows])
    fitted = _regression(len(features)).fit(features, targets)
    weights, bias = fitted.coef_, fitted.intercept_
    if len(weights) == 1:  # two classes: one score, half of it for the one and half against the other
        weights, bias = np.concatenate([-weights, weights]) / 2, np.concatenate([-bias, bias]) / 2
    return weights, bias


def _one_label(features: NDArray[np.float32], column: NDArray[Any]) -> tuple[NDArray[np.float64], float]:
    if column.min() == column.max():  # nothing to tell apart: the probability that one more graph differs
        odds = (column.sum() + 0.5) / (len(column) - column.sum() + 0.5)
        return np.zeros(features.shape[1]), float(np.log(odds))
    fitted = _regression(len(features)).fit(features, column)
    return fitted.coef_[0], float(fitted.intercept_[0])


def _regression(graphs: int) -> LogisticRegression:
    return LogisticRegression(C=1 / min(PENALTY_PER_GRAPH * graphs, LARGEST_PENALTY), max_iter=1000)


def set_linear(head: Head, solution: tuple[NDArray[np.float64], NDArray[np.float64]]) -> None:
    """Give a head of one layer these weights and biases."""
    layer = head[0]
    assert isinstance(layer, torch.nn.Linear)
    with torch.no_grad():
        for parameter, values in zip((layer.weight, layer.bias), solution, strict=True):
            parameter.copy_(torch.from_numpy(values))


def grow_forest(features: NDArray[np.float32], targets: NDArray[Any], seed: int) -> RandomForestClassifier:
    """A random forest; ``targets`` as in `fit_linear`."""
    classes = targets if targets.ndim == 1 else targets.astype(np.int64)
    return RandomForestClassifier(TREES, random_state=seed % 2**32).fit(_without_noise(features), classes)


def _without_noise(features: NDArray[np.float32]) -> NDArray[np.float32]:
    """Values of a feature that differ by rounding alone made equal, so that no tree asks which of them is larger."""
    order = features.argsort(axis=0, kind="stable")
    values = np.take_along_axis(features, order, axis=0)
    new = np.diff(values, axis=0, prepend=-np.inf) > ROUNDING
    start = np.take_along_axis(values, _last_true(new), axis=0)
    # of many graphs neighbours can be this near all along: from the start of such a run, every step begins anew
    new |= np.diff(np.floor((values - start) / ROUNDING), axis=0, prepend=0) > 0
    first = _last_true(new)
    merged = np.empty_like(features)
    np.put_along_axis(merged, order, np.take_along_axis(values, first, axis=0), axis=0)
    return merged


def _last_true(marks: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For every entry of a column, the row of the last mark up to it."""
    found: NDArray[np.int64] = np.maximum.accumulate(np.where(marks, np.arange(len(marks))[:, None], 0), axis=0)
    return found
