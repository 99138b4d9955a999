"""Least squares on confounds: residuals, partial statistics, and what is left of a target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isonn.errors import InputError
from isonn.packing import Floats

#: Confounds that explain all but this share of a target leave nothing to test.
DETERMINED = 1e-8
#: Columns whose residuals are computed at a time, to save memory.
CHUNK = 4096


@dataclass(frozen=True, eq=False)
class Nuisance:
    """Least squares on an intercept and the confounds, for residuals and partial statistics.

    Attributes:
        root: square roots of the weights, of mean square 1, shape (g,).
        basis: an orthonormal basis of the weighted intercept and confounds, shape (g, q); the intercept is first.
    """

    root: Floats
    basis: Floats

    @classmethod
    def of(cls, confounds: Floats | None, weights: Floats) -> Nuisance:
        """Prepare the regression of some graphs."""
        root = np.sqrt(weights / weights.mean())
        first = root / np.linalg.norm(root)
        if confounds is None or not confounds.shape[1]:
            return cls(root, first[:, None])
        rest = confounds * root[:, None]
        rest = rest - np.outer(first, first @ rest)
        vectors, sizes, _ = np.linalg.svd(rest, full_matrices=False)
        return cls(root, np.column_stack([first, vectors[:, sizes > 1e-9 * max(sizes.max(initial=0.0), 1e-300)]]))

    @property
    def freedom(self) -> int:
        """Degrees of freedom of a partial correlation."""
        return max(len(self.root) - int(self.basis.shape[1]) - 1, 1)

    def residuals(self, values: Floats) -> Floats:
        """Return what the confounds do not explain; ``values`` themselves if they explain nothing."""
        if np.ptp(self.root) == 0:
            explained = np.abs(self.basis.T @ values).max(initial=0.0)
            if explained <= 1e-12 * np.sqrt(len(values)) * np.abs(values[0]).max(initial=0.0):
                return values
        rest = values * self.root[:, None]
        for start in range(0, rest.shape[1], CHUNK):
            block = rest[:, start : start + CHUNK]
            block -= self.basis @ (self.basis.T @ block)
        rest /= self.root[:, None]
        return np.asarray(rest)


def slope_matrix(confounds: Floats, source: NDArray[np.bool_]) -> Floats:
    """Return the matrix that maps the values of all graphs to the slopes of the confounds, shape (columns, g).

    Args:
        confounds: shape (g, columns).
        source: the graphs that the regression is fitted to, shape (g,).
    """
    used = confounds[source]
    slopes = np.zeros((confounds.shape[1], len(confounds)))
    slopes[:, source] = np.linalg.pinv(used - used.mean(axis=0), rcond=1e-9)
    return slopes


def subtract(values: Floats, confounds: Floats, slopes: Floats) -> None:
    """Subtract the effects of confounds from ``values`` in place, some columns at a time."""
    for start in range(0, values.shape[1], CHUNK):
        values[:, start : start + CHUNK] -= confounds @ slopes[:, start : start + CHUNK]


def check_determined(confounds: Floats, columns: Floats, names: Sequence[str], what: Sequence[str]) -> None:
    """Raise `InputError` if the confounds determine a column of the target, so that nothing is left to test."""
    for number in range(columns.shape[1]):
        known = np.isfinite(columns[:, number])
        target = columns[known, number] - columns[known, number].mean()
        nuisance = Nuisance.of(confounds[known], np.ones(int(known.sum())))
        rest = nuisance.residuals(target[:, None])
        if (target**2).sum() > 0 and (rest**2).sum() <= DETERMINED * (target**2).sum():
            raise InputError(
                f"the confounds {', '.join(names)} determine {what[number]} exactly, as with one site per class, so "
                f"its effect cannot be told from theirs; leave out the confound that equals it"
            )
