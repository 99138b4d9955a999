"""`SetModel`: outputs as weighted sums of sets of regions and of connections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.aligned.column import ColumnModel
from isonn.aligned.sets import Geometry, RegionSet, set_values
from isonn.packing import Floats


@dataclass(frozen=True, eq=False)
class SetModel:
    """What a fitted model computes from standardised connections.

    Attributes:
        geometry: regions and connections.
        sets: the sets of regions.
        coef: their weights, shape (outputs, sets).
        connections: weights of connections on their own, shape (outputs, p).
        intercept: outputs of the average training graph, shape (outputs,).
    """

    geometry: Geometry
    sets: list[RegionSet]
    coef: Floats
    connections: Floats
    intercept: Floats

    @classmethod
    def combine(cls, geometry: Geometry, columns: Sequence[ColumnModel], outputs: Floats) -> SetModel:
        """Join the models of all columns; ``outputs`` is the matrix from columns to outputs."""
        owner = np.repeat(np.arange(len(columns)), [len(column.sets) for column in columns])
        return cls(
            geometry,
            [regions for column in columns for regions in column.sets],
            outputs[:, owner] * np.concatenate([column.coef for column in columns]),
            outputs @ np.stack([column.connections for column in columns]),
            outputs @ np.array([column.intercept for column in columns]),
        )

    def with_sets(self, order: NDArray[np.int64]) -> SetModel:
        """Return the model with some of its sets, in this order."""
        sets = [self.sets[i] for i in order]
        return SetModel(self.geometry, sets, self.coef[:, order], self.connections, self.intercept)

    def set_values(self, cells: Floats) -> Floats:
        """Return the value of every set in every graph, shape (g, sets)."""
        return set_values(self.sets, cells, self.geometry)

    def outputs(self, cells: Floats) -> Floats:
        """Return the outputs of every graph, shape (g, outputs)."""
        return np.asarray(self.intercept + self.set_values(cells) @ self.coef.T + cells @ self.connections.T)

    def contributions(self) -> Floats:
        """Return what one standard deviation of each connection adds, also in sets, shape (outputs, n, n)."""
        total, geometry = self.connections.copy(), self.geometry
        for number, regions in enumerate(self.sets):
            total[:, geometry.inside(regions.nodes)] += self.coef[:, number, None] * regions.weight
        matrices = np.zeros((len(total), geometry.n, geometry.n))
        i, j = geometry.pairs.T
        matrices[:, i, j] = total
        if not geometry.directed:
            matrices[:, j, i] = total
        return matrices

    def describe(self) -> list[dict[str, Any]]:
        """Return the sets as JSON."""
        return [asdict(regions) for regions in self.sets]

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the weights by name."""
        return {"coef": self.coef, "connections": self.connections, "intercept": self.intercept}

    @classmethod
    def restore(
        cls, geometry: Geometry, sets: Sequence[Mapping[str, Any]], tensors: Mapping[str, NDArray[Any]]
    ) -> SetModel:
        """Restore the model from `describe` and `tensors`."""
        numbers = ("score", "rank", "spread")
        restored = [
            RegionSet(tuple(map(int, stored["nodes"])), int(stored["sign"]), *(float(stored[name]) for name in numbers))
            for stored in sets
        ]
        model = cls(geometry, restored, tensors["coef"], tensors["connections"], tensors["intercept"])
        outputs = len(model.intercept)
        if model.connections.shape != (outputs, len(geometry.pairs)) or model.coef.shape != (outputs, len(restored)):
            raise ValueError("weights and regions differ in size")
        return model
