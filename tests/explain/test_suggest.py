"""Suggestions: what the model says of them is what it says of the graphs they propose."""

from __future__ import annotations

import numpy as np
import pytest

import isonn
from isonn.errors import InputError
from isonn.explain import suggest as suggesting
from isonn.explain.suggest import GraphEditor, read_goal
from isonn.graphs.isomorphism import graph_hashes
from isonn.graphs.join import join_graphs


@pytest.fixture(scope="module")
def clf(mutag):
    return isonn.SubgraphClassifier(max_nodes=3, head="linear", random_state=0).fit(mutag)


def test_suggestions_are_scored_as_the_model_scores_their_graphs(clf, mutag):
    before = clf.predict_proba(mutag[:1])[0]
    found = clf.suggest(mutag[0], goal=-1, top=5)
    assert found
    for one in found:
        after = clf.predict_proba([one.graph])[0]
        assert one.answer == pytest.approx(after[0], abs=1e-12)
        assert one.reached == (one.predicted == -1) == (clf.predict([one.graph])[0] == -1)
        assert one.change == pytest.approx(np.log(after[0] / after[1]) - np.log(before[0] / before[1]), abs=1e-9)
        assert one.change > 0
        assert one.verdict in ("in", "borderline")
    assert [one.reached for one in found] == sorted((one.reached for one in found), reverse=True)


def test_edits_name_the_nodes_as_the_graph_does():
    graph = isonn.Graph(3, [(0, 1), (1, 2)], node_names=["7", "3", "9"])
    texts = [text for text, _ in GraphEditor().propose(graph, None)]
    assert texts[:3] == ["delete edge 7-3", "delete edge 3-9", "delete node 7"]
    assert {"add edge 7-9", "add a neighbour to node 9"} <= set(texts)


def test_classes_are_reached_with_fewer_edits_first(clf, mutag):
    found = clf.suggest(mutag[0], goal=-1, top=50)
    places = [(one.verdict == "borderline", len(one.edits), -one.change) for one in found if one.reached]
    assert places == sorted(places)
    assert {len(one.edits) for one in found if one.reached} == {1, 2}


def test_numbers_are_moved_to_or_past_the_goal(mutag):
    reg = isonn.SubgraphRegressor(max_nodes=2, head="linear", random_state=0).fit(mutag, mutag.sizes * 1.0)
    now = reg.predict(mutag[:1])[0]
    for goal in (now + 0.5, now - 0.5):
        best, *others = reg.suggest(mutag[0], goal=goal)
        assert best.reached
        assert all(one.change >= best.change for one in others if one.reached and one.verdict == best.verdict)
        assert (best.answer - goal) * np.sign(goal - now) >= 0
        assert best.answer == pytest.approx(reg.predict([best.graph])[0], abs=1e-9)


def test_labels_are_moved_by_name(mutag):
    y = np.stack([mutag.y == 1, mutag.sizes > 17], axis=1) * 1
    graphs = isonn.as_graphset(mutag, y, target_names=["mutagenic", "large"])
    clf = isonn.SubgraphClassifier(max_nodes=2, head="linear", random_state=0).fit(graphs)
    best = clf.suggest(mutag[0], goal=0, label="mutagenic", top=1)[0]
    assert best.answer == pytest.approx(1 - clf.predict_proba([best.graph])[0, 0], abs=1e-12)
    with pytest.raises(InputError, match="several columns; give label as one of mutagenic, large"):
        clf.suggest(mutag[0], goal=0)


def test_a_goal_that_is_none_is_refused(clf, mutag):
    with pytest.raises(InputError, match="goal=7 is not a class"):
        clf.suggest(mutag[0], goal=7)
    with pytest.raises(InputError, match="holds 2 graphs where one is wanted"):
        clf.suggest(mutag[:2], goal=1)
    assert read_goal(clf, "1") == 1
    assert read_goal(clf, None, 1) == -1


def test_a_goal_that_is_no_number_is_refused(mutag):
    reg = isonn.SubgraphRegressor(max_nodes=1, head="linear", random_state=0).fit(mutag, mutag.sizes * 1.0)
    for goal in (None, [1], "high", True, float("nan")):
        with pytest.raises(InputError, match="is not a number; give one"):
            reg.suggest(mutag[0], goal=goal)


def test_no_graph_is_edited_twice(clf, mutag, monkeypatch):
    editor, edited = GraphEditor(), []

    class Noting(GraphEditor):
        def propose(self, graph, standardize):
            edited.append(int(graph_hashes(join_graphs([graph]))[0]))
            return editor.propose(graph, standardize)

    monkeypatch.setattr(suggesting, "find_editor", lambda kind: Noting())
    clf.suggest(mutag[0], goal=-1, top=50)
    assert len(edited) == len(set(edited)) == 1 + suggesting.BEAM
