"""Partition of a molecule into units: functional groups, ring systems, other groups and chains.

Every atom belongs to exactly one unit, so contributions of units add up. Atoms are claimed in this order: rings and
groups that the table of :mod:`isonn.molecules.groups` names, most specific first; other ring systems; other groups, by
the idea of Ertl (J. Cheminform. 2017, 9:36): heteroatoms, carbons in multiple bonds and acetal carbons are marked, and
neighbouring marked atoms merged; chains of what is left. Overlaps are settled by canonical rank, so the numbering of
the atoms changes no unit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Literal

from rdkit import Chem
from rdkit.Chem import BondType, Mol

from isonn.errors import InputError
from isonn.explain import units as explained
from isonn.graphs.graph import Graph
from isonn.molecules.convert import to_mol
from isonn.molecules.edit import delete_atoms
from isonn.molecules.groups import FAMILIES, GROUPS, RINGS, Group, Signature, bond_of, features
from isonn.molecules.labels import NONMETALS, symbol

Kind = Literal["group", "ring", "other", "chain"]

_HYDROGEN, _CARBON = 1, 6
_HALIDES = {9: "fluoride", 17: "chloride", 35: "bromide", 53: "iodide"}
#: Names of single carbons by the number of their neighbours, and of chains by the numbers of carbons, of bonds to the
#: rest and of carbons beside the one that bears the bond.
_CARBONS = ("methane", "methyl", "methylene", "branching carbon", "quaternary carbon")
_CHAINS = {(2, 1, 1): "ethyl", (3, 1, 1): "propyl", (3, 1, 2): "isopropyl", (4, 1, 3): "tert-butyl"}


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
        found = _families_in(self.molecule)
        return tuple(name for name, matches in found if any(m <= atoms or atoms <= m for m in matches))


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
            self._claim(system, "ring", self._ring_name(system))
        for atoms in self._components(self._marked()):
            self._claim(atoms, "other", self._atom_name(atoms))
        for atoms in self._components(self.free):
            self._claim(atoms, "chain", self._chain_name(atoms))
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
        return _joined(ring for ring in self.rings if ring <= self.free)

    def _claim_named_rings(self) -> None:
        for system in self._systems():
            for atoms in self._with_double_bonds(system):
                ring = self._ring_of(atoms)
                if ring is not None:
                    self._claim(atoms, "ring", ring.name, ring)
                    break

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
        found = self.molecule.GetSubstructMatches(group.query, maxMatches=100_000)
        if not found:
            return
        kept = frozenset() if group.whole else self.in_ring
        claims = [atoms for atoms in {frozenset(match) - kept for match in found} if atoms and atoms <= self.free]
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
        return _joined(frozenset({atom, *atoms.intersection(self.neighbors[atom])}) for atom in atoms)

    def _ring_name(self, system: frozenset[int]) -> str:
        """Name a ring system by its size: "fused aromatic system of 5 rings with 1 N"."""
        rings = self._cycles(system, aromatic=False)
        aromatic = self._cycles(system, aromatic=True)
        counts = Counter(self.numbers[atom] for atom in system if self.numbers[atom] != _CARBON)
        symbols = ", ".join(f"{count} {symbol(number)}" for number, count in sorted(counts.items()))
        ending = f" with {symbols}" if symbols else ""
        if rings == 1:
            sort = "aromatic ring" if aromatic else "ring" if symbols else "carbon ring"
            return f"{len(system)}-membered {sort}{ending}"
        if aromatic == rings:
            return f"fused aromatic system of {rings} rings{ending}"
        middle = f", {aromatic} of them aromatic," if aromatic and symbols else f", {aromatic} of them aromatic"
        return f"{self._joint(system)} system of {rings} rings{middle if aromatic else ''}{ending}"

    def _cycles(self, system: frozenset[int], aromatic: bool) -> int:
        """Number of independent rings, of aromatic bonds alone or of all bonds."""
        bonds = {
            frozenset((atom, other))
            for atom in system
            for other, order in self.neighbors[atom].items()
            if other in system and (order == BondType.AROMATIC or not aromatic)
        }
        return len(bonds) - len(frozenset().union(*bonds)) + len(_joined(bonds))

    def _joint(self, system: frozenset[int]) -> str:
        inside = [ring for ring in self.rings if ring <= system]
        shared = [len(ring & other) for k, ring in enumerate(inside) for other in inside[:k] if ring & other]
        if max(shared) > 2:
            return "bridged"
        return "spiro" if len(_joined(inside, 2)) > 1 else "fused"

    def _atom_name(self, atoms: frozenset[int]) -> str | None:
        """Name of a single atom: an ion, a metal, an attachment point."""
        if len(atoms) != 1:
            return None
        atom = self.molecule.GetAtomWithIdx(next(iter(atoms)))
        number, alone = atom.GetAtomicNum(), not self.neighbors[atom.GetIdx()]
        if number == 0:
            return "attachment point"
        if alone and number in _HALIDES and atom.GetFormalCharge() == -1:
            return f"{_HALIDES[number]} ion"
        if alone and number in _HALIDES and atom.GetTotalNumHs() == 1:
            return f"hydrogen {_HALIDES[number]}"
        if alone and number == 8:
            return "water" if atom.GetTotalNumHs() == 2 else "hydroxide ion" if atom.GetTotalNumHs() else "oxide ion"
        if number not in NONMETALS:
            element = Chem.GetPeriodicTable().GetElementName(number).lower()
            return f"{element} ion" if alone and atom.GetFormalCharge() else f"{element} atom"
        return None

    def _chain_name(self, atoms: frozenset[int]) -> str:
        heavy = {atom: [n for n in self.neighbors[atom] if self.numbers[n] != _HYDROGEN] for atom in atoms}
        cut = [atom for atom, near in heavy.items() for other in near if other not in atoms]
        if len(atoms) == 1:
            return _CARBONS[min(len(cut), 4)]
        beside = len(atoms.intersection(heavy[cut[0]])) if cut else 0
        ending = "alkane" if not cut else "alkyl chain"
        return _CHAINS.get((len(atoms), len(cut), beside), f"{ending} of {len(atoms)} carbons")


def _joined(sets: Iterable[frozenset[int]], shared: int = 1) -> list[frozenset[int]]:
    """Merge sets that have atoms in common, at least ``shared``."""
    parts: list[frozenset[int]] = []
    for atoms in sets:
        near = [part for part in parts if len(part & atoms) >= shared]
        parts = [*(part for part in parts if part not in near), atoms.union(*near)]
    return parts


class MoleculePartition(explained.Partition):
    """The units of molecules, deleted with hydrogens in their place."""

    def units(self, graph: Graph) -> list[explained.Unit]:
        """Return the functional groups, ring systems and chains of a molecule."""
        return [explained.Unit(unit.name, unit.kind, unit.atoms, source=unit) for unit in units(to_mol(graph))]

    def delete(self, graph: Graph, nodes: Sequence[int]) -> Graph:
        """Return the molecule without some atoms; hydrogens close the bonds."""
        return delete_atoms(graph, nodes)


explained.register_partition("molecules", MoleculePartition())
