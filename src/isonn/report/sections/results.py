"""The results of all methods: a table and dots for each dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from isonn.experiments.metrics import METRICS, shown
from isonn.experiments.rows import Row
from isonn.report.charts import Strip, dot_plot
from isonn.report.comparison import kind_of
from isonn.report.runs import Group
from isonn.report.section import Section


def results_section(groups: Sequence[Group]) -> Section:
    """Return the results of all methods on each dataset."""
    return Section("results", "Results of all methods", {"blocks": [_block(group) for group in groups]}, "Results")


def _block(group: Group) -> dict[str, Any]:
    lines = table(group)
    seeds = f"Mean ± standard deviation over {group.seeds} seeds" if group.seeds > 1 else "One seed"
    compared = "; p: corrected resampled t-test" if any(line.against for line in lines) else ""
    return {
        "name": group.name,
        "caption": f"{seeds}{compared}. A learned method has to beat the trivial rows.",
        "headings": group.headings,
        "table": lines,
        "intervals": any(line.interval for line in lines),
        "printed": any(line.printed for line in lines),
        "flips": any(line.flips for line in lines),
        "dots": dots(group),
    }


@dataclass(frozen=True)
class TableRow:
    """A row of the result table, as text.

    Attributes:
        kind: "isonn", "trivial" or "other".
        values: each metric of the group's headings.
        interval: the 95 % interval of the first metric, or "".
        printed: the paper's numbers, or "".
        flips: the share of predictions that change when nodes are relabelled, in percent, or "".
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


def table(group: Group) -> list[TableRow]:
    """Return the result table."""
    lines = []
    for row in group.rows:
        interval = row.first.interval if row.first else None
        lines.append(
            TableRow(
                method=row.method,
                settings=row.settings_text,
                kind=kind_of(row.method),
                values=tuple(str(row.metrics.get(name, "none")) for name in group.metrics),
                interval="" if interval is None or not row.first else " to ".join(map(row.first.text, interval)),
                printed="" if row.printed is None else f"{row.printed.accuracy:.1f} / {row.printed.f1:.1f}",
                seconds="" if row.fit_seconds is None else f"{row.fit_seconds:.3g}",
                flips="" if row.flip_rate is None else f"{row.flip_rate:.1f}",
                jobs=f"{row.finished} of {row.jobs}",
                against=_against(row),
            )
        )
    return lines


def dots(group: Group) -> str:
    """Draw every fold and seed of every row as a dot."""
    strips = []
    for row in group.rows:
        if row.first is None:
            continue
        values = [shown(next(iter(row.metrics)), result["metrics"]) for _, result in group.finished(row)]
        folds = [value for value in values if value is not None]
        seeds = list(row.first.by_seed.values())
        ours = kind_of(row.method) == "isonn"
        strips.append(Strip(group.label(row), folds, seeds, row.first.mean, row.first.interval, ours))
    first = METRICS[group.metrics[0]] if group.metrics else METRICS["accuracy"]
    title = f"{first.heading} of each method: small dots are folds, large dots seeds, the bar their mean"
    return dot_plot(strips, title, "%" if first.percent else "")


def _against(row: Row) -> str:
    """Return whether the first metric differs from the reference's, if the table tests it."""
    if row.p is None:
        return ""
    return f"{'p < 0.001' if row.p < 0.001 else f'p = {row.p:.3f}'} against {row.against or 'isonn'}"
