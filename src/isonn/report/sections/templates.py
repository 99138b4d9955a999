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
from isonn.report.panels import Panel
from isonn.report.section import Section
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


class TemplatePicturesSection(Section):
    """The templates behind the matches of a few graphs."""

    anchor, template = "templates", "template_pictures.html"
    title = "Templates"

    def __init__(self, cases: Cases) -> None:
        self.cases = cases

    def applies(self) -> bool:
        """Return whether there are few templates, none of them bound to certain nodes, and some of them matched."""
        return can_be_shown(self.cases.clf.templates_) and bool(_by_contribution(self.cases.panels))

    def content(self) -> dict[str, Any]:
        """Return the templates by the largest contribution of a listed match."""
        templates, chosen = self.cases.clf.templates_, _by_contribution(self.cases.panels)[:SHOWN]
        return {"templates": [Picture.of(index, templates[index], self.cases.look) for index in chosen]}


class TemplateCardsSection(Section):
    """The templates of a model with their matches and effects in the graphs it was fitted to.

    Args:
        cases: the graphs of the page.
        sentence: the first sentence of the section.
    """

    anchor, template, listed = "templates", "template_cards.html", "Templates"
    title = "Templates"

    def __init__(self, cases: Cases, sentence: str = "The strongest templates of the model.") -> None:
        self.cases, self.sentence = cases, sentence

    def applies(self) -> bool:
        """Return whether the model has few templates and no pieces that mark classes."""
        clf = self.cases.clf
        if hasattr(clf, "reasons_") or self.cases.graphs.y is None or isinstance(clf.target_, Numbers):
            return False
        return can_be_shown(clf.templates_)

    def content(self) -> dict[str, Any]:
        """Return the strongest templates."""
        judged, graphs = self.cases.judged, self.cases.graphs
        numbers = judged.train if len(judged.train) else judged.numbers
        assert graphs.y is not None
        cards = template_cards(judged.clf, graphs[numbers], graphs.y[numbers], examples=2)
        cards.sort(key=lambda card: float(np.abs(card.effect).max(initial=0.0)), reverse=True)
        return {"cards": [self._card(card, numbers.tolist()) for card in cards[:SHOWN]], "sentence": self.sentence}

    @property
    def number(self) -> int:
        """The number of templates shown."""
        return min(SHOWN, len(self.cases.clf.templates_))

    def _card(self, card: TemplateCard, numbers: Sequence[int]) -> dict[str, Any]:
        classes = map(self.cases.naming.class_, card.classes.tolist())
        counts = (card.occurrences, card.graphs_with, card.graphs_of, card.effect)
        return {
            "index": card.index,
            "picture": Picture.of(card.index, card.template, self.cases.look),
            "classes": list(zip(classes, *(column.tolist() for column in counts), strict=True)),
            "drop": 100 * (card.accuracy - card.accuracy_without),
            "nearest": "" if card.nearest is None else self._nearest(card.nearest, numbers),
            "examples": [self._example(card.index, example, numbers) for example in card.examples],
        }

    def _nearest(self, example: Example, numbers: Sequence[int]) -> str:
        graph, look = self.cases.graphs[numbers[example.graph]], self.cases.look
        sides = [", ".join(look.name(graph, node) for node in nodes if node >= 0) for nodes in _sides(example)]
        return f"nodes {' to '.join(sides)} of graph {numbers[example.graph]}, distance {example.distance:.3f}"

    def _example(self, index: int, example: Example, numbers: Sequence[int]) -> tuple[Drawing, str]:
        number = numbers[example.graph]
        drawing = draw_graph(
            self.cases.graphs[number],
            symbols=self.cases.look,
            title=f"Graph {number} with the best match of template {index}",
            marks=[Mark(example.nodes, example.columns, ordered=True)],
            shown=(0,),
        )
        return drawing, f"graph {number}, distance {example.distance:.3f}"


def can_be_shown(templates: Sequence[Template]) -> bool:
    """Return whether there are few templates, and none of them is bound to certain nodes."""
    return len(templates) <= FEW and not any(template.texts for template in templates)


def _sides(example: Example) -> list[tuple[int, ...]]:
    return [example.nodes] if example.columns is None else [example.nodes, example.columns]


def _by_contribution(panels: Sequence[Panel]) -> list[int]:
    """Return templates by the largest contribution of a listed match."""
    worth: dict[int, float] = {}
    for panel in panels:
        for match in panel.matches:
            worth[match.template] = max(worth.get(match.template, 0.0), abs(match.contribution))
    return sorted(worth, key=lambda template: -worth[template])


def _values(template: Template) -> Values:
    largest = float(np.abs(template.adjacency).max(initial=0.0)) or 1.0
    return tuple(
        tuple((_short(value), f"{'p' if value > 0 else 'n'}{round(4 * abs(value) / largest)}") for value in row)
        for row in template.adjacency.tolist()
    )


def _short(value: float) -> str:
    text = f"{value:.2f}"
    return "0.00" if text == "-0.00" else text


def _degrees(template: Template) -> str:
    """Describe the degrees of the nodes in the whole graph, for templates that have them."""
    degrees = [degree_text(facts) for facts in template.nodes if facts.degree is not None]
    return f"Degrees in the whole graph: {', '.join(degrees)}." if degrees else ""
