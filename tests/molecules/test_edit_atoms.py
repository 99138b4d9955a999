"""Edits of molecules: what RDKit accepts is made, anything else is refused with its reason."""

from __future__ import annotations

import pytest

Chem = pytest.importorskip("rdkit.Chem")

from isonn.errors import InputError
from isonn.molecules.edit import GROUPS, attach, delete_atom, set_bond, set_element


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
