"""Samples of subgraphs against the definition of their chance, and against full enumeration."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import networkx
import numpy as np
import pytest
from coded_graphs import coded, labelled, row_by_definition, subsets_by_definition

from isonn.subgraphs import sample as sampling
from isonn.subgraphs.sample import MOST_SAMPLES, sample_subgraphs


def sample(graph, k, limit, seed=0):
    return sample_subgraphs(coded([graph], (k,)), 0, k, limit, seed)


def subsets(graph, k):
    return subsets_by_definition(len(graph), graph.edges, k)


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
    "two parts and a lone node": apart(networkx.cycle_graph(4), networkx.path_graph(3), networkx.empty_graph(1)),
    "larger": networkx.gnp_random_graph(10, 0.35, seed=4),
}
CASES = [("sparse", 3), ("sparse", 4), ("dense", 4), ("two parts and a lone node", 3), ("larger", 5), ("larger", 6)]


@pytest.mark.parametrize(("name", "k"), CASES)
def test_a_weight_is_one_over_the_chance_of_all_growth_orders(name, k):
    graph, limit = GRAPHS[name], 12
    found = sample(graph, k, limit)
    assert {tuple(sorted(nodes)) for nodes in found.nodes.tolist()} <= set(subsets(graph, k))
    chances = [chance_by_definition(graph, nodes) for nodes in found.nodes.tolist()]
    draws = found.weights * limit * chances  # how often each was drawn
    np.testing.assert_allclose(draws, np.rint(draws))
    assert draws.sum() == pytest.approx(limit)


@pytest.mark.parametrize("k", [3, 4])
def test_every_subgraph_is_drawn_as_often_as_its_chance_says(k):
    graph = apart(GRAPHS["dense"], networkx.path_graph(k - 1))
    expected = {subset: chance_by_definition(graph, subset) for subset in subsets(graph, k)}
    assert sum(expected.values()) == pytest.approx(1)
    found = sample(graph, k, MOST_SAMPLES)
    keys = [tuple(sorted(nodes)) for nodes in found.nodes.tolist()]
    assert len(set(keys)) == len(keys)
    often = {
        key: weight * MOST_SAMPLES * expected[key] for key, weight in zip(keys, found.weights.tolist(), strict=True)
    }
    square = sum((often[key] - MOST_SAMPLES * p) ** 2 / (MOST_SAMPLES * p) for key, p in expected.items())
    freedom = len(expected) - 1
    assert square < freedom + 5 * math.sqrt(2 * freedom)  # chi squared: mean f, variance 2f


def kind(graph, nodes):
    """Connected graphs of four nodes are told apart by their sorted degrees."""
    return tuple(sorted(degree for _, degree in graph.subgraph(nodes).degree))


def test_expected_counts_of_every_kind_are_the_true_ones():
    graph, k, runs = networkx.gnp_random_graph(20, 0.25, seed=3), 4, 120
    true = Counter(kind(graph, subset) for subset in subsets(graph, k))
    estimates = {name: np.zeros(runs) for name in true}
    for run in range(runs):
        found = sample(graph, k, 60, seed=run)
        for nodes, weight in zip(found.nodes.tolist(), found.weights.tolist(), strict=True):
            estimates[kind(graph, nodes)][run] += weight
    assert len(true) >= 4
    for name, values in estimates.items():
        assert abs(values.mean() - true[name]) < 4 * values.std(ddof=1) / math.sqrt(runs), name


def test_the_share_that_was_sampled_is_near_the_true_one():
    graph = networkx.gnp_random_graph(25, 0.3, seed=6)
    found = sample(graph, 4, 1000)
    assert found.share == pytest.approx(len(found.nodes) / len(subsets(graph, 4)), rel=0.15)


def test_components_that_are_too_small_are_never_drawn():
    small = [networkx.complete_graph(3), networkx.path_graph(2), networkx.empty_graph(1)]
    found = sample(apart(networkx.complete_graph(8), *small), 4, 50)
    assert set(found.nodes.ravel().tolist()) == set(range(8))
    none = sample(apart(*small), 4, 50)
    assert (none.nodes.shape, none.share) == ((0, 4), 1.0)


def test_the_same_seed_draws_the_same_and_another_does_not():
    graph = networkx.gnp_random_graph(15, 0.4, seed=0)
    first, again, other = (sample(graph, 4, 40, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.nodes, again.nodes)
    np.testing.assert_array_equal(first.weights, again.weights)
    assert first.nodes.tolist() != other.nodes.tolist()


SYMMETRIC = {
    "petersen": networkx.petersen_graph(),
    "grid": networkx.convert_node_labels_to_integers(networkx.grid_2d_graph(4, 4)),
    "two rings": apart(networkx.cycle_graph(6), networkx.cycle_graph(6), networkx.complete_graph(4)),
    "random": networkx.gnp_random_graph(14, 0.3, seed=5),
}


@pytest.mark.parametrize(("labels", "bonds"), [(1, 1), (3, 1), (1, 2), (3, 2)])
@pytest.mark.parametrize("name", [*SYMMETRIC, "large"])
def test_what_is_sampled_does_not_depend_on_how_nodes_are_numbered(name, labels, bonds, monkeypatch):
    if name == "large":  # colour refinement alone separates all nodes of this graph
        monkeypatch.setattr(sampling, "MOST_CANONICAL", 5)
        name = "random"
    graph, generator = SYMMETRIC[name].copy(), np.random.default_rng(0)
    networkx.set_node_attributes(graph, {v: int(generator.integers(labels)) for v in graph}, "code")
    networkx.set_edge_attributes(graph, {e: 1 + int(generator.integers(bonds)) for e in graph.edges}, "code")

    def pieces(order):
        """Weight and canonical row of every sample when node v is called order[v]."""
        moved = networkx.relabel_nodes(graph, dict(enumerate(order.tolist())))
        found = sample(moved, 4, 12)
        codes = {(min(e), max(e)): code for *e, code in moved.edges(data="code")}
        rows = [row_by_definition(nodes, dict(moved.nodes(data="code")), codes) for nodes in found.nodes.tolist()]
        return sorted(zip(rows, found.weights.tolist(), strict=True))

    first = pieces(np.arange(len(graph)))
    for _ in range(3):
        again = pieces(generator.permutation(len(graph)))
        assert [row for row, _ in again] == [row for row, _ in first]
        np.testing.assert_allclose([weight for _, weight in again], [weight for _, weight in first], rtol=1e-12)


def test_all_views_are_sampled_at_the_same_nodes():
    given = coded([labelled(15, 0.4, 0)], (4,), second=(4,))
    assert sample_subgraphs(given, 0, 4, 40, 0).nodes.shape[1] == 4
    chunk = coded([labelled(9, 0.3, 1), labelled(15, 0.4, 0)], (4,), second=(4,))
    np.testing.assert_array_equal(
        sample_subgraphs(given, 0, 4, 40, 0).weights, sample_subgraphs(chunk, 1, 4, 40, 0).weights
    )
