"""Standard forms: pairs of one compound written in two ways must be one molecule, and atoms keep their numbers."""

from __future__ import annotations

import numpy as np
import pytest

import isonn
from isonn.errors import InputError
from isonn.graphs.convert import standardization_of

Chem = pytest.importorskip("rdkit.Chem")

from isonn.molecules import from_smiles, on_input_atoms, standardize  # noqa: E402

#: A compound and the same compound as a salt, charged, with a solvent, labelled or with a metal: 42 pairs.
PAIRS = [
    ("Cc1ccc(N)cc1", "[Cl-].Cc1ccc([NH3+])cc1"),
    ("Cc1ccc(N)cc1", "Cc1ccc(N)cc1.Cl"),
    ("Nc1ccc(-c2ccc(N)cc2)cc1", "Cl.Cl.Nc1ccc(-c2ccc(N)cc2)cc1"),
    ("Nc1ccc(-c2ccc(N)cc2)cc1", "[NH3+]c1ccc(-c2ccc([NH3+])cc2)cc1.[O-]S(=O)(=O)[O-]"),
    ("CC(=O)O", "CC(=O)[O-].[Na+]"),
    ("CC(=O)O", "CC(=O)O[Na]"),
    ("CC(=O)O", "CC(=O)[O-].CC(=O)[O-].[Ca+2]"),
    ("CC(=O)O", "CC(=O)O[K]"),
    ("CC(=O)O", "[NH4+].CC(=O)[O-]"),
    ("CC(=O)Oc1ccccc1C(=O)O", "CC(=O)Oc1ccccc1C(=O)[O-].[Li+]"),
    ("CNCC(O)c1ccc(O)c(O)c1", "CNCC(O)c1ccc(O)c(O)c1.OC(=O)C(O)C(O)C(=O)O"),
    ("CN1CCCC1c1cccnc1", "CN1CCCC1c1cccnc1.OC(=O)C(O)C(O)C(=O)O.OC(=O)C(O)C(O)C(=O)O"),
    ("CN", "C[NH3+].Cc1ccc(cc1)S(=O)(=O)[O-]"),
    ("CN", "CN.OC(=O)C=CC(=O)O"),
    ("CN", "CN.OC(=O)CC(O)(CC(=O)O)C(=O)O"),
    ("CCN", "CCN.OC(=O)C(F)(F)F"),
    ("CCN", "CC[NH3+].CS(=O)(=O)[O-]"),
    ("CCN", "CCN.OC(=O)C(=O)O"),
    ("NN", "NN.Cl"),
    ("NN", "[NH3+]N.OS(=O)(=O)[O-]"),
    ("NO", "NO.Cl"),
    ("CCO", "CCO.O"),
    ("c1ccc2ccccc2c1", "c1ccc2ccccc2c1.CCO"),
    ("O=C(O)c1ccccc1N", "O=C([O-])c1ccccc1[NH3+]"),
    ("NCC(=O)O", "[NH3+]CC(=O)[O-]"),
    ("C[N+](C)(C)CC(=O)O", "C[N+](C)(C)CC(=O)[O-]"),
    ("C[N+](C)(C)CC(=O)O", "C[N+](C)(C)CC(=O)O.[Cl-]"),
    ("C[N+](C)(C)C", "C[N+](C)(C)C.[I-]"),
    ("C[n+]1ccccc1", "C[n+]1ccccc1.[Br-]"),
    ("c1ccncc1", "c1cc[nH+]cc1.[Cl-]"),
    ("c1c[nH]cn1", "c1c[nH]c[nH+]1"),
    ("CC(=N)N", "CC(=[NH2+])N.[Cl-]"),
    ("Sc1ccccc1", "[Na+].[S-]c1ccccc1"),
    ("Oc1ccccc1", "[K+].[O-]c1ccccc1.O"),
    ("Oc1ccccc1", "[Na]Oc1ccccc1"),
    ("O=[N+]([O-])c1ccccc1O", "O=[N+]([O-])c1ccccc1[O-].[Na+]"),
    ("CS(=O)(=O)NC(C)=O", "CS(=O)(=O)[N-]C(C)=O.[K+]"),
    ("CC(=O)C=C(C)O", "CC(=O)C=C(C)O[Na]"),
    ("CO", "[2H]C([2H])([2H])O[2H]"),
    ("CC(N)C(=O)O", "[13CH3][13CH](N)C(=O)O"),
    ("CC(=O)O", "[CH3:1][C:2](=[O:3])[OH:4]"),
    ("Clc1ccccc1", "[37Cl]c1ccccc1"),
    ("CCS(=O)c1ccccc1", "CC[S+]([O-])c1ccccc1"),
    ("CS(C)(=O)=O", "C[S+2](C)([O-])[O-]"),
    ("CP(C)(C)=O", "C[P+](C)(C)[O-]"),
    ("CCN=[N+]=[N-]", "CC[N-][N+]#N"),
    ("COC(=O)C=[N+]=[N-]", "COC(=O)[CH-][N+]#N"),
]
#: A compound in two tautomers, some of them as a salt: 12 pairs.
TAUTOMERS = [
    ("CC(=O)CC", "CC(O)=CC"),
    ("O=c1cccc[nH]1", "Oc1ccccn1"),
    ("Oc1ccc2ccccc2c1N=Nc1ccccc1", "O=C1C=Cc2ccccc2C1=NNc1ccccc1"),
    ("CC(=O)CC(C)=O", "CC(O)=CC(C)=O"),
    ("Cc1ccc2[nH]cnc2c1", "Cc1ccc2nc[nH]c2c1"),
    ("Cc1c[nH]cn1", "Cc1cnc[nH]1"),
    ("NC(=O)c1ccccc1", "N=C(O)c1ccccc1"),
    ("NC(=S)N", "N=C(S)N"),
    ("CC=NO", "CCN=O"),
    ("Nc1nc2[nH]cnc2c(=O)[nH]1", "Nc1nc(O)c2nc[nH]c2n1"),
    ("O=c1cccc[nH]1", "Oc1cccc[nH+]1.[Cl-]"),
    ("Nc1ccncn1", "N=c1cc[nH]cn1"),
]


def connectivity(smiles: str) -> str:
    return Chem.MolToSmiles(Chem.MolFromSmiles(smiles), isomericSmiles=False)


@pytest.mark.parametrize(("base", "other"), PAIRS)
def test_a_compound_has_one_form_however_it_is_written(base, other):
    assert standardize(other).smiles == Chem.CanonSmiles(base)
    assert standardize(base).smiles == Chem.CanonSmiles(base)
    assert standardize(standardize(other).smiles).changes == ()


@pytest.mark.parametrize(("first", "second"), TAUTOMERS)
def test_tautomers_have_one_form_only_with_full(first, second):
    assert standardize(first, "full").smiles == standardize(second, "full").smiles
    assert standardize(first).smiles != standardize(second).smiles


@pytest.mark.parametrize(("mode", "pairs"), [("salts", PAIRS), ("full", [*PAIRS, *TAUTOMERS])])
def test_a_compound_gets_one_prediction_however_it_is_written(mode, pairs):
    """The model knows its setting, so the texts are given as they are."""
    assert len(PAIRS) + len(TAUTOMERS) >= 50
    bases, others = ([pair[side] for pair in pairs] for side in range(2))
    train = from_smiles(bases, ["N" in base for base in bases], standardize=mode)
    clf = isonn.SubgraphClassifier(max_nodes=4, head="linear", random_state=0).fit(train)
    np.testing.assert_allclose(clf.predict_proba(bases), clf.predict_proba(others), rtol=1e-12)  # atoms in any order


@pytest.mark.parametrize("smiles", [text for pair in PAIRS + TAUTOMERS for text in pair])
def test_the_full_form_of_a_full_form_is_itself(smiles):
    form = connectivity(standardize(smiles, "full").smiles)
    assert connectivity(standardize(form, "full").smiles) == form


@pytest.mark.parametrize("smiles", [text for pair in PAIRS + TAUTOMERS for text in pair])
@pytest.mark.parametrize("mode", ["salts", "full"])
def test_atoms_keep_the_numbers_of_the_input(smiles, mode):
    given = Chem.MolFromSmiles(smiles)
    form = standardize(smiles, mode)
    assert form.n_input == given.GetNumAtoms()
    expected = [given.GetAtomWithIdx(int(i)).GetAtomicNum() for i in form.atoms]
    assert [atom.GetAtomicNum() for atom in form.mol.GetAtoms()] == expected
    graph = from_smiles([smiles], standardize=mode)[0]
    elements = on_input_atoms(graph, [atom.GetAtomicNum() for atom in form.mol.GetAtoms()])
    truth = np.array([atom.GetAtomicNum() for atom in given.GetAtoms()])
    truth[np.setdiff1d(np.arange(len(truth)), form.atoms)] = 0
    np.testing.assert_array_equal(elements, truth)


def test_values_need_one_entry_per_atom_of_the_graph():
    with pytest.raises(InputError, match="values has 3 entries for 2 atoms; give one per node"):
        on_input_atoms(from_smiles(["CN.Cl"])[0], [1, 2, 3])


@pytest.mark.parametrize(
    "smiles",
    [
        *("[Na+].[Cl-]", "N[Pt](N)(Cl)Cl", "C[Hg]Cl", "CCCC[Sn](CCCC)(CCCC)Cl", "C1=CC=CC1[Fe]C1C=CC=C1", "[H][H]"),
        *("[Fe+2].c1cc[cH-]c1.c1cc[cH-]c1", "[Cl][Ti+2][Cl].[cH-]1cccc1.[cH-]1cccc1", "[Li+].[CH2-]CCC"),
        *("[Ni].[C-]#[O+].[C-]#[O+].[C-]#[O+].[C-]#[O+]", "[Fe].[CH]1[CH][CH][CH][CH]1.[CH]1[CH][CH][CH][CH]1"),
    ],
)
@pytest.mark.parametrize("mode", ["salts", "full"])
def test_inorganic_salts_and_metals_bonded_to_carbon_stay(smiles, mode):
    assert standardize(smiles, mode).changes == ()
    assert standardize(smiles, mode).mol.GetNumAtoms() == Chem.MolFromSmiles(smiles).GetNumAtoms()


@pytest.mark.parametrize(
    ("base", "other"),
    [
        ("[Fe+2].[cH-]1cccc1.CN(C)C[c-]1cccc1", "[Cl-].[Fe+2].C[NH+](C)C[c-]1cccc1.O.[cH-]1cccc1"),
        ("[Fe+2].[cH-]1cccc1.OC(=O)[c-]1cccc1", "[Fe+2].[cH-]1cccc1.[O-]C(=O)[c-]1cccc1"),
    ],
)
def test_an_organometallic_compound_loses_its_counter_ions_but_not_its_metal(base, other):
    assert standardize(base).smiles == standardize(other).smiles == Chem.CanonSmiles(base)


@pytest.mark.parametrize(
    ("smiles", "acid"),
    [("[Na+].CC(=O)[CH-]C(C)=O", "CC(=O)CC(C)=O"), ("[Na+].[C-]#N", "C#N"), ("[K+].[CH2-]C#N", "CC#N")],
)
def test_salts_of_carbon_acids_become_the_acid(smiles, acid):
    assert standardize(smiles).smiles == acid


@pytest.mark.parametrize(
    "smiles", ["[O-][n+]1ccccc1", "C[N+](=O)[O-]", "C=[N+]=[N-]", "[O-]c1c[n+](C)no1", "[C-]#[N+]C"]
)
def test_molecules_that_need_their_charges_keep_them(smiles):
    assert standardize(smiles).smiles == Chem.CanonSmiles(smiles)


def test_hydrogens_that_are_atoms_make_no_difference():
    with_hydrogens = Chem.AddHs(Chem.MolFromSmiles("CC(=O)[O-].[Na+]"))
    assert from_smiles([with_hydrogens]).digest == from_smiles(["CC(=O)O"]).digest


def test_a_set_remembers_the_setting_the_changes_and_the_smiles_as_given():
    graphs = from_smiles(["CN.Cl", "CCO", "[CH3:1]N"])
    assert standardization_of(graphs) == "salts"
    assert graphs.table["smiles"].tolist() == ["CN.Cl", "CCO", "[CH3:1]N"]
    assert graphs.table["changes"].tolist() == ["fragment", "", "atom map"]
    assert standardization_of(from_smiles(["CN.Cl"], standardize="none")) == "none"
    assert from_smiles(["CN.Cl"], standardize="none").sizes.tolist() == [3]


def test_the_setting_survives_a_file(tmp_path):
    from_smiles(["CN.Cl", "CCO"], standardize="full").save(tmp_path / "set.npz")
    graphs = isonn.load(tmp_path / "set.npz")
    assert standardization_of(graphs) == "full"
    assert on_input_atoms(graphs[0], [1, 2]).tolist() == [1, 2, 0]


def test_sets_with_two_settings_are_refused():
    both = isonn.GraphSet.concat([from_smiles(["CCO"]), from_smiles(["CCN"], standardize="full")])
    with pytest.raises(InputError, match="mixes molecules read with standardize='full' and 'salts'"):
        standardization_of(both)
    with pytest.raises(
        InputError, match="was read with standardize='none' where 'salts' is wanted; read the molecules"
    ):
        isonn.as_graphset(from_smiles(["CCO"], standardize="none"), standardize="salts")


def test_an_unknown_setting_is_refused():
    with pytest.raises(InputError, match="standardize='salt' is unknown; use one of 'none', 'salts', 'full'"):
        from_smiles(["CCO"], standardize="salt")
    with pytest.raises(InputError, match="'C\\(' cannot be read: "):
        standardize("C(")


def test_too_many_tautomers_keep_the_form_and_are_counted():
    tetracycline = "CC1C2C(O)C3C(N(C)C)C(O)=C(C(N)=O)C(=O)C3(O)C(O)=C2C(=O)c2c1cccc2O"
    form = standardize(f"{tetracycline}.Cl", "full")
    assert form.changes == ("fragment", "too many tautomers")
    assert form.smiles == Chem.CanonSmiles(tetracycline)
