r"""The vocabulary model: every subgraph that enough training graphs hold is a template.

A **level** is one kind of region: the subgraphs of one size in one view, or the rooted neighbourhoods of one radius. Of
a graph that holds piece t of a level :math:`n_t` times the feature is

.. math:: x_t = a \, \frac{\log(1 + n_t)}{\lVert \log(1 + n) \rVert}

with the norm over all pieces of that level, unknown ones included, and a the same for all pieces of the level: each
level of a view weighs the same, and so does each view. Large graphs then count no more than small ones. For numbers
that grow with the graph the norm can be left out (``row_norm=False``). A small block of plain size (nodes, edges,
cycles, degrees) stands beside the pieces. Everything is sparse and linear, so what an occurrence of a piece adds to the
score is known exactly (`isonn.subgraphs.explain`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from isonn.errors import InputError
from isonn.graphs.graph import GraphSet
from isonn.packing import IntArray
from isonn.subgraphs.bank import Banked

#: What the block of plain size counts beside a view, which counts 1.
SIZE_WEIGHT = 0.3
#: Numbers of the size block that are counts of nodes by degree: 0 to 8, and 9 or more.
DEGREE_BINS = 10
#: Columns beyond which a vocabulary is refused: 16 GB of weights and tables.
MAX_COLUMNS = 50_000_000
#: Graphs beyond which features are kept in single precision.
DOUBLE_GRAPHS = 2**17

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Pieces:
    """The pieces of one level in some graphs.

    Attributes:
        kind: "subgraphs" or "neighbourhoods".
        view: number of the view.
        size: nodes of a subgraph, or radius of a neighbourhood.
        rows: one row of codes per distinct piece, sorted, ``(d, width)``.
        counts: how often each graph has each piece, ``(g, d)``.
    """

    kind: str
    view: int
    size: int
    rows: IntArray
    counts: csr_array


def pieces_of(banked: Banked) -> list[Pieces]:
    """The levels of banked subgraphs."""
    return [
        Pieces("subgraphs", view, k, bank.regions, bank.counts)
        for view, banks in enumerate(banked.banks)
        for k, bank in banks.items()
    ]


@dataclass(frozen=True, eq=False)
class Level:
    """The templates of one level.

    Attributes:
        kind, view, size: as in `Pieces`.
        rows: one row of codes per template, sorted, ``(d, width)``.
        first: the column of its first template.
        scale: what every feature of the level is multiplied with.
    """

    kind: str
    view: int
    size: int
    rows: IntArray
    first: int
    scale: float

    def __len__(self) -> int:
        return len(self.rows)

    def find(self, rows: IntArray) -> IntArray:
        """The place of each row among the templates, -1 for rows that are none."""
        if not len(self.rows) or not len(rows):
            return np.full(len(rows), -1, dtype=np.int64)
        keys, wanted = self._keys, _keys(rows)
        place = np.searchsorted(keys, wanted).clip(max=len(keys) - 1)
        return np.where(keys[place] == wanted, place, -1)

    @property
    def _keys(self) -> NDArray[Any]:
        found = self.__dict__.get("_known_keys")
        if found is None:
            found = self.__dict__["_known_keys"] = _keys(self.rows)
        return found


def _keys(rows: IntArray) -> NDArray[Any]:
    """Rows as byte strings that sort as the rows do: big-endian, not negative."""
    wide = np.ascontiguousarray(rows.astype(">u8" if rows.dtype == np.uint64 else ">i4"))
    return wide.view(f"V{wide.shape[1] * wide.itemsize}").ravel()


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """All templates of a model, and how counts become features.

    Attributes:
        levels: the templates, level by level.
        row_norm: whether the features of a level are divided by their norm.
    """

    levels: tuple[Level, ...]
    row_norm: bool

    def __len__(self) -> int:
        return sum(map(len, self.levels))

    def features(self, pieces: Sequence[Pieces]) -> csr_array:
        """Features of graphs, ``(g, len(self))``."""
        by_key = {(own.kind, own.view, own.size): own for own in pieces}
        parts = [self._level(level, by_key[level.kind, level.view, level.size]) for level in self.levels]
        return csr_array(hstack(parts, format="csr"))

    def unseen(self, pieces: Sequence[Pieces]) -> Floats:
        """The share of each graph's pieces that are no templates, shape (g,)."""
        by_key = {(own.kind, own.view, own.size): own for own in pieces}
        total, strange = np.zeros(pieces[0].counts.shape[0]), np.zeros(pieces[0].counts.shape[0])
        for level in self.levels:
            own = by_key[level.kind, level.view, level.size]
            counts = own.counts.astype(np.float64)
            total += np.asarray(counts.sum(axis=1))
            strange += np.asarray(counts @ (level.find(own.rows) < 0).astype(np.float64))
        return np.asarray(strange / np.maximum(total, 1))

    def _level(self, level: Level, own: Pieces) -> csr_array:
        logs = _logs(own.counts)
        if self.row_norm:
            logs = _scaled(logs, level.scale / _norms(logs))
        else:
            logs.data *= level.scale
        place = level.find(own.rows)
        return _moved(logs, place, len(level))


def learn_vocabulary(
    pieces: Sequence[Pieces], blocks: int, min_support: int = 2, row_norm: bool = True, size_weight: float = SIZE_WEIGHT
) -> tuple[Vocabulary, csr_array]:
    """The vocabulary of training graphs, and their features.

    Args:
        pieces: what the graphs hold.
        blocks: views (and kinds of region) that share the weight equally.
        min_support: training graphs that must hold a piece for it to be a template.
    """
    levels, parts, first = [], [], 0
    per_block: dict[tuple[str, int], int] = {}
    for own in pieces:
        per_block[own.kind, own.view] = per_block.get((own.kind, own.view), 0) + 1
    for own in pieces:
        support = np.bincount(own.counts.indices, minlength=len(own.rows))
        kept = np.flatnonzero(support >= min_support)
        scale = 1 / np.sqrt(per_block[own.kind, own.view] * (blocks + size_weight))
        logs = _logs(own.counts)
        if row_norm:
            logs = _scaled(logs, scale / _norms(logs))
        else:
            scale /= max(np.sqrt(np.mean(_norms(logs) ** 2)), 1e-12)
            logs.data *= scale
        place = np.full(len(own.rows), -1, dtype=np.int64)
        place[kept] = np.arange(len(kept))
        parts.append(_moved(logs, place, len(kept)))
        levels.append(Level(own.kind, own.view, own.size, np.ascontiguousarray(own.rows[kept]), first, float(scale)))
        first += len(kept)
        if first > MAX_COLUMNS:
            raise InputError(
                f"the vocabulary has more than {MAX_COLUMNS:,} subgraphs; use a smaller k, or a min_support above "
                f"{min_support}"
            )
    return Vocabulary(tuple(levels), row_norm), csr_array(hstack(parts, format="csr"))


def _logs(counts: csr_array) -> csr_array:
    dtype = np.float64 if counts.shape[0] <= DOUBLE_GRAPHS else np.float32
    return csr_array((np.log1p(counts.data.astype(dtype)), counts.indices, counts.indptr), shape=counts.shape)


def _norms(logs: csr_array) -> Floats:
    """The norm of each row, 1 for an empty one."""
    owner = np.repeat(np.arange(logs.shape[0]), np.diff(logs.indptr))
    squares = np.bincount(owner, logs.data.astype(np.float64) ** 2, minlength=logs.shape[0])
    return np.where(squares > 0, np.sqrt(squares), 1.0)


def _scaled(rows: csr_array, factors: Floats) -> csr_array:
    """Every row multiplied with its factor."""
    factor = np.repeat(factors, np.diff(rows.indptr)).astype(rows.dtype)
    return csr_array((rows.data * factor, rows.indices, rows.indptr), shape=rows.shape)


def _moved(rows: csr_array, place: IntArray, width: int) -> csr_array:
    """Columns at their places, those at -1 left out; places keep the order of columns."""
    new = place[rows.indices]
    kept = new >= 0
    ends = np.concatenate([[0], np.cumsum(kept)])[rows.indptr]
    return csr_array((rows.data[kept], new[kept].astype(np.int32), ends), shape=(rows.shape[0], width))


def size_counts(graphs: GraphSet) -> NDArray[np.float32]:
    """Nodes, edges, independent cycles, and nodes by degree of each graph, ``(g, 3 + DEGREE_BINS)``.

    Cycles are edges - nodes + 1, at least 0: those of a connected graph.
    """
    once = graphs.edges[:, 0] < graphs.edges[:, 1]
    owner = graphs.graph_of_cell[once]
    nodes, edges = graphs.sizes, np.bincount(owner, minlength=len(graphs))
    ends = graphs.edges[once] + graphs.node_offsets[owner, None]
    degree = np.bincount(ends.ravel(), minlength=int(graphs.node_offsets[-1]))
    place = np.repeat(np.arange(len(graphs)), nodes) * DEGREE_BINS + np.minimum(degree, DEGREE_BINS - 1)
    bins = np.bincount(place, minlength=len(graphs) * DEGREE_BINS).reshape(len(graphs), DEGREE_BINS)
    return np.column_stack([nodes, edges, np.maximum(edges - nodes + 1, 0), bins]).astype(np.float32)


@dataclass(frozen=True, eq=False)
class SizeBlock:
    """Plain size as features: logarithms of the counts, standardised, and steps at the deciles of the first three.

    Attributes:
        mean, deviation: of the logarithms, shape (3 + DEGREE_BINS,).
        steps: deciles, as (column, value) rows, shape (s, 2).
        step_mean: share of training graphs above each, shape (s,).
        scale: what every feature is multiplied with.
    """

    mean: Floats
    deviation: Floats
    steps: Floats
    step_mean: Floats
    scale: float

    @classmethod
    def learn(cls, counts: NDArray[np.float32], blocks: int, size_weight: float = SIZE_WEIGHT) -> SizeBlock:
        """From the counts of training graphs."""
        logs = np.log1p(counts.astype(np.float64))
        deviation = logs.std(axis=0)
        steps = [
            (float(column), value)
            for column in range(3)
            for value in np.unique(np.quantile(logs[:, column], np.linspace(0.1, 0.9, 9))).tolist()
        ]
        block = cls(
            logs.mean(axis=0), np.where(deviation > 0, deviation, 1.0), np.array(steps), np.zeros(len(steps)), 1
        )
        above = block.features(counts)[:, logs.shape[1] :].mean(axis=0)
        block = cls(block.mean, block.deviation, block.steps, above, 1.0)
        size = np.sqrt((block.features(counts) ** 2).sum(axis=1).mean())
        scale = np.sqrt(size_weight / (blocks + size_weight)) / max(size, 1e-12)
        return cls(block.mean, block.deviation, block.steps, above, float(scale))

    def features(self, counts: NDArray[np.float32]) -> Floats:
        """Features of graphs, dense, ``(g, columns)``."""
        logs = np.log1p(counts.astype(np.float64))
        above = logs[:, self.steps[:, 0].astype(int)] > self.steps[:, 1]
        return np.concatenate([(logs - self.mean) / self.deviation, above - self.step_mean], axis=1) * self.scale

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Everything, by name."""
        names = ("mean", "deviation", "steps", "step_mean")
        return {**{name: getattr(self, name) for name in names}, "scale": np.array([self.scale])}

    @classmethod
    def restore(cls, tensors: dict[str, NDArray[Any]]) -> SizeBlock:
        """The block whose `tensors` these are."""
        mean, deviation, steps, step_mean = (tensors[name] for name in ("mean", "deviation", "steps", "step_mean"))
        return cls(mean, deviation, steps, step_mean, float(tensors["scale"][0]))
