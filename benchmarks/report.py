"""One row of the benchmark table: a ratio, never a bare time."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Row:
    """What was done, what the ratio is of (a rival or a limit, measured in the same run), and what is wanted of it."""

    what: str
    against: str
    ratio: float
    wanted: str = ""


def show(rows: Iterable[Row]) -> None:
    """The table, printed line by line as the rows come, for some take a minute."""
    console = Console(width=150)
    widths = (62, 58, 8, 8)
    for cells in itertools.chain([("what", "against", "ratio", "wanted")], map(_cells, rows)):
        line = Table.grid(padding=(0, 2))
        for width, justify in zip(widths, ("left", "left", "right", "left"), strict=True):
            line.add_column(width=width, justify=justify)
        line.add_row(*cells, style="bold" if cells[0] == "what" else None)
        console.print(line)


def _cells(row: Row) -> tuple[str, str, str, str]:
    return row.what, row.against, f"{row.ratio:,.2f}" if row.ratio < 10 else f"{row.ratio:,.0f}", row.wanted
