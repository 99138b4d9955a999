"""`MatchedGraph`: one graph as a model sees it, with its matches and the model's outputs without some of them.

Explanations need nothing else from a model. Each kind of region has its own subclass.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from isonn.explain.template import Template
from isonn.explain.units import Unit, delete_unit, units_of
from isonn.graphs.graph import Graph
from isonn.packing import Floats, IntArray
from isonn.targets import Target

Logits = Floats
#: Numbers shared among cells at a time: 64 MB of float64.
BLOCK_NUMBERS = 2**23


@dataclass(frozen=True, eq=False)
class Occurrences:
    """All matches of all templates in one graph: r matches in R regions.

    Attributes:
        nodes: the graph nodes of each region in the order of its rows, shape (R, k), padded with -1 if regions differ
            in size.
        columns: the graph nodes of each region's columns, shape (R, k), or None if they are its rows.
        region: the region of each match, shape (r,).
        template: the template of each match, shape (r,).
        distance: the distance between template and region of each match, shape (r,).

    Example:
        >>> matches = Occurrences(  # both templates match nodes 4 and 7
        ...     nodes=np.array([[4, 7]]),
        ...     columns=None,
        ...     region=np.array([0, 0]),
        ...     template=np.array([0, 1]),
        ...     distance=np.array([0.0, 1.0]),
        ... )
        >>> len(matches)
        2
    """

    nodes: IntArray
    columns: IntArray | None
    region: IntArray
    template: IntArray
    distance: Floats

    def __len__(self) -> int:
        return len(self.region)


@dataclass(frozen=True, eq=False, repr=False)
class NamedContribution:
    """What an absent piece or a term of the whole graph adds to a score.

    Attributes:
        name: such as "logP" or "no O=N-O".
        value: its value: 0 for an absent piece.
        contribution: what it adds to the score.

    Example:
        >>> NamedContribution("logP", 4.1, 0.3)
        NamedContribution(logP 4.1: +0.30)
    """

    name: str
    value: float
    contribution: float

    def __repr__(self) -> str:
        value = "" if self.name.startswith("no ") else f" {self.value:.3g}"
        return f"NamedContribution({self.name}{value}: {self.contribution:+.2f})"


@dataclass(frozen=True, eq=False)
class Regions:
    """Regions of a graph with the total contribution of their matches.

    Attributes:
        nodes: nodes of each region, shape (R, k), padded with -1.
        columns: the same for columns, or None if they are the same nodes.
        total: contribution of each region, shape (R,).
    """

    nodes: IntArray
    columns: IntArray | None
    total: Floats

    def node_shares(self, n: int) -> Floats:
        """Share every contribution equally among the nodes of its region, those of rows and columns alike.

        Args:
            n: number of nodes of the graph.

        Returns:
            ndarray of shape (n,) with the sum of ``total``.
        """
        both = self.nodes if self.columns is None else np.concatenate([self.nodes, self.columns], axis=1)
        real = both >= 0
        share = np.broadcast_to((self.total / np.maximum(real.sum(axis=1), 1))[:, None], both.shape)
        return np.bincount(both[real], weights=share[real], minlength=n).astype(np.float64)

    def edge_shares(self, adjacency: Floats) -> Floats:
        """Share every contribution among the cells of its region in proportion to their absolute weight.

        A region without edges shares equally among all its cells, because the absence of edges was matched.

        Returns:
            ndarray of shape (n, n) with the sum of ``total``.
        """
        n, (count, k) = len(adjacency), self.nodes.shape
        shares, weight = np.zeros(n * n), np.abs(adjacency).reshape(-1)
        columns = self.nodes if self.columns is None else self.columns
        step = max(1, BLOCK_NUMBERS // (k * k))
        for start in range(0, count, step):
            block = slice(start, start + step)
            row, column = self.nodes[block, :, None], columns[block, None, :]
            real = ((row >= 0) & (column >= 0)).reshape(-1, k * k)
            cell = (row * n + column).reshape(-1, k * k)
            share = np.where(real, weight[np.where(real, cell, 0)], 0.0)
            empty = share.sum(axis=1) == 0
            share[empty] = real[empty]
            share *= (self.total[block] / np.maximum(share.sum(axis=1), np.finfo(float).tiny))[:, None]
            shares += np.bincount(cell[real], weights=share[real], minlength=n * n)
        return shares.reshape(n, n)


class MatchedGraph(ABC):
    """A graph with the matches of a fitted model, and the model's outputs without some of them.

    A subclass sets the attributes below. Matches are given by their rows in ``occurrences``. Logits are float64,
    one per class or label.

    Example:
        >>> graphs = isonn.load("MUTAG")
        >>> clf = isonn.SubgraphClassifier(max_nodes=3, random_state=0).fit(graphs)
        >>> matched = clf.explain(graphs[0]).source
        >>> matched.logits_without(np.array([0])).shape  # without the first match
        (2,)
    """

    graph: Graph
    templates: Sequence[Template]
    occurrences: Occurrences
    target: Target
    #: Whether edges have no direction, so that an edge's importance is in both of its cells.
    undirected: bool = False

    #: Whether the contributions of all matches, absent pieces and terms sum to score - base.
    exact: bool = False

    #: The columns of graphs that the model reads.
    reads: Collection[str] = ("node_labels", "edge_labels")

    #: The model's answers for other graphs, shape (g, outputs); None if it can only leave out matches.
    predict: Callable[[Sequence[Graph]], Floats] | None = None

    @abstractmethod
    def logits(self) -> Logits:
        """Return the outputs for the graph as it is, shape (outputs,)."""

    @abstractmethod
    def base(self, column: int) -> float:
        """Return the margin of an output before anything contributes."""

    @abstractmethod
    def logits_without(self, rows: IntArray) -> Logits:
        """Return the outputs without all these matches, shape (outputs,)."""

    @abstractmethod
    def contributions(self, column: int) -> tuple[IntArray, Floats]:
        """Return match rows and their contributions to the margin of one output.

        If this is too expensive for all matches, the least important ones are left out.
        """

    def order(self, row: int) -> IntArray | None:
        """Return the position in the region of each template node of a match, shape (k,), or None if unknown."""
        return None

    def region_contributions(self, column: int, rows: IntArray, contributions: Floats) -> Regions:
        """Sum the contributions of matches (by their rows) over each region."""
        occurrences = self.occurrences
        total = np.bincount(occurrences.region[rows], contributions, minlength=len(occurrences.nodes))
        return Regions(occurrences.nodes, occurrences.columns, total.astype(np.float64))

    def units(self, column: int, importance: Floats) -> list[Unit]:
        """Return the units of the graph with their contributions; [] for models whose contributions do not add up.

        Args:
            column: the output to explain.
            importance: the contribution of each node to it, shape (n,).
        """
        return units_of(self.graph, importance) if self.exact else []

    def answers_without(self, unit: Unit) -> Floats | None:
        """Return the model's answers without a unit, shape (outputs,); None if nothing is left of the graph.

        Nodes are deleted and the rest is predicted again; of units that consist of matches, the matches are left out.
        """
        if self.predict is None or unit.matches:
            return self.target.link(self.logits_without(np.array(unit.matches, dtype=np.int64)))
        rest = delete_unit(self.graph, unit)
        return None if rest is None else self.predict([rest])[0]

    def padding_logits(self) -> Logits:
        """Return the outputs without any input that is not a node of the graph, shape (outputs,)."""
        return self.logits()

    def node_terms(self, column: int) -> Floats:
        """Return what terms of the whole graph contribute through their nodes, shape (n,)."""
        return np.zeros(self.graph.n)

    def terms(self, column: int) -> list[NamedContribution]:
        """Return the terms of the whole graph that do not belong to nodes."""
        return []

    def absent(self, column: int) -> list[NamedContribution]:
        """Return the pieces whose absence contributes."""
        return []
