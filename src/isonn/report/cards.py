"""Template cards for pages: of models whose templates are few and have no names, such as windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.explain.explanation import Template
from isonn.graphs.graph import GraphSet
from isonn.report.draw import Drawing, Mark, Symbols, draw_graph, draw_template, symbols
from isonn.report.pieces import Naming

#: Cards on a page; the strongest templates come first. A model with more templates than `READABLE` has none.
SHOWN, READABLE = 12, 64
Values = tuple[tuple[tuple[str, str], ...], ...]


@dataclass(frozen=True)
class Card:
    """A template as a page shows it.

    Attributes:
        drawing: the template as a graph.
        values: its matrix, each entry as text with a step of the colour scale.
        degrees: a sentence about the degrees it asks for, or "".
        nearest: the nearest real piece, as nodes of a graph, and its distance; "" without any.
        classes: per class its name, how often the piece occurs, in how many graphs of how many, and the effect.
        drop: accuracy lost, in points of percent, when the template is switched off.
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


def cards(found: Sequence[Any], graphs: GraphSet, numbers: NDArray[np.int64] | None = None) -> list[Card]:
    """Cards from `isonn.explain.template_cards`, the strongest effect first.

    Args:
        graphs: the graphs the cards were made from.
        numbers: what these graphs are called in the whole set; as they are counted here without it.
    """
    look = symbols(graphs)
    return [_card(one, graphs, look, numbers) for one in sorted(found, key=_strength, reverse=True)[:SHOWN]]


def template_pictures(
    templates: Sequence[Template], look: Symbols, chosen: Sequence[int]
) -> list[tuple[int, Drawing, Values, str]]:
    """Templates as graphs and as tables of values, for pages without cards; the chosen ones, in that order."""
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
    """The degrees the nodes should have in the whole graph, of templates that ask for them."""
    degrees = template.degrees
    if degrees is None:
        return ""
    return f"Degrees in the whole graph: {', '.join(f'{degree:.1f}' for degree in degrees.tolist())}."


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
