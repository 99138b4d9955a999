"""Folds keep groups together, spread classes, and do not depend on the order of graphs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from isonn.errors import InputError
from isonn.heads import Inputs, folds, join_groups
from isonn.heads.data import Distinct
from isonn.heads.folds import grouped_folds
from isonn.targets import Classes, Labels, Numbers


def distinct_of(n, groups=None, order=None):
    rows = np.arange(n) if order is None else order
    table = csr_array(np.arange(1.0, n + 1)[rows, None])
    return Distinct.of(Inputs(table, table, groups=None if groups is None else groups[rows]))


def test_no_fold_separates_a_group():
    groups = np.random.default_rng(0).integers(0, 40, 300)
    distinct, y = distinct_of(300, groups), np.arange(300) % 2
    found = grouped_folds(distinct, y, Classes(np.arange(2)), 0)[distinct.graph]
    assert all(len(set(found[groups == group])) == 1 for group in range(40))
    assert np.bincount(found).min() > 20


def test_every_fold_has_its_share_of_each_class():
    distinct, y = distinct_of(103), (np.arange(103) % 5 == 0).astype(int)
    found = grouped_folds(distinct, y, Classes(np.arange(2)), 0)[distinct.graph]
    for code in range(2):
        assert np.ptp(np.bincount(found[y == code], minlength=10)) <= 1
    assert np.ptp(np.bincount(found)) <= 2


def test_every_fold_has_its_share_of_a_rare_label():
    distinct = distinct_of(100)
    y = np.column_stack([np.arange(100) % 2, np.arange(100) < 20, np.full(100, np.nan)])
    found = grouped_folds(distinct, y, Labels(3), 0)[distinct.graph]
    assert np.bincount(found[:20], minlength=10).tolist() == [2] * 10


def test_the_order_of_graphs_moves_no_graph_to_another_fold():
    groups, y = np.arange(80) // 3, np.arange(80) % 3
    order = np.random.default_rng(0).permutation(80)
    one, other = distinct_of(80, groups), distinct_of(80, groups, order)
    first = grouped_folds(one, y, Classes(np.arange(3)), 0)[one.graph]
    second = grouped_folds(other, y[order], Classes(np.arange(3)), 0)[other.graph]
    np.testing.assert_array_equal(first[order], second)


def test_of_many_graphs_a_tenth_is_held_out(monkeypatch):
    monkeypatch.setattr(folds, "MANY_GRAPHS", 1000)
    distinct = distinct_of(2000)
    found = grouped_folds(distinct, np.zeros((2000, 1)), Numbers(np.zeros(1), np.ones(1), True), 0)
    assert set(found.tolist()) == {-1, 0}
    assert 0.07 < (found == 0).mean() < 0.13


def test_groups_that_share_an_equal_graph_are_joined():
    digests = np.array([1, 2, 2, 3, 4, 1], dtype=np.uint64)
    joined = join_groups(digests, ["a", "a", "b", "c", "b", "d"])
    assert joined.tolist() == [0, 0, 0, 1, 0, 0]
    assert join_groups(digests).tolist() == [0, 1, 1, 2, 3, 0]


def test_wrong_groups_are_refused():
    digests = np.arange(4, dtype=np.uint64)
    with pytest.raises(InputError, match=r"groups has shape \(3,\) for 4 graphs; give one group per graph"):
        join_groups(digests, [1, 2, 3])
    with pytest.raises(InputError, match="all graphs are in group 'x'; give at least two groups"):
        join_groups(digests, ["x"] * 4)
