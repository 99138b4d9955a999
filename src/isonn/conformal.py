r"""Intervals for numbers and sets of classes that contain the truth with a chosen probability (conformal prediction).

A fitted model has held-out outputs: predictions for its training graphs by models that saw neither the graph, nor an
equal one, nor its group. Their errors say how wrong predictions for new graphs are. For numbers, the score of a
training graph is

.. math:: s_i = \frac{|y_i - \hat y_{-i}|}{\sigma_{-i}}

with :math:`\sigma` a difficulty, the error to be expected for such a graph, which is predicted from graphs of other
groups as well. The interval of a new graph is :math:`\hat y(x) \pm q\,\sigma(x)`, where q is a quantile of the scores:
with G groups, the one of level :math:`c\,(G + 1) / G` for coverage c. For classes, the score is one minus the
probability of the true class, the quantile is taken within each class, so rare classes are covered as well as common
ones, and the set holds all classes whose score is not above theirs.

This is cross-conformal prediction: scores come from models without a fold, the centre from the model of all graphs,
which is slightly better, so intervals are slightly wide. The guarantee assumes that new graphs are drawn like the
training graphs, or, with ``groups``, that new groups are drawn like theirs.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from isonn.errors import InputError, IsoNNWarning
from isonn.packing import Floats, IntArray, stored_array
from isonn.targets import Target

#: Number of folds in which the difficulty is predicted.
FOLDS = 5
#: Share of the mean error in every difficulty, so that no interval becomes very narrow.
CONSTANT = 0.5


@dataclass(frozen=True, eq=False)
class SortedScores:
    """The held-out scores of one column, or of one class.

    Attributes:
        values: sorted, shape (n,).
        shares: the share of graphs with a score up to each value, shape (n,).
        groups: number of groups.
    """

    values: Floats
    shares: Floats
    groups: int

    @classmethod
    def of(cls, values: Floats, graph: IntArray, group: IntArray) -> SortedScores:
        """Sort scores; every graph counts once, however many copies of it there are."""
        if not len(values):
            return cls(np.zeros(0), np.zeros(0), 0)
        _, number, copies = np.unique(graph, return_inverse=True, return_counts=True)
        weights = 1 / copies[number.reshape(-1)]
        order = np.argsort(values, kind="stable")
        shares = np.cumsum(weights[order])
        return cls(values[order], shares / shares[-1], len(np.unique(group)))

    def quantile(self, coverage: float) -> float:
        """Return the score that a new graph exceeds with probability at most 1 - coverage; infinite if unknown.

        Example:
            >>> scores = SortedScores.of(np.arange(1.0, 10.0), np.arange(9), np.arange(9))
            >>> scores.quantile(0.9), scores.quantile(0.95)
            (9.0, inf)
        """
        if not self.groups:
            return np.inf
        level = coverage * (self.groups + 1) / self.groups
        place = int(np.searchsorted(self.shares, level - 1e-9))
        return float(self.values[place]) if place < len(self.values) else np.inf


@dataclass(frozen=True, eq=False)
class Conformal:
    """The held-out scores of a model, from which it makes intervals or sets.

    Attributes:
        scores: of each column of numbers; of each class; of absence and presence of each label, in turns.
        difficulty: factors of the mean error and of each signal, which sum to the expected error of a graph, shape
            (columns, signals + 1); empty for classes.

    Example:
        >>> from isonn.targets import Classes
        >>> target = Classes(np.array(["no", "yes"]))
        >>> outputs, codes = np.array([[2.0, 0.0], [0.0, 2.0]] * 20), np.array([0, 1] * 20)
        >>> conformal = Conformal.fit(outputs, codes, target, np.arange(40), np.arange(40))
        >>> conformal.sets(target.link(np.array([[3.0, 0.0], [0.0, 0.0]])), 0.9, target).tolist()
        [[True, False], [False, False]]
    """

    scores: tuple[SortedScores, ...]
    difficulty: Floats

    @classmethod
    def fit(
        cls,
        outputs: Floats,
        targets: NDArray[Any],
        target: Target,
        graph: IntArray,
        group: IntArray,
        signals: Floats | None = None,
    ) -> Conformal:
        """Compute the scores of held-out outputs.

        Args:
            outputs: held-out outputs, shape (g, outputs), NaN where there are none.
            targets: from ``target.encode``.
            target: the kind of target.
            graph: equal for equal graphs, shape (g,); rows below 0 are left out.
            group: equal for graphs that were held out together, shape (g,).
            signals: numbers that may tell hard graphs from easy ones, not negative, shape (g, signals, columns); each
                computed without the graph's group.
        """
        cells = _cells(outputs, targets, target)
        factors, scores = [], []
        for column, (values, known) in enumerate(cells):
            rows = np.flatnonzero(known & np.isfinite(values) & (graph >= 0))
            values = values[rows]
            if target.numeric:
                given = np.zeros((len(rows), 0)) if signals is None else signals[rows, :, column]
                coef, expected = fit_difficulty(given, values, group[rows])
                factors.append(coef)
                values = values / expected
            scores.append(SortedScores.of(values, graph[rows], group[rows]))
        return cls(tuple(scores), np.array(factors))

    def interval(self, outputs: Floats, coverage: float, target: Target, signals: Floats | None = None) -> Floats:
        """Return the lowest and the highest value in the units of ``y``, shape (g, columns, 2).

        Args:
            outputs: of the model, shape (g, columns).
            coverage: between 0 and 1.
            target: the kind of target.
            signals: as in `fit`, shape (g, signals, columns).
        """
        quantiles = np.array([scores.quantile(coverage) for scores in self.scores])
        if np.isinf(quantiles).any():
            least = min(scores.groups for scores in self.scores)
            self._warn(least, coverage, "the interval is infinite")
        expected = np.tile(self.difficulty[:, 0], (len(outputs), 1))
        if signals is not None:
            expected = expected + np.einsum("gsc,cs->gc", signals, self.difficulty[:, 1:])
        widths = quantiles * expected
        with np.errstate(over="ignore"):
            return np.stack([target.link(outputs - widths), target.link(outputs + widths)], axis=-1)

    def sets(
        self, answers: Floats, coverage: float, target: Target, names: Mapping[Any, str] | None = None
    ) -> NDArray[np.bool_]:
        """Return which classes the sets hold, shape (g, classes), or for labels (g, labels, 2): absent, present.

        Args:
            answers: probabilities, shape (g, outputs).
            coverage: between 0 and 1.
            target: the kind of target.
            names: of labels, for a warning.
        """
        quantiles = np.array([scores.quantile(coverage) for scores in self.scores])
        if np.isinf(quantiles).any():
            self._warn_of_classes(quantiles, coverage, target, names or {})
        if target.exclusive:
            return np.asarray(1 - answers <= quantiles + 1e-12)
        both = np.stack([answers, 1 - answers], axis=-1)
        return np.asarray(both <= quantiles.reshape(-1, 2) + 1e-12)

    def _warn(self, groups: int, coverage: float, result: str) -> None:
        warnings.warn(
            f"coverage {coverage:g} needs {least_groups(coverage)} training graphs or groups that were held out, and "
            f"there are {groups}, so {result}; add graphs, or lower the coverage",
            IsoNNWarning,
            stacklevel=5,
        )

    def _warn_of_classes(self, quantiles: Floats, coverage: float, target: Target, names: Mapping[Any, str]) -> None:
        i = int(np.isinf(quantiles).argmax())
        if target.exclusive:
            held = f"class {target.classes[i]!s}"
        else:
            label = target.classes.tolist()[i // 2]
            held = f"{'presence' if i % 2 else 'absence'} of label {names.get(label, label)}"
        self._warn(self.scores[i].groups, coverage, f"every set holds {held}")

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the scores as arrays."""
        sizes = np.array([[len(scores.values), scores.groups] for scores in self.scores], dtype=np.int64)
        return {
            "values": np.concatenate([scores.values for scores in self.scores]),
            "shares": np.concatenate([scores.shares for scores in self.scores]),
            "sizes": sizes,
            "difficulty": self.difficulty,
        }

    @classmethod
    def restore(cls, tensors: dict[str, NDArray[Any]], target: Target, signals: int = 0) -> Conformal:
        """Restore scores; raise ValueError if they do not fit the target.

        Args:
            tensors: from `tensors`.
            target: the kind of target.
            signals: number of signals that the model gives.
        """
        cells = target.outputs * (1 if target.numeric or target.exclusive else 2)
        sizes = stored_array(tensors, "sizes", (cells, 2), np.int64)
        values, shares = (stored_array(tensors, name, (int(sizes[:, 0].sum()),)) for name in ("values", "shares"))
        difficulty = stored_array(tensors, "difficulty", (cells, signals + 1) if target.numeric else (0,))
        if (sizes < 0).any() or (difficulty < 0).any():
            raise ValueError("sizes or difficulties of held-out scores are negative")
        ends = np.cumsum(sizes[:, 0])[:-1]
        cells_of = zip(np.split(values, ends), np.split(shares, ends), sizes[:, 1].tolist(), strict=True)
        scores = tuple(SortedScores(*cell) for cell in cells_of)
        if any((np.diff(cell.values) < 0).any() or (np.diff(cell.shares) < 0).any() for cell in scores):
            raise ValueError("held-out scores are not sorted")
        return cls(scores, difficulty)


def check_coverage(coverage: Any) -> float:
    """Return the coverage as a float; raise `InputError` if it is not between 0 and 1.

    Example:
        >>> check_coverage(0.9)
        0.9
    """
    try:
        value = float(coverage)
    except (TypeError, ValueError):
        value = np.nan
    if isinstance(coverage, bool) or not 0 < value < 1:
        raise InputError(f"coverage must be above 0 and below 1, such as 0.9, got {coverage!r:.40}")
    return value


def least_groups(coverage: float) -> int:
    """Return the least number of groups with which an interval of this coverage is finite.

    Example:
        >>> least_groups(0.9), least_groups(0.95)
        (9, 19)
    """
    return int(np.ceil(coverage / (1 - coverage) - 1e-9))


def fit_difficulty(signals: Floats, errors: Floats, group: IntArray) -> tuple[Floats, Floats]:
    """Predict absolute errors as a sum of signals with factors that are not negative.

    Args:
        signals: not negative, shape (n, signals).
        errors: absolute errors, shape (n,).
        group: of each row, shape (n,).

    Returns:
        The factors of the constant and of each signal, shape (signals + 1,), and the difficulty of each row, predicted
        from rows of other groups, shape (n,).

    Example:
        >>> signal = np.linspace(0, 2, 200)
        >>> coef, expected = fit_difficulty(signal[:, None], signal, np.arange(200))
        >>> [round(float(value), 2) for value in coef], round(float(expected[-1]), 2)
        ([0.5, 0.5], 1.5)
    """
    factors = _factors(signals, errors)
    _, number = np.unique(group, return_inverse=True)
    fold = number.reshape(-1) % FOLDS
    table, expected = np.column_stack([np.ones(len(errors)), signals]), np.ones(len(errors))
    for number in np.unique(fold).tolist():
        out = fold == number
        expected[out] = table[out] @ (factors if out.all() else _factors(signals[~out], errors[~out]))
    return factors, expected


def _factors(signals: Floats, errors: Floats) -> Floats:
    mean = float(errors.mean()) if len(errors) else 1.0
    if mean <= 0:  # every prediction is right: any positive difficulty gives intervals of width 0
        return np.append(1.0, np.zeros(signals.shape[1]))
    slopes, _ = nnls(np.column_stack([np.ones(len(errors)), signals]), errors)
    factors = (1 - CONSTANT) * slopes
    factors[0] += CONSTANT * mean
    return np.asarray(factors)


def _cells(outputs: Floats, targets: NDArray[Any], target: Target) -> list[tuple[Floats, NDArray[np.bool_]]]:
    """Return the score of every graph for each cell of `Conformal.scores`, and for which graphs it is true."""
    if target.numeric:
        return [(error, np.isfinite(error)) for error in np.abs(targets - outputs).T]
    answers = target.link(outputs)
    if target.exclusive:
        return [(1 - answers[:, i], targets == i) for i in range(answers.shape[1])]
    scores = []
    for column, truth in zip(answers.T, targets.T, strict=True):
        scores += [(column, truth == 0), (1 - column, truth == 1)]
    return scores
