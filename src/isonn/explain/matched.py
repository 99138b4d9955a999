"""One graph as a model sees it: where its templates are found, and what the model says when some are taken away.

This is all an explanation needs to know of a model. Each kind of regions has a subclass of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isonn.data.graphs import Graph, IntArray
from isonn.template import Template

Logits = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Occurrences:
    """Every match of every template in one graph: r matches in R regions.

    Attributes:
        nodes: the graph nodes of each region in the order of its rows, shape (R, k); where regions differ in
            size, the rest of a row is -1.
        columns: the graph nodes of each region's columns, shape (R, k), or None when they are its rows.
        region: the region of each match, shape (r,).
        template: its template, shape (r,).
        distance: how far the one is from the other, shape (r,).
    """

    nodes: IntArray
    columns: IntArray | None
    region: IntArray
    template: IntArray
    distance: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.region)


class MatchedGraph(ABC):
    """A graph with the matches of a fitted model, and the model run without some of them.

    Matches are known by their rows in ``occurrences``. Logits are in float64, one per class or label.
    """

    graph: Graph
    templates: list[Template]
    occurrences: Occurrences

    @abstractmethod
    def logits(self) -> Logits:
        """What the model says of the graph as it is, shape (outputs,)."""

    @abstractmethod
    def base_logits(self) -> Logits:
        """What it says when nothing is matched anywhere, shape (outputs,)."""

    @abstractmethod
    def logits_without(self, rows: IntArray) -> Logits:
        """What it says without these matches, all of them taken away together, shape (outputs,)."""

    @abstractmethod
    def logits_without_each(self) -> tuple[IntArray, Logits]:
        """What it says without one match, for each on its own: their rows, and logits of shape (rows, outputs).

        A model for which this is too expensive leaves out the matches that matter least.
        """

    @abstractmethod
    def logits_without_template(self) -> Logits:
        """What it says with one template switched off, shape (templates, outputs)."""

    @abstractmethod
    def order(self, row: int) -> IntArray | None:
        """The place in the region of each template node of a match, shape (k,); None where matching gives none."""

    @abstractmethod
    def cells(self, row: int) -> NDArray[np.float64]:
        """The adjacency matrix of a match's region, rows by columns, shape (k, k)."""

    @abstractmethod
    def count_equal(self, other: MatchedGraph, row: int) -> int:
        """How many regions of this graph equal the region of a match of another one, up to renumbering."""

    def padding_logits(self) -> Logits:
        """What the model says without whatever it reads that is no node of the graph, shape (outputs,)."""
        return self.logits()
