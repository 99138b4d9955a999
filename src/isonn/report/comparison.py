"""Comparison of methods over datasets: ranks, and paired differences with intervals."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scipy.stats import rankdata

from isonn.experiments.metrics import METRICS, shown
from isonn.experiments.rows import Row
from isonn.experiments.statistics import corrected_interval
from isonn.report.runs import TRIVIAL, Group


def kind_of(method: str) -> str:
    """Return the kind of a method: IsoNN, a trivial method, or another one."""
    if method in TRIVIAL:
        return "trivial"
    return "isonn" if method == "isonn" or method.startswith("isonn-") else "other"


def best_of(rows: Sequence[Row]) -> Row | None:
    """Return the row whose first metric is best."""
    return max((row for row in rows if row.first is not None), key=lambda row: row.goodness, default=None)


def metric_heading(row: Row) -> str:
    """Return the heading of a row's first metric, with its unit."""
    metric = METRICS[next(iter(row.metrics))]
    return f"{metric.heading} (%)" if metric.percent else metric.heading


def metric_text(row: Row) -> str:
    """Return the first metric of a row with its unit."""
    return f"{row.first}{' %' if METRICS[next(iter(row.metrics))].percent else ''}"


@dataclass(frozen=True)
class Rank:
    """A method's mean rank over the datasets that all ranked methods have, and how often it is best."""

    method: str
    kind: str
    rank: float
    best: int


def ranking(groups: Sequence[Group]) -> list[Rank]:
    """Rank methods by mean rank over the datasets that all methods have; ties share the mean of their ranks.

    If no dataset has all methods, a method is ranked on the datasets that it has.
    """
    places: dict[str, list[float]] = {}
    best: Counter[str] = Counter()
    for scores in ranked_scores(groups):
        for method, place in zip(scores, rankdata([-value for value in scores.values()]), strict=True):
            places.setdefault(method, []).append(float(place))
            best[method] += scores[method] == max(scores.values())
    ranks = [Rank(method, kind_of(method), statistics.fmean(places[method]), best[method]) for method in places]
    return sorted(ranks, key=lambda rank: (rank.rank, rank.method))


def ranked_scores(groups: Sequence[Group]) -> list[dict[str, float]]:
    """Return the best score of each method, for each dataset that ranks are over."""
    scores = []
    for group in groups:
        rows = sorted((row for row in group.rows if row.first is not None), key=lambda row: row.goodness)
        scores.append({row.method: row.goodness for row in rows})
    every = {method for best in scores for method in best}
    return [best for best in scores if every <= set(best)] or scores


def reference_method(ranks: Sequence[Rank]) -> str:
    """Return the method that others are compared with: the best ranked of ours, else the best of all."""
    return next((rank.method for rank in ranks if rank.kind == "isonn"), ranks[0].method if ranks else "")


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


def differences(groups: Sequence[Group], ranks: Sequence[Rank]) -> dict[str, list[Difference]]:
    """Return the `difference` of the reference method to each other method on every dataset."""
    reference = reference_method(ranks)
    against: dict[str, list[Difference]] = {}
    for method in [rank.method for rank in ranks if rank.method != reference]:
        compared = [difference(group, reference, method) for group in groups]
        if pairs := [pair for pair in compared if pair is not None]:
            against[method] = pairs
    return against


def difference(group: Group, first: str, second: str) -> Difference | None:
    """Return the paired difference of two methods on a dataset, or None without common folds.

    The interval is corrected for training graphs that folds share (`experiments.statistics.corrected_interval`).
    """
    best = [best_of([row for row in group.rows if row.method == method]) for method in (first, second)]
    if best[0] is None or best[1] is None:
        return None
    name, sign = next(iter(best[0].metrics)), 1 if best[0].larger else -1
    ours, theirs = ({(job.seed, job.fold): result for job, result in group.finished(row)} for row in best if row)
    by_test: dict[Any, list[float]] = {}  # seeds with the same test graphs repeat one measurement
    ratios = []
    for key in sorted(set(ours) & set(theirs)):
        one, other = (shown(name, results[key]["metrics"]) for results in (ours, theirs))
        if one is not None and other is not None:
            by_test.setdefault(tuple(sorted(ours[key].get("test", key))), []).append(sign * (one - other))
            ratios.append(float(ours[key]["n_test"]) / float(ours[key]["n_train"]))
    if not ratios:
        return None
    values = [statistics.fmean(repeated) for repeated in by_test.values()]
    mean = statistics.fmean(values)
    low, high = corrected_interval(values, statistics.fmean(ratios)) or (mean, mean)
    return Difference(group.name, metric_heading(best[0]), mean, low, high, len(values))


def comparison_text(ranks: Sequence[Rank], against: Mapping[str, Sequence[Difference]]) -> str:
    """Say which method ranks first, and how the reference compares with its best rival."""
    reference = reference_method(ranks)
    lead = f"{ranks[0].method} has the best mean rank ({ranks[0].rank:.1f} of {len(ranks)})."
    rival = next((rank.method for rank in ranks if rank.method in against), None)
    if rival is None:
        return lead
    verdicts = [pair.verdict for pair in against[rival]]
    counts = [f"{word} on {n}" for word in ("better", "worse", "equal", "undecided") if (n := verdicts.count(word))]
    if len(counts) == 1:
        return f"{lead} Against {rival}, {reference} is {verdicts[0]} on all {len(verdicts)} datasets."
    return (
        f"{lead} Against {rival}, {reference} is {', '.join(counts[:-1])} and {counts[-1]} of {len(verdicts)} datasets."
    )
