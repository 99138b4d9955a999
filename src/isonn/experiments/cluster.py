"""Run jobs on a dask.distributed cluster that somebody has started; the numbers are those of one process."""

from __future__ import annotations

import asyncio
import collections
import logging
import queue
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

#: How long a scheduler may take to answer at first; that none does is said within 10 s, loading included.
FIRST_ANSWER_SECONDS = 4.0
#: How long it may take later, when it has work to do.
ANSWER_SECONDS = 8.0
#: How long the cluster may be without a single worker, at the start or half-way.
WORKER_SECONDS = 30.0
#: How long to wait for an outcome before looking whether anybody is still there to bring one.
LOOK_SECONDS = 5.0

Attempt = Callable[[Job, GraphSet], dict[str, Any]]

#: Threads of one worker take turns: how many threads a library uses is a setting of the whole process, and a job
#: that ends would change it under one that runs.
_ALONE = threading.Lock()


def in_cluster(
    jobs: Sequence[Job], datasets: Mapping[str, GraphSet], address: str, attempt: Attempt
) -> Generator[dict[str, Any], None, None]:
    """Run every job on a worker of the cluster and yield the outcomes as they come.

    The jobs of a worker that dies run elsewhere. The scheduler gives up on jobs whose workers die more often than
    its ``allowed-failures`` (3, unless configured), also on those that were only queued there; each of them runs once
    more at the end, with nothing beside it, and has an ``error`` if its workers die again. Closing the generator
    cancels what is outstanding.

    Args:
        address: of the scheduler, such as ``tcp://10.0.0.5:8786``.
        attempt: makes an outcome of a job; it is called on the worker.
    """
    with _connected(address) as client:
        expected = _compared()
        _check_workers(client, address, expected)
        suspects = []
        for job, outcome in _outcomes(client, jobs, datasets, address, attempt, expected):
            if outcome is None:
                suspects.append(job)
            else:
                yield outcome
        for suspect in suspects:
            for job, outcome in _outcomes(client, [suspect], datasets, address, attempt, expected):
                yield outcome or failure(
                    job,
                    "every worker that ran this job died, most likely for want of memory; give the workers more, "
                    "or run the job on a larger machine",
                )


def _outcomes(
    client: Any,
    jobs: Sequence[Job],
    datasets: Mapping[str, GraphSet],
    address: str,
    attempt: Attempt,
    expected: dict[str, str],
) -> Generator[tuple[Job, dict[str, Any] | None], None, None]:
    """Each job with its outcome as it comes; None for one that was with workers that died."""
    from distributed import KilledWorker

    done: queue.SimpleQueue[Any] = queue.SimpleQueue()
    waiting = {}
    for job, future in _submit(client, jobs, datasets, attempt, expected):
        waiting[future.key] = (job, future)
        future.add_done_callback(done.put)
    try:
        while waiting:
            future = _next(done, client, f"{len(waiting)} of {len(jobs)} jobs to go", address)
            job, _ = waiting[future.key]
            outcome: dict[str, Any] | None
            try:
                outcome = future.result(timeout=ANSWER_SECONDS)
            except TimeoutError:  # its worker died after it finished: dask runs it again
                future.add_done_callback(done.put)
                continue
            except KilledWorker:
                outcome = None
            except Exception as error:  # noqa: BLE001 - such as code the worker cannot import; the other jobs go on
                outcome = failure(job, f"the worker could not run this job ({type(error).__name__}: {error})")
            del waiting[future.key]
            yield job, outcome
    finally:
        if waiting and client.status == "running":
            client.cancel([future for _, future in waiting.values()])


@contextmanager
def calls_on_cluster(address: str) -> Iterator[Callable[[Iterable[Call]], Iterator[None]]]:
    """A function that runs calls on the workers of a cluster, in order, and yields once for each that is done.

    A call whose worker dies runs elsewhere. Only as many calls are under way as keep the workers busy, so that what
    they are given may be made as they go. `SubgraphIsoNNClassifier.fit` takes the function as ``workers``.

    Args:
        address: of the scheduler, such as ``tcp://10.0.0.5:8786``.
    """
    with _connected(address) as client:
        expected = _compared()
        _check_workers(client, address, expected)

        def run(calls: Iterable[Call]) -> Iterator[None]:
            waiting: collections.deque[Any] = collections.deque()
            try:
                for function, given in calls:
                    waiting.append(_send(client, function, given, expected))
                    while len(waiting) >= 2 * max(1, sum(client.ncores().values())):
                        _wait(waiting[0], address)
                        waiting.popleft()
                        yield
                while waiting:
                    _wait(waiting[0], address)
                    waiting.popleft()
                    yield
            finally:
                if waiting and client.status == "running":
                    client.cancel(list(waiting))

        yield run


def _send(client: Any, function: Callable[..., None], given: tuple[Any, ...], expected: dict[str, str]) -> Any:
    import dask

    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PiB"}):
        return client.submit(_call, function, given, expected, key=f"{function.__name__}-{uuid.uuid4().hex}")


def _call(function: Callable[..., None], given: tuple[Any, ...], expected: dict[str, str]) -> None:
    here = _compared()
    if here != expected:
        raise InputError(_difference("a worker that joined later", here, expected))
    function(*given)


def _wait(future: Any, address: str) -> None:
    """Wait for a call; a cluster that will not bring it any more is an error."""
    from distributed import CancelledError, KilledWorker

    empty_since = None
    while True:
        try:
            future.result(timeout=LOOK_SECONDS)
        except TimeoutError:
            empty_since = _look(address, "work to do", "what is finished is", empty_since)
        except KilledWorker as error:
            raise IsoNNError(
                "every worker that ran one of the parts died, most likely for want of memory; what is finished is "
                "kept, so give the workers more and run the same command again to go on"
            ) from error
        except CancelledError as error:
            raise IsoNNError(
                f"the scheduler at {address} was lost or its jobs were cancelled; what is finished is kept, run the "
                f"same command again to go on"
            ) from error
        else:
            return


def _submit(
    client: Any, jobs: Sequence[Job], datasets: Mapping[str, GraphSet], attempt: Attempt, expected: dict[str, str]
) -> Iterator[tuple[Job, Any]]:
    import dask

    run = uuid.uuid4().hex  # two commands on one cluster do not share, and so cannot cancel, each other's jobs
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PiB"}):
        # A job of its own rather than scattered data, which would be lost with the workers that hold it.
        shared = {
            name: client.submit(_same, datasets[name], key=f"dataset-{name}-{run}")
            for name in dict.fromkeys(job.dataset for job in jobs)
        }
        for job in jobs:
            key = f"{job.method}-{job.id}-{run}"
            yield job, client.submit(_on_worker, attempt, job, shared[job.dataset], expected, key=key)


def _same(graphs: GraphSet) -> GraphSet:
    return graphs


def _on_worker(attempt: Attempt, job: Job, graphs: GraphSet, expected: dict[str, str]) -> dict[str, Any]:
    here = _compared()
    if here != expected:  # a worker that joined after the others were looked at
        return failure(job, _difference("a worker that joined later", here, expected))
    with _ALONE:
        return attempt(job, graphs)


def _next(done: queue.SimpleQueue[Any], client: Any, to_go: str, address: str) -> Any:
    """The next future that is done; a cluster that will not bring one any more is an error."""
    empty_since = None
    while True:
        try:
            future = done.get(timeout=LOOK_SECONDS)
        except queue.Empty:
            empty_since = _look(address, to_go, "finished jobs are", empty_since)
            continue
        if future.cancelled():
            raise IsoNNError(
                f"the scheduler at {address} was lost or its jobs were cancelled with {to_go}; finished jobs are "
                f"kept, run the same command again to go on"
            )
        return future


def _look(address: str, to_go: str, finished: str, empty_since: float | None) -> float | None:
    """Since when the cluster has had no workers, or None when it has some; one that is lost is an error."""
    keep = f"{finished} kept, run the same command again to go on"
    # The scheduler is asked on a connection of its own: one that hangs would leave the client waiting for ever.
    about = _ask(address)
    if isinstance(about, str):
        raise IsoNNError(f"the scheduler at {address} stopped answering with {to_go}; {keep}") from None
    if about["n_workers"]:
        return None
    empty_since = empty_since or time.monotonic()
    if time.monotonic() - empty_since > WORKER_SECONDS:
        raise IsoNNError(
            f"the cluster at {address} has had no workers for {WORKER_SECONDS:.0f} s with {to_go}; {keep}"
        ) from None
    return empty_since


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingDependencyError(
            "running on a cluster needs dask.distributed; install it with: pip install 'isonn[cluster]'"
        ) from error
    # Asked first, because a client waits for ever where something listens that is no scheduler.
    about = _ask(address, FIRST_ANSWER_SECONDS)
    if isinstance(about, str):
        raise InputError(
            f"no dask scheduler answers at {address or repr(address)} ({about}); start one with `dask scheduler`, "
            f"or give the address it prints"
        )
    log = logging.getLogger("distributed.client")
    level = log.level
    log.setLevel(logging.CRITICAL)  # whatever it would print over the progress bar is mended or becomes a sentence
    try:
        client = Client(address, timeout=ANSWER_SECONDS, set_as_default=False, name="isonn")
        try:
            yield client
        finally:
            client.close(timeout=ANSWER_SECONDS)
    finally:
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
    """There are workers, and they compute what this process would."""
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
