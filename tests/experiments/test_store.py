"""Results on disk."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from isonn.errors import InputError, IsoNNError
from isonn.experiments.jobs import Task
from isonn.experiments.store import FORMAT, Store, failure

TASKS = [Task("A", "size", {}, "paper", fold, 0, "d") for fold in range(3)]


def result_of(task: Task) -> dict[str, Any]:
    return {
        "id": task.id,
        "task": {"fold": task.fold},
        "metrics": {"accuracy": 1.0, "f1": 1 / 3},
        "timings": {"fit_seconds": 0.1},
        "n_train": 2,
        "n_test": 1,
        "predictions": ["ä", 1],
    }


def test_what_is_put_is_got_by_another_store_on_the_same_folder(tmp_path: Path) -> None:
    Store(tmp_path / "new" / "s").put(result_of(TASKS[1]))
    again = Store(tmp_path / "new" / "s")
    assert again.get(TASKS[1]) == result_of(TASKS[1])
    assert again.missing(TASKS) == [TASKS[0], TASKS[2]]


def test_stores_are_merged_by_copying_files(tmp_path: Path) -> None:
    one, other = Store(tmp_path / "1"), Store(tmp_path / "2")
    one.put(result_of(TASKS[0]))
    other.put(result_of(TASKS[1]))
    for file in (other.folder / "tasks").iterdir():
        (one.folder / "tasks" / file.name).write_bytes(file.read_bytes())
    assert one.missing(TASKS) == [TASKS[2]]


def test_a_copied_store_is_a_store_and_files_of_others_do_not_matter(tmp_path: Path) -> None:
    Store(tmp_path / "1").put(result_of(TASKS[0]))
    shutil.copytree(tmp_path / "1", tmp_path / "2")
    for name in ("notes.txt", "backup.json", f".{TASKS[1].id}.json.x8f3", f"{TASKS[2].id}.json~"):
        (tmp_path / "2" / "tasks" / name).write_text("{")
    store = Store(tmp_path / "2")
    assert store.missing(TASKS) == TASKS[1:]
    assert store.set_aside == []
    assert (tmp_path / "2" / "tasks" / "backup.json").read_text() == "{"


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
        lambda text: text.replace(TASKS[0].id.encode(), TASKS[1].id.encode()),
    ],
    ids=["cut", "empty", "not text", "not a result", "part missing", "no accuracy", "no number", "of another task"],
)
def test_a_damaged_file_is_set_aside_and_its_task_missing(damage: Any, tmp_path: Path) -> None:
    store = Store(tmp_path / "s")
    store.put(result_of(TASKS[0]))
    (file,) = (tmp_path / "s" / "tasks").iterdir()
    damaged = damage(file.read_bytes())
    file.write_bytes(damaged)
    assert store.missing(TASKS[:1]) == TASKS[:1]
    (aside,) = store.set_aside
    assert (aside.name, aside.read_bytes()) == (f"{TASKS[0].id}.json.corrupt", damaged)
    store.put(result_of(TASKS[0]))
    assert store.missing(TASKS[:1]) == []


def test_a_failed_task_is_missing_and_its_error_goes_when_it_succeeds(tmp_path: Path) -> None:
    store = Store(tmp_path / "s")
    store.put_error({"id": TASKS[0].id, "task": {}, "error": "no such thing; try another"})
    assert store.error(TASKS[0]) == "no such thing; try another"
    assert store.missing(TASKS) == TASKS
    store.put(result_of(TASKS[0]))
    assert store.error(TASKS[0]) is None


def test_a_write_that_fails_leaves_no_file(tmp_path: Path) -> None:
    store = Store(tmp_path / "s")
    with pytest.raises(TypeError, match="not JSON serializable"):
        store.put({**result_of(TASKS[0]), "predictions": object()})
    assert list((tmp_path / "s" / "tasks").iterdir()) == []


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
    assert Store(tmp_path).missing(TASKS) == TASKS
    assert json.loads((tmp_path / "run.json").read_text())["format"] == FORMAT


def test_a_store_of_another_format_is_refused(tmp_path: Path) -> None:
    Store(tmp_path)
    about = json.loads((tmp_path / "run.json").read_text())
    (tmp_path / "run.json").write_text(json.dumps({**about, "format": FORMAT + 1, "isonn": "9.1"}))
    with pytest.raises(InputError, match=rf"written by isonn 9\.1 in format {FORMAT + 1}, and this is isonn"):
        Store(tmp_path)


def test_a_folder_whose_maker_was_killed_becomes_a_store(tmp_path: Path) -> None:
    (tmp_path / ".run.json.k3j9").write_text('{"ki')  # what is there between mkdir and the renaming
    assert Store(tmp_path).missing(TASKS) == TASKS


def test_a_sound_result_is_not_lost_to_a_process_that_saw_it_damaged(tmp_path: Path, monkeypatch) -> None:
    store, other = Store(tmp_path), Store(tmp_path)
    store.put(result_of(TASKS[0]))
    path = tmp_path / "tasks" / f"{TASKS[0].id}.json"
    sound = path.read_bytes()
    path.write_bytes(b"{")
    replace = Path.replace

    def after_the_other(self: Path, target: Path) -> Path:
        monkeypatch.undo()
        assert other.missing(TASKS[:1]) == TASKS[:1]
        other.put(result_of(TASKS[0]))
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", after_the_other)
    assert store.get(TASKS[0]) == result_of(TASKS[0])
    assert path.read_bytes() == sound
    assert (len(store.set_aside), len(other.set_aside)) == (0, 1)


def test_a_damaged_file_another_process_has_just_set_aside_is_no_error(tmp_path: Path, monkeypatch) -> None:
    store = Store(tmp_path)
    path = tmp_path / "tasks" / f"{TASKS[0].id}.json"
    path.write_bytes(b"{")
    replace = Path.replace

    def after_the_other(self: Path, target: Path) -> Path:
        replace(self, target)
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", after_the_other)
    assert store.missing(TASKS[:1]) == TASKS[:1]
    assert store.set_aside == []


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES])
def test_a_full_disk_or_a_missing_permission_is_a_sentence_and_leaves_no_half_file(
    number, tmp_path, monkeypatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    store = Store(tmp_path / "s")
    monkeypatch.setattr(os, "fsync", refuse)
    for put in (lambda: store.put(result_of(TASKS[0])), lambda: store.put_error(failure(TASKS[0], "why"))):
        with pytest.raises(
            IsoNNError, match=rf"results cannot be kept in .*s \({os.strerror(number)}\); finished tasks"
        ):
            put()
    assert list((tmp_path / "s" / "tasks").iterdir()) == []
    with pytest.raises(InputError, match=rf"results cannot be kept in .*new \({os.strerror(number)}\); choose another"):
        Store(tmp_path / "new")
    monkeypatch.setattr(Path, "read_text", refuse)
    with pytest.raises(IsoNNError, match=r"results cannot be read in"):
        store.get(TASKS[0])


#: Several processes make one store and run the same tasks, one of which has a damaged result, all at the same time.
RACE = """
import os, sys, time, traceback
from isonn.graphs import planted_motifs
from isonn.experiments.run import execute
from isonn.experiments.jobs import plan, run_task
from isonn.experiments.store import Store

graphs = planted_motifs(n_graphs=30, n_nodes=(8, 12), seed=0).graphs
tasks = plan(graphs, ["degrees", "size"], {}, "paper", seeds=1)
run_task(tasks[0], graphs)
for round in range(8):
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
                path = os.path.join(folder, "tasks", tasks[0].id + ".json")
                if not os.path.exists(path):
                    open(path, "w").close()
                time.sleep(0.002)
                list(execute(store.missing(tasks), {graphs.name: graphs}, store))
                assert store.missing(tasks) == []
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0], round
    assert Store(folder).missing(tasks) == []
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_processes_that_race_on_one_store_all_end_well_and_lose_nothing(tmp_path: Path) -> None:
    run = subprocess.run([sys.executable, "-c", RACE, str(tmp_path)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert not list(tmp_path.rglob(".*.json.*"))  # no temporary file is left behind
