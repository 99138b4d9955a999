"""Effect sizes with intervals, from graphs that had no part in choosing what is measured."""

from __future__ import annotations

import numpy as np

from isonn.packing import Floats, IntArray

#: The normal quantile of a 95 % interval.
QUANTILE = 1.959964
#: Minimum number of held-out graphs for an interval.
LEAST_GRAPHS = 6


class Moments:
    """Sums over held-out graphs, from which effects of many features are computed at once.

    Args:
        features: number of features.

    Example:
        >>> moments = Moments(1)
        >>> y = np.array([0, 0, 0, 0, 1, 1, 1, 1.0])
        >>> moments.add(np.array([0]), y, np.array([[0, 1, 0, 1, 2, 3, 2, 3.0]]).T)
        >>> moments.difference()[0].round(2).tolist()  # means 2.5 and 0.5, deviation 0.58
        [3.46]
    """

    def __init__(self, features: int) -> None:
        self.n, self.y, self.e = (np.zeros(features) for _ in range(3))
        self.yy, self.ee, self.ye = (np.zeros(features) for _ in range(3))

    def add(self, features: IntArray, target: Floats, values: Floats) -> None:
        """Add held-out graphs: their target (g,) and the values of some features (g, features)."""
        self.n[features] += len(target)
        self.y[features] += target.sum()
        self.yy[features] += target @ target
        self.e[features] += values.sum(axis=0)
        self.ee[features] += np.einsum("gp,gp->p", values, values)
        self.ye[features] += target @ values

    def difference(self) -> tuple[Floats, Floats, Floats]:
        """Return Cohen's d of a target coded 0 and 1, and the ends of its 95 % interval; NaN if unknown."""
        n, yy, ee, ye = self._centred()
        slope = ye / yy
        spread = np.sqrt(np.maximum(ee - slope * ye, 1e-300) / (n - 2))
        d = slope / spread
        error = np.sqrt(1 / yy + d**2 / (2 * (n - 2)))
        return d, d - QUANTILE * error, d + QUANTILE * error

    def correlation(self) -> tuple[Floats, Floats, Floats]:
        """Return the correlation with the target and the ends of its 95 % interval (Fisher's z); NaN if unknown."""
        n, yy, ee, ye = self._centred()
        r = np.clip(ye / np.sqrt(np.maximum(yy * ee, 1e-300)), -1 + 1e-9, 1 - 1e-9)
        z, error = np.arctanh(r), 1 / np.sqrt(n - 3)
        return r, np.tanh(z - QUANTILE * error), np.tanh(z + QUANTILE * error)

    def _centred(self) -> tuple[Floats, Floats, Floats, Floats]:
        n = np.where(self.n >= LEAST_GRAPHS, self.n, np.nan)
        yy = self.yy - self.y**2 / n
        yy = np.where(yy > 1e-12, yy, np.nan)
        return n, yy, self.ee - self.e**2 / n, self.ye - self.y * self.e / n


def mean_effect(splits: list[Moments], numeric: bool) -> Floats:
    """Return effect, lower and upper end, shape (3, features): means over splits of the same graphs into folds.

    The interval is as wide as that of one split, because splits share their graphs.
    """
    effects = np.stack([np.stack(split.correlation() if numeric else split.difference()) for split in splits])
    known = np.isfinite(effects)
    total = np.where(known, effects, 0.0).sum(axis=0)
    count = known.sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
