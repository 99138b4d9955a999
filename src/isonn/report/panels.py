"""One graph with its explanation, ready for a page: the drawing, its matches, and what happens without them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from isonn.explain.explanation import Template
from isonn.graphs.graph import Graph, GraphSet
from isonn.report.charts import bar
from isonn.report.draw import Drawing, Mark, Symbols, describe, draw_graph, draw_template, symbols
from isonn.targets import Labels

#: Matches listed for a graph of a gallery, and on a page of single graphs.
FEW, MANY = 12, 40


@dataclass(frozen=True)
class MatchRow:
    """One line of the table of matches.

    Attributes:
        template: its number.
        nodes: the nodes, by name, in the order of the template's.
        contribution, distance: of the match.
        bar: the contribution as a picture.
        without: the probability of the predicted class when the match is taken away.
        flips: the class that is predicted then, if it is another, else None.
    """

    template: int
    nodes: str
    contribution: float
    distance: float
    bar: str
    without: float
    flips: str | None


@dataclass(frozen=True)
class Panel:
    """A graph, what the model says of it, and why.

    Attributes:
        number: of the graph in its set.
        truth: its class, or None where it is not known.
        predicted: the class the model gives it.
        confidence: the probability of that class.
        probabilities: of every class, by name.
        score, base, total: of the explanation.
        count: matches there are in all.
        templates: contribution of each template that has one, by number.
        about: nodes and edges, in words.
    """

    number: int
    truth: str | None
    predicted: str
    confidence: float
    probabilities: tuple[tuple[str, float], ...]
    score: float
    base: float
    total: float
    count: int
    drawing: Drawing
    matches: tuple[MatchRow, ...]
    templates: tuple[tuple[int, float], ...]
    about: str

    @property
    def right(self) -> bool | None:
        """Whether the prediction is true; None where that is not known."""
        return None if self.truth is None else self.truth == self.predicted


def panels(
    clf: Any,
    graphs: GraphSet,
    numbers: Iterable[int],
    listed: int = FEW,
    report: Callable[[int, str], None] | None = None,
) -> list[Panel]:
    """Explain graphs of a set with a fitted model.

    Args:
        numbers: which graphs.
        listed: matches to list for each.
        report: told how many are done.
    """
    look = symbols(graphs)
    known = graphs.y is not None and graphs.y.ndim == 1
    made = []
    for done, number in enumerate(numbers, start=1):
        truth = str(graphs.y[number]) if known and graphs.y is not None else None
        made.append(panel_of(clf.explain(graphs[number]), number, truth, look, listed))
        if report is not None:
            report(done, f"graph {number}")
    return made


def panel_of(found: Any, number: int, truth: str | None, look: Symbols, listed: int) -> Panel:
    """One explanation as a panel."""
    label = str(found.label)
    column = int(np.flatnonzero(np.asarray(found.classes) == found.label)[0])
    matches = _chosen(found.matches, listed)
    largest = max((abs(match.contribution) for match in matches), default=0.0)
    about = describe(found.graph)
    drawing = draw_graph(
        found.graph,
        symbols=look,
        title=f"Graph {number}: {about}, predicted class {label}",
        marks=[Mark(m.nodes, m.columns, m.contribution >= 0, m.ordered) for m in matches],
        shown=range(min(1, len(matches))),
        node_importance=found.node_importance,
        edge_importance=found.edge_importance,
        name=f"g{number}",
    )
    rows = []
    for match in matches:
        without = _without(found, match, column)
        then = str(found.classes[int(without.argmax())])
        rows.append(
            MatchRow(
                match.template,
                _place(found.graph, match, look),
                match.contribution,
                match.distance,
                bar(match.contribution, largest),
                float(without[column]),
                None if then == label else then,
            )
        )
    worth = [(i, float(value)) for i, value in enumerate(found.template_contributions) if abs(value) > 1e-9]
    return Panel(
        number=number,
        truth=truth,
        predicted=label,
        confidence=float(found.probabilities[column]),
        probabilities=tuple((str(c), float(p)) for c, p in zip(found.classes, found.probabilities, strict=True)),
        score=found.score,
        base=found.base,
        total=found.total,
        count=found.count,
        drawing=drawing,
        matches=tuple(rows),
        templates=tuple(sorted(worth, key=lambda pair: -abs(pair[1]))),
        about=about,
    )


def _without(found: Any, match: Any, column: int) -> NDArray[np.float64]:
    """Probabilities without a match; of two classes the contribution, for which the model was run, says them."""
    if len(found.classes) != 2 or isinstance(found.target, Labels):
        return np.asarray(found.without(match))
    share = float(expit(found.score - match.contribution))
    return np.array([share, 1 - share] if column == 0 else [1 - share, share])


def _chosen(matches: Sequence[Any], listed: int) -> list[Any]:
    """The strongest matches; a third of the places goes to templates that would not be there otherwise."""
    first = list(matches[: listed - listed // 3])
    seen = {match.template for match in first}
    for match in matches[len(first) :]:
        if len(first) == listed:
            break
        if match.template not in seen:
            seen.add(match.template)
            first.append(match)
    return first


def _place(graph: Graph, match: Any, look: Symbols) -> str:
    def words(nodes: Sequence[int]) -> str:
        return ", ".join(look.name(graph, node) if node >= 0 else "padding" for node in nodes)

    return words(match.nodes) if match.columns is None else f"{words(match.nodes)} to {words(match.columns)}"


# Template cards, ready for a page.


#: Cards on a page; the strongest templates come first.
SHOWN = 12
Values = tuple[tuple[tuple[str, str], ...], ...]


@dataclass(frozen=True)
class Card:
    """A template as a page shows it.

    Attributes:
        drawing: the template as a graph, cells above the threshold as edges.
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
    made = [_card(one, graphs, look, numbers) for one in sorted(found, key=_strength, reverse=True)[:SHOWN]]
    return made


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
            marks=[Mark(example.nodes, example.columns)],
            shown=(0,),
        )
        examples.append((picture, f"graph {call(example.graph)}, distance {example.distance:.3f}"))
    counts = zip(card.classes.tolist(), card.occurrences, card.graphs_with, card.graphs_of, card.effect, strict=True)
    return Card(
        index=card.index,
        drawing=_picture(card.index, card.template, look),
        values=_values(card.template),
        degrees=_degrees(card.template),
        nearest=nearest,
        classes=tuple((str(name), int(o), int(w), int(g), float(e)) for name, o, w, g, e in counts),
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
