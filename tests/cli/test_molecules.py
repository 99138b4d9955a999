"""Tables of molecules on the command line."""

from __future__ import annotations

import csv

import pytest
from tests_commands import run

import isonn

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
