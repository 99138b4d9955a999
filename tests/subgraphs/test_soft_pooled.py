"""A pooling model small enough to write down: bias + sum of w log(1 + S), S a sum over regions."""

from __future__ import annotations

import numpy as np
import pytest

import isonn
from isonn.explain import Occurrences, explain_matched
from isonn.explain.explanation import Template
from isonn.subgraphs import soft as pooled
from isonn.subgraphs.soft import PooledMatches
from isonn.targets import Classes

CLASSES = np.array(["no", "yes"])
SPEED = np.array([0.5, 2.0])
WEIGHT = np.array([[1.0, -0.5], [0.3, 2.0], [-1.0, 0.7]])
BIAS = 0.25
#: regions of a square with a tail: three edges of it, a path of three nodes, one node
NODES = np.array([[0, 1, -1], [1, 2, -1], [3, 4, -1], [0, 1, 2], [4, -1, -1]])
CODES = np.array([0, 0, 0, 1, 2])
#: matches: the first template with each edge, the second with the path, the third with the node
REGION, TEMPLATE = np.array([0, 1, 2, 3, 4]), np.array([0, 0, 0, 1, 2])
DISTANCE = np.array([0.2, 0.2, 0.2, 0.6, 0.0])


def score_by_definition(kept):
    total = BIAS
    for i in range(3):
        for s in range(2):
            terms = [np.exp(-DISTANCE[r] * SPEED[s]) for r in kept if TEMPLATE[r] == i]
            total += WEIGHT[i, s] * np.log(1 + sum(terms))
    return total


@pytest.fixture
def matched():
    graph = isonn.as_graphset([[[0, 1, 0, 1, 0], [1, 0, 1, 0, 0], [0, 1, 0, 1, 0], [1, 0, 1, 0, 1], [0, 0, 0, 1, 0]]])[
        0
    ]
    templates = [Template(np.zeros((k, k), dtype=np.float32)) for k in (2, 3, 1)]

    def logits_of(sums):
        half = (BIAS + (WEIGHT * np.log1p(sums)).sum((1, 2))) / 2
        return np.stack([-half, half], axis=1)

    occurrences = Occurrences(NODES, None, REGION, TEMPLATE, DISTANCE)
    terms = np.exp(-DISTANCE[:, None] * SPEED)
    orders = {0: [1, 0], 1: [0, 1], 2: [0, 1], 3: [2, 0, 1], 4: [0]}
    return PooledMatches(graph, templates, occurrences, terms, CODES, logits_of, lambda row: np.array(orders[row]))


def test_a_contribution_is_the_score_with_the_match_minus_the_score_without(matched):
    explanation = explain_matched(matched, Classes(CLASSES), label="yes", top=None)
    every = set(range(5))
    assert explanation.score == pytest.approx(score_by_definition(every))
    assert explanation.base == pytest.approx(BIAS)
    assert explanation.padding == 0
    found = {(match.template, match.nodes): match.contribution for match in explanation.matches}
    expected = {
        (0, (1, 0)): 0, (0, (1, 2)): 1, (0, (3, 4)): 2, (1, (2, 0, 1)): 3, (2, (4,)): 4,
    }  # fmt: skip
    for place, r in expected.items():
        assert found[place] == pytest.approx(score_by_definition(every) - score_by_definition(every - {r}))


def test_template_contributions_add_up_to_the_score_with_a_linear_head(matched):
    explanation = explain_matched(matched, Classes(CLASSES), label="yes")
    assert explanation.template_contributions.sum() == pytest.approx(explanation.score - explanation.base)
    gone = {3, 4}
    assert explanation.template_contributions[0] == pytest.approx(
        score_by_definition(range(5)) - score_by_definition(gone)
    )


def test_matches_are_removed_together(matched):
    explanation = explain_matched(matched, Classes(CLASSES), label="yes", top=None)
    chosen = [match for match in explanation.matches if match.template in (0, 2)]
    log_odds = np.log(explanation.without(chosen))
    assert log_odds[1] - log_odds[0] == pytest.approx(score_by_definition({3}))


def test_importances_add_up_and_leave_missing_places_of_small_regions_out(matched):
    explanation = explain_matched(matched, Classes(CLASSES), label="yes", top=None)
    of = {match.nodes: match.contribution for match in explanation.matches}
    assert explanation.node_importance.sum() == pytest.approx(explanation.total)
    assert explanation.edge_importance.sum() == pytest.approx(explanation.total)
    assert explanation.node_importance[4] == pytest.approx(of[(4,)] + of[(3, 4)] / 2)
    assert explanation.edge_importance[4, 4] == pytest.approx(of[(4,)])
    assert explanation.edge_importance[0, 1] == pytest.approx(of[(1, 0)] / 2 + of[(2, 0, 1)] / 4)
    assert explanation.edge_means[0, 1] == pytest.approx((of[(1, 0)] + of[(2, 0, 1)]) / 2)


def test_equal_regions_are_counted_by_their_code(matched):
    assert [matched.count_equal(matched, row) for row in range(5)] == [3, 3, 3, 1, 1]
    np.testing.assert_equal(matched.cells(3), [[0, 1, 0], [1, 0, 1], [0, 1, 0]])


def test_codes_compare_across_graphs_whatever_they_are_made_of(matched):
    def again(codes):
        return PooledMatches(
            matched.graph,
            matched.templates,
            matched.occurrences,
            matched._terms,
            codes,
            matched._logits_of,
            matched._order,
        )

    one, other = again([b"edge"] * 3 + [b"path", b"node"]), again([b"path", b"path", b"edge", b"path", b"star"])
    assert [other.count_equal(one, row) for row in range(5)] == [1, 1, 1, 3, 0]


def test_a_sampled_region_is_left_out_with_all_it_stands_for(matched):
    weights = np.array([1.0, 4.0, 1.0, 1.0, 1.0])
    terms = matched._terms * weights[:, None]
    sampled = PooledMatches(
        matched.graph, matched.templates, matched.occurrences, terms, CODES, matched._logits_of, matched._order, weights
    )
    rows, without = sampled.logits_without_each()
    for row in rows:
        np.testing.assert_allclose(without[row], sampled.logits_without(np.array([row])))
    assert without[0, 1] != pytest.approx(without[1, 1])


def test_small_blocks_change_nothing(matched, monkeypatch):
    expected = matched.logits_without_each()[1]
    monkeypatch.setattr(pooled, "BLOCK_NUMBERS", 1)
    np.testing.assert_allclose(matched.logits_without_each()[1], expected)


def test_a_graph_without_any_match_is_explained_by_the_base(matched):
    empty = Occurrences(NODES[:0], None, REGION[:0], TEMPLATE[:0], DISTANCE[:0])
    nothing = PooledMatches(
        matched.graph, matched.templates, empty, np.zeros((0, 2)), CODES[:0], matched._logits_of, matched._order
    )
    explanation = explain_matched(nothing, Classes(CLASSES))
    assert (explanation.matches, explanation.score) == ([], explanation.base)
    np.testing.assert_equal(explanation.edge_importance, np.zeros((5, 5)))
