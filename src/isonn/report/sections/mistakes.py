"""The most confident wrong predictions."""

from __future__ import annotations

from isonn.report.cases import Cases
from isonn.report.section import Section

#: Number of mistakes shown.
WORST = 6


def mistakes_section(cases: Cases) -> Section | None:
    """Return the most confident wrong predictions, with the reason behind each."""
    wrong = [panel for panel in cases.panels if panel.right is False]
    worst = sorted(wrong, key=lambda panel: -(panel.confidence or 0))[:WORST]
    return Section("mistakes", "Worst mistakes", {"worst": worst}, "Mistakes") if worst else None
