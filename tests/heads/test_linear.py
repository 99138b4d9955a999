"""Ridge regression in closed form against refitting with scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import Ridge

from isonn.heads import PENALTIES, Inputs, LinearHead, linear
from isonn.heads.data import Distinct
from isonn.heads.folds import grouped_folds
from isonn.targets import Classes, Numbers


def numbers(columns):
    """A target that leaves numbers as they are."""
    return Numbers(np.zeros(columns), np.ones(columns), columns == 1)


def refitted(features, wanted, weights, penalty, out):
    """Predict some rows by ridge regression on the others; weights have mean 1."""
    rest = np.setdiff1d(np.arange(len(wanted)), out)
    ridge = Ridge(alpha=penalty).fit(features[rest], wanted[rest], (weights / weights.mean())[rest])
    return ridge.predict(features[out]).reshape(len(out), -1)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("size", [1, 3])
def test_held_out_is_fitting_without_each_group(size, weighted, columns):
    generator = np.random.default_rng(columns)
    features, wanted = generator.random((12, 6)), generator.normal(size=(12, columns))
    weights = generator.random(12) + 0.5 if weighted else np.ones(12)
    table, groups = csr_array(features), np.arange(12) // size
    head = LinearHead().fit(Inputs(table, table, groups=groups), wanted, numbers(columns), weights)
    for group in range(12 // size):
        out = np.flatnonzero(groups == group)
        expected = refitted(features, wanted, weights, head.penalties[0], out)
        np.testing.assert_allclose(head.held_out[out], expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("most", [(1500, 8000), (20, 8000), (20, 30)], ids=["eigen", "dual", "primal"])
def test_held_out_is_fitting_without_each_fold(most, monkeypatch):
    monkeypatch.setattr(linear, "PENALTY_GRAPHS", most[0])
    monkeypatch.setattr(linear, "DUAL_GRAPHS", most[1])
    monkeypatch.setattr("isonn.ridge.TOLERANCE", 1e-14)
    generator = np.random.default_rng(0)
    features, wanted = generator.random((40, 5)), generator.normal(size=(40, 1))
    inputs = Inputs.of(csr_array(features))
    distinct = Distinct.of(inputs)
    folds = grouped_folds(distinct, wanted, numbers(1), seed=0)
    head = LinearHead().fit(inputs, wanted, numbers(1), folds=folds)
    for fold in range(10):
        out = np.flatnonzero(folds[distinct.graph] == fold)
        expected = refitted(features, wanted, np.ones(40), head.penalties[0], out)
        np.testing.assert_allclose(head.held_out[out], expected, atol=1e-5)


@pytest.mark.parametrize("size", [1, 3])
def test_the_penalty_has_the_least_held_out_error_of_all(size):
    generator = np.random.default_rng(0)
    features, y, groups = generator.random((15, 8)), generator.normal(size=(15, 1)), np.arange(15) // size
    head = LinearHead().fit(Inputs(csr_array(features), csr_array(features), groups=groups), y, numbers(1))

    def loss(penalty):
        outs = [np.flatnonzero(groups == group) for group in np.unique(groups)]
        return np.mean([(refitted(features, y, np.ones(15), penalty, out) - y[out]) ** 2 for out in outs])

    losses = [loss(penalty) for penalty in PENALTIES.tolist()]
    assert head.penalties == [PENALTIES[int(np.argmin(losses))]]
    assert head.loss == pytest.approx(min(losses))


def test_equal_graphs_weigh_as_one_of_their_mean():
    generator = np.random.default_rng(3)
    features, wanted = generator.random((12, 6)), generator.normal(size=(18, 1))
    rows = np.concatenate([np.arange(12), np.arange(6)])
    head = LinearHead().fit(Inputs.of(csr_array(features[rows])), wanted, numbers(1))
    means = np.array([wanted[rows == i].mean() for i in range(12)])
    weights = np.bincount(rows).astype(float)
    ridge = Ridge(alpha=head.penalties[0]).fit(features, means, weights / weights.mean())
    np.testing.assert_allclose(head.coef[0], ridge.coef_, rtol=1e-7)


def test_a_column_with_gaps_is_fitted_on_what_was_measured_with_its_own_penalty():
    generator = np.random.default_rng(2)
    features, y = csr_array(generator.random((20, 6))), generator.normal(size=(20, 3))
    y[:, 0] = features.toarray() @ generator.normal(size=6)  # next to no noise: a small penalty
    y[:4, 1] = np.nan
    together = LinearHead().fit(Inputs.of(features), y, numbers(3))
    rows = np.flatnonzero(np.isfinite(y[:, 1]))
    alone = LinearHead().fit(Inputs.of(csr_array(features[rows])), y[rows, 1:2], numbers(1))
    assert together.penalties[1] == alone.penalties[0] != together.penalties[0]
    np.testing.assert_allclose(together.coef[1], alone.coef[0])
    np.testing.assert_allclose(together.held_out[rows, 1], alone.held_out[:, 0], rtol=1e-9)
    assert np.isnan(together.held_out[:4, 1]).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_many_graphs_are_solved_for_directly_with_the_same_weights(weighted, monkeypatch):
    generator = np.random.default_rng(2)
    features, y = csr_array(generator.random((40, 7))), generator.normal(size=(40, 2))
    weights = generator.random(40) + 0.5 if weighted else None
    monkeypatch.setattr(linear, "PENALTY_GRAPHS", 30)
    dual = LinearHead().fit(Inputs.of(features), y, numbers(2), weights, 0)
    monkeypatch.setattr(linear, "DUAL_GRAPHS", 35)
    primal = LinearHead().fit(Inputs.of(features), y, numbers(2), weights, 0)
    np.testing.assert_equal(primal.penalties, dual.penalties)
    np.testing.assert_allclose(primal.coef, dual.coef, atol=1e-4)
    np.testing.assert_allclose(primal.intercept, dual.intercept, atol=1e-4)
    np.testing.assert_allclose(primal.held_out, dual.held_out, atol=1e-4)


def test_the_score_is_continuous_where_the_solver_changes(monkeypatch):
    """Below and above the limit, held-out outputs come from folds that are fitted on all other graphs."""
    generator = np.random.default_rng(4)
    features = generator.random((410, 30)) * (generator.random((410, 30)) < 0.3)
    y = (features @ generator.normal(size=30) + generator.normal(size=410) > 0).astype(int)
    monkeypatch.setattr(linear, "PENALTY_GRAPHS", 100)
    monkeypatch.setattr(linear, "DUAL_GRAPHS", 400)
    scores = []
    for n in (390, 410):
        head = LinearHead().fit(Inputs.of(csr_array(features[:n])), y[:n], Classes(np.arange(2)))
        assert np.isfinite(head.held_out).all()
        scores.append(np.mean(head.held_out.argmax(axis=1) == y[:n]))
    assert abs(scores[0] - scores[1]) < 0.03


def test_of_very_many_graphs_a_tenth_is_held_out_and_copies_count_once(monkeypatch):
    monkeypatch.setattr(linear, "PENALTY_GRAPHS", 30)
    monkeypatch.setattr(linear, "DUAL_GRAPHS", 40)
    monkeypatch.setattr(linear, "MANY_GRAPHS", 50)
    monkeypatch.setattr("isonn.heads.folds.MANY_GRAPHS", 50)
    monkeypatch.setattr("isonn.ridge.TOLERANCE", 1e-14)
    generator = np.random.default_rng(5)
    features, wanted = generator.random((100, 5)), generator.normal(size=(100, 1))
    rows = np.concatenate([generator.permutation(100), np.arange(10)])
    head = LinearHead().fit(Inputs.of(csr_array(features[rows])), wanted[rows], numbers(1))
    weights = np.bincount(rows).astype(float)
    out = np.flatnonzero(np.isfinite(head.held_out[np.argsort(rows[:100]), 0]))
    assert 2 < len(out) < 25
    expected = refitted(features, wanted, weights, head.penalties[0], out)
    np.testing.assert_allclose(head.held_out[np.argsort(rows[:100])][out], expected, atol=1e-5)
    ridge = Ridge(alpha=head.penalties[0]).fit(features, wanted, weights / weights.mean())
    np.testing.assert_allclose(head.coef[0], ridge.coef_.ravel(), atol=1e-5)
