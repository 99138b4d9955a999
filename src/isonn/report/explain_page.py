"""The page of single graphs: the prediction of a saved model for each, and its reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from isonn.errors import InputError
from isonn.explain.explanation import Explanation
from isonn.files import check_new
from isonn.graphs.graph import GraphSet
from isonn.report.cases import Cases
from isonn.report.draw import shortened, symbols_of
from isonn.report.page import Header, Tile, example_of, render_page, require_jinja2, write
from isonn.report.page_models import PageModels, check_takes, training_words
from isonn.report.panels import Panel, ReasonRow, leading_reason
from isonn.report.sections.gallery import gallery_section
from isonn.report.sections.provenance import provenance_section
from isonn.report.sections.suggestions import suggestions_section
from isonn.report.sections.templates import matched_templates_section
from isonn.report.sections.trust import trust_section
from isonn.report.words import Naming, count_text, number_text, percent_text, speaking

#: Default number of graphs on a page.
FIRST = 20
_KICKER = "isonn explanation"


def explained_cases(
    clf: Any,
    graphs: GraphSet,
    numbers: Sequence[int | str] | None = None,
    source: Path | None = None,
    label: Any = None,
) -> Cases:
    """Explain predictions, for a page or for printing.

    Args:
        clf: a fitted model.
        numbers: which graphs, by number or id; None uses the first few.
        source: file of the model.
        label: the class or column to explain; None explains the predicted one.
    """
    graphs = _named(graphs, clf)
    chosen = places_of(graphs, numbers) if numbers else list(range(min(FIRST, len(graphs))))
    check_takes(clf, graphs[chosen], source or Path("the model"))
    models = PageModels(graphs, clf, [(clf, np.array(chosen))], training_words(clf, graphs[chosen]))
    return Cases(models, chosen, label)


def explain_page(
    clf: Any,
    graphs: GraphSet,
    numbers: Sequence[int | str] | None = None,
    source: Path | None = None,
    label: Any = None,
    suggest: str | None = None,
) -> tuple[str, Cases]:
    """Return the page of `explained_cases`, and them.

    Args:
        suggest: the goal of edits to show, as text; "" means the other of two classes, None shows none.
    """
    require_jinja2()
    if suggest is not None and not hasattr(clf, "suggest"):
        raise InputError(f"a {type(clf).__name__} makes no suggestions; use a subgraph model, or leave --suggest out")
    cases = explained_cases(clf, graphs, numbers, source, label)
    graphs = cases.graphs
    facts = [
        ("model", type(clf).__name__ + (f" from {source.name}" if source is not None else "")),
        ("data", f"{graphs.name}: {count_text(len(graphs), cases.naming.noun)}"),
        ("SHA-256 of the data", graphs.digest),
    ]
    explanations = [cases.explanation(number) for number in cases.shown]
    sections = [
        gallery_section(cases.panels, graphs[cases.shown[0]], cases.look),
        trust_section(explanations, [panel.title for panel in cases.panels], cases.naming, cases.look),
        None if suggest is None else suggestions_section(cases, suggest or None),
        matched_templates_section(cases),
        provenance_section("Model and data", [("", facts)]),
    ]
    title, header = _first_screen(cases)
    return render_page(f"{title}: explained by isonn", header, sections), cases


def write_explanation(explanation: Explanation, path: Path) -> None:
    """Write the page of a single explanation; an older page is not replaced."""
    require_jinja2()
    check_new(path)
    graph, naming = explanation.graph, Naming.of_explanation(explanation)
    look = symbols_of(graph.node_labels, explanation.label_names, explanation.edge_label_names)
    name = shortened(graph.id or "")
    panel = Panel(explanation, 0, name or f"This {naming.noun}", naming, look)
    header = _header_of_graph(panel, name or f"this {naming.noun}")
    sections = [gallery_section([panel], graph, look), trust_section([explanation], [panel.title], naming, look)]
    write(path, render_page(f"{panel.title}: explained by isonn", header, sections))


def _named(graphs: GraphSet, clf: Any) -> GraphSet:
    """Return the graphs with the model's names of classes and targets, where they have none."""
    names = clf.label_names_
    if not graphs.class_names and names.get("class"):
        graphs = replace(graphs, class_names=names["class"])
    if graphs.y is None and names.get("target"):
        graphs = replace(graphs, target_names=tuple(name for _, name in sorted(names["target"].items())))
    return graphs


def places_of(graphs: GraphSet, asked: Sequence[int | str]) -> list[int]:
    """Return the places of graphs that are named by their numbers, as in predictions, or by their ids."""
    rows = graphs.table.get("row")  # the numbers of a table with unusable rows
    numbers = {str(number): place for place, number in enumerate(range(len(graphs)) if rows is None else rows.tolist())}
    ids = [] if graphs.ids is None else graphs.ids.tolist()
    places = []
    for name in map(str, asked):
        if name not in numbers and ids.count(name) != 1:
            last = max(map(int, numbers))
            if name.isdecimal() and int(name) < last:
                raise InputError(
                    f"row {name} of {graphs.name} was left out, so it cannot be explained; correct the row"
                )
            if name.removeprefix("-").isdecimal():
                raise InputError(f"graph {name:.60} is out of range: {graphs.name} has graphs 0 to {last}")
            count = ids.count(name) or "no"
            raise InputError(f"{count} graphs of {graphs.name} have the id {name:.60}; give a number from 0 to {last}")
        places.append(numbers[name] if name in numbers else ids.index(name))
    return list(dict.fromkeys(places))


def _first_screen(cases: Cases) -> tuple[str, Header]:
    """Return the title of the page and its first screen."""
    graphs, panels, noun, how = cases.graphs, cases.panels, cases.naming.noun, cases.models.how
    if len(panels) == 1:
        return f"{graphs.name}, {panels[0].title}", _header_of_graph(panels[0], panels[0].called, how)
    of = f"{len(panels)} of {len(graphs)}"
    if len(panels) == len(graphs):
        of = "both" if len(panels) == 2 else f"all {len(panels)}"
    where = "" if graphs.name in ("graphs", f"{noun}s") else f" of {graphs.name}"
    header = Header(
        kicker=_KICKER,
        question=f"What does the model see in {of} {noun}s{where}?",
        answer=_answer_of_several(panels),
        tiles=_tiles_of_several(panels),
        example=example_of(panels),
        how=f"{_which(panels)} {how}".strip(),
    )
    return f"{graphs.name}, {of} {noun}s", header


def _which(panels: Sequence[Panel]) -> str:
    """Say which of several labels or columns is explained; "" if there is only one."""
    several, explained = panels[0].several, list(dict.fromkeys(panel.explained for panel in panels))
    if not several:
        return ""
    what = "labels" if panels[0].confidence is not None else "numbers"
    if len(explained) == 1:
        return f"Explained is {explained[0]}, one of {several} {what}; --label chooses another."
    return f"Of {several} {what}, the most likely one of each {panels[0].noun} is explained; --label chooses another."


def _answer_of_several(panels: Sequence[Panel]) -> str:
    noun = panels[0].noun
    text, count = leading_reason(panels)
    if not count:
        return f"No piece of these {noun}s speaks for or against a prediction."
    if count == 1:
        reasons = [panel.reasons[0].text for panel in panels if panel.reasons]
        return f"The strongest reasons differ: {'; '.join(reasons[:3])}{'; …' * (len(reasons) > 3)}."
    return f"In {count} of {len(panels)} {noun}s, the strongest reason is {text}."


def _tiles_of_several(panels: Sequence[Panel]) -> list[Tile]:
    """Return what was predicted for several graphs, and how many predictions are correct."""
    about, values = f"of {len(panels)} {panels[0].noun}s", [panel.value for panel in panels if panel.value is not None]
    if values:
        unit = panels[0].unit
        mean = Tile("Mean prediction", number_text(sum(values) / len(values), unit), about)
        return [
            mean,
            Tile("Predictions", f"{min(values):.3g} to {number_text(max(values), unit)}", "lowest to highest"),
        ]
    judged = [panel.right for panel in panels if panel.right is not None]
    counts = [(f"Predicted {name}", str(n), about) for name, n in Counter(p.predicted for p in panels).most_common(2)]
    if judged:
        counts.insert(0, ("Correct", percent_text(sum(judged) / len(judged)), f"{sum(judged)} of {len(judged)}"))
    return [Tile(*count) for count in counts[:2]]


def _header_of_graph(panel: Panel, name: str, how: str = "") -> Header:
    question = f"Why is {name} predicted {panel.predicted}?"
    answer = _answer(panel)
    if panel.certainty and panel.explained != panel.predicted:  # several labels
        question = f"Which labels does {name} have, and why?"
        likely = "None is likely" if panel.predicted == "no label" else panel.predicted
        answer = f"{likely} ({panel.certainty}). {answer}"
    return Header(_KICKER, question, answer, _tiles(panel), how=f"{_which([panel])} {how}".strip())


def _tiles(panel: Panel) -> list[Tile]:
    """Return the prediction for one graph, with and without the strongest reason."""
    value = panel.predicted if panel.confidence is None else percent_text(panel.confidence)
    about = panel.explained.removeprefix("the value")
    if panel.confidence is not None:
        about = f"probability of {panel.explained}"
    tiles = [Tile("Predicted", value, about)]
    if panel.reasons and panel.reasons[0].without:
        first = panel.reasons[0]
        then = f"then predicted {first.flips}" if first.flips else "the prediction stays" if panel.confidence else about
        then = f"{panel.explained}; {then}" if panel.several and panel.confidence else then
        then += f": {first.instead}" if first.instead else ""
        then += f"; what is left falls into {first.parts} parts" if first.parts else ""
        removed = f"With {first.text} deleted" if first.removed == "With it deleted" else first.removed
        tiles.append(Tile(removed, first.without, then))
    return tiles


def _answer(panel: Panel) -> str:
    """Name the strongest reason for and against what is explained, the stronger one first."""
    strongest: dict[int, ReasonRow] = {}
    for reason in panel.reasons:  # the strongest first
        strongest.setdefault(1 if reason.contribution > 0 else -1, reason)
    if not strongest:
        return f"No piece of this {panel.noun} speaks for or against {panel.explained}."
    sides = [(reason.text, reason.text.startswith("the connections "), sign) for sign, reason in strongest.items()]
    return speaking(sides, panel.explained, panel.confidence is None)
