"""How the methods of a run compare: results, paired differences, confusion."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from sklearn.metrics import confusion_matrix

from isonn.experiments.rows import Row
from isonn.experiments.statistics import corrected_interval
from isonn.experiments.tables import cells, legend
from isonn.graphs.graph import GraphSet
from isonn.report.page import Section
from isonn.report.runs import TRIVIAL, Group, shown_name
from isonn.report.words import Naming
from isonn.scores import METRICS, shown

#: Maximum number of classes in a confusion matrix.
MAX_CLASSES = 12


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


class Difference(NamedTuple):
    """The paired difference of two methods on one dataset.

    Attributes:
        method: the second method.
        metric: name of the metric, with its unit.
        mean: mean of the first minus the second method, with a sign such that above 0 is better.
        low, high: the corrected interval of the mean; equal to it for a single fold.
    """

    method: str
    metric: str
    mean: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """Whether the interval excludes 0, in one word."""
        if self.low == self.high == 0:
            return "equal"
        return "better" if self.low > 0 else "worse" if self.high < 0 else "undecided"


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
        score, rival = (shown(name, results[key]["metrics"]) for results in (ours, theirs))
        if score is not None and rival is not None:
            by_test.setdefault(tuple(sorted(ours[key]["test"])), []).append(sign * (score - rival))
            ratios.append(float(ours[key]["n_test"]) / float(ours[key]["n_train"]))
    if not ratios:
        return None
    values = [statistics.fmean(repeated) for repeated in by_test.values()]
    mean = statistics.fmean(values)
    low, high = corrected_interval(values, statistics.fmean(ratios)) or (mean, mean)
    return Difference(second, metric_heading(best[0]), mean, low, high)


def differences(group: Group) -> tuple[str, list[Difference]]:
    """Return the best isonn method on a dataset (else the best of all), and its `difference` from each other method.

    Methods come in the order of their first metric, the best first; without a finished seed there are none.
    """
    rows = sorted((row for row in group.rows if row.first is not None), key=lambda row: row.goodness, reverse=True)
    best = best_of([row for row in rows if kind_of(row.method) == "isonn"]) or best_of(rows)
    if best is None:
        return "", []
    others = dict.fromkeys(row.method for row in rows if row.method != best.method)
    compared = [difference(group, best.method, method) for method in others]
    return best.method, [pair for pair in compared if pair is not None]


def results_section(groups: Sequence[Group]) -> Section:
    """Return the results of all methods on each dataset: the table of `isonn evaluate`."""
    blocks = []
    for group in groups:
        headings, lines = cells([replace(row, method=shown_name(row)) for row in group.rows])
        seeds = f"Mean ± standard deviation over {group.seeds} seeds" if group.seeds > 1 else "One seed"
        caption = [f"{seeds}. A learned method has to beat the simple rows.", *legend(group.rows)]
        table = [(kind_of(row.method), line) for row, line in zip(group.rows, lines, strict=True)]
        blocks.append({"name": group.name, "caption": caption, "headings": headings, "table": table})
    return Section("results", "Results of all methods", {"blocks": blocks}, "Results")


def differences_section(groups: Sequence[Group]) -> Section | None:
    """Return the differences of the best isonn method from the others on each dataset, as forest plots."""
    blocks = []
    for group in groups:
        reference, pairs = differences(group)
        if pairs:
            largest = max(max(abs(pair.low), abs(pair.high)) for pair in pairs) or 1.0
            blocks.append({"name": group.name, "reference": reference, "pairs": pairs, "largest": largest})
    if not blocks:
        return None
    title = "Paired differences" if len(blocks) > 1 else f"{blocks[0]['reference']} against the others"
    return Section("differences", title, {"blocks": blocks}, "Differences")


def confusion_section(groups: Sequence[Group], graphs: Mapping[str, GraphSet]) -> Section | None:
    """Return a confusion matrix of each method on each dataset that has classes and whose graphs are at hand."""
    every = [(group.name, confusions(group, graphs[group.name])) for group in groups if group.name in graphs]
    blocks = [(name, matrices) for name, matrices in every if matrices]
    return Section("confusion", "Confusion", {"blocks": blocks}, "Confusion") if blocks else None


def confusions(group: Group, graphs: GraphSet) -> list[tuple[str, list[str], list[list[int]]]]:
    """Compare the predictions of all folds and seeds with the true classes; [] if there are none, or too many.

    Returns:
        For each method its name, the names of the classes, and counts of true (rows) and predicted classes (columns).
    """
    if graphs.y is None or graphs.y.ndim != 1 or graphs.classes is None or len(graphs.classes) > MAX_CLASSES:
        return []
    labels, y = [str(value) for value in graphs.classes.tolist()], [str(value) for value in graphs.y.tolist()]
    names = [Naming.of(graphs).class_(value) for value in graphs.classes.tolist()]
    matrices = []
    for row in group.rows:
        results = [result for _, result in group.finished(row)]
        truth = [y[graph] for result in results for graph in result["test"]]
        predicted = [str(label) for result in results for label in result["predictions"]]
        if set(labels) & set(truth):  # others, such as a missing class, are not counted
            counts = confusion_matrix(truth, predicted, labels=labels)
            matrices.append((group.label(row), names, counts.tolist()))
    return matrices
