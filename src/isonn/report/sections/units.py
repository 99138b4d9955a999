"""What speaks for each class, or moves a number: the named units of all graphs of a page in one table."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.explain.explanation import Explanation, is_logarithm
from isonn.explain.reasons import Reason
from isonn.explain.units import REST, find_partition
from isonn.report.cases import Cases
from isonn.report.counts import Counts, count_by_class, sides_of
from isonn.report.page import Section
from isonn.report.words import effect_words, speaking
from isonn.targets import positive_of

#: Maximum number of units that raise and that lower a score, of those in a sentence, and of classes or labels.
LISTED, NAMED, OUTPUTS = 12, 3, 30
#: Units of less than this share of the largest mean contribution are not in the sentence.
STRONG = 0.1
#: Maximum number of graphs that are explained for every one of several classes or labels.
SAMPLED = 250
#: Maximum number of examples per unit.
EXAMPLES = 3


#: Units in fewer graphs are not listed.
SUPPORT = 5
#: Chains, and rings of carbon in at least this share of the graphs, tell the size of a graph, not what it does.
COMMON = 0.2
#: A family is not listed if one of its units is in more than this share of its graphs.
MOST_OF_FAMILY = 0.8
#: Half-width of a 95 % interval in standard errors.
NORMAL = 1.96
_OTHER_ELEMENT = re.compile(r"[A-BD-Zabd-z]")


@dataclass(frozen=True)
class UnitRow:
    """What a named unit adds to one output, over the graphs that contain it.

    Attributes:
        text: its name, or the SMILES of a unit without one.
        mean: mean contribution of all its copies in a graph.
        low, high: 95 % interval of the mean.
        graphs: numbers of the graphs that contain it, strongest contribution first.
        nodes: the nodes of its copies in the first of these graphs.
        skeleton: whether it is a frequent ring or chain of carbon, so that it tells the size.
        members: the units that a family consists of, most frequent first; () for a unit.
    """

    text: str
    mean: float
    low: float
    high: float
    graphs: tuple[int, ...]
    nodes: tuple[int, ...]
    skeleton: bool
    members: tuple[str, ...] = ()

    @property
    def clear(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low * self.high > 0


def unit_rows(explanations: Sequence[tuple[int, Explanation]], column: int) -> list[UnitRow]:
    """Summarise the units of explained graphs, largest sum of contributions first.

    Args:
        explanations: numbers and explanations of graphs, by models that were not fitted to them.
        column: the output whose score the contributions refer to.

    Returns:
        Units, and families of units such as "basic amine", in at least `SUPPORT` graphs. Contributions to the other of
        two classes count with the opposite sign.
    """
    by_text: dict[str, dict[int, float]] = {}
    nodes: dict[tuple[str, int], tuple[int, ...]] = {}
    carbon: set[str] = set()
    chains: set[str] = set()
    members: dict[str, Counter[str]] = {}
    for number, e in explanations:
        importance = _importance(e, column)
        for unit in e.units:
            if unit.kind == REST:
                continue
            text, worth = Reason.of(unit, e).text, float(importance[list(unit.nodes)].sum())
            for name in {text, *unit.families}:
                by_graph = by_text.setdefault(name, {})
                by_graph[number] = by_graph.get(number, 0.0) + worth
                nodes[name, number] = (*nodes.get((name, number), ()), *unit.nodes)
                if name != text:
                    members.setdefault(name, Counter())[text] += 1
            if unit.kind == "chain":
                chains.add(text)
            if not _OTHER_ELEMENT.search(unit.smiles or "N"):
                carbon.add(text)
    rows = []
    for text, by_graph in by_text.items():
        if len(by_graph) < SUPPORT:
            continue
        values = np.array(list(by_graph.values()))
        mean, error = float(values.mean()), NORMAL * float(values.std(ddof=1)) / math.sqrt(len(values))
        strongest = sorted(by_graph, key=lambda number: -by_graph[number] * (1 if mean >= 0 else -1))
        common = len(by_graph) >= COMMON * len(explanations) or text in chains
        place, inside = nodes[text, strongest[0]], tuple(name for name, _ in members.get(text, Counter()).most_common())
        size = common and text in carbon
        rows.append(UnitRow(text, mean, mean - error, mean + error, tuple(strongest), place, size, inside))
    return sorted(_useful(rows), key=lambda row: -abs(row.mean) * len(row.graphs))


def _useful(rows: Sequence[UnitRow]) -> list[UnitRow]:
    """Leave out families that say no more than their members: one alone or above all, or members of different signs.

    Of families with the same graphs, the one with more members stays.
    """
    units = {row.text: row for row in rows if not row.members}
    kept: dict[tuple[int, ...], UnitRow] = {}
    for row in rows:
        inside = [units[name] for name in row.members if name in units]
        same = all(member.mean * row.mean > 0 for member in inside if member.clear)
        if len(inside) > 1 and same and not any(_stands_for(member, row) for member in inside):
            before = kept.get(tuple(sorted(row.graphs)))
            if before is None or len(before.members) < len(row.members):
                kept[tuple(sorted(row.graphs))] = row
    return [*units.values(), *kept.values()]


def _stands_for(member: UnitRow, family: UnitRow) -> bool:
    """Whether a unit is in most graphs of a family, or in fewer than half of them with more than half of the sum."""
    share = len(member.graphs) / len(family.graphs)
    return share > MOST_OF_FAMILY or (share < 0.5 < share * member.mean / family.mean)


def _importance(e: Explanation, column: int) -> NDArray[np.float64]:
    """Return the contribution of each node to an output."""
    if e.column == column:
        return e.node_importance
    if e.target.exclusive and len(e.classes) == 2:  # the score of one class is minus that of the other
        return -e.node_importance
    regions = e.source.region_contributions(column, *e.source.contributions(column))
    return regions.node_shares(e.graph.n) + e.source.node_terms(column)


def told(rows: Sequence[UnitRow], sign: int, most: int) -> list[UnitRow]:
    """Return the units that clearly raise (or lower) the score, without skeletons, largest sum first."""
    return [row for row in rows if row.clear and not row.skeleton and row.mean * sign > 0][:most]


def without_members(rows: Sequence[UnitRow]) -> list[UnitRow]:
    """Leave out units whose family comes before them."""
    kept: list[UnitRow] = []
    for row in rows:
        if not any(row.text in family.members for family in kept):
            kept.append(row)
    return kept


def joined(rows: Sequence[UnitRow]) -> str:
    """Join the names of units: "epoxide, azide and nitro".

    Example:
        >>> joined([])
        ''
    """
    names = [row.text for row in rows]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


class UnitLine:
    """A unit in the table.

    Args:
        cases: the graphs of the page.
        row: the unit.
        value: the class, or the number of the column.
        numbers: numbers of the graphs that were explained.

    Attributes:
        counts: per class its name, the graphs that contain the unit, and all of them; that of ``value`` first.
        examples: numbers and names of graphs that contain it.
    """

    def __init__(self, cases: Cases, row: UnitRow, value: Any, numbers: Sequence[int]) -> None:
        self.row, graphs = row, cases.graphs[numbers]
        self.counts: Counts = (("", len(row.graphs), len(numbers)),)
        if not cases.target.numeric:
            sides = sides_of(graphs, cases.target, cases.naming, value)
            self.counts = count_by_class(np.isin(numbers, row.graphs), sides)
        self.examples = [(number, cases.name(number)) for number in row.graphs[:EXAMPLES]]

    @property
    def contradicted(self) -> bool:
        """Whether the class that the unit speaks for is rarer among graphs with it than among all."""
        _, held, of = self.counts[0]
        every_held, every = sum(held for _, held, _ in self.counts), sum(of for _, _, of in self.counts)
        return (held * every - of * every_held) * self.row.mean < 0


class UnitGroup:
    """The units of one class, label or number.

    Args:
        cases: the graphs of the page.
        value: the class, or the number of the column.
        rows: its units.
        numbers: numbers of the graphs that were explained.

    Attributes:
        name: its name.
        sentence: what speaks for it and against it.
        lines: those that raise its score, then those that lower it.
        skeleton: frequent rings and chains of carbon, which tell the size, in words.
        does: the heading of the contributions.
        logarithm: whether contributions are factors of a number that was learned as a logarithm.
        largest: the largest absolute mean contribution.
    """

    def __init__(self, cases: Cases, value: Any, rows: Sequence[UnitRow], numbers: Sequence[int]) -> None:
        self.value, self.name = value, cases.output_name(value)
        shown = [*told(rows, 1, LISTED), *told(rows, -1, LISTED)]
        self.largest = max((abs(row.mean) for row in shown), default=0.0)
        self.lines = [UnitLine(cases, row, value, numbers) for row in shown]
        self.sentence, self.skeleton = _sentence(cases, value, self.lines, self.largest), ""
        self.logarithm = cases.target.numeric and is_logarithm(cases.target, int(value))
        self.does = f"Speaks for {self.name}"
        unit = f" ({cases.naming.unit(value)})" if cases.target.numeric and cases.naming.unit(value) else ""
        if cases.target.numeric:
            self.does = "Multiplies the value" if self.logarithm else f"Adds to the value{unit}"
        common = [f"{row.text} {self.effect(row.mean)} (in {len(row.graphs):,})" for row in rows if row.skeleton][
            :NAMED
        ]
        if common:
            noun, means = cases.naming.noun, ", ".join(common)
            self.skeleton = f"Left out, because they are the size of a {noun} rather than an answer: {means}."

    def effect(self, contribution: float) -> str:
        """Return a mean contribution as text."""
        return effect_words(contribution, self.logarithm)


def unit_groups(cases: Cases) -> list[UnitGroup]:
    """Return the units by class, that with the strongest unit first; [] for graphs without named units.

    Of two classes the positive one is enough, because a unit speaks against the other where it speaks for this one.
    """
    target = cases.target
    if find_partition(cases.graphs.kind) is None:
        return []
    columns = list(range(len(target.classes)))
    if target.exclusive and len(columns) == 2:
        columns = [positive_of(target.classes.tolist())]
    numbers = cases.shown
    if len(columns) > 1 and len(numbers) > SAMPLED:
        numbers = [numbers[i] for i in np.linspace(0, len(numbers) - 1, SAMPLED).astype(int)]
    explained = [(number, cases.explanation(number)) for number in numbers]
    if not explained[0][1].exact:
        return []
    groups = [UnitGroup(cases, target.classes.tolist()[i], unit_rows(explained, i), numbers) for i in columns[:OUTPUTS]]
    return sorted(
        (group for group in groups if group.lines), key=lambda group: -max(line.row.mean for line in group.lines)
    )


def units_section(cases: Cases, groups: Sequence[UnitGroup]) -> Section:
    """Return the table of the units of each class, over the graphs of the page."""
    numeric = cases.target.numeric
    number = min(len(cases.shown), SAMPLED) if len(groups) > 1 else len(cases.shown)
    content = {"groups": groups, "numeric": numeric, "noun": cases.naming.noun, "number": number}
    title = f"What speaks for {groups[0].name}" if len(groups) == 1 else f"What speaks for each {cases.naming.word}"
    return Section("units", "What raises and lowers the value" if numeric else title, content, "Reasons")


def _sentence(cases: Cases, value: Any, lines: Sequence[UnitLine], largest: float) -> str:
    """Say which units speak for a class and which against, and how many graphs with a frequent one are of the class."""
    numeric, name = cases.target.numeric, cases.output_name(value)
    strong = [line for line in lines if abs(line.row.mean) >= STRONG * largest and not line.contradicted]
    rows = without_members([line.row for line in strong])
    up, down = ([line for line in strong if line.row in rows and line.row.mean * sign > 0][:NAMED] for sign in (1, -1))
    sides = [
        (joined([line.row for line in chosen]), len(chosen) > 1, sign)
        for chosen, sign in ((up, 1), (down, -1))
        if chosen
    ]
    if not sides:
        return f"No named unit clearly {'raises' if numeric else 'speaks for'} {name}."
    sentence = speaking(sides, name, numeric, f"most over all {cases.naming.noun}s")
    if up and len(up[0].counts) > 1 and not numeric:
        line = max(up, key=lambda line: line.counts[0][1])
        held, every = line.counts[0][1], sum(count for _, count, _ in line.counts)
        being = cases.naming.being(value)
        sentence += f" {held:,} of the {every:,} {cases.naming.noun}s with {line.row.text} {being}."
    return sentence
