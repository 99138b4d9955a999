"""Size terms: nodes, edges, cycles and degrees of a graph, as features beside its subgraphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.graphs.graph import GraphSet
from isonn.packing import Floats

#: Weight of the size terms; a view has weight 1.
SIZE_WEIGHT = 0.3
#: Number of size terms that count nodes by degree: 0 to 8, and 9 or more.
DEGREE_BINS = 10


def size_counts(graphs: GraphSet) -> NDArray[np.float32]:
    """Return nodes, edges, independent cycles, and nodes by degree of each graph, ``(g, 3 + DEGREE_BINS)``.

    Cycles are edges - nodes + 1, at least 0, which is exact for a connected graph.
    """
    once = graphs.edges[:, 0] < graphs.edges[:, 1]
    owner = graphs.graph_of_cell[once]
    nodes, edges = graphs.sizes, np.bincount(owner, minlength=len(graphs))
    ends = graphs.edges[once] + graphs.node_offsets[owner, None]
    degree = np.bincount(ends.ravel(), minlength=int(graphs.node_offsets[-1]))
    place = np.repeat(np.arange(len(graphs)), nodes) * DEGREE_BINS + np.minimum(degree, DEGREE_BINS - 1)
    bins = np.bincount(place, minlength=len(graphs) * DEGREE_BINS).reshape(len(graphs), DEGREE_BINS)
    return np.column_stack([nodes, edges, np.maximum(edges - nodes + 1, 0), bins]).astype(np.float32)


@dataclass(frozen=True, eq=False)
class SizeTerms:
    """Features of the size: standardised logarithms of the counts, and steps at the deciles of the first three.

    Attributes:
        mean, deviation: of the logarithms, shape (3 + DEGREE_BINS,).
        steps: deciles, as (column, value) rows, shape (s, 2).
        step_mean: share of training graphs above each decile, shape (s,).
        scale: factor of every feature.
    """

    mean: Floats
    deviation: Floats
    steps: Floats
    step_mean: Floats
    scale: float

    @classmethod
    def learn(cls, counts: NDArray[np.float32], blocks: int, size_weight: float = SIZE_WEIGHT) -> SizeTerms:
        """Learn the size features from the counts of training graphs."""
        logs = np.log1p(counts.astype(np.float64))
        deviation = logs.std(axis=0)
        steps = [
            (float(column), value)
            for column in range(3)
            for value in np.unique(np.quantile(logs[:, column], np.linspace(0.1, 0.9, 9))).tolist()
        ]
        block = cls(
            logs.mean(axis=0), np.where(deviation > 0, deviation, 1.0), np.array(steps), np.zeros(len(steps)), 1
        )
        above = block.features(counts)[:, logs.shape[1] :].mean(axis=0)
        block = cls(block.mean, block.deviation, block.steps, above, 1.0)
        size = np.sqrt((block.features(counts) ** 2).sum(axis=1).mean())
        scale = np.sqrt(size_weight / (blocks + size_weight)) / max(size, 1e-12)
        return cls(block.mean, block.deviation, block.steps, above, float(scale))

    @classmethod
    def empty(cls) -> SizeTerms:
        """Return no features, for short lists."""
        none = np.zeros(0)
        return cls(none, none, np.zeros((0, 2)), none, 1.0)

    @property
    def columns(self) -> int:
        """Number of features."""
        return len(self.mean) + len(self.step_mean)

    def features(self, counts: NDArray[np.float32]) -> Floats:
        """Return the features of graphs, dense, ``(g, columns)``."""
        if not self.columns:
            return np.zeros((len(counts), 0))
        logs = np.log1p(counts.astype(np.float64))
        above = logs[:, self.steps[:, 0].astype(int)] > self.steps[:, 1]
        return np.concatenate([(logs - self.mean) / self.deviation, above - self.step_mean], axis=1) * self.scale

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return all arrays by name."""
        names = ("mean", "deviation", "steps", "step_mean")
        return {**{name: getattr(self, name) for name in names}, "scale": np.array([self.scale])}

    @classmethod
    def restore(cls, tensors: dict[str, NDArray[Any]]) -> SizeTerms:
        """Restore the terms from their `tensors`."""
        mean, deviation, steps, step_mean = (tensors[name] for name in ("mean", "deviation", "steps", "step_mean"))
        return cls(mean, deviation, steps, step_mean, float(tensors["scale"][0]))
