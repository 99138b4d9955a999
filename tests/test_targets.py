"""Targets: one contract for all kinds, and one registered from outside."""

from __future__ import annotations

import json

import numpy as np
import pytest

import isonn
from isonn.errors import InputError
from isonn.targets import TARGETS, Classes, Labels, Numbers, Target, register_target, target_from

GAP = np.nan


class Decades(Target):
    """Positive numbers, learned on a logarithmic scale: a target from outside."""

    name = "decades"
    numeric = True

    def __init__(self):
        self.classes = np.array([0])

    @classmethod
    def fit(cls, y):
        return cls()

    def encode(self, y):
        return np.log10(y)[:, None]

    def decode(self, codes):
        return self.decide(self.link(codes))

    def link(self, outputs):
        return 10.0**outputs

    def decide(self, answers):
        return answers[:, 0]

    def margin(self, outputs, column):
        return outputs[..., column]

    def loss(self):
        from torch import nn

        return nn.MSELoss()


KINDS = {
    "classes": (Classes, np.array(["a", "b", "a", "c"])),
    "two classes": (Classes, np.array([-1, 1, 1, -1])),
    "labels": (Labels, np.array([[0, 1], [1, GAP], [1, 1], [GAP, 0]])),
    "a number": (Numbers, np.array([1.0, -2.5, 3.25, 8.0])),
    "numbers": (Numbers, np.array([[1.0, GAP], [2.0, 5.0], [GAP, 7.0], [0.5, 6.0]])),
    "from outside": (Decades, np.array([1.0, 0.25, 1000.0, 7.0])),
}


@pytest.fixture
def decades():
    register_target(Decades)
    yield
    del TARGETS[Decades.name]


@pytest.mark.parametrize("kind", KINDS)
def test_every_target_keeps_the_contract(kind, decades):
    cls, y = KINDS[kind]
    target = cls.fit(y)
    codes = target.encode(y)
    assert len(codes) == len(y)
    decoded = target.decode(codes).reshape(y.shape)
    assert_same = np.testing.assert_array_equal if y.dtype.kind == "U" else np.testing.assert_allclose
    assert_same(decoded, y)
    assert target.columns(codes).shape[1] in (target.outputs, 1)
    outputs = np.random.default_rng(0).normal(size=(4, target.outputs))
    answers = target.link(outputs)
    assert answers.shape == outputs.shape
    predicted = target.decide(answers)
    assert predicted.shape == y.shape
    # a margin is linear in the outputs, whichever class it is about: explanations rest on that
    for column in range(target.outputs):
        zero = target.margin(np.zeros(target.outputs), column)
        weights = np.array([target.margin(row, column) - zero for row in np.eye(target.outputs)])
        np.testing.assert_allclose(target.margin(outputs, column), outputs @ weights + zero)
        assert weights[column] > 0
    same = target_from(json.loads(json.dumps(target.describe())))
    assert type(same) is cls
    np.testing.assert_array_equal(same.classes, target.classes)
    np.testing.assert_array_equal(same.link(outputs), answers)
    np.testing.assert_array_equal(same.decide(answers), predicted)


def test_an_estimator_learns_and_explains_a_target_from_outside(mutag):
    class DecadesRegressor(isonn.SubgraphRegressor):
        def _make_target(self, y):
            return Decades.fit(y)

    y = 10.0 ** (mutag.sizes / 5 - 3.5)  # the logarithm has both signs, so it is learned as it is
    own = DecadesRegressor(max_nodes=2, head="linear", random_state=0).fit(mutag, y)
    plain = isonn.SubgraphRegressor(max_nodes=2, head="linear", random_state=0).fit(mutag, np.log10(y))
    np.testing.assert_allclose(np.log10(own.predict(mutag)), plain.predict(mutag), atol=1e-9)
    assert own.held_out_score_["mae"] > 0
    assert own.score(mutag, y) > 0.9
    e = own.explain(mutag[0])
    assert e.score == pytest.approx(np.log10(own.predict(mutag[:1])[0]))
    rest = sum(part.contribution for part in e.absent + e.terms)
    assert e.node_importance.sum() + rest == pytest.approx(e.score - e.base)
    assert e.reasons


@pytest.mark.parametrize("kind", KINDS)
def test_the_loss_is_finite_whatever_the_gaps(kind, decades):
    torch = pytest.importorskip("torch")
    cls, y = KINDS[kind]
    target = cls.fit(y)
    outputs = torch.zeros(4, target.outputs, dtype=torch.float64, requires_grad=True)
    loss = target.loss()(outputs, torch.as_tensor(target.encode(y)))
    loss.backward()
    assert torch.isfinite(outputs.grad).all()


def test_numbers_come_back_in_their_units():
    y = np.array([[3.0, 1e6], [5.0, GAP], [GAP, 2e6]])
    target = Numbers.fit(y)
    np.testing.assert_allclose(target.link(target.encode(y)), y)
    np.testing.assert_allclose(np.nanmean(target.encode(y), axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(np.nanstd(target.encode(y), axis=0), 1)


@pytest.mark.parametrize(
    ("cls", "y", "complaint"),
    [
        (Classes, np.array([0.5, 1.0, 2.0]), "measurements such as 0.5, not classes; use the regressor"),
        (Classes, np.array([1, 1]), "one class only"),
        (Classes, np.array([1e20, 1e30]), r"y holds 1e\+20, beyond 2\*\*53; use smaller numbers, or strings"),
        (Classes, np.array([2**53 + 1, 2**53, 1.0]), r"y holds 9.0072e\+15, beyond 2\*\*53"),
        (Classes, np.array(["a", None], dtype=object), "give every graph a class"),
        (Labels, np.array([[0, 2], [1, 1]]), "an indicator matrix holds 0 and 1 only"),
        (Labels, np.array([[0, GAP], [1, GAP]]), "column 1 of y has no measured value"),
        (Numbers, np.array(["high", "low"]), "text such as 'high', not numbers; use a classifier"),
        (Numbers, np.array([[GAP, 1.0], [GAP, 2.0]]), "column 0 of y has no measured value"),
        (Numbers, np.array([1.0, np.inf]), "infinity"),
    ],
)
def test_bad_targets_are_refused_in_a_sentence(cls, y, complaint):
    with pytest.raises(InputError, match=complaint):
        cls.fit(y)
