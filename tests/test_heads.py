"""Heads: ridge with exact leave-one-out against refitting, and one contract for all of them."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import Ridge

import isonn
from isonn import heads
from isonn.errors import InputError
from isonn.heads import HEADS, Head, LinearHead, get_head, register_head
from isonn.targets import Classes, Labels, Numbers

TARGETS = {
    "two classes": np.array(["no", "yes"] * 15)[:30],
    "three classes": np.arange(30) % 3,
    "labels": np.column_stack([np.arange(30) % 2, np.arange(30) % 3 == 0]).astype(float),
    "a number": np.linspace(-1, 2, 30) ** 2,
    "numbers with gaps": np.column_stack([np.linspace(0, 1, 30), np.where(np.arange(30) % 4, np.arange(30), np.nan)]),
}


def target_of(y):
    if y.ndim == 1 and y.dtype.kind != "f":
        return Classes.fit(y)
    return Labels.fit(y) if y.ndim == 2 and np.isin(y, (0, 1)).all() else Numbers.fit(y)


def features_of(y, seed=0, p=40):
    generator = np.random.default_rng(seed)
    values = generator.random((len(y), p)) * (generator.random((len(y), p)) < 0.3)
    values[:, 0] = np.unique(np.nan_to_num(y[:, 0] if y.ndim == 2 else y), return_inverse=True)[1] / 10
    return csr_array(values)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("columns", [1, 2])
def test_leave_one_out_is_fitting_without_each_graph(weighted, columns):
    generator = np.random.default_rng(columns)
    features = csr_array(generator.random((12, 6)))
    wanted = generator.normal(size=(12, columns))
    weights = generator.random(12) + 0.5 if weighted else None
    head = LinearHead().fit(features, wanted, Numbers(np.zeros(columns), np.ones(columns), False), weights)
    penalty = head.penalties[0]
    for i in range(12):
        rest = np.delete(np.arange(12), i)
        ridge = Ridge(alpha=penalty).fit(
            features[rest].toarray(), wanted[rest], None if weights is None else weights[rest]
        )
        expected = ridge.predict(features[[i]].toarray()).reshape(-1)
        np.testing.assert_allclose(head.held_out[i], expected, rtol=1e-8, atol=1e-10)


def test_the_penalty_has_the_least_leave_one_out_error_of_all():
    generator = np.random.default_rng(0)
    features, y = csr_array(generator.random((15, 8))), generator.normal(size=(15, 1))
    head = LinearHead().fit(features, y, Numbers(np.zeros(1), np.ones(1), True))

    def loss(penalty):
        errors = []
        for i in range(15):
            rest = np.delete(np.arange(15), i)
            ridge = Ridge(alpha=penalty).fit(features[rest].toarray(), y[rest])
            errors.append(float((ridge.predict(features[[i]].toarray()) - y[i]).item() ** 2))
        return np.mean(errors)

    losses = [loss(penalty) for penalty in heads.PENALTIES.tolist()]
    assert head.penalties == [heads.PENALTIES[int(np.argmin(losses))]]
    assert head.loss == pytest.approx(min(losses))


def test_a_column_with_gaps_is_fitted_on_what_was_measured():
    generator = np.random.default_rng(1)
    features = csr_array(generator.random((20, 5)))
    y = generator.normal(size=(20, 2))
    y[::3, 1] = np.nan
    target = Numbers(np.zeros(2), np.ones(2), False)
    both = LinearHead().fit(features, y, target)
    known = np.flatnonzero(np.isfinite(y[:, 1]))
    alone = LinearHead().fit(csr_array(features[known]), y[known, 1:], Numbers(np.zeros(1), np.ones(1), True))
    np.testing.assert_allclose(both.coef[1], alone.coef[0], rtol=1e-9)
    np.testing.assert_allclose(both.held_out[known, 1], alone.held_out[:, 0], rtol=1e-9)
    assert np.isnan(both.held_out[::3, 1]).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_many_graphs_are_solved_for_directly_with_the_same_weights(weighted, monkeypatch):
    generator = np.random.default_rng(2)
    features, y = csr_array(generator.random((40, 7))), generator.normal(size=(40, 2))
    weights = generator.random(40) + 0.5 if weighted else None
    target = Numbers(np.zeros(2), np.ones(2), False)
    monkeypatch.setattr(heads, "PENALTY_GRAPHS", 30)
    dual = LinearHead().fit(features, y, target, weights, 0)
    monkeypatch.setattr(heads, "DUAL_GRAPHS", 35)
    primal = LinearHead().fit(features, y, target, weights, 0)
    np.testing.assert_equal(primal.penalties, dual.penalties)
    np.testing.assert_allclose(primal.coef, dual.coef, atol=1e-4)
    np.testing.assert_allclose(primal.intercept, dual.intercept, atol=1e-4)
    assert np.isfinite(primal.held_out).all(axis=1).sum() == 30


class MeanHead(Head):
    """Predicts the mean of the targets: the smallest head there is."""

    name = "mean-of-targets"

    def fit(self, features, targets, target, weights=None, seed=0):
        columns = target.columns(targets)
        mean = np.nanmean(columns, axis=0)
        self.value = mean if len(mean) == target.outputs else np.array([-mean[0], mean[0]])
        return self

    def outputs(self, features):
        return np.tile(self.value, (features.shape[0], 1))

    def tensors(self):
        return {"value": self.value}

    @classmethod
    def restore(cls, tensors):
        head = cls()
        head.value = tensors["value"]
        return head


@pytest.fixture
def toy():
    register_head(MeanHead)
    yield MeanHead
    del HEADS[MeanHead.name]


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("name", [*HEADS, MeanHead.name])
def test_every_head_keeps_the_contract(name, kind, toy, monkeypatch):
    monkeypatch.setattr(heads, "TREES", 10)
    y = TARGETS[kind]
    target, features = target_of(y), features_of(y)
    head = get_head(name)().fit(features, target.encode(y), target, None, 0)
    outputs = head.outputs(features)
    assert outputs.shape == (30, target.outputs)
    assert np.isfinite(outputs).all()
    assert target.decide(target.link(outputs)).shape == y.shape
    again = get_head(name)().fit(features, target.encode(y), target, None, 0)
    np.testing.assert_array_equal(again.outputs(features), outputs)
    restored = get_head(name).restore(head.tensors())
    np.testing.assert_array_equal(restored.outputs(features), outputs)
    parts = np.concatenate([head.outputs(csr_array(features[[i]])) for i in range(30)])
    np.testing.assert_allclose(parts, outputs, rtol=1e-9, atol=1e-12)
    assert head.additive == (head.coefficients() is not None)
    if head.additive:
        weights, intercept = head.coefficients()
        np.testing.assert_allclose(features @ weights.T + intercept, outputs, rtol=1e-9, atol=1e-12)


def test_a_head_from_outside_serves_the_estimator(toy, mutag, tmp_path):
    clf = isonn.SubgraphClassifier(max_nodes=2, head=toy.name, random_state=0).fit(mutag)
    assert set(clf.predict(mutag).tolist()) == {1}  # the larger class
    clf.save(tmp_path / "m")
    np.testing.assert_array_equal(isonn.load_model(tmp_path / "m").predict_proba(mutag), clf.predict_proba(mutag))
    assert not clf.explain(mutag[0]).exact


def test_an_unknown_head_is_refused():
    with pytest.raises(InputError, match="head='tree' is unknown; use one of .*'linear'"):
        get_head("tree")
    path = isonn.as_graphset([networkx.path_graph(3), networkx.path_graph(4)])
    with pytest.raises(InputError, match="head='tree' is unknown"):
        isonn.SubgraphClassifier(head="tree").fit(path, [0, 1])


def test_every_column_keeps_its_own_penalty_where_some_have_gaps():
    generator = np.random.default_rng(2)
    features, y = csr_array(generator.random((20, 6))), generator.normal(size=(20, 3))
    y[:, 0] = features.toarray() @ generator.normal(size=6)  # next to no noise: a small penalty
    y[:4, 1] = np.nan
    together = LinearHead().fit(features, y, Numbers(np.zeros(3), np.ones(3), False))
    rows = np.flatnonzero(np.isfinite(y[:, 1]))
    alone = LinearHead().fit(features[rows], y[rows, 1:2], Numbers(np.zeros(1), np.ones(1), True))
    assert together.penalties[1] == alone.penalties[0] != together.penalties[0]
    np.testing.assert_allclose(together.coef[1], alone.coef[0])


@pytest.mark.parametrize("name", ["linear", "forest", "ensemble"])
def test_a_single_label_has_a_single_output(name, monkeypatch):
    monkeypatch.setattr(heads, "TREES", 10)
    features = csr_array(np.repeat(np.eye(2), 20, axis=0))
    y = np.repeat([[0.0], [1.0]], 20, axis=0)
    outputs = get_head(name)().fit(features, y, Labels.fit(y)).outputs(features)
    assert outputs.shape == (40, 1)
    np.testing.assert_array_equal(outputs > 0, y > 0)
