"""How the benchmarks measure: the best of several runs, and peak memory in a separate process."""

from __future__ import annotations

import math
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

Clock = Callable[[], float]


def best_seconds(
    run: Callable[[], object], repeats: int = 5, warm_up: bool = True, clock: Clock = time.perf_counter
) -> float:
    """Return the time of the fastest of several runs, which other load disturbs least."""
    if warm_up:
        run()
    times = []
    for _ in range(repeats):
        start = clock()
        run()
        times.append(clock() - start)
    return min(times)


def best_of_each(runs: Sequence[Callable[[], object]], repeats: int, clock: Clock = time.perf_counter) -> list[float]:
    """Return the time of the fastest of several runs of each, in turns, so that all see the same load."""
    for run in runs:
        run()
    return [
        min(times)
        for times in zip(*([best_seconds(run, 1, False, clock) for run in runs] for _ in range(repeats)), strict=True)
    ]


def peak_megabytes(code: str) -> float:
    """Return the peak resident memory of a new process that runs ``code`` (Linux; nan elsewhere)."""
    # Not getrusage, in which a child process inherits the peak of its parent.
    script = f"{code}\nprint(next(line for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    return float(run.stdout.split()[-2]) / 1e3 if run.returncode == 0 else math.nan
