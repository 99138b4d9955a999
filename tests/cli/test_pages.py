"""`isonn report` and `isonn explain` from the outside."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sample_run import make_run
from typer.testing import CliRunner, Result

import isonn
from isonn.cli import app
from isonn.errors import InputError, ModelFileError


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """A run, its data, and a model."""
    folder = tmp_path_factory.mktemp("made")
    run, data = make_run(folder, methods=("isonn", "majority"), seeds=1)
    graphs = isonn.load(data)
    isonn.IsoNNClassifier(k=3, c=2, epochs=2, hidden=(8,), random_state=0).fit(graphs).save(folder / "model")
    return run, data, folder / "model"


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_report_writes_into_the_run_unless_told_otherwise(made, tmp_path: Path):
    run, data, _ = made
    result = call("report", run, "--data", data)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(f"{run / 'report.html'}: 6 results, 0 reasons, 8 graphs")
    shown = call("report", run, "--data", data, "--out", tmp_path / "page.html", "--graphs", 3, "--json")
    facts = json.loads(shown.stdout)
    assert (facts["page"], facts["graphs"], facts["missing"]) == (str(tmp_path / "page.html"), 3, 0)
    assert (tmp_path / "page.html").stat().st_size == facts["bytes"]


def test_a_report_without_its_graphs_says_how_to_give_them(made, tmp_path: Path):
    result = call("report", made[0], "--out", tmp_path / "page.html")
    assert "Reasons and graphs cannot be shown: " in result.stdout
    assert "give the file of its graphs to show them. Give the graphs with --data." in result.stdout


def test_explaining_labels_says_when_none_is_predicted(made, tmp_path: Path):
    graphs = isonn.load(made[1])
    y = np.zeros((len(graphs), 2), dtype=int)
    y[0, 1] = 1
    settings = {"k": 3, "c": 2, "epochs": 60, "hidden": (8,), "learning_rate": 0.01}
    clf = isonn.IsoNNClassifier(**settings, random_state=0).fit(graphs, y)
    clf.save(tmp_path / "model")
    number = int(clf.predict_proba(graphs).max(axis=1).argmin())
    command = ("explain", tmp_path / "model", made[1], "--graph", number)
    assert f"Graph {number}: no label (most likely" in call(*command).stdout
    (facts,) = json.loads(call(*command, "--json").stdout)["graphs"]
    assert facts["predicted"] == {"0": 0, "1": 0}
    assert facts["explained"] in ("0", "1")
    less = int(clf.predict_proba(graphs[number : number + 1])[0].argmin())
    assert "most likely" not in call(*command, "--label", less).stdout


def test_explain_writes_the_graphs_that_are_named(made, tmp_path: Path):
    _, data, model = made
    out = tmp_path / "page.html"
    result = call("explain", model, data, "--graph", 3, "--graph", 1, "--out", out)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1] == f"2 graphs in {out}"
    assert out.read_text().count('<article class="panel"') == 2
    facts = json.loads(call("explain", model, data, "--out", tmp_path / "other.html", "--json").stdout)
    assert [graph["graph"] for graph in facts["graphs"]] == list(range(20))
    explained = isonn.load_model(model).explain(isonn.load(data)[0]).to_dict()
    assert {name: facts["graphs"][0][name] for name in explained} == json.loads(json.dumps(explained))


@pytest.mark.parametrize(
    ("arguments", "error", "complaint"),
    [
        (
            ["explain", "{model}", "{data}", "--graph", "99", "--out", "{tmp}/p.html"],
            InputError,
            "graph 99 is out of range",
        ),
        (["explain", "{tmp}", "{data}", "--out", "{tmp}/p.html"], ModelFileError, "holds no model.json"),
        (["report", "{run}", "--data", "{data}", "--model", "{tmp}/x"], ModelFileError, "is not a model folder"),
        (["report", "{run}", "--data", "{data}", "--out", "{tmp}"], InputError, "is a folder"),
    ],
)
def test_bad_input_is_one_sentence_and_writes_nothing(arguments, error, complaint, made, tmp_path: Path):
    run, data, model = made
    filled = [part.format(tmp=tmp_path, run=run, data=data, model=model) for part in arguments]
    with pytest.raises(error, match=complaint):
        CliRunner().invoke(app, filled, catch_exceptions=False, standalone_mode=False)
    assert not list(tmp_path.iterdir())


def test_predicting_training_graphs_says_so(made, tmp_path: Path):
    _, data, model = made
    result = call("predict", model, data, "--out", tmp_path / "predictions.csv")
    assert "24 of 24 graphs are training graphs of this model" in result.stderr
    isonn.as_graphset([np.ones((9, 9)) - np.eye(9)]).save(tmp_path / "new.npz")
    assert "training graphs" not in call("predict", model, tmp_path / "new.npz").stderr
