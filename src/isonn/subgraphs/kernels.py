"""Compiled loops: list the connected subgraphs of many graphs, give equal ones one column, count them.

One pass of ESU (Wernicke 2006) over a graph visits every connected induced subgraph of 1 to k nodes once, because a
subgraph of size s is an inner node of the search for larger ones. Every candidate node is kept with a word of its edges
to the nodes so far, which is updated when a node joins. The subgraphs of the largest size, which are the majority,
therefore cost one table lookup each and never touch the graph.

Each visit adds one node to its parent, so a subgraph is identified by its parent's number, the code of the new node and
that word. These fit into 128 bits and are looked up in a hash table that compares them in full. Equal entries are equal
subgraphs with nodes in the same order, and a hash collision costs an extra step but never a wrong count. All views are
coded together, so one lookup serves them all. At the end of a graph, its count of each entry is added to the columns of
the views. A new entry is looked up in each view's own table. If it is also new there, its canonical form is computed,
packed into as few words as its codes need, and looked up among the columns, which are also compared in full. Graphs
that are equal node by node are counted once.

A search can stop after any visit and continue later, to grow a full table or to respond to Ctrl-C.

The numpy path (`isonn.subgraphs.enumerate`) gives the same columns and counts. It is the oracle of the tests, and runs
if numba is not installed.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.compiled import compiled
from isonn.packing import bits_of, merge_equal
from isonn.progress import announce

#: Bits per edge code in a key; the five earlier nodes of a subgraph of six take 60.
EDGE_BITS = 12
MAX_EDGE_CODE = 2**EDGE_BITS - 1
MAX_K, SIZE_BITS = 6, 3
#: Why a kernel stopped before the last graph: to grow a table, to sample subgraphs, or to check for Ctrl-C.
DONE, JOINT_FULL, ENTRIES_FULL, COLUMNS_FULL, OUTPUT_FULL, TOO_MANY, PAUSED = range(7)
#: Number of subgraphs after which a kernel returns (at most a quarter of a second), and the weight of a new one.
PAUSE, NEW = 2_000_000, 64
#: Mask for the lower half of 64 packed bits.
LOWER = np.int64(2**32 - 1)


@compiled(inline="always")
def _mix(x):  # type: ignore[no-untyped-def]
    """Scramble 64 bits (the finaliser of splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@compiled(inline="always")
def _scramble(x):  # type: ignore[no-untyped-def]
    """Compute `isonn.packing.mix64` of one number."""
    return _mix(x + np.uint64(0x9E3779B97F4A7C15))


@compiled(inline="always")
def _edge_between(first, neighbours, edge_of, a, b):  # type: ignore[no-untyped-def]
    """Return the number of the edge between two nodes, or -1; the neighbours of a node are sorted."""
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


@compiled(inline="always")
def _canonical_row(entry, size, view, key_a, key_b, scratch):  # type: ignore[no-untyped-def]
    """Write view, size and the smallest row of codes over all permutations into the first array of ``scratch``."""
    row, codes, pairs, place, best, ahead, _ = scratch
    at = entry
    for i in range(size - 1, -1, -1):
        codes[i] = np.int64(key_a[at] & np.uint64(0xFFFFFFFF))
        for j in range(i):
            code = np.int64((key_b[at] >> np.uint64(EDGE_BITS * j)) & np.uint64(MAX_EDGE_CODE))
            pairs[i, j] = pairs[j, i] = code
        at = np.int64(key_a[at] >> np.uint64(32))
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
        # compare the first row of pairs as it grows, because most permutations already lose there
        if depth == 0:
            ahead[0] = not have
        elif have and not ahead[depth - 1]:
            code = pairs[place[0], node]
            if code > best[depth - 1]:
                continue
            ahead[depth] = code < best[depth - 1]
        else:
            ahead[depth] = True
        if depth + 1 < size:
            depth += 1
            place[depth] = -1
            continue
        smaller = ahead[depth]
        if not smaller:
            at = size - 1
            for i in range(1, size):
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
                ahead[i] = False
                for j in range(i + 1, size):
                    best[at] = pairs[place[i], place[j]]
                    at += 1
    for i in range(size * (size - 1) // 2):
        row[2 + size + i] = best[i]


@compiled(inline="always")
def _pack(row, bits, words):  # type: ignore[no-untyped-def]
    """Pack a row of codes into 64-bit words that sort like rows; ``bits`` is the width of view and size, node, edge."""
    size, at, free = row[1], 0, 64 - bits[0]
    words[:] = 0
    words[0] = np.uint64(row[0] << SIZE_BITS | size) << np.uint64(free)
    for i in range(size * (size + 1) // 2):
        width = bits[1] if i < size else bits[2]
        if free < width:
            at, free = at + 1, 64
        free -= width
        words[at] |= np.uint64(row[2 + i]) << np.uint64(free)


@compiled()
def unpack(packed, bits, rows):  # type: ignore[no-untyped-def]
    """Write the rows of codes, padded with 0, that `_pack` packed."""
    for n in range(len(packed)):
        at, free = 0, 64 - bits[0]
        level = np.int64(packed[n, 0] >> np.uint64(free))
        size = level & (2**SIZE_BITS - 1)
        rows[n, 0], rows[n, 1] = level >> SIZE_BITS, size
        for i in range(size * (size + 1) // 2):
            width = bits[1] if i < size else bits[2]
            if free < width:
                at, free = at + 1, 64
            free -= width
            mask = (np.uint64(1) << np.uint64(width)) - np.uint64(1)
            rows[n, 2 + i] = np.int64((packed[n, at] >> np.uint64(free)) & mask)


@compiled(inline="always")
def _hash_words(words):  # type: ignore[no-untyped-def]
    """Hash a packed row."""
    h = np.uint64(0)
    for j in range(len(words)):
        h = _mix(h + words[j])
    return h


@compiled(inline="always")
def _find_column(words, columns, slots, weak):  # type: ignore[no-untyped-def]
    """Return the number of a column, or -1 - its empty slot."""
    mask = np.uint64(len(slots) - 1)
    i = _hash_words(words) & mask & weak
    while True:
        column = slots[np.int64(i)]
        if column < 0:
            return -1 - np.int64(i)
        same = True
        for j in range(len(words)):
            same &= columns[column, j] == words[j]
        if same:
            return np.int64(column)
        i = (i + np.uint64(1)) & mask


@compiled()
def insert_columns(count, columns, slots, weak):  # type: ignore[no-untyped-def]
    """Insert all columns into an empty, larger table."""
    mask = np.uint64(len(slots) - 1)
    for n in range(count):
        i = _hash_words(columns[n]) & mask & weak
        while slots[np.int64(i)] >= 0:
            i = (i + np.uint64(1)) & mask
        slots[np.int64(i)] = n


@compiled(inline="always")
def _bucket(a, word):  # type: ignore[no-untyped-def]
    """Return the first position to look for an entry."""
    h = (a * np.uint64(0x9E3779B97F4A7C15)) ^ (word * np.uint64(0xC2B2AE3D27D4EB4F))
    h = (h ^ (h >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return h ^ (h >> np.uint64(32))


@compiled()
def insert_entries(old, table, weak):  # type: ignore[no-untyped-def]
    """Insert all entries of a table into an empty, larger one."""
    mask = np.uint64(len(table) - 1)
    for n in range(len(old)):
        if old[n, 2] != np.uint64(0):
            i = _bucket(old[n, 0], old[n, 1]) & mask & weak
            while table[np.int64(i), 2] != np.uint64(0):
                i = (i + np.uint64(1)) & mask
            table[np.int64(i), 0], table[np.int64(i), 1], table[np.int64(i), 2] = old[n, 0], old[n, 1], old[n, 2]


@compiled(inline="always")
def _look_up(table, a, word, weak):  # type: ignore[no-untyped-def]
    """Return the table's value for a key, or 0 and the free row for it."""
    mask = np.uint64(len(table) - 1)
    i = _bucket(a, word) & mask & weak
    while True:
        found = table[i, 2]
        if found == np.uint64(0) or (table[i, 0] == a and table[i, 1] == word):
            break
        i = (i + np.uint64(1)) & mask
    return np.int64(found), np.int64(i)


@compiled()
def _new_entry(parent, code, word, size, slot, state, joint, own, meaning, tables, scratch, weak):  # type: ignore[no-untyped-def]
    """Create an entry of all views together; return minus the status if a table is full.

    Args:
        parent: entry of the subgraph without its last node.
        code, word: codes of the last node, and of its edges to the earlier ones.
        slot: the free row of ``joint`` for it.
        own: by entry and view, the view's entry in the upper 32 bits and its column plus 1 in the lower.
        meaning: by view, the node and edge codes of the joint codes; the wanted sizes, as others need no column; and
            whether the view distinguishes everything that all views together do, so that it meets no entry twice.
    """
    node_meaning, edge_meaning, wanted, finest = meaning
    entries, key_a, key_b, columns, slots, bits = tables
    row, words = scratch[0], scratch[6]
    if state[3] * 2 >= len(joint):
        return np.int64(-JOINT_FULL)
    entry = state[3]
    for view in range(len(wanted)):
        b = np.uint64(0)
        for p in range(size - 1):
            edge = np.int64((word >> np.uint64(EDGE_BITS * p)) & np.uint64(MAX_EDGE_CODE))
            b |= np.uint64(edge_meaning[view, edge]) << np.uint64(EDGE_BITS * p)
        before = own[parent, view] >> 32 if size > 1 else np.int64(view)
        a = (np.uint64(before) << np.uint64(32)) | np.uint64(node_meaning[view, code])
        packed, free = np.int64(0), np.int64(0)
        if not finest[view]:
            packed, free = _look_up(entries, a, b, weak)
        if packed == 0:
            if state[0] >= len(key_a) or state[5] * 2 >= len(entries):
                return np.int64(-ENTRIES_FULL)
            key_a[state[0]], key_b[state[0]] = a, b
            column = np.int64(-1)
            if wanted[view, size]:
                _canonical_row(state[0], size, view, key_a, key_b, scratch)
                _pack(row, bits, words)
                column = _find_column(words, columns, slots, weak)
                if column < 0:
                    if state[1] * 2 >= len(slots):
                        return np.int64(-COLUMNS_FULL)
                    slots[-1 - column] = state[1]
                    column = state[1]
                    # one by one: for `columns[column] = words` numba compiles a message about shapes, which takes 2 s
                    for i in range(len(words)):
                        columns[column, i] = words[i]
                    state[1] += 1
            packed = (state[0] << 32) | (column + 1)
            if not finest[view]:
                entries[free, 0], entries[free, 1], entries[free, 2] = a, b, np.uint64(packed)
                state[5] += 1
            state[0] += 1
        own[entry, view] = packed
    joint[slot, 0], joint[slot, 1] = (np.uint64(parent) << np.uint64(32)) | np.uint64(code), word
    joint[slot, 2] = np.uint64(entry)
    state[3] += 1
    return entry


@compiled()
def _write_found(n_found, members, level, last, base, entry, own, found_nodes, found_column):  # type: ignore[no-untyped-def]
    """Write nodes and column of one subgraph for every view that wants it; return the total number written."""
    for view in range(own.shape[1]):
        column = own[entry, view] & LOWER
        if column > 0:
            for p in range(level):
                found_nodes[n_found, p] = members[p] - base
            found_nodes[n_found, level] = last - base
            if level + 1 < found_nodes.shape[1]:
                found_nodes[n_found, level + 1] = -1
            found_column[n_found] = column - 1
            n_found += 1
    return n_found


@compiled()
def _write_counts(n_touched, touched, hits, own, counts, written, out_columns, out_counts):  # type: ignore[no-untyped-def]
    """Add the counts of a graph's entries to the columns of all views; return where they end."""
    start = written
    for j in range(n_touched):
        entry = touched[j]
        for view in range(own.shape[1]):
            column = (own[entry, view] & LOWER) - 1
            if column >= 0:
                if counts[column] == 0:
                    out_columns[written] = column
                    written += 1
                counts[column] += hits[entry]
        hits[entry] = 0
    for j in range(start, written):
        out_counts[j] = counts[out_columns[j]]
        counts[out_columns[j]] = 0
    return written


@compiled()
def count_graphs(  # type: ignore[no-untyped-def]
    start,
    stop,
    limit,
    pause,
    node_offsets,
    adjacency,
    node_codes,
    edge_codes,
    twins,
    depths,
    search,
    state,
    joint,
    own,
    hits,
    touched,
    meaning,
    tables,
    scratch,
    counts,
    output,
    emit,
    found,
    weak,
):
    """Count the subgraphs of graphs ``start`` to ``stop``; return (status, graph it stopped at, size).

    Args:
        limit: subgraphs per size (above 2) that a graph may have.
        pause: amount of work after which to return PAUSED.
        adjacency: sorted neighbours of every node, with the number of the edge to each; see `_adjacency`.
        node_codes, edge_codes: joint codes of all views.
        twins: by graph, the first that equals it.
        depths: by graph, the largest size to list.
        search: where to continue a stopped search; see `Counter._start`.
        state: entries of views, columns, numbers written, joint entries, subgraphs found, entries in the views' table.
        joint, own, meaning, tables: see `_new_entry`.
        scratch: see `_scratch`.
        hits, touched: scratch by entry, all 0 between graphs.
        counts: scratch by column, all 0.
        output: columns, counts and the end of each graph's part.
        emit: also write each subgraph's nodes and column to ``found``.
    """
    first, neighbours, edge_of = adjacency
    at, cursor, ends, fresh, members, chain, by_size, choices, words, where, seen = search
    out_columns, out_counts, out_ends = output
    found_nodes, found_column = found
    views = own.shape[1]
    work = 0
    for g in range(start, stop):
        base, last = node_offsets[g], node_offsets[g + 1]
        deepest = depths[g]
        if at[0] == 0:
            twin = twins[g]
            if twin < g and not emit:
                before = out_ends[twin - 1] if twin > 0 else 0
                more = out_ends[twin] - before
                if state[2] + more > len(out_columns):
                    return OUTPUT_FULL, g, 0
                for j in range(more):
                    out_columns[state[2] + j] = out_columns[before + j]
                    out_counts[state[2] + j] = out_counts[before + j]
                state[2] += more
                out_ends[g] = state[2]
                continue
            at[0], at[1], at[2], at[3] = 1, base, 0, 0
            state[4] = 0
            by_size[:] = 0
        root, level, n_touched, n_found = at[1], at[2], at[3], state[4]
        status, bad = DONE, 0
        while True:
            if level == 0:
                if root == last:
                    break
                w, parent, word = root, np.int64(0), np.uint64(0)
            elif cursor[level] == ends[level]:
                # undo the additions of the last node
                for j in range(fresh[level], ends[level]):
                    seen[choices[level - 1, j] - base] = 0
                level -= 1
                if level == 0:
                    seen[root - base] = 0
                    root += 1
                continue
            else:
                w = np.int64(choices[level - 1, cursor[level]])
                parent, word = chain[level], words[level - 1, cursor[level]]
            size = level + 1
            if work > pause:
                status = PAUSED
                break
            if emit and n_found + views > len(found_column):
                status = OUTPUT_FULL
                break
            if size == deepest and level > 0 and not emit:
                # the largest size, which has most subgraphs: nothing grows from these
                begin, end = cursor[level], ends[level]
                if size > 2 and by_size[size] + end - begin > limit:
                    status, bad = TOO_MANY, size
                    break
                j = begin
                while j < end:
                    code, word = node_codes[choices[level - 1, j]], words[level - 1, j]
                    a = (np.uint64(parent) << np.uint64(32)) | np.uint64(code)
                    entry, slot = _look_up(joint, a, word, weak)
                    if entry == 0:
                        work += NEW
                        entry = _new_entry(
                            parent, code, word, size, slot, state, joint, own, meaning, tables, scratch, weak
                        )
                        if entry < 0:
                            break
                    if hits[entry] == 0:
                        touched[n_touched] = entry
                        n_touched += 1
                    hits[entry] += 1
                    j += 1
                by_size[size] += j - begin
                work += j - begin
                cursor[level] = j
                if j < end:
                    status = -entry
                    break
                continue
            code = node_codes[w]
            a = (np.uint64(parent) << np.uint64(32)) | np.uint64(code)
            entry, slot = _look_up(joint, a, word, weak)
            if entry == 0:
                work += NEW
                entry = _new_entry(parent, code, word, size, slot, state, joint, own, meaning, tables, scratch, weak)
                if entry < 0:
                    status = -entry
                    break
            work += 1
            by_size[size] += 1
            if size > 2 and by_size[size] > limit:
                status, bad = TOO_MANY, size
                break
            if hits[entry] == 0:
                touched[n_touched] = entry
                n_touched += 1
            hits[entry] += 1
            if emit:
                n_found = _write_found(n_found, members, level, w, base, entry, own, found_nodes, found_column)
            if level > 0:
                cursor[level] += 1
            if size == deepest:
                if level == 0:
                    root += 1
                continue
            # the node joins; the next candidates are those left and its neighbours that no earlier node added
            count = 0
            if level > 0:
                for j in range(cursor[level], ends[level]):
                    u = choices[level - 1, j]
                    choices[level, count], words[level, count], where[u - base] = u, words[level - 1, j], count
                    count += 1
            else:
                seen[root - base] = 1
            left = count
            shift = np.uint64(EDGE_BITS * level)
            for j in range(first[w], first[w + 1]):
                u = neighbours[j]
                if u > root:
                    more_word = np.uint64(edge_codes[edge_of[j]]) << shift
                    if seen[u - base] == 0:
                        seen[u - base] = 1
                        choices[level, count], words[level, count] = u, more_word
                        count += 1
                    elif where[u - base] < left and choices[level, where[u - base]] == u:
                        words[level, where[u - base]] |= more_word
            members[level] = w
            level = size
            chain[level], fresh[level], ends[level], cursor[level] = entry, left, count, 0
        if status == DONE and state[2] + n_touched * views > len(out_columns):
            status = OUTPUT_FULL
        at[1], at[2], at[3], state[4] = root, level, n_touched, n_found
        if status == TOO_MANY:
            for j in range(n_touched):
                hits[touched[j]] = 0
            seen[: last - base] = 0
            at[0] = 0
        if status != DONE:
            return status, g, bad
        state[2] = _write_counts(n_touched, touched, hits, own, counts, state[2], out_columns, out_counts)
        out_ends[g] = state[2]
        at[0] = 0
    return DONE, stop, 0


@compiled()
def code_node_sets(  # type: ignore[no-untyped-def]
    nodes, done, adjacency, node_codes, edge_codes, state, joint, own, meaning, tables, scratch, out, weak
):
    """Find the column of each set of nodes from ``done`` on, for every view; return where it stopped, and why."""
    first, neighbours, edge_of = adjacency
    for n in range(done, len(nodes)):
        entry = np.int64(0)
        for i in range(nodes.shape[1]):
            word = np.uint64(0)
            for j in range(i):
                edge = _edge_between(first, neighbours, edge_of, nodes[n, i], nodes[n, j])
                if edge >= 0:
                    word |= np.uint64(edge_codes[edge]) << np.uint64(EDGE_BITS * j)
            parent, code = entry, node_codes[nodes[n, i]]
            a = (np.uint64(parent) << np.uint64(32)) | np.uint64(code)
            entry, slot = _look_up(joint, a, word, weak)
            if entry == 0:
                entry = _new_entry(parent, code, word, i + 1, slot, state, joint, own, meaning, tables, scratch, weak)
                if entry < 0:
                    return n, -entry
        for view in range(own.shape[1]):
            out[n, view] = (own[entry, view] & LOWER) - 1
    return len(nodes), np.int64(DONE)


@compiled()
def find_twins(node_offsets, adjacency, node_codes, edge_codes, slots, hashes, twins):  # type: ignore[no-untyped-def]
    """Find the first graph that equals each one node by node, with the same codes and edges."""
    first, neighbours, edge_of = adjacency
    mask = np.uint64(len(slots) - 1)
    for g in range(len(node_offsets) - 1):
        base, last = node_offsets[g], node_offsets[g + 1]
        h = np.uint64(last - base)
        for v in range(base, last):
            h = (h ^ np.uint64(node_codes[v])) * np.uint64(0xC2B2AE3D27D4EB4F)
            h ^= h >> np.uint64(32)
            for j in range(first[v], first[v + 1]):
                if neighbours[j] > v:
                    cell = (np.uint64(neighbours[j] - base) << np.uint64(12)) | np.uint64(edge_codes[edge_of[j]])
                    h = (h ^ cell) * np.uint64(0xBF58476D1CE4E5B9)
        h ^= h >> np.uint64(29)
        hashes[g] = h
        i = h & mask
        twins[g] = g
        while slots[np.int64(i)] >= 0:
            other = slots[np.int64(i)]
            if hashes[other] == h and node_offsets[other + 1] - node_offsets[other] == last - base:
                away = node_offsets[other] - base
                same = True
                for v in range(base, last):
                    degree = first[v + 1] - first[v]
                    if node_codes[v] != node_codes[v + away] or degree != first[v + away + 1] - first[v + away]:
                        same = False
                        break
                    for j in range(degree):
                        here, there = first[v] + j, first[v + away] + j
                        if (
                            neighbours[here] + away != neighbours[there]
                            or edge_codes[edge_of[here]] != edge_codes[edge_of[there]]
                        ):
                            same = False
                            break
                    if not same:
                        break
                if same:
                    twins[g] = other
                    break
            i = (i + np.uint64(1)) & mask
        if twins[g] == g:
            slots[np.int64(i)] = g


@compiled()
def sort_counts(owner, column, counts, starts, level_of, graphs, indptr, indices, data):  # type: ignore[no-untyped-def]
    """Sort counts into one CSR table per level, by rows and columns.

    Args:
        owner, column, counts: graph, column and value of each count.
        starts: where the counts of each column start, ``(columns + 1,)``.
        level_of: the level of each column; a level is a run of columns.
        indptr: output, ``(levels, graphs + 1)``.
        indices, data: output, level by level; columns are numbered within their level.
    """
    fill = starts[:-1].copy()
    rows = np.empty(len(owner), dtype=np.int32)
    values = np.empty_like(counts)
    for j in range(len(owner)):
        i = fill[column[j]]
        fill[column[j]] = i + 1
        rows[i], values[i] = owner[j], counts[j]
        indptr[level_of[column[j]], owner[j] + 1] += 1
    for level in range(len(indptr)):
        for g in range(graphs):
            indptr[level, g + 1] += indptr[level, g]
    first, offset, level = 0, 0, 0
    place = indptr[0].copy()
    for c in range(len(level_of)):
        if level_of[c] != level:
            first, offset, level = c, starts[c], level_of[c]
            for g in range(graphs + 1):
                place[g] = indptr[level, g]
        for j in range(starts[c], starts[c + 1]):
            i = offset + place[rows[j]]
            place[rows[j]] += 1
            indices[i], data[i] = c - first, values[j]


@compiled()
def _neighbourhoods(first, neighbours, edge_of, node_codes, edge_codes, radius, out):  # type: ignore[no-untyped-def]
    """Compute `isonn.subgraphs.enumerate.neighbourhood_codes` into ``out``, ``(radius + 1, 2, nodes)``."""
    n = len(node_codes)
    codes = np.empty((2, 2, n), dtype=np.uint64)  # for this radius and the previous one, low and high half
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
    """List the neighbours of every node in ascending order, from edges (smaller, larger) sorted by both."""
    for e in range(len(ends)):  # first the smaller neighbours, which come in ascending order
        b = ends[e, 1]
        neighbours[fill[b]] = ends[e, 0]
        edge_of[fill[b]] = e
        fill[b] += 1
    for e in range(len(ends)):
        a = ends[e, 0]
        neighbours[fill[a]] = ends[e, 1]
        edge_of[fill[a]] = e
        fill[a] += 1


@compiled()
def _unmark_bridges(first, neighbours, edge_of, on_cycle):  # type: ignore[no-untyped-def]
    """Write False for every bridge (Tarjan 1974, without recursion)."""
    n = len(first) - 1
    order, lowest, via, path = (
        np.full(n, -1, np.int32),
        np.empty(n, np.int32),
        np.empty(n, np.int32),
        np.empty(n, np.int32),
    )
    place, met = first[:-1].copy(), 0
    for root in range(n):
        if order[root] >= 0:
            continue
        order[root] = lowest[root] = met
        via[root], path[0], depth, met = -1, root, 0, met + 1
        while depth >= 0:
            v = path[depth]
            if place[v] < first[v + 1]:
                edge, u = edge_of[place[v]], neighbours[place[v]]
                place[v] += 1
                if edge == via[v]:
                    continue
                if order[u] < 0:
                    order[u] = lowest[u] = met
                    via[u], met, depth = edge, met + 1, depth + 1
                    path[depth] = u
                elif order[u] < lowest[v]:
                    lowest[v] = order[u]
                continue
            depth -= 1
            if depth >= 0:
                before = path[depth]
                lowest[before] = min(lowest[before], lowest[v])
                on_cycle[via[v]] = lowest[v] <= order[before]


Ints = NDArray[np.int64]


class Counter:
    """Tables of the subgraphs found so far, and the kernels that fill them.

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
        twins: the first graph that equals each one node by node, ``(g,)``.
    """

    def __init__(
        self,
        node_offsets: Ints,
        ends: Ints,
        node_codes: Ints,
        edge_codes: Ints,
        sizes: tuple[tuple[int, ...], ...],
        limit: int,
        weak_hash: bool = False,
        by_code: bool = False,
    ) -> None:
        # a copy, because numba compiles the loops again for arrays that are read-only, as those of a GraphSet are
        self.node_offsets = np.array(node_offsets, dtype=np.int64)
        self.limit, self.k = limit, max(k for own in sizes for k in own)
        self._node_codes, node_meaning = joint_codes(node_codes)
        self._edge_codes, edge_meaning = joint_codes(edge_codes)
        self._places: Ints | None = None
        if by_code and node_meaning.size:
            order, self._places = _by_code(self.node_offsets, self._node_codes, node_meaning)
            self._node_codes = self._node_codes[order]
            ends = np.sort(self._places[ends], axis=1)
            sorted_edges = np.argsort(ends[:, 0] * len(order) + ends[:, 1])
            ends, self._edge_codes = ends[sorted_edges], self._edge_codes[sorted_edges]
        self._adjacency = _adjacency(int(node_offsets[-1]), ends)
        self._edge_codes += 1  # 0: no edge
        wanted = np.zeros((len(sizes), MAX_K + 1), dtype=np.bool_)
        for view, own in enumerate(sizes):
            wanted[view, list(own)] = True
        finest = np.array(
            [
                len(np.unique(nodes)) == len(nodes) and len(np.unique(edges)) == len(edges)
                for nodes, edges in zip(node_meaning, edge_meaning, strict=True)
            ]
        )
        self._meaning = node_meaning, np.ascontiguousarray(np.pad(edge_meaning, ((0, 0), (1, 0)))), wanted, finest
        self._weak = np.uint64(0 if weak_hash else 2**64 - 1)
        self._state = np.zeros(6, dtype=np.int64)
        self._state[0] = len(sizes)  # entry v stands for "no node yet" in view v
        self._state[3] = 1  # and entry 0 in all of them
        # small tables for a few graphs, because `explain` counts one at a time; a node adds a few new subgraphs
        size = 1 << max(10, min(16, int(node_offsets[-1]).bit_length()))
        # bits of a packed row; codes are not split between words
        bits = [len(sizes).bit_length() + SIZE_BITS, bits_of(node_meaning), bits_of(self._meaning[1])]
        room, words = 64 - bits[0], 1
        for width in [bits[1]] * self.k + [bits[2]] * (self.k * (self.k - 1) // 2):
            words, room = (words, room - width) if room >= width else (words + 1, 64 - width)
        self._bits = np.array(bits)
        self._joint = np.zeros((2 * size, 3), dtype=np.uint64)
        self._own = np.zeros((size + 1, len(sizes)), dtype=np.int64)
        self._hits, self._touched = (np.zeros(size + 1, dtype=np.int32) for _ in range(2))
        self._entries = np.zeros((2 * size, 3), dtype=np.uint64)
        self._keys = tuple(np.zeros(size + 1, dtype=np.uint64) for _ in range(2))
        self._slots = np.full(2 * size, -1, dtype=np.int32)
        self._columns = np.zeros((size + 1, words), dtype=np.uint64)
        self._counts = np.zeros(size + 1, dtype=np.int32)
        self.twins = np.arange(len(node_offsets) - 1)
        if len(self.twins) > 1:
            slots = np.full(1 << (2 * len(self.twins)).bit_length(), -1, dtype=np.int64)
            hashes = np.zeros(len(self.twins), dtype=np.uint64)
            codes = self._node_codes, self._edge_codes
            find_twins(self.node_offsets, self._adjacency, *codes, slots, hashes, self.twins)

    @property
    def columns(self) -> NDArray[np.uint64]:
        """The distinct subgraphs, packed into words that sort by view, size and codes, ``(columns, words)``."""
        found: NDArray[np.uint64] = self._columns[: int(self._state[1])]
        return found

    def rows(self, columns: NDArray[Any]) -> NDArray[np.int32]:
        """Return view, size and the codes of the canonical row, padded with 0, for each of some columns."""
        rows = np.zeros((len(columns), 2 + self.k * (self.k + 1) // 2), dtype=np.int32)
        unpack(self._columns[columns], self._bits, rows)
        return rows

    def count(
        self, emit: bool = False, stop: threading.Event | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], list[tuple[int, int]]]:
        """Count the subgraphs of all graphs; raise KeyboardInterrupt once ``stop`` is set.

        Args:
            emit: also keep the nodes and column of each subgraph of the last graph, as ``found_nodes`` and
                ``found_columns``.

        Returns:
            The end of each graph's counts, columns, counts, and (graph, size) where there are too many subgraphs to
            list. This size and all larger ones are left out for that graph.
        """
        announce("count subgraphs", count_graphs)
        graphs, nodes = len(self.twins), int(self.node_offsets[-1])
        depths = np.full(graphs, self.k, dtype=np.int64)
        out_columns, out_counts = (np.empty(max(1024, 16 * nodes), dtype=np.int32) for _ in range(2))
        out_ends = np.zeros(graphs, dtype=np.int64)
        longest = int(np.diff(self.node_offsets).max(initial=0))
        search = (
            np.zeros(4, dtype=np.int64),  # whether a graph is in progress, its root, level and entries
            *(np.zeros(MAX_K + 1, dtype=np.int64) for _ in range(6)),
            np.empty((self.k, longest + 1), dtype=np.int32),
            np.empty((self.k, longest + 1), dtype=np.uint64),
            np.zeros(longest, dtype=np.int32),
            np.zeros(longest, dtype=np.uint8),
        )
        self._state[2] = self._state[4] = 0
        room = 1 << 12 if emit else 0
        found = np.empty((room, self.k), dtype=np.int32), np.empty(room, dtype=np.int32)
        scratch = _scratch(self._columns.shape[1])
        skipped: list[tuple[int, int]] = []
        graph = 0
        while graph < graphs:
            if stop is not None and stop.is_set():
                raise KeyboardInterrupt
            status, graph, size = count_graphs(
                graph, graphs, self.limit, PAUSE, self.node_offsets, self._adjacency, self._node_codes,
                self._edge_codes, self.twins, depths, search, self._state, self._joint, self._own, self._hits,
                self._touched, self._meaning, self._tables, scratch, self._counts,
                (out_columns, out_counts, out_ends), emit, found, self._weak,
            )  # fmt: skip
            if status == TOO_MANY:
                alike = np.flatnonzero(self.twins == graph)
                skipped.extend((int(twin), int(size)) for twin in alike)
                depths[alike] = size - 1
            elif status == OUTPUT_FULL:
                out_columns, out_counts = _longer(out_columns), _longer(out_counts)
                if emit:
                    found = _longer(found[0]), _longer(found[1])
            else:
                self._grow(status)
        written, emitted = int(self._state[2]), int(self._state[4])
        if emit:
            self.found_nodes, self.found_columns = found[0][:emitted], found[1][:emitted]
        return out_ends, out_columns[:written], out_counts[:written], sorted(skipped)

    def columns_of(self, nodes: Ints) -> NDArray[np.int32]:
        """Return the column of each set of nodes ``(w, k)``, numbered over all graphs, in each view, ``(w, views)``."""
        nodes = np.ascontiguousarray(nodes if self._places is None else self._places[nodes], dtype=np.int64)
        out = np.empty((len(nodes), self._own.shape[1]), dtype=np.int32)
        scratch = _scratch(self._columns.shape[1])
        done = 0
        while done < len(nodes):
            done, status = code_node_sets(
                nodes, done, self._adjacency, self._node_codes, self._edge_codes, self._state, self._joint, self._own,
                self._meaning, self._tables, scratch, out, self._weak,
            )  # fmt: skip
            self._grow(status)
        return out

    @property
    def _tables(self) -> tuple[Any, ...]:
        return self._entries, *self._keys, self._columns, self._slots, self._bits

    def _grow(self, status: int) -> None:
        """Double the size of the full table."""
        if status == JOINT_FULL:
            old, self._joint = self._joint, np.zeros((2 * len(self._joint), 3), dtype=np.uint64)
            insert_entries(old, self._joint, self._weak)
            self._own, self._hits, self._touched = _longer(self._own), _longer(self._hits), _longer(self._touched)
        elif status == ENTRIES_FULL:
            if self._state[5] * 2 >= len(self._entries):
                old, self._entries = self._entries, np.zeros((2 * len(self._entries), 3), dtype=np.uint64)
                insert_entries(old, self._entries, self._weak)
            if self._state[0] >= len(self._keys[0]):
                self._keys = tuple(map(_longer, self._keys))
        elif status == COLUMNS_FULL:
            self._slots = np.full(2 * len(self._slots), -1, dtype=np.int32)
            insert_columns(int(self._state[1]), self._columns, self._slots, self._weak)
            self._columns, self._counts = _longer(self._columns), _longer(self._counts)


def _scratch(words: int) -> tuple[NDArray[Any], ...]:
    """Allocate the arrays of `_canonical_row`, and the words of its packed row; compiling this would take a second."""
    return (
        np.zeros(2 + MAX_K * (MAX_K + 1) // 2, dtype=np.int32),
        np.zeros(MAX_K, dtype=np.int64),
        np.zeros((MAX_K, MAX_K), dtype=np.int64),
        np.zeros(MAX_K, dtype=np.int64),
        np.zeros(MAX_K * MAX_K, dtype=np.int64),
        np.zeros(MAX_K, dtype=np.bool_),
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


def _by_code(node_offsets: Ints, codes: NDArray[np.int32], meaning: NDArray[np.int32]) -> tuple[Ints, Ints]:
    """Order the nodes of each graph by the view with most codes, largest first; return the order and its inverse."""
    finest = meaning[np.argmax([len(np.unique(own)) for own in meaning])].astype(np.int64)
    rank = np.empty(len(finest), dtype=np.int64)
    rank[np.lexsort((np.arange(len(finest)), -finest))] = np.arange(len(finest))
    owner = np.repeat(np.arange(len(node_offsets) - 1), np.diff(node_offsets))
    order = np.argsort(owner * len(rank) + rank[codes], kind="stable")
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return order, places


def counts_by_level(
    owner: NDArray[np.int32], column: NDArray[np.int32], counts: NDArray[Any], level_of: Ints, levels: int, graphs: int
) -> list[tuple[NDArray[Any], NDArray[np.int32], NDArray[np.int32]]]:
    """Return data, indices and indptr of one CSR table per level; see `sort_counts`."""
    starts = np.concatenate([[0], np.cumsum(np.bincount(column, minlength=len(level_of)))])
    indptr = np.zeros((levels, graphs + 1), dtype=np.int32)
    indices, data = np.empty(len(column), dtype=np.int32), np.empty_like(counts)
    if len(column):
        sort_counts(owner, column, counts, starts, level_of, graphs, indptr, indices, data)
    bounds = np.concatenate([[0], np.cumsum(indptr[:, -1].astype(np.int64))])
    return [(data[a:b], indices[a:b], own) for a, b, own in zip(bounds[:-1], bounds[1:], indptr, strict=True)]


def neighbourhood_codes(ends: Ints, node_codes: Ints, edge_codes: Ints, radius: int) -> Ints:
    """Compute `isonn.subgraphs.enumerate.neighbourhood_codes`, compiled, with the same result."""
    announce("count subgraphs", count_graphs)
    out = np.empty((radius + 1, 2, len(node_codes)), dtype=np.int64)
    first, neighbours, edge_of = _adjacency(len(node_codes), ends)
    _neighbourhoods(first, neighbours, edge_of, node_codes.astype(np.int64), edge_codes.astype(np.int64), radius, out)
    return out


def edges_on_cycles(n: int, ends: Ints) -> NDArray[np.bool_]:
    """Compute `isonn.subgraphs.views.edges_on_cycles`, compiled, in a tenth of the time."""
    on_cycle = np.ones(len(ends), dtype=np.bool_)
    _unmark_bridges(*_adjacency(n, ends), on_cycle)
    return on_cycle


def _adjacency(n: int, ends: Ints) -> tuple[Ints, NDArray[np.int32], NDArray[np.int32]]:
    """Return where the neighbours of each node start, the neighbours, and the edges; ascending if edges are sorted."""
    first = np.concatenate([[0], np.cumsum(np.bincount(ends.ravel(), minlength=n))]).astype(np.int64)
    neighbours, edge_of = (np.empty(len(ends) * 2, dtype=np.int32) for _ in range(2))
    _fill_neighbours(np.ascontiguousarray(ends, dtype=np.int64), first, first[:-1].copy(), neighbours, edge_of)
    return first, neighbours, edge_of
