"""The gallery: every graph with its prediction and its reasons, and the worst mistakes."""

from __future__ import annotations

from collections.abc import Sequence

from isonn.graphs.graph import Graph
from isonn.report.cases import Cases
from isonn.report.draw import Symbols, drawer_of
from isonn.report.page import Example, Section
from isonn.report.panels import Panel
from isonn.report.words import CONNECTIONS, capitalized

#: Number of mistakes shown.
WORST = 6


def gallery_of_set(cases: Cases) -> Section:
    """Return the gallery of a page that shows all graphs of a set."""
    total, noun = len(cases.numbers), cases.naming.noun
    which = f"All {total:,}" if len(cases.panels) == total else f"{len(cases.panels):,} of {total:,}"
    judged = [panel.right for panel in cases.panels if panel.right is not None]
    count = f", {sum(judged):,} classified correctly" if judged else ""
    sentence = f"{which} {noun}s{count}. Choose one to see its reasons."
    return gallery_section(cases.panels, cases.graphs[0], cases.look, sentence)


def gallery_section(panels: Sequence[Panel], graph: Graph, look: Symbols, sentence: str = "") -> Section:
    """Return panels of graphs, of which the page shows one.

    Args:
        graph: one of the graphs, for the legend.
        look: the look of labels.
        sentence: how many graphs there are, for pages that show all graphs of a set.
    """
    drawer, noun = drawer_of(graph), panels[0].noun
    content = {
        "panels": panels,
        "sentence": sentence,
        "legend": drawer.legend(),
        "bonds": look.molecules and drawer.name == "graph",
        "numeric": panels[0].confidence is None,
        "noun": noun,
        "additive": any(reason.kind in CONNECTIONS for panel in panels for reason in panel.reasons),
    }
    title = "Its reasons" if len(panels) == 1 else f"{capitalized(noun)}s and their reasons"
    if sentence:
        title = f"Every {noun} and its reasons"
    return Section("gallery", title, content, "Graphs", heading_hidden=len(panels) == 1 and not sentence)


def mistakes_section(cases: Cases) -> Section | None:
    """Return the most confident wrong predictions, with the reason behind each."""
    wrong = [panel for panel in cases.panels if panel.right is False]
    worst = sorted(wrong, key=lambda panel: -(panel.confidence or 0))[:WORST]
    content = {"worst": [_with_its_cause(cases, panel) for panel in worst]}
    return Section("mistakes", "Worst mistakes", content, "Mistakes") if worst else None


def _with_its_cause(cases: Cases, panel: Panel) -> Example:
    """Return a graph with the strongest reason for its prediction highlighted, where it has one."""
    cause = next((reason for reason in panel.reasons if reason.contribution > 0), None)
    if cause is None or cause is panel.reasons[0]:  # the drawing of a panel highlights the first
        return Example(panel, panel.drawing, "" if cause is None else cause.text)
    return cases.highlighted(panel, cause.members, True, cause.text)
