"""Results on disk."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from isonn.errors import InputError, IsoNNError
from isonn.experiments.jobs import Job, plan
from isonn.experiments.methods import METHODS
from isonn.experiments.protocols import find_protocol
from isonn.experiments.spec import load_spec
from isonn.experiments.store import FORMAT, Store, failure, read_outcome
from isonn.graphs import load

JOBS = [Job("A", "size", {}, "paper", fold, 0, "d") for fold in range(3)]


def result_of(job: Job) -> dict[str, Any]:
    return {
        "id": job.id,
        "job": job.as_dict(),
        "metrics": {"accuracy": 1.0, "f1": 1 / 3},
        "timings": {"fit_seconds": 0.1},
        "n_train": 2,
        "n_test": 1,
        "test": [4],
        "predictions": ["ä"],
    }


def test_what_is_put_is_got_by_another_store_on_the_same_folder(tmp_path: Path) -> None:
    Store(tmp_path / "new" / "s").put(result_of(JOBS[1]))
    again = Store(tmp_path / "new" / "s")
    assert again.get(JOBS[1]) == result_of(JOBS[1])
    assert again.missing(JOBS) == [JOBS[0], JOBS[2]]


def test_stores_are_merged_by_copying_files(tmp_path: Path) -> None:
    one, other = Store(tmp_path / "1"), Store(tmp_path / "2")
    one.put(result_of(JOBS[0]))
    other.put(result_of(JOBS[1]))
    for file in (other.folder / "jobs").iterdir():
        (one.folder / "jobs" / file.name).write_bytes(file.read_bytes())
    assert one.missing(JOBS) == [JOBS[2]]


def test_a_copied_store_is_a_store_and_files_of_others_do_not_matter(tmp_path: Path) -> None:
    Store(tmp_path / "1").put(result_of(JOBS[0]))
    shutil.copytree(tmp_path / "1", tmp_path / "2")
    for name in ("notes.txt", "backup.json", f".{JOBS[1].id}.json.x8f3", f"{JOBS[2].id}.json~"):
        (tmp_path / "2" / "jobs" / name).write_text("{")
    store = Store(tmp_path / "2")
    assert store.missing(JOBS) == JOBS[1:]
    assert store.set_aside == []
    assert (tmp_path / "2" / "jobs" / "backup.json").read_text() == "{"


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: b"",
        lambda text: b"\xff\xfe" + text,
        lambda text: b"[1, 2]",
        lambda text: text.replace(b"predictions", b"predicted"),
        lambda text: text.replace(b"accuracy", b"exactness"),
        lambda text: text.replace(b"0.1", b'"fast"'),
        lambda text: text.replace(JOBS[0].id.encode(), JOBS[1].id.encode()),
        lambda text: text.replace(b"0.3333", b"0.3433"),
        lambda text: text.replace(b'"sha256"', b'"md5"'),
        lambda text: b"[" * 100_000,
    ],
    ids=[
        *("cut", "empty", "not text", "not a result", "part missing", "no accuracy", "no number", "of another job"),
        *("edited", "no checksum", "deep"),
    ],
)
def test_a_damaged_file_is_set_aside_and_its_job_missing(damage: Any, tmp_path: Path) -> None:
    store = Store(tmp_path / "s")
    store.put(result_of(JOBS[0]))
    (file,) = (tmp_path / "s" / "jobs").iterdir()
    damaged = damage(file.read_bytes())
    file.write_bytes(damaged)
    assert store.missing(JOBS[:1]) == JOBS[:1]
    (aside,) = store.set_aside
    assert (aside.name, aside.read_bytes()) == (f"{JOBS[0].id}.json.corrupt", damaged)
    store.put(result_of(JOBS[0]))
    assert store.missing(JOBS[:1]) == []


@pytest.mark.parametrize(
    "edit",
    [
        {"metrics": 1},
        {"metrics": {"accuracy": "high"}},
        {"timings": {}},
        {"n_test": 2},
        {"test": "4"},
        {"predictions": None},
        {"audit": []},
        {"loss": [None]},
        {"warnings": [["a"]]},
        {"chosen": [1]},
        {"versions": ["0.1.0"]},
        {"commit": 5},
        {"job": {**JOBS[0].as_dict(), "seed": 7}},
        {"job": {**JOBS[0].as_dict(), "settings": [1]}},
        {"job": 4},
        {"id": ["x"]},
    ],
    ids=lambda edit: str(edit)[:40],
)
def test_a_made_up_result_is_set_aside_although_its_checksum_fits(edit: dict[str, Any], tmp_path: Path) -> None:
    store = Store(tmp_path)
    content = {**result_of(JOBS[0]), **edit}
    path = tmp_path / "jobs" / f"{JOBS[0].id}.json"
    text = json.dumps(content, sort_keys=True)
    path.write_text(json.dumps({**content, "sha256": hashlib.sha256(text.encode()).hexdigest()}))
    with pytest.raises(InputError, match="is damaged or was edited; delete it to run its job again"):
        read_outcome(path)
    assert store.get(JOBS[0]) is None
    assert [path.name for path in store.set_aside] == [f"{path.name}.corrupt"]


ARCHIVE = Path(__file__).parents[2] / "docs" / "results" / "jobs-0.2.tar.gz"
PAPER_ROWS = ("isonn", "isonn-fast", "isonn-deep", "freq", "ae", "cnn", "sdbn", "wl", "gcn", "gin")


def test_the_stored_results_of_the_papers_rows_are_those_of_the_jobs_planned_today(tmp_path: Path) -> None:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    spec, graphs, store = load_spec("table"), load("MUTAG"), Store(tmp_path / "table")
    settings = {method: spec.settings_for("MUTAG", method) for method in PAPER_ROWS}
    jobs = plan(graphs, PAPER_ROWS, settings, "paper", seeds=5)
    assert store.missing(jobs) == []
    assert store.set_aside == []
    folds = find_protocol("paper").split(graphs, 0)
    for job in jobs[: 3 * len(PAPER_ROWS)]:
        assert store.get(job)["test"] == folds[job.fold][1].tolist()


def test_a_method_that_changed_does_not_find_its_old_results(tmp_path: Path, monkeypatch) -> None:
    graphs = load("MUTAG")
    (before, *_) = plan(graphs, ["size"], {}, "paper", seeds=1)
    monkeypatch.setitem(METHODS, "size", replace(METHODS["size"], version=2))
    (after, *_) = plan(graphs, ["size"], {}, "paper", seeds=1)
    assert (before.version, after.version) == (1, 2)
    store = Store(tmp_path)
    store.put(result_of(before))
    assert store.missing([before, after]) == [after]
    assert Job.from_dict(json.loads(json.dumps(after.as_dict()))) == after


def test_a_failed_job_is_missing_and_its_error_goes_when_it_succeeds(tmp_path: Path) -> None:
    store = Store(tmp_path / "s")
    store.put({"id": JOBS[0].id, "job": {}, "error": "no such thing; try another"})
    assert store.error(JOBS[0]) == "no such thing; try another"
    assert store.missing(JOBS) == JOBS
    store.put(result_of(JOBS[0]))
    assert store.error(JOBS[0]) is None


def test_a_write_that_fails_leaves_no_file(tmp_path: Path) -> None:
    store = Store(tmp_path / "s")
    with pytest.raises(TypeError, match="not JSON serializable"):
        store.put({**result_of(JOBS[0]), "predictions": object()})
    assert list((tmp_path / "s" / "jobs").iterdir()) == []


def test_folders_that_are_no_store_are_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match="is not empty and holds no results of isonn; choose another folder"):
        Store(tmp_path)
    with pytest.raises(InputError, match=r"results cannot be kept in .*thesis\.txt \(Not a directory\)"):
        Store(tmp_path / "thesis.txt")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "run.json").write_text('{"kind": "marathon"}')
    with pytest.raises(InputError, match=r"run\.json was not written by isonn or is damaged"):
        Store(tmp_path / "other")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["other", "run.json", "thesis.txt"]


def test_an_empty_folder_becomes_a_store(tmp_path: Path) -> None:
    assert Store(tmp_path).missing(JOBS) == JOBS
    assert json.loads((tmp_path / "run.json").read_text())["format"] == FORMAT


def test_a_store_of_another_format_is_refused(tmp_path: Path) -> None:
    Store(tmp_path)
    about = json.loads((tmp_path / "run.json").read_text())
    (tmp_path / "run.json").write_text(json.dumps({**about, "format": FORMAT + 1, "isonn": "9.1"}))
    with pytest.raises(InputError, match=rf"written by isonn 9\.1 in format {FORMAT + 1}, and this is isonn"):
        Store(tmp_path)


def test_a_folder_whose_maker_was_killed_becomes_a_store(tmp_path: Path) -> None:
    (tmp_path / ".run.json.k3j9").write_text('{"ki')  # what is there between mkdir and the renaming
    assert Store(tmp_path).missing(JOBS) == JOBS


def test_a_sound_result_is_not_lost_to_a_process_that_saw_it_damaged(tmp_path: Path, monkeypatch) -> None:
    store, other = Store(tmp_path), Store(tmp_path)
    store.put(result_of(JOBS[0]))
    path = tmp_path / "jobs" / f"{JOBS[0].id}.json"
    sound = path.read_bytes()
    path.write_bytes(b"{")
    replace = Path.replace

    def after_the_other(self: Path, target: Path) -> Path:
        monkeypatch.undo()
        assert other.missing(JOBS[:1]) == JOBS[:1]
        other.put(result_of(JOBS[0]))
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", after_the_other)
    assert store.get(JOBS[0]) == result_of(JOBS[0])
    assert path.read_bytes() == sound
    assert (len(store.set_aside), len(other.set_aside)) == (0, 1)


def test_a_damaged_file_another_process_has_just_set_aside_is_no_error(tmp_path: Path, monkeypatch) -> None:
    store = Store(tmp_path)
    path = tmp_path / "jobs" / f"{JOBS[0].id}.json"
    path.write_bytes(b"{")
    replace = Path.replace

    def after_the_other(self: Path, target: Path) -> Path:
        replace(self, target)
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", after_the_other)
    assert store.missing(JOBS[:1]) == JOBS[:1]
    assert store.set_aside == []


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES])
def test_a_full_disk_or_a_missing_permission_is_a_sentence_and_leaves_no_half_file(
    number, tmp_path, monkeypatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    store = Store(tmp_path / "s")
    monkeypatch.setattr(os, "fsync", refuse)
    for put in (lambda: store.put(result_of(JOBS[0])), lambda: store.put(failure(JOBS[0], "why"))):
        with pytest.raises(
            IsoNNError, match=rf"results cannot be kept in .*s \({os.strerror(number)}\); finished jobs"
        ):
            put()
    assert list((tmp_path / "s" / "jobs").iterdir()) == []
    with pytest.raises(InputError, match=rf"results cannot be kept in .*new \({os.strerror(number)}\); choose another"):
        Store(tmp_path / "new")
    (tmp_path / "s" / "jobs" / f"{JOBS[0].id}.json").write_text("{}")
    monkeypatch.setattr(Path, "read_text", refuse)
    with pytest.raises(IsoNNError, match=r"results cannot be read in"):
        store.get(JOBS[0])


#: Several processes make one store and run the same jobs, one of which has a damaged result, all at the same time.
RACE = """
import os, sys, time, traceback
from isonn.graphs import planted_motifs
from isonn.experiments.run import execute
from isonn.experiments.jobs import plan, run_job
from isonn.experiments.store import Store

graphs = planted_motifs(n_graphs=30, n_nodes=(8, 12), seed=0).graphs
jobs = plan(graphs, ["degrees", "size"], {}, "paper", seeds=1)
run_job(jobs[0], graphs)
for round in range(4):
    folder = os.path.join(sys.argv[1], str(round))
    start = time.monotonic() + 0.05
    children = []
    for _ in range(3):
        child = os.fork()
        if child == 0:
            try:
                while time.monotonic() < start:
                    pass
                store = Store(folder)
                path = os.path.join(folder, "jobs", jobs[0].id + ".json")
                if not os.path.exists(path):
                    open(path, "w").close()
                time.sleep(0.002)
                list(execute(store.missing(jobs), {graphs.name: graphs}, store))
                assert store.missing(jobs) == []
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0], round
    assert Store(folder).missing(jobs) == []
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_processes_that_race_on_one_store_all_end_well_and_lose_nothing(tmp_path: Path) -> None:
    run = subprocess.run([sys.executable, "-c", RACE, str(tmp_path)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert not list(tmp_path.rglob(".*.json.*"))  # no temporary file is left behind
