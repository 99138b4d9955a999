"""`Adjustment`: what is removed from the features of graphs before a model sees them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.confounds.columns import Confounds
from isonn.confounds.combat import Combat
from isonn.confounds.regression import slope_matrix, subtract
from isonn.errors import InputError
from isonn.graphs.graph import GraphSet
from isonn.packing import Floats


@dataclass(frozen=True, eq=False)
class Adjustment:
    """Differences between sites (ComBat), and then the effects of confounds (regression), learned in training.

    Attributes:
        confounds: the confounds; the site is one of them.
        slopes: effect of each column of the confounds, shape (columns, p).
        site: the column whose differences in mean and spread are removed, or None.
        combat: these differences, or None.
    """

    confounds: Confounds
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
        unseen: str = "mean",
        source: NDArray[np.bool_] | None = None,
    ) -> tuple[Adjustment, Floats]:
        """Fit to training graphs and return their adjusted values.

        Args:
            graphs: the graphs with their confounds.
            values: their features, shape (g, p); may be changed.
            site: the column to harmonise.
            squared: numeric confounds whose square counts as well.
            unseen: how to treat a category that was not in training: "mean" or "error".
            source: the graphs that slopes are learned from, shape (g,); None stands for all.
        """
        names = list(graphs.confounds)
        if site is not None and site not in names:
            if site not in graphs.table:
                columns = ", ".join(map(str, graphs.table)) or "none"
                raise InputError(f"harmonize={site!r} is not a column of {graphs.name}; its columns are: {columns}")
            names.append(site)
        confounds = Confounds.learn(graphs, names, squared, unseen)
        combat = None
        if site is not None:
            covariates = confounds.without(site).matrix(graphs)
            combat = Combat.learn(values, graphs.table[site], covariates)
            values = combat.apply(values, graphs.table[site], covariates)
        slopes = np.zeros((0, values.shape[1]))
        if confounds.parts:
            matrix = confounds.matrix(graphs)
            slopes = slope_matrix(matrix, np.ones(len(graphs), dtype=bool) if source is None else source) @ values
            subtract(values, matrix, slopes)
        return cls(confounds, slopes, site, combat), values

    def apply(self, graphs: GraphSet, values: Floats) -> Floats:
        """Return the adjusted features of other graphs; ``values`` may be changed."""
        if not self.confounds.parts:
            return values
        matrix = self.confounds.matrix(graphs)
        if self.combat is not None and self.site is not None:
            covariates = self.confounds.without(self.site).matrix(graphs)
            values = self.combat.apply(values, graphs.table[self.site], covariates, self.confounds.unseen)
        subtract(values, matrix, self.slopes)
        return values

    def describe(self) -> dict[str, Any]:
        """Return what `restore` needs besides `tensors`, as JSON."""
        return {
            "confounds": self.confounds.describe(),
            "site": self.site,
            "sites": [] if self.combat is None else list(self.combat.sites),
        }

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the learned numbers by name."""
        return {"slopes": self.slopes, **({} if self.combat is None else self.combat.tensors())}

    @classmethod
    def restore(cls, stored: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]) -> Adjustment:
        """Restore from `describe` and `tensors`."""
        numbers = {name.removeprefix("combat."): part for name, part in tensors.items() if name.startswith("combat.")}
        combat = Combat(tuple(map(str, stored["sites"])), **numbers) if stored["sites"] else None
        return cls(Confounds.restore(stored["confounds"]), tensors["slopes"], stored["site"], combat)
