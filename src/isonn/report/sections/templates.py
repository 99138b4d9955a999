"""Learned templates: drawings, values, and cards with counts and effects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from isonn.explain.cards import Example, TemplateCard, template_cards
from isonn.explain.template import Template
from isonn.explain.text import degree_text
from isonn.report.cases import Cases
from isonn.report.draw import Drawing, Mark, Symbols, draw_graph, draw_template
from isonn.report.page import Section
from isonn.targets import Numbers

#: Maximum number of templates on a page, strongest first. The templates of models with more than `FEW` are not shown.
SHOWN, FEW = 12, 64
Values = tuple[tuple[tuple[str, str], ...], ...]


@dataclass(frozen=True)
class Picture:
    """A template on a page.

    Attributes:
        index: its number in ``templates_``.
        drawing: the template as a graph.
        values: its matrix, each entry as text with a step of the colour scale.
        degrees: a sentence about the degrees of its nodes, or "".
    """

    index: int
    drawing: Drawing
    values: Values
    degrees: str

    @classmethod
    def of(cls, index: int, template: Template, look: Symbols) -> Picture:
        """Draw a template."""
        drawing = draw_template(template, title=f"Template {index} of {template.k} nodes", symbols=look)
        return cls(index, drawing, _values(template), _degrees(template))


def matched_templates_section(cases: Cases) -> Section | None:
    """Return the templates behind the listed matches of a few graphs, by the largest contribution of a match."""
    worth: dict[int, float] = {}
    for match in (match for panel in cases.panels for match in panel.matches):
        worth[match.template] = max(worth.get(match.template, 0.0), abs(match.contribution))
    templates = cases.clf.templates_
    if not worth or not _can_be_shown(templates):
        return None
    strongest = sorted(worth, key=lambda template: -worth[template])[:SHOWN]
    cards = [{"picture": Picture.of(index, templates[index], cases.look), "classes": ()} for index in strongest]
    sentence = f"The {len(cards)} most important templates here."
    return Section("templates", "Templates", {"cards": cards, "sentence": sentence}, "Templates")


def template_cards_section(cases: Cases) -> Section | None:
    """Return the templates of a model with their matches and effects in the graphs it was fitted to.

    None for models with too many templates, and for those with pieces that mark classes.
    """
    judged, graphs = cases.judged, cases.graphs
    clf = judged.clf
    if hasattr(clf, "reasons_") or graphs.y is None or isinstance(clf.target_, Numbers):
        return None
    if not _can_be_shown(clf.templates_):
        return None
    numbers = judged.train if len(judged.train) else judged.numbers
    cards = template_cards(clf, graphs[numbers], graphs.y[numbers], examples=2)
    cards.sort(key=lambda card: float(np.abs(card.effect).max(initial=0.0)), reverse=True)
    content = {
        "cards": [_card(cases, card, numbers.tolist()) for card in cards[:SHOWN]],
        "sentence": f"{judged.origin} The strongest templates of the model.".strip(),
    }
    return Section("templates", "Templates", content, "Templates")


def _card(cases: Cases, card: TemplateCard, numbers: Sequence[int]) -> dict[str, Any]:
    classes = map(cases.naming.class_, card.classes.tolist())
    counts = (card.occurrences, card.graphs_with, card.graphs_of, card.effect)
    return {
        "picture": Picture.of(card.index, card.template, cases.look),
        "classes": list(zip(classes, *(column.tolist() for column in counts), strict=True)),
        "drop": 100 * (card.accuracy - card.accuracy_without),
        "nearest": "" if card.nearest is None else _nearest(cases, card.nearest, numbers),
        "examples": [_example(cases, card.index, example, numbers) for example in card.examples],
    }


def _nearest(cases: Cases, example: Example, numbers: Sequence[int]) -> str:
    graph = cases.graphs[numbers[example.graph]]
    rows_and_columns = [example.nodes] if example.columns is None else [example.nodes, example.columns]
    names = [", ".join(cases.look.name(graph, node) for node in nodes if node >= 0) for nodes in rows_and_columns]
    return f"nodes {' to '.join(names)} of graph {numbers[example.graph]}, distance {example.distance:.3f}"


def _example(cases: Cases, index: int, example: Example, numbers: Sequence[int]) -> tuple[Drawing, str]:
    number = numbers[example.graph]
    drawing = draw_graph(
        cases.graphs[number],
        symbols=cases.look,
        title=f"Graph {number} with the best match of template {index}",
        marks=[Mark(example.nodes, example.columns, ordered=True)],
        shown=(0,),
    )
    return drawing, f"graph {number}, distance {example.distance:.3f}"


def _can_be_shown(templates: Sequence[Template]) -> bool:
    """Return whether there are few templates, and none of them is bound to certain nodes."""
    return len(templates) <= FEW and not any(template.texts for template in templates)


def _values(template: Template) -> Values:
    largest = float(np.abs(template.adjacency).max(initial=0.0)) or 1.0
    return tuple(
        tuple(
            (f"{value:.2f}".replace("-0.00", "0.00"), f"{'p' if value > 0 else 'n'}{round(4 * abs(value) / largest)}")
            for value in row
        )
        for row in template.adjacency.tolist()
    )


def _degrees(template: Template) -> str:
    """Describe the degrees of the nodes in the whole graph, for templates that have them."""
    degrees = [degree_text(facts) for facts in template.nodes if facts.degree is not None]
    return f"Degrees in the whole graph: {', '.join(degrees)}." if degrees else ""
