"""`Counter`: counts the connected subgraphs of coded graphs in compiled loops, and lists them with their nodes."""

from __future__ import annotations

import operator
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from isonn.errors import InputError
from isonn.graphs.cycles import adjacency_of
from isonn.packing import Floats, IntArray, merge_equal, smallest_type
from isonn.subgraphs.encode import CodedGraphs
from isonn.subgraphs.kernels import (
    COLUMNS,
    ENTRIES,
    ENTRIES_FULL,
    ENTRY,
    LISTED,
    MAX_EDGE_CODE,
    MAX_K,
    MAX_NODE_CODE,
    OUTPUT_FULL,
    PAUSE,
    SIZE_BITS,
    TOO_MANY,
    WRITTEN,
    Graphs,
    Meaning,
    Output,
    Scratch,
    Search,
    Tables,
    add_counts,
    code_node_sets,
    count_graphs,
    insert_rows,
    name_entries,
)
from isonn.subgraphs.sample import Sample, sample_subgraphs
from isonn.subgraphs.table import CountTable, ViewSizes, by_size, codes_of, is_among, piece_hashes, sparse_rows

#: Number of entries beyond which the tables start anew, about 200 MB.
MOST_ENTRIES = 2**21
#: Number of entries that are named at a time, in less than a quarter of a second.
NAMED_AT_ONCE = 2**17
#: New pieces of up to so many nodes are compared with those of the training graphs.
SMALL = 4


class Listed(NamedTuple):
    """All subgraphs of one graph, in every view.

    Attributes:
        nodes: nodes of each subgraph, padded with -1, ``(R, k)``.
        piece: the number of its distinct piece, ``(R,)``.
        weights: number of subgraphs it stands for; 1 unless they were sampled.
        pieces: the distinct pieces, as in `CountTable.pieces`, ``(d, 2 + width)``: templates in the order of columns,
            then others as they occur.
        columns: the template of each distinct piece, or -1, ``(d,)``.
        unseen: which distinct pieces of up to SMALL nodes no training graph has, ``(d,)``.
    """

    nodes: IntArray
    piece: IntArray
    weights: Floats
    pieces: NDArray[np.int32]
    columns: IntArray
    unseen: NDArray[np.bool_]


class _Loaded(NamedTuple):
    """Graphs to count: as the loops read them, what their joint codes mean, and the place of each node if reordered."""

    graphs: Graphs
    meaning: Meaning
    places: IntArray | None


class Counter:
    """Counts the subgraphs of graphs in compiled loops, and lists them with their nodes.

    It keeps the subgraphs of earlier graphs, so that those of new graphs are mostly looked up. Its tables start anew
    when codes need more bits, or when they are full.

    Args:
        view_sizes: sizes of the subgraphs to count, by view.
        templates: pieces (`isonn.subgraphs.table.CountTable`) that get the first columns.
        seen: sorted hashes of the subgraphs of the training graphs of up to SMALL nodes, with which new ones are
            compared; None to compare nothing, as for training graphs.
        weak_hash: use one bucket for everything, to test collisions.
    """

    def __init__(
        self,
        view_sizes: ViewSizes,
        templates: NDArray[np.integer] | None = None,
        seen: NDArray[np.uint64] | None = None,
        weak_hash: bool = False,
    ) -> None:
        self.view_sizes, self.k = view_sizes, max(k for view in view_sizes for k in view)
        self._templates = np.zeros((0, 2), dtype=np.int64) if templates is None else templates
        self._seen = seen
        self._weak = np.uint64(0 if weak_hash else 2**64 - 1)
        self._largest = [0, 0]
        for k, rows in by_size(self._templates):
            nodes, edges = np.split(codes_of(self._templates[rows], k), [k], axis=1)
            self._largest = [max(self._largest[0], int(nodes.max())), max(self._largest[1], int(edges.max(initial=0)))]
        self._tables: Any = None

    def count(
        self,
        graphs: CodedGraphs,
        limit: int,
        seed: int | None = 0,
        stop: threading.Event | None = None,
    ) -> CountTable:
        """Count the subgraphs of graphs.

        Args:
            graphs: the graphs. At most MAX_EDGE_CODE combinations of edge codes are allowed.
            limit: subgraphs per size (above 2) and graph above which they are sampled.
            seed: seed of the samples; None leaves out what would be sampled, with a share of 0.
            stop: once it is set, KeyboardInterrupt is raised within a second.
        """
        loaded = self._load(graphs, by_code=True)
        output, skipped = self._search(loaded, limit, emit=False, stop=stop)
        columns_of = self._name_entries(loaded.meaning, stop)
        columns, counts = (np.empty(len(output.entries) * len(self.view_sizes), dtype=np.int32) for _ in range(2))
        sums = np.zeros(len(self.columns), dtype=np.int32)
        written = add_counts(output.entries, output.counts, columns_of, sums, output.ends, columns, counts)
        shares: dict[tuple[int, int], float] = {}
        more: list[tuple[IntArray, IntArray, Floats]] = []
        if seed is None:
            shares = {(i, k): 0.0 for i, smallest in skipped.items() for k in graphs.sizes if k >= smallest}
        else:
            for i, sample, which in self._samples(loaded, graphs, skipped, limit, seed):
                shares[i, sample.nodes.shape[1]] = sample.share
                distinct, number = np.unique(which, return_inverse=True)
                weights = np.bincount(number.reshape(-1), sample.weights, minlength=len(distinct))
                more.append((np.full(len(distinct), i), distinct, weights.astype(np.float64)))
        table = sparse_rows(counts[:written], columns[:written], output.ends, len(self.columns))
        if more:
            owner, column, weight = (np.concatenate(arrays) for arrays in zip(*more, strict=True))
            table = csr_array(table + coo_array((weight, (owner, column)), shape=table.shape))
        packed, bits = self.columns, self._tables.bits  # later graphs add columns but change none
        found = CountTable(
            self.view_sizes, len(graphs), shares, lambda: _unpacked(packed, bits, self.k), lambda: [table]
        )
        return found if self._seen is None else self._with_templates(found, table)

    def list_pieces(self, graph: CodedGraphs, limit: int, seed: int) -> Listed:
        """List the subgraphs of a single graph with their nodes; limit and seed as in `count`."""
        loaded = self._load(graph, by_code=False)
        output, skipped = self._search(loaded, limit, emit=True)
        columns_of = self._name_entries(loaded.meaning)[output.listed]  # in each view
        counted = columns_of >= 0
        nodes, columns = [output.nodes[np.nonzero(counted)[0]].astype(np.int64)], [columns_of[counted].astype(np.int64)]
        weights = [np.ones(len(columns[0]))]
        for _, sample, which in self._samples(loaded, graph, skipped, limit, seed):
            nodes.append(np.pad(sample.nodes, ((0, 0), (0, self.k - sample.nodes.shape[1])), constant_values=-1))
            columns.append(which)
            weights.append(sample.weights)
        every = np.concatenate(nodes)
        every[np.maximum.accumulate(every < 0, axis=1)] = -1  # only the first cell after a small piece is marked
        distinct, first, number = np.unique(np.concatenate(columns), return_index=True, return_inverse=True)
        p = len(self._templates)
        order = np.argsort(np.where(distinct < p, distinct, p + first))
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        distinct = distinct[order]
        self._compare_new()
        return Listed(
            nodes=every,
            piece=place[number.reshape(-1)],
            weights=np.concatenate(weights),
            pieces=_unpacked(self.columns[distinct], self._tables.bits, self.k),
            columns=np.where(distinct < p, distinct, -1),
            unseen=self._unseen[distinct],
        )

    def _load(self, graphs: CodedGraphs, by_code: bool) -> _Loaded:
        """Return graphs as the loops read them, after making room for their codes.

        Args:
            graphs: the graphs.
            by_code: number the nodes of each graph by their codes, so that the nodes of equal subgraphs are more often
                visited in the same order: a third fewer entries for proteins, half as many for molecules. Nodes are
                then listed in another order, so `list_pieces` does without.
        """
        ends = graphs.edges + np.repeat(graphs.node_offsets[:-1], np.diff(graphs.edge_offsets))[:, None]
        codes = graphs.node_codes, graphs.edge_codes
        largest = [int(column.max(initial=0)) for column in codes]
        if largest[0] > MAX_NODE_CODE:
            raise InputError("the nodes are of too many kinds to count; merge rare node labels")
        full = self._tables is not None and int(self._tables.used[ENTRIES]) > MOST_ENTRIES
        if self._tables is None or full or any(map(operator.gt, largest, self._largest)):
            self._start([max(pair) for pair in zip(largest, self._largest, strict=True)], len(graphs.node_offsets))
        nodes, edges = self._number_codes(codes)
        if max(largest[1], len(self._joint[1])) > MAX_EDGE_CODE:  # together with those of earlier graphs
            self._start(self._largest, len(graphs.node_offsets))
            nodes, edges = self._number_codes(codes)
        if max(largest[1], len(self._joint[1])) > MAX_EDGE_CODE:
            raise InputError(
                f"the edges are of {max(largest[1], len(self._joint[1])):,} kinds, more than {MAX_EDGE_CODE:,}; "
                "merge rare edge labels, or leave them out with view=LabelsView(edge_labels=False)"
            )
        meaning, offsets = self._meaning(), graphs.node_offsets
        places: IntArray | None = None
        if by_code and len(nodes):
            order, places = _by_code(offsets, nodes, meaning.nodes)
            nodes, ends = nodes[order], places[ends]
        first, neighbours, edge_of = adjacency_of(int(offsets[-1]), ends)
        read = Graphs(
            # a copy, because numba compiles the loops again for arrays that are read-only, as those of a GraphSet are
            offsets=np.array(offsets, dtype=np.int64),
            first=first,
            neighbours=neighbours,
            edge_of=edge_of,
            node_codes=nodes,
            edge_codes=edges + np.int32(1),  # 0: no edge
        )
        return _Loaded(read, meaning, places)

    def _start(self, largest: list[int], graphs: int) -> None:
        """Empty all tables, for codes up to the largest ones, and give the templates the first columns."""
        self._largest = largest
        views, templates = len(self.view_sizes), len(self._templates)
        self._joint = JointCodes(views), JointCodes(views)
        # small tables for a few graphs, because `explain` counts one at a time
        size = 1 << max(10, min(16, 4 + graphs.bit_length()), templates.bit_length())
        bits = np.array([views.bit_length() + SIZE_BITS, *(max(1, code.bit_length()) for code in largest)])
        words = 1 + int(_layout(self.k, bits)[0][-1])
        self._tables = Tables(
            keys=np.zeros((size, 2), dtype=np.uint64),
            table=np.zeros((2 * size, 3), dtype=np.uint64),
            columns_of=np.full((size, views), -1, dtype=np.int32),
            columns=np.zeros((size, words), dtype=np.uint64),
            column_slots=np.full(2 * size, -1, dtype=np.int32),
            bits=bits,
            used=np.array([1, templates]),  # entry 0 stands for "no node yet"
            weak=self._weak,
        )
        self._named, columns = 1, self._tables.columns
        for k, rows in by_size(self._templates):
            view, codes = self._templates[rows, 0].astype(np.uint64), codes_of(self._templates[rows], k)
            columns[rows, 0] = (view << np.uint64(SIZE_BITS) | np.uint64(k)) << np.uint64(64 - int(bits[0]))
            for word, shift, code in zip(*_layout(k, bits)[:2], codes.T.astype(np.uint64), strict=True):
                columns[rows, word] |= code << shift
        insert_rows(0, templates, self._tables.columns, self._tables.column_slots, self._weak)
        # of each column: view and size, and whether no training graph has it
        self._kinds, self._unseen = self._templates[:, :2], np.zeros(templates, dtype=bool)

    def _number_codes(self, codes: tuple[NDArray[Any], NDArray[Any]]) -> list[NDArray[np.int32]]:
        """Return the joint codes of nodes and of edges."""
        return [joint.number(columns) for joint, columns in zip(self._joint, codes, strict=True)]

    def _meaning(self) -> Meaning:
        nodes, edges = (joint.meaning for joint in self._joint)
        wanted = np.zeros((len(self.view_sizes), MAX_K + 1), dtype=np.bool_)
        for view, sizes in enumerate(self.view_sizes):
            wanted[view, list(sizes)] = True
        return Meaning(nodes, np.ascontiguousarray(np.pad(edges, ((0, 0), (1, 0)))), wanted)

    @property
    def columns(self) -> NDArray[np.uint64]:
        """The distinct subgraphs, packed into words that sort by view, size and codes, ``(columns, words)``."""
        packed: NDArray[np.uint64] = self._tables.columns[: int(self._tables.used[COLUMNS])]
        return packed

    def _search(
        self, loaded: _Loaded, limit: int, emit: bool, stop: threading.Event | None = None
    ) -> tuple[Output, dict[int, int]]:
        """List the subgraphs of all graphs as entries.

        Args:
            loaded: the graphs.
            limit: subgraphs per size (above 2) and graph above which they are left to a sampler.
            emit: also keep the nodes and entry of each subgraph of the last graph.
            stop: as in `count`.

        Returns:
            The entries of each graph, and the graphs with too many subgraphs to list, with the smallest size that has
            too many. This size and all larger ones are left out for that graph.
        """
        graphs, nodes = len(loaded.graphs.offsets) - 1, len(loaded.graphs.node_codes)
        depths = np.full(graphs, self.k, dtype=np.int64)
        room = 1 << 12 if emit else 0
        output = Output(
            entries=np.empty(max(1024, 8 * nodes), dtype=np.int32),
            counts=np.empty(max(1024, 8 * nodes), dtype=np.int32),
            ends=np.zeros(graphs, dtype=np.int64),
            nodes=np.empty((room, self.k), dtype=np.int32),
            listed=np.empty(room, dtype=np.int32),
        )
        search = self._new_search(int(np.diff(loaded.graphs.offsets).max(initial=0)))
        skipped: dict[int, int] = {}
        graph = 0
        while graph < graphs:
            if stop is not None and stop.is_set():
                raise KeyboardInterrupt
            status, graph, size = count_graphs(
                graph, depths, (limit, PAUSE), loaded.graphs, self._tables, search, output, emit
            )
            if status == TOO_MANY:
                skipped[graph] = size
                depths[graph] = size - 1
            elif status == OUTPUT_FULL:
                output = output._replace(entries=_longer(output.entries), counts=_longer(output.counts))
                if emit:
                    output = output._replace(nodes=_longer(output.nodes), listed=_longer(output.listed))
            elif status == ENTRIES_FULL:
                self._grow()
                search = search._replace(hits=_longer(search.hits), touched=_longer(search.touched))
        written, listed = int(search.state[WRITTEN]), int(search.state[LISTED])
        output = output._replace(
            entries=output.entries[:written],
            counts=output.counts[:written],
            nodes=output.nodes[:listed],
            listed=output.listed[:listed],
        )
        return output, skipped

    def _samples(
        self, loaded: _Loaded, graphs: CodedGraphs, skipped: dict[int, int], limit: int, seed: int
    ) -> Iterator[tuple[int, Sample, IntArray]]:
        """Sample the subgraphs of graphs that have too many; yield graph, sample and columns of each size and view."""
        for i, smallest in skipped.items():
            for k in (k for k in graphs.sizes if k >= smallest):
                sample = sample_subgraphs(graphs, i, k, limit, seed)
                columns = self._columns_of(loaded, sample.nodes + graphs.node_offsets[i]).astype(np.int64)
                for view, sizes in enumerate(graphs.view_sizes):
                    if k in sizes:
                        yield i, sample, columns[:, view]

    def _columns_of(self, loaded: _Loaded, nodes: IntArray) -> NDArray[np.int32]:
        """Return the column of each set of nodes ``(w, k)``, numbered over all graphs, in each view, ``(w, views)``."""
        nodes = np.ascontiguousarray(nodes if loaded.places is None else loaded.places[nodes], dtype=np.int64)
        entries, done = np.empty(len(nodes), dtype=np.int64), 0
        while (done := code_node_sets(nodes, done, loaded.graphs, self._tables, entries)) < len(nodes):
            self._grow()
        return self._name_entries(loaded.meaning)[entries]

    def _with_templates(self, found: CountTable, counts: csr_array) -> CountTable:
        """Return a table with the template of each subgraph, and which subgraphs no training graph has."""
        counts.sort_indices()
        self._compare_new()
        columns = np.full(counts.shape[1], -1, dtype=np.int32)
        columns[: len(self._templates)] = np.arange(len(self._templates))
        return replace(found, columns=columns, kinds=self._kinds, unseen=self._unseen, entries=counts.nnz)

    def _compare_new(self) -> None:
        """Find the kind of new columns, and which of those of up to SMALL nodes no training graph has."""
        new, bits = self.columns[len(self._kinds) :], self._tables.bits
        if not len(new):
            return
        kinds, unseen = _kinds(new, bits), np.zeros(len(new), dtype=bool)
        if self._seen is not None:
            small = np.flatnonzero(kinds[:, 1] <= SMALL)
            unseen[small] = ~is_among(self._seen, piece_hashes(_unpacked(new[small], bits, self.k)))
        self._kinds, self._unseen = np.concatenate([self._kinds, kinds]), np.concatenate([self._unseen, unseen])

    def _name_entries(self, meaning: Meaning, stop: threading.Event | None = None) -> NDArray[np.int32]:
        """Find the columns of new entries; return those of all, ``(entries, views)``."""
        scratch, count = _new_scratch(self._tables.columns.shape[1]), int(self._tables.used[ENTRIES])
        while self._named < count:
            if stop is not None and stop.is_set():
                raise KeyboardInterrupt
            end = min(count, self._named + NAMED_AT_ONCE)
            self._named = name_entries(self._named, end, meaning, self._tables, scratch)
            if self._named < end:
                columns = _longer(self._tables.columns)
                slots = np.full(2 * len(columns), -1, dtype=np.int32)
                insert_rows(0, len(self.columns), columns, slots, self._weak)
                self._tables = self._tables._replace(columns=columns, column_slots=slots)
        return np.asarray(self._tables.columns_of)

    def _new_search(self, longest: int) -> Search:
        """Return a search that has not started; ``longest`` is the number of nodes of the largest graph."""
        levels, entries = MAX_K + 1, len(self._tables.keys)
        return Search(
            state=np.zeros(levels, dtype=np.int64),
            cursor=np.zeros(levels, dtype=np.int64),
            ends=np.zeros(levels, dtype=np.int64),
            fresh=np.zeros(levels, dtype=np.int64),
            members=np.zeros(levels, dtype=np.int64),
            chain=np.zeros(levels, dtype=np.int64),
            by_size=np.zeros(levels, dtype=np.int64),
            choices=np.empty((self.k, longest + 1), dtype=np.int32),
            words=np.empty((self.k, longest + 1), dtype=np.uint64),
            where=np.zeros(longest, dtype=np.int32),
            seen=np.zeros(longest, dtype=np.uint8),
            hits=np.zeros(entries, dtype=np.int32),
            touched=np.zeros(entries, dtype=np.int32),
        )

    def _grow(self) -> None:
        """Double the room for entries."""
        keys = _longer(self._tables.keys)
        slots = np.full(2 * len(keys), -1, dtype=np.int32)
        insert_rows(1, len(self._tables.keys), keys, slots, self._weak)
        table, used = np.zeros((len(slots), 3), dtype=np.uint64), np.flatnonzero(slots >= 0)
        table[used, :ENTRY], table[used, ENTRY] = keys[slots[used]], slots[used]
        self._tables = self._tables._replace(keys=keys, table=table, columns_of=_longer(self._tables.columns_of))


def _kinds(packed: NDArray[np.uint64], bits: NDArray[Any]) -> NDArray[np.int32]:
    """Return view and size of packed columns, ``(n, 2)``."""
    first = packed[:, 0] >> np.uint64(64 - bits[0])
    return np.stack(np.divmod(first.astype(np.int32), 2**SIZE_BITS), axis=1)


def _unpacked(packed: NDArray[np.uint64], bits: NDArray[Any], largest: int) -> NDArray[Any]:
    """Return the pieces (`isonn.subgraphs.table.CountTable`) of packed columns, wide enough for the largest size."""
    pieces = np.zeros((len(packed), 2 + largest * (largest + 1) // 2), dtype=np.int32)
    pieces[:, :2] = _kinds(packed, bits)
    for k, rows in by_size(pieces):
        word, shift, width = _layout(k, bits)
        codes = packed[rows[:, None], word] >> shift & ((np.uint64(1) << width) - np.uint64(1))
        pieces[rows, 2 : 2 + len(word)] = codes
    return pieces


def _new_scratch(words: int) -> Scratch:
    """Allocate scratch memory; compiling this would take a second."""
    shapes = {"pairs": (MAX_K, MAX_K), "keys": (MAX_K, MAX_K), "best": MAX_K**2, "words": words}
    unsigned = ("links", "words")
    fields = {name: (shapes.get(name, MAX_K), np.uint64 if name in unsigned else np.int64) for name in Scratch._fields}
    return Scratch(**{name: np.zeros(shape, dtype=kind) for name, (shape, kind) in fields.items()})


def _layout(k: int, bits: NDArray[Any]) -> tuple[IntArray, NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the word, shift and width of each code in a packed row of k nodes; codes are not split between words."""
    word, free, places = 0, 64 - int(bits[0]), []
    for width in [int(bits[1])] * k + [int(bits[2])] * (k * (k - 1) // 2):
        word, free = (word, free - width) if free >= width else (word + 1, 64 - width)
        places.append((word, free, width))
    words, shifts, widths = np.array(places).T
    return words, shifts.astype(np.uint64), widths.astype(np.uint64)


def _longer(array: NDArray[Any]) -> NDArray[Any]:
    """Double the length, padding with zeros."""
    return np.concatenate([array, np.zeros_like(array)])


class JointCodes:
    """One code, from 0, for each combination of the codes of all views; earlier combinations keep theirs."""

    def __init__(self, views: int) -> None:
        self._numbers: dict[tuple[int, ...], int] = {}
        self._views = views

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def meaning(self) -> NDArray[np.int32]:
        """The code of each combination in each view, ``(views, codes)``."""
        return np.array(list(self._numbers), dtype=np.int32).reshape(-1, self._views).T.copy()

    def number(self, codes: NDArray[Any]) -> NDArray[np.int32]:
        """Return the joint code of each column of codes, ``(views, n)``."""
        if not codes.shape[1]:
            return np.zeros(0, dtype=np.int32)
        number, place = merge_equal(iter(codes.astype(np.int64)))
        numbers = self._numbers
        joint = [numbers.setdefault(tuple(column), len(numbers)) for column in codes[:, place].T.tolist()]
        return np.array(joint, dtype=np.int32)[number]


def _by_code(node_offsets: IntArray, codes: NDArray[np.int32], meaning: NDArray[np.int32]) -> tuple[IntArray, IntArray]:
    """Order the nodes of each graph by the view with most codes, largest first; return the order and its inverse."""
    finest = meaning[np.argmax([len(np.unique(codes)) for codes in meaning])].astype(np.int64)
    rank = np.empty(len(finest), dtype=np.int64)
    rank[np.lexsort((np.arange(len(finest)), -finest))] = np.arange(len(finest))
    owner = np.repeat(np.arange(len(node_offsets) - 1), np.diff(node_offsets))
    order = np.lexsort((smallest_type(rank[codes]), smallest_type(owner)))  # small integers are sorted faster
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return order, places
