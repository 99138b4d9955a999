"""Graphs that contain a piece, counted by class."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.explain.reasons import PieceSearch, Reason
from isonn.explain.units import find_partition
from isonn.graphs.edit import induced
from isonn.graphs.graph import Graph, GraphSet
from isonn.report.draw import is_dense
from isonn.report.layout import canonical_order
from isonn.report.words import Naming, has_target, side
from isonn.targets import Target

#: The name and the graphs of each class.
Sides = Sequence[tuple[str, NDArray[np.bool_]]]
#: Per class its name, how many of its graphs contain a piece, and how many there are.
Counts = tuple[tuple[str, int, int], ...]
#: Maximum number of graphs searched for the reasons of single graphs, as each piece is compared with every graph.
COUNTED = 1000
#: Larger pieces are not searched for in other graphs.
LARGEST = 12


class Holders:
    """The graphs that contain the reasons of single graphs; each distinct piece is searched for once.

    Units that have a name, or a SMILES, count where a graph has a unit of that name: two cyclohexanes may differ in
    the hydrogens of their atoms.

    Args:
        graphs: the graphs to search; if there are more than `COUNTED`, that many, evenly spread.
    """

    def __init__(self, graphs: GraphSet) -> None:
        every = np.arange(len(graphs))
        if len(graphs) > COUNTED:
            every = np.linspace(0, len(graphs) - 1, COUNTED).astype(np.int64)
        self.graphs = graphs[every]
        self.sampled = len(graphs) > COUNTED
        self._search = PieceSearch(self.graphs)
        self._held: dict[Any, NDArray[np.bool_]] = {}

    def held(self, reason: Reason) -> NDArray[np.bool_] | None:
        """Return whether each graph contains the piece; None for named nodes (places, not kinds) and dense graphs."""
        title = reason.name or reason.smiles
        if title and self._titles is not None:
            return np.array([title in titles for titles in self._titles])
        if reason.graph.has_named_nodes or len(reason.nodes) > LARGEST or is_dense(reason.graph):
            return None
        key = piece_key(reason.graph, reason.nodes)
        if key not in self._held:
            self._held[key] = self._search.holders(reason.graph, reason.nodes)
        return self._held[key]

    @cached_property
    def _titles(self) -> list[set[str]] | None:
        """Names or SMILES of the units of each graph; None for graphs of a kind that has no named units."""
        partition = find_partition(self.graphs.kind)
        if partition is None:
            return None
        return [{unit.name or unit.smiles for unit in partition.units(graph)} for graph in self.graphs]

    def words(self, reason: Reason, naming: Naming) -> str:
        """Describe how many graphs of each class contain the piece."""
        held = self.held(reason)
        if held is None:
            return ""
        e = reason.explanation
        sides = sides_of(self.graphs, e.target, naming, None if e.target.exclusive else e.explained)
        counts = count_by_class(held, sides)[:4]
        of = f" of {len(self.graphs):,} {naming.noun}s searched" if self.sampled else ""
        return ", ".join(f"{n:,} of {all_:,} {side(name)}" for name, n, all_ in counts) + of


def piece_key(graph: Graph, nodes: Sequence[int]) -> tuple[Any, ...]:
    """Return a key that is equal for pieces that are equal up to relabelling, including node and edge labels."""
    piece = induced(graph, sorted(nodes))
    order = canonical_order(piece)
    place = np.empty(piece.n, dtype=np.int64)
    place[order] = np.arange(piece.n)
    labels = () if piece.node_labels is None else tuple(piece.node_labels[order].tolist())
    marks = [None] * len(piece.edges) if piece.edge_labels is None else piece.edge_labels.tolist()
    cells = sorted((*pair, str(mark)) for pair, mark in zip(place[piece.edges].tolist(), marks, strict=True))
    return (piece.n, labels, tuple(cells))


def count_by_class(held: NDArray[np.bool_], sides: Sides) -> Counts:
    """Return per side its name, how many of its graphs are in ``held``, and how many there are."""
    return tuple((name, int((held & side).sum()), int(side.sum())) for name, side in sides)


def sides_of(graphs: GraphSet, target: Target, naming: Naming, first: Any = None) -> Sides:
    """Return the name and the graphs of each class, or of all graphs if numbers are predicted.

    Args:
        target: what is predicted.
        first: the class to begin with, or None; of several labels, the only one, with and without it.
    """
    y = np.asarray(graphs.y)
    if target.numeric:
        return [(f"{naming.noun}s", np.ones(len(graphs), dtype=bool))]
    if not target.exclusive:
        column, name = y[:, int(first)], naming.class_(first)
        return [(name, column == 1), (f"not {name}", column == 0)]  # where it was not measured, it counts for neither
    values = sorted(np.unique(y[has_target(y)]).tolist(), key=lambda value: value != first)
    return [(naming.class_(value), y == value) for value in values]
