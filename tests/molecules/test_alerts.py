"""Structural alerts: exact names, merged families, and precision from molecules that took no part."""

from __future__ import annotations

import csv
import json
import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest
from tests_commands import refused, run

import isonn
from isonn.errors import InputError

Chem = pytest.importorskip("rdkit.Chem")

from isonn.molecules import find_group, to_mol  # noqa: E402
from isonn.molecules.alerts import wilson  # noqa: E402
from isonn.molecules.alerts.candidates import Candidates  # noqa: E402
from isonn.molecules.alerts.choose import choose  # noqa: E402

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


@pytest.fixture(scope="module")
def noisy(tmp_path_factory):
    """Molecules labelled by a rule with some wrong labels, and the alerts of a model of them."""
    path = tmp_path_factory.mktemp("noisy") / "molecules.csv"
    runpy.run_path(str(Path(__file__).parents[2] / "examples" / "alerts.py"))["write_molecules"](path, 300)
    graphs = isonn.load(path)
    model = isonn.SubgraphClassifier(max_nodes=3, head="linear", random_state=0).fit(graphs)
    return graphs, model.alerts(graphs)


def candidates_of(smiles, min_support=5):
    """The named candidates of some molecules."""
    molecules = [Chem.MolFromSmiles(text) for text in smiles]
    return Candidates(molecules, [], np.zeros((len(smiles), 0)), np.zeros(0, dtype=bool), min_support)


def chosen_names(smiles, y):
    truth = np.array(y, dtype=bool)
    chosen = choose(candidates_of(smiles), truth, np.ones(len(truth), dtype=bool), 5)
    return {candidate.name: {member.name for member in members} for candidate, members in chosen.items()}


def test_a_planted_rule_is_found_and_named(alerts):
    assert [alert.name for alert in alerts] == ["alkyl bromide"]
    assert alerts[0].precision == 1.0
    assert (alerts.label, alerts.n_folds) == (1, 10)
    assert alerts.rule["accuracy"] == 1.0


def test_examples_are_different_compounds_and_a_single_atom_has_its_neighbours():
    amines = [f"{'C' * n}N(C)C" for n in range(1, 9)]
    salts = [f"{amine}.Cl" for amine in amines]
    others = [f"{'C' * n}O" for n in range(1, 17)]
    smiles, y = [*amines, *salts, *others], [1] * 16 + [0] * 16
    model = isonn.SubgraphClassifier(max_nodes=1, head="linear", random_state=0).fit(smiles, y)
    (alert,) = model.alerts(smiles, y)
    assert alert.name == "tertiary aliphatic amine"
    assert alert.examples == ("CN(C)C", "CCN(C)C", "CCCN(C)C")
    assert alert.smiles == "CN(C)C"


def test_alerts_warn_of_the_positive_one_of_two_answers():
    answers = np.where(Y == 1, "active", "inactive")
    model = isonn.SubgraphClassifier(max_nodes=2, head="linear", random_state=0).fit(SMILES, answers)
    found = model.alerts(SMILES, answers)
    assert (found.label, found[0].name) == ("active", "alkyl bromide")


@pytest.mark.parametrize(
    "params",
    [{"head": "auto"}, {"head": "trees"}, {"n_templates": 12, "view": "labels"}, {"view": "degrees"}],
    ids=str,
)
def test_every_head_short_lists_and_other_views_have_alerts(params):
    model = isonn.SubgraphClassifier(3, **{"head": "linear", "random_state": 0, **params}).fit(SMILES[::2], Y[::2])
    assert [alert.name for alert in model.alerts(SMILES[1::2], Y[1::2])] == ["alkyl bromide"]


def test_what_an_alert_hits_is_the_group_it_is_named_after(noisy):
    graphs, found = noisy
    assert {alert.name for alert in found} >= {"epoxide", "nitro on an aromatic ring"}
    for alert in found:
        hit = [to_mol(graph).HasSubstructMatch(Chem.MolFromSmarts(alert.smarts)) for graph in graphs]
        assert sum(hit) == alert.molecules
        if alert.relation == "is":
            assert hit == [bool(find_group(to_mol(graph), alert.name)) for graph in graphs]


def test_every_alert_is_earned(noisy):
    graphs, found = noisy
    assert found.base == pytest.approx(np.mean(graphs.y == 1))
    for alert in found:
        assert alert.support >= 5
        assert alert.precision_interval[0] > found.base
        assert alert.precision == alert.hits / alert.support
        np.testing.assert_allclose(alert.lift_interval, np.array(alert.precision_interval) / found.base)


def test_new_molecules_are_those_without_an_alert_listed_before(noisy):
    graphs, found = noisy
    left = np.ones(len(graphs), dtype=bool)
    for alert in found:
        hit = np.array([to_mol(graph).HasSubstructMatch(Chem.MolFromSmarts(alert.smarts)) for graph in graphs])
        if alert.support == alert.molecules:
            assert alert.new_support == (hit & left).sum()
            assert alert.new_hits == (hit & left & (graphs.y == 1)).sum()
        assert alert.new_hits <= alert.new_support <= alert.support
        left &= ~hit
    assert any(alert.new_support < alert.support == alert.molecules for alert in found)


def test_an_alert_that_every_fold_chooses_is_judged_on_all_molecules(alerts):
    held = np.array([Chem.MolFromSmiles(s).HasSubstructMatch(Chem.MolFromSmarts(alerts[0].smarts)) for s in SMILES])
    assert alerts[0].folds == alerts.n_folds
    assert (alerts[0].support, alerts[0].hits) == (int(held.sum()), int(Y[held].sum()))


def test_classes_of_other_molecules_take_no_part_in_choosing(noisy):
    graphs, _ = noisy
    candidates = candidates_of(graphs.table["smiles"].tolist())
    rows = np.arange(len(graphs)) % 3 > 0
    truth = graphs.y == 1
    first = choose(candidates, truth, rows, 5)
    again = choose(candidates, np.where(rows, truth, ~truth), rows, 5)
    assert [c.name for c in first] == [c.name for c in again] != []


def test_groups_of_one_family_and_precision_are_one_alert():
    halides = [f"{'C' * n}{halogen}" for n in range(2, 8) for halogen in ("Cl", "Br", "I")]
    others = [f"{'C' * n}{end}" for n in range(2, 14) for end in ("O", "N", "F")]
    assert chosen_names(halides + others, [1] * len(halides) + [0] * len(others)) == {
        "alkyl halide": {"alkyl chloride", "alkyl bromide", "alkyl iodide"}
    }


def test_a_group_that_is_surer_than_its_family_is_an_alert_of_its_own():
    bromides = [f"{'C' * n}Br" for n in range(2, 20)]
    chlorides = [f"{'C' * n}Cl" for n in range(2, 20)]
    others = [f"{'C' * n}O" for n in range(2, 20)]
    y = [1] * len(bromides) + [0] * (len(chlorides) + len(others))
    assert chosen_names(bromides + chlorides + others, y) == {"alkyl bromide": set()}


def test_a_member_is_an_alert_where_its_family_is_none():
    # nitro groups on aromatic rings and on nitrogen warn, those on alkanes do not: "nitro" is split
    aromatic = [f"O=[N+]([O-])c1ccc({'C' * n})cc1" for n in range(1, 30)]
    amines = [f"C{'C' * n}N(C)[N+](=O)[O-]" for n in range(1, 9)]
    alkanes = [f"C{'C' * n}[N+](=O)[O-]" for n in range(1, 40)]
    others = [f"Cc1ccc({'C' * n})cc1" for n in range(1, 40)]
    y = [1] * (len(aromatic) + len(amines)) + [0] * (len(alkanes) + len(others))
    assert chosen_names(aromatic + amines + alkanes + others, y).keys() == {"nitro on an aromatic ring", "nitramine"}


def test_what_an_alert_explains_already_is_no_alert():
    with_both = [f"O=[N+]([O-])c1ccc(O{'C' * n})cc1" for n in range(1, 12)]  # every nitro group beside an ether
    ethers = [f"c1ccc(O{'C' * n})cc1" for n in range(1, 12)]
    nitro = [f"O=[N+]([O-])c1ccc({'C' * n})cc1" for n in range(1, 12)]
    others = [f"c1ccc({'C' * n})cc1" for n in range(1, 24)]
    y = [1] * 11 + [0] * 11 + [1] * 11 + [0] * 23
    assert list(chosen_names(with_both + ethers + nitro + others, y)) == ["nitro on an aromatic ring"]


def test_a_piece_without_a_name_is_found():
    # the same groups, but only ortho ones are of the class
    ortho = [f"C{'C' * n}c1ccccc1{end}" for n in range(12) for end in ("Cl", "Br")]
    para = [f"C{'C' * n}c1ccc({end})cc1" for n in range(12) for end in ("Cl", "Br")]
    y = [1] * len(ortho) + [0] * len(para)
    model = isonn.SubgraphClassifier(max_nodes=4, head="linear", random_state=0).fit(ortho + para, y)
    first = model.alerts(ortho + para, y)[0]
    query = Chem.MolFromSmarts(first.smarts)
    assert (first.relation, first.name) == ("", "")
    assert first.title == f"piece {first.smiles}"
    assert replace(first, smarts="[N]", smiles="CNC").title == "piece [N] as in CNC"  # the neighbours are no part of it
    assert Chem.MolFromSmiles(first.smiles, sanitize=False).GetNumAtoms() == query.GetNumAtoms()
    assert [Chem.MolFromSmiles(s).HasSubstructMatch(query) for s in ortho + para] == [bool(value) for value in y]


def test_intervals_are_wilsons():
    for hits, support in ((0, 5), (3, 7), (40, 41), (500, 1000)):
        expected = binomtest(hits, support).proportion_ci(method="wilson")
        np.testing.assert_allclose(wilson(hits, support), (expected.low, expected.high), atol=1e-9)
    assert wilson(0, 0) == (0.0, 1.0)
    np.testing.assert_allclose(wilson([0, 3], [5, 7]), np.transpose([wilson(0, 5), wilson(3, 7)]))


def test_pure_noise_has_hardly_any_alert():
    lists = []
    for seed in range(3):
        noise = np.random.default_rng(seed).integers(0, 2, len(SMILES))
        model = isonn.SubgraphClassifier(max_nodes=3, head="linear", random_state=0).fit(SMILES, noise)
        lists.append(model.alerts(SMILES, noise))
    assert sum(map(len, lists)) <= 1
    assert "No group or piece warns of class 1" in next(found for found in lists if not len(found)).answer()


def test_a_saved_model_gives_the_same_alerts(clf, tmp_path):
    clf.save(tmp_path / "model")
    same = isonn.load_model(tmp_path / "model")
    np.testing.assert_array_equal(same.seen_in_training(SMILES), clf.seen_in_training(SMILES))
    assert same.alerts(SMILES, Y).rows() == clf.alerts(SMILES, Y).rows()


def test_the_model_is_scored_only_where_it_has_not_seen_the_molecules(clf):
    others = [f"{'C' * n}{end}" for n in range(16, 26) for end in ("Br", "O", "N")]
    y = [int(text.endswith("Br")) for text in others]
    fresh = clf.alerts(others, y)
    assert fresh.rule["model_accuracy"] == np.mean(clf.predict(others) == y)
    assert clf.alerts(SMILES[::2], Y[::2]).rule["model_accuracy"] == clf.held_out_score_["accuracy"]
    mixed = clf.alerts(others + SMILES[:12:2], y + Y[:12:2].tolist())
    assert "model_accuracy" not in mixed.rule
    assert "the model" not in mixed.sentence()


def test_alerts_refuse_what_they_cannot_judge(clf):
    with pytest.raises(InputError, match="pass y"):
        clf.alerts(SMILES)
    with pytest.raises(InputError, match="one class only"):
        clf.alerts(SMILES[:4], [1, 1, 1, 1])
    with pytest.raises(InputError, match="at least two different molecules of each class"):
        clf.alerts(["CCBr", "CCO", "CCN"], [1, 0, 0])
    with pytest.raises(InputError, match=r"label='x' is not a class of this model; use one of 0, 1"):
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
    asked = ("alerts", tmp_path / "model", data, "--target", "bromide")
    result = run(*asked, "--out", out, "--html", page)
    assert result.returncode == 0, result.stderr
    with out.open(newline="") as file:
        found = list(csv.DictReader(file))
    assert found[0]["name"] == "alkyl bromide"
    assert float(found[0]["precision_low"]) > 0.5
    text = page.read_text()
    assert 'class="isonn molecule"' in text
    assert hostile not in text
    refused(run(*asked, "--out", out), "exists already")
    refused(run(*asked, "--label", "7"), "--label '7' is not a class")
    facts = json.loads(run(*asked, "--json").stdout)
    assert facts["alerts"][0]["name"] == "alkyl bromide"
