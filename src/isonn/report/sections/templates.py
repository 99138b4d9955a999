"""Templates of the paper's models: drawings, values, and cards with effects and best matches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from isonn.explain.cards import TemplateCard, template_cards
from isonn.explain.explanation import Match
from isonn.report.cases import Cases
from isonn.report.draw import Drawing, Mark, draw_graph, draw_template
from isonn.report.page import Section
from isonn.report.panels import place_words

#: Maximum number of templates on a page, strongest first. The templates of models with more than `FEW` are not shown.
SHOWN, FEW = 12, 64


def matched_templates_section(cases: Cases) -> Section | None:
    """Return the templates behind the listed matches of a few graphs, by the largest contribution of a match."""
    worth: dict[int, float] = {}
    for match, _ in (row for panel in cases.panels for row in panel.matches):
        worth[match.template] = max(worth.get(match.template, 0.0), abs(match.contribution))
    if not worth or len(cases.clf.templates_) > FEW:
        return None
    cards = [_picture(cases, index) for index in sorted(worth, key=lambda index: -worth[index])[:SHOWN]]
    content = {"cards": cards, "sentence": f"The {len(cards)} most important templates here."}
    return Section("templates", "Templates", content, "Templates")


def template_cards_section(cases: Cases) -> Section | None:
    """Return the templates of a model with their matches and effects in the graphs it was fitted to.

    None for models with too many templates, and for those whose contributions add up, which have better reasons.
    """
    models, graphs, clf = cases.models, cases.graphs, cases.clf
    if cases.target.numeric or len(clf.templates_) > FEW or cases.explanation(cases.shown[0]).exact:
        return None
    numbers = models.train if len(models.train) else models.numbers
    cards = template_cards(clf, graphs[numbers], examples=2)
    cards.sort(key=lambda card: float(np.abs(card.effect).max(initial=0.0)), reverse=True)
    content = {
        "cards": [_card(cases, card, numbers.tolist()) for card in cards[:SHOWN]],
        "sentence": f"{models.origin} The strongest templates of the model.".strip(),
    }
    return Section("templates", "Templates", content, "Templates")


def _picture(cases: Cases, index: int) -> dict[str, Any]:
    """Return a template drawn, and its values as text with a step of the colour scale."""
    template = cases.clf.templates_[index]
    steps = np.rint(4 * template.adjacency / (np.abs(template.adjacency).max(initial=0.0) or 1.0)).astype(int)
    values = [
        [(f"{value:.2f}".replace("-0.00", "0.00"), f"{'p' if value > 0 else 'n'}{abs(step)}") for value, step in row]
        for row in (zip(*pair, strict=True) for pair in zip(template.adjacency.tolist(), steps.tolist(), strict=True))
    ]
    drawing = draw_template(template, title=f"Template {index} of {template.k} nodes", symbols=cases.look)
    return {"index": index, "drawing": drawing, "cells": values, "classes": ()}


def _card(cases: Cases, card: TemplateCard, numbers: Sequence[int]) -> dict[str, Any]:
    classes = map(cases.naming.class_, card.classes.tolist())
    examples = [(numbers[row], match) for row, match in card.examples]
    nearest = ""
    if examples:
        number, match = examples[0]
        place = place_words(cases.graphs[number], match, cases.look)
        nearest = f"nodes {place} of graph {number}, distance {match.distance:.3f}"
    return {
        **_picture(cases, card.index),
        "classes": list(zip(classes, card.effect.tolist(), strict=True)),
        "drop": 100 * (card.accuracy - card.accuracy_without),
        "nearest": nearest,
        "examples": [_example(cases, number, match) for number, match in examples],
    }


def _example(cases: Cases, number: int, match: Match) -> tuple[Drawing, str]:
    title = f"Graph {number} with the best match of template {match.template}"
    marks = [Mark(match.nodes, match.columns)]
    drawing = draw_graph(cases.graphs[number], symbols=cases.look, title=title, marks=marks, shown=(0,))
    return drawing, f"graph {number}, distance {match.distance:.3f}"
