"""One row of the benchmark table: always a ratio, never a bare time."""

from __future__ import annotations

import itertools
import operator
import platform
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Row:
    """What was measured, the other side of the ratio (a rival or a limit, in the same run), and the target value."""

    what: str
    against: str
    ratio: float
    wanted: str = ""

    @property
    def falls_short(self) -> bool:
        """Whether the ratio is not as wanted; a ratio that could not be measured falls short."""
        sign, _, bar = self.wanted.partition(" ")
        compare = {">=": operator.ge, "<=": operator.le, "<": operator.lt}.get(sign)
        return compare is not None and not compare(self.ratio, float(bar))


def show(rows: Iterable[Row]) -> list[Row]:
    """Print the table line by line as rows arrive, because some take a minute; return the rows."""
    console = Console(width=150)
    widths = (62, 58, 8, 8)
    made: list[Row] = []
    for row in itertools.chain([None], rows):
        cells = ("what", "against", "ratio", "wanted") if row is None else _cells(row)
        made += [] if row is None else [row]
        line = Table.grid(padding=(0, 2))
        for width, justify in zip(widths, ("left", "left", "right", "left"), strict=True):
            line.add_column(width=width, justify=justify)
        line.add_row(*cells, style="bold" if cells[0] == "what" else None)
        console.print(line)
    return made


def processor() -> str:
    """Return the name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def shortfalls(rows: Iterable[Row]) -> list[str]:
    """Return a line for each ratio that is not as wanted."""
    lines, what = [], ""
    for row in rows:
        what = row.what or what
        if row.falls_short:
            lines.append(f"{what}, {row.against}: {row.ratio:.2f}, wanted {row.wanted}")
    return lines


def write(rows: Iterable[Row], machine: str, page: Path) -> None:
    """Write the rows that have a target value between the two `bench` comments of a page."""
    lines, what, last = [f"{machine}.", "", "| what | against | ratio | wanted |", "|---|---|---:|---|"], "", ""
    for row in rows:
        what = row.what or what
        if row.wanted:
            cells = _cells(replace(row, what="" if what == last else what))
            lines.append(f"| {' | '.join(cells)} |")
            last = what
    text = page.read_text(encoding="utf-8")
    found = re.compile(r"(<!-- bench -->\n).*?(<!-- /bench -->)", re.DOTALL)
    page.write_text(found.sub(lambda part: part[1] + "\n".join(lines) + "\n" + part[2], text), encoding="utf-8")


def _cells(row: Row) -> tuple[str, str, str, str]:
    return row.what, row.against, f"{row.ratio:,.2f}" if row.ratio < 10 else f"{row.ratio:,.0f}", row.wanted
