"""The dossier: every figure is recomputed here from the predictions that it stores."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import (
    balanced_accuracy_score,
    matthews_corrcoef,
    mean_absolute_error,
    r2_score,
    recall_score,
    roc_auc_score,
)

import isonn
from isonn.errors import InputError
from isonn.experiments.validation import BOOTSTRAPS, metrics_of, scramble
from isonn.graphs.isomorphism import graph_hashes
from isonn.report.dossier import ABOUT, MISSING, write_dossier
from isonn.seeding import numpy_stream
from isonn.targets import Labels, Numbers, target_from

pytest.importorskip("jinja2")


def recomputed(target, truth, answers):
    """The metrics by scikit-learn."""
    if target["name"] == "numbers":
        y = np.array(truth)[:, 0] * target["scale"][0] + target["mean"][0]
        guess = np.array(answers)[:, 0]
        rmse = float(np.sqrt(np.mean((y - guess) ** 2)))
        return {"R²": r2_score(y, guess), "RMSE": rmse, "MAE": mean_absolute_error(y, guess)}
    y, answers = np.array(truth), np.array(answers)
    guess = answers.argmax(axis=1)
    return {
        "AUROC": roc_auc_score(y, answers[:, 1]),
        "accuracy": float((guess == y).mean()),
        "balanced accuracy": balanced_accuracy_score(y, guess),
        "sensitivity": recall_score(y, guess),
        "specificity": recall_score(y, guess, pos_label=0),
        "MCC": matthews_corrcoef(y, guess),
    }


@pytest.fixture(scope="module")
def graphs():
    return isonn.load("MUTAG")


@pytest.fixture(scope="module", params=["classes", "numbers"])
def written(request, graphs, tmp_path_factory):
    """A dossier as JSON, whose data have 20 graphs that the model was not fitted to."""
    if request.param == "numbers":
        graphs = replace(graphs, y=graphs.sizes - 30.5)  # negative numbers are not learned as logarithms
    cls = isonn.SubgraphRegressor if request.param == "numbers" else isonn.SubgraphClassifier
    model = cls(max_nodes=3, head="linear", random_state=0).fit(graphs[:120])
    groups = np.array([f"scaffold {i // 4}" for i in range(140)])
    dossier = write_dossier(model, graphs[:140], {"title": "A <b>model</b>"}, groups)
    folder = tmp_path_factory.mktemp("dossier")
    dossier.to_json(folder / "dossier.json")
    dossier.to_html(folder / "dossier.html")
    page = (folder / "dossier.html").read_text()
    return dossier, json.loads((folder / "dossier.json").read_text()), page, model, graphs


def test_every_metric_is_recomputed_from_the_stored_predictions(written):
    _, stored, _, _, _ = written
    assert set(stored["validations"]) == {"fit", "grouped", "scaffold", "external"}
    for validation in stored["validations"].values():
        expected = recomputed(stored["target"], validation["truth"], validation["answers"])
        assert set(expected) == set(validation["metrics"])
        for name, (value, low, high) in validation["metrics"].items():
            assert value == pytest.approx(expected[name])
            assert low <= high


def test_intervals_are_those_of_a_bootstrap_of_groups(written):
    _, stored, _, _, _ = written
    for validation in stored["validations"].values():
        truth, answers = np.array(validation["truth"]), np.array(validation["answers"])
        groups = np.array(validation["groups"])
        values, samples = np.unique(groups), {name: [] for name in validation["metrics"]}
        draw, target = numpy_stream(stored["seed"], "bootstrap"), target_from(stored["target"])
        for _ in range(BOOTSTRAPS):
            chosen = values[draw.integers(len(values), size=len(values))]
            rows = np.concatenate([np.flatnonzero(groups == one) for one in chosen])
            for name, value in metrics_of(target, truth[rows], answers[rows]).items():
                samples[name].append(value)
        for name, (_, low, high) in validation["metrics"].items():
            np.testing.assert_allclose([low, high], np.nanquantile(samples[name], [0.025, 0.975]))


def test_every_number_on_the_page_is_in_the_figures(written):
    dossier, stored, page, _, _ = written
    tables = [entry.table for chapter in dossier.chapters for entry in chapter.entries if entry.table]
    shown = [rows for columns, rows in tables if columns[0] == "measure"]
    figures = [validation["metrics"] for validation in stored["validations"].values()]
    assert len(shown) == len(figures)
    for rows, metrics in zip(shown, figures, strict=True):
        for name, value, interval in rows:
            exact, low, high = metrics[name.partition(" (of")[0]]
            assert value == f"{exact:.3f}"
            assert interval == f"{low:.3f} to {high:.3f}"
            assert value in page


def test_counts_and_limits_in_words_are_those_of_the_data(written):
    dossier, stored, _, model, graphs = written
    entries = {entry.heading: entry for chapter in dossier.chapters for entry in chapter.entries}
    seen = model.seen_in_training(graphs[:140])
    known, distinct = graphs[:140][seen], len(np.unique(graph_hashes(graphs[:140][seen])))
    said = entries["6.5 Training set"].text
    assert f": {len(known)} graphs, of which {len(known) - distinct} repeat others" in said
    if model.target_.numeric:
        assert f"from {known.y.min():.4g} to {known.y.max():.4g}, mean {known.y.mean():.4g}." in said
    else:
        assert all(f"class {value}: {(known.y == value).sum()}" in said for value in (-1, 1))
    assert entries["7.5 External set"].text.startswith(f"{140 - len(known)} graphs")
    assert entries["4.7 Training graphs per descriptor"].text.startswith(f"{len(known) / len(model.templates_):.3g};")
    found = stored["scrambling"]
    numbers = [found["value"], np.mean(found["scrambled"]), max(found["scrambled"]), found["p"]]
    assert all(f"{number:.3f}" in entries["6.10 Scrambled targets"].text for number in numbers)
    term, low, high = entries["5.4 Limits"].table[1][0]
    assert (term, float(low), float(high)) == ("nodes", known.sizes.min(), known.sizes.max())
    present = model.vectorizer_.transform(known).toarray() > 0
    names = model.get_feature_names_out()
    for value, piece, counts in entries["8.3 Pieces that mark each class"].table[1]:
        columns = [i for i, template in enumerate(model.templates_) if template.text() == piece]
        group = known.y == int(value) if not model.target_.numeric else np.ones(len(known), dtype=bool)
        assert any(f"{present[group, i].sum()} of {group.sum()} in" in counts for i in columns), (piece, names[columns])


def test_the_named_parts_of_molecules_are_counted_and_averaged():
    smiles = [f"c1ccccc1{'C' * n}{end}" for n in range(2, 14) for end in ("C(=O)O", "CO", "CN", "Cl")]
    y = np.array([int(text.endswith("(=O)O")) for text in smiles])
    graphs = isonn.as_graphset(smiles).with_y(y)
    model = isonn.SubgraphClassifier(max_nodes=3, head="linear", random_state=0).fit(graphs)
    dossier = write_dossier(model, graphs)
    (entry,) = [e for chapter in dossier.chapters for e in chapter.entries if e.heading == "8.3 Named parts"]
    rows = {part: (mean, held) for _, part, mean, held in entry.table[1]}
    mean, held = rows["carboxylic acid"]
    assert held == "12 of 48, 12 of them 1"
    worth = []
    for text in smiles:
        e = model.explain(text, label=1)
        worth += [unit.contribution for unit in e.units if unit.name == "carboxylic acid"]
    assert mean.startswith(f"{np.mean(worth):+.3f} ")
    assert "benzene" not in rows  # it is the size, which a report leaves out too
    assert "Left out, because they are the size of a molecule: benzene." in entry.text


def test_scaffolds_are_held_out_together(written):
    _, stored, _, _, _ = written
    assert len(set(stored["validations"]["scaffold"]["groups"])) == 30
    assert stored["validations"]["external"]["rows"] == list(range(len(stored["validations"]["external"]["rows"])))


def test_scrambled_targets_are_worse_and_their_p_value_is_a_share(written):
    _, stored, _, _, _ = written
    found = stored["scrambling"]
    assert found["value"] > max(found["scrambled"])
    assert found["p"] == pytest.approx(
        (1 + sum(value >= found["value"] for value in found["scrambled"])) / (1 + len(found["scrambled"]))
    )


def test_scrambling_noise_finds_nothing():
    draw = np.random.default_rng(0)
    shares = []
    for seed in range(20):
        features = csr_array(draw.random((40, 6)))
        y = draw.normal(size=40)
        target = Numbers.fit(y)
        shares.append(scramble(features, y, target, seed)["p"])
    assert np.mean(np.array(shares) <= 0.1) < 0.35
    assert np.mean(shares) > 0.3


def test_the_first_page_says_that_it_is_a_draft_and_escapes_what_the_user_writes(written):
    dossier, stored, page, _, _ = written
    first = page[: page.index("chapter-1")]
    assert "Draft for an expert, not a regulatory statement" in first
    assert "A &lt;b&gt;model&lt;/b&gt;" in first
    assert "<b>model" not in page
    assert dossier.missing == [heading for key, heading in ABOUT.items() if key != "title"]
    assert MISSING in page
    assert stored["format"] == "isonn-dossier-1"


def test_all_principles_and_settings_are_there(written):
    dossier, _, page, model, _ = written
    principles = " ".join(chapter.principle for chapter in dossier.chapters)
    assert all(f"Principle {number}" in principles for number in range(1, 6))
    for name in model.get_params():
        assert f">{name}<" in page
    assert str(model.seed_) in page


def test_data_of_another_model_are_refused(graphs):
    model = isonn.SubgraphClassifier(max_nodes=2, head="linear", random_state=0).fit(graphs[:60])
    new = [i for i in range(60, 188) if not model.seen_in_training(graphs[i : i + 1])[0]]
    with pytest.raises(InputError, match="fitted to none of the"):
        write_dossier(model, graphs[new])


@pytest.mark.parametrize(("target", "scale"), [("IC50 (µM)", "values in µM"), ("IC50", "values as given")])
def test_each_r2_says_its_scale(target, scale):
    pytest.importorskip("rdkit")
    smiles = [f"{'C' * n}{end}" for n in range(1, 16) for end in ("O", "N", "Cl")]
    graphs = isonn.as_graphset(smiles, y=[10.0 ** (len(text) / 2) for text in smiles])
    graphs = replace(graphs, target_names=(target,))
    model = isonn.SubgraphRegressor(max_nodes=2, head="linear", random_state=0).fit(graphs)
    assert model.target_.logs.all()
    dossier = write_dossier(model, graphs)
    entries = {entry.heading: entry for chapter in dossier.chapters for entry in chapter.entries}
    assert f"R² (of {scale})" in dossier.answer
    assert not re.search(r"\d{4}\.", dossier.answer)  # errors of values up to 10 ** 8, to three digits
    assert entries["6.7 Goodness of fit"].table[1][0][0] == f"R² (of {scale})"
    assert "R² (of logarithms)" in entries["6.10 Scrambled targets"].text


def test_measures_that_are_not_defined_say_so(graphs):
    model = isonn.SubgraphClassifier(max_nodes=2, head="linear", random_state=0).fit(graphs[:60])
    new = [i for i in range(60, 188) if graphs.y[i] == 1 and not model.seen_in_training(graphs[i : i + 1])[0]]
    dossier = write_dossier(model, graphs[[*range(60), *new[:5]]])
    entries = {entry.heading: entry for chapter in dossier.chapters for entry in chapter.entries}
    measures = {name: words for name, *words in entries["7.6 Predictivity"].table[1]}
    assert measures["AUROC"] == ["not defined", "not defined"]


def test_a_label_without_negatives_has_no_area():
    answers = np.array([[0.2, 0.4], [0.9, 0.6]])
    found = metrics_of(Labels(2), np.array([[0.0, 1.0], [1.0, 1.0]]), answers)
    assert found["AUROC 0"] == 1.0
    assert np.isnan(found["AUROC 1"])
    assert found["mean AUROC"] == 1.0
