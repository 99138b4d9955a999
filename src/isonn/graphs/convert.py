"""Convert graphs of other libraries to a `GraphSet`.

Objects are recognised by the module of their class, so isonn does not import these libraries.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isonn.errors import InputError, naming_the_extra
from isonn.graphs.foreign.links import AUTO, graphs_from_links, igraph_links, networkx_links
from isonn.graphs.foreign.matrices import from_matrices, from_stack
from isonn.graphs.foreign.pyg import from_pyg
from isonn.graphs.graph import Graph, GraphSet
from isonn.graphs.io.registry import Problem
from isonn.graphs.join import join_graphs
from isonn.packing import to_numpy
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
_READS = (
    "a list of NetworkX graphs, PyTorch Geometric Data, igraph Graphs, SciPy sparse matrices, SMILES or square arrays, "
    "or one array of shape (g, n, n)"
)


def as_graphset(
    X: Any,
    y: ArrayLike | None = None,
    name: str | None = None,
    *,
    label_from: str | None = AUTO,
    edge_label_from: str | None = AUTO,
    standardize: str | None = None,
    **columns: Any,
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
        standardize: how molecules are standardised: "none", "salts" (the default) or "full"; see
            `isonn.molecules.standardize`. A `GraphSet` of molecules must have been read with the same setting.
        columns: ``ids``, ``class_names``, ``target_names`` and ``table``, as in `GraphSet`; None keeps those of ``X``.

    Returns:
        The graphs; ``X`` itself if it is a `GraphSet` and nothing else is given.

    Example:
        >>> as_graphset([[[0, 1], [1, 0]], [[0, 1, 0], [1, 0, 1], [0, 1, 0]]], y=["edge", "path"])
        GraphSet(graphs: 2 graphs, 2-3 nodes, 2 classes)
    """
    graphs = X if isinstance(X, GraphSet) else _convert(_items(X), label_from, edge_label_from, standardize)
    _check_standard(graphs, standardize)
    if y is not None:
        if type(getattr(X, "sampler", None)).__name__ == "RandomSampler":
            raise InputError("X is a DataLoader that shuffles, so y has another order; give X.dataset")
        graphs = graphs.with_y(as_y(y, len(graphs)))
    given = {column: value for column, value in {"name": name, **columns}.items() if value is not None}
    return replace(graphs, **{column: _column(column, value) for column, value in given.items()}) if given else graphs


#: How the optional columns are converted to the types of `GraphSet`.
_COLUMNS: dict[str, Callable[[Any], Any]] = {
    "name": str,
    "ids": lambda value: to_numpy(value).astype(np.str_),
    "class_names": lambda value: {key: str(called) for key, called in dict(value).items()},
    "target_names": lambda value: (value,) if isinstance(value, str) else tuple(map(str, value)),
    "table": lambda value: {key: to_numpy(values) for key, values in dict(value).items()},
}


def _column(column: str, value: Any) -> Any:
    if column not in _COLUMNS:
        raise TypeError(f"as_graphset got an unexpected keyword argument {column!r}; use {', '.join(_COLUMNS)}")
    try:
        return _COLUMNS[column](value)
    except (TypeError, ValueError) as error:
        what = "a list of strings" if column in ("ids", "target_names") else "a dict"
        raise InputError(f"{column}={value!r:.60} cannot be used ({error!s:.80}); give {what}") from error


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
    items = X if isinstance(X, GraphSet) else [X] if isinstance(X, str) else _items(X)
    if not isinstance(items, list) or MOLECULE not in {_kind(type(item)) for item in items}:
        return as_graphset(items, standardize=standardize), []
    result: tuple[GraphSet | None, list[Problem]] = _of_extra("read_molecules", items, standardize)
    return result


def _of_extra(function: str, items: list[Any], standardize: str | None) -> Any:
    """Convert molecules by a function of their extra."""
    with naming_the_extra(f"reading a {MOLECULE}"):
        convert = importlib.import_module("isonn.molecules.convert")
    return getattr(convert, function)(items, **({} if standardize is None else {"standardize": standardize}))


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


def count_changes(graphs: GraphSet) -> Counter[str]:
    """Count the molecules that standardisation changed ("molecules"), and those with each kind of change.

    Example:
        >>> dict(count_changes(as_graphset(["CC[NH3+].[Cl-]", "CCO", "O.CCN"])))
        {'molecules': 2, 'fragment': 2, 'charge': 1}
    """
    changed = [str(kinds) for kinds in graphs.table.get("changes", np.zeros(0, dtype=np.str_)) if kinds]
    return Counter(kind for kinds in changed for kind in ("molecules", *kinds.split(", ")))


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


def _convert(
    items: list[Any] | NDArray[Any], label_from: str | None, edge_label_from: str | None, standardize: str | None
) -> GraphSet:
    if isinstance(items, np.ndarray):
        return from_stack(items)
    if not items:
        raise InputError("X holds no graph; give at least one")
    if isinstance(items[0], GraphSet):
        raise InputError("X is a stream or a list of sets, and one set is needed; isonn.load reads all files into one")
    kind = _one_kind(items)
    if kind is MOLECULE:
        molecules: GraphSet = _of_extra("from_smiles", items, standardize)
        return molecules
    if kind in (ARRAY, SPARSE):
        return from_matrices(items, sparse=kind is SPARSE)
    if kind is OURS:
        return join_graphs(items)
    if kind is PYG:
        data = [data for item in items for data in (item.to_data_list() if _is_batch(item) else [item])]
        graphs, y = from_pyg(data, label_from, edge_label_from)
        return join_graphs(graphs, y=None if y is None else as_y(y, len(data)))
    links = map(networkx_links if kind is NETWORKX else igraph_links, items)
    return join_graphs(graphs_from_links(list(links), label_from, edge_label_from))


def is_smiles(text: str) -> bool:
    """Return whether a text is a SMILES and not, for example, the name of a dataset; False without rdkit."""
    try:
        parse = importlib.import_module("isonn.molecules.parse").is_smiles
    except ImportError:
        return False
    return bool(parse(text))


def _why_no_smiles(text: str) -> str:
    """Return why a text is not a SMILES, as part of a sentence; "" without rdkit."""
    try:
        parse = importlib.import_module("isonn.molecules.parse").parse_smiles
    except ImportError:
        return ""
    return f"as a SMILES it cannot be read ({parse(text)[0]}); "


def _items(given: Any) -> list[Any] | NDArray[Any]:
    """Return a list of graphs, or one array of adjacency matrices."""
    if isinstance(given, str) and is_smiles(given):
        return [given]
    kind = None if isinstance(given, str) else _kind(type(given))
    if kind not in (None, ARRAY):
        unpack = "batch.to_data_list()" if _is_batch(given) else "[X]"
        raise InputError(f"X is a single {kind}, not a list of graphs; give {unpack}")
    if isinstance(given, (list, tuple)):
        return list(given)
    if kind is ARRAY:
        return _rows(to_numpy(given))
    indexed = hasattr(given, "__len__") and hasattr(given, "__getitem__")
    if isinstance(given, (str, bytes, dict, set, frozenset)) or not (indexed or isinstance(given, Iterable)):
        remedy = "; isonn.load reads names and paths" if isinstance(given, str) else ""
        why = _why_no_smiles(given) if isinstance(given, str) else ""
        raise InputError(
            f"X={given!r:.60} is of type {type(given).__name__}, not a list of graphs; {why}give {_READS}{remedy}"
        )
    return [given[i] for i in range(len(given))] if indexed else list(given)  # some datasets support only indexing


def _rows(array: NDArray[Any]) -> list[Any] | NDArray[Any]:
    """Return the entries of a column of text or objects, such as ``frame[["SMILES"]]``; other arrays as they are."""
    if array.dtype.kind not in "OUT":
        return array
    if array.ndim == 2 and any(isinstance(item, str) for item in array.flat):
        if array.shape[1] != 1:
            raise InputError(
                f"X is a table of {array.shape[1]} columns; give the column of SMILES, such as X['SMILES']"
            )
        array = array.reshape(-1)
    return list(array) if array.ndim == 1 else array


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
