"""Run jobs in this process, in several processes or on a cluster, with identical results."""

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

#: Workers usually die for lack of memory; their jobs are retried in parallel this many times.
RESTARTS = 2
#: If this many jobs in a row kill their process while running alone, the run stops.
DEATHS = 5


def execute(
    jobs: Iterable[Job],
    datasets: Mapping[str, GraphSet],
    store: Store,
    n_jobs: int = 1,
    scheduler: str | None = None,
) -> Generator[dict[str, Any], None, None]:
    """Run jobs, store each outcome as it arrives, and yield it.

    An outcome is a result of `run_job`. For a failed job it is its ``id``, ``job``, ``error`` (a sentence) and
    ``traceback``; the other jobs continue. Stopping the iteration or Ctrl-C keeps finished jobs.

    Args:
        jobs: usually ``store.missing(jobs)``.
        datasets: the sets by `Job.dataset`.
        n_jobs: number of processes, one thread each; 1 runs everything in this process.
        scheduler: address of a dask scheduler whose workers run the jobs; ``n_jobs`` is then ignored.
    """
    if n_jobs < 1:
        raise InputError(f"n_jobs must be at least 1, got {n_jobs}")
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
            store.put(outcome)
            yield outcome


def _in_processes(
    jobs: Sequence[Job], datasets: Mapping[str, GraphSet], n_jobs: int
) -> Generator[dict[str, Any], None, None]:
    todo = {job.id: job for job in jobs}
    restarts = deaths = 0
    while todo:
        # A pool does not report which job killed its worker, so after some restarts jobs run one at a time. Those that
        # were running come first, so the bad job is found early and the others continue in parallel.
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
                    f"worker processes keep dying with {len(todo)} of {len(jobs)} jobs to go, most likely for lack of "
                    "memory; finished jobs are kept, run the rest on a larger machine"
                ) from error
            job = todo.pop(next(iter(todo)))
            restarts = 0
            yield failure(
                job,
                "the process that ran this job was killed, most likely for lack of memory; use fewer processes",
            )


def _pool(jobs: Sequence[Job], datasets: Mapping[str, GraphSet], n_jobs: int) -> Generator[dict[str, Any], None, None]:
    """Yield the outcomes of the jobs as they arrive; raise BrokenProcessPool if a worker dies."""
    # The pool is reused between calls. Its threads are limited before the workers load any library.
    with workers(inner_max_num_threads=1):
        # joblib runs n_jobs=1 in this process, so a job that must run alone gets a pool of two
        parallel = Parallel(n_jobs=max(n_jobs, 2), return_as="generator_unordered")
        outcomes = parallel(delayed(_attempt)(job, datasets[job.dataset]) for job in jobs)
    with warnings.catch_warnings(), closing(outcomes):  # outcomes are closed first, while their warnings are ignored
        # loky replaces workers that use much memory; no job is lost
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs were given")
        # after Ctrl-C the user is told what is kept
        warnings.filterwarnings("ignore", message=r"\d+ tasks (which were still|have been successfully)")
        yield from outcomes


def _attempt(job: Job, graphs: GraphSet) -> dict[str, Any]:
    try:
        return run_job(job, graphs)
    except Exception as error:  # noqa: BLE001 - the other jobs go on
        sentence = str(error) if isinstance(error, IsoNNError) else f"{type(error).__name__}: {error}"
        return failure(job, sentence, traceback.format_exc())
