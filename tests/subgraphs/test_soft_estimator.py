from __future__ import annotations

import itertools
import os
import re
import warnings
from dataclasses import replace
from pathlib import Path

import networkx
import numpy as np
import pytest
import torch
from rich_graphs import rich_graphs
from threadpoolctl import threadpool_limits

import isonn
from isonn.errors import InputError
from isonn.graphs.synthetic import planted_motifs
from isonn.subgraphs.soft import SoftTemplateClassifier as SubgraphClassifier
from isonn.testing import assert_relabelling_invariant

HEADS = ("linear", "mlp", "ensemble")
SAMPLED = "ignore:.* have more subgraphs than max_subgraphs:UserWarning"


@pytest.fixture(autouse=True)
def few_trees(monkeypatch):
    """Growing and walking 300 trees takes most of the time and tests nothing more."""
    monkeypatch.setattr("isonn.subgraphs.soft.TREES", 15)


def small(**settings):
    return SubgraphClassifier(**{"k": (1, 2, 3), "c": 8, "epochs": 3, "hidden": (8,), "random_state": 0, **settings})


def public(**settings):
    """The estimator as people use it, which holds the soft model."""
    return isonn.SubgraphClassifier(
        **{"k": (1, 2, 3), "c": 8, "epochs": 3, "hidden": (8,), "random_state": 0, "learn_templates": True, **settings}
    )


@pytest.fixture(scope="module")
def rich():
    return rich_graphs()


# the law: numbering nodes otherwise changes nothing


@pytest.mark.parametrize("head", HEADS)
def test_relabelling_mutag_changes_no_prediction(mutag, head):
    clf = SubgraphClassifier(epochs=3, head=head, hidden=(16,), random_state=0).fit(mutag[:120])
    assert_relabelling_invariant(clf, mutag, repeats=2)


USED = {
    "everything": {"node_attributes": True},
    "labels": {"edge_weights": False},
    "attributes": {"node_labels": False, "edge_labels": False, "edge_weights": False},
    "weights": {"node_labels": False, "edge_labels": False, "node_attributes": False},
    "structure": {"node_labels": False, "edge_labels": False, "node_attributes": False, "edge_weights": False},
    "no degrees": {"degrees": False},
}


@pytest.mark.filterwarnings(SAMPLED)
@pytest.mark.parametrize("max_subgraphs", [100_000, 7], ids=["listed", "sampled"])
@pytest.mark.parametrize("used", USED)
def test_relabelling_changes_no_prediction_whatever_graphs_carry(rich, used, max_subgraphs):
    clf = small(k=(1, 2, 3, 4), max_subgraphs=max_subgraphs, **USED[used]).fit(rich)
    assert bool(clf.sampled_) == (max_subgraphs == 7)
    assert_relabelling_invariant(clf, rich, repeats=3)


@pytest.mark.filterwarnings(SAMPLED)
@pytest.mark.parametrize("head", ["mlp", "ensemble"])
def test_relabelling_changes_no_prediction_of_other_heads(rich, head):
    assert_relabelling_invariant(small(head=head, max_subgraphs=10).fit(rich), rich, repeats=3)


@pytest.mark.filterwarnings(SAMPLED)
def test_symmetric_graphs_are_sampled_alike_in_any_numbering():
    shapes = [networkx.petersen_graph(), networkx.complete_graph(9), networkx.cycle_graph(12)]
    shapes += [networkx.complete_bipartite_graph(4, 5), networkx.hypercube_graph(3), networkx.star_graph(8)]
    graphs = isonn.as_graphset([networkx.to_numpy_array(shape) for shape in shapes], y=[0, 1, 0, 1, 0, 1])
    clf = small(k=(3, 4, 5), max_subgraphs=6).fit(graphs)
    assert len(clf.sampled_) == 6
    assert_relabelling_invariant(clf, graphs, repeats=5)


@pytest.mark.filterwarnings(SAMPLED)
@pytest.mark.parametrize("max_subgraphs", [100_000, 7], ids=["listed", "sampled"])
def test_training_on_relabelled_graphs_gives_the_same_model(rich, max_subgraphs):
    moved = rich.relabelled(np.random.default_rng(3))
    one, other = (small(max_subgraphs=max_subgraphs, node_attributes=True).fit(given) for given in (rich, moved))
    np.testing.assert_allclose(other.predict_proba(rich), one.predict_proba(rich), atol=1e-5)


def test_training_on_relabelled_molecules_gives_the_same_model(mutag):
    moved = mutag.relabelled(np.random.default_rng(3))
    for head in ("linear", "ensemble"):
        one, other = (small(k=(1, 2, 3, 4), head=head, epochs=5).fit(given) for given in (mutag[:90], moved[:90]))
        np.testing.assert_allclose(other.predict_proba(mutag), one.predict_proba(mutag), atol=1e-5)


DATASETS = ("PTC", "PTC_MR", "PROTEINS", "IMDB-MULTI", "KKI", "OHSU", "Peking_1", "HIV-fMRI", "HIV-DTI")


@pytest.mark.skipif(not os.environ.get("ISONN_DATA"), reason="ISONN_DATA is not set: no datasets beyond MUTAG")
@pytest.mark.filterwarnings(SAMPLED, "ignore:.* never seen in training:UserWarning")
@pytest.mark.parametrize("name", DATASETS)
def test_relabelling_changes_no_prediction_on_any_dataset_at_hand(name):
    graphs = isonn.load(name)
    chosen = np.random.default_rng(0).permutation(len(graphs))[:12]
    clf = small(k=(1, 2, 3, 4), epochs=2, max_subgraphs=300).fit(graphs[chosen])
    assert_relabelling_invariant(clf, graphs[chosen], repeats=2)


# graphs of any kind


def complete(n):
    return np.ones((n, n)) - np.eye(n)


@pytest.fixture(scope="module")
def structural():
    return small(k=(3, 4)).fit(planted_motifs(n_graphs=20, n_nodes=(8, 12), seed=0).graphs)


@pytest.mark.parametrize("head", HEADS)
def test_graphs_of_any_size_are_classified(head):
    clf = small(k=(2, 3), head=head).fit(planted_motifs(n_graphs=20, n_nodes=(8, 12), seed=0).graphs)
    apart = np.kron(np.eye(2), complete(3))
    sizes = [np.zeros((1, 1)), complete(2), np.zeros((4, 4)), apart, complete(20)]
    probabilities = clf.predict_proba(sizes)
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_allclose(probabilities[0], probabilities[2], atol=1e-9)  # neither has a subgraph of two nodes
    for graph in sizes:
        np.testing.assert_allclose(clf.explain(graph).probabilities, clf.predict_proba([graph])[0], atol=1e-5)


def test_a_graph_without_edges_lacks_no_edge_labels(mutag):
    clf = small(k=(1, 2)).fit(mutag[:40], mutag.y[:40])
    lone = networkx.Graph()
    lone.add_node(0, label=0)
    assert np.isfinite(clf.predict_proba([lone])).all()
    np.testing.assert_allclose(clf.explain(lone).probabilities, clf.predict_proba([lone])[0], atol=1e-5)
    pair = networkx.path_graph(2)
    networkx.set_node_attributes(pair, 0, "label")
    with pytest.raises(InputError, match="has no edge labels, but this model was fitted with them; add them"):
        clf.predict([pair])


def test_training_graphs_may_be_smaller_than_k_but_not_all():
    mixed = [complete(2), complete(5), complete(3), np.zeros((1, 1))]
    clf = small(k=(3, 5), degrees=False).fit(mixed, [0, 1, 0, 1])
    assert {template.k for template in clf.templates_} == {3, 5}
    with pytest.raises(InputError, match=r"no graph of graphs has a connected subgraph of k=6 nodes; use a smaller k"):
        small(k=6).fit(mixed, [0, 1, 0, 1])


def test_the_parts_of_a_graph_add_up(structural):
    """Connected subgraphs of a graph in two parts are those of the parts."""
    one, other = complete(5), networkx.to_numpy_array(networkx.path_graph(6))
    both = np.zeros((11, 11))
    both[:5, :5], both[5:, 5:] = one, other
    sums = [structural.model_.sums(structural._inputs(isonn.as_graphset([g]))).detach() for g in (one, other, both)]
    np.testing.assert_allclose(sums[0] + sums[1], sums[2], rtol=1e-5)


@pytest.mark.parametrize("at_once", [2, 4096])
def test_labels_never_seen_are_warned_of_once_with_their_number(rich, at_once, monkeypatch):
    monkeypatch.setattr("isonn.subgraphs.soft.PREDICTED_AT_ONCE", at_once)
    clf = small(edge_weights=False).fit(rich)
    labels = rich.node_labels.copy()
    labels[:7] = "Xe"
    strange = replace(rich, node_labels=labels)
    with pytest.warns(UserWarning, match=rf"7 of {len(labels)} nodes of graphs have a label never seen") as caught:
        probabilities = clf.predict_proba(strange)
    assert len(caught) == 1
    assert np.isfinite(probabilities).all()
    edges = replace(rich, edge_labels=rich.edge_labels * 10)
    with pytest.warns(UserWarning, match=r"edges of graphs have a label never seen in training"):
        clf.predict(edges)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf.predict(rich)


def test_directed_graphs_are_refused_in_fit_predict_and_explain(rich, structural):
    one_way = [np.triu(np.ones((4, 4)), 1)] * 4
    with pytest.raises(
        InputError, match=r"graph 0 of 4 is directed, and subgraphs need undirected graphs.* or use IsoNNClassifier"
    ):
        small().fit(one_way, [0, 1, 0, 1])
    for ask in (structural.predict, lambda X: structural.explain(X[0])):
        with pytest.raises(InputError, match="is directed"):
            ask(one_way)


def test_loops_are_left_out_and_several_edges_are_one(structural):
    plain = networkx.lollipop_graph(4, 3)
    several = networkx.MultiGraph(plain)
    several.add_edges_from([(0, 1), (0, 1), (2, 2), (5, 5)])
    expected = structural.predict_proba([networkx.to_numpy_array(plain)])
    np.testing.assert_equal(structural.predict_proba([several]), expected)
    explained = structural.explain(several)
    np.testing.assert_allclose(explained.probabilities, expected[0], atol=1e-6)


# settings


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": 7}, "k=7 is not a valid subgraph size; use 1 to 6"),
        ({"k": (3, 7)}, "k=7 is not a valid subgraph size"),
        ({"k": 0}, "k=0 is not a valid subgraph size"),
        ({"k": ()}, r"k=\(\) is empty"),
        ({"c": 0}, "c=0"),
        ({"max_subgraphs": 0}, "max_subgraphs=0"),
        ({"max_subgraphs": -3}, "max_subgraphs=-3"),
        ({"epochs": 0}, "epochs=0"),
        ({"head": "tree"}, "head='tree' is unknown; use one of 'linear', 'mlp', 'ensemble'"),
        ({"node_labels": "yes"}, "node_labels='yes' is unknown; use True, False or 'auto'"),
        ({"degrees": "yes"}, "degrees='yes' is unknown"),
        ({"hidden": (0,)}, "hidden"),
    ],
)
def test_settings_that_mean_nothing_are_refused(mutag, settings, message):
    with pytest.raises(InputError, match=message):
        small(**settings).fit(mutag)


@pytest.mark.parametrize("name", ["node_labels", "edge_labels", "node_attributes"])
def test_labels_that_are_wanted_must_be_there(name):
    plain = [complete(3), complete(4)]
    with pytest.raises(InputError, match=f"{name}=True, but graphs has none; use {name}='auto' or False"):
        small(**{name: True}).fit(plain, [0, 1])


def test_auto_uses_what_the_graphs_have(rich):
    clf = small().fit(rich)
    assert clf.encoding_.node_labels.tolist() == ["C", "N", "O"]
    assert clf.encoding_.edge_labels.tolist() == [1, 2, 3]
    assert clf.encoding_.edge_weights is not None
    assert clf.encoding_.node_attributes is None  # labels say what a node is
    assert small().fit(replace(rich, node_labels=None)).encoding_.node_attributes is not None
    assert small(degrees=np.False_).fit(rich).encoding_.sizes == ((1, 2, 3),)
    assert small(k=3).fit(rich).encoding_.sizes == ((3,), (3,))


def test_threads_of_other_libraries_do_not_change_the_bits():
    draw = np.random.default_rng(0)
    y = np.arange(600) % 6
    graphs = [networkx.gnp_random_graph(draw.integers(8, 14), 0.15 + 0.03 * c, seed=i) for i, c in enumerate(y)]
    weights = []
    for count in (1, 2):
        with threadpool_limits(count):
            clf = SubgraphClassifier(learn_templates=False, random_state=0).fit(graphs, y)
        weights.append(clf.model_.head[0].weight)
    torch.testing.assert_close(*weights, rtol=0, atol=0)


def test_the_same_seed_gives_the_same_bits_and_threads_change_nothing(rich):
    settings = {"head": "ensemble", "node_attributes": True}
    one, again, threaded = (small(n_jobs=threads, **settings).fit(rich) for threads in (1, 1, 2))
    np.testing.assert_equal(again.predict_proba(rich), one.predict_proba(rich))
    np.testing.assert_allclose(threaded.predict_proba(rich), one.predict_proba(rich), atol=1e-6)


def test_batches_are_learned_from_too(rich):
    clf = small(batch_size=5).fit(rich)
    assert len(clf.history_) == 3
    assert_relabelling_invariant(clf, rich, repeats=1)


def test_frozen_templates_are_subgraphs_of_the_training_graphs(rich):
    for head, epochs in (("linear", 0), ("mlp", 3)):
        clf = small(learn_templates=False, head=head).fit(rich)
        assert len(clf.history_) == epochs
        for template in clf.templates_:
            assert any(found_in(template, graph, clf.encoding_) for graph in rich)


def test_learning_moves_templates(rich):
    frozen, learned = (small(learn_templates=learn).fit(rich).templates_ for learn in (False, True))
    assert any((one.adjacency != other.adjacency).any() for one, other in zip(frozen, learned, strict=True))


def found_in(template, graph, encoding):
    """Whether some nodes of a graph, in some order, have the very entries of a template."""
    adjacency = graph.adjacency
    for nodes in itertools.permutations(range(graph.n), template.k):
        cells = adjacency[np.ix_(nodes, nodes)].astype(np.float32)
        if template.degrees is not None:
            degrees = (adjacency != 0).sum(axis=1)[list(nodes)]
            same = (degrees <= 8).all() and np.abs(template.degrees - degrees).max() < 1e-4  # larger ones are levels
            cells = (cells != 0).astype(np.float32)
        else:
            same = (graph.node_labels[list(nodes)] == template.node_labels).all()
            cells = cells / encoding.edge_weights.scale[0]
        if same and np.abs(cells - template.adjacency).max() < 1e-6:
            return True
    return False


# saving and resuming


def columns_of(rich):
    return {
        "all": rich,
        "numbers as labels": rich_graphs(text=False),
        "attributes": replace(rich, node_labels=None, edge_labels=None),
        "structure": replace(rich, node_labels=None, edge_labels=None, node_attributes=None, weights=None),
    }


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("columns", ["all", "numbers as labels", "attributes", "structure"])
def test_saving_and_loading_gives_the_same_bits_and_no_pickle(rich, head, columns, tmp_path):
    graphs = columns_of(rich)[columns]
    clf = public(head=head).fit(graphs)
    clf.save(tmp_path / "model")
    assert {path.name for path in (tmp_path / "model").iterdir()} == {"model.json", "model.safetensors"}
    loaded = isonn.load_model(tmp_path / "model")
    np.testing.assert_equal(loaded.predict_proba(graphs), clf.predict_proba(graphs))
    np.testing.assert_equal(loaded.transform(graphs), clf.transform(graphs))
    assert loaded.get_params() == clf.get_params()
    one, other = clf.explain(graphs[0]), loaded.explain(graphs[0])
    assert [match.nodes for match in one.matches] == [match.nodes for match in other.matches]


def test_several_labels_and_classes_are_saved_with_every_head(rich, tmp_path):
    y = {
        "three": np.arange(14) % 3,
        "labels": np.column_stack([rich.y, np.ones(14), np.arange(14) % 3 == 0]).astype(int),
    }
    for head, kind in itertools.product(HEADS, y):
        clf = public(head=head, epochs=1).fit(rich, y[kind])
        clf.save(tmp_path / f"{head} {kind}")
        loaded = isonn.load_model(tmp_path / f"{head} {kind}")
        np.testing.assert_equal(loaded.predict_proba(rich), clf.predict_proba(rich))


@pytest.mark.filterwarnings(SAMPLED)
def test_a_loaded_model_samples_as_the_saved_one_did(rich, tmp_path):
    clf = public(k=(3, 4), max_subgraphs=7).fit(rich)
    clf.save(tmp_path / "model")
    np.testing.assert_equal(isonn.load_model(tmp_path / "model").predict_proba(rich), clf.predict_proba(rich))


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("batch_size", [None, 5])
def test_a_run_that_was_stopped_goes_on_to_the_same_bits(rich, head, batch_size, tmp_path, monkeypatch):
    monkeypatch.setattr("isonn.training.checkpoint.Checkpoint.due", lambda self: True)
    whole = small(epochs=5, head=head, batch_size=batch_size).fit(rich)
    small(epochs=2, head=head, batch_size=batch_size).fit(rich, checkpoint=tmp_path / "run")
    resumed = small(epochs=5, head=head, batch_size=batch_size).fit(rich, checkpoint=tmp_path / "run", resume=True)
    assert resumed.history_.loss == whole.history_.loss
    np.testing.assert_equal(resumed.predict_proba(rich), whole.predict_proba(rich))


# sampling


def test_what_was_sampled_is_said_and_recorded(rich):
    clf = small(k=(2, 4), max_subgraphs=20)
    with pytest.warns(
        UserWarning, match=r"\d+ of 14 graphs of graphs have more subgraphs than max_subgraphs"
    ) as caught:
        clf.fit(rich)
    assert len(caught) == 1
    true = {}
    for i, graph in enumerate(rich):
        structure = networkx.from_numpy_array(graph.adjacency)
        subsets = itertools.combinations(range(graph.n), 4)
        true[i] = sum(networkx.is_connected(structure.subgraph(subset)) for subset in subsets)
    assert set(clf.sampled_) == {i for i, count in true.items() if count > 20}
    assert str(len(clf.sampled_)) == re.match(r"\d+", str(caught[0].message))[0]
    for i, share in clf.sampled_.items():
        assert share == pytest.approx(20 / true[i], rel=0.5)


@pytest.mark.filterwarnings(SAMPLED)
def test_soft_counts_of_a_sampled_graph_are_near_the_true_ones():
    graphs = rich_graphs(g=2, low=14, high=16, p=0.35)
    whole = small(k=4, learn_templates=False, edge_weights=False).fit(graphs)
    true = whole.model_.sums(whole._inputs(graphs)).numpy()
    estimates = []
    for seed in range(20):
        whole.seed_, whole.max_subgraphs = seed, 100
        estimates.append(whole.model_.sums(whole._inputs(graphs)).numpy())
    mean, error = np.mean(estimates, axis=0), np.std(estimates, axis=0, ddof=1) / np.sqrt(20)
    gap = (mean - true)[error > 1e-3] / error[error > 1e-3]
    assert np.abs(gap).max() < 5
    assert abs(gap.mean()) < 1


def test_the_folder_of_a_model_holds_nothing_that_runs(rich, tmp_path):
    public(head="ensemble").fit(rich).save(tmp_path / "model")
    for path in Path(tmp_path / "model").iterdir():
        assert not path.read_bytes().startswith(b"\x80")


def test_batches_of_one_graph_are_refused(mutag):
    with pytest.raises(InputError, match="batch_size must be at least 2, or None, got 1"):
        SubgraphClassifier(batch_size=1).fit(mutag, mutag.y)


def test_a_template_has_edge_labels_where_it_has_edges(mutag):
    clf = SubgraphClassifier(learn_templates=False, random_state=0).fit(mutag, mutag.y)
    labelled = [template for template in clf.templates_ if template.edge_labels is not None]
    assert labelled
    for template in labelled:
        there = np.vectorize(lambda label: label is not None)(template.edge_labels)
        np.testing.assert_array_equal(there, template.adjacency > 0.5)


@pytest.mark.parametrize("streamed", [False, True])
def test_soft_templates_know_their_training_graphs(mutag, streamed, tmp_path):
    graphs = mutag[:40]
    clf = isonn.SubgraphClassifier(k=2, c=2, learn_templates=True, epochs=1, random_state=0)
    clf.fit(isonn.stream(graphs, 20) if streamed else graphs).save(tmp_path / "model")
    assert isonn.load_model(tmp_path / "model").seen_in_training(graphs).all()
