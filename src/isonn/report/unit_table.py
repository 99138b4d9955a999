"""The named units of a set of graphs: what each adds to the predictions, in how many graphs of each class."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isonn.explain.explanation import Explanation, node_importance_of
from isonn.explain.reasons import Reason
from isonn.explain.units import REST

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
        nodes: the nodes of a copy in the first of these graphs.
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
            text, worth = Reason(unit, e).text, float(importance[list(unit.nodes)].sum())
            for name in {text, *unit.families}:
                by_graph = by_text.setdefault(name, {})
                by_graph[number] = by_graph.get(number, 0.0) + worth
                nodes.setdefault((name, number), unit.nodes)
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
    """Leave out families that say no more than their members: one alone, or members of different signs.

    Of families with the same graphs, the one with more members stays.
    """
    units = {row.text: row for row in rows if not row.members}
    kept: dict[tuple[int, ...], UnitRow] = {}
    for row in rows:
        inside = [units[name] for name in row.members if name in units]
        same = all(member.mean * row.mean > 0 for member in inside if member.clear)
        if len(inside) > 1 and same and not any(len(m.graphs) > MOST_OF_FAMILY * len(row.graphs) for m in inside):
            before = kept.get(tuple(sorted(row.graphs)))
            if before is None or len(before.members) < len(row.members):
                kept[tuple(sorted(row.graphs))] = row
    return [*units.values(), *kept.values()]


def _importance(e: Explanation, column: int) -> NDArray[np.float64]:
    """Return the contribution of each node to an output."""
    if e.column == column:
        return e.node_importance
    if e.target.exclusive and len(e.classes) == 2:  # the score of one class is minus that of the other
        return -e.node_importance
    return node_importance_of(e.source, column)


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
