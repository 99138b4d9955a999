"""Which edges lie on cycles, and the neighbours of nodes, by compiled loops."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from isonn.compiled import compiled


@compiled()
def _fill_neighbours(ends, first, fill, unsorted, neighbours, edge_of):  # type: ignore[no-untyped-def]
    """List the neighbours of every node in ascending order; ``fill`` holds two copies of where the lists start."""
    for e in range(len(ends)):
        for side in range(2):
            node = ends[e, side]
            unsorted[fill[0, node]] = e
            fill[0, node] += 1
    for node in range(len(first) - 1):  # each node joins the lists of its neighbours, in the order of nodes
        for i in range(first[node], first[node + 1]):
            e = unsorted[i]
            other = ends[e, 0] + ends[e, 1] - node
            neighbours[fill[1, other]] = node
            edge_of[fill[1, other]] = e
            fill[1, other] += 1


@compiled()
def _unmark_bridges(first, neighbours, edge_of, place, work, on_cycle):  # type: ignore[no-untyped-def]
    """Write False for every bridge (Tarjan 1974, without recursion); compiling allocations would take half a second.

    Args:
        place: a copy of ``first``.
        work: four numbers for every node, -1 at first.
    """
    n = len(first) - 1
    order, lowest, via, path = work[0], work[1], work[2], work[3]
    met = 0
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


def edges_on_cycles(n: int, ends: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether each edge of an undirected graph lies on a cycle, ``(m,)``; all other edges are bridges.

    Example:
        >>> edges_on_cycles(4, np.array([[0, 1], [0, 2], [1, 2], [2, 3]])).tolist()
        [True, True, True, False]
    """
    on_cycle = np.ones(len(ends), dtype=np.bool_)
    first, neighbours, edge_of = adjacency_of(n, ends)
    _unmark_bridges(first, neighbours, edge_of, first.copy(), np.full((4, n), -1, dtype=np.int32), on_cycle)
    return on_cycle


def adjacency_of(n: int, ends: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Return where the neighbours of each node start, the neighbours, ascending, and the edges to them."""
    first = np.concatenate([[0], np.cumsum(np.bincount(ends.ravel(), minlength=n))]).astype(np.int64)
    unsorted, neighbours, edge_of = (np.empty(len(ends) * 2, dtype=np.int32) for _ in range(3))
    fill = np.stack([first[:-1], first[:-1]])
    _fill_neighbours(np.ascontiguousarray(ends, dtype=np.int64), first, fill, unsorted, neighbours, edge_of)
    return first, neighbours, edge_of
