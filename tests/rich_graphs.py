"""Graphs that carry all that a graph can carry here."""

from __future__ import annotations

import itertools

import numpy as np

from isonn.graphs.graph import GraphSet
from isonn.graphs.join import graphset_from_cells


def rich_graphs(
    g: int = 14, seed: int = 0, low: int = 5, high: int = 10, text: bool = True, p: float = 0.4
) -> GraphSet:
    """Undirected graphs with labels, attributes, edge labels and weights; some of them not connected."""
    generator = np.random.default_rng(seed)
    sizes = generator.integers(low, high, g)
    owner, edges, weights, labels = [], [], [], []
    for i, n in enumerate(sizes):
        for a, b in itertools.combinations(range(n), 2):
            if generator.random() < p:
                weight, label = generator.choice([0.5, 1.0, 2.0]), generator.integers(1, 4)
                owner += [i, i]
                edges += [(a, b), (b, a)]
                weights += [weight, weight]
                labels += [label, label]
    n = int(sizes.sum())
    number = generator.integers(0, 3, n)
    return graphset_from_cells(
        owner,
        edges,
        sizes,
        weights,
        labels,
        node_labels=np.array(["C", "N", "O"])[number] if text else number,
        node_attributes=generator.normal(size=(n, 2)),
        y=np.arange(g) % 2,
    )
