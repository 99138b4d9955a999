"""Convert graphs of other libraries to a `GraphSet`.

Objects are recognised by the module of their class, so isonn does not import these libraries.
"""

from __future__ import annotations

import importlib
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isonn.errors import InputError, IsoNNWarning, naming_the_extra
from isonn.graphs.checks import MAX_NODES
from isonn.graphs.graph import Graph, GraphSet
from isonn.graphs.io.registry import Problem
from isonn.graphs.join import graphset_from_cells, join_graphs
from isonn.packing import IntArray, to_numpy
from isonn.targets import as_y

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
#: Kinds converted by an extra: the module and its function from a list to a `GraphSet`, imported when needed.
_LATER = {MOLECULE: ("isonn.molecules.convert", "from_smiles")}
_READS = (
    "a list of NetworkX graphs, PyTorch Geometric Data, igraph Graphs, SciPy sparse matrices, SMILES or square arrays, "
    "or one array of shape (g, n, n)"
)


#: Default of ``label_from`` and ``edge_label_from``: read the attribute ``label`` and warn about others.
AUTO = "auto"


def as_graphset(
    X: Any,
    y: ArrayLike | None = None,
    name: str | None = None,
    *,
    label_from: str | None = AUTO,
    edge_label_from: str | None = AUTO,
    ids: ArrayLike | None = None,
    class_names: Mapping[Any, str] | None = None,
    target_names: Sequence[str] | None = None,
    table: Mapping[str, ArrayLike] | None = None,
    standardize: str | None = None,
) -> GraphSet:
    """Convert ``X`` to a `GraphSet`.

    ==========================  ==================================================================
    given                       read as
    ==========================  ==================================================================
    `GraphSet`                  itself, with ``y`` and ``name`` where given
    array or tensor (g, n, n)   adjacency matrices; every nonzero cell is an edge
    list of square arrays       the same, sizes may differ; also SciPy sparse matrices
    list of NetworkX graphs     edge ``weight`` and ``label``, node ``label``; nodes that are strings are
                                names; ``graph.name`` is the id
    list of igraph Graphs       the same, with vertex ``name`` and ``graph["name"]``
    list or Dataset of PyG      ``edge_index``; ``edge_weight``, or a real 1-column ``edge_attr``, as
    ``Data``                    weights; one-hot (or 1-column integer) ``edge_attr`` and ``x`` as
                                labels; other ``x`` as node attributes; ``y`` of one element or one
                                row unless ``y`` is given; ``name`` as id, other strings as columns
                                of ``table``. What is one-hot is decided for the whole list. A
                                ``DataLoader`` is unpacked
    list of SMILES, or of       molecules, as `isonn.molecules.from_smiles` reads them (extra
    RDKit ``Mol``               ``molecules``); also a pandas column, a table with one column, and a
                                single SMILES
    list of `Graph`             as they are
    ==========================  ==================================================================

    An undirected edge is two cells. The weights of parallel edges are added; unweighted parallel edges are one edge.

    Args:
        X: the graphs.
        y: class per graph, shape (g,), or indicator matrix, shape (g, labels).
        name: the name of the set in tables and errors.
        label_from, edge_label_from: the attribute of NetworkX, igraph or PyG graphs that holds the labels of nodes or
            edges, such as ``label_from="element"``. "auto" takes ``label`` (PyG: ``x``, ``edge_attr``) and warns about
            attributes it does not read; None reads no labels.
        ids, class_names, target_names, table: as in `GraphSet`; None keeps those of ``X``.
        standardize: how molecules are standardised: "none", "salts" (the default) or "full"; see
            `isonn.molecules.standardize`. A `GraphSet` of molecules must have been read with the same setting.

    Example:
        >>> as_graphset([[[0, 1], [1, 0]], [[0, 1, 0], [1, 0, 1], [0, 1, 0]]], y=["edge", "path"])
        GraphSet(graphs: 2 graphs, 2-3 nodes, 2 classes)
    """
    options = {} if standardize is None else {"standardize": standardize}
    if isinstance(X, GraphSet):
        graphs = X
        _check_standard(graphs, standardize)
    else:
        graphs = _convert(X, label_from, edge_label_from, options)
    if y is not None:
        graphs = graphs.with_y(as_y(y, len(graphs)))
    given = {"name": name, "ids": ids, "class_names": class_names, "target_names": target_names, "table": table}
    given = {column: value for column, value in given.items() if value is not None}
    return replace(graphs, **_named(given)) if given else graphs


def _named(given: dict[str, Any]) -> dict[str, Any]:
    """Convert the optional arguments to the types of `GraphSet`."""
    named: dict[str, Any] = {}
    for column, value in given.items():
        try:
            if column == "name":
                named[column] = str(value)
            elif column == "ids":
                named[column] = to_numpy(value).astype(np.str_)
            elif column == "class_names":
                named[column] = {key: str(called) for key, called in dict(value).items()}
            elif column == "target_names":
                named[column] = (value,) if isinstance(value, str) else tuple(map(str, value))
            else:
                named[column] = {key: to_numpy(values) for key, values in dict(value).items()}
        except (TypeError, ValueError) as error:
            what = {"ids": "a list of strings", "target_names": "a list of strings"}.get(column, "a dict")
            raise InputError(f"{column}={value!r:.60} cannot be used ({error!s:.80}); give {what}") from error
    return named


def readable_rows(X: Any, standardize: str | None = None) -> tuple[GraphSet | None, list[Problem]]:
    """Convert the rows of ``X`` that can be read, and return the problems of the others, for ``on_error="nan"``.

    Only molecules have such rows: a SMILES that RDKit cannot read, or None or NaN instead of one. Other graphs are
    converted by `as_graphset`, which raises `InputError`.

    Returns:
        The readable graphs in order, or None if there are none, and a `Problem` for each other row.

    Example:
        >>> graphs, problems = readable_rows(["CCO", "C(", None])
        >>> len(graphs), [problem.row for problem in problems]
        (1, [1, 2])
    """
    items = None if isinstance(X, GraphSet) else _molecules(X)
    if items is None:
        return as_graphset(X, standardize=standardize), []
    with naming_the_extra(f"reading a {MOLECULE}"):
        read = importlib.import_module("isonn.molecules.convert").read_molecules
    options = {} if standardize is None else {"standardize": standardize}
    result: tuple[GraphSet | None, list[Problem]] = read(items, **options)
    return result


def _molecules(given: Any) -> list[Any] | None:
    """Return the items of a list of molecules, some of which may be missing or of another type; None for others."""
    if isinstance(given, str):
        return [given]
    if not isinstance(given, (list, tuple)):
        array = to_numpy(given) if _kind(type(given)) is ARRAY else None
        if array is None or array.dtype.kind not in "OUT":
            return None
        given = _one_column(array)
    kinds = {_kind(type(item)) for item in given if item is not None and not _is_nan(item)}
    return list(given) if MOLECULE in kinds else None


def _is_nan(item: Any) -> bool:
    return isinstance(item, float) and math.isnan(item)


def _one_column(array: NDArray[Any]) -> Any:
    """Return the entries of a table of text with one column, such as ``frame[["SMILES"]]``."""
    if array.ndim == 2 and array.shape[1] != 1:
        raise InputError(f"X is a table of {array.shape[1]} columns; give the column of SMILES, such as X['SMILES']")
    return list(array.reshape(-1)) if array.ndim <= 2 else array


def standardization_of(graphs: GraphSet) -> str:
    """Return the setting that molecules were standardised with; "none" for other graphs.

    A model stores it, and converts molecules to predict with ``as_graphset(X, standardize=...)``.

    Example:
        >>> standardization_of(as_graphset(["CCO"])), standardization_of(isonn.load("MUTAG"))
        ('salts', 'none')
    """
    settings = np.unique(graphs.table.get("standardize", np.array(["none"]))).tolist()
    if len(settings) > 1:
        raise InputError(
            f"{graphs.name} mixes molecules read with standardize={settings[0]!r} and {settings[1]!r}; use one"
        )
    return str(settings[0])


def _check_standard(graphs: GraphSet, wanted: str | None) -> None:
    """Raise `InputError` if molecules were standardised in another way than ``wanted``; None accepts any."""
    if wanted is None or graphs.kind != "molecules":
        return
    setting = standardization_of(graphs)
    if setting != wanted:
        raise InputError(
            f"{graphs.name} was read with standardize={setting!r} where {wanted!r} is wanted; read the molecules again "
            f"with standardize={wanted!r}"
        )


def as_graphs(X: Any, standardize: str | None = None) -> GraphSet:
    """Convert a single graph or several to a `GraphSet`; ``standardize`` as in `as_graphset`."""
    kind = _kind(type(X))
    matrix = kind is ARRAY and not isinstance(X, (list, tuple)) and np.ndim(to_numpy(X)) == 2
    matrix = matrix and to_numpy(X).dtype.kind in "biufc"  # not a table with a column of SMILES
    alone = matrix or (kind not in (None, ARRAY) and not _is_batch(X))
    return as_graphset([X] if alone else X, standardize=standardize)


def as_one_graph(X: Any, standardize: str | None = None) -> GraphSet:
    """Convert a single graph, alone or in a list, to a `GraphSet` of one; ``standardize`` as in `as_graphset`."""
    graphs = as_graphs(X, standardize)
    if len(graphs) != 1:
        raise InputError(f"X holds {len(graphs)} graphs where one is wanted; give a single one, such as X[0]")
    return graphs


def _convert(given: Any, label_from: str | None, edge_label_from: str | None, options: dict[str, Any]) -> GraphSet:
    if isinstance(given, str) and is_smiles(given):
        given = [given]
    kind = None if isinstance(given, str) else _kind(type(given))
    if kind not in (None, ARRAY):
        unpack = "batch.to_data_list()" if _is_batch(given) else "[X]"
        raise InputError(f"X is a single {kind}, not a list of graphs; give {unpack}")
    if kind is ARRAY and not isinstance(given, (list, tuple)):
        array = to_numpy(given)
        text = array.dtype.kind in "UT" or (array.dtype.kind == "O" and isinstance(next(array.flat, None), str))
        if array.ndim == 2 and text:
            array = np.asarray(_one_column(array), dtype=object)
        if array.dtype.kind not in "OUT" or array.ndim != 1:  # O, U, T: objects or strings
            return _from_stack(array)
        given = list(array)
    items = _items(given)
    if not items:
        raise InputError("X holds no graph; give at least one")
    kind = _one_kind(items)
    if kind in _LATER:
        with naming_the_extra(f"reading a {kind}"):
            module, convert = _LATER[kind]
            graphs: GraphSet = getattr(importlib.import_module(module), convert)(items, **options)
        return graphs
    if kind is ARRAY:
        return _from_matrices(items)
    if kind is SPARSE:
        return _from_sparse(items)
    if kind is NETWORKX:
        return _join(from_networkx(items, label_from, edge_label_from))
    if kind is IGRAPH:
        return _join(from_igraph(items, label_from, edge_label_from))
    if kind is PYG:
        items = [data for item in items for data in (item.to_data_list() if _is_batch(item) else [item])]
        parts, y = from_pyg(items, label_from, edge_label_from)
        return _join(parts, y=None if y is None else as_y(y, len(items)))
    return join_graphs(_checked(items))


def is_smiles(text: str) -> bool:
    """Return whether a text is a SMILES and not, for example, the name of a dataset; False without rdkit."""
    try:
        parse = importlib.import_module("isonn.molecules.convert").is_smiles
    except ImportError:
        return False
    return bool(parse(text))


def _items(given: Any) -> list[Any]:
    if isinstance(given, (str, bytes, dict, set, frozenset)):
        remedy = "; isonn.load reads names and paths" if isinstance(given, str) else ""
        raise InputError(
            f"X={given!r:.60} is of type {type(given).__name__}, not a list of graphs; give {_READS}{remedy}"
        )
    if hasattr(given, "__len__") and hasattr(given, "__getitem__"):  # lists, and datasets that support only indexing
        return list(given) if isinstance(given, (list, tuple)) else [given[i] for i in range(len(given))]
    if isinstance(given, Iterable):
        return list(given)
    raise InputError(f"X={given!r:.60} is of type {type(given).__name__}, not a list of graphs; give {_READS}")


def _is_batch(given: Any) -> bool:
    """Return whether this is a ``Batch`` of PyTorch Geometric: several graphs joined into one."""
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
    cells = np.flatnonzero(array)  # flat indices over all matrices; np.nonzero would need three times the memory
    edges = np.empty((len(cells), 2), dtype=np.int64)
    edges[:, 0], edges[:, 1] = cells // rows % rows if rows else 0, cells % rows if rows else 0
    counts = np.bincount(cells // max(rows * rows, 1), minlength=g)
    return _from_nonzero(counts, edges, np.full(g, rows), array.reshape(-1)[cells])


def _from_matrices(items: Sequence[Any]) -> GraphSet:
    matrices = []
    for i, item in enumerate(items):
        where = f"graph {i} of {len(items)}"
        try:
            matrix = to_numpy(item)
        except InputError as error:
            raise InputError(f"{where}: {error}") from error
        except ValueError as error:
            raise InputError(f"{where} has rows of different lengths; give n rows of n numbers") from error
        _check_square(where, matrix.shape)
        matrices.append(_numbers(matrix, where))
    cells = [np.nonzero(matrix) for matrix in matrices]
    edges = np.concatenate([np.column_stack(cell) for cell in cells])
    weights = np.concatenate([matrix[cell] for matrix, cell in zip(matrices, cells, strict=True)])
    counts = np.array([len(row) for row, _ in cells])
    return _from_nonzero(counts, edges, np.array([len(matrix) for matrix in matrices]), weights)


def _from_sparse(items: Sequence[Any]) -> GraphSet:
    cells, sizes, values = [], [], []
    for i, item in enumerate(items):
        where = f"graph {i} of {len(items)}"
        _check_square(where, item.shape)
        edges, weights = _sparse_cells(where, item)
        edges, summed, _ = _merge_parallel(where, item.shape[0], edges, weights, None, None)  # as SciPy does
        cells.append(edges)
        sizes.append(item.shape[0])
        values.append(weights if summed is None else summed)
    owner = np.repeat(np.arange(len(cells)), [len(edges) for edges in cells])
    return graphset_from_cells(owner, np.concatenate(cells), sizes, np.concatenate(values))


def _sparse_cells(where: str, item: Any) -> tuple[IntArray, NDArray[np.float64]]:
    """Return cells and weights; SciPy's own conversions crash the process on a wrong index."""
    try:
        if hasattr(item, "check_format"):
            item.check_format(full_check=True)
        matrix = item.tocoo()
        row, column, values = (np.asarray(part).reshape(-1) for part in (matrix.row, matrix.col, matrix.data))
    except (ValueError, TypeError, IndexError, AttributeError, RuntimeError) as error:
        raise InputError(f"{where} is a damaged sparse matrix ({error!s:.100}); build it again") from error
    weights = _numbers(values, where).astype(np.float64)
    if not len(row) == len(column) == len(weights) or row.dtype.kind not in "iu" or column.dtype.kind not in "iu":
        raise InputError(f"{where} has {len(row)} rows, {len(column)} columns, {len(weights)} values; build it again")
    edges = np.column_stack([row, column]).astype(np.int64)
    outside = ((edges < 0) | (edges >= item.shape[0])).any(axis=1)
    if outside.any():
        raise InputError(
            f"{where} has an entry at {tuple(edges[outside][0].tolist())} but only nodes 0 to {item.shape[0] - 1}; "
            f"correct its indices"
        )
    return edges, weights


def _from_nonzero(counts: IntArray, edges: IntArray, sizes: IntArray, weights: NDArray[Any]) -> GraphSet:
    """Build a graph from cells in the order of np.nonzero: sorted and distinct, so they need no sorting."""
    return GraphSet(
        node_offsets=np.concatenate([[0], np.cumsum(sizes)]),
        edge_offsets=np.concatenate([[0], np.cumsum(counts)]),
        edges=edges,
        weights=None if (weights == 1).all() else weights.astype(np.float64),
    )


def _check_square(where: str, shape: tuple[int, ...]) -> None:
    if max(shape, default=0) > MAX_NODES:
        raise InputError(f"{where} has {max(shape)} nodes, above the limit of {MAX_NODES}; check its shape")
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


def _join(graphs: list[Graph], **columns: Any) -> GraphSet:
    empty = next((i for i, each in enumerate(graphs) if each.n < 1), None)
    if empty is not None:  # checked first, because an empty graph also lacks labels and names
        raise InputError(f"graph {empty} of {len(graphs)} has no nodes; drop it")
    if any(each.node_names is None for each in graphs):  # names are kept only if every graph has them
        graphs = [each.but_with(node_names=None) for each in graphs]
    return _in_order(join_graphs(_checked(graphs), **columns))


def _checked(parts: Sequence[Graph]) -> list[Graph]:
    """Check that labels are all numbers or all strings; add empty edge labels to graphs without edges."""
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
    return [p.but_with(edge_labels=labelled[:0]) if len(p.edges) == 0 else p for p in parts]


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


# NetworkX, igraph and PyTorch Geometric to `Graph`.
#
# Nothing here imports these libraries; the caller has. Cells may be in any order; `_join` sorts them.


def from_networkx(graphs: Sequence[Any], label_from: str | None, edge_label_from: str | None) -> list[Graph]:
    """Read node labels, edge labels and edge ``weight``; nodes that are strings become names."""
    label = _chosen("node", label_from, _keys(data for graph in graphs for _, data in graph.nodes(data=True)))
    edge_keys = _keys(data for graph in graphs for _, _, data in graph.edges(data=True))
    edge_label = _chosen("edge", edge_label_from, edge_keys)
    parts = []
    for i, graph in enumerate(graphs):
        number = {node: position for position, node in enumerate(graph)}
        links = list(graph.edges(data=True))
        parts.append(
            _from_links(
                f"graph {i} of {len(graphs)}",
                n=len(number),
                pairs=[(number[u], number[v]) for u, v, _ in links],
                directed=graph.is_directed(),
                weights=[data.get("weight") for _, _, data in links],
                edge_labels=[data.get(edge_label) for _, _, data in links],
                node_labels=[data.get(label) for _, data in graph.nodes(data=True)],
                names=list(number),
                id=graph.graph.get("name"),
            )
        )
    return parts


def from_igraph(graphs: Sequence[Any], label_from: str | None, edge_label_from: str | None) -> list[Graph]:
    """Read the same from igraph, with node names from the vertex attribute ``name``."""
    label = _chosen("node", label_from, _keys(graph.vs.attributes() for graph in graphs) - {"name"})
    edge_label = _chosen("edge", edge_label_from, _keys(graph.es.attributes() for graph in graphs))

    def column(sequence: Any, attribute: str | None) -> list[Any]:
        there = attribute is not None and attribute in sequence.attributes()
        return list(sequence[attribute]) if there else [None] * len(sequence)

    return [
        _from_links(
            f"graph {i} of {len(graphs)}",
            n=graph.vcount(),
            pairs=graph.get_edgelist(),
            directed=graph.is_directed(),
            weights=column(graph.es, "weight"),
            edge_labels=column(graph.es, edge_label),
            node_labels=column(graph.vs, label),
            names=column(graph.vs, "name"),
            id=graph["name"] if "name" in graph.attributes() else None,
        )
        for i, graph in enumerate(graphs)
    ]


def _keys(attributes: Iterable[Iterable[str]]) -> set[str]:
    return {str(key) for some in attributes for key in some}


def _chosen(what: str, wanted: str | None, present: set[str], usual: str = "label") -> str | None:
    """Return the attribute that holds the labels; warn about others if the caller named none."""
    argument = "label_from" if what == "node" else "edge_label_from"
    if wanted is not None and wanted != AUTO and wanted not in present:
        there = ", ".join(sorted(present)[:10]) or "none"
        raise InputError(f"{argument}={wanted!r:.60}: no {what} has this attribute; attributes of {what}s are {there}")
    unread = sorted(present - {usual, "weight"})
    if wanted == AUTO and unread:
        warnings.warn(
            f"{what} attributes {', '.join(unread[:5])} are not read; choose the one that holds labels with "
            f"isonn.as_graphset(X, {argument}={unread[0]!r}), or None for no labels",
            IsoNNWarning,
            stacklevel=2,
        )
    return usual if wanted == AUTO else wanted


def from_pyg(
    graphs: Sequence[Any], label_from: str | None, edge_label_from: str | None
) -> tuple[list[Graph], NDArray[Any] | None]:
    """Read the graphs, and ``y`` if every ``Data`` has one element or one row.

    Whether ``x`` and ``edge_attr`` are one-hot is decided for the whole list, so a graph that looks one-hot by chance
    is read like the others.
    """
    total = len(graphs)
    edges = [_edge_index(data, i, total) for i, data in enumerate(graphs)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyG warns when it infers num_nodes from the edges
        sizes = [_number_of_nodes(data, i, total) for i, data in enumerate(graphs)]
    for i, (n, pairs) in enumerate(zip(sizes, edges, strict=True)):
        outside = ((pairs < 0) | (pairs >= n)).any(axis=1)
        if n and outside.any():
            raise InputError(
                f"graph {i} of {total} has an edge {tuple(pairs[outside][0].tolist())} in edge_index but only nodes "
                f"0 to {n - 1}; correct edge_index or num_nodes"
            )
    present = _keys(data.keys() for data in graphs)
    own = present - _EDGE_KEYS - _GRAPH_KEYS
    texts = {key for key in own if all(isinstance(getattr(data, key, None), str) for data in graphs)}
    label = _chosen("node", label_from, own - texts, usual="x")
    edge_label = _chosen("edge", edge_label_from, (present & _EDGE_KEYS) - {"edge_weight"}, usual="edge_attr")
    node_labels, node_attributes = _features([getattr(data, label or "", None) for data in graphs], sizes, label or "x")
    if label != "x" and "x" in present:
        if node_labels is None and label is not None:
            raise InputError(f"label_from={label!r} holds several numbers per node; name a column of integers")
        _, node_attributes = _features([getattr(data, "x", None) for data in graphs], sizes, "x", labels=False)
    counts = [len(pairs) for pairs in edges]
    edge_values = [getattr(data, edge_label or "", None) for data in graphs]
    edge_labels, edge_attributes = _features(edge_values, counts, edge_label or "edge_attr")
    weights = _columns([getattr(data, "edge_weight", None) for data in graphs], counts, "edge_weight")
    if weights is None and edge_attributes is not None and edge_attributes[0].shape[1] == 1:
        weights, edge_attributes = edge_attributes, None
    if edge_attributes is not None:
        warnings.warn(
            f"{edge_label} has {edge_attributes[0].shape[1]} real numbers per edge, which are not read; give a weight "
            f"or a label per edge, or edge_label_from=None to leave them out",
            IsoNNWarning,
            stacklevel=2,
        )
    parts = []
    for i, data in enumerate(graphs):
        weight = None if weights is None else weights[i].reshape(-1).astype(np.float64)
        bond = None if edge_labels is None else edge_labels[i]
        pairs, weight, bond = _merge_parallel(f"graph {i} of {total}", sizes[i], edges[i], weight, None, bond)
        parts.append(
            Graph.unchecked(
                n=sizes[i],
                edges=pairs,
                weights=weight,
                node_labels=None if node_labels is None else node_labels[i],
                edge_labels=bond,
                node_attributes=None if node_attributes is None else node_attributes[i].astype(np.float64),
                id=data.name if "name" in texts else None,
                row={key: getattr(data, key) for key in sorted(texts - {"name"})},
            )
        )
    return parts, _collected_y([getattr(data, "y", None) for data in graphs])


#: Keys of PyG's ``Data`` for edges and for graphs; all others are for nodes.
_EDGE_KEYS = {"edge_attr", "edge_weight"}
_GRAPH_KEYS = {"edge_index", "y", "num_nodes", "idx", "batch", "ptr"}


def _number_of_nodes(data: Any, i: int, total: int) -> int:
    try:
        nodes = int(data.num_nodes or 0)
    except (TypeError, ValueError, RuntimeError, AttributeError, OverflowError) as error:
        raise InputError(f"graph {i} of {total} has no usable number of nodes; set data.num_nodes") from error
    if not 0 <= nodes <= MAX_NODES:
        raise InputError(f"graph {i} of {total} has {nodes:.4g} nodes, not 1 to {MAX_NODES}; set data.num_nodes")
    return nodes


def _collected_y(targets: list[Any]) -> NDArray[Any] | None:
    """Return ``y`` of all graphs, if each has one element or one row of the same length."""
    if any(target is None for target in targets):
        return None
    values = [_tensor(target, "y") for target in targets]
    if all(value.size == 1 for value in values):
        return np.concatenate([value.reshape(1) for value in values])
    rows = all(value.ndim == 2 and len(value) == 1 and value.shape == values[0].shape for value in values)
    return np.concatenate(values) if rows and values[0].size else None


def _from_links(
    where: str,
    n: int,
    pairs: Sequence[tuple[int, int]],
    directed: bool,
    weights: list[Any],
    edge_labels: list[Any],
    node_labels: list[Any],
    names: list[Any],
    id: Any = None,
) -> Graph:
    """Build a graph from links; an undirected link is two cells, a loop is one."""
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
    return Graph.unchecked(
        n=n,
        edges=cells,
        weights=values,
        node_labels=_labels(where, "node", node_labels),
        edge_labels=labels,
        node_names=np.array(names, dtype=np.str_) if n and all(isinstance(name, str) for name in names) else None,
        id=id if isinstance(id, str) and id else None,
    )


def _weights(where: str, weights: list[Any]) -> NDArray[np.float64]:
    for weight in weights:
        if weight is not None and not isinstance(weight, (bool, int, float, np.number, np.bool_)):
            raise InputError(f"{where} has an edge of weight {weight!r:.60}, which is not a number; use real numbers")
    try:
        return np.array([1.0 if weight is None else float(weight) for weight in weights])
    except (TypeError, OverflowError) as error:  # complex numbers, integers beyond floats
        raise InputError(f"{where} has an edge of weight beyond real numbers ({error}); use real numbers") from error


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
            f"{where} has {what} labels such as {values[0]!r:.40} and {values[-1]!r:.40}; use numbers only or strings "
            f"only, of at most 64 bits"
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
    """Merge parallel edges: add their weights if they have any; their labels must agree."""
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
                f"{where} has parallel edges {tuple(cells[cell].tolist())} labelled {kept[merged[cell]].item()!r:.40} "
                f"and {labels[cell].item()!r:.40}; keep one edge, or give both one label"
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
    index = _tensor(edge_index, "edge_index")
    if index.ndim != 2 or index.shape[0] != 2 or (index.dtype.kind not in "iu" and index.size):
        raise InputError(
            f"graph {i} of {total} has an edge_index of shape {index.shape} and type {index.dtype}; "
            f"use integers of shape (2, edges)"
        )
    return np.ascontiguousarray(index.T).astype(np.int64)


def _tensor(value: Any, name: str) -> NDArray[Any]:
    try:
        return to_numpy(value)
    except ValueError as error:
        raise InputError(f"{name} of the PyG data cannot be read ({error!s:.100}); use a tensor") from error


def _columns(values: list[Any], counts: list[int], name: str) -> list[NDArray[Any]] | None:
    """Return the feature matrices of all graphs, or None; a graph without nodes or edges may omit its matrix."""
    arrays = [None if value is None else _tensor(value, name) for value in values]
    arrays = [None if a is None else np.atleast_1d(a) for a in arrays]
    arrays = [None if a is None else a.reshape(len(a), math.prod(a.shape[1:])) for a in arrays]
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
    values: list[Any], counts: list[int], name: str, labels: bool = True
) -> tuple[list[NDArray[Any]] | None, list[NDArray[Any]] | None]:
    """Return (labels, None) for one-hot rows and single integers, (None, attributes) otherwise."""
    columns = _columns(values, counts, name)
    if columns is None:
        return None, None
    if not labels:
        return None, columns
    if columns[0].shape[1] == 1:
        if all(column.dtype.kind in "biu" for column in columns):
            return [column[:, 0] for column in columns], None
        return None, columns
    if all(((c == 0) | (c == 1)).all() and (c.sum(axis=1) == 1).all() for c in columns):
        return [column.argmax(axis=1) for column in columns], None
    return None, columns
