"""The templates that mark a class: the rise of the held-out loss without them, by its definition."""

from __future__ import annotations

import numpy as np
import pytest
from coded_graphs import TARGETS, fitted
from scipy.sparse import csr_array

import isonn
from isonn.heads import Inputs, LinearHead
from isonn.subgraphs import marks
from isonn.subgraphs.marks import class_marks, presence_by_class
from isonn.targets import Classes, Numbers


def columns(g=120, p=12):
    """Columns that are not alike, so that each is a group of its own."""
    generator = np.random.default_rng(0)
    return generator.random((g, p)) * (generator.random((g, p)) < 0.5)


def rise_by_definition(features, weight, margin, truth, loss):
    shift = features * weight
    return (loss(margin - shift + shift.mean(), truth) - loss(margin, truth)).mean()


def test_the_effect_is_the_rise_of_the_held_out_log_loss(monkeypatch):
    features = columns()
    y = (features[:, 3] + features[:, 7] > 0.6).astype(int)
    target = Classes.fit(y)
    head = LinearHead().fit(Inputs.of(csr_array(features)), target.encode(y), target)
    found = class_marks(csr_array(features), head, target.encode(y), target, np.ones(12, dtype=bool), 0)
    margin = head.held_out[:, 1] - head.held_out[:, 0]
    unit = 1 / margin.std()
    for output, sign in ((0, -1), (1, 1)):
        weights = np.maximum(sign * (head.coef[1] - head.coef[0]), 0) * unit
        truth = np.where(y == output, 1.0, -1.0)
        effects = [
            rise_by_definition(
                features[:, c], weights[c], sign * margin * unit, truth, lambda m, t: np.logaddexp(0, -t * m)
            )
            for c in range(12)
        ]
        mine = [mark for mark in found if mark.output == output]
        assert {mark.column for mark in mine} == {c for c in range(12) if effects[c] > 0}
        for mark in mine:
            assert (mark.alike, mark.effect) == (1, pytest.approx(effects[mark.column], rel=1e-9))
            assert mark.weight == pytest.approx(weights[mark.column] / unit)
            assert all(features[i, mark.column] > 0 for i in mark.examples)
        assert [mark.effect for mark in mine] == sorted((mark.effect for mark in mine), reverse=True)
    assert {mark.column for mark in found if mark.output == 1} >= {3, 7}


def test_the_effect_for_numbers_is_the_rise_of_the_squared_error():
    features = columns()
    y = 3 * features[:, 2] - 2 * features[:, 5]
    target = Numbers.fit(y)
    head = LinearHead().fit(Inputs.of(csr_array(features)), target.encode(y), target)
    found = class_marks(csr_array(features), head, target.encode(y), target, np.ones(12, dtype=bool), 0)
    for mark in found[:2]:
        margin, truth = (target.margin(np.asarray(v), 0) for v in (head.held_out, target.encode(y)))
        effect = rise_by_definition(features[:, mark.column], mark.weight, margin, truth, lambda m, t: (m - t) ** 2)
        assert mark.effect == pytest.approx(effect, rel=1e-9)
    assert [(mark.column, mark.weight > 0) for mark in found[:2]] == [(2, True), (5, False)]


def test_equal_columns_are_one_mark_and_labelled_ones_come_first():
    features = columns()
    features = np.column_stack([features, features[:, 3]])
    y = (features[:, 3] > 0.2).astype(int)
    target = Classes.fit(y)
    head = LinearHead().fit(Inputs.of(csr_array(features)), target.encode(y), target)
    labelled = np.arange(13) < 12
    found = class_marks(csr_array(features), head, target.encode(y), target, labelled, 0)
    first = next(mark for mark in found if mark.output == 1)
    assert (first.column, first.alike) == (3, 2)
    assert 12 not in {mark.column for mark in found}


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_templates_that_are_not_measured_would_not_mark_a_class(graphs, kind, monkeypatch):
    monkeypatch.setattr(marks, "COLUMNS_AT_ONCE", 10**6)  # all are measured
    every = fitted(graphs, kind).reasons_
    monkeypatch.setattr(marks, "COLUMNS_AT_ONCE", 1)  # none that its bound rules out
    assert repr(fitted(graphs, kind).reasons_) == repr(every)


@pytest.mark.parametrize("at_once", [1, 7, 2**16])
def test_presence_counts_the_graphs_of_each_class_that_hold_a_template(at_once, monkeypatch):
    monkeypatch.setattr(marks, "GRAPHS_AT_ONCE", at_once)
    features = columns(20)
    y = np.arange(20) % 3
    held, of = presence_by_class(csr_array(features), y, Classes.fit(y), 10)
    np.testing.assert_array_equal(held, [(features[y == c, :10] > 0).sum(axis=0) for c in range(3)])
    assert of.tolist() == [7, 7, 6]


@pytest.mark.parametrize("kind", TARGETS)
def test_reasons_count_the_training_graphs_that_hold_them(graphs, kind):
    model = fitted(graphs, kind)
    held, y = model.vectorizer_.transform(graphs).toarray() > 0, TARGETS[kind]
    assert any(model.reasons_.values())
    for value, reasons in model.reasons_.items():
        assert len({(reason.column, reason.weight > 0) for reason in reasons}) == len(reasons)
        for reason in reasons:
            assert reason.explained == value
            assert reason.text == model.templates_[reason.column].text()
            for other, counts in reason.graphs.items():
                member = y[:, other] == 1 if kind == "labels" else y == other
                member = np.ones(len(graphs), dtype=bool) if kind.startswith("number") else member
                assert counts == (int(held[member, reason.column].sum()), int(member.sum()))


def test_the_planted_piece_marks_its_class(graphs):
    reasons = fitted(graphs).reasons_
    assert any("O" in reason.text for reason in reasons[1])
    assert not any("O" in reason.text for reason in reasons[0])


def test_different_pieces_of_molecules_read_differently(mutag):
    clf = isonn.SubgraphClassifier(random_state=0).fit(mutag)
    texts = [reason.text for reasons in clf.reasons_.values() for reason in reasons]
    assert len(set(texts)) == len(texts)
    assert any("=" in text or ":" in text for text in texts)  # bonds as chemists write them
