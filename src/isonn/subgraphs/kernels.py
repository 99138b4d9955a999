"""Compiled loops: list the connected subgraphs of many graphs, give equal ones one column, count them.

One pass of ESU (Wernicke 2006) over a graph visits every connected induced subgraph of 1 to k nodes once: a subgraph of
size s is an inner node of the search for larger ones. Each visit adds one node to its parent, so a subgraph is known
by its parent's number, the code of the new node and the codes of the edges back to the parent's nodes. These three fit
into 128 bits and are looked up in a hash table that compares them in full: equal entries are equal subgraphs in equal
order, and a hash collision costs a further step, never a wrong count. Only the first time an entry is met is its
canonical form computed (all permutations of nodes with equal codes) and looked up in a second table, of columns, whose
rows are compared in full as well. A molecule of 30 nodes takes a few microseconds.

The numpy path (`isonn.subgraphs.enumerate`) gives the same columns and counts; it is the
oracle of the tests, and runs where numba is not installed.
"""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from isonn.compiled import compiled
from isonn.progress import announce

#: Bits of an edge code in a key: five earlier nodes of a subgraph of six take 60.
EDGE_BITS = 12
MAX_EDGE_CODE = 2**EDGE_BITS - 1
MAX_K = 6
#: Why a kernel stopped before the last graph.
DONE, RAW_FULL, COLUMNS_FULL, OUTPUT_FULL, TOO_MANY, PAUSED = range(6)
#: Subgraphs after which a kernel comes back, so that Ctrl-C is heard within a second.
PAUSE = 4_000_000
#: Marks a free row of the table of entries, and takes the lower half of what is packed there.
EMPTY, LOWER = np.uint64(2**64 - 1), np.int64(2**32 - 1)


@compiled(inline="always")
def _mix(x):  # type: ignore[no-untyped-def]
    """Scramble 64 bits (the finaliser of splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@compiled(inline="always")
def _scramble(x):  # type: ignore[no-untyped-def]
    """`isonn.packing.mix64` of one number."""
    return _mix(x + np.uint64(0x9E3779B97F4A7C15))


@compiled(inline="always")
def _edge_between(first, neighbours, edge_of, a, b):  # type: ignore[no-untyped-def]
    """The number of the edge between two nodes, or -1; the neighbours of a node are sorted."""
    low, high = first[a], first[a + 1]
    while low < high:
        middle = (low + high) // 2
        if neighbours[middle] < b:
            low = middle + 1
        else:
            high = middle
    if low < first[a + 1] and neighbours[low] == b:
        return edge_of[low]
    return -1


@compiled()
def _canonical_row(entry, size, view, key_a, key_b, row, codes, pairs, place, best):  # type: ignore[no-untyped-def]
    """Write view, size and the smallest row of codes over all permutations into ``row``."""
    at = entry
    for i in range(size - 1, -1, -1):
        codes[i] = np.int64(key_a[at] & np.uint64(0xFFFFFFFF))
        for j in range(i):
            code = np.int64((key_b[at] >> np.uint64(EDGE_BITS * j)) & np.uint64(MAX_EDGE_CODE))
            pairs[i, j] = pairs[j, i] = code
        at = np.int64(key_a[at] >> np.uint64(32))
    row[:] = 0
    row[0], row[1] = view, size
    # node codes ascend in the smallest row, so position p can only hold a node with the p-th smallest code
    for i in range(size):
        row[2 + i] = codes[i]
    for i in range(1, size):
        value, j = row[2 + i], i
        while j > 0 and row[1 + j] > value:
            row[2 + j] = row[1 + j]
            j -= 1
        row[2 + j] = value
    length = size * (size - 1) // 2
    have = False
    used = 0
    depth = 0
    place[0] = -1
    while depth >= 0:
        node = place[depth]
        if node >= 0:
            used &= ~(1 << node)
        node += 1
        while node < size and (used >> node & 1 or codes[node] != row[2 + depth]):
            node += 1
        if node == size:
            depth -= 1
            continue
        place[depth] = node
        used |= 1 << node
        if depth + 1 < size:
            depth += 1
            place[depth] = -1
            continue
        # a whole permutation: compare its pairs with the best so far, upper triangle row by row
        smaller = not have
        at = 0
        if have:
            for i in range(size):
                decided = False
                for j in range(i + 1, size):
                    code = pairs[place[i], place[j]]
                    if code != best[at]:
                        smaller = code < best[at]
                        decided = True
                        break
                    at += 1
                if decided:
                    break
        if smaller:
            have = True
            at = 0
            for i in range(size):
                for j in range(i + 1, size):
                    best[at] = pairs[place[i], place[j]]
                    at += 1
    for i in range(length):
        row[2 + size + i] = best[i]


@compiled()
def _find_column(row, columns, slots, weak):  # type: ignore[no-untyped-def]
    """The number of a column, or -1 - its empty slot."""
    h = np.uint64(0x9E3779B97F4A7C15)
    for value in row:
        h = _mix(h + np.uint64(value) + np.uint64(0x9E3779B97F4A7C15))
    mask = np.uint64(len(slots) - 1)
    i = h & mask & weak
    while True:
        column = slots[np.int64(i)]
        if column < 0:
            return -1 - np.int64(i)
        same = True
        for j in range(len(row)):
            if columns[column, j] != row[j]:
                same = False
                break
        if same:
            return np.int64(column)
        i = (i + np.uint64(1)) & mask


@compiled()
def insert_columns(rows, start, stop, columns, slots, weak):  # type: ignore[no-untyped-def]
    """Put rows into an empty table of columns, in their order."""
    for n in range(start, stop):
        place = _find_column(rows[n], columns, slots, weak)
        if place < 0:
            columns[n] = rows[n]
            slots[-1 - place] = n


@compiled(inline="always")
def _bucket(a, word):  # type: ignore[no-untyped-def]
    """Where to look for an entry first."""
    h = (a * np.uint64(0x9E3779B97F4A7C15)) ^ (word * np.uint64(0xC2B2AE3D27D4EB4F))
    h = (h ^ (h >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return h ^ (h >> np.uint64(32))


@compiled()
def insert_raw(count, key_a, key_b, canon, raw, weak):  # type: ignore[no-untyped-def]
    """Put all entries into an empty, larger table."""
    mask = np.uint64(len(raw) - 1)
    for n in range(count):
        i = _bucket(key_a[n], key_b[n]) & mask & weak
        while raw[np.int64(i), 2] != EMPTY:
            i = (i + np.uint64(1)) & mask
        raw[np.int64(i), 0], raw[np.int64(i), 1] = key_a[n], key_b[n]
        raw[np.int64(i), 2] = (np.uint64(n) << np.uint64(32)) | np.uint64(canon[n])


@compiled()
def _add_entry(a, word, size, view, state, raw, keys, canon, slots, columns, scratch, weak):  # type: ignore[no-untyped-def]
    """A new entry and its column, packed as `_column_of` does; -1 and -2 when a table is full."""
    key_a, key_b = keys
    row, codes, pairs, place, best = scratch
    if state[0] * 2 >= len(raw):
        return np.int64(-1)
    entry = state[0]
    key_a[entry], key_b[entry] = a, word
    _canonical_row(entry, size, view, key_a, key_b, row, codes, pairs, place, best)
    column = _find_column(row, columns, slots, weak)
    if column < 0:
        if state[1] * 2 >= len(slots):
            return np.int64(-2)
        slots[-1 - column] = state[1]
        column = state[1]
        columns[column] = row
        state[1] += 1
    canon[entry] = column
    mask = np.uint64(len(raw) - 1)
    i = _bucket(a, word) & mask & weak
    while raw[np.int64(i), 2] != EMPTY:
        i = (i + np.uint64(1)) & mask
    packed = (np.uint64(entry) << np.uint64(32)) | np.uint64(column)
    raw[np.int64(i), 0], raw[np.int64(i), 1], raw[np.int64(i), 2] = a, word, packed
    state[0] += 1
    return np.int64(packed)


@compiled(inline="always")
def _column_of(parent, code, word, size, view, state, raw, keys, canon, slots, columns, scratch, weak):  # type: ignore[no-untyped-def]
    """Entry and column of a subgraph in the upper and lower 32 bits; -1 and -2 when a table is full.

    An entry that was met before, nearly all of them, is one look into one row of the table.

    Args:
        parent: entry of the subgraph without its last node.
        code, word: codes of the last node, and of its edges to the earlier ones.
    """
    a = (np.uint64(parent) << np.uint64(32)) | np.uint64(code)
    mask = np.uint64(len(raw) - 1)
    i = _bucket(a, word) & mask & weak
    found = np.int64(-3)
    while True:
        packed = raw[np.int64(i), 2]
        if packed == EMPTY:
            break
        if raw[np.int64(i), 0] == a and raw[np.int64(i), 1] == word:
            found = np.int64(packed)
            break
        i = (i + np.uint64(1)) & mask
    if found == -3:
        found = _add_entry(a, word, size, view, state, raw, keys, canon, slots, columns, scratch, weak)
    return found


@compiled()
def count_graphs(  # type: ignore[no-untyped-def]
    start,
    stop,
    limit,
    pause,
    node_offsets,
    first,
    neighbours,
    edge_of,
    node_codes,
    edge_codes,
    wanted,
    depths,
    state,
    raw,
    keys,
    canon,
    slots,
    columns,
    counts,
    touched,
    out_columns,
    out_counts,
    out_ends,
    emit,
    found_nodes,
    found_column,
    weak,
):
    """Count the subgraphs of graphs ``start`` to ``stop``; returns (status, graph it stopped at, size).

    Args:
        limit: subgraphs of one size a graph may have (sizes above 2).
        pause: subgraphs after which to come back with PAUSED.
        first, neighbours, edge_of: neighbours of every node, sorted, with the number of the edge to each.
        node_codes, edge_codes: by view.
        wanted: by view and size, whether to count.
        depths: by graph, the largest size to list.
        state: entries, columns, numbers written, nothing, subgraphs found.
        raw: the table of entries: parent and code, word, entry and column. keys, canon: the same by entry.
        slots, columns: the table of columns.
        counts, touched: scratch by column, all 0.
        out_columns, out_counts, out_ends: the counts, graph after graph.
        emit: also write each subgraph's nodes and column.
    """
    views = node_codes.shape[0]
    longest = 0
    for g in range(start, stop):
        longest = max(longest, node_offsets[g + 1] - node_offsets[g])
    place = np.zeros(node_offsets[stop] - node_offsets[start], dtype=np.int8)
    seen = np.zeros(node_offsets[stop] - node_offsets[start], dtype=np.uint8)
    base = node_offsets[start]
    choices = np.empty((MAX_K, longest + 1), dtype=np.int32)
    ends = np.zeros(MAX_K + 1, dtype=np.int64)
    cursor = np.zeros(MAX_K + 1, dtype=np.int64)
    new = np.zeros(MAX_K + 1, dtype=np.int64)
    members = np.zeros(MAX_K + 1, dtype=np.int64)
    entries = np.zeros((MAX_K + 1, views), dtype=np.int64)
    words = np.zeros(views, dtype=np.uint64)
    by_size = np.zeros(MAX_K + 1, dtype=np.int64)
    width = columns.shape[1]
    scratch = (
        np.zeros(width, dtype=np.int32),
        np.zeros(MAX_K, dtype=np.int64),
        np.zeros((MAX_K, MAX_K), dtype=np.int64),
        np.zeros(MAX_K, dtype=np.int64),
        np.zeros(MAX_K * MAX_K, dtype=np.int64),
    )
    work = 0
    for g in range(start, stop):
        if work > pause:
            return PAUSED, g, 0
        depth_limit = depths[g]
        by_size[:] = 0
        n_touched = 0
        n_found = 0
        status, bad = DONE, 0
        for root in range(node_offsets[g], node_offsets[g + 1]):
            # level 1: the root alone
            by_size[1] += 1
            work += 1
            for view in range(views):
                packed = _column_of(
                    view,
                    node_codes[view, root],
                    np.uint64(0),
                    1,
                    view,
                    state,
                    raw,
                    keys,
                    canon,
                    slots,
                    columns,
                    scratch,
                    weak,
                )
                if packed < 0:
                    status = RAW_FULL if packed == -1 else COLUMNS_FULL
                    break
                entries[1, view] = packed >> 32
                column = packed & LOWER
                if wanted[view, 1]:
                    if counts[column] == 0:
                        touched[n_touched] = column
                        n_touched += 1
                    counts[column] += 1
                    if emit:
                        if n_found == len(found_column):
                            status = OUTPUT_FULL
                            break
                        found_nodes[n_found, 0] = root - node_offsets[g]
                        found_nodes[n_found, 1] = -1
                        found_column[n_found] = column
                        n_found += 1
            if status != DONE:
                break
            if depth_limit == 1:
                continue
            count = 0
            seen[root - base] = 1
            for j in range(first[root], first[root + 1]):
                u = neighbours[j]
                if u > root:
                    choices[0, count] = u
                    seen[u - base] = 1
                    count += 1
            members[0] = root
            place[root - base] = 1
            level = 1
            ends[1], cursor[1], new[1] = count, 0, 0
            while level > 0:
                if cursor[level] == ends[level] or status != DONE:
                    # take back what the last node brought
                    for j in range(new[level], ends[level]):
                        seen[choices[level - 1, j] - base] = 0
                    place[members[level - 1] - base] = 0
                    level -= 1
                    continue
                w = np.int64(choices[level - 1, cursor[level]])
                cursor[level] += 1
                size = level + 1
                leaf = size == depth_limit
                words[:] = 0
                degree = first[w + 1] - first[w]
                count = 0
                if leaf and degree > 16 * level:
                    for p in range(level):
                        edge = _edge_between(first, neighbours, edge_of, w, members[p])
                        if edge >= 0:
                            for view in range(views):
                                words[view] |= np.uint64(edge_codes[view, edge]) << np.uint64(EDGE_BITS * p)
                else:
                    if not leaf:
                        for j in range(cursor[level], ends[level]):
                            choices[level, count] = choices[level - 1, j]
                            count += 1
                        new[size] = count
                    for j in range(first[w], first[w + 1]):
                        u = neighbours[j]
                        p = place[u - base]
                        if p > 0:
                            for view in range(views):
                                words[view] |= np.uint64(edge_codes[view, edge_of[j]]) << np.uint64(EDGE_BITS * (p - 1))
                        elif not leaf and u > root and seen[u - base] == 0:
                            seen[u - base] = 1
                            choices[level, count] = u
                            count += 1
                by_size[size] += 1
                work += 1
                if size > 2 and by_size[size] > limit:
                    status, bad = TOO_MANY, size
                else:
                    for view in range(views):
                        packed = _column_of(
                            entries[level, view],
                            node_codes[view, w],
                            words[view],
                            size,
                            view,
                            state,
                            raw,
                            keys,
                            canon,
                            slots,
                            columns,
                            scratch,
                            weak,
                        )
                        if packed < 0:
                            status = RAW_FULL if packed == -1 else COLUMNS_FULL
                            break
                        entries[size, view] = packed >> 32
                        column = packed & LOWER
                        if wanted[view, size]:
                            if counts[column] == 0:
                                touched[n_touched] = column
                                n_touched += 1
                            counts[column] += 1
                            if emit:
                                if n_found == len(found_column):
                                    status = OUTPUT_FULL
                                    break
                                for p in range(level):
                                    found_nodes[n_found, p] = members[p] - node_offsets[g]
                                found_nodes[n_found, level] = w - node_offsets[g]
                                if size < found_nodes.shape[1]:
                                    found_nodes[n_found, size] = -1
                                found_column[n_found] = column
                                n_found += 1
                if not leaf:
                    members[level] = w
                    place[w - base] = size
                    level = size
                    ends[level], cursor[level] = count, 0
                    if status != DONE:
                        cursor[level] = count
            seen[root - base] = 0
            if status != DONE:
                break
        if status == DONE and state[2] + n_touched > len(out_columns):
            status = OUTPUT_FULL
        if status != DONE:
            for j in range(n_touched):
                counts[touched[j]] = 0
            return status, g, bad
        for j in range(n_touched):
            out_columns[state[2]] = touched[j]
            out_counts[state[2]] = counts[touched[j]]
            counts[touched[j]] = 0
            state[2] += 1
        out_ends[g] = state[2]
        if emit:
            state[4] = n_found
    return DONE, stop, 0


@compiled()
def code_node_sets(  # type: ignore[no-untyped-def]
    nodes, view, first, neighbours, edge_of, node_codes, edge_codes, state, raw, keys, canon, slots, columns, out, weak
):
    """The column of each given set of nodes as one view sees it; returns how many are done."""
    width = columns.shape[1]
    scratch = (
        np.zeros(width, dtype=np.int32),
        np.zeros(MAX_K, dtype=np.int64),
        np.zeros((MAX_K, MAX_K), dtype=np.int64),
        np.zeros(MAX_K, dtype=np.int64),
        np.zeros(MAX_K * MAX_K, dtype=np.int64),
    )
    for n in range(len(nodes)):
        parent = np.int64(view)
        column = np.int64(0)
        for i in range(nodes.shape[1]):
            word = np.uint64(0)
            for j in range(i):
                edge = _edge_between(first, neighbours, edge_of, nodes[n, i], nodes[n, j])
                if edge >= 0:
                    word |= np.uint64(edge_codes[view, edge]) << np.uint64(EDGE_BITS * j)
            packed = _column_of(
                parent,
                node_codes[view, nodes[n, i]],
                word,
                i + 1,
                view,
                state,
                raw,
                keys,
                canon,
                slots,
                columns,
                scratch,
                weak,
            )
            if packed < 0:
                return n, packed
            parent = packed >> 32
            column = packed & LOWER
        out[n] = column
    return len(nodes), np.int64(0)


@compiled()
def _neighbourhoods(first, neighbours, edge_of, node_codes, edge_codes, radius, out):  # type: ignore[no-untyped-def]
    """See `isonn.subgraphs.enumerate.neighbourhood_codes`; ``out`` is written, ``(radius + 1, 2, nodes)``."""
    n = len(node_codes)
    codes = np.empty((2, 2, n), dtype=np.uint64)  # of this radius and the one before, low and high half
    for v in range(n):
        code = np.uint64(node_codes[v]) + np.uint64(1)
        codes[0, 0, v] = _scramble(code * np.uint64(0x9E3779B97F4A7C15))
        codes[0, 1, v] = _scramble(code * np.uint64(0xC2B2AE3D27D4EB4F) + np.uint64(0x165667B19E3779F9))
        out[0, 0, v] = codes[0, 0, v] >> np.uint64(2)
        out[0, 1, v] = codes[0, 1, v] >> np.uint64(2)
    for r in range(1, radius + 1):
        old, new = (r - 1) % 2, r % 2
        for v in range(n):
            a, b = np.uint64(0), np.uint64(0)
            for j in range(first[v], first[v + 1]):
                u, edge = neighbours[j], np.uint64(edge_codes[edge_of[j]])
                a += _scramble(codes[old, 0, u] + edge * np.uint64(0x9E3779B97F4A7C15))
                b += _scramble(codes[old, 1, u] + edge * np.uint64(0xC2B2AE3D27D4EB4F))
            codes[new, 0, v] = _scramble(codes[old, 0, v] * np.uint64(3) + a)
            codes[new, 1, v] = _scramble(codes[old, 1, v] * np.uint64(5) + b + np.uint64(r))
            out[r, 0, v] = codes[new, 0, v] >> np.uint64(2)
            out[r, 1, v] = codes[new, 1, v] >> np.uint64(2)


@compiled()
def _fill_neighbours(ends, first, fill, neighbours, edge_of):  # type: ignore[no-untyped-def]
    """Neighbours of every node in ascending order, from edges (smaller, larger) sorted by both."""
    for e in range(len(ends)):  # first those below the node: they come in ascending order
        b = ends[e, 1]
        neighbours[fill[b]] = ends[e, 0]
        edge_of[fill[b]] = e
        fill[b] += 1
    for e in range(len(ends)):
        a = ends[e, 0]
        neighbours[fill[a]] = ends[e, 1]
        edge_of[fill[a]] = e
        fill[a] += 1


Ints = NDArray[np.int64]


class Counter:
    """Tables of the subgraphs met so far, and the kernels that fill them.

    Args:
        node_offsets: where the nodes of each graph start, ``(g + 1,)``.
        ends: edges (smaller, larger) of nodes numbered over all graphs, sorted, ``(m, 2)``.
        node_codes, edge_codes: by view, ``(views, nodes)`` and ``(views, m)``; edge codes are 1 to MAX_EDGE_CODE.
        sizes: by view, the sizes of subgraphs to count.
        limit: subgraphs of one size (above 2) a graph may have before `count` leaves them to a sampler.
        weak_hash: use one bucket for everything, for tests of what a collision does.
    """

    _raw: NDArray[np.uint64]
    _keys: tuple[NDArray[np.uint64], ...]
    _canon: NDArray[np.int32]
    _slots: NDArray[np.int32]
    _columns: NDArray[np.int32]
    _counts: NDArray[np.int32]
    _touched: NDArray[np.int32]

    def __init__(
        self,
        node_offsets: Ints,
        ends: Ints,
        node_codes: Ints,
        edge_codes: Ints,
        sizes: tuple[tuple[int, ...], ...],
        limit: int,
        weak_hash: bool = False,
    ) -> None:
        self.node_offsets = np.ascontiguousarray(node_offsets, dtype=np.int64)
        self.node_codes = np.ascontiguousarray(node_codes, dtype=np.int32)
        self.edge_codes = np.ascontiguousarray(edge_codes, dtype=np.int32)
        self.first, self.neighbours, self.edge_of = _adjacency(int(node_offsets[-1]), ends)
        self.sizes, self.limit = sizes, limit
        self.k = max(k for own in sizes for k in own)
        self.wanted = np.zeros((len(sizes), MAX_K + 1), dtype=np.bool_)
        for view, own in enumerate(sizes):
            self.wanted[view, list(own)] = True
        self._weak = np.uint64(0 if weak_hash else 2**64 - 1)
        self._state = np.zeros(5, dtype=np.int64)
        self._state[0] = len(sizes)  # the first entries stand for "no parent", one per view
        self._grow_raw(1 << 12)
        self._grow_columns(1 << 11)

    @property
    def columns(self) -> NDArray[np.int32]:
        """The distinct subgraphs: view, size, and the codes of the canonical row, 0 behind it."""
        found: NDArray[np.int32] = self._columns[: int(self._state[1])]
        return found

    def count(
        self, start: int, end: int, emit: bool = False, stop: threading.Event | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], list[tuple[int, int]]]:
        """Count the subgraphs of a run of graphs; once ``stop`` is set, KeyboardInterrupt is raised.

        Returns:
            Where each graph's counts end, columns, counts, and (graph, size) of what has too many subgraphs to list:
            that size and all above it are left out of that graph.
        """
        announce("count subgraphs", count_graphs)
        depths = np.full(len(self.node_offsets) - 1, self.k, dtype=np.int64)
        out_columns = np.empty(max(1024, 16 * int(self.node_offsets[end] - self.node_offsets[start])), dtype=np.int32)
        out_counts = np.empty_like(out_columns)
        ends = np.zeros(len(depths), dtype=np.int64)
        self._state[2] = 0
        found = 1 << 12 if emit else 0
        self.found_nodes = np.empty((found, self.k), dtype=np.int32)
        self.found_columns = np.empty(found, dtype=np.int32)
        skipped: list[tuple[int, int]] = []
        graph = start
        while graph < end:
            if stop is not None and stop.is_set():
                raise KeyboardInterrupt
            status, graph, size = count_graphs(
                graph, end, self.limit, PAUSE, self.node_offsets, self.first, self.neighbours, self.edge_of,
                self.node_codes, self.edge_codes, self.wanted, depths, self._state, self._raw, self._keys, self._canon,
                self._slots, self._columns, self._counts, self._touched, out_columns, out_counts, ends, emit,
                self.found_nodes, self.found_columns, self._weak,
            )  # fmt: skip
            if status == TOO_MANY:
                skipped.append((graph, int(size)))
                depths[graph] = size - 1
            elif status == RAW_FULL:
                self._grow_raw(2 * len(self._raw))
            elif status == COLUMNS_FULL:
                self._grow_columns(2 * len(self._slots))
            elif status == OUTPUT_FULL:
                out_columns, out_counts = (np.concatenate([a, np.empty_like(a)]) for a in (out_columns, out_counts))
                if emit:
                    self.found_nodes = np.empty((2 * len(self.found_nodes), self.k), dtype=np.int32)
                    self.found_columns = np.empty(2 * len(self.found_columns), dtype=np.int32)
        written = int(self._state[2])
        if emit:
            self.found_nodes = self.found_nodes[: int(self._state[4])]
            self.found_columns = self.found_columns[: int(self._state[4])]
        return ends[start:end], out_columns[:written], out_counts[:written], skipped

    def columns_of(self, nodes: Ints, view: int) -> NDArray[np.int32]:
        """The column of each set of nodes, numbered over all graphs, ``(w, k)``."""
        out = np.empty(len(nodes), dtype=np.int32)
        done = 0
        while done < len(nodes):
            more, problem = code_node_sets(
                np.ascontiguousarray(nodes[done:], dtype=np.int64), view, self.first, self.neighbours, self.edge_of,
                self.node_codes, self.edge_codes, self._state, self._raw, self._keys, self._canon, self._slots,
                self._columns, out[done:], self._weak,
            )  # fmt: skip
            done += more
            if problem == -1:
                self._grow_raw(2 * len(self._raw))
            elif problem == -2:
                self._grow_columns(2 * len(self._slots))
        return out

    def _grow_raw(self, size: int) -> None:
        used = int(self._state[0])
        keys, canon = tuple(np.zeros(size, dtype=np.uint64) for _ in range(2)), np.zeros(size, dtype=np.int32)
        if hasattr(self, "_keys"):
            for new, old in zip(keys, self._keys, strict=True):
                new[:used] = old[:used]
            canon[:used] = self._canon[:used]
        else:  # "no parent" entries are never looked up
            keys[0][:used] = np.uint64(2**64 - 1)
        self._keys, self._canon = keys, canon
        self._raw = np.full((size, 3), EMPTY, dtype=np.uint64)
        insert_raw(used, *keys, canon, self._raw, self._weak)

    def _grow_columns(self, size: int) -> None:
        used = int(self._state[1])
        width = 2 + self.k + self.k * (self.k - 1) // 2
        columns = np.zeros((size, width), dtype=np.int32)
        self._slots = np.full(size, -1, dtype=np.int32)
        if used:
            insert_columns(self._columns, 0, used, columns, self._slots, self._weak)
        self._columns = columns
        self._counts = np.zeros(size, dtype=np.int32)
        self._touched = np.zeros(size, dtype=np.int32)


def neighbourhood_codes(ends: Ints, node_codes: Ints, edge_codes: Ints, radius: int) -> Ints:
    """`isonn.subgraphs.enumerate.neighbourhood_codes`, compiled: the same integers."""
    announce("count subgraphs", count_graphs)
    out = np.empty((radius + 1, 2, len(node_codes)), dtype=np.int64)
    first, neighbours, edge_of = _adjacency(len(node_codes), ends)
    _neighbourhoods(first, neighbours, edge_of, node_codes.astype(np.int64), edge_codes.astype(np.int64), radius, out)
    return out


def _adjacency(n: int, ends: Ints) -> tuple[Ints, NDArray[np.int32], NDArray[np.int32]]:
    """Where the neighbours of each node start, the neighbours, and the edge to each; ascending if edges are sorted."""
    first = np.concatenate([[0], np.cumsum(np.bincount(ends.ravel(), minlength=n))]).astype(np.int64)
    neighbours, edge_of = (np.empty(len(ends) * 2, dtype=np.int32) for _ in range(2))
    _fill_neighbours(np.ascontiguousarray(ends, dtype=np.int64), first, first[:-1].copy(), neighbours, edge_of)
    return first, neighbours, edge_of
