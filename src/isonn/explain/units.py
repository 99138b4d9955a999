"""Units: the parts into which a graph is divided, so that their contributions add up.

Graphs of a kind may have their own `Partition`, such as functional groups and rings for molecules. Other graphs are
divided into connected pieces whose nodes contribute with one sign, large ones into rings and branches, and the rest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import InputError
from isonn.graphs.edit import delete_nodes
from isonn.graphs.graph import Graph
from isonn.plugins import Registry

#: Nodes belong to a piece of one sign if their importance is at least this share of the strongest node's.
SHARE = 0.4
#: A piece has at most so many nodes, or half of the graph.
LARGEST = 12
#: Larger pieces are divided into rings and branches.
MOST_UNDIVIDED = 6
#: The kind of the unit that holds all other nodes or connections.
REST = "rest"


@dataclass(frozen=True, eq=False, repr=False)
class Unit:
    """A part of a graph with its contribution to a prediction.

    Attributes:
        name: its name, such as "nitro on an aromatic ring"; None if it has none.
        kind: of molecules "group", "ring", "other" or "chain"; of aligned graphs "set" or "connection"; else "piece".
            "rest" is what no other unit holds.
        nodes: its nodes, ascending.
        contribution: the sum of the contributions of its nodes or connections.
        matches: rows of its matches, for units that are sets of matches rather than of nodes.
        source: what the partition knows about it; its ``smiles`` and ``smarts`` are those of the unit.

    Example:
        >>> graphs = isonn.load("MUTAG")
        >>> e = isonn.SubgraphClassifier(max_nodes=3, random_state=0).fit(graphs).explain(graphs[0])
        >>> sorted(node for unit in e.units for node in unit.nodes) == list(range(graphs[0].n))
        True
    """

    name: str | None
    kind: str
    nodes: tuple[int, ...]
    contribution: float = 0.0
    matches: tuple[int, ...] = ()
    source: Any = field(default=None, repr=False)

    @property
    def smiles(self) -> str:
        """The SMILES of a molecule's unit, ``*`` where a bond to the rest was cut; "" for other graphs."""
        return str(getattr(self.source, "smiles", ""))

    @property
    def smarts(self) -> str:
        """A pattern that finds a molecule's unit; "" for other graphs."""
        return str(getattr(self.source, "smarts", ""))

    @property
    def families(self) -> tuple[str, ...]:
        """General names that a molecule's unit falls under, such as "basic amine" for a piperidine; () for others."""
        return tuple(getattr(self.source, "families", ()))

    def __repr__(self) -> str:
        called = self.name or self.smiles or f"{self.kind} of {len(self.nodes)} nodes"
        return f"Unit({called}: {self.contribution:+.2f})"


class Partition(ABC):
    """Base class of what divides graphs of a kind into units. To add one, subclass it and call `register_partition`.

    Every node belongs to exactly one unit, and relabelling a graph changes no unit.

    Example:
        >>> class Whole(Partition):
        ...     def units(self, graph):
        ...         return [Unit("the graph", "piece", tuple(range(graph.n)))]
        >>> Whole().units(isonn.load("MUTAG")[0])[0].name
        'the graph'
    """

    @abstractmethod
    def units(self, graph: Graph) -> list[Unit]:
        """Return the units of a graph, without contributions.

        Args:
            graph: a graph of this kind.

        Returns:
            units that hold each node exactly once.
        """

    def delete(self, graph: Graph, nodes: Sequence[int]) -> Graph:
        """Return the graph without some of its nodes, as a graph of this kind would be.

        Args:
            graph: a graph of this kind.
            nodes: the nodes to delete.

        Returns:
            the graph that remains.
        """
        return delete_nodes(graph, nodes)


_PARTITIONS: Registry[Partition] = Registry("partitions", {"molecules": "isonn.molecules.units"})


def register_partition(kind: str, partition: Partition) -> None:
    """Divide graphs of a kind (``GraphSet.kind``) into these units, replacing an earlier partition.

    Args:
        kind: the kind of graphs, as in ``GraphSet.kind``.
        partition: an instance of a subclass of `Partition`.
    """
    if not isinstance(partition, Partition):
        raise InputError(f"{partition!r:.60} is not a Partition; give an instance of a subclass")
    _PARTITIONS[kind] = partition


def find_partition(kind: str) -> Partition | None:
    """Return the partition of a kind; None if it has none, or if its extra is missing."""
    return _PARTITIONS.find(kind)


def units_of(graph: Graph, importance: NDArray[np.float64]) -> list[Unit]:
    """Divide a graph into units, largest absolute contribution first.

    Args:
        graph: the graph.
        importance: the contribution of each node, shape (n,).
    """
    partition = find_partition(graph.kind)
    units = _pieces_of_one_sign(graph, importance) if partition is None else partition.units(graph)
    filled = [replace(unit, contribution=float(importance[list(unit.nodes)].sum())) for unit in units]
    return sorted(filled, key=lambda unit: -abs(unit.contribution))


def delete_unit(graph: Graph, unit: Unit) -> Graph | None:
    """Return the graph without a unit; None if nothing is left."""
    if len(unit.nodes) == graph.n:
        return None
    partition = find_partition(graph.kind)
    return delete_nodes(graph, unit.nodes) if partition is None else partition.delete(graph, unit.nodes)


def parts_without(graph: Graph, unit: Unit) -> int:
    """Return into how many connected parts a graph falls without a unit; 0 if nothing is left."""
    kept = np.ones(graph.n)
    kept[list(unit.nodes)] = 0.0
    return len(_connected(graph, kept))


def _pieces_of_one_sign(graph: Graph, importance: NDArray[np.float64]) -> list[Unit]:
    """Return the connected pieces of strong nodes of one sign, and the rest.

    With a piece of half the graph, only stronger nodes count.
    """
    strength = np.abs(importance)
    strongest = float(strength.max(initial=0.0))
    pieces: list[NDArray[np.int64]] = []
    for share in np.arange(SHARE, 0.95, 0.1) if strongest > 0 else ():
        pieces = _connected(graph, np.where(strength >= share * strongest, np.sign(importance), 0))
        if max(map(len, pieces)) <= max(LARGEST, graph.n // 2):
            break
    pieces = [part for piece in pieces for part in _split_rings_from_branches(graph, piece)]
    rest = np.setdiff1d(np.arange(graph.n), np.concatenate(pieces)) if pieces else np.arange(graph.n)
    units = [Unit(None, "piece", tuple(piece.tolist())) for piece in pieces]
    return units + ([Unit("the rest", REST, tuple(rest.tolist()))] if len(rest) else [])


def _split_rings_from_branches(graph: Graph, piece: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Divide a piece that is too large to read, such as a ring with a nitro group, into rings and branches.

    A branch is a connected part whose nodes lie on no cycle of the graph.
    """
    if len(piece) <= MOST_UNDIVIDED:
        return [piece]
    from isonn.graphs.cycles import edges_on_cycles  # imports numba

    links = graph.edges[graph.edges[:, 0] < graph.edges[:, 1]]
    on_ring = edges_on_cycles(graph.n, links)
    kind = np.zeros(graph.n)
    kind[piece] = 1.0
    kind[np.intersect1d(piece, links[on_ring])] = 2.0
    return _connected(graph, kind)


def _connected(graph: Graph, sign: NDArray[np.float64]) -> list[NDArray[np.int64]]:
    """Return the connected pieces of nodes whose sign is equal and not 0."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    rows, columns = graph.edges.T
    inside = (sign[rows] == sign[columns]) & (sign[rows] != 0)
    links = coo_array((np.ones(int(inside.sum())), (rows[inside], columns[inside])), shape=(graph.n, graph.n))
    piece = np.where(sign != 0, connected_components(links, directed=False)[1], -1)
    return [np.flatnonzero(piece == number) for number in np.unique(piece[piece >= 0])]
