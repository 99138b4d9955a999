"""How the methods of a run compare: results, paired differences, ranks, learning curves, confusion, training loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from isonn.experiments.metrics import shown
from isonn.experiments.rows import learning_curve
from isonn.experiments.tables import cells, legend
from isonn.graphs.graph import GraphSet
from isonn.report.charts import Strip, dot_plot, line_chart
from isonn.report.comparison import Difference, Rank, kind_of, metric_heading, ranked_scores, reference_method
from isonn.report.page import Section
from isonn.report.runs import Group
from isonn.report.words import Naming

#: Maximum number of classes in a confusion matrix, and of points of a loss.
MAX_CLASSES, POINTS = 12, 12


def results_section(groups: Sequence[Group]) -> Section:
    """Return the results of all methods on each dataset: the table of `isonn evaluate`, and a dot per fold and seed."""
    blocks = []
    for group in groups:
        headings, lines = cells(group.rows)
        seeds = f"Mean ± standard deviation over {group.seeds} seeds" if group.seeds > 1 else "One seed"
        caption = [f"{seeds}. A learned method has to beat the trivial rows.", *legend(group.rows)]
        kinds = [kind_of(row.method) for row in group.rows]
        table = list(zip(kinds, lines, strict=True))
        blocks.append(
            {"name": group.name, "caption": caption, "headings": headings, "table": table, "dots": dots(group)}
        )
    return Section("results", "Results of all methods", {"blocks": blocks}, "Results")


def dots(group: Group) -> str:
    """Draw every fold and seed of every row as a dot."""
    strips, metric = [], ""
    for row in group.rows:
        if row.first is not None:
            name, metric = next(iter(row.metrics)), metric_heading(row)
            values = [shown(name, result["metrics"]) for _, result in group.finished(row)]
            folds, seeds = [value for value in values if value is not None], list(row.first.by_seed.values())
            ours = kind_of(row.method) == "isonn"
            strips.append(Strip(group.label(row), folds, seeds, row.first.mean, row.first.interval, ours))
    return dot_plot(strips, f"{metric} of each method: small dots are folds, large dots seeds, the bar their mean")


def differences_section(ranks: Sequence[Rank], against: Mapping[str, Sequence[Difference]]) -> Section | None:
    """Return the difference of the reference method to each other method, a line of a forest plot per dataset."""
    if not against:
        return None
    largest: dict[str, float] = {}  # lines of one metric have one scale
    for pair in (pair for pairs in against.values() for pair in pairs):
        largest[pair.metric] = max(largest.get(pair.metric, 0.0), abs(pair.low), abs(pair.high)) or 1.0
    reference, several = reference_method(ranks), any(len(pairs) > 1 for pairs in against.values())
    content = {"reference": reference, "lines": against, "several": several, "largest": largest}
    return Section("differences", f"{reference} against the others", content, "Differences")


def ranking_section(groups: Sequence[Group], ranks: Sequence[Rank]) -> Section:
    """Return the mean rank of each method over several datasets."""
    return Section("ranking", "Ranking", {"ranks": ranks, "ranked_on": len(ranked_scores(groups))}, "Ranking")


def curves_section(groups: Sequence[Group]) -> Section | None:
    """Return the first metric of each method by number of training graphs, for runs that have it."""
    charts = []
    for group in groups:
        rows = [row for row in group.rows if row.metrics]
        curves = {
            group.label(row): learning_curve(group.of_every_share(row), group.results, next(iter(row.metrics)))
            for row in rows
        }
        curves = {name: points for name, points in curves.items() if points}
        if curves:
            title = f"{metric_heading(rows[0])} on {group.name} by training graphs"
            charts.append((group.name, line_chart(curves, title, "training graphs")))
    content = {"charts": charts, "title": "Learning curves", "about": "mean by number of training graphs"}
    return Section("curves", "Learning curves", content, "Learning curves") if charts else None


def losses_section(groups: Sequence[Group]) -> Section | None:
    """Return the mean training loss by epoch of each method that stores it."""
    charts = [
        (group.name, line_chart(lines, f"Training loss on {group.name} by epoch", "epoch"))
        for group in groups
        if (lines := losses(group))
    ]
    content = {"charts": charts, "title": "Training loss", "about": "mean training loss of all fits by epoch"}
    return Section("losses", "Training", content, "Training", template="curves") if charts else None


def losses(group: Group) -> dict[str, dict[int, float]]:
    """Return the mean training loss over all fits of a method, at some epochs."""
    lines = {}
    for row in group.rows:
        fits = [result["loss"] for _, result in group.finished(row) if _is_loss(result.get("loss"))]
        if fits:
            mean = np.mean([fit[: min(map(len, fits))] for fit in fits], axis=0)
            epochs = np.unique(np.linspace(0, len(mean) - 1, POINTS).astype(int)).tolist()
            lines[group.label(row)] = {epoch + 1: float(mean[epoch]) for epoch in epochs}
    return lines


def _is_loss(values: Any) -> bool:
    """Return whether a stored loss can be drawn; a file may hold anything."""
    if not isinstance(values, list) or not all(isinstance(value, (int, float)) for value in values):
        return False
    return len(values) > 1 and bool(np.isfinite(values).all())


def confusion_section(groups: Sequence[Group], graphs: Mapping[str, GraphSet]) -> Section | None:
    """Return a confusion matrix of each method on each dataset that has classes and whose graphs are at hand."""
    blocks = [
        (group.name, made)
        for group in groups
        if group.name in graphs and (made := confusions(group, graphs[group.name]))
    ]
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
        pairs = [
            (y[graph], str(label))
            for _, result in group.finished(row)
            for graph, label in zip(result.get("test", ()), result.get("predictions", ()), strict=False)
            if y[graph] in labels and str(label) in labels
        ]
        if pairs:
            counts = confusion_matrix(*zip(*pairs, strict=True), labels=labels)
            matrices.append((group.label(row), names, counts.tolist()))
    return matrices
