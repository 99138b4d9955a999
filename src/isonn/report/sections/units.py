"""What speaks for each class, or moves a number: the named units of all graphs of a page in one table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from isonn.explain.units import find_partition
from isonn.report.cases import Cases
from isonn.report.charts import bar
from isonn.report.draw import Drawing, Mark, draw_graph
from isonn.report.holders import count_by_class, has_classes, sides_of
from isonn.report.section import Section
from isonn.report.sections.pieces import output_name
from isonn.report.unit_table import UnitRow, joined, told, unit_rows
from isonn.targets import Numbers

#: Maximum number of units that raise and that lower a score, of those in a sentence, and of classes or labels.
LISTED, NAMED, OUTPUTS = 12, 3, 30
#: Units of less than this share of the largest mean contribution are not in the sentence.
STRONG = 0.2
#: Maximum number of graphs that are explained for every one of several classes or labels.
SAMPLED = 250
#: Maximum number of examples per unit.
EXAMPLES = 3


@dataclass(frozen=True)
class Line:
    """A unit in the table: its row, a bar, the graphs of each class that contain it, and links to examples."""

    row: UnitRow
    bar: str
    counts: tuple[tuple[str, int, int], ...]
    examples: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class Group:
    """The units of one class, label or number: a sentence, those that raise its score, those that lower it, the rest.

    Attributes:
        skeleton: frequent rings and chains of carbon, which tell the size, in words.
    """

    value: Any
    name: str
    sentence: str
    lines: tuple[Line, ...]
    skeleton: str


class UnitsSection(Section):
    """The named units of the graphs, with mean contributions over graphs that their model was not fitted to.

    Args:
        cases: the graphs.
        first: the class to begin with.
    """

    anchor, template, listed = "reasons", "units.html", "Reasons"

    def __init__(self, cases: Cases, first: Any) -> None:
        self.cases, self.first = cases, first
        self.numeric = isinstance(cases.clf.target_, Numbers)

    @property
    def title(self) -> str:
        """What the section answers."""
        if self.numeric:
            return "What raises and lowers the value"
        return f"What speaks for {self.groups[0].name}" if len(self.groups) == 1 else "What speaks for each of them"

    def applies(self) -> bool:
        """Return whether graphs of this kind have named units, and any is frequent enough to list."""
        return find_partition(self.cases.graphs.kind) is not None and any(group.lines for group in self.groups)

    @cached_property
    def groups(self) -> list[Group]:
        """The units by class, the first class first; of two classes, one table does for both."""
        target = self.cases.clf.target_
        values = target.classes.tolist()
        if target.exclusive and len(values) == 2:
            values = [self.first]
        values = sorted(values, key=lambda value: value != self.first)[:OUTPUTS]
        numbers = self.cases.shown
        if len(values) > 1 and len(numbers) > SAMPLED:
            numbers = [numbers[i] for i in np.linspace(0, len(numbers) - 1, SAMPLED).astype(int)]
        explained = [(number, self.cases.explanation(number)) for number in numbers]
        if not explained[0][1].exact:
            return []
        columns = target.classes.tolist()
        groups = [self._group(value, unit_rows(explained, columns.index(value)), numbers) for value in values]
        # a label that something speaks for makes a better beginning
        return sorted(groups, key=lambda group: not (group.lines and group.lines[0].row.mean > 0))

    def _group(self, value: Any, rows: list[UnitRow], numbers: list[int]) -> Group:
        name, noun = output_name(self.cases, value), self.cases.naming.noun
        up, down = told(rows, 1, LISTED), told(rows, -1, LISTED)
        largest = max((abs(row.mean) for row in (*up, *down)), default=0.0)
        lines = tuple(self._line(row, value, numbers, largest) for row in (*up, *down))
        common = [row for row in rows if row.skeleton][:NAMED]
        skeleton = ""
        if common:
            means = ", ".join(f"{row.text} {row.mean:+.2f} (in {len(row.graphs):,})" for row in common)
            skeleton = f"Left out, because they are the size of a {noun} rather than an answer: {means}."
        strong = [row for row in (*up[:NAMED], *down[:NAMED]) if abs(row.mean) >= STRONG * largest]
        sentence = self._sentence(name, told(strong, 1, NAMED), told(strong, -1, NAMED))
        if up and len(lines[0].counts) > 1 and not self.numeric:
            held, of = lines[0].counts[0][1], sum(count for _, count, _ in lines[0].counts)
            sentence += f" {held:,} of the {of:,} {noun}s with {up[0].text} {self.cases.naming.being(value)}."
        return Group(value, name, sentence, lines, skeleton)

    def _sentence(self, name: str, up: list[UnitRow], down: list[UnitRow]) -> str:
        verbs = ("raise", "lower") if self.numeric else ("speak for", "speak against")
        parts = [
            f"{joined(rows)} {verb if len(rows) > 1 else _singular(verb)}"
            for rows, verb in ((up, verbs[0]), (down, verbs[1]))
            if rows
        ]
        if not parts:
            return f"No named unit clearly {_singular(verbs[0])} {name}."
        text = "; ".join([f"{parts[0]} {name} most", *(f"{part} it" for part in parts[1:])])
        return f"{text[0].upper()}{text[1:]}."

    def _line(self, row: UnitRow, value: Any, numbers: list[int], largest: float) -> Line:
        graphs = self.cases.graphs[numbers]
        held = np.isin(numbers, row.graphs)
        counts = count_by_class(held, sides_of(graphs, self.cases.naming, value)) if has_classes(graphs) else ()
        names = tuple((number, self.cases.name(number)) for number in row.graphs[:EXAMPLES])
        return Line(row, bar(row.mean, largest), counts or (("", len(row.graphs), len(numbers)),), names)

    def content(self) -> dict[str, Any]:
        """Return the tables."""
        cases = self.cases
        number = len(cases.shown)
        if len(self.groups) > 1:
            number = min(number, SAMPLED)
        return {"groups": self.groups, "numeric": self.numeric, "noun": cases.naming.noun, "number": number}

    def picture(self, row: UnitRow) -> Drawing:
        """Draw the graph where a unit contributes most."""
        number = row.graphs[0]
        e = self.cases.explanation(number)
        return draw_graph(
            e.graph,
            symbols=self.cases.look,
            title=f"{self.cases.name(number)}; highlighted: {row.text}",
            marks=[Mark(row.nodes, positive=row.mean >= 0)],
            shown=[0],
            node_importance=e.node_importance,
            edge_importance=e.edge_importance,
        )


def _singular(verb: str) -> str:
    first, _, rest = verb.partition(" ")
    return f"{first}s {rest}".strip()
