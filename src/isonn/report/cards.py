"""Template cards on pages, for models with few, unnamed templates, such as windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.explain.template import Template
from isonn.explain.text import degree_text
from isonn.graphs.graph import GraphSet
from isonn.report.draw import Drawing, Mark, Symbols, draw_graph, draw_template, symbols
from isonn.report.pieces import Naming

#: Maximum number of cards on a page, strongest templates first. Models with more templates than `READABLE` have none.
SHOWN, READABLE = 12, 64
Values = tuple[tuple[tuple[str, str], ...], ...]


@dataclass(frozen=True)
class Card:
    """A template card on a page.

    Attributes:
        drawing: the template as a graph.
        values: its matrix, each entry as text with a step of the colour scale.
        degrees: a sentence about the degrees of its nodes, or "".
        nearest: the nearest real piece, as nodes of a graph, and its distance; "" if there is none.
        classes: per class its name, the count of the piece, graphs with it, all graphs, and the effect.
        drop: accuracy lost when the template is switched off, in percentage points.
        examples: drawings of graphs with the template's best match, with a line about each.
    """

    index: int
    drawing: Drawing
    values: Values
    degrees: str
    nearest: str
    classes: tuple[tuple[str, int, int, int, float], ...]
    drop: float
    strength: float
    examples: tuple[tuple[Drawing, str], ...]


def readable(templates: Sequence[Template]) -> bool:
    """Return whether cards tell something: few templates, and none of them bound to certain nodes."""
    return len(templates) <= READABLE and not any(template.texts for template in templates)


def cards(found: Sequence[Any], graphs: GraphSet, numbers: NDArray[np.int64] | None = None) -> list[Card]:
    """Create cards from `isonn.explain.template_cards`, strongest effect first.

    Args:
        graphs: the graphs of the cards.
        numbers: numbers of these graphs in the whole set; None numbers them from 0.
    """
    look = symbols(graphs)
    return [_card(one, graphs, look, numbers) for one in sorted(found, key=_strength, reverse=True)[:SHOWN]]


def template_pictures(
    templates: Sequence[Template], look: Symbols, chosen: Sequence[int]
) -> list[tuple[int, Drawing, Values, str]]:
    """Draw the chosen templates in order, as graphs and tables of values, for pages without cards."""
    return [(i, _picture(i, templates[i], look), _values(templates[i]), _degrees(templates[i])) for i in chosen[:SHOWN]]


def _strength(card: Any) -> float:
    return float(np.abs(card.effect).max(initial=0.0))


def _picture(index: int, template: Template, look: Symbols) -> Drawing:
    return draw_template(template, title=f"Template {index} of {template.k} nodes", symbols=look)


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


def _card(card: Any, graphs: GraphSet, look: Symbols, numbers: NDArray[np.int64] | None) -> Card:
    def call(graph: int) -> int:
        return int(numbers[graph]) if numbers is not None else graph

    nearest = ""
    if card.nearest is not None:
        where = f"graph {call(card.nearest.graph)}, distance {card.nearest.distance:.3f}"
        nearest = f"{_names(card.nearest, graphs, look)} of {where}"
    examples = []
    for example in card.examples:
        picture = draw_graph(
            graphs[example.graph],
            symbols=look,
            title=f"Graph {call(example.graph)} with the best match of template {card.index}",
            marks=[Mark(example.nodes, example.columns, ordered=True)],
            shown=(0,),
        )
        examples.append((picture, f"graph {call(example.graph)}, distance {example.distance:.3f}"))
    names = map(Naming.of(graphs).class_, card.classes.tolist())
    counts = zip(names, card.occurrences, card.graphs_with, card.graphs_of, card.effect, strict=True)
    return Card(
        index=card.index,
        drawing=_picture(card.index, card.template, look),
        values=_values(card.template),
        degrees=_degrees(card.template),
        nearest=nearest,
        classes=tuple((name, int(o), int(w), int(g), float(e)) for name, o, w, g, e in counts),
        drop=100 * (card.accuracy - card.accuracy_without),
        strength=_strength(card),
        examples=tuple(examples),
    )


def _names(example: Any, graphs: GraphSet, look: Symbols) -> str:
    graph = graphs[example.graph]
    rows = ", ".join(look.name(graph, node) for node in example.nodes if node >= 0)
    if example.columns is None:
        return f"nodes {rows}"
    return f"nodes {rows} to {', '.join(look.name(graph, node) for node in example.columns if node >= 0)}"
