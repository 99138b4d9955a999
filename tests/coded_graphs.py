"""Random graphs as the codes that subgraphs are counted on."""

from __future__ import annotations

import networkx
import numpy as np

from isonn.subgraphs.bank import CodedGraphs, Codes

SIZES = (1, 2, 3, 4)


def labelled(n, p, seed, labels=2, bonds=2):
    """A random graph whose nodes and edges carry codes."""
    graph, generator = networkx.gnp_random_graph(n, p, seed=seed), np.random.default_rng(seed)
    networkx.set_node_attributes(graph, {v: int(generator.integers(labels)) for v in graph}, "code")
    networkx.set_edge_attributes(graph, {e: 1 + int(generator.integers(bonds)) for e in graph.edges}, "code")
    return graph


def coded(graphs, sizes=SIZES, second=None):
    edges = [sorted(map(sorted, graph.edges)) for graph in graphs]
    views = [
        Codes(
            np.array([graph.nodes[v]["code"] for graph in graphs for v in range(len(graph))], dtype=np.int64),
            np.array([graph.edges[e]["code"] for graph, es in zip(graphs, edges, strict=True) for e in es], dtype=int),
            sizes,
        )
    ]
    if second:
        degree = np.array([graph.degree[v] for graph in graphs for v in range(len(graph))], dtype=np.int64)
        views.append(Codes(degree, np.ones(sum(map(len, edges)), dtype=np.int64), second))
    return CodedGraphs(
        np.cumsum([0, *map(len, graphs)]),
        np.cumsum([0, *map(len, edges)]),
        np.array([e for es in edges for e in es], dtype=np.int64).reshape(-1, 2),
        tuple(views),
    )
