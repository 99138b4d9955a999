"""Structural alerts: SMARTS that find what the model found, counted on molecules it did not learn from."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from scipy.stats import binomtest
from tests_commands import refused, run

import isonn
from isonn.errors import InputError

Chem = pytest.importorskip("rdkit.Chem")

from isonn.molecules.alerts import wilson  # noqa: E402
from isonn.molecules.smarts import GROUPS, template_smarts  # noqa: E402

CHAINS = [f"{'C' * n}{ring}" for n in range(1, 9) for ring in ("", "C1CCCCC1", "c1ccccc1", "C1CC1")]
TAILS = ["Br", "O", "N", "C(=O)O", "C(=O)N", "S"]
SMILES = [f"{tail}{chain}" if tail in "BrONS" else f"{chain}{tail}" for chain in CHAINS for tail in TAILS]
SMILES = np.random.default_rng(0).permutation(SMILES).tolist()
Y = np.array([int("Br" in smiles) for smiles in SMILES])


@pytest.fixture(scope="module")
def clf():
    return isonn.SubgraphClassifier(max_nodes=4, head="linear", random_state=0).fit(SMILES[::2], Y[::2])


@pytest.fixture(scope="module")
def alerts(clf):
    return clf.alerts(SMILES, Y)


def test_a_planted_rule_is_found_and_named(alerts):
    assert alerts[0].name == "alkyl halide"
    assert alerts[0].precision == 1.0
    assert alerts.label == 1
    assert alerts.rule["accuracy"] > 0.95


@pytest.mark.parametrize("head", ["auto", "trees"])
def test_every_head_has_alerts(head):
    model = isonn.SubgraphClassifier(max_nodes=2, head=head, random_state=0).fit(SMILES[::2], Y[::2])
    assert model.alerts(SMILES[1::2], Y[1::2])[0].name == "alkyl halide"


def test_every_smarts_parses_and_finds_what_the_model_found(clf, alerts):
    counts = clf.count(SMILES).toarray()
    for alert in alerts:
        query = Chem.MolFromSmarts(alert.smarts)
        found = [len(Chem.MolFromSmiles(smiles).GetSubstructMatches(query)) for smiles in SMILES]
        assert alert.differs == int((np.array(found) != counts[:, alert.column]).sum())
        assert alert.differs == 0


def test_numbers_of_an_alert_follow_from_the_molecules_that_hold_it(clf):
    new, y = SMILES[1::2], Y[1::2]
    known = set(isonn.molecules.canonical_smiles(isonn.molecules.from_smiles(SMILES[::2])).tolist())
    fresh = [i for i, s in enumerate(new) if Chem.CanonSmiles(s) not in known]
    new, y = [new[i] for i in fresh], y[fresh]
    found = clf.alerts(new, y)
    assert found.overlap == 0
    for alert in found:
        held = np.array([Chem.MolFromSmiles(s).HasSubstructMatch(Chem.MolFromSmarts(alert.smarts)) for s in new])
        assert (alert.support, alert.hits, alert.judged) == (int(held.sum()), int(y[held].sum()), len(new))
        assert alert.lift == pytest.approx(y[held].mean() / y.mean())
        assert alert.folds is None


def test_intervals_are_wilsons():
    for hits, support in ((0, 5), (3, 7), (40, 41), (500, 1000)):
        expected = binomtest(hits, support).proportion_ci(method="wilson")
        np.testing.assert_allclose(wilson(hits, support), (expected.low, expected.high), atol=1e-9)
    assert wilson(0, 0) == (0.0, 1.0)


def test_training_molecules_are_recognised_and_judged_by_models_without_them(clf, alerts):
    trained = clf.alerts(SMILES[::2], Y[::2])
    assert trained.overlap == len(SMILES[::2])
    assert all(alert.folds is not None for alert in trained)
    assert 0 < alerts.overlap < len(SMILES)
    written_otherwise = [Chem.MolToSmiles(Chem.MolFromSmiles(s), doRandom=True) for s in SMILES[::2]]
    assert clf.alerts(written_otherwise, Y[::2]).overlap == trained.overlap


def test_alerts_of_pure_noise_promise_nothing(clf):
    noise = np.random.default_rng(0).integers(0, 2, len(SMILES))
    model = isonn.SubgraphClassifier(max_nodes=4, view="labels", head="linear", random_state=0).fit(SMILES, noise)
    found = model.alerts(SMILES, noise)
    assert found.rule["accuracy"] < 0.62
    assert sum(alert.hits for alert in found) <= 0.65 * max(1, sum(alert.support for alert in found))


def test_a_saved_model_knows_its_training_molecules(clf, tmp_path):
    clf.save(tmp_path / "model")
    same = isonn.load_model(tmp_path / "model")
    np.testing.assert_array_equal(same.seen_in_training(SMILES), clf.seen_in_training(SMILES))
    assert same.alerts(SMILES, Y).rows() == clf.alerts(SMILES, Y).rows()


def test_a_stream_leaves_the_same_hashes(clf):
    graphs = isonn.molecules.from_smiles(SMILES[::2], y=Y[::2])
    streamed = isonn.SubgraphClassifier(max_nodes=2, head="linear", random_state=0)
    streamed.fit(isonn.stream(graphs, at_once=20))
    np.testing.assert_array_equal(streamed.seen_in_training(SMILES), clf.seen_in_training(SMILES))


def test_what_smarts_cannot_say_is_said_by_rings():
    smiles = ["CCCC", "C1CC1", "CC1CC1", "CCC", "C1CCC1", "CC(C)C1CC1"]
    clf = isonn.SubgraphClassifier(max_nodes=3, view="elements", min_support=1).fit(smiles, [0, 1] * 3)
    path = next(template for template in clf.templates_ if template.adjacency.sum() == 4)
    triangle = Chem.MolFromSmiles("C1CC1")
    assert triangle.HasSubstructMatch(Chem.MolFromSmarts(template_smarts(path)))
    assert not triangle.HasSubstructMatch(Chem.MolFromSmarts(template_smarts(path, induced=True)))
    assert Chem.MolFromSmiles("CCC").HasSubstructMatch(Chem.MolFromSmarts(template_smarts(path, induced=True)))


def test_short_lists_have_alerts_too():
    clf = isonn.SubgraphClassifier(max_nodes=4, n_templates=12, view="labels", head="linear", random_state=0)
    clf.fit(SMILES, Y)
    for alert in clf.alerts(SMILES, Y):
        assert Chem.MolFromSmarts(alert.smarts) is not None
        assert alert.differs == 0


def test_a_few_training_molecules_in_held_out_data_are_not_judged(clf):
    others = [f"{'C' * n}{end}" for n in range(16, 26) for end in ("Br", "O", "N")]
    y = [int(text.endswith("Br")) for text in others]
    found = clf.alerts(others + SMILES[:12:2], y + Y[:12:2].tolist())
    assert (found.overlap, found.cross_fitted) == (6, False)
    assert "6 molecules were used for fitting; they are not judged" in found.sentence()
    assert found.rule["molecules"] == len(others)
    assert found.base == pytest.approx(np.mean(y))


def test_named_groups_are_patterns():
    for name, smarts in GROUPS.items():
        assert Chem.MolFromSmarts(smarts) is not None, name


def test_alerts_refuse_what_they_cannot_judge(clf):
    with pytest.raises(InputError, match="pass y"):
        clf.alerts(SMILES)
    with pytest.raises(InputError, match="one class only"):
        clf.alerts(SMILES[:4], [1, 1, 1, 1])
    with pytest.raises(InputError, match=r"label='x' is not a class of this model; use one of \[0, 1\]"):
        clf.alerts(SMILES, Y, label="x")
    other = isonn.SubgraphClassifier(max_nodes=1, head="linear", random_state=0).fit(isonn.load("MUTAG"))
    with pytest.raises(InputError, match="alerts need molecules"):
        other.alerts(isonn.load("MUTAG"))


def test_a_model_of_numbers_says_what_to_use_instead_of_alerts(tmp_path):
    model = isonn.SubgraphRegressor(max_nodes=2, head="linear", random_state=0)
    model.fit(SMILES, np.arange(len(SMILES)) / 3)
    with pytest.raises(InputError, match="predicts numbers; use reasons_"):
        model.alerts(SMILES, np.arange(len(SMILES)) / 3)
    assert model.reasons_
    model.save(tmp_path / "model")
    (tmp_path / "data.csv").write_text("smiles,y\nCCO,0.5\nCCN,1.5\n")
    refused(run("alerts", tmp_path / "model", tmp_path / "data.csv"), "predicts numbers, and alerts warn of a class")


def test_the_command_writes_a_table_and_a_page(clf, tmp_path):
    clf.save(tmp_path / "model")
    data, out, page = tmp_path / "data.csv", tmp_path / "alerts.csv", tmp_path / "alerts.html"
    hostile = "<script>alert(1)</script>"
    rows = "".join(f"{s},{y},{hostile}\n" for s, y in zip(SMILES[1::2], Y[1::2], strict=True))
    data.write_text(f"smiles,bromide,note\n{rows}")
    result = run("alerts", tmp_path / "model", data, "--target", "bromide", "--out", out, "--html", page)
    assert result.returncode == 0, result.stderr
    with out.open(newline="") as file:
        found = list(csv.DictReader(file))
    assert found[0]["name"] == "alkyl halide"
    assert float(found[0]["precision_low"]) > 0.5
    text = page.read_text()
    assert 'class="isonn molecule"' in text
    assert hostile not in text
    refused(run("alerts", tmp_path / "model", data, "--out", out), "exists already")
    refused(run("alerts", tmp_path / "model", data, "--target", "bromide", "--label", "7"), "--label 7 is not a class")
