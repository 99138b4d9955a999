"""`Graph` and `GraphSet`: checked when made, immutable afterwards.

A `GraphSet` stores all its graphs in a few flat arrays (columns), as tabular libraries do, so a million molecules need
no Python object per graph. ``graphs[i]`` returns one `Graph`.

A graph is the list of the nonzero cells of its adjacency matrix. An undirected edge is two cells.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from isonn.errors import InputError
from isonn.graphs.checks import check_graph, check_set
from isonn.graphs.columns import (
    OF_CELLS,
    OF_GRAPHS,
    OF_NODES,
    are_numbers,
    columns_at,
    confound_columns,
    ends_of,
    ranges,
    read_only,
    read_only_copy,
    take,
)
from isonn.packing import IntArray
from isonn.params import check_memory

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
#: The words for a graph, a node and an edge of a kind.
_WORDS = {"molecules": ("molecule", "atom", "bond"), "connectomes": ("brain network", "region", "connection")}


def words_of(kind: str) -> tuple[str, str, str]:
    """Return the words for a graph, a node and an edge of a kind.

    Example:
        >>> words_of("molecules"), words_of("")
        (('molecule', 'atom', 'bond'), ('graph', 'node', 'edge'))
    """
    return _WORDS.get(kind, ("graph", "node", "edge"))


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
        check_graph(self)

    @classmethod
    def unchecked(cls, **columns: Any) -> Graph:
        """Make a graph without checking its arrays, for graphs taken from a checked set.

        Args:
            columns: the fields of the graph by name; those that are left out are None, or empty.

        Returns:
            the graph.
        """
        graph = object.__new__(cls)
        graph.__dict__.update(dict.fromkeys((*OF_CELLS, *OF_NODES, "id")), kind="", row={})
        graph.__dict__.update({"node_label_names": {}, "edge_label_names": {}, **columns})
        return graph

    def but_with(self, **columns: Any) -> Graph:
        """Return a copy with some columns replaced, unchecked.

        Args:
            columns: the fields to replace, by name.

        Returns:
            the new graph; this one stays as it is.
        """
        return Graph.unchecked(**{key: value for key, value in vars(self).items() if key != "adjacency"} | columns)

    @property
    def has_named_nodes(self) -> bool:
        """Whether nodes have names, rather than none or numbers such as the ids of another library."""
        return self.node_names is not None and not are_numbers(self.node_names)

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
        confounds: the columns of ``table`` that are regressed out of the connections; see `with_confounds`.

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
                object.__setattr__(self, column, read_only_copy(value))
        object.__setattr__(self, "table", {str(name): read_only_copy(values) for name, values in self.table.items()})
        object.__setattr__(self, "target_names", tuple(self.target_names))
        object.__setattr__(self, "confounds", tuple(self.confounds))
        check_set(self)

    @staticmethod
    def concat(sets: Sequence[GraphSet], name: str | None = None) -> GraphSet:
        """Concatenate sets.

        All sets must have the same fields: labels, names, ``y``, columns of ``table``. If only some have weights, edges
        of the others get weight 1. ``ids`` are kept if every set has them; ``folds`` are dropped.

        Args:
            sets: the sets, at least one.
            name: the name of the result; None takes that of the first set.

        Returns:
            the graphs of all sets, in order.

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> GraphSet.concat([graphs[:10], graphs[20:]])
            GraphSet(MUTAG: 178 graphs, 10-28 nodes, 2 classes)
        """
        from isonn.graphs.join import concat

        return concat(sets, name)

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
        """Return adjacency matrices of shape (g, size, size), padded with zeros at the end.

        Args:
            size: number of rows; None takes that of the largest graph.
            dtype: type of the numbers.

        Returns:
            ndarray of shape (g, size, size).

        Example:
            >>> isonn.load("MUTAG")[:5].dense().shape
            (5, 19, 19)
        """
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
        """Divide the weights of each graph by its largest absolute weight.

        Returns:
            the same graphs with weights between -1 and 1; a set without weights is returned as it is.

        Example:
            >>> graphs = isonn.as_graphset([[[0, 4.0], [4.0, 0]], [[0, 0.5], [0.5, 0]]])
            >>> graphs.scaled().weights.tolist()
            [1.0, 1.0, 1.0, 1.0]
        """
        if self.weights is None:
            return self
        largest = np.zeros(len(self))
        np.maximum.at(largest, self.graph_of_cell, np.abs(self.weights))
        return replace(self, weights=read_only(self.weights / largest[self.graph_of_cell]))

    def with_y(self, y: ArrayLike | None) -> GraphSet:
        """Return the same graphs with another ``y``; names of classes and targets are kept if they still apply.

        Args:
            y: class or number per graph, shape (g,); one column per label or target, shape (g, columns); or None.

        Returns:
            a new set; this one stays as it is.

        Example:
            >>> isonn.load("MUTAG")[:3].with_y([0.5, 1.5, 2.5])
            GraphSet(MUTAG: 3 graphs, 13-17 nodes, numbers to predict)
        """
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

        Returns:
            a new set, whose ``confounds`` names the columns of its ``table``.

        Example:
            >>> graphs = isonn.load("MUTAG").with_confounds({"age": np.arange(188)})
            >>> graphs[:5].confounds, graphs[:5].table["age"].tolist()
            (('age',), [0, 1, 2, 3, 4])
        """
        columns = confound_columns(confounds, self.table, self.target_names)
        for name, values in columns.items():
            if values.shape != (len(self),):
                raise InputError(
                    f"confound {name!r} has shape {values.shape} for {len(self)} graphs; give one per graph"
                )
        return replace(self, table={**self.table, **columns}, confounds=tuple(columns))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the complete set to a ``.npz`` file that `isonn.load` and the commands read.

        Args:
            path: the file to write; a file that is there is replaced.

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

        Returns:
            the graphs without these leaves.

        Example:
            >>> methane = isonn.Graph(3, [[0, 1], [0, 2], [1, 0], [2, 0]], node_labels=["C", "H", "H"])
            >>> isonn.as_graphset([methane]).fold_leaves("H").node_labels.tolist()
            ['C+2xH']
        """
        from isonn.graphs.edit import fold_leaves

        return fold_leaves(self, label)

    def relabelled(self, random_state: int | np.random.Generator | None = None) -> GraphSet:
        """Relabel every graph at random; labels, attributes, names and weights move with their nodes.

        Args:
            random_state: a seed or a generator; None draws another order every time.

        Returns:
            the same graphs with other node numbers.

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
        edges = new[ends_of(self)] - self.node_offsets[self.graph_of_cell, None]
        order = np.lexsort((edges[:, 1], edges[:, 0], self.graph_of_cell))
        return replace(self, edges=take(edges, order), **columns_at(self, order, old))

    @overload
    def __getitem__(self, index: int) -> Graph: ...
    @overload
    def __getitem__(self, index: slice | ArrayLike) -> GraphSet: ...
    def __getitem__(self, index: Any) -> Graph | GraphSet:
        if isinstance(index, (int, np.integer)) and not isinstance(index, bool):
            if not -len(self) <= index < len(self):
                raise IndexError(f"graph {index} of a set of {len(self)}")
            i = int(index) % len(self)
            nodes: Any = slice(self.node_offsets[i], self.node_offsets[i + 1])
            cells: Any = slice(self.edge_offsets[i], self.edge_offsets[i + 1])
            return Graph.unchecked(
                n=int(self.sizes[i]),
                edges=self.edges[cells],
                **columns_at(self, cells, nodes),
                id=None if self.ids is None else str(self.ids[i]),
                kind=self.kind,
                row={column: values[i] for column, values in self.table.items()},
                node_label_names=self.node_label_names,
                edge_label_names=self.edge_label_names,
            )
        chosen: Any = np.arange(len(self))[index].reshape(-1)
        if isinstance(index, slice) and index.step in (None, 1) and len(chosen):  # a run of graphs is not copied
            chosen = slice(chosen[0], chosen[-1] + 1)
        nodes, node_offsets = ranges(self.node_offsets, chosen)
        cells, edge_offsets = ranges(self.edge_offsets, chosen)
        return replace(
            self,
            node_offsets=node_offsets,
            edge_offsets=edge_offsets,
            edges=take(self.edges, cells),
            table={column: values[chosen] for column, values in self.table.items()},
            **columns_at(self, cells, nodes),
            **{column: take(getattr(self, column), chosen) for column in OF_GRAPHS},
        )

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
