"""The section of suggestions: small edits that move a prediction to a goal, drawn and scored."""

from __future__ import annotations

from typing import Any

from isonn.explain.suggest import Suggestion, read_goal
from isonn.report.cases import Cases
from isonn.report.draw import draw_explained
from isonn.report.page import Section
from isonn.report.words import number_text, percent_text

#: Suggestions drawn for a graph.
SHOWN = 6


def suggestions_section(cases: Cases, goal: str | None) -> Section:
    """Return edits that move each prediction to a goal; None means the other of two classes."""
    by_panel = [(panel, _suggestions(cases, panel.number, goal)) for panel in cases.panels]
    return Section("suggestions", "What would change the prediction", {"by_panel": by_panel}, "Suggestions")


def _suggestions(cases: Cases, number: int, text: str | None) -> list[dict[str, Any]]:
    clf, graphs = cases.clf, cases.graphs[number : number + 1]
    goal = read_goal(clf, text, clf.predict(graphs)[0])
    return [_drawn(cases, suggestion, goal) for suggestion in clf.suggest(graphs, goal, top=SHOWN)]


def _drawn(cases: Cases, suggestion: Suggestion, goal: Any) -> dict[str, Any]:
    """Return a suggestion with its drawing, its answer and its similarity as text."""
    clf = cases.clf
    e = clf.explain(suggestion.graph, label=goal if clf.target_.exclusive else None)
    drawing = draw_explained(e, cases.look, title=f"{suggestion.text} {suggestion.smiles}".strip())
    answer = number_text(suggestion.answer, e.unit) if clf.target_.numeric else percent_text(suggestion.answer)
    if clf.target_.exclusive:
        answer += f" {cases.naming.class_(goal)}"
    about = [] if suggestion.similarity is None else [f"similarity {suggestion.similarity:.2f}"]
    about += [] if suggestion.verdict in (None, "in") else ["at the border of the domain"]
    return {"of": suggestion, "svg": drawing.svg, "answer": answer, "about": ", ".join(about)}
