"""Cutting and banking connected subgraphs: against igraph's bare enumeration, and as sets grow.

Run it by itself: ``python benchmarks/subgraphs.py [GRAPHS]`` compares GRAPHS molecules (20,000) with a tenth of them.
Processor time is compared, which other work on the machine disturbs less than the clock.
"""

from __future__ import annotations

import sys
import time

import igraph
import numpy as np
from timing import peak_megabytes

from isonn.matching.subgraph_bank import CodedGraphs, View, bank_subgraphs

NODES, SIZES = 25, (3, 4, 5)


def molecules(count: int) -> CodedGraphs:
    """Random trees with up to four neighbours a node and up to three rings of six, four atoms and three bonds."""
    draw, rows = np.random.default_rng(0), np.arange(count)
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


def banking(graphs: CodedGraphs) -> tuple[float, int]:
    """Processor seconds of cutting and banking, and how many subgraphs there were."""
    start = time.process_time()
    banked = bank_subgraphs(graphs)
    seconds = time.process_time() - start
    return seconds, int(sum(bank.counts.sum() for bank in banked.banks[0].values()))


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    few, many = molecules(count // 10), molecules(count)
    bank_subgraphs(few.part(0, 10))  # imports
    bare = enumeration(few)
    small, _ = banking(few)
    large, found = banking(many)
    code = (
        f"import sys; sys.path.insert(0, {sys.path[0]!r}); import subgraphs as s\n"
        f"g = s.molecules({count})\nif {{work}}: s.bank_subgraphs(g)"
    )
    before, peak = (peak_megabytes(code.format(work=work)) for work in (False, True))
    print(f"{found:,} subgraphs of {SIZES} nodes in {count:,} molecules of {NODES} nodes, one core")
    print(f"subgraphs a second of a core         {found / large:12,.0f}")
    print(f"cut and bank / bare enumeration      {small / bare:12.2f}")
    print(f"cost of a graph, {count:,} / {count // 10:,}    {large / count / (small / len(few)):12.2f}")
    print(f"peak memory, MB (of which graphs and imports)  {peak:.0f} ({before:.0f})")


if __name__ == "__main__":
    main()
