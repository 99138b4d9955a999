"""Whole-molecule terms: equal to RDKit's descriptors, shared among atoms, independent of the order of the atoms."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("rdkit")

from hypothesis import given, settings
from hypothesis import strategies as st
from rdkit import Chem
from rdkit.Chem import Crippen, Descriptors, rdMolDescriptors

import isonn
from isonn.errors import InputError
from isonn.molecules import from_smiles
from isonn.molecules.terms import SHARED_NAMES, TERM_NAMES, term_table, terms

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
    "C1OC1CN1CC1",
    "On1nnc2ccccc21",
    "CC(=O)c1ccccc1C(C)(C)C(=O)N(C)c1ncsc1C#N",
    "[N-]=[N+]=NCC=C(C)C(=O)N=NO",
    "C[N+](C)(C)CCO",
    "FC(F)(F)c1ccc(Cl)cc1-c1nnn[nH]1",
    "C",
    "[Cl-]",
]
#: Molecules with rare atom types of Crippen's table.
HARD = [
    "CC#CC(=C)C=C=C",
    "C=Cc1ccccc1C=c1ccccc1=C",
    "Oc1cc[nH]c(=O)c1[O-]",
    "C[Si](C)(C)c1ccccc1[Se]C",
    "CC(C)(C)N=NC(C)(C)C#N",
    "C[N+](=O)[O-].[O-][Cl+3]([O-])([O-])[O-].[K+]",
    "CS(C)=O.CSC.CS.S=C=S.c1ccsc1",
    "O=CN.O=CO.O=C=O.C=O.O=Cc1ccccc1",
    "COC(=O)NOC(=S)Cl",
    "CN(C)c1ccc(cc1)N(c1ccccc1)c1ccccc1",
    "[NH4+].C[NH3+].C[N+](C)=C.c1cc[n+](C)cc1.[NH2-]",
    "C[N+]#[C-].C[N+]#N.CC=[N+]=[N-]",
    "Ic1ccccc1I(Cl)Cl.Fc1ccccc1Br",
    "CC(O)=CC(=O)OO.NO.ON=C",
    "O.OO.OS(=O)(=O)O.CP(=O)(O)O.B(O)(O)O",
    "C[Hg]C.C[Sn](C)(C)C.[Fe+2].C[Pb]",
    "O=c1oc2ccccc2cc1C(=O)c1ccccn1",
    "CC(=O)C(=O)c1ccccc1.c1ccccc1C(=O)c1ccncc1",
]
ORACLES = {
    "molar refractivity": Crippen.MolMR,
    "polar surface": rdMolDescriptors.CalcTPSA,
    "weight": Descriptors.MolWt,
    "heavy atoms": Descriptors.HeavyAtomCount,
    "heteroatoms": rdMolDescriptors.CalcNumHeteroatoms,
    "donors": rdMolDescriptors.CalcNumHBD,
    "acceptors": rdMolDescriptors.CalcNumHBA,
    "rotatable bonds": rdMolDescriptors.CalcNumRotatableBonds,
    "aromatic rings": rdMolDescriptors.CalcNumAromaticRings,
    "aliphatic rings": rdMolDescriptors.CalcNumAliphaticRings,
    "amide bonds": rdMolDescriptors.CalcNumAmideBonds,
    "sp3 share": rdMolDescriptors.CalcFractionCSP3,
}


def value(smiles: str, name: str) -> float:
    return float(terms(Chem.MolFromSmiles(smiles))[0][TERM_NAMES.index(name)])


@pytest.mark.parametrize("name", ORACLES)
def test_a_term_equals_rdkits_descriptor(name):
    expected = [ORACLES[name](Chem.MolFromSmiles(smiles)) for smiles in SMILES]
    np.testing.assert_allclose([value(smiles, name) for smiles in SMILES], expected, atol=1e-6)


def test_every_atom_has_rdkits_logp_refractivity_and_polar_surface():
    for smiles in (*SMILES, *HARD):
        molecule = Chem.MolFromSmiles(smiles)
        _, per_atom = terms(molecule)
        full = Chem.AddHs(molecule)
        values = np.array(rdMolDescriptors._CalcCrippenContribs(full))
        sums = np.zeros((molecule.GetNumAtoms(), 2))
        for atom, value in zip(full.GetAtoms(), values, strict=True):
            bearer = atom if atom.GetAtomicNum() != 1 else atom.GetNeighbors()[0]
            sums[bearer.GetIdx()] += value
        np.testing.assert_allclose(per_atom[:2].sum(axis=0), sums[:, 0], atol=1e-9, err_msg=smiles)
        np.testing.assert_allclose(per_atom[2], sums[:, 1], atol=1e-9, err_msg=smiles)
        polar = rdMolDescriptors._CalcTPSAContribs(molecule, force=True)
        np.testing.assert_allclose(per_atom[SHARED_NAMES.index("polar surface")], polar, atol=1e-9, err_msg=smiles)


def test_the_surface_is_that_of_spheres_without_the_caps_inside_their_neighbours():
    table = Chem.GetPeriodicTable()
    shorter = {"SINGLE": 0.0, "DOUBLE": 0.2, "TRIPLE": 0.3, "AROMATIC": 0.1}
    for smiles in SMILES:
        molecule = Chem.MolFromSmiles(smiles)
        full = Chem.AddHs(molecule)
        radii = [table.GetRb0(atom.GetAtomicNum()) for atom in full.GetAtoms()]
        areas = [4 * np.pi * radius**2 for radius in radii]
        for bond in full.GetBonds():
            ends = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
            distance = radii[ends[0]] + radii[ends[1]] - shorter[str(bond.GetBondType())]
            for i, j in (ends, ends[::-1]):
                height = radii[i] - (distance**2 + radii[i] ** 2 - radii[j] ** 2) / (2 * distance)
                areas[i] -= 2 * np.pi * radii[i] * height
        for atom in list(full.GetAtoms())[molecule.GetNumAtoms() :]:
            areas[atom.GetNeighbors()[0].GetIdx()] += areas[atom.GetIdx()]
        expected = areas[: molecule.GetNumAtoms()]
        np.testing.assert_allclose(terms(molecule)[1][SHARED_NAMES.index("surface area")], expected, atol=1e-9)


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
    table = term_table(from_smiles(SMILES, standardize="none"))
    assert table.shape == (len(SMILES), len(TERM_NAMES))
    np.testing.assert_allclose(table, [terms(smiles)[0] for smiles in SMILES], atol=1e-12)


@pytest.mark.parametrize("smiles", ["*", "[H][H]", "[2H]C", "[Na+].[Cl-]", "[Pt](Cl)(Cl)(N)N", "C[Hg]C", "C" * 500])
def test_unusual_molecules_have_terms(smiles):
    values, per_atom = terms(smiles)
    assert np.isfinite(values).all()
    assert per_atom.shape[1] == Chem.MolFromSmiles(smiles).GetNumAtoms()


def test_graphs_that_are_no_molecules_are_refused():
    plain = isonn.as_graphset([np.ones((3, 3)) - np.eye(3)])
    with pytest.raises(InputError, match="has no atoms and bonds; create molecules with"):
        term_table(plain)
    other = isonn.Graph(2, np.array([[0, 1], [1, 0]]), node_labels=np.array([1, 2]), edge_labels=np.array([1, 1]))
    with pytest.raises(InputError, match="node label 1 is not an atom|needs molecules"):
        terms(other)
