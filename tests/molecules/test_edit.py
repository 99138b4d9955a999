"""Edits of molecules against RDKit's own reading of the expected one; impossible ones are refused with its reason."""

from __future__ import annotations

import pytest

pytest.importorskip("rdkit")

from rdkit import Chem

import isonn
from isonn.errors import InputError
from isonn.molecules import canonical_smiles, delete_atoms, from_smiles
from isonn.molecules.edit import GROUPS, attach, delete_atom, set_bond, set_element
from tests.molecules.test_units import SMILES


@pytest.mark.parametrize(
    ("smiles", "pattern", "left"),
    [
        ("O=[N+]([O-])c1ccccc1", "[N+](=O)[O-]", "c1ccccc1"),
        ("CC(=O)N1CCCCC1", "N1CCCCC1", "CC=O"),
        ("CC=CC", "[CH3]", "C=C"),
        ("CCC#N", "C#N", "CC"),
        ("O=c1cc[nH]cc1", "O=*", "C=CNC=C"),  # an aromatic ring is cut
        ("[O-][n+]1ccccc1", "[O-]", "c1ccncc1"),  # no proton takes the place of the oxide
        ("C[N+](C)(C)[O-]", "[N+]", "C.C.C.O"),
        ("c1ccccc1-c1ccccc1", "c1ccccc1", "c1ccccc1"),
        ("CC(=O)[O-].[Na+]", "[Na+]", "CC(=O)[O-]"),
        ("O=S(C)C", "[#8]", "C[SH2]C"),
        ("CCC", "[CH2]", "C.C"),
    ],
)
def test_hydrogens_close_the_bonds(smiles, pattern, left):
    graph = from_smiles([smiles], standardize="none")[0]
    atoms = Chem.MolFromSmiles(smiles).GetSubstructMatches(Chem.MolFromSmarts(pattern))
    atoms = {atom for match in atoms for atom in match} if pattern in ("[CH3]", "[CH2]") else atoms[0]
    result = delete_atoms(graph, atoms)
    assert canonical_smiles(isonn.as_graphset([result])).tolist() == [Chem.CanonSmiles(left)]
    assert result.n == graph.n - len(atoms)


@pytest.mark.parametrize("smiles", SMILES)
def test_a_molecule_without_one_of_its_units_can_be_read_again(smiles):
    graph = from_smiles([smiles], standardize="none")[0]
    units = isonn.molecules.units(isonn.molecules.to_mol(graph))
    for unit in units if len(units) > 1 else ():
        left = delete_atoms(graph, unit.atoms)
        again = Chem.MolFromSmiles(left.row["smiles"])
        assert again is not None
        assert again.GetNumAtoms() == left.n


def test_atoms_that_are_not_there_are_refused():
    graph = from_smiles(["CCO"])[0]
    with pytest.raises(InputError, match="has no atom 3; use 0 to 2"):
        delete_atoms(graph, [3])
    with pytest.raises(InputError, match="no atom of the molecule is left"):
        delete_atoms(graph, range(3))


def same(molecule, smiles):
    assert Chem.MolToSmiles(molecule) == Chem.CanonSmiles(smiles)


@pytest.mark.parametrize(
    ("edit", "given", "arguments", "expected"),
    [
        (set_element, "c1ccccc1", (0, "N"), "c1ccncc1"),
        (set_element, "c1cc[nH]c1", (3, "O"), "c1ccoc1"),
        (set_element, "C[N+](C)(C)C", (1, "C"), "CC(C)(C)C"),
        (set_bond, "CCO", (1, 2, 2), "CC=O"),
        (set_bond, "CCCC", (0, 3, 1), "C1CCC1"),
        (set_bond, "c1ccc(Cl)cc1", (3, 4, 0), "c1ccccc1.Cl"),
        (delete_atom, "Clc1ccccc1", (0,), "c1ccccc1"),
        (delete_atom, "Cn1cccc1", (0,), "c1cc[nH]c1"),
        (attach, "c1cc[nH]c1", (3, "methyl"), "Cn1cccc1"),
        (attach, "F[C@H](Cl)C", (1, "bromo"), "FC(Cl)(Br)C"),
    ],
)
def test_an_edit_makes_the_molecule_one_would_draw(edit, given, arguments, expected):
    molecule = Chem.MolFromSmiles(given)
    same(edit(molecule, *arguments), expected)
    same(molecule, given)


@pytest.mark.parametrize("smiles", ["c1ccccc1", "c1ccc2ccccc2c1", "Cc1ccncc1"])
def test_a_single_bond_in_place_of_any_aromatic_one_adds_two_hydrogens(smiles):
    molecule = Chem.MolFromSmiles(smiles)
    hydrogens = Chem.AddHs(molecule).GetNumAtoms()
    for bond in molecule.GetBonds():
        if bond.GetIsAromatic():
            edited = set_bond(molecule, bond.GetBeginAtomIdx(), bond.GetEndAtomIdx(), 1)
            assert Chem.AddHs(edited).GetNumAtoms() == hydrogens + 2


@pytest.mark.parametrize("group", GROUPS)
def test_every_group_replaces_a_hydrogen(group):
    edited = attach(Chem.MolFromSmiles("c1ccccc1"), 0, group)
    assert edited.GetNumAtoms() == 6 + Chem.MolFromSmiles(GROUPS[group]).GetNumAtoms()
    assert not any(atom.GetNumRadicalElectrons() for atom in edited.GetAtoms())
    same(edited, Chem.MolToSmiles(Chem.MolFromSmiles(Chem.MolToSmiles(edited))))


@pytest.mark.parametrize(
    ("edit", "given", "arguments", "reason"),
    [
        (set_element, "c1ccccc1", (0, "O"), "Explicit valence for atom # 0 O, 3"),
        (attach, "CC(C)(C)C", (1, "methyl"), "Explicit valence for atom # 1 C, 5"),
        (set_bond, "CO", (0, 1, 3), "Explicit valence for atom # 1 O, 3"),
        (set_element, "CC", (0, "Xx"), "'Xx' is not an element"),
        (delete_atom, "C", (0,), "keep at least one"),
        (delete_atom, "CC", (2,), "no atom 2; use 0 to 1"),
    ],
)
def test_an_impossible_edit_is_refused(edit, given, arguments, reason):
    with pytest.raises(InputError, match=reason):
        edit(Chem.MolFromSmiles(given), *arguments)
