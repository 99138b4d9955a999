"""Run jobs on a running dask.distributed cluster; results equal those of a single process.

Dask reruns the jobs of workers that die, gives up on jobs whose workers keep dying (``allowed-failures``) and hands
results over as they come (`distributed.as_completed`). Three things are done here because dask does not do them: ask
whether the scheduler still answers, since a client waits forever for one that hangs; compare versions of everything a
result depends on; and try jobs again that dask gave up only because they were queued beside one that kills workers.
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
from isonn.errors import InputError, IsoNNError, MissingDependencyError
from isonn.experiments.jobs import Job, versions
from isonn.experiments.store import failure
from isonn.graphs.graph import GraphSet

if TYPE_CHECKING:
    from isonn.subgraphs.store import Call

#: How long a scheduler may take to answer at first, so that the error comes within 10 s, loading included.
FIRST_ANSWER_SECONDS = 4.0
#: How long it may take later, when it has work to do.
ANSWER_SECONDS = 8.0
#: How long the cluster may be without a single worker, at the start or half-way.
WORKER_SECONDS = 30.0
#: How long to wait for a result before asking whether the cluster is still there.
LOOK_SECONDS = 5.0

Attempt = Callable[[Job, GraphSet], dict[str, Any]]

#: Threads of one worker take turns: the number of threads a library uses is a setting of the whole process, and a job
#: that ends would change it under one that runs.
_ALONE = threading.Lock()


def in_cluster(
    jobs: Sequence[Job], datasets: Mapping[str, GraphSet], address: str, attempt: Attempt
) -> Generator[dict[str, Any], None, None]:
    """Run every job on a worker of the cluster and yield the outcomes as they come.

    The jobs of a worker that dies run elsewhere. Dask gives up on jobs whose workers die more often than its
    ``allowed-failures`` (3 unless configured), also on those that were only queued there; each of them runs once more
    at the end, alone, and fails if its workers die again. Closing the generator cancels what is outstanding.

    Args:
        address: of the scheduler, such as ``tcp://10.0.0.5:8786``.
        attempt: runs a job and returns its outcome; it is called on the worker.
    """
    with _connected(address) as cluster:
        given_up = []
        for job, outcome in _outcomes(cluster, jobs, datasets, attempt):
            if outcome is None:
                given_up.append(job)
            else:
                yield outcome
        for one in given_up:
            for job, outcome in _outcomes(cluster, [one], datasets, attempt):
                yield outcome or failure(
                    job,
                    "every worker that ran this job died, most likely for lack of memory; give the workers more, "
                    "or run the job on a larger machine",
                )


def _outcomes(
    cluster: _Cluster, jobs: Sequence[Job], datasets: Mapping[str, GraphSet], attempt: Attempt
) -> Iterator[tuple[Job, dict[str, Any] | None]]:
    """Each job with its outcome as it comes; None if dask gave up on it."""
    from distributed import KilledWorker

    # A task of its own rather than scattered data, which would be lost with the workers that hold it.
    shared = {name: cluster.submit(_same, datasets[name]) for name in dict.fromkeys(job.dataset for job in jobs)}
    calls = ((job, _on_worker, (attempt, job, shared[job.dataset], cluster.expected)) for job in jobs)
    for job, outcome in cluster.completed(calls, lambda left: f"{left} of {len(jobs)} jobs to go", len(jobs)):
        if isinstance(outcome, KilledWorker):
            yield job, None
        elif isinstance(outcome, Exception):  # such as code the worker cannot import; the other jobs go on
            yield job, failure(job, f"the worker could not run this job ({type(outcome).__name__}: {outcome})")
        else:
            yield job, outcome


@contextmanager
def calls_on_cluster(address: str) -> Iterator[Callable[[Iterable[Call]], Iterator[None]]]:
    """A function that runs calls on the workers of a cluster and yields once for each that is done.

    A call whose worker dies runs elsewhere. Only as many calls are under way as keep the workers busy, so that their
    arguments can be made as they go. `SubgraphIsoNNClassifier.fit` takes the function as ``workers``.

    Args:
        address: of the scheduler, such as ``tcp://10.0.0.5:8786``.
    """
    with _connected(address) as cluster:
        from distributed import KilledWorker

        def run(calls: Iterable[Call]) -> Iterator[None]:
            checked = ((None, _call, (function, given, cluster.expected)) for function, given in calls)
            for _, outcome in cluster.completed(checked, lambda left: "work to do", 2 * cluster.cores):
                if isinstance(outcome, KilledWorker):
                    raise IsoNNError(
                        "every worker that ran one of the parts died, most likely for lack of memory; finished parts "
                        "are kept, so give the workers more memory and run the same command again"
                    ) from outcome
                if isinstance(outcome, Exception):
                    raise outcome
                yield

        yield run


class _Cluster:
    """A connected client, and what its workers must have.

    Attributes:
        expected: versions that every worker must have.
        cores: how many the cluster has.
    """

    def __init__(self, client: Any, address: str) -> None:
        self.client, self.address, self.expected = client, address, _compared()
        _check_workers(client, address, self.expected)
        self.cores = max(1, sum(client.ncores().values()))

    def submit(self, function: Callable[..., Any], *given: Any) -> Any:
        """Start a call; two commands on one cluster never share a key, so they cannot cancel each other's calls."""
        import dask

        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PiB"}):
            return self.client.submit(function, *given, key=f"{function.__name__.strip('_')}-{uuid.uuid4().hex}")

    def completed(
        self,
        calls: Iterable[tuple[Any, Callable[..., Any], tuple[Any, ...]]],
        to_go: Callable[[int], str],
        at_once: int,
    ) -> Iterator[tuple[Any, Any]]:
        """Run calls, each with a label; yield label and result, or the exception, as they come.

        Args:
            to_go: says in words how much is left, for errors.
            at_once: how many calls are under way at most.
        """
        from distributed import as_completed

        under_way = as_completed(loop=self.client.loop, with_results=True, raise_errors=False)
        labels: dict[Any, Any] = {}
        calls = iter(calls)
        try:
            while True:
                for label, function, given in itertools.islice(calls, at_once - len(labels)):
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
        """The next future that is done and its result; a lost cluster is an error."""
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
        """Since when the cluster has had no workers, or None if it has some; a lost one is an error."""
        # Asked on a connection of its own: a scheduler that hangs would leave the client waiting forever.
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


_KEPT = "what is finished is kept, run the same command again to go on"


def _same(graphs: GraphSet) -> GraphSet:
    return graphs


def _on_worker(attempt: Attempt, job: Job, graphs: GraphSet, expected: dict[str, str]) -> dict[str, Any]:
    here = _compared()
    if here != expected:  # a worker that joined after the others were checked
        return failure(job, _difference("a worker that joined later", here, expected))
    with _ALONE:
        return attempt(job, graphs)


def _call(function: Callable[..., None], given: tuple[Any, ...], expected: dict[str, str]) -> None:
    here = _compared()
    if here != expected:
        raise InputError(_difference("a worker that joined later", here, expected))
    function(*given)


@contextmanager
def _connected(address: str) -> Iterator[_Cluster]:
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingDependencyError(
            "running on a cluster needs dask.distributed; install it with: pip install 'isonn[cluster]'"
        ) from error
    # Asked first, because a client waits forever where something listens that is not a scheduler.
    about = _ask(address, FIRST_ANSWER_SECONDS)
    if isinstance(about, str):
        raise InputError(
            f"no dask scheduler answers at {address or repr(address)} ({about}); start one with `dask scheduler`, "
            f"or give the address it prints"
        )
    levels = {
        log: log.level for log in map(logging.getLogger, ("distributed", "distributed.client", "tornado", "asyncio"))
    }
    for log in levels:  # what they would print over the progress bar is recovered from or raised here
        log.setLevel(logging.CRITICAL)
    try:
        client = Client(address, timeout=ANSWER_SECONDS, set_as_default=False, name="isonn")
        try:
            yield _Cluster(client, address)
        finally:
            client.close(timeout=ANSWER_SECONDS)
    finally:
        for log, level in levels.items():
            log.setLevel(level)


def _ask(address: str, seconds: float = ANSWER_SECONDS) -> dict[str, Any] | str:
    """What the scheduler says of itself, or why there is none."""
    from distributed import rpc

    async def ask() -> Any:
        async with rpc(address, timeout=seconds) as scheduler:
            return await scheduler.identity()

    async def ask_in_time() -> Any:
        return await asyncio.wait_for(ask(), seconds)

    try:
        with ThreadPoolExecutor(1) as thread:  # the caller may be in an event loop already, as in a notebook
            about = thread.submit(asyncio.run, ask_in_time()).result()
    except TimeoutError:
        return f"no answer for {seconds:.0f} s"
    except Exception as error:  # noqa: BLE001 - whatever it is, nobody can be talked to there
        return " ".join(str(error).split())
    if about.get("type") != "Scheduler":
        return f"that is a {str(about.get('type')).lower()}"
    return dict(about)


def _check_workers(client: Any, address: str, expected: dict[str, str]) -> None:
    """Raise `InputError` for a cluster without workers, or whose workers have other versions."""
    try:
        client.wait_for_workers(1, timeout=WORKER_SECONDS)
    except TimeoutError as error:
        raise InputError(
            f"the scheduler at {address} has had no workers for {WORKER_SECONDS:.0f} s; "
            f"start some with `dask worker {address} --nthreads 1`"
        ) from error
    for worker, found in client.run(_compared, on_error="return").items():
        if isinstance(found, ImportError):
            raise InputError(
                f"worker {worker} has no isonn like this one ({found}); install isonn {__version__} there"
            ) from found
        if isinstance(found, BaseException):
            continue  # a worker that died meanwhile; each job checks again where it runs
        if found != expected:
            raise InputError(_difference(f"worker {worker}", found, expected))


def _difference(worker: str, there: Mapping[str, str], here: Mapping[str, str]) -> str:
    package = next(name for name in here if there.get(name) != here[name])
    return (
        f"{worker} has {package} {there.get(package)} where this process has {here[package]}, so results would not "
        f"be comparable; install the same version everywhere"
    )


def _compared() -> dict[str, str]:
    """Versions of everything a result depends on to the last bit; Python's own is none of it."""
    return {name: version for name, version in versions().items() if name != "python"}
