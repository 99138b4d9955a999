"""`Atoms`: the atoms and bonds of many molecules as arrays, read from the labels of their graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from isonn.compiled import compiled
from isonn.errors import InputError
from isonn.graphs.graph import GraphSet
from isonn.molecules.labels import atom_facts, bond_kinds

Flags = NDArray[np.bool_]
#: Numbers of atoms that are small, so that more of them fit into the cache.
Counts = NDArray[np.int16]


@dataclass(frozen=True, eq=False)
class Bonds:
    """Some of the bonds, each in both directions: from atom ``here``, rising, to atom ``there``."""

    here: NDArray[np.int32]
    there: NDArray[np.int32]

    def __getitem__(self, kept: Flags) -> Bonds:
        places = np.flatnonzero(kept)
        return Bonds(self.here[places], self.there[places])


@compiled()
def count_near(here, there, which, counts):  # type: ignore[no-untyped-def]
    """Add 1 to the atom of each bond whose other atom is among ``which``."""
    for j in range(len(here)):
        counts[here[j]] += which[there[j]]


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
        facts = atom_facts(graphs.node_labels).T.astype(np.int16)
        self.number, aromatic, self.hydrogens, self.charge, _, _ = facts
        self.aromatic: Flags = aromatic > 0
        start = graphs.node_offsets[graphs.graph_of_cell]
        here, there = ((start + ends).astype(np.int32) for ends in graphs.edges.T)
        labels: Any = np.zeros(0, dtype=np.int16) if graphs.edge_labels is None else graphs.edge_labels
        self.kind, self.ring = bond_kinds(labels).astype(np.int16), labels & 1 > 0
        self.bonds = Bonds(here, there)
        hydrogen = self.number == 1
        if hydrogen.any():
            heavy = ~(hydrogen[here] | hydrogen[there])
            self.bonds, self.kind, self.ring = self.bonds[heavy], self.kind[heavy], self.ring[heavy]
        self.single, self.double, self.triple, self.conjugated = (self.bonds[self.kind == kind] for kind in range(4))
        self.plain = self.bonds[(self.kind == 0) | (self.kind == 3)]
        self.degree = self.count(self.bonds)
        self.connections = self.degree + self.hydrogens
        doubles, triples = self.count(self.double), self.count(self.triple)
        self.valence = self.connections + doubles + 2 * triples + 0.5 * self.count(self.conjugated)

    def __len__(self) -> int:
        return len(self.number)

    def count(self, bonds: Bonds) -> Counts:
        """Return the number of such bonds of each atom."""
        return np.bincount(bonds.here, minlength=len(self)).astype(np.int16)

    def matrix(self, bonds: Bonds) -> csr_array:
        """Return which atoms such bonds join, shape (n, n)."""
        starts = np.concatenate([[0], np.cumsum(self.count(bonds))])
        return csr_array((np.ones(len(bonds.here)), bonds.there, starts), shape=(len(self), len(self)))

    def near(self, which: Flags, bonds: Bonds) -> Counts:
        """Return how many neighbours of each atom, across such bonds, are among ``which``."""
        counts = np.zeros(len(self), dtype=np.int16)
        count_near(bonds.here, bonds.there, which, counts)
        return counts

    def element(self, *numbers: int) -> Flags:
        """Return which atoms are one of these elements, aromatic or not."""
        listed = self.number == numbers[0]
        for number in numbers[1:]:
            listed |= self.number == number
        return np.asarray(listed)

    def aliphatic(self, *numbers: int) -> Flags:
        """Return which atoms are one of these elements and not aromatic."""
        return self.element(*numbers) & ~self.aromatic
