"""Worker processes: they leave Ctrl-C to the process that started them, and end when it does."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from joblib import parallel_config


@contextmanager
def workers(**settings: Any) -> Iterator[None]:
    """Processes that `joblib.Parallel` starts in this block ignore Ctrl-C and end with this process.

    A terminal sends Ctrl-C to every process of the command, and each worker would print its own traceback; this process
    stops them. Blocking the signal does not work: starting multiprocessing's resource tracker unblocks it. A process
    that is killed stops nobody, so its workers watch it.

    Args:
        settings: more for `joblib.parallel_config`.
    """
    with parallel_config("loky", initializer=_end_with, initargs=(os.getpid(),), **settings):
        if threading.current_thread() is not threading.main_thread():
            yield  # Python sets signal handlers in the main thread only
            return
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


def _end_with(parent: int) -> None:
    """End this process once its parent is gone."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
