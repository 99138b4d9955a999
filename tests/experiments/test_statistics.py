"""Intervals and tests, against scipy, loops and what they promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import trapezoid

from isonn.experiments.statistics import corrected_interval, corrected_t_test


def corrected_by_definition(one: list[float], other: list[float], n_train: int, n_test: int) -> float:
    """Nadeau and Bengio's equation in loops; the tail by integrating the density of t."""
    d = [a - b for a, b in zip(one, other, strict=True)]
    mean = sum(d) / len(d)
    variance = sum((x - mean) ** 2 for x in d) / (len(d) - 1)
    statistic = mean / math.sqrt((1 / len(d) + n_test / n_train) * variance)
    grid = np.linspace(-abs(statistic), abs(statistic), 200_001)
    return 1 - float(trapezoid(stats.t.pdf(grid, len(d) - 1), grid))


@pytest.mark.parametrize(("n_train", "n_test"), [(84, 42), (169, 19)])
def test_the_test_equals_its_definition(n_train: int, n_test: int) -> None:
    draw = np.random.default_rng(0)
    one, other = draw.normal(0.82, 0.05, 30), draw.normal(0.78, 0.05, 30)
    expected = corrected_by_definition(one.tolist(), other.tolist(), n_train, n_test)
    assert corrected_t_test((one - other).tolist(), n_test / n_train) == pytest.approx(expected, abs=1e-9)


def test_without_the_correction_it_is_the_paired_t_test() -> None:
    draw = np.random.default_rng(1)
    one, other = draw.normal(size=12), draw.normal(0.5, size=12)
    assert corrected_t_test((one - other).tolist(), 0.0) == pytest.approx(stats.ttest_rel(one, other).pvalue)


def test_the_correction_only_makes_differences_harder_to_find_and_the_sign_does_not_matter() -> None:
    differences = [0.02, 0.05, -0.01, 0.04, 0.03]
    plain, corrected = corrected_t_test(differences, 0.0), corrected_t_test(differences, 0.5)
    assert plain is not None
    assert corrected is not None
    assert plain < corrected
    assert corrected_t_test([-d for d in differences], 0.5) == pytest.approx(corrected)


def test_equal_methods_differ_with_p_of_one_and_a_constant_difference_is_certain() -> None:
    assert corrected_t_test([0.0] * 6, 0.5) == 1
    assert corrected_t_test([0.1 + 0.2, 0.3, 0.3], 0.5) == 0  # equal but for rounding
    assert corrected_t_test([0.1], 0.5) is None


def test_no_difference_is_found_too_often_where_there_is_none() -> None:
    """Five seeds of ten folds on one small set: both methods guess, so p < 0.05 may come up in one of twenty sets."""
    draw = np.random.default_rng(0)
    found = {0.0: 0, 1 / 9: 0}
    for _ in range(300):
        right = draw.random((2, 60)) < 0.7  # whether either method is right about a graph, whatever it trained on
        differences = []
        for _ in range(5):
            for test in np.array_split(draw.permutation(60), 10):
                differences.append(float(right[0, test].mean() - right[1, test].mean()))
        for ratio in found:
            p = corrected_t_test(differences, ratio)
            found[ratio] += p is not None and p < 0.05
    assert found[1 / 9] / 300 < 0.08
    assert found[0.0] / 300 > 0.2, "the plain test is what the correction is for"


def test_the_interval_of_one_seed_holds_the_differences_that_the_test_does_not_find() -> None:
    values = np.random.default_rng(2).normal(80, 3, 10)
    low, high = corrected_interval(values.tolist(), 1 / 9)
    assert corrected_t_test((values - low).tolist(), 1 / 9) == pytest.approx(0.05)
    assert corrected_t_test((values - high).tolist(), 1 / 9) == pytest.approx(0.05)
    assert corrected_interval([80.0], 0.5) is None
    assert corrected_interval([80.0, 80.0], 0.5) == (80.0, 80.0)


def test_seeds_that_repeat_the_same_accuracies_narrow_the_interval_less_than_new_graphs_would() -> None:
    values = np.random.default_rng(2).normal(80, 3, 10)
    once, often = (corrected_interval(np.tile(values, seeds).tolist(), 1 / 9) for seeds in (1, 10))
    half = math.sqrt((1 / 100 + 1 / 9) * np.tile(values, 10).var(ddof=1))
    assert often[1] - often[0] < once[1] - once[0]
    assert often[1] - often[0] > 2 * half * stats.t.ppf(0.975, 99)
    assert often[1] - often[0] < 2 * half * stats.t.ppf(0.975, 9)
