"""The fair protocol: twins together, settings chosen on training graphs only."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from isonn.errors import InputError
from isonn.experiments.protocols import find_protocol
from isonn.graphs import GraphSet, as_graphset, load
from isonn.graphs.isomorphism import twin_groups

FAIR = find_protocol("fair")


@pytest.fixture(scope="module")
def mutag() -> GraphSet:
    return load("MUTAG")


def test_every_graph_is_tested_once_in_ten_folds_and_its_twins_with_it(mutag: GraphSet) -> None:
    assert mutag.y is not None
    groups = twin_groups(mutag)
    folds = FAIR.split(mutag, 0)
    assert len(folds) == 10
    assert_array_equal(np.sort(np.concatenate([test for _, test in folds])), np.arange(188))
    for train, test in folds:
        assert not set(groups[train]) & set(groups[test])
        assert 15 <= len(test) <= 25
        assert 0.25 < (mutag.y[test] == mutag.classes[0]).mean() < 0.42  # type: ignore[index]  # 63 of 188 are


def test_twins_of_one_dataset_are_split_by_folds_that_do_not_look(mutag: GraphSet) -> None:
    """What the protocol is for: the paper's folds have twins on both sides."""
    groups = twin_groups(mutag)
    assert all(set(groups[train]) & set(groups[test]) for train, test in find_protocol("paper").split(mutag, 0))


def test_settings_are_judged_on_a_fifth_of_the_training_part_without_its_twins(mutag: GraphSet) -> None:
    groups = twin_groups(mutag)
    assert FAIR.inner is not None
    for fold, (train, test) in enumerate(FAIR.split(mutag, 2)[:3]):
        fit, judge = FAIR.inner(mutag, train, 2)
        assert_array_equal(np.sort(np.concatenate([fit, judge])), np.sort(train))
        assert not set(groups[fit]) & set(groups[judge])
        assert not set(groups[judge]) & set(groups[test]), fold
        assert 0.15 < len(judge) / len(train) < 0.25


def test_seeds_draw_the_folds(mutag: GraphSet) -> None:
    tests = [[test.tolist() for _, test in FAIR.split(mutag, seed)] for seed in (0, 0, 1)]
    assert tests[0] == tests[1]
    assert tests[0] != tests[2]


def test_what_cannot_be_split_is_refused_with_the_reason(graphs: GraphSet) -> None:
    assert graphs.y is not None
    few = graphs[np.concatenate([np.flatnonzero(graphs.y == 0), np.flatnonzero(graphs.y == 1)[:9]])]
    with pytest.raises(InputError, match="class 1 has 9 graphs, fewer than the 10 folds"):
        FAIR.split(few, 0)
    with pytest.raises(InputError, match="has no classes; the fair protocol needs one per graph"):
        FAIR.split(graphs.with_y(None), 0)
    with pytest.raises(InputError, match=r"y has shape \(30, 2\)"):
        FAIR.split(graphs.with_y(np.column_stack([graphs.y, graphs.y])), 0)
    alike = as_graphset([nx.path_graph(3)] * 30).with_y(np.arange(30) % 2)
    with pytest.raises(InputError, match="1 groups cannot be spread over 10 folds"):
        FAIR.split(alike, 0)
