"""`Graph` and `GraphSet`: checked when made, immutable afterwards.

A `GraphSet` stores all its graphs in a few flat arrays (columns), as tabular libraries do, so a million molecules need
no Python object per graph. ``graphs[i]`` returns one `Graph`.

A graph is the list of the nonzero cells of its adjacency matrix. An undirected edge is two cells.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from isonn.errors import InputError
from isonn.packing import IntArray
from isonn.params import check_memory

#: Columns with one entry per cell, per node and per graph.
OF_CELLS = ("weights", "edge_labels")
OF_NODES = ("node_labels", "node_attributes", "node_names")
OF_GRAPHS = ("y", "folds", "ids")

#: The columns that `GraphSet.digest` hashes, in this order. Never change this list: stored results are keyed by the
#: digest.
DIGESTED = (
    "node_offsets",
    "edge_offsets",
    "edges",
    "weights",
    "node_labels",
    "edge_labels",
    "node_attributes",
    "node_names",
    "y",
    "folds",
)


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """One graph.

    Attributes:
        n: number of nodes.
        edges: ndarray of shape (m, 2), the nonzero cells ``(row, column)`` of the adjacency matrix, sorted.
        weights: ndarray of shape (m,), the values of the cells, or None when all are 1.
        node_labels: ndarray of shape (n,) or None.
        edge_labels: ndarray of shape (m,), in the order of ``edges``, or None.
        node_attributes: ndarray of shape (n, d) or None.
        node_names: ndarray of shape (n,) of strings, or None.
        id: the name of the graph (a file, a subject, a compound), or None.
        kind: "" (plain), "molecules" or "connectomes"; determines how the graph is drawn.
        row: the graph's entries in `GraphSet.table`, such as ``{"smiles": "CCO"}``.
        node_label_names, edge_label_names: the names of labels, as in `GraphSet`; used to draw the graph.

    Example:
        >>> Graph(3, [[0, 1], [1, 0], [1, 2], [2, 1]], id="path").adjacency
        array([[0., 1., 0.],
               [1., 0., 1.],
               [0., 1., 0.]])
    """

    n: int
    edges: IntArray
    weights: NDArray[np.float64] | None = None
    node_labels: NDArray[Any] | None = None
    edge_labels: NDArray[Any] | None = None
    node_attributes: NDArray[np.float64] | None = None
    node_names: NDArray[np.str_] | None = None
    id: str | None = None
    kind: str = ""
    row: dict[str, Any] = field(default_factory=dict)
    node_label_names: Mapping[Any, str] = field(default_factory=dict)
    edge_label_names: Mapping[Any, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_graph(self)

    @classmethod
    def _trusted(cls, **columns: Any) -> Graph:
        """Make a graph without checking its arrays, for graphs taken from a checked set."""
        graph = object.__new__(cls)
        defaults = {"weights": None, "node_labels": None, "edge_labels": None, "node_attributes": None}
        graph.__dict__.update(defaults, node_names=None, id=None, kind="", row={})
        graph.__dict__.update(node_label_names={}, edge_label_names={})
        graph.__dict__.update(columns)
        return graph

    def _but(self, **columns: Any) -> Graph:
        """Return a copy with some columns replaced, unchecked."""
        return Graph._trusted(**{key: value for key, value in vars(self).items() if key != "adjacency"} | columns)

    @cached_property
    def adjacency(self) -> NDArray[np.float64]:
        """The adjacency matrix, read-only, of shape (n, n)."""
        check_memory("a dense matrix", (2, self.n, self.n), "use edges and weights instead")
        matrix = np.zeros((self.n, self.n))
        matrix[self.edges[:, 0], self.edges[:, 1]] = 1.0 if self.weights is None else self.weights
        matrix.flags.writeable = False
        return matrix

    def __repr__(self) -> str:
        called = "" if self.id is None else f"{self.id if len(self.id) <= 60 else self.id[:59] + '…'}: "
        return f"Graph({called}n={self.n}, cells={len(self.edges)}{', weighted' if self.weights is not None else ''})"

    def _repr_html_(self) -> str:
        from isonn.report.show import graph_html

        return graph_html(self)


@dataclass(frozen=True, eq=False, repr=False)
class GraphSet(Sequence[Graph]):
    """A set of graphs, with targets if known. All of isonn works on this type.

    Create one with :func:`isonn.load` or :func:`isonn.as_graphset`. An integer index returns a `Graph`; a slice, an
    index array or a mask returns a `GraphSet`. Arrays are read-only; arrays that the caller could still modify are
    copied.

    Attributes:
        node_offsets: ndarray of shape (g+1,); graph i owns nodes ``node_offsets[i]:node_offsets[i+1]``.
        edge_offsets: ndarray of shape (g+1,), likewise for ``edges``, ``weights`` and ``edge_labels``.
        edges: ndarray of shape (m, 2); nodes are numbered from 0 within their graph, cells sorted and distinct.
        weights: ndarray of shape (m,), or None when all cells are 1.
        node_labels, node_names: ndarray of shape (nodes,), or None.
        node_attributes: ndarray of shape (nodes, d), or None.
        edge_labels: ndarray of shape (m,), or None.
        y: class or number per graph, shape (g,); several labels or targets per graph, shape (g, columns); or None.
        folds: the fold each graph was released in, shape (g,), or None.
        name: the name of the set in tables and errors.
        node_label_names, edge_label_names: the meaning of label values, such as {0: "C"}.
        ids: the name of each graph, shape (g,) of strings, or None.
        class_names: the meaning of classes, such as {1: "mutagenic"}.
        target_names: the names of the columns of ``y``; () when unknown.
        table: further data per graph, such as covariates, groups or SMILES: {"age": (g,) array}.
        kind: "" (plain), "molecules" or "connectomes"; determines how graphs are drawn.
        confounds: the columns of ``table`` that aligned models regress out of the connections; see `with_confounds`.

    Example:
        >>> graphs = isonn.load("MUTAG")
        >>> graphs
        GraphSet(MUTAG: 188 graphs, 10-28 nodes, 2 classes)
        >>> graphs[:5], graphs[0]
        (GraphSet(MUTAG: 5 graphs, 11-19 nodes, 2 classes), Graph(n=17, cells=38))
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
    ids: NDArray[np.str_] | None = None
    class_names: dict[Any, str] = field(default_factory=dict)
    target_names: tuple[str, ...] = ()
    table: dict[str, NDArray[Any]] = field(default_factory=dict)
    kind: str = ""
    confounds: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for column in (*DIGESTED, "ids"):
            if (value := getattr(self, column)) is not None:
                object.__setattr__(self, column, _own(value))
        object.__setattr__(self, "table", {str(name): _own(values) for name, values in self.table.items()})
        object.__setattr__(self, "target_names", tuple(self.target_names))
        object.__setattr__(self, "confounds", tuple(self.confounds))
        _check(self)

    @staticmethod
    def concat(sets: Sequence[GraphSet], name: str | None = None) -> GraphSet:
        """Concatenate sets.

        All sets must have the same fields: labels, names, ``y``, columns of ``table``. If only some have weights, edges
        of the others get weight 1. ``ids`` are kept if every set has them; ``folds`` are dropped.

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> GraphSet.concat([graphs[:10], graphs[20:]])
            GraphSet(MUTAG: 178 graphs, 10-28 nodes, 2 classes)
        """
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
            joined[column] = None if any(part is None for part in parts) else _fresh(np.concatenate(parts))
        for names in ("node_label_names", "edge_label_names", "class_names"):
            joined[names] = {key: called for graphs in sets for key, called in getattr(graphs, names).items()}
        if any(graphs.weights is not None for graphs in sets):
            joined["weights"] = np.concatenate([_weights_of(graphs) for graphs in sets])
        return replace(
            first,
            node_offsets=_offsets(np.concatenate([graphs.sizes for graphs in sets])),
            edge_offsets=_offsets(np.concatenate([np.diff(graphs.edge_offsets) for graphs in sets])),
            edges=_fresh(np.concatenate([graphs.edges for graphs in sets])),
            folds=None,
            name=first.name if name is None else name,
            table={column: np.concatenate([graphs.table[column] for graphs in sets]) for column in first.table},
            **joined,
        )

    def __len__(self) -> int:
        return len(self.node_offsets) - 1

    @cached_property
    def sizes(self) -> IntArray:
        """Number of nodes of each graph, shape (g,)."""
        return np.diff(self.node_offsets)

    @cached_property
    def classes(self) -> NDArray[Any] | None:
        """The distinct classes, sorted; column numbers if ``y`` is a matrix; None without ``y``."""
        if self.y is None:
            return None
        if self.y.ndim == 2:
            return np.arange(self.y.shape[1])
        try:
            return np.unique(self.y)
        except TypeError:  # numbers mixed with strings cannot be sorted; estimators raise an error
            return np.array(list(dict.fromkeys(self.y.tolist())), dtype=object)

    @cached_property
    def graph_of_cell(self) -> IntArray:
        """The graph of each row of ``edges``, shape (m,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.edge_offsets))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the graphs, ``y``, ``folds`` and confounds; ignores ids, other columns and the names of labels."""
        hasher = hashlib.sha256()
        confounds = {f"confound {name}": self.table[name] for name in self.confounds}
        for column, value in {**{column: getattr(self, column) for column in DIGESTED}, **confounds}.items():
            if value is None:
                continue
            if value.dtype.kind not in "biuf":  # strings and mixed objects are hashed as text
                value = np.array([repr(item) for item in value.ravel().tolist()], dtype=np.str_).reshape(value.shape)
            hasher.update(f"{column}{value.dtype.str}{value.shape}".encode())
            hasher.update(np.ascontiguousarray(value).tobytes())
        return hasher.hexdigest()

    def dense(self, size: int | None = None, dtype: DTypeLike = np.float32) -> NDArray[Any]:
        """Return adjacency matrices of shape (g, size, size), padded with zeros at the end."""
        largest = int(self.sizes.max())
        size = largest if size is None else size
        if largest > size:
            i = int(self.sizes.argmax())
            raise InputError(
                f"graph {i} of {len(self)} has {largest} nodes, more than size={size}; use size={largest} or more"
            )
        check_memory("dense matrices", (len(self), size, size), "use a smaller size or fewer graphs")
        matrices = np.zeros((len(self), size, size), dtype=dtype)
        rows, columns = self.edges.T
        matrices[self.graph_of_cell, rows, columns] = 1 if self.weights is None else self.weights
        return matrices

    def scaled(self) -> GraphSet:
        """Divide the weights of each graph by its largest absolute weight."""
        if self.weights is None:
            return self
        largest = np.zeros(len(self))
        np.maximum.at(largest, self.graph_of_cell, np.abs(self.weights))
        return replace(self, weights=_fresh(self.weights / largest[self.graph_of_cell]))

    def with_y(self, y: ArrayLike | None) -> GraphSet:
        """Return the same graphs with another ``y``; names of classes and targets are kept if they still apply."""
        if y is None:
            return replace(self, y=None)
        values = np.array(y)
        columns = values.shape[1] if values.ndim == 2 else 1
        named = set(self.class_names) >= set(np.unique(values).tolist()) if self.class_names else False
        return replace(
            self,
            y=values,
            class_names=self.class_names if named else {},
            target_names=self.target_names if len(self.target_names) == columns else (),
        )

    def with_confounds(self, confounds: Any) -> GraphSet:
        """Return the same graphs with confounds, such as age and site, which aligned models regress out.

        Selections, folds and `concat` keep the confounds of every graph.

        Args:
            confounds: columns of ``table`` by name, such as ``["age", "site"]``; or the values: a pandas DataFrame or
                a dict of columns, or an array of shape (g,) or (g, columns). None removes the confounds.

        Example:
            >>> graphs = isonn.load("MUTAG").with_confounds({"age": np.arange(188)})
            >>> graphs[:5].confounds, graphs[:5].table["age"].tolist()
            (('age',), [0, 1, 2, 3, 4])
        """
        columns = _confound_columns(confounds, self.table)
        for name, values in columns.items():
            if values.shape != (len(self),):
                raise InputError(
                    f"confound {name!r} has shape {values.shape} for {len(self)} graphs; give one per graph"
                )
        return replace(self, table={**self.table, **columns}, confounds=tuple(columns))

    def select(self, index: Any) -> GraphSet:
        """Return the graphs at a slice, an index array or a mask; the same as ``graphs[index]``.

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> graphs.select(graphs.y == 1)
            GraphSet(MUTAG: 125 graphs, 12-28 nodes, 1 classes)
        """
        chosen = np.arange(len(self))[index].reshape(-1)
        nodes, node_offsets = _ranges(self.node_offsets, chosen)
        cells, edge_offsets = _ranges(self.edge_offsets, chosen)
        taken: dict[str, Any] = {
            column: _fresh(getattr(self, column)[rows])
            for columns, rows in ((OF_CELLS, cells), (OF_NODES, nodes), (OF_GRAPHS, chosen))
            for column in columns
            if getattr(self, column) is not None
        }
        return replace(
            self,
            node_offsets=node_offsets,
            edge_offsets=edge_offsets,
            edges=_fresh(self.edges[cells]),
            table={column: values[chosen] for column, values in self.table.items()},
            **taken,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the complete set to a ``.npz`` file that `isonn.load` and the commands read.

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> graphs[:50].save(tmp_path / "part.npz")
            >>> isonn.load(tmp_path / "part.npz")
            GraphSet(MUTAG: 50 graphs, 11-28 nodes, 2 classes)
        """
        from isonn.graphs.io.npz import save

        save(self, Path(path))

    def fold_leaves(self, label: Any) -> GraphSet:
        """Remove leaf nodes with one label and add their number to the label of their neighbour.

        This turns explicit hydrogens into CH, CH2 and CH3. A leaf whose neighbour is also such a leaf stays.

        Args:
            label: a node label or its name, such as "H".

        Example:
            >>> methane = isonn.Graph(3, [[0, 1], [0, 2], [1, 0], [2, 0]], node_labels=["C", "H", "H"])
            >>> isonn.as_graphset([methane]).fold_leaves("H").node_labels.tolist()
            ['C+2xH']
        """
        from isonn.graphs.fold import fold_leaves

        return fold_leaves(self, label)

    def relabelled(self, random_state: int | np.random.Generator | None = None) -> GraphSet:
        """Relabel every graph at random; labels, attributes, names and weights move with their nodes.

        Example:
            >>> path = isonn.as_graphset([np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])])
            >>> int(path.relabelled(0)[0].adjacency.sum())
            4
        """
        generator = np.random.default_rng(random_state)
        nodes = int(self.node_offsets[-1])
        owner = np.repeat(np.arange(len(self)), self.sizes)
        old = np.lexsort((generator.random(nodes), owner))  # the old number of each node, counted over all graphs
        new = np.empty(nodes, dtype=np.int64)
        new[old] = np.arange(nodes)
        start = self.node_offsets[:-1][self.graph_of_cell, None]
        edges = new[self.edges + start] - start
        order = np.lexsort((edges[:, 1], edges[:, 0], self.graph_of_cell))
        moved: dict[str, Any] = {
            column: _fresh(getattr(self, column)[rows])
            for columns, rows in ((OF_CELLS, order), (OF_NODES, old))
            for column in columns
            if getattr(self, column) is not None
        }
        return replace(self, edges=_fresh(edges[order]), **moved)

    @overload
    def __getitem__(self, index: int) -> Graph: ...
    @overload
    def __getitem__(self, index: slice | ArrayLike) -> GraphSet: ...
    def __getitem__(self, index: Any) -> Graph | GraphSet:
        if isinstance(index, (int, np.integer)) and not isinstance(index, bool):
            return self._graph(int(index))
        return self.select(index)

    def __iter__(self) -> Iterator[Graph]:
        return (self._graph(i) for i in range(len(self)))

    def __repr__(self) -> str:
        if self.y is None or self.classes is None:
            what = "no classes"
        elif self.y.ndim == 2:
            what = f"{self.y.shape[1]} targets"
        elif self.y.dtype.kind == "f":
            what = "numbers to predict"
        else:
            what = f"{len(self.classes)} classes"
        smallest, largest = self.sizes.min(), self.sizes.max()
        sizes = f"{smallest}" if smallest == largest else f"{smallest}-{largest}"
        return f"GraphSet({self.name}: {len(self)} graphs, {sizes} nodes, {what})"

    def _repr_html_(self) -> str:
        from isonn.report.show import graphset_html

        return graphset_html(self)

    def _graph(self, i: int) -> Graph:
        if not -len(self) <= i < len(self):
            raise IndexError(f"graph {i} of a set of {len(self)}")
        i %= len(self)
        nodes = slice(self.node_offsets[i], self.node_offsets[i + 1])
        cells = slice(self.edge_offsets[i], self.edge_offsets[i + 1])
        return Graph._trusted(
            n=int(self.sizes[i]),
            edges=self.edges[cells],
            weights=_take(self.weights, cells),
            node_labels=_take(self.node_labels, nodes),
            edge_labels=_take(self.edge_labels, cells),
            node_attributes=_take(self.node_attributes, nodes),
            node_names=_take(self.node_names, nodes),
            id=None if self.ids is None else str(self.ids[i]),
            kind=self.kind,
            row={column: values[i] for column, values in self.table.items()},
            node_label_names=self.node_label_names,
            edge_label_names=self.edge_label_names,
        )


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
    order = _cell_order(owner, pairs, values)
    values = _take(values, order)
    counts = np.bincount(owner[order], minlength=len(nodes))
    return GraphSet(
        node_offsets=_offsets(nodes),
        edge_offsets=_offsets(counts),
        edges=_fresh(pairs[order]),
        weights=None if values is None or (values == 1).all() else _fresh(values),
        edge_labels=_take(labels, order),
        **columns,
    )


def _cell_order(owner: IntArray, pairs: IntArray, weights: NDArray[np.float64] | None) -> IntArray:
    """Return the order of cells by graph, row and column, with the last of equal cells and none of weight 0."""
    order = np.lexsort((pairs[:, 1], pairs[:, 0], owner))  # a stable sort, so the last of equal cells stays last
    keep = np.ones(len(order), dtype=bool)
    if len(order):
        key = np.column_stack([owner, pairs])[order]
        keep[:-1] = (key[1:] != key[:-1]).any(axis=1)
    if weights is not None:
        keep &= weights[order] != 0
    return order[keep]


def join_graphs(graphs: Sequence[Graph], **columns: Any) -> GraphSet:
    """Join single graphs into a `GraphSet`; labels, attributes, names and table entries are for all graphs or none.

    Args:
        columns: other fields of `GraphSet`, such as ``y``.
    """
    if any(graph.weights is not None for graph in graphs):
        columns["weights"] = np.concatenate([_weights_of(graph) for graph in graphs])
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
    return GraphSet(
        node_offsets=_offsets(np.array([graph.n for graph in graphs], dtype=np.int64)),
        edge_offsets=_offsets(np.array([len(graph.edges) for graph in graphs], dtype=np.int64)),
        edges=np.concatenate([graph.edges for graph in graphs]) if graphs else np.zeros((0, 2), dtype=np.int64),
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
    return _fresh(np.concatenate(parts))


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


def _confound_columns(confounds: Any, table: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the columns of confounds by name."""
    if confounds is None:
        return {}
    if hasattr(confounds, "columns") and hasattr(confounds, "to_numpy"):  # a DataFrame
        return {str(name): _plain_column(confounds[name].tolist()) for name in confounds.columns}
    if isinstance(confounds, Mapping):
        return {str(name): _plain_column(values) for name, values in confounds.items()}
    names = [confounds] if isinstance(confounds, str) else confounds
    if isinstance(names, (list, tuple)) and all(isinstance(name, str) for name in names):
        missing = [name for name in names if name not in table]
        if missing:
            known = ", ".join(map(str, table)) or "none"
            raise InputError(f"confound {missing[0]!r} is not a column of the graphs; their columns are: {known}")
        return {name: table[name] for name in names}
    values = np.asarray(confounds)
    if values.ndim not in (1, 2) or values.dtype.kind not in "biufUO":
        raise InputError(f"confounds have shape {values.shape} and type {values.dtype}; give one row per graph")
    values = values.reshape(len(values), -1)
    return {f"confound {i + 1}": _plain_column(values[:, i].tolist()) for i in range(values.shape[1])}


def _plain_column(values: Any) -> NDArray[Any]:
    """Return numbers as numbers and anything else as text; None is a gap."""
    array = np.asarray(values)
    if array.dtype.kind in "biuf":
        return array
    cells = array.tolist() if array.ndim == 1 else [array]
    try:
        return np.array([np.nan if cell is None else float(cell) for cell in cells])
    except (TypeError, ValueError):
        gaps = [cell is None or cell != cell for cell in cells]
        return np.array(["" if gap else str(cell) for cell, gap in zip(cells, gaps, strict=True)], dtype=np.str_)


def _take(column: NDArray[Any] | None, rows: Any) -> Any:
    return None if column is None else column[rows]


def _own(values: Any) -> NDArray[Any]:
    """Return a read-only array, copied if the caller could still modify it."""
    array = np.asarray(values)
    return _fresh(array.copy()) if array.flags.writeable else array


def _fresh(array: NDArray[Any]) -> NDArray[Any]:
    """Mark a new array as read-only, so that a `GraphSet` does not copy it."""
    array.flags.writeable = False
    return array


def _weights_of(graphs: Graph | GraphSet) -> NDArray[np.float64]:
    return np.ones(len(graphs.edges)) if graphs.weights is None else graphs.weights


def _offsets(counts: IntArray) -> IntArray:
    return _fresh(np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts, dtype=np.int64)]))


def _ranges(offsets: IntArray, chosen: IntArray) -> tuple[IntArray, IntArray]:
    """Return the rows of the selected graphs and their offsets in the selection."""
    counts = np.diff(offsets)[chosen]
    new_offsets = _offsets(counts)
    rows = np.arange(new_offsets[-1]) + np.repeat(offsets[chosen] - new_offsets[:-1], counts)
    return rows, new_offsets


# Checks.


def _check_graph(graph: Graph) -> None:
    """Check a graph made by a user, convert lists to arrays, and sort its cells."""
    n, m = graph.n, 0
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or not 1 <= n <= MAX_NODES:
        raise InputError(f"n={n!r:.60} is not a valid number of nodes; use an integer from 1 to {MAX_NODES}")
    columns: dict[str, Any] = {"n": int(n)}
    for name, kinds in (
        ("edges", "iu"),
        ("weights", "biuf"),
        ("edge_labels", "biufU"),
        ("node_labels", "biufU"),
        ("node_attributes", "biuf"),
        ("node_names", "U"),
    ):
        if getattr(graph, name) is None and name != "edges":
            continue
        expected = n if name in OF_NODES else m
        try:
            array = np.array(getattr(graph, name))
        except (ValueError, TypeError, OverflowError, RuntimeError) as error:
            raise InputError(f"{name} of the graph cannot be read as an array; give rows of one length") from error
        dimensions = 2 if name in ("edges", "node_attributes") else 1
        if not array.size and name != "node_attributes":
            array = np.zeros((0, 2) if name == "edges" else (0,), dtype=np.int64)
        if array.dtype.kind not in kinds or array.ndim != dimensions or (name == "edges" and array.shape[1] != 2):
            what = {"edges": "integers of shape (m, 2)", "node_attributes": "numbers of shape (n, d)"}.get(name)
            what = what or {"U": "strings", "biuf": "numbers"}.get(kinds, "numbers only or strings only")
            raise InputError(f"{name} of the graph has shape {array.shape} and type {array.dtype}; use {what}")
        if name == "edges":
            m = len(array)
        elif len(array) != expected:
            raise InputError(f"the graph has {len(array)} {name} where {expected} are needed; give one each")
        columns[name] = array
    edges = columns["edges"] = columns["edges"].astype(np.int64)
    outside = ((edges < 0) | (edges >= n)).any(axis=1)
    if outside.any():
        edge = tuple(edges[outside][0].tolist())
        raise InputError(f"the graph has an edge {edge} but only nodes 0 to {n - 1}; correct the edge or n")
    for name in ("weights", "node_attributes"):
        if name in columns:
            columns[name] = columns[name].astype(np.float64)
            if not np.isfinite(columns[name]).all():
                raise InputError(f"{name} of the graph hold NaN or infinity; replace them by numbers")
    order = _cell_order(np.zeros(m, dtype=np.int64), edges, columns.get("weights"))
    for name in ("edges", *OF_CELLS):
        if name in columns:
            columns[name] = columns[name][order]
    if "weights" in columns and (columns["weights"] == 1).all():
        columns["weights"] = None
    for name, value in columns.items():
        object.__setattr__(graph, name, _fresh(value) if isinstance(value, np.ndarray) else value)


#: The largest number of nodes allowed; more means a damaged file or a matrix of the wrong shape.
MAX_NODES = 2**24

#: The allowed dtype kinds and dimensions of each column; labels and ``y`` may have any type.
_SHAPES = {
    "node_offsets": ("iu", (1,)),
    "edge_offsets": ("iu", (1,)),
    "edges": ("iu", (2,)),
    "weights": ("biuf", (1,)),
    "node_labels": ("biufUO", (1,)),
    "edge_labels": ("biufUO", (1,)),
    "node_attributes": ("biuf", (2,)),
    "node_names": ("U", (1,)),
    "y": ("biufUO", (1, 2)),
    "folds": ("iu", (1,)),
    "ids": ("U", (1,)),
}
_KINDS = {"iu": "integers", "biuf": "numbers", "U": "strings", "biufUO": "numbers or strings"}


def _check(graphs: GraphSet) -> None:
    for name, (kinds, dimensions) in _SHAPES.items():
        column = getattr(graphs, name)
        right = column is None or (column.dtype.kind in kinds and column.ndim in dimensions)
        if not right or (name == "edges" and column.shape[1] != 2):
            raise InputError(
                f"{name} of {graphs.name} has shape {column.shape} and type {column.dtype}; give {_KINDS[kinds]} of "
                f"{' or '.join(map(str, dimensions))} dimensions"
            )
    g = len(graphs)
    if g < 1:
        raise InputError(f"{graphs.name} holds no graph; give at least one")
    if (graphs.sizes < 1).any():
        raise InputError(f"graph {int((graphs.sizes < 1).argmax())} of {g} has no nodes; drop it")
    if graphs.sizes.max() > MAX_NODES:
        i = int(graphs.sizes.argmax())
        raise InputError(
            f"graph {i} of {g} has {graphs.sizes[i]} nodes, above the limit of {MAX_NODES}; check its shape"
        )
    counts = np.diff(graphs.edge_offsets)
    for name, offsets in (("node_offsets", graphs.node_offsets), ("edge_offsets", graphs.edge_offsets)):
        if not len(offsets) or offsets[0] != 0 or (counts < 0).any():
            raise InputError(f"{name} of {graphs.name} do not rise from 0; give where each graph starts")
    if graphs.edge_offsets[-1] != len(graphs.edges):
        raise InputError(f"edge_offsets of {graphs.name} end with {graphs.edge_offsets[-1]}, not {len(graphs.edges)}")
    n_nodes, n_cells = int(graphs.node_offsets[-1]), len(graphs.edges)
    expected = {"edge_offsets": g + 1, **dict.fromkeys(OF_CELLS, n_cells)}
    expected |= {**dict.fromkeys(OF_NODES, n_nodes), **dict.fromkeys(OF_GRAPHS, g)}
    found = {name: getattr(graphs, name) for name in expected}
    for name, column in found.items():
        if column is not None and len(column) != expected[name]:
            raise InputError(f"{name} of {graphs.name} has {len(column)} entries where {expected[name]} are needed")
    for name, column in graphs.table.items():
        if column.shape != (g,):
            raise InputError(f"column {name!r:.60} of table has shape {column.shape}; give one entry per graph ({g})")
    if unknown := [name for name in graphs.confounds if name not in graphs.table]:
        raise InputError(f"confound {unknown[0]!r:.60} of {graphs.name} is not a column of table; add it")
    if graphs.y is not None and graphs.target_names:
        columns = graphs.y.shape[1] if graphs.y.ndim == 2 else 1
        if len(graphs.target_names) != columns:
            raise InputError(f"{len(graphs.target_names)} target_names for {columns} columns of y; name each column")
    # graphs of one size need no limit per cell, which would cost more memory than the graphs
    if n_cells and (graphs.edges.min() < 0 or graphs.edges.max() >= graphs.sizes.min()):
        limit = graphs.sizes[graphs.graph_of_cell, None]
        wrong = ((graphs.edges < 0) | (graphs.edges >= limit)).any(axis=1)
        if wrong.any():
            cell = int(wrong.argmax())
            i = int(graphs.graph_of_cell[cell])
            raise InputError(
                f"graph {i} of {g} has an edge {tuple(graphs.edges[cell].tolist())} but only nodes 0 to "
                f"{graphs.sizes[i] - 1}; correct the edge or the number of nodes"
            )
    for name in ("node_labels", "edge_labels"):
        column = getattr(graphs, name)
        if column is None or column.dtype.kind != "f":
            continue
        if not np.isfinite(column).all():
            raise InputError(f"{name} of {graphs.name} hold NaN or infinity; give every one a label")
        if (large := column[abs(column) >= 2**53]).size:  # where floats merge neighbouring integers
            raise InputError(
                f"{name} of {graphs.name} hold {large[0]:g}, beyond 2**53; use smaller numbers, or strings"
            )
    for name, offsets in (("weights", graphs.edge_offsets), ("node_attributes", graphs.node_offsets)):
        column = getattr(graphs, name)
        if column is None:
            continue
        bad = ~np.isfinite(column).reshape(len(column), -1).all(axis=1)
        if bad.any():
            row = int(bad.argmax())
            i = int(np.searchsorted(offsets, row, side="right") - 1)
            value = column[row] if column.ndim == 1 else column[row][~np.isfinite(column[row])][0]
            what = "an edge of weight" if name == "weights" else "a node attribute"
            raise InputError(f"graph {i} of {g} has {what} {value}; replace NaN and infinity by numbers, or drop it")
