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

#: Steps of the layout (first for each node), how far starts lie from classical scaling, of which the best is taken, and
#: how far nodes move to the side before chains are bent.
_STEPS, _SPREADS, _BEND = 50, (0.05, 0.4, 1.0), 0.3
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
    """Return positions of a connected graph whose distances follow distances in the graph.

    Kamada and Kawai's layout has straight chains; majorisation of the stress (SMACOF) then bends them: two bonds at 120
    degrees span 1.73, and each further bond of a zigzag adds 0.87.
    """
    n = graph.vcount()
    if n == 1:
        return np.zeros((1, 2))
    steps = np.array(graph.distances(), dtype=float)
    target = np.where(steps <= 1, steps, math.sqrt(3) + 0.87 * (steps - 2))
    weight = np.zeros_like(steps)
    np.divide(1.0, steps**2, out=weight, where=steps > 0)
    inverse = np.linalg.inv(np.diag(weight.sum(axis=1)) - weight + 1 / n)
    circle = np.array(graph.layout_circle().coords)
    scaled = _signed(np.array(graph.layout_mds().coords)) if n > 2 else np.zeros((2, 2))

    def placed(spread: float) -> Points:
        start = (scaled + spread * circle).tolist()
        straight = graph.layout_kamada_kawai(maxiter=_STEPS * n, epsilon=0, seed=start).coords
        points = np.array(straight) + _BEND * circle
        for _ in range(_STEPS):  # each solves a weighted Laplacian system
            pull = weight * target / np.maximum(cdist(points, points), 1e-9)
            points = inverse @ (np.diag(pull.sum(axis=1)) - pull) @ points
        return points

    def stress(points: Points) -> float:
        return round(float((weight * (cdist(points, points) - target) ** 2).sum()), 6)

    # from a symmetric start a ring may end up twisted and equal neighbours in one place
    points = min(map(placed, _SPREADS), key=stress)
    points = points / np.mean([math.dist(points[a], points[b]) for a, b in graph.get_edgelist()])
    points = points - points.mean(axis=0)
    axes = np.linalg.eigh(points.T @ points)[1]
    return _signed(points @ axes[:, ::-1])  # the longest direction is horizontal


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
