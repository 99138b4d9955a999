"""Whole-molecule terms: equal to RDKit's descriptors, shared among atoms, independent of the order of the atoms."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("rdkit")

from hypothesis import given, settings
from hypothesis import strategies as st
from rdkit import Chem
from rdkit.Chem import Crippen, Descriptors, rdMolDescriptors

from isonn.errors import InputError
from isonn.molecules.terms import SHARED_NAMES, TERM_NAMES, TERMS, term_table, terms

SMILES = [
    "CC(=O)Oc1ccccc1C(=O)O",
    "CN1CCC[C@H]1c1cccnc1",
    "O=[N+]([O-])c1ccc(N=Nc2ccc(O)cc2)cc1",
    "CC(C)Cc1ccc(cc1)C(C)C(=O)[O-].[Na+]",
    "NC(=N)NCCC[C@H](N)C(=O)O",
    "CS(=O)(=O)Nc1ccc(F)c(Br)c1",
    "OCC1OC(O)C(O)C(O)C1O",
    "CCOP(=S)(OCC)Oc1ccc([N+](=O)[O-])cc1",
    "c1ccc2c(c1)[nH]c1ccccc12",
    "C[N+](C)(C)CCO",
    "FC(F)(F)c1ccc(Cl)cc1-c1nnn[nH]1",
    "C",
    "[Cl-]",
]
ORACLES = {
    "molar refractivity": Crippen.MolMR,
    "polar surface": rdMolDescriptors.CalcTPSA,
    "surface area": rdMolDescriptors.CalcLabuteASA,
    "weight": Descriptors.MolWt,
    "heavy atoms": Descriptors.HeavyAtomCount,
    "heteroatoms": rdMolDescriptors.CalcNumHeteroatoms,
    "donors": rdMolDescriptors.CalcNumHBD,
    "acceptors": rdMolDescriptors.CalcNumHBA,
    "rotatable bonds": rdMolDescriptors.CalcNumRotatableBonds,
    "aromatic rings": rdMolDescriptors.CalcNumAromaticRings,
    "aromatic heterorings": rdMolDescriptors.CalcNumAromaticHeterocycles,
    "aliphatic rings": rdMolDescriptors.CalcNumAliphaticRings,
    "amide bonds": rdMolDescriptors.CalcNumAmideBonds,
    "sp3 share": rdMolDescriptors.CalcFractionCSP3,
    "largest charge": Descriptors.MaxPartialCharge,
    "smallest charge": Descriptors.MinPartialCharge,
}


def value(smiles: str, name: str) -> float:
    return float(terms(Chem.MolFromSmiles(smiles))[0][TERM_NAMES.index(name)])


@pytest.mark.parametrize("name", ORACLES)
def test_a_term_equals_rdkits_descriptor(name):
    expected = [ORACLES[name](Chem.MolFromSmiles(smiles)) for smiles in SMILES]
    np.testing.assert_allclose([value(smiles, name) for smiles in SMILES], expected, atol=1e-6)


@pytest.mark.parametrize("smiles", SMILES)
def test_both_parts_of_logp_sum_to_rdkits_logp(smiles):
    total = value(smiles, "logP+") + value(smiles, "logP-")
    np.testing.assert_allclose(total, Crippen.MolLogP(Chem.MolFromSmiles(smiles)), atol=1e-6)


@pytest.mark.parametrize("smiles", SMILES)
def test_formal_charges_sum_to_the_charge_of_the_molecule(smiles):
    total = value(smiles, "positive charges") + value(smiles, "negative charges")
    assert total == Chem.GetFormalCharge(Chem.MolFromSmiles(smiles))


@pytest.mark.parametrize("smiles", SMILES)
def test_shares_of_atoms_have_one_sign_and_sum_to_the_term(smiles):
    values, per_atom = terms(Chem.MolFromSmiles(smiles))
    assert per_atom.shape == (len(SHARED_NAMES), Chem.MolFromSmiles(smiles).GetNumAtoms())
    np.testing.assert_allclose(per_atom.sum(axis=1), values[: len(SHARED_NAMES)], atol=1e-9)
    for name, row in zip(SHARED_NAMES, per_atom, strict=True):
        assert (row <= 0).all() if name in ("logP-", "negative charges") else (row >= 0).all(), name


def test_hydrogens_count_with_the_atom_that_bears_them():
    molecule = Chem.MolFromSmiles("CC(=O)O.NCc1ccccc1.CCO.O")
    mixed = Chem.RenumberAtoms(molecule, sorted(range(molecule.GetNumAtoms()), key=lambda atom: (atom % 3, atom)))
    per_atom = terms(mixed)[1]
    for component in Chem.GetMolFrags(mixed):
        alone = Crippen.MolLogP(Chem.MolFromSmiles(Chem.MolFragmentToSmiles(mixed, component)))
        np.testing.assert_allclose(per_atom[:2, list(component)].sum(), alone, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "smiles", "count"),
    [
        ("basic nitrogens", "CN1CCCCC1", 1),
        ("basic nitrogens", "C[NH+](C)C", 1),
        ("basic nitrogens", "N=C(N)c1ccccc1", 1),
        ("basic nitrogens", "CC(=O)N1CCCCC1", 0),
        ("basic nitrogens", "Nc1ccccc1", 0),
        ("basic nitrogens", "c1ccncc1", 0),
        ("acidic groups", "CC(=O)O", 1),
        ("acidic groups", "CC(=O)[O-]", 1),
        ("acidic groups", "CS(=O)(=O)O", 1),
        ("acidic groups", "CCP(=O)(O)O", 2),
        ("acidic groups", "CC(=O)OC", 0),
        ("acidic groups", "Oc1ccccc1", 0),
        ("halogens", "FC(Cl)(Br)I", 4),
    ],
)
def test_bases_acids_and_halogens_are_counted(name, smiles, count):
    assert value(smiles, name) == count


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(SMILES), st.randoms(use_true_random=False))
def test_the_order_of_the_atoms_changes_nothing(smiles, random):
    molecule = Chem.MolFromSmiles(smiles)
    order = list(range(molecule.GetNumAtoms()))
    random.shuffle(order)
    values, per_atom = terms(molecule)
    again, shuffled = terms(Chem.RenumberAtoms(molecule, order))
    np.testing.assert_allclose(again, values, atol=1e-9)
    np.testing.assert_allclose(shuffled, per_atom[:, order], atol=1e-9)


@pytest.mark.parametrize("smiles", SMILES)
def test_hydrogens_as_atoms_change_no_term_and_have_no_share(smiles):
    molecule = Chem.MolFromSmiles(smiles)
    values, per_atom = terms(molecule)
    again, shares = terms(Chem.AddHs(molecule))
    np.testing.assert_allclose(again, values, atol=1e-9)
    np.testing.assert_allclose(shares[:, : molecule.GetNumAtoms()], per_atom, atol=1e-9)
    np.testing.assert_array_equal(shares[:, molecule.GetNumAtoms() :], 0)


def test_a_table_has_a_row_per_molecule_and_a_column_per_term():
    molecules = [Chem.MolFromSmiles(smiles) for smiles in SMILES]
    table = term_table(molecules)
    assert table.shape == (len(SMILES), len(TERMS))
    np.testing.assert_array_equal(table, [terms(molecule)[0] for molecule in molecules])
    assert term_table([]).shape == (0, len(TERMS))


@pytest.mark.parametrize("smiles", ["*", "[H][H]", "[2H]C", "[Na+].[Cl-]", "[Pt](Cl)(Cl)(N)N", "C[Hg]C", "", "C" * 500])
def test_unusual_molecules_have_terms(smiles):
    values, per_atom = terms(Chem.MolFromSmiles(smiles))
    assert np.isfinite(values[:-2]).all()
    assert per_atom.shape[1] == Chem.MolFromSmiles(smiles).GetNumAtoms()


def test_partial_charges_of_metals_are_nan():
    assert np.isnan(terms(Chem.MolFromSmiles("C[Hg]C"))[0][-2:]).all()


def test_no_molecule_is_an_error():
    with pytest.raises(InputError, match="terms need an RDKit molecule, got NoneType"):
        terms(None)
