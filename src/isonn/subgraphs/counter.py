"""`Counter`: the tables of the compiled loops, and the loops' answers: columns, counts and nodes of subgraphs."""

from __future__ import annotations

import operator
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import InputError
from isonn.graphs.cycles import adjacency_of
from isonn.packing import IntArray, merge_equal
from isonn.progress import announce
from isonn.subgraphs.encode import CodedGraphs
from isonn.subgraphs.kernels import (
    COLUMNS,
    COLUMNS_FULL,
    ENTRIES,
    ENTRIES_FULL,
    IN_TABLE,
    JOINT,
    JOINT_FULL,
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
    code_node_sets,
    count_graphs,
    find_twins,
    insert_columns,
    insert_entries,
    pack_rows,
    unpack,
)

#: Number of entries beyond which the tables start anew, about 300 MB.
MOST_ENTRIES = 2**21


class Counter:
    """Tables of the subgraphs found so far, and the loops that fill them.

    Graphs are loaded and counted, again and again; columns keep their numbers, and `round` rises when they do not.

    Args:
        sizes: sizes of the subgraphs to count, by view.
        templates: view, size and canonical rows of subgraphs that get the first columns.
        weak_hash: use one bucket for everything, to test collisions.

    Attributes:
        round: how often the tables started anew, because codes need more bits, or because they were full.
        found_nodes, found_columns: the nodes and column of each subgraph, after ``count(emit=True)``.
    """

    def __init__(
        self,
        sizes: tuple[tuple[int, ...], ...],
        templates: Sequence[tuple[int, int, IntArray]] = (),
        weak_hash: bool = False,
    ) -> None:
        self.sizes, self.k, self.round = sizes, max(k for view in sizes for k in view), 0
        self._templates = templates
        self._weak = np.uint64(0 if weak_hash else 2**64 - 1)
        self._largest = [max((int(rows[:, :k].max(initial=0)) for _, k, rows in templates), default=0)]
        self._largest += [max((int(rows[:, k:].max(initial=0)) for _, k, rows in templates), default=0)]
        self._tables: Any = None

    def load(self, graphs: CodedGraphs, by_code: bool = False) -> None:
        """Take the graphs to count.

        Args:
            graphs: the graphs. At most MAX_EDGE_CODE combinations of edge codes are allowed.
            by_code: number the nodes of each graph by their codes, so that the nodes of equal subgraphs are more often
                visited in the same order: a third fewer entries for proteins, half as many for molecules. Nodes are
                then listed in another order, so `explain` does without.
        """
        ends, edge_codes = _sorted_edges(graphs)
        codes = np.stack([view.node_codes for view in graphs.views]), edge_codes
        largest = [int(column.max(initial=0)) for column in codes]
        if largest[0] > MAX_NODE_CODE:
            raise InputError("the nodes are of too many kinds to count; merge rare node labels")
        full = self._tables is not None and int(self._tables.used[JOINT]) > MOST_ENTRIES
        if self._tables is None or full or any(map(operator.gt, largest, self._largest)):
            self._start([max(pair) for pair in zip(largest, self._largest, strict=True)], len(graphs.node_offsets))
        if not self._number_codes(codes):  # together with those of earlier graphs
            self._start(self._largest, len(graphs.node_offsets))
            if not self._number_codes(codes):
                raise InputError(
                    f"the edges are of {max(largest[1], len(self._joint[1])):,} kinds, more than {MAX_EDGE_CODE:,}; "
                    "merge rare edge labels, or leave them out with view=LabelsView(edge_labels=False)"
                )
        nodes, edges = (joint.numbers for joint in self._joint)
        self._meaning = self._new_meaning()
        offsets = graphs.node_offsets
        self._places: IntArray | None = None
        if by_code and len(nodes):
            order, self._places = _by_code(offsets, nodes, self._meaning.nodes)
            nodes = nodes[order]
            ends = np.sort(self._places[ends], axis=1)
            sorted_edges = np.argsort(ends[:, 0] * len(order) + ends[:, 1])
            ends, edges = ends[sorted_edges], edges[sorted_edges]
        self._graphs = Graphs(
            # a copy, because numba compiles the loops again for arrays that are read-only, as those of a GraphSet are
            np.array(offsets, dtype=np.int64),
            *adjacency_of(int(offsets[-1]), ends),
            nodes,
            edges + np.int32(1),  # 0: no edge
            np.arange(len(offsets) - 1),
        )
        if len(self.twins) > 1:
            slots = np.full(1 << (2 * len(self.twins)).bit_length(), -1, dtype=np.int64)
            find_twins(self._graphs, slots, np.zeros(len(self.twins), dtype=np.uint64))

    def _start(self, largest: list[int], graphs: int) -> None:
        """Empty all tables, for codes up to the largest ones, and give the templates the first columns."""
        self._largest, self.round = largest, self.round + 1
        self._joint = JointCodes(len(self.sizes)), JointCodes(len(self.sizes))
        views, templates = len(self.sizes), sum(len(rows) for _, _, rows in self._templates)
        # small tables for a few graphs, because `explain` counts one at a time
        size = 1 << max(10, min(16, 4 + graphs.bit_length()), templates.bit_length())
        # bits of a packed row; codes are not split between words
        bits = [views.bit_length() + SIZE_BITS, *(max(1, code.bit_length()) for code in largest)]
        room, words = 64 - bits[0], 1
        for width in [bits[1]] * self.k + [bits[2]] * (self.k * (self.k - 1) // 2):
            words, room = (words, room - width) if room >= width else (words + 1, 64 - width)
        used = np.zeros(6, dtype=np.int64)
        used[ENTRIES] = views  # entry v stands for "no node yet" in view v
        used[JOINT] = 1  # and entry 0 in all of them
        self._tables = Tables(
            joint=np.zeros((2 * size, 3), dtype=np.uint64),
            views=np.zeros((size + 1, views), dtype=np.int64),
            entries=np.zeros((2 * size, 3), dtype=np.uint64),
            key_a=np.zeros(size + 1, dtype=np.uint64),
            key_b=np.zeros(size + 1, dtype=np.uint64),
            columns=np.zeros((size + 1, words), dtype=np.uint64),
            slots=np.full(2 * size, -1, dtype=np.int32),
            bits=np.array(bits),
            used=used,
            weak=self._weak,
        )
        for view, k, rows in self._templates:
            start = int(used[COLUMNS])
            pack_rows(view, k, rows.astype(np.int32), self._tables.bits, self._tables.columns[start:])
            used[COLUMNS] += len(rows)
        if templates:
            insert_columns(templates, self._tables.columns, self._tables.slots, self._weak)

    def _number_codes(self, codes: tuple[NDArray[Any], NDArray[Any]]) -> bool:
        """Number the combinations of codes; return whether edges are of few enough kinds."""
        for joint, columns in zip(self._joint, codes, strict=True):
            joint.number(columns)
        return bool(max(codes[1].max(initial=0), len(self._joint[1])) <= MAX_EDGE_CODE)

    def _new_meaning(self) -> Meaning:
        nodes, edges = (joint.meaning for joint in self._joint)
        wanted = np.zeros((len(self.sizes), MAX_K + 1), dtype=np.bool_)
        for view, sizes in enumerate(self.sizes):
            wanted[view, list(sizes)] = True
        finest = [
            len(np.unique(of_nodes)) == len(of_nodes) and len(np.unique(of_edges)) == len(of_edges)
            for of_nodes, of_edges in zip(nodes, edges, strict=True)
        ]
        return Meaning(nodes, np.ascontiguousarray(np.pad(edges, ((0, 0), (1, 0)))), wanted, np.array(finest))

    @property
    def twins(self) -> IntArray:
        """The first graph that equals each one node by node, ``(g,)``."""
        return np.asarray(self._graphs.twins)

    @property
    def columns(self) -> NDArray[np.uint64]:
        """The distinct subgraphs, packed into words that sort by view, size and codes, ``(columns, words)``."""
        packed: NDArray[np.uint64] = self._tables.columns[: int(self._tables.used[COLUMNS])]
        return packed

    def rows(self, columns: NDArray[Any]) -> NDArray[np.int32]:
        """Return view, size and the codes of the canonical row, padded with 0, for each of some columns."""
        rows = np.zeros((len(columns), 2 + self.k * (self.k + 1) // 2), dtype=np.int32)
        unpack(self._tables.columns[columns], self._tables.bits, rows)
        return rows

    def count(
        self, limit: int, emit: bool = False, stop: threading.Event | None = None
    ) -> tuple[IntArray, NDArray[np.int32], NDArray[np.int32], list[tuple[int, int]]]:
        """Count the subgraphs of the loaded graphs; raise KeyboardInterrupt once ``stop`` is set.

        Args:
            limit: subgraphs per size (above 2) and graph above which they are left to a sampler.
            emit: also keep the nodes and column of each subgraph of the last graph.

        Returns:
            The end of each graph's counts, columns, counts, and (graph, size) where there are too many subgraphs to
            list. This size and all larger ones are left out for that graph.
        """
        announce("count subgraphs", count_graphs)
        graphs, nodes = len(self.twins), len(self._graphs.node_codes)
        depths = np.full(graphs, self.k, dtype=np.int64)
        room = 1 << 12 if emit else 0
        columns, counts = (np.empty(max(1024, 16 * nodes), dtype=np.int32) for _ in range(2))
        listed_nodes, listed_columns = np.empty((room, self.k), dtype=np.int32), np.empty(room, dtype=np.int32)
        output = Output(columns, counts, np.zeros(graphs, dtype=np.int64), listed_nodes, listed_columns)
        search, scratch = self._new_search(), _new_scratch(self._tables.columns.shape[1])
        used, limits = self._tables.used, (limit, PAUSE)
        used[WRITTEN] = used[LISTED] = 0
        skipped: list[tuple[int, int]] = []
        graph = 0
        while graph < graphs:
            if stop is not None and stop.is_set():
                raise KeyboardInterrupt
            given = depths, limits, self._graphs, self._meaning, self._tables, search, output, scratch, emit
            status, graph, size = count_graphs(graph, *given)
            if status == TOO_MANY:
                alike = np.flatnonzero(self.twins == graph)
                skipped.extend((int(twin), int(size)) for twin in alike)
                depths[alike] = size - 1
            elif status == OUTPUT_FULL:
                output = output._replace(columns=_longer(output.columns), counts=_longer(output.counts))
                if emit:
                    output = output._replace(nodes=_longer(output.nodes), column=_longer(output.column))
            else:
                search = self._grow(status, search)
        written, listed = int(used[WRITTEN]), int(used[LISTED])
        if emit:
            self.found_nodes, self.found_columns = output.nodes[:listed], output.column[:listed]
        return output.ends, output.columns[:written], output.counts[:written], sorted(skipped)

    def columns_of(self, nodes: IntArray) -> NDArray[np.int32]:
        """Return the column of each set of nodes ``(w, k)``, numbered over all graphs, in each view, ``(w, views)``."""
        nodes = np.ascontiguousarray(nodes if self._places is None else self._places[nodes], dtype=np.int64)
        out = np.empty((len(nodes), self._tables.views.shape[1]), dtype=np.int32)
        scratch = _new_scratch(self._tables.columns.shape[1])
        done = 0
        while done < len(nodes):
            done, status = code_node_sets(nodes, done, self._graphs, self._meaning, self._tables, scratch, out)
            self._grow(status, None)
        return out

    def _new_search(self) -> Search:
        longest, entries = int(np.diff(self._graphs.offsets).max(initial=0)), len(self._tables.views)
        single = [np.zeros(1, dtype=np.int64) for _ in range(4)]
        by_level = [np.zeros(MAX_K + 1, dtype=np.int64) for _ in range(6)]
        by_place = [np.empty((self.k, longest + 1), dtype=kind) for kind in (np.int32, np.uint64)]
        by_node = [np.zeros(longest, dtype=kind) for kind in (np.int32, np.uint8)]
        by_entry = [np.zeros(entries, dtype=np.int32) for _ in range(2)]
        counts = np.zeros(len(self._tables.columns), dtype=np.int32)
        return Search._make([*single, *by_level, *by_place, *by_node, *by_entry, counts])

    def _grow(self, status: int, search: Search | None) -> Any:
        """Double the size of the full table; return the search with as much room."""
        tables = self._tables
        if status == JOINT_FULL:
            joint = np.zeros((2 * len(tables.joint), 3), dtype=np.uint64)
            insert_entries(tables.joint, joint, tables.weak)
            self._tables = tables._replace(joint=joint, views=_longer(tables.views))
            if search is not None:
                search = search._replace(hits=_longer(search.hits), touched=_longer(search.touched))
        elif status == ENTRIES_FULL:
            if tables.used[IN_TABLE] * 2 >= len(tables.entries):
                entries = np.zeros((2 * len(tables.entries), 3), dtype=np.uint64)
                insert_entries(tables.entries, entries, tables.weak)
                self._tables = self._tables._replace(entries=entries)
            if tables.used[ENTRIES] >= len(tables.key_a):
                self._tables = self._tables._replace(key_a=_longer(tables.key_a), key_b=_longer(tables.key_b))
        elif status == COLUMNS_FULL:
            slots = np.full(2 * len(tables.slots), -1, dtype=np.int32)
            insert_columns(int(tables.used[COLUMNS]), tables.columns, slots, tables.weak)
            self._tables = tables._replace(slots=slots, columns=_longer(tables.columns))
            if search is not None:
                search = search._replace(counts=_longer(search.counts))
        return search


def _new_scratch(words: int) -> Scratch:
    """Allocate scratch memory; compiling this would take a second."""
    return Scratch(
        np.zeros(2 + MAX_K * (MAX_K + 1) // 2, dtype=np.int32),
        np.zeros(MAX_K, dtype=np.int64),
        np.zeros((MAX_K, MAX_K), dtype=np.int64),
        np.zeros(MAX_K, dtype=np.int64),
        np.zeros(MAX_K * MAX_K, dtype=np.int64),
        np.zeros((MAX_K, MAX_K), dtype=np.int64),
        np.zeros(MAX_K, dtype=np.int64),
        np.zeros(MAX_K, dtype=np.int64),
        np.zeros(words, dtype=np.uint64),
    )


def _longer(array: NDArray[Any]) -> NDArray[Any]:
    """Double the length, padding with zeros."""
    longer = np.zeros((2 * len(array), *array.shape[1:]), dtype=array.dtype)
    longer[: len(array)] = array
    return longer


class JointCodes:
    """One code, from 0, for each combination of the codes of all views; known combinations keep theirs.

    Attributes:
        numbers: the joint code of each node or edge numbered last.
    """

    def __init__(self, views: int) -> None:
        self._known: dict[tuple[int, ...], int] = {}
        self._views = views
        self.numbers: NDArray[np.int32] = np.zeros(0, dtype=np.int32)

    def __len__(self) -> int:
        return len(self._known)

    @property
    def meaning(self) -> NDArray[np.int32]:
        """The code of each combination in each view, ``(views, codes)``."""
        return np.array(list(self._known), dtype=np.int32).reshape(-1, self._views).T.copy()

    def number(self, codes: NDArray[Any]) -> None:
        """Number the columns of codes, ``(views, n)``."""
        if not codes.shape[1]:
            self.numbers = np.zeros(0, dtype=np.int32)
            return
        number, place = merge_equal(iter(codes.astype(np.int64)))
        known = self._known
        joint = [known.setdefault(tuple(column), len(known)) for column in codes[:, place].T.tolist()]
        self.numbers = np.array(joint, dtype=np.int32)[number]


def _sorted_edges(graphs: CodedGraphs) -> tuple[IntArray, IntArray]:
    """Return edges (smaller, larger) of nodes numbered over all graphs, sorted, and their codes by view."""
    owner = np.repeat(np.arange(len(graphs)), np.diff(graphs.edge_offsets))
    ends = graphs.edges + graphs.node_offsets[owner, None]
    codes = np.stack([view.edge_codes for view in graphs.views])
    step = np.diff(ends, axis=0)
    rises = (step[:, 0] > 0) | ((step[:, 0] == 0) & (step[:, 1] > 0))
    if (ends[:, 0] < ends[:, 1]).all() and rises.all():
        return ends, codes
    ends = np.sort(ends, axis=1)
    order = np.lexsort((ends[:, 1], ends[:, 0]))
    return ends[order], codes[:, order]


def _by_code(node_offsets: IntArray, codes: NDArray[np.int32], meaning: NDArray[np.int32]) -> tuple[IntArray, IntArray]:
    """Order the nodes of each graph by the view with most codes, largest first; return the order and its inverse."""
    finest = meaning[np.argmax([len(np.unique(codes)) for codes in meaning])].astype(np.int64)
    rank = np.empty(len(finest), dtype=np.int64)
    rank[np.lexsort((np.arange(len(finest)), -finest))] = np.arange(len(finest))
    owner = np.repeat(np.arange(len(node_offsets) - 1), np.diff(node_offsets))
    order = np.argsort(owner * len(rank) + rank[codes], kind="stable")
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return order, places
