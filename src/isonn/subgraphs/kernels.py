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
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from isonn.compiled import compiled

#: Bits per edge code in a key; the five earlier nodes of a subgraph of six take 60.
EDGE_BITS = 12
MAX_EDGE_CODE = 2**EDGE_BITS - 1
#: Largest node code: codes are 32-bit integers.
MAX_NODE_CODE = 2**31 - 2
MAX_K, SIZE_BITS = 6, 3
#: Why a kernel stopped before the last graph: to grow a table, to sample subgraphs, or to check for Ctrl-C.
DONE, JOINT_FULL, ENTRIES_FULL, COLUMNS_FULL, OUTPUT_FULL, TOO_MANY, PAUSED = range(7)
#: Number of subgraphs after which a kernel returns (at most a quarter of a second), and the weight of a new one.
PAUSE, NEW = 2_000_000, 64
#: Mask for the lower half of 64 packed bits.
LOWER = np.int64(2**32 - 1)
#: Slots of `Tables.used`: entries of the views, columns, numbers written, joint entries, subgraphs listed, and entries
#: in the views' table.
ENTRIES, COLUMNS, WRITTEN, JOINT, LISTED, IN_TABLE = range(6)


class Graphs(NamedTuple):
    """Graphs as the loops read them.

    Attributes:
        offsets: where the nodes of each graph start, ``(g + 1,)``.
        first, neighbours, edge_of: sorted neighbours of every node, with the number of the edge to each; node v has
            those from ``first[v]`` to ``first[v + 1]``.
        node_codes, edge_codes: joint codes of all views.
        twins: by graph, the first that equals it.
    """

    offsets: Any
    first: Any
    neighbours: Any
    edge_of: Any
    node_codes: Any
    edge_codes: Any
    twins: Any


class Meaning(NamedTuple):
    """The meaning of joint codes in each view.

    Attributes:
        nodes, edges: the view's code of each joint code, ``(views, codes)``.
        wanted: the sizes that the view counts; others need no column.
        finest: whether the view distinguishes everything that all views together do, so that it meets no entry twice.
    """

    nodes: Any
    edges: Any
    wanted: Any
    finest: Any


class Tables(NamedTuple):
    """The subgraphs found so far.

    Attributes:
        joint: hash table of entries of all views together: two words of the key, and the entry.
        views: by joint entry and view, the view's entry in the upper 32 bits and its column plus 1 in the lower.
        entries: hash table of the entries of single views.
        key_a, key_b: the key of each view's entry.
        columns, slots: packed rows of the columns, and their hash table.
        bits: the width of view and size, node and edge in a packed row.
        used: how much of each table is used; see ENTRIES.
        weak: all ones, or 0 to use one bucket for everything.
    """

    joint: Any
    views: Any
    entries: Any
    key_a: Any
    key_b: Any
    columns: Any
    slots: Any
    bits: Any
    used: Any
    weak: Any


class Scratch(NamedTuple):
    """Memory of `_canonical_row` and `_pack`."""

    row: Any
    codes: Any
    pairs: Any
    place: Any
    best: Any
    keys: Any
    ordered: Any
    least: Any
    words: Any


class Search(NamedTuple):
    """Where a search stands, so that it can stop after any visit.

    Attributes:
        running, root, level, touched_count: of the current graph, one number each.
        cursor, ends, fresh: by level, the next candidate, the last, and the first that this level added.
        members, chain: by level, the node and the entry.
        by_size: subgraphs of each size so far.
        choices, words: by level, the candidates and the word of their edges to the nodes so far.
        where, seen: by node, its place among the candidates, and whether it is one.
        hits, touched: by entry, its count in this graph, and the entries with a count.
        counts: by column, all 0 between graphs.
    """

    running: Any
    root: Any
    level: Any
    touched_count: Any
    cursor: Any
    ends: Any
    fresh: Any
    members: Any
    chain: Any
    by_size: Any
    choices: Any
    words: Any
    where: Any
    seen: Any
    hits: Any
    touched: Any
    counts: Any


class Output(NamedTuple):
    """Columns and counts of each graph, the end of its part, and the nodes and column of every subgraph if listed."""

    columns: Any
    counts: Any
    ends: Any
    nodes: Any
    column: Any


@compiled(inline="always")
def _mix(x):  # type: ignore[no-untyped-def]
    """Scramble 64 bits (the finaliser of splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@compiled(inline="always")
def _edge_between(graphs, a, b):  # type: ignore[no-untyped-def]
    """Return the number of the edge between two nodes, or -1; the neighbours of a node are sorted."""
    low, high = graphs.first[a], graphs.first[a + 1]
    while low < high:
        middle = (low + high) // 2
        if graphs.neighbours[middle] < b:
            low = middle + 1
        else:
            high = middle
    if low < graphs.first[a + 1] and graphs.neighbours[low] == b:
        return graphs.edge_of[low]
    return -1


@compiled(inline="always")
def _canonical_row(entry, size, view, tables, scratch):  # type: ignore[no-untyped-def]
    """Write view, size and the smallest row of codes over all permutations into ``scratch.row``."""
    key_a, key_b = tables.key_a, tables.key_b
    row, codes, pairs, place = scratch.row, scratch.codes, scratch.pairs, scratch.place
    best, keys, ordered, least = scratch.best, scratch.keys, scratch.ordered, scratch.least
    at = entry
    for i in range(size - 1, -1, -1):
        codes[i] = np.int64(key_a[at] & np.uint64(0xFFFFFFFF))
        for j in range(i):
            code = np.int64((key_b[at] >> np.uint64(EDGE_BITS * j)) & np.uint64(MAX_EDGE_CODE))
            pairs[i, j] = pairs[j, i] = code
        at = np.int64(key_a[at] >> np.uint64(32))
    row[0], row[1] = view, size
    # node codes ascend in the smallest row
    for i in range(size):
        row[2 + i], keys[0, i] = codes[i], 0
        for j in range(size):
            keys[0, i] += codes[j] < codes[i]
    for i in range(1, size):
        value, j = row[2 + i], i
        while j > 0 and row[1 + j] > value:
            row[2 + j] = row[1 + j]
            j -= 1
        row[2 + j] = value
    # The key of a node is the rank of its code and its pairs with the nodes placed so far, 3 + 5 * EDGE_BITS bits. The
    # next node has the smallest key, and the others follow it in the order of theirs, so a node fixes its row of pairs.
    known = 0  # rows of `best` that are filled
    used = 0
    depth = 0
    place[0], least[0] = -1, 0
    while depth >= 0:
        node = place[depth]
        if node >= 0:
            used &= ~(1 << node)
        node += 1
        while node < size and (used >> node & 1 or keys[depth, node] != least[depth]):
            node += 1
        if node == size:
            depth -= 1
            continue
        place[depth] = node
        used |= 1 << node
        count = 0
        for other in range(size):
            if not used >> other & 1:
                key, j = keys[depth, other] << EDGE_BITS | pairs[node, other], count
                keys[depth + 1, other] = key
                while j > 0 and ordered[j - 1] > key:
                    ordered[j] = ordered[j - 1]
                    j -= 1
                ordered[j] = key
                count += 1
        start, difference = depth * (2 * size - depth - 1) // 2, 0
        if depth < known:
            for j in range(count):
                difference = (ordered[j] & MAX_EDGE_CODE) - best[start + j]
                if difference != 0:
                    break
            if difference > 0:
                continue
        if depth >= known or difference < 0:
            known = depth + 1
            for j in range(count):
                best[start + j] = ordered[j] & MAX_EDGE_CODE
        if count > 1:
            depth += 1
            place[depth], least[depth] = -1, ordered[0]
    for i in range(size * (size - 1) // 2):
        row[2 + size + i] = best[i]


@compiled(inline="always")
def _pack(row, bits, words):  # type: ignore[no-untyped-def]
    """Pack a row of codes into 64-bit words that sort like rows; ``bits`` is the width of view and size, node, edge."""
    size, at, free = row[1], 0, 64 - bits[0]
    for i in range(len(words)):
        words[i] = 0
    words[0] = np.uint64(row[0] << SIZE_BITS | size) << np.uint64(free)
    for i in range(size * (size + 1) // 2):
        width = bits[1] if i < size else bits[2]
        if free < width:
            at, free = at + 1, 64
        free -= width
        words[at] |= np.uint64(row[2 + i]) << np.uint64(free)


@compiled()
def pack_rows(view, size, rows, bits, packed):  # type: ignore[no-untyped-def]
    """Pack canonical rows of one view and size."""
    row = np.zeros(2 + rows.shape[1], np.int32)
    row[0], row[1] = view, size
    for n in range(len(rows)):
        for i in range(rows.shape[1]):
            row[2 + i] = rows[n, i]
        _pack(row, bits, packed[n])


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
def _new_entry(parent, code, word, size, slot, meaning, tables, scratch):  # type: ignore[no-untyped-def]
    """Create an entry of all views together; return minus the status if a table is full.

    Args:
        parent: entry of the subgraph without its last node.
        code, word: codes of the last node, and of its edges to the earlier ones.
        slot: the free row of the joint table for it.
    """
    used, joint, entries = tables.used, tables.joint, tables.entries
    if used[JOINT] * 2 >= len(joint):
        return np.int64(-JOINT_FULL)
    entry = used[JOINT]
    for view in range(len(meaning.wanted)):
        b = np.uint64(0)
        for p in range(size - 1):
            edge = np.int64((word >> np.uint64(EDGE_BITS * p)) & np.uint64(MAX_EDGE_CODE))
            b |= np.uint64(meaning.edges[view, edge]) << np.uint64(EDGE_BITS * p)
        before = tables.views[parent, view] >> 32 if size > 1 else np.int64(view)
        a = (np.uint64(before) << np.uint64(32)) | np.uint64(meaning.nodes[view, code])
        packed, free = np.int64(0), np.int64(0)
        if not meaning.finest[view]:
            packed, free = _look_up(entries, a, b, tables.weak)
        if packed == 0:
            new = used[ENTRIES]
            if new >= len(tables.key_a) or used[IN_TABLE] * 2 >= len(entries):
                return np.int64(-ENTRIES_FULL)
            tables.key_a[new], tables.key_b[new] = a, b
            column = np.int64(-1)
            if meaning.wanted[view, size]:
                _canonical_row(new, size, view, tables, scratch)
                _pack(scratch.row, tables.bits, scratch.words)
                column = _find_column(scratch.words, tables.columns, tables.slots, tables.weak)
                if column < 0:
                    if used[COLUMNS] * 2 >= len(tables.slots):
                        return np.int64(-COLUMNS_FULL)
                    tables.slots[-1 - column] = used[COLUMNS]
                    column = used[COLUMNS]
                    # one by one: for `columns[column] = words` numba compiles a message about shapes, which takes 2 s
                    for i in range(len(scratch.words)):
                        tables.columns[column, i] = scratch.words[i]
                    used[COLUMNS] += 1
            packed = (new << 32) | (column + 1)
            if not meaning.finest[view]:
                entries[free, 0], entries[free, 1], entries[free, 2] = a, b, np.uint64(packed)
                used[IN_TABLE] += 1
            used[ENTRIES] += 1
        tables.views[entry, view] = packed
    joint[slot, 0], joint[slot, 1] = (np.uint64(parent) << np.uint64(32)) | np.uint64(code), word
    joint[slot, 2] = np.uint64(entry)
    used[JOINT] += 1
    return entry


@compiled()
def _write_listed(listed, members, level, last, base, entry, views, output):  # type: ignore[no-untyped-def]
    """Write nodes and column of one subgraph for every view that wants it; return the total number written."""
    for view in range(views.shape[1]):
        column = views[entry, view] & LOWER
        if column > 0:
            for p in range(level):
                output.nodes[listed, p] = members[p] - base
            output.nodes[listed, level] = last - base
            if level + 1 < output.nodes.shape[1]:
                output.nodes[listed, level + 1] = -1
            output.column[listed] = column - 1
            listed += 1
    return listed


@compiled()
def _write_counts(touched_count, search, views, written, output):  # type: ignore[no-untyped-def]
    """Add the counts of a graph's entries to the columns of all views; return where they end."""
    start, counts = written, search.counts
    for j in range(touched_count):
        entry = search.touched[j]
        for view in range(views.shape[1]):
            column = (views[entry, view] & LOWER) - 1
            if column >= 0:
                if counts[column] == 0:
                    output.columns[written] = column
                    written += 1
                counts[column] += search.hits[entry]
        search.hits[entry] = 0
    for j in range(start, written):
        output.counts[j] = counts[output.columns[j]]
        counts[output.columns[j]] = 0
    return written


@compiled()
def count_graphs(start, depths, limits, graphs, meaning, tables, search, output, scratch, emit):  # type: ignore[no-untyped-def]
    """Count the subgraphs of the graphs from ``start`` on; return (status, graph it stopped at, size).

    Args:
        depths: by graph, the largest size to list.
        limits: subgraphs per size (above 2) that a graph may have, and the amount of work after which to return PAUSED.
        emit: also write each subgraph's nodes and column.
    """
    limit, pause = limits
    first, neighbours, edge_of = graphs.first, graphs.neighbours, graphs.edge_of
    node_codes, edge_codes = graphs.node_codes, graphs.edge_codes
    cursor, ends, fresh, members, chain = search.cursor, search.ends, search.fresh, search.members, search.chain
    by_size, choices, words = search.by_size, search.choices, search.words
    where, seen, hits, touched = search.where, search.seen, search.hits, search.touched
    joint, used, weak = tables.joint, tables.used, tables.weak
    views, stop = tables.views.shape[1], len(depths)
    work = 0
    for g in range(start, stop):
        base, last = graphs.offsets[g], graphs.offsets[g + 1]
        deepest = depths[g]
        if search.running[0] == 0:
            twin = graphs.twins[g]
            if twin < g and not emit:
                before = output.ends[twin - 1] if twin > 0 else 0
                more = output.ends[twin] - before
                if used[WRITTEN] + more > len(output.columns):
                    return OUTPUT_FULL, g, 0
                for j in range(more):
                    output.columns[used[WRITTEN] + j] = output.columns[before + j]
                    output.counts[used[WRITTEN] + j] = output.counts[before + j]
                used[WRITTEN] += more
                output.ends[g] = used[WRITTEN]
                continue
            search.running[0], search.root[0], search.level[0], search.touched_count[0] = 1, base, 0, 0
            used[LISTED] = 0
            for j in range(len(by_size)):
                by_size[j] = 0
        root, level = search.root[0], search.level[0]
        n_touched, listed = search.touched_count[0], used[LISTED]
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
            if emit and listed + views > len(output.column):
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
                        entry = _new_entry(parent, code, word, size, slot, meaning, tables, scratch)
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
                entry = _new_entry(parent, code, word, size, slot, meaning, tables, scratch)
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
                listed = _write_listed(listed, members, level, w, base, entry, tables.views, output)
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
        if status == DONE and used[WRITTEN] + n_touched * views > len(output.columns):
            status = OUTPUT_FULL
        search.root[0], search.level[0] = root, level
        search.touched_count[0], used[LISTED] = n_touched, listed
        if status == TOO_MANY:
            for j in range(n_touched):
                hits[touched[j]] = 0
            for j in range(last - base):
                seen[j] = 0
            search.running[0] = 0
        if status != DONE:
            return status, g, bad
        used[WRITTEN] = _write_counts(n_touched, search, tables.views, used[WRITTEN], output)
        output.ends[g] = used[WRITTEN]
        search.running[0] = 0
    return DONE, stop, 0


@compiled()
def move_entries(indptr, indices, data, place, terms, width, ends, columns, values):  # type: ignore[no-untyped-def]
    """Write the entries of a sparse table whose column has a place, at that place, then the terms that are not 0."""
    n = 0
    for i in range(len(ends) - 1):
        for j in range(indptr[i], indptr[i + 1]):
            column = place[indices[j]]
            if column >= 0:
                columns[n], values[n] = column, data[j]
                n += 1
        for t in range(terms.shape[1]):
            if terms[i, t] != 0:
                columns[n], values[n] = width + t, terms[i, t]
                n += 1
        ends[i + 1] = n


@compiled()
def code_node_sets(nodes, done, graphs, meaning, tables, scratch, out):  # type: ignore[no-untyped-def]
    """Find the column of each set of nodes from ``done`` on, for every view; return where it stopped, and why."""
    for n in range(done, len(nodes)):
        entry = np.int64(0)
        for i in range(nodes.shape[1]):
            word = np.uint64(0)
            for j in range(i):
                edge = _edge_between(graphs, nodes[n, i], nodes[n, j])
                if edge >= 0:
                    word |= np.uint64(graphs.edge_codes[edge]) << np.uint64(EDGE_BITS * j)
            parent, code = entry, graphs.node_codes[nodes[n, i]]
            a = (np.uint64(parent) << np.uint64(32)) | np.uint64(code)
            entry, slot = _look_up(tables.joint, a, word, tables.weak)
            if entry == 0:
                entry = _new_entry(parent, code, word, i + 1, slot, meaning, tables, scratch)
                if entry < 0:
                    return n, -entry
        for view in range(tables.views.shape[1]):
            out[n, view] = (tables.views[entry, view] & LOWER) - 1
    return len(nodes), np.int64(DONE)


@compiled()
def find_twins(graphs, slots, hashes):  # type: ignore[no-untyped-def]
    """Find the first graph that equals each one node by node, with the same codes and edges."""
    node_offsets, first, neighbours, edge_of, node_codes, edge_codes, twins = graphs
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
