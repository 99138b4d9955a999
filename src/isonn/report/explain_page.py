"""The page of single graphs: what a saved model says of each, and why."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from isonn.errors import InputError
from isonn.explain.explanation import Explanation
from isonn.graphs.graph import GraphSet
from isonn.progress import bar
from isonn.report.draw import symbols, symbols_of
from isonn.report.page import render, require_jinja2
from isonn.report.panels import MANY, Panel, panel_of, panels, template_pictures
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
        shown = panels(clf, graphs, chosen, listed=listed, report=report)
    one = len(shown) == 1
    title = f"{graphs.name}, graph {shown[0].number}" if one else f"{graphs.name}, {len(shown)} of {len(graphs)} graphs"
    kind = type(clf).__name__
    settings = ", ".join(f"{name}={getattr(clf, name)}" for name in ("k", "c", "matching") if hasattr(clf, name))
    facts = [
        ("model", f"{kind}({settings})" + (f" from {source.name}" if source is not None else "")),
        ("data", f"{graphs.name}: {len(graphs)} graphs"),
        ("SHA-256", graphs.digest),
    ]
    text = render(
        "explain.html",
        title=title,
        sentence=_sentence(shown),
        panels=shown,
        template_numbers=list(range(len(clf.templates_))),
        templates=template_pictures(clf.templates_, symbols(graphs), _used(shown)),
        molecules=symbols(graphs).molecules,
        facts=facts,
    )
    return text, shown


def page_of_one(explanation: Explanation) -> str:
    """The page of a single explanation."""
    require_jinja2()
    look = symbols_of(explanation.graph.node_labels, explanation.label_names)
    shown = [panel_of(explanation, 0, None, look, MANY)]
    return render(
        "explain.html",
        title="Graph",
        sentence=_sentence(shown),
        panels=shown,
        template_numbers=[],
        templates=template_pictures(explanation.templates, look, _used(shown)),
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


def _sentence(shown: Sequence[Panel]) -> str:
    if len(shown) > 1:
        return "What the model says of each graph, which nodes are which template, and what would change without them."
    panel = shown[0]
    decisive = sum(match.flips is not None for match in panel.matches)
    removal = (
        f"Taking away any one of {decisive} of the {len(panel.matches)} listed matches changes the class."
        if decisive
        else "Taking away no single one of the listed matches changes the class."
    )
    return (
        f"Class {panel.predicted} with probability {100 * panel.confidence:.1f} %. {removal if panel.matches else ''}"
    )
