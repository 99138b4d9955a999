"""`Counter`: the tables of the compiled loops, and the loops' answers: columns, counts and nodes of subgraphs."""

from __future__ import annotations

import operator
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import InputError
from isonn.graphs.cycles import adjacency_of
from isonn.packing import IntArray, merge_equal, smallest_type
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
from isonn.subgraphs.table import ViewSizes, by_size, codes_of

#: Number of entries beyond which the tables start anew, about 200 MB.
MOST_ENTRIES = 2**21
#: Number of entries that are named at a time, in less than a quarter of a second.
NAMED_AT_ONCE = 2**17


class Counter:
    """Tables of the subgraphs found so far, and the loops that fill them.

    Graphs are loaded and counted, again and again; columns keep their numbers, and `round` rises when they do not.

    Args:
        sizes: sizes of the subgraphs to count, by view.
        templates: pieces (`isonn.subgraphs.table.CountTable`) that get the first columns.
        weak_hash: use one bucket for everything, to test collisions.

    Attributes:
        round: how often the tables started anew, because codes need more bits, or because they were full.
        found_nodes, found_columns: the nodes and column of each subgraph, after ``count(emit=True)``.
    """

    def __init__(
        self,
        sizes: ViewSizes,
        templates: NDArray[np.integer] | None = None,
        weak_hash: bool = False,
    ) -> None:
        self.sizes, self.k, self.round = sizes, max(k for view in sizes for k in view), 0
        self._templates = np.zeros((0, 2), dtype=np.int64) if templates is None else templates
        self._weak = np.uint64(0 if weak_hash else 2**64 - 1)
        self._largest = [0, 0]
        for k, rows in by_size(self._templates):
            nodes, edges = np.split(codes_of(self._templates[rows], k), [k], axis=1)
            self._largest = [max(self._largest[0], int(nodes.max())), max(self._largest[1], int(edges.max(initial=0)))]
        self._tables: Any = None

    def load(self, graphs: CodedGraphs, by_code: bool = False) -> None:
        """Take the graphs to count.

        Args:
            graphs: the graphs. At most MAX_EDGE_CODE combinations of edge codes are allowed.
            by_code: number the nodes of each graph by their codes, so that the nodes of equal subgraphs are more often
                visited in the same order: a third fewer entries for proteins, half as many for molecules. Nodes are
                then listed in another order, so `explain` does without.
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
        self._meaning = self._new_meaning()
        offsets = graphs.node_offsets
        self._places: IntArray | None = None
        if by_code and len(nodes):
            order, self._places = _by_code(offsets, nodes, self._meaning.nodes)
            nodes, ends = nodes[order], self._places[ends]
        self._graphs = Graphs(
            # a copy, because numba compiles the loops again for arrays that are read-only, as those of a GraphSet are
            np.array(offsets, dtype=np.int64),
            *adjacency_of(int(offsets[-1]), ends),
            nodes,
            edges + np.int32(1),  # 0: no edge
        )

    def _start(self, largest: list[int], graphs: int) -> None:
        """Empty all tables, for codes up to the largest ones, and give the templates the first columns."""
        self._largest, self.round = largest, self.round + 1
        self._joint = JointCodes(len(self.sizes)), JointCodes(len(self.sizes))
        views, templates = len(self.sizes), len(self._templates)
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

    def _number_codes(self, codes: tuple[NDArray[Any], NDArray[Any]]) -> list[NDArray[np.int32]]:
        """Return the joint codes of nodes and of edges."""
        return [joint.number(columns) for joint, columns in zip(self._joint, codes, strict=True)]

    def _new_meaning(self) -> Meaning:
        nodes, edges = (joint.meaning for joint in self._joint)
        wanted = np.zeros((len(self.sizes), MAX_K + 1), dtype=np.bool_)
        for view, sizes in enumerate(self.sizes):
            wanted[view, list(sizes)] = True
        return Meaning(nodes, np.ascontiguousarray(np.pad(edges, ((0, 0), (1, 0)))), wanted)

    @property
    def columns(self) -> NDArray[np.uint64]:
        """The distinct subgraphs, packed into words that sort by view, size and codes, ``(columns, words)``."""
        packed: NDArray[np.uint64] = self._tables.columns[: int(self._tables.used[COLUMNS])]
        return packed

    def kinds(self, columns: NDArray[Any]) -> NDArray[np.int32]:
        """Return view and size of some columns, ``(n, 2)``."""
        packed = self._tables.columns[columns, 0] >> np.uint64(64 - self._tables.bits[0])
        return np.stack(np.divmod(packed.astype(np.int32), 2**SIZE_BITS), axis=1)

    def pieces(self, columns: NDArray[Any]) -> NDArray[np.int32]:
        """Return the pieces (`isonn.subgraphs.table.CountTable`) of some columns."""
        packed, bits = self._tables.columns[columns], self._tables.bits
        pieces = np.zeros((len(columns), 2 + self.k * (self.k + 1) // 2), dtype=np.int32)
        pieces[:, :2] = self.kinds(columns)
        for k, rows in by_size(pieces):
            word, shift, width = _layout(k, bits)
            codes = packed[rows[:, None], word] >> shift & ((np.uint64(1) << width) - np.uint64(1))
            pieces[rows, 2 : 2 + len(word)] = codes
        return pieces

    def count(
        self, limit: int, emit: bool = False, stop: threading.Event | None = None
    ) -> tuple[IntArray, NDArray[np.int32], NDArray[np.int32], dict[int, int]]:
        """Count the subgraphs of the loaded graphs; raise KeyboardInterrupt once ``stop`` is set.

        Args:
            limit: subgraphs per size (above 2) and graph above which they are left to a sampler.
            emit: also keep the nodes and column of each subgraph of the last graph.

        Returns:
            The end of each graph's counts, columns, counts, and the graphs with too many subgraphs to list, with the
            smallest size that has too many. This size and all larger ones are left out for that graph.
        """
        graphs, nodes = len(self._graphs.offsets) - 1, len(self._graphs.node_codes)
        depths = np.full(graphs, self.k, dtype=np.int64)
        room = 1 << 12 if emit else 0
        entries, hits = (np.empty(max(1024, 8 * nodes), dtype=np.int32) for _ in range(2))
        listed_nodes, listed = np.empty((room, self.k), dtype=np.int32), np.empty(room, dtype=np.int32)
        output = Output(entries, hits, np.zeros(graphs, dtype=np.int64), listed_nodes, listed)
        search = self._new_search()
        skipped: dict[int, int] = {}
        graph = 0
        while graph < graphs:
            if stop is not None and stop.is_set():
                raise KeyboardInterrupt
            given = depths, (limit, PAUSE), self._graphs, self._tables, search, output, emit
            status, graph, size = count_graphs(graph, *given)
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
        columns_of = self._name_entries(stop)
        written, n_listed = int(search.state[WRITTEN]), int(search.state[LISTED])
        if emit:
            of_views = columns_of[output.listed[:n_listed]]
            self.found_nodes = output.nodes[np.nonzero(of_views >= 0)[0]]
            self.found_columns = of_views[of_views >= 0]
        columns, counts = (np.empty(written * len(self.sizes), dtype=np.int32) for _ in range(2))
        sums = np.zeros(len(self.columns), dtype=np.int32)
        written = add_counts(output.entries[:written], output.counts, columns_of, sums, output.ends, columns, counts)
        return output.ends, columns[:written], counts[:written], skipped

    def columns_of(self, nodes: IntArray) -> NDArray[np.int32]:
        """Return the column of each set of nodes ``(w, k)``, numbered over all graphs, in each view, ``(w, views)``."""
        nodes = np.ascontiguousarray(nodes if self._places is None else self._places[nodes], dtype=np.int64)
        entries, done = np.empty(len(nodes), dtype=np.int64), 0
        while (done := code_node_sets(nodes, done, self._graphs, self._tables, entries)) < len(nodes):
            self._grow()
        return self._name_entries()[entries]

    def _name_entries(self, stop: threading.Event | None = None) -> NDArray[np.int32]:
        """Find the columns of new entries; return those of all, ``(entries, views)``."""
        scratch, count = _new_scratch(self._tables.columns.shape[1]), int(self._tables.used[ENTRIES])
        while self._named < count:
            if stop is not None and stop.is_set():
                raise KeyboardInterrupt
            end = min(count, self._named + NAMED_AT_ONCE)
            self._named = name_entries(self._named, end, self._meaning, self._tables, scratch)
            if self._named < end:
                columns = _longer(self._tables.columns)
                slots = np.full(2 * len(columns), -1, dtype=np.int32)
                insert_rows(0, len(self.columns), columns, slots, self._weak)
                self._tables = self._tables._replace(columns=columns, column_slots=slots)
        return np.asarray(self._tables.columns_of)

    def _new_search(self) -> Search:
        longest, entries = int(np.diff(self._graphs.offsets).max(initial=0)), len(self._tables.keys)
        by_level = [np.zeros(MAX_K + 1, dtype=np.int64) for _ in range(7)]  # and the state
        by_place = [np.empty((self.k, longest + 1), dtype=kind) for kind in (np.int32, np.uint64)]
        by_node = [np.zeros(longest, dtype=kind) for kind in (np.int32, np.uint8)]
        by_entry = [np.zeros(entries, dtype=np.int32) for _ in range(2)]
        return Search._make([*by_level, *by_place, *by_node, *by_entry])

    def _grow(self) -> None:
        """Double the room for entries."""
        keys = _longer(self._tables.keys)
        slots = np.full(2 * len(keys), -1, dtype=np.int32)
        insert_rows(1, len(self._tables.keys), keys, slots, self._weak)
        table, used = np.zeros((len(slots), 3), dtype=np.uint64), np.flatnonzero(slots >= 0)
        table[used, :ENTRY], table[used, ENTRY] = keys[slots[used]], slots[used]
        self._tables = self._tables._replace(keys=keys, table=table, columns_of=_longer(self._tables.columns_of))


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
