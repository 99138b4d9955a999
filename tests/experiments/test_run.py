"""Running jobs: any number of processes, stopped anywhere, with failures among them."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from joblib.externals.loky import get_reusable_executor

from isonn.errors import InputError, IsoNNError
from isonn.experiments import run as execution
from isonn.experiments.jobs import Job, plan
from isonn.experiments.run import execute
from isonn.experiments.store import Store
from isonn.graphs import GraphSet

TINY = {"isonn": {"k": 2, "c": 1, "epochs": 2, "hidden": [8]}}


@pytest.fixture(scope="module")
def jobs(graphs: GraphSet) -> list[Job]:
    return plan(graphs, ["isonn", "majority", "size"], TINY, "paper", seeds=2)


def contents(store: Store, jobs: list[Job], untimed) -> list[dict]:
    results = [store.get(job) for job in jobs]
    assert None not in results
    return [untimed(result) for result in results]


@pytest.fixture(scope="module")
def reference(graphs: GraphSet, jobs: list[Job], tmp_path_factory, untimed) -> list[dict]:
    """What an uninterrupted run in one process leaves."""
    pytest.importorskip("torch")
    store = Store(tmp_path_factory.mktemp("reference"))
    assert len(list(execute(jobs, {graphs.name: graphs}, store))) == len(jobs)
    return contents(store, jobs, untimed)


def test_two_processes_leave_what_one_leaves(graphs, jobs, reference, tmp_path: Path, untimed) -> None:
    store = Store(tmp_path)
    outcomes = list(execute(jobs, {graphs.name: graphs}, store, n_jobs=2))
    assert {outcome["id"] for outcome in outcomes} == {job.id for job in jobs}
    assert contents(store, jobs, untimed) == reference


@pytest.mark.parametrize("stop_after", [1, 5])
def test_stopping_and_going_on_leaves_what_an_unstopped_run_leaves(
    graphs, jobs, reference, stop_after: int, tmp_path: Path, untimed
) -> None:
    store = Store(tmp_path)
    running = execute(jobs, {graphs.name: graphs}, store)
    for _ in range(stop_after):
        next(running)
    running.close()
    left = store.missing(jobs)
    assert len(left) == len(jobs) - stop_after
    assert [outcome["id"] for outcome in execute(left, {graphs.name: graphs}, store)] == [job.id for job in left]
    assert contents(store, jobs, untimed) == reference


def test_an_interrupt_leaves_finished_jobs_and_no_half_ones(graphs, jobs, tmp_path: Path, monkeypatch) -> None:
    pytest.importorskip("torch")
    calls = []

    def interrupted_at_the_fourth(job: Job, graphs: GraphSet) -> dict:
        calls.append(job)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return run(job, graphs)

    run = execution.run_job
    monkeypatch.setattr(execution, "run_job", interrupted_at_the_fourth)
    store = Store(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        for _ in execute(jobs, {graphs.name: graphs}, store):
            pass
    assert store.missing(jobs) == jobs[3:]
    assert len(list((tmp_path / "jobs").iterdir())) == 3


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_job_that_fails_is_recorded_and_the_others_go_on(graphs, jobs, n_jobs: int, tmp_path: Path) -> None:
    broken = replace(jobs[0], method="degrees", settings={"bins": 0})
    store = Store(tmp_path)
    outcomes = list(execute([broken, *jobs[3:6]], {graphs.name: graphs}, store, n_jobs))
    assert [outcome["id"] for outcome in outcomes if "error" in outcome] == [broken.id]
    assert store.error(broken) == "bins=0 is not a valid number of bins; use an integer >= 2"
    assert store.missing([broken, *jobs[3:6]]) == [broken]


def test_an_error_nobody_foresaw_is_recorded_in_one_line(graphs, jobs, tmp_path: Path, monkeypatch) -> None:
    def explode(job: Job, graphs: GraphSet) -> dict:
        raise ZeroDivisionError("over\n  here")

    monkeypatch.setattr(execution, "run_job", explode)
    store = Store(tmp_path)
    (outcome,) = execute(jobs[:1], {graphs.name: graphs}, store)
    assert store.error(jobs[0]) == "ZeroDivisionError: over here"
    assert "in explode" in outcome["traceback"]


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
def test_a_worker_that_is_killed_changes_no_number_and_loses_nothing(
    graphs, jobs, reference, tmp_path: Path, untimed, monkeypatch
) -> None:
    died = tmp_path / "died"
    attempt = execution._attempt

    def die_once(job: Job, graphs: GraphSet) -> dict:
        if job.seed == 1 and not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return attempt(job, graphs)

    monkeypatch.setattr(execution, "_attempt", die_once)
    store = Store(tmp_path / "s")
    trivial = [job for job in jobs if job.method != "isonn"]
    seen = [outcome["id"] for outcome in execute(trivial, {graphs.name: graphs}, store, n_jobs=2)]
    assert died.exists()
    assert sorted(seen) == sorted(job.id for job in trivial)
    undisturbed = [result for result in reference if result["job"]["method"] != "isonn"]
    assert contents(store, trivial, untimed) == undisturbed


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
def test_a_job_that_kills_its_workers_is_recorded_and_the_others_go_on(graphs, jobs, tmp_path, monkeypatch) -> None:
    jobs = [job for job in jobs if job.method != "isonn"]  # each new process would import torch
    attempt, pool, deadly, sizes = execution._attempt, execution._pool, jobs[4].id, []

    def die(job: Job, graphs: GraphSet) -> dict:
        if job.id == deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        return attempt(job, graphs)

    def watched(jobs, *others):
        sizes.append(len(jobs))
        return pool(jobs, *others)

    monkeypatch.setattr(execution, "_attempt", die)
    monkeypatch.setattr(execution, "_pool", watched)
    monkeypatch.setattr(execution, "RESTARTS", 0)
    store = Store(tmp_path)
    outcomes = list(execute(jobs[3:], {graphs.name: graphs}, store, n_jobs=2))
    assert {outcome["id"] for outcome in outcomes} == {job.id for job in jobs[3:]}
    assert store.missing(jobs[3:]) == [jobs[4]]
    assert store.error(jobs[4]).startswith("the process that ran this job was killed, most likely for lack of memory")
    assert 1 in sizes  # alone, to find out which job it was
    assert sizes[-1] > 1  # and then side by side again


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
def test_workers_that_keep_dying_end_the_run_and_finished_jobs_are_kept(graphs, jobs, tmp_path, monkeypatch) -> None:
    def die(job: Job, graphs: GraphSet) -> dict:
        os.kill(os.getpid(), signal.SIGKILL)
        return {}

    monkeypatch.setattr(execution, "_attempt", die)
    monkeypatch.setattr(execution, "RESTARTS", -1)  # alone from the first job on
    monkeypatch.setattr(execution, "DEATHS", 1)
    store = Store(tmp_path)
    with pytest.raises(IsoNNError, match=r"worker processes keep dying with 3 of 4 jobs to go.*finished jobs are ke"):
        list(execute(jobs[:4], {graphs.name: graphs}, store, n_jobs=2))
    assert [store.error(job) is None for job in jobs[:4]] == [False, True, True, True]


def test_workers_leave_ctrl_c_to_the_process_that_started_them(graphs, jobs, tmp_path: Path, monkeypatch) -> None:
    def tell(job: Job, graphs: GraphSet) -> dict:
        return {"id": job.id, "error": signal.getsignal(signal.SIGINT).name}

    before = signal.getsignal(signal.SIGINT)
    get_reusable_executor().shutdown(wait=True)  # workers that other tests started may have been started otherwise
    monkeypatch.setattr(execution, "_attempt", tell)
    outcomes = list(execute(jobs[:2], {graphs.name: graphs}, Store(tmp_path), n_jobs=2))
    assert [outcome["error"] for outcome in outcomes] == ["SIG_IGN", "SIG_IGN"]
    assert signal.getsignal(signal.SIGINT) is before


def test_no_jobs_are_refused(graphs, jobs, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="n_jobs must be at least 1, got 0"):
        list(execute(jobs, {graphs.name: graphs}, Store(tmp_path), n_jobs=0))
