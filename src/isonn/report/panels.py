"""Panels: one graph with its explanation on a page, with the drawing, its reasons, and all its matches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.explain.explanation import Explanation, Match
from isonn.explain.reasons import Reason
from isonn.graphs.graph import Graph
from isonn.report.counts import Holders
from isonn.report.draw import Drawing, Mark, Symbols, describe, draw_explained
from isonn.report.waterfall import waterfall
from isonn.report.words import CONNECTIONS, Naming, listed, percent_text, reason_words
from isonn.targets import Labels, Numbers

#: How units that are not deleted are removed.
REMOVED = {
    "set": "With these connections as in a mean graph",
    "connection": "With this connection as in a mean graph",
    "window": "Without its matches",
}
#: Number of matches listed for a graph.
LISTED = 20


@dataclass(frozen=True)
class ReasonRow:
    """A reason on a page.

    Attributes:
        text: the piece in words.
        nodes: its nodes, by name.
        members: its nodes, by number.
        contribution: its contribution to the score.
        without: the prediction with the piece deleted, as text; "" if nothing is left.
        flips: the class predicted then, if it differs, else None.
        removed: how the piece was removed, in words.
        agrees: whether the deletion moves the prediction as the contribution says; None if nothing is left.
        held: how many graphs of each class contain the piece, as text, or "".
    """

    text: str
    nodes: str
    members: tuple[int, ...]
    contribution: float
    without: str
    flips: str | None
    held: str
    agrees: bool | None = True
    removed: str = "With it deleted"


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
        matches: the strongest matches, each with its nodes by name; () where units add up.
        count: number of all matches.
        about: nodes and edges, in words.
        explained: what the reasons speak for, in words.
        value: the predicted number; None for classes.
        logarithm: whether the score is a base-10 logarithm of it.
        scale: what the score is, in a sentence.
        waterfall: how units and terms lead from the base to the score, as a picture; "" if they do not add up.
        smiles: the SMILES of a molecule, else "".
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
    matches: tuple[tuple[Match, str], ...]
    about: str
    explained: str
    certainty: str = ""
    noun: str = "graph"
    value: float | None = None
    logarithm: bool = False
    scale: str = ""
    waterfall: str = ""
    smiles: str = ""

    @property
    def title(self) -> str:
        """The name of the graph, as a heading."""
        return f"{self.noun.capitalize()} {self.name}" if self.name.isdecimal() else self.name

    @property
    def called(self) -> str:
        """The name of the graph, within a sentence."""
        return f"{self.noun} {self.name}" if self.name.isdecimal() else self.name


def panel_of(
    explanation: Explanation,
    number: int,
    name: str,
    naming: Naming,
    look: Symbols,
    truth: Any = None,
    holders: Holders | None = None,
) -> Panel:
    """Convert an explanation to a panel.

    Args:
        number: number of the graph on its page.
        name: its name.
        naming, look: the names of classes, and the look of labels, of all panels of a page.
        truth: its class or value, or None.
        holders: counts the graphs that contain a reason; None omits the counts.
    """
    target, column = explanation.target, explanation.column
    numeric = isinstance(target, Numbers)
    predicted = _answer_text(explanation, explanation.probabilities, naming)
    answers = explanation.probabilities.tolist()
    # units tell more than matches, where they add up
    matches = [] if explanation.exact else explanation.matches[:LISTED]
    right = None if truth is None or numeric or isinstance(target, Labels) else bool(truth == explanation.label)
    return Panel(
        number=number,
        name=name,
        truth=None if truth is None else f"{truth:.3g}" if numeric else naming.class_(truth),
        predicted=predicted,
        confidence=None if numeric else answers[column],
        right=right,
        probabilities=() if numeric else tuple(zip(map(naming.class_, explanation.classes), answers, strict=True)),
        score=explanation.score,
        base=explanation.base,
        count=explanation.count,
        drawing=_drawing(explanation, matches, f"{name}, predicted {predicted}", look),
        reasons=_reason_rows(explanation, naming, holders),
        matches=tuple((match, place_words(explanation.graph, match, look)) for match in matches),
        about=describe(explanation.graph),
        explained=naming.target(explanation.explained) if numeric else naming.class_(explanation.explained),
        certainty=_certainty(explanation, predicted, naming),
        noun=naming.noun,
        value=answers[column] if numeric else None,
        logarithm=explanation.logarithm,
        scale=_scale(explanation, naming),
        waterfall=waterfall(explanation),
        smiles=str(explanation.graph.row.get("smiles", "")) if explanation.graph.kind == "molecules" else "",
    )


def _scale(explanation: Explanation, naming: Naming) -> str:
    """Say what score and base are."""
    target, base = explanation.target, f"base: before any part of the {naming.noun} counts"
    if explanation.source.predict is None:  # aligned models compare with a mean graph
        base = f"base: that of a mean training {naming.noun}"
    if isinstance(target, Numbers):
        value = "the base-10 logarithm of the predicted value" if explanation.logarithm else "the predicted value"
        return f"The score is {value} ({base})."
    name = naming.class_(explanation.explained)
    if target.exclusive and len(explanation.classes) > 2:
        return f"The score of {name} becomes its probability beside those of the other classes ({base})."
    return f"The score is the log-odds of {name}: 0 is 50 %, +2.2 is 90 % ({base})."


def _drawing(explanation: Explanation, matches: Sequence[Match], what: str, look: Symbols) -> Drawing:
    """Draw a graph with its reasons and listed matches, which the page highlights."""
    reasons = explanation.reasons
    strongest = f"; strongest reason: {reason_words(reasons[0])}" if reasons else ""
    return draw_explained(
        explanation,
        look,
        title=f"{what}; {describe(explanation.graph)}{strongest}",
        marks=[*reason_marks(reasons), *(Mark(m.nodes, m.columns, m.contribution >= 0, m.ordered) for m in matches)],
        shown=range(min(1, len(reasons))),
    )


def reason_marks(reasons: Sequence[Reason]) -> list[Mark]:
    """Convert reasons to marks of a drawing, with their number and sign."""
    signs = ["+" if reason.contribution >= 0 else "-" for reason in reasons]
    return [
        Mark(reason.nodes, positive=sign == "+", text=f"{i} {sign}")
        for i, (reason, sign) in enumerate(zip(reasons, signs, strict=True), start=1)
    ]


def _reason_rows(explanation: Explanation, naming: Naming, holders: Holders | None) -> tuple[ReasonRow, ...]:
    column = explanation.column
    text = "{:.3g}".format if isinstance(explanation.target, Numbers) else percent_text
    return tuple(
        ReasonRow(
            text=reason_words(reason),
            nodes="" if reason.unit.kind in CONNECTIONS else listed(reason.names),  # whose words name them
            members=reason.nodes,
            contribution=reason.contribution,
            without="" if (left := reason.without) is None else text(float(left[column])),
            flips=None if left is None else _flips(explanation, left, naming),
            held="" if holders is None else holders.words(reason, naming),
            agrees=reason.agrees,
            removed=REMOVED.get(reason.unit.kind, "With it deleted"),
        )
        for reason in explanation.reasons
    )


def _certainty(explanation: Explanation, predicted: str, naming: Naming) -> str:
    """Return the probability of the explained class as text, with its name if that is not what is predicted."""
    if isinstance(explanation.target, Numbers):
        return ""
    share = percent_text(float(explanation.probabilities[explanation.column]))
    explained = naming.class_(explanation.explained)
    if explained == predicted:
        return share
    return f"most likely {explained}, {share}" if predicted == "no label" else f"{explained} {share}"


def _answer_text(explanation: Explanation, answers: NDArray[np.float64], naming: Naming) -> str:
    """Return the class, all labels, or the number that these answers predict."""
    if isinstance(explanation.target, Numbers):
        return f"{explanation.probabilities[explanation.column]:.3g} {explanation.unit}".rstrip()
    if isinstance(explanation.target, Labels):
        return ", ".join(map(naming.class_, explanation.classes[answers > 0.5].tolist())) or "no label"
    return naming.class_(explanation.classes[int(answers.argmax())])


def _flips(explanation: Explanation, answers: NDArray[np.float64], naming: Naming) -> str | None:
    """Return what these answers predict, or None if it is what the model predicts."""
    if isinstance(explanation.target, Numbers):
        return None
    then = _answer_text(explanation, answers, naming)
    return None if then == _answer_text(explanation, explanation.probabilities, naming) else then


def place_words(graph: Graph, match: Match, look: Symbols) -> str:
    """Name the nodes of a match, and those of its columns if they are others."""

    def words(nodes: Sequence[int]) -> str:
        return ", ".join(look.name(graph, node) if node >= 0 else "padding" for node in nodes)

    return words(match.nodes) if match.columns is None else f"{words(match.nodes)} to {words(match.columns)}"
