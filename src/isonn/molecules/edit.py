"""Edits of molecules."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from rdkit import Chem

from isonn.errors import InputError
from isonn.graphs.graph import Graph
from isonn.molecules.convert import graph_of, silence, to_mol

#: Hydrogens that take the place of a bond; none for dative and other bonds.
_ORDERS = {Chem.BondType.SINGLE: 1, Chem.BondType.AROMATIC: 1, Chem.BondType.DOUBLE: 2, Chem.BondType.TRIPLE: 3}


def delete_atoms(graph: Graph, atoms: Iterable[int]) -> Graph:
    """Return a molecule without some atoms; hydrogens take their place in the bonds that are cut.

    Where the bond joined opposite charges, as in an N-oxide, the atom that stays loses its charge instead.

    Args:
        graph: a molecule of `isonn.molecules.from_smiles`.
        atoms: numbers of the atoms to delete. The others keep their order.

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
    with silence(), suppress(Chem.KekulizeException):
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
    with silence():
        Chem.SanitizeMol(result, catchErrors=True)
    return graph_of(result, graph.row.get("standardize", "none"))
