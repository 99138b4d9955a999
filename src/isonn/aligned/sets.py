"""Sets of regions, and the connections inside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from isonn.packing import Floats, IntArray


@dataclass(frozen=True, eq=False)
class Geometry:
    """Regions and connections.

    Attributes:
        pairs: the two regions of each connection, shape (p, 2).
        numbers: the connection of each pair of regions, shape (n, n).
        directed: whether i to j and j to i are two connections.
    """

    pairs: IntArray
    numbers: IntArray
    directed: bool

    @property
    def n(self) -> int:
        """Number of regions."""
        return len(self.numbers)

    def inside(self, nodes: Sequence[int]) -> IntArray:
        """Return the connections among some regions."""
        k, members = len(nodes), np.array(nodes)
        a, b = np.nonzero(~np.eye(k, dtype=bool)) if self.directed else np.triu_indices(k, 1)
        return np.asarray(self.numbers[members[a], members[b]])


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

    def values(self, cells: Floats, geometry: Geometry) -> Floats:
        """Return the value of every graph, shape (g,)."""
        inside = geometry.inside(self.nodes)
        return np.asarray(cells[:, inside] @ np.full(len(inside), self.weight))

    def pattern(self) -> Floats:
        """Return the weights of its connections as a matrix, shape (k, k)."""
        return self.weight * (1 - np.eye(len(self.nodes)))

    def overlap(self, other: RegionSet) -> float:
        """Return the share of regions that two sets of one sign have in common (Jaccard); 0 for different signs."""
        if self.sign != other.sign:
            return 0.0
        return len({*self.nodes} & {*other.nodes}) / len({*self.nodes} | {*other.nodes})


def set_values(sets: Sequence[RegionSet], cells: Floats, geometry: Geometry) -> Floats:
    """Return the value of every set in every graph, shape (g, sets)."""
    columns = [regions.values(cells, geometry) for regions in sets]
    return np.stack(columns, axis=1) if columns else np.zeros((len(cells), 0))
