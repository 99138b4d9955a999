"""Explanations of the subgraph model: contributions add up, and removing a piece is counting without it."""

from __future__ import annotations

from importlib import import_module

import networkx
import numpy as np
import pytest
from coded_graphs import TARGETS, fitted, rest
from networkx.algorithms.isomorphism import GraphMatcher, categorical_edge_match, categorical_node_match

import isonn
from isonn.errors import InputError, IsoNNWarning


@pytest.fixture(scope="module")
def both(graphs):
    """The default head, which also reads absences."""
    return fitted(graphs, head="auto")


@pytest.fixture(scope="module")
def clf(graphs):
    return fitted(graphs)


def networkx_of(graph):
    found = networkx.Graph()
    for v in range(graph.n):
        found.add_node(v, label=graph.node_labels[v])
    for (a, b), label in zip(graph.edges.tolist(), graph.edge_labels.tolist(), strict=True):
        found.add_edge(a, b, label=label)
    return found


def assert_adds_up(e):
    gap = e.score - e.base - rest(e)
    assert e.exact
    assert e.node_importance.sum() == pytest.approx(gap, abs=1e-9)
    on_nodes = e.source.node_terms(e.column).sum()
    assert np.triu(e.edge_importance).sum() + e.single_nodes + on_nodes == pytest.approx(gap, abs=1e-9)
    np.testing.assert_array_equal(e.edge_importance, e.edge_importance.T)
    assert not e.edge_importance[e.graph.adjacency == 0].any()


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("settings", [{}, {"head": "trees"}, {"head": "auto"}, {"n_templates": 8}], ids=str)
def test_contributions_add_up_to_score_minus_base_for_every_output(graphs, settings, kind):
    model = fitted(graphs, kind, **settings)
    for i in (0, 1, 5):
        for label in model.target_.classes.tolist():
            assert_adds_up(model.explain(graphs[i], label))


@pytest.mark.parametrize("head", ["linear", "trees"])
@pytest.mark.parametrize("kind", ["classes", "three classes", "labels", "number"])
def test_contributions_of_molecules_add_up_and_some_terms_belong_to_atoms(head, kind):
    pytest.importorskip("rdkit")
    shared = import_module("isonn.molecules.terms").SHARED_NAMES
    smiles = [f"{'C' * n}{end}" for n in range(2, 15) for end in ("C(=O)O", "c1ccccc1N")]  # as many as the targets
    model = fitted(smiles, kind, head=head, max_nodes=2)
    on_atoms = 0.0
    for i in (0, 3):
        for label in model.target_.classes.tolist():
            e = model.explain(smiles[i], label)
            assert_adds_up(e)
            on_atoms += np.abs(e.source.node_terms(e.column)).sum()
            assert not any(part.name in shared and abs(part.value) > 1e-6 for part in e.terms)
    assert on_atoms > 0 or head == "trees"  # which need not read any term


def test_absent_pieces_contribute_nothing_and_the_base_is_the_score_without_pieces(graphs, both):
    explanations = [both.explain(graph, 1) for graph in graphs[:4]]
    assert all(e.absent == [] for e in explanations)
    assert len({round(e.base, 9) for e in explanations}) == 1


def test_the_base_is_the_score_of_an_empty_graph_and_terms_have_the_values_of_the_graph(graphs):
    trees = fitted(graphs, "number", head="trees")
    cycles = np.array([len(graph.edges) / 2 - graph.n + 1 for graph in graphs])
    trees.fit(graphs, cycles)
    e = trees.explain(graphs[1])
    assert {part.name: part.value for part in e.terms} == {"cycles": cycles[1]}  # other sizes belong to nodes
    linear = fitted(graphs, "number", head="linear")
    assert linear.explain(graphs[1]).base == pytest.approx(linear.target_.link(linear.head_.intercept[None])[0, 0])


def test_two_classes_have_opposite_explanations(graphs, both):
    one, other = (both.explain(graphs[1], label) for label in (0, 1))
    np.testing.assert_allclose(one.node_importance, -other.node_importance, atol=1e-9)
    assert (one.score, one.base, rest(one)) == pytest.approx((-other.score, -other.base, -rest(other)))


@pytest.mark.parametrize("transform", ["log", "count"])
def test_a_regressors_score_is_its_prediction_whatever_the_features(graphs, clf, transform):
    logs = clf.transform(graphs).toarray()[:, : len(clf.templates_)] @ np.cos(np.arange(len(clf.templates_)))
    count = np.array([3 * np.sum(graph.node_labels == "N") + len(graph.edges) for graph in graphs], dtype=float)
    y = logs if transform == "log" else count
    reg = isonn.SubgraphRegressor(3, head="linear", random_state=0).fit(graphs, y)
    assert reg._model.features.transform == transform
    for i in range(4):
        e = reg.explain(graphs[i])
        assert e.score == pytest.approx(float(reg.predict(graphs[i : i + 1])[0]))
        assert_adds_up(e)


def test_the_score_of_a_number_learned_as_a_logarithm_is_a_logarithm(graphs):
    y = 10.0 ** np.array([np.sum(graph.node_labels == "O") - np.sum(graph.node_labels == "N") for graph in graphs])
    reg = isonn.SubgraphRegressor(2, head="linear", random_state=0).fit(graphs, y)
    assert reg.target_.logs.all()
    e = reg.explain(graphs[1])
    assert 10**e.score == pytest.approx(float(reg.predict(graphs[1:2])[0]))
    assert_adds_up(e)


def test_contributions_of_sampled_graphs_add_up():
    dense = [networkx.gnp_random_graph(20, 0.5, seed=i) for i in range(6)]
    with pytest.warns(IsoNNWarning, match="sampled"):
        clf = isonn.SubgraphClassifier(4, max_subgraphs=300, random_state=0).fit(dense, [0, 1] * 3)
    e = clf.explain(dense[0])
    assert_adds_up(e)
    np.testing.assert_allclose(e.probabilities, clf.predict_proba(dense[:1])[0], rtol=1e-9)


def test_occurrences_share_the_weighted_feature_of_their_template(graphs, clf):
    e = clf.explain(graphs[1], 1, top=None)
    features, coef = clf.transform(graphs[1:2]).toarray()[0], clf.head_.coef[1] - clf.head_.coef[0]
    counts = clf.vectorizer_.transform(graphs[1:2]).toarray()[0]
    rows, found = e.contributions
    template = e.source.occurrences.template[rows]
    np.testing.assert_allclose(found, (coef * features)[template] / counts[template], atol=1e-10)


def test_the_score_is_the_models_and_without_subtracts_counts(graphs, clf):
    e = clf.explain(graphs[1], label=1, top=None)
    proba = clf.predict_proba(graphs[1:2])[0]
    np.testing.assert_allclose(e.probabilities, proba, rtol=1e-9)
    assert e.score == pytest.approx(np.log(proba[1] / proba[0]))
    np.testing.assert_allclose(e.without([]), proba, rtol=1e-9)
    assert np.abs(e.without(list(range(len(e.matches)))) - proba).max() > 1e-3
    np.testing.assert_allclose(e.without(e.matches[0]), e.without(0))
    with pytest.raises(InputError, match="is not among"):
        e.without(10**6)


def test_matches_are_the_occurrences_of_the_vectorizer(graphs, clf):
    occurrences = clf.vectorizer_.occurrences(graphs[1])
    found = clf.explain(graphs[1], top=None).source.occurrences
    nodes = found.nodes[found.region]
    matches = [
        (t, frozenset(v for v in row if v >= 0)) for t, row in zip(found.template.tolist(), nodes.tolist(), strict=True)
    ]
    assert sorted(matches, key=str) == sorted(((o.column, frozenset(o.nodes)) for o in occurrences), key=str)


def test_the_planted_triangle_is_the_reason(graphs, clf):
    for i in (1, 3, 5):
        first = clf.explain(graphs[i], label=1).reasons[0]
        assert set(np.flatnonzero(graphs[i].node_labels == "O").tolist()) & set(first.nodes)


def test_found_in_is_what_networkx_finds(graphs, clf):
    reason = clf.explain(graphs[1]).reasons[0]
    piece = networkx_of(graphs[1]).subgraph(reason.nodes)
    match = {"node_match": categorical_node_match("label", None), "edge_match": categorical_edge_match("label", None)}
    expected = [GraphMatcher(networkx_of(graph), piece, **match).subgraph_is_monomorphic() for graph in graphs]
    found = reason.found_in(graphs)
    assert found.tolist() == expected
    assert found[1]


def test_several_graphs_are_explained_one_by_one(graphs, clf):
    for e, graph in zip(clf.explain(graphs[:3]), graphs[:3], strict=True):
        np.testing.assert_array_equal(e.node_importance, clf.explain(graph).node_importance)
    np.testing.assert_array_equal(
        clf.explain(graphs[3:4]).node_importance, clf.explain(networkx_of(graphs[3])).node_importance
    )
