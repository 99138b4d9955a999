"""The list of toxicophores against molecules that hold one and near misses that do not."""

from __future__ import annotations

# ruff: noqa: RUF001  (Greek letters belong to the names)
import pytest

pytest.importorskip("rdkit")

from rdkit import Chem

from isonn.molecules.toxicophores import TOXICOPHORES, toxicophore_table

EXAMPLES = [
    ("aromatic nitro", "O=[N+]([O-])c1ccccc1", "O=[N+]([O-])c1ccc(S(N)(=O)=O)cc1"),
    ("aromatic nitro", "O=[N+]([O-])c1ccco1", "O=[N+]([O-])c1cccc(C(F)(F)F)c1"),
    ("primary aromatic amine", "Nc1ccccc1", "Nc1ccc(S(=O)(=O)O)cc1"),
    ("primary aromatic amine", "Nc1ccc2ccccc2c1", "Nc1ccccc1C(=O)O"),
    ("aromatic nitroso", "O=Nc1ccccc1", "O=NC(C)(C)C"),
    ("alkyl nitrite", "CCON=O", "CCO[N+](=O)[O-]"),
    ("nitrosamine", "CN(C)N=O", "CON=O"),
    ("epoxide", "CC1CO1", "CC1CCO1"),
    ("aziridine", "CC1CN1", "CC1CCN1"),
    ("azide", "CCN=[N+]=[N-]", "CCN=NC"),
    ("diazo", "CCOC(=O)C=[N+]=[N-]", "CCN=[N+]=[N-]"),
    ("triazene", "CN(C)N=Nc1ccccc1", "CN(C)NNc1ccccc1"),
    ("aromatic azo", "c1ccc(N=Nc2ccccc2)cc1", "CN=NC"),
    ("unsubstituted heteroatom-bonded heteroatom", "CC(C)=NO", "CC(C)=NOC"),
    ("unsubstituted heteroatom-bonded heteroatom", "CNN", "O[N+](=O)[O-]"),
    ("aromatic hydroxylamine", "ONc1ccccc1", "ONCc1ccccc1"),
    ("aliphatic halide", "CCBr", "Brc1ccccc1"),
    ("carboxylic acid halide", "CC(=O)Cl", "CC(=O)CCl"),
    ("nitrogen or sulfur mustard", "CN(CCCl)CCCl", "CN(CCO)CCO"),
    ("bay region of a polycyclic aromatic", "c1ccc2c(c1)ccc1ccccc12", "c1ccc2cc3ccccc3cc2c1"),
    ("K region of a polycyclic aromatic", "c1ccc2c(c1)ccc1ccccc12", "c1ccc2ccccc2c1"),
    ("polycyclic aromatic system", "c1ccc2cc3ccccc3cc2c1", "c1ccc2ccccc2c1"),
    ("polycyclic aromatic system", "c1ccc2c(c1)[nH]c1ccccc12", "c1ccc(-c2ccccc2)cc1"),
    ("sulfonate-bonded carbon", "COS(C)(=O)=O", "CS(=O)(=O)O"),
    ("aliphatic N-nitro", "CN(C)[N+](=O)[O-]", "CC[N+](=O)[O-]"),
    ("α,β-unsaturated aldehyde", "CC=CC=O", "CCCC=O"),
    ("α,β-unsaturated aldehyde", "CC(=O)C=O", "COC=CC=O"),
    ("diazonium", "N#[N+]c1ccccc1", "N#Cc1ccccc1"),
    ("β-propiolactone", "O=C1CCO1", "O=C1CCCO1"),
    ("α,β-unsaturated alkoxy", "CC=COC", "CCCOC"),
    ("1-aryl-2-monoalkyl hydrazine", "CNNc1ccccc1", "CN(C)Nc1ccccc1"),
    ("aromatic methylamine", "CNc1ccccc1", "CN(C)c1ccccc1"),
    ("ester of an aromatic hydroxylamine", "CC(=O)ONc1ccccc1", "CC(=O)NOc1ccccc1"),
    ("polycyclic planar system", "O=C1c2ccccc2C(=O)c2ccccc21", "C1CCC2CC3CCCCC3CC2C1"),
    ("polycyclic planar system", "O=C1c2ccccc2-c2ccccc21", "c1ccc2ccccc2c1"),
]


@pytest.mark.parametrize(("name", "has", "has_not"), EXAMPLES)
def test_a_toxicophore_is_found_where_it_is_and_not_in_a_near_miss(name, has, has_not):
    table = toxicophore_table([Chem.MolFromSmiles(has), Chem.MolFromSmiles(has_not)])
    assert table[:, list(TOXICOPHORES).index(name)].tolist() == [True, False]


def test_every_toxicophore_is_tested():
    assert {name for name, *_ in EXAMPLES} == set(TOXICOPHORES)
