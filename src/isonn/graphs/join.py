"""Build sets of graphs: from cells, from single graphs, and from other sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isonn.errors import InputError
from isonn.graphs.columns import cell_order, offsets_of, read_only, take, weights_of
from isonn.graphs.graph import Graph, GraphSet


def graphset_from_cells(
    graph_of_cell: ArrayLike,
    edges: ArrayLike,
    sizes: ArrayLike,
    weights: ArrayLike | None = None,
    edge_labels: ArrayLike | None = None,
    **columns: Any,
) -> GraphSet:
    """Build a `GraphSet` from cells in any order; most readers end with this call.

    If a cell occurs more than once, the last weight and label count. Cells of weight 0 are dropped. Weights that are
    all 1 are not stored.

    Args:
        graph_of_cell: the graph of each cell, shape (m,).
        edges: row and column of each cell, numbered from 0 within its graph, shape (m, 2).
        sizes: number of nodes of each graph, shape (g,).
        weights, edge_labels: per cell, or None.
        columns: the other fields of `GraphSet`.
    """
    owner = np.asarray(graph_of_cell, dtype=np.int64).reshape(-1)
    pairs = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    nodes = np.asarray(sizes, dtype=np.int64).reshape(-1)
    values = None if weights is None else np.asarray(weights, dtype=np.float64).reshape(-1)
    labels = None if edge_labels is None else np.asarray(edge_labels).reshape(-1)
    order = cell_order(owner, pairs, values)
    values = take(values, order)
    counts = np.bincount(owner[order], minlength=len(nodes))
    return GraphSet(
        node_offsets=offsets_of(nodes),
        edge_offsets=offsets_of(counts),
        edges=read_only(pairs[order]),
        weights=None if values is None or (values == 1).all() else read_only(values),
        edge_labels=take(labels, order),
        **columns,
    )


def join_graphs(graphs: Sequence[Graph], **columns: Any) -> GraphSet:
    """Join single graphs into a `GraphSet`; labels, attributes, names and table entries are for all graphs or none.

    Args:
        columns: other fields of `GraphSet`, such as ``y``.
    """
    if any(graph.weights is not None for graph in graphs):
        columns["weights"] = np.concatenate([weights_of(graph) for graph in graphs])
    for column in ("node_labels", "edge_labels", "node_attributes", "node_names"):
        columns[column] = _join(graphs, column)
    if graphs and all(graph.id is not None for graph in graphs):
        columns.setdefault("ids", np.array([graph.id for graph in graphs], dtype=np.str_))
    names = dict.fromkeys(name for graph in graphs for name in graph.row)
    for i, graph in enumerate(graphs):
        if missing := [name for name in names if name not in graph.row]:
            raise InputError(f"graph {i} of {len(graphs)} has no {missing[0]!r} in row while others have; give it one")
    columns.setdefault("table", {name: np.array([graph.row[name] for graph in graphs]) for name in names})
    kinds = {graph.kind for graph in graphs}
    columns.setdefault("kind", kinds.pop() if len(kinds) == 1 else "")
    return graphset_from_cells(
        np.repeat(np.arange(len(graphs)), [len(graph.edges) for graph in graphs]),
        np.concatenate([np.zeros((0, 2), dtype=np.int64), *(graph.edges for graph in graphs)]),
        [graph.n for graph in graphs],
        **columns,
    )


def _join(graphs: Sequence[Graph], column: str) -> NDArray[Any] | None:
    parts = [getattr(graph, column) for graph in graphs]
    missing = [i for i, part in enumerate(parts) if part is None]
    if len(missing) == len(parts):
        return None
    if missing:
        raise InputError(
            f"graph {missing[0]} of {len(graphs)} has no {column} while others have; "
            f"give {column} to every graph or to none"
        )
    widths = {part.shape[1:] for part in parts}
    if len(widths) > 1:
        raise InputError(f"{column} have {sorted(w[0] for w in widths)} columns in different graphs; use one number")
    return read_only(np.concatenate(parts))


def difference(first: GraphSet, other: GraphSet) -> str | None:
    """Return why two sets cannot be joined, as a phrase to follow "the other set", or None if they can."""
    for column in ("node_labels", "edge_labels", "node_attributes", "node_names", "y"):
        one, two = getattr(first, column), getattr(other, column)
        called = "classes" if column == "y" else column
        if (one is None) != (two is None):
            return (
                f"has {'no ' if two is None else ''}{called} where {first.name} has {'none' if one is None else 'them'}"
            )
        if one is None or not len(one) or not len(two):
            continue
        if one.shape[1:] != two.shape[1:]:
            return f"has {called} of shape {two.shape} where {first.name} has {one.shape}"
        if (one.dtype.kind == "U") != (two.dtype.kind == "U"):
            return f"has {called} such as {two.flat[0]!r} where {first.name} has {one.flat[0]!r}"
    kinds = {"node_label_names": "node label", "edge_label_names": "edge label", "class_names": "class"}
    for column, called in kinds.items():
        one, two = getattr(first, column), getattr(other, column)
        if clash := [key for key, name in two.items() if one.get(key, name) != name]:
            return f"calls {called} {clash[0]!r} {two[clash[0]]!r}, unlike {first.name}"
    for what in ("target_names", "table", "kind", "confounds"):
        one, two = getattr(first, what), getattr(other, what)
        if set(one) != set(two) if what == "table" else one != two:
            return f"has {what} {list(two) if what == 'table' else two!r} where {first.name} has {one and list(one)!r}"
    return None


def concat(sets: Sequence[GraphSet], name: str | None = None) -> GraphSet:
    """Concatenate sets; see `GraphSet.concat`."""
    if not sets:
        raise InputError("sets is empty; give at least one GraphSet")
    first = sets[0]
    if len(sets) == 1:
        return first if name is None else replace(first, name=name)
    for number, other in enumerate(sets):
        if reason := difference(first, other):
            raise InputError(f"set {number} of {len(sets)} ({other.name}) {reason}; join sets with the same fields")
    joined: dict[str, Any] = {}
    for column in ("node_labels", "edge_labels", "node_attributes", "node_names", "y", "ids"):
        parts = [getattr(graphs, column) for graphs in sets]
        joined[column] = None if any(part is None for part in parts) else read_only(np.concatenate(parts))
    for names in ("node_label_names", "edge_label_names", "class_names"):
        joined[names] = {key: called for graphs in sets for key, called in getattr(graphs, names).items()}
    if any(graphs.weights is not None for graphs in sets):
        joined["weights"] = np.concatenate([weights_of(graphs) for graphs in sets])
    return replace(
        first,
        node_offsets=offsets_of(np.concatenate([graphs.sizes for graphs in sets])),
        edge_offsets=offsets_of(np.concatenate([np.diff(graphs.edge_offsets) for graphs in sets])),
        edges=read_only(np.concatenate([graphs.edges for graphs in sets])),
        folds=None,
        name=first.name if name is None else name,
        table={column: np.concatenate([graphs.table[column] for graphs in sets]) for column in first.table},
        **joined,
    )
