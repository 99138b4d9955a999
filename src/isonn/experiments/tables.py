"""Rows of results as text: for a terminal and in Markdown, with the notes below a table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from isonn.experiments.rows import MEAN, Row, Spread
from isonn.experiments.statistics import SIGNIFICANT
from isonn.scores import METRICS

if TYPE_CHECKING:
    from rich.table import Table


def failures(rows: Sequence[Row]) -> list[str]:
    """Return one sentence per incomplete row."""
    return [
        f"{name} failed in {row.jobs - row.finished} of {row.jobs} jobs: {row.errors[0]}"
        + (f" (and {len(row.errors) - 1} other errors)" if len(row.errors) > 1 else "")
        for name, row in _named(rows)
        if row.errors
    ]


def _named(rows: Sequence[Row]) -> list[tuple[str, Row]]:
    """Return each method's row (the mean of several targets) with its name, and the dataset if there are several."""
    several = len({row.dataset for row in rows}) > 1
    rows = [row for row in rows if row.target in ("", MEAN)] or rows
    return [(f"{row.method} on {row.dataset}" if several else row.method, row) for row in rows]


def remarks(rows: Sequence[Row]) -> list[str]:
    """Return notes on the rows: warnings, permutation p of all metrics of numbers, and mixed versions of isonn."""
    named = _named(rows)
    said = _warnings([row for _, row in named])
    sources: Counter[str] = Counter()
    for _, row in named:
        if row.permutation_ps and "r2" in row.metrics:  # tables of numbers have room for the p of one metric
            ps = ", ".join(f"{METRICS[name].heading} {_p(p)}" for name, p in row.permutation_ps.items())
            said.append(f"Permutation p of {row.method}: {ps}.")
        sources.update(dict(row.sources))
    if len(sources) > 1:
        versions: Counter[str] = Counter()
        for name, number in sources.items():
            versions[name.partition(" at ")[0]] += number
        parts = ", ".join(f"{name} ({number} jobs)" for name, number in versions.most_common())
        said.append(f"Results of several versions: {parts}; results.json lists the commits.")
    return said


def _warnings(rows: Sequence[Row]) -> list[str]:
    """Return a sentence per warning, with the methods and datasets that gave it; numbers in it may differ."""
    given: dict[str, list[tuple[Row, str, int]]] = {}
    for row in rows:
        for message, number in row.warnings:
            alike = re.sub(r"\d[\d.,]*", "#", message.replace(row.dataset, "DATASET"))
            given.setdefault(alike, []).append((row, message, number))
    several = len({row.dataset for row in rows}) > 1
    said = []
    for entries in given.values():
        methods, datasets = (
            ", ".join(dict.fromkeys(getattr(row, name) for row, _, _ in entries)) for name in ("method", "dataset")
        )
        messages = {message for _, message, _ in entries}
        times = sum(number for _, _, number in entries)
        said.append(
            f"{methods}{f' on {datasets}' if several else ''} warned {times} time{'s' * (times > 1)}"
            f"{', such as' if len(messages) > 1 else ''}: {entries[0][1].rstrip('.')}."
        )
    return said


def outstanding(rows: Sequence[Row]) -> Collection[int]:
    """Return the indices of the rows to set in bold.

    For each dataset and target, this is the best row by the first metric if it differs significantly from the reference
    (p < 0.05). If the best row is the reference itself, every other row must differ from it. Without a test, nothing is
    bold.
    """
    bold = set()
    for group in dict.fromkeys((row.dataset, row.target) for row in rows):
        of_group = [(i, row) for i, row in enumerate(rows) if (row.dataset, row.target) == group and row.metrics]
        if len(of_group) < 2:
            continue
        best, row = max(of_group, key=lambda entry: entry[1].goodness)
        references = {other.against for _, other in of_group}
        told = [other.p for _, other in of_group if other is not row] if row.method in references else [row.p]
        if all(p is not None and p < SIGNIFICANT for p in told):
            bold.add(best)
    return bold


#: Explanations of columns, shown below a table.
_LEGEND = {
    "95 %": "interval of the mean over all folds, corrected for the graphs they share",
    "p perm.": "share of permuted targets with at least as good a result",
    "flips": "percent of predictions that change when nodes are relabelled",
    "one class": "percent of folds in which every test graph got the same class",
    "loss": "training loss in the last epoch, median over folds",
    "epochs": "epochs trained, median over folds",
    "settled": "epoch after which the loss falls by less than 5 % of its total decrease",
    **{metric.heading: metric.about for metric in METRICS.values() if metric.about},
}


#: Protocols of published tables, in which the number of seeds is always shown.
REPRODUCED = ("paper", "released")
_ALWAYS = ("method", "s/fit")


def cells(rows: Sequence[Row], leave_out: Collection[str] = ()) -> tuple[list[str], list[list[str]]]:
    """Return headings and cells, without empty columns.

    Args:
        leave_out: headings of columns to omit.
    """
    columns: list[tuple[str, list[str]]] = [
        ("method", [f"{row.method} ({row.settings_text})" if row.settings_text else row.method for row in rows]),
        ("target", [row.target or "-" for row in rows]),
        ("seeds", _seeds(rows)),
    ]
    names = list(dict.fromkeys(name for row in rows for name in row.metrics)) or ["accuracy", "f1"]
    for place, name in enumerate(names):
        values = [_cell(row, name, place == 0) for row in rows]
        columns.append((METRICS[name].heading, values))
        if place == 0:
            columns.append(("95 %", [_interval(row.first) for row in rows]))
    columns += [
        ("paper", [f"{row.printed['accuracy']:.1f}" if row.printed else "-" for row in rows]),
        ("paper's F1", [f"{row.printed['f1']:.1f}" if row.printed else "-" for row in rows]),
        ("p", [_p(row.p) for row in rows]),
        ("p perm.", [_p(row.permutation_p) for row in rows]),
        ("flips", ["-" if row.flip_rate is None else f"{row.flip_rate:.1f}" for row in rows]),
        ("one class", _collapsed(rows)),
        ("loss", ["-" if row.final_loss is None else f"{row.final_loss:.3f}" for row in rows]),
        ("epochs", ["-" if row.epochs is None else f"{row.epochs:.0f}" for row in rows]),
        ("settled", ["-" if row.settled is None else str(row.settled) for row in rows]),
        ("s/fit", [_seconds(row.fit_seconds) for row in rows]),
    ]
    kept = [
        (name, column)
        for name, column in columns
        if name not in leave_out and (name in _ALWAYS or set(column) != {"-"})
    ]
    return [name for name, _ in kept], [list(line) for line in zip(*(column for _, column in kept), strict=True)]


def _cell(row: Row, name: str, first: bool) -> str:
    """Format a metric of a row; the first metric shows why there is no result."""
    spread = row.metrics.get(name)
    if spread is not None:
        return str(spread)
    return "-" if row.metrics or (row.absent and not first) else row.absent or "failed"


def _seeds(rows: Sequence[Row]) -> list[str]:
    """Return the number of seeds of each row: under the paper's protocol, or if they differ."""
    counts = {row.seeds for row in rows if row.seeds}
    wanted = len(counts) > 1 or any(row.protocol in REPRODUCED for row in rows)
    return [str(row.seeds) if row.seeds and wanted else "-" for row in rows]


def _collapsed(rows: Sequence[Row]) -> list[str]:
    """Return the share of folds with one class, if a network is among the rows or any fold has it."""
    if not any(row.one_class and row.final_loss is not None for row in rows):
        return ["-"] * len(rows)
    return ["-" if row.one_class is None else f"{row.one_class:.0f}" for row in rows]


def legend(rows: Sequence[Row], width: int | None = None, leave_out: Collection[str] = ()) -> list[str]:
    """Explain the less common columns of these rows in one line, if there are any.

    Args:
        width: the width of the terminal that `render` leaves out columns for, or None for all columns.
        leave_out: headings of columns that are omitted.
    """
    if not rows:
        return []
    against = next((row.against for row in rows if row.against), "")
    about = {**_LEGEND, "p": f"corrected resampled t-test of the {_first_heading(rows)} against {against}"}
    tables = [[row for row in rows if row.dataset == name] for name in {row.dataset for row in rows}]
    hidden = set.intersection(*(set(_hidden(table, width)) for table in tables))
    shown = [f"{name}: {about[name]}" for name in cells(rows, [*leave_out, *hidden])[0] if name in about]
    return ["; ".join(shown) + "."] if shown else []


def render(rows: Sequence[Row], width: int | None = None) -> Table:
    """Format the rows for a terminal.

    Args:
        width: width of the terminal; if it is too narrow, columns are omitted and settings are wrapped.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    headings, lines = cells(rows, ["paper's F1", *_hidden(rows, width)])
    table.add_column(headings[0], overflow="fold")  # the method
    for heading in headings[1:]:
        table.add_column(heading, justify="right", no_wrap=True)
    for line in lines:
        table.add_row(*map(Text, line))  # Text, so that brackets are not parsed as markup
    return table


def _hidden(rows: Sequence[Row], width: int | None) -> list[str]:
    """Return the columns that do not fit in the terminal."""
    hidden: list[str] = []
    headings, lines = cells(rows, ["paper's F1"])
    first = _first_heading(rows)
    optional = [metric.heading for metric in reversed(METRICS.values()) if metric.heading != first]
    for name in ("settled", "epochs", "loss", "s/fit", *optional, "95 %", "flips", "seeds"):
        if width is None or _width(headings, lines) <= width:
            break
        hidden.append(name)
        headings, lines = cells(rows, ["paper's F1", *hidden])
    return hidden


def _first_heading(rows: Sequence[Row]) -> str:
    """Return the heading of the metric that is tested."""
    return next((METRICS[next(iter(row.metrics))].heading for row in rows if row.metrics), "accuracy")


def _width(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> int:
    """Return the width of a table without wrapped numbers and words; settings can be wrapped between words."""
    names = [word for line in lines for word in line[0].split()]
    numbers = [max(len(cell) for cell in column) for column in zip(headings, *lines, strict=True)][1:]
    return max(map(len, names), default=0) + sum(numbers) + 2 * len(numbers)


def markdown(rows: Sequence[Row], leave_out: Collection[str] = ()) -> str:
    """Format the rows as a Markdown table without some columns, with the rows of `outstanding` in bold."""
    headings, lines = cells(rows, leave_out)
    first = _first_heading(rows)
    bold = outstanding(rows)
    for i in bold:
        lines[i] = [f"**{cell}**" if name == first else cell for name, cell in zip(headings, lines[i], strict=True)]
    return "\n".join(map(_line, [headings, ["---", *["---:"] * (len(headings) - 1)], *lines])) + "\n"


def _interval(spread: Spread | None) -> str:
    if spread is None or spread.interval is None:
        return "-"
    return ", ".join(map(spread.text, spread.interval))


def _p(p: float | None) -> str:
    if p is None:
        return "-"
    return "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0") if p < 0.9995 else "1"


def _seconds(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{seconds:.0f}" if seconds >= 100 else f"{seconds:.1f}" if seconds >= 10 else f"{seconds:.3f}"


def _line(parts: Iterable[str]) -> str:
    return "| " + " | ".join(part.replace("|", "\\|") for part in parts) + " |"
