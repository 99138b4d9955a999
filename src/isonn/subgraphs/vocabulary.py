"""`Vocabulary`: the templates of a model, the subgraphs that enough training graphs contain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from isonn.errors import InputError
from isonn.explain.template import Template
from isonn.packing import Floats, IntArray
from isonn.subgraphs.count import counts_of, list_subgraphs
from isonn.subgraphs.counter import Counter
from isonn.subgraphs.encode import CodedGraphs, Encoding
from isonn.subgraphs.kernels import MAX_K, move_entries
from isonn.subgraphs.table import (
    CountTable,
    ViewSizes,
    by_size,
    in_runs,
    piece_hashes,
    precision,
    sparse_rows,
    stack_rows,
)

#: Maximum number of columns of a vocabulary: 16 GB of weights and tables.
MAX_COLUMNS = 50_000_000
#: New pieces of up to so many nodes are looked up among those of the training graphs, unless a caller wants more.
SMALL = 4


@dataclass(frozen=True, eq=False)
class PlacedCounts:
    """Counts of subgraphs, with the column of each subgraph in a vocabulary.

    Attributes:
        graphs: number of graphs.
        entries: number of counts of templates.
        place: the column of each subgraph, ascending, or -1 if it is not a template, ``(d,)``.
        kind: its view and size, ``(d, 2)``.
        unseen: which of them no training graph has, ``(d,)``; False for those of more than ``judged`` nodes.
        judged: see ``unseen``.
        chunks: returns the counts in runs of graphs, ``(g, d)``, sorted by column.
    """

    graphs: int
    entries: int
    place: NDArray[np.int32]
    kind: NDArray[np.integer]
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
        pieces: the distinct pieces, as in `CountTable.pieces`, ``(d, 2 + width)``.
        columns: the column of each distinct piece in the vocabulary, or -1, ``(d,)``.
        unseen: which distinct pieces of up to SMALL nodes no training graph has, ``(d,)``.
    """

    nodes: IntArray
    piece: IntArray
    weights: Floats
    pieces: NDArray[np.int32]
    columns: IntArray
    unseen: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """All templates of a model.

    Attributes:
        view_sizes: the sizes of the subgraphs to count in each view.
        pieces: the templates, as in `CountTable.pieces`, ``(p, 2 + width)``.
        seen: hashes of all subgraphs of the training graphs, templates or not, sorted.
    """

    view_sizes: ViewSizes
    pieces: IntArray
    seen: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.pieces)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "counters"}

    @classmethod
    def learn(cls, table: CountTable, min_support: int, distinct: NDArray[np.bool_]) -> tuple[Vocabulary, PlacedCounts]:
        """Take every subgraph that at least ``min_support`` training graphs contain; return also their counts.

        Args:
            distinct: the first of equal graphs, ``(g,)``; repeats do not count.
        """
        pieces, kept = table.pieces(), table.support_in(distinct) >= min_support
        if kept.sum() > MAX_COLUMNS:
            raise InputError(
                f"the vocabulary has {kept.sum():,} subgraphs, more than {MAX_COLUMNS:,}; use a smaller max_nodes or a "
                f"larger min_support"
            )
        place = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
        entries, unseen = int(table.support[kept].sum()), np.zeros(len(kept), dtype=bool)
        counted = PlacedCounts(table.graphs, entries, place, pieces[:, :2], unseen, MAX_K, table.chunks)
        return cls(table.view_sizes, pieces[kept], np.sort(piece_hashes(pieces))), counted

    @property
    def max_nodes(self) -> int:
        """Nodes of the largest subgraphs."""
        return max(map(max, self.view_sizes))

    def has_seen(self, pieces: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return which pieces occur in a training graph."""
        wanted = piece_hashes(pieces)
        return np.asarray(self.seen[np.searchsorted(self.seen, wanted).clip(max=len(self.seen) - 1)] == wanted)

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
        """Return the arrays by name."""
        return {"pieces": self.pieces, "seen": self.seen}

    @classmethod
    def restore(cls, view_sizes: ViewSizes, tensors: dict[str, NDArray[Any]]) -> Vocabulary:
        """Restore the vocabulary of an encoding from `tensors`; raise ValueError if they do not fit."""
        vocabulary = cls(view_sizes, tensors["pieces"], tensors["seen"].astype(np.uint64))
        pieces, widest = vocabulary.pieces, vocabulary.max_nodes
        if pieces.shape[1:] != (2 + widest * (widest + 1) // 2,) or pieces.dtype.kind not in "iu":
            raise ValueError(f"the pieces have shape {pieces.shape} and type {pieces.dtype}")
        if pieces.min(initial=0) < 0 or not vocabulary.seen.size:
            raise ValueError("pieces have codes below 0, or none was seen")
        for view, size in np.unique(pieces[:, :2], axis=0).tolist():
            if size not in dict(enumerate(view_sizes)).get(view, ()):
                raise ValueError(f"the encoding has no pieces of {size} nodes in view {view}")
        return vocabulary

    def keep(self, columns: IntArray) -> Vocabulary:
        """Return the vocabulary with the templates of some columns."""
        return Vocabulary(self.view_sizes, self.pieces[columns], self.seen)

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
        small = counted.kind[:, 1] <= counted.judged
        shares = []
        for counts in counted.chunks():
            both = np.stack([small, small & counted.unseen], axis=1).astype(np.float64)
            total, strange = (counts @ both).T
            shares.append(strange / np.maximum(total, 1))
        return np.concatenate(shares)

    def unknown_nodes(self, counted: PlacedCounts) -> IntArray:
        """Return 2 for graphs with a node that is unseen in every view, 1 in some view, else 0, shape (g,)."""
        single = [view for view, sizes in enumerate(self.view_sizes) if 1 in sizes]
        if not single:
            return np.zeros(counted.graphs, dtype=np.int64)
        new = np.stack([counted.unseen & (counted.kind == (view, 1)).all(axis=1) for view in single], axis=1)
        views = np.concatenate([((counts @ new.astype(np.float64)) > 0).sum(axis=1) for counts in counted.chunks()])
        return np.where(views == 0, 0, np.where(views == len(single), 2, 1))


class TemplateCounter:
    """A counter whose first columns are the templates of a vocabulary.

    It keeps the subgraphs of earlier graphs, so that new graphs are mostly looked up.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._counter = Counter(vocabulary.view_sizes, vocabulary.pieces)
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
        return PlacedCounts(len(graphs), counts.nnz, place, self._kind, self._unseen, judged, lambda: [counts])

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
            self._counter.pieces(distinct),
            np.where(distinct < p, distinct, -1),
            self._unseen[distinct],
        )

    def _judge_new(self, judged: int) -> None:
        """Find the kind of new subgraphs, and which no training graph has of those with up to ``judged`` nodes."""
        counter = self._counter
        if self._round != counter.round:  # it started anew
            self._round = counter.round
            self._kind = self._vocabulary.pieces[:, :2]
            self._unseen, self._waiting = np.zeros(len(self._kind), dtype=bool), np.zeros(0, dtype=np.int64)
        before, count = len(self._kind), len(counter.columns)
        if before < count:
            new = np.arange(before, count)
            self._kind = np.concatenate([self._kind, counter.kinds(new)])
            self._unseen = np.concatenate([self._unseen, np.zeros(len(new), dtype=bool)])
            self._waiting = np.concatenate([self._waiting, new])
        small = self._kind[self._waiting, 1] <= judged
        now, self._waiting = self._waiting[small], self._waiting[~small]
        if len(now):
            self._unseen = self._unseen.copy()  # earlier counts keep theirs
            self._unseen[now] = ~self._vocabulary.has_seen(counter.pieces(now))


class Templates(Sequence[Template]):
    """The templates of a vocabulary, created on access and printed as one line."""

    def __init__(self, vocabulary: Vocabulary, encoding: Encoding, names: dict[str, dict[Any, str]]) -> None:
        self._vocabulary, self._encoding, self._names = vocabulary, encoding, names

    def __len__(self) -> int:
        return len(self._vocabulary)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(len(self))[index]]
        return self._encoding.template(self._vocabulary.pieces[range(len(self))[index]], self._names)

    def __repr__(self) -> str:
        sizes = [(size, len(rows)) for size, rows in by_size(self._vocabulary.pieces)]
        words = ", ".join(f"{count} of {size} node{'s' * (size != 1)}" for size, count in sizes)
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
