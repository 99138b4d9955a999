"""`isonn evaluate` from the outside."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner, Result

from isonn.cli.evaluate import evaluate
from isonn.errors import DatasetError, InputError, IsoNNWarning
from isonn.experiments.jobs import plan
from isonn.experiments.run import execute
from isonn.experiments.spec import load_spec
from isonn.experiments.store import Store
from isonn.experiments.study import stored_rows
from isonn.graphs import planted_motifs

app = typer.Typer()
app.command()(evaluate)
METHODS = "majority,size"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset in a file: 36 graphs, two classes, with released folds."""
    graphs = planted_motifs(n_graphs=36, n_nodes=(8, 12), seed=0).graphs
    file = tmp_path_factory.mktemp("data") / "planted.npz"
    np.savez(file, adjacency=graphs.dense(), labels=graphs.y, fold=np.arange(36) % 4)
    return file


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def untimed(folder: Path) -> dict[str, Any]:
    """Every result in a folder, without timings; the summary too."""
    kept = {}
    for file in sorted((folder / "jobs").iterdir()):
        # without the commit as well: someone may commit while tests run
        kept[file.name] = {**json.loads(file.read_text()), "timings": None, "commit": None, "sha256": None}
    summary = json.loads((folder / "results.json").read_text())
    for row in summary["rows"]:
        row["fit_seconds"] = None
        row["sources"] = sum(row["sources"].values())
    return {**kept, "summary": summary}


def test_a_run_is_told_and_the_next_one_runs_only_what_is_new(data: Path, tmp_path: Path, monkeypatch) -> None:
    out = tmp_path / "out"
    command = (data, "--protocol", "paper", "--jobs", 1, "--out", out)
    first = run(*command, "--methods", "majority", "--seeds", 2)
    assert (first.exit_code, first.stderr) == (0, "")
    assert "planted: 36 graphs of 12 nodes, 2 classes (18 / 18)" in first.stdout
    assert "mean ± sd over 2 seeds. Protocol paper: classes balanced" in first.stdout
    assert str(out / "results.json") in first.stdout
    row = r"^majority +2 +50\.0 ± 0\.0 +50\.0, 50\.0 +0\.0 ± 0\.0 +0\.0 +0\.\d+$"
    assert re.search(row, first.stdout, re.MULTILINE)
    before = {file: file.stat().st_mtime_ns for file in (out / "jobs").iterdir()}
    with monkeypatch.context() as patch:
        patch.setattr("isonn.experiments.run.run_job", None)  # calling it would fail
        again = run(*command, "--methods", "majority", "--seeds", 2)
    assert (again.exit_code, again.output) == (0, first.output)
    more = run(*command, "--methods", METHODS, "--seeds", 3, "--json")
    after = {file: file.stat().st_mtime_ns for file in (out / "jobs").iterdir()}
    assert (len(before), len(after)) == (2 * 3, 2 * 3 * 3)
    assert before.items() <= after.items()
    summary = json.loads(more.stdout)
    assert summary == json.loads((out / "results.json").read_text())
    assert [row["method"] for row in summary["rows"]] == ["majority", "size"]
    assert summary["rows"][0]["accuracy"]["by_seed"] == {"0": 50.0, "1": 50.0, "2": 50.0}
    assert summary["dataset"]["graphs"] == 36


def test_released_folds_reach_the_jobs(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = run(data, "--methods", "majority", "--protocol", "released", "--seeds", 1, "--jobs", 1, "--out", out)
    assert result.exit_code == 0, result.output
    tested = [json.loads(file.read_text())["test"] for file in (out / "jobs").iterdir()]
    assert sorted(tested) == [list(range(fold, 36, 4)) for fold in range(4)]


def test_a_quick_look_under_the_fair_protocol_says_that_it_is_one(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = (data, "--methods", "edges,size", "--protocol", "fair", "--seeds", 1, "--jobs", 1, "--out", out)
    result = run(*command)
    assert result.exit_code == 0, result.output
    assert "A quick look only: the fair protocol needs at least 5 seeds, got 1." in result.stdout
    assert "edges (chosen from 3)" in (out / "results.md").read_text()
    results = [json.loads(file.read_text()) for file in (out / "jobs").iterdir()]
    assert {len(found.get("inner", [])) for found in results} == {0, 3}
    assert (out / "results.md").is_file()


def test_a_setting_from_the_command_line_is_not_chosen(data: Path, tmp_path: Path) -> None:
    command = (data, "--methods", "isonn", "--protocol", "fair", "--seeds", 1, "--jobs", 1, "--out", tmp_path / "out")
    result = run(*command, "--set", "k=2", "--set", "c=1", "--set", "epochs=1", "--set", "normalize=relative", "--json")
    assert result.exit_code == 0, result.output
    (row,) = json.loads(result.stdout)["rows"]
    assert (row["settings"], row["candidates"]) == ({"k": 2, "c": 1, "epochs": 1, "normalize": "relative"}, 0)


def test_a_setting_is_given_to_every_method_that_takes_it(data: Path, tmp_path: Path) -> None:
    methods = "isonn-subgraph-linear,edges,isonn-fast,size"
    command = (data, "--methods", methods, "--protocol", "paper", "--jobs", 1, "--out", tmp_path / "out", "--json")
    rows = rows_of(run(*command, "--set", "max_nodes=2", "--set", "alpha=2", "--set", "layers=[[2,1]]"))
    own = [{"max_nodes": 2}, {"alpha": 2}, {"layers": [[2, 1]], "matching": "fast"}, {}]
    for row, settings in zip(rows, own, strict=True):
        assert settings.items() <= row["settings"].items()
        assert not {"k", "c"} & row["settings"].keys()
        assert row["finished"] == row["jobs"] == 3


def test_results_go_to_runs_when_no_folder_is_named(data: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(data, "--methods", "majority", "--seeds", 1, "--jobs", 1).exit_code == 0
    assert (tmp_path / "runs" / "planted-fair" / "results.json").is_file()


def test_a_method_that_fails_says_why_and_the_exit_code_is_one(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: object, graphs: object, targets: object) -> None:
        raise InputError("these graphs are too round")

    monkeypatch.setattr("isonn.baselines.GraphSizeClassifier._fit", fail)
    command = (data, "--methods", "size,majority", "--protocol", "paper", "--jobs", 1, "--out", tmp_path / "out")
    result = run(*command)
    assert result.exit_code == 1
    assert "size failed in 3 of 3 jobs: these graphs are too round" in result.stdout
    assert "majority" in result.stdout
    shown = json.loads(run(*command, "--json").stdout)["rows"]
    assert [(row["finished"], len(row["errors"])) for row in shown] == [(0, 1), (3, 0)]


def test_a_method_that_cannot_apply_is_left_out_with_its_reason(data: Path, tmp_path: Path) -> None:
    command = (data, "--methods", "majority,gin-labels", "--seeds", 1, "--jobs", 1, "--out", tmp_path / "out")
    result = run(*command)
    assert result.exit_code == 0
    assert "gin-labels is left out: planted has no node labels" in result.stdout
    shown = json.loads(run(*command, "--json").stdout)
    assert [row["method"] for row in shown["rows"]] == ["majority"]
    assert list(shown["left_out"]) == ["gin-labels"]
    alone = run(data, "--methods", "gin-labels", "--out", tmp_path / "other")
    assert isinstance(alone.exception, InputError)
    assert "no node labels" in str(alone.exception)


def test_a_damaged_result_is_named_and_run_again(data: Path, tmp_path: Path) -> None:
    command = (data, "--methods", METHODS, "--seeds", 1, "--jobs", 1, "--out", tmp_path / "out")
    first = run(*command)
    before = untimed(tmp_path / "out")
    file = min((tmp_path / "out" / "jobs").iterdir())
    file.write_text(file.read_text()[:50])
    again = run(*command)
    assert (again.exit_code, again.stderr.count("\n")) == (0, 1)
    assert f"kept as {file}.corrupt and its job runs again" in again.stderr
    Path(f"{file}.corrupt").unlink()
    assert untimed(tmp_path / "out") == before
    assert first.stderr == ""


def rows_of(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)["rows"]


def test_numbers_are_compared_by_their_error(tmp_path: Path) -> None:
    graphs = planted_motifs(n_graphs=40, n_nodes=(6, 12), seed=1).graphs
    file = tmp_path / "sizes.npz"
    np.savez(file, adjacency=graphs.dense(), labels=graphs.dense().sum((1, 2)) / 7)
    command = (file, "--methods", "size,majority,wl-svm", "--jobs", 1, "--out", tmp_path / "out")
    shown = run(*command)
    assert "sizes: 40 graphs of 12 nodes, numbers to predict" in shown.stdout
    assert "wl-svm is left out: wl-svm predicts classes, not numbers." in shown.stdout
    size, majority = rows_of(run(*command, "--json"))
    assert list(size["metrics"]) == ["rmse", "mae", "r2", "pearson", "spearman"]
    assert size["metrics"]["rmse"]["mean"] < 0.1 * majority["metrics"]["rmse"]["mean"]
    assert size["flip_rate"] is None
    assert "measurements, not classes; leave --classes out" in str(run(*command, "--classes").exception)
    whole = tmp_path / "whole.npz"
    np.savez(whole, adjacency=graphs.dense(), labels=graphs.dense().sum((1, 2)))
    (row,) = rows_of(run(whole, "--numbers", "--methods", "size", "--jobs", 1, "--out", tmp_path / "w", "--json"))
    assert row["metrics"]["r2"]["mean"] > 0.9


def test_several_targets_with_gaps_have_a_row_each_and_a_mean(tmp_path: Path) -> None:
    graphs = planted_motifs(n_graphs=60, n_nodes=(6, 12), seed=1).graphs
    y = np.column_stack([graphs.y, 1 - graphs.y]).astype(float)
    y[::7, 1] = np.nan
    sets = [graphs.with_y(y), graphs.with_y(y)]
    jobs = plan(sets[0], ["majority", "size"], {}, "random", 1)
    store = Store(tmp_path)
    list(execute(jobs, {graphs.name: sets[0]}, store))
    rows = stored_rows(jobs, store, load_spec("table"))
    assert [(row.target, row.method) for row in rows] == [
        (target, method) for target in ("0", "1", "(mean)") for method in ("majority", "size")
    ]
    first, second, mean = (row.metrics["accuracy"].mean for row in rows if row.method == "size")
    assert mean == pytest.approx((first + second) / 2)


def test_a_column_names_the_folds_and_groups_stay_together(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    parts = ["train"] * 30 + ["test"] * 18
    lines = [f"{'C' * (i + 1)}{'NO'[i % 2]},{i % 2},{parts[i]},s{i % 3}" for i in range(48)]
    file = tmp_path / "molecules.csv"
    file.write_text("\n".join(["smiles,toxic,part,site", *lines]))
    common = (file, "--target", "toxic", "--methods", "size,majority", "--jobs", 1, "--json")
    rows = rows_of(run(*common, "--split", "part", "--out", tmp_path / "part"))
    assert [row["jobs"] for row in rows] == [1, 1]
    (result, *_) = [json.loads(file.read_text()) for file in (tmp_path / "part" / "jobs").iterdir()]
    assert result["test"] == list(range(30, 48))
    for options in (("--group", "site"), ("--protocol", "random", "--group", "site"), ("--split", "site")):
        out = tmp_path / "-".join(options)
        assert {row["jobs"] for row in rows_of(run(*common, *options, "--out", out))} == {3}
        if "--group" in options:
            assert "each value of site in one fold" in (out / "results.md").read_text()
        for found in (json.loads(file.read_text()) for file in (out / "jobs").iterdir()):
            assert len({number % 3 for number in found["test"]}) == 1
    head = "smiles,toxic,part,site"
    (tmp_path / "a.csv").write_text("\n".join([head, *lines[:30]]))
    (tmp_path / "b.csv").write_text("\n".join([head, *lines[30:]]))
    apart = rows_of(run(tmp_path / "a.csv", "--test", tmp_path / "b.csv", *common[1:], "--out", tmp_path / "apart"))
    assert [row["metrics"]["auroc"]["mean"] for row in apart] == [row["metrics"]["auroc"]["mean"] for row in rows]
    with pytest.warns(IsoNNWarning, match=r"30 of 30 graphs of a equal graphs of a, so every score is too high"):
        run(tmp_path / "a.csv", "--test", tmp_path / "a.csv", *common[1:], "--out", tmp_path / "same")
    drawn = rows_of(run(*common, "--protocol", "random", "--out", tmp_path / "random"))
    assert next(iter(drawn[0]["metrics"])) == "auroc"


def test_permutations_give_a_p_value(data: Path, tmp_path: Path) -> None:
    command = (data, "--methods", "degrees,majority", "--protocol", "paper", "--permutations", 19, "--jobs", 1)
    degrees, majority = rows_of(run(*command, "--out", tmp_path / "out", "--json"))
    assert degrees["permutation_p"] == pytest.approx(0.05)  # none of 19 does as well
    assert majority["permutation_p"] is None  # it does not look at the graphs
    assert set(degrees["permutation_ps"]) == set(degrees["metrics"])
    assert "p perm." in run(*command, "--out", tmp_path / "out").stdout


@pytest.mark.parametrize(
    ("options", "error", "complaint"),
    [
        (["--methods", "magic"], InputError, "no method 'magic'"),
        (["--protocol", "unfair"], InputError, "no protocol 'unfair'"),
        (["--seeds", 0], InputError, "seeds must be at least 1, got 0"),
        (["--jobs", 0], InputError, "--jobs must be at least 1, got 0"),
        (["--methods", "isonn", "--set", "k=0"], InputError, "k=0 is not a number of nodes"),
        (["--methods", "isonn", "--set", "k=99"], InputError, "k=99"),
        (["--set", "layers=[[2,3]]", "--set", "k=3"], InputError, "layers replaces k and c"),
        (["--methods", "isonn", "--set", "layers=[[2,40]]"], InputError, "k=40"),
        (["--methods", "isonn", "--set", "normalize=rows"], InputError, "normalize='rows' is unknown"),
        (
            ["--methods", "isonn-fast", "--set", "matching=exact"],
            InputError,
            "no method of isonn-fast takes the setting matching; they take batch_size, c, ",
        ),
        (
            ["--methods", "isonn-deep-relative", "--set", "normalize=positions"],
            InputError,
            "no method of isonn-deep-relative takes the setting normalize",
        ),
        (["--methods", "size", "--set", "epochs=3"], InputError, "no method of size takes the setting epochs; they"),
        (["--set", "k=3"], InputError, "no method of isonn-subgraph, .* takes the setting k; they take "),
        (["--methods", "isonn-subgraph-linear", "--set", "head=trees"], InputError, "takes the setting head"),
        (["--split", "random", "--protocol", "fair"], InputError, "--protocol and --split both set the folds"),
        (["--split", "site"], InputError, "planted has no column 'site'; its columns are: "),
        (["--group", "site"], InputError, "planted has no column 'site'"),
        (["--group", "site", "--protocol", "paper"], InputError, "--group cannot change the folds of paper"),
        (["--split", "scaffold"], InputError, "planted has no column 'scaffold'; use --protocol scaffold"),
        (["--protocol", "scaffold"], InputError, "planted holds no molecules"),
        (["no/such/file.npz"], DatasetError, "no dataset and no file"),
    ],
)
def test_bad_input_is_refused_before_anything_is_written(
    options: list[object], error: type[Exception], complaint: str, data: Path, tmp_path: Path
) -> None:
    arguments = options if options[0] == "no/such/file.npz" else [data, *options]
    with pytest.raises(error, match=complaint):
        CliRunner().invoke(
            app, [*map(str, arguments), "--out", str(tmp_path / "out")], catch_exceptions=False, standalone_mode=False
        )
    assert not (tmp_path / "out").exists()


def start(*arguments: object) -> subprocess.Popen[str]:
    """The command in a process group of its own, as a terminal starts it."""
    code = "import typer; from isonn.cli.evaluate import evaluate; app = typer.Typer(); app.command()(evaluate); app()"
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for_results(process: subprocess.Popen[str], out: Path, number: int) -> None:
    deadline = time.monotonic() + 60
    while len(list((out / "jobs").glob("*.json")) if out.exists() else []) < number:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "no result within a minute"
        time.sleep(0.005)


LONG = ("--methods", METHODS, "--protocol", "paper", "--seeds", 12)
LONG_JOBS = 2 * 12 * 3


@pytest.fixture(scope="module")
def unstopped(data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a long run leaves that nothing stopped."""
    out = tmp_path_factory.mktemp("unstopped") / "out"
    assert run(data, *LONG, "--jobs", 1, "--out", out).exit_code == 0
    return untimed(out)


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_says_what_is_kept_and_going_on_ends_like_an_unstopped_run(
    jobs: int, data: Path, tmp_path: Path, unstopped: dict[str, Any]
) -> None:
    out = tmp_path / "out"
    process = start(data, *LONG, "--jobs", jobs, "--out", out)
    wait_for_results(process, out, 2)
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=30)
    kept = len(list((out / "jobs").iterdir()))
    assert process.returncode == 130
    assert stderr == (
        f"Stopped: {kept} of {LONG_JOBS} jobs are finished and kept in {out}; run the same command again to continue.\n"
    )
    assert 2 <= kept < LONG_JOBS
    assert run(data, *LONG, "--jobs", 1, "--out", out).exit_code == 0
    assert untimed(out) == unstopped


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
def test_killed_and_finished_equals_never_killed(data: Path, tmp_path: Path, unstopped: dict[str, Any]) -> None:
    out = tmp_path / "out"
    process = start(data, *LONG, "--jobs", 1, "--out", out)
    wait_for_results(process, out, 20)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=30)
    assert len(list((out / "jobs").glob("*.json"))) < LONG_JOBS
    assert run(data, *LONG, "--jobs", 1, "--out", out).exit_code == 0
    for leftover in (out / "jobs").glob(".*"):  # a file that was being written
        leftover.unlink()
    assert untimed(out) == unstopped
