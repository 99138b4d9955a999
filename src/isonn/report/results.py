"""The numbers of a run for a page: table, dots, confusion, loss, sweeps, times, relabelling audit."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.experiments.metrics import METRICS, shown
from isonn.experiments.protocols import PROTOCOLS, find_protocol
from isonn.experiments.rows import Row
from isonn.graphs.graph import GraphSet
from isonn.report.charts import Strip, curves, dot_plot, sweep
from isonn.report.pieces import Naming
from isonn.report.runs import TRIVIAL, Group

#: Maximum number of classes in a confusion matrix.
MAX_CLASSES = 12
#: Maximum number of metrics in a table.
COLUMNS = 3


@dataclass(frozen=True)
class TableRow:
    """A row of the result table, as text.

    Attributes:
        kind: "isonn", "trivial" or "other".
        values: each metric of `headings`.
        interval: the 95 % interval of the first metric, or "".
        against: the p-value for a difference of the first metric from the reference, or "".
    """

    method: str
    settings: str
    kind: str
    values: tuple[str, ...]
    interval: str
    printed: str
    seconds: str
    flips: str
    jobs: str
    against: str


@dataclass(frozen=True)
class Confusion:
    """Counts of true classes (rows) and predicted classes (columns), and each as a share of its row."""

    name: str
    classes: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    levels: tuple[tuple[int, ...], ...]


def name_of(row: Row, rows: Sequence[Row]) -> str:
    """Return the name of the method, with the settings that distinguish it from others of that name."""
    same = [other for other in rows if other.method == row.method]
    if len(same) == 1:
        return row.method
    differ = [key for key in row.settings if len({json.dumps(o.settings.get(key)) for o in same}) > 1]
    return f"{row.method} {', '.join(f'{key}={row.settings[key]}' for key in differ)}".strip()


def kind_of(method: str) -> str:
    """Return the kind of a row: IsoNN, a trivial method, or another one."""
    if method in TRIVIAL:
        return "trivial"
    return "isonn" if method == "isonn" or method.startswith("isonn-") else "other"


def metric_names(rows: Sequence[Row]) -> list[str]:
    """Return the metrics of a table's columns; the first one is tested."""
    return list(dict.fromkeys(name for row in rows for name in row.metrics))[:COLUMNS]


def headings(rows: Sequence[Row]) -> list[str]:
    """Return the headings of the metric columns."""
    return [METRICS[name].heading + (" (%)" if METRICS[name].percent else "") for name in metric_names(rows)]


def metric_text(row: Row) -> str:
    """Return the first metric of a row with its unit."""
    return f"{row.first}{' %' if METRICS[next(iter(row.metrics))].percent else ''}"


def metric_heading(row: Row) -> str:
    """Return the heading of a row's first metric."""
    return METRICS[next(iter(row.metrics))].heading


def best_of(rows: Sequence[Row]) -> Row | None:
    """Return the row whose first metric is best."""
    judged = [row for row in rows if row.first is not None]
    return max(judged, key=lambda row: goodness(row), default=None)


def goodness(row: Row) -> float:
    """Return the first metric, with a sign such that larger is better."""
    if row.first is None:
        return -math.inf
    return row.first.mean if row.larger else -row.first.mean


def table(rows: Sequence[Row]) -> list[TableRow]:
    """Return the result table."""
    made, names = [], metric_names(rows)
    for row in rows:
        printed = "" if row.printed is None else f"{row.printed.accuracy:.1f} / {row.printed.f1:.1f}"
        low_high = row.first.interval if row.first else None
        made.append(
            TableRow(
                method=row.method,
                settings=row.settings_text,
                kind=kind_of(row.method),
                values=tuple(str(row.metrics[name]) if name in row.metrics else "none" for name in names),
                interval="" if low_high is None or not row.first else " to ".join(map(row.first.text, low_high)),
                printed=printed,
                seconds="" if row.fit_seconds is None else f"{row.fit_seconds:.3g}",
                flips="" if row.flip_rate is None else f"{row.flip_rate:.1f}",
                jobs=f"{row.finished} of {row.jobs}",
                against=_against(row),
            )
        )
    return made


def dots(group: Group, rows: Sequence[Row]) -> str:
    """Draw every fold and seed of every row as a dot."""
    strips = []
    for row in rows:
        if row.first is None:
            continue
        name = next(iter(row.metrics))
        values = [shown(name, result["metrics"]) for _, result in group.of(row) if result is not None]
        folds = [value for value in values if value is not None]
        strips.append(
            Strip(
                name_of(row, rows),
                folds,
                list(row.first.by_seed.values()),
                row.first.mean,
                row.first.interval,
                kind_of(row.method) == "isonn",
            )
        )
    names = metric_names(rows)
    unit = "%" if names and METRICS[names[0]].percent else ""
    heading = METRICS[names[0]].heading if names else "results"
    title = f"{heading} of each method: small dots are folds, large dots seeds, the bar their mean"
    return dot_plot(strips, title, unit)


def times(group: Group, rows: Sequence[Row]) -> str:
    """Draw the seconds of every fit, on a logarithmic axis."""
    strips = []
    for row in rows:
        seconds = [float(r["timings"]["fit_seconds"]) for _, r in group.of(row) if r is not None]
        if seconds:
            mean = statistics.fmean(seconds)
            strips.append(Strip(name_of(row, rows), seconds, [], mean, None, kind_of(row.method) == "isonn"))
    return dot_plot(strips, "Seconds of each fit by method", unit="s", log=True)


def losses(group: Group, rows: Sequence[Row]) -> dict[str, str]:
    """Draw the training loss by epoch, one chart for each method that stores it."""
    charts = {}
    for row in rows:
        lines = [r["loss"] for _, r in group.of(row) if r is not None and _numbers(r.get("loss"))]
        name = name_of(row, rows)
        chart = curves({name: lines}, f"Training loss of {name} by epoch", "epoch") if lines else ""
        if chart:
            charts[name] = chart
    return charts


def sweeps(rows: Sequence[Row]) -> dict[str, str]:
    """Draw accuracy by a setting, for methods that ran with several values of it and nothing else different."""
    charts = {}
    for method in dict.fromkeys(row.method for row in rows):
        same = [row for row in rows if row.method == method and row.first is not None]
        for key in sorted({key for row in same for key in row.settings}):
            rest: dict[str, dict[float, list[float]]] = {}
            for row in same:
                value = row.settings.get(key)
                if row.first is None or isinstance(value, bool) or not isinstance(value, (int, float)):
                    continue
                others = {name: v for name, v in row.settings.items() if name != key}
                points = rest.setdefault(json.dumps(others, sort_keys=True), {})
                points[float(value)] = list(row.first.by_seed.values())
            for others_text, points in rest.items():
                fixed = ", ".join(f"{name}={value}" for name, value in json.loads(others_text).items())
                title = f"{method} by {key}{f' ({fixed})' if fixed else ''}"
                chart = sweep(points, f"{title}, one dot a seed", key)
                if chart:
                    charts[title] = chart
    return charts


def flip_rates(group: Group, row: Row) -> list[float]:
    """Return, for each job, the share of predictions that change when nodes are relabelled."""
    rates = []
    for _, result in group.of(row):
        audit = result.get("audit") if result is not None else None
        rate = audit.get("flip_rate") if isinstance(audit, dict) else None
        if isinstance(rate, (int, float)) and math.isfinite(rate):
            rates.append(float(rate))
    return rates


def audit_chart(group: Group, rows: Sequence[Row]) -> str:
    """Draw the flip rate by method, one dot per job."""
    strips = []
    for row in rows:
        rates = [100 * rate for rate in flip_rates(group, row)]
        if rates:
            mean = statistics.fmean(rates)
            strips.append(Strip(name_of(row, rows), rates, [], mean, None, kind_of(row.method) == "isonn"))
    return dot_plot(strips, "Predictions that change when nodes are relabelled, by method")


def confusions(group: Group, rows: Sequence[Row], graphs: GraphSet) -> list[Confusion]:
    """Compare the predictions of all folds and seeds with the true classes; empty if a graph has several labels."""
    if graphs.y is None or graphs.y.ndim != 1 or graphs.classes is None or len(graphs.classes) > MAX_CLASSES:
        return []
    names = [str(value) for value in graphs.classes.tolist()]
    naming = Naming.of(graphs)
    made = []
    for row in rows:
        counts = np.zeros((len(names), len(names)), dtype=np.int64)
        for _, result in group.of(row):
            if result is not None:
                _count(counts, graphs.y, result, names)
        if counts.sum():
            share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
            made.append(
                Confusion(
                    name_of(row, rows),
                    tuple(naming.class_(value) for value in graphs.classes.tolist()),
                    tuple(map(tuple, counts.tolist())),
                    tuple(map(tuple, np.rint(8 * share).astype(int).tolist())),
                )
            )
    return made


def protocol_text(group: Group) -> str:
    """Describe the protocol in a sentence."""
    known = group.protocol.partition(":")[0] in PROTOCOLS
    return find_protocol(group.protocol).about if known else ""


def provenance(group: Group) -> dict[str, str]:
    """Return the versions, commits and machines of the results, each once."""
    found: dict[str, dict[str, None]] = {}
    for job in group.jobs:
        result = group.results.get(job.id)
        if result is None:
            continue
        versions = result.get("versions")
        if isinstance(versions, dict):
            text = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
            found.setdefault("versions", {})[text] = None
        if result.get("commit"):
            found.setdefault("commit", {})[str(result["commit"])] = None
        machine = result.get("machine")
        if isinstance(machine, dict):
            text = ", ".join(f"{value} cores" if name == "cores" else str(value) for name, value in machine.items())
            found.setdefault("machine", {})[text] = None
    return {name: "; ".join(values) for name, values in found.items()}


def _count(counts: NDArray[np.int64], y: NDArray[Any], result: Mapping[str, Any], names: Sequence[str]) -> None:
    tested, predicted = result.get("test"), result.get("predictions")
    if not isinstance(tested, list) or not isinstance(predicted, list) or len(tested) != len(predicted):
        return
    for graph, label in zip(tested, predicted, strict=True):
        truth = str(y[graph])
        if truth in names and str(label) in names:
            counts[names.index(truth), names.index(str(label))] += 1


def _numbers(values: Any) -> bool:
    return isinstance(values, list) and len(values) > 1 and all(isinstance(value, (int, float)) for value in values)


def _against(row: Row) -> str:
    """Return whether the first metric differs from the reference's, if the table tests it."""
    if row.p is None:
        return ""
    return f"{'p < 0.001' if row.p < 0.001 else f'p = {row.p:.3f}'} against {row.against or 'isonn'}"
