"""Counting subgraphs, and the default model on molecules, compared with fingerprints and fixed limits."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
from report import Row
from smiles import class_of, smiles
from timing import best_seconds, peak_megabytes

import isonn
from isonn.subgraphs.count import count_in_threads
from isonn.subgraphs.encode import CodedGraphs

NODES, SIZES = 30, (1, 2, 3, 4)
FEW, MANY = 4_000, 50_000

IN_TWO_THREADS = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from subgraphs import MANY, count_in_threads, molecules
count_in_threads(molecules(MANY), n_jobs=2)
"""


FIRST_FIT = """
import time
import numba, isonn, isonn.subgraphs.estimators, isonn.subgraphs.explain
times = []
for _ in range(2):
    start = time.process_time()
    isonn.SubgraphClassifier(head="linear", random_state=0).fit(isonn.load("MUTAG")).explain(isonn.load("MUTAG")[0])
    times.append(time.process_time() - start)
print(times[0] - times[1])
"""


def compile_seconds() -> float:
    """Return how much longer a first fit and explanation take than the next ones, in a process with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {**os.environ, "XDG_CACHE_HOME": folder}
        run = subprocess.run([sys.executable, "-c", FIRST_FIT], capture_output=True, text=True, env=settings)
        return float(run.stdout) if run.returncode == 0 else math.nan


def molecules(count: int, seed: int = 0) -> CodedGraphs:
    """Generate random trees with up to four neighbours per node and three rings of six, four atoms and three bonds."""
    draw, rows = np.random.default_rng(seed), np.arange(count)
    degree = np.zeros((count, NODES), dtype=np.int64)
    edges, owner = [], []

    def join(chosen: np.ndarray, first: np.ndarray, second: np.ndarray) -> None:
        degree[chosen, first] += 1
        degree[chosen, second] += 1
        edges.append(np.stack([first, second], axis=1))
        owner.append(chosen)

    for node in range(1, NODES):
        near = 1 + 3 * (np.arange(node) >= node - 3)  # chains rather than stars
        parent = (draw.random((count, node)) * (degree[:, :node] < 3) * near).argmax(axis=1)
        join(rows, parent, np.full(count, node))
    for _ in range(3):
        first = draw.integers(0, NODES - 5, count)
        free = (degree[rows, first] < 4) & (degree[rows, first + 5] < 4)
        join(rows[free], first[free], first[free] + 5)
    key = np.unique((np.concatenate(owner) * NODES + np.concatenate(edges)[:, 0]) * NODES + np.concatenate(edges)[:, 1])
    offsets = np.concatenate([[0], np.bincount(key // NODES**2, minlength=count).cumsum()])
    atoms = draw.choice(4, count * NODES, p=[0.7, 0.12, 0.12, 0.06])
    bonds = 1 + draw.choice(3, len(key), p=[0.6, 0.3, 0.1])
    pairs = np.stack([key // NODES % NODES, key % NODES], axis=1)
    return CodedGraphs(np.arange(count + 1) * NODES, offsets, pairs, atoms[None], bonds[None], (SIZES,))


def fingerprints(coded: CodedGraphs) -> float:
    """Return the seconds of RDKit's sparse Morgan counts of radius 2 for the same, already created molecules."""
    from rdkit import Chem, RDLogger
    from rdkit.Chem import rdFingerprintGenerator

    RDLogger.DisableLog("rdApp.*")
    made = []
    for i in range(len(coded)):
        mol = Chem.RWMol()
        for code in coded.node_codes[0, coded.node_offsets[i] : coded.node_offsets[i + 1]].tolist():
            mol.AddAtom(Chem.Atom((6, 7, 8, 16)[code]))
        for a, b in coded.edges[coded.edge_offsets[i] : coded.edge_offsets[i + 1]].tolist():
            mol.AddBond(a, b, Chem.BondType.SINGLE)
        whole = mol.GetMol()
        whole.UpdatePropertyCache(strict=False)
        Chem.FastFindRings(whole)
        made.append(whole)
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2)
    return best_seconds(lambda: [generator.GetSparseCountFingerprint(mol) for mol in made], 3)


def counting() -> Iterator[Row]:
    """Measure generated molecules of 30 nodes."""
    few, many = molecules(FEW), molecules(MANY)
    yield Row("compile the loops of a first fit, empty cache", "seconds / 5", compile_seconds() / 5, "<= 1")
    small = best_seconds(lambda: count_in_threads(few), 5)
    what = f"count {FEW:,} molecules of {NODES} nodes, k=1..4, one core"
    yield Row(what, "RDKit's Morgan counts, radius 2, same molecules / ours", fingerprints(few) / small, ">= 1")
    six = replace(few, view_sizes=((*SIZES, 5, 6),))
    yield Row("", "k=1..6 / k=1..4", best_seconds(lambda: count_in_threads(six), 2) / small, "<= 4")
    large = best_seconds(lambda: count_in_threads(many), 2)
    yield Row(f"count {MANY:,} molecules, one core", "seconds / 5", large / 5, "<= 1")
    two = best_seconds(lambda: count_in_threads(many, n_jobs=2), 2)
    yield Row("", "one thread / two", large / two)
    yield Row("", "peak memory with two threads / 1 GB", peak_megabytes(IN_TWO_THREADS) / 1e3, "< 1")


def model() -> Iterator[Row]:
    """Measure the default model and the linear one of four nodes on SMILES."""
    from rdkit import Chem
    from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

    texts = list(islice(smiles(10 * FEW), 0, None, 10))
    graphs = isonn.molecules.from_smiles(texts, list(map(class_of, texts)), standardize="none")
    made = [Chem.MolFromSmiles(text) for text in texts]
    generator = GetMorganGenerator(radius=2)
    morgan = best_seconds(lambda: [generator.GetSparseCountFingerprint(mol) for mol in made], 3)
    linear = isonn.SubgraphClassifier(4, head="linear", random_state=0).fit(graphs[:500])
    seconds = best_seconds(lambda: linear.predict(graphs), 3)
    yield Row("predict molecules, four nodes, linear", "RDKit's Morgan counts alone / ours", morgan / seconds, ">= 1")
    clf = isonn.SubgraphClassifier(random_state=0).fit(graphs[:500])
    clf.explain(graphs[:1]).reasons  # noqa: B018 - compiles
    seconds = best_seconds(lambda: clf.fit(graphs), 1, warm_up=False)
    yield Row(f"fit {FEW:,} molecules, the default model", "seconds / 30", seconds / 30, "<= 1")
    clf.n_jobs = 2
    seconds = best_seconds(lambda: clf.predict(graphs), 3)
    clf.n_jobs = 1
    yield Row(
        "predict molecules, the default model, two threads", "graphs a second / 15,000", FEW / seconds / 15e3, ">= 1"
    )
    # molecules are dropped at once: to keep thousands doubles the time of parsing
    parsed = best_seconds(lambda: sum(Chem.MolFromSmiles(text) is not None for text in texts), 3)
    from_text = best_seconds(lambda: clf.predict(isonn.molecules.from_smiles(texts, standardize="none")), 3)
    yield Row("predict SMILES, the default model, one thread", "RDKit's parser / ours", parsed / from_text, ">= 0.3")
    alone, shared = (best_seconds(partial(isonn.molecules.from_smiles, 10 * texts, n_jobs=jobs), 2) for jobs in (1, 2))
    yield Row("read and standardise SMILES", "one process / two", alone / shared)
    times = []
    for i in range(200):
        start = time.perf_counter()
        clf.explain(graphs[i : i + 1])
        times.append(time.perf_counter() - start)
    yield Row("explain one molecule, median", "milliseconds / 5", 1e3 * float(np.median(times)) / 5, "<= 1")


def banking() -> Iterator[Row]:
    """Measure all of the above."""
    yield from counting()
    yield from model()
