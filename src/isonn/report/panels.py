"""Panels: one graph with its explanation on a page, with the drawing, its reasons, and all its matches."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from isonn.errors import IsoNNWarning
from isonn.explain.explanation import Explanation, Match
from isonn.explain.reasons import Reason
from isonn.graphs.graph import Graph, GraphSet
from isonn.report.charts import bar
from isonn.report.draw import Drawing, Mark, Symbols, describe, draw_graph, shortened, symbols
from isonn.report.pieces import Holders, Naming, brief, has_target, listed, reason_marks, reason_words
from isonn.targets import Labels, Numbers

#: Number of matches listed for a graph of a gallery, and on a page of single graphs.
FEW, MANY = 8, 40


@dataclass(frozen=True)
class ReasonRow:
    """A reason on a page.

    Attributes:
        text: the piece in words.
        nodes: its nodes, by name.
        members: its nodes, by number.
        contribution: its contribution to the score.
        bar: the contribution as a picture.
        without: the prediction without the piece, as text.
        flips: the class predicted then, if it differs, else None.
        held: how many graphs of each class contain the piece, as text, or "".
    """

    text: str
    nodes: str
    members: tuple[int, ...]
    contribution: float
    bar: str
    without: str
    flips: str | None
    held: str


@dataclass(frozen=True)
class MatchRow:
    """One line of the table of matches.

    Attributes:
        template: number of its template.
        nodes: the nodes, by name, in the order of the template's.
        contribution, distance: as in `Match`.
        without: the explained answer without the match.
        flips: the class predicted then, if it differs, else None.
    """

    template: int
    nodes: str
    contribution: float
    distance: float
    without: float
    flips: str | None


@dataclass(frozen=True)
class Panel:
    """A graph with its prediction and reasons.

    Attributes:
        number: number of the graph in its set.
        name: name of the graph.
        truth: its class or value as text, or None if unknown.
        predicted: the prediction as text.
        confidence: the probability of the explained class; None for numbers.
        certainty: the same as text, with the label it belongs to if there are several; "" for numbers.
        right: whether the prediction is correct; None if unknown or not a yes or no.
        probabilities: the probability of every class, by name.
        score, base: as in `Explanation`.
        count: number of all matches.
        about: nodes and edges, in words.
        explained: what the reasons speak for, in words.
    """

    number: int
    name: str
    truth: str | None
    predicted: str
    confidence: float | None
    right: bool | None
    probabilities: tuple[tuple[str, float], ...]
    score: float
    base: float
    count: int
    drawing: Drawing
    reasons: tuple[ReasonRow, ...]
    matches: tuple[MatchRow, ...]
    about: str
    explained: str
    certainty: str = ""
    note: str = ""
    noun: str = "graph"

    @property
    def title(self) -> str:
        """The name of the graph, as a heading."""
        return _called(self.noun, self.name)

    @property
    def called(self) -> str:
        """The name of the graph, within a sentence."""
        return f"{self.noun} {self.name}" if self.name.isdecimal() else self.name


def panels(
    clf: Any,
    graphs: GraphSet,
    numbers: Iterable[int],
    listed: int = FEW,
    report: Callable[[int, str], None] | None = None,
    holders: Holders | None = None,
) -> list[Panel]:
    """Explain graphs of a set with a fitted model.

    Args:
        numbers: which graphs.
        listed: number of matches to list for each.
        report: called with the number of graphs that are done.
        holders: counts the graphs that contain a reason; None omits the counts.
    """
    look, naming = symbols(graphs), Naming.of(graphs)
    y = graphs.y if graphs.y is not None and graphs.y.ndim == 1 else None
    made = []
    for done, number in enumerate(numbers, start=1):
        truth = y[number] if y is not None and has_target(y[[number]]).all() else None
        row = graphs.table["row"][number] if "row" in graphs.table else number  # in its file
        name = str(row) if graphs.ids is None else shortened(str(graphs.ids[number]))
        with warnings.catch_warnings():  # predicting the whole set already warned
            warnings.simplefilter("ignore", IsoNNWarning)
            found = clf.explain(graphs[number])
        made.append(panel_of(found, number, truth, look, listed, naming, name, holders))
        if report is not None:
            report(done, f"graph {number}")
    return made


def _called(noun: str, name: str) -> str:
    """Return the name of a graph as a heading; a mere number follows the noun."""
    return f"{noun.capitalize()} {name}" if name.isdecimal() else name


def panel_of(
    found: Explanation,
    number: int,
    truth: Any,
    look: Symbols,
    listed: int,
    naming: Naming | None = None,
    name: str | None = None,
    holders: Holders | None = None,
) -> Panel:
    """Convert one explanation to a panel; ``truth`` is the graph's class or value, or None."""
    naming, title = naming or Naming(), name if name is not None else str(number)
    numeric, column = isinstance(found.target, Numbers), found.column
    predicted = f"{found.score:.3g}" if numeric else _class_text(found, found.probabilities, naming)
    reasons, matches = found.reasons, _chosen(found.matches, listed)
    about = describe(found.graph)
    called = _called(naming.noun, title)
    marks = reason_marks(reasons)
    strongest = f"; strongest reason: {reason_words(reasons[0])}" if reasons else ""
    drawing = draw_graph(
        found.graph,
        symbols=look,
        title=f"{called}: {about}, predicted {predicted}{strongest}",
        marks=[*marks, *(Mark(m.nodes, m.columns, m.contribution >= 0, m.ordered) for m in matches)],
        shown=range(min(1, len(marks))),
        node_importance=found.node_importance,
        edge_importance=found.edge_importance,
    )
    largest = max((abs(reason.contribution) for reason in reasons), default=0.0)
    rows = []
    for reason in reasons:
        rows.append(
            ReasonRow(
                text=reason_words(reason),
                nodes=_nodes(reason),
                members=reason.nodes,
                contribution=reason.contribution,
                bar=bar(reason.contribution, largest),
                without=f"{reason.answers[column]:.3g}" if numeric else percent_text(float(reason.answers[column])),
                flips=_flips(found, reason.answers, naming),
                held="" if holders is None else holders.words(reason, naming),
            )
        )
    certainty = "" if numeric else percent_text(float(found.probabilities[column]))
    if isinstance(found.target, Labels) and predicted != naming.class_(found.explained):
        likely = naming.class_(found.explained)
        certainty = f"most likely {likely}, {certainty}" if predicted == "no label" else f"{likely} {certainty}"
    right = None if truth is None or numeric or isinstance(found.target, Labels) else bool(truth == found.label)
    return Panel(
        number=number,
        name=title,
        truth=None if truth is None else f"{truth:.3g}" if numeric else naming.class_(truth),
        predicted=predicted,
        confidence=None if numeric else float(found.probabilities[column]),
        right=right,
        probabilities=() if numeric else _probabilities(found, naming),
        score=found.score,
        base=found.base,
        count=found.count,
        drawing=drawing,
        reasons=tuple(rows),
        matches=tuple(_match_row(found, match, column, look, naming) for match in matches),
        about=about,
        explained=naming.target(found.explained) if numeric else naming.class_(found.explained),
        certainty=certainty,
        note=getattr(found, "note", ""),
        noun=naming.noun,
    )


def percent_text(share: float) -> str:
    """Format a share of 1 in percent.

    Example:
        >>> percent_text(0.934), percent_text(0.99999)
        ('93.4 %', '> 99.9 %')
    """
    if 0.9995 <= share < 1:
        return "> 99.9 %"
    return "< 0.1 %" if 0 < share < 0.0005 else f"{100 * share:.1f} %"


def _probabilities(found: Explanation, naming: Naming) -> tuple[tuple[str, float], ...]:
    pairs = zip(found.classes.tolist(), found.probabilities.tolist(), strict=True)
    return tuple((naming.class_(value), float(share)) for value, share in pairs)


def _class_text(found: Explanation, answers: NDArray[np.float64], naming: Naming) -> str:
    """Return the class, or all labels, that these probabilities predict."""
    if isinstance(found.target, Labels):
        return ", ".join(map(naming.class_, found.classes[answers > 0.5].tolist())) or "no label"
    return naming.class_(found.classes[int(answers.argmax())])


def _flips(found: Explanation, answers: NDArray[np.float64], naming: Naming) -> str | None:
    """Return what these answers predict, or None if it is what the model predicts."""
    if isinstance(found.target, Numbers):
        return None
    then = _class_text(found, answers, naming)
    return None if then == _class_text(found, found.probabilities, naming) else then


def _match_row(found: Explanation, match: Match, column: int, look: Symbols, naming: Naming) -> MatchRow:
    without = _without(found, match, column)
    flips = _flips(found, without, naming)
    place = _place(found.graph, match, look)
    return MatchRow(match.template, place, match.contribution, match.distance, float(without[column]), flips)


def _without(found: Explanation, match: Match, column: int) -> NDArray[np.float64]:
    """Return the answers without a match; for two classes the contribution determines them."""
    if len(found.classes) != 2 or isinstance(found.target, (Labels, Numbers)):
        return found.without(match)
    share = float(expit(found.score - match.contribution))
    return np.array([share, 1 - share] if column == 0 else [1 - share, share])


def _chosen(matches: Sequence[Match], listed: int) -> list[Match]:
    """Return the strongest matches, with a third of them reserved for templates that would be missing otherwise."""
    first = list(matches[: listed - listed // 3])
    seen = {match.template for match in first}
    for match in matches[len(first) :]:
        if len(first) == listed:
            break
        if match.template not in seen:
            seen.add(match.template)
            first.append(match)
    return first


def _place(graph: Graph, match: Match, look: Symbols) -> str:
    def words(nodes: Sequence[int]) -> str:
        return ", ".join(look.name(graph, node) if node >= 0 else "padding" for node in nodes)

    return words(match.nodes) if match.columns is None else f"{words(match.nodes)} to {words(match.columns)}"


def _nodes(reason: Reason) -> str:
    """Return the nodes of a reason by name; "" if the reason's words already name them."""
    if reason.graph.kind == "connectomes":
        return ""
    return listed([brief(name, reason.graph.kind) for name in reason.names])
