"""What an encoding has to know of the training graphs, gathered a few graphs at a time."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self

from isonn.data.graphs import GraphSet
from isonn.estimators.distinct import DistinctRows

COLUMNS = ("node_labels", "node_attributes", "edge_labels", "edge_weights")


class Gathering:
    """The labels and values of graphs; which graphs came together, and in which order, makes no difference.

    Args:
        wanted: which of COLUMNS to look at.

    Attributes:
        has: whether the graphs have each of COLUMNS.
        labels: by column, the distinct ones, sorted.
        values: by column, the distinct rows of numbers; weights are 1 where graphs have none.
    """

    def __init__(self, wanted: Collection[str] = COLUMNS) -> None:
        self.has = dict.fromkeys(COLUMNS, False)
        self.labels: dict[str, NDArray[Any]] = {}
        self.values: dict[str, DistinctRows] = {}
        self._wanted = wanted

    def add(self, graphs: GraphSet) -> Self:
        """Look at some more graphs; an edge from a node to itself is none."""
        proper = graphs.edges[:, 0] != graphs.edges[:, 1]
        for name in COLUMNS:
            column = graphs.weights if name == "edge_weights" else getattr(graphs, name)
            self.has[name] |= column is not None
            if name not in self._wanted:
                continue
            if name == "edge_weights":
                values = self.values.setdefault(name, DistinctRows(1))
                if column is None:
                    values.add(np.ones((int(proper.any()), 1)), int(proper.sum()))
                else:
                    values.add(column[proper, None])
            elif column is None:
                continue
            elif name == "node_attributes":
                self.values.setdefault(name, DistinctRows(column.shape[1])).add(column)
            else:
                labels = np.unique(column if name == "node_labels" else column[proper])
                known = self.labels.get(name, labels[:0])
                self.labels[name] = np.unique(np.concatenate([known, labels]))
        return self
