"""`isonn fit` with its default, the subgraph model: the library's model, whatever the options."""

from __future__ import annotations

import csv
import io
import json
import re

import numpy as np
import pytest
from tests_commands import refused, run

import isonn


@pytest.fixture(scope="module")
def default(tmp_path_factory):
    """The default model of MUTAG, and what the command said."""
    path = tmp_path_factory.mktemp("models") / "mutag"
    result = run("fit", "MUTAG", "--out", path)
    assert result.returncode == 0, result.stderr
    return path, result.stdout


def test_the_default_is_the_librarys_subgraph_model(default, mutag):
    path, said = default
    expected = isonn.SubgraphClassifier(random_state=0).fit(mutag)
    loaded = isonn.load_model(path)
    np.testing.assert_equal(loaded.predict_proba(mutag), expected.predict_proba(mutag))
    assert "held out: accuracy" in said
    assert f"{100 * expected.held_out_score_['accuracy']:.1f} %" in said
    assert f"{len(expected.templates_):,} templates" in said
    assert "training score" not in said
    assert [entry.name for entry in path.parent.iterdir()] == ["mutag"]


@pytest.mark.parametrize(
    ("options", "params"),
    [
        (("--templates", "8", "--head", "linear"), {"n_templates": 8, "head": "linear"}),
        (
            ("--set", 'view=["labels","degrees"]', "--class-weight", "balanced"),
            {"view": ("labels", "degrees"), "class_weight": "balanced"},
        ),
    ],
    ids=lambda given: "".join(map(str, given)) if isinstance(given, tuple) else "",
)
def test_every_option_reaches_the_model(options, params, mutag, tmp_path):
    result = run("fit", "MUTAG", "--out", tmp_path / "m", "--max-nodes", 2, "--json", *options)
    assert result.returncode == 0, result.stderr
    model = isonn.load_model(tmp_path / "m")
    expected = isonn.SubgraphClassifier(max_nodes=2, **params, random_state=0).fit(mutag)
    saved = model.get_params()
    assert {name: tuple(saved[name]) if isinstance(saved[name], list) else saved[name] for name in params} == params
    np.testing.assert_equal(model.predict_proba(mutag), expected.predict_proba(mutag))
    facts = json.loads(result.stdout)
    assert facts["graphs"] == 188
    assert facts["templates"] == len(expected.templates_)
    assert ("held_out" in facts) == (expected.held_out_score_ is not None)


@pytest.fixture(scope="module")
def measured(tmp_path_factory, mutag):
    """Graphs whose target is a number that is not whole: half the nodes plus a tenth of the class."""
    path = tmp_path_factory.mktemp("data") / "measured.npz"
    y = mutag.sizes / 2 + mutag.y / 10
    np.savez(path, adjacency=mutag.dense(), labels=y)
    return path


def test_numbers_are_fitted_and_predicted_with_a_regressor(measured, tmp_path):
    result = run("fit", measured, "--out", tmp_path / "m", "--max-nodes", 2)
    assert result.returncode == 0, result.stderr
    assert re.search(r"held out: r (0\.999|1\.000), MAE 0\.0", result.stdout)  # the class is noise of 0.1
    graphs = isonn.load(measured)
    expected = isonn.SubgraphRegressor(max_nodes=2, random_state=0).fit(graphs)
    predicted = run("predict", tmp_path / "m", measured)
    assert predicted.returncode == 0, predicted.stderr
    rows = list(csv.DictReader(io.StringIO(predicted.stdout)))
    np.testing.assert_allclose([float(row["predicted"]) for row in rows], expected.predict(graphs), rtol=1e-9)
    np.testing.assert_allclose([float(row["value"]) for row in rows], graphs.y)
    assert "accuracy" not in predicted.stderr


def test_bad_input_is_one_sentence_and_leaves_nothing(measured, tmp_path):
    fit = ("fit", "MUTAG", "--out", tmp_path / "m")
    refused(run(*fit, "--set", "view=colours"), "colours", "labels")
    refused(run(*fit, "--head", "mlp"), "head='mlp' is unknown", "'linear'")
    refused(run(*fit, "--templates", 0), "n_templates=0")
    refused(run(*fit, "--max-nodes", 7), "max_nodes=7 is not valid; use 1 to 6")
    refused(run("fit", measured, "--out", tmp_path / "m", "--classes"), "measurements such as", "regressor")
    assert not list(tmp_path.iterdir())
