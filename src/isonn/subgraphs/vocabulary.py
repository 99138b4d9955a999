r"""The vocabulary model: every subgraph that occurs in enough training graphs is a template.

A **group** is one kind of region: the subgraphs of one size in one view, or the rooted neighbourhoods of one radius.
For a graph that contains piece t of a group :math:`n_t` times, the feature is

.. math:: x_t = a \, \frac{\log(1 + n_t)}{\lVert \log(1 + n) \rVert}

with the norm over all pieces of that group, unknown ones included, and the same a for all pieces of the group. Each
group of a view, and each view, has the same weight. Large graphs then do not count more than small ones. For numbers
that grow with the graph the norm can be left out (``row_norm=False``). A few size features (nodes, edges, cycles,
degrees) are added to the pieces. Everything is sparse and linear, so the contribution of each occurrence to the score
is exact (`isonn.subgraphs.explain`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array, hstack

from isonn.errors import InputError
from isonn.graphs.graph import GraphSet
from isonn.packing import Floats, IntArray
from isonn.subgraphs.bank import Banked, SubgraphBank
from isonn.subgraphs.select import wildcard_groups

#: Weight of the size features; a view has weight 1.
SIZE_WEIGHT = 0.3
#: Number of size features that count nodes by degree: 0 to 8, and 9 or more.
DEGREE_BINS = 10
#: Maximum number of columns of a vocabulary: 16 GB of weights and tables.
MAX_COLUMNS = 50_000_000
#: Number of graphs above which features are stored in single precision.
DOUBLE_GRAPHS = 2**17


@dataclass(frozen=True, eq=False)
class Pieces:
    """The pieces of one group in some graphs.

    Attributes:
        kind: "subgraphs" or "neighbourhoods".
        view: number of the view.
        size: nodes of a subgraph, or radius of a neighbourhood.
        rows: one row of codes per distinct piece, sorted, ``(d, width)``.
        graphs: number of graphs.
        support: number of graphs that contain each piece, ``(d,)``.
        parts: returns `counts` in runs of rows, which may be read from disk.
    """

    kind: str
    view: int
    size: int
    rows: IntArray
    graphs: int
    support: IntArray
    parts: Callable[[], Iterable[csr_array]]

    @property
    def counts(self) -> csr_array:
        """How often each graph contains each piece, ``(g, d)``."""
        return _stacked(self.parts(), self.graphs, int(self.support.sum()))


def pieces_of(banked: Banked) -> list[Pieces]:
    """Return the groups of banked subgraphs and neighbourhoods."""
    return [
        Pieces(
            kind,
            view,
            size,
            bank.regions,
            bank.counts.shape[0],
            np.bincount(bank.counts.indices, minlength=len(bank.regions)),
            partial(_whole, bank),
        )
        for kind, every in (("subgraphs", banked.banks), ("neighbourhoods", banked.neighbourhoods))
        for view, banks in enumerate(every)
        for size, bank in banks.items()
    ]


def _whole(bank: SubgraphBank) -> list[csr_array]:
    return [bank.counts]


@dataclass(frozen=True, eq=False)
class TemplateGroup:
    """The templates of one kind, view and size.

    Attributes:
        kind, view, size: as in `Pieces`.
        rows: one row of codes per piece that a template accepts, sorted, ``(d, width)``.
        first: the column of its first template.
        scale: factor of the features, one for the group or one per template.
        members: which templates accept each row, ``(d, templates)``. A template with a wildcard accepts several rows.
            None if template i accepts only row i.
    """

    kind: str
    view: int
    size: int
    rows: IntArray
    first: int
    scale: float | Floats
    members: csr_array | None = None

    def __len__(self) -> int:
        return len(self.rows) if self.members is None else int(self.members.shape[1])

    def find(self, rows: IntArray) -> IntArray:
        """Return the position of each row in ``self.rows``, or -1 for other rows."""
        if not len(self.rows) or not len(rows):
            return np.full(len(rows), -1, dtype=np.int64)
        keys, wanted = self._keys, self._as_keys(rows)
        place = np.searchsorted(keys, wanted).clip(max=len(keys) - 1)
        return np.where(keys[place] == wanted, place, -1)

    def rows_of(self, column: int) -> IntArray:
        """Return the rows that the template in a column accepts, ``(accepted, width)``."""
        place = column - self.first
        return self.rows[[place]] if self.members is None else self.rows[self.members.tocsc()[:, [place]].nonzero()[0]]

    def keep(self, columns: IntArray, first: int) -> TemplateGroup:
        """Return the group with the templates of some columns; the first of them gets column ``first``."""
        inside = columns[(columns >= self.first) & (columns < self.first + len(self))] - self.first
        scale = self.scale if np.ndim(self.scale) == 0 else np.asarray(self.scale)[inside]
        if self.members is None:
            return replace(self, rows=self.rows[inside], first=first, scale=scale)
        members = self.members[:, inside]
        used = np.flatnonzero(np.diff(members.indptr))
        return replace(self, rows=self.rows[used], first=first, scale=scale, members=csr_array(members[used]))

    def accepts(self, rows: IntArray) -> tuple[IntArray, IntArray]:
        """Return the templates that accept each of the given rows, as (row, template) pairs sorted by row."""
        place = self.find(rows)
        known = np.flatnonzero(place >= 0)
        if self.members is None:
            return known, place[known]
        starts, stops = self.members.indptr[place[known]], self.members.indptr[place[known] + 1]
        many = (stops - starts).astype(np.int64)
        pair = np.repeat(starts - np.cumsum(many) + many, many) + np.arange(many.sum())
        return np.repeat(known, many), self.members.indices[pair].astype(np.int64)

    @cached_property
    def _keys(self) -> NDArray[Any]:
        return self._as_keys(self.rows)

    def _as_keys(self, rows: IntArray) -> NDArray[Any]:
        """Return rows as byte strings that sort like the rows: big-endian, nonnegative."""
        wide = np.ascontiguousarray(rows.astype(">i4" if self.rows.dtype.itemsize <= 4 else ">i8"))
        return wide.view(f"V{wide.shape[1] * wide.itemsize}").ravel()


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """All templates of a model, and the conversion of counts to features.

    Attributes:
        groups: the templates, by kind, view and size.
        row_norm: whether the features of a group are divided by their norm.
    """

    groups: tuple[TemplateGroup, ...]
    row_norm: bool

    def __len__(self) -> int:
        return sum(map(len, self.groups))

    @cached_property
    def scales(self) -> Floats:
        """The feature factor of each template, ``(len(self),)``."""
        return np.concatenate([np.broadcast_to(np.asarray(own.scale, dtype=float), len(own)) for own in self.groups])

    def group_of(self, column: int) -> TemplateGroup:
        """Return the group of the template in a column."""
        return next(own for own in self.groups if own.first <= column < own.first + len(own))

    def keep(self, columns: IntArray) -> Vocabulary:
        """Return the vocabulary with the templates of some columns, in ascending order."""
        groups, first = [], 0
        for own in self.groups:
            groups.append(own.keep(columns, first))
            first += len(groups[-1])
        return Vocabulary(tuple(groups), self.row_norm)

    def only(self, kind: str) -> Vocabulary:
        """Return the vocabulary with the groups of one kind of region."""
        groups, first = [], 0
        for own in self.groups:
            if own.kind == kind:
                groups.append(replace(own, first=first))
                first += len(own)
        return Vocabulary(tuple(groups), self.row_norm)

    def features(self, pieces: Sequence[Pieces]) -> csr_array:
        """Return the features of graphs, ``(g, len(self))``."""
        by_key = {(own.kind, own.view, own.size): own for own in pieces}
        parts = [self._group_features(group, by_key[group.kind, group.view, group.size]) for group in self.groups]
        return csr_array(hstack(parts, format="csr"))

    def counts(self, pieces: Sequence[Pieces]) -> csr_array:
        """Return how often each graph contains each template, ``(g, len(self))``."""
        by_key = {(own.kind, own.view, own.size): own for own in pieces}
        parts = []
        for group in self.groups:
            own = by_key[group.kind, group.view, group.size]
            parts.append(_template_counts(group, own))
        return csr_array(hstack(parts, format="csr"))

    def unseen(self, pieces: Sequence[Pieces]) -> Floats:
        """Return the share of each graph's pieces that are not templates, shape (g,)."""
        by_key = {(own.kind, own.view, own.size): own for own in pieces}
        total, strange = np.zeros(pieces[0].graphs), np.zeros(pieces[0].graphs)
        for group in self.groups:
            own = by_key[group.kind, group.view, group.size]
            counts = own.counts.astype(np.float64)
            total += np.asarray(counts.sum(axis=1))
            strange += np.asarray(counts @ (group.find(own.rows) < 0).astype(np.float64))
        return np.asarray(strange / np.maximum(total, 1))

    def _group_features(self, group: TemplateGroup, own: Pieces) -> csr_array:
        if self.row_norm:
            logs = _logs(own.counts)
            return _moved(_scaled(logs, float(group.scale) / _norms(logs)), group.find(own.rows), len(group))
        if group.members is None:
            found = _moved(_logs(own.counts), group.find(own.rows), len(group))
        else:  # first add up the counts of the rows that a wildcard accepts
            found = _logs(_template_counts(group, own))
        found.data *= np.broadcast_to(np.asarray(group.scale, dtype=found.dtype), len(group))[found.indices]
        return found


def learn_vocabulary(
    pieces: Sequence[Pieces],
    min_support: int = 2,
    row_norm: bool = True,
    size_weight: float = SIZE_WEIGHT,
    beside: Callable[[slice], Floats] | None = None,
) -> tuple[Vocabulary, csr_array]:
    """Learn the vocabulary of training graphs; return it with their features.

    Counts are read part by part, so that memory holds little more than the features.

    Args:
        pieces: the pieces of the graphs. The groups of a view and kind form a block, and all blocks have equal weight.
        min_support: minimum number of training graphs that contain a template.
        beside: returns further features of a slice of the graphs, dense, to the right of the templates.
    """
    _check_columns(pieces, min_support)
    dtype = np.dtype(np.float64 if pieces[0].graphs <= DOUBLE_GRAPHS else np.float32)
    groups, places, first = [], [], 0
    per_block: dict[tuple[str, int], int] = {}
    for own in pieces:
        per_block[own.kind, own.view] = per_block.get((own.kind, own.view), 0) + 1
    for own in pieces:
        kept = np.flatnonzero(own.support >= min_support)
        scale = 1 / np.sqrt(per_block[own.kind, own.view] * (len(per_block) + size_weight))
        if not row_norm:
            squares = np.concatenate([_norms(_logs(counts, dtype)) ** 2 for counts in own.parts()])
            scale /= max(np.sqrt(np.mean(squares)), 1e-12)
        place = np.full(len(own.rows), -1, dtype=np.int32)
        place[kept] = np.arange(len(kept), dtype=np.int32)
        places.append(place)
        groups.append(
            TemplateGroup(own.kind, own.view, own.size, np.ascontiguousarray(own.rows[kept]), first, float(scale))
        )
        first += len(kept)

    done = 0

    def features_of(counts: Sequence[csr_array]) -> csr_array:
        nonlocal done
        parts = []
        for group, place, own in zip(groups, places, counts, strict=True):
            logs = _logs(own, dtype)
            factors = group.scale / _norms(logs) if row_norm else np.full(logs.shape[0], group.scale)
            parts.append(_moved(_scaled(logs, factors), place, len(group)))
        if beside is not None:
            parts.append(csr_array(beside(slice(done, done + parts[0].shape[0])).astype(dtype)))
        done += parts[0].shape[0]
        return csr_array(hstack(parts, format="csr"))

    room = sum(int(own.support[place >= 0].sum()) for own, place in zip(pieces, places, strict=True))
    room += 0 if beside is None else pieces[0].graphs * beside(slice(0, 0)).shape[1]
    parts = map(features_of, zip(*(own.parts() for own in pieces), strict=True))
    return Vocabulary(tuple(groups), row_norm), _stacked(parts, pieces[0].graphs, room)


def _check_columns(pieces: Sequence[Pieces], min_support: int) -> None:
    """Raise `InputError` if the vocabulary would have too many columns, with settings that would fit."""

    def columns(support: int, k: int | None = None) -> int:
        held = [own for own in pieces if k is None or own.kind != "subgraphs" or own.size <= k]
        return sum(int((own.support >= support).sum()) for own in held)

    total = columns(min_support)
    if total <= MAX_COLUMNS:
        return
    support = min_support + 1
    while columns(support) > MAX_COLUMNS:
        support *= 2
    fitting = [own.size for own in pieces if own.kind == "subgraphs" and columns(min_support, own.size) <= MAX_COLUMNS]
    smaller = f"k of at most {max(fitting)}, or " if fitting else ""
    raise InputError(
        f"the vocabulary has {total:,} subgraphs, more than {MAX_COLUMNS:,}; use {smaller}min_support={support}"
    )


def _stacked(parts: Iterable[csr_array], g: int, room: int) -> csr_array:
    """Join runs of rows with at most ``room`` numbers, one by one, because they would not fit into memory twice."""
    parts = iter(parts)
    first = next(parts)
    if first.shape[0] == g:
        return first
    data, indices = np.empty(room, dtype=first.dtype), np.empty(room, dtype=np.int32)
    indptr = np.zeros(g + 1, dtype=np.int64 if room > np.iinfo(np.int32).max else np.int32)
    row = 0
    for part in itertools.chain([first], parts):
        start, rows = indptr[row], part.shape[0]
        data[start : start + part.nnz], indices[start : start + part.nnz] = part.data, part.indices
        indptr[row + 1 : row + rows + 1] = start + part.indptr[1:]
        row += rows
    return csr_array((data[: indptr[-1]], indices[: indptr[-1]], indptr), shape=(g, first.shape[1]))


def _template_counts(group: TemplateGroup, own: Pieces) -> csr_array:
    """Return how often each graph contains a piece that each template of a group accepts."""
    row, template = group.accepts(own.rows)
    accepted = csr_array((np.ones(len(row)), (row, template)), shape=(len(own.rows), len(group)))
    return csr_array(own.counts.astype(np.float64) @ accepted)


def _logs(counts: csr_array, dtype: Any = np.float64) -> csr_array:
    return csr_array((np.log1p(counts.data.astype(dtype)), counts.indices, counts.indptr), shape=counts.shape)


def _norms(logs: csr_array) -> Floats:
    """Return the norm of each row, 1 for an empty one."""
    owner = np.repeat(np.arange(logs.shape[0]), np.diff(logs.indptr))
    squares = np.bincount(owner, logs.data.astype(np.float64) ** 2, minlength=logs.shape[0])
    return np.where(squares > 0, np.sqrt(squares), 1.0)


def _scaled(rows: csr_array, factors: Floats) -> csr_array:
    """Multiply every row by its factor."""
    factor = np.repeat(factors, np.diff(rows.indptr)).astype(rows.dtype)
    return csr_array((rows.data * factor, rows.indices, rows.indptr), shape=rows.shape)


def _moved(rows: csr_array, place: NDArray[np.integer], width: int) -> csr_array:
    """Move columns to their positions, dropping those at -1; positions keep the order of columns."""
    new = place[rows.indices]
    kept = new >= 0
    ends = np.concatenate([[0], np.cumsum(kept)])[rows.indptr]
    return csr_array((rows.data[kept], new[kept].astype(np.int32, copy=False), ends), shape=(rows.shape[0], width))


def size_counts(graphs: GraphSet) -> NDArray[np.float32]:
    """Return nodes, edges, independent cycles, and nodes by degree of each graph, ``(g, 3 + DEGREE_BINS)``.

    Cycles are edges - nodes + 1, at least 0, which is exact for a connected graph.
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
    """Size features: standardised logarithms of the counts, and steps at the deciles of the first three.

    Attributes:
        mean, deviation: of the logarithms, shape (3 + DEGREE_BINS,).
        steps: deciles, as (column, value) rows, shape (s, 2).
        step_mean: share of training graphs above each decile, shape (s,).
        scale: factor of every feature.
    """

    mean: Floats
    deviation: Floats
    steps: Floats
    step_mean: Floats
    scale: float

    @classmethod
    def learn(cls, counts: NDArray[np.float32], blocks: int, size_weight: float = SIZE_WEIGHT) -> SizeBlock:
        """Learn the size features from the counts of training graphs."""
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

    @classmethod
    def empty(cls) -> SizeBlock:
        """Return a block without features, for short lists."""
        none = np.zeros(0)
        return cls(none, none, np.zeros((0, 2)), none, 1.0)

    @property
    def columns(self) -> int:
        """Number of features."""
        return len(self.mean) + len(self.step_mean)

    def features(self, counts: NDArray[np.float32]) -> Floats:
        """Return the features of graphs, dense, ``(g, columns)``."""
        if not self.columns:
            return np.zeros((len(counts), 0))
        logs = np.log1p(counts.astype(np.float64))
        above = logs[:, self.steps[:, 0].astype(int)] > self.steps[:, 1]
        return np.concatenate([(logs - self.mean) / self.deviation, above - self.step_mean], axis=1) * self.scale

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return all arrays by name."""
        names = ("mean", "deviation", "steps", "step_mean")
        return {**{name: getattr(self, name) for name in names}, "scale": np.array([self.scale])}

    @classmethod
    def restore(cls, tensors: dict[str, NDArray[Any]]) -> SizeBlock:
        """Create the block from its `tensors`."""
        mean, deviation, steps, step_mean = (tensors[name] for name in ("mean", "deviation", "steps", "step_mean"))
        return cls(mean, deviation, steps, step_mean, float(tensors["scale"][0]))


def with_wildcards(vocabulary: Vocabulary, pieces: Sequence[Pieces], min_support: int) -> Vocabulary:
    """Return the candidates for a short list: the subgraphs of a vocabulary, and templates with wildcards.

    A template with a wildcard accepts subgraphs that differ in one node or one edge. It is left out if it occurs in the
    same graphs as one of those subgraphs.
    """
    by_key = {(own.kind, own.view, own.size): own for own in pieces}
    groups, first = [], 0
    for group in vocabulary.only("subgraphs").groups:
        row, template = wildcard_groups(group.rows, group.size)
        count, d = int(template.max(initial=-1)) + 1, len(group.rows)
        members = csr_array((np.ones(len(row)), (row, template)), shape=(d, count))
        own = by_key[group.kind, group.view, group.size]
        place = group.find(own.rows)
        presence = _moved(csr_array(own.counts.astype(np.float32)), place, d)
        presence.data[:] = 1
        held = csr_array((presence @ members).astype(np.float32))
        held.data[:] = 1
        support, single = np.asarray(held.sum(axis=0)).ravel(), np.asarray(presence.sum(axis=0)).ravel()
        largest = np.zeros(count)
        np.maximum.at(largest, template, single[row])
        useful = np.flatnonzero((support >= min_support) & (support > largest))
        every = csr_array(hstack([csr_array(eye_array(d)), members[:, useful]], format="csr"))
        groups.append(TemplateGroup(group.kind, group.view, group.size, group.rows, first, 1.0, every))
        first += every.shape[1]
    return Vocabulary(tuple(groups), False)


def standardised(vocabulary: Vocabulary, features: csr_array) -> tuple[Vocabulary, csr_array]:
    """Divide every feature of a short list by its deviation; return the new vocabulary and features."""
    mean = np.asarray(features.mean(axis=0)).ravel()
    square = np.asarray(features.multiply(features).mean(axis=0)).ravel()
    scale = 1 / (np.sqrt(np.maximum(square - mean**2, 1e-12)) * np.sqrt(max(1, features.shape[1])))
    groups = [
        replace(own, scale=np.asarray(own.scale) * scale[own.first : own.first + len(own)]) for own in vocabulary.groups
    ]
    return Vocabulary(tuple(groups), False), csr_array(features.multiply(scale[None, :]))
