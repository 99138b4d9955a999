"""Explanations of window models against the definition: set the entry to 0, run the model."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
import torch

import isonn
from isonn.errors import InputError, NotFittedError
from isonn.explain.explanation import Match
from isonn.windows import removal

SETTINGS = {
    "exact": {"k": 3, "c": 2},
    "templates": {"k": 3, "c": 2, "normalize": "templates"},
    "assigned": {"k": 7, "c": 1, "matching": "assigned"},
    "fast": {"k": 3, "c": 2, "matching": "fast"},
    "deep": {"layers": ((2, 3), (2, 2))},
    "linear": {"k": 3, "c": 2, "hidden": (8,)},
}


def graphs_of(generator, g=12, n=9, weighted=False):
    adjacency = torch.rand(g, n, n, generator=generator)
    adjacency = adjacency if weighted else (adjacency > 0.6).float()
    return isonn.as_graphset(((adjacency + adjacency.mT) / 2 if weighted else adjacency).numpy())


def fitted(graphs, y=None, **settings):
    y = np.arange(len(graphs)) % 2 if y is None else y
    settings = {"hidden": (16, 8), "epochs": 10, "learning_rate": 0.02, "random_state": 0, **settings}
    return isonn.IsoNNClassifier(**settings).fit(graphs, y)


def logits_with_zeros(clf, graphs, entries):
    """The definition: entries (template, row, column) of the first maps set to 0, the model run on, in float64."""
    model = clf.model_.double()
    maps = model.features[0](torch.from_numpy(graphs.dense(clf.size_)).double())
    for template, s, t in entries:
        maps[0, template, s, t] = 0
    for layer in list(model.features)[1:]:
        maps = layer(maps.flatten(0, 1)).view(1, -1, maps.shape[-1] - layer.k + 1, maps.shape[-1] - layer.k + 1)
    logits = model.head(maps.flatten(1))[0].detach().numpy()
    model.float()
    return logits


def entry(match):
    return match.template, min(match.nodes), min(match.columns or match.nodes)


def difference(logits, clf, label):
    j = clf.classes_.tolist().index(label)
    return logits[j] - logits[1 - j]


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_contribution_is_the_score_minus_the_score_with_the_entry_at_zero(name, weighted, generator):
    graphs = graphs_of(generator, weighted=weighted)
    clf = fitted(graphs, **SETTINGS[name])
    explanation = clf.explain(graphs[3], top=None)
    assert len(explanation.matches) == explanation.count > 0
    sizes = [abs(match.contribution) for match in explanation.matches]
    assert sizes == sorted(sizes, reverse=True)
    whole = difference(logits_with_zeros(clf, graphs[3:4], []), clf, explanation.label)
    assert explanation.score == pytest.approx(whole, abs=1e-5)
    for match in explanation.matches[:: max(1, explanation.count // 7)]:
        rest = difference(logits_with_zeros(clf, graphs[3:4], [entry(match)]), clf, explanation.label)
        assert match.contribution == pytest.approx(whole - rest, abs=1e-5)


@pytest.mark.parametrize("name", SETTINGS)
def test_without_runs_the_model_with_all_given_entries_at_zero(name, generator):
    graphs = graphs_of(generator)
    clf = fitted(graphs, **SETTINGS[name])
    explanation = clf.explain(graphs[0])
    gone = explanation.matches[:3]
    logits = torch.from_numpy(logits_with_zeros(clf, graphs[:1], [entry(match) for match in gone]))
    np.testing.assert_allclose(explanation.without(gone), logits.softmax(0), atol=1e-5)
    np.testing.assert_allclose(explanation.without([]), explanation.probabilities, atol=1e-12)
    np.testing.assert_allclose(explanation.probabilities, clf.predict_proba(graphs[:1])[0], atol=1e-5)


def test_the_base_is_maps_of_zeros(generator):
    graphs = graphs_of(generator)
    clf = fitted(graphs, k=3, c=2)
    explanation = clf.explain(graphs[5])
    m = clf.size_ - 2
    every = [[(i, s, t) for s in range(m) for t in range(m)] for i in range(2)]
    nothing = difference(logits_with_zeros(clf, graphs[5:6], every[0] + every[1]), clf, explanation.label)
    assert explanation.base == pytest.approx(nothing, abs=1e-5)


@pytest.mark.parametrize("name", ["exact", "assigned", "templates", "deep"])
def test_template_node_j_is_graph_node_nodes_j(name, generator):
    graphs = graphs_of(generator)
    clf = fitted(graphs, **SETTINGS[name])
    explanation = clf.explain(graphs[1], top=None)
    for match in explanation.matches:
        template = clf.templates_[match.template].adjacency.astype(float)
        region = graphs[1].adjacency[np.ix_(match.nodes, match.columns or match.nodes)]
        assert match.ordered
        assert match.distance == pytest.approx(((template - region) ** 2).sum(), rel=1e-4)


def test_fast_matching_gives_nodes_in_the_order_of_the_window_and_says_so(generator):
    graphs = graphs_of(generator)
    match = fitted(graphs, **SETTINGS["fast"]).explain(graphs[0]).matches[0]
    assert not match.ordered
    assert match.nodes == tuple(range(match.nodes[0], match.nodes[0] + 3))


def test_windows_in_the_padding_name_no_nodes_and_their_share_is_kept_apart(generator):
    adjacency = [torch.ones(n, n).numpy() for n in (4, 9, 5, 9, 2, 9)]
    graphs = isonn.as_graphset(adjacency)
    clf = fitted(graphs, k=3, c=1)
    explanation = clf.explain(graphs[0], top=None)
    assert explanation.count == 4
    assert all(node < 4 for match in explanation.matches for node in match.nodes + (match.columns or ()))
    outside = [(0, s, t) for s in range(7) for t in range(7) if s >= 2 or t >= 2]
    rest = difference(logits_with_zeros(clf, graphs[:1], outside), clf, explanation.label)
    assert explanation.padding == pytest.approx(explanation.score - rest, abs=1e-5)
    tiny = clf.explain(graphs[4])
    assert (tiny.matches, tiny.count) == ([], 0)
    np.testing.assert_equal(tiny.node_importance, [0, 0])


def test_importances_add_up_to_the_contributions_of_all_matches(generator):
    for weighted in (False, True):
        graphs = graphs_of(generator, weighted=weighted)
        clf = fitted(graphs, k=3, c=2)
        listed, every = clf.explain(graphs[2], top=1), clf.explain(graphs[2], top=None)
        assert len(listed.matches) == 1
        total = sum(match.contribution for match in every.matches)
        for explanation in (listed, every):
            assert explanation.node_importance.sum() == pytest.approx(total)
            assert explanation.edge_importance.sum() == pytest.approx(total)


def test_importance_is_each_match_shared_among_its_nodes_and_cells(generator):
    graphs = graphs_of(generator, weighted=True)
    explanation = fitted(graphs, k=3, c=2).explain(graphs[2], top=None)
    nodes, edges = np.zeros(9), np.zeros((9, 9))
    for match in explanation.matches:
        columns = match.columns or match.nodes
        for node in match.nodes + columns:
            nodes[node] += match.contribution / 6
        weight = np.abs(graphs[2].adjacency[np.ix_(match.nodes, columns)])
        edges[np.ix_(match.nodes, columns)] += match.contribution * weight / weight.sum()
    np.testing.assert_allclose(explanation.node_importance, nodes, atol=1e-12)
    np.testing.assert_allclose(explanation.edge_importance, edges, atol=1e-12)


def test_many_classes_explain_the_logit_of_one(generator):
    graphs = graphs_of(generator)
    clf = fitted(graphs, y=np.array(["a", "b", "c"])[np.arange(12) % 3], k=3, c=2)
    for label in ("a", "b", "c"):
        explanation = clf.explain(graphs[4], label=label)
        j = clf.classes_.tolist().index(label)
        top = explanation.matches[0]
        whole = logits_with_zeros(clf, graphs[4:5], [])
        rest = logits_with_zeros(clf, graphs[4:5], [entry(top)])
        assert explanation.explained == label
        assert explanation.label == clf.predict(graphs[4:5])[0]
        assert top.contribution == pytest.approx(whole[j] - rest[j], abs=1e-5)


def test_many_labels_explain_the_most_likely_or_the_one_asked_for(generator):
    graphs = graphs_of(generator)
    y = (torch.rand(12, 2, generator=generator) > 0.5).int().numpy()
    clf = fitted(graphs, y=y, k=3, c=2)
    explanation = clf.explain(graphs[0])
    np.testing.assert_allclose(explanation.probabilities, clf.predict_proba(graphs[:1])[0], atol=1e-5)
    assert explanation.label == explanation.probabilities.argmax()
    assert explanation.summary().startswith(f"label {explanation.label} with probability")
    other = clf.explain(graphs[0], label=1 - explanation.label)
    whole, rest = (logits_with_zeros(clf, graphs[:1], gone) for gone in ([], [entry(other.matches[0])]))
    change = (whole - rest)[other.explained]
    assert other.matches[0].contribution == pytest.approx(change, abs=1e-5)


def test_the_two_classes_of_one_model_have_opposite_contributions(generator):
    graphs = graphs_of(generator)
    clf = fitted(graphs, k=3, c=2)
    one, other = (clf.explain(graphs[0], label=label, top=None) for label in (0, 1))
    np.testing.assert_allclose(one.edge_importance, -other.edge_importance, atol=1e-12)


def test_a_deep_model_too_large_for_all_removals_computes_the_steepest(generator, monkeypatch):
    graphs = graphs_of(generator)
    clf = fitted(graphs, **SETTINGS["deep"])
    every = clf.explain(graphs[0], top=None)
    monkeypatch.setattr(removal, "MAX_DEEP_COST", 1)
    monkeypatch.setattr(removal, "MIN_DEEP_REMOVALS", 40)
    some = clf.explain(graphs[0], top=None)
    assert (len(some.matches), some.count) == (40, every.count)
    assert some.matches[0].contribution == pytest.approx(every.matches[0].contribution)
    assert some.edge_importance.sum() == pytest.approx(sum(match.contribution for match in some.matches))


def test_removals_in_small_blocks_change_nothing(generator, monkeypatch):
    graphs = graphs_of(generator)
    for name in ("exact", "deep"):
        clf = fitted(graphs, **SETTINGS[name])
        expected = clf.explain(graphs[0]).edge_importance
        monkeypatch.setattr(removal, "BLOCK_NUMBERS", 50)
        monkeypatch.setattr("isonn.explain.matched.BLOCK_NUMBERS", 30)
        np.testing.assert_allclose(clf.explain(graphs[0]).edge_importance, expected, atol=1e-12)
        monkeypatch.undo()


def test_a_saved_model_explains_the_same(tmp_path, generator):
    graphs = graphs_of(generator)
    clf = fitted(graphs, k=3, c=2)
    clf.save(tmp_path / "model")
    loaded = isonn.load_model(tmp_path / "model")
    np.testing.assert_allclose(
        loaded.explain(graphs[0]).edge_importance, clf.explain(graphs[0]).edge_importance, atol=1e-9
    )


def test_one_graph_comes_alone_or_in_a_set_of_one(generator):
    graphs = graphs_of(generator)
    clf = fitted(graphs, k=3, c=2)
    matrix = graphs[0].adjacency
    expected = clf.explain(graphs[0]).score
    nx_graph = networkx.from_numpy_array(matrix, create_using=networkx.DiGraph)
    for given in (graphs[:1], matrix, torch.from_numpy(matrix.copy()), [matrix], matrix[None], nx_graph):
        assert clf.explain(given).score == pytest.approx(expected)


def test_names_are_those_of_the_nodes_in_template_order(generator):
    links = [("left", "right"), ("right", "top"), ("top", "low"), ("low", "back")]
    named = networkx.Graph(links)
    clf = fitted([named, networkx.path_graph(list(named)), named, networkx.cycle_graph(list(named))], k=3, c=1)
    explanation = clf.explain(named)
    for match in explanation.matches:
        assert match.names == tuple(list(named)[node] for node in match.nodes + (match.columns or ()))
    assert explanation.matches[0].names[0] in explanation.summary()


def test_an_unfitted_model_explains_nothing(mutag):
    with pytest.raises(NotFittedError, match="call fit first"):
        isonn.IsoNNClassifier().explain(mutag[0])


def test_what_cannot_be_explained_is_refused_with_a_sentence(generator):
    graphs = graphs_of(generator)
    clf = fitted(graphs, k=3, c=2)
    explanation = clf.explain(graphs[0], top=1)
    with pytest.raises(InputError, match="X holds 12 graphs where one is wanted"):
        clf.explain(graphs)
    with pytest.raises(InputError, match="label='x' is not a class of this model; use one of 0, 1"):
        clf.explain(graphs[0], label="x")
    with pytest.raises(InputError, match="top=-1 is not a number of matches"):
        clf.explain(graphs[0], top=-1)
    stranger = Match(template=1, nodes=(90, 91, 92), columns=None, names=None, distance=0.0, contribution=0.0)
    with pytest.raises(InputError, match="match 0 of 1 is not among the 1 of this explanation"):
        explanation.without(stranger)
    with pytest.raises(InputError, match="more than the 9"):
        clf.explain(np.zeros((10, 10)))
