"""One row of the benchmark table: a ratio, never a bare time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Row:
    what: str
    measure: str
    value: float
    bar: str = ""


def show(title: str, rows: Iterable[Row]) -> list[Row]:
    table = Table("what", "measured", "value", "bar", title=title, title_justify="left", box=None)
    shown = []
    for row in rows:
        table.add_row(row.what, row.measure, f"{row.value:,.2f}" if row.value < 10 else f"{row.value:,.0f}", row.bar)
        shown.append(row)
    Console(width=120).print(table)
    return shown
