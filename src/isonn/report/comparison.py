"""Comparison of methods over datasets: ranks, paired differences with intervals, and learning curves."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from isonn.experiments.metrics import shown
from isonn.experiments.rows import Row, learning_curve
from isonn.experiments.statistics import corrected_interval
from isonn.report.charts import Interval, curve_points, interval_row
from isonn.report.rows import Measured, best_of, goodness, headings, kind_of, name_of
from isonn.report.runs import EXPLAINED


@dataclass(frozen=True)
class Difference:
    """The paired difference of two methods on one dataset.

    Attributes:
        dataset: name of the dataset.
        metric: name of the metric, with its unit.
        mean: mean of the first minus the second method, with a sign such that above 0 is better.
        low, high: the corrected interval of the mean; equal to it for a single fold.
        folds: number of distinct test folds that both have.
    """

    dataset: str
    metric: str
    mean: float
    low: float
    high: float
    folds: int

    @property
    def verdict(self) -> str:
        """Whether the interval excludes 0, in one word."""
        if self.low == self.high == 0:
            return "equal"
        return "better" if self.low > 0 else "worse" if self.high < 0 else "undecided"


@dataclass(frozen=True)
class Rank:
    """A method's mean rank over the datasets that all ranked methods have, and how often it is best.

    ``mean`` is the mean of the first metric over these datasets, or None if their metrics differ.
    """

    method: str
    kind: str
    rank: float
    best: int
    mean: float | None
    seconds: float | None


def differences(sets: Sequence[Measured], ranks: Sequence[Rank]) -> tuple[str, dict[str, list[Difference]]]:
    """Return the reference method, and its `difference` to each other method on every dataset."""
    reference = _reference(ranks)
    against: dict[str, list[Difference]] = {}
    for method in [rank.method for rank in ranks if rank.method != reference]:
        own = [difference(one, reference, method) for one in sets]
        if known := [one for one in own if one is not None]:
            against[method] = known
    return reference, against


def with_charts(against: Mapping[str, Sequence[Difference]]) -> dict[str, list[tuple[Difference, str]]]:
    """Return each difference with its line of the forest plot; lines of one metric have one scale."""
    largest: dict[str, float] = {}
    for d in (d for own in against.values() for d in own):
        largest[d.metric] = max(largest.get(d.metric, 0.0), abs(d.low), abs(d.high)) or 1.0
    return {
        method: [(d, interval_row(Interval(d.mean, d.low, d.high), largest[d.metric])) for d in own]
        for method, own in against.items()
    }


def ranking(sets: Sequence[Measured]) -> list[Rank]:
    """Rank methods by mean rank over the datasets that all ranked methods have; ties share the mean of their ranks.

    If no dataset has all methods, methods that are missing on some datasets are ranked on the others.
    """
    scores = [best_scores(one.rows) for one in sets]
    every = {method for own in scores for method in own}
    complete = [own for own in scores if every <= set(own)] or scores
    places: dict[str, list[float]] = {method: [] for method in every}
    best: dict[str, int] = dict.fromkeys(every, 0)
    for own in complete:
        for method, value in own.items():
            above, equal = sum(v > value for v in own.values()), sum(v == value for v in own.values())
            places[method].append(above + (equal + 1) / 2)
            best[method] += above == 0
    seconds: dict[str, list[float]] = {}
    for row in (row for one in sets for row in one.rows if row.fit_seconds is not None):
        seconds.setdefault(row.method, []).append(float(row.fit_seconds or 0.0))
    made = [
        Rank(
            method,
            kind_of(method),
            statistics.fmean(places[method]),
            best[method],
            _mean(method, complete, sets),
            statistics.median(seconds[method]) if method in seconds else None,
        )
        for method in every
        if places[method]
    ]
    return sorted(made, key=lambda rank: (rank.rank, rank.method))


def _mean(method: str, scores: Sequence[Mapping[str, float]], sets: Sequence[Measured]) -> float | None:
    """Return the mean of a method's first metric, or None if datasets differ in it."""
    own = [score[method] for score in scores if method in score]
    return abs(statistics.fmean(own)) if own and len({metric_of(where) for where in sets}) == 1 else None


def difference(where: Measured, first: str, second: str) -> Difference | None:
    """Return the paired difference of two methods on a dataset, or None without common folds.

    The interval is corrected for training graphs that folds share (`experiments.statistics.corrected_interval`).
    """
    one, two = _folds(where, first), _folds(where, second)
    both = sorted(set(one) & set(two))
    if not both:
        return None
    by_test: dict[Any, list[float]] = {}  # seeds with the same test graphs repeat one measurement
    for key in both:
        by_test.setdefault(one[key].test, []).append(one[key].value - two[key].value)
    values = [statistics.fmean(repeated) for repeated in by_test.values()]
    mean = statistics.fmean(values)
    low, high = corrected_interval(values, statistics.fmean(one[key].ratio for key in both)) or (mean, mean)
    return Difference(where.name, metric_of(where), mean, low, high, len(values))


def learning_curves(where: Measured) -> str:
    """Draw the first metric of each method by number of training graphs; "" without such"""
    lines = {}
    for row in where.rows:
        if row.metrics:
            points = learning_curve(where.group.of_every_share(row), where.group.results, next(iter(row.metrics)))
            if points:
                lines[name_of(row, where.rows)] = points
    return (
        curve_points(lines, f"{metric_of(where)} on {where.name} by training graphs", "training graphs")
        if lines
        else ""
    )


def metric_of(where: Measured) -> str:
    """Return the compared metric, with its unit."""
    return next(iter(headings(where.rows)), "")


class _Fold(NamedTuple):
    value: float  # first metric, with a sign such that larger is better
    ratio: float  # test graphs per training graph
    test: tuple[int, ...]


def _folds(where: Measured, method: str) -> dict[tuple[int, int], _Fold]:
    """Return the results of the method's best settings, by seed and fold."""
    best = best_of([row for row in where.rows if row.method == method])
    if best is None:
        return {}
    name, sign = next(iter(best.metrics)), 1 if best.larger else -1
    found = {}
    for job, result in where.group.of(best):
        value = None if result is None else shown(name, result["metrics"])
        if result is not None and value is not None:
            test = tuple(sorted(result.get("test", (job.seed, job.fold))))
            found[job.seed, job.fold] = _Fold(sign * value, float(result["n_test"]) / float(result["n_train"]), test)
    return found


def best_scores(rows: Sequence[Row]) -> dict[str, float]:
    """Return the best mean of each method, with a sign such that larger is better."""
    scores: dict[str, float] = {}
    for row in rows:
        if row.first is not None:
            scores[row.method] = max(scores.get(row.method, -math.inf), goodness(row))
    return scores


def _reference(ranks: Sequence[Rank]) -> str:
    """Return the reference method: the best ranked of ours, else the best of all."""
    ours = [rank.method for rank in ranks if rank.kind == "isonn" or rank.method in EXPLAINED]
    return ours[0] if ours else ranks[0].method


def ranked_on(sets: Sequence[Measured]) -> int:
    """Return the number of datasets that ranks are over."""
    scores = [best_scores(one.rows) for one in sets]
    every = {method for own in scores for method in own}
    return sum(every <= set(own) for own in scores) or len(scores)
