"""Fidelity, sparsity and AUROC on a classifier whose reasons are known: it counts the edges at node 0."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import isonn
from isonn.errors import InputError
from isonn.explain import edge_auroc, edge_removal, faithfulness
from isonn.graphs.synthetic import planted_motifs

removal = sys.modules["isonn.explain.faithfulness"]


class EdgesAtNodeZero:
    """The probability of class 1 is 0.1 plus 0.2 for every neighbour of node 0."""

    def predict_proba(self, X):
        one = np.array([0.1 + 0.2 * (graph.adjacency[0] != 0).sum() for graph in isonn.as_graphset(X)])
        return np.column_stack([1 - one, one])


#: Node 0 with three neighbours, and a path that hangs on one of them: 6 edges in all.
STAR = np.zeros((7, 7))
for u, v in ((0, 1), (0, 2), (0, 3), (3, 4), (4, 5), (5, 6)):
    STAR[u, v] = STAR[v, u] = 1


def importance_of(*edges):
    importance = np.zeros((7, 7))
    for rank, (u, v) in enumerate(edges):
        importance[u, v] = 9 - rank  # one direction suffices: the two cells are added
    return importance


DECIDE, IDLE = importance_of((0, 1), (0, 2), (0, 3)), importance_of((3, 4), (4, 5), (5, 6))


@pytest.mark.parametrize(
    ("importances", "plus", "minus", "flips"),
    [([DECIDE], 0.6, 0, (1, 0)), ([IDLE], 0, 0.6, (0, 1)), ([DECIDE, IDLE], 0.3, 0.3, (0.5, 0.5))],
)
def test_edges_that_decide_have_high_fidelity_plus_and_others_high_fidelity_minus(importances, plus, minus, flips):
    result = faithfulness(EdgesAtNodeZero(), [STAR] * len(importances), importances, keep=0.5)
    found = result.fidelity_plus, result.fidelity_minus, result.flips_plus, result.flips_minus, result.sparsity
    assert found == pytest.approx((plus, minus, *flips, 0.5))


def test_taking_a_node_away_takes_its_edges_and_keeping_nodes_keeps_edges_between_them():
    centre = np.array([9.0, 8, 0, 0, 0, 0, 0])
    result = faithfulness(EdgesAtNodeZero(), [STAR], [centre], keep=2 / 7)
    assert result.fidelity_plus == pytest.approx(0.6)
    assert result.fidelity_minus == pytest.approx(0.7 - 0.3)
    assert result.sparsity == pytest.approx(5 / 7)


def test_what_speaks_against_the_class_is_not_important():
    result = faithfulness(EdgesAtNodeZero(), [STAR], [-DECIDE], keep=0.5)
    assert result.fidelity_plus == pytest.approx(0)


def test_labels_weights_and_names_stay_with_what_is_left(mutag):
    clf = isonn.IsoNNClassifier(k=2, c=1, hidden=(4,), epochs=1, random_state=0).fit(mutag[:10], mutag.y[:10])
    importances = [clf.explain(graph).node_importance for graph in mutag[:10]]
    result = faithfulness(clf, mutag[:10], importances, keep=0.3)
    assert 0.6 < result.sparsity < 0.7


def test_a_graph_without_edges_loses_nothing():
    result = faithfulness(EdgesAtNodeZero(), [np.zeros((3, 3))], [np.zeros((3, 3))])
    assert (result.fidelity_plus, result.fidelity_minus, result.sparsity) == (0, 0, 1)


def test_the_truth_itself_has_an_auroc_of_one_and_its_opposite_of_zero():
    planted = planted_motifs(n_graphs=4, seed=0)
    for i in range(4):
        truth = planted.edge_truth(i)
        assert edge_auroc(planted.graphs[i], truth.astype(float), truth) == 1
        assert edge_auroc(planted.graphs[i], -truth.astype(float), truth) == 0
        assert edge_auroc(planted.graphs[i], np.zeros(truth.shape), truth) == 0.5


def test_auroc_is_the_share_of_pairs_in_the_right_order():
    graph = isonn.as_graphset([STAR])[0]
    truth = importance_of((0, 1), (0, 2)) > 0
    # 0-1 stands above all four others, 0-2 above two of them
    importance = importance_of((0, 1), (3, 4), (4, 5), (0, 2))
    assert edge_auroc(graph, importance, truth) == pytest.approx((4 + 2) / 8)


def test_an_edge_adds_to_the_log_odds_what_is_missing_without_it(monkeypatch):
    effect = edge_removal(EdgesAtNodeZero(), STAR)
    gain = np.log(0.7 / 0.3) - np.log(0.5 / 0.5)
    expected = np.zeros((7, 7))
    expected[0, 1:4] = expected[1:4, 0] = gain
    np.testing.assert_allclose(effect, expected, atol=1e-12)
    np.testing.assert_allclose(edge_removal(EdgesAtNodeZero(), STAR, column=0), -expected, atol=1e-12)
    monkeypatch.setattr(removal, "BLOCK_GRAPHS", 2)
    np.testing.assert_allclose(edge_removal(EdgesAtNodeZero(), STAR), expected, atol=1e-12)


def test_a_directed_edge_is_taken_away_with_its_counterpart():
    arrows = np.triu(STAR)
    effect = edge_removal(EdgesAtNodeZero(), arrows)
    np.testing.assert_equal(effect, effect.T)
    assert (effect[0, 1:4] > 0).all()


def test_what_cannot_be_measured_is_refused():
    with pytest.raises(InputError, match="importances has 0 entries for 1 graphs"):
        faithfulness(EdgesAtNodeZero(), [STAR], [])
    with pytest.raises(InputError, match="keep=0 is not a share"):
        faithfulness(EdgesAtNodeZero(), [STAR], [STAR], keep=0)
    with pytest.raises(InputError, match=r"graph 0 of 1 has 7 nodes and importances of shape \(3,\)"):
        faithfulness(EdgesAtNodeZero(), [STAR], [np.zeros(3)])
    with pytest.raises(InputError, match="truth contains 0 of 6 edges"):
        edge_auroc(isonn.as_graphset([STAR])[0], STAR, np.zeros((7, 7), dtype=bool))
