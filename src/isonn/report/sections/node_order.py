"""Node order and twins: whether predictions depend on the numbering, and whether test graphs leak."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np

from isonn.experiments.rows import Row
from isonn.graphs.graph import GraphSet
from isonn.graphs.isomorphism import twin_groups
from isonn.report.charts import Strip, dot_plot
from isonn.report.rows import Measured, kind_of, name_of
from isonn.report.runs import Group
from isonn.report.section import Section

#: Maximum number of nodes to search for twins in; more takes too long for a page.
TWIN_NODES = 2_000_000


class NodeOrderSection(Section):
    """The relabelling audit and the number of equal graphs of each dataset."""

    anchor, template, listed = "trust", "node_order.html", "Node order"
    title = "Node order and twins"

    def __init__(self, sets: Sequence[Measured]) -> None:
        self.sets = sets

    def content(self) -> dict[str, Any]:
        """Return the audit and a sentence about twins for each dataset."""
        blocks = []
        for name, group, rows, graphs, _ in self.sets:
            twins, matter = ("", False) if graphs is None else _twins(graphs, group)
            blocks.append({"name": name, "audit": audit_chart(group, rows), "twins": twins, "twins_matter": matter})
        return {"blocks": blocks}


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


def _twins(graphs: GraphSet, group: Group) -> tuple[str, bool]:
    """Describe how many graphs equal another one, and return whether that reveals test graphs."""
    if graphs.sizes.sum() > TWIN_NODES:
        return f"Twins were not searched for among {len(graphs):,} graphs.", False
    counts = np.bincount(twin_groups(graphs))
    number = int(counts[counts > 1].sum())
    if not number:
        return "No two graphs are equal up to relabelling.", False
    sentence = f"{number} of the {len(graphs)} graphs equal another one up to relabelling (labels ignored)"
    if group.protocol == "fair":
        return f"{sentence}; the fair protocol keeps such twins in one fold.", False
    remedy = "which makes accuracies too high; the fair protocol keeps twins in one fold"
    return (
        f"{sentence}. Under the {group.protocol} protocol a test graph's twin may be a training graph, {remedy}.",
        True,
    )
