"""Edits of graphs: keep or delete nodes, change edges and labels, fold leaves into labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isonn.errors import InputError
from isonn.graphs.columns import columns_at, ends_of, offsets_of, read_only, weights_of
from isonn.graphs.graph import Graph, GraphSet
from isonn.packing import IntArray


def induced(graph: Graph, nodes: Iterable[int]) -> Graph:
    """Return the subgraph on some nodes, numbered in the order given.

    Example:
        >>> path = Graph(3, [[0, 1], [1, 0], [1, 2], [2, 1]], node_labels=["A", "B", "C"])
        >>> induced(path, [2, 1]).node_labels.tolist()
        ['C', 'B']
    """
    kept = np.fromiter(nodes, dtype=np.int64)
    if not len(kept):
        raise InputError("no node of the graph is left; keep at least one")
    place = np.full(graph.n, -1)
    place[kept] = np.arange(len(kept))
    edges = place[graph.edges]
    cells = np.flatnonzero((edges >= 0).all(axis=1))
    cells = cells[np.lexsort((edges[cells, 1], edges[cells, 0]))]
    return graph.but_with(n=len(kept), edges=edges[cells].reshape(-1, 2), **columns_at(graph, cells, kept))


def delete_nodes(graph: Graph, nodes: Iterable[int]) -> Graph:
    """Return the graph without some nodes and their edges; the others keep their order.

    Example:
        >>> path = Graph(3, [[0, 1], [1, 0], [1, 2], [2, 1]])
        >>> delete_nodes(path, [0]).edges.tolist()
        [[0, 1], [1, 0]]
    """
    return induced(graph, np.setdiff1d(np.arange(graph.n), np.fromiter(nodes, dtype=np.int64)))


def set_edge(graph: Graph, first: int, second: int, weight: float = 1.0, label: Any = None) -> Graph:
    """Return the graph with an edge of this weight between two nodes, or without the edge if the weight is 0.

    Args:
        graph: an undirected graph.
        first, second: the nodes.
        weight: the weight of the edge.
        label: the label of the edge, in graphs with edge labels; None keeps that of the edge, or takes the first
            label of the graph.

    Example:
        >>> path = Graph(3, [[0, 1], [1, 0], [1, 2], [2, 1]])
        >>> set_edge(path, 0, 2).edges.tolist()
        [[0, 1], [0, 2], [1, 0], [1, 2], [2, 0], [2, 1]]
    """
    for node in (first, second):
        check_node(graph, node)
    if first == second:
        raise InputError(f"an edge joins two nodes, got node {first} twice")
    labels = graph.edge_labels
    if labels is not None:
        same = (np.sort(graph.edges, axis=1) == sorted((first, second))).all(axis=1)
        if label is None:
            label = next(iter([*labels[same].tolist(), *labels.tolist()]), None)
        if label is None and weight:
            raise InputError("the edges of this graph have labels; give the label of the new edge")
        labels = np.array([*labels.tolist(), *[0 if label is None else label] * 2])
    edges = np.concatenate([graph.edges, [(first, second), (second, first)]])
    weights = np.append(weights_of(graph), [float(weight)] * 2)  # the last of equal cells counts, and none of weight 0
    return replace(graph, edges=edges, weights=weights, edge_labels=labels, row={}, id=None)


def add_node(graph: Graph, label: Any = None) -> Graph:
    """Return the graph with another node, which is the last and has no edges.

    Args:
        graph: a graph without node attributes.
        label: its label, in graphs with node labels; None takes that of the first node.

    Example:
        >>> add_node(Graph(1, np.zeros((0, 2), dtype=int), node_labels=["A"]), "B").node_labels.tolist()
        ['A', 'B']
    """
    if graph.node_attributes is not None:
        raise InputError("the nodes of this graph have attributes, which a new node lacks; edit its edges instead")
    labels, names = graph.node_labels, graph.node_names
    if labels is not None:
        labels = np.array([*labels.tolist(), labels[0].item() if label is None else label])
    if names is not None:
        names = np.array([*names.tolist(), f"new {graph.n}"])
    return graph.but_with(n=graph.n + 1, node_labels=labels, node_names=names, row={}, id=None)


def set_label(graph: Graph, node: int, label: Any) -> Graph:
    """Return the graph with another label of a node.

    Example:
        >>> set_label(Graph(1, np.zeros((0, 2), dtype=int), node_labels=["A"]), 0, "B").node_labels.tolist()
        ['B']
    """
    check_node(graph, node)
    if graph.node_labels is None:
        raise InputError("the nodes of this graph have no labels; edit its nodes and edges instead")
    labels = graph.node_labels.tolist()
    labels[node] = label
    return graph.but_with(node_labels=np.array(labels), row={}, id=None)


def check_node(graph: Graph, node: int) -> None:
    """Raise `InputError` if the graph has no such node."""
    if not 0 <= node < graph.n:
        raise InputError(f"the graph has no node {node}; use 0 to {graph.n - 1}")


def fold_leaves(graphs: GraphSet, label: Any) -> GraphSet:
    """Return graphs without the leaf nodes of one label; see `GraphSet.fold_leaves`."""
    if graphs.node_labels is None:
        raise InputError(f"fold_leaves({label!r}) needs node labels, and {graphs.name} has none")
    labels = np.array([str(each) for each in graphs.node_labels.tolist()])
    names = {str(each): name for each, name in graphs.node_label_names.items()}
    leaf = str(label) if str(label) in labels else {name: each for each, name in names.items()}.get(str(label), "")
    if leaf not in labels:
        present = [names.get(each, each) for each in map(str, np.unique(graphs.node_labels).tolist())]
        shown = present[:10] + ["..."] * (len(present) > 10)
        raise InputError(f"{label!r} is not a node label of {graphs.name}; use one of {', '.join(shown)}")
    ends = ends_of(graphs)
    leaves = (labels == leaf) & (np.bincount(ends[:, 0], minlength=len(labels)) == 1)
    kept = ~leaves
    kept[ends[leaves[ends].all(axis=1)]] = True  # two leaves that are each other's neighbour
    folded = np.bincount(ends[~kept[ends[:, 0]], 1], minlength=len(labels)).tolist()
    both = list(zip(labels.tolist(), folded, strict=True))
    for old, count in sorted({(old, count) for old, count in both if count}):
        names[f"{old}+{count}x{leaf}"] = f"{names.get(old, old)}{names.get(leaf, leaf)}{count if count > 1 else ''}"
    cells = kept[ends].all(axis=1)
    owner = graphs.graph_of_cell[cells]
    offsets = offsets_of(np.add.reduceat(kept, graphs.node_offsets[:-1], dtype=np.int64))
    columns = columns_at(graphs, cells, kept)
    columns["node_labels"] = np.array([f"{old}+{count}x{leaf}" if count else old for old, count in both])[kept]
    return replace(
        graphs,
        node_offsets=offsets,
        edge_offsets=offsets_of(np.bincount(owner, minlength=len(graphs))),
        edges=read_only((np.cumsum(kept) - 1)[ends[cells]] - offsets[owner, None]),
        node_label_names=names,
        **columns,
    )


def input_nodes(graph: Graph) -> IntArray:
    """Return the number that each node had in the input, shape (n,).

    Molecules without counter-ions or solvents have it in the column ``input_atoms`` of their table, as "1-4/5": nodes 1
    to 4 of 5. Other graphs have all their nodes.
    """
    ranges, _, total = str(graph.row.get("input_atoms", "")).partition("/")
    if not total:
        return np.arange(graph.n)
    bounds = [tuple(map(int, bound.split("-"))) for bound in ranges.split()]
    return np.concatenate([np.arange(first, last + 1) for first, last in bounds])


def on_input_nodes(graph: Graph, values: ArrayLike) -> NDArray[Any]:
    """Return values of nodes as values of the nodes of the input, with 0 for nodes that were removed.

    Args:
        graph: a graph.
        values: one value or row per node, such as ``explanation.node_importance``, shape (n, ...).

    Returns:
        ndarray of shape (nodes of the input, ...).

    Example:
        >>> molecule = isonn.molecules.from_smiles(["[Na+].CC(=O)[O-]"])[0]
        >>> on_input_nodes(molecule, [1.0, 2.0, 3.0, 4.0]).tolist()
        [0.0, 1.0, 2.0, 3.0, 4.0]
    """
    given = np.asarray(values)
    if len(given) != graph.n:
        raise InputError(f"values has {len(given)} entries for {graph.n} atoms; give one per node of the graph")
    total = str(graph.row.get("input_atoms", "")).rpartition("/")[2]
    spread = np.zeros((int(total) if total else graph.n, *given.shape[1:]), dtype=given.dtype)
    spread[input_nodes(graph)] = given
    return spread
