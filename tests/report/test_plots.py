"""Figures: what is drawn, and that the same rows give the same files."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from isonn.errors import MissingDependencyError
from isonn.experiments.rows import Row, Spread
from isonn.experiments.spec import Sweep
from isonn.report.plots import plot_sweep

pytest.importorskip("matplotlib", reason="plots are part of the extra report")

ROW = Row("A", "isonn", {"k": 2, "epochs": 10}, "paper", {}, None, None, 6, 6, ())


def row(k: int, accuracy: float = 70.0, seconds: float = 1.0, **changes: object) -> Row:
    spread = Spread(accuracy, 2.0, {0: accuracy - 2, 1: accuracy + 2})
    settings = {"k": k, "epochs": 10}
    return replace(ROW, settings=settings, metrics={"accuracy": spread}, fit_seconds=seconds, **changes)  # type: ignore[arg-type]


ACCURACY = Sweep("by-k", "Accuracy & k", "accuracy", "k", (2, 3), paper={"A": 3})
SECONDS = Sweep("time", "Time", "seconds", "k", (2, 3))
LOSS = Sweep("loss", "Loss", "loss", paper={"A": 50})


def texts(svg: Path) -> list[str]:
    return [re.sub("<[^>]+>", "", text) for text in re.findall(r"<text.*?</text>", svg.read_text(), re.DOTALL)]


def test_accuracies_have_a_panel_per_dataset_and_the_papers_best_value(tmp_path: Path) -> None:
    png = plot_sweep(ACCURACY, [row(2), row(3, 75.0), row(2, dataset="B"), row(3, dataset="B")], tmp_path)
    assert png == tmp_path / "by-k.png"
    assert png.read_bytes()[:4] == b"\x89PNG"
    shown = texts(tmp_path / "by-k.svg")
    assert [shown.count(text) for text in ("A, 2 seeds", "B, 2 seeds")] == [1, 1]
    assert sum("best k" in text for text in shown) == 1  # the paper has no B
    assert "Accuracy &amp; k" in shown


def test_times_share_a_panel_are_per_epoch_and_on_a_log_axis_when_they_span_a_decade(tmp_path: Path) -> None:
    plot_sweep(SECONDS, [row(2, seconds=1.0), row(3, seconds=50.0), row(2, dataset="B"), row(3, dataset="B")], tmp_path)
    shown = texts(tmp_path / "time.svg")
    assert {"A", "B", "seconds per epoch", "0.1", "1"} <= set(shown)
    assert "0.0" not in shown


def test_losses_go_by_epoch(tmp_path: Path) -> None:
    curve = tuple(1 / (1 + epoch) ** 2 for epoch in range(60))
    plot_sweep(LOSS, [replace(ROW, loss=curve)], tmp_path)
    assert {"epoch", "training loss", "settled"} <= set(texts(tmp_path / "loss.svg"))


@pytest.mark.parametrize("sweep", [ACCURACY, SECONDS])
def test_the_same_rows_give_the_same_files(sweep: Sweep, tmp_path: Path) -> None:
    for folder in ("one", "other"):
        plot_sweep(sweep, [row(2), row(3, 75.0)], tmp_path / folder)
    for kind in ("png", "svg"):
        name = f"{sweep.name}.{kind}"
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()
    assert "<dc:date>" not in (tmp_path / "one" / f"{sweep.name}.svg").read_text()


def test_nothing_known_draws_nothing(tmp_path: Path) -> None:
    assert plot_sweep(ACCURACY, [ROW], tmp_path) is None
    assert plot_sweep(LOSS, [row(2)], tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependencyError, match=r"a plot needs matplotlib.*isonn\[report\]"):
        plot_sweep(ACCURACY, [row(2)], tmp_path)
