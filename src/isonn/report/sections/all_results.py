"""Tables of all results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isonn.report.comparison import Rank, best_scores, metric_of
from isonn.report.rows import Measured, best_of, goodness
from isonn.report.section import Section

#: Maximum number of columns in a table; more do not fit on A4.
COLUMNS = 4


class AllResultsSection(Section):
    """The results of every method on every dataset, a few datasets a table."""

    anchor, template = "results", "all_results.html"
    title = "All results"

    def __init__(self, sets: Sequence[Measured], ranks: Sequence[Rank]) -> None:
        self.sets, self.ranks = sets, ranks

    def content(self) -> dict[str, Any]:
        """Return the tables."""
        return {"tables": [self._table(self.sets[i : i + COLUMNS]) for i in range(0, len(self.sets), COLUMNS)]}

    def _table(self, sets: Sequence[Measured]) -> dict[str, Any]:
        lines = [(rank, [_cell(measured, rank.method) for measured in sets]) for rank in self.ranks]
        return {"datasets": [(measured.name, metric_of(measured)) for measured in sets], "lines": lines}


def _cell(measured: Measured, method: str) -> tuple[str, bool]:
    """Return a method's result on a dataset, and whether it is the best there."""
    best = best_of([row for row in measured.rows if row.method == method])
    if best is None:
        return "", False
    return str(best.first), goodness(best) == max(best_scores(measured.rows).values())
