"""Panels: one graph with its explanation on a page, with the drawing, its reasons, and all its matches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.explain.explanation import Explanation, Match
from isonn.explain.reasons import Reason
from isonn.graphs.graph import Graph
from isonn.report.counts import Holders
from isonn.report.draw import Drawing, Mark, Symbols, describe, draw_explained
from isonn.report.waterfall import waterfall
from isonn.report.words import CONNECTIONS, Naming, effect_words, listed, number_text, percent_text, reason_words

#: How units that are not deleted are removed.
REMOVED = {
    "set": "With these connections as in a mean graph",
    "connection": "With this connection as in a mean graph",
    "window": "Without its matches",
}
#: Number of matches listed for a graph.
LISTED = 20


class ReasonRow:
    """A reason on a page.

    Args:
        reason: the reason.
        naming: the names of classes.
        holders: counts the graphs that contain the reason; None omits the counts.

    Attributes:
        kind: the kind of unit, such as "connection".
        text: the piece in words.
        nodes: its nodes, by name; "" if the text names them.
        members: its nodes, by number.
        contribution: its contribution to the score.
        effect: the contribution as text; a factor if the number was learned as a logarithm.
        without: the prediction with the piece deleted, as text; "" if nothing is left.
        flips: the class predicted then, if it differs, else "".
        removed: how the piece was removed, in words.
        parts: into how many parts what is left falls; 0 if it is whole, or nothing was deleted.
        instead: why the prediction then moves against the contribution, in words; "" if it does not.
        held: how many graphs of each class contain the piece, as text, or "".
    """

    def __init__(self, reason: Reason, naming: Naming, holders: Holders | None) -> None:
        e, left, self.kind = reason.explanation, reason.without, reason.kind
        self.text, self.members, self.contribution = reason_words(reason), reason.nodes, reason.contribution
        self.effect = effect_words(reason.contribution, e.logarithm)
        self.nodes = "" if reason.kind in CONNECTIONS else listed(reason.names)
        self.removed, self.instead = REMOVED.get(reason.kind, "With it deleted"), contradiction(reason)
        self.parts = reason.parts if reason.kind not in REMOVED and reason.parts > 1 else 0
        self.held = "" if holders is None else holders.words(reason, naming)
        self.without, self.flips = "", ""
        if left is not None:
            value = float(left[e.column])
            self.without = number_text(value, e.unit) if e.target.numeric else percent_text(value)
            self.flips = _flips(e, left, naming)


def contradiction(reason: Reason) -> str:
    """Say why the prediction moves against the contribution without a piece; "" if it does not."""
    if reason.agrees is not False:
        return ""
    return "its connections also count elsewhere" if reason.kind in CONNECTIONS else "other pieces take over"


class Panel:
    """A graph with its prediction and reasons, as text and pictures; the explanation itself is not kept.

    Args:
        explanation: the explanation.
        number: number of the graph on its page.
        name: its name.
        naming, look: the names of classes, and the look of labels, of all panels of a page.
        truth: its class or value, or None.
        holders: counts the graphs that contain a reason; None omits the counts.

    Attributes:
        truth: its class or value as text, or None if unknown.
        predicted: the prediction as text.
        confidence: the probability of the explained class; None for numbers.
        certainty: the same as text, with the label it belongs to if there are several; "" for numbers.
        right: whether the prediction is correct; None if unknown or not a yes or no.
        probabilities: the probability of every class, by name.
        score, base, logarithm: as in `Explanation`.
        matches: the strongest matches, each with its nodes by name; [] where units add up, which tell more.
        count: number of all matches.
        about: nodes and edges, in words.
        explained: what the reasons speak for, in words.
        value: the predicted number; None for classes.
        unit: the unit of a number, or "".
        several: the number of labels or columns, of which one is explained; 0 if there is only one.
        scale: what the score is, in a sentence.
        waterfall: how units and terms lead from the base to the score, as a picture; "" if they do not add up.
        smiles: the SMILES of a molecule, else "".
    """

    def __init__(
        self,
        explanation: Explanation,
        number: int,
        name: str,
        naming: Naming,
        look: Symbols,
        truth: Any = None,
        holders: Holders | None = None,
    ) -> None:
        e, answers = explanation, explanation.probabilities.tolist()
        numeric = e.target.numeric
        self.number, self.name, self.noun, self.about = number, name, naming.noun, describe(e.graph)
        self.smiles = str(e.graph.row.get("smiles", "")) if e.graph.kind == "molecules" else ""
        self.truth = None if truth is None else number_text(truth, e.unit) if numeric else naming.class_(truth)
        self.right = bool(truth == e.label) if truth is not None and e.target.exclusive else None
        self.predicted, self.explained = _answer_text(e, e.probabilities, naming), naming.output(e.explained, e.target)
        self.certainty = _certainty(e, self.predicted, naming)
        self.value: float | None = answers[e.column] if numeric else None
        self.unit, self.several = e.unit, 0 if e.target.exclusive or e.target.outputs == 1 else e.target.outputs
        self.confidence: float | None = None if numeric else answers[e.column]
        self.probabilities = [] if numeric else list(zip(map(naming.class_, e.classes), answers, strict=True))
        self.score, self.base, self.logarithm, self.count = e.score, e.base, e.logarithm, e.count
        self.scale, self.waterfall = _scale(e, naming), waterfall(e)
        matches = [] if e.exact else e.matches[:LISTED]
        self.matches = [(match, place_words(e.graph, match, look)) for match in matches]
        self.reasons = [ReasonRow(reason, naming, holders) for reason in e.reasons]
        self.drawing = _drawing(e, matches, f"{name}, predicted {self.predicted}", look)

    @property
    def title(self) -> str:
        """The name of the graph, as a heading."""
        return f"{self.noun.capitalize()} {self.name}" if self.name.isdecimal() else self.name

    @property
    def called(self) -> str:
        """The name of the graph, within a sentence."""
        return f"{self.noun} {self.name}" if self.name.isdecimal() else self.name


def leading_reason(panels: Sequence[Panel]) -> tuple[str, int]:
    """Return the most frequent strongest reason, and in how many graphs it is; "" and 0 if there is no reason."""
    leading = Counter(panel.reasons[0].text for panel in panels if panel.reasons).most_common(1)
    return leading[0] if leading else ("", 0)


def _scale(explanation: Explanation, naming: Naming) -> str:
    """Say what score and base are."""
    target, base = explanation.target, f"base: before any part of the {naming.noun} counts"
    unit = f" in {explanation.unit}" if explanation.unit else ""
    if explanation.source.predict is None:  # aligned models compare with a mean graph
        base = f"base: that of a mean training {naming.noun}"
    if explanation.logarithm:
        return f"The number{unit} was learned as a logarithm, so each part multiplies or divides it ({base})."
    if target.numeric:
        return f"The score is the predicted value{unit} ({base})."
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
        marks=[*reason_marks(reasons), *(Mark(m.nodes, m.columns, m.contribution >= 0) for m in matches)],
        shown=range(min(1, len(reasons))),
    )


def reason_marks(reasons: Sequence[Reason]) -> list[Mark]:
    """Convert reasons to marks of a drawing, with their number and sign."""
    signs = ["+" if reason.contribution >= 0 else "-" for reason in reasons]
    return [
        Mark(reason.nodes, positive=sign == "+", text=f"{i} {sign}")
        for i, (reason, sign) in enumerate(zip(reasons, signs, strict=True), start=1)
    ]


def _certainty(explanation: Explanation, predicted: str, naming: Naming) -> str:
    """Return the probability of the explained class as text, with its name if that is not what is predicted."""
    if explanation.target.numeric:
        return ""
    share = percent_text(float(explanation.probabilities[explanation.column]))
    explained = naming.class_(explanation.explained)
    if explained == predicted:
        return share
    first = explanation.probabilities.argmax() == explanation.column  # --label may explain another one
    return f"most likely {explained}, {share}" if first and predicted == "no label" else f"{explained} {share}"


def _answer_text(explanation: Explanation, answers: NDArray[np.float64], naming: Naming) -> str:
    """Return the class, all labels, or the number that these answers predict."""
    if explanation.target.numeric:
        return number_text(explanation.probabilities[explanation.column], explanation.unit)
    if not explanation.target.exclusive:
        return ", ".join(map(naming.class_, explanation.classes[answers > 0.5].tolist())) or "no label"
    return naming.class_(explanation.classes[int(answers.argmax())])


def _flips(explanation: Explanation, answers: NDArray[np.float64], naming: Naming) -> str:
    """Return what these answers predict; "" for numbers, or if it is what the model predicts."""
    if explanation.target.numeric:
        return ""
    then = _answer_text(explanation, answers, naming)
    return "" if then == _answer_text(explanation, explanation.probabilities, naming) else then


def place_words(graph: Graph, match: Match, look: Symbols) -> str:
    """Name the nodes of a match, and those of its columns if they are others."""

    def words(nodes: Sequence[int]) -> str:
        return ", ".join(look.name(graph, node) if node >= 0 else "padding" for node in nodes)

    return words(match.nodes) if match.columns is None else f"{words(match.nodes)} to {words(match.columns)}"
