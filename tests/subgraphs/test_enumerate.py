from __future__ import annotations

import itertools
import tracemalloc

import igraph
import networkx
import numpy as np
import pytest

import isonn
from isonn.subgraphs import enumerate as listing
from isonn.subgraphs.enumerate import list_subgraphs


def side_by_side(graphs):
    offsets = np.cumsum([0, *map(len, graphs)])
    edges = [(a + first, b + first) for graph, first in zip(graphs, offsets, strict=False) for a, b in graph.edges]
    return offsets, np.array(edges, dtype=np.int64).reshape(-1, 2)


def by_definition(graph, k, first):
    subsets = itertools.combinations(range(len(graph)), k)
    return {tuple(v + first for v in s) for s in subsets if networkx.is_connected(graph.subgraph(s))}


@pytest.fixture(scope="module")
def graphs():
    shapes = [(8, 0.4), (1, 0), (6, 0.9), (7, 0.3), (2, 1), (9, 0.4)]
    return [networkx.gnp_random_graph(n, p, seed=seed) for seed, (n, p) in enumerate(shapes)]


@pytest.mark.parametrize("most_pairs", [0, 2**24], ids=["searched", "table"])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 6])
def test_graphs_side_by_side_have_the_subgraphs_of_each(graphs, k, most_pairs, monkeypatch):
    monkeypatch.setattr(listing, "MOST_PAIRS", most_pairs)
    offsets, edges = side_by_side(graphs)
    listed = list_subgraphs(offsets, edges, k, 10**6)
    assert (listed.done, listed.too_many) == (len(graphs), ())
    for i, graph in enumerate(graphs):
        found = [tuple(sorted(nodes)) for nodes in listed.nodes[listed.owner == i].tolist()]
        assert len(set(found)) == len(found)
        assert set(found) == by_definition(graph, k, int(offsets[i]))


@pytest.mark.parametrize("k", [3, 4, 5, 6])
def test_real_molecules_have_the_subgraphs_igraph_lists(k):
    graphs = isonn.load("MUTAG")[:40]
    once = graphs.edges[:, 0] < graphs.edges[:, 1]
    edges = graphs.edges[once] + graphs.node_offsets[graphs.graph_of_cell[once], None]
    found: list[tuple[int, ...]] = []
    whole = igraph.Graph(n=int(graphs.node_offsets[-1]), edges=edges.tolist())
    whole.motifs_randesu(size=k, callback=lambda _, nodes, __: found.append(tuple(sorted(nodes))))
    listed = list_subgraphs(graphs.node_offsets, edges, k, 10**6)
    assert sorted(map(tuple, np.sort(listed.nodes, axis=1).tolist())) == sorted(found)


def listed_in_turns(offsets, edges, k, limit):
    """All of it, however often listing stops on its way."""
    start, nodes, too_many, turns = 0, [], [], 0
    while start < len(offsets) - 1:
        first = offsets[start]
        rest = edges[(edges >= first).all(axis=1)] - first
        listed = list_subgraphs(offsets[start:] - first, rest, k, limit)
        assert listed.done > 0
        assert (np.diff(listed.owner) >= 0).all()  # one graph after the other: stopping relies on it
        nodes += (listed.nodes + first).tolist()
        too_many += [start + i for i in listed.too_many]
        start, turns = start + listed.done, turns + 1
    return sorted(map(sorted, nodes)), too_many, turns


@pytest.mark.parametrize("most", [1, 20, 10**6])
@pytest.mark.parametrize("limit", [12, 10**6])
@pytest.mark.parametrize("at_once", [1, 7])
def test_stopping_on_the_way_loses_nothing(graphs, monkeypatch, most, limit, at_once):
    offsets, edges = side_by_side(graphs * 3)
    whole = list_subgraphs(offsets, edges, 4, limit)
    monkeypatch.setattr(listing, "GROWN_AT_ONCE", at_once)
    monkeypatch.setattr(listing, "MOST_LISTED", most)
    nodes, too_many, turns = listed_in_turns(offsets, edges, 4, limit)
    assert nodes == sorted(map(sorted, whole.nodes.tolist()))
    assert tuple(too_many) == whole.too_many
    assert (turns > 1) == (limit == 12 or most < 10**6)


def test_graphs_with_more_than_the_limit_are_named_and_left_out(graphs):
    offsets, edges = side_by_side(graphs)
    counts = [len(by_definition(graph, 3, 0)) for graph in graphs]
    limit = sorted(counts)[-2]
    listed = list_subgraphs(offsets, edges, 3, limit)
    (largest,) = np.flatnonzero(np.array(counts) > limit)
    assert listed.too_many == (largest,)
    assert np.bincount(listed.owner, minlength=len(graphs)).tolist() == [n if n <= limit else 0 for n in counts]


def test_memory_does_not_grow_with_the_neighbours_of_a_node():
    offsets, edges = side_by_side([networkx.complete_graph(300)])
    tracemalloc.start()
    listed = list_subgraphs(offsets, edges, 4, 1000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert listed.too_many == (0,)
    assert peak < 60e6  # 16,384 subgraphs with 300 neighbours each would be 200 MB


def test_a_graph_far_beyond_the_limit_is_not_listed_to_its_end(monkeypatch):
    monkeypatch.setattr(listing, "GROWN_AT_ONCE", 100)
    even = networkx.random_regular_graph(8, 400, seed=0)  # no node has more than 70 of its own
    offsets, edges = side_by_side([even, networkx.path_graph(4)])
    listed = list_subgraphs(offsets, edges, 5, 1000)
    assert (listed.done, listed.too_many, len(listed.nodes)) == (1, (0,), 0)


def test_a_graph_whose_hubs_alone_are_beyond_the_limit_is_not_listed_at_all():
    offsets, edges = side_by_side([networkx.complete_graph(60), networkx.path_graph(5)])  # 5 million of five nodes
    listed = list_subgraphs(offsets, edges, 5, 1000)
    assert (listed.done, listed.too_many, len(listed.nodes)) == (2, (0,), 1)
