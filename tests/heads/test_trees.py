"""Trees as arrays against LightGBM and against Shapley's definition; damaged trees are refused."""

from __future__ import annotations

import itertools
import math
import sys
import warnings
from dataclasses import replace

import lightgbm
import numpy as np
import pytest
from head_samples import counts, inputs_of, target_of, targets_of
from scipy.sparse import csr_array, csr_matrix

from isonn.errors import MissingDependencyError
from isonn.heads import Inputs, LinearHead, StackedHead, TreesHead, boosting
from isonn.heads.boosting import LEAST_COLUMNS, from_text, settings_for
from isonn.heads.tree_arrays import DEEPEST, TreeArrays
from isonn.heads.trees import screen_columns
from isonn.targets import Classes


def boosted(objective, gaps=False):
    """A model of LightGBM and its training table."""
    generator = np.random.default_rng(0)
    table = generator.integers(0, 4, (200, 6)) * (generator.random((200, 6)) < 0.7) + 0.0
    table[:, 5] = generator.normal(size=200)
    score = table[:, 0] * (table[:, 1] > 1) + table[:, 5]
    if gaps:
        table[::5, 5] = np.nan
        table[::7, 0] = np.nan
    y = {"regression": score, "binary": score > 1, "multiclass": np.digitize(score, [0.5, 2])}[objective]
    settings = {"objective": objective, "num_leaves": 9, "min_data_in_leaf": 4, "verbosity": -1, "num_threads": 1}
    if objective == "multiclass":
        settings["num_class"] = 3
    return lightgbm.train(settings, lightgbm.Dataset(table, y), 12), table


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize(("objective", "outputs"), [("regression", 1), ("binary", 1), ("multiclass", 3)])
def test_outputs_are_those_of_lightgbm(objective, outputs, gaps):
    booster, table = boosted(objective, gaps)
    trees = from_text(booster.model_to_string(), outputs)
    expected = booster.predict(table, raw_score=True).reshape(200, outputs)
    np.testing.assert_allclose(trees.sums(csr_array(table)), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize(("objective", "output"), [("regression", 0), ("multiclass", 2)])
def test_contributions_are_shapley_values_by_definition(objective, output, gaps):
    booster, table = boosted(objective, gaps)
    trees, columns = from_text(booster.model_to_string(), 3 if output else 1), range(6)
    for row, reference in ((table[3], np.zeros(6)), (table[7], table[8]), (np.nan_to_num(table[0]), table[4])):

        def worth(subset, row=row, reference=reference):
            mixed = np.where(np.isin(columns, list(subset)), row, reference)
            return trees.sums(csr_array(mixed[None]))[0, output]

        for i in columns:
            others, value = [j for j in columns if j != i], 0.0
            for size in range(6):
                factor = math.factorial(size) * math.factorial(5 - size) / math.factorial(6)
                for subset in itertools.combinations(others, size):
                    value += factor * (worth({*subset, i}) - worth(set(subset)))
            found = trees.shapley(csr_array(row[None]), output, reference)[0, i]
            assert found == pytest.approx(value, abs=1e-9)


def test_identical_columns_are_one_and_the_first_is_read():
    values = counts()
    doubled = np.column_stack([values, values])
    y = targets_of(values)["two classes"]
    target = target_of(y)
    digests = np.arange(len(values), dtype=np.uint64)
    one, two = (replace(inputs_of(table), digests=digests) for table in (values, doubled))
    single = TreesHead().fit(one, target.encode(y), target)
    merged = TreesHead().fit(two, target.encode(y), target)
    np.testing.assert_array_equal(merged.columns, single.columns)
    new = np.column_stack([values, np.zeros_like(values)])  # here the copies differ
    np.testing.assert_allclose(merged.outputs(inputs_of(new)), single.outputs(inputs_of(values)), atol=1e-9)
    assert not merged.contributions(inputs_of(doubled), 1).counts.toarray()[:, values.shape[1] :].any()


def test_the_columns_that_vary_most_are_kept(monkeypatch):
    monkeypatch.setattr("isonn.heads.trees.COLUMNS", 2)
    table = np.zeros((20, 5))
    table[:2, 0] = 1  # too rare
    table[:, 1] = 3  # constant
    table[:10, 2] = 1
    table[:, 3] = np.arange(20) % 3 + 5  # in every graph, with three values
    table[:4, 4] = 1
    assert screen_columns(csr_array(table)).tolist() == [2, 3]


@pytest.mark.parametrize("at_once", [7, 4096])
def test_columns_are_screened_as_by_the_definition(monkeypatch, at_once):
    monkeypatch.setattr("isonn.heads.trees.COLUMNS", 12)
    monkeypatch.setattr("isonn.heads.trees.GRAPHS_AT_ONCE", at_once)
    monkeypatch.setattr("isonn.heads.trees.COLUMNS_AT_ONCE", 2)
    generator = np.random.default_rng(0)
    values = generator.integers(-1, 3, (60, 20)) * (generator.random((60, 20)) < np.linspace(0.05, 1, 20))
    values = np.column_stack([values, values[:, :5], np.where(values[:, 9] > 0, np.nan, values[:, 9])])
    rows = np.sort(generator.choice(60, 40, replace=False))
    kept = {}
    for column, entries in enumerate(values[rows].T):
        numbers = np.unique(entries, return_counts=True)[1]  # NaN counts as one value
        kept.setdefault(entries.tobytes(), (-(len(rows) - numbers.max()), column))
    expected = sorted(column for varied, column in sorted(kept.values())[:12] if varied <= -3)
    assert screen_columns(csr_array(values), rows).tolist() == expected


def test_the_number_of_threads_changes_nothing(monkeypatch):
    values = counts()
    y = targets_of(values)["labels"]
    target, found = target_of(y), []
    for threads in ("1", "4"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        monkeypatch.setattr(boosting.joblib, "cpu_count", lambda: 4)
        assert boosting.threads() == int(threads)
        found.append(TreesHead().fit(inputs_of(values), target.encode(y), target).outputs(inputs_of(values)))
    np.testing.assert_array_equal(found[0], found[1])


def test_training_in_threads_leaves_filters_of_warnings_as_they_were(monkeypatch):
    """A thread that left its own behind would silence every later warning of the process."""
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    monkeypatch.setattr(boosting.joblib, "cpu_count", lambda: 4)
    values, before = counts(), list(warnings.filters)
    y = targets_of(values)["labels"]
    for _ in range(5):
        TreesHead().fit(inputs_of(values), target_of(y).encode(y), target_of(y))
        assert warnings.filters == before


def test_logic_that_no_sum_can_tell_is_learned():
    generator = np.random.default_rng(0)
    values = generator.integers(0, 2, (400, 4)).astype(float)
    values = np.column_stack([values, np.arange(400)])
    y = (values[:, 0] != values[:, 1]).astype(int)
    target, inputs = Classes(np.arange(2)), inputs_of(values)
    assert (LinearHead().fit(inputs, y, target).held_out.argmax(axis=1) == y).mean() < 0.7
    both = StackedHead().fit(inputs, y, target)
    assert (both.held_out.argmax(axis=1) == y).mean() > 0.98
    assert both.weights[0]["trees"] > 0.8


def test_larger_sets_get_larger_trees_and_a_tree_always_sees_some_columns():
    few, many = (settings_for("binary", graphs, 3000, 0) for graphs in (100, 100_000))
    assert few["num_leaves"] < many["num_leaves"] <= DEEPEST
    assert settings_for("binary", 100, 80, 0)["feature_fraction"] * 80 == LEAST_COLUMNS
    assert settings_for("regression", 100, 2, 0)["feature_fraction"] == 1


def test_of_two_pieces_that_tell_graphs_apart_equally_well_the_smaller_is_taken():
    draw = np.random.default_rng(0)
    y = draw.integers(0, 2, 200)
    copies = np.tile(y[:, None], 2) * draw.integers(1, 3, (200, 2))  # not identical, but equally good
    counts = csr_array(copies.astype(float))
    for sizes, column in (([6, 2], 1), ([2, 6], 0)):
        inputs = replace(Inputs.of(counts), sizes=np.array(sizes), digests=np.arange(200, dtype=np.uint64))
        trees = TreesHead().fit(inputs, y, Classes(np.array(["a", "b"]))).trees
        assert set(trees.feature[trees.roots].tolist()) == {column}


def test_missing_terms_are_no_zeros():
    values = np.column_stack([counts(), np.where(np.arange(60) % 2, np.nan, 0.0)])
    y = np.arange(60) % 2
    plain = Inputs(inputs_of(np.nan_to_num(values)).features, csr_array(values))
    head = TreesHead().fit(plain, y, Classes(np.arange(2)))
    assert (head.outputs(plain).argmax(axis=1) == y).all()


def small():
    """One tree of two splits."""
    booster = lightgbm.train(
        {"objective": "regression", "num_leaves": 3, "min_data_in_leaf": 1, "verbosity": -1, "num_threads": 1},
        lightgbm.Dataset(csr_matrix(np.arange(60.0)[:, None]), np.arange(60.0) ** 2),
        1,
    )
    return from_text(booster.model_to_string(), 1)


def forged(**changes):
    """Tensors of a small tree with some entries replaced, given as name={place: value}."""
    tensors = {name: array.copy() for name, array in small().tensors().items()}
    for name, entries in changes.items():
        for place, value in entries.items():
            tensors[name][place] = value
    return tensors


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"left": {0: 0}}, "does not come after its parent"),
        ({"left": {0: 99}}, "does not come after its parent"),
        ({"right": {0: -5}}, "does not come after its parent"),
        ({"left": {1: 2}, "right": {1: 2}}, "exactly one parent"),
        ({"feature": {0: 1}}, "reads column 1 of 1"),
        ({"feature": {0: -7}}, "reads column"),
        ({"feature": {0: -1}}, "exactly one parent"),
        ({"threshold": {0: np.nan}}, "threshold of the trees is not finite"),
        ({"value": {2: np.inf}}, "value of the trees is not finite"),
        ({"roots": {0: 1}}, "do not start"),
        ({"output": {0: 3}}, "an output has no trees"),
    ],
)
def test_forged_trees_are_refused(changes, said):
    TreeArrays.restore(small().tensors(), 1)
    with pytest.raises(ValueError, match=said):
        TreeArrays.restore(forged(**changes), 1)


def test_trees_of_another_shape_or_type_are_refused():
    for name, array in small().tensors().items():
        for bad in (array[:-1], array[None], array.astype(np.float16), array[:0]):
            with pytest.raises(ValueError, match="of the trees|start"):
                TreeArrays.restore({**small().tensors(), name: bad}, 1)


def test_a_tree_that_is_too_deep_is_refused():
    """The loops keep the path to a leaf in arrays of a fixed size."""
    depth = 70
    nodes = 2 * depth + 1
    split = np.arange(nodes) % 2 == 0
    split[-1] = False
    here = np.arange(nodes, dtype=np.int32)
    chain = TreeArrays.leaves(np.zeros(nodes))._replace(
        feature=np.where(split, 0, -1).astype(np.int32),
        left=np.where(split, here + 1, 0).astype(np.int32),
        right=np.where(split, here + 2, 0).astype(np.int32),
        roots=np.zeros(1, dtype=np.int32),
        output=np.zeros(1, dtype=np.int32),
    )
    with pytest.raises(ValueError, match="70 splits deep"):
        TreeArrays.restore(chain.tensors(), 1)


@pytest.mark.parametrize("error", [OSError("libgomp.so.1: cannot open"), ModuleNotFoundError("lightgbm")])
def test_without_lightgbm_sums_work_and_a_sentence_names_the_remedy(error, monkeypatch):
    values = counts()
    y = targets_of(values)["two classes"]
    target = target_of(y)
    saved = StackedHead().fit(inputs_of(values), target.encode(y), target)

    class Missing:
        def find_spec(self, name, path=None, target=None):
            if name == "lightgbm":
                raise error

    monkeypatch.delitem(sys.modules, "lightgbm")
    monkeypatch.setattr(sys, "meta_path", [Missing(), *sys.meta_path])
    with pytest.raises(MissingDependencyError, match="lightgbm.*use head='linear'"):
        StackedHead().fit(inputs_of(values), target.encode(y), target)
    LinearHead().fit(inputs_of(values), target.encode(y), target)
    again = StackedHead.restore(saved.tensors())  # a trained model needs no LightGBM
    np.testing.assert_array_equal(again.outputs(inputs_of(values)), saved.outputs(inputs_of(values)))
