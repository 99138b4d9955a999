"""Learning curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isonn.report.comparison import learning_curves, metric_of
from isonn.report.rows import Measured
from isonn.report.section import Section


class LearningCurvesSection(Section):
    """The first metric of each method by number of training graphs."""

    anchor, template = "curves", "learning_curves.html"
    title = "Learning curves"

    def __init__(self, sets: Sequence[Measured]) -> None:
        charts = [(f"{measured.name}, {metric_of(measured)}", learning_curves(measured)) for measured in sets]
        self.curves = [(name, chart) for name, chart in charts if chart]

    def applies(self) -> bool:
        """Return whether any results have several numbers of training graphs."""
        return bool(self.curves)

    def content(self) -> dict[str, Any]:
        """Return the charts by name."""
        return {"curves": self.curves}
