"""Paired differences of methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isonn.report.comparison import Difference, with_charts
from isonn.report.section import Section


class DifferencesSection(Section):
    """The difference of the reference method to each other method, dataset by dataset."""

    anchor, template = "differences", "differences.html"

    @property
    def title(self) -> str:
        """The reference method."""
        return f"{self.reference} against the others"

    def __init__(self, reference: str, against: Mapping[str, Sequence[Difference]]) -> None:
        self.reference, self.against = reference, against

    def content(self) -> dict[str, Any]:
        """Return a line of the forest plot for each difference."""
        return {"reference": self.reference, "against": with_charts(self.against)}
