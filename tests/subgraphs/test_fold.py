"""Leaf nodes folded into their neighbours as a count."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import isonn
from isonn.errors import InputError
from isonn.subgraphs.views import fold_leaves


@pytest.fixture(scope="module")
def with_hydrogens(mutag):
    """MUTAG with one to three leaf nodes of a new label at every node of degree 2."""
    matrices, labels = [], []
    for graph in mutag[:60]:
        adjacency, own = graph.adjacency, graph.node_labels.tolist()
        many = [1 + label % 3 if degree == 2 else 0 for label, degree in zip(own, adjacency.sum(0), strict=True)]
        bigger = np.zeros((graph.n + sum(many),) * 2)
        bigger[: graph.n, : graph.n] = adjacency
        last = graph.n
        for node, count in enumerate(many):
            for _ in range(count):
                bigger[node, last] = bigger[last, node] = 1
                last += 1
        matrices.append(bigger)
        labels.append(own + [99] * sum(many))
    graphs = isonn.as_graphset(matrices, y=mutag.y[:60])
    return replace(graphs, node_labels=np.concatenate(labels))


def test_folding_takes_leaves_away_and_counts_them(with_hydrogens, mutag):
    folded, kept = fold_leaves(with_hydrogens, 99)
    assert folded.sizes.tolist() == mutag.sizes[:60].tolist()
    for i, graph in enumerate(folded):
        np.testing.assert_array_equal(graph.adjacency, mutag[i].adjacency)
        own = kept[folded.node_offsets[i] : folded.node_offsets[i + 1]]
        np.testing.assert_array_equal(own, np.arange(mutag[i].n))
        for node, label in enumerate(graph.node_labels):
            before = with_hydrogens[i]
            leaves = int((before.node_labels[before.adjacency[node] != 0] == 99).sum())
            assert label == (f"{before.node_labels[node]}+{leaves}x99" if leaves else str(before.node_labels[node]))


def test_a_pair_of_leaves_stays():
    pair = replace(isonn.as_graphset([np.array([[0, 1], [1, 0]])]), node_labels=np.array(["H", "H"]))
    assert fold_leaves(pair, "H")[0].node_labels.tolist() == ["H", "H"]


def test_a_folded_model_explains_the_graph_it_was_given(with_hydrogens, tmp_path):
    clf = isonn.SubgraphClassifier(fold=99, random_state=0).fit(with_hydrogens)
    graph = with_hydrogens[0]
    found = clf.explain(graph)
    assert len(found.node_importance) == graph.n
    assert found.node_importance.sum() == pytest.approx(found.score - found.base, abs=1e-9)
    assert (found.node_importance[graph.node_labels == 99] == 0).all()
    isonn.testing.assert_relabelling_invariant(clf, with_hydrogens[:10])
    streamed = isonn.SubgraphClassifier(fold=99, random_state=0).fit(isonn.stream(with_hydrogens, 20))
    np.testing.assert_allclose(streamed.predict_proba(with_hydrogens), clf.predict_proba(with_hydrogens), atol=1e-6)
    clf.save(tmp_path / "model")
    again = isonn.load_model(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(with_hydrogens), clf.predict_proba(with_hydrogens))


def test_a_label_is_folded_by_its_name_too(mutag, tmp_path):
    by_code = isonn.SubgraphClassifier(fold=2, random_state=0).fit(mutag)
    by_name = isonn.SubgraphClassifier(fold="O", random_state=0).fit(mutag)
    expected = by_code.predict_proba(mutag)
    np.testing.assert_array_equal(by_name.predict_proba(mutag), expected)
    streamed = isonn.SubgraphClassifier(fold="O", random_state=0).fit(isonn.stream(mutag, 50))
    np.testing.assert_allclose(streamed.predict_proba(mutag), expected, atol=1e-9)
    by_name.save(tmp_path / "model")
    nameless = replace(mutag, node_label_names={}, edge_label_names={})
    np.testing.assert_array_equal(isonn.load_model(tmp_path / "model").predict_proba(nameless), expected)


def test_folding_without_labels_is_refused(mutag):
    bare = replace(mutag, node_labels=None, node_label_names={})
    with pytest.raises(InputError, match="fold=1 needs node labels"):
        isonn.SubgraphClassifier(fold=1).fit(bare)
