"""Worker processes that ignore Ctrl-C and end with the process that started them, and calls in threads."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import Any

from joblib import Parallel, delayed, parallel_config


@contextmanager
def workers(**settings: Any) -> Iterator[None]:
    """Make processes started by `joblib.Parallel` in this block ignore Ctrl-C and end with this process.

    A terminal sends Ctrl-C to every process of a command, and each worker would print a traceback. So workers ignore
    it, and this process stops them. Blocking the signal does not work, because multiprocessing's resource tracker
    unblocks it. A killed process cannot stop its workers, so they watch it.

    Args:
        settings: further arguments of `joblib.parallel_config`.
    """
    with parallel_config("loky", initializer=_end_with, initargs=(os.getpid(),), **settings):
        if threading.current_thread() is not threading.main_thread():
            yield  # signal handlers can only be set in the main thread
            return
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


#: A function with its arguments, and a function that runs such calls and yields their results in order.
Call = tuple[Callable[..., Any], tuple[Any, ...]]
Run = Callable[[Iterable[Call]], Iterator[Any]]


def in_threads(
    function: Callable[[Any], Any], items: Iterable[Any], jobs: int, stop: threading.Event | None = None
) -> Generator[Any, None, None]:
    """Yield the results for items in order; no more items than threads are worked on at a time, to save memory.

    Args:
        stop: set when an item fails, at Ctrl-C, or when no more results are wanted, so that the others can end early.
    """
    if jobs == 1 or (isinstance(items, Sequence) and len(items) < 2):
        yield from map(function, items)
        return
    items = iter(items)
    with ThreadPoolExecutor(jobs) as pool:
        try:
            running = deque(pool.submit(function, item) for item in islice(items, jobs))
            while running:
                result = running.popleft().result()
                running.extend(pool.submit(function, item) for item in islice(items, 1))
                yield result
        except BaseException:
            if stop is not None:
                stop.set()
            raise


def run_in_order(calls: Iterable[Call], jobs: int | Run) -> Iterator[Any]:
    """Run calls in this process, in several processes, or by a function of the user; yield their results in order.

    Args:
        jobs: number of processes, or a function that runs calls elsewhere, such as the result of
            `isonn.experiments.cluster.calls_on_cluster`.
    """
    if callable(jobs):
        yield from jobs(calls)
    elif jobs == 1:
        for function, given in calls:
            yield function(*given)
    else:
        with workers():  # they start with the first call
            outcomes = Parallel(n_jobs=jobs, return_as="generator", batch_size=1)(
                delayed(function)(*given) for function, given in calls
            )
        yield from outcomes


def _end_with(parent: int) -> None:
    """End this process when its parent is gone."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
