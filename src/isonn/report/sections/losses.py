"""The training loss of methods that are trained by gradient."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from isonn.report.charts import loss_chart
from isonn.report.runs import Group
from isonn.report.section import Section


def losses_section(groups: Sequence[Group]) -> Section | None:
    """Return the training loss by epoch, a chart for each method that stores it."""
    blocks = [{"name": group.name, "charts": charts} for group in groups if (charts := losses(group))]
    return Section("losses", "Training", {"blocks": blocks}, "Training") if blocks else None


def losses(group: Group) -> dict[str, str]:
    """Return the charts by name of the method."""
    charts = {}
    for row in group.rows:
        lines = [result["loss"] for _, result in group.finished(row) if _is_loss(result.get("loss"))]
        if lines:
            charts[group.label(row)] = loss_chart(lines, f"Training loss of {group.label(row)} by epoch")
    return charts


def _is_loss(values: Any) -> bool:
    """Return whether a stored loss can be drawn; a file may hold anything."""
    numbers = isinstance(values, list) and all(isinstance(value, (int, float)) for value in values)
    return numbers and sum(map(math.isfinite, values)) > 1
