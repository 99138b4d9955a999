"""The fair protocol: twins together, settings chosen on training graphs only."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from isonn.errors import InputError
from isonn.experiments import protocols
from isonn.experiments.jobs import plan, run_job
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


def test_rare_classes_and_few_groups_make_fewer_folds_and_one_is_refused(graphs: GraphSet) -> None:
    assert graphs.y is not None
    none, some = np.flatnonzero(graphs.y == 0), np.flatnonzero(graphs.y == 1)
    few = graphs[np.concatenate([none, some[:9]])]
    assert len(FAIR.split(few, 0)) == 9
    with pytest.raises(InputError, match="class 1 has 1 graphs, fewer than the 2 folds"):
        FAIR.split(graphs[np.concatenate([none, some[:1]])], 0)
    with pytest.raises(InputError, match="has no classes or numbers to predict"):
        FAIR.split(graphs.with_y(None), 0)
    alike = as_graphset([nx.path_graph(3)] * 30, name="alike").with_y(np.arange(30) % 2)
    for y in (np.arange(30) % 2, np.arange(30) / 7):
        with pytest.raises(
            InputError, match="all 30 graphs of .* have the same structure, .*; use --protocol random, which"
        ):
            FAIR.split(alike.with_y(y), 0)
    random = find_protocol("random")
    with pytest.raises(InputError, match="are equal, so none is left to test on; name a column with several values"):
        random.split(alike, 0)
    labelled = replace(alike, node_attributes=np.repeat(np.arange(30.0), 3)[:, None])
    assert len(random.split(labelled, 0)) == 5  # the remedy that the sentence names


SITES = np.array(["a", "b", "c"])


@pytest.fixture(scope="module")
def columns(mutag: GraphSet) -> GraphSet:
    """MUTAG with columns to split by, and an edge label set."""
    part = np.where(np.arange(188) < 150, "train", "test")
    return replace(mutag, table={"site": SITES[np.arange(188) % 3], "part": part, "id": np.arange(188)})


@pytest.mark.parametrize("name", ["paper", "fair", "random", "fair:site", "random:site", "column:part", "column:site"])
@pytest.mark.parametrize("kind", ["classes", "numbers", "labels"])
def test_every_protocol_keeps_its_contract(name: str, kind: str, columns: GraphSet) -> None:
    """No graph is trained and tested on, a seed gives the same folds again, and groups stay together."""
    assert columns.y is not None
    y = {"classes": columns.y, "numbers": columns.sizes / 7, "labels": np.column_stack([columns.y > 0, columns.y < 0])}
    graphs = columns.with_y(y[kind])
    protocol = find_protocol(name)
    if name == "paper" and kind != "classes":
        with pytest.raises(InputError, match="balances classes"):
            protocol.split(graphs, 0)
        return
    folds = protocol.split(graphs, 3)
    tested = np.concatenate([test for _, test in folds])
    assert len(np.unique(tested)) == len(tested)
    for (train, test), (again, _) in zip(folds, find_protocol(name).split(graphs, 3), strict=True):
        assert len(train)
        assert len(test)
        assert not set(train) & set(test)
        assert_array_equal(train, again)
        if "site" in name:
            assert not set(graphs.table["site"][train]) & set(graphs.table["site"][test])
    if protocol.chooses:
        train = folds[0][0]
        fit, judge = protocol.inner(graphs, train, 3)
        assert_array_equal(np.sort(np.concatenate([fit, judge])), np.sort(train))
    assert protocol.metrics(kind)[0] == ("rmse" if kind == "numbers" else protocol.classes[0])


def test_a_column_of_sites_tests_each_and_one_of_train_and_test_once(columns: GraphSet) -> None:
    assert [len(test) for _, test in find_protocol("column:site").split(columns, 0)] == [63, 63, 62]
    ((train, test),) = find_protocol("column:part").split(columns, 0)
    assert_array_equal(train, np.arange(150))
    assert_array_equal(test, np.arange(150, 188))
    with pytest.raises(InputError, match="column 'id' of MUTAG has 188 values; use a column with 2 to 50 values"):
        find_protocol("column:id").split(columns, 0)
    with pytest.raises(InputError, match="MUTAG has no column 'lab'; its columns are: site, part, id"):
        find_protocol("column:lab").split(columns, 0)


def test_another_column_is_another_job(columns: GraphSet) -> None:
    moved = replace(columns, table={**columns.table, "site": SITES[np.arange(188) % 2]})
    assert find_protocol("fair").digest(columns) == find_protocol("fair").digest(moved) == columns.digest
    assert find_protocol("fair:site").digest(columns) != find_protocol("fair:site").digest(moved)


def test_duplicates_share_a_fold_and_graphs_that_differ_in_labels_are_no_duplicates(mutag: GraphSet) -> None:
    twice = GraphSet.concat([mutag, mutag.relabelled(0)])
    random = find_protocol("random")
    for train, test in random.split(twice, 0):
        assert not set(train % 188) & set(test % 188)
    assert len(set(random.groups(mutag))) > len(set(twin_groups(mutag)))  # type: ignore[attr-defined]


def test_scaffolds_need_molecules(mutag: GraphSet) -> None:
    with pytest.raises(InputError, match="holds no molecules"):
        find_protocol("scaffold").split(mutag, 0)


def test_a_protocol_from_outside_is_found_by_its_name(mutag: GraphSet, monkeypatch) -> None:
    class Halves(protocols.Protocol):
        name, about = "halves", "the first half trains, the second is tested"

        def split(self, graphs: GraphSet, seed: int) -> list:
            half = len(graphs) // 2
            return [(np.arange(half), np.arange(half, len(graphs)))]

    monkeypatch.setitem(protocols.PROTOCOLS, "halves", Halves)
    (job,) = plan(mutag, ["size"], {}, "halves", 1)
    assert run_job(job, mutag)["test"] == list(range(94, 188))
