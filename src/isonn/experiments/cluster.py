"""Run jobs on a running dask.distributed cluster; results equal those of a single process.

Dask reruns the jobs of workers that die, gives up on jobs whose workers keep dying (``allowed-failures``) and returns
results as they arrive (`distributed.as_completed`). This module adds three things: it checks that the scheduler still
answers, since a client waits forever for one that hangs; it compares the versions of everything a result depends on;
and it retries jobs that dask gave up only because they were queued with a job that kills workers.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import threading
import time
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from isonn import __version__
from isonn.errors import InputError, IsoNNError, naming_the_extra
from isonn.experiments.jobs import Job
from isonn.experiments.provenance import versions
from isonn.experiments.store import failure
from isonn.graphs.graph import GraphSet

if TYPE_CHECKING:
    from isonn.processes import Call, Run

#: Seconds a scheduler may take for its first answer; the error then comes within 10 s, imports included.
FIRST_ANSWER_SECONDS = 4.0
#: Seconds it may take later, when it is busy: on a machine with ten times as much work as cores, 39 were seen.
ANSWER_SECONDS = 60.0
#: Seconds the cluster may be without workers, at the start or later.
WORKER_SECONDS = 30.0
#: Seconds to wait for a result before checking that the cluster still answers.
LOOK_SECONDS = 5.0
#: Loggers of dask that would print over the progress bar. Those with a level of their own are named.
LOGS = ("distributed", "distributed.client", "distributed.gc", "tornado", "tornado.application", "asyncio")

Attempt = Callable[[Job, GraphSet], dict[str, Any]]

#: Threads of one worker take turns: the thread count of a library is set per process, so a job that ends would change
#: it for a running one.
_ALONE = threading.Lock()


def in_cluster(
    jobs: Sequence[Job], datasets: Mapping[str, GraphSet], address: str, attempt: Attempt
) -> Generator[dict[str, Any], None, None]:
    """Run every job on a worker of the cluster and yield the outcomes as they arrive.

    If a worker dies, its jobs run on another. Dask gives up on jobs whose workers die more than ``allowed-failures``
    times (default 3), including jobs that were only queued there. Each of these runs once more at the end, alone, and
    fails if its workers die again. Closing the generator cancels outstanding jobs.

    Args:
        address: address of the scheduler, such as ``tcp://10.0.0.5:8786``.
        attempt: runs a job and returns its outcome; it is called on the worker.
    """
    with _connected(address) as cluster:
        given_up = []
        for job, outcome in _outcomes(cluster, jobs, datasets, attempt):
            if outcome is None:
                given_up.append(job)
            else:
                yield outcome
        for lost in given_up:
            for job, outcome in _outcomes(cluster, [lost], datasets, attempt):
                yield outcome or failure(
                    job,
                    "every worker that ran this job died, most likely for lack of memory; give the workers more, "
                    "or run the job on a larger machine",
                )


def _outcomes(
    cluster: _Cluster, jobs: Sequence[Job], datasets: Mapping[str, GraphSet], attempt: Attempt
) -> Iterator[tuple[Job, dict[str, Any] | None]]:
    """Yield each job with its outcome, or with None if dask gave up on it."""
    from distributed import KilledWorker

    # A separate task, because scattered data is lost with the workers that hold it.
    shared = {name: cluster.submit(_same, datasets[name]) for name in dict.fromkeys(job.dataset for job in jobs)}
    calls = ((job, _call, (attempt, (job, shared[job.dataset]), cluster.expected)) for job in jobs)
    for job, outcome in cluster.completed(calls, lambda left: f"{left} of {len(jobs)} jobs to go", lambda: len(jobs)):
        if isinstance(outcome, KilledWorker):
            yield job, None
        elif isinstance(outcome, InputError):  # a worker that joined later, with other versions
            yield job, failure(job, str(outcome))
        elif isinstance(outcome, Exception):  # for example code that the worker cannot import; the other jobs continue
            yield job, failure(job, f"the worker could not run this job ({type(outcome).__name__}: {outcome})")
        else:
            yield job, outcome


@contextmanager
def calls_on_cluster(address: str) -> Iterator[Run]:
    """Return a function that runs calls on the workers of a cluster and yields their results in order.

    If a worker dies, its call runs on another. Only enough calls to keep the workers busy are submitted at a time, so
    arguments can be created lazily, and few results wait for an earlier one. Pass the function to `isonn.stream` as
    ``workers``, or to `isonn.screening.screen` as ``jobs``.

    Args:
        address: address of the scheduler, such as ``tcp://10.0.0.5:8786``.
    """
    with _connected(address) as cluster:
        from distributed import KilledWorker

        def run(calls: Iterable[Call]) -> Iterator[Any]:
            waiting: dict[int, Any] = {}
            due = 0
            checked = ((i, _call, (function, given, cluster.expected)) for i, (function, given) in enumerate(calls))
            # as many results may wait for one that is late as calls are under way
            for number, outcome in cluster.completed(
                checked, lambda left: "work to do", lambda: 2 * cluster.cores - max(0, len(waiting) - 2 * cluster.cores)
            ):
                if isinstance(outcome, KilledWorker):
                    raise IsoNNError(
                        "every worker that ran one of the parts died, most likely for lack of memory; finished parts "
                        "are kept, so give the workers more memory and run the same command again"
                    ) from outcome
                if isinstance(outcome, Exception):
                    raise outcome
                waiting[number] = outcome
                while due in waiting:
                    yield waiting.pop(due)
                    due += 1

        yield run


class _Cluster:
    """A connected client, and the versions its workers must have.

    Attributes:
        expected: the required version of each library.
        cores: number of cores of the cluster.
    """

    def __init__(self, client: Any, address: str) -> None:
        self.client, self.address, self.expected = client, address, _compared()
        _check_workers(client, address, self.expected)
        self.cores = max(1, sum(client.ncores().values()))

    def submit(self, function: Callable[..., Any], *given: Any) -> Any:
        """Start a call. Keys are unique, so two commands on one cluster cannot cancel each other's calls."""
        import dask

        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PiB"}):
            return self.client.submit(function, *given, key=f"{function.__name__.strip('_')}-{uuid.uuid4().hex}")

    def completed(
        self,
        calls: Iterable[tuple[Any, Callable[..., Any], tuple[Any, ...]]],
        to_go: Callable[[int], str],
        at_once: Callable[[], int],
    ) -> Iterator[tuple[Any, Any]]:
        """Run labelled calls; yield each label with its result or exception as it arrives.

        Args:
            to_go: returns a description of the remaining work, for errors.
            at_once: returns the largest number of calls under way.
        """
        from distributed import as_completed

        under_way = as_completed(loop=self.client.loop, with_results=True, raise_errors=False)
        labels: dict[Any, Any] = {}
        calls = iter(calls)
        try:
            while True:
                for label, function, given in itertools.islice(calls, max(0, at_once() - len(labels), not labels)):
                    future = self.submit(function, *given)
                    labels[future] = label
                    under_way.add(future)
                if not labels:
                    return
                future, result = self._next(under_way, to_go(len(labels)))
                label = labels.pop(future)
                yield label, result[1] if future.status == "error" else result
        finally:
            if labels and self.client.status == "running":
                self.client.cancel(list(labels))

    def _next(self, under_way: Any, to_go: str) -> tuple[Any, Any]:
        """Return the next finished future and its result; raise an error if the cluster is lost."""
        looked, empty_since = time.monotonic(), None
        while not under_way.has_ready():
            time.sleep(0.01)
            if time.monotonic() - looked > LOOK_SECONDS:
                empty_since = self._look(to_go, empty_since)
                looked = time.monotonic()
        future, result = next(under_way)
        if future.cancelled():
            raise IsoNNError(
                f"the scheduler at {self.address} was lost or its jobs were cancelled with {to_go}; {_KEPT}"
            )
        return future, result

    def _look(self, to_go: str, empty_since: float | None) -> float | None:
        """Return since when the cluster has had no workers, or None; raise an error if it is lost."""
        # Uses a new connection, because the client would wait forever for a scheduler that hangs.
        about = _ask(self.address)
        if isinstance(about, str):
            raise IsoNNError(f"the scheduler at {self.address} stopped answering with {to_go}; {_KEPT}")
        if about["n_workers"]:
            return None
        empty_since = empty_since or time.monotonic()
        if time.monotonic() - empty_since > WORKER_SECONDS:
            raise IsoNNError(
                f"the cluster at {self.address} has had no workers for {WORKER_SECONDS:.0f} s with {to_go}; {_KEPT}"
            )
        return empty_since


_KEPT = "finished work is kept, so run the same command again to continue"


def _same(graphs: GraphSet) -> GraphSet:
    return graphs


def _call(function: Callable[..., Any], given: tuple[Any, ...], expected: dict[str, str]) -> Any:
    here = _compared()
    if here != expected:
        raise InputError(_difference("a worker that joined later", here, expected))
    with _ALONE:
        return function(*given)


@contextmanager
def _connected(address: str) -> Iterator[_Cluster]:
    with naming_the_extra("running on a cluster"):
        from distributed import Client
    # Checked first, because a client waits forever if the address is not a scheduler.
    about = _ask(address, FIRST_ANSWER_SECONDS)
    if isinstance(about, str):
        raise InputError(
            f"no dask scheduler answers at {address or repr(address)} ({about}); start one with `dask scheduler`, "
            f"or give the address it prints"
        )
    levels = {log: log.level for log in map(logging.getLogger, LOGS)}
    for log in levels:  # their errors are handled or raised here
        log.setLevel(logging.CRITICAL)
    try:
        client = Client(address, timeout=ANSWER_SECONDS, set_as_default=False, name="isonn")
        try:
            yield _Cluster(client, address)
        finally:
            client.close(timeout=FIRST_ANSWER_SECONDS)
    finally:
        for log, level in levels.items():
            log.setLevel(level)


def _ask(address: str, seconds: float = ANSWER_SECONDS) -> dict[str, Any] | str:
    """Ask the scheduler about itself; return its answer, or why there is none."""
    from distributed import rpc

    async def ask() -> Any:
        async with rpc(address, timeout=seconds) as scheduler:
            return await scheduler.identity()

    async def ask_in_time() -> Any:
        return await asyncio.wait_for(ask(), seconds)

    try:
        with ThreadPoolExecutor(1) as thread:  # the caller may already run an event loop, as in a notebook
            about = thread.submit(asyncio.run, ask_in_time()).result()
    except TimeoutError:
        return f"no answer for {seconds:.0f} s"
    except Exception as error:  # noqa: BLE001 - any error means that no scheduler answers
        return " ".join(str(error).split())
    if about.get("type") != "Scheduler":
        return f"that is a {str(about.get('type')).lower()}"
    return dict(about)


def _check_workers(client: Any, address: str, expected: dict[str, str]) -> None:
    """Raise `InputError` if the cluster has no workers or its workers have other versions."""
    try:
        client.wait_for_workers(1, timeout=WORKER_SECONDS)
    except TimeoutError as error:
        raise InputError(
            f"the scheduler at {address} has had no workers for {WORKER_SECONDS:.0f} s; "
            f"start some with `dask worker {address} --nthreads 1`"
        ) from error
    for worker, there in client.run(_compared, on_error="return").items():
        if isinstance(there, ImportError):
            raise InputError(
                f"worker {worker} has a different isonn ({there}); install isonn {__version__} there"
            ) from there
        if isinstance(there, BaseException):
            continue  # a worker that died meanwhile; each job checks versions again
        if there != expected:
            raise InputError(_difference(f"worker {worker}", there, expected))


def _difference(worker: str, there: Mapping[str, str], here: Mapping[str, str]) -> str:
    package = next(name for name in here if there.get(name) != here[name])
    return (
        f"{worker} has {package} {there.get(package)} where this process has {here[package]}, so results would not "
        f"be comparable; install the same version everywhere"
    )


def _compared() -> dict[str, str]:
    """Return the versions that a result depends on to the last bit; Python's own is not among them."""
    return {name: version for name, version in versions().items() if name != "python"}
