"""How methods compare: paired differences, ranks over datasets, and learning curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from isonn.report.charts import interval_row, line_chart
from isonn.report.comparison import Difference, Rank, learning_curves, ranked_scores, reference_method
from isonn.report.runs import Group
from isonn.report.section import Section


def differences_section(ranks: Sequence[Rank], against: Mapping[str, Sequence[Difference]]) -> Section | None:
    """Return the difference of the reference method to each other method, a line of a forest plot per dataset."""
    if not against:
        return None
    largest: dict[str, float] = {}  # lines of one metric have one scale
    for pair in (pair for pairs in against.values() for pair in pairs):
        largest[pair.metric] = max(largest.get(pair.metric, 0.0), abs(pair.low), abs(pair.high)) or 1.0
    lines = {
        method: [(pair, interval_row(pair.mean, pair.low, pair.high, largest[pair.metric])) for pair in pairs]
        for method, pairs in against.items()
    }
    reference = reference_method(ranks)
    content = {"reference": reference, "lines": lines, "several": any(len(pairs) > 1 for pairs in against.values())}
    return Section("differences", f"{reference} against the others", content, "Differences")


def ranking_section(groups: Sequence[Group], ranks: Sequence[Rank]) -> Section:
    """Return the mean rank of each method over several datasets."""
    return Section("ranking", "Ranking", {"ranks": ranks, "ranked_on": len(ranked_scores(groups))}, "Ranking")


def curves_section(groups: Sequence[Group]) -> Section | None:
    """Return the first metric of each method by number of training graphs, for runs that have it."""
    charts = [
        (group.name, line_chart(curves, f"{group.metric} on {group.name} by training graphs", "training graphs"))
        for group in groups
        if (curves := learning_curves(group))
    ]
    return Section("curves", "Learning curves", {"charts": charts}, "Learning curves") if charts else None
