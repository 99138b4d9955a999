"""`Atoms`: the atoms and bonds of many molecules as arrays, read from the labels of their graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import InputError
from isonn.graphs.graph import GraphSet
from isonn.molecules.labels import atom_facts
from isonn.packing import IntArray

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Bonds:
    """Some of the bonds, each in both directions: from atom ``here`` to atom ``there``."""

    here: IntArray
    there: IntArray

    def __getitem__(self, kept: Flags) -> Bonds:
        return Bonds(self.here[kept], self.there[kept])


class Atoms:
    """The atoms of all molecules of a set, one after another.

    Hydrogens that are nodes are no atoms here: they are among ``hydrogens`` of the atom that bears them, have no bonds,
    and their ``number`` is 1.

    Args:
        graphs: molecules.

    Attributes:
        number: atomic number.
        aromatic: whether the atom is aromatic.
        hydrogens, charge: its hydrogens and formal charge.
        bonds: all bonds.
        kind: the kind of each of them, as a place in `isonn.molecules.labels.BONDS`.
        ring: whether each of them is in a ring.
        single, double, triple, conjugated: the bonds of one kind; conjugated ones are aromatic.
        plain: single and aromatic bonds: those that SMARTS does not write.
        degree, connections: number of neighbours without and with hydrogens (X in SMARTS).
        valence: sum of the bond orders, with hydrogens; an aromatic bond counts 1.5.

    Example:
        >>> atoms = Atoms(isonn.molecules.from_smiles(["CC=O"]))
        >>> atoms.near(atoms.number == 8, atoms.double).tolist()
        [0, 1, 0]
    """

    def __init__(self, graphs: GraphSet) -> None:
        if graphs.node_labels is None or (graphs.edge_labels is None and len(graphs.edges)):
            raise InputError(f"{graphs.name} has no atoms and bonds; create molecules with isonn.molecules.from_smiles")
        self.number, aromatic, self.hydrogens, self.charge, _, _ = atom_facts(graphs.node_labels).T
        self.aromatic: Flags = aromatic > 0
        edges = graphs.edges + graphs.node_offsets[graphs.graph_of_cell][:, None]
        labels: Any = np.zeros(0, dtype=np.int64) if graphs.edge_labels is None else graphs.edge_labels.astype(np.int64)
        heavy = (self.number != 1)[edges].all(axis=1)
        if not heavy.all():
            edges, labels = edges[heavy], labels[heavy]
        self.kind, self.ring = labels // 2, labels % 2 > 0
        self.bonds = Bonds(np.ascontiguousarray(edges[:, 0]), np.ascontiguousarray(edges[:, 1]))
        self.single, self.double, self.triple, self.conjugated = (self.bonds[self.kind == kind] for kind in range(4))
        self.plain = self.bonds[(self.kind == 0) | (self.kind == 3)]
        self.degree = self.count(self.bonds)
        self.connections = self.degree + self.hydrogens
        doubles, triples = self.count(self.double), self.count(self.triple)
        self.valence = self.connections + doubles + 2 * triples + 0.5 * self.count(self.conjugated)

    def __len__(self) -> int:
        return len(self.number)

    def count(self, bonds: Bonds) -> IntArray:
        """Return the number of such bonds of each atom."""
        return np.bincount(bonds.here, minlength=len(self))

    def near(self, which: Flags, bonds: Bonds) -> IntArray:
        """Return how many neighbours of each atom, across such bonds, are among ``which``."""
        return np.bincount(bonds.here[which[bonds.there]], minlength=len(self))

    def element(self, *numbers: int) -> Flags:
        """Return which atoms are one of these elements, aromatic or not."""
        listed = np.zeros(256, dtype=bool)
        listed[list(numbers)] = True
        return np.asarray(listed[self.number])

    def aliphatic(self, *numbers: int) -> Flags:
        """Return which atoms are one of these elements and not aromatic."""
        return self.element(*numbers) & ~self.aromatic
