"""The section of suggestions: small edits that move a prediction to a goal, drawn and scored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from isonn.explain.suggest import Suggestion, read_goal
from isonn.report.cases import Cases
from isonn.report.draw import draw_graph
from isonn.report.panels import Panel
from isonn.report.section import Section
from isonn.report.words import percent_text

#: Suggestions drawn for a graph.
SHOWN = 6


class Suggested(NamedTuple):
    """A suggestion on a page: its edits, drawing, score, similarity and structure as text."""

    text: str
    svg: str
    answer: str
    reached: bool
    about: str
    smiles: str


class SuggestionsSection(Section):
    """Shows edits that move each prediction to a goal."""

    anchor: ClassVar[str] = "suggestions"
    template: ClassVar[str] = "suggestions.html"
    listed: ClassVar[str] = "Suggestions"

    def __init__(self, cases: Cases, goal: str | None) -> None:
        self.cases, self.goal = cases, goal
        self.by_panel = [(panel, self._of(panel)) for panel in cases.panels]

    @property
    def title(self) -> str:
        """The heading."""
        return "What would change the prediction"

    def content(self) -> dict[str, Any]:
        """Return the suggestions of every graph."""
        return {"by_panel": self.by_panel}

    def _of(self, panel: Panel) -> list[Suggested]:
        clf = self.cases.clf
        graphs = self.cases.graphs[panel.number : panel.number + 1]
        goal = read_goal(clf, self.goal, clf.predict(graphs)[0])
        found: Sequence[Suggestion] = clf.suggest(graphs, goal, top=SHOWN)
        return [self._shown(one, goal) for one in found]

    def _shown(self, one: Suggestion, goal: Any) -> Suggested:
        clf = self.cases.clf
        explanation = clf.explain(one.graph, label=goal if clf.target_.exclusive else None)
        drawing = draw_graph(
            one.graph,
            symbols=self.cases.look,
            title=f"{one.text} {one.smiles}".strip(),
            node_importance=explanation.node_importance,
            edge_importance=explanation.edge_importance,
        )
        similar = "" if one.similarity is None else f"similarity {one.similarity:.2f}"
        domain = "" if one.verdict in (None, "in") else "at the border of the domain"
        answer = f"{one.answer:.3g}" if clf.target_.numeric else percent_text(one.answer)
        if clf.target_.exclusive:
            answer += f" {self.cases.naming.class_(goal)}"
        about = ", ".join(part for part in (similar, domain) if part)
        return Suggested(one.text, drawing.svg, answer, one.reached, about, one.smiles)
