"""What must not matter for a fit, what groups do, and what held-out data choose: size of pieces, scale, features."""

from __future__ import annotations

import warnings
from dataclasses import replace

import networkx
import numpy as np
import pytest
from coded_graphs import PLANTED, TARGETS, answers, fitted
from scipy.sparse import csr_array

import isonn
from isonn.errors import InputError
from isonn.heads import Distinct, Inputs
from isonn.heads.folds import sample_graphs
from isonn.subgraphs.views import LabelsView
from isonn.targets import Classes

KINDS = ["classes", "three classes", "labels", "numbers"]


def model_of(kind, head="auto", **settings):
    cls = isonn.SubgraphRegressor if kind.startswith("number") else isonn.SubgraphClassifier
    return cls(**{"max_nodes": 2, "head": head, "random_state": 0, **settings})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("head", ["linear", "auto"])
def test_a_weight_of_two_is_the_graph_twice(graphs, head, kind):
    y, twice = TARGETS[kind], np.arange(0, PLANTED, 3)
    weighted = model_of(kind, head).fit(graphs, y, sample_weight=1.0 + np.isin(np.arange(PLANTED), twice))
    repeated = isonn.GraphSet.concat([graphs, graphs[twice].relabelled(1)]).with_y(None)
    again = model_of(kind, head).fit(repeated, np.concatenate([y, y[twice]]))
    np.testing.assert_allclose(answers(again, graphs), answers(weighted, graphs), atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_repeats_of_all_graphs_change_nothing(graphs, kind):
    y = TARGETS[kind]
    once = model_of(kind, "linear").fit(graphs, y)
    thrice = model_of(kind, "linear").fit(isonn.GraphSet.concat([graphs] * 3).with_y(None), np.concatenate([y] * 3))
    np.testing.assert_allclose(answers(thrice, graphs), answers(once, graphs), atol=1e-6)
    assert thrice.held_out_score_ == pytest.approx(once.held_out_score_)
    assert len(thrice.templates_) == len(once.templates_)


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_graphs_changes_nothing(graphs, kind):
    order = np.random.default_rng(0).permutation(PLANTED)
    plain = model_of(kind).fit(graphs, TARGETS[kind])
    other = model_of(kind).fit(graphs[order], TARGETS[kind][order])
    np.testing.assert_allclose(answers(other, graphs), answers(plain, graphs), atol=1e-9)


@pytest.mark.parametrize("head", ["linear", "auto"])
def test_groups_are_held_out_together(graphs, head):
    """The class is that of the group, whose graphs are nearly equal: held out one by one, they would give it away."""
    group = np.repeat(np.arange(16), 3)
    base = [networkx.gnp_random_graph(9, 0.35, seed=i) for i in range(16)]
    made = [networkx.disjoint_union(base[g], networkx.path_graph(1 + i % 3)) for i, g in enumerate(group)]
    clf = model_of("classes", head, max_nodes=4)
    alone, together = [], []
    for seed in range(5):  # of 16 random classes: a single draw varies by 0.12
        y = np.random.default_rng(seed).permutation(np.arange(16) % 2)[group]
        alone.append(clf.fit(made, y).held_out_score_["accuracy"])
        together.append(clf.fit(made, y, groups=[f"site {g}" for g in group]).held_out_score_["accuracy"])
    assert min(alone) > 0.9
    assert np.mean(together) < 0.7
    with pytest.raises(InputError, match=r"groups has shape \(3,\) for 48 graphs; give one group per graph"):
        clf.fit(made, y, groups=[1, 2, 3])


def test_weights_of_heads_sum_to_one_for_every_output(graphs):
    assert sum(fitted(graphs, head="auto").weights_.values()) == pytest.approx(1)
    assert fitted(graphs).weights_ == {"linear": 1.0}
    for kind in ("labels", "numbers"):
        weights = fitted(graphs, kind, head="auto").weights_
        assert list(weights) == [0, 1]
        assert all(sum(by_head.values()) == pytest.approx(1) for by_head in weights.values())


def test_calibration_is_an_error_for_every_class_and_none_for_numbers(graphs):
    for kind, classes in (("classes", [0, 1]), ("three classes", [0, 1, 2]), ("labels", [0, 1])):
        found = fitted(graphs, kind, head="auto").calibration_
        assert list(found) == classes
        assert all(0 <= error <= 1 for error in found.values())
    assert fitted(graphs, "number").calibration_ == {}


def test_molecules_get_pieces_of_six_nodes_and_dense_graphs_of_four(mutag):
    assert isonn.SubgraphClassifier(head="linear", random_state=0).fit(mutag).max_nodes_ == 6
    dense = [networkx.gnp_random_graph(30, 0.5, seed=i) for i in range(4)]
    clf = isonn.SubgraphClassifier(head="linear", random_state=0).fit(dense, [0, 1, 0, 1])
    assert clf.max_nodes_ == 4
    assert clf.max_nodes == "auto"


def test_max_nodes_falls_until_the_counts_fit_into_memory(mutag, monkeypatch):
    vectorizer, most = isonn.SubgraphVectorizer(max_nodes="auto"), {}
    for size in (4, 5, 6):
        counts = isonn.SubgraphVectorizer(max_nodes=size, min_support=1).fit_transform(mutag)
        most[size] = counts.nnz
    for size in (6, 5, 4):
        monkeypatch.setattr("isonn.subgraphs.count.MOST_ENTRIES", 1.1 * most[size])  # the sample has no repeats
        assert vectorizer.fit(mutag).max_nodes_ == size


def test_numbers_over_orders_of_magnitude_are_learned_as_logarithms_and_predicted_in_their_units(graphs):
    nitrogens = np.array([np.sum(graph.node_labels == "N") for graph in graphs])
    steep, flat = 10.0**nitrogens, 5.0 + nitrogens
    reg = model_of("numbers", "linear").fit(graphs, np.column_stack([steep, flat]))
    assert reg.target_.logs.tolist() == [True, False]
    found = reg.predict(graphs)
    np.testing.assert_allclose(np.log10(found[:, 0]), nitrogens, atol=0.3)
    np.testing.assert_allclose(found[:, 1], flat, atol=0.3)
    assert reg.held_out_score_["rmse"] > 0


def test_numbers_that_are_not_positive_are_learned_as_they_are(graphs):
    y = 10.0 ** np.array([np.sum(graph.node_labels == "N") for graph in graphs])
    assert not model_of("number", "linear").fit(graphs, y - y.min()).target_.logs.any()


def test_counts_of_triangles_are_learned_exactly():
    made = [networkx.gnp_random_graph(12, p, seed=i) for i, p in enumerate(np.linspace(0.1, 0.7, 80))]
    y = np.array([sum(networkx.triangles(graph).values()) / 3 for graph in made])
    reg = model_of("number", max_nodes=4).fit(made[::2], y[::2])
    assert reg._model.features.transform == "count"
    assert reg.score(made[1::2], y[1::2]) > 0.999


def test_regular_graphs_are_told_apart():
    """Weisfeiler-Lehman colours are equal for all of them, the pieces are not."""
    circles = [networkx.cycle_graph(n) for n in range(8, 20)]
    pairs = [networkx.disjoint_union(networkx.cycle_graph(3), networkx.cycle_graph(n - 3)) for n in range(8, 20)]
    y = np.repeat([0, 1], 12)
    clf = model_of("classes", "linear", max_nodes=3).fit(circles + pairs, y)
    assert clf.held_out_score_["accuracy"] == 1
    assert (clf.predict(circles + pairs) == y).all()
    copies = model_of("classes", "linear", max_nodes=3).fit(circles + pairs + pairs, np.append(y, y[12:]))
    weighted = model_of("classes", "linear", max_nodes=3).fit(circles + pairs, y, sample_weight=1.0 + y)
    np.testing.assert_allclose(copies.predict_proba(pairs), weighted.predict_proba(pairs), atol=1e-6)


def test_graphs_that_differ_only_in_attributes_are_told_apart():
    path = isonn.as_graphset([networkx.path_graph(4)] * 24)
    values = np.repeat(np.arange(24) % 2, 4)[:, None] + np.linspace(0, 0.1, 96)[:, None]
    y = np.arange(24) % 2
    clf = model_of("classes", "linear").fit(replace(path, node_attributes=values), y)
    assert clf.held_out_score_["accuracy"] == 1


@pytest.mark.parametrize("kind", KINDS)
def test_beyond_a_limit_trees_are_trained_on_a_sample_that_no_order_changes(graphs, kind, monkeypatch):
    monkeypatch.setattr("isonn.heads.folds.TREE_GRAPHS", 18)
    y, order = TARGETS[kind], np.random.default_rng(0).permutation(PLANTED)
    plain = model_of(kind).fit(graphs, y)
    assert 18 <= plain.head_.trees.graphs < 23
    assert np.isfinite(plain.head_.trees.held_out).any(axis=1).sum() <= plain.head_.trees.graphs
    np.testing.assert_allclose(answers(model_of(kind).fit(graphs[order], y[order]), graphs), answers(plain, graphs))
    stream = model_of(kind).fit(isonn.stream([graphs[:9], graphs[9:]], at_once=9), y)
    np.testing.assert_allclose(answers(stream, graphs), answers(plain, graphs), atol=1e-9)
    linear = model_of(kind, "linear").fit(graphs, y)
    monkeypatch.undo()
    np.testing.assert_allclose(answers(model_of(kind, "linear").fit(graphs, y), graphs), answers(linear, graphs))


def test_a_sample_for_trees_has_the_shares_of_the_classes(graphs, monkeypatch):
    monkeypatch.setattr("isonn.heads.folds.TREE_GRAPHS", 40)
    inputs = Inputs.of(csr_array(np.arange(1.0, 401)[:, None]))
    y = (np.arange(400) < 20).astype(int)
    sample = sample_graphs(Distinct.of(inputs), y, Classes(np.array(["a", "b"])), 0)
    assert y[Distinct.of(inputs).rows[sample]].tolist().count(1) == 2
    assert len(sample) == 40


def test_equal_graphs_with_different_targets_are_told_once(graphs):
    y = TARGETS["classes"].copy()
    twice = isonn.GraphSet.concat([graphs, graphs[:2].relabelled(0)]).with_y(None)
    with pytest.warns(isonn.errors.IsoNNWarning, match="1 of .* distinct graphs occur more than once, with diff"):
        model_of("classes").fit(twice, np.concatenate([y, [1 - y[0], y[1]]]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model_of("classes").fit(twice, np.concatenate([y, y[:2]]))


def test_attributes_beside_labels_are_named(graphs):
    values = np.random.default_rng(0).random((int(graphs.node_offsets[-1]), 2))
    both = replace(graphs, node_attributes=values)
    assert both.node_labels is not None
    with pytest.warns(isonn.errors.IsoNNWarning, match="has node attributes beside labels, and view='auto' uses the"):
        model_of("classes").fit(both, TARGETS["classes"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chosen = LabelsView(node_attributes=False)
        model_of("classes", view=chosen).fit(both, TARGETS["classes"])
        model_of("classes").fit(replace(both, node_labels=None), TARGETS["classes"])
