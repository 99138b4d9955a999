"""Rows for people and for other programs: a terminal, Markdown, CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from isonn.experiments.spec import Sweep
from isonn.experiments.tables import Row, Spread, outstanding

if TYPE_CHECKING:
    from rich.table import Table

#: What columns mean, for the foot of a table.
_LEGEND = {
    "95 %": "interval of the mean over seeds",
    "p": "corrected resampled t-test of the accuracy against isonn's",
    "flips": "percent of predictions that change when nodes are renumbered",
    "settled": "epoch after which the loss falls by less than a twentieth of its whole fall",
}


_ALWAYS = ("method", "accuracy", "F1", "s/fit")


def cells(rows: Sequence[Row], leave_out: Collection[str] = ()) -> tuple[list[str], list[list[str]]]:
    """Headings and cells; a column nothing is known for is left out.

    Args:
        leave_out: headings of columns that are not wanted.
    """
    columns: list[tuple[str, list[str]]] = [
        ("method", [f"{row.method} ({row.settings_text})" if row.settings_text else row.method for row in rows]),
        ("seeds", _seeds(rows)),
        ("accuracy", [_mean(row, row.accuracy) for row in rows]),
        ("95 %", [_interval(row.accuracy) for row in rows]),
        ("F1", [_mean(row, row.f1) if not row.absent else "-" for row in rows]),
        ("paper", [f"{row.printed.accuracy:.1f}" if row.printed else "-" for row in rows]),
        ("paper's F1", [f"{row.printed.f1:.1f}" if row.printed else "-" for row in rows]),
        ("p", [_p(row.p) for row in rows]),
        ("flips", ["-" if row.flip_rate is None else f"{row.flip_rate:.1f}" for row in rows]),
        ("settled", ["-" if row.settled is None else str(row.settled) for row in rows]),
        ("s/fit", [_seconds(row.fit_seconds) for row in rows]),
    ]
    kept = [
        (name, column)
        for name, column in columns
        if name not in leave_out and (name in _ALWAYS or set(column) != {"-"})
    ]
    return [name for name, _ in kept], [list(line) for line in zip(*(column for _, column in kept), strict=True)]


def _seeds(rows: Sequence[Row]) -> list[str]:
    """How many seeds each row has, where they differ."""
    counts = [len(row.accuracy.by_seed) if row.accuracy is not None else 0 for row in rows]
    known = [count for count in counts if count]
    return [str(count) if count and len(set(known)) > 1 else "-" for count in counts]


def legend(rows: Sequence[Row]) -> list[str]:
    """One line that says what the less common columns of these rows mean; none where there are no such columns."""
    shown = [f"{name}: {_LEGEND[name]}" for name in cells(rows)[0] if name in _LEGEND] if rows else []
    return ["; ".join(shown) + "."] if shown else []


def render(rows: Sequence[Row], width: int | None = None) -> Table:
    """The rows for a terminal; `tables.failures` says why a row is incomplete.

    Args:
        width: of the terminal; where it is too narrow, columns are left out, and settings go over several lines.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    hidden = ["paper's F1"]
    headings, lines = cells(rows, hidden)
    for name in ("95 %", "settled", "s/fit", "flips", "F1", "seeds"):
        if width is not None and _width(headings, lines) > width:
            hidden.append(name)
            headings, lines = cells(rows, hidden)
    for heading in headings:
        if heading == "method":
            table.add_column(heading, overflow="fold")
        else:
            table.add_column(heading, justify="right", no_wrap=True)
    for line in lines:
        table.add_row(*map(Text, line))  # Text: brackets in a setting are no markup
    return table


def _width(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> int:
    """What a table needs: its numbers and the names of its methods whole; settings can be broken anywhere."""
    names = [line[0].partition(" ")[0] for line in lines]
    numbers = [max(len(cell) for cell in column) for column in zip(headings, *lines, strict=True)][1:]
    return max(map(len, names), default=0) + sum(numbers) + 2 * len(numbers)


def markdown(rows: Sequence[Row]) -> str:
    """The rows as a table; bold as `tables.outstanding` says."""
    headings, lines = cells(rows)
    bold = outstanding(rows)
    text = [_line(headings), _line(["---" if heading == "method" else "---:" for heading in headings])]
    for i, line in enumerate(lines):
        marked = (
            f"**{cell}**" if i in bold and name == "accuracy" else cell
            for name, cell in zip(headings, line, strict=True)
        )
        text.append(_line(list(marked)))
    return "\n".join(text) + "\n"


def findings(sweep: Sweep, rows: Sequence[Row]) -> list[str]:
    """What the figure shows in words, beside what the paper says of its own; one sentence per dataset."""
    sentences = []
    for dataset in dict.fromkeys(row.dataset for row in rows):
        own = [row for row in rows if row.dataset == dataset and row.method == rows[0].method]
        paper = sweep.paper.get(dataset)
        beside = "" if paper is None else f"; the paper's: {paper}"
        if sweep.measure == "loss":
            for row in own:
                if row.settled is not None:
                    sentences.append(f"{dataset}: the loss settles by epoch {row.settled}{beside}")
                elif row.loss is not None:
                    sentences.append(f"{dataset}: the loss still falls at epoch {len(row.loss)}{beside}")
        elif sweep.measure == "accuracy" and sweep.vary is not None:
            judged = [(row.accuracy.mean, row) for row in own if row.accuracy is not None]
            if judged:
                best = max(judged, key=lambda entry: entry[0])[1]
                sentences.append(
                    f"{dataset}: best {sweep.vary} = {best.settings[sweep.vary]} ({best.accuracy}){beside}"
                )
    return sentences


_NUMBERS = ("mean", "sd", "low", "high")


def as_csv(parts: Iterable[tuple[str, Sequence[Row]]]) -> str:
    """The rows of several parts, one a line, with numbers as they are."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    head = [f"{metric}_{number}" for metric in ("accuracy", "f1") for number in _NUMBERS]
    tail = ["paper_accuracy", "paper_f1", "p", "flip_rate", "fit_seconds", "settled", "tasks", "finished", "note"]
    writer.writerow(["part", "dataset", "method", "settings", "protocol", *head, *tail])
    for part, rows in parts:
        for row in rows:
            printed = (row.printed.accuracy, row.printed.f1) if row.printed else (None, None)
            note = row.absent or "; ".join(row.errors)
            measured: list[Any] = [*_numbers(row.accuracy), *_numbers(row.f1), *printed, row.p, row.flip_rate]
            writer.writerow(
                [part, row.dataset, row.method, row.settings_text, row.protocol]
                + ["" if value is None else value for value in [*measured, row.fit_seconds, row.settled]]
                + [row.tasks, row.finished, note]
            )
    return out.getvalue()


def _mean(row: Row, spread: Spread | None) -> str:
    return str(spread or row.absent or "failed")


def _interval(spread: Spread | None) -> str:
    if spread is None or spread.interval is None:
        return "-"
    return f"{spread.interval[0]:.1f}, {spread.interval[1]:.1f}"


def _p(p: float | None) -> str:
    if p is None:
        return "-"
    return "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0") if p < 0.9995 else "1"


def _seconds(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{seconds:.0f}" if seconds >= 100 else f"{seconds:.1f}" if seconds >= 10 else f"{seconds:.3f}"


def _numbers(spread: Spread | None) -> list[float | None]:
    if spread is None:
        return [None] * len(_NUMBERS)
    low, high = spread.interval or (None, None)
    return [spread.mean, spread.sd, low, high]


def _line(parts: Iterable[str]) -> str:
    return "| " + " | ".join(part.replace("|", "\\|") for part in parts) + " |"
