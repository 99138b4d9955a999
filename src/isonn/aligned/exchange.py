"""Which graphs may be exchanged in a permutation test: all, blocks of one subject, or graphs within a block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import InputError
from isonn.graphs.graph import GraphSet
from isonn.packing import Floats, IntArray

#: The column with the subject of each session, as the reader of folders writes it.
SUBJECT = "subject"


@dataclass(frozen=True, eq=False)
class Exchange:
    """The rule of a permutation test.

    Attributes:
        groups: the group of each graph, numbered from 0, shape (g,); None if all graphs are independent.
        within: exchange graphs within their group, because the target differs within groups. Otherwise whole groups of
            equal size are exchanged, and their graphs keep their order.
        strata: a category of each graph, such as its site; graphs (or groups) are exchanged only with those of the same
            one, because sites differ in noise.

    Example:
        >>> exchange = Exchange(np.array([0, 0, 1, 1, 2, 2]))
        >>> orders = exchange.draw(3, np.random.default_rng(0), 6)
        >>> orders[:, 0].tolist(), all((orders[::2, i] + 1 == orders[1::2, i]).all() for i in range(3))
        ([0, 1, 2, 3, 4, 5], True)
    """

    groups: IntArray | None = None
    within: bool = False
    strata: IntArray | None = None

    @classmethod
    def of(cls, groups: IntArray | None, columns: Floats, strata: IntArray | None = None) -> Exchange:
        """Choose the rule for columns of targets, shape (g, columns)."""
        return cls(groups, groups is not None and not constant_within(groups, columns), strata)

    @property
    def uneven(self) -> bool:
        """Whether whole groups are exchanged although their sizes differ."""
        return self.groups is not None and not self.within and len(np.unique(np.bincount(self.groups))) > 1

    def at(self, rows: IntArray) -> Exchange:
        """Return the rule for some of the graphs."""
        return Exchange(_renumbered(self.groups, rows), self.within, _renumbered(self.strata, rows))

    def draw(self, count: int, draw: np.random.Generator, g: int) -> IntArray:
        """Return orders of the graphs, shape (g, count); the first is the order as it is."""
        blocks = self._blocks(g)
        orders = np.tile(np.arange(g)[:, None], (1, count))
        for number in range(1, count):
            for alike in blocks:  # shape (blocks, graphs of a block)
                orders[alike, number] = alike[draw.permutation(len(alike))]
        return orders

    def _blocks(self, g: int) -> list[IntArray]:
        """Return the blocks that may be exchanged with each other, as lists of graphs."""
        strata = np.zeros(g, dtype=np.int64) if self.strata is None else self.strata
        if self.groups is None or self.within:
            kind = strata if self.groups is None else strata + (int(strata.max()) + 1) * self.groups
            return [np.flatnonzero(kind == value)[:, None] for value in np.unique(kind)]
        blocks: dict[tuple[int, ...], list[IntArray]] = {}
        for number in range(int(self.groups.max()) + 1):
            members = np.flatnonzero(self.groups == number)
            blocks.setdefault(tuple(strata[members].tolist()), []).append(members)
        return [np.stack(alike) for alike in blocks.values()]


def _renumbered(codes: IntArray | None, rows: IntArray) -> IntArray | None:
    return None if codes is None else np.unique(codes[rows], return_inverse=True)[1].reshape(-1)


def as_groups(groups: Any, graphs: GraphSet, kept: IntArray | None = None) -> IntArray | None:
    """Return the number of the group of each graph (that is kept); ``groups`` are values, or a column of the table.

    None stands for the column ``subject`` of connectomes with several sessions, if there is one.
    """
    if groups is None:
        if graphs.kind != "connectomes" or SUBJECT not in graphs.table:
            return None
        groups = SUBJECT
    if isinstance(groups, str):
        if groups not in graphs.table:
            columns = ", ".join(map(str, graphs.table)) or "none"
            raise InputError(f"groups={groups!r} is not a column of {graphs.name}; its columns are: {columns}")
        values: NDArray[Any] = graphs.table[groups]
    else:
        values = np.asarray(groups)
    if values.shape != (len(graphs),):
        raise InputError(f"groups have shape {values.shape} for {len(graphs)} graphs; give one group per graph")
    values = values if kept is None else values[kept]
    codes = np.unique(values.astype(np.str_), return_inverse=True)[1].reshape(-1).astype(np.int64)
    if codes.max() == len(codes) - 1:
        return None  # every graph is a group of its own
    if codes.max() < 1:
        raise InputError(f"all {len(codes)} graphs belong to one group; give at least two groups")
    return codes


def constant_within(groups: IntArray, columns: Floats) -> bool:
    """Return whether every group has one value in every column; NaN counts as a value."""
    first = np.unique(groups, return_index=True)[1][groups]
    same = (columns == columns[first]) | (np.isnan(columns) & np.isnan(columns[first]))
    return bool(same.all())


def averaging(groups: IntArray) -> Floats:
    """Return the matrix that averages the graphs of each group, shape (groups, g)."""
    members = np.zeros((int(groups.max()) + 1, len(groups)))
    members[groups, np.arange(len(groups))] = 1.0
    return np.asarray(members / members.sum(axis=1, keepdims=True))
