"""`Vocabulary`: the templates of a model, the subgraphs that enough training graphs contain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from isonn.errors import InputError
from isonn.explain.template import Template
from isonn.packing import Floats, IntArray, row_hashes
from isonn.subgraphs.count import counts_of, list_subgraphs
from isonn.subgraphs.counter import Counter
from isonn.subgraphs.encode import CodedGraphs, Encoding
from isonn.subgraphs.kernels import MAX_K, SIZE_BITS, move_entries
from isonn.subgraphs.table import CountTable, in_runs, precision, sparse_rows, stack_rows

#: Maximum number of columns of a vocabulary: 16 GB of weights and tables.
MAX_COLUMNS = 50_000_000
#: New pieces of up to so many nodes are looked up among those of the training graphs, unless a caller wants more.
SMALL = 4


@dataclass(frozen=True, eq=False)
class Block:
    """The templates of one view and size.

    Attributes:
        view, size: number of the view, and nodes of a template.
        rows: the canonical rows of the templates, sorted, ``(d, width)``.
        first: the column of its first template.
        seen: hashes of all subgraphs of the training graphs, templates or not, sorted.
    """

    view: int
    size: int
    rows: IntArray
    first: int
    seen: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.rows)

    def has_seen(self, rows: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return which rows occur in a training graph."""
        if not len(self.seen):
            return np.zeros(len(rows), dtype=bool)
        wanted = row_hashes(rows)
        return np.asarray(self.seen[np.searchsorted(self.seen, wanted).clip(max=len(self.seen) - 1)] == wanted)


@dataclass(frozen=True, eq=False)
class PlacedCounts:
    """Counts of subgraphs, with the column of each subgraph in a vocabulary.

    Attributes:
        graphs: number of graphs.
        entries: number of counts of templates.
        place: the column of each subgraph, ascending, or -1 if it is not a template, ``(d,)``.
        block: the number of its view and size, ``(d,)``.
        unseen: which of them no training graph has, ``(d,)``; False for those of more than ``judged`` nodes.
        judged: see ``unseen``.
        chunks: returns the counts in runs of graphs, ``(g, d)``, sorted by column.
    """

    graphs: int
    entries: int
    place: NDArray[np.int32]
    block: IntArray
    unseen: NDArray[np.bool_]
    judged: int
    chunks: Callable[[], Iterable[csr_array]]


@dataclass(frozen=True, eq=False)
class Listed:
    """All subgraphs of one graph, in every view.

    Attributes:
        nodes: nodes of each subgraph, padded with -1, ``(R, k)``.
        piece: the number of its distinct piece, ``(R,)``.
        weights: number of subgraphs it stands for; 1 unless they were sampled.
        rows: view, size and canonical codes of each distinct piece, ``(d, 2 + width)``.
        columns: the column of each distinct piece in the vocabulary, or -1, ``(d,)``.
        unseen: which distinct pieces of up to SMALL nodes no training graph has, ``(d,)``.
    """

    nodes: IntArray
    piece: IntArray
    weights: Floats
    rows: NDArray[np.int32]
    columns: IntArray
    unseen: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """All templates of a model, in blocks of one view and size."""

    blocks: tuple[Block, ...]

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    def __getstate__(self) -> dict[str, Any]:
        return {"blocks": self.blocks}  # without the counters

    @classmethod
    def learn(cls, table: CountTable, min_support: int, distinct: NDArray[np.bool_]) -> tuple[Vocabulary, PlacedCounts]:
        """Take every subgraph that at least ``min_support`` training graphs contain; return also their counts.

        Args:
            distinct: the first of equal graphs, ``(g,)``; repeats do not count.
        """
        support, number = table.support_in(distinct), table.block
        _check_columns(table, support, min_support)
        kept, blocks, first = support >= min_support, [], 0
        for i, (view, size) in enumerate(table.keys):
            rows = table.rows((view, size))
            templates = np.ascontiguousarray(rows[kept[number == i]])
            blocks.append(Block(view, size, templates, first, np.sort(row_hashes(rows))))
            first += len(templates)
        place = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
        entries, unseen = int(table.support[kept].sum()), np.zeros(len(kept), dtype=bool)
        return cls(tuple(blocks)), PlacedCounts(table.graphs, entries, place, number, unseen, MAX_K, table.chunks)

    @property
    def sizes(self) -> tuple[tuple[int, ...], ...]:
        """The sizes of the templates of each view."""
        views = 1 + max(block.view for block in self.blocks)
        return tuple(tuple(block.size for block in self.blocks if block.view == view) for view in range(views))

    @cached_property
    def counters(self) -> list[TemplateCounter]:
        """Counters of its templates that no thread uses now; they keep what they found in earlier graphs."""
        return []

    @contextmanager
    def counter(self) -> Iterator[TemplateCounter]:
        """Lend a counter to this thread."""
        try:
            counter = self.counters.pop()
        except IndexError:
            counter = TemplateCounter(self)
        yield counter
        self.counters.append(counter)  # not after an error, which may leave it in the middle of a graph

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the rows of all blocks."""
        rows = {f"rows.{i}": block.rows for i, block in enumerate(self.blocks)}
        return rows | {f"seen.{i}": block.seen for i, block in enumerate(self.blocks)}

    @classmethod
    def restore(cls, encoding: Encoding, keys: Sequence[Any], tensors: dict[str, NDArray[Any]]) -> Vocabulary:
        """Restore the blocks of some views and sizes from `tensors`; raise ValueError if they do not fit."""
        blocks: list[Block] = []
        first = 0
        for i, (view, size) in enumerate(keys):
            rows = tensors[f"rows.{i}"]
            if not 0 <= view < len(encoding.views) or size not in encoding.sizes[view]:
                raise ValueError(f"the encoding has no block {i}")
            if rows.shape[1:] != (size * (size + 1) // 2,) or rows.dtype.kind not in "iu":
                raise ValueError(f"the rows of block {i} have shape {rows.shape}")
            blocks.append(Block(int(view), int(size), rows, first, tensors[f"seen.{i}"].astype(np.uint64)))
            first += len(rows)
        return cls(tuple(blocks))

    @property
    def template_sizes(self) -> IntArray:
        """The nodes of each template."""
        return np.repeat([block.size for block in self.blocks], [len(block) for block in self.blocks])

    def block_of(self, column: int) -> Block:
        """Return the block of the template in a column."""
        return next(block for block in self.blocks if column < block.first + len(block))

    def keep(self, columns: IntArray) -> Vocabulary:
        """Return the vocabulary with the templates of some columns, in ascending order."""
        blocks, first = [], 0
        for block in self.blocks:
            inside = columns[(columns >= block.first) & (columns < block.first + len(block))] - block.first
            blocks.append(replace(block, rows=block.rows[inside], first=first))
            first += len(inside)
        return Vocabulary(tuple(blocks))

    def counts(
        self, counted: PlacedCounts, rows: NDArray[np.bool_] | None = None, terms: Floats | None = None
    ) -> csr_array:
        """Return how often each graph contains each template, sparse, ``(g, templates)``.

        Args:
            counted: the counts of all subgraphs, which are read chunk by chunk.
            rows: the graphs whose counts are wanted, ``(g,)``; the rows of others stay empty.
            terms: numbers of the graphs for columns to the right of the templates, ``(g, terms)``.
        """
        terms = np.zeros((counted.graphs, 0)) if terms is None else terms
        if rows is not None and not rows.any():
            return csr_array((len(rows), len(self) + terms.shape[1]))

        def read() -> Iterator[csr_array]:
            for run, counts in in_runs(counted.chunks()):
                data, kept = counts.data.astype(precision(counted.entries)), None if rows is None else rows[run]
                yield moved(counts, data, counted.place, np.ones(len(self)), terms[run], kept)

        return stack_rows(read(), counted.graphs, counted.entries + terms.size)

    def unseen(self, counted: PlacedCounts) -> Floats:
        """Return the share of each graph's judged subgraphs that no training graph contains, shape (g,)."""
        small = np.array([block.size <= counted.judged for block in self.blocks])[counted.block]
        shares = []
        for counts in counted.chunks():
            both = np.stack([small, small & counted.unseen], axis=1).astype(np.float64)
            total, strange = (counts @ both).T
            shares.append(strange / np.maximum(total, 1))
        return np.concatenate(shares)

    def unknown_nodes(self, counted: PlacedCounts) -> IntArray:
        """Return 2 for graphs with a node that is unseen in every view, 1 in some view, else 0, shape (g,)."""
        single = [number for number, block in enumerate(self.blocks) if block.size == 1]
        if not single:
            return np.zeros(counted.graphs, dtype=np.int64)
        new = np.stack([counted.unseen & (counted.block == number) for number in single], axis=1)
        views = np.concatenate([((counts @ new.astype(np.float64)) > 0).sum(axis=1) for counts in counted.chunks()])
        return np.where(views == 0, 0, np.where(views == len(single), 2, 1))


class TemplateCounter:
    """A counter whose first columns are the templates of a vocabulary.

    It keeps the subgraphs of earlier graphs, so that new graphs are mostly looked up.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._counter = Counter(vocabulary.sizes, [(b.view, b.size, b.rows) for b in vocabulary.blocks])
        self._round = -1

    def count(self, graphs: CodedGraphs, limit: int, seed: int, judged: int) -> PlacedCounts:
        """Count the subgraphs of graphs; see `isonn.subgraphs.count.count_in_threads` for limit and seed.

        Those of up to ``judged`` nodes are compared with the training graphs.
        """
        counter, p = self._counter, len(self._vocabulary)
        counter.load(graphs, by_code=True)
        counts, _ = counts_of(counter, graphs, limit, seed)
        counts.sort_indices()
        self._judge_new(judged)
        place = np.full(counts.shape[1], -1, dtype=np.int32)
        place[:p] = np.arange(p)
        return PlacedCounts(len(graphs), counts.nnz, place, self._block, self._unseen, judged, lambda: [counts])

    def list_pieces(self, graph: CodedGraphs, limit: int, seed: int) -> Listed:
        """List the subgraphs of one graph: templates in the order of columns, then others as they occur."""
        nodes, columns, weights = list_subgraphs(self._counter, graph, limit, seed)
        self._judge_new(SMALL)
        distinct, first, piece = np.unique(columns, return_index=True, return_inverse=True)
        p = len(self._vocabulary)
        order = np.argsort(np.where(distinct < p, distinct, p + first))
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        distinct = distinct[order]
        return Listed(
            nodes,
            place[piece.reshape(-1)],
            weights,
            self._counter.rows(distinct),
            np.where(distinct < p, distinct, -1),
            self._unseen[distinct],
        )

    def _judge_new(self, judged: int) -> None:
        """Find the block of new subgraphs, and which no training graph has of those with up to ``judged`` nodes."""
        counter, blocks = self._counter, self._vocabulary.blocks
        if self._round != counter.round:  # it started anew
            self._round = counter.round
            self._block = np.repeat(np.arange(len(blocks)), list(map(len, blocks)))
            self._unseen, self._waiting = np.zeros(len(self._block), dtype=bool), np.zeros(0, dtype=np.int64)
        before, count = len(self._block), len(counter.columns)
        if before < count:
            new = np.arange(before, count)
            number = np.zeros(2**SIZE_BITS * (1 + len(self._vocabulary.sizes)), dtype=np.int64)
            number[[block.view << SIZE_BITS | block.size for block in blocks]] = np.arange(len(blocks))
            self._block = np.concatenate([self._block, number[counter.kinds(new)]])
            self._unseen = np.concatenate([self._unseen, np.zeros(len(new), dtype=bool)])
            self._waiting = np.concatenate([self._waiting, new])
        sizes = np.array([block.size for block in blocks])[self._block[self._waiting]]
        now, self._waiting = self._waiting[sizes <= judged], self._waiting[sizes > judged]
        if not len(now):
            return
        rows, unseen = counter.rows(now), self._unseen.copy()  # earlier counts keep theirs
        for i, block in enumerate(blocks):
            inside = np.flatnonzero(self._block[now] == i)
            unseen[now[inside]] = ~block.has_seen(rows[inside, 2 : 2 + block.size * (block.size + 1) // 2])
        self._unseen = unseen


class Templates(Sequence[Template]):
    """The templates of a vocabulary, created on access and printed as one line."""

    def __init__(self, vocabulary: Vocabulary, encoding: Encoding, names: dict[str, dict[Any, str]]) -> None:
        self._vocabulary, self._encoding, self._names = vocabulary, encoding, names

    def __len__(self) -> int:
        return len(self._vocabulary)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(len(self))[index]]
        column = range(len(self))[index]
        block = self._vocabulary.block_of(column)
        return self._encoding.template(block.view, block.size, block.rows[column - block.first], self._names)

    def __repr__(self) -> str:
        sizes: dict[int, int] = {}
        for block in self._vocabulary.blocks:
            sizes[block.size] = sizes.get(block.size, 0) + len(block)
        words = ", ".join(f"{count} of {size} node{'s' * (size != 1)}" for size, count in sizes.items())
        return f"Templates({len(self)}: {words})"


def moved(
    table: csr_array,
    data: NDArray[Any],
    place: NDArray[np.int32],
    scales: Floats,
    terms: NDArray[Any],
    rows: NDArray[np.bool_] | None = None,
) -> csr_array:
    """Return other numbers in the columns of a table that have a place, at that place, in the same order.

    Args:
        table: a sparse table, ``(g, d)``.
        data: the numbers for its entries.
        place: the new column of each column, or -1, ``(d,)``.
        scales: the factor of each new column.
        terms: numbers for the columns to the right of these, ``(g, terms)``.
        rows: the rows to fill, ``(g,)``; None for all.
    """
    g, room = table.shape[0], table.nnz + terms.size
    rows = np.ones(g, dtype=bool) if rows is None else rows
    ends, columns, values = np.zeros(g, dtype=np.int64), np.empty(room, dtype=np.int32), np.empty(room, data.dtype)
    cells = table.indptr.astype(np.int64), table.indices.astype(np.int32, copy=False), data
    factors = scales.astype(data.dtype, copy=False), terms.astype(data.dtype, copy=False)
    move_entries(*cells, place, *factors, rows, ends, columns, values)
    return sparse_rows(values[: ends[-1]], columns[: ends[-1]], ends, len(scales) + terms.shape[1])


def _check_columns(table: CountTable, support: IntArray, min_support: int) -> None:
    """Raise `InputError` if the vocabulary would have too many columns, with settings that would fit."""
    sizes = np.array([size for _, size in table.keys])[table.block]

    def columns(least: int, max_nodes: int) -> int:
        return int(((support >= least) & (sizes <= max_nodes)).sum())

    largest = int(sizes.max(initial=0))
    total = columns(min_support, largest)
    if total <= MAX_COLUMNS:
        return
    least = min_support + 1
    while columns(least, largest) > MAX_COLUMNS:
        least *= 2
    fitting = [size for size in range(1, largest) if columns(min_support, size) <= MAX_COLUMNS]
    smaller = f"max_nodes={max(fitting)}, or " if fitting else ""
    raise InputError(
        f"the vocabulary has {total:,} subgraphs, more than {MAX_COLUMNS:,}; use {smaller}min_support={least}"
    )
