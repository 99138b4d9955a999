"""Results on disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from isonn.errors import InputError
from isonn.experiments.run import Task
from isonn.experiments.store import FORMAT, Store

TASKS = [Task("A", "size", {}, "paper", fold, 0, "d") for fold in range(3)]


def result_of(task: Task) -> dict[str, Any]:
    return {
        "id": task.id,
        "task": {"fold": task.fold},
        "metrics": {"accuracy": 1.0, "f1": 1 / 3},
        "timings": {"fit_seconds": 0.1},
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


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: b"",
        lambda text: b"\xff\xfe" + text,
        lambda text: b"[1, 2]",
        lambda text: text.replace(b"predictions", b"predicted"),
        lambda text: text.replace(TASKS[0].id.encode(), TASKS[1].id.encode()),
    ],
    ids=["cut", "empty", "not text", "not a result", "part missing", "of another task"],
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
