"""Names of units that the table of groups does not list: ring systems by their size, single atoms, chains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from rdkit import Chem
from rdkit.Chem import Bond, BondType, Mol

from isonn.molecules.labels import NONMETALS, symbol

_HYDROGEN, _CARBON, _NITROGEN, _OXYGEN = 1, 6, 7, 8
_HALIDES = {9: "fluoride", 17: "chloride", 35: "bromide", 53: "iodide"}
#: Names of single carbons by the number of their neighbours, and of chains by the numbers of carbons, of bonds to the
#: rest and of carbons beside the one that bears the bond.
_CARBONS = ("methane", "methyl", "methylene", "branching carbon", "quaternary carbon")
_CHAINS = {(2, 1, 1): "ethyl", (3, 1, 1): "propyl", (3, 1, 2): "isopropyl", (4, 1, 3): "tert-butyl"}


def joined(sets: Iterable[frozenset[int]], shared: int = 1) -> list[frozenset[int]]:
    """Merge sets that have atoms in common, at least ``shared``."""
    merged: list[frozenset[int]] = []
    for atoms in sets:
        near = [other for other in merged if len(other & atoms) >= shared]
        merged = [*(other for other in merged if other not in near), atoms.union(*near)]
    return merged


def ring_name(molecule: Mol, system: frozenset[int]) -> str:
    """Name a ring system by its size: "fused aromatic system of 5 rings with 1 N"."""
    bonds: list[Bond] = [bond for bond in molecule.GetBonds() if _ends(bond) <= system]
    rings = _cycles(bonds)
    aromatic = _cycles([bond for bond in bonds if bond.GetBondType() == BondType.AROMATIC])
    counts = Counter(molecule.GetAtomWithIdx(atom).GetAtomicNum() for atom in system)
    symbols = ", ".join(f"{count} {symbol(number)}" for number, count in sorted(counts.items()) if number != _CARBON)
    ending = f" with {symbols}" if symbols else ""
    if rings == 1:
        sort = "aromatic ring" if aromatic else "ring" if symbols else "carbon ring"
        return f"{len(system)}-membered {sort}{ending}"
    if aromatic == rings:
        return f"fused aromatic system of {rings} rings{ending}"
    middle = f", {aromatic} of them aromatic," if aromatic and symbols else f", {aromatic} of them aromatic"
    return f"{_joint(molecule, system)} system of {rings} rings{middle if aromatic else ''}{ending}"


def _ends(bond: Bond) -> frozenset[int]:
    return frozenset((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()))


def _cycles(bonds: list[Bond]) -> int:
    """Number of independent rings of some bonds."""
    pairs = [_ends(bond) for bond in bonds]
    return len(pairs) - len(frozenset().union(*pairs)) + len(joined(pairs))


def _joint(molecule: Mol, system: frozenset[int]) -> str:
    inside = [frozenset(ring) for ring in molecule.GetRingInfo().AtomRings() if system.issuperset(ring)]
    shared = [len(ring & other) for k, ring in enumerate(inside) for other in inside[:k] if ring & other]
    if max(shared) > 2:
        return "bridged"
    return "spiro" if len(joined(inside, 2)) > 1 else "fused"


def atom_name(molecule: Mol, atoms: frozenset[int]) -> str | None:
    """Name of a single atom: an ion, a metal, an attachment point."""
    if len(atoms) != 1:
        return None
    atom = molecule.GetAtomWithIdx(next(iter(atoms)))
    number, alone, hydrogens = atom.GetAtomicNum(), not atom.GetDegree(), atom.GetTotalNumHs()
    if number == 0:
        return "attachment point"
    if alone and number in _HALIDES and atom.GetFormalCharge() == -1:
        return f"{_HALIDES[number]} ion"
    if alone and number in _HALIDES and hydrogens == 1:
        return f"hydrogen {_HALIDES[number]}"
    if alone and number == _NITROGEN and hydrogens == 3:
        return "ammonia"
    if alone and number == _OXYGEN:
        return "water" if hydrogens == 2 else "hydroxide ion" if hydrogens else "oxide ion"
    if number not in NONMETALS:
        element = Chem.GetPeriodicTable().GetElementName(number).lower()
        return f"{element} ion" if alone and atom.GetFormalCharge() else f"{element} atom"
    return None


def chain_name(molecule: Mol, atoms: frozenset[int]) -> str:
    """Name of a chain of carbons, by its length and by where it is attached."""
    near = {
        atom: [
            other.GetIdx()
            for other in molecule.GetAtomWithIdx(atom).GetNeighbors()
            if other.GetAtomicNum() != _HYDROGEN
        ]
        for atom in atoms
    }
    cut = [atom for atom, others in near.items() for other in others if other not in atoms]
    if len(atoms) == 1:
        return _CARBONS[min(len(cut), 4)]
    beside = len(atoms.intersection(near[cut[0]])) if cut else 0
    ending = "alkane" if not cut else "alkyl chain"
    return _CHAINS.get((len(atoms), len(cut), beside), f"{ending} of {len(atoms)} carbons")
