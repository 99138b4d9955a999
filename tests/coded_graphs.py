"""Graphs for the tests of subgraphs, as the codes that are counted, and counting by its definition."""

from __future__ import annotations

import itertools
from collections import Counter

import networkx
import numpy as np

import isonn
from isonn.subgraphs.count import count_in_threads
from isonn.subgraphs.encode import CodedGraphs
from isonn.subgraphs.table import join_tables

SIZES = (1, 2, 3, 4)
MANY = 10**6
PLANTED = 26


def labelled(n, p, seed, labels=2, bonds=2):
    """A random graph whose nodes and edges carry codes."""
    graph, generator = networkx.gnp_random_graph(n, p, seed=seed), np.random.default_rng(seed)
    networkx.set_node_attributes(graph, {v: int(generator.integers(labels)) for v in graph}, "code")
    networkx.set_edge_attributes(graph, {e: 1 + int(generator.integers(bonds)) for e in graph.edges}, "code")
    return graph


def coded(graphs, sizes=SIZES, second=None):
    """NetworkX graphs as codes; a second view has the degrees."""
    edges = [sorted(map(sorted, graph.edges)) for graph in graphs]
    nodes = [[graph.nodes[v].get("code", 0) for graph in graphs for v in range(len(graph))]]
    bonds = [[g.edges[e].get("code", 1) for g, es in zip(graphs, edges, strict=True) for e in es]]
    if second:
        nodes.append([graph.degree[v] for graph in graphs for v in range(len(graph))])
        bonds.append([1] * len(bonds[0]))
    return CodedGraphs(
        np.cumsum([0, *map(len, graphs)]),
        np.cumsum([0, *map(len, edges)]),
        np.array([e for es in edges for e in es], dtype=np.int64).reshape(-1, 2),
        np.array(nodes, dtype=np.int64),
        np.array(bonds, dtype=np.int64),
        (sizes, second) if second else (sizes,),
    )


def subsets_by_definition(n, edges, k):
    """All sets of k nodes that induce a connected subgraph."""
    neighbours = {v: set() for v in range(n)}
    for a, b in edges:
        neighbours[a].add(b)
        neighbours[b].add(a)
    found = []
    for nodes in itertools.combinations(range(n), k):
        reached, new = {nodes[0]}, {nodes[0]}
        while new:
            new = set().union(*(neighbours[v] for v in new)) & set(nodes) - reached
            reached |= new
        if len(reached) == k:
            found.append(nodes)
    return found


def row_by_definition(nodes, node_codes, edge_codes):
    """The smallest row of codes over all orders of the nodes; ``edge_codes`` are by (smaller, larger) node."""
    return min(
        (
            *(node_codes[v] for v in order),
            *(edge_codes.get((min(pair), max(pair)), 0) for pair in itertools.combinations(order, 2)),
        )
        for order in itertools.permutations(nodes)
    )


def counts_by_definition(given):
    """The sorted canonical rows and the counts in each graph, by view and size."""
    found = {}
    for number, sizes in enumerate(given.view_sizes):
        for k in sizes:
            counts = []
            for i in range(len(given)):
                one = given.slice(i, i + 1)
                edges, codes = list(map(tuple, np.sort(one.edges, axis=1).tolist())), one.node_codes[number].tolist()
                kinds = dict(zip(edges, one.edge_codes[number].tolist(), strict=True))
                subsets = subsets_by_definition(int(one.node_offsets[-1]), edges, k)
                counts.append(Counter(row_by_definition(s, codes, kinds) for s in subsets))
            rows = sorted(set().union(*counts))
            found[number, k] = (
                np.array(rows, dtype=np.int64).reshape(-1, k * (k + 1) // 2),
                np.array([[count[row] for row in rows] for count in counts], dtype=float).reshape(len(given), -1),
            )
    return found


def count_table(given, limit=MANY, **settings):
    return join_tables(count_in_threads(given, limit, **settings))


def counts_of(table):
    """The counts of all subgraphs, dense, ``(g, d)``."""
    return np.concatenate([chunk.toarray() for chunk in table.chunks()])


def as_counts(table):
    """A table in the form of `counts_by_definition`."""
    pieces, counts, found = table.pieces(), counts_of(table), {}
    for view, k in ((view, k) for view, sizes in enumerate(table.view_sizes) for k in sizes):
        inside = (pieces[:, :2] == (view, k)).all(axis=1)
        found[view, k] = pieces[inside, 2 : 2 + k * (k + 1) // 2], counts[:, inside]
    return found


def assert_same_counts(found, expected, rtol=0.0, graphs=None):
    """Compare two results of `as_counts`, with the graphs of the first in another order."""
    assert found.keys() == expected.keys()
    for key, (rows, counts) in found.items():
        np.testing.assert_array_equal(rows, expected[key][0])
        wanted = expected[key][1] if graphs is None else expected[key][1][graphs]
        np.testing.assert_allclose(counts, wanted, rtol=rtol)


def planted():
    """Small labelled graphs; class 1 has a triangle with a label of its own."""
    generator, made = np.random.default_rng(0), []
    for i in range(PLANTED):
        graph = networkx.gnp_random_graph(int(generator.integers(5, 9)), 0.3, seed=i)
        for v in graph:
            graph.nodes[v]["label"] = str(generator.choice(["C", "N"]))
        if i % 2:
            n = len(graph)
            graph.add_edges_from([(0, n), (n, n + 1), (n + 1, n + 2), (n, n + 2)])
            for v in range(n, n + 3):
                graph.nodes[v]["label"] = "O"
        for edge in graph.edges:
            graph.edges[edge]["label"] = str(generator.choice(["-", "="]))
        made.append(graph)
    return isonn.as_graphset(made, np.arange(PLANTED) % 2)


_NUMBER = np.arange(PLANTED)
#: Targets of every kind for the planted graphs, some with gaps.
TARGETS = {
    "classes": _NUMBER % 2,
    "three classes": _NUMBER % 2 + (_NUMBER % 4 == 3),
    "labels": np.column_stack([_NUMBER % 2, np.where(_NUMBER % 5, _NUMBER % 3 == 0, np.nan)]),
    "number": np.linspace(0, 9, PLANTED) % 4.3,
    "numbers": np.column_stack([np.linspace(0, 9, PLANTED), np.where(_NUMBER % 4, _NUMBER / 7, np.nan)]),
}


def fitted(graphs, kind="classes", **settings):
    """The estimator of this kind of targets, fitted to the planted graphs; small and linear unless told otherwise."""
    cls = isonn.SubgraphRegressor if kind.startswith("number") else isonn.SubgraphClassifier
    return cls(**{"max_nodes": 3, "head": "linear", "random_state": 0, **settings}).fit(graphs, TARGETS[kind])


def rest(e):
    """What absent pieces and terms contribute."""
    return sum(part.contribution for part in e.absent + e.terms)


def answers(model, graphs):
    return model.predict_proba(graphs) if hasattr(model, "predict_proba") else model.predict(graphs)
