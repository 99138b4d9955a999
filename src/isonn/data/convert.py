"""The only door: whatever holds graphs -> `GraphSet`.

Objects of other libraries are told by the module of their class, so that importing isonn imports none
of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isonn.data.foreign import from_igraph, from_networkx, from_pyg, to_numpy
from isonn.data.graphs import Graph, GraphSet, IntArray, graphset_from_cells, join_graphs
from isonn.errors import InputError

OURS, ARRAY, SPARSE = "Graph", "array", "SciPy sparse matrix"
NETWORKX, IGRAPH, PYG = "NetworkX graph", "igraph Graph", "PyTorch Geometric Data"
_LIBRARIES = {
    ("networkx", "Graph"): NETWORKX,
    ("igraph", "Graph"): IGRAPH,
    ("torch_geometric", "Data"): PYG,
    ("torch", "Tensor"): ARRAY,
}
_READS = (
    "a list of NetworkX graphs, PyTorch Geometric Data, igraph Graphs, SciPy sparse matrices or square arrays, "
    "or one array of shape (g, n, n)"
)


def as_graphset(X: Any, y: ArrayLike | None = None, name: str | None = None) -> GraphSet:
    """The graphs of ``X`` as a `GraphSet`.

    ==========================  ==================================================================
    given                       read as
    ==========================  ==================================================================
    `GraphSet`                  itself, with ``y`` and ``name`` where given
    array or tensor (g, n, n)   adjacency matrices; every nonzero cell is an edge
    list of square arrays       the same, sizes may differ; also SciPy sparse matrices
    list of NetworkX graphs     edge ``weight`` and ``label``, node ``label``; string ids are names
    list of igraph Graphs       the same, and vertex ``name``
    list or Dataset of PyG      ``edge_index``; ``edge_weight``, or a real 1-column ``edge_attr``, as
    ``Data``                    weights; one-hot (or 1-column integer) ``edge_attr`` and ``x`` as
                                labels; other ``x`` as node attributes, wider ``edge_attr`` is left
                                out; ``y`` of one element as class unless ``y`` is given. What is
                                one-hot is decided for the whole list. A ``DataLoader`` is unpacked
    list of `Graph`             as they are
    ==========================  ==================================================================

    An undirected edge is two cells. Parallel edges add their weights; without weights they count once.

    Args:
        X: the graphs.
        y: class per graph, of shape (g,), or indicator matrix (g, labels).
        name: what to call the set in tables and errors.

    Example:
        >>> as_graphset([[[0, 1], [1, 0]], [[0, 1, 0], [1, 0, 1], [0, 1, 0]]], y=["edge", "path"])
        GraphSet(graphs: 2 graphs, 2-3 nodes, 2 classes)
    """
    graphs = X if isinstance(X, GraphSet) else _convert(X)
    if y is not None:
        graphs = replace(graphs, y=_classes(y, len(graphs)))
    return graphs if name is None else replace(graphs, name=name)


def as_one_graph(X: Any) -> GraphSet:
    """A single graph, alone or in a set of one, as a `GraphSet` of one."""
    kind = _kind(type(X))
    matrix = kind is ARRAY and not isinstance(X, (list, tuple)) and to_numpy(X).ndim == 2
    alone = matrix or (kind not in (None, ARRAY) and not _is_batch(X))
    graphs = as_graphset([X] if alone else X)
    if len(graphs) != 1:
        raise InputError(f"X holds {len(graphs)} graphs where one is wanted; give a single one, such as X[0]")
    return graphs


def _convert(given: Any) -> GraphSet:
    kind = _kind(type(given))
    if kind not in (None, ARRAY):
        unpack = "batch.to_data_list()" if _is_batch(given) else "[X]"
        raise InputError(f"X is a single {kind}, not a list of graphs; give {unpack}")
    if kind is ARRAY and not isinstance(given, (list, tuple)):
        array = to_numpy(given)
        if array.dtype.kind != "O" or array.ndim != 1:
            return _from_stack(array)
        given = list(array)
    items = _items(given)
    if not items:
        raise InputError("X holds no graph; give at least one")
    kind = _one_kind(items)
    if kind is ARRAY:
        return _from_matrices(items)
    if kind is SPARSE:
        return _from_sparse(items)
    if kind is NETWORKX:
        return _join(from_networkx(items))
    if kind is IGRAPH:
        return _join(from_igraph(items))
    if kind is PYG:
        items = [data for item in items for data in (item.to_data_list() if _is_batch(item) else [item])]
        parts, y = from_pyg(items)
        return _join(parts, y=None if y is None else _classes(y, len(items)))
    return _join_ours(items)


def _items(given: Any) -> list[Any]:
    if isinstance(given, (str, bytes, dict, set, frozenset)):
        remedy = "; isonn.load reads names and paths" if isinstance(given, str) else ""
        raise InputError(
            f"X={given!r:.60} is of type {type(given).__name__}, not a list of graphs; give {_READS}{remedy}"
        )
    if hasattr(given, "__len__") and hasattr(given, "__getitem__"):  # lists, and datasets that only index
        return list(given) if isinstance(given, (list, tuple)) else [given[i] for i in range(len(given))]
    if isinstance(given, Iterable):
        return list(given)
    raise InputError(f"X={given!r:.60} is of type {type(given).__name__}, not a list of graphs; give {_READS}")


def _is_batch(given: Any) -> bool:
    """Whether this is PyTorch Geometric's ``Batch``: several graphs as one that falls into parts."""
    return any(base.__name__ == "Batch" for base in type(given).__mro__)


def _kind(cls: type) -> str | None:
    if issubclass(cls, Graph):
        return OURS
    if issubclass(cls, (np.ndarray, list, tuple)):
        return ARRAY
    for base in cls.__mro__:
        kind = _LIBRARIES.get((base.__module__.partition(".")[0], base.__name__))
        if kind is not None:
            return kind
    if cls.__module__.startswith("scipy.sparse"):
        return SPARSE
    return ARRAY if hasattr(cls, "__array__") else None


def _one_kind(items: list[Any]) -> str:
    kinds = {cls: _kind(cls) for cls in set(map(type, items))}
    for i, item in enumerate(items):
        kind = kinds[type(item)]
        if kind is None:
            raise InputError(
                f"graph {i} of {len(items)} is of type {type(item).__name__} ({item!r:.60}), which isonn cannot "
                f"read as a graph; give {_READS}"
            )
        if kind != kinds[type(items[0])]:
            raise InputError(
                f"graph 0 of {len(items)} is of type {kinds[type(items[0])]} and graph {i} of type {kind}; "
                f"convert them to one type"
            )
    return str(kinds[type(items[0])])


def _from_stack(array: NDArray[Any]) -> GraphSet:
    if array.ndim == 2 and array.shape[0] == array.shape[1]:
        raise InputError(f"X is a single {array.shape[0]} x {array.shape[1]} matrix, not a list of graphs; give [X]")
    if array.ndim != 3:
        raise InputError(f"X is an array of shape {array.shape}; adjacency matrices have shape (g, n, n)")
    g, rows, columns = array.shape
    if g == 0:
        raise InputError(f"X of shape {array.shape} holds no graph; give at least one")
    if rows != columns:
        raise InputError(f"graph 0 of {g} is {rows} x {columns}, not square; adjacency matrices have shape (g, n, n)")
    array = _numbers(array, "X")
    owner, row, column = np.nonzero(array)
    return _from_nonzero(owner, np.column_stack([row, column]), np.full(g, rows), array[owner, row, column])


def _from_matrices(items: Sequence[Any]) -> GraphSet:
    matrices = []
    for i, item in enumerate(items):
        where = f"graph {i} of {len(items)}"
        try:
            matrix = to_numpy(item)
        except ValueError as error:
            raise InputError(f"{where} has rows of different lengths; give n rows of n numbers") from error
        _check_square(where, matrix.shape)
        matrices.append(_numbers(matrix, where))
    cells = [np.nonzero(matrix) for matrix in matrices]
    owner = np.repeat(np.arange(len(cells)), [len(row) for row, _ in cells])
    edges = np.concatenate([np.column_stack(cell) for cell in cells])
    weights = np.concatenate([matrix[cell] for matrix, cell in zip(matrices, cells, strict=True)])
    return _from_nonzero(owner, edges, np.array([len(matrix) for matrix in matrices]), weights)


def _from_sparse(items: Sequence[Any]) -> GraphSet:
    cells, sizes, values = [], [], []
    for i, item in enumerate(items):
        where = f"graph {i} of {len(items)}"
        _check_square(where, item.shape)
        matrix = item.tocsr().tocoo()  # to rows and back: adds up repeated entries, as SciPy does
        cells.append((matrix.row, matrix.col))
        sizes.append(item.shape[0])
        values.append(_numbers(matrix.data, where))
    owner = np.repeat(np.arange(len(cells)), [len(row) for row, _ in cells])
    edges = np.concatenate([np.column_stack(cell) for cell in cells])
    return graphset_from_cells(owner, edges, sizes, np.concatenate(values))


def _from_nonzero(owner: IntArray, edges: IntArray, sizes: IntArray, weights: NDArray[Any]) -> GraphSet:
    """Cells as np.nonzero lists them: in order and distinct, so that sorting them can be saved."""
    return GraphSet(
        node_offsets=np.concatenate([[0], np.cumsum(sizes)]),
        edge_offsets=np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(sizes)))]),
        edges=edges,
        weights=None if (weights == 1).all() else weights.astype(np.float64),
    )


def _check_square(where: str, shape: tuple[int, ...]) -> None:
    if len(shape) != 2:
        single = "; if X is a single matrix, give [X]" if len(shape) == 1 else ""
        raise InputError(f"{where} is an array of shape {shape}, not a matrix; give n rows of n numbers{single}")
    if shape[0] != shape[1]:
        raise InputError(f"{where} is {shape[0]} x {shape[1]}, not square; give an adjacency matrix of n x n")


def _numbers(array: NDArray[Any], where: str) -> NDArray[Any]:
    if array.dtype.kind == "O":
        try:
            return array.astype(np.float64)
        except (TypeError, ValueError):
            pass
    if array.dtype.kind == "c":
        raise InputError(f"{where} has complex weights ({array.dtype}); use their real part or absolute value")
    if array.dtype.kind not in "biuf":
        value = array.reshape(-1)[:1].tolist()
        raise InputError(f"{where} holds {value} of type {array.dtype}; adjacency matrices hold real numbers")
    return array


def _join_ours(items: Sequence[Graph]) -> GraphSet:
    for i, graph in enumerate(items):
        for column, needed in (
            ("weights", len(graph.edges)),
            ("edge_labels", len(graph.edges)),
            ("node_labels", graph.n),
            ("node_attributes", graph.n),
            ("node_names", graph.n),
        ):
            values = getattr(graph, column)
            if values is not None and len(values) != needed:
                raise InputError(
                    f"graph {i} of {len(items)} has {len(values)} {column} where {needed} are needed; give one each"
                )
    graphs = join_graphs(_checked(items))
    # Graphs cut out of a GraphSet are in order; only those built by hand have to be sorted.
    key = np.column_stack([graphs.graph_of_cell, graphs.edges])
    step = np.diff(key, axis=0)
    rising = (step[:, 0] > 0) | ((step[:, 0] == 0) & ((step[:, 1] > 0) | ((step[:, 1] == 0) & (step[:, 2] > 0))))
    zeros = graphs.weights is not None and bool((graphs.weights == 0).any())
    return graphs if rising.all() and not zeros else _in_order(graphs)


def _join(parts: list[Graph], **columns: Any) -> GraphSet:
    if any(part.node_names is None for part in parts):  # ids that are strings in some graphs only name nothing
        parts = [replace(part, node_names=None) for part in parts]
    return _in_order(join_graphs(_checked(parts), **columns))


def _checked(parts: Sequence[Graph]) -> list[Graph]:
    """Labels checked to be all numbers or all strings; a graph without edges gets its empty edge labels."""
    empty = next((i for i, part in enumerate(parts) if part.n < 1), None)
    if empty is not None:  # before anything it lacks for want of nodes
        raise InputError(f"graph {empty} of {len(parts)} has no nodes; drop it")
    for column in ("node_labels", "edge_labels"):
        labels = [(i, getattr(part, column)) for i, part in enumerate(parts)]
        is_text = [(i, values.dtype.kind in "US") for i, values in labels if values is not None and len(values)]
        odd = next((i for i, text in is_text if text != is_text[0][1]), None)
        if odd is not None:
            raise InputError(
                f"{column} are numbers in some graphs and strings in others (graph {is_text[0][0]} and graph {odd} of "
                f"{len(parts)}); use one kind"
            )
    labelled = next((p.edge_labels for p in parts if p.edge_labels is not None and len(p.edge_labels)), None)
    if labelled is None:
        return list(parts)
    return [replace(p, edge_labels=labelled[:0]) if len(p.edges) == 0 else p for p in parts]


def _in_order(graphs: GraphSet) -> GraphSet:
    return graphset_from_cells(
        graphs.graph_of_cell,
        graphs.edges,
        graphs.sizes,
        graphs.weights,
        graphs.edge_labels,
        node_labels=graphs.node_labels,
        node_attributes=graphs.node_attributes,
        node_names=graphs.node_names,
        y=graphs.y,
    )


def _classes(y: Any, g: int) -> NDArray[Any]:
    try:
        classes = np.array(to_numpy(y))
    except ValueError as error:
        raise InputError("y has rows of different lengths; give one class per graph") from error
    if classes.ndim not in (1, 2):
        raise InputError(
            f"y has shape {classes.shape}; give one class per graph (g,) or an indicator matrix (g, labels)"
        )
    if len(classes) != g:
        raise InputError(f"y has {len(classes)} classes for {g} graphs; give one per graph")
    if classes.dtype.kind == "O":
        missing = np.array([value is None or value != value for value in classes.reshape(-1)], dtype=bool)
    elif classes.dtype.kind == "f":
        missing = ~np.isfinite(classes.reshape(-1))
    else:
        return classes
    if missing.any():
        at = int(missing.argmax())
        i = at // (classes.shape[1] if classes.ndim == 2 else 1)
        raise InputError(f"y of graph {i} of {g} is {classes.reshape(-1)[at]}; give it a class, or drop the graph")
    return classes
