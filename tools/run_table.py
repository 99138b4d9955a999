"""Continue the long run of the paper's table: `python tools/run_table.py runs/table --minutes 90`.

Jobs run one at a time in this process, the most wanted rows first, and the time is shared out by rounds: few seeds of
every row before many seeds of any. Finished jobs stay in the folder, so that the next call goes on. Unpack the archives
of docs/results into runs/ first, or everything runs again.
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
ISONN = ("isonn-settled", "isonn-fast-authors", "isonn-fast-settled", "isonn-fast-authors-settled")
CHEAP = ("gcn-settled", "gin-settled", "ae-settled", "sdbn-settled")
CHEAP_AT_PAPER = ("gcn-paper-epochs", "gin-paper-epochs", "ae-paper-epochs", "sdbn-paper-epochs")
LAST = ("cnn-settled", "cnn-paper-epochs", "isonn-deep-settled", "isonn-literal", "isonn-literal-settled")
#: Rows, datasets and number of seeds, in the order of their worth.
ROUNDS = (
    (ISONN, ("MUTAG",), 10),
    (CHEAP, ("MUTAG",), 3),
    (CHEAP[:2], ("HIV-DTI", "HIV-fMRI"), 3),
    (ISONN[:2], ("HIV-DTI", "HIV-fMRI"), 2),
    (ISONN[2:], ("HIV-DTI", "HIV-fMRI"), 1),
    (CHEAP[2:], ("HIV-DTI", "HIV-fMRI"), 1),
    (CHEAP, ("MUTAG",), 10),
    (LAST[:1], ("MUTAG",), 3),
    (LAST[2:3], ("MUTAG",), 3),
    (ISONN[:2], ("HIV-DTI", "HIV-fMRI"), 3),
    (LAST[3:4], ("HIV-fMRI", "HIV-DTI"), 1),
    (CHEAP_AT_PAPER, ("MUTAG",), 3),
    (ISONN, ("HIV-DTI", "HIV-fMRI"), 3),
    (CHEAP, ("HIV-DTI", "HIV-fMRI"), 2),
    (ISONN, ("HIV-DTI", "HIV-fMRI"), 5),
    (CHEAP[:2], ("HIV-DTI", "HIV-fMRI", "PTC"), 5),
    (ISONN, ("PTC",), 1),
    (LAST, SETS, 1),
    (ISONN, SETS, 5),
    ((*CHEAP, *CHEAP_AT_PAPER), SETS, 5),
    (LAST, SETS, 3),
    (ISONN, SETS, 10),
    ((*CHEAP, *CHEAP_AT_PAPER), SETS, 10),
    (LAST, SETS, 5),
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
