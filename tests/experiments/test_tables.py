"""Summaries, against numpy."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from isonn.experiments.run import Task
from isonn.experiments.spec import Printed, Spec
from isonn.experiments.tables import failures, render, summarize

SPEC = Spec("s", "t", "paper", {"isonn": {"k": 4}}, printed={"A": {"isonn": Printed(83.3, 83.0)}})
SEEDS, FOLDS = 4, 3
TASKS = [
    Task("A", method, settings, "paper", fold, seed, "d")
    for seed in range(SEEDS)
    for method, settings in (("isonn", {"k": 4}), ("isonn", {"k": [3]}), ("size", {}))
    for fold in range(FOLDS)
]


def results_of(tasks: list[Task]) -> dict[str, dict[str, Any]]:
    draw = np.random.default_rng(0)
    return {
        task.id: {
            "metrics": {"accuracy": float(draw.random()), "f1": float(draw.random())},
            "timings": {"fit_seconds": float(draw.random())},
        }
        for task in tasks
    }


def text_of(rows: list[Any], width: int = 120) -> str:
    console = Console(file=StringIO(), width=width)
    console.print(render(rows))
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_a_row_is_the_mean_and_sd_over_seeds_of_means_over_folds() -> None:
    results = results_of(TASKS)
    for row in summarize(TASKS, results, {}, SPEC):
        own = [task for task in TASKS if (task.method, task.settings) == (row.method, row.settings)]
        for metric in ("accuracy", "f1"):
            values = 100 * np.array([results[task.id]["metrics"][metric] for task in own]).reshape(SEEDS, FOLDS)
            spread = getattr(row, metric)
            np.testing.assert_allclose([spread.mean, spread.sd], [values.mean(), values.mean(axis=1).std(ddof=1)])
            np.testing.assert_allclose(list(spread.by_seed.values()), values.mean(axis=1))
        np.testing.assert_allclose(row.fit_seconds, np.mean([results[t.id]["timings"]["fit_seconds"] for t in own]))


def test_rows_are_apart_by_settings_and_only_the_papers_settings_show_its_numbers() -> None:
    rows = summarize(TASKS, results_of(TASKS), {}, SPEC)
    assert [(row.method, row.settings, row.printed) for row in rows] == [
        ("isonn", {"k": 4}, Printed(83.3, 83.0)),
        ("isonn", {"k": [3]}, None),
        ("size", {}, None),
    ]


def test_the_order_in_which_tasks_finished_changes_nothing() -> None:
    results = results_of(TASKS)
    assert summarize(TASKS, dict(reversed(results.items())), {}, SPEC) == summarize(TASKS, results, {}, SPEC)


def test_one_seed_has_no_standard_deviation() -> None:
    (row,) = summarize(TASKS[:FOLDS], results_of(TASKS[:FOLDS]), {}, SPEC)
    assert row.accuracy is not None
    assert row.accuracy.sd is None
    assert str(row.accuracy) == f"{row.accuracy.mean:.1f}"


def test_a_seed_with_a_failed_fold_counts_for_nothing_and_the_failure_is_told() -> None:
    results = results_of(TASKS)
    size = [task for task in TASKS if task.method == "size"]
    del results[size[4].id]
    rows = summarize(TASKS, results, {size[4].id: "too [big]; use less"}, SPEC)
    row = rows[-1]
    assert row.accuracy is not None
    assert list(row.accuracy.by_seed) == [0, 2, 3]
    assert (row.tasks, row.finished) == (12, 11)
    assert failures(rows) == ["size failed in 1 of 12 tasks: too [big]; use less"]


def test_a_method_that_always_fails_has_a_row_without_numbers() -> None:
    errors = {task.id: f"reason {task.fold}" for task in TASKS[:FOLDS]}
    rows = summarize(TASKS[:FOLDS], {}, errors, SPEC)
    assert (rows[0].accuracy, rows[0].fit_seconds) == (None, None)
    assert "failed" in text_of(rows)
    assert failures(rows) == ["isonn failed in 3 of 3 tasks: reason 0 (and 2 other errors)"]


def test_the_terminal_shows_numbers_settings_and_the_paper() -> None:
    rows = summarize(TASKS, results_of(TASKS), {}, SPEC)
    first, second, third = text_of(rows).splitlines()[2:5]
    assert first.split()[:2] == ["isonn", "(k=4)"]
    assert str(rows[0].accuracy) in first
    assert "83.3 / 83.0" in first
    assert "(k=[3])" in second  # brackets are markup to rich
    assert str(rows[2].f1) in third
    assert third.split()[-2] == "-"


def test_rows_survive_json() -> None:
    rows = [row.as_dict() for row in summarize(TASKS, results_of(TASKS), {}, SPEC)]
    back = json.loads(json.dumps(rows, allow_nan=False))
    assert back[0]["printed"] == {"accuracy": 83.3, "f1": 83.0}
    assert back[0]["accuracy"]["mean"] == pytest.approx(rows[0]["accuracy"]["mean"])


def test_a_narrow_terminal_wraps_settings_and_cuts_no_number() -> None:
    settings = {"k": 4, "c": 1, "epochs": 130, "matching": "assigned"}
    tasks = [replace(task, settings=settings) for task in TASKS[: 2 * FOLDS]]
    rows = summarize(tasks, results_of(tasks), {}, SPEC)
    shown = text_of(rows, width=60)
    assert "…" not in shown
    assert str(rows[0].accuracy) in shown
