"""The results of all methods: tables, dots, paired differences and learning curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from isonn.experiments.metrics import METRICS, shown
from isonn.experiments.rows import Row
from isonn.report.charts import Strip, dot_plot
from isonn.report.comparison import differences, learning_curves, ranking, with_charts
from isonn.report.rows import Measured, headings, kind_of, metric_names, name_of
from isonn.report.runs import Group
from isonn.report.section import Section


class ResultsSection(Section):
    """The results of all methods on each dataset."""

    anchor, template, listed = "results", "results.html", "Results"
    title = "Results of all methods"

    def __init__(self, sets: Sequence[Measured]) -> None:
        self.sets = sets

    def content(self) -> dict[str, Any]:
        """Return tables and charts of each dataset."""
        return {"blocks": [_block(measured) for measured in self.sets]}


def _block(measured: Measured) -> dict[str, Any]:
    group, rows = measured.group, measured.rows
    lines, ranks = table(rows), ranking([measured])
    seeds = f"Mean ± standard deviation over {group.seeds} seeds" if group.seeds > 1 else "One seed"
    compared = "; p: corrected resampled t-test" if any(line.against for line in lines) else ""
    reference, against = differences([measured], ranks) if ranks else ("", {})
    return {
        "name": measured.name,
        "caption": f"{seeds}{compared}. A learned method has to beat the trivial rows.",
        "headings": headings(rows),
        "table": lines,
        "intervals": any(line.interval for line in lines),
        "printed": any(line.printed for line in lines),
        "flips": any(line.flips for line in lines),
        "dots": dots(group, rows),
        "reference": reference,
        "against": with_charts(against),
        "curves": learning_curves(measured._replace(name=group.dataset)),
    }


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


def table(rows: Sequence[Row]) -> list[TableRow]:
    """Return the result table."""
    made, names = [], metric_names(rows)
    for row in rows:
        printed = "" if row.printed is None else f"{row.printed.accuracy:.1f} / {row.printed.f1:.1f}"
        interval = row.first.interval if row.first else None
        made.append(
            TableRow(
                method=row.method,
                settings=row.settings_text,
                kind=kind_of(row.method),
                values=tuple(str(row.metrics[name]) if name in row.metrics else "none" for name in names),
                interval="" if interval is None or not row.first else " to ".join(map(row.first.text, interval)),
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


def _against(row: Row) -> str:
    """Return whether the first metric differs from the reference's, if the table tests it."""
    if row.p is None:
        return ""
    return f"{'p < 0.001' if row.p < 0.001 else f'p = {row.p:.3f}'} against {row.against or 'isonn'}"
