"""Graphs of other libraries -> `Graph`: NetworkX, igraph, PyTorch Geometric.

Nothing here imports those libraries: whoever holds such an object has imported its library already.
The graphs made here may have cells in any order; `isonn.data.convert` sorts them.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.data.graphs import Graph, IntArray
from isonn.errors import InputError


def to_numpy(value: Any) -> NDArray[Any]:
    """A NumPy array of an array-like; torch tensors may need gradients, live on a GPU or be sparse."""
    if hasattr(value, "detach"):
        value = value.detach()
        if str(value.layout) != "torch.strided":
            value = value.to_dense()
        if str(value.dtype) == "torch.bfloat16":  # NumPy has no such type
            value = value.float()
        return np.asarray(value.cpu().numpy())
    return np.asarray(value)


def from_networkx(graphs: Sequence[Any]) -> list[Graph]:
    """Node attribute ``label``, edge attributes ``weight`` and ``label``; string node ids become names."""
    parts = []
    for i, graph in enumerate(graphs):
        where = f"graph {i} of {len(graphs)}"
        number = {node: position for position, node in enumerate(graph)}
        links = list(graph.edges(data=True))
        parts.append(
            _from_links(
                where,
                n=len(number),
                pairs=[(number[u], number[v]) for u, v, _ in links],
                directed=graph.is_directed(),
                weights=[data.get("weight") for _, _, data in links],
                edge_labels=[data.get("label") for _, _, data in links],
                node_labels=[data.get("label") for _, data in graph.nodes(data=True)],
                names=list(number),
            )
        )
    return parts


def from_igraph(graphs: Sequence[Any]) -> list[Graph]:
    """Vertex attributes ``label`` and ``name``, edge attributes ``weight`` and ``label``."""
    parts = []
    for i, graph in enumerate(graphs):
        n, m = graph.vcount(), graph.ecount()
        of_vertices, of_edges = set(graph.vs.attributes()), set(graph.es.attributes())
        parts.append(
            _from_links(
                f"graph {i} of {len(graphs)}",
                n=n,
                pairs=graph.get_edgelist(),
                directed=graph.is_directed(),
                weights=graph.es["weight"] if "weight" in of_edges else [None] * m,
                edge_labels=graph.es["label"] if "label" in of_edges else [None] * m,
                node_labels=graph.vs["label"] if "label" in of_vertices else [None] * n,
                names=graph.vs["name"] if "name" in of_vertices else [None] * n,
            )
        )
    return parts


def from_pyg(graphs: Sequence[Any]) -> tuple[list[Graph], NDArray[Any] | None]:
    """The graphs, and their classes when every ``Data`` has a ``y`` of one element.

    Whether ``x`` and ``edge_attr`` are one-hot is decided for the whole list, so that one graph that
    happens to look one-hot does not get labels where the others get attributes.
    """
    total = len(graphs)
    edges = [_edge_index(data, i, total) for i, data in enumerate(graphs)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyG warns when it infers num_nodes from the edges
        sizes = [int(data.num_nodes or 0) for data in graphs]
    for i, (n, pairs) in enumerate(zip(sizes, edges, strict=True)):
        outside = ((pairs < 0) | (pairs >= n)).any(axis=1)
        if n and outside.any():
            raise InputError(
                f"graph {i} of {total} has an edge {tuple(pairs[outside][0].tolist())} in edge_index but only nodes "
                f"0 to {n - 1}; correct edge_index or num_nodes"
            )
    node_labels, node_attributes = _features([getattr(data, "x", None) for data in graphs], sizes, "x")
    counts = [len(pairs) for pairs in edges]
    edge_labels, edge_attributes = _features([getattr(data, "edge_attr", None) for data in graphs], counts, "edge_attr")
    weights = _columns([getattr(data, "edge_weight", None) for data in graphs], counts, "edge_weight")
    if weights is None and edge_attributes is not None and edge_attributes[0].shape[1] == 1:
        weights = edge_attributes
    parts = []
    for i in range(total):
        weight = None if weights is None else weights[i].reshape(-1).astype(np.float64)
        label = None if edge_labels is None else edge_labels[i]
        pairs, weight, label = _merge_parallel(f"graph {i} of {total}", sizes[i], edges[i], weight, None, label)
        parts.append(
            Graph(
                n=sizes[i],
                edges=pairs,
                weights=weight,
                node_labels=None if node_labels is None else node_labels[i],
                edge_labels=label,
                node_attributes=None if node_attributes is None else node_attributes[i].astype(np.float64),
            )
        )
    targets = [getattr(data, "y", None) for data in graphs]
    if any(target is None or np.size(to_numpy(target)) != 1 for target in targets):
        return parts, None
    return parts, np.concatenate([to_numpy(target).reshape(1) for target in targets])


def _from_links(
    where: str,
    n: int,
    pairs: Sequence[tuple[int, int]],
    directed: bool,
    weights: list[Any],
    edge_labels: list[Any],
    node_labels: list[Any],
    names: list[Any],
) -> Graph:
    """A graph of links; an undirected link is two cells, a loop is one."""
    cells = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    given = np.array([weight is not None for weight in weights], dtype=bool)
    values = _weights(where, weights) if given.any() else None
    labels = _labels(where, "edge", edge_labels)
    if not directed:
        back = np.flatnonzero(cells[:, 0] != cells[:, 1])
        there_and_back = np.concatenate([np.arange(len(cells)), back])
        cells = np.concatenate([cells, cells[back, ::-1]])
        given = given[there_and_back]
        values = None if values is None else values[there_and_back]
        labels = None if labels is None else labels[there_and_back]
    cells, values, labels = _merge_parallel(where, n, cells, values, given, labels)
    return Graph(
        n=n,
        edges=cells,
        weights=values,
        node_labels=_labels(where, "node", node_labels),
        edge_labels=labels,
        node_names=np.array(names, dtype=np.str_) if n and all(isinstance(name, str) for name in names) else None,
    )


def _weights(where: str, weights: list[Any]) -> NDArray[np.float64]:
    values = np.array([1.0 if weight is None else weight for weight in weights])
    if values.dtype.kind not in "biuf" or values.ndim != 1:
        bad = next((w for w in weights if w is not None and np.asarray(w).dtype.kind not in "biuf"), weights[0])
        raise InputError(f"{where} has an edge of weight {bad!r}, which is not a number; use real numbers as weights")
    return values.astype(np.float64)


def _labels(where: str, what: str, values: list[Any]) -> NDArray[Any] | None:
    present = [value is not None for value in values]
    if not any(present):
        return None
    if not all(present):
        raise InputError(
            f"{where} has no label on {what} {present.index(False)} while others have one; "
            f"label every {what} or none (edges and nodes are counted from 0)"
        )
    try:
        labels = np.array(values)
    except ValueError:  # labels of different lengths
        labels = np.array(None)
    mixed = labels.dtype.kind == "U" and not all(isinstance(value, str) for value in values)
    if labels.ndim != 1 or labels.dtype.kind not in "biufU" or mixed:
        raise InputError(
            f"{where} has {what} labels such as {values[0]!r} and {values[-1]!r}; use numbers only or strings only"
        )
    return labels


def _merge_parallel(
    where: str,
    n: int,
    cells: IntArray,
    weights: NDArray[np.float64] | None,
    given: NDArray[np.bool_] | None,
    labels: NDArray[Any] | None,
) -> tuple[IntArray, NDArray[np.float64] | None, NDArray[Any] | None]:
    """Parallel edges as one: weights add up, edges without a weight count once, labels must agree."""
    _, first, merged = np.unique(cells[:, 0] * n + cells[:, 1], return_index=True, return_inverse=True)
    if len(first) == len(cells):
        return cells, weights, labels
    merged = merged.reshape(-1)
    if labels is not None:
        kept = labels[first]
        clash = np.flatnonzero(kept[merged] != labels)
        if len(clash):
            cell = clash[0]
            raise InputError(
                f"{where} has parallel edges {tuple(cells[cell].tolist())} labelled {kept[merged[cell]].item()!r} and "
                f"{labels[cell].item()!r}; keep one edge, or give both one label"
            )
        labels = kept
    if weights is not None:
        with_weight = np.ones(len(cells), dtype=bool) if given is None else given
        unweighted = np.bincount(merged, ~with_weight) > 0
        summed = np.bincount(merged, np.where(with_weight, weights, 0.0))
        weights = summed.astype(np.float64) + unweighted
    return cells[first], weights, labels


def _edge_index(data: Any, i: int, total: int) -> IntArray:
    edge_index = getattr(data, "edge_index", None)
    if edge_index is None:
        raise InputError(f"graph {i} of {total} is a Data without edge_index; set data.edge_index of shape (2, edges)")
    index = to_numpy(edge_index)
    if index.ndim != 2 or index.shape[0] != 2 or (index.dtype.kind not in "iu" and index.size):
        raise InputError(
            f"graph {i} of {total} has an edge_index of shape {index.shape} and type {index.dtype}; "
            f"use integers of shape (2, edges)"
        )
    return np.ascontiguousarray(index.T).astype(np.int64)


def _columns(values: list[Any], counts: list[int], name: str) -> list[NDArray[Any]] | None:
    """Feature matrices, all or none; a graph with nothing to describe may leave them out."""
    arrays = [None if value is None else to_numpy(value) for value in values]
    arrays = [None if a is None else a.reshape(len(a), -1) if a.ndim else a.reshape(1, 1) for a in arrays]
    widths = sorted({a.shape[1] for a in arrays if a is not None and len(a)})
    if widths in ([], [0]):
        return None
    total = len(arrays)
    if len(widths) > 1:
        raise InputError(f"{name} has {widths} columns in different graphs; use one number of columns")
    dtype = next(a.dtype for a in arrays if a is not None and len(a))
    filled = []
    for i, (array, count) in enumerate(zip(arrays, counts, strict=True)):
        if count == 0:
            array = np.zeros((0, widths[0]), dtype=dtype)
        if array is None:
            raise InputError(f"graph {i} of {total} has no {name} while others have; give it to every graph or to none")
        if len(array) != count:
            raise InputError(
                f"graph {i} of {total} has {len(array)} rows of {name} where {count} are needed; add or drop"
            )
        if array.dtype.kind not in "biuf":
            raise InputError(f"graph {i} of {total} has {name} of type {array.dtype}; use real numbers")
        filled.append(array)
    return filled


def _features(
    values: list[Any], counts: list[int], name: str
) -> tuple[list[NDArray[Any]] | None, list[NDArray[Any]] | None]:
    """(labels, None) for one-hot rows and single integers, (None, attributes) for the rest."""
    columns = _columns(values, counts, name)
    if columns is None:
        return None, None
    if columns[0].shape[1] == 1:
        if all(column.dtype.kind in "biu" for column in columns):
            return [column[:, 0] for column in columns], None
        return None, columns
    if all(((c == 0) | (c == 1)).all() and (c.sum(axis=1) == 1).all() for c in columns):
        return [column.argmax(axis=1) for column in columns], None
    return None, columns
