"""Summaries, against numpy."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from isonn.experiments.jobs import Job
from isonn.experiments.rows import Row, summarize
from isonn.experiments.spec import Spec
from isonn.experiments.statistics import corrected_t_test
from isonn.experiments.tables import failures, markdown, outstanding, remarks

PRINTED = {"accuracy": 83.3, "f1": 83.0}
SPEC = Spec("s", "t", "paper", {"isonn": {"k": 4}}, datasets={"A": {"printed": {"isonn": PRINTED}}})
SEEDS, FOLDS = 4, 3
JOBS = [
    Job("A", method, settings, "paper", fold, seed, "d")
    for seed in range(SEEDS)
    for method, settings in (("isonn", {"k": 4}), ("isonn", {"k": [3]}), ("size", {}))
    for fold in range(FOLDS)
]


def results_of(jobs: list[Job]) -> dict[str, dict[str, Any]]:
    draw = np.random.default_rng(0)
    return {
        job.id: {
            "metrics": {"accuracy": float(draw.random()), "f1": float(draw.random())},
            "timings": {"fit_seconds": float(draw.random())},
            "n_train": 20,
            "n_test": 10,
            "test": [FOLDS * job.seed + job.fold],
            "predictions": [0],
        }
        for job in jobs
    }


def test_a_row_is_the_mean_and_sd_over_seeds_of_means_over_folds() -> None:
    results = results_of(JOBS)
    for row in summarize(JOBS, results, {}, SPEC):
        own = [job for job in JOBS if (job.method, job.settings) == (row.method, row.settings)]
        for metric in ("accuracy", "f1"):
            values = 100 * np.array([results[job.id]["metrics"][metric] for job in own]).reshape(SEEDS, FOLDS)
            spread = row.metrics[metric]
            np.testing.assert_allclose([spread.mean, spread.sd], [values.mean(), values.mean(axis=1).std(ddof=1)])
            np.testing.assert_allclose(list(spread.by_seed.values()), values.mean(axis=1))
        np.testing.assert_allclose(row.fit_seconds, np.median([results[t.id]["timings"]["fit_seconds"] for t in own]))


def test_rows_are_apart_by_settings_and_only_the_papers_settings_show_its_numbers() -> None:
    rows = summarize(JOBS, results_of(JOBS), {}, SPEC)
    assert [(row.method, row.settings, row.printed) for row in rows] == [
        ("isonn", {"k": 4}, PRINTED),
        ("isonn", {"k": [3]}, None),
        ("size", {}, None),
    ]


def test_the_order_in_which_jobs_finished_changes_nothing() -> None:
    results = results_of(JOBS)
    assert summarize(JOBS, dict(reversed(results.items())), {}, SPEC) == summarize(JOBS, results, {}, SPEC)


def test_one_seed_has_no_standard_deviation() -> None:
    (row,) = summarize(JOBS[:FOLDS], results_of(JOBS[:FOLDS]), {}, SPEC)
    assert row.accuracy is not None
    assert row.accuracy.sd is None
    assert str(row.accuracy) == f"{row.accuracy.mean:.1f}"


def test_a_seed_with_a_failed_fold_counts_for_nothing_and_the_failure_is_told() -> None:
    results = results_of(JOBS)
    size = [job for job in JOBS if job.method == "size"]
    del results[size[4].id]
    rows = summarize(JOBS, results, {size[4].id: "too [big]; use less"}, SPEC)
    row = rows[-1]
    assert row.accuracy is not None
    assert list(row.accuracy.by_seed) == [0, 2, 3]
    assert (row.jobs, row.finished) == (12, 11)
    assert failures(rows) == ["size failed in 1 of 12 jobs: too [big]; use less"]


def test_a_method_that_always_fails_has_a_row_without_numbers() -> None:
    errors = {job.id: f"reason {job.fold}" for job in JOBS[:FOLDS]}
    rows = summarize(JOBS[:FOLDS], {}, errors, SPEC)
    assert (rows[0].accuracy, rows[0].fit_seconds) == (None, None)
    assert failures(rows) == ["isonn failed in 3 of 3 jobs: reason 0 (and 2 other errors)"]


def test_rows_survive_json() -> None:
    rows = [row.as_dict() for row in summarize(JOBS, results_of(JOBS), {}, SPEC)]
    back = json.loads(json.dumps(rows, allow_nan=False))
    assert back[0]["printed"] == PRINTED
    assert back[0]["accuracy"]["mean"] == pytest.approx(rows[0]["accuracy"]["mean"])


def with_accuracies(values: dict[str, list[float]]) -> tuple[list[Job], dict[str, dict[str, Any]]]:
    """Two seeds of ``FOLDS`` folds per method with these accuracies, in the order of seeds and folds."""
    jobs, results = [], {}
    for method, accuracies in values.items():
        for i, accuracy in enumerate(accuracies):
            job = Job("A", method, {}, "paper", i % FOLDS, i // FOLDS, "d")
            jobs.append(job)
            results[job.id] = {
                "metrics": {"accuracy": accuracy, "f1": accuracy},
                "timings": {"fit_seconds": 1.0},
                "n_train": 84,
                "n_test": 42,
                "test": [FOLDS * job.seed + job.fold],
            }
    return jobs, results


def test_what_jobs_warned_of_and_several_versions_are_said_once() -> None:
    jobs, results = with_accuracies({"isonn": [0.5] * 2 * FOLDS, "size": [0.5] * 2 * FOLDS})
    for i, job in enumerate(jobs):
        results[job.id] |= {"versions": {"isonn": "1.0"}, "commit": "abc" if i < 5 else None}
        if job.method == "isonn":
            results[job.id]["warnings"] = ["few graphs", *(["once"] if i == 0 else [])]
    rows = summarize(jobs, results, {}, SPEC)
    assert rows[0].as_dict()["warnings"] == {"few graphs": 2 * FOLDS, "once": 1}
    assert remarks(rows) == [
        f"isonn warned {2 * FOLDS} times: few graphs.",
        "isonn warned 1 time: once.",
        f"Results of several versions: isonn 1.0 ({4 * FOLDS} jobs); results.json lists the commits.",
    ]
    assert remarks(rows[1:]) == []


def test_a_warning_with_other_numbers_is_one_line_with_all_methods_and_datasets() -> None:
    rows = [
        Row(dataset, method, {}, "paper", warnings=((f"{i} of 40 nodes of {dataset} are new", 2),))
        for i, (dataset, method) in enumerate(itertools.product(("PTC", "PTC_MR"), ("size", "wl")))
    ]
    assert remarks(rows) == ["size, wl on PTC, PTC_MR warned 8 times, such as: 0 of 40 nodes of PTC are new."]


BASE = [0.70, 0.72, 0.74, 0.71, 0.73, 0.75]
BETTER = [0.90, 0.93, 0.93, 0.91, 0.94, 0.94]
NOISE = [0.60, 0.90, 0.80, 0.95, 0.55, 0.78]


def test_each_method_is_compared_with_isonn_fold_by_fold() -> None:
    jobs, results = with_accuracies({"isonn": BASE, "size": BETTER, "freq": NOISE})
    rows = summarize(jobs, results, {}, SPEC)
    for row, values in zip(rows[1:], (BETTER, NOISE), strict=True):
        assert row.p == pytest.approx(corrected_t_test((np.array(values) - BASE).tolist(), 42 / 84))
    assert rows[0].p is None
    del results[jobs[1].id]  # a fold of isonn that failed is compared with nothing
    rows = summarize(jobs, results, {}, SPEC)
    kept = [0, 2, 3, 4, 5]
    expected = corrected_t_test((np.array(BETTER) - BASE)[kept].tolist(), 42 / 84)
    assert rows[1].p == pytest.approx(expected)


def test_connectomes_are_compared_with_their_own_model_unless_the_table_is_the_papers() -> None:
    jobs, results = with_accuracies({"isonn": BASE, "isonn-aligned": BETTER, "size": NOISE})
    assert {row.against for row in summarize(jobs, results, {}, SPEC)} == {"", "isonn"}
    fair = [replace(job, protocol="fair") for job in jobs]
    moved = {new.id: results[old.id] for new, old in zip(fair, jobs, strict=True)}
    assert {row.against for row in summarize(fair, moved, {}, SPEC)} == {"", "isonn-aligned"}


def test_seeds_that_share_their_test_graphs_are_no_more_than_one_measurement() -> None:
    jobs, results = with_accuracies({"isonn": BASE, "size": NOISE})
    for job in jobs:
        results[job.id]["test"] = [job.fold]  # as of folds released with the data
    by_fold = (np.array(NOISE) - BASE).reshape(-1, FOLDS).mean(axis=0)
    row = summarize(jobs, results, {}, SPEC)[1]
    assert row.p == pytest.approx(corrected_t_test(by_fold.tolist(), 42 / 84))


def test_without_isonn_or_with_two_of_it_nothing_is_compared() -> None:
    jobs, results = with_accuracies({"size": BETTER, "freq": NOISE})
    assert {row.p for row in summarize(jobs, results, {}, SPEC)} == {None}
    assert {row.p for row in summarize(JOBS, results_of(JOBS), {}, SPEC)} == {None}


@pytest.mark.parametrize(
    ("values", "bold"),
    [
        ({"isonn": BASE, "size": BETTER, "freq": NOISE}, {1}),  # the best, and told from isonn
        ({"isonn": BASE, "freq": NOISE}, set()),  # the best, but it may be chance
        ({"isonn": BETTER, "size": BASE}, {0}),  # isonn, told from all
        ({"isonn": BETTER, "size": BASE, "freq": NOISE}, set()),  # isonn, but not told from one
        ({"size": BETTER, "freq": BASE}, set()),  # no test
        ({"isonn": BETTER}, set()),
    ],
)
def test_nothing_is_bold_without_a_test(values: dict[str, list[float]], bold: set[int]) -> None:
    jobs, results = with_accuracies(values)
    assert outstanding(summarize(jobs, results, {}, SPEC)) == bold


def test_nothing_is_bold_in_a_sweep() -> None:
    """All rows are isonn's own, so there is no test."""
    jobs = [job for job in JOBS if job.method == "isonn"]
    assert outstanding(summarize(jobs, results_of(jobs), {}, SPEC)) == set()


def nadeau_bengio(values: list[float], test_to_train: float) -> tuple[float, float]:
    n = len(values)
    half = stats.t.ppf(0.975, 2 / (1 / (n - 1) + test_to_train)) * np.sqrt(
        (1 / n + test_to_train) * np.var(values, ddof=1)
    )
    return np.mean(values) - half, np.mean(values) + half


def test_the_interval_covers_all_folds_and_ends_where_a_percentage_does() -> None:
    jobs, results = with_accuracies({"isonn": BASE, "size": NOISE, "freq": [0.2, 0.2, 0.2, 0.99, 0.99, 0.99]})
    rows = summarize(jobs, results, {}, SPEC)
    assert rows[0].accuracy is not None
    assert rows[0].accuracy.interval == pytest.approx(nadeau_bengio([100 * value for value in BASE], 10 / 20))
    assert rows[2].accuracy is not None
    assert rows[2].accuracy.interval[1] == 100


@pytest.mark.parametrize("seeds", [1, 5])
def test_the_interval_covers_chance_on_pure_noise_with_any_number_of_seeds(seeds: int) -> None:
    draw = np.random.default_rng(seeds)
    jobs = [Job("A", "isonn", {}, "paper", fold, seed, "d") for seed in range(seeds) for fold in range(FOLDS)]
    covered = []
    for _ in range(150):
        points, y = draw.normal(size=(60, 3)), draw.integers(0, 2, 60)
        apart = ((points[:, None] - points) ** 2).sum(-1)
        results = results_of(jobs)
        for seed in range(seeds):
            for fold, test in enumerate(np.array_split(draw.permutation(60), FOLDS)):
                train = np.setdiff1d(np.arange(60), test)
                right = y[train[apart[np.ix_(test, train)].argmin(axis=1)]] == y[test]  # the nearest neighbour
                results[jobs[FOLDS * seed + fold].id] |= {
                    "metrics": {"accuracy": right.mean()},
                    "n_train": 40,
                    "n_test": 20,
                }
        (row,) = summarize(jobs, results, {}, SPEC)
        covered.append(row.accuracy.interval[0] <= 50 <= row.accuracy.interval[1])
    assert np.mean(covered) > 0.9


@pytest.mark.parametrize(
    ("metric", "limits"), [("auroc", (0, 1)), ("mcc", (-1, 1)), ("rmse", (0, None)), ("r2", (None, 1))]
)
def test_intervals_end_where_a_metric_does(metric: str, limits: tuple[float | None, float | None]) -> None:
    jobs, given = with_accuracies({"isonn": [0.1] * FOLDS + [0.9] * FOLDS})
    names = ("rmse", "r2") if metric in ("rmse", "r2") else ("accuracy", metric)
    results = {}
    for job in jobs:
        metrics = dict.fromkeys(names, given[job.id]["metrics"]["accuracy"])
        results[replace(job, protocol="random").id] = {**given[job.id], "metrics": metrics}
    (row,) = summarize([replace(job, protocol="random") for job in jobs], results, {}, SPEC)
    student = nadeau_bengio([0.1] * FOLDS + [0.9] * FOLDS, 10 / 20)
    low, high = (None if limit is None else float(limit) for limit in limits)
    expected = [
        student[0] if low is None else max(low, student[0]),
        student[1] if high is None else min(high, student[1]),
    ]
    assert row.metrics[metric].interval == pytest.approx(expected)


def test_flips_are_averaged_over_the_results_that_have_them() -> None:
    jobs, results = with_accuracies({"isonn": BASE})
    results[jobs[0].id]["audit"] = {"flip_rate": 0.2}
    results[jobs[3].id]["audit"] = {"flip_rate": 0.4}
    (row,) = summarize(jobs, results, {}, SPEC)
    assert row.flip_rate == pytest.approx(30)


def test_choices_are_counted_and_the_papers_number_stays() -> None:
    candidates = ({"k": 2}, {"k": 4})
    jobs = [Job("A", "isonn", {"epochs": 3}, "fair", 0, seed, "d", candidates) for seed in range(3)]
    results = results_of(jobs)
    for job, chosen in zip(jobs, (4, 2, 4), strict=True):
        results[job.id]["chosen"] = {"k": chosen}
    (row,) = summarize(jobs, results, {}, SPEC)
    assert row.chosen == (("k=4", 2), ("k=2", 1))
    assert row.settings_text == "epochs=3, chosen from 2"
    assert row.printed == PRINTED
    assert row.as_dict()["chosen"] == {"k=4": 2, "k=2": 1}


def test_the_loss_is_the_mean_over_jobs_and_settles_when_a_twentieth_of_its_fall_is_left() -> None:
    jobs = JOBS[:FOLDS]
    results = results_of(jobs)
    curve = 0.1 + np.exp(-np.arange(100) / 10)
    for i, job in enumerate(jobs):
        results[job.id]["loss"] = (curve + (i - 1) * 0.01).tolist()
    (row,) = summarize(jobs, results, {}, SPEC, losses=True)
    np.testing.assert_allclose(row.loss, curve, rtol=1e-5)
    assert row.settled is not None
    rest = (curve - curve[-1]) / (curve[0] - curve[-1])
    assert rest[row.settled - 2] > 0.05 >= rest[row.settled - 1]
    assert replace(row, loss=tuple(curve[:20])).settled is None, "it still falls"
    assert summarize(jobs, results, {}, SPEC)[0].loss is None


def test_a_row_tells_its_last_loss_its_epochs_and_how_often_one_class_was_answered() -> None:
    jobs = [Job("A", "isonn", {}, "paper", fold, 0, "d") for fold in range(FOLDS)]
    results = results_of(jobs)
    for job, loss, answers in zip(
        jobs, ([0.7, 0.6], [0.7, 0.69, 0.5], [0.7, 0.1]), ([1, 1], [0, 1], [0, 0]), strict=True
    ):
        results[job.id] |= {"loss": loss, "predictions": answers}
    (row,) = summarize(jobs, results, {}, SPEC)
    assert (row.seeds, row.final_loss, row.epochs) == (1, 0.5, 2)
    assert row.one_class == pytest.approx(200 / 3)
    head, _, line = markdown([row]).splitlines()
    names = [cell.strip() for cell in head.strip("|").split("|")]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    shown = dict(zip(names, cells, strict=True))
    assert [shown[name] for name in ("seeds", "one class", "loss", "epochs")] == ["1", "67", "0.500", "2"]
    numbers = [{**results[job.id], "metrics": {"rmse": 1.0}, "predictions": [0.5, 0.5]} for job in jobs]
    (row,) = summarize(jobs, {job.id: result for job, result in zip(jobs, numbers, strict=True)}, {}, SPEC)
    assert row.one_class is None


def test_every_metric_of_numbers_has_a_permutation_p() -> None:
    def result(job: Job, rmse: float, r: float | None) -> dict[str, Any]:
        return {**results_of([job])[job.id], "metrics": {"rmse": rmse, "mae": rmse, "r2": -rmse, "pearson": r}}

    jobs = [Job("A", "edges", {}, "random", fold, 0, "d") for fold in range(FOLDS)]
    again = [replace(job, permutation=number) for number in range(1, 5) for job in jobs]
    results = {job.id: result(job, 1.0, 0.5) for job in jobs}
    # three permutations are worse; the r of a constant prediction, which does not exist, counts as 0
    results |= {job.id: result(job, 0.5 if job.permutation == 1 else 2.0, None) for job in again}
    (row,) = summarize([*jobs, *again], results, {}, SPEC)
    assert dict(row.permutation_ps) == {"rmse": 2 / 5, "mae": 2 / 5, "r2": 2 / 5, "pearson": 1 / 5}
    assert row.permutation_p == 2 / 5
    assert "Permutation p of edges: RMSE .400, MAE .400, R² .400, r .200." in remarks([row])
