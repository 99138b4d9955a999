"""The most confident wrong predictions."""

from __future__ import annotations

from typing import Any

from isonn.report.cases import Cases
from isonn.report.section import Section

#: Number of mistakes shown.
WORST = 6


class MistakesSection(Section):
    """The most confident wrong predictions, with the reason behind each."""

    anchor, template, listed = "worst", "mistakes.html", "Mistakes"
    title = "Worst mistakes"

    def __init__(self, cases: Cases) -> None:
        wrong = [panel for panel in cases.panels if panel.right is False]
        self.worst = sorted(wrong, key=lambda panel: -(panel.confidence or 0))[:WORST]

    def applies(self) -> bool:
        """Return whether any prediction is wrong."""
        return bool(self.worst)

    def content(self) -> dict[str, Any]:
        """Return the panels of the mistakes."""
        return {"worst": self.worst}
