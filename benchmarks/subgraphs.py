"""Cutting and banking connected subgraphs: against igraph's bare enumeration, as sets grow, and on two cores."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import igraph
import numpy as np
from report import Row
from timing import peak_megabytes

from isonn.subgraphs.bank import CodedGraphs, View, bank_subgraphs

NODES, SIZES = 25, (3, 4, 5)
FEW, MANY = 5_000, 50_000

IN_A_PROCESS = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from subgraphs import MANY, bank_subgraphs, molecules
bank_subgraphs(molecules(MANY))
"""


def molecules(count: int, seed: int = 0) -> CodedGraphs:
    """Random trees with up to four neighbours a node and up to three rings of six, four atoms and three bonds."""
    draw, rows = np.random.default_rng(seed), np.arange(count)
    degree = np.zeros((count, NODES), dtype=np.int64)
    edges, owner = [], []

    def join(chosen: np.ndarray, first: np.ndarray, second: np.ndarray) -> None:
        degree[chosen, first] += 1
        degree[chosen, second] += 1
        edges.append(np.stack([first, second], axis=1))
        owner.append(chosen)

    for node in range(1, NODES):
        near = 1 + 3 * (np.arange(node) >= node - 3)  # chains, more than stars
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
    return CodedGraphs(np.arange(count + 1) * NODES, offsets, pairs, (View(atoms, bonds, SIZES),))


def enumeration(graphs: CodedGraphs) -> float:
    """Processor seconds in which igraph lists the subgraphs, one graph after the other, and forgets them."""
    made = []
    for i in range(len(graphs)):
        edges = graphs.edges[graphs.edge_offsets[i] : graphs.edge_offsets[i + 1]]
        made.append(igraph.Graph(n=NODES, edges=edges.tolist()))
    start = time.process_time()
    for graph in made:
        for k in SIZES:
            graph.motifs_randesu(size=k, callback=lambda *found: False)
    return time.process_time() - start


def timed(graphs: CodedGraphs, jobs: int = 1) -> tuple[float, float, int]:
    """Seconds by the clock and of this process in which graphs are cut and banked, and the number of subgraphs."""
    clock, processor = time.perf_counter(), time.process_time()
    banked = bank_subgraphs(graphs, jobs=jobs)
    clock, processor = time.perf_counter() - clock, time.process_time() - processor
    return clock, processor, int(sum(bank.counts.sum() for bank in banked.banks[0].values()))


def banking() -> Iterator[Row]:
    """Generated molecules; processor time, which other work disturbs less, except where two cores are compared."""
    few, many = molecules(FEW), molecules(MANY)
    bank_subgraphs(few.part(0, 10))  # imports
    bare = enumeration(few)
    small = min(timed(few)[1] for _ in range(3))
    one, large, found = min(timed(many) for _ in range(2))
    two, _, _ = min(timed(many, jobs=2) for _ in range(2))  # the second time, the processes are there already
    what = f"cut and bank, {MANY:,} molecules of {NODES} nodes, k=3..5"
    yield Row(what, "subgraphs a second of one core / 500,000", found / large / 5e5, ">= 1")
    yield Row("", "subgraphs a second on two cores / 500,000", found / two / 5e5, ">= 1")
    yield Row("", "time of one process / two", one / two)
    yield Row("", f"cost of a graph / that of one of {FEW:,}", large / MANY / (small / FEW), "<= 1.2")
    yield Row("", "peak memory of one process / 1 GB", peak_megabytes(IN_A_PROCESS) / 1e3, "< 1")
    yield Row(f"cut and bank, {FEW:,} molecules", "ours / igraph listing them and keeping none", small / bare)
