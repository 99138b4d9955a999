"""Layout of graph drawings: a graph looks the same for any node numbers.

Nodes are first put into a canonical order (BLISS, in igraph), which depends only on the graph and its labels. All
further steps start from this order and are deterministic.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from isonn.graphs import isomorphism
from isonn.graphs.graph import Graph

Points = NDArray[np.float64]

#: Steps of majorisation; for molecules the picture stops changing visibly after about half as many.
_STEPS = 100
#: Largest ring drawn as a regular polygon.
_RING = 8
#: Space between unconnected components of a graph, in bonds.
_GAP = 1.6


def layout(graph: Graph) -> Points:
    """Return positions of shape (n, 2), with edges about 1 long, the longest direction horizontal, and centre 0.

    Example:
        >>> triangle = isonn.as_graphset([np.ones((3, 3)) - np.eye(3)])[0]
        >>> x, y = layout(triangle).T
        >>> [round(float(np.hypot(x[i] - x[j], y[i] - y[j])), 3) for i, j in ((0, 1), (1, 2), (0, 2))]
        [1.0, 1.0, 1.0]
    """
    import igraph

    order = canonical_order(graph)
    place = np.empty(graph.n, dtype=np.int64)
    place[order] = np.arange(graph.n)
    links = {(min(a, b), max(a, b)) for a, b in place[graph.edges].tolist() if a != b}
    whole = igraph.Graph(n=graph.n, edges=sorted(links))
    components = sorted(whole.connected_components(), key=lambda component: (-len(component), component[0]))
    placed = np.zeros((graph.n, 2))
    points = _packed([_connected(whole.induced_subgraph(component)) for component in components])
    for component, positions in zip(components, points, strict=True):
        placed[component] = positions
    placed -= (placed.max(axis=0) + placed.min(axis=0)) / 2
    return placed[place]


def canonical_order(graph: Graph) -> NDArray[np.int64]:
    """Return an order of the nodes that does not depend on node numbering, but on node and edge labels."""
    node_colours = _colours(None if graph.node_labels is None else graph.node_labels.tolist(), graph.n)
    cells = graph.edges.tolist()
    marks: list[Any] = [
        (
            None if graph.weights is None else round(float(graph.weights[i]), 6),
            None if graph.edge_labels is None else graph.edge_labels[i : i + 1].tolist(),
            row == column,
        )
        for i, (row, column) in enumerate(cells)
    ]
    # BLISS only colours nodes, so each cell becomes a node with its own colour between its row and its column.
    # Directions are marked by two such nodes, one for each end.
    kinds = _colours(marks, len(cells))
    first = 1 + max(node_colours, default=0)
    number = 1 + max(kinds, default=0)
    colours = [*node_colours, *(first + kind for kind in kinds), *(first + number + kind for kind in kinds)]
    links = []
    for i, (row, column) in enumerate(cells):
        tail, head = graph.n + i, graph.n + len(cells) + i
        links += [(row, tail), (tail, head), (head, column)]
    return isomorphism.canonical_order(graph.n, links, colours)


def _colours(values: list[Any] | None, n: int) -> list[int]:
    """Return the rank of each value's text, which is the same in every graph with the same values."""
    if values is None:
        return [0] * n
    rank = {text: i for i, text in enumerate(sorted({repr(value) for value in values}))}
    return [rank[repr(value)] for value in values]


def _connected(graph: Any) -> Points:
    """Return positions of a connected graph whose distances follow distances in the graph (stress)."""
    n = graph.vcount()
    if n == 1:
        return np.zeros((1, 2))
    target, weight = _targets(graph)
    # Majorisation of the stress (SMACOF): each step solves a weighted Laplacian system.
    laplacian = -weight.copy()
    np.fill_diagonal(laplacian, weight.sum(axis=1))
    inverse = np.linalg.inv(laplacian + 1 / n)

    def relaxed(points: Points, steps: int) -> Points:
        for _ in range(steps):
            between = cdist(points, points)
            pull = -weight * target / np.maximum(between, 1e-9)
            np.fill_diagonal(pull, 0.0)
            np.fill_diagonal(pull, -pull.sum(axis=1))
            points = inverse @ (pull @ points)
        return points

    def stress(points: Points) -> float:
        return float((weight * (cdist(points, points) - target) ** 2).sum())

    # From a symmetric start a ring may end up twisted, so several starts run for a while and the best one continues.
    tries = [relaxed(_start(target, spread), _STEPS // 4) for spread in (0.05, 0.4, 1.0)]
    points = relaxed(min(tries, key=stress), _STEPS)
    return _turned(points)


def _targets(graph: Any) -> tuple[Points, Points]:
    """Return the target distances of nodes, and their weights."""
    steps = np.array(graph.distances(), dtype=float)
    # Two bonds at 120 degrees span 1.73, and each further bond of a zigzag adds 0.87.
    target = np.where(steps <= 1, steps, math.sqrt(3) + 0.87 * (steps - 2))
    weight = np.zeros_like(steps)
    np.divide(1.0, steps**2, out=weight, where=steps > 0)
    if graph.vcount() <= 300:
        for ring in _rings(graph):
            size = len(ring)
            for a in range(size):
                for b in range(a):
                    gap = min(a - b, size - a + b)
                    chord = math.sin(math.pi * gap / size) / math.sin(math.pi / size)
                    i, j = ring[a], ring[b]
                    target[i, j] = target[j, i] = chord
                    weight[i, j] = weight[j, i] = max(weight[i, j], 1.0)
    return target, weight


def _rings(graph: Any) -> list[list[int]]:
    """Return small rings that share at most one bond with another, as their nodes in order; none in dense graphs."""
    if graph.ecount() > 1.5 * graph.vcount():
        return []
    rings = []
    for edges in graph.minimum_cycle_basis():
        if len(edges) > _RING:
            continue
        near: dict[int, list[int]] = {}
        for a, b in (graph.es[edge].tuple for edge in edges):
            near.setdefault(a, []).append(b)
            near.setdefault(b, []).append(a)
        ring = [min(near)]
        while len(ring) < len(near):
            ring.append(next(node for node in sorted(near[ring[-1]]) if node not in ring))
        rings.append(ring)
    return rings


def _start(target: Points, spread: float) -> Points:
    """Return classical scaling, with coincident nodes moved apart in canonical order."""
    n = len(target)
    centre = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-0.5 * centre @ target**2 @ centre)
    points = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0))
    if n == 2:
        return np.array([[0.0, 0.0], [1.0, 0.0]])
    angle = 2 * np.pi * np.arange(n) / n
    return np.asarray(_signed(points) + spread * np.column_stack([np.cos(angle), np.sin(angle)]))


def _turned(points: Points) -> Points:
    """Rotate so that the longest direction is horizontal."""
    points = points - points.mean(axis=0)
    _, axes = np.linalg.eigh(points.T @ points)
    return _signed(points @ axes[:, ::-1])


def _signed(points: Points) -> Points:
    """Mirror so that the first node off an axis is on its positive side, as eigenvectors have no sign."""
    for axis in range(points.shape[1]):
        away = np.flatnonzero(np.abs(points[:, axis]) > 1e-6 * max(1.0, float(np.abs(points).max())))
        if len(away) and points[away[0], axis] < 0:
            points[:, axis] *= -1
    return points


def _packed(components: list[Points]) -> list[Points]:
    """Arrange components in rows about as wide as the page."""
    boxes = [(component.min(axis=0), np.ptp(component, axis=0) + _GAP) for component in components]
    area = sum(float(size.prod()) for _, size in boxes)
    width = max(max(float(size[0]) for _, size in boxes), math.sqrt(1.6 * area))
    placed = []
    x = y = tallest = 0.0
    for component, (corner, size) in zip(components, boxes, strict=True):
        if x + size[0] > width + 1e-9 and x > 0:
            x, y, tallest = 0.0, y + tallest, 0.0
        placed.append(component - corner + (x, y))
        x, tallest = x + float(size[0]), max(tallest, float(size[1]))
    return placed
