"""Reasons in words and in order."""

from __future__ import annotations

import re

import networkx
import numpy as np
import pytest

import isonn
from isonn.explain.reasons import predict_without
from isonn.explain.text import formula, piece_text
from isonn.subgraphs.views import LabelsView

PATH = np.array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]])
RING = np.roll(np.eye(4), 1, axis=1) + np.roll(np.eye(4), -1, axis=1)


@pytest.fixture(scope="module")
def clf(mutag):
    return isonn.SubgraphClassifier(max_nodes=3, random_state=0).fit(mutag)


@pytest.mark.parametrize(
    ("adjacency", "text"),
    [
        (np.zeros((1, 1)), "1 node"),
        (np.ones((2, 2)), "2 linked nodes"),
        (PATH, "a path of 4 nodes"),
        (RING, "a ring of 4 nodes"),
        (np.ones((4, 4)), "4 nodes, all linked"),
        (np.array([[0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]]), "4 nodes, 3 links"),
    ],
)
def test_shapes_without_labels_are_named(adjacency, text):
    assert formula(adjacency, None) == text


@pytest.mark.parametrize("n", [2, 3, 5])
def test_links_with_weights_are_listed_or_counted_all(n):
    weights = np.arange(n * n, dtype=float).reshape(n, n)
    links = np.array([[f"{cell:g}" for cell in row] for row in np.triu(weights) + np.triu(weights, 1).T], dtype=object)
    text = formula(1 - np.eye(n), ["node"] * n, links)
    more = re.search(r"and (\d+) more", text)
    assert len(re.findall("link", text)) + (int(more[1]) if more else 0) == n * (n - 1) // 2


def test_neighbours_are_told_in_the_order_of_the_formula():
    assert formula(PATH, list("CCCO"), neighbours=list("2231")) == "C\u2013C\u2013C\u2013O (neighbours: 2, 2, 3, 1)"
    assert formula(PATH, list("CCCC"), neighbours=list("3333")) == "C\u2013C\u2013C\u2013C (3 neighbours each)"
    assert formula(np.zeros((1, 1)), ["C"], neighbours=["1"]) == "C (1 neighbour)"


def test_what_the_formula_shows_is_not_repeated_in_names():
    aromatic, single = np.full((4, 4), "aromatic", dtype=object), np.full((4, 4), "ring single", dtype=object)
    assert formula(PATH, ["aromatic C"] * 4, aromatic) == "C:C:C:C"
    assert formula(PATH, ["ring CH2"] * 4, single) == "ring CH2\u2013ring CH2\u2013ring CH2\u2013ring CH2"
    assert formula(RING, ["ring CH2"] * 4, single) == "CH2\u2013CH2\u2013CH2\u2013CH2 with 1 ring"


def test_reasons_are_sorted_by_their_contribution_alone(clf, mutag):
    for graph in mutag[:40]:
        worth = [abs(reason.contribution) for reason in clf.explain(graph).reasons]
        assert worth == sorted(worth, reverse=True)


def test_pieces_that_are_not_linked_are_told_largest_first_and_equal_ones_once():
    apart = np.zeros((5, 5))
    apart[2:, 2:] = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    assert formula(apart, ["O", "O", "O", "N", "O"]) == "O\u2013N\u2013O and 2 O"


def test_no_reason_is_half_of_a_molecule_when_a_smaller_piece_is_stronger(mutag):
    clf = isonn.SubgraphClassifier(n_templates=8, random_state=0).fit(mutag)
    for graph in mutag[:60]:
        assert all(len(reason.nodes) <= max(12, graph.n // 2) for reason in clf.explain(graph).reasons)


def test_texts_of_pieces_say_what_the_model_reads_and_nothing_else():
    """Links of 5.0 mark class 1; labels, which the view leaves out, are told by no text."""
    generator = np.random.default_rng(0)
    cells = np.array([[0, 1], [1, 0], [1, 2], [2, 1], [2, 3], [3, 2]])
    graphs = []
    for i in range(40):
        weights = np.repeat(generator.choice([1.0, 1.5, 2.0], 3), 2)
        weights[2:4] = 5.0 if i % 2 else weights[2:4]
        graphs.append(isonn.Graph(4, cells, weights=weights, node_labels=np.array(["A", "B", "B", "A"])))
    view = LabelsView(node_labels=False, edge_weights=True)
    clf = isonn.SubgraphClassifier(2, view=view, head="linear", random_state=0).fit(graphs, np.arange(40) % 2)
    text = clf.explain(graphs[1]).reasons[0].text
    assert "link 5" in text
    assert "A" not in text
    assert "B" not in text


def test_texts_of_pieces_show_attributes_that_the_model_reads():
    generator = np.random.default_rng(0)
    cells = np.array([[0, 1], [1, 0], [1, 2], [2, 1]])
    graphs = []
    for i in range(40):
        values = generator.choice([0.0, 1.0], (3, 1))
        values[1] = 7.0 if i % 2 else 0.0
        graphs.append(isonn.Graph(3, cells, node_attributes=values))
    clf = isonn.SubgraphClassifier(1, head="linear", random_state=0).fit(graphs, np.arange(40) % 2)
    assert clf.explain(graphs[1]).reasons[0].text == "node[7]"
    large = isonn.Graph(20, np.array([[i, j] for i in range(20) for j in (i - 1, i + 1) if 0 <= j < 20]), weights=None)
    assert piece_text(large, range(20), {}, reads=["node_attributes"]) == "a path of 20 nodes"


def test_parts_are_the_connected_components_of_what_is_left(clf, mutag):
    found = set()
    for graph in mutag[:20]:
        for reason in clf.explain(graph).reasons:
            left = networkx.Graph(graph.edges.tolist())
            left.add_nodes_from(range(graph.n))
            left.remove_nodes_from(reason.nodes)
            assert reason.parts == networkx.number_connected_components(left)
            found.add(reason.parts)
    assert max(found) > 1


def test_reasons_deleted_at_once_have_the_answers_of_one_by_one(clf, mutag):
    at_once = [reason for i in range(8) for reason in clf.explain(mutag[i]).reasons]
    predict_without(at_once)
    alone = [reason.without for i in range(8) for reason in clf.explain(mutag[i]).reasons]
    assert all("without" in vars(reason) for reason in at_once)
    np.testing.assert_allclose([reason.without for reason in at_once], alone, atol=1e-12)
