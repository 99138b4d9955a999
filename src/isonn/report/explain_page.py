"""The page of single graphs: what a saved model says of each, and why."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from isonn.errors import InputError
from isonn.explain.explanation import Explanation
from isonn.graphs.graph import GraphSet
from isonn.progress import bar
from isonn.report.cards import READABLE, template_pictures
from isonn.report.draw import drawer_of, symbols, symbols_of
from isonn.report.page import render, require_jinja2
from isonn.report.panels import MANY, Panel, panel_of, panels, percent_text
from isonn.report.pieces import Holders
from isonn.report.runs import check_takes

#: Graphs on a page unless they are named.
FIRST = 20


def explain_page(
    clf: Any,
    graphs: GraphSet,
    numbers: Sequence[int] | None = None,
    source: Path | None = None,
    listed: int = MANY,
    quiet: bool = False,
) -> tuple[str, list[Panel]]:
    """The page, and what it shows.

    Args:
        clf: a fitted model.
        numbers: which graphs; None takes the first few.
        source: where the model was read from.
        listed: matches to list for each graph.
        quiet: show no progress.
    """
    require_jinja2()
    chosen = _numbers(graphs, numbers)
    check_takes(clf, graphs[chosen], source or Path("the model"))
    with bar("explaining graphs", len(chosen), show=not quiet) as report:
        shown = panels(clf, graphs, chosen, listed=listed, report=report, holders=Holders(graphs))
    one = len(shown) == 1
    title = f"{graphs.name}, {shown[0].title}" if one else f"{graphs.name}, {len(shown)} of {len(graphs)} graphs"
    settings = ", ".join(f"{name}={getattr(clf, name)}" for name in ("k", "c", "matching") if hasattr(clf, name))
    facts = [
        ("model", f"{type(clf).__name__}({settings})" + (f" from {source.name}" if source is not None else "")),
        ("data", f"{graphs.name}: {len(graphs)} graphs"),
        ("SHA-256 of the data", graphs.digest),
    ]
    readable = len(clf.templates_) <= READABLE
    text = render(
        "explain.html",
        title=title,
        answer=_answer(shown),
        panels=shown,
        templates=template_pictures(clf.templates_, symbols(graphs), _used(shown)) if readable else [],
        legend=drawer_of(graphs[chosen[0]]).legend(),
        molecules=symbols(graphs).molecules,
        facts=facts,
    )
    return text, shown


def page_of_one(explanation: Explanation) -> str:
    """The page of a single explanation."""
    require_jinja2()
    graph = explanation.graph
    look = symbols_of(graph.node_labels, explanation.label_names)
    panel = panel_of(explanation, 0, None, look, MANY, name=graph.id or "Graph")
    return render(
        "explain.html",
        title=panel.title,
        answer=_answer([panel]),
        panels=[panel],
        templates=[],
        legend=drawer_of(graph).legend(),
        molecules=look.molecules,
        facts=[],
    )


def _numbers(graphs: GraphSet, numbers: Sequence[int] | None) -> list[int]:
    if numbers is None or not numbers:
        return list(range(min(FIRST, len(graphs))))
    for number in numbers:
        if not 0 <= number < len(graphs):
            raise InputError(f"--graph {number} is not there: {graphs.name} has graphs 0 to {len(graphs) - 1}")
    return list(dict.fromkeys(numbers))


def _used(shown: Sequence[Panel]) -> list[int]:
    """Templates by the largest contribution of a listed match."""
    worth: dict[int, float] = {}
    for panel in shown:
        for match in panel.matches:
            worth[match.template] = max(worth.get(match.template, 0.0), abs(match.contribution))
    return sorted(worth, key=lambda template: -worth[template])


def _answer(shown: Sequence[Panel]) -> str:
    if len(shown) > 1:
        return "What the model says of each graph, which pieces decide, and what it would say without them."
    (panel,) = shown
    sure = "" if panel.confidence is None else f" ({percent_text(panel.confidence)})"
    if not panel.reasons:
        return f"Predicted {panel.predicted}{sure}. No piece of this graph speaks for or against it."
    first = panel.reasons[0]
    side = "for" if first.contribution >= 0 else "against"
    flips = f", {first.flips}" if first.flips else ""
    why = f"The strongest reason {side} {panel.explained} is {first.text}; without it: {first.without}{flips}."
    return f"Predicted {panel.predicted}{sure}. {why}"
