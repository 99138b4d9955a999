"""Molecules as graphs; RDKit's own substructure search is the oracle for labels."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import isonn
from isonn.errors import InputError
from isonn.graphs.convert import readable_rows

Chem = pytest.importorskip("rdkit.Chem")

from isonn.molecules import canonical_smiles, from_smiles, scaffolds, to_mol  # noqa: E402
from isonn.molecules.labels import BONDS, Atom, atom_smarts, bond_smarts, read_atom, read_bond  # noqa: E402

SMILES = [
    "CCO",
    "c1ccccc1O",
    "O=[N+]([O-])c1ccc2ccccc2c1",
    "C1CC1C(=O)N",
    "[Na+].[Cl-]",
    "C[C@H](N)C(=O)O",
    "[2H]C([2H])O",
    "[13CH4]",
    "*C(=O)O",
    "C#N",
    "[NH3]->[Cu]",
    "c1cc[se]c1",
    "O=S(=O)(OC)c1ccccc1",
    "B1OCCO1",
    "[H][H]",
    "C1=CC=CC=CC=C1",
    "[O-][n+]1ccccc1",
]


@pytest.mark.parametrize("smiles", SMILES)
def test_every_label_finds_exactly_the_atoms_and_bonds_that_have_it(smiles):
    molecule = Chem.MolFromSmiles(smiles)
    graph = from_smiles([smiles], standardize="none")[0]
    assert graph.n == molecule.GetNumAtoms()
    for label in set(graph.node_labels.tolist()):
        hits = {atom for (atom,) in molecule.GetSubstructMatches(Chem.MolFromSmarts(atom_smarts(label)))}
        assert hits == set(np.flatnonzero(graph.node_labels == label).tolist())
    for label in set(graph.edge_labels.tolist()):
        hits = {frozenset(pair) for pair in molecule.GetSubstructMatches(Chem.MolFromSmarts(f"*{bond_smarts(label)}*"))}
        assert hits == {frozenset(pair) for pair in graph.edges[graph.edge_labels == label].tolist()}


@pytest.mark.parametrize("smiles", SMILES)
def test_a_molecule_comes_back_with_its_atoms_in_place(smiles):
    molecule = Chem.MolFromSmiles(smiles)
    back = to_mol(from_smiles([smiles], standardize="none")[0])
    assert [atom.GetSymbol() for atom in back.GetAtoms()] == [atom.GetSymbol() for atom in molecule.GetAtoms()]
    expected = Chem.Mol(molecule)
    for atom in expected.GetAtoms():
        atom.SetIsotope(0)
    assert Chem.MolToSmiles(back, isomericSmiles=False) == Chem.MolToSmiles(expected, isomericSmiles=False)


def test_every_element_has_a_label_that_finds_it_and_reads_back():
    table = Chem.GetPeriodicTable()
    for number in range(119):
        for aromatic in (False, True):
            atom = Atom(number, aromatic, 0, 0, aromatic, 2)
            assert read_atom(atom.code) == read_atom(str(atom.code)) == atom
            assert read_atom(Atom(number, aromatic).smarts) == Atom(number, aromatic)
            molecule = Chem.RWMol()
            molecule.AddAtom(Chem.Atom(number))
            molecule.GetAtomWithIdx(0).SetIsAromatic(aromatic)
            query = Chem.MolFromSmarts(f"[{atom.element}]")
            assert molecule.HasSubstructMatch(query), f"{table.GetElementSymbol(number)}: {atom.element}"


@pytest.mark.parametrize("atom", [Atom(92, True, 255, 127, True, 9999), Atom(0, False, 0, -128, False, 0)])
def test_atoms_with_extreme_facts_read_back(atom):
    assert read_atom(atom.code) == atom


def test_labels_of_other_graphs_are_refused():
    for label in ("C", 0, 7, 16_383, -1, 10**14):
        with pytest.raises(InputError, match=f"{label!r} is not an atom of isonn.molecules"):
            read_atom(label)
    with pytest.raises(InputError, match="'single' is not a bond"):
        read_bond("single")
    with pytest.raises(InputError, match="create it with isonn.molecules.from_smiles"):
        to_mol(isonn.as_graphset([np.ones((2, 2))])[0])


def test_without_standardisation_stereo_and_isotopes_make_no_difference_and_salts_stay():
    smiles = ["C[C@H](N)C(=O)O", "C[C@@H](N)C(=O)O", "[13CH3]C(N)C(=O)O", "CC(N)C(=O)O.Cl"]
    graphs = from_smiles(smiles, standardize="none")
    assert len(set(canonical_smiles(graphs[:3]).tolist())) == 1
    assert graphs.sizes.tolist() == [6, 6, 6, 7]


def test_molecules_and_smiles_give_the_same_graphs():
    molecules = [Chem.MolFromSmiles(text) for text in SMILES]
    assert from_smiles(molecules).digest == from_smiles(SMILES).digest == isonn.as_graphset(molecules).digest


def test_molecules_that_were_not_sanitized_are_read():
    raw = Chem.MolFromSmiles("CCO", sanitize=False)
    assert from_smiles([raw])[0].node_labels.tolist() == from_smiles(["CCO"])[0].node_labels.tolist()


def test_a_set_knows_its_kind_its_smiles_and_what_labels_mean():
    graphs = from_smiles(["CCO", "c1ccccc1"], y=[0, 1], ids=["ethanol", "benzene"])
    assert graphs.kind == graphs[0].kind == "molecules"
    assert graphs[1].id == "benzene"
    assert graphs[1].row["smiles"] == "c1ccccc1"
    assert graphs.node_label_names[Atom(6, True, 1, 0, True, 2).code] == "aromatic CH"
    assert {graphs.edge_label_names[label] for label in graphs[1].edge_labels.tolist()} == {"aromatic"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("C1CC", "unclosed ring"),
        ("CC(", "syntax error at character 3"),
        ("CN(C)(C)(C)C", "Explicit valence for atom # 1 N, 5, is greater than permitted"),
        ("c1cccc1", "Can't kekulize"),
        ("CC>>CC", "this is a reaction"),
        ("CCO\nCCN", "it has several lines"),
        ("[#6]-[#7]", "this is a SMARTS pattern"),
        ("[#6]~[#7]", "this is a SMARTS pattern"),
        ("InChI=1S/CH4/h1H4", "this is an InChI"),
        ("", "there is no SMILES"),
        (" ", "there is no SMILES"),
        (None, "there is no SMILES"),
        (float("nan"), "there is no SMILES"),
        (7, "int is not a SMILES"),
    ],
)
def test_a_molecule_that_cannot_be_read_is_named_with_the_reason(text, reason, capfd):
    with pytest.raises(InputError, match=r"1 molecule cannot be read: row 1 \(.*" + reason):
        from_smiles(["CC", text])
    assert capfd.readouterr().err == ""  # RDKit says nothing on its own


def test_rdkit_prints_nothing_meanwhile_and_as_before_afterwards(capfd):
    with pytest.raises(InputError, match="3 molecules cannot be read"):
        from_smiles(["C1CC", "CC", "CC(", "c1cccc1"])
    assert capfd.readouterr().err == ""
    Chem.MolFromSmiles("C1CC")
    assert "unclosed ring" in capfd.readouterr().err


def test_a_molecule_of_ten_thousand_atoms_is_read_and_classified():
    long = from_smiles(["C" * 10_000])
    assert long.sizes.tolist() == [10_000]
    clf = isonn.SubgraphClassifier(random_state=0).fit(["CCC", "CCO", "CCCC", "CCCO"], [0, 1, 0, 1])
    np.testing.assert_allclose(clf.predict_proba(long).sum(), 1)


def test_scaffolds_group_molecules_by_ring_system():
    graphs = from_smiles(["Cc1ccccc1", "Oc1ccccc1CC", "CCO", "C1CCCCC1N", "CC"])
    assert scaffolds(graphs).tolist() == ["c1ccccc1", "c1ccccc1", "", "C1CCCCC1", ""]


# The door for users: lists and columns of SMILES wherever graphs are taken.

ACIDS = ["CC(=O)O", "CCC(=O)O", "OC(=O)c1ccccc1", "CCCC(=O)O", "OC(=O)CN", "OC(=O)C=C"]
OTHERS = ["CCO", "CCCO", "c1ccccc1", "CCCCN", "CN", "CC=C"]


def test_smiles_work_in_grid_search_and_pipeline():
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline

    pandas = pytest.importorskip("pandas")
    column, y = pandas.Series((ACIDS + OTHERS) * 2), [1] * 6 + [0] * 6
    search = GridSearchCV(isonn.SubgraphClassifier(head="linear", random_state=0), {"max_nodes": [1, 3]}, cv=2)
    assert search.fit(column, y * 2).best_score_ == 1.0
    pipeline = make_pipeline(isonn.SubgraphClassifier(max_nodes=3, head="linear", random_state=0), LogisticRegression())
    assert pipeline.fit(column, y * 2).score(column, y * 2) == 1.0


def test_text_that_is_no_smiles_is_no_molecule():
    with pytest.raises(InputError, match="X='MUTAG' is of type str, not a list of graphs; .*isonn.load reads names"):
        isonn.as_graphset("MUTAG")


@pytest.mark.parametrize(
    ("text", "reason"), [("C(", "syntax error at character 2"), ("", "there is no SMILES"), ("C>>O", "a reaction")]
)
def test_a_single_text_that_is_no_molecule_is_refused_with_the_reason(text, reason):
    with pytest.raises(InputError, match=rf"as a SMILES it cannot be read \(.*{reason}.*\); give "):
        isonn.as_graphset(text)


def test_rows_that_cannot_be_read_are_returned_as_problems():
    pandas = pytest.importorskip("pandas")
    for given in (["C(", "CCO", None, 7], pandas.Series(["C(", "CCO", None, 7])):
        graphs, problems = readable_rows(given)
        assert graphs.digest == from_smiles(["CCO"]).digest
        assert [problem.row for problem in problems] == [0, 2, 3]
    assert readable_rows("C(")[0] is None
    assert readable_rows(["CN.Cl"], standardize="none")[0].sizes.tolist() == [3]
    matrices, problems = readable_rows(np.ones((2, 3, 3)))
    assert (len(matrices), problems) == (2, [])


def test_a_smiles_that_would_end_the_process_is_refused():
    with pytest.raises(InputError, match="20,000 characters, above the limit of 10,000"):
        from_smiles(["CCO", "C" * 20_000])


def test_bonds_are_those_of_rdkit_also_of_unusual_molecules():
    smiles = [
        *("CCO", "c1ccccc1C#N", "C", "[NH3]->[Cu]", "[Pt](Cl)(Cl)([NH3])[NH3]", "CN(=O)=O", "[Re]$[Re]", "C~C"),
        *("C" * 300, "C[Hg]C", "CC(=O)O[Na]", "B(O)O", "[H][H]", "O=S(=O)(O)c1ccc2ccccc2c1", "*C", "CC.O"),
    ]
    graphs = isonn.molecules.from_smiles(smiles, standardize="none")
    for graph, text in zip(graphs, smiles, strict=True):
        bonds = {(b.GetBeginAtomIdx(), b.GetEndAtomIdx()): b.GetBondType() for b in Chem.MolFromSmiles(text).GetBonds()}
        kinds = [] if graph.edge_labels is None else [read_bond(label)[0] for label in graph.edge_labels.tolist()]
        found = dict(zip(map(tuple, graph.edges.tolist()), kinds, strict=True))
        both = {**bonds, **{(b, a): kind for (a, b), kind in bonds.items()}}
        assert found == {ends: kind if kind in BONDS else Chem.BondType.ZERO for ends, kind in both.items()}, text


def test_processes_read_the_same_molecules(monkeypatch):
    monkeypatch.setattr(importlib.import_module("isonn.molecules.convert"), "AT_ONCE", 3)
    smiles = ["CCO", "c1ccccc1", "CC[NH3+].[Cl-]", "C", "CBr", "CC(=O)O[Na]", "O", "NCC(=O)O"]
    one, several = (from_smiles(smiles, y=range(8), n_jobs=jobs) for jobs in (1, 2))
    for column in ("node_labels", "edge_labels", "edges", "node_offsets", "edge_offsets", "y"):
        np.testing.assert_array_equal(getattr(several, column), getattr(one, column))
    assert {name: values.tolist() for name, values in several.table.items()} == {
        name: values.tolist() for name, values in one.table.items()
    }
    assert several.node_label_names == one.node_label_names
    with pytest.raises(InputError, match=r"1 molecule.* cannot be read: row 4 \('C1CC'\)"):
        from_smiles([*smiles[:4], "C1CC"], n_jobs=2)
