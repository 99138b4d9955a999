"""Which pieces tell which graphs apart: `python benchmarks/expressivity.py` prints the table of docs/expressivity.md.

Two graphs are told apart if their features differ, and they must not differ between copies with other node numbers.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable

import networkx as nx
import numpy as np

import isonn

COPIES = 2
#: Skips of the circular skip links of the CSL set: 41 nodes, ten classes.
SKIPS = (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)


def circular(skip: int, n: int = 41) -> nx.Graph:
    """Return a circle of n nodes with links of a second length."""
    return nx.circulant_graph(n, [1, skip])


def shrikhande() -> nx.Graph:
    """Return the graph that shares all its parameters with the 4 x 4 rook's graph."""
    steps = ((0, 1), (1, 0), (1, 1))
    graph = nx.Graph()
    for i, j in itertools.product(range(4), repeat=2):
        graph.add_edges_from(((i, j), ((i + a) % 4, (j + b) % 4)) for a, b in steps)
    return graph


def two_rings(bond: bool, size: int) -> nx.Graph:
    """Return two rings that share an edge (decalin for 6), or are joined by one (bicyclopentyl for 5)."""
    first, second = nx.cycle_graph(size), nx.cycle_graph(size)
    graph = nx.disjoint_union(first, second)
    if bond:
        graph.add_edge(0, size)
    else:
        graph = nx.contracted_nodes(nx.contracted_nodes(graph, 0, size, False), 1, size + 1, False)
    return graph


FAMILIES = {
    "a hexagon or two triangles": [nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))],
    "an octagon or two squares": [nx.cycle_graph(8), nx.disjoint_union(nx.cycle_graph(4), nx.cycle_graph(4))],
    "decalin or bicyclopentyl": [two_rings(False, 6), two_rings(True, 5)],
    "Rook's or Shrikhande graph": [nx.line_graph(nx.complete_bipartite_graph(4, 4)), shrikhande()],
    "CSL, ten classes": [circular(skip) for skip in SKIPS],
}


def relabelled(graph: nx.Graph, draw: np.random.Generator) -> np.ndarray:
    """Return the adjacency matrix with random node numbers."""
    matrix = nx.to_numpy_array(graph)
    order = draw.permutation(len(matrix))
    return matrix[order][:, order]


def pairs_told_apart(graphs: list[nx.Graph], features: Callable[[isonn.GraphSet], np.ndarray]) -> str:
    """Return how many pairs differ, or that copies of one graph differ."""
    draw = np.random.default_rng(0)
    copies = [relabelled(graph, draw) for graph in graphs for _ in range(COPIES)]
    table = np.asarray(features(isonn.as_graphset(copies))).reshape(len(graphs), COPIES, -1)
    if not np.isclose(table[:, 0], table[:, 1], rtol=1e-6, atol=1e-6).all():
        return "by node numbers"
    pairs = list(itertools.combinations(table[:, 0], 2))
    apart = sum(not np.isclose(one, other, rtol=1e-6, atol=1e-6).all() for one, other in pairs)
    return {0: "no", len(pairs): "yes"}.get(apart, f"{apart} of {len(pairs)}")


def subgraphs(max_nodes: int, view: str) -> Callable[[isonn.GraphSet], np.ndarray]:
    """Return the counts of connected subgraphs of up to so many nodes."""
    return lambda graphs: (
        isonn.SubgraphVectorizer(max_nodes, view=view, min_support=1, max_subgraphs=10**7)
        .fit_transform(graphs)
        .toarray()
    )


def windows(graphs: isonn.GraphSet) -> np.ndarray:
    """Return the sorted distances of three random templates of four nodes to all windows."""
    import torch

    layer = isonn.nn.IsoLayer(4, 3, generator=torch.Generator().manual_seed(0))
    return layer.distances(torch.from_numpy(graphs.dense(graphs.sizes.max()))).flatten(2).sort(2)[0].detach().numpy()


def colours(graph: isonn.Graph) -> float:
    """Return a number of the multiset of Weisfeiler-Lehman colours, by NetworkX."""
    return int(nx.weisfeiler_lehman_graph_hash(nx.from_numpy_array(graph.adjacency), iterations=8)[:12], 16)


METHODS: dict[str, Callable[[isonn.GraphSet], np.ndarray]] = {
    "degrees": lambda graphs: np.array([sorted((g.adjacency != 0).sum(0)) for g in graphs]),
    "Weisfeiler-Lehman, and GIN": lambda graphs: np.array([[colours(g)] for g in graphs]),
    "subgraphs of up to 3 nodes": subgraphs(3, "labels"),
    "up to 4 nodes (the default on dense graphs)": subgraphs(4, "labels"),
    "up to 5 nodes": subgraphs(5, "labels"),
    "up to 6 nodes (the default on sparse graphs)": subgraphs(6, "labels"),
    "up to 4, nodes with degree and cycles": subgraphs(4, "refined"),
    "the paper's windows, k = 4": windows,
}


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    print(f"| | {' | '.join(FAMILIES)} |\n|---|{'---|' * len(FAMILIES)}")
    for name, features in METHODS.items():
        print(
            f"| {name} | {' | '.join(pairs_told_apart(graphs, features) for graphs in FAMILIES.values())} |", flush=True
        )


if __name__ == "__main__":
    main()
