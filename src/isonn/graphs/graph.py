"""`Graph` and `GraphSet`: checked once, immutable afterwards.

A `GraphSet` keeps all its graphs in a few flat arrays (columns), as tabular libraries do: a million
molecules are a handful of arrays and no Python object per graph. ``graphs[i]`` cuts one `Graph` out.

A graph is the list of the nonzero cells of its adjacency matrix. An undirected edge is two cells.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from isonn.errors import InputError
from isonn.packing import IntArray


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """One graph.

    Attributes:
        n: number of nodes.
        edges: ndarray of shape (m, 2), the nonzero cells ``(row, column)`` of the adjacency matrix, sorted.
        weights: ndarray of shape (m,), their values, or None when every value is 1.
        node_labels: ndarray of shape (n,) or None.
        edge_labels: ndarray of shape (m,), in the order of ``edges``, or None.
        node_attributes: ndarray of shape (n, d) or None.
        node_names: ndarray of shape (n,) of strings, or None.
    """

    n: int
    edges: IntArray
    weights: NDArray[np.float64] | None = None
    node_labels: NDArray[Any] | None = None
    edge_labels: NDArray[Any] | None = None
    node_attributes: NDArray[np.float64] | None = None
    node_names: NDArray[np.str_] | None = None

    @cached_property
    def adjacency(self) -> NDArray[np.float64]:
        """ndarray of shape (n, n), read-only."""
        matrix = np.zeros((self.n, self.n))
        matrix[self.edges[:, 0], self.edges[:, 1]] = 1.0 if self.weights is None else self.weights
        matrix.flags.writeable = False
        return matrix

    def __repr__(self) -> str:
        return f"Graph(n={self.n}, cells={len(self.edges)}{', weighted' if self.weights is not None else ''})"


@dataclass(frozen=True, eq=False, repr=False)
class GraphSet(Sequence[Graph]):
    """Graphs with, optionally, their classes; the one form every part of isonn reads.

    Make one with :func:`isonn.load` or :func:`isonn.as_graphset`. Indexing with a number gives a
    `Graph`; with a slice, an index array or a mask, a `GraphSet`.

    Attributes:
        node_offsets: ndarray of shape (g+1,); graph i owns nodes ``node_offsets[i]:node_offsets[i+1]``.
        edge_offsets: ndarray of shape (g+1,), likewise for ``edges``, ``weights`` and ``edge_labels``.
        edges: ndarray of shape (m, 2); nodes are numbered from 0 within their graph, cells sorted and distinct.
        weights: ndarray of shape (m,), or None when every cell is 1.
        node_labels, node_names: ndarray of shape (nodes,), or None.
        node_attributes: ndarray of shape (nodes, d), or None.
        edge_labels: ndarray of shape (m,), or None.
        y: class per graph, shape (g,), or indicator matrix (g, labels), or None.
        folds: the fold each graph was released in, shape (g,), or None.
        name: what the set is called in tables and errors.
        node_label_names, edge_label_names: what a label value means ({0: "C"}), for people.
    """

    node_offsets: IntArray
    edge_offsets: IntArray
    edges: IntArray
    weights: NDArray[np.float64] | None = None
    node_labels: NDArray[Any] | None = None
    edge_labels: NDArray[Any] | None = None
    node_attributes: NDArray[np.float64] | None = None
    node_names: NDArray[np.str_] | None = None
    y: NDArray[Any] | None = None
    folds: IntArray | None = None
    name: str = "graphs"
    node_label_names: dict[Any, str] = field(default_factory=dict)
    edge_label_names: dict[Any, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check(self)
        for column in fields(self):
            value = getattr(self, column.name)
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    def __len__(self) -> int:
        return len(self.node_offsets) - 1

    @cached_property
    def sizes(self) -> IntArray:
        """ndarray of shape (g,): nodes of each graph."""
        return np.diff(self.node_offsets)

    @cached_property
    def classes(self) -> NDArray[Any] | None:
        """The distinct classes, sorted; for an indicator matrix its column numbers; None without ``y``."""
        if self.y is None:
            return None
        return np.unique(self.y) if self.y.ndim == 1 else np.arange(self.y.shape[1])

    @cached_property
    def graph_of_cell(self) -> IntArray:
        """ndarray of shape (m,): the graph each row of ``edges`` belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.edge_offsets))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the graphs and classes; equal sets have equal digests, whatever they are called."""
        hasher = hashlib.sha256()
        for column in fields(self):
            value = getattr(self, column.name)
            if not isinstance(value, np.ndarray):
                continue
            if value.dtype.kind not in "biuf":  # strings and mixed objects: their text
                value = np.array([repr(item) for item in value.ravel().tolist()], dtype=np.str_).reshape(value.shape)
            hasher.update(f"{column.name}{value.dtype.str}{value.shape}".encode())
            hasher.update(np.ascontiguousarray(value).tobytes())
        return hasher.hexdigest()

    def dense(self, size: int | None = None, dtype: DTypeLike = np.float32) -> NDArray[Any]:
        """Adjacency matrices of shape (g, size, size), padded with zeros at the end."""
        largest = int(self.sizes.max())
        size = largest if size is None else size
        if largest > size:
            i = int(self.sizes.argmax())
            raise InputError(f"graph {i} of {len(self)} has {largest} nodes, more than the {size} there is room for")
        matrices = np.zeros((len(self), size, size), dtype=dtype)
        rows, columns = self.edges.T
        matrices[self.graph_of_cell, rows, columns] = 1 if self.weights is None else self.weights
        return matrices

    def scaled(self) -> GraphSet:
        """Each graph divided by its largest absolute weight, so that no graph outweighs another."""
        if self.weights is None:
            return self
        largest = np.zeros(len(self))
        np.maximum.at(largest, self.graph_of_cell, np.abs(self.weights))
        return replace(self, weights=self.weights / largest[self.graph_of_cell])

    def with_y(self, y: ArrayLike | None) -> GraphSet:
        """The same graphs with other classes."""
        return replace(self, y=None if y is None else np.array(y))

    @overload
    def __getitem__(self, index: int) -> Graph: ...
    @overload
    def __getitem__(self, index: slice | ArrayLike) -> GraphSet: ...
    def __getitem__(self, index: Any) -> Graph | GraphSet:
        if isinstance(index, (int, np.integer)) and not isinstance(index, bool):
            return self._graph(int(index))
        return self._select(np.arange(len(self))[index])

    def __iter__(self) -> Iterator[Graph]:
        return (self._graph(i) for i in range(len(self)))

    def __repr__(self) -> str:
        classes = "no classes" if self.classes is None else f"{len(self.classes)} classes"
        return f"GraphSet({self.name}: {len(self)} graphs, {self.sizes.min()}-{self.sizes.max()} nodes, {classes})"

    def _graph(self, i: int) -> Graph:
        if not -len(self) <= i < len(self):
            raise IndexError(f"graph {i} of a set of {len(self)}")
        i %= len(self)
        nodes = slice(self.node_offsets[i], self.node_offsets[i + 1])
        cells = slice(self.edge_offsets[i], self.edge_offsets[i + 1])
        return Graph(
            n=int(self.sizes[i]),
            edges=self.edges[cells],
            weights=_take(self.weights, cells),
            node_labels=_take(self.node_labels, nodes),
            edge_labels=_take(self.edge_labels, cells),
            node_attributes=_take(self.node_attributes, nodes),
            node_names=_take(self.node_names, nodes),
        )

    def _select(self, chosen: IntArray) -> GraphSet:
        nodes, node_offsets = _ranges(self.node_offsets, chosen)
        cells, edge_offsets = _ranges(self.edge_offsets, chosen)
        return replace(
            self,
            node_offsets=node_offsets,
            edge_offsets=edge_offsets,
            edges=self.edges[cells],
            weights=_take(self.weights, cells),
            node_labels=_take(self.node_labels, nodes),
            edge_labels=_take(self.edge_labels, cells),
            node_attributes=_take(self.node_attributes, nodes),
            node_names=_take(self.node_names, nodes),
            y=_take(self.y, chosen),
            folds=_take(self.folds, chosen),
        )


def graphset_from_cells(
    graph_of_cell: ArrayLike,
    edges: ArrayLike,
    sizes: ArrayLike,
    weights: ArrayLike | None = None,
    edge_labels: ArrayLike | None = None,
    **columns: Any,
) -> GraphSet:
    """A `GraphSet` from cells in any order; what every reader ends with.

    A cell given more than once keeps the weight and label it was given last. Cells of weight 0 are no
    edge and are dropped; weights that are all 1 are not stored.

    Args:
        graph_of_cell: the graph of each cell, shape (m,).
        edges: row and column of each cell, numbered from 0 within its graph, shape (m, 2).
        sizes: nodes of each graph, shape (g,).
        weights, edge_labels: per cell, or None.
        columns: the other fields of `GraphSet`, passed on.
    """
    owner = np.asarray(graph_of_cell, dtype=np.int64).reshape(-1)
    pairs = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    nodes = np.asarray(sizes, dtype=np.int64).reshape(-1)
    values = None if weights is None else np.asarray(weights, dtype=np.float64).reshape(-1)
    labels = None if edge_labels is None else np.asarray(edge_labels).reshape(-1)
    order = np.lexsort((pairs[:, 1], pairs[:, 0], owner))  # stable: of equal cells the last given stays last
    keep = np.ones(len(order), dtype=bool)
    if len(order):
        key = np.column_stack([owner, pairs])[order]
        keep[:-1] = (key[1:] != key[:-1]).any(axis=1)
    if values is not None:
        keep &= values[order] != 0
    order = order[keep]
    values = _take(values, order)
    counts = np.bincount(owner[order], minlength=len(nodes))
    return GraphSet(
        node_offsets=_offsets(nodes),
        edge_offsets=_offsets(counts),
        edges=pairs[order],
        weights=None if values is None or (values == 1).all() else values,
        edge_labels=_take(labels, order),
        **columns,
    )


def join_graphs(graphs: Sequence[Graph], **columns: Any) -> GraphSet:
    """One `GraphSet` of single graphs; all of them must have labels, attributes or names, or none."""
    weights = None
    if any(graph.weights is not None for graph in graphs):
        weights = np.concatenate([np.ones(len(g.edges)) if g.weights is None else g.weights for g in graphs])
    return GraphSet(
        node_offsets=_offsets(np.array([graph.n for graph in graphs], dtype=np.int64)),
        edge_offsets=_offsets(np.array([len(graph.edges) for graph in graphs], dtype=np.int64)),
        edges=np.concatenate([graph.edges for graph in graphs]) if graphs else np.zeros((0, 2), dtype=np.int64),
        weights=weights,
        node_labels=_join(graphs, "node_labels"),
        edge_labels=_join(graphs, "edge_labels"),
        node_attributes=_join(graphs, "node_attributes"),
        node_names=_join(graphs, "node_names"),
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
    return np.concatenate(parts)


def _take(column: NDArray[Any] | None, rows: Any) -> Any:
    return None if column is None else column[rows]


def _offsets(counts: IntArray) -> IntArray:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts, dtype=np.int64)])


def _ranges(offsets: IntArray, chosen: IntArray) -> tuple[IntArray, IntArray]:
    """Rows owned by the chosen graphs, and their offsets in the selection."""
    counts = np.diff(offsets)[chosen]
    new_offsets = _offsets(counts)
    rows = np.arange(new_offsets[-1]) + np.repeat(offsets[chosen] - new_offsets[:-1], counts)
    return rows, new_offsets


def _check(graphs: GraphSet) -> None:
    g = len(graphs)
    if g == 0:
        raise InputError(f"{graphs.name} holds no graph; give at least one")
    if (graphs.sizes < 1).any():
        raise InputError(f"graph {int((graphs.sizes < 1).argmax())} of {g} has no nodes; drop it")
    n_nodes, n_cells = int(graphs.node_offsets[-1]), len(graphs.edges)
    for name, expected in (
        ("edge_offsets", g + 1),
        ("weights", n_cells),
        ("edge_labels", n_cells),
        ("node_labels", n_nodes),
        ("node_attributes", n_nodes),
        ("node_names", n_nodes),
        ("y", g),
        ("folds", g),
    ):
        column = getattr(graphs, name)
        if column is not None and len(column) != expected:
            raise InputError(f"{name} of {graphs.name} has {len(column)} entries where {expected} are needed")
    if n_cells:
        limit = graphs.sizes[graphs.graph_of_cell, None]
        wrong = ((graphs.edges < 0) | (graphs.edges >= limit)).any(axis=1)
        if wrong.any():
            cell = int(wrong.argmax())
            i = int(graphs.graph_of_cell[cell])
            raise InputError(
                f"graph {i} of {g} has an edge {tuple(graphs.edges[cell].tolist())} but only nodes 0 to "
                f"{graphs.sizes[i] - 1}; correct the edge or the number of nodes"
            )
    for name, owner in (("weights", graphs.graph_of_cell), ("node_attributes", None)):
        column = getattr(graphs, name)
        if column is None:
            continue
        bad = ~np.isfinite(column).reshape(len(column), -1).all(axis=1)
        if bad.any():
            row = int(bad.argmax())
            i = int(owner[row] if owner is not None else np.searchsorted(graphs.node_offsets, row, side="right") - 1)
            value = column[row] if column.ndim == 1 else column[row][~np.isfinite(column[row])][0]
            what = "an edge of weight" if name == "weights" else "a node attribute"
            raise InputError(f"graph {i} of {g} has {what} {value}; replace NaN and infinity by numbers, or drop it")


# Several sets of graphs as one, where they are alike.


#: What all sets have, or none.
_COLUMNS = ("node_labels", "edge_labels", "node_attributes", "node_names", "y")


def join_sets(sets: Sequence[GraphSet], name: str | None = None) -> GraphSet:
    """The graphs of all sets, one set after the other.

    Sets have to be alike (see `difference`). Where some have weights, the edges of the others weigh 1. The folds of
    several sets have nothing to do with each other and are left out.
    """
    first = sets[0]
    if len(sets) == 1:
        return first if name is None else replace(first, name=name)
    for number, other in enumerate(sets):
        if reason := difference(first, other):
            raise InputError(f"set {number} of {len(sets)} ({other.name}) {reason}; join sets that are alike")
    columns: dict[str, Any] = {
        column: None
        if getattr(first, column) is None
        else np.concatenate([np.asarray(getattr(graphs, column)) for graphs in sets])
        for column in _COLUMNS
    }
    weights = None
    if any(graphs.weights is not None for graphs in sets):
        weights = np.concatenate([np.ones(len(g.edges)) if g.weights is None else g.weights for g in sets])
    return replace(
        first,
        node_offsets=np.concatenate([[0], np.concatenate([graphs.sizes for graphs in sets]).cumsum()]),
        edge_offsets=np.concatenate([[0], np.concatenate([np.diff(g.edge_offsets) for g in sets]).cumsum()]),
        edges=np.concatenate([graphs.edges for graphs in sets]),
        weights=weights,
        folds=None,
        name=first.name if name is None else name,
        **columns,
    )


def difference(first: GraphSet, other: GraphSet) -> str | None:
    """What keeps two sets from being parts of one, after "the other set ...", or None."""
    for column in _COLUMNS:
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
    for column in ("node_label_names", "edge_label_names"):
        if getattr(first, column) != getattr(other, column):
            return f"has {column} that differ from those of {first.name}, so that the same label means two things"
    return None


# The same graphs with their nodes in another order.


def relabelled(graphs: GraphSet, generator: np.random.Generator) -> GraphSet:
    """Every graph with its nodes in an order drawn at random; labels, attributes, names and weights go along.

    Example:
        >>> path = isonn.as_graphset([np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])])
        >>> int(relabelled(path, np.random.default_rng(0))[0].adjacency.sum())
        4
    """
    nodes = int(graphs.node_offsets[-1])
    owner = np.repeat(np.arange(len(graphs)), graphs.sizes)
    start = graphs.node_offsets[:-1]
    old = np.lexsort((generator.random(nodes), owner))  # the node, over all graphs, that takes each place
    new = np.empty(nodes, dtype=np.int64)
    new[old] = np.arange(nodes)
    cell_owner = graphs.graph_of_cell
    edges = new[graphs.edges + start[cell_owner, None]] - start[cell_owner, None]
    order = np.lexsort((edges[:, 1], edges[:, 0], cell_owner))
    return replace(
        graphs,
        edges=edges[order],
        weights=None if graphs.weights is None else graphs.weights[order],
        edge_labels=None if graphs.edge_labels is None else graphs.edge_labels[order],
        node_labels=None if graphs.node_labels is None else graphs.node_labels[old],
        node_attributes=None if graphs.node_attributes is None else graphs.node_attributes[old],
        node_names=None if graphs.node_names is None else graphs.node_names[old],
    )
