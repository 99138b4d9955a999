"""Sets of regions, and `SetModel`: outputs as weighted sums of sets of regions and of connections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.aligned.layout import Layout
from isonn.packing import Floats


@dataclass(frozen=True, eq=False)
class RegionSet:
    """A set of regions whose connections change together.

    Its value in a graph is the sum of its standardised connections, times the sign, divided by the spread.

    Attributes:
        nodes: its regions, beginning with the two it grew from.
        sign: +1 if its connections are stronger for larger targets, else -1.
        score: the sum of its t statistics.
        rank: the score relative to the best of shuffled data, in standard deviations.
        spread: deviation of the sum over the training graphs.
    """

    nodes: tuple[int, ...]
    sign: int
    score: float
    rank: float
    spread: float = 1.0

    @property
    def weight(self) -> float:
        """The weight of each of its connections in its value."""
        return self.sign / self.spread

    def overlap(self, other: RegionSet) -> float:
        """Return the share of regions that two sets of one sign have in common (Jaccard); 0 for different signs."""
        if self.sign != other.sign:
            return 0.0
        return len({*self.nodes} & {*other.nodes}) / len({*self.nodes} | {*other.nodes})


def set_values(sets: Sequence[RegionSet], cells: Floats, layout: Layout) -> Floats:
    """Return the value of every set in every graph, shape (g, sets)."""
    values = np.zeros((len(cells), len(sets)))
    for number, regions in enumerate(sets):
        inside = layout.inside(regions.nodes)
        values[:, number] = cells[:, inside] @ np.full(len(inside), regions.weight)
    return values


@dataclass(frozen=True, eq=False)
class SetModel:
    """What a fitted model computes from standardised connections.

    Attributes:
        layout: regions and connections.
        sets: the sets of regions.
        coef: their weights, shape (outputs, sets).
        connections: weights of connections on their own, shape (outputs, p).
        intercept: outputs of the average training graph, shape (outputs,).
    """

    layout: Layout
    sets: list[RegionSet]
    coef: Floats
    connections: Floats
    intercept: Floats

    def set_values(self, cells: Floats) -> Floats:
        """Return the value of every set in every graph, shape (g, sets)."""
        return set_values(self.sets, cells, self.layout)

    def outputs(self, cells: Floats) -> Floats:
        """Return the outputs of every graph, shape (g, outputs)."""
        return np.asarray(self.intercept + self.set_values(cells) @ self.coef.T + cells @ self.connections.T)

    def contributions(self) -> Floats:
        """Return what one standard deviation of each connection adds, also in sets, shape (outputs, n, n)."""
        total = self.connections.copy()
        for number, regions in enumerate(self.sets):
            total[:, self.layout.inside(regions.nodes)] += self.coef[:, number, None] * regions.weight
        return self.layout.as_matrices(total)

    def describe(self) -> list[dict[str, Any]]:
        """Return the sets as JSON."""
        return [asdict(regions) for regions in self.sets]

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the weights by name."""
        return {"coef": self.coef, "connections": self.connections, "intercept": self.intercept}

    @classmethod
    def restore(
        cls, layout: Layout, sets: Sequence[Mapping[str, Any]], tensors: Mapping[str, NDArray[Any]]
    ) -> SetModel:
        """Restore the model from `describe` and `tensors`."""
        numbers = ("score", "rank", "spread")
        restored = [
            RegionSet(tuple(map(int, stored["nodes"])), int(stored["sign"]), *(float(stored[name]) for name in numbers))
            for stored in sets
        ]
        model = cls(layout, restored, tensors["coef"], tensors["connections"], tensors["intercept"])
        outputs = len(model.intercept)
        if model.connections.shape != (outputs, len(layout.pairs)) or model.coef.shape != (outputs, len(restored)):
            raise ValueError("weights and regions differ in size")
        return model
