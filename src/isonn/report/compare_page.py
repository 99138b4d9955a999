"""The page that compares methods: paired differences with intervals, a ranking, learning curves, all results."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from isonn.experiments.tables import Row, failures
from isonn.report import results
from isonn.report.charts import Interval, curve_points, interval_row
from isonn.report.model_page import Tile
from isonn.report.page import render, require_jinja2
from isonn.report.runs import EXPLAINED, Collected, Group, collect

#: Level of the intervals.
LEVEL = 0.95
#: Columns of one table of results: more do not fit on A4.
COLUMNS = 4


@dataclass(frozen=True)
class Difference:
    """Two methods on one dataset, fold by fold.

    Attributes:
        dataset: where.
        mean: of the accuracy of the first minus that of the second, in points of percent.
        low, high: the corrected interval of the mean; equal to it for a single fold.
        folds: how many distinct test folds both have.
    """

    dataset: str
    mean: float
    low: float
    high: float
    folds: int

    @property
    def verdict(self) -> str:
        """Whether the interval leaves 0 out, in a word."""
        return "better" if self.low > 0 else "worse" if self.high < 0 else "undecided"


@dataclass(frozen=True)
class Rank:
    """A method among all: its mean rank over the datasets that all ranked methods have, and how often it is best."""

    method: str
    kind: str
    rank: float
    best: int
    mean: float
    seconds: float | None


class Measured(NamedTuple):
    """One dataset under one protocol: what it is called, its jobs, and its rows of results."""

    name: str
    group: Group
    rows: Sequence[Row]


def compare_page(folder: Path) -> str:
    """The comparison page of a folder of results."""
    require_jinja2()
    return render("compare.html", **comparison(collect(folder)))


def comparison(found: Collected) -> dict[str, Any]:
    """What ``compare.html`` needs."""
    sets = [Measured(_dataset_name(group, found.groups), group, group.rows()) for group in found.groups]
    ranks = ranking(sets)
    reference = _reference(ranks)
    against: dict[str, list[Difference]] = {}
    for method in [rank.method for rank in ranks if rank.method != reference]:
        own = [difference(one, reference, method) for one in sets]
        if known := [one for one in own if one is not None]:
            against[method] = known
    ends = [abs(value) for own in against.values() for d in own for value in (d.low, d.high)]
    largest = max(ends, default=1.0) or 1.0
    warnings = [sentence for one in sets for sentence in failures(one.rows)]
    return {
        "title": f"{len(sets)} dataset{'s' * (len(sets) != 1)}, {len(ranks)} methods",
        "question": "Which method is best, and by how much?",
        "answer": _answer(ranks, reference, against),
        "tiles": _tiles(ranks, reference),
        "reference": reference,
        "ranks": ranks,
        "ranked_on": _ranked_on(sets),
        "against": {
            method: [(d, interval_row(Interval(d.mean, d.low, d.high), largest)) for d in own]
            for method, own in against.items()
        },
        "largest": largest,
        "tables": _tables(sets, ranks),
        "curves": learning_curves(sets),
        "warnings": [*warnings, *(f"{name} could not be read." for name in found.damaged)],
        "facts": _facts(sets),
    }


def ranking(sets: Sequence[Measured]) -> list[Rank]:
    """Methods by mean rank; ties share the mean of their places. Only datasets that every ranked method has count.

    Methods that are missing on some dataset are ranked on those where they are, if no dataset has all methods.
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
            statistics.fmean(own[method] for own in complete if method in own),
            statistics.median(seconds[method]) if method in seconds else None,
        )
        for method in every
        if places[method]
    ]
    return sorted(made, key=lambda rank: (rank.rank, -rank.mean, rank.method))


def difference(where: Measured, first: str, second: str) -> Difference | None:
    """The paired difference of two methods on a dataset; None unless both have folds in common.

    The interval is that of the corrected resampled t-test (Nadeau and Bengio 2003), as in `experiments.statistics`.
    """
    one, two = _folds(where, first), _folds(where, second)
    both = sorted(set(one) & set(two))
    if not both:
        return None
    by_test: dict[Any, list[float]] = {}  # seeds that share their test graphs are repetitions of one measurement
    for key in both:
        by_test.setdefault(one[key].test, []).append(100 * (one[key].accuracy - two[key].accuracy))
    values = [statistics.fmean(repeated) for repeated in by_test.values()]
    mean = statistics.fmean(values)
    half = 0.0
    if len(values) > 1:
        from scipy.stats import t

        ratio = statistics.fmean(one[key].ratio for key in both)
        spread = math.sqrt((1 / len(values) + ratio) * statistics.variance(values))
        half = float(t.ppf((1 + LEVEL) / 2, len(values) - 1)) * spread
    return Difference(where.name, mean, mean - half, mean + half, len(values))


def learning_curves(sets: Sequence[Measured]) -> list[tuple[str, str]]:
    """Accuracy by the number of training graphs, of datasets where a method has results of several numbers."""
    charts = []
    for name, group, own in sets:
        lines: dict[str, dict[int, list[float]]] = {}
        for row in own:
            for _, result in group.of(row):
                if result is not None:
                    points = lines.setdefault(row.method, {})
                    points.setdefault(_rounded(int(result["n_train"])), []).append(
                        100 * float(result["metrics"]["accuracy"])
                    )
        several = {method: points for method, points in lines.items() if len(points) > 1}
        if several:
            chart = curve_points(several, f"Accuracy on {name} by training graphs", "training graphs")
            charts.append((name, chart))
    return charts


def _rounded(n: int) -> int:
    """Two digits: folds of one size differ by a graph or two."""
    digits = max(0, len(str(n)) - 2)
    return int(round(n, -digits))


class _Fold(NamedTuple):
    accuracy: float
    ratio: float  # test graphs per training graph
    test: tuple[int, ...]


def _folds(where: Measured, method: str) -> dict[tuple[int, int], _Fold]:
    """By seed and fold what the method's best settings gave."""
    own = [row for row in where.rows if row.method == method and row.accuracy is not None]
    if not own:
        return {}
    best = max(own, key=lambda row: row.accuracy.mean if row.accuracy else 0.0)
    return {
        (job.seed, job.fold): _Fold(
            float(result["metrics"]["accuracy"]),
            float(result["n_test"]) / float(result["n_train"]),
            tuple(sorted(result.get("test", (job.seed, job.fold)))),
        )
        for job, result in where.group.of(best)
        if result is not None
    }


def _scores(rows: Sequence[Row]) -> dict[str, float]:
    """The best mean of each method."""
    scores: dict[str, float] = {}
    for row in rows:
        if row.accuracy is not None:
            scores[row.method] = max(scores.get(row.method, -math.inf), row.accuracy.mean)
    return scores


def _reference(ranks: Sequence[Rank]) -> str:
    """The method others are compared with: the best ranked of ours, else the best of all."""
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
    counts = f"better on {verdicts.count('better')}, worse on {verdicts.count('worse')}"
    of = f"{len(verdicts)} dataset{'s' * (len(verdicts) != 1)}"
    return f"{lead} Against {rival}, {reference} is {counts} and undecided on {verdicts.count('undecided')} of {of}."


def _tiles(ranks: Sequence[Rank], reference: str) -> list[Tile]:
    own = next(rank for rank in ranks if rank.method == reference)
    tiles = [Tile(reference, f"{own.mean:.1f} %", f"mean accuracy, mean rank {own.rank:.1f}", main=True)]
    trivial = min((rank for rank in ranks if rank.kind == "trivial"), key=lambda rank: rank.rank, default=None)
    if trivial is not None:
        about = f"mean accuracy, mean rank {trivial.rank:.1f}"
        tiles.append(Tile(f"Best trivial method: {trivial.method}", f"{trivial.mean:.1f} %", about))
    return tiles


def _tables(sets: Sequence[Measured], ranks: Sequence[Rank]) -> list[dict[str, Any]]:
    """All results, a few datasets a table: method, then accuracy by dataset."""
    tables = []
    for start in range(0, len(sets), COLUMNS):
        part = sets[start : start + COLUMNS]
        lines = []
        for rank in ranks:
            cells = []
            for one in part:
                own = [row for row in one.rows if row.method == rank.method and row.accuracy is not None]
                best = max(own, key=lambda row: row.accuracy.mean if row.accuracy else 0.0, default=None)
                top = max(_scores(one.rows).values(), default=0.0)
                cells.append((str(best.accuracy), best.accuracy.mean == top) if best and best.accuracy else ("", False))
            lines.append((rank, cells))
        tables.append({"datasets": [one.name for one in part], "lines": lines})
    return tables


def _dataset_name(group: Group, groups: Sequence[Group]) -> str:
    """The dataset, with its protocol where that is needed to tell it from others."""
    same = [other for other in groups if other.dataset == group.dataset]
    return group.dataset if len(same) == 1 else f"{group.dataset}, {group.protocol}"


def _facts(sets: Sequence[Measured]) -> list[tuple[str, str]]:
    facts = []
    for name, group, _ in sets:
        finished = f"{len(group.jobs) - group.missing} of {len(group.jobs)} jobs finished"
        facts.append((name, f"{group.protocol} protocol, {group.seeds} seeds of {group.folds} folds, {finished}"))
    return [*facts, *results.provenance(sets[0].group).items()]
