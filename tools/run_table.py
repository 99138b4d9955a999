"""Continue the long run of the paper's table: `python tools/run_table.py runs/table --minutes 90`.

Jobs run one at a time in this process, the most wanted rows first, and the time is shared out by rounds: few seeds of
every row before many seeds of any. Finished jobs stay in the folder, so that the next call goes on. Unpack the archives
of docs/results into runs/ first, or everything runs again.

On Linux, start it with MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=100000000000 in the environment: glibc otherwise gives
blocks as large as the weights of a CNN (550 MB) back to the system after every step, and getting them again takes
as long as the arithmetic. Numbers do not depend on it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

from isonn.experiments.run import execute
from isonn.experiments.spec import load_spec
from isonn.experiments.store import Store
from isonn.experiments.study import load_datasets, plan_study

SETS = ("MUTAG", "HIV-fMRI", "HIV-DTI", "PTC")
HIV = ("HIV-fMRI", "HIV-DTI")
ISONN = ("isonn-settled", "isonn-fast-settled", "isonn-fast-authors", "isonn-fast-authors-settled")
GNN = ("gcn-settled", "gin-settled", "gcn-paper-epochs", "gin-paper-epochs")
AE, SDBN, CNN = (tuple(f"{name}-{rule}" for rule in ("paper-epochs", "settled")) for name in ("ae", "sdbn", "cnn"))
DEEP = ("isonn-deep-settled", "isonn-deep-relative-settled")
LITERAL = ("isonn-literal", "isonn-literal-settled")
#: Rows, datasets and number of seeds, in the order of what a reader wants: IsoNN and its fast variants, the graph
#: networks, the autoencoder and SDBN, then the rest. Five seeds of a row come before ten of any.
ROUNDS = (
    (GNN, ("MUTAG", *HIV), 10),
    ((*AE, *SDBN), ("MUTAG",), 10),
    (ISONN, ("HIV-fMRI",), 5),
    (GNN[2:], ("PTC",), 5),
    (LITERAL[:1], HIV, 5),
    (AE[:1], HIV, 5),
    (ISONN[:3], ("HIV-DTI",), 5),
    (ISONN[2:3], ("PTC",), 3),
    (GNN[:2], ("PTC",), 3),
    (SDBN[:1], HIV, 3),
    (ISONN[:1], ("PTC",), 1),
    (ISONN[3:], ("HIV-DTI",), 5),
    (AE[1:], HIV, 5),
    (ISONN[1:], ("PTC",), 1),
    (ISONN, ("PTC",), 3),
    (GNN, ("PTC",), 5),
    (LITERAL, HIV, 3),
    (AE, ("PTC",), 3),
    (SDBN, HIV, 3),
    (DEEP, ("MUTAG",), 5),
    (CNN, ("MUTAG",), 10),
    (CNN, HIV, 3),
    (ISONN, ("PTC",), 5),
    (ISONN, ("HIV-fMRI",), 10),
    (SDBN[:1], ("PTC",), 3),
    (DEEP, HIV, 3),
    ((*AE, *SDBN), HIV, 5),
    (ISONN, SETS, 10),
    ((*GNN, *AE, *SDBN), SETS, 10),
    ((*CNN, *DEEP, *LITERAL), SETS, 5),
)


def jobs_in_order() -> Iterator[tuple]:
    """Yield every job with its graphs, each once, the most wanted first."""
    spec, datasets = load_spec("table"), load_datasets(SETS)
    seen = set()
    for methods, names, seeds in ROUNDS:
        for part in plan_study(spec, datasets, methods, "paper", seeds):
            if part.dataset not in names:
                continue
            for job in part.jobs:
                if job.id not in seen:
                    seen.add(job.id)
                    yield job, datasets.graphs


def main() -> None:
    """Run what is missing until the time is up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="the folder of results, such as runs/table")
    parser.add_argument("--minutes", type=float, default=60.0, help="start no job after this many minutes")
    arguments = parser.parse_args()
    store, start = Store(arguments.folder), time.monotonic()
    for job, graphs in jobs_in_order():
        if time.monotonic() - start > 60 * arguments.minutes:
            break
        for outcome in execute(store.missing([job]), graphs, store):
            note = outcome.get("error") or f"{outcome['metrics']['accuracy']:.3f}, loss {outcome['loss'][-1]:.3f}"
            seconds = outcome.get("timings", {}).get("fit_seconds", 0.0)
            print(f"{job.dataset} {job.method} {job.seed}.{job.fold}: {note}, {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
