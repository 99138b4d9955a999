"""The most frequent subgraphs of a set, mined by gBolt (fast-gspan) and matched by VF2 (igraph)."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from isonn.baselines.shapes import Shape
from isonn.errors import MissingDependencyError, naming_the_extra

#: gBolt stores every place where a pattern occurs. Patterns with more places than this (its own constant), and their
#: extensions, are missing from its output. This happens for 4 nodes in a brain of 90 nodes and 400 edges.
MAX_PLACES = 500_000


@dataclass(frozen=True)
class Pattern:
    """A connected graph that occurs, as a subgraph, in ``support`` training graphs.

    Attributes:
        labels: the label number of each node.
        edges: the edges, each once.
    """

    support: int
    labels: tuple[int, ...]
    edges: tuple[tuple[int, int], ...]


class Mined(NamedTuple):
    """The most frequent patterns in order, and why others may be missing, or None."""

    patterns: list[Pattern]
    stopped: str | None


def mine(
    shapes: Sequence[Shape], n_patterns: int, support: int, min_nodes: int, max_nodes: int, time_limit: float
) -> Mined:
    """Mine the ``n_patterns`` most frequent patterns that occur in at least ``support`` graphs.

    Sizes are mined in increasing order, and ties go to the smaller pattern. So a pattern of the next size counts only
    if it is more frequent than the last of the ``n_patterns`` found so far. This bound rises with each size and keeps
    mining short. gBolt runs in a separate process. At the time limit it is stopped, and the patterns of the completed
    sizes are returned.
    """
    deadline = time.monotonic() + time_limit
    best: list[Pattern] = []
    for size in range(min_nodes, max_nodes + 1):
        if len(best) == n_patterns:
            support = max(support, best[-1].support + 1)
        if support > len(shapes):
            return Mined(best, None)
        left = deadline - time.monotonic()
        all_found = _patterns_up_to(shapes, size, support, left) if left > 0 else None
        died = not all_found and any(pattern.support >= support for pattern in best)  # gBolt ran out of memory
        if all_found is None or died:
            return Mined(best, f"gBolt was stopped at patterns of {size} nodes, limit {time_limit:g} s")
        new = [pattern for pattern in all_found if len(pattern.labels) == size]
        best = sorted(best + new, key=_rank)[:n_patterns]
        if _count_walks(shapes, size) > MAX_PLACES:
            return Mined(
                best, f"some patterns of {size} nodes may occur in more than {MAX_PLACES} places, gBolt's limit"
            )
        if not new:
            break  # a larger pattern contains one of this size, at least as frequent
    return Mined(best, None)


def presence(shapes: Sequence[Shape], patterns: Sequence[Pattern]) -> NDArray[np.float64]:
    """Return 1 where a graph contains a pattern as a subgraph, induced or not, shape (shapes, patterns)."""
    import igraph

    wanted = [(igraph.Graph(len(p.labels), p.edges), list(p.labels)) for p in patterns]
    held: NDArray[np.float64] = np.zeros((len(shapes), len(wanted)))
    for i, shape in enumerate(shapes):
        graph, colors = igraph.Graph(len(shape.labels), shape.edges.tolist()), shape.labels.tolist()
        for j, (pattern, pattern_colors) in enumerate(wanted):
            held[i, j] = graph.subisomorphic_vf2(pattern, color1=colors, color2=pattern_colors)
    return held


def _rank(pattern: Pattern) -> tuple[Any, ...]:
    return -pattern.support, len(pattern.labels), len(pattern.edges), pattern.labels, pattern.edges


def _patterns_up_to(shapes: Sequence[Shape], size: int, support: int, seconds: float) -> list[Pattern] | None:
    """Return all patterns of at most ``size`` nodes with that support, or None if gBolt was stopped."""
    with naming_the_extra("FrequentClassifier"):
        import fast_gspan
        import networkx
    graphs = []
    for shape in shapes:
        graph = networkx.Graph()
        graph.add_nodes_from((node, {"label": label}) for node, label in enumerate(shape.labels.tolist()))
        graph.add_edges_from(shape.edges.tolist())
        graphs.append(graph)
    # gBolt rounds the share it is given; half a graph less is safe.
    try:
        wrapper = fast_gspan.GBoltWrapper(min_support=support - 0.5, max_vertices=size, num_threads=1, timeout=seconds)
    except RuntimeError as error:
        raise MissingDependencyError(f"the gBolt of fast-gspan does not run here: {error}") from error
    try:
        mined = wrapper.mine_frequent_subgraphs(graphs)
    except RuntimeError as error:
        if isinstance(error.__context__, (subprocess.TimeoutExpired, RuntimeWarning)):
            return None
        raise
    return [
        Pattern(
            support=pattern["support"],
            labels=tuple(label for _, label in sorted(pattern["vertices"])),
            edges=tuple((source, target) for source, target, _ in pattern["edges"]),
        )
        for pattern in mined
        if pattern["support"] >= support
    ]


def _count_walks(shapes: Sequence[Shape], size: int) -> float:
    """Count non-backtracking walks of ``size`` nodes in all graphs, which estimates how often a pattern can occur."""
    total = 0.0
    for shape in shapes:
        n = len(shape.labels)
        if len(np.unique(shape.labels)) == n:
            total += 1  # if all labels differ, a pattern occurs at most once
            continue
        half = coo_array((np.ones(len(shape.edges)), (shape.edges[:, 0], shape.edges[:, 1])), shape=(n, n)).tocsr()
        adjacency = half + half.T
        before, walks = np.zeros(n), np.ones(n)
        degree = adjacency @ walks
        for step in range(size - 1):
            turning_back = degree if step == 1 else degree - 1
            before, walks = walks, adjacency @ walks - turning_back * before
        total += float(walks.sum())
    return total
