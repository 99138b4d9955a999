"""Build sets of graphs: from cells, from single graphs, and from other sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isonn.errors import InputError
from isonn.graphs.columns import are_numbers, cell_order, numbers_of_nodes, offsets_of, read_only, take, weights_of
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
    empty = next((i for i, graph in enumerate(graphs) if graph.n < 1), None)
    if empty is not None:  # checked first, because an empty graph also lacks labels and names
        raise InputError(f"graph {empty} of {len(graphs)} has no nodes; drop it")
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
    columns = [getattr(graph, column) for graph in graphs]
    if column == "node_names" and not any(graph.kind for graph in graphs):
        columns = _named_alike(columns, [np.array([graph.n]) for graph in graphs])
    given = [(i, values) for i, values in enumerate(columns) if values is not None]
    filled = [(i, values) for i, values in given if len(values)]
    if not filled:
        return None if not given else read_only(given[0][1])
    # a graph without edges needs no edge labels, and the type of those that it has does not matter
    missing = set(range(len(graphs))) - {i for i, _ in given}
    missing = {i for i in missing if column != "edge_labels" or len(graphs[i].edges)}
    if missing:
        raise InputError(
            f"graph {min(missing)} of {len(graphs)} has no {column} while others have; "
            f"give {column} to every graph or to none"
        )
    first, values = filled[0]
    odd = next((i for i, other in filled if (other.dtype.kind in "US") != (values.dtype.kind in "US")), None)
    if odd is not None:
        raise InputError(
            f"{column} are numbers in some graphs and strings in others (graph {first} and graph {odd} of "
            f"{len(graphs)}); use one kind"
        )
    widths = {other.shape[1:] for _, other in filled}
    if len(widths) > 1:
        raise InputError(f"{column} have {sorted(w[0] for w in widths)} columns in different graphs; use one number")
    return read_only(np.concatenate([other for _, other in filled]))


def _named_alike(names: Sequence[NDArray[Any] | None], sizes: Sequence[NDArray[Any]]) -> list[NDArray[Any] | None]:
    """Return the names of nodes; where others are numbers, such as ids of NetworkX, nodes without names have theirs."""
    if not all(each is None or are_numbers(each) for each in names) or all(each is None for each in names):
        return list(names)
    return [
        numbers_of_nodes(of).astype(np.str_) if each is None else each for each, of in zip(names, sizes, strict=True)
    ]


def difference(first: GraphSet, other: GraphSet) -> str | None:
    """Return why two sets cannot be joined, as a phrase to follow "the other set", or None if they can."""
    for column in ("node_labels", "edge_labels", "node_attributes", "node_names", "y"):
        ours, theirs = getattr(first, column), getattr(other, column)
        if column == "node_names" and not first.kind:
            ours, theirs = _named_alike([ours, theirs], [first.sizes, other.sizes])
        called = "classes" if column == "y" else column
        if (ours is None) != (theirs is None):
            here, there = ("them", f"no {called}") if theirs is None else ("none", called)
            return f"has {there} where {first.name} has {here}"
        if ours is None or not len(ours) or not len(theirs):
            continue
        if ours.shape[1:] != theirs.shape[1:]:
            return f"has {called} of shape {theirs.shape} where {first.name} has {ours.shape}"
        if (ours.dtype.kind == "U") != (theirs.dtype.kind == "U"):
            return f"has {called} such as {theirs.flat[0].item()!r} where {first.name} has {ours.flat[0].item()!r}"
    kinds = {"node_label_names": "node label", "edge_label_names": "edge label", "class_names": "class"}
    for column, called in kinds.items():
        ours, theirs = getattr(first, column), getattr(other, column)
        if clash := [key for key, name in theirs.items() if ours.get(key, name) != name]:
            return f"calls {called} {clash[0]!r} {theirs[clash[0]]!r}, unlike {first.name}"
    for what in ("target_names", "table", "kind", "confounds"):
        ours, theirs = getattr(first, what), getattr(other, what)
        if set(ours) != set(theirs) if what == "table" else ours != theirs:
            shown = list(theirs) if what == "table" else theirs
            return f"has {what} {shown!r} where {first.name} has {ours and list(ours)!r}"
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
        columns = [getattr(graphs, column) for graphs in sets]
        if column == "node_names" and not first.kind:
            columns = _named_alike(columns, [graphs.sizes for graphs in sets])
        joined[column] = None if any(values is None for values in columns) else read_only(np.concatenate(columns))
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
