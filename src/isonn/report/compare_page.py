"""The page that compares methods: paired differences with intervals, a ranking, learning curves, all results."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from isonn.experiments.metrics import shown
from isonn.experiments.rows import Row, learning_curve
from isonn.experiments.statistics import corrected_interval
from isonn.experiments.tables import failures
from isonn.report import results
from isonn.report.charts import Interval, curve_points, interval_row
from isonn.report.model_page import Tile
from isonn.report.page import render, require_jinja2
from isonn.report.runs import EXPLAINED, Collected, Group, collect

#: Maximum number of columns in a table of results; more do not fit on A4.
COLUMNS = 4


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


class Measured(NamedTuple):
    """One dataset under one protocol: its name, jobs and rows of results."""

    name: str
    group: Group
    rows: Sequence[Row]


def compare_page(folder: Path) -> str:
    """Create the comparison page of a folder of results."""
    require_jinja2()
    return render("compare.html", **comparison(collect(folder)))


def comparison(found: Collected) -> dict[str, Any]:
    """Return the content of ``compare.html``."""
    sets = [Measured(_dataset_name(group, found.groups), group, group.rows()) for group in found.groups]
    ranks = ranking(sets)
    reference, against = differences(sets, ranks)
    warnings = [sentence for one in sets for sentence in failures(one.rows)]
    return {
        "title": f"{len(sets)} dataset{'s' * (len(sets) != 1)}, {len(ranks)} methods",
        "question": "Which method is best, and by how much?",
        "answer": _answer(ranks, reference, against),
        "tiles": _tiles(ranks, reference),
        "reference": reference,
        "ranks": ranks,
        "ranked_on": _ranked_on(sets),
        "against": with_charts(against),
        "tables": _tables(sets, ranks),
        "curves": [(f"{one.name}, {_metric(one)}", chart) for one in sets if (chart := learning_curves(one))],
        "warnings": [*warnings, *(f"{name} could not be read." for name in found.damaged)],
        "facts": _facts(sets),
    }


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
    scores = [_scores(one.rows) for one in sets]
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
            results.kind_of(method),
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
    return abs(statistics.fmean(own)) if own and len({_metric(where) for where in sets}) == 1 else None


def difference(where: Measured, first: str, second: str) -> Difference | None:
    """Return the paired difference of two methods on a dataset, or None without common folds.

    The interval is that of the corrected resampled t-test (Nadeau and Bengio 2003), as in `experiments.statistics`.
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
    return Difference(where.name, _metric(where), mean, low, high, len(values))


def learning_curves(where: Measured) -> str:
    """Draw the first metric of each method by number of training graphs; "" without such results."""
    lines = {}
    for row in where.rows:
        if row.metrics:
            points = learning_curve(where.group.of_every_share(row), where.group.results, next(iter(row.metrics)))
            if points:
                lines[results.name_of(row, where.rows)] = points
    return (
        curve_points(lines, f"{_metric(where)} on {where.name} by training graphs", "training graphs") if lines else ""
    )


def _metric(where: Measured) -> str:
    """Return the compared metric, with its unit."""
    return next(iter(results.headings(where.rows)), "")


class _Fold(NamedTuple):
    value: float  # first metric, with a sign such that larger is better
    ratio: float  # test graphs per training graph
    test: tuple[int, ...]


def _folds(where: Measured, method: str) -> dict[tuple[int, int], _Fold]:
    """Return the results of the method's best settings, by seed and fold."""
    best = results.best_of([row for row in where.rows if row.method == method])
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


def _scores(rows: Sequence[Row]) -> dict[str, float]:
    """Return the best mean of each method, with a sign such that larger is better."""
    scores: dict[str, float] = {}
    for row in rows:
        if row.first is not None:
            scores[row.method] = max(scores.get(row.method, -math.inf), results.goodness(row))
    return scores


def _reference(ranks: Sequence[Rank]) -> str:
    """Return the reference method: the best ranked of ours, else the best of all."""
    ours = [rank.method for rank in ranks if rank.kind == "isonn" or rank.method in EXPLAINED]
    return ours[0] if ours else ranks[0].method


def _ranked_on(sets: Sequence[Measured]) -> int:
    scores = [_scores(one.rows) for one in sets]
    every = {method for own in scores for method in own}
    return sum(every <= set(own) for own in scores) or len(scores)


def _answer(ranks: Sequence[Rank], reference: str, against: Mapping[str, Sequence[Difference]]) -> str:
    first = ranks[0]
    lead = f"{first.method} has the best mean rank ({first.rank:.1f} of {len(ranks)})."
    rival = next((rank.method for rank in ranks if rank.method != reference and rank.method in against), None)
    if rival is None:
        return lead
    verdicts = [d.verdict for d in against[rival]]
    of = f"{len(verdicts)} dataset{'s' * (len(verdicts) != 1)}"
    counts = [f"{word} on {n}" for word in ("better", "worse", "equal", "undecided") if (n := verdicts.count(word))]
    if len(counts) == 1:
        return f"{lead} Against {rival}, {reference} is {counts[0].split()[0]} on all {of}."
    return f"{lead} Against {rival}, {reference} is {', '.join(counts[:-1])} and {counts[-1]} of {of}."


def _tiles(ranks: Sequence[Rank], reference: str) -> list[Tile]:
    own = next(rank for rank in ranks if rank.method == reference)
    tiles = [Tile(reference, f"{own.rank:.1f}", f"mean rank of {len(ranks)} methods", main=True)]
    trivial = min((rank for rank in ranks if rank.kind == "trivial"), key=lambda rank: rank.rank, default=None)
    if trivial is not None and trivial.method != reference:
        tiles.append(Tile(f"Best trivial method: {trivial.method}", f"{trivial.rank:.1f}", "mean rank"))
    return tiles


def _tables(sets: Sequence[Measured], ranks: Sequence[Rank]) -> list[dict[str, Any]]:
    """Return tables of all results, a few datasets each: method, then accuracy by dataset."""
    tables = []
    for start in range(0, len(sets), COLUMNS):
        part = sets[start : start + COLUMNS]
        lines = []
        for rank in ranks:
            cells = []
            for one in part:
                best = results.best_of([row for row in one.rows if row.method == rank.method])
                top = max(_scores(one.rows).values(), default=0.0)
                cells.append(("", False) if best is None else (str(best.first), results.goodness(best) == top))
            lines.append((rank, cells))
        tables.append({"datasets": [(one.name, _metric(one)) for one in part], "lines": lines})
    return tables


def _dataset_name(group: Group, groups: Sequence[Group]) -> str:
    """Return the name of the dataset, with its protocol if needed to distinguish it."""
    same = [other for other in groups if other.dataset == group.dataset]
    return group.dataset if len(same) == 1 else f"{group.dataset}, {group.protocol}"


def _facts(sets: Sequence[Measured]) -> list[tuple[str, str]]:
    facts = []
    for name, group, _ in sets:
        finished = f"{len(group.jobs) - group.missing} of {len(group.jobs)} jobs finished"
        seeds = f"{group.seeds} seed{'s' * (group.seeds != 1)}"
        facts.append((name, f"{group.protocol} protocol, {seeds} of {group.folds} folds, {finished}"))
    return [*facts, *results.provenance(sets[0].group).items()]
