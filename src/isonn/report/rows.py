"""Rows of result tables: their names, kinds and first metrics."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import NamedTuple

from isonn.experiments.metrics import METRICS
from isonn.experiments.rows import Row
from isonn.graphs.graph import GraphSet
from isonn.report.runs import TRIVIAL, Group

#: Maximum number of metrics in a table.
COLUMNS = 3


class Measured(NamedTuple):
    """One dataset under one protocol.

    Attributes:
        name: its name on the page.
        group: its jobs.
        rows: its rows of results.
        graphs: its graphs, or None if they are not available.
        why: why they are not available, or "".
    """

    name: str
    group: Group
    rows: Sequence[Row]
    graphs: GraphSet | None = None
    why: str = ""


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


def count_text(number: int, noun: str) -> str:
    """Return a number with its noun.

    Example:
        >>> count_text(1, "seed"), count_text(2, "seed")
        ('1 seed', '2 seeds')
    """
    return f"{number} {noun}{'s' * (number != 1)}"
