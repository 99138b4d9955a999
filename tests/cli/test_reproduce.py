"""`isonn reproduce` from the outside."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner, Result

from isonn.cli.reproduce import reproduce
from isonn.errors import DatasetError, InputError
from isonn.experiments.store import Store, read_outcome
from isonn.graphs import planted_motifs

app = typer.Typer()
app.command()(reproduce)
METHODS = "isonn,size,majority"

SPEC = """
title = "A small study"
protocol = "paper"
seeds = 2
methods = ["isonn"]
[settings]
isonn = { k = 2, c = 1, epochs = 2, hidden = [4] }
[sweeps.by-k]
title = "Accuracy by k"
measure = "accuracy"
vary = "k"
values = [2, 3]
claim = "larger is better"
[sweeps.by-epoch]
title = "Loss"
measure = "loss"
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    graphs = planted_motifs(n_graphs=36, n_nodes=(8, 12), seed=0).graphs
    file = tmp_path_factory.mktemp("data") / "planted.npz"
    np.savez(file, adjacency=graphs.dense(), labels=graphs.y)
    return file


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "small.toml").write_text(SPEC)
    monkeypatch.setattr("isonn.experiments.spec.FOLDER", tmp_path)
    return "small"


@pytest.fixture(autouse=True)
def no_data_of_one_s_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "nothing"
    folder.mkdir()
    monkeypatch.setenv("ISONN_DATA", str(folder))


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_the_second_run_executes_nothing_and_leaves_the_same(
    data: Path, spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    command = (spec, "--datasets", f"{data},BP-fMRI", "--methods", "isonn", "--jobs", 1, "--out", out)
    first = run(*command)
    assert first.exit_code == 0, first.output
    before = {file.name: file.read_bytes() for file in out.iterdir() if file.is_file()}
    assert set(before) >= {"results.md", "results.json", "by-k.png", "by-k.svg", "by-epoch.svg"}
    monkeypatch.setattr("isonn.experiments.run.run_job", None)  # calling it would fail
    again = run(*command)
    assert (again.exit_code, again.output) == (0, first.output)
    assert {file.name: file.read_bytes() for file in out.iterdir() if file.is_file()} == before


def test_a_private_dataset_stays_in_the_table_with_the_papers_numbers(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = ("table", "--datasets", f"{data},BP-fMRI", "--methods", "majority,size,freq", "--seeds", 1, "--jobs", 1)
    result = run(*command, "--out", out)
    assert result.exit_code == 0, result.output
    assert "BP-fMRI: data not public" in result.stdout
    assert "56.8" in result.stdout
    assert str(tmp_path) not in (out / "results.md").read_text(), "what is published names no folder of this machine"
    summary = json.loads((out / "results.json").read_text())
    assert [(row["dataset"], row["method"], row["absent"]) for row in summary["rows"] if not row["jobs"]] == [
        ("BP-fMRI", "freq", "data not public")
    ]
    assert list(summary["absent"]) == ["BP-fMRI"]
    assert [entry["name"] for entry in summary["datasets"]] == ["planted"]


def test_a_dataset_that_fails_to_load_is_a_line_and_the_exit_code_one(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from isonn.experiments import study

    real = study.load

    def load(name: str):
        if name == "PTC":
            raise DatasetError("PTC cannot be downloaded today")
        return real(name)

    monkeypatch.setattr(study, "load", load)
    command = ("table", "--datasets", f"PTC,{data}", "--methods", "majority", "--seeds", 1, "--jobs", 1)
    result = run(*command, "--out", tmp_path / "out")
    assert result.exit_code == 1
    assert "PTC: PTC cannot be downloaded today." in result.stdout
    assert "majority" in result.stdout


def test_the_notes_on_a_narrow_terminal_explain_the_columns_it_shows(
    data: Path, spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    out = tmp_path / "out"
    shown = run(spec, "--datasets", data, "--seeds", 1, "--jobs", 1, "--out", out).stdout
    assert "flips: " in shown
    assert "epochs: " not in shown
    assert "epochs: " in (out / "results.md").read_text()


def test_json_is_what_the_file_holds(data: Path, spec: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = run(spec, "--datasets", data, "--seeds", 1, "--jobs", 1, "--out", out, "--json")
    summary = json.loads(result.stdout)
    assert summary == json.loads((out / "results.json").read_text())
    assert [(row["part"], row["settings"]["k"]) for row in summary["rows"]] == [
        ("by-k", 2),
        ("by-k", 3),
        ("by-epoch", 2),
    ]
    assert len(summary["rows"][-1]["loss"]) == 2
    assert len(list((out / "jobs").glob("*.json"))) == 2 * 3, "two figures share the jobs of k = 2"


def test_the_fair_protocol_has_five_seeds_and_a_folder_of_its_own(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("table", "--datasets", data, "--methods", METHODS.partition(",")[2], "--jobs", 1, "--protocol", "fair")
    assert result.exit_code == 0, result.output
    assert len(list((tmp_path / "runs" / "table-fair" / "jobs").iterdir())) == 2 * 5 * 10
    assert "mean ± sd over 5 seeds. Protocol fair: all graphs" in result.stdout


def test_without_matplotlib_the_numbers_are_there_and_the_extra_is_named(
    data: Path, spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run(spec, "--datasets", data, "--seeds", 1, "--jobs", 1, "--out", tmp_path / "out")
    assert result.exit_code == 0
    assert "No plots: " in result.stderr
    assert "isonn[report]" in result.stderr
    assert (tmp_path / "out" / "results.md").is_file()


@pytest.mark.parametrize(
    ("options", "error", "complaint"),
    [
        (["tabel"], InputError, "no experiment 'tabel'; known are channels"),
        (["table", "--methods", "magic"], InputError, "no method 'magic'"),
        (["table", "--protocol", "unfair"], InputError, "no protocol 'unfair'; did you mean fair"),
        (["table", "--protocol", "fair", "--seeds", 4], InputError, "at least 5 seeds, got 4; use more seeds"),
        (["table", "--seeds", 0], InputError, "seeds must be at least 1, got 0"),
        (["table", "--jobs", 0], InputError, "--jobs must be at least 1, got 0"),
        (["table", "--datasets", ","], InputError, "--datasets is empty"),
        (["table", "--datasets", "no/such.npz"], DatasetError, "no dataset and no file"),
        (["table", "--datasets", "BP-fMRI"], InputError, "human-subject data without a public download"),
    ],
)
def test_bad_input_is_refused_before_anything_is_written(
    options: list[object], error: type[Exception], complaint: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=complaint):
        CliRunner().invoke(
            app, [*map(str, options), "--out", str(tmp_path / "out")], catch_exceptions=False, standalone_mode=False
        )
    assert not (tmp_path / "out").exists()


def test_what_is_stored_is_shown_by_whole_seeds_and_nothing_is_run(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    common = ("table", "--datasets", str(data), "--jobs", "1", "--out", str(out))
    assert run(*common, "--methods", "size", "--seeds", "3").exit_code == 0
    assert run(*common, "--methods", "majority", "--seeds", "1").exit_code == 0
    third = next(
        path
        for path in (out / "jobs").glob("*.json")
        if (job := json.loads(path.read_text())["job"])["method"] == "size" and (job["seed"], job["fold"]) == (2, 1)
    )
    third.unlink()
    before = sorted(path.name for path in (out / "jobs").iterdir())
    shown = run(*common, "--methods", "size,majority,degrees", "--seeds", "3", "--stored", "--json")
    assert shown.exit_code == 0
    rows = {row["method"]: row for row in json.loads(shown.stdout)["rows"]}
    assert {name: sorted(row["accuracy"]["by_seed"]) for name, row in rows.items()} == {
        "size": ["0", "1"],
        "majority": ["0"],
    }
    assert sorted(path.name for path in (out / "jobs").iterdir()) == before
    assert "| size | 2 |" in (out / "results.md").read_text()
    assert "No finished seed on planted: degrees." in (out / "results.md").read_text()
    damaged = next((out / "jobs").glob("*.json"))
    damaged.write_text("{")
    assert f"kept as {damaged}.corrupt" in run(*common, "--methods", "size,majority", "--stored").stderr
    nothing = run(*common[:-1], str(tmp_path / "empty"), "--methods", "size", "--seeds", "1", "--stored")
    assert nothing.exit_code != 0
    assert "unpack docs/results/*.tar.gz of isonn's source repository" in str(nothing.exception or nothing.stderr)


def test_what_is_stored_needs_no_data_and_keeps_the_rows_of_methods_that_are_gone(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    run(
        "table", "--datasets", str(data), "--methods", "size,majority", "--seeds", "2", "--jobs", "1", "--out", str(out)
    )
    store = Store(out)
    for path in list(
        (out / "jobs").glob("*.json")
    ):  # as if the method had another name, and as if the set were elsewhere
        job, result = read_outcome(path)
        method = "soft-templates" if job.method == "majority" else job.method
        moved = replace(job, method=method, dataset="elsewhere")
        path.unlink()
        store.put({**{k: v for k, v in result.items() if k != "sha256"}, "id": moved.id, "job": moved.as_dict()})
    shown = run("table", "--datasets", "elsewhere", "--stored", "--seeds", "2", "--out", str(out))
    assert shown.exit_code == 0
    text = (out / "results.md").read_text()
    assert "elsewhere: stored results; the data is not here" in text
    assert "| size | 2 |" in text
    assert "| soft-templates | 2 |" in text
    assert "Rows of isonn 0.1 or 0.2, of methods that isonn no longer has: soft-templates." in text
    for path in list(
        (out / "jobs").glob("*.json")
    ):  # a newer version of both has run for one seed; versions do not mix
        job, result = read_outcome(path)
        newer = replace(job, version=2)
        if job.seed == 0:
            store.put({**{k: v for k, v in result.items() if k != "sha256"}, "id": newer.id, "job": newer.as_dict()})
    run("table", "--datasets", "elsewhere", "--stored", "--seeds", "2", "--out", str(out))
    text = (out / "results.md").read_text()
    assert "| size | 1 |" in text
    assert "| soft-templates | 1 |" in text
