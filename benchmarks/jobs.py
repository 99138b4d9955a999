"""Speed of two processes compared with one on part of the MUTAG table. Keep the machine otherwise idle.

Each run uses a new folder, and its time includes the start of the processes.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import isonn
from isonn.experiments.jobs import Job, plan
from isonn.experiments.run import execute
from isonn.experiments.spec import load_spec
from isonn.experiments.store import Store

METHODS = ("isonn", "cnn", "gcn", "degrees", "size")


def seconds(jobs: list[Job], graphs: isonn.graphs.GraphSet, n_jobs: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "store")
        start = time.perf_counter()
        failed = [
            outcome["error"] for outcome in execute(jobs, {graphs.name: graphs}, store, n_jobs) if "error" in outcome
        ]
        elapsed = time.perf_counter() - start
    if failed:
        raise SystemExit(f"{len(failed)} jobs failed, the first with: {failed[0]}")
    return elapsed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    graphs, spec = isonn.load("MUTAG"), load_spec("table")
    methods = given.methods.split(",")
    settings = {method: spec.settings_for(graphs.name, method) for method in methods}
    jobs = plan(graphs, methods, settings, "paper", given.seeds)
    seconds(jobs[:1], graphs, 1)  # leaves imports out of the measurement
    one = seconds(jobs, graphs, 1)
    several = seconds(jobs, graphs, given.jobs)
    print(f"MUTAG, protocol paper, {given.methods}, {given.seeds} seeds: {len(jobs)} jobs")
    print(f"1 process {one:.1f} s, {given.jobs} processes {several:.1f} s: {one / several:.2f} times as fast")


if __name__ == "__main__":
    main()
