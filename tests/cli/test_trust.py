"""`isonn predict --interval --domain --neighbours --dossier` and `isonn dossier`."""

from __future__ import annotations

import csv
import json
import re

import numpy as np
import pytest
from tests_commands import run

import isonn

pytest.importorskip("rdkit")
pytest.importorskip("jinja2")
pytestmark = pytest.mark.filterwarnings("ignore:.*label never seen in training", "ignore:.*consist mostly of subgraphs")

SMILES = [f"{'C' * n}{end}" for n in range(2, 14) for end in ("O", "N", "Cl", "C(=O)O", "C#N")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trust")
    for name, value in (("classes", lambda s: int(s.endswith("O"))), ("numbers", lambda s: len(s) - 9.5)):
        rows = [f"{text},{value(text)}" for text in SMILES]
        (folder / f"{name}.csv").write_text("\n".join(["smiles,y", *rows, ""]))
        model = folder / f"{name}-model"
        done = run("fit", folder / f"{name}.csv", "--out", model, "--head", "linear", "--keep-examples", "smiles")
        assert done.returncode == 0, done.stderr
    return folder


def rows_of(done):
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(done.stdout.splitlines()))


def test_columns_are_those_of_the_model(folder):
    for name in ("classes", "numbers"):
        model = isonn.load_model(folder / f"{name}-model")
        new = ["CCCCCCCCO", "C" * 60, "CC[Fe]"]
        rows = rows_of(run("predict", folder / f"{name}-model", *new, "--interval", "--domain", "--neighbours"))
        assessment = model.assess(new)
        assert [row["domain"] for row in rows] == assessment.domain.verdict.tolist()
        assert [row["domain"] for row in rows[1:]] == ["out", "out"]
        assert "Fe" in rows[2]["out because"]
        np.testing.assert_allclose([float(row["distance"]) for row in rows], assessment.domain.distance, atol=1e-4)
        assert rows[0]["neighbour 1"].startswith("CCCCCCCCO (")
        if name == "numbers":
            given = [[float(row["low"]), float(row["high"])] for row in rows]
            np.testing.assert_allclose(given, assessment.interval, atol=1e-5)
        else:
            held = [[str(value) in row["set"].split(" or ") for value in (0, 1)] for row in rows]
            np.testing.assert_array_equal(held, assessment.sets)


def test_coverage_is_checked_and_used(folder):
    wide, narrow = (
        rows_of(run("predict", folder / "numbers-model", "CCCCO", "--interval", "--coverage", coverage))[0]
        for coverage in ("0.95", "0.5")
    )
    assert float(wide["high"]) - float(wide["low"]) > float(narrow["high"]) - float(narrow["low"])
    done = run("predict", folder / "numbers-model", "CCCCO", "--interval", "--coverage", "1.5")
    assert done.returncode == 2
    assert "coverage must be above 0 and below 1" in done.stderr


def test_neighbours_need_a_model_that_keeps_them(folder, tmp_path):
    run("fit", folder / "classes.csv", "--out", tmp_path / "model", "--head", "linear", "--max-nodes", "2")
    done = run("predict", tmp_path / "model", "CCO", "--neighbours")
    assert done.returncode == 2
    assert "fit it with --keep-examples" in done.stderr
    assert run("fit", folder / "classes.csv", "--out", tmp_path / "other", "--keep-examples", "names").returncode == 2


def test_a_dossier_of_each_prediction_has_a_second_opinion(folder, tmp_path):
    new = ["O=[N+]([O-])c1ccccc1", "CCCCCC[O-].[Na+]"]
    (tmp_path / "ames.csv").write_text((folder / "classes.csv").read_text().replace("smiles,y", "smiles,Ames_test"))
    options = ("--head", "linear", "--keep-examples", "smiles")
    assert run("fit", tmp_path / "ames.csv", "--out", tmp_path / "model", *options).returncode == 0
    done = run("predict", tmp_path / "model", *new, "--dossier", tmp_path / "pages")
    assert done.returncode == 0, done.stderr
    first, second = ((tmp_path / "pages" / f"{i}.html").read_text() for i in (0, 1))
    assert "The rules warn: aromatic nitro" in first
    assert "CONFLICT" in second  # an alcohol is positive here, and no rule warns
    for page, smiles in zip((first, second), new, strict=True):
        assert "Draft for an expert, not a regulatory statement" in page
        assert smiles in page
        assert '<h1 dir="auto">Prediction of Ames_test for' in page
        assert '<p dir="auto">Ames_test: ' in page
        assert '<p dir="auto">The rules are 29 toxicophores of bacterial mutagenicity' in page
        assert "Nearest known cases" in page
    assert ">CCCCCCO<" in second  # as standardised


def test_the_positive_class_need_not_be_the_last_in_the_alphabet(folder, tmp_path):
    rows = [f"{text},{'non-' * (text[-1] != 'O')}mutagen" for text in SMILES]
    (tmp_path / "words.csv").write_text("\n".join(["smiles,Ames", *rows, ""]))
    done = run("fit", tmp_path / "words.csv", "--out", tmp_path / "model", "--head", "linear")
    assert "2 classes of Ames: mutagen (24), non-mutagen (36)" in done.stdout
    best = run("predict", tmp_path / "model", *SMILES[:4], "--top", 1, "--dossier", tmp_path / "pages")
    assert [row["predicted"] for row in rows_of(best)] == ["mutagen"]
    page = next((tmp_path / "pages").iterdir()).read_text()
    assert "Class mutagen is taken as positive" in page
    assert "CONFLICT" in page  # an alcohol is positive here, and no rule warns


def test_rules_of_mutagenicity_are_in_no_conflict_with_a_model_of_something_else(folder, tmp_path):
    done = run("predict", folder / "classes-model", "CCCCCCO", "--dossier", tmp_path / "pages")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "pages" / "0.html").read_text()
    assert "The model predicts y, so they are no second opinion on it. No rule warns; " in page
    assert "CONFLICT" not in page


def test_dossiers_are_those_of_the_rows_that_are_written(folder, tmp_path):
    """Not of rows that are no molecules, nor of rows that --top leaves out."""
    model = folder / "classes-model"
    done = run("predict", model, "CCCO", "C1CC", "CCCN", "CCCC#N", "--dossier", tmp_path / "all")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "all").iterdir()) == ["0.html", "2.html", "3.html"]
    assert "1 of 4 rows have a problem" in done.stderr
    assert "CCCN" in (tmp_path / "all" / "2.html").read_text()
    out = tmp_path / "best.csv"
    best = run("predict", model, "C1CC", "CCCN", "CCCO", "--top", 1, "--out", out, "--dossier", tmp_path / "best")
    assert best.returncode == 0, best.stderr
    assert [path.name for path in (tmp_path / "best").iterdir()] == ["2.html"]
    again = run("predict", model, "CCCN", "--out", out, "--resume", "--dossier", tmp_path / "none")
    assert again.returncode == 2
    assert "choose another --out" in again.stderr


def test_a_dossier_that_fails_leaves_no_folder(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("isonn.report.dossier.Dossier.to_html", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError, match="division"):
        run("predict", folder / "classes-model", "CCCO", "--dossier", tmp_path / "pages")
    assert list(tmp_path.iterdir()) == []


def test_a_dossier_without_about_says_what_is_missing(folder, tmp_path):
    done = run("dossier", folder / "classes-model", folder / "classes.csv", "--out", tmp_path / "dossier.json")
    assert done.returncode == 0, done.stderr
    told = re.search(r"(\d+) entries are to be written by you; give them with --about \((.*)\)", done.stderr)
    keys = told[2].split(", ")
    assert int(told[1]) == len(keys)
    (tmp_path / "about.toml").write_text("".join(f'{key} = "said"\n' for key in keys[1:]))
    out = ("--about", tmp_path / "about.toml", "--out", tmp_path / "again.json")
    again = run("dossier", folder / "classes-model", folder / "classes.csv", *out)
    assert f"1 entry is to be written by you; add them to {tmp_path / 'about.toml'} ({keys[0]})" in again.stderr
    stored = json.loads((tmp_path / "dossier.json").read_text())
    assert {"fit", "grouped"} <= set(stored["validations"])
    headings = [entry["heading"] for chapter in stored["chapters"] for entry in chapter["entries"]]
    assert "8.3 Structural alerts" in headings


@pytest.mark.parametrize(
    ("name", "cell", "options"),
    [("classes", "n.d.", ("--values", "n.d.=")), ("numbers", ">100", ()), ("numbers", "", ())],
)
def test_rows_without_a_value_are_in_no_set_of_a_dossier(folder, tmp_path, name, cell, options):
    """Three new molecules and a repeat, none of them measured."""
    (tmp_path / "more.csv").write_text(
        (folder / f"{name}.csv").read_text()
        + "".join(f"{smiles},{cell}\n" for smiles in ("CC[Si](C)C", "CCSCCS", "CP", SMILES[0]))
    )
    stored = []
    for data, more in ((folder / f"{name}.csv", ()), (tmp_path / "more.csv", options)):
        out = tmp_path / f"{data.stem}.json"
        done = run("dossier", folder / f"{name}-model", data, "--target", "y", *more, "--out", out)
        assert done.returncode == 0, done.stderr
        stored.append(json.loads(out.read_text()))
    assert "external" not in stored[1]["validations"]
    assert stored[1]["validations"] == stored[0]["validations"]


@pytest.mark.parametrize(
    ("about", "words"),
    [("title = 3", "write it as text"), ("title", "is not a TOML file"), ('x = "y"', "is unknown; use title")],
)
def test_a_bad_about_is_one_sentence(folder, tmp_path, about, words):
    (tmp_path / "about.toml").write_text(about)
    out = ("--out", tmp_path / "d.html", "--about", tmp_path / "about.toml")
    done = run("dossier", folder / "classes-model", folder / "classes.csv", *out)
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
