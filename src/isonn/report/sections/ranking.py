"""A ranking of methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isonn.report.comparison import Rank, ranked_on
from isonn.report.rows import Measured
from isonn.report.section import Section


class RankingSection(Section):
    """The mean rank of each method over the datasets."""

    anchor, template = "ranking", "ranking.html"
    title = "Ranking"

    def __init__(self, sets: Sequence[Measured], ranks: Sequence[Rank]) -> None:
        self.sets, self.ranks = sets, ranks

    def content(self) -> dict[str, Any]:
        """Return the ranks, and over how many datasets they are."""
        return {"ranks": self.ranks, "ranked_on": ranked_on(self.sets)}
