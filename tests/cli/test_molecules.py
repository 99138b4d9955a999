"""Tables of molecules on the command line."""

from __future__ import annotations

import csv
import importlib
import json

import pytest
from tests_commands import refused, run

import isonn
from isonn.cli import reading

pytest.importorskip("rdkit")

ROWS = ["CC(=O)O", "CCO", "CCC(=O)O", "CCCO", "OC(=O)c1ccccc1", "c1ccccc1", "OC(=O)CN", "CCN", "C=CC(=O)O", "C=CC"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("molecules")


@pytest.fixture(scope="module")
def model(folder):
    clf = isonn.SubgraphClassifier(head="linear", random_state=0).fit(ROWS, [1, 0] * 5)
    clf.save(folder / "model")
    return folder / "model"


@pytest.fixture(scope="module")
def named(folder):
    """A model fitted to the column "acid" of a file."""
    data = folder / "known.csv"
    data.write_text("smiles,acid\n" + "".join(f"{smiles},{(i + 1) % 2}\n" for i, smiles in enumerate(ROWS)))
    assert run("fit", data, "--out", folder / "named").returncode == 0
    return folder / "named"


@pytest.fixture(scope="module")
def both(folder):
    """A model fitted to the columns "acid" and "ring" of two.csv, and the file."""
    data = folder / "two.csv"
    lines = [f"{smiles},{(i + 1) % 2},{'' if i == 3 else int('c' in smiles)}" for i, smiles in enumerate(ROWS)]
    data.write_text("\n".join(["smiles,acid,ring", *lines, ""]))
    assert run("fit", data, "--target", "acid,ring", "--out", folder / "both").returncode == 0
    return folder / "both", data


def predictions(path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_all_targets_of_a_model_are_its_own_columns_in_any_order(both, tmp_path):
    """The structures, which no name gives away, and the weights are no targets of the model."""
    model, data = both
    names, *rows = [line.split(",") for line in data.read_text().splitlines()]
    turned = [f"{ring},{len(smiles)}.5,{smiles},{acid}" for smiles, acid, ring in rows]
    (tmp_path / "turned.csv").write_text("\n".join(["ring,weight,drawn,acid", *turned, ""]))
    told = run("predict", model, data, "--target", ",".join(names[1:]), "--out", tmp_path / "a.csv").stderr
    assert "for ring (9 values)" in told
    again = run("predict", model, tmp_path / "turned.csv", "--target", "all", "--out", tmp_path / "b.csv").stderr
    assert again.replace("b.csv", "a.csv") == told


def test_each_of_several_targets_has_columns_of_its_name(both, tmp_path):
    (model, data), out = both, tmp_path / "predictions.csv"
    new = tmp_path / "new.csv"
    new.write_text("smiles\nCCCC(=O)O\nC1CC\n")
    assert run("predict", model, new, "--out", out).returncode == 0
    rows = predictions(out)
    assert list(rows[0]) == [*("graph", "smiles", "predicted acid", "p(acid)", "predicted ring", "p(ring)", "problem")]
    assert rows[0]["predicted acid"] == "1"
    assert rows[1]["problem"] == "unclosed ring"
    shown = run("predict", model, data, "--json")
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
    assert (shown["graph"], shown["predicted"]) == (2, 0)
    result = run("explain", model, data, "--graph", 1, "--out", tmp_path / "other.html")
    assert result.returncode == 2
    assert "row 1 of new was left out" in result.stderr


@pytest.mark.filterwarnings("ignore:new.csv. 1 row is left out")
@pytest.mark.parametrize(
    ("columns", "truth_of_row_2"),
    [
        (("smiles", "CCCC(=O)O", "C1CC", "CCCCO", "CCCCCO"), None),
        (("smiles,acid", "CCCC(=O)O,", "C1CC,1", "CCCCO,0", "CCCCCO,"), "class 0"),
        (("smiles,acid", "CCCC(=O)O,", "C1CC,no", "CCCCO,no", "CCCCCO,"), "no"),
        (("smiles,acid", "CCCC(=O)O,", "C1CC,", "CCCCO,", "CCCCCO,"), None),
        (("smiles,acid,weight", "CCCC(=O)O,,88", "C1CC,,50", "CCCCO,0,74", "CCCCCO,,88"), "class 0"),
    ],
)
def test_rows_without_a_target_are_explained_and_numbered_as_in_predictions(named, tmp_path, columns, truth_of_row_2):
    data, page = tmp_path / "new.csv", tmp_path / "why.html"
    data.write_text("\n".join([*columns, ""]))
    predicted = json.loads(run("predict", named, data, "--json").stdout)
    shown = json.loads(run("explain", named, data, "--out", page, "--json").stdout)["graphs"]
    assert [one["graph"] for one in shown] == [0, 2, 3]
    for one in shown:
        assert one["predicted"] == predicted[one["graph"]]["predicted"]
    assert [one["truth"] for one in shown] == [None, truth_of_row_2, None]
    assert "class nan" not in page.read_text()
    assert json.loads(run("audit", named, data, "--repeats", 1, "--json").stdout)["graphs"] == 3


@pytest.mark.filterwarnings("always::isonn.errors.IsoNNWarning")
def test_large_tables_repeat_no_warning(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.import_module("isonn.graphs.stream"), "AT_ONCE", 4)
    monkeypatch.setattr(reading, "LARGE", 1)
    data, new = tmp_path / "known.csv", tmp_path / "new.csv"
    data.write_text("smiles,y\n" + "".join(f"{smiles},{i % 2}\n" for i, smiles in enumerate([*ROWS, ROWS[1], ROWS[0]])))
    result = run("fit", data, "--jobs", 1, "--out", tmp_path / "model")
    assert result.stderr.count("2 of 12 molecules repeat an earlier one") == 1
    assert result.stderr.count("known: 2 of 10 distinct molecules occur more than once, with different targets") == 1
    new.write_text("smiles\n" + "CCBr\nCCCO\nCCI\nCCC\n" * 3)
    told = [line for line in run("predict", tmp_path / "model", new).stderr.splitlines() if "never seen" in line]
    assert len(told) == 1
    assert told[0].endswith("they are matched as if they had none (and in 2 more parts of DATA)")
    (tmp_path / "a.csv").write_text("smiles\nCCBr\n")
    told = run("predict", tmp_path / "model", new, tmp_path / "a.csv").stderr  # of several files, too
    assert "(and in 3 more parts of DATA)" in told


@pytest.mark.parametrize("cells", ["", ",0.25", ","])
def test_models_of_numbers_are_explained(tmp_path, cells):
    data, new = tmp_path / "known.csv", tmp_path / "new.csv"
    data.write_text("smiles,mass\n" + "".join(f"{smiles},{len(smiles) / 4}\n" for smiles in ROWS))
    assert run("fit", data, "--out", tmp_path / "model").returncode == 0
    new.write_text(f"smiles{',mass' if cells else ''}\nCCCC(=O)O{cells}\nCCCCO{cells and ','}\n")
    predicted = json.loads(run("predict", tmp_path / "model", new, "--json").stdout)
    result = run("explain", tmp_path / "model", new, "--out", tmp_path / "why.html", "--json")
    shown = json.loads(result.stdout)["graphs"]
    scores = [10 ** one["score"] if one["logarithm"] else one["score"] for one in shown]
    assert scores == pytest.approx([row["predicted"] for row in predicted])
    assert [one["predicted"] for one in shown] == pytest.approx([row["predicted"] for row in predicted])
    assert [one["truth"] for one in shown] == [cells.strip(",") or None, None]
    assert {one["explained"] for one in shown} == {"mass"}


def test_a_column_the_model_was_not_fitted_to_is_not_the_truth(named, tmp_path):
    data = tmp_path / "new.csv"
    data.write_text("smiles,weight\nCCCC(=O)O,88.1\nCCCCO,74.1\n")
    rows = json.loads(run("predict", named, data, "--json").stdout)
    assert all("class" not in row for row in rows)
    shown = json.loads(run("explain", named, data, "--out", tmp_path / "why.html", "--json").stdout)["graphs"]
    assert [one["truth"] for one in shown] == [None, None]


def test_alerts_without_classes_are_refused_in_one_sentence(model, named, tmp_path):
    data = tmp_path / "new.csv"
    data.write_text("smiles\nCCCC(=O)O\nCCCCO\n")
    refused(run("alerts", named, data), "has no classes to judge alerts by; add the column acid, or name theirs")
    refused(run("alerts", model, data), "has no classes to judge alerts by; add them, or name theirs with --target")


def test_reasons_are_those_of_the_label_that_is_named(both, tmp_path):
    model = both[0]
    pages = tmp_path / "pages"
    assert run("predict", model, "OC(=O)c1ccccc1", "--label", "ring", "--dossier", pages).returncode == 0
    assert "Prediction of ring for molecule 0" in (pages / "0.html").read_text()
    assert run("predict", model, "OC(=O)c1ccccc1", "--label", "acid", "--dossier", tmp_path / "more").returncode == 0
    assert "Prediction of acid for molecule 0" in (tmp_path / "more" / "0.html").read_text()
    for label in ("acid", "ring"):
        (row,) = csv.DictReader(
            run("predict", model, "OC(=O)c1ccccc1", "--label", label, "--reasons", 1).stdout.splitlines()
        )
        assert row["reason 1"].endswith(f" for {label})")
    refused(
        run("predict", model, "CCO", "--label", "acids", "--reasons", 1), "--label 'acids' is not a class of this model"
    )


def test_alerts_of_several_labels_are_asked_for_by_name(both):
    model, data = both
    refused(
        run("alerts", model, data),
        "this model has 2 labels (acid, ring); name the one to warn of, such as --label 'acid'",
    )
    result = run("alerts", model, data, "--label", "acid", "--min-support", 2)
    assert result.stderr.splitlines()[-1].startswith("1 alert for class acid")
    refused(run("alerts", model, data, "--label", "acids"), "--label 'acids' is not a class of this model")


def test_a_table_where_nothing_can_be_read_still_has_every_row(model, tmp_path):
    data, out = tmp_path / "new.csv", tmp_path / "predictions.csv"
    data.write_text("smiles\nC1CC\nC(\n")
    assert run("predict", model, data, "--out", out).returncode == 0
    assert [row["problem"] for row in predictions(out)] == ["unclosed ring", "syntax error at character 2"]


def test_commands_name_the_columns_when_the_one_asked_for_is_not_there(tmp_path):
    data = tmp_path / "table.csv"
    data.write_text("smiles,y\nCCO,1\nCCC,0\n")
    for command in (["data", "info", data], ["fit", data, "--out", tmp_path / "model"], ["cost", data]):
        result = run(*command, "--smiles", "structure")
        assert result.returncode == 2
        assert result.stderr.strip().endswith("has no column 'structure'; smiles is one of 'smiles', 'y'")
