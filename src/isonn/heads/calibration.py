"""Weigh and calibrate outputs with held-out data, so that a score of classes is a log-odds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar, nnls
from scipy.special import expit, log_softmax, softmax

from isonn.heads.data import Distinct
from isonn.packing import Floats, IntArray
from isonn.targets import Target

#: Largest factor of an output.
LARGEST_SCALE = 50.0
#: Strength of the prior that heads weigh the same, in graphs: the variance of a difference of two weights is 1 / EQUAL.
#: Without it the weights of small sets are noise. AUROC with 0 / 10 / 30 / very many: MUTAG .957 / .959 / .961 / .962,
#: PTC_MR .624 / .634 / .635 / .635 (ten folds); on sets of thousands it has no effect.
EQUAL = 20
#: Number of bins of the expected calibration error; each has equally many graphs.
BINS = 10


@dataclass(frozen=True, eq=False)
class Blend:
    """A sum of the outputs of heads: factors that are not negative, and an intercept for each output.

    Attributes:
        scales: shape (heads, outputs).
        intercept: shape (outputs,).
    """

    scales: Floats
    intercept: Floats

    def __call__(self, parts: Sequence[Floats]) -> Floats:
        """Return the blended outputs, shape (g, outputs)."""
        return np.asarray(sum(scale * part for scale, part in zip(self.scales, parts, strict=True)) + self.intercept)

    def shares(self, parts: Sequence[Floats]) -> Floats:
        """Return the share of each head in the spread of outputs, shape (heads, outputs); shares of an output sum to 1.

        A factor alone says little: the outputs of a head that has learned nothing are all equal.
        """
        spread = self.scales * np.array([[_deviation(column) for column in part.T] for part in parts])
        total = spread.sum(axis=0)
        return np.where(total > 0, spread, 1.0) / np.where(total > 0, total, len(parts))


def _deviation(values: Floats) -> float:
    """Return the standard deviation of the known values."""
    known = values[np.isfinite(values)]
    return float(known.std()) if len(known) else 0.0


def fit_blend(parts: Sequence[Floats], targets: NDArray[Any], target: Target, distinct: Distinct) -> Blend:
    """Return the blend of held-out outputs with the least loss: log loss of classes, squared error of numbers.

    Numbers get weights that sum to 1 and no intercept, so a single head stays as it is. Each label has its own factors
    and intercept; classes that exclude each other share the factors. A weak prior favours equal weights.

    Args:
        parts: the held-out outputs of each head, shape (g, outputs), NaN where there are none.
        targets: from ``target.encode``.
        target: the kind of target.
        distinct: which rows are equal graphs.
    """
    outputs = np.stack(parts)  # (heads, g, outputs)
    known = np.asarray(np.isfinite(outputs).all(axis=0))
    if target.exclusive:
        rows, weights = distinct.pairs(targets.astype(np.float64), np.asarray(known.all(axis=1)))
        return _blend_classes(outputs[:, rows], targets[rows], weights, distinct.graph[rows])
    scales, intercept = np.full((len(parts), outputs.shape[2]), 1 / len(parts)), np.zeros(outputs.shape[2])
    for j, truth in enumerate(targets.astype(np.float64).T):
        rows, weights = distinct.pairs(truth, known[:, j])
        if not len(rows):
            continue
        if target.numeric:
            scales[:, j] = _least_squares(outputs[:, rows, j], truth[rows], weights)
        else:
            hopes = _smoothed(truth[rows], distinct.graph[rows])
            scales[:, j], intercept[j] = _logistic(outputs[:, rows, j], hopes, weights)
    return Blend(scales, intercept)


def _blend_classes(values: Floats, truth: NDArray[Any], weights: Floats, graph: IntArray) -> Blend:
    heads, n, classes = values.shape
    if not n:
        return Blend(np.full((heads, classes), 1 / heads), np.zeros(classes))
    if classes == 2:
        scales, shift = _logistic(values[:, :, 1] - values[:, :, 0], _smoothed(truth, graph), weights)
        return Blend(np.repeat(scales[:, None], 2, axis=1), np.array([-0.5, 0.5]) * shift)
    scales, intercept = _multinomial(values, truth, weights, graph)
    return Blend(np.repeat(scales[:, None], classes, axis=1), intercept)


def _smoothed(truth: Floats, graph: IntArray) -> Floats:
    """Return Platt's targets: one graph more of each kind, so that separated classes are not predicted with certainty.

    Copies of a graph count once.
    """
    yes, no = (len(np.unique(graph[truth == value])) for value in (1, 0))
    return np.where(truth == 1, (yes + 1) / (yes + 2), 1 / (no + 2))


def _logistic(values: Floats, hopes: Floats, weights: Floats) -> tuple[Floats, float]:
    """Return factors (heads,) and the intercept of logistic regression on the outputs of heads, (heads, n)."""
    share = weights / weights.sum()

    def loss(point: Floats) -> tuple[float, Floats]:
        score = point[:-1] @ values + point[-1]
        slope = share * (expit(score) - hopes)
        value = float(share @ (np.logaddexp(0, score) - hopes * score))
        return value, np.append(values @ slope, slope.sum())

    best = _minimize(loss, len(values), 1, len(hopes))
    return best[:-1], float(best[-1])


def _multinomial(values: Floats, truth: NDArray[Any], weights: Floats, graph: IntArray) -> tuple[Floats, Floats]:
    """Return factors (heads,) and intercepts (classes,) of multinomial regression on (heads, n, classes)."""
    heads, n, classes = values.shape
    share = (weights / weights.sum())[:, None]
    counts = np.array([len(np.unique(graph[truth == code])) for code in range(classes)])
    doubt = (1 / (counts + 2))[truth]
    hopes = np.repeat((doubt / (classes - 1))[:, None], classes, axis=1)
    hopes[np.arange(n), truth] = 1 - doubt

    def loss(point: Floats) -> tuple[float, Floats]:
        scores = np.tensordot(point[:heads], values, axes=1) + point[heads:]
        slope = share * (softmax(scores, axis=1) - hopes)
        value = -float((share * hopes * log_softmax(scores, axis=1)).sum())
        return value, np.concatenate([np.tensordot(values, slope, axes=2), slope.sum(axis=0)])

    best = _minimize(loss, heads, classes, n)
    return best[:heads], best[heads:] - best[heads:].mean()


def _minimize(loss: Any, heads: int, intercepts: int, n: int) -> Floats:
    """Find the weights of heads with the prior, then their common scale and the intercepts without it."""

    def with_prior(point: Floats) -> tuple[float, Floats]:
        value, slope = loss(point)
        apart = np.concatenate([point[:heads] - point[:heads].mean(), np.zeros(intercepts)])
        return value + EQUAL / n * float(apart @ apart), slope + 2 * EQUAL / n * apart

    best = _search(with_prior, heads, intercepts)[:heads]
    share = best / best.sum() if best.any() else np.full(heads, 1 / heads)

    def along(point: Floats) -> tuple[float, Floats]:
        value, slope = loss(np.append(point[0] * share, point[1:]))
        return value, np.append(slope[:heads] @ share, slope[heads:])

    scaled = _search(along, 1, intercepts)
    return np.append(scaled[0] * share, scaled[1:])


def _search(loss: Any, scales: int, intercepts: int) -> Floats:
    start = np.concatenate([np.full(scales, 1 / scales), np.zeros(intercepts)])
    bounds = [(0.0, LARGEST_SCALE)] * scales + [(None, None)] * intercepts
    options = {"maxiter": 500, "ftol": 1e-14, "gtol": 1e-10}
    return np.asarray(minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B", options=options).x)


def _least_squares(values: Floats, truth: Floats, weights: Floats) -> Floats:
    """Return the weights (heads,) that are not negative, sum to 1 and have the least squared error, with the prior."""
    heads, n = values.shape
    share = weights / weights.sum()
    variance = float(((values - truth) ** 2 @ share).min())
    prior = np.sqrt(2 * EQUAL / n * variance)
    heavy = 1e6 * max(1.0, float(np.abs(values).max()))  # so that the weights sum to 1
    table = np.vstack([(values * np.sqrt(share)).T, prior * np.eye(heads), np.full(heads, heavy)])
    wanted = np.concatenate([np.sqrt(share) * truth, np.full(heads, prior / heads), [heavy]])
    best = np.asarray(nnls(table, wanted)[0])
    return np.asarray(best / best.sum())


def calibration_error(held_out: Floats, targets: NDArray[Any], target: Target, weights: Floats) -> Floats:
    """Return the expected calibration error of each output, shape (outputs,); NaN for numbers.

    Graphs are sorted by probability and divided into ten bins of equal weight; the error is the mean difference
    between the mean probability and the share of true cases in a bin.

    Example:
        >>> from isonn.targets import Labels
        >>> outputs, y = np.zeros((40, 1)), np.repeat([[0.0], [1.0]], [10, 30], axis=0)
        >>> calibration_error(outputs, y, Labels(1), np.ones(40)).tolist()
        [0.25]
    """
    if target.numeric:
        return np.full(held_out.shape[1], np.nan)
    truth = np.eye(held_out.shape[1])[targets] if target.exclusive else np.asarray(targets, dtype=np.float64)
    answers = target.link(held_out)
    return np.array([_error(*column, weights) for column in zip(answers.T, truth.T, strict=True)])


def _error(answers: Floats, truth: Floats, weights: Floats) -> float:
    rows = np.flatnonzero(np.isfinite(answers) & np.isfinite(truth) & (weights > 0))
    if not len(rows):
        return float("nan")
    values, number = np.unique(answers[rows], return_inverse=True)  # equal answers share a bin
    weight = np.bincount(number, weights[rows])
    middle = (np.cumsum(weight) - weight / 2) / weight.sum()
    bins = np.minimum((middle * BINS).astype(np.int64), BINS - 1)
    gap = np.bincount(number, weights[rows] * truth[rows]) - weight * values
    return float(np.abs(np.bincount(bins, gap)).sum() / weight.sum())


def temperature(held_out: Floats, targets: NDArray[Any], target: Target) -> float:
    """Return the scale of outputs that maximises the likelihood of held-out outputs.

    As in Platt scaling, one graph in n + 2 counts as wrong. Otherwise perfectly separated classes would be predicted
    with certainty.

    Example:
        >>> from isonn.targets import Classes
        >>> certain = np.array([[1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, -1.0]])  # one of four is wrong
        >>> round(temperature(certain, np.array([0, 0, 1, 1]), Classes(np.array(["a", "b"]))), 2)
        0.35
    """
    known = np.isfinite(held_out).all(axis=1) if target.exclusive else np.isfinite(held_out) & np.isfinite(targets)
    if not known.any():
        return 1.0
    doubt = 1 / (int(known.sum()) + 2)

    def negative_log_likelihood(log_scale: float) -> float:
        scaled = np.exp(log_scale) * held_out
        if target.exclusive:
            rows = np.flatnonzero(known)
            logs = log_softmax(scaled[rows], axis=1)
            right = logs[np.arange(len(rows)), targets[rows]]
            wrong = (logs.sum(axis=1) - right) / max(1, logs.shape[1] - 1)
            return -float(((1 - doubt) * right + doubt * wrong).mean())
        signs = 2.0 * targets[known] - 1
        loss = np.logaddexp(0, -signs * scaled[known])
        return float(((1 - doubt) * loss + doubt * np.logaddexp(0, signs * scaled[known])).mean())

    return float(np.exp(minimize_scalar(negative_log_likelihood, bounds=(-3, 5), method="bounded").x))
