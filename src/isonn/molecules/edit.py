"""Edits of molecules: delete atoms, change elements and bonds, attach groups."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache

from rdkit import Chem
from rdkit.Chem import BondType, Mol, RWMol
from rdkit.rdBase import BlockLogs

from isonn.errors import InputError
from isonn.graphs.graph import Graph
from isonn.molecules.convert import graph_of, to_mol
from isonn.molecules.tables import read_table

#: Hydrogens that take the place of a bond; none for dative and other bonds.
_ORDERS = {Chem.BondType.SINGLE: 1, Chem.BondType.AROMATIC: 1, Chem.BondType.DOUBLE: 2, Chem.BondType.TRIPLE: 3}
#: Groups to attach by their name, as SMILES; the first atom is the one attached.
GROUPS = {row["name"]: row["smiles"] for row in read_table("attachments")}
#: Groups that take the place of a unit that hangs on one bond.
UNIT_REPLACEMENTS = [row["name"] for row in read_table("attachments") if row["for_units"] == "yes"]
#: Bond types by order; 0 is no bond.
ORDERS = {1: BondType.SINGLE, 2: BondType.DOUBLE, 3: BondType.TRIPLE}


def delete_atoms(graph: Graph, atoms: Iterable[int]) -> Graph:
    """Return a molecule without some atoms; hydrogens take their place in the bonds that are cut.

    Where the bond joined opposite charges, as in an N-oxide, the atom that stays loses its charge instead.

    Args:
        graph: a molecule of `isonn.molecules.from_smiles`.
        atoms: numbers of the atoms to delete. The others keep their order.

    Returns:
        the molecule that remains, as a graph.

    Example:
        >>> nitrobenzene = isonn.molecules.from_smiles(["O=[N+]([O-])c1ccccc1"])[0]
        >>> str(delete_atoms(nitrobenzene, [0, 1, 2]).row["smiles"])
        'c1ccccc1'
    """
    gone = {int(atom) for atom in atoms}
    if outside := [atom for atom in gone if not 0 <= atom < graph.n]:
        raise InputError(f"the molecule has no atom {outside[0]}; use 0 to {graph.n - 1}")
    if len(gone) == graph.n:
        raise InputError("no atom of the molecule is left; keep at least one")
    molecule = Chem.RWMol(to_mol(graph))
    with BlockLogs(), suppress(Chem.KekulizeException):
        Chem.Kekulize(molecule, clearAromaticFlags=True)  # an aromatic ring may be cut
    for bond in list(molecule.GetBonds()):
        first, second = bond.GetBeginAtom(), bond.GetEndAtom()
        if (first.GetIdx() in gone) == (second.GetIdx() in gone):
            continue
        kept, lost = (second, first) if first.GetIdx() in gone else (first, second)
        hydrogens = _ORDERS.get(bond.GetBondType(), 0)
        if kept.GetFormalCharge() * lost.GetFormalCharge() < 0:
            sign = 1 if kept.GetFormalCharge() > 0 else -1
            kept.SetFormalCharge(kept.GetFormalCharge() - sign)
            hydrogens = max(hydrogens - sign, 0)
        kept.SetNoImplicit(True)
        kept.SetNumExplicitHs(kept.GetNumExplicitHs() + hydrogens)
    for atom in sorted(gone, reverse=True):
        molecule.RemoveAtom(atom)
    result = molecule.GetMol()
    with BlockLogs():
        Chem.SanitizeMol(result, catchErrors=True)
    return graph_of(result, graph.row.get("standardize", "none"))


def set_element(molecule: Mol, atom: int, element: str) -> Mol:
    """Replace an atom by one of another element, without charge; hydrogens fill its valence.

    Args:
        molecule: the molecule, which stays as it is.
        atom: number of the atom.
        element: symbol of the element.

    Example:
        >>> from rdkit import Chem
        >>> Chem.MolToSmiles(set_element(Chem.MolFromSmiles("c1ccccc1"), 0, "N"))
        'c1ccncc1'
    """
    edited = _kekulized(molecule)
    if element not in _numbers():
        raise InputError(f"{element!r:.20} is not an element; use a symbol such as C, N or Cl")
    changed = _atom(edited, atom)
    changed.SetAtomicNum(_numbers()[element])
    changed.SetFormalCharge(0)
    changed.SetIsotope(0)
    return _checked(edited, [atom])


def set_bond(molecule: Mol, first: int, second: int, order: int) -> Mol:
    """Set the order of the bond between two atoms, which may be new; hydrogens fill or leave the valences.

    Args:
        molecule: the molecule, which stays as it is.
        first, second: numbers of the atoms.
        order: 1, 2 or 3, or 0 to delete the bond.

    Example:
        >>> from rdkit import Chem
        >>> Chem.MolToSmiles(set_bond(Chem.MolFromSmiles("CCO"), 1, 2, 2))
        'CC=O'
    """
    if order not in (0, *ORDERS):
        raise InputError(f"a bond has order 0 (none), 1, 2 or 3, got {order!r:.20}")
    for atom in (first, second):
        _atom(molecule, atom)
    if first == second:
        raise InputError(f"a bond joins two atoms, got atom {first} twice")
    bond = molecule.GetBondBetweenAtoms(first, second)
    edited = _kekulized(molecule, (first, second) if order == 1 else None)
    if bond is not None:
        edited.RemoveBond(first, second)
    if order:
        edited.AddBond(first, second, ORDERS[order])
    return _checked(edited, [first, second])


def delete_atom(molecule: Mol, atom: int) -> Mol:
    """Return the molecule without an atom; hydrogens take its place in the bonds that are cut.

    Example:
        >>> from rdkit import Chem
        >>> Chem.MolToSmiles(delete_atom(Chem.MolFromSmiles("Clc1ccccc1"), 0))
        'c1ccccc1'
    """
    if molecule.GetNumAtoms() == 1:
        raise InputError("no atom of the molecule would be left; keep at least one")
    edited = _kekulized(molecule)
    near = [neighbour.GetIdx() for neighbour in _atom(edited, atom).GetNeighbors()]
    edited.RemoveAtom(atom)
    return _checked(edited, [other - (other > atom) for other in near])


def attach(molecule: Mol, atom: int, group: str) -> Mol:
    """Attach a group to an atom, where a hydrogen is.

    Args:
        molecule: the molecule, which stays as it is.
        atom: number of the atom.
        group: a name of `GROUPS`.

    Example:
        >>> from rdkit import Chem
        >>> Chem.MolToSmiles(attach(Chem.MolFromSmiles("c1ccccc1"), 0, "nitro"))
        'O=[N+]([O-])c1ccccc1'
    """
    if group not in GROUPS:
        raise InputError(f"{group!r:.40} is not a group to attach; use one of {', '.join(GROUPS)}")
    _atom(molecule, atom)
    n = molecule.GetNumAtoms()
    edited = RWMol(Chem.CombineMols(_kekulized(molecule), _kekulized(Chem.MolFromSmiles(GROUPS[group]))))
    edited.AddBond(atom, n, BondType.SINGLE)
    return _checked(edited, [atom, n])


def _atom(molecule: Mol, atom: int) -> Chem.Atom:
    if not 0 <= atom < molecule.GetNumAtoms():
        raise InputError(f"the molecule has no atom {atom}; use 0 to {molecule.GetNumAtoms() - 1}")
    return molecule.GetAtomWithIdx(atom)


@lru_cache(maxsize=1)
def _numbers() -> dict[str, int]:
    table = Chem.GetPeriodicTable()
    return {table.GetElementSymbol(number): number for number in range(1, 119)}


def _kekulized(molecule: Mol, double: tuple[int, int] | None = None) -> RWMol:
    """Return a copy with alternating bonds instead of aromatic ones; the aromatic bond ``double`` is double in it."""
    bond = None if double is None else molecule.GetBondBetweenAtoms(*double)
    with BlockLogs():
        if bond is not None and bond.GetIsAromatic():
            edited = RWMol(molecule)
            fixed = edited.GetBondWithIdx(bond.GetIdx())
            fixed.SetBondType(BondType.DOUBLE)
            fixed.SetIsAromatic(False)
            with suppress(Chem.KekulizeException):  # some aromatic bonds are never double, such as those of an oxygen
                Chem.Kekulize(edited, clearAromaticFlags=True)
                return edited
        edited = RWMol(molecule)
        Chem.Kekulize(edited, clearAromaticFlags=True)
    return edited


def _checked(edited: RWMol, touched: list[int]) -> Mol:
    """Fill the valences of the atoms that changed; raise `InputError` with RDKit's reason if that is impossible."""
    for number in touched:
        atom = edited.GetAtomWithIdx(number)
        atom.SetNumExplicitHs(0)
        atom.SetNoImplicit(False)
        atom.SetNumRadicalElectrons(0)
        atom.SetChiralTag(Chem.ChiralType.CHI_UNSPECIFIED)
    result = edited.GetMol()
    with BlockLogs():
        try:
            Chem.SanitizeMol(result)
        except (Chem.AtomValenceException, Chem.KekulizeException, Chem.AtomKekulizeException) as error:
            raise InputError(f"there is no such molecule: {error}; the structure stays as it was") from error
    return result
