"""Training: losses, settings that vary, and seconds of each fit."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from typing import Any

from isonn.experiments.rows import Row
from isonn.report.charts import Strip, curves, dot_plot, sweep
from isonn.report.rows import Measured, kind_of, name_of
from isonn.report.runs import Group
from isonn.report.section import Section


class TrainingSection(Section):
    """Charts of losses, settings and times on each dataset."""

    anchor, template, listed = "training", "training.html", "Training"
    title = "Training and time"

    def __init__(self, sets: Sequence[Measured]) -> None:
        self.sets = sets

    def content(self) -> dict[str, Any]:
        """Return the charts of each dataset."""
        return {
            "blocks": [
                {"name": name, "losses": losses(group, rows), "sweeps": sweeps(rows), "times": times(group, rows)}
                for name, group, rows, *_ in self.sets
            ]
        }


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


def _numbers(values: Any) -> bool:
    return isinstance(values, list) and len(values) > 1 and all(isinstance(value, (int, float)) for value in values)
