"""Screening: every row of any file comes back once, in order, whatever happens on the way."""

from __future__ import annotations

import contextlib
import csv
import gzip
import importlib
import io
import json
import random
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.metrics import f1_score, roc_auc_score
from tests_commands import refused, run

import isonn
from isonn.errors import InputError
from isonn.screening import Best, screen
from isonn.screening import run as screening
from isonn.screening.partial import Partial, partial_folder
from isonn.screening.predictions import read_truth
from isonn.targets import Classes, Labels, Numbers

pytest.importorskip("rdkit")

SMILES = [f"{'C' * (1 + i % 7)}{end}" for i in range(12) for end in ("O", "N", "C(=O)O", "c1ccccc1", "Cl", "C=C")]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("screen") / "model"
    clf = isonn.SubgraphClassifier(2, head="linear", random_state=0)
    clf.fit(SMILES, [int("O" in smiles) for smiles in SMILES]).save(folder)
    return folder


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(importlib.import_module("isonn.graphs.stream"), "AT_ONCE", 10)


@pytest.fixture
def table(tmp_path):
    """A CSV file with columns that need quotes, a row that is no molecule, and 72 that are."""
    path = tmp_path / "many.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["Compound ID", "structure", "note, with comma"])
        for i, smiles in enumerate([*SMILES[:30], "C1CC", *SMILES[30:]]):
            writer.writerow([f"x{i:03d}", smiles, 'two\nlines, "quoted"' if i % 5 == 0 else ""])
    return path


def rows_of(path) -> list[dict[str, str]]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", newline="") as file:
        return list(csv.DictReader(file))


def test_rows_keep_their_columns_and_get_the_models_answers(model, table, tmp_path, small_pieces):
    done = screen(model, [str(table)], tmp_path / "o.csv")
    before, after = rows_of(table), rows_of(tmp_path / "o.csv")
    assert [{name: row[name] for name in before[0]} for row in after] == before
    assert [row["graph"] for row in after] == [str(i) for i in range(73)]
    assert (done.rows, done.bad, after[30]["problem"], after[30]["predicted"]) == (73, 1, "unclosed ring", "")
    clf = isonn.load_model(model)
    good = [row for row in after if not row["problem"]]
    np.testing.assert_allclose(
        [float(row["p(1)"]) for row in good], clf.predict_proba([row["structure"] for row in good])[:, 1], atol=1e-6
    )
    assert [int(row["predicted"]) for row in good] == clf.predict([row["structure"] for row in good]).tolist()
    assert not partial_folder(tmp_path / "o.csv").exists()


def test_processes_and_the_size_of_pieces_change_nothing(model, table, tmp_path, monkeypatch):
    screen(model, [str(table)], tmp_path / "whole.csv")
    monkeypatch.setattr(importlib.import_module("isonn.graphs.stream"), "AT_ONCE", 7)
    screen(model, [str(table)], tmp_path / "pieces.csv", jobs=2)
    assert (tmp_path / "pieces.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".tsv", ".parquet", ".json", ".json.gz"])
def test_all_formats_hold_the_same_rows(model, table, tmp_path, suffix, small_pieces):
    out = tmp_path / f"o{suffix}"
    screen(model, [str(table)], out)
    if suffix == ".parquet":
        found = pytest.importorskip("pandas").read_parquet(out)
        assert found["p(1)"].dtype == np.float64
        shown = found["p(1)"].fillna(-1).tolist()
    elif ".json" in suffix:
        with gzip.open(out) if suffix.endswith(".gz") else out.open("rb") as file:
            shown = [-1 if row["p(1)"] is None else row["p(1)"] for row in json.load(file)]
    else:
        opener = gzip.open if suffix.endswith(".gz") else open
        with opener(out, "rt", newline="") as file:
            found = list(csv.DictReader(file, delimiter="\t" if suffix == ".tsv" else ","))
        assert [row["note, with comma"] for row in found] == [row["note, with comma"] for row in rows_of(table)]
        shown = [float(row["p(1)"] or -1) for row in found]
    clf = isonn.load_model(model)
    expected = clf.predict_proba(SMILES)[:, 1].round(6).tolist()
    assert shown == pytest.approx([*expected[:30], -1, *expected[30:]])


@pytest.mark.parametrize("jobs", [1, 2])
def test_one_progress_bar_counts_all_rows(model, table, tmp_path, monkeypatch, small_pieces, jobs):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    (tmp_path / "more.smi").write_text("CCO\nCCN\n")
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    screen(model, [str(table), str(tmp_path / "more.smi"), "CCC"], tmp_path / "o.csv", jobs=jobs)
    assert "76/76" in terminal.getvalue()  # cells with line breaks count once
    assert {total for _, total in re.findall(r"(\d+)/(\d+)", terminal.getvalue())} == {"76"}


def test_files_of_a_folder_and_smiles_are_read_in_order_with_their_names(model, tmp_path):
    (tmp_path / "in").mkdir()
    with gzip.open(tmp_path / "in" / "b.smi.gz", "wt") as file:
        file.write("CCO ethanol\nCCN\n")
    (tmp_path / "in" / "a.csv").write_text("smiles,weight\nCCC,44\n")
    screen(model, [str(tmp_path / "in"), "CCCl", "not/a smiles"], tmp_path / "o.csv")
    rows = rows_of(tmp_path / "o.csv")
    assert [(row["file"], row["graph"], row["smiles"], row["weight"], row["name"]) for row in rows] == [
        ("a.csv", "0", "CCC", "44", ""),
        ("b.smi.gz", "1", "CCO", "", "ethanol"),
        ("b.smi.gz", "2", "CCN", "", ""),
        ("SMILES", "3", "CCCl", "", ""),
        ("SMILES", "4", "not/a smiles", "", ""),
    ]
    assert [bool(row["problem"]) for row in rows] == [False] * 4 + [True]


def test_columns_of_the_user_that_have_a_new_columns_name_are_kept(model, tmp_path):
    (tmp_path / "a.csv").write_text("smiles,predicted,graph\nCCC,old,7\n")
    screen(model, [str(tmp_path / "a.csv")], tmp_path / "o.csv")
    (row,) = rows_of(tmp_path / "o.csv")
    assert (row["predicted (given)"], row["graph (given)"], row["graph"]) == ("old", "7", "0")


def test_sdf_files_get_a_column_of_smiles(model, tmp_path):
    from rdkit import Chem

    blocks = [f"{Chem.MolToMolBlock(Chem.MolFromSmiles(text))}> <dose>\n{i}\n\n$$$$\n" for i, text in enumerate(SMILES)]
    (tmp_path / "a.sdf").write_text("".join(blocks))
    screen(model, [str(tmp_path / "a.sdf")], tmp_path / "o.csv")
    rows = rows_of(tmp_path / "o.csv")
    assert [row["dose"] for row in rows] == [str(i) for i in range(72)]
    assert [row["smiles"] for row in rows] == [Chem.CanonSmiles(text) for text in SMILES]


def stopped_after(pieces: int, monkeypatch, *given, **options) -> list[int]:
    """Screen until some pieces are finished, and return the first row of every piece that was predicted."""
    real, begun = screening.run_piece, []

    def run_piece(task, piece):
        if len(begun) == pieces:
            raise KeyboardInterrupt
        begun.append(piece.numbers[0])
        return real(task, piece)

    with monkeypatch.context() as patch:
        patch.setattr(screening, "run_piece", run_piece)
        with contextlib.suppress(KeyboardInterrupt):
            screen(*given, **options)
    return begun


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet", ".json"])
def test_a_stopped_run_goes_on_without_a_lost_or_repeated_row(
    model, table, tmp_path, monkeypatch, small_pieces, suffix
):
    screen(model, [str(table)], tmp_path / f"expected{suffix}")
    out, begun = tmp_path / f"o{suffix}", []
    draw = random.Random(0)
    for pieces in (3, 0, 2, 1, 99):
        begun += stopped_after(pieces, monkeypatch, model, [str(table)], out)
        if not out.exists():  # as if the kill had come while the next piece was written
            assert partial_folder(out).exists()
            (partial_folder(out) / f".{len(begun):07d}.npz.abcdefgh").write_bytes(draw.randbytes(draw.randrange(200)))
    assert begun == list(range(0, 73, 10))  # no piece was predicted twice
    assert out.read_bytes() == (tmp_path / f"expected{suffix}").read_bytes()
    assert not partial_folder(out).exists()


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
def test_a_killed_command_goes_on_where_it_was(model, tmp_path):
    data, out = tmp_path / "many.smi", tmp_path / "o.csv"
    data.write_text("".join(f"{smiles} x{i}\n" for i, smiles in enumerate(SMILES * 5)))
    code = (
        "import importlib, sys, time\nimportlib.import_module('isonn.graphs.stream').AT_ONCE = 10\n"
        "from isonn.screening import run\nreal = run.Partial.append\n"
        "def append(*given):\n    time.sleep(0.05)\n    real(*given)\n"
        "run.Partial.append = append\nfrom isonn.cli import main\nmain()"
    )
    command = [sys.executable, "-c", code, "predict", str(model), str(data), "--out", str(out), "--resume"]
    draw, kills = random.Random(0), 0
    while not out.exists():
        process = subprocess.Popen([*command, "--jobs", "1"], stderr=subprocess.PIPE, text=True)
        before = len(list(partial_folder(out).glob("*.npz")))
        while process.poll() is None and kills < 2:
            if len(list(partial_folder(out).glob("*.npz"))) > before:
                time.sleep(draw.uniform(0, 0.3))
                process.send_signal(signal.SIGKILL)
                kills += 1
                break
            time.sleep(0.01)
        stderr = process.communicate(timeout=120)[1]
        assert process.returncode in (0, -signal.SIGKILL), stderr
    rows = rows_of(out)
    assert [(row["graph"], row["smiles"], row["name"]) for row in rows] == [
        (str(i), smiles, f"x{i}") for i, smiles in enumerate(SMILES * 5)
    ]
    assert kills == 2
    assert "is complete" in run("predict", model, data, "--out", out, "--resume").stderr


def test_a_stopped_run_is_neither_overwritten_nor_mixed_with_another(model, table, tmp_path, monkeypatch, small_pieces):
    out = tmp_path / "o.csv"
    stopped_after(2, monkeypatch, model, [str(table)], out)
    refused(run("predict", model, table, "--out", out), "holds the rows of a run that was stopped; --resume continues")
    with pytest.raises(InputError, match="was begun with another choice of options; give the same"):
        screen(model, [str(table)], out, extras={"reasons": [1, None]})
    table.write_text(table.read_text().replace("x000", "y000"))
    with pytest.raises(InputError, match="was begun with another data"):
        screen(model, [str(table)], out)
    refused(run("predict", model, table, "--resume"), "--resume needs --out")


def test_two_processes_cannot_write_one_file(model, table, tmp_path):
    folder = partial_folder(tmp_path / "o.csv")
    with Partial(folder, {}), pytest.raises(InputError, match="another process writes to"), Partial(folder, {}):
        pass


def test_bad_options_leave_nothing_behind(model, table, tmp_path):
    refused(run("predict", model, table, "--out", tmp_path / "o.docx"), "o.docx has no format that can be written")
    refused(run("predict", model, table, "--out", tmp_path / "o.csv", "--top", 0), "--top must be at least 1, got 0")
    refused(run("predict", model, table, "--out", tmp_path / "o.csv", "--reasons", 0), "--reasons must be at least 1")
    refused(run("predict", model, table, "--top", 2, "--label", "3"), "--label '3' is not a class of this model")
    refused(run("predict", model, table, "--smiles", "nothing"), "has no column 'nothing'")
    assert {path.name for path in tmp_path.iterdir()} == {"many.csv"}


@pytest.mark.parametrize("lowest", [False, True])
def test_top_keeps_the_best_rows_with_reasons_also_after_a_stop(
    model, table, tmp_path, monkeypatch, small_pieces, lowest
):
    screen(model, [str(table)], tmp_path / "all.csv")
    rows = [row for row in rows_of(tmp_path / "all.csv") if not row["problem"]]
    rows.sort(key=lambda row: (float(row["p(1)"]) * (1 if lowest else -1), int(row["graph"])))
    options = {"best": Best(9, lowest=lowest), "extras": {"reasons": [2, None]}}
    for pieces in (3, 99):
        stopped_after(pieces, monkeypatch, model, [str(table)], tmp_path / "best.csv", **options)
    best = rows_of(tmp_path / "best.csv")
    assert [row["p(1)"] for row in best] == [row["p(1)"] for row in rows[:9]]  # some are equal to six digits
    assert {(row["graph"], row["p(1)"]) for row in best} <= {(row["graph"], row["p(1)"]) for row in rows}
    clf = isonn.load_model(model)
    for row in best:
        reasons = clf.explain(row["structure"]).reasons
        shown = [row["reason 1"], row["reason 2"]]
        assert [bool(text) for text in shown] == [i < len(reasons) for i in range(2)]


def effects(*given) -> list[list[str]]:
    """Predict, and return what stands in the brackets of each row's reasons."""
    rows = csv.DictReader(run("predict", *given, "--reasons", 5, "--jobs", 1).stdout.splitlines())
    cells = [[row[f"reason {i}"] for i in range(1, 6)] for row in rows]
    return [[cell.rpartition("(")[2].removesuffix(")") for cell in row if cell] for row in cells]


def test_reasons_say_which_of_two_classes_they_speak_for_and_begin_with_the_predicted_one(tmp_path):
    clf = isonn.SubgraphClassifier(2, head="linear", random_state=0)
    clf.fit(SMILES, ["yes" if "=" in smiles else "no" for smiles in SMILES]).save(tmp_path / "m")
    given = ["ClCCC=CCO", "ClCCC(=O)O", "CCN"]
    for smiles, shown in zip(given, effects(tmp_path / "m", *given), strict=True):
        e, sides = clf.explain(smiles), {True: [], False: []}
        for reason in e.reasons:
            spoken = str(e.label) if reason.contribution > 0 else {"yes": "no", "no": "yes"}[str(e.label)]
            sides[reason.contribution > 0].append(f"{abs(reason.contribution):+.2f} for {spoken}")
        assert shown == sides[True] + sides[False]
    assert clf.explain(given[0]).reasons[0].contribution < 0, "the strongest reason of this one is not the first"


def test_reasons_name_the_explained_one_of_several_labels_and_columns(tmp_path):
    y = np.array([["O" in s, "N" in s] for s in SMILES])
    for estimator, values in ((isonn.SubgraphClassifier, y * 1), (isonn.SubgraphRegressor, y * 1.5)):
        graphs = isonn.as_graphset(SMILES, values, target_names=["oxygen", "nitrogen"])
        model = estimator(2, head="linear", random_state=0).fit(graphs)
        folder = tmp_path / estimator.__name__
        model.save(folder)
        (shown,) = effects(folder, "CCN")
        e = model.explain("CCN")
        explained = ["oxygen", "nitrogen"][e.column]
        assert sorted(shown) == sorted(f"{r.contribution:+.2f} for {explained}" for r in e.reasons)


def test_top_of_several_classes_needs_a_label(tmp_path):
    clf = isonn.SubgraphClassifier(1, head="linear", random_state=0)
    clf.fit(SMILES, [("acid", "amine", "other")[("N" in s) + 2 * ("c" in s)] for s in SMILES]).save(tmp_path / "m")
    refused(run("predict", tmp_path / "m", "CCO", "--top", 1), "--top ranks by one of acid, amine, other")
    shown = run("predict", tmp_path / "m", *SMILES[:6], "--top", 1, "--label", "Amine").stdout
    assert shown.splitlines()[1].split(",")[1] == "CN"


def test_metrics_are_those_of_scikit_learn(model, tmp_path, small_pieces):
    truth = [(i * 7) % 3 // 2 for i in range(len(SMILES))]
    (tmp_path / "a.csv").write_text("smiles,y\n" + "".join(f"{s},{y}\n" for s, y in zip(SMILES, truth, strict=True)))
    clf = isonn.load_model(model)
    told = run("predict", model, tmp_path / "a.csv", "--jobs", 1).stderr
    right, f1 = (clf.predict(SMILES) == truth).mean(), f1_score(truth, clf.predict(SMILES))
    auroc = roc_auc_score(truth, clf.predict_proba(SMILES)[:, 1])
    assert f"accuracy {100 * right:.1f} %, F1 {100 * f1:.1f} %, AUROC {auroc:.3f} (72 values)" in told


def test_metrics_of_numbers_leave_gaps_and_bounds_out(tmp_path, small_pieces):
    mass = np.array([len(s) / 3 for s in SMILES])
    reg = isonn.SubgraphRegressor(1, head="linear", random_state=0).fit(SMILES, mass)
    reg.save(tmp_path / "m")
    truth = mass + np.cos(np.arange(72))
    cells = [repr(y) for y in truth.tolist()]
    cells[3], cells[40] = "", ">100"
    (tmp_path / "a.csv").write_text("smiles,y\n" + "".join(f"{s},{y}\n" for s, y in zip(SMILES, cells, strict=True)))
    done = screen(tmp_path / "m", [str(tmp_path / "a.csv")], tmp_path / "o.csv")
    known = np.setdiff1d(np.arange(72), [3, 40])
    error = (reg.predict(SMILES) - truth)[known]
    ((name, count, scores),) = done.scores
    assert (name, count) == ("", 70)
    assert scores["rmse"] == pytest.approx(np.sqrt((error**2).mean()))
    assert scores["mae"] == pytest.approx(np.abs(error).mean())
    assert scores["pearson"] == pytest.approx(np.corrcoef(reg.predict(SMILES)[known], truth[known])[0, 1])
    best = screen(tmp_path / "m", [str(tmp_path / "a.csv")], tmp_path / "top.csv", best=Best(1))
    assert best.scores == done.scores
    assert rows_of(tmp_path / "top.csv")[0]["smiles"] == SMILES[int(reg.predict(SMILES).argmax())]


def test_predict_lists_the_molecules_that_standardisation_changed(model, tmp_path, monkeypatch, small_pieces):
    rows = [f"m{i},{'CCC(=O)[O-].[Na+]' if i % 12 == 5 else 'CCCC'}" for i in range(30)]
    (tmp_path / "a.csv").write_text("\n".join(["name,smiles", *rows, "bad,C("]) + "\n")
    told = run(
        "predict", model, tmp_path / "a.csv", "--out", tmp_path / "o.csv", "--changes", tmp_path / "c.csv"
    ).stderr
    assert "3 of 30 molecules are standardised: 3 without counter-ions or solvents, 3 neutralised" in told
    listed = [(row["row"], row["id"], row["standardized"], row["changes"]) for row in rows_of(tmp_path / "c.csv")]
    assert listed == [(str(i), f"m{i}", "CCC(=O)O", "fragment, charge") for i in (5, 17, 29)]
    refused(run("predict", model, "CCO", "--changes", tmp_path / "c.csv"), "exists already")
    options = {"changes": tmp_path / "again.csv.gz"}
    for pieces in (2, 99):
        stopped_after(pieces, monkeypatch, model, [str(tmp_path / "a.csv")], tmp_path / "p.csv", **options)
    assert rows_of(tmp_path / "again.csv.gz") == rows_of(tmp_path / "c.csv")


def test_predict_reads_true_values_as_fit_does(model, tmp_path):
    (tmp_path / "a.csv").write_text("smiles,y\nCCO,1\nCCC,0\nCCN,weak\nCCCl,unclear\n")
    told = run(
        "predict", model, tmp_path / "a.csv", "--target", "y", "--values", "weak=1", "--values", "unclear="
    ).stderr
    assert "(3 values)" in told
    reg = isonn.SubgraphRegressor(1, head="linear", random_state=0).fit(SMILES, [float(len(s)) for s in SMILES])
    reg.save(tmp_path / "m")
    (tmp_path / "b.csv").write_text("smiles,y\nCCO,3\nCCC,>3.5\nCCCN,~4\n")
    counted = {
        mode: run("predict", tmp_path / "m", tmp_path / "b.csv", "--censored", mode) for mode in ("drop", "bound")
    }
    assert "(2 values)" in counted["drop"].stderr
    assert "(3 values)" in counted["bound"].stderr
    refused(run("predict", tmp_path / "m", tmp_path / "b.csv", "--censored", "odd"), "--censored 'odd' is unknown")


@pytest.mark.parametrize(("column", "cell"), [("IC50 (uM)", "{}"), ("IC50", "{} uM")])
def test_the_unit_of_a_number_is_in_the_header(tmp_path, column, cell):
    rows = [f"{smiles},{cell.format(len(smiles) + 0.5)}" for smiles in dict.fromkeys(SMILES)]
    (tmp_path / "a.csv").write_text("\n".join([f"smiles,{column}", *rows]) + "\n")
    told = run("fit", tmp_path / "a.csv", "--out", tmp_path / "m", "--head", "linear", "--max-nodes", 1)
    assert told.returncode == 0, told.stderr
    result = run("predict", tmp_path / "m", tmp_path / "a.csv", "--interval", "--jobs", 1)
    unit = "uM" if column.endswith("(uM)") else "µM"
    header = f"graph,smiles,{column},predicted ({unit}),low ({unit}),high ({unit}),problem"
    assert result.stdout.splitlines()[0] == header, result.stderr
    assert f" for IC50 ({unit}) ({len(rows)} values)" in result.stderr  # the truth is found, too


def test_the_second_column_of_one_name_is_the_target_of_its_model_and_has_no_unit(tmp_path):
    data = tmp_path / "two.csv"
    data.write_text("smiles,y,y\n" + "".join(f"{text},{-len(text)},{len(text)}.5\n" for text in sorted(set(SMILES))))
    graphs = isonn.load(str(data), target="y (2)")
    clf = isonn.SubgraphRegressor(2, head="linear", random_state=0).fit(graphs)
    clf.save(tmp_path / "model")
    assert clf.explain(graphs[0]).unit == ""
    done = screen(tmp_path / "model", [str(data)], tmp_path / "o.csv")
    ((name, count, scores),) = done.scores
    assert (name, count) == ("y (2)", len(graphs))
    assert scores["mae"] == pytest.approx(np.abs(clf.predict(graphs) - graphs.y).mean())
    assert list(rows_of(tmp_path / "o.csv")[0])[:4] == ["graph", "smiles", "y", "y (2)"]


def test_true_values_are_read_as_the_model_reads_them():
    nan = float("nan")
    words, numbers = Classes(np.array(["no", "yes"])), Classes(np.array([-1, 1]))
    read, unknown = read_truth(words, ["Yes", " no ", "", "perhaps"])
    np.testing.assert_equal(read, [1, 0, nan, nan])
    assert unknown == {"perhaps": 1}
    read, unknown = read_truth(numbers, ["1", "1.0", "-1", "2", "x", "2"])
    np.testing.assert_equal(read, [1, 1, 0, nan, nan, nan])
    assert unknown == {"2": 2, "x": 1}
    labels = Labels.fit(np.array([[0, 1], [1, 0]]))
    np.testing.assert_equal(read_truth(labels, ["active", "0", "1.0", "?", 1])[0], [1, 0, 1, nan, 1])
    measurements = Numbers.fit(np.array([0.5, 1.5]))
    np.testing.assert_equal(read_truth(measurements, ["0,5", "~3 uM", ">100", "n/a"])[0], [0.5, 3, nan, nan])


def test_true_classes_that_the_model_does_not_know_are_told(model, tmp_path):
    lines = [f"{smiles},{'house' if i < 50 else int('O' in smiles)}" for i, smiles in enumerate(SMILES)]
    (tmp_path / "a.csv").write_text("\n".join(["smiles,class", *lines, ""]))
    told = run("predict", model, tmp_path / "a.csv", "--target", "class", "--out", tmp_path / "o.csv", "--jobs", 1)
    assert "(22 values)" in told.stderr
    assert "50 true values are classes that the model does not know (house), and not in these scores" in told.stderr


def test_graphs_that_are_not_tables_keep_their_classes_and_ids(mutag, tmp_path, small_pieces):
    clf = isonn.SubgraphClassifier(2, head="linear", random_state=0).fit(mutag)
    clf.save(tmp_path / "m")
    done = screen(tmp_path / "m", ["MUTAG"], tmp_path / "o.csv")
    rows = rows_of(tmp_path / "o.csv")
    assert [int(row["class"]) for row in rows] == mutag.y.tolist()
    assert [int(row["predicted"]) for row in rows] == clf.predict(mutag).tolist()
    assert "problem" not in rows[0]
    assert done.seen == 188
    assert done.scores[0][2]["accuracy"] == pytest.approx((clf.predict(mutag) == mutag.y).mean())


def test_a_dataset_with_a_column_called_problem_keeps_it(tmp_path):
    from isonn.connectomes import planted_connectomes

    study, out = tmp_path / "study", tmp_path / "o.json"
    study.mkdir()
    graphs = planted_connectomes(n_subjects=24, n_regions=6, seed=1).graphs
    for graph in graphs:
        np.save(study / f"{graph.id}.npy", graph.adjacency)
    rows = [f"{who}\t{y}\tmotion" for who, y in zip(graphs.ids, graphs.y, strict=True)]
    (study / "participants.tsv").write_text("\n".join(["participant_id\tgroup\tproblem", *rows]))
    isonn.AlignedClassifier(shuffles=9, random_state=0).fit(isonn.load(study, target="group")).save(tmp_path / "m")
    screen(tmp_path / "m", [str(study)], out, options={"target": "group"})
    assert [row["problem"] for row in json.loads(out.read_text())] == ["motion"] * 24
