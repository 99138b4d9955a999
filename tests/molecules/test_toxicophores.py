"""The list of toxicophores against molecules that hold one and near misses that do not."""

from __future__ import annotations

# ruff: noqa: RUF001  (Greek letters belong to the names)
import pytest

pytest.importorskip("rdkit")

from rdkit import Chem

from isonn.molecules.toxicophores import TOXICOPHORES, toxicophore_table

EXAMPLES = [
    ("aromatic nitro", "O=[N+]([O-])c1ccccc1", "O=[N+]([O-])c1ccc(S(N)(=O)=O)cc1"),
    ("aromatic amine", "Nc1ccccc1", "Nc1ccc(S(=O)(=O)O)cc1"),
    ("aromatic hydroxylamine", "ONc1ccccc1", "ONCc1ccccc1"),
    ("aromatic nitroso", "O=Nc1ccccc1", "O=NC(C)(C)C"),
    ("aromatic azo", "c1ccc(N=Nc2ccccc2)cc1", "CN=NC"),
    ("N-nitroso", "CN(C)N=O", "CON=O"),
    ("aliphatic nitro", "CC[N+](=O)[O-]", "CCO[N+](=O)[O-]"),
    ("epoxide", "CC1CO1", "CC1CCO1"),
    ("aziridine", "CC1CN1", "CC1CCN1"),
    ("thiirane", "CC1CS1", "CC1CCS1"),
    ("azide", "CCN=[N+]=[N-]", "CCN=NC"),
    ("diazo", "CCOC(=O)C=[N+]=[N-]", "CCN=[N+]=[N-]"),
    ("diazonium", "N#[N+]c1ccccc1", "N#Cc1ccccc1"),
    ("triazene", "CN(C)N=Nc1ccccc1", "CN(C)NNc1ccccc1"),
    ("hydrazine", "CNN", "CC(=O)NN"),
    ("aliphatic halide", "CCBr", "Brc1ccccc1"),
    ("nitrogen or sulfur mustard", "CN(CCCl)CCCl", "CN(CCO)CCO"),
    ("sulfonate or sulfate ester", "COS(C)(=O)=O", "CS(=O)(=O)O"),
    ("phosphonate or phosphate ester", "COP(=O)(OC)OC", "OP(O)(O)=O"),
    ("β-lactone", "O=C1CCO1", "O=C1CCCO1"),
    ("sultone", "O=S1(=O)CCCO1", "O=S1(=O)CCCC1"),
    ("α,β-unsaturated aldehyde", "CC=CC=O", "CCCC=O"),
    ("aldehyde", "CCC=O", "CC(C)=O"),
    ("carbamoyl or acyl halide", "CC(=O)Cl", "CC(=O)CCl"),
    ("isocyanate or isothiocyanate", "CN=C=O", "CNC=O"),
    ("N-methylol", "OCNC(C)=O", "OCCNC(C)=O"),
    ("quinone", "O=C1C=CC(=O)C=C1", "O=C1CCC(=O)CC1"),
    ("bay-region polycyclic aromatic", "c1ccc2c(c1)ccc1ccccc12", "c1ccc2cc3ccccc3cc2c1"),
    ("K-region polycyclic aromatic", "c1ccc2c(c1)ccc1ccccc12", "c1ccc2ccccc2c1"),
]


@pytest.mark.parametrize(("name", "has", "has_not"), EXAMPLES)
def test_a_toxicophore_is_found_where_it_is_and_not_in_a_near_miss(name, has, has_not):
    table = toxicophore_table([Chem.MolFromSmiles(has), Chem.MolFromSmiles(has_not)])
    assert table[:, list(TOXICOPHORES).index(name)].tolist() == [True, False]


def test_every_toxicophore_is_tested():
    assert {name for name, *_ in EXAMPLES} == set(TOXICOPHORES)
