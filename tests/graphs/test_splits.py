"""Splits: no graph on both sides, classes in proportion, the seed decides."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_array_equal
from sklearn.model_selection import StratifiedGroupKFold

from isonn.errors import InputError
from isonn.graphs.splits import balanced_folds, grouped_folds, released_folds, stratified_folds
from isonn.seeding import numpy_stream

SKLEARN = tuple(map(int, sklearn.__version__.split(".")[:2]))
Y = np.array(["b"] * 20 + ["a"] * 9 + ["c"] * 11)


#: Four groups of four, the rest alone.
GROUPS = np.concatenate([np.repeat(np.arange(4), 4), np.arange(4, 28)])


def of_groups(y, n_folds, seed):
    return grouped_folds(y, GROUPS, n_folds, seed)


@pytest.mark.parametrize("split", [balanced_folds, stratified_folds, of_groups])
@pytest.mark.parametrize("n_folds", [2, 3, 8])
def test_the_folds_are_a_partition(split, n_folds):
    folds = split(Y, n_folds, seed=1)
    everyone = np.sort(np.concatenate([test for _, test in folds]))
    assert len(folds) == n_folds
    assert len(np.unique(everyone)) == len(everyone) == (27 if split is balanced_folds else len(Y))
    for train, test in folds:
        assert_array_equal(np.sort(np.concatenate([train, test])), everyone)


def test_balanced_folds_hold_as_many_of_every_class():
    for train, test in balanced_folds(Y, 3, seed=0):
        assert_array_equal(np.unique(Y[train], return_counts=True)[1], [6, 6, 6])
        assert_array_equal(np.unique(Y[test], return_counts=True)[1], [3, 3, 3])


def test_stratified_folds_keep_the_proportions():
    for _, test in stratified_folds(Y, 4, seed=0):
        counts = np.array([(Y[test] == c).sum() for c in "abc"])
        assert np.abs(counts - np.array([9, 20, 11]) / 4).max() < 1.5


@pytest.mark.parametrize("split", [balanced_folds, stratified_folds, of_groups])
def test_the_same_seed_gives_the_same_folds_and_another_seed_others(split):
    def tests(seed):
        return [test.tolist() for _, test in split(Y, 3, seed)]

    assert tests(4) == tests(4)
    assert tests(4) != tests(5)


def test_every_graph_of_a_large_class_is_drawn_by_some_seed():
    drawn = {int(i) for seed in range(30) for _, test in balanced_folds(Y, 3, seed) for i in test}
    assert drawn == set(range(len(Y)))


def test_the_names_of_the_classes_do_not_matter():
    renamed = np.select([Y == "a", Y == "b"], [-1, 1], 5)  # the same order
    for ours, theirs in zip(balanced_folds(Y, 3, 0), balanced_folds(renamed, 3, 0), strict=True):
        assert_array_equal(ours[0], theirs[0])
        assert_array_equal(ours[1], theirs[1])


def test_released_folds_are_tested_one_after_the_other():
    column = np.array([2, 0, 1, 2, 0])
    for value, (train, test) in enumerate(released_folds(column)):
        assert_array_equal(column[test], np.full(len(test), value))
        assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(5))


@pytest.mark.parametrize("split", [balanced_folds, stratified_folds])
@pytest.mark.parametrize(
    ("y", "n_folds", "message"),
    [
        ([0, 0, 0, 1, 1], 3, "class 1 has 2 graphs, fewer than the 3 folds; use n_folds <= 2, or add graphs"),
        ([0, 0, 0, 1], 2, "class 1 has 1 graphs, fewer than the 2 folds; add graphs, or drop the class"),
        (["a"] * 5, 3, "all 5 graphs are of class a; a classifier needs .* two classes"),
        ([], 3, "y is empty"),
        ([0, 1], 1, "n_folds=1 is not a valid number of folds"),
        ([0, 1], 2.5, "n_folds=2.5 is not a valid number of folds"),
        ([[0, 1], [1, 0]], 2, r"y has shape \(2, 2\)"),
    ],
)
def test_what_cannot_be_split_is_refused(split, y, n_folds, message):
    with pytest.raises(InputError, match=message):
        split(y, n_folds, 0)


@pytest.mark.parametrize(
    ("column", "message"), [(None, "released without folds"), ([0, 0], "hold 1 fold; two or more")]
)
def test_released_folds_that_split_nothing_are_refused(column, message):
    with pytest.raises(InputError, match=message):
        released_folds(column)


def test_grouped_folds_split_no_group():
    for train, test in of_groups(Y, 5, seed=0):
        assert not set(GROUPS[train]) & set(GROUPS[test])


@pytest.mark.parametrize("seed", range(5))
def test_grouped_folds_hold_every_class_where_its_graphs_are_free(seed):
    for _, test in grouped_folds(Y, GROUPS, 8, seed):  # class b is eight groups, the others are more
        assert set(Y[test]) == set("abc")


@pytest.mark.skipif(SKLEARN < (1, 9), reason="earlier versions of scikit-learn spread groups otherwise")
@pytest.mark.parametrize("n_folds", [2, 5, 8])
def test_grouped_folds_are_those_of_scikit_learn(n_folds):
    for seed in range(10):
        draw = np.random.default_rng(seed)
        y, groups = draw.integers(0, 3, 90), draw.integers(0, 25, 90)
        found = [test.tolist() for _, test in grouped_folds(y, groups, n_folds, seed)]
        state = int(numpy_stream(seed, "folds").integers(2**32))
        splitter = StratifiedGroupKFold(n_folds, shuffle=True, random_state=state)
        assert found == [test.tolist() for _, test in splitter.split(y, y, groups)]


@pytest.mark.parametrize(
    ("y", "groups", "message"),
    [
        (["a"] * 9 + ["b"], range(10), "class b has 1 graphs, fewer than the 2 folds"),
        ([0, 0, 1, 1], [0, 1, 2], r"groups have shape \(3,\) for 4 graphs"),
        ([0, 0, 1, 1], [5, 5, 5, 5], "1 groups cannot be spread over 2 folds"),
    ],
)
def test_groups_that_cannot_be_folded_are_refused(y, groups, message):
    with pytest.raises(InputError, match=message):
        grouped_folds(y, groups, 2)
