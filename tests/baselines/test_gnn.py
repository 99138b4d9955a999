"""GCN and GIN: layers by definition, features, sizes, the missing extra."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import torch

from isonn import as_graphset
from isonn.baselines import GCNClassifier, GINClassifier
from isonn.baselines.graph_networks import OneHotGraphs, PaddedGraphs
from isonn.errors import InputError, MissingDependencyError
from isonn.graphs.synthetic import planted_motifs


@pytest.fixture(scope="module")
def graphs():
    return planted_motifs(n_graphs=40, n_nodes=(8, 14), seed=0).graphs


def relabelled(graphs, seed=0):
    rng = np.random.default_rng(seed)
    result = []
    for graph in graphs:
        order = rng.permutation(graph.n)
        result.append(graph.adjacency[np.ix_(order, order)])
    return result


def test_with_degrees_relabelling_changes_nothing_and_any_size_is_taken(graphs):
    clf = GINClassifier(features="degree", layers=2, hidden=8, epochs=3, random_state=0).fit(graphs)
    expected = clf.predict_proba(graphs)
    np.testing.assert_allclose(clf.predict_proba(relabelled(graphs)), expected, atol=1e-5)
    larger = np.ones((1, 40, 40)) - np.eye(40)  # degrees beyond all training degrees, too
    assert clf.predict(larger).shape == (1,)


def test_a_label_never_seen_has_no_features_and_labels_may_be_words(mutag):
    words = np.array(["C", "N", "O", "F", "I", "Cl", "Br"])
    from dataclasses import replace

    named = replace(mutag, node_labels=words[mutag.node_labels])
    clf = GINClassifier(features="labels", layers=2, hidden=8, epochs=2, random_state=0).fit(named)
    strange = replace(named, node_labels=np.full(len(named.node_labels), "Xe"))
    assert clf._inputs(named).x.sum() == len(named.node_labels)
    assert clf._inputs(strange).x.sum() == 0
    assert clf._inputs(strange).x.shape[1] == 7
    assert clf.predict(strange).shape == (len(mutag),)


def test_graphs_without_labels_are_refused_where_labels_are_wanted(graphs, mutag):
    with pytest.raises(InputError, match="planted house has no node labels .*; use features='degree'"):
        GINClassifier(features="labels").fit(graphs)
    clf = GINClassifier(features="labels", layers=1, hidden=4, epochs=1, random_state=0).fit(mutag)
    with pytest.raises(InputError, match="has no node labels"):
        clf.predict(graphs)


@pytest.mark.parametrize("kind", [GCNClassifier, GINClassifier])
def test_without_torch_geometric_the_error_names_the_extra(kind, graphs, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch_geometric.nn", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'isonn\[baselines\]'"):
        kind().fit(graphs)


def test_gin_layers_sum_over_neighbours_with_epsilon_zero(graphs):
    for features in ("adjacency", "degree"):
        clf = GINClassifier(features=features, layers=1, hidden=8, epochs=2, random_state=0).fit(graphs)
        layer = clf.model_.convolutions[0]
        assert layer.eps.item() == 0
        one = graphs[:1]
        batch = clf._inputs(one)
        n, dense = one[0].n, torch.from_numpy(one.dense())
        x = batch.x[0][:n] if features == "adjacency" else batch.x
        with torch.no_grad():
            got = layer(batch.x, batch.links())
            torch.testing.assert_close(got.reshape(-1, 8)[:n], layer.nn(x + dense[0] @ x))


def test_gcn_normalises_absolute_weights():
    rng = np.random.default_rng(0)
    matrices = np.triu(rng.normal(size=(6, 7, 7)), 1)
    matrices += matrices.transpose(0, 2, 1)
    clf = GCNClassifier(layers=1, hidden=8, epochs=2, dropout=0, random_state=0).fit(matrices, np.arange(6) % 2)
    layer, x = clf.model_.convolutions[0], torch.from_numpy(matrices[0]).float()
    loops = x.abs() + torch.eye(7)
    root = loops.sum(1).rsqrt()
    with torch.no_grad():
        h = (root[:, None] * loops * root) @ (x @ layer.lin.weight.T) + layer.bias
        expected = clf.model_.last(h.relu().flatten())
        torch.testing.assert_close(clf.model_(clf._inputs(as_graphset(matrices[:1])))[0], expected)


def test_both_kinds_of_batches_pool_the_same_and_leave_padding_out(graphs):
    padded, coded = PaddedGraphs.of(graphs, 20), OneHotGraphs(graphs, 1)
    h = torch.randn(len(graphs), 20, 3, generator=torch.Generator().manual_seed(0))
    flat = torch.cat([h[i, : graph.n] for i, graph in enumerate(graphs)])
    torch.testing.assert_close(padded.pool(h), coded.pool(flat))


def test_selecting_from_a_batch_equals_making_it_from_the_selected(graphs):
    clf = GINClassifier(features="degree", layers=1, hidden=4, epochs=1, random_state=0).fit(graphs)
    rows = torch.tensor([5, 2, 9])
    chosen, made = clf._inputs(graphs)[rows], clf._inputs(graphs[rows.numpy()])
    torch.testing.assert_close(chosen.x, made.x)
    torch.testing.assert_close(chosen.links(), made.links())


def test_gin_with_degrees_tells_planted_motifs_apart():
    train, test = (planted_motifs(n_graphs=100, n_nodes=(12, 18), seed=seed).graphs for seed in (0, 1))
    clf = GINClassifier(features="degree", layers=3, hidden=16, epochs=40, random_state=0).fit(train)
    assert clf.score(test, test.y) > 0.9
