"""Running jobs on a dask cluster: real scheduler and worker processes on the loopback interface."""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import isonn
from isonn.errors import InputError, IsoNNError, MissingDependencyError
from isonn.experiments import cluster, provenance
from isonn.experiments import run as execution
from isonn.experiments.jobs import Job, plan
from isonn.experiments.run import execute
from isonn.experiments.store import Store
from isonn.graphs import GraphSet

distributed = pytest.importorskip("distributed")
TINY = {"isonn": {"k": 2, "c": 1, "epochs": 2, "hidden": [8]}}


class Cluster:
    """A scheduler and workers, each a process of its own; what is still there at the end is killed."""

    def __init__(self, folder: Path, workers: int = 0, allowed_failures: int = 3) -> None:
        self.folder = folder
        self.processes: list[subprocess.Popen] = []
        about = folder / "scheduler.json"
        options = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": str(allowed_failures)}
        self.scheduler = self._start("scheduler", ["--port", "0", "--scheduler-file", str(about)], options)
        self.address = str(json.loads(_soon(lambda: about.exists() and about.read_text()))["address"])
        self.workers = [self.add_worker(number) for number in range(workers)]

    def add_worker(self, number: int) -> subprocess.Popen:
        options = ["--no-nanny", "--nthreads", "1", "--name", str(number), "--local-directory", str(self.folder)]
        return self._start("worker", [self.address, *options])

    def _start(self, command: str, options: list[str], environment: dict[str, str] | None = None) -> subprocess.Popen:
        with (self.folder / f"{command}-{len(self.processes)}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", command, "--host", "127.0.0.1", "--no-dashboard", *options],
                stdout=log,
                stderr=log,
                env={**os.environ, **(environment or {})},
            )
        self.processes.append(process)
        return process

    def close(self) -> None:
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()


@contextmanager
def running(folder: Path, **options: int) -> Iterator[Cluster]:
    made = Cluster(folder, **options)
    try:
        yield made
    finally:
        made.close()


def _soon(look: Callable[[], object], seconds: float = 30.0):
    deadline = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
    return found


@pytest.fixture(scope="module")
def two_workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running(tmp_path_factory.mktemp("dask"), workers=2) as made:
        with distributed.Client(made.address, set_as_default=False) as watcher:
            watcher.wait_for_workers(2, timeout=30)
        yield made


@pytest.fixture(scope="module")
def jobs(graphs: GraphSet) -> list[Job]:
    return plan(graphs, ["isonn", "degrees", "majority", "size"], TINY, "paper", seeds=3)


@pytest.fixture
def trivial(jobs: list[Job]) -> list[Job]:
    return [job for job in jobs if job.method in ("majority", "size")]


def test_dask_logs_no_traceback_of_a_lost_scheduler(two_workers):
    """A result that was being fetched ends in a callback of tornado, which logs it with a level of its own."""
    with cluster.calls_on_cluster(two_workers.address):
        names = [name for name in logging.root.manager.loggerDict if name.startswith(("distributed", "tornado"))]
        loud = [name for name in names if logging.getLogger(name).isEnabledFor(logging.ERROR)]
    assert loud == []


def test_subgraphs_are_cut_by_the_workers_of_a_cluster(mutag, two_workers: Cluster, tmp_path: Path) -> None:
    def classifier() -> isonn.SubgraphClassifier:
        return isonn.SubgraphClassifier(max_nodes=3, n_templates=4, head="linear", random_state=0)

    expected = classifier().fit(mutag).predict_proba(mutag)
    bank = tmp_path / "bank"
    with cluster.calls_on_cluster(two_workers.address) as run:
        found = classifier().fit(isonn.stream(mutag, 20, bank=bank, workers=run))
    assert len(list(bank.glob("part-*"))) == 10
    np.testing.assert_allclose(found.predict_proba(mutag), expected, atol=1e-6)
    with distributed.Client(two_workers.address, set_as_default=False) as watcher:
        written = watcher.run(lambda: len(sys.modules.get("isonn.subgraphs.bank", sys).__name__))
    assert set(written.values()) == {len("isonn.subgraphs.bank")}  # it was they who cut


def test_a_model_fitted_by_three_workers_one_of_which_is_killed_is_that_of_one_machine(mutag, tmp_path, monkeypatch):
    boosting = pytest.importorskip("isonn.heads.boosting")
    pytest.importorskip("lightgbm")
    expected = isonn.SubgraphClassifier(max_nodes=3, random_state=0).fit(mutag).predict_proba(mutag)
    monkeypatch.setattr(boosting, "_train", None)  # here; workers have their own
    with running(tmp_path, workers=3) as dask, cluster.calls_on_cluster(dask.address) as run:

        def deadly(calls):
            for number, outcome in enumerate(run(calls)):
                if number == 1:
                    dask.workers[0].kill()
                yield outcome

        graphs = isonn.stream(mutag, 20, bank=tmp_path / "bank", workers=deadly)
        found = isonn.SubgraphClassifier(max_nodes=3, random_state=0).fit(graphs)
        assert dask.workers[0].wait(30) != 0
    np.testing.assert_allclose(found.predict_proba(mutag), expected, atol=1e-6)
    assert 0 < found.weights_["trees"] < 1


def test_results_come_in_the_order_of_the_calls(two_workers: Cluster) -> None:
    def late(number: int) -> int:
        time.sleep(0.3 if number == 0 else 0)
        return number

    with cluster.calls_on_cluster(two_workers.address) as run:
        assert list(run((late, (number,)) for number in range(30))) == list(range(30))


def test_a_worker_killed_half_way_changes_no_number_and_loses_nothing(
    graphs, jobs, two_workers: Cluster, tmp_path: Path, untimed
) -> None:
    alone, store = Store(tmp_path / "alone"), Store(tmp_path / "cluster")
    datasets = {graphs.name: graphs}
    broken = replace(jobs[0], method="degrees", settings={"bins": 0})
    list(execute(jobs, datasets, alone))
    with distributed.Client(two_workers.address, set_as_default=False) as watcher:
        outcomes = execute([broken, *jobs], datasets, store, scheduler=two_workers.address)
        seen = [next(outcomes)["id"] for _ in range(4)]
        victim = watcher.run(os.getpid)
        address = _soon(lambda: next((worker for worker, busy in watcher.processing().items() if busy), None))
        os.kill(victim[address], signal.SIGKILL)
        seen += [outcome["id"] for outcome in outcomes]
        assert sorted(process.poll() is None for process in two_workers.workers) == [False, True]
        assert len(watcher.nthreads()) == 1
    assert sorted(seen) == sorted(job.id for job in [broken, *jobs])
    assert [untimed(store.get(job)) for job in jobs] == [untimed(alone.get(job)) for job in jobs]
    assert store.error(broken) == "bins=0 is not a valid number of bins; use an integer >= 2"


def test_a_job_that_kills_its_workers_is_given_up_and_the_rest_goes_on(graphs, trivial, tmp_path, monkeypatch) -> None:
    attempt, deadly = execution._attempt, trivial[0].id

    def die(job: Job, graphs: GraphSet) -> dict:
        if job.id == deadly:
            time.sleep(0.5)  # others are waiting on the same worker by then, and the scheduler suspects them, too
            os.kill(os.getpid(), signal.SIGKILL)
        return attempt(job, graphs)

    monkeypatch.setattr(execution, "_attempt", die)
    store = Store(tmp_path / "s")
    with running(tmp_path, workers=3, allowed_failures=0) as dask:
        with distributed.Client(dask.address, set_as_default=False) as watcher:
            watcher.wait_for_workers(3, timeout=30)
        list(execute(trivial, {graphs.name: graphs}, store, scheduler=dask.address))
    assert store.error(trivial[0]).startswith("every worker that ran this job died, most likely for lack of memory")
    assert store.missing(trivial) == trivial[:1]


def test_a_cluster_without_workers_or_with_other_versions_or_that_dies_is_a_sentence(
    graphs, trivial, tmp_path: Path, monkeypatch
) -> None:
    def run() -> Iterator[dict]:
        return execute(trivial, {graphs.name: graphs}, store, scheduler=dask.address)

    store = Store(tmp_path / "s")
    with running(tmp_path) as dask:
        with monkeypatch.context() as patch:
            patch.setattr(cluster, "WORKER_SECONDS", 0.5)
            with pytest.raises(InputError, match="has had no workers for 0 s; start some with `dask worker tcp://127"):
                list(run())
        worker = dask.add_worker(0)
        with monkeypatch.context() as patch:
            patch.setattr(provenance, "__version__", "9.9")
            with pytest.raises(InputError, match=r"worker tcp.* has isonn \S+ where this process has 9\.9, so results"):
                list(run())
        stopped = run()  # as Ctrl-C does
        next(stopped)
        stopped.close()
        with distributed.Client(dask.address, set_as_default=False) as watcher:
            _soon(lambda: not any(watcher.processing().values()))
            assert len(store.missing(trivial)) == len(trivial) - 1

        monkeypatch.setattr(cluster, "LOOK_SECONDS", 0.2)
        monkeypatch.setattr(cluster, "WORKER_SECONDS", 0.5)
        outcomes = run()
        next(outcomes)
        worker.kill()
        with pytest.raises(
            IsoNNError, match=r"has had no workers for 0 s with \d+ of 18 jobs to go; finished work is kept"
        ):
            list(outcomes)
        monkeypatch.undo()

        worker = dask.add_worker(1)
        outcomes = run()
        next(outcomes)
        worker.send_signal(signal.SIGSTOP)
        dask.scheduler.kill()
        with pytest.raises(
            IsoNNError, match=r"was lost or its jobs were cancelled with \d+ of 18 jobs to go; finished work is kept"
        ):
            list(outcomes)
    assert len(store.missing(trivial)) < len(trivial)


@pytest.mark.parametrize("mute", [False, True], ids=["nobody listens", "nobody answers"])
def test_a_scheduler_that_does_not_answer_is_said_in_time(graphs, trivial, mute, tmp_path, monkeypatch) -> None:
    assert cluster.FIRST_ANSWER_SECONDS <= 5  # people wait this long
    monkeypatch.setattr(cluster, "FIRST_ANSWER_SECONDS", 1.0)
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        if mute:
            bound.listen()
        address = f"tcp://127.0.0.1:{bound.getsockname()[1]}"
        start = time.monotonic()
        with pytest.raises(InputError, match=f"no dask scheduler answers at {address} .*1 s.; start one"):
            list(execute(trivial, {graphs.name: graphs}, Store(tmp_path), scheduler=address))
        assert time.monotonic() - start < 5


@pytest.mark.parametrize(
    ("address", "reason"),
    [("here", "missing port number"), ("http://x:1", "unknown address scheme"), ("tcp://x:y", "invalid literal")],
)
def test_an_address_that_is_none_is_refused(graphs, trivial, address: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"no dask scheduler answers at {address} \({reason}"):
        list(execute(trivial, {graphs.name: graphs}, Store(tmp_path), scheduler=address))


def test_without_the_package_the_extra_is_named(graphs, trivial, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'isonn\[cluster\]'"):
        list(execute(trivial, {graphs.name: graphs}, Store(tmp_path), scheduler="tcp://127.0.0.1:1"))
    assert list(execute([], {}, Store(tmp_path), scheduler="tcp://127.0.0.1:1")) == []


def test_a_part_that_kills_its_workers_or_loses_them_is_said_in_a_sentence(tmp_path: Path, monkeypatch) -> None:
    here, marks = os.getpid(), tmp_path / "marks"

    def mark(number: int) -> None:
        if number == 2 and os.getpid() != here:
            time.sleep(0.5)
            os.kill(os.getpid(), signal.SIGKILL)
        with marks.open("a") as file:
            file.write(str(number))

    def calls(*numbers: int) -> list:
        return [(mark, (number,)) for number in numbers]

    monkeypatch.setattr(cluster, "LOOK_SECONDS", 0.2)
    with running(tmp_path, workers=1, allowed_failures=0) as dask, cluster.calls_on_cluster(dask.address) as run:
        monkeypatch.setattr(cluster, "WORKER_SECONDS", 0.5)
        assert len(list(run(calls(0, 1)))) == 2
        assert sorted(marks.read_text()) == ["0", "1"]
        with pytest.raises(IsoNNError, match="every worker that ran one of the parts died.*finished parts are kept"):
            list(run(calls(2)))
        with pytest.raises(IsoNNError, match="has had no workers for 0 s with work to do; finished work is kept"):
            list(run(calls(3)))
