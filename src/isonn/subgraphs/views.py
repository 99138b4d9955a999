"""What of a graph enters the matching: labels, attributes, weights and degrees as codes, and codes as vectors.

Matching merges equal subgraphs first, so everything is a code. Labels are codes as they are; numbers are brought to
a few levels that the training graphs choose. The vector of a code is what the distance is measured with: one-hot
for a label, the level for a number.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self

from isonn.errors import InputError, IsoNNWarning
from isonn.explain.explanation import Template
from isonn.graphs.graph import GraphSet
from isonn.matching.permutations import GraphLayout
from isonn.packing import IntArray, mix64
from isonn.subgraphs.bank import CodedGraphs, View
from isonn.targets import values_from_json, values_to_json

#: Levels that node attributes and edge weights are brought to; more would leave hardly two subgraphs equal.
LEVELS = 8
#: What a difference counts at the start of training, by kind of entry: edges, edge labels, node labels or degrees, node
#: attributes. A pair of nodes is two cells of the adjacency matrix, so it counts twice.
START_WEIGHTS = (2.0, 2.0, 1.0, 1.0)

#: What may have become of attributes that were given.
_ONE_HOT = " (x of PyTorch Geometric is read as labels where all of it is one-hot: convert all graphs together)"


@dataclass(frozen=True, eq=False)
class Encoding:
    """How graphs become coded graphs; made from the training graphs by `fit_encoding`.

    Attributes:
        node_labels, edge_labels: the labels seen in training, sorted, or None when labels are not used.
        node_attributes, edge_weights: their levels, or None when they are not used.
        sizes: by view, the sizes of subgraphs: what nodes and edges are, and, when used, the degrees of nodes.
    """

    node_labels: NDArray[Any] | None
    node_attributes: Levels | None
    edge_labels: NDArray[Any] | None
    edge_weights: Levels | None
    sizes: tuple[tuple[int, ...], ...]

    def encode(self, graphs: GraphSet) -> CodedGraphs:
        """The graphs as codes; labels never seen in training have the code of no label (`warn_of_unseen`)."""
        check_undirected(graphs)
        once = graphs.edges[:, 0] < graphs.edges[:, 1]  # each edge once; a node's edge to itself is left out
        owner, edges = graphs.graph_of_cell[once], graphs.edges[once]
        offsets = np.concatenate([[0], np.bincount(owner, minlength=len(graphs)).cumsum()])
        node_codes = self._codes(graphs, "node", np.ones(graphs.node_offsets[-1], dtype=bool))
        edge_codes = 1 + self._codes(graphs, "edge", once)
        views = [View(node_codes, edge_codes, self.sizes[0])]
        if len(self.sizes) > 1:
            ends = edges + graphs.node_offsets[owner, None]
            degree = np.bincount(ends.ravel(), minlength=len(node_codes))
            views.append(View(degree_levels(degree), np.ones_like(edge_codes), self.sizes[1]))
        return CodedGraphs(graphs.node_offsets, offsets, edges, tuple(views))

    def warn_of_unseen(self, graphs: GraphSet) -> None:
        """Say how many nodes and edges have a label that was never seen in training; they have the code of no label."""
        once = graphs.edges[:, 0] < graphs.edges[:, 1]
        for what, known, column in (
            ("nodes", self.node_labels, graphs.node_labels),
            ("edges", self.edge_labels, None if graphs.edge_labels is None else graphs.edge_labels[once]),
        ):
            if known is None or column is None:
                continue
            unseen = int((_number_of(column, known) == 0).sum())
            if unseen:
                warnings.warn(
                    f"{unseen} of {len(column)} {what} of {graphs.name} have a label that was never seen in training; "
                    f"they are matched with no label",
                    IsoNNWarning,
                    stacklevel=2,
                )

    def layout(self, view: int, k: int) -> GraphLayout:
        """What the entries of k-node subgraphs are."""
        if view == 1:
            return GraphLayout(k, 1, 1)
        labels = 0 if self.node_labels is None else len(self.node_labels)
        attributes = 0 if self.node_attributes is None else self.node_attributes.width
        kinds = 0 if self.edge_labels is None else len(self.edge_labels)
        return GraphLayout(k, labels + attributes, 1 + kinds)

    def entries(self, view: int, k: int) -> tuple[list[int], list[bool]]:
        """The kind of each entry, as in START_WEIGHTS, and whether it is 0 or 1 in every graph."""
        layout = self.layout(view, k)
        labels = 0 if view == 1 or self.node_labels is None else len(self.node_labels)
        node = [2] * (labels or int(view == 1))
        node += [3] * (layout.node_channels - len(node))
        node_binary = [view == 0 and kind == 2 for kind in node]
        edge = [0] + [1] * (layout.edge_channels - 1)
        edge_binary = [view == 1 or self.edge_weights is None] + [True] * (layout.edge_channels - 1)
        return node * k + edge * layout.pairs, node_binary * k + edge_binary * layout.pairs

    def vectors(self, view: int, regions: IntArray, k: int) -> NDArray[np.float32]:
        """Regions of codes as regions of numbers, ``(d, layout.width)``."""
        node, edge = self._tables(view, int(regions.max(initial=0)))
        flat = np.empty((len(regions), self.layout(view, k).width), dtype=np.float32)
        first = k * node.shape[1]
        flat[:, :first] = node[regions[:, :k]].reshape(len(regions), first)
        flat[:, first:] = edge[regions[:, k:]].reshape(len(regions), flat.shape[1] - first)
        return flat

    def template(self, view: int, k: int, entries: NDArray[np.float32]) -> Template:
        """The entries of a template as people read them."""
        layout = self.layout(view, k)
        nodes = entries[: k * layout.node_channels].reshape(k, layout.node_channels)
        pairs = entries[k * layout.node_channels :].reshape(layout.pairs, layout.edge_channels)
        rows, columns = np.triu_indices(k, 1)
        adjacency = np.zeros((k, k), dtype=np.float32)
        adjacency[rows, columns] = adjacency[columns, rows] = pairs[:, 0]
        if view == 1:
            return Template(adjacency, degrees=(np.exp2(nodes[:, 0]) - 1).astype(np.float32))
        node_labels = edge_labels = weights = None
        if self.node_labels is not None:
            weights = nodes[:, : len(self.node_labels)]
            node_labels = self.node_labels[weights.argmax(axis=1)]
        if self.edge_labels is not None:
            edge_labels = np.empty((k, k), dtype=object)
            there = pairs[:, 0] > 0.5
            best = self.edge_labels[pairs[there, 1:].argmax(axis=1)]
            edge_labels[rows[there], columns[there]] = edge_labels[columns[there], rows[there]] = best
        return Template(adjacency, node_labels, edge_labels, label_weights=weights)

    def as_json(self) -> dict[str, Any]:
        """The encoding as JSON; `encoding_from_json` reads it."""
        parts: dict[str, Any] = {"sizes": self.sizes}
        for name in ("node_labels", "edge_labels"):
            values = getattr(self, name)
            parts[name] = None if values is None else values_to_json(values)
        for name in ("node_attributes", "edge_weights"):
            levels = getattr(self, name)
            parts[name] = None if levels is None else levels.as_json()
        return parts

    def _codes(self, graphs: GraphSet, what: str, rows: NDArray[np.bool_]) -> IntArray:
        """What the given nodes or edges are: the number of the label, and of the level, as one code."""
        labels, levels = (
            (self.node_labels, self.node_attributes) if what == "node" else (self.edge_labels, self.edge_weights)
        )
        codes = np.zeros(int(rows.sum()), dtype=np.int64)
        if labels is not None:
            column = graphs.node_labels if what == "node" else graphs.edge_labels
            if column is not None:
                codes = _number_of(column[rows], labels)
            elif len(codes):  # a graph without an edge has no edge labels and lacks none
                raise InputError(f"{graphs.name} has no {what} labels, with which this model was fitted; give them")
        if levels is not None:
            column = graphs.node_attributes if what == "node" else _weights(graphs)
            if column is None:
                hint = "" if graphs.node_labels is None else _ONE_HOT
                raise InputError(
                    f"{graphs.name} has no node attributes, with which this model was fitted; give them{hint}"
                )
            codes = codes * len(levels) + levels.nearest(column[rows])
        return codes

    def _tables(self, view: int, largest: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The vectors of all node codes and of all edge codes up to the largest."""
        if view == 1:
            return degree_values(np.arange(largest + 1))[:, None], np.array([[0.0], [1.0]])
        node = _table(self.node_labels, self.node_attributes)
        edge = _table(self.edge_labels, None)
        edge = np.concatenate([np.ones((len(edge), 1)), edge], axis=1)
        if self.edge_weights is not None:
            count = len(self.edge_weights)
            edge = np.repeat(edge, count, axis=0)
            edge[:, 0] = np.tile(self.edge_weights.centres[:, 0], len(edge) // count)
        return node, np.concatenate([np.zeros((1, edge.shape[1])), edge])


def fit_encoding(graphs: GraphSet, use: dict[str, bool], sizes: Sequence[int], degrees: bool) -> Encoding:
    """The encoding for training graphs.

    Args:
        use: which of COLUMNS to use.
        sizes: sizes of subgraphs.
        degrees: whether to look at the degrees of nodes besides; single nodes are left out of that view.
    """
    return encoding_of(Gathering([name for name in COLUMNS if use[name]]).add(graphs), use, sizes, degrees, graphs.name)


def encoding_of(
    known: Gathering, use: dict[str, bool], sizes: Sequence[int], degrees: bool, name: str = "graphs"
) -> Encoding:
    """The encoding for training graphs of which everything is known; see `fit_encoding`."""
    views = [tuple(sorted(set(sizes)))]
    if degrees and (larger := tuple(k for k in views[0] if k > 1)):
        views.append(larger)
    for column in COLUMNS[:3]:  # weights are 1 where there are none
        if use[column] and not known.has[column]:
            raise InputError(f"{column}=True, but {name} has none; use {column}='auto' or False")
    values, weights = known.values, use["edge_weights"]
    return Encoding(
        node_labels=known.labels["node_labels"] if use["node_labels"] else None,
        node_attributes=Levels.of_distinct(values["node_attributes"], LEVELS) if use["node_attributes"] else None,
        edge_labels=known.labels["edge_labels"] if use["edge_labels"] else None,
        edge_weights=Levels.of_distinct(values["edge_weights"], LEVELS, scale=True) if weights else None,
        sizes=tuple(views),
    )


def encoding_from_json(stored: dict[str, Any]) -> Encoding:
    """The encoding `Encoding.as_json` wrote."""

    def labels(name: str) -> NDArray[Any] | None:
        return None if stored[name] is None else values_from_json(stored[name])

    def levels(name: str) -> Levels | None:
        return None if stored[name] is None else Levels.from_json(stored[name])

    sizes = tuple(tuple(int(k) for k in view) for view in stored["sizes"])
    return Encoding(
        labels("node_labels"), levels("node_attributes"), labels("edge_labels"), levels("edge_weights"), sizes
    )


def directed_graph(graphs: GraphSet) -> int | None:
    """The first graph with an edge that is not the same in both directions, or None."""
    edges, owner = graphs.edges, graphs.graph_of_cell
    turned = np.lexsort((edges[:, 0], edges[:, 1], owner))
    differs = (edges[turned][:, ::-1] != edges).any(axis=1)
    for column in (graphs.weights, graphs.edge_labels):
        if column is not None:
            differs |= column[turned] != column
    return int(owner[differs][0]) if differs.any() else None


def check_undirected(graphs: GraphSet) -> None:
    """Refuse directed graphs."""
    i = directed_graph(graphs)
    if i is not None:
        raise InputError(
            f"graph {i} of {len(graphs)} is directed: an edge differs from the one back; subgraph regions are for "
            f"undirected graphs, so make it symmetric, or use IsoNNClassifier"
        )


def _weights(graphs: GraphSet) -> NDArray[np.float64]:
    return np.ones(len(graphs.edges)) if graphs.weights is None else graphs.weights


def _number_of(column: NDArray[Any], known: NDArray[Any]) -> IntArray:
    """One more than the place of each value among the known ones, 0 for others."""
    if column.dtype.kind != known.dtype.kind and "U" in column.dtype.kind + known.dtype.kind:
        return np.zeros(len(column), dtype=np.int64)  # text and numbers do not compare
    if not len(known):
        return np.zeros(len(column), dtype=np.int64)
    place = np.searchsorted(known, column).clip(max=len(known) - 1)
    return np.where(known[place] == column, place + 1, 0)


def _table(labels: NDArray[Any] | None, levels: Levels | None) -> NDArray[np.float64]:
    """The vector of each code: the label one-hot (all 0 for none), then the level."""
    count = 0 if labels is None else len(labels)
    table = np.eye(count + 1)[:, 1:] if labels is not None else np.zeros((1, 0))
    if levels is None:
        return table
    centres = np.tile(levels.centres, (len(table), 1))
    return np.concatenate([np.repeat(table, len(levels), axis=0), centres], axis=1)


# What an encoding has to know of the training graphs, gathered a few graphs at a time.


COLUMNS = ("node_labels", "node_attributes", "edge_labels", "edge_weights")


class Gathering:
    """The labels and values of graphs; which graphs came together, and in which order, makes no difference.

    Args:
        wanted: which of COLUMNS to look at.

    Attributes:
        has: whether the graphs have each of COLUMNS.
        labels: by column, the distinct ones, sorted.
        values: by column, the distinct rows of numbers; weights are 1 where graphs have none.
    """

    def __init__(self, wanted: Collection[str] = COLUMNS) -> None:
        self.has = dict.fromkeys(COLUMNS, False)
        self.labels: dict[str, NDArray[Any]] = {}
        self.values: dict[str, DistinctRows] = {}
        self._wanted = wanted

    def add(self, graphs: GraphSet) -> Self:
        """Look at some more graphs; an edge from a node to itself is none."""
        proper = graphs.edges[:, 0] != graphs.edges[:, 1]
        for name in COLUMNS:
            column = graphs.weights if name == "edge_weights" else getattr(graphs, name)
            self.has[name] |= column is not None
            if name not in self._wanted:
                continue
            if name == "edge_weights":
                values = self.values.setdefault(name, DistinctRows(1))
                if column is None:
                    values.add(np.ones((int(proper.any()), 1)), int(proper.sum()))
                else:
                    values.add(column[proper, None])
            elif column is None:
                continue
            elif name == "node_attributes":
                self.values.setdefault(name, DistinctRows(column.shape[1])).add(column)
            else:
                labels = np.unique(column if name == "node_labels" else column[proper])
                known = self.labels.get(name, labels[:0])
                self.labels[name] = np.unique(np.concatenate([known, labels]))
        return self


# Numbers brought to a few levels, so that equal subgraphs can be found.


#: Degrees up to this are told apart one by one; beyond it a level is half an octave.
EXACT_DEGREES = 8
#: Values looked at to find levels; more change little.
MAX_VALUES = 20_000


@dataclass(frozen=True, eq=False)
class Levels:
    """Centres that rows of numbers are brought to.

    Attributes:
        shift, scale: what rows are brought to zero mean and unit size with, ``(width,)``.
        centres: in these units, ``(levels, width)``.
    """

    shift: NDArray[np.float64]
    scale: NDArray[np.float64]
    centres: NDArray[np.float64]

    @classmethod
    def of(cls, column: NDArray[np.float64], count: int, scale: bool = False) -> Levels:
        """At most ``count`` levels of a column: all its values when they are few, else centres of clusters.

        Args:
            scale: only divide by the largest absolute value: 0 stays 0. Else every number is standardised, and the
                squared distance of two rows is, in the mean, that of two one-hot labels.
        """
        width = 1 if column.ndim == 1 else column.shape[1]
        values = DistinctRows(width)
        values.add(column.reshape(len(column), width))
        return cls.of_distinct(values, count, scale)

    @classmethod
    def of_distinct(cls, values: DistinctRows, count: int, scale: bool = False) -> Levels:
        """The levels of a column of which the distinct rows are known; none at all count as ones."""
        distinct, often, width = values.rows, values.often, values.rows.shape[1]
        if not len(distinct):
            distinct, often = np.ones((1, width)), np.ones(1, dtype=np.int64)
        if scale:
            shift, size = np.zeros(width), values.largest
        else:  # sorted: sums do not depend on the order of rows
            shift = often @ distinct / often.sum()
            size = np.sqrt(often @ (distinct - shift) ** 2 / often.sum() * width)
        size = np.where(size > 0, size, 1.0)
        distinct = (distinct - shift) / size
        if len(distinct) > count:
            distinct = _clusters(distinct, often, count)
        return cls(shift, size, distinct)

    def __len__(self) -> int:
        return len(self.centres)

    @property
    def width(self) -> int:
        """Numbers of a row."""
        return int(self.centres.shape[1])

    def nearest(self, column: NDArray[np.float64]) -> IntArray:
        """The level of each row."""
        rows = (column.reshape(len(column), self.width) - self.shift) / self.scale
        squares = [((rows - centre) ** 2).sum(axis=1) for centre in self.centres]
        level: IntArray = np.argmin(squares, axis=0).astype(np.int64)
        return level

    def as_json(self) -> dict[str, Any]:
        """The levels as JSON."""
        return {"shift": self.shift.tolist(), "scale": self.scale.tolist(), "centres": self.centres.tolist()}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Levels:
        """The levels `as_json` wrote."""
        return cls(*(np.array(stored[name], dtype=np.float64) for name in ("shift", "scale", "centres")))


def _clusters(rows: NDArray[np.float64], often: IntArray, count: int) -> NDArray[np.float64]:
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    step = -(-len(rows) // MAX_VALUES)
    with threadpool_limits(1):  # sums are split by thread, and levels must not depend on the machine
        fitted = KMeans(count, n_init=1, random_state=0).fit(rows[::step], sample_weight=often[::step])
    centres: NDArray[np.float64] = np.unique(fitted.cluster_centers_, axis=0)
    return centres


def degree_levels(degree: IntArray) -> IntArray:
    """The level of each degree.

    Example:
        >>> degree_levels(np.array([0, 1, 8, 9, 12, 17])).tolist()
        [0, 1, 8, 8, 9, 10]
    """
    beyond = np.round(2 * np.log2((1.0 + degree) / (1 + EXACT_DEGREES))).astype(np.int64)
    return np.where(degree <= EXACT_DEGREES, degree, EXACT_DEGREES + beyond)


def degree_values(level: IntArray) -> NDArray[np.float64]:
    """log2(1 + degree) of each level."""
    low = np.log2(1.0 + np.minimum(level, EXACT_DEGREES))
    return low + np.maximum(level - EXACT_DEGREES, 0) / 2


# The distinct rows among more numbers than memory holds.


#: Numbers that are kept, and rows of them that are kept at least.
MOST_NUMBERS, FEWEST_ROWS = 2**19, 2**16


class DistinctRows:
    """Distinct rows of numbers, how often each came, and the largest absolute numbers.

    Of more rows than there is room for, those with the smallest hashes are kept. Whether a row is among them depends
    on the row and on what the others are, and not on the order in which they come; and whoever is among them at the end
    has always been, so that all counts are exact.

    Attributes:
        rows: those kept, sorted, ``(d, width)``.
        often: how often each came, ``(d,)``.
        largest: over all rows that came, ``(width,)``.
    """

    def __init__(self, width: int) -> None:
        self.rows: NDArray[np.float64] = np.zeros((0, width))
        self.often: IntArray = np.zeros(0, dtype=np.int64)
        self.largest: NDArray[np.float64] = np.zeros(width)
        self._room = max(FEWEST_ROWS, MOST_NUMBERS // max(width, 1))
        self._last = np.uint64(2**64 - 1)  # the largest hash of what is kept, once rows were left out

    def add(self, rows: NDArray[np.float64], times: int = 1) -> None:
        """Take in some more rows, each of which came so many times."""
        if not len(rows):
            return
        rows = rows.astype(np.float64) + 0.0  # -0.0 is 0.0
        self.largest = np.maximum(self.largest, np.abs(rows).max(axis=0))
        if self._last < np.uint64(2**64 - 1):
            rows = rows[_hashes(rows) <= self._last]
        both = np.concatenate([self.rows, rows])
        weights = np.concatenate([self.often, np.full(len(rows), times, dtype=np.int64)])
        if both.shape[1] == 1:  # the same, and faster
            distinct, number = np.unique(both[:, 0], return_inverse=True)
            self.rows = distinct[:, None]
        else:
            self.rows, number = np.unique(both, axis=0, return_inverse=True)
        self.often = np.bincount(number.reshape(-1), weights, minlength=len(self.rows)).astype(np.int64)
        if len(self.rows) > self._room:
            hashes = _hashes(self.rows)
            self._last = np.partition(hashes, self._room - 1)[self._room - 1]
            kept = hashes <= self._last
            self.rows, self.often = self.rows[kept], self.often[kept]


def _hashes(rows: NDArray[np.float64]) -> NDArray[np.uint64]:
    """A well-mixed number for each row (splitmix64, column after column)."""
    state = np.zeros(len(rows), dtype=np.uint64)
    for column in np.ascontiguousarray(rows).view(np.uint64).T:
        state = mix64(state + column)
    return state
