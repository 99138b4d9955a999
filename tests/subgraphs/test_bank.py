from __future__ import annotations

import itertools
from collections import Counter

import networkx
import numpy as np
import pytest
from coded_graphs import SIZES, coded, labelled

from isonn.subgraphs import bank as subgraph_bank
from isonn.subgraphs import enumerate as enumeration
from isonn.subgraphs.bank import bank_subgraphs
from isonn.subgraphs.enumerate import canonical_regions


def as_graph(region, k):
    graph = networkx.Graph()
    for v in range(k):
        graph.add_node(v, code=int(region[v]))
    for (a, b), code in zip(itertools.combinations(range(k), 2), region[k:].tolist(), strict=True):
        if code:
            graph.add_edge(a, b, code=code)
    return graph


def equal(one, other):
    same = networkx.algorithms.isomorphism
    return networkx.is_isomorphic(
        one,
        other,
        same.categorical_node_match("code", None),
        same.categorical_edge_match("code", None),
    )


def relabelled(graph, generator):
    order = generator.permutation(len(graph)).tolist()
    moved = networkx.Graph()
    moved.add_nodes_from(range(len(graph)))
    for v, data in graph.nodes(data=True):
        moved.nodes[order[v]].update(data)
    moved.add_edges_from((order[a], order[b], data) for a, b, data in graph.edges(data=True))
    return moved


@pytest.fixture(scope="module")
def graphs():
    shapes = [(8, 0.3), (7, 0.5), (3, 0.9), (9, 0.25), (2, 1), (1, 0)]
    return [labelled(n, p, seed) for seed, (n, p) in enumerate(shapes)]


def same_banks(one, other, rows=None):
    for banks, others in zip(one.banks, other.banks, strict=True):
        for k, bank in banks.items():
            np.testing.assert_equal(bank.regions, others[k].regions)
            counts = bank.counts.toarray()
            np.testing.assert_equal(counts if rows is None else counts[rows], others[k].counts.toarray())


@pytest.mark.parametrize("k", [*SIZES, 5])
def test_regions_are_the_isomorphism_classes_and_counts_are_how_often_each_graph_has_them(graphs, k):
    bank = bank_subgraphs(coded(graphs, (k,))).banks[0][k]
    kinds = [as_graph(region, k) for region in bank.regions]
    for one, other in itertools.combinations(kinds, 2):
        assert not equal(one, other)
    expected = np.zeros((len(graphs), len(kinds)))
    for g, graph in enumerate(graphs):
        for subset in itertools.combinations(range(len(graph)), k):
            part = graph.subgraph(subset)
            if networkx.is_connected(part):
                (place,) = [i for i, other in enumerate(kinds) if equal(part, other)]
                expected[g, place] += 1
    np.testing.assert_equal(bank.counts.toarray(), expected)
    assert (expected.sum(0) > 0).all()


def test_a_second_view_merges_the_same_subgraphs_by_its_own_codes(graphs):
    banked = bank_subgraphs(coded(graphs, (1, 2, 3), second=(2, 3)))
    assert [sorted(banks) for banks in banked.banks] == [[1, 2, 3], [2, 3]]
    for k in (2, 3):
        one, other = (banks[k].counts.sum(axis=1) for banks in banked.banks)
        np.testing.assert_equal(one, other)
    often = Counter()
    for graph in graphs:
        often.update(tuple(sorted((graph.degree[a], graph.degree[b]))) for a, b in graph.edges)
    bank = banked.banks[1][2]
    assert {(a, b): n for (a, b, _), n in zip(bank.regions.tolist(), bank.counts.sum(axis=0), strict=True)} == often


def test_neither_blocks_nor_processes_change_anything(graphs, monkeypatch):
    given = coded(graphs * 3, second=(2, 3))
    whole = bank_subgraphs(given, limit=9)
    assert whole.sampled
    monkeypatch.setattr(subgraph_bank, "NODES_PER_BLOCK", 6)
    assert len(subgraph_bank.blocks(given, n_jobs=2)) > 5
    for jobs in (1, 2):
        parts = bank_subgraphs(given, limit=9, n_jobs=jobs)
        assert parts.sampled == whole.sampled
        for banks, others in zip(whole.banks, parts.banks, strict=True):
            for k, bank in banks.items():
                np.testing.assert_equal(bank.regions, others[k].regions)
                np.testing.assert_allclose(bank.counts.toarray(), others[k].counts.toarray(), rtol=1e-12)


def test_the_order_of_graphs_changes_the_order_of_rows_only(graphs):
    order = np.random.default_rng(0).permutation(len(graphs))
    same_banks(bank_subgraphs(coded(graphs)), bank_subgraphs(coded([graphs[i] for i in order])), rows=order)


@pytest.mark.parametrize("limit", [10**6, 8])
def test_relabelling_the_nodes_changes_nothing(graphs, limit):
    generator = np.random.default_rng(0)
    before = bank_subgraphs(coded(graphs[:4], second=(3,)), limit=limit)
    after = bank_subgraphs(coded([relabelled(graph, generator) for graph in graphs[:4]], second=(3,)), limit=limit)
    assert before.sampled == pytest.approx(after.sampled)
    assert bool(before.sampled) == (limit == 8)
    for banks, others in zip(before.banks, after.banks, strict=True):
        for k, bank in banks.items():
            np.testing.assert_equal(bank.regions, others[k].regions)
            np.testing.assert_allclose(bank.counts.toarray(), others[k].counts.toarray(), rtol=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("largest", [1, 5, 2**20, 2**40])
def test_a_canonical_region_is_the_smallest_of_its_orders_and_has_all_its_codes(k, largest):
    generator = np.random.default_rng(k)
    region = generator.choice([0, largest // 2, largest], k + k * (k - 1) // 2)
    orders = region[enumeration._places(k)]
    expected = min(orders.tolist())
    some = generator.choice(len(orders), min(len(orders), 40), replace=False)
    np.testing.assert_equal(canonical_regions(orders[some], k), np.tile(expected, (len(some), 1)))


def test_canonical_regions_differ_for_graphs_that_are_not_isomorphic():
    k = 4
    rows = np.array(list(itertools.product([0, 1], repeat=6)))
    regions = np.concatenate([np.zeros((len(rows), k), dtype=np.int64), rows], axis=1)
    assert len(np.unique(canonical_regions(regions, k), axis=0)) == 11  # graphs of four nodes up to isomorphism


def test_many_orders_are_looked_at_in_parts(monkeypatch):
    regions = np.random.default_rng(0).integers(0, 3, (20, 10))
    whole = canonical_regions(regions, 4)
    monkeypatch.setattr(enumeration, "PERMUTATIONS_AT_ONCE", 50)
    np.testing.assert_equal(canonical_regions(regions, 4), whole)


def test_codes_too_large_for_one_integer_are_told_apart():
    """Six nodes with codes of forty bits each; two graphs differ in the first code only, one in the last."""
    big = 2**40
    path = networkx.path_graph(6)
    networkx.set_edge_attributes(path, 1, "code")
    made = []
    for codes in ([big, 0, 0, 0, 0, 1], [big - 1, 0, 0, 0, 0, 1], [big, 0, 0, 0, 0, 2], [1, 0, 0, 0, 0, big]):
        graph = path.copy()
        networkx.set_node_attributes(graph, dict(enumerate(codes)), "code")
        made.append(graph)
    bank = bank_subgraphs(coded(made, (6,))).banks[0][6]
    assert len(bank.regions) == 3
    columns = bank.counts.toarray().argmax(axis=1)
    assert columns[0] == columns[3]
    assert len(set(columns.tolist())) == 3


@pytest.mark.parametrize("graph", [networkx.empty_graph(3), networkx.path_graph(2)], ids=["no edges", "a pair"])
def test_graphs_without_subgraphs_of_a_size_have_an_empty_bank(graph):
    networkx.set_node_attributes(graph, 0, "code")
    networkx.set_edge_attributes(graph, 1, "code")
    banked = bank_subgraphs(coded([graph, graph], (1, 3, 4)))
    for k in (3, 4):
        bank = banked.banks[0][k]
        assert bank.regions.shape == (0, k + k * (k - 1) // 2)
        assert bank.counts.shape == (2, 0)
    np.testing.assert_equal(banked.banks[0][1].counts.toarray(), [[len(graph)]] * 2)
    assert banked.sampled == {}


def test_what_was_sampled_is_recorded_by_graph_and_size(graphs, monkeypatch):
    monkeypatch.setattr(subgraph_bank, "NODES_PER_BLOCK", 6)
    true = {k: bank.counts.sum(axis=1) for k, bank in bank_subgraphs(coded(graphs)).banks[0].items()}
    sampled = bank_subgraphs(coded(graphs), limit=10).sampled
    assert set(sampled) == {(g, k) for k in (3, 4) for g in range(len(graphs)) if true[k][g] > 10}
    for (g, k), share in sampled.items():
        assert share == pytest.approx(10 / true[k][g], rel=0.6)


def test_progress_is_told_in_graphs(graphs):
    told = []
    bank_subgraphs(coded(graphs), report=lambda done, text: told.append((done, text)))
    assert told == [(len(graphs), "graphs cut")]
