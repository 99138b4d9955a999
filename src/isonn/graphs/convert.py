"""The only door: whatever holds graphs -> `GraphSet`.

Objects of other libraries are told by the module of their class, so that importing isonn imports none
of them.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isonn.errors import InputError, naming_the_extra
from isonn.graphs.graph import Graph, GraphSet, graphset_from_cells, join_graphs
from isonn.packing import IntArray

OURS, ARRAY, SPARSE = "Graph", "array", "SciPy sparse matrix"
NETWORKX, IGRAPH, PYG = "NetworkX graph", "igraph Graph", "PyTorch Geometric Data"
MOLECULE = "molecule (SMILES or RDKit Mol)"
_LIBRARIES = {
    ("networkx", "Graph"): NETWORKX,
    ("igraph", "Graph"): IGRAPH,
    ("torch_geometric", "Data"): PYG,
    ("torch", "Tensor"): ARRAY,
    ("rdkit", "Mol"): MOLECULE,
    ("builtins", "str"): MOLECULE,
}
#: Kinds that an extra converts: the module and its function from a list to a `GraphSet`, imported when needed.
_LATER = {MOLECULE: ("isonn.molecules.convert", "from_smiles")}
_READS = (
    "a list of NetworkX graphs, PyTorch Geometric Data, igraph Graphs, SciPy sparse matrices, SMILES or square arrays, "
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
    list of SMILES, or of       molecules, as `isonn.molecules.from_smiles` reads them (extra
    RDKit ``Mol``               ``molecules``); also a pandas column
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
        graphs = graphs.with_y(_classes(y, len(graphs)))
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
    kind = None if isinstance(given, str) else _kind(type(given))
    if kind not in (None, ARRAY):
        unpack = "batch.to_data_list()" if _is_batch(given) else "[X]"
        raise InputError(f"X is a single {kind}, not a list of graphs; give {unpack}")
    if kind is ARRAY and not isinstance(given, (list, tuple)):
        array = to_numpy(given)
        if array.dtype.kind not in "OUT" or array.ndim != 1:  # objects, or text
            return _from_stack(array)
        given = list(array)
    items = _items(given)
    if not items:
        raise InputError("X holds no graph; give at least one")
    kind = _one_kind(items)
    if kind in _LATER:
        with naming_the_extra(f"reading a {kind}"):
            module, convert = _LATER[kind]
            graphs: GraphSet = getattr(importlib.import_module(module), convert)(items)
        return graphs
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
    return join_graphs(_checked(items))


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


def _join(parts: list[Graph], **columns: Any) -> GraphSet:
    empty = next((i for i, part in enumerate(parts) if part.n < 1), None)
    if empty is not None:  # before anything it lacks for want of nodes
        raise InputError(f"graph {empty} of {len(parts)} has no nodes; drop it")
    if any(part.node_names is None for part in parts):  # ids that are strings in some graphs only name nothing
        parts = [part._but(node_names=None) for part in parts]
    return _in_order(join_graphs(_checked(parts), **columns))


def _checked(parts: Sequence[Graph]) -> list[Graph]:
    """Labels checked to be all numbers or all strings; a graph without edges gets its empty edge labels."""
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
    return [p._but(edge_labels=labelled[:0]) if len(p.edges) == 0 else p for p in parts]


def _in_order(graphs: GraphSet) -> GraphSet:
    cells = ("node_offsets", "edge_offsets", "edges", "weights", "edge_labels")
    return graphset_from_cells(
        graphs.graph_of_cell,
        graphs.edges,
        graphs.sizes,
        graphs.weights,
        graphs.edge_labels,
        **{field.name: getattr(graphs, field.name) for field in fields(graphs) if field.name not in cells},
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


# Graphs of other libraries -> `Graph`: NetworkX, igraph, PyTorch Geometric.
#
# Nothing here imports those libraries: whoever holds such an object has imported its library already.
# The graphs made here may have cells in any order; `isonn.graphs.convert` sorts them.


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
            Graph._trusted(
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
    return Graph._trusted(
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
