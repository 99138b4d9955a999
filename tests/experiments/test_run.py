"""Running tasks: any number of processes, stopped anywhere, with failures among them."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest
from joblib.externals.loky import get_reusable_executor

from isonn.errors import InputError, IsoNNError
from isonn.experiments import run as execution
from isonn.experiments.jobs import Task, plan
from isonn.experiments.run import execute
from isonn.experiments.store import Store
from isonn.graphs import GraphSet

TINY = {"isonn": {"k": 2, "c": 1, "epochs": 2, "hidden": [8]}}


@pytest.fixture(scope="module")
def tasks(graphs: GraphSet) -> list[Task]:
    return plan(graphs, ["isonn", "majority", "size"], TINY, "paper", seeds=2)


def contents(store: Store, tasks: list[Task], untimed) -> list[dict]:
    results = [store.get(task) for task in tasks]
    assert None not in results
    return [untimed(result) for result in results]


@pytest.fixture(scope="module")
def reference(graphs: GraphSet, tasks: list[Task], tmp_path_factory, untimed) -> list[dict]:
    """What an uninterrupted run in one process leaves."""
    store = Store(tmp_path_factory.mktemp("reference"))
    assert len(list(execute(tasks, {graphs.name: graphs}, store))) == len(tasks)
    return contents(store, tasks, untimed)


def test_two_processes_leave_what_one_leaves(graphs, tasks, reference, tmp_path: Path, untimed) -> None:
    store = Store(tmp_path)
    outcomes = list(execute(tasks, {graphs.name: graphs}, store, jobs=2))
    assert {outcome["id"] for outcome in outcomes} == {task.id for task in tasks}
    assert contents(store, tasks, untimed) == reference


@pytest.mark.parametrize("stop_after", [1, 5])
def test_stopping_and_going_on_leaves_what_an_unstopped_run_leaves(
    graphs, tasks, reference, stop_after: int, tmp_path: Path, untimed
) -> None:
    store = Store(tmp_path)
    running = execute(tasks, {graphs.name: graphs}, store)
    for _ in range(stop_after):
        next(running)
    running.close()
    left = store.missing(tasks)
    assert len(left) == len(tasks) - stop_after
    assert [outcome["id"] for outcome in execute(left, {graphs.name: graphs}, store)] == [task.id for task in left]
    assert contents(store, tasks, untimed) == reference


def test_an_interrupt_leaves_finished_tasks_and_no_half_ones(graphs, tasks, tmp_path: Path, monkeypatch) -> None:
    calls = []

    def interrupted_at_the_fourth(task: Task, graphs: GraphSet) -> dict:
        calls.append(task)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return run(task, graphs)

    run = execution.run_task
    monkeypatch.setattr(execution, "run_task", interrupted_at_the_fourth)
    store = Store(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        for _ in execute(tasks, {graphs.name: graphs}, store):
            pass
    assert store.missing(tasks) == tasks[3:]
    assert len(list((tmp_path / "tasks").iterdir())) == 3


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_task_that_fails_is_recorded_and_the_others_go_on(graphs, tasks, jobs: int, tmp_path: Path) -> None:
    broken = replace(tasks[0], method="degrees", settings={"bins": 0})
    store = Store(tmp_path)
    outcomes = list(execute([broken, *tasks[3:6]], {graphs.name: graphs}, store, jobs))
    assert [outcome["id"] for outcome in outcomes if "error" in outcome] == [broken.id]
    assert store.error(broken) == "bins=0 makes no histogram; use an integer >= 2"
    assert store.missing([broken, *tasks[3:6]]) == [broken]


def test_an_error_nobody_foresaw_is_recorded_in_one_line(graphs, tasks, tmp_path: Path, monkeypatch) -> None:
    def explode(task: Task, graphs: GraphSet) -> dict:
        raise ZeroDivisionError("over\n  here")

    monkeypatch.setattr(execution, "run_task", explode)
    store = Store(tmp_path)
    (outcome,) = execute(tasks[:1], {graphs.name: graphs}, store)
    assert store.error(tasks[0]) == "ZeroDivisionError: over here"
    assert "in explode" in outcome["traceback"]


def test_tasks_of_a_worker_that_died_are_run_again(graphs, tasks, tmp_path: Path, monkeypatch) -> None:
    died = tmp_path / "died"
    attempt = execution._attempt

    def die_once(task: Task, graphs: GraphSet) -> dict:
        if task.seed == 1 and not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return attempt(task, graphs)

    monkeypatch.setattr(execution, "_attempt", die_once)
    store = Store(tmp_path / "s")
    trivial = [task for task in tasks if task.method != "isonn"]
    list(execute(trivial, {graphs.name: graphs}, store, jobs=2))
    assert died.exists()
    assert store.missing(trivial) == []


def test_a_worker_killed_from_outside_changes_no_number_and_loses_nothing(
    graphs, tasks, reference, tmp_path: Path, untimed, monkeypatch
) -> None:
    attempt = execution._attempt

    def tell_where(task: Task, graphs: GraphSet) -> dict:
        (tmp_path / f"{os.getpid()}.worker").touch()
        return attempt(task, graphs)

    monkeypatch.setattr(execution, "_attempt", tell_where)
    store = Store(tmp_path / "s")
    trivial = [task for task in tasks if task.method != "isonn"]
    outcomes = execute(trivial, {graphs.name: graphs}, store, jobs=2)
    seen = [next(outcomes)["id"]]
    os.kill(int(next(tmp_path.glob("*.worker")).stem), signal.SIGKILL)
    seen += [outcome["id"] for outcome in outcomes]
    assert sorted(seen) == sorted(task.id for task in trivial)
    undisturbed = [result for result in reference if result["task"]["method"] != "isonn"]
    assert contents(store, trivial, untimed) == undisturbed


def test_a_task_that_kills_its_workers_is_recorded_and_the_others_go_on(graphs, tasks, tmp_path, monkeypatch) -> None:
    attempt, pool, deadly, sizes = execution._attempt, execution._pool, tasks[4].id, []

    def die(task: Task, graphs: GraphSet) -> dict:
        if task.id == deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        return attempt(task, graphs)

    def watched(tasks, *others):
        sizes.append(len(tasks))
        return pool(tasks, *others)

    monkeypatch.setattr(execution, "_attempt", die)
    monkeypatch.setattr(execution, "_pool", watched)
    monkeypatch.setattr(execution, "RESTARTS", 0)
    store = Store(tmp_path)
    outcomes = list(execute(tasks[3:], {graphs.name: graphs}, store, jobs=2))
    assert {outcome["id"] for outcome in outcomes} == {task.id for task in tasks[3:]}
    assert store.missing(tasks[3:]) == [tasks[4]]
    assert store.error(tasks[4]).startswith("the process that ran this task was killed, most likely for want of memory")
    assert 1 in sizes  # alone, to find out which task it was
    assert sizes[-1] > 1  # and then side by side again


def test_workers_that_keep_dying_end_the_run_and_finished_tasks_are_kept(graphs, tasks, tmp_path, monkeypatch) -> None:
    def die(task: Task, graphs: GraphSet) -> dict:
        os.kill(os.getpid(), signal.SIGKILL)
        return {}

    monkeypatch.setattr(execution, "_attempt", die)
    monkeypatch.setattr(execution, "RESTARTS", 0)
    monkeypatch.setattr(execution, "DEATHS", 1)
    store = Store(tmp_path)
    with pytest.raises(IsoNNError, match=r"worker processes keep dying with 3 of 4 tasks to go.*finished tasks are ke"):
        list(execute(tasks[:4], {graphs.name: graphs}, store, jobs=2))
    assert [store.error(task) is None for task in tasks[:4]] == [False, True, True, True]


def test_workers_leave_ctrl_c_to_the_process_that_started_them(graphs, tasks, tmp_path: Path, monkeypatch) -> None:
    def tell(task: Task, graphs: GraphSet) -> dict:
        return {"id": task.id, "error": signal.getsignal(signal.SIGINT).name}

    before = signal.getsignal(signal.SIGINT)
    get_reusable_executor().shutdown(wait=True)  # workers that other tests started may have been started otherwise
    monkeypatch.setattr(execution, "_attempt", tell)
    outcomes = list(execute(tasks[:2], {graphs.name: graphs}, Store(tmp_path), jobs=2))
    assert [outcome["error"] for outcome in outcomes] == ["SIG_IGN", "SIG_IGN"]
    assert signal.getsignal(signal.SIGINT) is before


def test_no_jobs_are_refused(graphs, tasks, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="0 jobs cannot run anything"):
        list(execute(tasks, {graphs.name: graphs}, Store(tmp_path), jobs=0))
