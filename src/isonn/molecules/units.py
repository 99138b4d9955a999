"""Partition of a molecule into units: functional groups, ring systems, other groups and chains.

Every atom belongs to exactly one unit, so contributions of units add up. Atoms are claimed in this order: rings and
groups that the table of :mod:`isonn.molecules.groups` names, most specific first; other ring systems; other groups, by
the idea of Ertl (J. Cheminform. 2017, 9:36): heteroatoms, carbons in multiple bonds and acetal carbons are marked, and
neighbouring marked atoms merged; chains of what is left. Overlaps are settled by canonical rank, so the numbering of
the atoms changes no unit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Literal

from rdkit import Chem
from rdkit.Chem import BondType, Mol
from rdkit.rdBase import BlockLogs

from isonn.errors import InputError
from isonn.explain import units as explained
from isonn.graphs.graph import Graph
from isonn.molecules.convert import to_mol
from isonn.molecules.edit import delete_atoms
from isonn.molecules.groups import FAMILIES, GROUPS, RINGS, Group, Signature, bond_of, features
from isonn.molecules.unit_names import atom_name, chain_name, joined, ring_name

Kind = Literal["group", "ring", "other", "chain"]

_HYDROGEN, _CARBON = 1, 6


@dataclass(frozen=True)
class Unit:
    """A part of a molecule that belongs together.

    Args:
        atoms: numbers of its atoms, sorted.
        kind: "group" (named), "ring" (a ring system), "other" (marked atoms without a name) or "chain".
        name: the name of the table or one made from its size ("fused aromatic system of 5 rings"); None if it has none.
        molecule: the molecule it belongs to.
        group: the entry of the table, where the name is one of them.

    Example:
        >>> from rdkit import Chem
        >>> [(unit.name, unit.smiles) for unit in units(Chem.MolFromSmiles("O=[N+]([O-])c1ccccc1"))]
        [('nitro on an aromatic ring', '*[N+](=O)[O-]'), ('benzene', '*c1ccccc1')]
    """

    atoms: tuple[int, ...]
    kind: Kind
    name: str | None
    molecule: Mol = field(repr=False, compare=False)
    group: Group | None = field(default=None, repr=False)

    @cached_property
    def smiles(self) -> str:
        """Canonical SMILES of the unit; ``*`` stands where a bond to the rest was cut."""
        inside, whole = frozenset(self.atoms), self.molecule
        ends = ((bond.GetBeginAtomIdx() in inside) != (bond.GetEndAtomIdx() in inside) for bond in whole.GetBonds())
        if cut := [bond for bond, outside in enumerate(ends) if outside]:
            whole = Chem.FragmentOnBonds(whole, cut, dummyLabels=[(0, 0)] * len(cut))
        atoms = [atom for fragment in Chem.GetMolFrags(whole) if inside.intersection(fragment) for atom in fragment]
        text = str(Chem.MolFragmentToSmiles(whole, atoms, isomericSmiles=False))
        if "[H]" in text:
            text = Chem.MolToSmiles(Chem.RemoveHs(Chem.MolFromSmiles(text, sanitize=False), sanitize=False))
        return ".".join(sorted(text.split(".")))

    @cached_property
    def smarts(self) -> str:
        """Pattern of the unit: that of the table if the name is from there, otherwise its atoms and bonds."""
        if self.group is not None:
            whole = self.kind == "group" or self.molecule.HasSubstructMatch(Chem.MolFromSmarts(self.group.smarts))
            return self.group.smarts if whole else self.group.skeleton  # an epoxide broke the ring beside it
        pattern: str = Chem.MolToSmarts(Chem.MolFromSmiles(self.smiles, sanitize=False))
        return pattern.replace("[#0]", "*")

    @property
    def families(self) -> tuple[str, ...]:
        """General names that the unit falls under: a piperidine with a free pair of electrons is a "basic amine".

        The unit holds all atoms of the family's pattern, or consists of some of them; chains belong to none.
        """
        if self.kind == "chain":
            return ()
        atoms = frozenset(self.atoms)
        families = _families_in(self.molecule)
        return tuple(name for name, matches in families if any(m <= atoms or atoms <= m for m in matches))


def units(molecule: Mol) -> list[Unit]:
    """Return the units of a molecule; every atom is in exactly one.

    Args:
        molecule: an RDKit molecule. Hydrogens that are atoms belong to the unit of their neighbour.

    Returns:
        Units ordered by their first atom.

    Example:
        >>> from rdkit import Chem
        >>> [unit.name for unit in units(Chem.MolFromSmiles("CC(=O)N1CCCCC1"))]
        ['methyl', 'tertiary amide', 'piperidine']
    """
    if not isinstance(molecule, Mol):
        raise InputError(f"units need an RDKit molecule, got {type(molecule).__name__}; use Chem.MolFromSmiles")
    if molecule.NeedsUpdatePropertyCache() or not _knows_rings(molecule):
        molecule = Mol(molecule)
        molecule.UpdatePropertyCache(strict=False)
        Chem.GetSymmSSSR(molecule)
    return _Partition(molecule).units()


@lru_cache(maxsize=16)
def _families_in(molecule: Mol) -> tuple[tuple[str, tuple[frozenset[int], ...]], ...]:
    """Return the matches of each family in a molecule, which its units share."""
    every = ((family.name, molecule.GetSubstructMatches(family.query)) for family in FAMILIES)
    return tuple((name, tuple(map(frozenset, matches))) for name, matches in every if matches)


def _knows_rings(molecule: Mol) -> bool:
    with BlockLogs():  # RDKit prints the stack of its exception
        try:
            molecule.GetRingInfo().NumRings()
        except RuntimeError:
            return False
    return True


@lru_cache(maxsize=1)
def _rings() -> dict[Signature, list[Group]]:
    table: dict[Signature, list[Group]] = {}
    for ring in RINGS:
        table.setdefault(ring.signature, []).append(ring)
    return table


class _Partition:
    """Claims the atoms of one molecule, step by step."""

    def __init__(self, molecule: Mol) -> None:
        self.molecule = molecule
        self.numbers = [atom.GetAtomicNum() for atom in molecule.GetAtoms()]
        self.neighbors: list[dict[int, BondType]] = [{} for _ in self.numbers]
        bonds = [bond_of(bond) for bond in molecule.GetBonds()]
        for first, second, order in bonds:
            self.neighbors[first][second] = self.neighbors[second][first] = order
        self.rings = [frozenset(ring) for ring in molecule.GetRingInfo().AtomRings()]
        self.in_ring = frozenset().union(*self.rings)  # these stay with their ring
        self.hydrogens = {atom for atom, number in enumerate(self.numbers) if number == _HYDROGEN}
        self.free = set(range(len(self.numbers))) - self.hydrogens
        self.has = features(self.numbers, bonds)
        self.claimed: list[Unit] = []

    def units(self) -> list[Unit]:
        self._claim_named_rings()
        self._claim_groups(whole=True)
        self._claim_named_rings()  # those that lost a neighbour to an epoxide
        broken = frozenset(atom for unit in self.claimed if unit.kind == "group" for atom in unit.atoms)
        self.in_ring = frozenset().union(*(ring for ring in self.rings if not ring & broken))
        self._claim_groups(whole=False)
        for system in self._systems():
            self._claim(system, "ring", ring_name(self.molecule, system))
        for atoms in self._components(self._marked()):
            self._claim(atoms, "other", atom_name(self.molecule, atoms))
        for atoms in self._components(self.free):
            self._claim(atoms, "chain", chain_name(self.molecule, atoms))
        for atoms in self._components(self.hydrogens):
            self._claim(atoms, "other", "hydrogen")
        return sorted(self.claimed, key=lambda unit: unit.atoms)

    def _claim(self, atoms: Iterable[int], kind: Kind, name: str | None, group: Group | None = None) -> None:
        atoms = set(atoms)
        for atom in atoms if self.hydrogens else ():
            atoms = atoms | self.hydrogens.intersection(self.neighbors[atom])
        self.free -= atoms
        self.hydrogens -= atoms
        self.claimed.append(Unit(tuple(sorted(atoms)), kind, name, self.molecule, group))

    def _systems(self) -> list[frozenset[int]]:
        """Rings of free atoms, joined where they share an atom."""
        return joined(ring for ring in self.rings if ring <= self.free)

    def _claim_named_rings(self) -> None:
        for system in self._systems():
            for atoms in self._with_double_bonds(system):
                ring = self._ring_of(atoms)
                if ring is not None:
                    bridged = self._is_bridged(system)
                    self._claim(
                        atoms, "ring", f"bridged {ring.name}" if bridged else ring.name, None if bridged else ring
                    )
                    break

    def _is_bridged(self, system: frozenset[int]) -> bool:
        """Whether a ring that an epoxide broke bridged the system: what is left of pinene oxide is no cyclobutane."""
        inside = [ring for ring in self.rings if ring <= system]
        return any(len(ring & other) > 2 for ring in inside for other in self.rings if not other <= system)

    def _with_double_bonds(self, system: frozenset[int]) -> Iterator[frozenset[int]]:
        """Yield a ring system with atoms doubly bonded to it: all, those of some elements, none."""
        outside = {
            other
            for atom in system
            for other, order in self.neighbors[atom].items()
            if order == BondType.DOUBLE and other not in system and other in self.free
        }
        last = None
        for elements in ((6, 7, 8, 16), (7, 8, 16), (8, 16), ()):
            atoms = system.union(other for other in outside if self.numbers[other] in elements)
            if atoms != last:
                yield atoms
            last = atoms

    def _ring_of(self, atoms: frozenset[int]) -> Group | None:
        bonds = sum(other in atoms for atom in atoms for other in self.neighbors[atom]) // 2
        elements = tuple(sorted(self.numbers[atom] for atom in atoms))
        for ring in _rings().get((len(atoms), bonds - len(atoms) + 1, elements), ()):
            if atoms in map(frozenset, self.molecule.GetSubstructMatches(ring.query, maxMatches=100_000)):
                return ring
        return None

    def _claim_groups(self, whole: bool) -> None:
        for group in GROUPS:
            if not whole and self.free <= self.in_ring:
                return
            if group.whole == whole and group.needs <= self.has:
                self._claim_matches(group)

    def _claim_matches(self, group: Group) -> None:
        """Claim the matches of a group whose atoms are free."""
        matches = self.molecule.GetSubstructMatches(group.query, maxMatches=100_000)
        if not matches:
            return
        kept = frozenset() if group.whole else self.in_ring
        claims = [atoms for atoms in {frozenset(match) - kept for match in matches} if atoms and atoms <= self.free]
        if len(frozenset().union(*claims)) < sum(map(len, claims)):
            claims.sort(key=lambda atoms: (-len(atoms), sorted(self.rank[atom] for atom in atoms)))
        for atoms in claims:
            if atoms <= self.free:
                self._claim(atoms, "group", group.name, group)

    @cached_property
    def rank(self) -> list[int]:
        return list(Chem.CanonicalRankAtoms(self.molecule, breakTies=True, includeChirality=False))

    def _marked(self) -> set[int]:
        """Free atoms of groups: heteroatoms, carbons in multiple bonds, carbons with two single-bonded heteroatoms."""
        return {atom for atom in self.free if self.numbers[atom] != _CARBON or self._is_marked_carbon(atom)}

    def _is_marked_carbon(self, atom: int) -> bool:
        near = self.neighbors[atom]
        if any(order != BondType.SINGLE for order in near.values()):
            return True
        return sum(other in self.free and self.numbers[other] in (7, 8, 16) for other in near) >= 2

    def _components(self, atoms: set[int]) -> list[frozenset[int]]:
        return joined(frozenset({atom, *atoms.intersection(self.neighbors[atom])}) for atom in atoms)


class MoleculePartition(explained.Partition):
    """The units of molecules, deleted with hydrogens in their place."""

    def units(self, graph: Graph) -> list[explained.Unit]:
        """Return the functional groups, ring systems and chains of a molecule."""
        return [explained.Unit(unit.name, unit.kind, unit.atoms, source=unit) for unit in units(to_mol(graph))]

    def delete(self, graph: Graph, nodes: Sequence[int]) -> Graph:
        """Return the molecule without some atoms; hydrogens close the bonds."""
        return delete_atoms(graph, nodes)


explained.register_partition("molecules", MoleculePartition())
