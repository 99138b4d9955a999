"""Sets of regions, and `AlignedModel`: outputs as weighted sums of sets of regions and of connections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.aligned.encoder import Encoder
from isonn.aligned.layout import Layout
from isonn.confounds import Adjustment
from isonn.graphs.graph import GraphSet
from isonn.packing import Floats

#: The weights that a saved model keeps as arrays.
WEIGHTS = ("coef", "connections", "intercept")


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
class AlignedModel:
    """What a fitted model computes from graphs.

    Attributes:
        encoder: from graphs to standardised connections.
        sets: the sets of regions.
        coef: their weights, shape (outputs, sets).
        connections: weights of connections on their own, shape (outputs, p).
        intercept: outputs of the average training graph, shape (outputs,).
    """

    encoder: Encoder
    sets: list[RegionSet]
    coef: Floats
    connections: Floats
    intercept: Floats

    @property
    def layout(self) -> Layout:
        """Regions and connections."""
        return self.encoder.layout

    def terms(self, graphs: GraphSet) -> tuple[Floats, Floats]:
        """Return the value of every set, shape (g, sets), and the sum of connections per output, (g, outputs)."""
        cells = self.encoder.cells(graphs)
        return set_values(self.sets, cells, self.layout), cells @ self.connections.T

    def outputs(self, graphs: GraphSet) -> Floats:
        """Return the outputs of every graph, shape (g, outputs)."""
        sets, connections = self.terms(graphs)
        return np.asarray(self.intercept + sets @ self.coef.T + connections)

    def contributions(self) -> Floats:
        """Return what one standard deviation of each connection adds, also in sets, shape (outputs, n, n)."""
        total = self.connections.copy()
        for number, regions in enumerate(self.sets):
            total[:, self.layout.inside(regions.nodes)] += self.coef[:, number, None] * regions.weight
        return self.layout.as_matrices(total)

    def describe(self) -> dict[str, Any]:
        """Return what `restore` needs besides `tensors`, as JSON."""
        encoder = self.encoder
        return {
            "layout": encoder.layout.describe(),
            "adjustment": encoder.adjustment.describe(),
            "whole": encoder.whole,
            "sets": [asdict(regions) for regions in self.sets],
        }

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the learned numbers by name."""
        return {
            "mean": self.encoder.mean,
            "spread": self.encoder.spread,
            **self.encoder.adjustment.tensors(),
            **{name: getattr(self, name) for name in WEIGHTS},
        }

    @classmethod
    def restore(cls, stored: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]], outputs: int) -> AlignedModel:
        """Restore the model from `describe` and `tensors`."""
        numbers = ("score", "rank", "spread")
        sets = [
            RegionSet(tuple(map(int, entry["nodes"])), int(entry["sign"]), *(float(entry[name]) for name in numbers))
            for entry in stored["sets"]
        ]
        layout, adjustment = Layout.restore(stored["layout"]), Adjustment.restore(stored["adjustment"], tensors)
        encoder = Encoder(layout, adjustment, tensors["mean"], tensors["spread"], float(stored["whole"]))
        coef, connections, intercept = (tensors[name] for name in WEIGHTS)
        p = len(layout.pairs)
        by_connection = (encoder.mean, encoder.spread, adjustment.slopes, connections)
        if any(values.shape[-1:] != (p,) for values in by_connection) or len(connections) != outputs:
            raise ValueError("weights and connections differ in number")
        if coef.shape != (outputs, len(sets)) or intercept.shape != (outputs,):
            raise ValueError("weights and sets or outputs differ in number")
        return cls(encoder, sets, coef, connections, intercept)
