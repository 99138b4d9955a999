"""Units: every atom in exactly one, named, whatever the numbering of the atoms."""

from __future__ import annotations

from collections import Counter

import pytest

pytest.importorskip("rdkit")

from hypothesis import given, settings
from hypothesis import strategies as st
from rdkit import Chem

from isonn.errors import InputError
from isonn.molecules.groups import find_group
from isonn.molecules.units import Unit, units

SMILES = [
    "CC(=O)Oc1ccccc1C(=O)O",
    "CN1CCC[C@H]1c1cccnc1",
    "CC(=O)OC(C)=O",
    "O=C(O)CC(=O)OC(=O)CC(=O)O",
    "ClCCN(CCCl)CCN(CCCl)CCCl",
    "NC(=O)NC(=O)NC(N)=O",
    "N#CC(C#N)C(C#N)C#N",
    "OC1C(O)c2ccc3cc4ccccc4cc3c2C2OC12",
    "C=CC=CC=CC=CC=O",
    "CC1(C)SC2C(NC(=O)Cc3ccccc3)C(=O)N2C1C(=O)O",
    "CCOP(=S)(OCC)Oc1ccc([N+](=O)[O-])cc1",
    "CC12CCC3C(CCC4=CC(=O)CCC34C)C1CCC2O",
    "O=C1c2ccccc2C(=O)c2c1cccc2NCCNCCO",
    "FC(F)(F)C(F)(F)C(F)(F)C(F)(F)C(=O)O",
    "CN(C)C(=S)SSC(=S)N(C)C",
    "C1CC2(CCN1)OCCO2",
    "CC(=O)N(O)c1ccc2c(c1)Cc1ccccc1-2.[Na+].[Cl-]",
    "O=NN(CCCl)C(=O)NCCCl",
    "[O-][Cl+3]([O-])([O-])[O-].CC[n+]1ccccc1",
    "CSSSSC",
]


def named(smiles: str) -> list[str | None]:
    return [unit.name for unit in units(Chem.MolFromSmiles(smiles))]


def described(molecule: Chem.Mol) -> Counter[tuple[object, ...]]:
    """Units with the symmetry classes of their atoms, so that swapping equal atoms is no difference."""
    classes = list(Chem.CanonicalRankAtoms(molecule, breakTies=False, includeChirality=False))
    return Counter(
        (unit.kind, unit.name, unit.smiles, unit.smarts, tuple(sorted(classes[atom] for atom in unit.atoms)))
        for unit in units(molecule)
    )


def test_a_quinone_is_named_in_aromatic_notation_as_well():
    indanthrone = "O=c1c2ccccc2c(=O)c2c1ccc1[nH]c3c(ccc4c(=O)c5ccccc5c(=O)c43)[nH]c12"
    assert named(indanthrone).count("quinone") == 2


@pytest.mark.parametrize("smiles", SMILES)
def test_every_atom_is_in_exactly_one_unit(smiles):
    molecule = Chem.MolFromSmiles(smiles)
    assert sorted(atom for unit in units(molecule) for atom in unit.atoms) == list(range(molecule.GetNumAtoms()))


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(SMILES), st.randoms(use_true_random=False))
def test_the_numbering_of_the_atoms_changes_no_unit(smiles, random):
    molecule = Chem.MolFromSmiles(smiles)
    order = list(range(molecule.GetNumAtoms()))
    random.shuffle(order)
    assert described(Chem.RenumberAtoms(molecule, order)) == described(molecule)


@pytest.mark.parametrize("smiles", SMILES)
def test_hydrogens_as_atoms_belong_to_the_unit_of_their_neighbour(smiles):
    molecule = Chem.MolFromSmiles(smiles)
    full = Chem.AddHs(molecule)
    for unit, other in zip(units(molecule), units(full), strict=True):
        assert (other.kind, other.name, other.smiles) == (unit.kind, unit.name, unit.smiles)
        bearers = {n.GetIdx() for atom in other.atoms for n in full.GetAtomWithIdx(atom).GetNeighbors()}
        assert (
            set(unit.atoms)
            <= set(other.atoms)
            <= set(unit.atoms)
            | {
                atom
                for atom in other.atoms
                if full.GetAtomWithIdx(atom).GetAtomicNum() == 1 and bearers & set(unit.atoms)
            }
        )


@pytest.mark.parametrize("smiles", SMILES)
def test_a_named_group_lies_in_a_match_of_its_pattern(smiles):
    molecule = Chem.MolFromSmiles(smiles)
    for unit in units(molecule):
        if unit.group is not None and unit.kind == "group":
            assert any(set(unit.atoms) <= set(match) for match in find_group(molecule, unit.group.name))


@pytest.mark.parametrize("smiles", SMILES)
def test_the_pattern_of_a_unit_matches_its_molecule(smiles):
    molecule = Chem.MolFromSmiles(smiles)
    for unit in units(molecule):
        assert molecule.HasSubstructMatch(Chem.MolFromSmarts(unit.smarts)), unit


@pytest.mark.parametrize(
    ("smiles", "expected"),
    [
        ("CC(=O)N1CCCCC1", ["methyl", "tertiary amide", "piperidine"]),  # the ring keeps its N
        ("O=NN1CCOCC1", ["N-nitroso", "morpholine"]),
        ("O=C1CCCCC1", ["cyclohexanone"]),
        ("O=C1CCC2CCCCC2C1", ["ketone", "decalin"]),
        ("Clc1ccccc1", ["chlorine on an aromatic ring", "benzene"]),
        ("C[NH+](C)C", ["methyl", "protonated amine", "methyl", "methyl"]),
        ("C[N+](C)(C)C", ["methyl", "quaternary ammonium", "methyl", "methyl", "methyl"]),
        ("CC(=O)OC(C)=O", ["methyl", "anhydride", "methyl"]),
        ("COS(C)(=O)=O", ["methyl", "sulfonate ester", "methyl"]),
        ("CCCCC=CC=O", ["alkyl chain of 4 carbons", "enal"]),
        ("C1CCC2OC2C1", ["alkyl chain of 4 carbons", "epoxide"]),
        ("CC1(C)C2CC3OC3C1C2", ["methyl", "bridged cyclobutane", "methyl", "methylene", "epoxide"]),  # of pinene oxide
        ("CN1C2CCCC1C1OC12", ["methyl", "bridged piperidine", "epoxide"]),  # of scopolamine
        ("CC(C)(C)c1ccccc1C(C)C", ["tert-butyl", "benzene", "isopropyl"]),
        ("[Na+].[Cl-].O", ["sodium ion", "chloride ion", "water"]),
        ("CC(=O)[O-].[Pt+2]", ["methyl", "carboxylic acid", "platinum ion"]),
        ("C", ["methane"]),
        ("*c1ccccc1", ["attachment point", "benzene"]),
        ("[H][H]", ["hydrogen"]),
    ],
)
def test_known_molecules_have_the_expected_units(smiles, expected):
    assert named(smiles) == expected


@pytest.mark.parametrize(
    ("smiles", "name"),
    [
        ("c1ccc2cc3cc4cc5ccccc5cc4cc3cc2c1", "fused aromatic system of 5 rings"),
        ("c1ccc2c(c1)ncc1c3ccccc3ncc21", "fused aromatic system of 4 rings with 2 N"),
        ("C1CCC2(CC1)CCNCC2", "spiro system of 2 rings with 1 N"),
        ("c1cc2ccc3cccc4ccc(c1)c2c34", "pyrene"),
        ("C1CCCCCCCC1", "9-membered carbon ring"),
        ("C1CNCCNCCN1", "9-membered ring with 3 N"),
        ("C1CCc2c(C1)ccc1cc3ccccc3cc12", "fused system of 4 rings, 3 of them aromatic"),
    ],
)
def test_other_rings_are_named_by_their_size(smiles, name):
    assert named(smiles) == [name]


def test_atoms_without_a_name_are_merged():
    (other,) = (unit for unit in units(Chem.MolFromSmiles("CCN=NO")) if unit.kind == "other")
    assert other == Unit((2, 3, 4), "other", None, other.molecule)
    assert other.smiles == "*N=NO"
    assert Chem.MolFromSmarts(other.smarts) is not None


def test_a_large_molecule_has_units():
    molecule = Chem.MolFromSmiles("NCC(=O)" + "NC(Cc1ccccc1)C(=O)" * 45 + "O")
    assert molecule.GetNumAtoms() > 450
    counts = Counter(unit.name for unit in units(molecule))
    assert counts["benzene"] == counts["secondary amide"] == 45


def test_a_molecule_without_atoms_has_no_units():
    assert units(Chem.MolFromSmiles("")) == []


def test_no_molecule_is_an_error():
    with pytest.raises(InputError, match="units need an RDKit molecule, got NoneType"):
        units(None)


def test_a_molecule_whose_rings_were_not_searched_prints_nothing(capfd):
    """RDKit prints the stack of the exception by which it says that rings are unknown."""
    molecule = Chem.MolFromSmiles("CCO")
    molecule.ClearComputedProps()
    assert [unit.name for unit in units(molecule)] == ["ethyl", "alcohol"]
    assert capfd.readouterr() == ("", "")
