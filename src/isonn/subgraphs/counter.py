"""`Counter`: the tables of the compiled loops, and the loops' answers: columns, counts and nodes of subgraphs."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.graphs.cycles import adjacency_of
from isonn.packing import IntArray, bits_of, merge_equal
from isonn.progress import announce
from isonn.subgraphs.kernels import (
    COLUMNS,
    COLUMNS_FULL,
    ENTRIES,
    ENTRIES_FULL,
    IN_TABLE,
    JOINT,
    JOINT_FULL,
    LISTED,
    MAX_K,
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
    sort_counts,
    unpack,
)


class Counter:
    """Tables of the subgraphs found so far, and the loops that fill them.

    Args:
        node_offsets: where the nodes of each graph start, ``(g + 1,)``.
        ends: edges (smaller, larger) of nodes numbered over all graphs, sorted, ``(m, 2)``.
        node_codes, edge_codes: codes by view, ``(views, nodes)`` and ``(views, m)``. Edge codes start at 1, and at most
            MAX_EDGE_CODE different columns of them are allowed.
        sizes: sizes of the subgraphs to count, by view.
        limit: subgraphs per size (above 2) and graph above which `count` leaves them to a sampler.
        weak_hash: use one bucket for everything, to test collisions.
        by_code: number the nodes of each graph by their codes, so that the nodes of equal subgraphs are more often
            visited in the same order: a third fewer entries for proteins, half as many for molecules. Nodes are then
            listed in another order, so `explain` does without.

    Attributes:
        found_nodes, found_columns: the nodes and column of each subgraph, after ``count(emit=True)``.
    """

    def __init__(
        self,
        node_offsets: IntArray,
        ends: IntArray,
        node_codes: IntArray,
        edge_codes: IntArray,
        sizes: tuple[tuple[int, ...], ...],
        limit: int,
        weak_hash: bool = False,
        by_code: bool = False,
    ) -> None:
        self.limit, self.k = limit, max(k for view in sizes for k in view)
        nodes, node_meaning = joint_codes(node_codes)
        edges, edge_meaning = joint_codes(edge_codes)
        self._places: IntArray | None = None
        if by_code and node_meaning.size:
            order, self._places = _by_code(node_offsets, nodes, node_meaning)
            nodes = nodes[order]
            ends = np.sort(self._places[ends], axis=1)
            sorted_edges = np.argsort(ends[:, 0] * len(order) + ends[:, 1])
            ends, edges = ends[sorted_edges], edges[sorted_edges]
        self._graphs = Graphs(
            # a copy, because numba compiles the loops again for arrays that are read-only, as those of a GraphSet are
            np.array(node_offsets, dtype=np.int64),
            *adjacency_of(int(node_offsets[-1]), ends),
            nodes,
            edges + np.int32(1),  # 0: no edge
            np.arange(len(node_offsets) - 1),
        )
        self._meaning = _meaning(node_meaning, edge_meaning, sizes)
        self._tables = self._new_tables(len(sizes), weak_hash)
        if len(self.twins) > 1:
            slots = np.full(1 << (2 * len(self.twins)).bit_length(), -1, dtype=np.int64)
            find_twins(self._graphs, slots, np.zeros(len(self.twins), dtype=np.uint64))

    def _new_tables(self, views: int, weak_hash: bool) -> Tables:
        # small tables for a few graphs, because `explain` counts one at a time; a node adds a few new subgraphs
        size = 1 << max(10, min(16, len(self._graphs.node_codes).bit_length()))
        # bits of a packed row; codes are not split between words
        bits = [views.bit_length() + SIZE_BITS, bits_of(self._meaning.nodes), bits_of(self._meaning.edges)]
        room, words = 64 - bits[0], 1
        for width in [bits[1]] * self.k + [bits[2]] * (self.k * (self.k - 1) // 2):
            words, room = (words, room - width) if room >= width else (words + 1, 64 - width)
        used = np.zeros(6, dtype=np.int64)
        used[ENTRIES] = views  # entry v stands for "no node yet" in view v
        used[JOINT] = 1  # and entry 0 in all of them
        return Tables(
            joint=np.zeros((2 * size, 3), dtype=np.uint64),
            views=np.zeros((size + 1, views), dtype=np.int64),
            entries=np.zeros((2 * size, 3), dtype=np.uint64),
            key_a=np.zeros(size + 1, dtype=np.uint64),
            key_b=np.zeros(size + 1, dtype=np.uint64),
            columns=np.zeros((size + 1, words), dtype=np.uint64),
            slots=np.full(2 * size, -1, dtype=np.int32),
            bits=np.array(bits),
            used=used,
            weak=np.uint64(0 if weak_hash else 2**64 - 1),
        )

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
        self, emit: bool = False, stop: threading.Event | None = None
    ) -> tuple[IntArray, NDArray[np.int32], NDArray[np.int32], list[tuple[int, int]]]:
        """Count the subgraphs of all graphs; raise KeyboardInterrupt once ``stop`` is set.

        Args:
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
        used, limits = self._tables.used, (self.limit, PAUSE)
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


def _meaning(nodes: NDArray[np.int32], edges: NDArray[np.int32], sizes: tuple[tuple[int, ...], ...]) -> Meaning:
    wanted = np.zeros((len(sizes), MAX_K + 1), dtype=np.bool_)
    for view, wanted_sizes in enumerate(sizes):
        wanted[view, list(wanted_sizes)] = True
    finest = [
        len(np.unique(of_nodes)) == len(of_nodes) and len(np.unique(of_edges)) == len(of_edges)
        for of_nodes, of_edges in zip(nodes, edges, strict=True)
    ]
    return Meaning(nodes, np.ascontiguousarray(np.pad(edges, ((0, 0), (1, 0)))), wanted, np.array(finest))


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


def joint_codes(codes: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return one code, from 0, for each distinct column of ``(views, n)`` codes, and these columns."""
    if not codes.shape[1]:
        return np.zeros(0, dtype=np.int32), np.zeros((len(codes), 0), dtype=np.int32)
    if len(codes) == 1 and codes.max() <= codes.shape[1]:
        return codes[0].astype(np.int32), np.arange(codes.max() + 1, dtype=np.int32)[None]
    number, place = merge_equal(iter(codes.astype(np.int64)))
    return number.astype(np.int32), np.ascontiguousarray(codes[:, place], dtype=np.int32)


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


def counts_by_group(
    owner: NDArray[np.int32],
    column: NDArray[np.int32],
    counts: NDArray[Any],
    group_of: IntArray,
    groups: int,
    graphs: int,
) -> list[tuple[NDArray[Any], NDArray[np.int32], NDArray[np.int32]]]:
    """Return data, indices and indptr of one CSR table per group; see `sort_counts`."""
    starts = np.concatenate([[0], np.cumsum(np.bincount(column, minlength=len(group_of)))])
    indptr = np.zeros((groups, graphs + 1), dtype=np.int32)
    indices, data = np.empty(len(column), dtype=np.int32), np.empty_like(counts)
    if len(column):
        sort_counts(owner, column, counts, starts, group_of, graphs, indptr, indices, data)
    bounds = np.concatenate([[0], np.cumsum(indptr[:, -1].astype(np.int64))])
    return [(data[a:b], indices[a:b], own) for a, b, own in zip(bounds[:-1], bounds[1:], indptr, strict=True)]
