"""Molecules: times. Needs ISONN_DATA/molecules; benchmarks/accuracy.py has the accuracy.

python benchmarks/molecules.py    # read, fit, predict, explain, draw
"""

from __future__ import annotations

import os
import time
import warnings
from pathlib import Path

import isonn

DATA = Path(os.environ.get("ISONN_DATA", "data")) / "molecules"


def load(name: str) -> isonn.GraphSet:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # repeats are known
        return isonn.load(DATA / f"{name}.csv")


def times() -> None:
    """Print seconds and rates of the default model on two cores; the second fit compiles nothing."""
    start = time.perf_counter()
    graphs = load("ames")
    read = time.perf_counter() - start
    isonn.SubgraphClassifier(random_state=0).fit(graphs[:200]).explain(graphs[0])
    compiled = time.perf_counter() - start - read
    print(f"{len(graphs)} molecules read in {read:.1f} s; first small fit, with compiling, {compiled:.1f} s")
    for count in (4000, len(graphs)):
        start = time.perf_counter()
        clf = isonn.SubgraphClassifier(n_jobs=2, random_state=0).fit(graphs[:count])
        print(f"fit {count} molecules: {time.perf_counter() - start:.1f} s")
    for jobs in (1, 2):
        clf.n_jobs = jobs
        clf.predict(graphs)
        start = time.perf_counter()
        clf.predict(graphs)
        print(f"predict with n_jobs={jobs}: {len(graphs) / (time.perf_counter() - start):,.0f} a second")
    start = time.perf_counter()
    explanations = [clf.explain(graph) for graph in graphs[:1000]]
    print(f"explain: {time.perf_counter() - start:.2f} ms a molecule")
    start = time.perf_counter()
    for explanation in explanations:
        explanation.to_svg()
    print(f"1,000 highlighted drawings: {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # unseen labels of rare atoms
    times()
