"""`Vocabulary`: the templates of a model, the subgraphs that enough training graphs contain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from isonn.errors import InputError
from isonn.explain.template import Template
from isonn.packing import Floats, IntArray, row_hashes
from isonn.subgraphs.encode import Encoding
from isonn.subgraphs.table import CountTable, precision, stack_rows

#: Maximum number of columns of a vocabulary: 16 GB of weights and tables.
MAX_COLUMNS = 50_000_000


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

    @property
    def columns(self) -> slice:
        """The columns of its templates."""
        return slice(self.first, self.first + len(self))

    def find(self, rows: IntArray) -> IntArray:
        """Return the position of each row among the templates, or -1 for other rows."""
        if not len(self.rows) or not len(rows):
            return np.full(len(rows), -1, dtype=np.int64)
        keys, wanted = self._keys, self._as_keys(rows)
        place = np.searchsorted(keys, wanted).clip(max=len(keys) - 1)
        return np.where(keys[place] == wanted, place, -1)

    def has_seen(self, rows: IntArray) -> NDArray[np.bool_]:
        """Return which rows occur in a training graph."""
        if not len(self.seen):
            return np.zeros(len(rows), dtype=bool)
        wanted = row_hashes(rows)
        return np.asarray(self.seen[np.searchsorted(self.seen, wanted).clip(max=len(self.seen) - 1)] == wanted)

    @cached_property
    def _keys(self) -> NDArray[Any]:
        return self._as_keys(self.rows)

    def _as_keys(self, rows: IntArray) -> NDArray[Any]:
        """Return rows as byte strings that sort like the rows: big-endian, nonnegative."""
        wide = np.ascontiguousarray(rows.astype(">i4" if self.rows.dtype.itemsize <= 4 else ">i8"))
        return wide.view(f"V{wide.shape[1] * wide.itemsize}").ravel()


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """All templates of a model, in blocks of one view and size."""

    blocks: tuple[Block, ...]

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    @classmethod
    def learn(
        cls, tables: Sequence[CountTable], min_support: int, distinct: NDArray[np.bool_]
    ) -> tuple[Vocabulary, list[NDArray[np.int32]]]:
        """Take every subgraph that at least ``min_support`` training graphs contain; return also their `places`.

        Args:
            distinct: the first of equal graphs, ``(g,)``; repeats do not count.
        """
        supports = [table.support_in(distinct) for table in tables]
        _check_columns(tables, supports, min_support)
        blocks, places, first = [], [], 0
        for table, support in zip(tables, supports, strict=True):
            kept, seen = support >= min_support, np.sort(row_hashes(table.rows))
            blocks.append(Block(table.view, table.size, np.ascontiguousarray(table.rows[kept]), first, seen))
            places.append(np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32))
            first += len(blocks[-1])
        return cls(tuple(blocks)), places

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

    def places(self, tables: Sequence[CountTable]) -> list[IntArray]:
        """Return, for the rows of each block's table, the position of the template in its block, or -1."""
        by_key = {(table.view, table.size): table for table in tables}
        return [block.find(by_key[block.view, block.size].rows) for block in self.blocks]

    def counts(
        self,
        tables: Sequence[CountTable],
        places: Sequence[NDArray[np.integer]] | None = None,
        rows: NDArray[np.bool_] | None = None,
    ) -> csr_array:
        """Return how often each graph contains each template, ``(g, len(self))``.

        Args:
            tables: the counts of all subgraphs, which are read chunk by chunk.
            places: `places`, if they are known.
            rows: the graphs whose counts are wanted, ``(g,)``; the rows of others stay empty.
        """
        if rows is not None and not rows.any():
            return csr_array((len(rows), len(self)))
        places = self.places(tables) if places is None else places
        room = sum(int(table.support[place >= 0].sum()) for table, place in zip(tables, places, strict=True))
        return stack_rows(self._chunks(tables, places, rows, precision(room)), tables[0].graphs, room)

    def _chunks(
        self,
        tables: Sequence[CountTable],
        places: Sequence[NDArray[np.integer]],
        rows: NDArray[np.bool_] | None,
        dtype: np.dtype[Any],
    ) -> Iterator[csr_array]:
        done = 0
        for chunk in zip(*(table.chunks() for table in tables), strict=True):
            graphs = chunk[0].shape[0]
            kept = None if rows is None else rows[done : done + graphs]
            columns = [
                moved(counts if kept is None else _only(counts, kept), place, len(block))
                for counts, place, block in zip(chunk, places, self.blocks, strict=True)
            ]
            done += graphs
            yield csr_array(hstack(columns, format="csr"), dtype=dtype)

    def unseen(self, tables: Sequence[CountTable], largest: int = 6) -> Floats:
        """Return the share of each graph's subgraphs, up to a size, that no training graph contains, shape (g,)."""
        total, strange = np.zeros(tables[0].graphs), np.zeros(tables[0].graphs)
        for table, block in zip(tables, self.blocks, strict=True):
            if block.size > largest:
                continue
            counts = table.counts.astype(np.float64)
            total += np.asarray(counts.sum(axis=1))
            strange += np.asarray(counts @ (~block.has_seen(table.rows)).astype(np.float64))
        return np.asarray(strange / np.maximum(total, 1))


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
        row = block.rows[column - block.first].astype(np.int64)
        return self._encoding.template(block.view, block.size, row, self._names)

    def __repr__(self) -> str:
        sizes: dict[int, int] = {}
        for block in self._vocabulary.blocks:
            sizes[block.size] = sizes.get(block.size, 0) + len(block)
        words = ", ".join(f"{count} of {size} node{'s' * (size != 1)}" for size, count in sizes.items())
        return f"Templates({len(self)}: {words})"


def moved(rows: csr_array, place: NDArray[np.integer], width: int) -> csr_array:
    """Move columns to their positions, dropping those at -1; positions keep the order of columns."""
    new = place[rows.indices]
    kept = new >= 0
    ends = np.concatenate([[0], np.cumsum(kept)])[rows.indptr]
    return csr_array((rows.data[kept], new[kept].astype(np.int32, copy=False), ends), shape=(rows.shape[0], width))


def _only(counts: csr_array, rows: NDArray[np.bool_]) -> csr_array:
    """Empty all other rows."""
    kept = np.repeat(rows, np.diff(counts.indptr))
    ends = np.concatenate([[0], np.cumsum(kept)])[counts.indptr]
    return csr_array((counts.data[kept], counts.indices[kept], ends), shape=counts.shape)


def _check_columns(tables: Sequence[CountTable], supports: Sequence[IntArray], min_support: int) -> None:
    """Raise `InputError` if the vocabulary would have too many columns, with settings that would fit."""

    def columns(least: int, max_nodes: int | None = None) -> int:
        kept = [
            support
            for table, support in zip(tables, supports, strict=True)
            if max_nodes is None or table.size <= max_nodes
        ]
        return sum(int((support >= least).sum()) for support in kept)

    total = columns(min_support)
    if total <= MAX_COLUMNS:
        return
    support = min_support + 1
    while columns(support) > MAX_COLUMNS:
        support *= 2
    fitting = [table.size for table in tables if columns(min_support, table.size) <= MAX_COLUMNS]
    smaller = f"max_nodes={max(fitting)}, or " if fitting else ""
    raise InputError(
        f"the vocabulary has {total:,} subgraphs, more than {MAX_COLUMNS:,}; use {smaller}min_support={support}"
    )
