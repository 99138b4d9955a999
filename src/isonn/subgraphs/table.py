"""`CountTable`: how often each graph contains each distinct subgraph.

Graphs are counted in chunks. A chunk is a table in memory, or in a file of a folder, so that a stopped run does not
count it again (`isonn.subgraphs.bank`). `join_tables` joins them without copying the counts.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from isonn.packing import Floats, IntArray, merge_equal, mix64, row_hashes, row_words

#: The sizes of the subgraphs of each view.
ViewSizes = tuple[tuple[int, ...], ...]
#: Number of rows that are merged at once with the distinct ones.
ROWS_AT_ONCE = 2**20
#: Number of entries above which features and counts are stored in single precision, to save memory.
DOUBLE_ENTRIES = 2**25


@dataclass(frozen=True, eq=False)
class CountTable:
    """The distinct subgraphs of some graphs and their counts, which may be read from disk.

    Attributes:
        view_sizes: the sizes of the subgraphs that were counted in each view.
        graphs: number of graphs.
        sampled: the share of subgraphs that was sampled, by graph and size.
        pieces: returns the distinct subgraphs as rows, ``(d, 2 + width)``: view, size and canonical codes; those of
            training graphs are sorted. The codes are those of nodes, then those of edges in the order of the upper
            triangle, then 0 to fill up.
        chunks: returns the counts in runs of graphs, ``(g, d)``; sorted by column once templates are chosen.
        columns: the template of each subgraph, ascending, or -1, ``(d,)``; empty before templates are chosen.
        kinds: view and size of each subgraph, ``(d, 2)``; empty before templates are chosen.
        unseen: which small subgraphs no training graph has, ``(d,)``.
        entries: number of counts of templates, or more.
    """

    view_sizes: ViewSizes
    graphs: int
    sampled: dict[tuple[int, int], float]
    pieces: Callable[[], IntArray]
    chunks: Callable[[], Iterable[csr_array]]
    columns: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    kinds: NDArray[np.integer] = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int32))
    unseen: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    entries: int = 0

    @cached_property
    def support(self) -> IntArray:
        """The number of graphs that contain each subgraph, ``(d,)``."""
        return self._support(np.ones(self.graphs, dtype=bool))

    def support_in(self, rows: NDArray[np.bool_]) -> IntArray:
        """Return the number of some of the graphs that contain each subgraph, ``(d,)``."""
        return self.support if rows.all() else self._support(rows)

    def _support(self, rows: NDArray[np.bool_]) -> IntArray:
        support: Any = 0
        for run, counts in in_runs(self.chunks()):
            kept = np.repeat(rows[run], np.diff(counts.indptr))
            support = support + np.bincount(counts.indices[kept], minlength=counts.shape[1])
        return np.asarray(support)


def by_size(pieces: NDArray[np.integer]) -> Iterator[tuple[int, IntArray]]:
    """Yield each size of pieces, and the numbers of its rows."""
    for size in np.flatnonzero(np.bincount(pieces[:, 1])).tolist():
        yield size, np.flatnonzero(pieces[:, 1] == size)


def codes_of(pieces: NDArray[np.integer], size: int) -> NDArray[np.integer]:
    """Return the codes of pieces of one size, ``(d, size * (size + 1) / 2)``."""
    return pieces[..., 2 : 2 + size * (size + 1) // 2]


def piece_hashes(pieces: NDArray[np.integer]) -> NDArray[np.uint64]:
    """Return a hash of 64 bits for each piece; it does not depend on how rows are filled up."""
    hashes = np.zeros(len(pieces), dtype=np.uint64)
    for size, rows in by_size(pieces):
        views = pieces[rows, 0].astype(np.uint64)
        hashes[rows] = row_hashes(codes_of(pieces[rows], size)) + np.uint64(16) * views + np.uint64(size)
    return hashes


def is_among(hashes: NDArray[np.uint64], wanted: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return which of the wanted numbers are among sorted hashes."""
    return np.asarray(hashes[np.searchsorted(hashes, wanted).clip(max=len(hashes) - 1)] == wanted)


def in_runs(chunks: Iterable[csr_array]) -> Iterator[tuple[slice, csr_array]]:
    """Yield which graphs each chunk of counts belongs to, and the chunk."""
    start = 0
    for chunk in chunks:
        yield slice(start, start + chunk.shape[0]), chunk
        start += chunk.shape[0]


def tell_apart(hashes: NDArray[np.uint64], table: CountTable, sampled: Collection[int] = ()) -> NDArray[np.uint64]:
    """Return `graph_hashes`, changed where graphs with equal hashes have different counts.

    Weisfeiler-Lehman hashes of regular graphs are all equal, their counts are not.

    Args:
        hashes: of the graphs, ``(g,)``.
        table: their counts.
        sampled: graphs whose counts are random, so that they differ for equal graphs; their hashes stay.
    """
    _, number, often = np.unique(hashes, return_inverse=True, return_counts=True)
    number = number.reshape(-1)
    compared = often[number] > 1
    compared[list(sampled)] = False
    rows = np.flatnonzero(compared)
    if not len(rows):
        return hashes
    pieces = piece_hashes(table.pieces())
    sums = np.zeros(len(hashes), dtype=np.uint64)
    for run, counts in in_runs(table.chunks()):
        inside = rows[(rows >= run.start) & (rows < run.stop)]
        some = counts[inside - run.start]
        bits = some.data.astype(np.float64).view(np.uint64)
        owner = np.repeat(inside, np.diff(some.indptr))
        np.add.at(sums, owner, mix64(mix64(pieces[some.indices]) ^ bits))
    smallest, largest = np.full(len(often), sums.max()), np.zeros(len(often), dtype=np.uint64)
    np.minimum.at(smallest, number[rows], sums[rows])
    np.maximum.at(largest, number[rows], sums[rows])
    different = rows[(smallest != largest)[number[rows]]]
    changed = hashes.copy()
    changed[different] = mix64(hashes[different] ^ mix64(sums[different]))
    return changed


def join_tables(tables: Sequence[CountTable]) -> CountTable:
    """Join runs of graphs; counts are read when needed, table by table.

    Counts from several tables are float32 (exact up to 2**24), or float64 if any are estimates.
    """
    if len(tables) == 1:
        return tables[0]
    pieces, places = merge_rows(table.pieces() for table in tables)
    starts = list(itertools.accumulate((table.graphs for table in tables), initial=0))
    sampled = {
        (start + graph, size): share
        for start, table in zip(starts, tables, strict=False)
        for (graph, size), share in table.sampled.items()
    }
    dtype = np.float64 if sampled else np.float32

    def read() -> Iterator[csr_array]:
        for table, place in zip(tables, places, strict=True):
            for counts in table.chunks():
                data = counts.data.astype(dtype), place[counts.indices], counts.indptr
                yield csr_array(data, shape=(counts.shape[0], len(pieces)))

    return CountTable(tables[0].view_sizes, starts[-1], sampled, lambda: pieces, read)


def merge_rows(parts: Iterable[IntArray]) -> tuple[IntArray, list[NDArray[np.int32]]]:
    """Return the distinct rows, sorted by their codes, and the position of each part's rows among them.

    Parts are merged a few at a time, so memory holds little more than the distinct rows.
    """
    distinct: IntArray | None = None
    places: list[NDArray[np.int32]] = []
    waiting: list[IntArray] = []

    def merge() -> None:
        nonlocal distinct
        before = 0 if distinct is None else len(distinct)
        rows = np.concatenate(waiting if distinct is None else [distinct, *waiting])
        number, first = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        if len(rows):
            number, first = merge_equal(row_words(rows))
        number32 = number.astype(np.int32)
        places[:] = [number32[earlier] for earlier in places]
        places.extend(np.split(number32, np.cumsum([before, *map(len, waiting)]))[1:-1])
        distinct = rows[first]
        waiting.clear()

    for part in parts:
        waiting.append(part)
        if sum(map(len, waiting)) > max(ROWS_AT_ONCE, 0 if distinct is None else len(distinct)):
            merge()
    if waiting:
        merge()
    assert distinct is not None
    return distinct, places


def precision(entries: int) -> np.dtype[Any]:
    """Return the type for so many features or counts; single precision is exact for counts up to 2**24."""
    return np.dtype(np.float64 if entries <= DOUBLE_ENTRIES else np.float32)


def stack_rows(parts: Iterable[csr_array], g: int, room: int) -> csr_array:
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


def sparse_rows(data: NDArray[Any], columns: NDArray[np.int32], ends: NDArray[Any], width: int) -> csr_array:
    """Return rows of ``width`` columns, given where each ends; scipy would copy columns beside ends of 64 bits."""
    small = np.int32 if len(columns) <= np.iinfo(np.int32).max else np.int64
    return csr_array((data, columns, np.concatenate([[0], ends]).astype(small)), shape=(len(ends), width))


def mean_and_variance(table: Any) -> tuple[Floats, Floats]:
    """Return the mean and the variance of each column of a sparse table, ``(d,)``."""
    mean = np.asarray(table.mean(axis=0)).ravel()
    square = np.asarray(table.multiply(table).mean(axis=0)).ravel()
    return mean, square - mean**2


def first_of_equal(digests: NDArray[np.uint64], weights: Floats | None = None) -> NDArray[np.bool_]:
    """Return which graphs are the first of those with their digest, among graphs with a weight above 0, ``(g,)``."""
    rows = np.arange(len(digests)) if weights is None else np.flatnonzero(weights > 0)
    first = np.zeros(len(digests), dtype=bool)
    first[rows[np.unique(digests[rows], return_index=True)[1]]] = True
    return first


def compact(counts: csr_array) -> csr_array:
    """Convert counts to small types; weights of samples stay as they are."""
    data, largest = counts.data, np.iinfo(np.uint16).max
    if data.max(initial=0) <= largest and (data.dtype.kind in "iu" or (data == np.rint(data)).all()):
        data = data.astype(np.uint16)
    return csr_array((data, counts.indices.astype(np.int32), counts.indptr.astype(np.int32)), shape=counts.shape)
