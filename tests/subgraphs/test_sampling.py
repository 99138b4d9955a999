from __future__ import annotations

import itertools
import math
from collections import Counter

import networkx
import numpy as np
import pytest

from isonn.errors import InputError
from isonn.subgraphs import enumerate as subgraphs
from isonn.subgraphs.enumerate import cut_subgraphs

ALL = 10**9


def cut(graph, k, limit=ALL, node_codes=None, edge_codes=None, seed=0):
    n, edges = len(graph), np.array(sorted(map(sorted, graph.edges)), dtype=np.int64).reshape(-1, 2)
    node_codes = np.zeros(n, dtype=np.int64) if node_codes is None else node_codes
    edge_codes = np.ones(len(edges), dtype=np.int64) if edge_codes is None else edge_codes
    return cut_subgraphs(n, edges, k, limit, node_codes, edge_codes, seed)


def subsets_by_definition(graph, k):
    subsets = itertools.combinations(range(len(graph)), k)
    return {subset for subset in subsets if networkx.is_connected(graph.subgraph(subset))}


def chance_by_definition(graph, subset):
    """Sum over all orders in which the nodes can have come; nodes of components that are too small never start."""
    large = {v for part in networkx.connected_components(graph) if len(part) >= len(subset) for v in part}
    total = sum(graph.degree[v] for v in large)
    chance = 0.0
    for order in itertools.permutations(subset):
        product = graph.degree[order[0]] / total
        for size in range(1, len(order)):
            inside = order[:size]
            product *= sum(graph.has_edge(order[size], v) for v in inside) / networkx.cut_size(graph, inside)
        chance += product
    return chance


def apart(*graphs):
    return networkx.convert_node_labels_to_integers(networkx.union_all(graphs, rename=map(str, range(len(graphs)))))


GRAPHS = {
    "sparse": networkx.gnp_random_graph(9, 0.25, seed=1),  # not connected
    "dense": networkx.gnp_random_graph(8, 0.6, seed=2),
    "clique": networkx.complete_graph(7),
    "two parts and a lone node": apart(networkx.cycle_graph(4), networkx.path_graph(3), networkx.empty_graph(1)),
    "no edges": networkx.empty_graph(4),
    "one node": networkx.empty_graph(1),
    "pair": networkx.path_graph(2),
}


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("name", GRAPHS)
def test_the_subsets_of_nodes_that_induce_a_connected_subgraph_are_cut_once_each(name, k):
    found = cut(GRAPHS[name], k)
    assert found.nodes.shape[1] == k
    assert found.weights is None
    assert found.share == 1
    as_sets = [tuple(sorted(nodes)) for nodes in found.nodes.tolist()]
    assert len(set(as_sets)) == len(as_sets)
    assert set(as_sets) == subsets_by_definition(GRAPHS[name], k)


def test_as_many_subgraphs_as_the_limit_are_listed_and_one_more_are_sampled():
    graph = GRAPHS["dense"]
    count = len(subsets_by_definition(graph, 4))
    assert cut(graph, 4, limit=count).weights is None
    sampled = cut(graph, 4, limit=count - 1)
    as_sets = {tuple(sorted(nodes)) for nodes in sampled.nodes.tolist()}
    assert len(as_sets) == len(sampled.nodes) == len(sampled.weights) < count


def draws_by_definition(graph, found, limit):
    """How often each subgraph was drawn, from its weight: that many times one over its chance."""
    chances = [chance_by_definition(graph, nodes) for nodes in found.nodes.tolist()]
    return found.weights * limit * np.array(chances)


@pytest.mark.parametrize(("name", "k"), [("sparse", 3), ("sparse", 4), ("dense", 4), ("two parts and a lone node", 3)])
def test_a_weight_is_one_over_the_chance_of_all_growth_orders(name, k):
    graph = GRAPHS[name]
    limit = len(subsets_by_definition(graph, k)) - 1
    draws = draws_by_definition(graph, cut(graph, k, limit=limit), limit)
    np.testing.assert_allclose(draws, np.rint(draws))
    assert draws.sum() == pytest.approx(limit)
    assert draws.max() > 1.5


@pytest.mark.parametrize("k", [5, 6])
def test_weights_of_larger_subgraphs_equal_the_definition_too(k):
    graph = networkx.gnp_random_graph(10, 0.35, seed=4)
    draws = draws_by_definition(graph, cut(graph, k, limit=5), 5)
    np.testing.assert_allclose(draws, np.rint(draws))
    assert draws.sum() == pytest.approx(5)


def drawn(graph, k, count, seed=0):
    """Many samples of a graph with fewer subgraphs than that."""
    edges = np.array(sorted(map(sorted, graph.edges)), dtype=np.int64)
    return subgraphs._sample(len(graph), edges, k, count, np.random.default_rng(seed))


@pytest.mark.parametrize("k", [3, 4])
def test_every_subgraph_is_drawn_as_often_as_its_chance_says(k):
    graph, count = apart(GRAPHS["dense"], networkx.path_graph(k - 1)), 40_000
    nodes, _ = drawn(graph, k, count)
    often = Counter(tuple(sorted(row)) for row in nodes.tolist())
    expected = {subset: chance_by_definition(graph, subset) for subset in subsets_by_definition(graph, k)}
    assert sum(expected.values()) == pytest.approx(1)
    assert set(often) <= set(expected)
    square = sum((often[subset] - count * p) ** 2 / (count * p) for subset, p in expected.items())
    freedom = len(expected) - 1
    assert square < freedom + 5 * math.sqrt(2 * freedom)  # chi squared: mean f, variance 2f


def test_weighted_counts_of_every_isomorphism_type_have_the_true_ones_as_their_mean():
    graph, k, runs = networkx.gnp_random_graph(20, 0.25, seed=3), 4, 120
    true = Counter(kind(graph, subset) for subset in subsets_by_definition(graph, k))
    estimates = {name: np.zeros(runs) for name in true}
    for run in range(runs):
        found = cut(graph, k, limit=60, seed=run)
        for nodes, weight in zip(found.nodes.tolist(), found.weights, strict=True):
            estimates[kind(graph, nodes)][run] += weight
    assert len(true) >= 4
    for name, values in estimates.items():
        error = values.std(ddof=1) / math.sqrt(runs)
        assert abs(values.mean() - true[name]) < 4 * error, name


def kind(graph, nodes):
    """Connected graphs of four nodes are told apart by their sorted degrees."""
    return tuple(sorted(degree for _, degree in graph.subgraph(nodes).degree))


def test_components_that_are_too_small_are_never_drawn():
    graph = apart(networkx.complete_graph(3), networkx.complete_graph(8), networkx.path_graph(2), GRAPHS["one node"])
    found = cut(graph, 4, limit=50)
    assert found.weights is not None
    assert set(found.nodes.ravel().tolist()) == set(range(3, 11))


def test_the_same_seed_draws_the_same_and_another_does_not():
    graph = networkx.gnp_random_graph(15, 0.4, seed=0)
    one, again, other = (cut(graph, 4, limit=40, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_equal(one.nodes, again.nodes)
    np.testing.assert_equal(one.weights, again.weights)
    assert one.nodes.tolist() != other.nodes.tolist()


SYMMETRIC = {
    "petersen": networkx.petersen_graph(),
    "grid": networkx.convert_node_labels_to_integers(networkx.grid_2d_graph(4, 4)),
    "two rings": apart(networkx.cycle_graph(6), networkx.cycle_graph(6), networkx.complete_graph(4)),
    "random": networkx.gnp_random_graph(14, 0.3, seed=5),
}


@pytest.mark.parametrize("name", SYMMETRIC)
@pytest.mark.parametrize("labelled", ["nothing", "nodes", "edges", "both"])
def test_what_is_sampled_does_not_depend_on_how_nodes_are_numbered(name, labelled):
    graph, generator = SYMMETRIC[name], np.random.default_rng(0)
    codes = generator.integers(0, 3, len(graph)) if labelled in ("nodes", "both") else np.zeros(len(graph), int)
    kinds = {frozenset(edge): int(generator.integers(1, 3)) for edge in graph.edges}
    if labelled in ("nothing", "nodes"):
        kinds = dict.fromkeys(kinds, 1)

    def regions(order):
        """Weight and canonical form of every sample when node v is called order[v]."""
        renamed = networkx.relabel_nodes(graph, dict(enumerate(order.tolist())))
        back = order.argsort()
        edges = sorted(map(sorted, renamed.edges))
        edge_codes = np.array([kinds[frozenset(back[edge].tolist())] for edge in edges])
        found = cut(renamed, 4, limit=12, node_codes=codes[back], edge_codes=edge_codes)
        assert found.weights is not None
        return sorted(
            (weight, smallest(back[nodes].tolist())) for nodes, weight in zip(found.nodes, found.weights, strict=True)
        )

    def smallest(nodes):
        forms = []
        for order in itertools.permutations(nodes):
            pairs = itertools.combinations(order, 2)
            forms.append(([int(codes[v]) for v in order], [kinds.get(frozenset(pair), 0) for pair in pairs]))
        return min(forms)

    first = regions(np.arange(len(graph)))
    for _ in range(3):
        again = regions(generator.permutation(len(graph)))
        assert [form for _, form in again] == [form for _, form in first]
        np.testing.assert_allclose([w for w, _ in again], [w for w, _ in first], rtol=1e-12)


def test_the_share_that_was_sampled_is_near_the_true_one():
    graph = networkx.gnp_random_graph(25, 0.3, seed=6)
    true = len(cut(graph, 4).nodes)
    found = cut(graph, 4, limit=1000)
    assert found.share == pytest.approx(len(found.nodes) / true, rel=0.15)


@pytest.mark.parametrize("k", [0, 7, -1, 2.0, True, "3", None])
def test_sizes_that_cannot_be_enumerated_are_refused(k):
    with pytest.raises(InputError, match=r"is not a valid subgraph size; use 1 to 6"):
        cut(GRAPHS["dense"], k)


@pytest.mark.parametrize("limit", [0, -5])
def test_a_budget_below_one_is_refused(limit):
    with pytest.raises(InputError, match=f"a budget of {limit} subgraphs is too small; use at least 1"):
        cut(GRAPHS["dense"], 3, limit=limit)
