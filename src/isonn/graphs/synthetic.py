"""Synthetic graphs with a planted motif, so the true explanation of every edge is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isonn.errors import InputError
from isonn.graphs.graph import GraphSet
from isonn.graphs.join import graphset_from_cells
from isonn.packing import IntArray
from isonn.seeding import numpy_stream

Edges = tuple[tuple[int, int], ...]

#: name -> (nodes, edges)
MOTIFS: dict[str, tuple[int, Edges]] = {
    "house": (5, ((0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4))),
    "bowtie": (5, ((0, 1), (1, 2), (2, 0), (0, 3), (3, 4), (4, 0))),
    "cycle": (5, ((0, 1), (1, 2), (2, 3), (3, 4), (4, 0))),
    "star": (5, ((0, 1), (0, 2), (0, 3), (0, 4))),
    "path": (5, ((0, 1), (1, 2), (2, 3), (3, 4))),
    "clique": (4, ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))),
    "square": (4, ((0, 1), (1, 2), (2, 3), (3, 0))),
    "triangle": (3, ((0, 1), (1, 2), (2, 0))),
}


@dataclass(frozen=True)
class Planted:
    """Graphs and the nodes of the motifs planted in them.

    Attributes:
        graphs: the graphs; ``graphs.y`` is 1 with the motif, 0 with the control.
        motif_nodes: per graph, the nodes of its motif or control, in the motif's order; empty if nothing was planted.

    Example:
        >>> planted = planted_motifs(4, motif="triangle")
        >>> [len(nodes) for nodes in planted.motif_nodes] == [3 if y else 5 for y in planted.graphs.y]
        True
    """

    graphs: GraphSet
    motif_nodes: tuple[IntArray, ...]

    def edge_truth(self, i: int) -> NDArray[np.bool_]:
        """Return which cells of graph i are edges of its planted motif or control, symmetric, shape (n, n)."""
        truth = np.zeros((self.graphs[i].n,) * 2, dtype=bool)
        inside = np.ix_(self.motif_nodes[i], self.motif_nodes[i])
        truth[inside] = self.graphs[i].adjacency[inside] != 0
        return truth


def planted_motifs(
    n_graphs: int = 200,
    motif: str = "house",
    control: str | None = "cycle",
    n_nodes: tuple[int, int] = (15, 25),
    seed: int = 0,
) -> Planted:
    """Make graphs, half with a motif (class 1) and half with a control (class 0) attached to a random tree.

    Both classes draw the number of nodes, planted piece included, from the same distribution. The classes differ in the
    planted piece, and possibly in its number of edges: a house has one edge more than a cycle. ``motif="house",
    control="bowtie"`` have the same number of nodes and edges and differ only in structure. Nodes and graphs are in
    random order.

    All labelled trees are equally likely. One edge attaches the piece, so a piece with a cycle occurs exactly once.
    Stars and paths also occur in trees by chance.

    Args:
        n_graphs: number of graphs; if odd, class 1 has one more.
        motif: the piece planted in class 1: house, bowtie, cycle, star, path, clique, square or triangle.
        control: the piece planted in class 0, or None for a larger tree instead.
        n_nodes: smallest and largest number of nodes of a graph, planted piece included.
        seed: the same seed gives the same graphs.

    Example:
        >>> planted = planted_motifs(n_graphs=4, seed=0)
        >>> int(planted.edge_truth(int(planted.graphs.y.argmax())).sum()) // 2
        6
    """
    _check(n_graphs, motif, control, n_nodes)
    draw = numpy_stream(seed, "planted")
    y = draw.permutation(np.arange(1, n_graphs + 1) % 2)
    sizes = draw.integers(n_nodes[0], n_nodes[1] + 1, size=n_graphs)
    links, planted = [], []
    for n, label in zip(sizes.tolist(), y.tolist(), strict=True):
        number = draw.permutation(n)  # so that node order carries no information
        name = motif if label == 1 else control
        size, edges = MOTIFS[name] if name is not None else (0, ())
        pairs = [*edges, *(_tree(n - size, draw) + size).tolist()]
        if size:
            (crossing,) = draw.choice(size * (n - size), size=1, replace=False).tolist()
            pairs.append((crossing % size, size + crossing // size))
        links.append(number[np.array(pairs)])
        planted.append(number[:size].astype(np.int64))
    there = np.concatenate(links)
    owner = np.repeat(np.arange(n_graphs), [len(pairs) for pairs in links])
    graphs = graphset_from_cells(
        np.concatenate([owner, owner]),
        np.concatenate([there, there[:, ::-1]]),
        sizes,
        y=y.astype(np.int64),
        name=f"planted {motif}",
    )
    return Planted(graphs, tuple(planted))


def _tree(n: int, draw: np.random.Generator) -> IntArray:
    """Return the n - 1 edges of a random tree, by its Prüfer code."""
    import igraph

    if n < 3:
        return np.array([(0, 1)][: n - 1], dtype=np.int64).reshape(-1, 2)
    return np.array(igraph.Graph.Prufer(draw.integers(n, size=n - 2).tolist()).get_edgelist(), dtype=np.int64)


def _check(n_graphs: int, motif: str, control: str | None, n_nodes: tuple[int, int]) -> None:
    if n_graphs < 2:
        raise InputError(f"n_graphs={n_graphs} leaves a class empty; use at least 2")
    for what, name in (("motif", motif), ("control", control)):
        if name not in MOTIFS and not (what == "control" and name is None):
            raise InputError(f"{what}={name!r} is not known; use one of {', '.join(sorted(MOTIFS))}")
    if motif == control:
        raise InputError(
            f"motif and control are both {motif!r}, so the classes would not differ; choose another control"
        )
    largest = max(MOTIFS[name][0] for name in (motif, control) if name is not None)
    if not largest < n_nodes[0] <= n_nodes[1]:
        raise InputError(
            f"n_nodes={n_nodes} leaves no room for a base next to {largest} planted nodes; "
            f"use a smallest number of at least {largest + 1} and a largest that is not below it"
        )
