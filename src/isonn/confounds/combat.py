r"""ComBat: remove differences in mean and spread between sites (Johnson et al. 2007, Fortin et al. 2018).

Every connection is modelled as

.. math:: x_{ij} = \alpha + z_j \beta + \gamma_{s(j)} + \delta_{s(j)} \varepsilon_{ij}

for graph j of site s(j) with covariates z. The shift and scale of a site are shrunken towards those of its other
connections (empirical Bayes, parametric priors), as in neuroCombat. The target takes no part, because new graphs have
none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import InputError
from isonn.packing import Floats

CONVERGED, MOST_STEPS = 1e-6, 1000


@dataclass(frozen=True, eq=False)
class Combat:
    """Shift and scale of every site and connection.

    Attributes:
        sites: names of the training sites.
        mean, spread: of every connection, without sites and covariates, shape (p,).
        slopes: effect of the covariates, which is kept, shape (covariates, p).
        shift, scale: of each site, in units of ``spread``, shape (sites, p).

    Example:
        >>> draw = np.random.default_rng(0)
        >>> sites = np.repeat(["A", "B"], 50)
        >>> values = draw.normal(size=(100, 30)) * np.where(sites == "A", 1, 3)[:, None] + (sites == "B")[:, None]
        >>> combat = Combat.learn(values, sites, np.zeros((100, 0)))
        >>> same = combat.apply(values, sites, np.zeros((100, 0)))
        >>> bool(abs(same[:50].std() - same[50:].std()) < 0.1)
        True
    """

    sites: tuple[str, ...]
    mean: Floats
    spread: Floats
    slopes: Floats
    shift: Floats
    scale: Floats

    @classmethod
    def learn(cls, values: Floats, sites: NDArray[Any], covariates: Floats) -> Combat:
        """Learn from training graphs.

        Args:
            values: connections, shape (g, p).
            sites: shape (g,).
            covariates: centred columns whose effect is kept, shape (g, covariates).
        """
        names, code, counts = np.unique(sites.astype(np.str_), return_inverse=True, return_counts=True)
        if len(names) < 2:
            raise InputError(f"all {len(sites)} graphs are of one site ({names[0]}); leave harmonize out")
        if counts.min() < 2:
            raise InputError(
                f"site {str(names[counts.argmin()])!r} has 1 graph, too few to learn its spread; leave it out, or join "
                f"it with another site"
            )
        code = code.reshape(-1)
        members = np.eye(len(names))[code]
        design = np.column_stack([members, covariates])
        coef = np.linalg.lstsq(design, values, rcond=None)[0]
        mean = counts / len(sites) @ coef[: len(names)]
        slopes = np.asarray(coef[len(names) :], dtype=np.float64)
        spread = np.sqrt(((values - design @ coef) ** 2).mean(axis=0))
        spread = np.where(spread > 1e-12 * np.maximum(np.abs(mean), 1e-300), spread, np.inf)
        rest = (values - mean - covariates @ slopes) / spread
        effects = [_site_effect(rest[code == number], np.isfinite(spread)) for number in range(len(names))]
        shift, scale = (np.stack(numbers) for numbers in zip(*effects, strict=True))
        return cls(tuple(names.tolist()), mean, spread, slopes, shift, scale)

    def apply(self, values: Floats, sites: NDArray[Any], covariates: Floats) -> Floats:
        """Return the connections as they would be at the average site; those of unknown sites as they are."""
        spread = np.where(np.isfinite(self.spread), self.spread, 1.0)
        result = values.copy()
        for number, site in enumerate(self.sites):
            rows = sites.astype(np.str_) == site
            usual = self.mean + covariates[rows] @ self.slopes
            rest = (values[rows] - usual) / spread
            result[rows] = np.where(
                np.isfinite(self.spread),
                (rest - self.shift[number]) / np.sqrt(self.scale[number]) * spread + usual,
                values[rows],
            )
        return result

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the learned numbers by name."""
        names = ("mean", "spread", "slopes", "shift", "scale")
        return {f"combat.{name}": getattr(self, name) for name in names}


def _site_effect(rest: Floats, varies: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return shift and squared scale of one site, shrunken towards those of all its connections."""
    shift, scale = np.zeros(rest.shape[1]), np.ones(rest.shape[1])
    rest = rest[:, varies]
    n, first = len(rest), rest.mean(axis=0)
    square = rest.var(axis=0, ddof=1)
    prior, width = first.mean(), first.var(ddof=1) if len(first) > 1 else 0.0
    m, s2 = square.mean(), max(float(square.var(ddof=1)) if len(square) > 1 else 0.0, 1e-300)
    a, b = (2 * s2 + m**2) / s2, (m * s2 + m**3) / s2
    g, d = first.copy(), np.maximum(square, 1e-12)
    for _ in range(MOST_STEPS):
        new_g = (width * n * first + d * prior) / (width * n + d)
        new_d = (0.5 * ((rest - new_g) ** 2).sum(axis=0) + b) / (n / 2 + a - 1)
        change = max(float(np.abs(new_g - g).max(initial=0.0)), float(np.abs(new_d - d).max(initial=0.0)))
        g, d = new_g, new_d
        if change < CONVERGED:
            break
    shift[varies], scale[varies] = g, d
    return shift, scale
