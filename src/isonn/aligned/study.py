"""The table of a study: graphs by connections, with targets, confounds and groups."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from isonn.aligned.exchange import Exchange, averaging
from isonn.aligned.model import Sample
from isonn.errors import IsoNNWarning
from isonn.packing import Floats, IntArray
from isonn.targets import Numbers, Target


@dataclass(frozen=True, eq=False)
class Study:
    """What is known about the training graphs.

    Attributes:
        cells: standardised connections without the effect of confounds, shape (g, p).
        columns: a column for each class, label or number, NaN if unknown, shape (g, t).
        weights: shape (g,).
        numeric: whether targets are measurements.
        confounds: shape (g, q), or None.
        source: the graphs that effects of confounds are estimated from, shape (g,).
        groups: the group of each graph, shape (g,), or None.
        strata: the category of each graph within which permutations exchange graphs, shape (g,), or None.
    """

    cells: Floats
    columns: Floats
    weights: Floats
    numeric: bool
    confounds: Floats | None
    source: NDArray[np.bool_]
    groups: IntArray | None
    strata: IntArray | None

    def exchange(self) -> Exchange:
        """Return which graphs may be exchanged in permutations."""
        return Exchange.of(self.groups, self.columns, self.strata)

    def merged(self) -> Study:
        """Average the graphs of each group if groups of different sizes would have to be exchanged."""
        if self.groups is None or not self.exchange().uneven:
            return self
        sizes = np.bincount(self.groups)
        warnings.warn(
            f"groups have {sizes.min()} to {sizes.max()} graphs, so they cannot be exchanged; the graphs of each of "
            f"the {len(sizes)} groups are averaged before fitting",
            IsoNNWarning,
            stacklevel=4,
        )
        mean, first = averaging(self.groups), np.unique(self.groups, return_index=True)[1]
        return Study(
            mean @ self.cells,
            self.columns[first],
            mean @ self.weights,
            self.numeric,
            None if self.confounds is None else mean @ self.confounds,
            self.source[first],
            None,
            None if self.strata is None else self.strata[first],
        )

    def rows(self, number: int) -> IntArray:
        """Return the graphs whose target is known in a column."""
        return np.flatnonzero(np.isfinite(self.columns[:, number]))

    def sample(self, number: int, exchange: Exchange) -> Sample:
        """Return the graphs of one column."""
        rows = self.rows(number)
        every = len(rows) == len(self.columns)
        weights = self.weights[rows]
        return Sample(
            self.cells if every else self.cells[rows],
            self.columns[rows, number],
            weights / weights.mean(),
            self.numeric,
            None if self.confounds is None else self.confounds[rows],
            self.source[rows],
            exchange.at(rows),
        )


def class_codes(columns: Floats, exclusive: bool) -> NDArray[Any]:
    """Return class numbers, or 0 and 1 for each label, from columns of -1 and +1."""
    if not exclusive:
        return np.where(np.isfinite(columns), (columns + 1) / 2, np.nan)
    if columns.shape[1] == 1:
        return (columns[:, 0] > 0).astype(np.int64)
    return np.asarray(columns.argmax(axis=1))


def explained(columns: Floats, target: Floats) -> float:
    """Return the share of a target that columns explain, adjusted for their number (adjusted R²), at least 0.

    Example:
        >>> round(explained(np.arange(9.0)[:, None], np.arange(9.0)), 3)
        1.0
    """
    centred, rest = columns - columns.mean(axis=0), target - target.mean()
    total = float(rest @ rest)
    if total <= 1e-300 or not columns.shape[1]:
        return 0.0
    left = rest - centred @ np.linalg.lstsq(centred, rest, rcond=None)[0]
    g, q = len(target), int(np.linalg.matrix_rank(centred))
    share = 1 - float(left @ left) / total * (g - 1) / max(g - q - 1, 1)
    return float(np.clip(share, 0.0, 1.0))


def held_out_score(held_out: Floats, columns: Floats, outputs: Floats, target: Target) -> dict[str, float]:
    """Return scores on held-out graphs: accuracy and AUROC, or Pearson's r, R² and MAE, means over splits and columns.

    Args:
        held_out: predictions of every split, shape (splits, g, columns).
        columns: targets, shape (g, columns).
        outputs: matrix from columns to outputs.
    """
    found: dict[str, list[float]] = {}
    for split in held_out:
        for number in range(columns.shape[1]):
            known = np.isfinite(columns[:, number]) & np.isfinite(split[:, number])
            truth, guess = columns[known, number], split[known, number]
            if len(truth) > 2 and np.ptp(truth) > 0:
                own = _number_score(truth, guess, target, number) if target.numeric else _class_score(truth, guess)
                for name, value in own.items():
                    found.setdefault(name, []).append(value)
        if target.exclusive:
            right = (split @ outputs.T).argmax(axis=1) == class_codes(columns, True)
            found.setdefault("accuracy", []).append(float(right.mean()))
    order = ("accuracy", "auroc", "pearson", "r2", "mae")
    return {name: float(np.mean(found[name])) for name in order if name in found}


def _class_score(truth: Floats, guess: Floats) -> dict[str, float]:
    ranks, positive = rankdata(guess), truth > 0
    p = int(positive.sum())
    area = (ranks[positive].sum() - p * (p + 1) / 2) / (p * (len(truth) - p))
    return {"auroc": float(area)}


def _number_score(truth: Floats, guess: Floats, target: Target, number: int) -> dict[str, float]:
    scale = float(target.scale[number]) if isinstance(target, Numbers) else 1.0
    r = float(np.corrcoef(truth, guess)[0, 1]) if np.ptp(guess) > 1e-12 else 0.0
    r2 = 1 - float(((truth - guess) ** 2).sum() / ((truth - truth.mean()) ** 2).sum())
    return {"pearson": r, "r2": r2, "mae": scale * float(np.abs(truth - guess).mean())}
