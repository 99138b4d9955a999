"""Names of functional groups and rings, each with a SMARTS pattern, most specific first: ``tables/groups.tsv``.

A group's pattern covers the atoms it claims; what has to be beside them stands in ``$(...)``. Atoms in rings stay with
their ring: in N-acetylpiperidine the amide claims C and O, the piperidine keeps its N. Only small reactive rings such
as epoxides claim ring atoms (``whole``). A ring's skeleton is written as SMILES without hydrogens and charges, with
``=O`` where carbonyls belong to the name (coumarin, succinimide).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal

from rdkit import Chem
from rdkit.Chem import BondType, Mol

from isonn.errors import InputError
from isonn.molecules.tables import read_table

Signature = tuple[int, int, tuple[int, ...]]


@dataclass(frozen=True)
class Group:
    """A named functional group or ring.

    Args:
        name: what a chemist would say.
        smarts: pattern that RDKit reads. A ring's pattern matches whole ring systems only: benzene's does not match
            naphthalene.
        kind: "group", "ring" or "family".
        whole: whether the group claims its atoms in rings, too (epoxide). Other groups leave them to the ring.
        skeleton: pattern of a ring without the conditions that make it match whole systems only.

    Example:
        >>> [group.smarts for group in groups_named("nitro on an aromatic ring")]
        ['[NX3+;$(N-a)](=[OX1])[OX1-]']
    """

    name: str
    smarts: str
    kind: Literal["group", "ring", "family"] = "group"
    whole: bool = False
    skeleton: str = ""

    @cached_property
    def query(self) -> Mol:
        """The pattern, compiled: ``smarts``, of rings ``skeleton``."""
        return Chem.MolFromSmarts(self.skeleton or self.smarts)

    @cached_property
    def needs(self) -> frozenset[tuple[int, ...]]:
        """The `features` of every molecule with the group; other molecules are not searched."""
        numbers = [atom.GetAtomicNum() for atom in self.query.GetAtoms()]  # 0 for a choice of elements
        bonds: list[Any] = list(self.query.GetBonds())
        exact = [bond_of(bond) for bond in bonds if "," not in bond.GetSmarts()]
        return frozenset(feature for feature in features(numbers, exact) if 0 not in feature[:2])

    @cached_property
    def signature(self) -> Signature:
        """Numbers of atoms and of rings, and the sorted elements; equal for every ring system the skeleton matches."""
        atoms, bonds = self.query.GetNumAtoms(), self.query.GetNumBonds()
        return atoms, bonds - atoms + 1, tuple(sorted(atom.GetAtomicNum() for atom in self.query.GetAtoms()))


def bond_of(bond: Chem.Bond) -> tuple[int, int, BondType]:
    """Return the two atoms of a bond and its type."""
    return bond.GetBeginAtomIdx(), bond.GetEndAtomIdx(), bond.GetBondType()


def features(numbers: Sequence[int], bonds: Iterable[tuple[int, int, BondType]]) -> frozenset[tuple[int, ...]]:
    """Return the elements of a molecule, and the elements and orders of its bonds; each bond is also a single one."""
    pairs: set[tuple[int, ...]] = set()
    for first, second, kind in bonds:
        low, high = sorted((numbers[first], numbers[second]))
        pairs |= {(low, high, 1), (low, high, _MULTIPLE.get(kind, 1))}
    return frozenset(pairs.union((number,) for number in numbers))


_MULTIPLE = {BondType.DOUBLE: 2, BondType.TRIPLE: 3}
#: An atom of a skeleton: a letter, or brackets that may hold brackets.
_ATOM = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]|[A-Za-z]")


def _exact(name: str, skeleton: str) -> str:
    """Return a skeleton's SMARTS with conditions that let it match whole ring systems only.

    Each ring atom has as many ring bonds as in the skeleton, and no carbonyl that the name does not include: pyridone
    is no pyridine. A "steroid skeleton" may have carbonyls.
    """
    atoms = list(Chem.MolFromSmarts(skeleton).GetAtoms())
    outside = {atom.GetIdx() for atom in atoms if atom.GetDegree() == 1}
    any_carbonyls = name.endswith("skeleton")
    numbers = iter(range(len(atoms)))

    def conditioned(match: re.Match[str]) -> str:
        atom = atoms[next(numbers)]
        near = {neighbor.GetIdx() for neighbor in atom.GetNeighbors()}
        bonds = 0 if atom.GetIdx() in outside else len(near - outside)
        bare = ";!$(*=!@[#8,#16])" if bonds and not near & outside and not any_carbonyls else ""
        text = match.group().removeprefix("[").removesuffix("]")
        return f"[{text};x{bonds}{bare}]"

    return _ATOM.sub(conditioned, skeleton)


def _read(*kinds: str) -> tuple[Group, ...]:
    return tuple(
        _group(row["kind"], row["name"], row["smarts"]) for row in read_table("groups") if row["kind"] in kinds
    )


def _group(kind: str, name: str, smarts: str) -> Group:
    if kind == "ring":
        return Group(name, _exact(name, smarts), "ring", skeleton=smarts)
    return Group(name, smarts, "family") if kind == "family" else Group(name, smarts, whole=kind == "small ring")


#: Functional groups in the order in which they claim atoms: small reactive rings, then the most specific first.
GROUPS = _read("small ring", "group")
#: Ring systems; of two that match the same atoms, the first gives the name.
RINGS = _read("ring")
#: General names over the groups, for sets of molecules too small to tell their members apart. They claim no atoms. The
#: last ones name skeletons: aromatic atoms with three aromatic bonds lie where two rings are fused.
FAMILIES = _read("family")


@lru_cache(maxsize=1)
def _by_name() -> dict[str, tuple[Group, ...]]:
    names: dict[str, tuple[Group, ...]] = {}
    for group in (*GROUPS, *RINGS, *FAMILIES):
        names[group.name] = (*names.get(group.name, ()), group)
    return names


def groups_named(name: str) -> tuple[Group, ...]:
    """Return the entries of a name, most often one.

    Args:
        name: a name of the table, such as "epoxide".

    Returns:
        Its groups; isomers of a ring share a name.

    Example:
        >>> [group.kind for group in groups_named("piperidine")]
        ['ring']
    """
    if name not in _by_name():
        raise InputError(f"no group is named {str(name)[:60]!r}; isonn.molecules.groups lists the names")
    return _by_name()[name]


def find_group(molecule: Mol, name: str) -> list[tuple[int, ...]]:
    """Return the atoms of each match of a named group, ring atoms included.

    Args:
        molecule: an RDKit molecule.
        name: a name of the table, such as "epoxide".

    Returns:
        Sorted atom numbers, a tuple per match.

    Example:
        >>> from rdkit import Chem
        >>> find_group(Chem.MolFromSmiles("CC1CO1"), "epoxide")
        [(1, 2, 3)]
    """
    matches: set[tuple[int, ...]] = set()
    for group in groups_named(name):
        query = Chem.MolFromSmarts(group.smarts)
        matches.update(tuple(sorted(match)) for match in molecule.GetSubstructMatches(query, maxMatches=100_000))
    return sorted(matches)
