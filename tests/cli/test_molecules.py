"""Tables of molecules on the command line."""

from __future__ import annotations

import csv
import json

import pytest
from tests_commands import run

import isonn
from isonn.cli import options

pytest.importorskip("rdkit")

ROWS = ["CC(=O)O", "CCO", "CCC(=O)O", "CCCO", "OC(=O)c1ccccc1", "c1ccccc1", "OC(=O)CN", "CCN", "C=CC(=O)O", "C=CC"]


@pytest.fixture
def model(tmp_path):
    clf = isonn.SubgraphIsoNNClassifier(random_state=0).fit(ROWS, [1, 0] * 5)
    clf.save(tmp_path / "model")
    return tmp_path / "model"


def predictions(path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_row_comes_back_in_order_with_what_is_wrong_with_it(model, tmp_path):
    data, out = tmp_path / "new.csv", tmp_path / "predictions.csv"
    data.write_text("id,smiles\na,CCCC(=O)O\nb,C1CC\nc,\nd,CCCCO\ne,CC>>C\n")
    result = run("predict", model, data, "--out", out)
    assert result.returncode == 0, result.stderr
    rows = predictions(out)
    assert [row["graph"] for row in rows] == ["0", "1", "2", "3", "4"]
    assert [row["predicted"] for row in rows] == ["1", "", "", "0", ""]
    assert [row["id"] for row in rows if row["predicted"]] == ["a", "d"]
    assert rows[1]["problem"] == "unclosed ring"
    assert rows[2]["problem"] == "there is no SMILES"
    assert rows[4]["problem"] == "this is a reaction; give one molecule"
    assert "3 of 5 rows have a problem" in result.stderr


def test_rows_without_a_class_are_predicted_too(model, tmp_path):
    data, out = tmp_path / "new.csv", tmp_path / "predictions.csv"
    data.write_text("structure,y\nCCCC(=O)O,1\nCCCCO,\nCCCCCO,0\n")
    assert run("predict", model, data, "--out", out, "--smiles", "structure", "--target", "y").returncode == 0
    assert [row["predicted"] for row in predictions(out)] == ["1", "0", "0"]


def test_predictions_hold_the_smiles_and_leave_gaps_empty(model, tmp_path):
    data, out = tmp_path / "new.csv", tmp_path / "predictions.csv"
    data.write_text("smiles,y\nCCCC(=O)O,1\nCCCCO,\nC1CC,1\nCCCCCO,0\n")
    result = run("predict", model, data, "--out", out)
    rows = predictions(out)
    assert [row["smiles"] for row in rows] == ["CCCC(=O)O", "CCCCO", "C1CC", "CCCCCO"]
    assert [row["class"] for row in rows] == ["1", "", "", "0"]
    assert "accuracy 100.0 % (2 of 2)" in result.stderr


def test_each_of_several_targets_has_columns_of_its_name(tmp_path):
    data, out = tmp_path / "two.csv", tmp_path / "predictions.csv"
    lines = [f"{smiles},{(i + 1) % 2},{'' if i == 3 else int('c' in smiles)}" for i, smiles in enumerate(ROWS)]
    data.write_text("\n".join(["smiles,acid,ring", *lines, ""]))
    assert run("fit", data, "--target", "acid,ring", "--out", tmp_path / "both").returncode == 0
    new = tmp_path / "new.csv"
    new.write_text("smiles\nCCCC(=O)O\nC1CC\n")
    assert run("predict", tmp_path / "both", new, "--out", out).returncode == 0
    rows = predictions(out)
    assert list(rows[0]) == [
        *("graph", "smiles", "acid", "predicted acid", "p(acid)", "ring", "predicted ring", "p(ring)", "problem")
    ]
    assert rows[0]["predicted acid"] == "1"
    assert rows[1]["problem"] == "unclosed ring"
    shown = run("predict", tmp_path / "both", data, "--target", "acid,ring", "--json")
    assert [row["ring"] for row in json.loads(shown.stdout)] == [0, 0, 0, None, 1, 1, 0, 0, 0, 0]


def test_a_table_without_rows_is_refused_in_one_sentence(model, tmp_path):
    data = tmp_path / "new.csv"
    data.write_text("smiles,y\n")
    result = run("predict", model, data)
    assert result.returncode == 2
    assert result.stderr == "isonn: DATA has no rows to predict; give at least one graph\n"


@pytest.mark.filterwarnings("ignore:new.csv. 1 row is left out")
def test_explain_numbers_rows_as_predictions_do(model, tmp_path):
    data = tmp_path / "new.csv"
    data.write_text("smiles\nCCCC(=O)O\nC1CC\nCCCCO\n")
    result = run("explain", model, data, "--graph", 2, "--out", tmp_path / "why.html", "--json")
    (shown,) = json.loads(result.stdout)["graphs"]
    assert (shown["graph"], shown["predicted"]) == (2, "class 0")
    result = run("explain", model, data, "--graph", 1, "--out", tmp_path / "other.html")
    assert result.returncode == 2
    assert "row 1 of new was left out" in result.stderr


def test_a_table_of_smiles_is_read_in_pieces_earlier_than_a_folder_of_its_size(tmp_path, monkeypatch):
    data = tmp_path / "many.csv"
    data.write_text("smiles\n" + "CCO\n" * 100)
    monkeypatch.setattr(options, "LARGE", 2 * data.stat().st_size)
    assert options.stream_of(str(data)) is not None


def test_a_table_where_nothing_can_be_read_still_has_every_row(model, tmp_path):
    data, out = tmp_path / "new.csv", tmp_path / "predictions.csv"
    data.write_text("smiles\nC1CC\nC(\n")
    assert run("predict", model, data, "--out", out).returncode == 0
    assert [row["problem"] for row in predictions(out)] == ["unclosed ring", "syntax error at character 2"]


def test_accuracy_is_told_where_classes_are_known(model, tmp_path):
    data = tmp_path / "known.csv"
    data.write_text("smiles,y\n" + "".join(f"{smiles},{(i + 1) % 2}\n" for i, smiles in enumerate(ROWS)))
    assert "accuracy 100.0 % (10 of 10)" in run("predict", model, data).stderr


def test_commands_name_the_columns_when_the_one_asked_for_is_not_there(tmp_path):
    data = tmp_path / "table.csv"
    data.write_text("smiles,y\nCCO,1\nCCC,0\n")
    for command in (["data", "info", data], ["fit", data, "--out", tmp_path / "model"], ["cost", data]):
        result = run(*command, "--smiles", "structure")
        assert result.returncode == 2
        assert result.stderr.strip().endswith("has no column 'structure'; smiles is one of 'smiles', 'y'")
