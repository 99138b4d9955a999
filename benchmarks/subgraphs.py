"""Counting subgraphs, and the vocabulary model on molecules, compared with fingerprints, numpy and fixed limits."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from report import Row
from timing import best_seconds, peak_megabytes

import isonn
from isonn.graphs.graph import GraphSet
from isonn.graphs.join import graphset_from_cells
from isonn.subgraphs.bank import Banked, CodedGraphs, Codes, bank_in_numpy, bank_subgraphs
from isonn.subgraphs.views import fit_encoding

NODES, SIZES = 30, (1, 2, 3, 4)
FEW, MANY = 4_000, 50_000

IN_TWO_THREADS = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from subgraphs import MANY, bank_subgraphs, molecules
bank_subgraphs(molecules(MANY), n_jobs=2)
"""


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
    return CodedGraphs(np.arange(count + 1) * NODES, offsets, pairs, (Codes(atoms, bonds, SIZES),))


def as_graphs(coded: CodedGraphs) -> GraphSet:
    """Return the same molecules as a set of graphs, with a class that depends on one kind of bond."""
    owner = np.repeat(np.arange(len(coded)), np.diff(coded.edge_offsets))
    both = np.concatenate([coded.edges, coded.edges[:, ::-1]])
    labels = np.tile(coded.views[0].edge_codes, 2)
    nodes = coded.views[0].node_codes
    ends = nodes[coded.edges + coded.node_offsets[owner, None]]
    odd = (np.sort(ends, axis=1) == [1, 2]).all(axis=1)
    y = np.bincount(owner, odd, minlength=len(coded)) > 0
    y ^= np.random.default_rng(0).random(len(y)) < 0.05
    return graphset_from_cells(
        np.tile(owner, 2), both, np.diff(coded.node_offsets), edge_labels=labels, node_labels=nodes, y=y.astype(int)
    )


def fingerprints(coded: CodedGraphs) -> float:
    """Return the seconds of RDKit's sparse Morgan counts of radius 2 for the same, already created molecules."""
    from rdkit import Chem, RDLogger
    from rdkit.Chem import rdFingerprintGenerator

    RDLogger.DisableLog("rdApp.*")
    made = []
    for i in range(len(coded)):
        mol = Chem.RWMol()
        for code in coded.views[0].node_codes[coded.node_offsets[i] : coded.node_offsets[i + 1]].tolist():
            mol.AddAtom(Chem.Atom((6, 7, 8, 16)[code]))
        for a, b in coded.edges[coded.edge_offsets[i] : coded.edge_offsets[i + 1]].tolist():
            mol.AddBond(a, b, Chem.BondType.SINGLE)
        whole = mol.GetMol()
        whole.UpdatePropertyCache(strict=False)
        Chem.FastFindRings(whole)
        made.append(whole)
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2)
    return best_seconds(lambda: [generator.GetSparseCountFingerprint(mol) for mol in made], 3)


def _found(banked: Banked) -> int:
    return int(sum(bank.counts.sum() for banks in banked.banks for bank in banks.values()))


def counting() -> Iterator[Row]:
    """Measure generated molecules of 30 nodes."""
    start = time.perf_counter()
    few, many = molecules(FEW), molecules(MANY)
    start = time.perf_counter()
    bank_subgraphs(few.part(0, 10))
    yield Row("first call, compiled or read from the cache", "seconds / 15", (time.perf_counter() - start) / 15, "<= 1")
    small = best_seconds(lambda: bank_subgraphs(few), 5)
    found = _found(bank_subgraphs(few))
    yield Row(f"count {FEW:,} molecules of {NODES} nodes, k=1..4, one core", "subgraphs a second / 6 million",
              found / small / 6e6, ">= 1")  # fmt: skip
    yield Row("", "RDKit's Morgan counts, radius 2, same molecules / ours", fingerprints(few) / small, ">= 1.5")
    large = best_seconds(lambda: bank_subgraphs(many), 2)
    yield Row(f"count {MANY:,} molecules, one core", "seconds / 5", large / 5, "<= 1")
    two = best_seconds(lambda: bank_subgraphs(many, n_jobs=2), 2)
    yield Row("", "one thread / two", large / two)
    yield Row("", "peak memory with two threads / 1 GB", peak_megabytes(IN_TWO_THREADS) / 1e3, "< 1")


def model() -> Iterator[Row]:
    """Measure the default model on labelled molecules of 30 nodes: both views, k=1..4."""
    graphs = as_graphs(molecules(FEW))
    clf = isonn.SubgraphClassifier(random_state=0).fit(graphs[:100])
    clf.explain(graphs[:1])
    yield Row(f"fit {FEW:,} molecules, penalty by leave-one-out", "seconds / 10",
              best_seconds(lambda: clf.fit(graphs), 1, warm_up=False) / 10, "<= 1")  # fmt: skip
    seconds = best_seconds(lambda: clf.predict(graphs), 3)
    yield Row("predict", "graphs a second / 5,000", FEW / seconds / 5e3, ">= 1")
    times = []
    for i in range(200):
        start = time.perf_counter()
        clf.explain(graphs[i : i + 1])
        times.append(time.perf_counter() - start)
    yield Row("explain one graph, median", "milliseconds / 3", 1e3 * float(np.median(times)) / 3, "<= 1")


def against_numpy() -> Iterator[Row]:
    """Compare the compiled path with this tree's numpy path, the oracle, on real datasets in ISONN_DATA.

    docs/performance.md has the ratios to the first build, which is no longer in this tree.
    """
    for name, sizes in (("PROTEINS", (5,)), ("IMDB-MULTI", (1, 2, 3, 4))):
        if not (Path(os.environ.get("ISONN_DATA", "")) / name).is_dir():
            continue
        graphs = isonn.load(name)
        use = {"node_labels": graphs.node_labels is not None, "edge_labels": False, "node_attributes": False}
        encoding = fit_encoding(graphs, {**use, "edge_weights": False}, sizes, ("labels", "refined"))
        coded = encoding.encode(graphs)
        start = time.perf_counter()
        bank_in_numpy(coded, 100_000, 0)
        slow = time.perf_counter() - start
        fast = best_seconds(lambda coded=coded: bank_subgraphs(coded), 1)
        yield Row(f"count {name}, k={sizes}", "numpy path of this tree / compiled", slow / fast)


def banking() -> Iterator[Row]:
    """Measure all of the above."""
    yield from counting()
    yield from model()
    yield from against_numpy()
