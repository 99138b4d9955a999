"""Run jobs in this process, in several, or on a cluster; the numbers are the same."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Generator, Iterable, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from typing import Any

from joblib import Parallel, delayed

from isonn.errors import InputError, IsoNNError
from isonn.experiments.jobs import Job, run_job
from isonn.experiments.store import Store, failure
from isonn.graphs.graph import GraphSet
from isonn.processes import workers

#: A worker that dies is most often out of memory; its jobs are tried this many more times beside others.
RESTARTS = 2
#: If this many jobs in a row kill their process although nothing runs beside them, the machine is at fault.
DEATHS = 5


def execute(
    jobs: Iterable[Job],
    datasets: Mapping[str, GraphSet],
    store: Store,
    n_jobs: int = 1,
    scheduler: str | None = None,
) -> Generator[dict[str, Any], None, None]:
    """Run jobs, store each outcome as it comes, and yield it.

    An outcome is a result of `run_job`, or for a job that failed its ``id``, ``job``, ``error`` (a sentence) and
    ``traceback``; the other jobs go on. What is finished stays when the iteration is stopped, or at Ctrl-C.

    Args:
        jobs: usually ``store.missing(jobs)``.
        datasets: by the name the jobs call them.
        n_jobs: processes, one thread each; 1 runs everything in this process.
        scheduler: address of a dask scheduler; its workers run the jobs, and ``n_jobs`` does not matter.
    """
    if n_jobs < 1:
        raise InputError(f"n_jobs={n_jobs} cannot run anything; use at least 1")
    todo = list(jobs)
    n_jobs = min(n_jobs, len(todo))
    outcomes: Generator[dict[str, Any], None, None]
    if scheduler is not None and todo:
        from isonn.experiments.cluster import in_cluster

        outcomes = in_cluster(todo, datasets, scheduler, _attempt)
    elif n_jobs > 1:
        outcomes = _in_processes(todo, datasets, n_jobs)
    else:
        outcomes = (_attempt(job, datasets[job.dataset]) for job in todo)
    with closing(outcomes):
        for outcome in outcomes:
            (store.put_error if "error" in outcome else store.put)(outcome)
            yield outcome


def _in_processes(
    jobs: Sequence[Job], datasets: Mapping[str, GraphSet], n_jobs: int
) -> Generator[dict[str, Any], None, None]:
    todo = {job.id: job for job in jobs}
    restarts = deaths = 0
    while todo:
        # A pool does not say which job killed its worker, so after some restarts jobs run one at a time. Those that
        # were under way come first, so the deadly one is found soon and the others go on side by side.
        alone = restarts > RESTARTS
        try:
            with closing(_pool(list(todo.values())[: 1 if alone else None], datasets, n_jobs)) as outcomes:
                for outcome in outcomes:
                    del todo[outcome["id"]]
                    deaths = 0
                    yield outcome
        except BrokenProcessPool as error:
            restarts += 1
            if not alone:
                continue
            deaths += 1
            if deaths > DEATHS:
                raise IsoNNError(
                    f"worker processes keep dying with {len(todo)} of {len(jobs)} jobs to go, most likely for want "
                    f"of memory; finished jobs are kept, run the rest on a larger machine"
                ) from error
            job = todo.pop(next(iter(todo)))
            restarts = 0
            yield failure(
                job,
                "the process that ran this job was killed, most likely for lack of memory; use fewer processes",
            )


def _pool(jobs: Sequence[Job], datasets: Mapping[str, GraphSet], n_jobs: int) -> Generator[dict[str, Any], None, None]:
    """The outcomes of the jobs as they come; BrokenProcessPool when a worker dies."""
    # The pool is reused between calls; one thread each is set before the workers load any library.
    with workers(inner_max_num_threads=1):
        # joblib runs a single job in this process, so one process is two with one job to give away
        parallel = Parallel(n_jobs=max(n_jobs, 2), return_as="generator_unordered")
        outcomes = parallel(delayed(_attempt)(job, datasets[job.dataset]) for job in jobs)
    with closing(outcomes), warnings.catch_warnings():
        # loky replaces workers that have grown large, as networks do; nothing is lost
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs were given")
        yield from outcomes


def _attempt(job: Job, graphs: GraphSet) -> dict[str, Any]:
    try:
        return run_job(job, graphs)
    except Exception as error:  # noqa: BLE001 - the other jobs go on
        sentence = str(error) if isinstance(error, IsoNNError) else f"{type(error).__name__}: {error}"
        return failure(job, sentence, traceback.format_exc())
