"""`isonn audit`, and subgraph models through the command line."""

from __future__ import annotations

import json

import pytest
from tests_commands import refused, run


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A window model and a subgraph model of MUTAG, made by the command."""
    folder = tmp_path_factory.mktemp("models")
    windows = run(
        "fit", "MUTAG", "--out", folder / "windows", "--method", "isonn", "--set", "k=2", "--set", "epochs=30"
    )
    subgraph = run("fit", "MUTAG", "--out", folder / "sub", "--max-nodes", 3, "--head", "linear")
    assert windows.returncode == subgraph.returncode == 0
    return folder


def test_the_audit_tells_models_that_read_node_order_from_those_that_do_not(models):
    found = {
        name: json.loads(run("audit", models / name, "MUTAG", "--repeats", 3, "--json").stdout)
        for name in ("windows", "sub")
    }
    assert found["sub"]["flip_rate"] == 0
    assert found["sub"]["largest_change"] <= 1e-6
    assert found["windows"]["largest_change"] > 1e-3
    assert sum(map(len, found["sub"]["twins"])) == 79
    text = run("audit", models / "sub", "MUTAG", "--repeats", 1).stdout
    assert "Predictions that changed: 0.0%" in text
    assert "79 graphs in 30 groups" in text


def test_options_that_belong_to_another_method_are_refused(models, tmp_path):
    fit = ("fit", "MUTAG", "--out", tmp_path / "m")
    windows = (*fit, "--method", "isonn")
    refused(run(*windows, "--head", "linear"), "--head is not an option of IsoNNClassifier")
    refused(run(*windows, "--max-nodes", 3), "--max-nodes is not an option of IsoNNClassifier")
    refused(run(*windows, "--set", "k=[2,3]"), "k=(2, 3) is not a number of nodes")
    refused(run(*windows, "--set", "k=two"), "k='two' is not a number of nodes")
    refused(run(*fit, "--set", "layers=[[2,3]]"), "--set layers is not an option of SubgraphClassifier")
    refused(run("audit", models / "sub", "MUTAG", "--repeats", 0), "repeats must be at least 1, got 0")
