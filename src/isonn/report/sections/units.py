"""What speaks for each class, or moves a number: the named units of all graphs of a page in one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from isonn.explain.units import find_partition
from isonn.report.cases import Cases
from isonn.report.charts import bar
from isonn.report.counts import count_by_class, has_classes, sides_of
from isonn.report.section import Section
from isonn.report.unit_table import UnitRow, joined, told, unit_rows, without_members
from isonn.targets import Numbers

#: Maximum number of units that raise and that lower a score, of those in a sentence, and of classes or labels.
LISTED, NAMED, OUTPUTS = 12, 3, 30
#: Units of less than this share of the largest mean contribution are not in the sentence.
STRONG = 0.1
#: Maximum number of graphs that are explained for every one of several classes or labels.
SAMPLED = 250
#: Maximum number of examples per unit.
EXAMPLES = 3


@dataclass(frozen=True)
class UnitLine:
    """A unit in the table: its row, a bar, the graphs of each class that contain it, and links to examples."""

    row: UnitRow
    bar: str
    counts: tuple[tuple[str, int, int], ...]
    examples: tuple[tuple[int, str], ...]

    @property
    def contradicted(self) -> bool:
        """Whether the class that the unit speaks for is rarer among graphs with it than among all."""
        _, held, of = self.counts[0]
        every_held, every = sum(held for _, held, _ in self.counts), sum(of for _, _, of in self.counts)
        return (held * every - of * every_held) * self.row.mean < 0


@dataclass(frozen=True)
class UnitGroup:
    """The units of one class, label or number.

    Attributes:
        value: the class, or the number of the column.
        name: its name.
        sentence: what speaks for it and against it.
        lines: those that raise its score, then those that lower it.
        skeleton: frequent rings and chains of carbon, which tell the size, in words.
    """

    value: Any
    name: str
    sentence: str
    lines: tuple[UnitLine, ...]
    skeleton: str


def unit_groups(cases: Cases) -> list[UnitGroup]:
    """Return the units by class, that with the strongest unit first; [] for graphs without named units.

    Of two classes the second is enough, because a unit speaks against the first where it speaks for the second.
    """
    target = cases.clf.target_
    if find_partition(cases.graphs.kind) is None:
        return []
    columns = range(len(target.classes))
    if target.exclusive and len(columns) == 2:
        columns = range(1, 2)
    numbers = cases.shown
    if len(columns) > 1 and len(numbers) > SAMPLED:
        numbers = [numbers[i] for i in np.linspace(0, len(numbers) - 1, SAMPLED).astype(int)]
    explained = [(number, cases.explanation(number)) for number in numbers]
    if not explained[0][1].exact:
        return []
    groups = [_group(cases, target.classes.tolist()[i], unit_rows(explained, i), numbers) for i in columns[:OUTPUTS]]
    return sorted(
        (group for group in groups if group.lines), key=lambda group: -max(line.row.mean for line in group.lines)
    )


def units_section(cases: Cases, groups: Sequence[UnitGroup]) -> Section:
    """Return the table of the units of each class, with contributions to graphs that their model was not fitted to."""
    numeric = isinstance(cases.clf.target_, Numbers)
    number = min(len(cases.shown), SAMPLED) if len(groups) > 1 else len(cases.shown)
    content = {"groups": groups, "numeric": numeric, "noun": cases.naming.noun, "number": number}
    title = f"What speaks for {groups[0].name}" if len(groups) == 1 else f"What speaks for each {cases.naming.word}"
    return Section("units", "What raises and lowers the value" if numeric else title, content, "Reasons")


def _group(cases: Cases, value: Any, rows: list[UnitRow], numbers: list[int]) -> UnitGroup:
    name, noun = cases.output_name(value), cases.naming.noun
    up, down = told(rows, 1, LISTED), told(rows, -1, LISTED)
    largest = max((abs(row.mean) for row in (*up, *down)), default=0.0)
    lines = tuple(_line(cases, row, value, numbers, largest) for row in (*up, *down))
    common = [row for row in rows if row.skeleton][:NAMED]
    skeleton = ""
    if common:
        means = ", ".join(f"{row.text} {row.mean:+.2f} (in {len(row.graphs):,})" for row in common)
        skeleton = f"Left out, because they are the size of a {noun} rather than an answer: {means}."
    return UnitGroup(value, name, _sentence(cases, value, lines, largest), lines, skeleton)


def _line(cases: Cases, row: UnitRow, value: Any, numbers: list[int], largest: float) -> UnitLine:
    graphs = cases.graphs[numbers]
    held = np.isin(numbers, row.graphs)
    counts = count_by_class(held, sides_of(graphs, cases.naming, value)) if has_classes(graphs) else ()
    names = tuple((number, cases.name(number)) for number in row.graphs[:EXAMPLES])
    return UnitLine(row, bar(row.mean, largest), counts or (("", len(row.graphs), len(numbers)),), names)


def _sentence(cases: Cases, value: Any, lines: Sequence[UnitLine], largest: float) -> str:
    """Say which units speak for a class and which against, and how many graphs with the first one are of the class."""
    numeric, name = isinstance(cases.clf.target_, Numbers), cases.output_name(value)
    strong = [line for line in lines if abs(line.row.mean) >= STRONG * largest and not line.contradicted]
    rows = without_members([line.row for line in strong])
    up, down = ([line for line in strong if line.row in rows and line.row.mean * sign > 0][:NAMED] for sign in (1, -1))
    verbs = (("raise", "raises"), ("lower", "lowers"))
    if not numeric:
        verbs = (("speak for", "speaks for"), ("speak against", "speaks against"))
    clauses = [
        f"{joined([line.row for line in chosen])} {verb[len(chosen) == 1]}"
        for chosen, verb in ((up, verbs[0]), (down, verbs[1]))
        if chosen
    ]
    if not clauses:
        return f"No named unit clearly {verbs[0][1]} {name}."
    text = "; ".join([f"{clauses[0]} {name} most", *(f"{clause} it" for clause in clauses[1:])])
    sentence = f"{text[0].upper()}{text[1:]}."
    if up and len(up[0].counts) > 1 and not numeric:
        held, every = up[0].counts[0][1], sum(count for _, count, _ in up[0].counts)
        being = cases.naming.being(value)
        sentence += f" {held:,} of the {every:,} {cases.naming.noun}s with {up[0].row.text} {being}."
    return sentence
