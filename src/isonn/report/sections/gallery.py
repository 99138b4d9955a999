"""The gallery: every graph with its prediction and its reasons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isonn.graphs.graph import Graph
from isonn.report.cases import Cases
from isonn.report.draw import Symbols, drawer_of
from isonn.report.panels import Panel
from isonn.report.section import Section


class GallerySection(Section):
    """Panels of graphs, of which the page shows one.

    Args:
        panels: the graphs.
        graph: one of them, for the legend.
        look: the look of labels.
        sentence: how many graphs there are, for pages that show all graphs of a set.
    """

    anchor, template, listed = "gallery", "gallery.html", "Graphs"

    def __init__(self, panels: Sequence[Panel], graph: Graph, look: Symbols, sentence: str = "") -> None:
        self.panels, self.graph, self.look, self.sentence = panels, graph, look, sentence

    @classmethod
    def of_set(cls, cases: Cases) -> GallerySection:
        """Return the gallery of a page that shows all graphs of a set."""
        total, noun = len(cases.judged.numbers), cases.naming.noun
        which = f"All {total:,}" if len(cases.panels) == total else f"{len(cases.panels):,} of {total:,}"
        judged = [panel.right for panel in cases.panels if panel.right is not None]
        count = f", {sum(judged):,} classified correctly" if judged else ""
        sentence = f"{which} {noun}s{count}. Choose one to see its reasons."
        return cls(cases.panels, cases.graphs[0], cases.look, sentence)

    @property
    def title(self) -> str:
        """What the gallery holds."""
        noun = self.panels[0].noun
        if self.sentence:
            return f"Every {noun} and its reasons"
        return "Its reasons" if len(self.panels) == 1 else f"{noun[:1].upper()}{noun[1:]}s and their reasons"

    @property
    def heading_hidden(self) -> bool:
        """Whether there is a single graph, whose name is the heading of the page."""
        return len(self.panels) == 1 and not self.sentence

    def content(self) -> dict[str, Any]:
        """Return the panels and the legend of their drawings."""
        drawer = drawer_of(self.graph)
        return {
            "panels": self.panels,
            "sentence": self.sentence,
            "legend": drawer.legend(),
            "bonds": self.look.molecules and drawer.name == "graph",
            "numeric": self.panels[0].confidence is None,
        }
