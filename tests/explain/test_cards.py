"""Template cards against loops over all windows."""

from __future__ import annotations

import itertools

import networkx
import numpy as np
import pytest

import isonn
from isonn.errors import InputError
from isonn.explain import template_cards


def region_of(card, graphs):
    """The cells of the nearest region, in the order of the template's nodes."""
    graph, match = card.examples[0]
    return graphs[graph].adjacency[np.ix_(match.nodes, match.columns or match.nodes)]


def windows_of(adjacency, k):
    m = len(adjacency) - k + 1
    return {(s, t): adjacency[s : s + k, t : t + k] for s in range(m) for t in range(m)}


def distance_by_definition(template, window):
    k = len(window)
    return min(((template[np.ix_(p, p)] - window) ** 2).sum() for p in itertools.permutations(range(k)))


@pytest.fixture(scope="module")
def graphs():
    draw = np.random.default_rng(0)
    small = [networkx.gnp_random_graph(int(n), 0.4, seed=i) for i, n in enumerate(draw.integers(2, 8, 15))]
    return isonn.as_graphset(small, y=np.where(np.arange(15) % 3 == 0, "rare", "common"))


@pytest.fixture(scope="module")
def clf(graphs):
    return isonn.IsoNNClassifier(k=3, c=2, hidden=(16,), epochs=30, learning_rate=0.02, random_state=0).fit(graphs)


@pytest.fixture(scope="module")
def cards(clf, graphs):
    return template_cards(clf, graphs, examples=4)


def test_the_nearest_region_is_the_nearest_of_all_windows_of_all_graphs(cards, graphs):
    for card in cards:
        template = card.template.adjacency.astype(float)
        least = min(
            distance_by_definition(template, window) for g in graphs for window in windows_of(g.adjacency, 3).values()
        )
        assert card.examples[0][1].distance == pytest.approx(least, rel=1e-5)
        assert ((template - region_of(card, graphs)) ** 2).sum() == pytest.approx(least, rel=1e-5)


def test_the_effect_is_the_mean_template_contribution_over_the_graphs_of_a_class(cards, clf, graphs):
    for j, label in enumerate(("common", "rare")):
        mine = [g for g, y in zip(graphs, graphs.y, strict=True) if y == label]
        explained = [clf.explain(g, label=label) for g in mine]
        off = [e.target.margin(e.source.logits_without_template(), j) for e in explained]
        expected = np.mean([e.score - without for e, without in zip(explained, off, strict=True)], axis=0)
        np.testing.assert_allclose([card.effect[j] for card in cards], expected, atol=1e-9)


def test_accuracy_is_the_models_and_without_the_template_that_of_its_map_at_zero(cards, clf, graphs):
    assert cards[0].accuracy == pytest.approx(clf.score(graphs, graphs.y))
    features = clf.transform(graphs).reshape(len(graphs), 2, -1).copy()
    import torch

    for card in cards:
        off = features.copy()
        off[:, card.index] = 0
        logits = clf.model_.head(torch.from_numpy(off).flatten(1)).detach().numpy()
        right = clf.classes_[logits.argmax(1)] == graphs.y
        assert card.accuracy_without == pytest.approx(right.mean())


def test_examples_are_one_per_graph_nearest_first(cards):
    for card in cards:
        distances = [match.distance for _, match in card.examples]
        assert distances == sorted(distances)
        assert len({graph for graph, _ in card.examples}) == len(card.examples) == 4


def test_a_deep_or_multi_label_model_has_cards_too(graphs):
    y = np.column_stack([np.arange(15) % 2, np.arange(15) % 3 == 0]).astype(int)
    clf = isonn.IsoNNClassifier(layers=((2, 2), (1, 3)), hidden=(8,), epochs=3, random_state=0).fit(graphs, y)
    cards = template_cards(clf, graphs, y)
    assert len(cards) == 2
    assert cards[0].accuracy == pytest.approx((clf.predict(graphs) == y).all(1).mean())


def test_graphs_too_small_for_any_window_give_a_card_without_a_nearest_region(clf):
    pairs = [networkx.path_graph(2)] * 3
    card = template_cards(clf, pairs, ["rare", "rare", "common"])[0]
    assert card.examples == []
    assert card.effect.shape == (2,)


def test_classes_that_do_not_fit_are_refused(clf, graphs):
    with pytest.raises(InputError, match="pass y"):
        template_cards(clf, graphs.with_y(None))
    with pytest.raises(InputError, match="y has 3 entries for 15 graphs"):
        template_cards(clf, graphs, ["rare"] * 3)
    with pytest.raises(InputError, match="'unheard', not a class of this model"):
        template_cards(clf, graphs, ["unheard"] * 15)


def test_models_with_reasons_are_refused(graphs):
    with pytest.raises(InputError, match="SubgraphClassifier has no template cards; use reasons_"):
        template_cards(isonn.SubgraphClassifier(max_nodes=2, head="linear").fit(graphs), graphs)
