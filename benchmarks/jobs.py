"""How much faster two processes are than one on the MUTAG table. Keep the machine otherwise idle.

A subset of the table, said in the output: fresh folders, one run each, the time to start the processes included.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import isonn
from isonn.experiments.jobs import Task, plan
from isonn.experiments.run import execute
from isonn.experiments.spec import load_spec
from isonn.experiments.store import Store

METHODS = ("isonn", "cnn", "gcn", "degrees", "size")


def seconds(tasks: list[Task], graphs: isonn.graphs.GraphSet, jobs: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "store")
        start = time.perf_counter()
        failed = [
            outcome["error"] for outcome in execute(tasks, {graphs.name: graphs}, store, jobs) if "error" in outcome
        ]
        elapsed = time.perf_counter() - start
    if failed:
        raise SystemExit(f"{len(failed)} tasks failed, the first with: {failed[0]}")
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
    tasks = plan(graphs, methods, settings, "paper", given.seeds)
    seconds(tasks[:1], graphs, 1)  # imports are not what is measured
    one = seconds(tasks, graphs, 1)
    several = seconds(tasks, graphs, given.jobs)
    print(f"MUTAG, protocol paper, {given.methods}, {given.seeds} seeds: {len(tasks)} tasks")
    print(f"1 process {one:.1f} s, {given.jobs} processes {several:.1f} s: {one / several:.2f} times as fast")


if __name__ == "__main__":
    main()
