"""Models of molecules: the standardisation they were fitted with, and their terms."""

from __future__ import annotations

from html import unescape

import numpy as np
import pytest

import isonn
from isonn.errors import InputError, IsoNNWarning

SMILES = [f"{'C' * n}{end}" for n in range(2, 9) for end in ("N", "O", "C(=O)O", "c1ccccc1")]
Y = [int(smiles.endswith("N")) for smiles in SMILES]


@pytest.fixture(scope="module")
def clf():
    return isonn.SubgraphClassifier(max_nodes=3, random_state=0).fit(SMILES, Y)


def test_a_model_fitted_without_standardisation_predicts_without_it(tmp_path):
    graphs = isonn.molecules.from_smiles([*SMILES, "CCN.Cl", "CCO.Cl"], [*Y, 1, 0], standardize="none")
    raw = isonn.SubgraphClassifier(max_nodes=2, head="linear", random_state=0).fit(graphs)
    raw.save(tmp_path / "model")
    again = isonn.load_model(tmp_path / "model")
    assert abs(again.predict_proba(["CCCN.Cl"]) - again.predict_proba(["CCCN"])).max() > 1e-6
    with pytest.raises(InputError, match="standardize"):
        again.predict(isonn.molecules.from_smiles(["CCCN.Cl"]))


def test_one_molecule_is_predicted_and_explained_by_its_smiles(clf):
    assert clf.predict("CCCN").tolist() == [1]
    e = clf.explain("CCCN")
    rest = sum(part.contribution for part in e.absent + e.terms)
    assert e.node_importance.sum() + rest == pytest.approx(e.score - e.base, abs=1e-9)


@pytest.mark.filterwarnings("ignore:.*label never seen in training")
def test_a_domain_of_molecules_is_told_in_words_of_chemistry():
    smiles = [f"{'C' * n}{end}" for n in range(2, 9) for end in ("S(C)(=O)=O", "O", "N", "C(=O)O")]
    sulfones = isonn.SubgraphClassifier(3, head="linear", random_state=0).fit(smiles, ["S" in text for text in smiles])
    domain = sulfones.domain(["CCCS(C)=O", "CCCCP", "C" * 80])
    assert "no training molecule has S with 3 neighbours" in domain[0].text
    assert "no training molecule has PH2" in domain[1].text
    assert "atoms 80 (training: 3 to 12)" in domain[2].outside


def test_what_cannot_be_left_out_together_is_refused(clf):
    e = clf.explain("CCCN")
    for wrong in (e.reasons, e.units[0], "amine"):
        with pytest.raises(InputError, match="give one of reasons, or some of matches"):
            e.without(wrong)
    np.testing.assert_array_equal(e.without(np.array([0, 1])), e.without(e.matches[:2]))


@pytest.mark.filterwarnings("ignore:.*label never seen in training")
def test_atoms_of_a_kind_that_no_training_molecule_has_are_named(clf):
    e = clf.explain("N")
    assert (e.node_name(0), e.reasons[0].name) == ("NH3 0", "ammonia")


def test_the_ways_to_give_one_column_of_molecules(clf):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"SMILES": ["CCCN", "CCCO"], "mass": [59.1, 60.1]})
    column = frame["SMILES"].set_axis([7, 8])
    molecules = [isonn.molecules.to_mol(graph) for graph in isonn.molecules.from_smiles(column)]
    lists = (column.tolist(), column.to_numpy(), np.array(column.tolist()), molecules)
    for given in (column, frame[["SMILES"]], column.astype("string"), *lists):
        assert clf.predict(given).tolist() == [1, 0]
    with pytest.raises(InputError, match=r"table of 2 columns; give the column of SMILES"):
        clf.predict(frame)


def test_columns_of_a_table_of_labels_name_them():
    pandas = pytest.importorskip("pandas")
    y = pandas.DataFrame({"amine": Y, "acid": [int("=O" in text) for text in SMILES]})
    labels = isonn.SubgraphClassifier(2, head="linear", random_state=0).fit(SMILES, y)
    assert labels.explain("CCCN", label="acid").class_names == {0: "amine", 1: "acid"}
    assert set(labels.held_out_by_target_) == {"amine", "acid"}


def test_missing_texts_of_pandas_are_no_molecules(clf):
    pandas = pytest.importorskip("pandas")
    column = pandas.Series(["CCCN", None], dtype="string")
    with pytest.warns(IsoNNWarning, match="there is no SMILES"):
        assert np.isnan(clf.predict(column, on_error="nan")).tolist() == [False, True]


def test_bad_smiles_raise_an_error_or_are_predicted_as_nan_with_one_warning(clf):
    given = ["CCCN", "C(", None, "CCCO", float("nan")]
    with pytest.raises(InputError, match="cannot be read"):
        clf.predict(given[:2])
    with pytest.warns(IsoNNWarning, match=r"3 of 5 molecules cannot be read and are predicted as NaN: row 1") as told:
        classes = clf.predict(given, on_error="nan")
    assert len(told) == 1
    np.testing.assert_array_equal(classes, [1, np.nan, np.nan, 0, np.nan])
    with pytest.warns(IsoNNWarning, match="predicted as NaN"):
        shares = clf.predict_proba(given, on_error="nan")
    assert np.isnan(shares[[1, 2, 4]]).all()
    np.testing.assert_array_equal(shares[[0, 3]], clf.predict_proba(["CCCN", "CCCO"]))
    with pytest.raises(InputError, match="on_error='skip' is unknown; use 'raise' or 'nan'"):
        clf.predict(given, on_error="skip")


@pytest.mark.filterwarnings("ignore:1 of 2 molecules cannot be read")
def test_bad_smiles_are_nan_beside_text_numbers_and_labels():
    names = isonn.SubgraphClassifier(2, head="linear", random_state=0).fit(SMILES, ["yn"[y] for y in Y])
    assert names.predict(["CCCN", "C("], on_error="nan").tolist()[0] == "n"
    assert np.isnan(names.predict(["CCCN", "C("], on_error="nan").tolist()[1])
    numbers = isonn.SubgraphRegressor(2, head="linear", random_state=0).fit(SMILES, np.arange(len(Y)) / 3)
    assert np.isnan(numbers.predict(["CCCN", "C("], on_error="nan")).tolist() == [False, True]
    labels = isonn.SubgraphClassifier(2, head="linear", random_state=0).fit(SMILES, np.column_stack([Y, Y[::-1]]))
    assert np.isnan(labels.predict(["CCCN", "C("], on_error="nan")).all(axis=1).tolist() == [False, True]


def test_several_molecules_are_explained_at_once(clf):
    several = clf.explain(["CCCN", "CCCO"], label=1)
    assert [e.score for e in several] == [clf.explain(smiles, label=1).score for smiles in ("CCCN", "CCCO")]
    assert [e.graph.row["smiles"] for e in several] == ["CCCN", "CCCO"]


def test_labels_are_explained_by_name():
    graphs = isonn.as_graphset(SMILES, np.column_stack([Y, Y[::-1]]), target_names=["amine", "other"])
    clf = isonn.SubgraphClassifier(2, head="linear", random_state=0).fit(graphs)
    assert clf.explain("CCCN", label="other").score == clf.explain("CCCN", label=1).score
    with pytest.raises(InputError, match="label='third' is not a class of this model; use one of 'amine', 'other'"):
        clf.explain("CCCN", label="third")


@pytest.mark.parametrize("smiles", ["[Na+].CCCC(=O)[O-]", "CCCC(=O)O.Cl", "Cl.CC[NH3+].[Cl-].O", "CCO"])
def test_importances_have_a_value_for_every_atom_that_was_given(clf, smiles):
    chem = pytest.importorskip("rdkit.Chem")
    e, given = clf.explain(smiles), chem.MolFromSmiles(smiles)
    assert len(e.input_importance) == given.GetNumAtoms()
    assert e.input_importance.sum() == pytest.approx(e.node_importance.sum(), abs=1e-12)
    removed = [atom.GetIdx() for atom in given.GetAtoms() if atom.GetSymbol() in ("Na", "Cl")]
    assert not e.input_importance[removed].any()
    for node in range(e.graph.n):  # names have the numbers of the input
        symbol = given.GetAtomWithIdx(int(e.node_name(node).split()[-1])).GetSymbol()
        assert e.node_name(node).startswith(symbol)


def test_a_fitted_model_shows_its_score_its_size_and_first_reasons(clf):
    page = clf._repr_html_()
    assert page == clf._repr_mimebundle_()["text/html"]
    assert "held out" in page
    assert f"{len(clf.templates_):,} templates" in page
    assert clf.reasons_[1][0].text in unescape(page)
    strange = isonn.as_graphset(SMILES, Y, class_names={1: "<script>alert(1)</script>"})
    assert "<script>" not in isonn.SubgraphClassifier(2, head="linear", random_state=0).fit(strange)._repr_html_()
    assert "SubgraphClassifier" in isonn.SubgraphClassifier()._repr_html_()


def test_each_label_has_its_score_and_counts():
    y = np.column_stack([Y, Y[::-1], np.ones(len(Y))]).astype(float)
    y[0, 0] = np.nan
    graphs = isonn.as_graphset(SMILES, y, target_names=["amine", "other", "all"])
    with pytest.warns(IsoNNWarning, match="column 2 of y is 1"):
        clf = isonn.SubgraphClassifier(2, head="linear", random_state=0).fit(graphs)
    scores = clf.held_out_by_target_
    assert list(scores) == ["amine", "other", "all"]
    assert (scores["amine"]["known"], scores["amine"]["positive"]) == (len(Y) - 1, sum(Y) - Y[0])
    assert "auroc" not in scores["all"]
    assert clf.held_out_score_["auroc"] == pytest.approx((scores["amine"]["auroc"] + scores["other"]["auroc"]) / 2)
    assert "accuracy" not in clf.held_out_score_


def test_held_out_scores_equal_those_of_scikit_learn():
    from scipy.stats import pearsonr
    from sklearn.metrics import mean_absolute_error, roc_auc_score, root_mean_squared_error

    y = np.array([len(smiles) / 7 for smiles in SMILES])
    reg = isonn.SubgraphRegressor(2, head="linear", random_state=0).fit(SMILES, y)
    values = reg.target_.link(reg.head_.held_out)[:, 0]
    assert reg.held_out_score_["pearson"] == pytest.approx(pearsonr(y, values)[0])
    assert reg.held_out_score_["mae"] == pytest.approx(mean_absolute_error(y, values))
    assert reg.held_out_score_["rmse"] == pytest.approx(root_mean_squared_error(y, values))
    clf = isonn.SubgraphClassifier(2, head="linear", random_state=0).fit(SMILES, Y)
    shares = clf.target_.link(clf.head_.held_out)[:, 1]
    assert clf.held_out_score_["auroc"] == pytest.approx(roc_auc_score(Y, shares))
