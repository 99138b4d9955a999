"""The page of single graphs: the prediction of a saved model for each, and its reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from isonn.errors import InputError
from isonn.explain.explanation import Explanation
from isonn.graphs.graph import GraphSet
from isonn.progress import bar
from isonn.report.cards import readable, template_pictures
from isonn.report.draw import drawer_of, shortened, symbols, symbols_of
from isonn.report.model_page import Tile, training_words
from isonn.report.page import render, require_jinja2
from isonn.report.panels import MANY, Panel, panel_of, panels, percent_text
from isonn.report.pieces import Holders, Naming
from isonn.report.runs import check_takes

#: Default number of graphs on a page.
FIRST = 20


def explain_page(
    clf: Any,
    graphs: GraphSet,
    numbers: Sequence[int] | None = None,
    source: Path | None = None,
    listed: int = MANY,
    quiet: bool = False,
) -> tuple[str, list[Panel]]:
    """Create the page and a summary of its content.

    Args:
        clf: a fitted model.
        numbers: which graphs; None uses the first few.
        source: file of the model.
        listed: number of matches to list for each graph.
        quiet: hide the progress bar.
    """
    require_jinja2()
    if not graphs.class_names and clf.label_names_.get("class"):
        graphs = replace(graphs, class_names=clf.label_names_["class"])
    if graphs.y is None and clf.label_names_.get("target"):
        graphs = replace(graphs, target_names=tuple(name for _, name in sorted(clf.label_names_["target"].items())))
    chosen = _numbers(graphs, numbers)
    check_takes(clf, graphs[chosen], source or Path("the model"))
    with bar("explaining graphs", len(chosen), show=not quiet) as report:
        shown = panels(clf, graphs, chosen, listed=listed, report=report, holders=Holders(graphs))
    naming = Naming.of(graphs)
    one = len(shown) == 1
    of = f"all {len(shown)}" if len(shown) == len(graphs) else f"{len(shown)} of {len(graphs)}"
    where = "" if graphs.name == "graphs" else f" of {graphs.name}"
    title = f"{graphs.name}, {shown[0].title}" if one else f"{graphs.name}, {of} {naming.noun}s"
    settings = ", ".join(f"{name}={getattr(clf, name)}" for name in ("k", "c", "matching") if hasattr(clf, name))
    facts = [
        ("model", f"{type(clf).__name__}({settings})" + (f" from {source.name}" if source is not None else "")),
        ("data", f"{graphs.name}: {len(graphs)} graphs"),
        ("SHA-256 of the data", graphs.digest),
    ]
    text = render(
        "explain.html",
        title=title,
        **_first_screen(shown, shown[0].called if one else f"What does the model see in {of} {naming.noun}s{where}?"),
        how=training_words(clf, graphs[list(chosen)]),
        panels=shown,
        templates=template_pictures(clf.templates_, symbols(graphs), _used(shown)) if readable(clf.templates_) else [],
        legend=drawer_of(graphs[chosen[0]]).legend(),
        bonds=symbols(graphs).molecules and shown[0].drawing.kind == "graph",
        facts=facts,
    )
    return text, shown


def page_of_one(explanation: Explanation) -> str:
    """Create the page of a single explanation."""
    require_jinja2()
    graph = explanation.graph
    look = symbols_of(graph.node_labels, explanation.label_names, explanation.edge_label_names)
    naming = Naming.of_one(explanation)
    name = shortened(graph.id or "")
    panel = panel_of(explanation, 0, None, look, MANY, naming, name=name or f"This {naming.noun}")
    return render(
        "explain.html",
        title=panel.title,
        **_first_screen([panel], name or f"this {naming.noun}"),
        how="",
        panels=[panel],
        templates=[],
        legend=drawer_of(graph).legend(),
        bonds=look.molecules and panel.drawing.kind == "graph",
        facts=[],
    )


def _numbers(graphs: GraphSet, numbers: Sequence[int] | None) -> list[int]:
    if numbers is None or not numbers:
        return list(range(min(FIRST, len(graphs))))
    rows = graphs.table.get("row")  # the numbers of a table with unusable rows, as in predictions
    places = {int(row): place for place, row in enumerate(range(len(graphs)) if rows is None else rows.tolist())}
    for number in numbers:
        if number not in places:
            last = max(places)
            if 0 <= number < last:
                raise InputError(
                    f"row {number} of {graphs.name} was left out, so it cannot be explained; correct the row"
                )
            raise InputError(f"graph {number} is out of range: {graphs.name} has graphs 0 to {last}")
    return [places[number] for number in dict.fromkeys(numbers)]


def _used(shown: Sequence[Panel]) -> list[int]:
    """Return templates by the largest contribution of a listed match."""
    worth: dict[int, float] = {}
    for panel in shown:
        for match in panel.matches:
            worth[match.template] = max(worth.get(match.template, 0.0), abs(match.contribution))
    return sorted(worth, key=lambda template: -worth[template])


def _first_screen(shown: Sequence[Panel], about: str) -> dict[str, Any]:
    """Return question, answer and numbers, and for several graphs one with its strongest reason.

    Args:
        about: the name of a single graph, or the question for several.
    """
    noun = shown[0].noun
    if len(shown) == 1:
        (panel,) = shown
        why = f"Why is {about} predicted {panel.predicted}?"
        return {"question": why, "answer": _answer(panel), "tiles": _tiles(panel), "hero": None, "noun": noun}
    numeric = shown[0].confidence is None
    leading = Counter(panel.reasons[0].text for panel in shown if panel.reasons).most_common(1)
    if not leading:
        answer = f"No piece of these {noun}s speaks for or against a prediction."
    elif leading[0][1] == 1:
        answer = f"The {len(shown)} {noun}s all have different strongest reasons."
    else:
        answer = f"The most frequent strongest reason is {leading[0][0]}: in {leading[0][1]} of {len(shown)} {noun}s."
    if numeric:
        values = [panel.score for panel in shown]
        mean = Tile("Mean prediction", f"{sum(values) / len(values):.3g}", f"of {len(shown)} {noun}s", main=True)
        tiles = [mean, Tile("Predictions", f"{min(values):.3g} to {max(values):.3g}", "lowest to highest")]
    else:
        counts = Counter(panel.predicted for panel in shown).most_common(2)
        tiles = [Tile(f"Predicted {name}", str(n), f"of {len(shown)} {noun}s") for name, n in counts]
        judged = [panel for panel in shown if panel.right is not None]
        if judged:
            right = sum(panel.right is True for panel in judged)
            tiles = [Tile("Correct", percent_text(right / len(judged)), f"{right} of {len(judged)}"), tiles[0]]
        tiles[0] = replace(tiles[0], main=True)
    first = next((panel for panel in shown if panel.reasons and panel.reasons[0].contribution > 0), None)
    first = first or next((panel for panel in shown if panel.reasons), None)
    hero = None
    if first is not None:
        text = f"{first.reasons[0].text}; without it: {first.reasons[0].without}"
        hero = {"panel": first, "drawing": first.drawing, "text": text}
    return {"question": about, "answer": answer, "tiles": tiles, "hero": hero, "noun": noun}


def _tiles(panel: Panel) -> list[Tile]:
    """Return the prediction for one graph, with and without the strongest reason."""
    value = panel.predicted if panel.confidence is None else percent_text(panel.confidence)
    about = panel.explained.removeprefix("the value")
    if panel.confidence is not None:
        about = f"probability of {panel.explained}"
    tiles = [Tile("Predicted", value, about, main=True)]
    if panel.reasons:
        first = panel.reasons[0]
        then = f"then predicted {first.flips}" if first.flips else "the prediction stays" if panel.confidence else about
        tiles.append(Tile("Without the strongest reason", first.without, then))
    return tiles


def _answer(panel: Panel) -> str:
    if not panel.reasons:
        return f"No piece of this {panel.noun} speaks for or against {panel.explained}."
    first = panel.reasons[0]
    if panel.confidence is None:
        does = "raises" if first.contribution >= 0 else "lowers"
        return f"The strongest reason is {first.text}, which {does} {panel.explained}."
    side = "for" if first.contribution >= 0 else "against"
    return f"The strongest reason {side} {panel.explained} is {first.text}."
