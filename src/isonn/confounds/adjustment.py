"""Least squares on confounds, and `Adjustment`: what is removed from graphs before a model sees them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.confounds.columns import Confound, as_categories, confound_columns, learn_confounds
from isonn.confounds.combat import Combat
from isonn.errors import InputError
from isonn.graphs.graph import GraphSet
from isonn.packing import Floats, below

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
    def of(cls, confounds: Floats, weights: Floats) -> Nuisance:
        """Prepare the regression of some graphs."""
        root = np.sqrt(weights / weights.mean())
        first = root / np.linalg.norm(root)
        if not confounds.shape[1]:
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
    if not len(slopes):
        return
    for start in range(0, values.shape[1], CHUNK):
        values[:, start : start + CHUNK] -= confounds @ slopes[:, start : start + CHUNK]


def check_determined(confounds: Floats, columns: Floats, names: Sequence[str], what: Sequence[str]) -> None:
    """Raise `InputError` if the confounds determine a column of the target, so that nothing is left to test."""
    for number in range(columns.shape[1]):
        rows = np.isfinite(columns[:, number])
        target = columns[rows, number] - columns[rows, number].mean()
        nuisance = Nuisance.of(confounds[rows], np.ones(len(target)))
        rest = nuisance.residuals(target[:, None])
        if (target**2).sum() > 0 and (rest**2).sum() <= DETERMINED * (target**2).sum():
            raise InputError(
                f"the confounds {', '.join(names)} determine {what[number]} exactly, as with one site per class, so "
                f"its effect cannot be told from theirs; leave out the confound that equals it"
            )


@dataclass(frozen=True, eq=False)
class Adjustment:
    """Differences between sites (ComBat), and then the effects of confounds (regression), learned in training.

    Attributes:
        confounds: the confounds; the site is one of them.
        slopes: effect of each column of the confounds, shape (columns, p).
        site: the column whose differences in mean and spread are removed, or None.
        combat: these differences, or None.
    """

    confounds: tuple[Confound, ...]
    slopes: Floats
    site: str | None = None
    combat: Combat | None = None

    @classmethod
    def learn(
        cls,
        graphs: GraphSet,
        values: Floats,
        *,
        site: str | None = None,
        squared: Sequence[str] = (),
        source: NDArray[np.bool_] | None = None,
    ) -> tuple[Adjustment, Floats]:
        """Fit to training graphs and return their adjusted values.

        Args:
            graphs: the graphs with their confounds.
            values: their features, shape (g, p); may be changed.
            site: the column to harmonise.
            squared: numeric confounds whose square counts as well.
            source: the graphs that slopes are learned from, shape (g,); None stands for all.
        """
        names = list(graphs.confounds)
        if site is not None and site not in names:
            if site not in graphs.table:
                columns = ", ".join(map(str, graphs.table)) or "none"
                raise InputError(f"harmonize={site!r} is not a column of {graphs.name}; its columns are: {columns}")
            names.append(site)
        graphs = _with_categories(graphs, site)
        confounds, combat = learn_confounds(graphs, names, squared), None
        if site is not None:
            covariates = _covariates(confounds, site, graphs)
            combat = Combat.learn(values, graphs.table[site], covariates)
            values = combat.apply(values, graphs.table[site], covariates)
        matrix = confound_columns(confounds, graphs)
        slopes = slope_matrix(matrix, np.ones(len(graphs), dtype=bool) if source is None else source) @ values
        subtract(values, matrix, slopes)
        return cls(confounds, slopes, site, combat), values

    def matrix(self, graphs: GraphSet) -> Floats:
        """Return the columns of the confounds of some graphs, shape (g, columns)."""
        return confound_columns(self.confounds, _with_categories(graphs, self.site))

    def apply(self, graphs: GraphSet, values: Floats) -> Floats:
        """Return the adjusted features of other graphs; ``values`` may be changed."""
        matrix = self.matrix(graphs)
        if self.combat is not None and self.site is not None:
            covariates = _covariates(self.confounds, self.site, graphs)
            values = self.combat.apply(values, graphs.table[self.site], covariates)
        subtract(values, matrix, self.slopes)
        return values

    def describe(self) -> dict[str, Any]:
        """Return what `restore` needs besides `tensors`, as JSON."""
        sites = [] if self.combat is None else list(self.combat.sites)
        return {"confounds": [vars(confound) for confound in self.confounds], "site": self.site, "sites": sites}

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the learned numbers by name."""
        return {"slopes": self.slopes, **({} if self.combat is None else self.combat.tensors())}

    @classmethod
    def restore(cls, stored: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]) -> Adjustment:
        """Restore from `describe` and `tensors`."""
        combat = Combat(tuple(map(str, stored["sites"])), **below("combat", tensors)) if stored["sites"] else None
        lists = ("categories", "means")
        confounds = [Confound(**{**one, **{name: tuple(one[name]) for name in lists}}) for one in stored["confounds"]]
        site = None if combat is None else stored["site"]
        if combat is not None and site not in [confound.name for confound in confounds]:
            raise InputError(f"its site {site!r:.40} is none of its confounds")
        return cls(tuple(confounds), tensors["slopes"], site, combat)


def _covariates(confounds: Sequence[Confound], site: str, graphs: GraphSet) -> Floats:
    """Return the columns of the other confounds, whose effects harmonising keeps."""
    return confound_columns([confound for confound in confounds if confound.name != site], graphs)


def _with_categories(graphs: GraphSet, site: str | None) -> GraphSet:
    """Return the graphs with the site as text, so that sites with numbers are categories as well."""
    if site is None or site not in graphs.table:
        return graphs
    return replace(graphs, table={**graphs.table, site: as_categories(graphs.table[site])})
