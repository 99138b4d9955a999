from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from isonn.aligned.exchange import Exchange
from isonn.aligned.select import STARTS, PartialT, as_matrices, exceedance, grow, propose, search_shuffled


@pytest.fixture
def draw():
    return np.random.default_rng(0)


def test_t_statistics_equal_scipys_for_two_classes(draw):
    cells, target = draw.normal(size=(30, 7)), np.where(np.arange(30) < 12, -1.0, 1.0)
    expected = stats.ttest_ind(cells[target > 0], cells[target < 0]).statistic
    np.testing.assert_allclose(PartialT(cells, target, np.ones(30))()[0], expected)


def regression_t(values, target, confounds):
    """The t statistic of the target in an ordinary regression with an intercept and confounds, by its definition."""
    design = np.column_stack([np.ones(len(target)), confounds, target])
    coef, residual = np.linalg.lstsq(design, values, rcond=None)[:2]
    freedom = len(target) - design.shape[1]
    return coef[-1] / np.sqrt(residual[0] / freedom * np.linalg.inv(design.T @ design)[-1, -1])


def test_partial_t_is_that_of_a_regression_with_the_confounds(draw):
    cells, target, confounds = draw.normal(size=(25, 4)), draw.normal(size=25), draw.normal(size=(25, 3))
    expected = [regression_t(column, target, confounds) for column in cells.T]
    np.testing.assert_allclose(PartialT(cells, target, np.ones(25), confounds)()[0], expected)


@pytest.mark.parametrize("weighted", [False, True])
def test_shuffles_are_those_of_freedman_and_lane(draw, weighted):
    cells, target, confounds = draw.normal(size=(20, 3)), draw.normal(size=20), draw.normal(size=(20, 2))
    weights = draw.uniform(0.5, 2, size=20) if weighted else np.ones(20)
    root = np.sqrt(weights)[:, None]
    nuisance = np.column_stack([np.ones(20), confounds])
    coef = np.linalg.lstsq(root * nuisance, root * cells, rcond=None)[0]
    residuals, order = cells - nuisance @ coef, draw.permutation(20)
    shuffled = nuisance @ coef
    shuffled[order] += residuals
    whole = np.column_stack([root * nuisance, root[:, 0] * target])
    expected = []
    for column in (root * shuffled).T:
        slope, rest = np.linalg.lstsq(whole, column, rcond=None)[:2]
        expected.append(slope[-1] / np.sqrt(rest[0] / 16 * np.linalg.inv(whole.T @ whole)[-1, -1]))
    orders = np.stack([np.arange(20), order], axis=1)
    statistics = PartialT(cells, target, weights, confounds)
    np.testing.assert_allclose(statistics(orders)[1], expected)
    np.testing.assert_allclose(statistics(orders)[0], statistics()[0])


def test_a_weight_of_two_is_a_graph_given_twice(draw):
    cells, target = draw.normal(size=(9, 4)), draw.normal(size=9)
    weights = np.array([1, 2, 1, 1, 2, 1, 1, 1, 2.0])
    twice = np.repeat(np.arange(9), weights.astype(int))
    r = PartialT(cells, target, weights)()
    r = r / np.sqrt(7 + r**2)  # back to correlations: the number of graphs differs
    expected = PartialT(cells[twice], target[twice], np.ones(12))()
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


def searched(cells, target, pairs, sizes, shuffles, draw):
    statistics = PartialT(cells, target, np.ones(len(target)))
    orders = Exchange().draw(shuffles + 1, draw, len(target))
    return statistics()[0], search_shuffled(statistics, orders, pairs, 20, sizes)


def test_the_planted_set_ranks_first_with_its_own_size_and_no_shuffle_is_as_good(draw):
    cells, target, pairs = planted(draw)
    statistics, shuffled = searched(cells, target, pairs, (3, 4, 5, 6), 49, draw)
    best = propose(statistics, pairs, 20, (3, 4, 5, 6), shuffled, 4)[0]
    assert (sorted(best.nodes), best.sign) == ([1, 8, 13, 17], 1)
    assert exceedance(shuffled.best[1:], np.array([best.rank]))[0] == 1 / 50
    np.testing.assert_allclose(best.score, statistics[np.isin(pairs, best.nodes).all(axis=1)].sum())


def test_no_two_sets_share_a_connection(draw):
    cells, target, pairs = planted(draw)
    statistics, shuffled = searched(cells, target, pairs, (3, 4, 5), 9, draw)
    sets = [set(regions.nodes) for regions in propose(statistics, pairs, 20, (3, 4, 5), shuffled, 6)]
    assert len(sets) == 6
    assert max(len(a & b) for a, b in combinations(sets, 2)) <= 1


def test_p_values_of_pure_noise_are_not_small():
    small = 0
    for seed in range(20):
        draw = np.random.default_rng(seed)
        cells, _, pairs = planted(draw)
        target = draw.permutation(np.where(np.arange(40) % 2, 1.0, -1.0))
        cells = draw.normal(size=cells.shape)
        statistics, shuffled = searched(cells, target, pairs, (3, 4), 39, draw)
        best = propose(statistics, pairs, 20, (3, 4), shuffled, 1)[0]
        small += exceedance(shuffled.best[1:], np.array([best.rank]))[0] <= 0.05
    assert small <= 3  # 1 is expected; more than 3 of 20 have probability 0.016


def test_the_best_set_has_the_best_rank_of_the_data_as_it_is(draw):
    cells, target, pairs = planted(draw)
    statistics, shuffled = searched(cells, target, pairs, (3, 4), 19, draw)
    best = propose(statistics, pairs, 20, (3, 4), shuffled, 1)[0]
    np.testing.assert_allclose(best.rank, shuffled.best[0])


def test_the_rank_of_every_order_is_relative_to_all_others(draw):
    cells, target, pairs = planted(draw, g=24)
    statistics = PartialT(cells, target, np.ones(24))
    orders = Exchange().draw(8, draw, 24)
    ranks = search_shuffled(statistics, orders, pairs, 20, (3,)).best
    scores = []
    for found in statistics(orders):
        matrix = as_matrices(found[None], pairs, 20)
        scores.append(max(grow(sign * matrix, 3)[1][0, :, 3].max() for sign in (1, -1)))
    for i in range(8):
        others = np.delete(scores, i)
        np.testing.assert_allclose(ranks[i], (scores[i] - others.mean()) / others.std())


def test_uncorrected_p_is_the_share_of_shuffled_statistics_as_large(draw):
    cells, target, pairs = planted(draw)
    statistics = PartialT(cells, target, np.ones(40))
    orders = Exchange().draw(20, draw, 40)
    shuffled = np.abs(statistics(orders[:, 1:])).ravel()
    p = search_shuffled(statistics, orders, pairs, 20, (3,)).uncorrected(np.array([0.5, -2.0, 4.0]))
    expected = [(1 + (shuffled >= value).sum()) / (1 + shuffled.size) for value in (0.5, 2.0, 4.0)]
    np.testing.assert_allclose(p, expected, atol=0.01)
