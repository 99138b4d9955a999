from __future__ import annotations

import pytest
import torch
from torch import nn

from isonn.errors import TrainingError
from isonn.training import EarlyStopping, Schedule, Settled, train


def problem():
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(30, 4, generator=generator)
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    return model, inputs, (inputs[:, 0] > 0).long()


def run(epochs, batch_size=7, patience=None):
    model, inputs, targets = problem()
    generator = torch.Generator().manual_seed(2)
    schedule = Schedule(epochs, 0.01, batch_size, patience)
    return model, train(model, inputs, targets, nn.CrossEntropyLoss(), schedule, generator)


def test_the_loss_falls():
    _, history = run(40)
    assert history.loss[-1] < 0.5 * history.loss[0]
    assert len(history.seconds) == 40


def test_one_full_batch_step_is_one_step_of_adam():
    model, _ = run(1, batch_size=None)
    other, inputs, targets = problem()
    optimizer = torch.optim.Adam(other.parameters(), lr=0.01, fused=True)
    nn.functional.cross_entropy(other(inputs), targets).backward()
    optimizer.step()
    torch.testing.assert_close(dict(model.state_dict()), dict(other.state_dict()), rtol=0, atol=0)


def test_early_stopping_is_off_by_default_and_stops_when_asked():
    assert len(run(30, batch_size=None)[1]) == 30
    stopping = EarlyStopping(3)
    assert [stopping.update(loss) for loss in (1.0, 0.5, 0.5, 0.6, 0.7, 0.1)] == [False] * 4 + [True, False]


@pytest.mark.parametrize(("patience", "rule"), [(1, EarlyStopping(1)), ("settled", Settled())])
def test_training_ends_with_the_epoch_in_which_its_rule_stops(patience, rule):
    _, history = run(600, batch_size=2, patience=patience)
    assert 1 < len(history) < 600
    assert [rule.update(loss) for loss in history.loss] == [False] * (len(history) - 1) + [True]


@pytest.mark.parametrize(
    ("value", "rate", "sentence"),
    [
        (1.0, float("inf"), "weights are not finite in epoch 1; use a learning_rate below inf"),
        (float("nan"), 0.01, "loss became nan in epoch 1; use a learning_rate below 0.01"),
    ],
)
def test_training_that_diverges_names_the_learning_rate(value, rate, sentence):
    model, inputs, targets = problem()
    inputs[3, 0] = value
    with pytest.raises(TrainingError, match=sentence):
        train(model, inputs, targets, nn.CrossEntropyLoss(), Schedule(1, rate), torch.Generator())


def stops_at(losses):
    rule = Settled()
    return next((epoch for epoch, loss in enumerate(losses, start=1) if rule.update(loss)), None)


def test_a_loss_has_settled_when_it_has_fallen_and_falls_no_more():
    falling = [0.7 * 0.95**epoch for epoch in range(400)]
    stopped = stops_at(falling)
    assert falling[stopped - 1] < 0.02
    assert falling[stopped - 26] - falling[stopped - 1] < 0.014  # a window and the step that began it
    assert stops_at([0.693] * 1000) is None  # a network that has not begun to learn has not settled
    assert abs(stops_at([0.693] * 300 + falling) - 300 - stopped) < 25  # a plateau at the start is not the end
    assert stops_at([50.0, 20.0, 5.0, 1.0] + [0.5] * 100) < 40  # a bad start does not widen what counts as a fall
    assert stops_at([1e-3 * loss for loss in falling]) == stopped  # nor does the unit of a small loss
