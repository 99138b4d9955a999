"""How the methods of a run compare: results, differences, confusion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sklearn.metrics import confusion_matrix

from isonn.experiments.rows import Row
from isonn.experiments.tables import cells, legend
from isonn.graphs.graph import GraphSet
from isonn.report.page import Section
from isonn.report.runs import TRIVIAL, Group, shown_name
from isonn.report.words import Naming
from isonn.scores import METRICS

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
    """Return the differences of the methods from the reference of each table, as forest plots."""
    blocks = []
    for group in groups:
        rows = sorted((row for row in group.rows if row.difference), key=lambda row: row.goodness, reverse=True)
        pairs = [(group.label(row), row.difference, _verdict(*row.difference)) for row in rows if row.difference]
        if pairs:
            largest = max(abs(value) for _, difference, _ in pairs for value in difference) or 1.0
            metric = METRICS[next(iter(rows[0].metrics))]
            unit = f"{metric.heading} (%)" if metric.percent else metric.heading
            blocks.append(
                {"name": group.name, "against": rows[0].against, "unit": unit} | {"pairs": pairs, "largest": largest}
            )
    if not blocks:
        return None
    title = "Paired differences" if len(blocks) > 1 else f"The others against {blocks[0]['against']}"
    return Section("differences", title, {"blocks": blocks}, "Differences")


def _verdict(mean: float, low: float, high: float) -> str:
    """Say in one word whether an interval excludes 0."""
    if low == high == 0:
        return "equal"
    return "better" if low > 0 else "worse" if high < 0 else "undecided"


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
