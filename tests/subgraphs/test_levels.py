"""Levels: few values stay exact, many become a few, whatever their order."""

from __future__ import annotations

import json

import numpy as np
import pytest

from isonn.subgraphs import levels as module
from isonn.subgraphs.levels import EXACT_DEGREES, LEVELS, DistinctRows, Levels, degree_levels, degree_values


def levels_of(values, count=LEVELS, scale=False):
    rows = np.asarray(values, dtype=float)
    rows = rows[:, None] if rows.ndim == 1 else rows
    distinct = DistinctRows(rows.shape[1])
    distinct.add(rows)
    return Levels.fit(distinct, count, scale)


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("rows", [[0.3, -1.7, 0.3, 0.9], [[1.0, 5.0], [2.0, 5.0], [1.0, 7.0]]])
def test_a_few_values_are_kept_exactly(rows, scale):
    levels = levels_of(rows, scale=scale)
    found = [levels.value(level) for level in levels.nearest(np.array(rows)).tolist()]
    np.testing.assert_allclose(found, np.reshape(rows, (len(rows), -1)), rtol=1e-14)


def test_rows_are_standardised_to_the_distance_of_two_labels():
    rows = np.random.default_rng(0).choice([0.0, 1.0, 4.0], (2000, 3)) * [1, 10, 0.1]
    levels = levels_of(rows, 100)
    scaled = levels.centres[levels.nearest(rows)]
    assert ((scaled[:1000] - scaled[1000:]) ** 2).sum(axis=1).mean() == pytest.approx(2, rel=0.1)


@pytest.mark.parametrize("scale", [True, False])
def test_many_values_become_a_few_levels_whatever_their_order(scale):
    generator = np.random.default_rng(0)
    values = generator.normal(size=2000)
    levels = levels_of(values, scale=scale)
    assert len(levels) == LEVELS
    for _ in range(3):
        assert levels_of(generator.permutation(values), scale=scale).as_json() == levels.as_json()
    rows = (values[:, None] - levels.shift) / levels.scale
    nearest = np.abs(rows - levels.centres.T).argmin(axis=1)
    np.testing.assert_array_equal(levels.nearest(values), nearest)
    assert np.mean((rows[:, 0] - levels.centres[nearest, 0]) ** 2) < 0.05 * rows.var()
    again = Levels.from_json(json.loads(json.dumps(levels.as_json())))
    np.testing.assert_array_equal(again.nearest(values), nearest)


def test_no_values_and_one_value_are_levels_too():
    assert len(levels_of([], scale=True)) == 1
    assert levels_of([3.0] * 5).nearest(np.array([3.0, 9.0])).tolist() == [0, 0]
    assert levels_of([1.0, 2.0]).nearest(np.zeros(0)).shape == (0,)


def test_levels_of_degrees_rise_with_them_and_small_ones_are_exact():
    degrees = np.arange(5000)
    level = degree_levels(degrees)
    assert set(np.diff(level).tolist()) == {0, 1}
    np.testing.assert_array_equal(level[: EXACT_DEGREES + 1], degrees[: EXACT_DEGREES + 1])
    values = degree_values(level)
    assert np.abs(values - np.log2(1 + degrees)).max() <= 0.2501
    assert (np.diff(values) >= 0).all()


@pytest.mark.parametrize("width", [1, 3])
def test_which_rows_are_kept_does_not_depend_on_how_they_come(width, monkeypatch):
    monkeypatch.setattr(module, "MOST_NUMBERS", 50 * width)
    monkeypatch.setattr(module, "FEWEST_ROWS", 10)
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(300, width))[generator.integers(0, 300, 2000)]
    expected, counts = np.unique(rows, axis=0, return_counts=True)
    kept = []
    for size in (2000, 100, 7):
        distinct, shuffled = DistinctRows(width), generator.permutation(rows)
        for start in range(0, 2000, size):
            distinct.add(shuffled[start : start + size])
        kept.append(distinct)
    for distinct in kept:
        assert len(distinct.rows) == 50
        np.testing.assert_array_equal(distinct.rows, kept[0].rows)
        np.testing.assert_array_equal(distinct.largest, np.abs(rows).max(axis=0))
        place = [int(np.flatnonzero((expected == row).all(axis=1))[0]) for row in distinct.rows]
        np.testing.assert_array_equal(distinct.often, counts[place])
    assert abs(np.mean(place) / len(expected) - 0.5) < 0.2  # a fair sample, not one end


def test_all_rows_are_kept_while_there_is_room():
    distinct = DistinctRows(1)
    distinct.add(np.array([[0.0], [-0.0], [2.0], [-3.0], [2.0]]))
    distinct.add(np.ones((1, 1)), 5)
    np.testing.assert_array_equal(distinct.rows[:, 0], [-3.0, 0.0, 1.0, 2.0])
    np.testing.assert_array_equal(distinct.often, [1, 2, 5, 2])
