"""Continue the long run of the paper's table and studies: `python tools/run_table.py runs --minutes 90`.

Jobs run one at a time in this process, the most wanted rows first, and the time is shared out by rounds: few seeds of
every row before many seeds of any. Finished jobs stay in the folder, so that the next call goes on. Unpack the archives
of docs/results into runs/ first, or everything runs again. Two calls with different --sets share the work of two cores.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

from isonn.experiments.jobs import Job
from isonn.experiments.run import execute
from isonn.experiments.spec import load_spec
from isonn.experiments.store import Store
from isonn.experiments.study import load_datasets, plan_study

SETS = ("MUTAG", "HIV-fMRI", "HIV-DTI", "PTC")
HIV = ("HIV-fMRI", "HIV-DTI")
FAST = ("isonn-fast-authors", "isonn-fast-settled", "isonn-fast-authors-settled")
GNN = ("gcn-paper-epochs", "gin-paper-epochs", "gcn-settled", "gin-settled")
AE, SDBN, CNN = (tuple(f"{name}-{rule}" for rule in ("paper-epochs", "settled")) for name in ("ae", "sdbn", "cnn"))
DEEP = ("isonn-deep-settled", "isonn-deep-relative-settled")
LITERAL = ("isonn-literal", "isonn-literal-settled")
ISONN = ("isonn", "isonn-settled", *FAST)
STUDIES = ("convergence", "channels", "kernel-size")
#: Experiment, methods, datasets and number of seeds, in the order of what a reader wants: IsoNN and its fast variants,
#: the graph networks, the autoencoder and SDBN, then the CNN, deep networks and the studies; the cheapest sets first.
ROUNDS = (
    ("table", ("isonn-settled", *FAST), ("HIV-DTI",), 5),
    ("table", LITERAL, HIV, 3),
    ("table", ("isonn-settled",), ("PTC",), 5),
    ("table", GNN, ("PTC",), 5),
    ("table", FAST, ("PTC",), 3),
    ("table", AE, HIV, 5),
    ("table", SDBN[:1], HIV, 5),
    ("table", SDBN, ("MUTAG",), 10),
    ("table", SDBN, HIV, 3),
    ("table", AE, ("PTC",), 3),
    ("table", CNN, ("MUTAG",), 10),
    ("table", DEEP, ("MUTAG",), 5),
    ("table", ISONN, ("PTC",), 5),
    ("table", LITERAL, HIV, 5),
    *((study, ("isonn",), HIV, 5) for study in STUDIES),
    ("table", SDBN[:1], ("PTC",), 3),
    ("table", DEEP, HIV, 3),
    ("table", CNN, HIV, 3),
    ("table", LITERAL, ("PTC",), 3),
    ("table", ISONN, HIV, 10),
    ("table", AE, ("PTC",), 5),
    *((study, ("isonn",), ("PTC",), 5) for study in STUDIES),
    ("table", (*GNN, *AE, *SDBN), SETS, 5),
    ("table", (*ISONN, *GNN, *AE), SETS, 10),
    ("table", (*CNN, *DEEP, *LITERAL), SETS, 5),
    ("table", SDBN, SETS, 10),
)


def jobs_in_order() -> Iterator[tuple[str, Job, dict]]:
    """Yield every job with its experiment and the graphs by dataset, the most wanted first; some come twice."""
    datasets = load_datasets(SETS)
    for experiment, methods, names, seeds in ROUNDS:
        spec = load_spec(experiment)
        for method in methods:  # a row is filled before the next begins
            for part in plan_study(spec, datasets, [method], "paper", seeds):
                if part.dataset in names:
                    yield from ((experiment, job, datasets.graphs) for job in part.jobs if job.method == method)


def main() -> None:
    """Run what is missing until the time is up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="the folder that holds table/, channels/ and the others")
    parser.add_argument("--minutes", type=float, default=60.0, help="start no job after this many minutes")
    parser.add_argument("--sets", default=",".join(SETS), help="only these datasets, separated by commas")
    arguments = parser.parse_args()
    start, stores = time.monotonic(), {}
    for experiment, job, graphs in jobs_in_order():
        if time.monotonic() - start > 60 * arguments.minutes:
            break
        if job.dataset not in arguments.sets.split(","):
            continue
        store = stores.setdefault(experiment, Store(arguments.folder / experiment))
        for outcome in execute(store.missing([job]), graphs, store):
            note = outcome.get("error") or f"{outcome['metrics']['accuracy']:.3f}, loss {outcome['loss'][-1]:.3f}"
            seconds = outcome.get("timings", {}).get("cpu_seconds", 0.0)
            print(f"{experiment} {job.dataset} {job.method} {job.seed}.{job.fold}: {note}, {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
