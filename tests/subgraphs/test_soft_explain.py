from __future__ import annotations

import itertools
from dataclasses import replace

import networkx
import numpy as np
import pytest
from rich_graphs import rich_graphs

import isonn
from isonn.explain import template_cards
from isonn.subgraphs.soft import SoftTemplateClassifier as SubgraphClassifier

HEADS = ("linear", "mlp", "ensemble")
SAMPLED = "ignore:.* have more subgraphs than max_subgraphs:UserWarning"


@pytest.fixture(autouse=True)
def few_trees(monkeypatch):
    monkeypatch.setattr("isonn.subgraphs.soft.TREES", 15)


def small(**settings):
    few = {"k": (1, 2, 3), "c": 8, "epochs": 3, "hidden": (8,), "random_state": 0}
    return SubgraphClassifier(**{**few, **settings})


@pytest.fixture(scope="module")
def rich():
    return rich_graphs()


@pytest.fixture(scope="module")
def explained(rich):
    clf = SubgraphClassifier(k=(1, 2, 3), c=8, epochs=3, random_state=0).fit(rich)
    return clf, rich[0], clf.explain(rich[0], top=None)


def test_contributions_of_templates_add_up_to_the_score(explained, rich):
    clf, _, explanation = explained
    assert explanation.template_contributions.sum() == pytest.approx(explanation.score - explanation.base)
    three = SubgraphClassifier(k=3, c=6, epochs=2, random_state=0).fit(rich, np.arange(14) % 3)
    for label in (0, 1, 2):
        again = three.explain(rich[1], label=label)
        assert again.template_contributions.sum() == pytest.approx(again.score - again.base)
    np.testing.assert_allclose(explanation.probabilities, clf.predict_proba(rich[:1])[0], atol=1e-5)


@pytest.mark.parametrize("head", HEADS)
def test_probabilities_of_an_explanation_are_those_of_the_prediction(mutag, head):
    clf = small(head=head, k=(1, 2, 3, 4), hidden=(8,)).fit(mutag[:90])
    found = np.array([clf.explain(graph, top=1).probabilities for graph in mutag[:10]])
    np.testing.assert_allclose(found, clf.predict_proba(mutag[:10]), atol=1e-5)


def distance_by_definition(clf, graph, match):
    """The weighted squared difference of a template and the nodes of a match, in their order."""
    owners = [
        (view, group, i) for (view, _, c), group in zip(clf.groups_, clf._groups(), strict=True) for i in range(c)
    ]
    view, group, number = owners[match.template]
    template = group.templates[number].detach().double().numpy()
    weights = group.log_weight.detach().double().exp().numpy()
    encoding, nodes, total, place = clf.encoding_, match.nodes, 0.0, 0
    degrees = (graph.adjacency != 0).sum(axis=1)
    for v in nodes:
        if view == 1:
            entries = [(2, np.log2(1 + degrees[v]))]
        else:
            entries = [(2, float(label == graph.node_labels[v])) for label in encoding.node_labels]
        for kind, value in entries:
            total += weights[kind] * (template[place] - value) ** 2
            place += 1
    for a, b in itertools.combinations(nodes, 2):
        weight = graph.adjacency[a, b]
        entries = [(0, float(weight != 0) if view == 1 else weight / encoding.edge_weights.scale[0])]
        if view == 0:
            cell = np.flatnonzero((graph.edges == (a, b)).all(axis=1))
            label = graph.edge_labels[cell[0]] if len(cell) else None
            entries += [(1, float(label == known)) for known in encoding.edge_labels]
        for kind, value in entries:
            total += weights[kind] * (template[place] - value) ** 2
            place += 1
    assert place == len(template)
    return total


def test_the_nodes_of_a_match_are_the_template_nodes_and_no_order_is_nearer(explained):
    clf, graph, explanation = explained
    structure = networkx.from_numpy_array(graph.adjacency)
    sizes = {template: clf.templates_[template].k for template in range(len(clf.templates_))}
    for match in explanation.matches[::5]:
        assert len(match.nodes) == sizes[match.template]
        assert networkx.is_connected(structure.subgraph(match.nodes))
        orders = itertools.permutations(match.nodes)
        distances = {order: distance_by_definition(clf, graph, replace(match, nodes=order)) for order in orders}
        assert distances[match.nodes] == pytest.approx(match.distance, abs=1e-5)
        assert distances[match.nodes] <= min(distances.values()) + 1e-6


def test_every_template_is_matched_with_every_subgraph_of_its_size_once(explained):
    clf, graph, explanation = explained
    structure = networkx.from_numpy_array(graph.adjacency)
    for number, template in enumerate(clf.templates_):
        subsets = itertools.combinations(range(graph.n), template.k)
        expected = sorted(subset for subset in subsets if networkx.is_connected(structure.subgraph(subset)))
        found = [tuple(sorted(match.nodes)) for match in explanation.matches if match.template == number]
        assert sorted(found) == expected


@pytest.mark.filterwarnings(SAMPLED)
@pytest.mark.parametrize("max_subgraphs", [100_000, 9], ids=["listed", "sampled"])
@pytest.mark.parametrize("head", HEADS)
def test_taking_a_match_away_is_what_its_contribution_says(rich, head, max_subgraphs):
    clf = small(k=(2, 3), head=head, max_subgraphs=max_subgraphs).fit(rich)
    explanation = clf.explain(rich[3], top=6)
    assert explanation.count > 6
    np.testing.assert_allclose(explanation.probabilities, clf.predict_proba(rich[3:4])[0], atol=1e-5)
    for match in explanation.matches:
        without = np.log(explanation.without(match))
        column = int(np.flatnonzero(clf.classes_ == explanation.explained)[0])
        score = without[column] - without[1 - column]
        assert explanation.score - score == pytest.approx(match.contribution, abs=1e-9)


def test_a_card_counts_the_subgraphs_a_template_equals_over_all_graphs(rich):
    """With frozen templates the nearest region is the template itself, in whichever graph it is."""
    clf = small(k=2, learn_templates=False, edge_weights=False, edge_labels=False, degrees=False).fit(rich)
    matched = [clf._matched_graph(graph) for graph in rich]
    for row, (region, template) in enumerate(
        zip(matched[0].occurrences.region, matched[0].occurrences.template, strict=True)
    ):
        labels = sorted(rich[0].node_labels[matched[0].occurrences.nodes[region]].tolist())
        for graph, other in zip(rich, matched, strict=True):
            pairs = [sorted(graph.node_labels[[a, b]].tolist()) for a, b in graph.edges.tolist() if a < b]
            assert other.count_equal(matched[0], row) == pairs.count(labels), template


@pytest.mark.filterwarnings(SAMPLED)
def test_a_sampled_subgraph_is_one_match_however_often_it_was_drawn(rich):
    clf = small(k=3, max_subgraphs=6).fit(rich)
    for number in list(clf.sampled_)[:5]:
        explanation = clf.explain(rich[number], top=None)
        matched = [(match.template, frozenset(match.nodes)) for match in explanation.matches]
        assert len(set(matched)) == len(matched)
        without = explanation.without(explanation.matches)[list(clf.classes_).index(explanation.label)]
        assert without == pytest.approx(1 / (1 + np.exp(-explanation.base)))


@pytest.mark.filterwarnings(SAMPLED)
def test_cards_estimate_how_often_a_class_holds_a_piece_of_sampled_graphs():
    graphs = isonn.as_graphset([networkx.gnp_random_graph(14, 0.4, seed=i) for i in range(30)], y=np.arange(30) % 2)
    counts = [
        sum(card.occurrences.sum() for card in template_cards(small(k=3, c=2, max_subgraphs=most).fit(graphs), graphs))
        for most in (100_000, 60)
    ]
    assert counts[1] == pytest.approx(counts[0], rel=0.3)  # 60 of some 170 are drawn
