from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from isonn.aligned.select import STARTS, as_matrices, grow, propose, search_shuffled, t_statistics


@pytest.fixture
def draw():
    return np.random.default_rng(0)


def test_t_statistics_equal_scipys_for_two_classes(draw):
    cells, target = draw.normal(size=(30, 7)), np.where(np.arange(30) < 12, -1.0, 1.0)
    expected = stats.ttest_ind(cells[target > 0], cells[target < 0]).statistic
    np.testing.assert_allclose(t_statistics(cells, target[:, None], np.ones((30, 1)))[0], expected)


def test_a_weight_of_two_is_a_graph_given_twice(draw):
    cells, target = draw.normal(size=(9, 4)), draw.normal(size=(9, 1))
    weights = np.array([[1], [2], [1], [1], [2], [1], [1], [1], [2.0]])
    twice = np.repeat(np.arange(9), weights[:, 0].astype(int))
    r = t_statistics(cells, target, weights)
    r = r / np.sqrt(7 + r**2)  # back to correlations: the number of graphs differs
    expected = t_statistics(cells[twice], target[twice], np.ones((12, 1)))
    np.testing.assert_allclose(r, expected / np.sqrt(10 + expected**2))


def test_growing_adds_the_region_that_adds_most(draw):
    matrix = as_matrices(draw.normal(size=(1, 45)), np.array(list(combinations(range(10), 2))), 10)
    nodes, scores = grow(matrix, largest=5)
    assert nodes.shape == (1, STARTS, 5)
    for members, score in zip(nodes[0].tolist(), scores[0], strict=True):
        for k in range(2, 6):
            inside = matrix[0][np.ix_(members[:k], members[:k])].sum() / 2
            np.testing.assert_allclose(score[k], inside)
        for k in range(2, 5):
            gains = {node: matrix[0, node, members[:k]].sum() for node in range(10) if node not in members[:k]}
            np.testing.assert_allclose(gains[members[k]], max(gains.values()))


def planted(draw, n=20, regions=(1, 8, 13, 17), g=40):
    pairs = np.array(list(combinations(range(n), 2)))
    target = np.where(np.arange(g) % 2, 1.0, -1.0)
    cells = draw.normal(size=(g, len(pairs)))
    cells[np.ix_(target > 0, np.isin(pairs, regions).all(axis=1))] += 1.5
    return cells, target, pairs


def test_the_planted_set_ranks_first_with_its_own_size_and_no_shuffle_is_as_good(draw):
    cells, target, pairs = planted(draw)
    shuffled = search_shuffled(cells, target, np.ones(40), pairs, 20, 6, 49, draw)
    statistics = t_statistics(cells, target[:, None], np.ones((40, 1)))[0]
    best = propose(statistics, pairs, 20, (3, 4, 5, 6), shuffled, 4, "connections")[0]
    assert (sorted(best.nodes), best.sign) == ([1, 8, 13, 17], 1)
    assert shuffled.p_value(best.rank) == 1 / 50
    np.testing.assert_allclose(best.score, statistics[np.isin(pairs, best.nodes).all(axis=1)].sum())


@pytest.mark.parametrize("apart", ["connections", "regions", "nothing"])
def test_sets_share_no_more_than_they_may(draw, apart):
    cells, target, pairs = planted(draw)
    shuffled = search_shuffled(cells, target, np.ones(40), pairs, 20, 5, 9, draw)
    statistics = t_statistics(cells, target[:, None], np.ones((40, 1)))[0]
    sets = [set(one.nodes) for one in propose(statistics, pairs, 20, (3, 4, 5), shuffled, 6, apart)]
    shared = max(len(a & b) for a, b in combinations(sets, 2))
    assert shared <= {"connections": 1, "regions": 0, "nothing": 4}[apart]
    if apart == "nothing":
        assert any(a < b or b < a for a, b in combinations(sets, 2))
    assert len({frozenset(one) for one in sets}) == len(sets)


def test_p_values_of_pure_noise_are_not_small():
    small = 0
    for seed in range(20):
        draw = np.random.default_rng(seed)
        cells, _, pairs = planted(draw)
        target = draw.permutation(np.where(np.arange(40) % 2, 1.0, -1.0))
        cells = draw.normal(size=cells.shape)
        shuffled = search_shuffled(cells, target, np.ones(40), pairs, 20, 4, 39, draw)
        statistics = t_statistics(cells, target[:, None], np.ones((40, 1)))[0]
        best = propose(statistics, pairs, 20, (3, 4), shuffled, 1, "connections")[0]
        small += shuffled.p_value(best.rank) <= 0.05
    assert small <= 3  # 1 is expected; more than 3 of 20 have probability 0.016
