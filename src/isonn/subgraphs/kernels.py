"""Compiled loops: list the connected subgraphs of many graphs, give equal ones one column, count them.

One pass of ESU (Wernicke 2006) over a graph visits every connected induced subgraph of 1 to k nodes once, because a
subgraph of size s is an inner node of the search for larger ones. Every candidate node is kept with a word of its edges
to the nodes so far, which is updated when a node joins. The subgraphs of the largest size, which are the majority,
therefore cost one table lookup each and never touch the graph.

Each visit adds one node to its parent, so a subgraph is identified by its parent's number, the code of the new node and
that word. These fit into 128 bits and are looked up in a hash table that compares them in full. Equal entries are equal
subgraphs with nodes in the same order, and a hash collision costs an extra step but never a wrong count. All views are
coded together, so one lookup serves them all. `name_entries` then computes the canonical form of each new entry in each
view, packs it into as few words as its codes need, and looks it up among the columns, which are also compared in full.
`add_counts` adds the counts of entries to the columns of the views.

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
#: Why `count_graphs` stopped before the last graph: to grow a table, to sample subgraphs, or to check for Ctrl-C.
DONE, ENTRIES_FULL, OUTPUT_FULL, TOO_MANY, PAUSED = range(5)
#: Number of subgraphs after which it returns (at most a quarter of a second), and the weight of a new one.
PAUSE, NEW = 2_000_000, 64
#: Slots of `Tables.used`, of a row of `Tables.table` after its key, and of `Search.state`.
ENTRIES, COLUMNS = range(2)
ENTRY = 2
RUNNING, LEVEL, TOUCHED, LISTED, WRITTEN = range(5)


class Graphs(NamedTuple):
    """Graphs as the loops read them.

    Attributes:
        offsets: where the nodes of each graph start, ``(g + 1,)``.
        first, neighbours, edge_of: sorted neighbours of every node, with the number of the edge to each; node v has
            those from ``first[v]`` to ``first[v + 1]``.
        node_codes, edge_codes: joint codes of all views.
    """

    offsets: Any
    first: Any
    neighbours: Any
    edge_of: Any
    node_codes: Any
    edge_codes: Any


class Meaning(NamedTuple):
    """The meaning of joint codes in each view.

    Attributes:
        nodes, edges: the view's code of each joint code, ``(views, codes)``.
        wanted: the sizes that the view counts; others need no column.
    """

    nodes: Any
    edges: Any
    wanted: Any


class Tables(NamedTuple):
    """The subgraphs found so far.

    Attributes:
        keys: the key of each entry, two words.
        table: hash table of the entries: the key, and the entry.
        columns_of: the column of each entry in each view, or -1.
        columns, column_slots: packed rows of the columns, and their hash table.
        bits: the width of view and size, node and edge in a packed row.
        used: number of entries and of columns.
        weak: all ones, or 0 to use one bucket for everything.
    """

    keys: Any
    table: Any
    columns_of: Any
    columns: Any
    column_slots: Any
    bits: Any
    used: Any
    weak: Any


class Scratch(NamedTuple):
    """Memory of `name_entries`: numbers by node, by pair of nodes, and by step of the search for an order."""

    joint: Any
    links: Any
    codes: Any
    pairs: Any
    keys: Any
    place: Any
    least: Any
    ordered: Any
    best: Any
    order: Any
    words: Any


class Search(NamedTuple):
    """Where a search stands, so that it can stop after any visit.

    Attributes:
        state: see RUNNING.
        cursor, ends, fresh: by level, the next candidate, the last, and the first that this level added.
        members, chain: by level, the node and the entry of the nodes before it.
        by_size: subgraphs of each size so far.
        choices, words: by level, the candidates and the word of their edges to the nodes so far.
        where, seen: by node, its place among the candidates, and whether it is one.
        hits, touched: by entry, its count in this graph, and the entries with a count.
    """

    state: Any
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


class Output(NamedTuple):
    """Entries and counts of each graph, the end of its part, and the nodes and entry of every subgraph if listed."""

    entries: Any
    counts: Any
    ends: Any
    nodes: Any
    listed: Any


@compiled()
def _stir(h, word):  # type: ignore[no-untyped-def]
    """Add a word to a hash."""
    h = (h ^ word) * np.uint64(0xBF58476D1CE4E5B9)
    return h ^ (h >> np.uint64(32))


@compiled()
def insert_rows(start, stop, rows, slots, weak):  # type: ignore[no-untyped-def]
    """Insert some rows into an empty hash table of their numbers, -1 where there is none."""
    mask = np.uint64(len(slots) - 1)
    for n in range(start, stop):
        i = np.uint64(0)
        for j in range(rows.shape[1]):
            i = _stir(i, rows[n, j])
        i &= mask & weak
        while slots[i] >= 0:
            i = (i + np.uint64(1)) & mask
        slots[i] = n


@compiled()
def _look_up(keys, table, used, weak, parent, code, word):  # type: ignore[no-untyped-def]
    """Return the number of an entry, which may be new, or 0 if the table is full."""
    a = (np.uint64(parent) << np.uint64(32)) | np.uint64(code)
    mask = np.uint64(len(table) - 1)
    i = _stir(_stir(np.uint64(0), a), word) & mask & weak
    entry = np.int64(table[i, ENTRY])
    while entry != 0 and (table[i, 0] != a or table[i, 1] != word):
        i = (i + np.uint64(1)) & mask
        entry = np.int64(table[i, ENTRY])
    if entry == 0 and used[ENTRIES] < len(keys):
        entry = used[ENTRIES]
        used[ENTRIES] += 1
        keys[entry, 0], keys[entry, 1] = a, word
        table[i, 0], table[i, 1], table[i, ENTRY] = a, word, entry
    return entry


@compiled()
def count_graphs(start, depths, limits, graphs, tables, search, output, emit):  # type: ignore[no-untyped-def]
    """Count the subgraphs of the graphs from ``start`` on; return (status, graph it stopped at, size).

    Args:
        depths: by graph, the largest size to list.
        limits: subgraphs per size (above 2) that a graph may have, and the amount of work after which to return PAUSED.
        emit: also write each subgraph's nodes and entry.
    """
    limit, pause = limits
    # arrays are taken from their tuples here, because numba counts a reference each time
    keys, table, used, weak = tables.keys, tables.table, tables.used, tables.weak
    offsets, first, neighbours, edge_of, node_codes, edge_codes = graphs
    entries, counts, graph_ends, nodes, listed = output
    state, cursor, ends, fresh, members, chain, by_size, choices, words, where, seen, hits, touched = search
    work, before = 0, used[ENTRIES]
    for g in range(start, len(depths)):
        base, n = offsets[g], offsets[g + 1] - offsets[g]
        if state[RUNNING] == 0:
            state[RUNNING], state[LEVEL], state[TOUCHED], state[LISTED] = 1, 0, 0, 0
            for j in range(len(by_size)):
                by_size[j] = 0
            for j in range(n):
                choices[0, j], words[0, j], seen[j] = base + j, 0, 0
            cursor[0], ends[0], fresh[0], chain[0] = 0, n, n, 0
        level, met, written, status = state[LEVEL], state[TOUCHED], state[WRITTEN], DONE
        size = level + 1
        while level >= 0:
            j, end = cursor[level], ends[level]
            if j == end:  # undo the additions of the last node
                for i in range(fresh[level], end):
                    seen[choices[level, i] - base] = 0
                level -= 1
                continue
            size = level + 1
            # nothing grows from the largest size, which has most subgraphs
            stop = end if size == depths[g] else j + 1
            if work + NEW * (used[ENTRIES] - before) > pause:
                status = PAUSED
                break
            if emit and state[LISTED] + stop - j > len(listed):
                status = OUTPUT_FULL
                break
            if size > 2 and by_size[size] + stop - j > limit:
                status = TOO_MANY
                break
            w, entry = np.int64(0), np.int64(0)
            while j < stop:
                w = np.int64(choices[level, j])
                entry = _look_up(keys, table, used, weak, chain[level], node_codes[w], words[level, j])
                if entry == 0:
                    status = ENTRIES_FULL
                    break
                if hits[entry] == 0:
                    touched[met] = entry
                    met += 1
                hits[entry] += 1
                if emit:
                    members[level] = w
                    for p in range(nodes.shape[1]):
                        nodes[state[LISTED], p] = members[p] - base if p < size else -1
                    listed[state[LISTED]] = entry
                    state[LISTED] += 1
                j += 1
            by_size[size] += j - cursor[level]
            work += j - cursor[level]
            cursor[level] = j
            if status != DONE:
                break
            if size == depths[g]:
                continue
            # the node joins; the next candidates are those left and its neighbours that no earlier node added
            count = 0
            if level > 0:
                for i in range(j, end):
                    u = choices[level, i]
                    choices[size, count], words[size, count], where[u - base] = u, words[level, i], count
                    count += 1
            else:
                seen[w - base] = 1
            left, root, shift = count, choices[0, cursor[0] - 1], np.uint64(EDGE_BITS * level)
            for i in range(first[w], first[w + 1]):
                u = neighbours[i]
                if u > root:
                    edge = np.uint64(edge_codes[edge_of[i]]) << shift
                    if seen[u - base] == 0:
                        seen[u - base] = 1
                        choices[size, count], words[size, count] = u, edge
                        count += 1
                    elif where[u - base] < left and choices[size, where[u - base]] == u:
                        words[size, where[u - base]] |= edge
            members[level] = w
            level = size
            chain[level], fresh[level], ends[level], cursor[level] = entry, left, count, 0
        if status == DONE and written + met > len(entries):
            status = OUTPUT_FULL
        state[LEVEL], state[TOUCHED] = level, met
        if status in (DONE, TOO_MANY):  # then it starts again
            state[RUNNING] = 0
            for j in range(met):
                if status == DONE:
                    entries[written], counts[written] = touched[j], hits[touched[j]]
                    written += 1
                hits[touched[j]] = 0
            graph_ends[g] = state[WRITTEN] = written
        if status != DONE:
            return status, g, size
    return DONE, len(depths), 0


@compiled()
def code_node_sets(nodes, done, graphs, tables, out):  # type: ignore[no-untyped-def]
    """Find the entry of each set of nodes from ``done`` on; return where it stopped because the table was full."""
    keys, table, used, weak = tables.keys, tables.table, tables.used, tables.weak
    _, first, neighbours, edge_of, node_codes, edge_codes = graphs
    for n in range(done, len(nodes)):
        entry = np.int64(0)
        for i in range(nodes.shape[1]):
            word, node = np.uint64(0), nodes[n, i]
            for j in range(i):
                low, high = first[node], first[node + 1]
                while low < high:  # neighbours are sorted
                    middle = (low + high) // 2
                    if neighbours[middle] < nodes[n, j]:
                        low = middle + 1
                    else:
                        high = middle
                if low < first[node + 1] and neighbours[low] == nodes[n, j]:
                    word |= np.uint64(edge_codes[edge_of[low]]) << np.uint64(EDGE_BITS * j)
            entry = _look_up(keys, table, used, weak, entry, node_codes[node], word)
            if entry == 0:
                return n
        out[n] = entry
    return len(nodes)


@compiled()
def _search_order(size, pairs, keys, place, least, ordered, best, order):  # type: ignore[no-untyped-def]
    """Write the order of nodes with the smallest row of codes over all permutations; ``keys[0]`` are ranks of codes."""
    # The key of a node is the rank of its code and its pairs with the nodes placed so far, 3 + 5 * EDGE_BITS bits. The
    # next node has the smallest key, and the others follow it in the order of theirs, so a node fixes its row of pairs.
    filled, used, depth = 0, 0, 0  # rows of `best` that are filled, nodes that are placed
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
                place[depth + 1] = other  # if it is the only one, it is the last
                key, j = keys[depth, other] << EDGE_BITS | pairs[node, other], count
                keys[depth + 1, other] = key
                while j > 0 and ordered[j - 1] > key:
                    ordered[j] = ordered[j - 1]
                    j -= 1
                ordered[j] = key
                count += 1
        start, difference = depth * (2 * size - depth - 1) // 2, 0
        if depth < filled:
            for j in range(count):
                difference = (ordered[j] & MAX_EDGE_CODE) - best[start + j]
                if difference != 0:
                    break
            if difference > 0:
                continue
        if depth >= filled or difference < 0:
            filled = depth + 1
            for j in range(count):
                best[start + j] = ordered[j] & MAX_EDGE_CODE
        if count > 1:
            depth += 1
            place[depth], least[depth] = -1, ordered[0]
        else:
            for j in range(size):
                order[j] = place[j]


@compiled()
def name_entries(start, stop, meaning, tables, scratch):  # type: ignore[no-untyped-def]
    """Find the columns of entries in all views; return where it stopped because there is no room for columns."""
    keys, _, columns_of, columns, slots, bits, used, weak = tables
    joint, links, codes, pairs, ranks, place, least, ordered, best, order, words = scratch
    of_node, of_edge, wanted = meaning
    for entry in range(start, stop):
        size, at = 0, np.int64(entry)
        while at > 0:  # the last node first
            joint[size], links[size] = keys[at, 0] & np.uint64(0xFFFFFFFF), keys[at, 1]
            at = np.int64(keys[at, 0] >> np.uint64(32))
            size += 1
        for view in range(len(wanted)):
            columns_of[entry, view] = -1
            if not wanted[view, size]:
                continue
            for i in range(size):
                codes[i] = of_node[view, joint[i]]
                for j in range(i + 1, size):
                    edge = links[i] >> np.uint64(EDGE_BITS * (size - 1 - j)) & np.uint64(MAX_EDGE_CODE)
                    pairs[i, j] = pairs[j, i] = of_edge[view, edge]
            for i in range(size):
                ranks[0, i] = 0
                for j in range(size):
                    ranks[0, i] += codes[j] < codes[i]
            _search_order(size, pairs, ranks, place, least, ordered, best, order)
            # pack the row into words that sort like rows
            for i in range(len(words)):
                words[i] = 0
            word, free = 0, 64 - bits[0]
            words[0] = np.uint64(view << SIZE_BITS | size) << np.uint64(free)
            for i in range(-1, size):  # nodes, then pairs
                for j in range(i + 1, size):
                    width, code = (bits[1], codes[order[j]]) if i < 0 else (bits[2], pairs[order[i], order[j]])
                    if free < width:
                        word, free = word + 1, 64
                    free -= width
                    words[word] |= np.uint64(code) << np.uint64(free)
            h = np.uint64(0)
            for i in range(len(words)):
                h = _stir(h, words[i])
            mask = np.uint64(len(slots) - 1)
            h &= mask & weak
            column = np.int64(slots[h])
            while column >= 0:
                same = True
                for i in range(len(words)):
                    same &= columns[column, i] == words[i]
                if same:
                    break
                h = (h + np.uint64(1)) & mask
                column = np.int64(slots[h])
            if column < 0:
                column = used[COLUMNS]
                if column == len(columns):
                    return entry
                used[COLUMNS] += 1
                slots[h] = column
                # one by one: for `columns[column] = words` numba compiles a message about shapes, which takes 2 s
                for i in range(len(words)):
                    columns[column, i] = words[i]
            columns_of[entry, view] = column
    return stop


@compiled()
def add_counts(entries, hits, columns_of, sums, ends, columns, counts):  # type: ignore[no-untyped-def]
    """Add the counts of each graph's entries to the columns of all views; return how many were written.

    Args:
        entries, hits: entries and their counts.
        sums: by column, all 0 before and after.
        ends: where the part of each graph ends among the entries, and afterwards among the columns.
        columns, counts: to write to.
    """
    at, written = 0, 0
    for g in range(len(ends)):
        start = written
        for j in range(at, ends[g]):
            for view in range(columns_of.shape[1]):
                column = columns_of[entries[j], view]
                if column >= 0:
                    if sums[column] == 0:
                        columns[written] = column
                        written += 1
                    sums[column] += hits[j]
        for j in range(start, written):
            counts[j] = sums[columns[j]]
            sums[columns[j]] = 0
        at, ends[g] = ends[g], written
    return written


@compiled()
def move_entries(indptr, indices, data, place, scales, terms, rows, ends, columns, values):  # type: ignore[no-untyped-def]
    """Write the entries whose column has a place, at that place and scaled, then the terms that are not 0."""
    n = 0
    for i in range(len(ends)):
        ends[i] = n
        if not rows[i]:
            continue
        for j in range(indptr[i], indptr[i + 1]):
            column = place[indices[j]]
            if column >= 0:
                columns[n], values[n] = column, data[j] * scales[column]
                n += 1
        for t in range(terms.shape[1]):
            if terms[i, t] != 0:
                columns[n], values[n] = len(scales) + t, terms[i, t]
                n += 1
        ends[i] = n
