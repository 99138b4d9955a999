"""Compare features, and numbers with their logarithms, by held-out error on a sample."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.heads.data import Distinct, Inputs
from isonn.heads.linear import PENALTY_GRAPHS, LinearHead
from isonn.packing import Floats, IntArray, mix64
from isonn.seeding import derive_seed
from isonn.targets import Numbers, Target


def prefers_logarithm(
    inputs: Inputs, y: NDArray[Any], weights: Floats | None = None, seed: int = 0
) -> NDArray[np.bool_]:
    r"""Return for each column of ``y`` whether its logarithm is predicted better.

    Both are predicted by the linear head, and the Gaussian likelihoods of the held-out errors :math:`e` are compared,
    as in Box and Cox. With the Jacobian of the logarithm, the logarithm is preferred if
    :math:`\log \mathrm{mean}\, e_{\log y}^2 + 2\, \mathrm{mean} \log y < \log \mathrm{mean}\, e_y^2`. Columns with
    values that are not positive are learned as they are. At most 1,500 distinct graphs are used, drawn by digest.

    Args:
        inputs: features, with what graphs are equal and stay together.
        y: positive numbers, shape (g,) or (g, t), NaN if unknown.
        weights: of the graphs.
        seed: for the sample.

    Returns:
        ndarray of shape (t,).

    Example:
        >>> from scipy.sparse import csr_array
        >>> features = np.random.default_rng(0).random((60, 2))
        >>> y = features @ [1.0, 2.0]
        >>> prefers_logarithm(Inputs.of(csr_array(features)), np.column_stack([y, np.exp(3 * y)])).tolist()
        [False, True]
    """
    columns = np.asarray(y, dtype=np.float64).reshape(len(inputs), -1)
    rows, weight = _sample(inputs, weights, seed)
    some = inputs.rows(rows)
    return np.array([_prefers_logarithm(some, column[rows], weight, seed) for column in columns.T])


def held_out_loss(
    inputs: Inputs, targets: NDArray[Any], target: Target, weights: Floats | None = None, seed: int = 0
) -> float:
    """Return the held-out loss of the linear head on at most 1,500 distinct graphs, to compare features.

    Example:
        >>> from scipy.sparse import csr_array
        >>> from isonn.targets import Numbers
        >>> x = np.random.default_rng(0).random((40, 1))
        >>> target = Numbers(np.zeros(1), np.ones(1), True)
        >>> held_out_loss(Inputs.of(csr_array(x)), x, target) < held_out_loss(Inputs.of(csr_array(x**4)), x, target)
        True
    """
    rows, weight = _sample(inputs, weights, seed)
    return LinearHead().fit(inputs.rows(rows), targets[rows], target, weight, seed).loss


def _sample(inputs: Inputs, weights: Floats | None, seed: int) -> tuple[IntArray, Floats]:
    """Return the rows of at most 1,500 distinct graphs, drawn by digest, and their weights."""
    distinct = Distinct.of(inputs, weights)
    order = np.argsort(mix64(distinct.digests ^ np.uint64(derive_seed(seed, "sample"))), kind="stable")
    rows = np.flatnonzero(np.isin(distinct.graph, order[:PENALTY_GRAPHS]))
    return rows, distinct.weights[rows]


def _prefers_logarithm(inputs: Inputs, y: Floats, weights: Floats, seed: int) -> bool:
    known = np.isfinite(y)
    if not known.any() or (y[known] <= 0).any() or np.ptp(y[known]) == 0:
        return False
    logs = np.log(y)
    spread = [_log_variance(inputs, values, weights, seed) for values in (y, logs)]
    return bool(spread[1] + 2 * np.average(logs[known], weights=weights[known]) < spread[0])


def _log_variance(inputs: Inputs, y: Floats, weights: Floats, seed: int) -> float:
    """Return the logarithm of the mean squared held-out error."""
    target = Numbers.fit(y)
    head = LinearHead().fit(inputs, target.encode(y), target, weights, seed)
    errors = target.link(head.held_out)[:, 0] - y
    known = np.isfinite(errors)
    return float(np.log(np.average(errors[known] ** 2, weights=weights[known]))) if known.any() else np.nan
