"""`Vocabulary`: the templates of a model, the subgraphs that enough training graphs contain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from isonn.errors import InputError
from isonn.explain.template import Template
from isonn.packing import Floats, IntArray
from isonn.subgraphs.counter import SMALL, Counter
from isonn.subgraphs.encode import Encoding
from isonn.subgraphs.kernels import move_entries
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


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """All templates of a model.

    Attributes:
        view_sizes: the sizes of the subgraphs to count in each view.
        pieces: the templates, as in `CountTable.pieces`, ``(p, 2 + width)``.
        seen: hashes of all subgraphs of the training graphs of up to SMALL nodes, templates or not, sorted.
    """

    view_sizes: ViewSizes
    pieces: IntArray
    seen: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.pieces)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "counters"}

    @classmethod
    def learn(cls, table: CountTable, min_support: int, distinct: NDArray[np.bool_]) -> tuple[Vocabulary, CountTable]:
        """Take every subgraph that at least ``min_support`` training graphs contain; return also the table with them.

        Args:
            distinct: the first of equal graphs, ``(g,)``; repeats do not count.
        """
        pieces, kept = table.pieces(), table.support_in(distinct) >= min_support
        if kept.sum() > MAX_COLUMNS:
            raise InputError(
                f"the vocabulary has {kept.sum():,} subgraphs, more than {MAX_COLUMNS:,}; use a smaller max_nodes or a "
                f"larger min_support"
            )
        counted = replace(
            table,
            columns=np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32),
            kinds=pieces[:, :2],
            unseen=np.zeros(len(kept), dtype=bool),
            entries=int(table.support[kept].sum()),
        )
        small = pieces[pieces[:, 1] <= SMALL]
        return cls(table.view_sizes, pieces[kept], np.sort(piece_hashes(small))), counted

    @property
    def max_nodes(self) -> int:
        """Nodes of the largest subgraphs."""
        return max(map(max, self.view_sizes))

    @cached_property
    def counters(self) -> list[Counter]:
        """Counters of its templates that no thread uses now; they keep what they found in earlier graphs."""
        return []

    @contextmanager
    def counter(self) -> Iterator[Counter]:
        """Lend a counter to this thread."""
        try:
            counter = self.counters.pop()
        except IndexError:
            counter = Counter(self.view_sizes, self.pieces, self.seen)
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
        self, counted: CountTable, rows: NDArray[np.bool_] | None = None, terms: Floats | None = None
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
                yield moved(counts, data, counted.columns, np.ones(len(self)), terms[run], kept)

        return stack_rows(read(), counted.graphs, counted.entries + terms.size)

    def unseen(self, counted: CountTable) -> Floats:
        """Return the share of each graph's subgraphs of up to SMALL nodes that no training graph has, ``(g,)``."""
        small = counted.kinds[:, 1] <= SMALL
        shares = []
        for counts in counted.chunks():
            both = np.stack([small, small & counted.unseen], axis=1).astype(np.float64)
            total, strange = (counts @ both).T
            shares.append(strange / np.maximum(total, 1))
        return np.concatenate(shares)

    def unknown_nodes(self, counted: CountTable) -> IntArray:
        """Return 2 for graphs with a node that is unseen in every view, 1 in some view, else 0, shape (g,)."""
        single = [view for view, sizes in enumerate(self.view_sizes) if 1 in sizes]
        if not single:
            return np.zeros(counted.graphs, dtype=np.int64)
        new = np.stack([counted.unseen & (counted.kinds == (view, 1)).all(axis=1) for view in single], axis=1)
        views = np.concatenate([((counts @ new.astype(np.float64)) > 0).sum(axis=1) for counts in counted.chunks()])
        return np.where(views == 0, 0, np.where(views == len(single), 2, 1))


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
