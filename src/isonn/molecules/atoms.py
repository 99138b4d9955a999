"""`Atoms`: the atoms and bonds of many molecules as arrays, read from the labels of their graphs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rdkit.Chem import BondType

from isonn.compiled import compiled
from isonn.errors import InputError
from isonn.graphs.graph import GraphSet
from isonn.molecules.labels import BONDS, atom_facts
from isonn.packing import Floats, IntArray

Flags = NDArray[np.bool_]

_PLACES = {kind: place for place, kind in enumerate(BONDS)}
_SINGLE, _DOUBLE, _TRIPLE, _AROMATIC = (
    _PLACES[kind] for kind in (BondType.SINGLE, BondType.DOUBLE, BondType.TRIPLE, BondType.AROMATIC)
)


@dataclass(frozen=True, eq=False)
class Bonds:
    """Some of the bonds, each in both directions: from atom ``here`` to atom ``there``."""

    here: IntArray
    there: IntArray

    def __getitem__(self, kept: Flags) -> Bonds:
        return Bonds(self.here[kept], self.there[kept])


@dataclass(frozen=True, eq=False)
class Atoms:
    """The atoms of all molecules of a set, one after another.

    Hydrogens that are nodes are no atoms here: they are among ``hydrogens`` of the atom that bears them, have no bonds,
    and their ``number`` is 1.

    Attributes:
        number: atomic number.
        aromatic: whether the atom is aromatic.
        hydrogens, charge: its hydrogens and formal charge.
        bonds: all bonds.
        kind: the kind of each of them, as a place in `isonn.molecules.labels.BONDS`.
        ring: whether each of them is in a ring.

    Example:
        >>> atoms = Atoms.of(isonn.molecules.from_smiles(["CC=O"]))
        >>> atoms.near(atoms.number == 8, atoms.double).tolist()
        [0, 1, 0]
    """

    number: IntArray
    aromatic: Flags
    hydrogens: IntArray
    charge: IntArray
    bonds: Bonds
    kind: IntArray
    ring: Flags

    @classmethod
    def of(cls, graphs: GraphSet) -> Atoms:
        """Read the labels of molecules."""
        if graphs.node_labels is None or (graphs.edge_labels is None and len(graphs.edges)):
            raise InputError(f"{graphs.name} has no atoms and bonds; create molecules with isonn.molecules.from_smiles")
        number, aromatic, hydrogens, charge, _, _ = atom_facts(graphs.node_labels).T
        edges = graphs.edges + graphs.node_offsets[graphs.graph_of_cell][:, None]
        labels: Any = np.zeros(0, dtype=np.int64) if graphs.edge_labels is None else graphs.edge_labels.astype(np.int64)
        heavy = (number != 1)[edges].all(axis=1)
        if not heavy.all():
            edges, labels = edges[heavy], labels[heavy]
        bonds = Bonds(np.ascontiguousarray(edges[:, 0]), np.ascontiguousarray(edges[:, 1]))
        return cls(number, aromatic > 0, hydrogens, charge, bonds, labels // 2, labels % 2 > 0)

    def __len__(self) -> int:
        return len(self.number)

    @cached_property
    def single(self) -> Bonds:
        """Single bonds."""
        return self.bonds[self.kind == _SINGLE]

    @cached_property
    def double(self) -> Bonds:
        """Double bonds."""
        return self.bonds[self.kind == _DOUBLE]

    @cached_property
    def triple(self) -> Bonds:
        """Triple bonds."""
        return self.bonds[self.kind == _TRIPLE]

    @cached_property
    def conjugated(self) -> Bonds:
        """Aromatic bonds."""
        return self.bonds[self.kind == _AROMATIC]

    @cached_property
    def plain(self) -> Bonds:
        """Single and aromatic bonds: those that SMARTS does not write."""
        return self.bonds[(self.kind == _SINGLE) | (self.kind == _AROMATIC)]

    @cached_property
    def degree(self) -> IntArray:
        """Number of neighbours other than hydrogens."""
        return self.count(self.bonds)

    @cached_property
    def connections(self) -> IntArray:
        """Number of neighbours with hydrogens, X in SMARTS."""
        return self.degree + self.hydrogens

    @cached_property
    def valence(self) -> Floats:
        """Sum of the bond orders, with hydrogens; an aromatic bond counts 1.5."""
        orders = self.degree + self.count(self.double) + 2 * self.count(self.triple) + 0.5 * self.count(self.conjugated)
        return np.asarray(orders + self.hydrogens)

    def count(self, bonds: Bonds) -> IntArray:
        """Return the number of such bonds of each atom."""
        return np.bincount(bonds.here, minlength=len(self))

    def near(self, which: Flags, bonds: Bonds | None = None) -> IntArray:
        """Return how many neighbours of each atom, across such bonds, are among ``which``."""
        bonds = self.bonds if bonds is None else bonds
        return np.bincount(bonds.here[which[bonds.there]], minlength=len(self))

    def element(self, *numbers: int) -> Flags:
        """Return which atoms are one of these elements, aromatic or not."""
        return np.asarray(_one_of(numbers)[self.number])

    def aliphatic(self, *numbers: int) -> Flags:
        """Return which atoms are one of these elements and not aromatic."""
        return self.element(*numbers) & ~self.aromatic


@lru_cache(maxsize=256)
def _one_of(numbers: tuple[int, ...]) -> Flags:
    listed = np.zeros(256, dtype=bool)
    listed[list(numbers)] = True
    return listed


@compiled()
def closing_bonds(n, here, there):  # type: ignore[no-untyped-def]
    """Return which bonds close a ring with those before them, ``(m,)``; a bond is given in both directions."""
    parent = np.arange(n)
    closing = np.zeros(len(here), dtype=np.bool_)
    for i in range(len(here)):
        if here[i] < there[i]:
            one, other = here[i], there[i]
            while parent[one] != one:
                parent[one] = parent[parent[one]]
                one = parent[one]
            while parent[other] != other:
                parent[other] = parent[parent[other]]
                other = parent[other]
            closing[i] = one == other
            parent[one] = other
    return closing
