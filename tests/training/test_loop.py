from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import nn

from isonn.errors import ModelFileError, TrainingError
from isonn.files import atomic_file
from isonn.training import Checkpoint, EarlyStopping, Schedule, Settled, checkpoint, train


def problem():
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(30, 4, generator=generator)
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    return model, inputs, (inputs[:, 0] > 0).long()


def run(epochs, checkpoint=None, batch_size=7, patience=None, **options):
    model, inputs, targets = problem()
    generator = torch.Generator().manual_seed(2)
    schedule = Schedule(epochs, 0.01, batch_size, patience)
    return model, train(model, inputs, targets, nn.CrossEntropyLoss(), schedule, generator, checkpoint, **options)


def assert_same_run(one, other):
    torch.testing.assert_close(dict(one[0].state_dict()), dict(other[0].state_dict()), rtol=0, atol=0)
    assert one[1].loss == other[1].loss


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


@pytest.mark.parametrize("stop", [1, 5, 9])
def test_a_stopped_run_goes_on_to_the_same_bits(stop, tmp_path):
    path = tmp_path / "run.checkpoint"
    run(stop, Checkpoint(path, "same", every=0))
    assert_same_run(run(10, Checkpoint(path, "same", every=0, resume=True)), run(10))


def test_ctrl_c_finishes_the_epoch_and_keeps_it(tmp_path):
    path = tmp_path / "run.checkpoint"

    def press(done, text):
        if done == 4:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run(10, Checkpoint(path, "same", every=1e9), report=press)
    resumed = run(10, Checkpoint(path, "same", resume=True))
    assert_same_run(resumed, run(10))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_resuming_without_a_checkpoint_starts_from_the_beginning(tmp_path):
    assert_same_run(run(3, Checkpoint(tmp_path / "none", "same", resume=True)), run(3))


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    path = tmp_path / "run.checkpoint"
    run(2, Checkpoint(path, "this", every=0))
    with pytest.raises(ModelFileError, match="other data or settings"):
        run(4, Checkpoint(path, "that", resume=True))


def test_a_checkpoint_of_more_epochs_than_asked_for_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(Checkpoint, "due", lambda self: True)
    saved = Checkpoint(tmp_path / "run.checkpoint", "same", resume=True, every=0)
    run(5, saved)
    with pytest.raises(ModelFileError, match=r"has 5 epochs, more than epochs=3; use epochs >= 5"):
        run(3, saved)
    assert_same_run(run(5, saved), run(5))


def test_a_damaged_checkpoint_is_refused(tmp_path):
    path = tmp_path / "run.checkpoint"
    run(2, Checkpoint(path, "this", every=0))
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(ModelFileError, match="cannot be read.*remove it to start again"):
        run(4, Checkpoint(path, "this", resume=True))


def test_every_flipped_bit_is_refused_in_one_sentence(tmp_path):
    path = tmp_path / "run.checkpoint"
    run(2, Checkpoint(path, "this", every=0))
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for bit in rng.choice(8 * len(whole), 150, replace=False).tolist() + list(range(0, 64, 5)):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        with pytest.raises(ModelFileError, match=r"remove it to start again$") as refused:
            run(4, Checkpoint(path, "this", resume=True))
        assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"history": "{"},
        {"history": "[]"},
        {"history": '{"loss": [1], "seconds": []}'},
        {"history": '{"loss": ["a", "b"], "seconds": [1, 1]}'},
        {"history": '{"loss": [NaN, 1], "seconds": [1, 1]}'},
        {"generator": torch.zeros(3)},
        {"generator": None},
        {"model.0.weight": torch.zeros(2, 2)},
        {"optimizer.0.exp_avg": torch.zeros(9)},
        {"optimizer.77.exp_avg": torch.zeros(8, 4)},
        {"optimizer.x.exp_avg": torch.zeros(8, 4)},
    ],
    ids=str,
)
def test_an_altered_checkpoint_with_a_right_checksum_is_refused(change, tmp_path):
    path = tmp_path / "run.checkpoint"
    run(2, Checkpoint(path, "this", every=0))
    with safe_open(path, framework="pt") as file:
        header, tensors = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    del header["sha256"]
    for name, value in change.items():
        if isinstance(value, str):
            header[name] = value
        elif value is None:
            del tensors[name]
        else:
            tensors[name] = value
    save_file(tensors, path, {**header, "sha256": checkpoint._digest(header, tensors)})
    with pytest.raises(ModelFileError, match="remove it to start again"):
        run(4, Checkpoint(path, "this", resume=True))


@pytest.mark.skipif(sys.platform == "win32", reason="no locks, so temporary files are left alone")
def test_temporary_files_of_killed_runs_are_removed_and_those_in_use_are_not(tmp_path):
    path = tmp_path / "run.checkpoint"
    stray, folder = tmp_path / ".run.checkpoint.abcdefgh", tmp_path / ".run.checkpoint.12345678"
    stray.touch()
    folder.mkdir()
    with atomic_file(path) as used:
        used.write_text("whole")
        run(2, Checkpoint(path, "this", every=1e9))
        assert used.exists()
        assert not stray.exists()
        assert not folder.exists()
    assert path.read_text() == "whole"


def test_a_failing_save_leaves_the_older_checkpoint_whole(tmp_path, monkeypatch):
    path = tmp_path / "run.checkpoint"
    run(2, Checkpoint(path, "this", every=0))
    before = path.read_bytes()

    write = Path.write_bytes

    def fail(target, data):
        write(target, data[: len(data) // 2])
        raise OSError("no space left")

    monkeypatch.setattr(Path, "write_bytes", fail)
    with pytest.raises(ModelFileError, match=r"cannot be written \(no space left\); free some space and resume"):
        run(4, Checkpoint(path, "this", every=0, resume=True))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_early_stopping_is_off_by_default_and_stops_when_asked():
    assert len(run(30, batch_size=None)[1]) == 30
    stopping = EarlyStopping(3)
    assert [stopping.update(loss) for loss in (1.0, 0.5, 0.5, 0.6, 0.7, 0.1)] == [False] * 4 + [True, False]


def test_a_run_that_stopped_early_stays_stopped_when_resumed(tmp_path):
    path = tmp_path / "run.checkpoint"
    options = {"patience": 1, "batch_size": 2}
    _, history = run(200, Checkpoint(path, "same", every=0), **options)
    assert len(history) < 200
    _, again = run(200, Checkpoint(path, "same", resume=True), **options)
    assert again.loss == history.loss


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


def test_settled_training_resumes_to_the_same_end(tmp_path):
    x, y = torch.linspace(-1, 1, 16)[:, None], torch.linspace(-2, 2, 16)[:, None]

    def run(epochs, checkpoint=None):
        model = torch.nn.Linear(1, 1)
        torch.nn.init.zeros_(model.weight)
        torch.nn.init.zeros_(model.bias)
        schedule = Schedule(epochs, learning_rate=0.1, patience="settled")
        return train(model, x, y, nn.functional.mse_loss, schedule, torch.Generator(), checkpoint)

    whole = run(300)
    assert 25 < len(whole) < 300
    saved = Checkpoint(tmp_path / "run", "id", resume=True, every=0)
    run(10, saved)
    assert run(300, saved).loss == whole.loss
