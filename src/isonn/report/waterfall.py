"""A waterfall: the parts of a score, one bar each, from the base to the score."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from isonn.explain.explanation import Explanation
from isonn.explain.reasons import Reason
from isonn.report.draw import shortened
from isonn.report.words import CONNECTIONS, region_names

#: Units with bars of their own; the others share one.
UNITS = 7
#: Terms of the whole graph with bars of their own.
TERMS = 2
#: Size in pixels: the height of a row, and where bars start and end.
ROW, LEFT, RIGHT, WIDTH = 26, 234, 330, 392
#: Characters of a name.
NAME = 32


class Step(NamedTuple):
    """One bar: a name and a contribution; the base and the score are totals."""

    name: str
    value: float
    total: bool = False


def steps_of(explanation: Explanation) -> list[Step]:
    """Return the parts of a score, from the base to the score; they add up. Units of one name share a bar.

    Example:
        >>> graphs = isonn.load("MUTAG")
        >>> e = isonn.SubgraphClassifier(max_nodes=3, random_state=0).fit(graphs).explain(graphs[0])
        >>> steps = steps_of(e)
        >>> steps[0].name, steps[-1].name, bool(abs(sum(step.value for step in steps[:-1]) - e.score) < 1e-9)
        ('base', 'score', True)
    """
    by_name: dict[str, list[float]] = {}
    for unit in explanation.units:
        by_name.setdefault(_name(Reason.of(unit, explanation)), []).append(unit.contribution)
    units = [Step(f"{len(v)} \u00d7 {name}" if len(v) > 1 else name, sum(v)) for name, v in by_name.items()]
    terms = [Step(str(term.name), term.contribution) for term in explanation.terms]
    absent = [Step("", piece.contribution) for piece in explanation.absent]
    return [
        Step("base", explanation.base, total=True),
        *_strongest(units, UNITS, "other units"),
        *_strongest(terms, TERMS, "other terms"),
        *_strongest(absent, 0, "absent pieces"),
        Step("predicted" if explanation.logarithm else "score", explanation.score, total=True),
    ]


def _strongest(steps: Sequence[Step], number: int, rest: str) -> list[Step]:
    """Return the strongest steps, and one for the sum of the rest."""
    ordered = sorted(steps, key=lambda step: -abs(step.value))
    number = len(ordered) if len(ordered) == number + 1 and number else number  # no row for "1 other"
    left = ordered[number:]
    return ordered[:number] + ([Step(f"{len(left)} {rest}", sum(step.value for step in left))] if left else [])


def waterfall(explanation: Explanation) -> str:
    """Draw the parts of a score as bars, one below the other; "" for models whose contributions do not add up."""
    if not explanation.exact:
        return ""
    steps = steps_of(explanation)
    ends = [0.0]
    spans = []
    for step in steps:
        start = 0.0 if step.total else ends[-1]
        ends.append(step.value if step.total else start + step.value)
        spans.append((start, ends[-1]))
    low, high = min(ends), max(ends)
    scale = (RIGHT - LEFT) / max(high - low, 1e-12)
    zero = LEFT - low * scale
    height = ROW * len(steps) + 8
    parts = [
        f'<svg class="isonn waterfall" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" '
        f'aria-label="{_what(explanation)}">',
        f'<path class="zero" d="M{zero:.1f} 2V{height - 4}"/>',
    ]
    for i, (step, (start, end)) in enumerate(zip(steps, spans, strict=True)):
        x, width, y = LEFT + (min(start, end) - low) * scale, abs(end - start) * scale, 4 + ROW * i
        kind = "whole" if step.total else "pos" if step.value > 0 else "neg"
        parts.append(
            f'<g class="{kind}"><text class="name" x="{LEFT - 10}" y="{y + 16}">{escape(shortened(step.name, NAME))}'
            f'</text><rect x="{x:.1f}" y="{y + 3}" width="{max(width, 1):.1f}" height="{ROW - 7}"/>'
            f'<text class="value" x="{WIDTH - 4}" y="{y + 16}">{escape(_value(step, explanation))}</text></g>'
        )
        if i + 1 < len(steps):
            x = LEFT + (end - low) * scale
            parts.append(f'<path class="step" d="M{x:.1f} {y + ROW - 4}v7"/>')
    return "".join([*parts, "</svg>"])


def _value(step: Step, explanation: Explanation) -> str:
    """Return the number beside a bar; totals of a logarithm are the number itself."""
    if step.total and explanation.logarithm:
        return f"{10**step.value:.3g}"
    return explanation.effect_text(step.value)


def _what(explanation: Explanation) -> str:
    if explanation.logarithm:
        return f"What leads to the prediction {10**explanation.score:.3g}"
    return f"What adds up to the score {explanation.score:+.2f}"


def beside(left: str, right: str) -> str:
    """Put two drawings side by side in one."""
    if not right:
        return left
    size = re.compile(r'viewBox="\S+ \S+ (\S+) (\S+)"')
    (w1, h1), (w2, h2) = (map(float, size.findall(svg)[0]) for svg in (left, right))
    height = max(h1, h2)
    inner = [
        svg.replace("<svg ", f'<svg x="{x:g}" y="{(height - h) / 2:g}" ', 1)
        for svg, x, h in ((left, 0.0, h1), (right, w1 + 20, h2))
    ]
    width = w1 + 20 + w2
    return (
        f'<svg class="isonn" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" role="img" '
        f'aria-label="A graph coloured by contribution, and what adds up to its score">{"".join(inner)}</svg>'
    )


def _name(reason: Reason) -> str:
    """Return a unit in a few words."""
    if reason.kind in CONNECTIONS:
        names = region_names(reason)
        joined = " \u2013 ".join(names)
        return joined if len(joined) <= NAME else f"connections of {len(names)} regions"
    text = reason.text if len(reason.text) <= NAME else reason.text.partition(" with ")[0]
    return f"label {text}" if text.isdecimal() else text
