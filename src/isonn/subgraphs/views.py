"""Views: the information about nodes and edges that subgraphs are compared by.

Equal subgraphs are found by comparing integer codes, so everything a node or an edge carries becomes one code. The
`Encoding` turns labels, attributes and weights of the training graphs into codes. A label becomes its position in the
list of known labels, a number the nearest of a few levels. A `View` combines these codes with the structure of the
graph:

- ``labels``: labels, and levels of attributes and weights, unchanged;
- ``refined``: nodes also carry their degree and whether they lie on a cycle; edges on a cycle become "ring edges", all
  others keep their labels. This separates ring carbons from chain carbons without any chemistry;
- ``degrees``: only the degree of each node.
"""

from __future__ import annotations

import importlib
import warnings
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self

from isonn.errors import InputError, IsoNNWarning, naming_the_extra
from isonn.explain.explanation import Template
from isonn.graphs.graph import GraphSet
from isonn.packing import IntArray, mix64
from isonn.params import check_subgraph_size
from isonn.plugins import load_plugin
from isonn.processes import limit_threads
from isonn.subgraphs.bank import CodedGraphs, Codes, compiled
from isonn.targets import values_from_json, values_to_json

if TYPE_CHECKING:
    from isonn.matching.permutations import GraphLayout

#: Number of levels for node attributes and edge weights; with more, hardly any two subgraphs would be equal.
LEVELS = 8
#: Initial weight of a difference for soft templates, by kind of entry: edges, edge labels, node labels or degrees, node
#: attributes. A pair of nodes is two cells of the adjacency matrix, so it counts twice.
START_WEIGHTS = (2.0, 2.0, 1.0, 1.0)
EDGE, EDGE_LABEL, NODE_LABEL, NUMBER = range(4)

_ONE_HOT = " (PyTorch Geometric's x is read as labels only if all of it is one-hot; convert all graphs together)"


@dataclass(frozen=True, eq=False)
class Structure:
    """Graphs in the form that views read: each undirected edge once, with label and level codes.

    Attributes:
        graphs: the graphs.
        edges: (smaller, larger) node of each edge, numbered within its graph, ``(m, 2)``.
        owner: the graph of each edge, ``(m,)``.
        node_codes: label and level of each node, from 0.
        edge_codes: label and level of each edge, from 1.
    """

    graphs: GraphSet
    edges: IntArray
    owner: IntArray
    node_codes: IntArray
    edge_codes: IntArray

    @cached_property
    def ends(self) -> IntArray:
        """The edges, with nodes numbered over all graphs."""
        return self.edges + self.graphs.node_offsets[self.owner, None]

    @cached_property
    def degree(self) -> IntArray:
        """The number of neighbours of each node."""
        return np.bincount(self.ends.ravel(), minlength=int(self.graphs.node_offsets[-1]))

    @cached_property
    def ring_edges(self) -> NDArray[np.bool_]:
        """Whether each edge lies on a cycle, so that its ends stay connected without it."""
        return edges_on_cycles(int(self.graphs.node_offsets[-1]), self.ends)

    @cached_property
    def ring_nodes(self) -> NDArray[np.bool_]:
        """Whether each node lies on a cycle."""
        found = np.zeros(int(self.graphs.node_offsets[-1]), dtype=bool)
        found[self.ends[self.ring_edges].ravel()] = True
        return found


class View(ABC):
    """The codes of nodes and edges. To add a view, subclass this and call `register_view` with an instance.

    `codes` gives every node a code from 0 and every edge a code from 1 (0 means "no edge"). Equal codes mean the same
    thing in every graph, regardless of node order. `node_text` and `edge_text` describe a code in words, and
    `node_label` and `edge_label` return the label in it, for drawings.

    A view that supports soft templates also defines `node_vectors` and `edge_vectors`, the numbers a code stands for.
    """

    name: ClassVar[str]

    @abstractmethod
    def codes(self, structure: Structure) -> tuple[IntArray, IntArray]:
        """Return the code of each node and each edge."""

    @abstractmethod
    def node_text(self, code: int, encoding: Encoding, names: dict[Any, str]) -> str:
        """Describe a node with this code in words."""

    def node_label(self, code: int, encoding: Encoding) -> Any:
        """Return the label in a node code, or None."""
        return None

    def edge_label(self, code: int, encoding: Encoding) -> Any:
        """Return the label in an edge code, or None."""
        return None

    def edge_text(self, code: int, encoding: Encoding, names: dict[Any, str]) -> str:
        """Describe an edge with this code in words; "" if there is nothing to say."""
        return ""

    def smallest(self) -> int:
        """Return the smallest useful subgraph size in this view."""
        return 1

    def radius(self) -> int:
        """Return the largest useful neighbourhood radius in this view."""
        return 3

    def node_vectors(self, encoding: Encoding, largest: int) -> tuple[NDArray[np.float64], list[int], list[bool]]:
        """Return the vector of every node code up to ``largest``, the kind of each entry, and whether it is 0 or 1."""
        raise InputError(f"soft templates cannot learn in view={self.name!r}; use 'labels' or 'degrees'")

    def edge_vectors(self, encoding: Encoding, largest: int) -> tuple[NDArray[np.float64], list[int], list[bool]]:
        """Return the same for edge codes; code 0 means no edge."""
        raise InputError(f"soft templates cannot learn in view={self.name!r}; use 'labels' or 'degrees'")


#: All views by name.
VIEWS: dict[str, View] = {}
#: Views that need an extra, with the module that registers each.
_LATER = {"elements": "isonn.molecules.views"}


def register_view(view: View) -> View:
    """Register a view under its name."""
    VIEWS[view.name] = view
    return view


def get_view(name: str) -> View:
    """Return the view with this name; views that need an extra are imported on first use."""
    if not isinstance(name, str):
        raise InputError(f"view={name!r} is not a name; use one of {', '.join(map(repr, [*VIEWS, *_LATER]))}")
    if name not in VIEWS:
        load_plugin("views", name)
    if name not in VIEWS and name in _LATER:
        with naming_the_extra(f"view={name!r}"):
            importlib.import_module(_LATER[name])
    if name not in VIEWS:
        raise InputError(f"view={name!r} is unknown; use one of {', '.join(map(repr, [*VIEWS, *_LATER]))}")
    return VIEWS[name]


class LabelView(View):
    """Labels, and levels of attributes and weights, unchanged."""

    name = "labels"

    def radius(self) -> int:
        """Return one step more than other views, because these codes are coarse."""
        return 4

    def codes(self, structure: Structure) -> tuple[IntArray, IntArray]:
        """Return the codes of the encoding."""
        return structure.node_codes, structure.edge_codes

    def node_label(self, code: int, encoding: Encoding) -> Any:
        """Return the label, or None."""
        return encoding.label_of(code, "node")

    def edge_label(self, code: int, encoding: Encoding) -> Any:
        """Return the label, or None."""
        return encoding.label_of(code - 1, "edge")

    def node_text(self, code: int, encoding: Encoding, names: dict[Any, str]) -> str:
        """Return the name of the label."""
        label = self.node_label(code, encoding)
        return "node" if label is None else str(names.get(label, label))

    def edge_text(self, code: int, encoding: Encoding, names: dict[Any, str]) -> str:
        """Return the name of the label."""
        label = self.edge_label(code, encoding)
        return "" if label is None else str(names.get(label, label))

    def node_vectors(self, encoding: Encoding, largest: int) -> tuple[NDArray[np.float64], list[int], list[bool]]:
        """Return the one-hot label, then the level."""
        labels = 0 if encoding.node_labels is None else len(encoding.node_labels)
        table = _table(encoding.node_labels, encoding.node_attributes)
        numbers = table.shape[1] - labels
        return table, [NODE_LABEL] * labels + [NUMBER] * numbers, [True] * labels + [False] * numbers

    def edge_vectors(self, encoding: Encoding, largest: int) -> tuple[NDArray[np.float64], list[int], list[bool]]:
        """Return whether there is an edge (or its weight), then the one-hot label."""
        table = _table(encoding.edge_labels, None)
        table = np.concatenate([np.ones((len(table), 1)), table], axis=1)
        if encoding.edge_weights is not None:
            count = len(encoding.edge_weights)
            table = np.repeat(table, count, axis=0)
            table[:, 0] = np.tile(encoding.edge_weights.centres[:, 0], len(table) // count)
        labels = table.shape[1] - 1
        table = np.concatenate([np.zeros((1, labels + 1)), table])
        return table, [EDGE] + [EDGE_LABEL] * labels, [encoding.edge_weights is None] + [True] * labels


class RefinedView(LabelView):
    """Labels with degrees and cycles: nodes carry both, and all edges on cycles are equal."""

    name = "refined"

    def radius(self) -> int:
        """Return the default radius of a view."""
        return View.radius(self)

    def codes(self, structure: Structure) -> tuple[IntArray, IntArray]:
        """Return code, degree and cycle of nodes as one number; 1 for ring edges, their code plus 1 for others."""
        nodes = (structure.node_codes * _DEGREES + degree_levels(structure.degree)) * 2 + structure.ring_nodes
        return nodes, np.where(structure.ring_edges, 1, 1 + structure.edge_codes)

    def node_label(self, code: int, encoding: Encoding) -> Any:
        """Return the label, or None."""
        return encoding.label_of(code // (2 * _DEGREES), "node")

    def edge_label(self, code: int, encoding: Encoding) -> Any:
        """Return the label of an edge that is not on a cycle, or None."""
        return None if code == 1 else encoding.label_of(code - 2, "edge")

    def node_text(self, code: int, encoding: Encoding, names: dict[Any, str]) -> str:
        """Return the name of the label with the degree, and "ring" on a cycle."""
        level = code // 2 % _DEGREES
        text = super().node_text(code, encoding, names)
        degree = f"{level}" if level <= EXACT_DEGREES else f"about {2 ** float(degree_values(np.array(level))) - 1:.0f}"
        return f"{'ring ' if code % 2 else ''}{text} with {degree} neighbour{'s' * (level != 1)}"

    def edge_text(self, code: int, encoding: Encoding, names: dict[Any, str]) -> str:
        """Return "ring", or the name of the label."""
        return "ring" if code == 1 else super().edge_text(code, encoding, names)

    def node_vectors(self, encoding: Encoding, largest: int) -> tuple[NDArray[np.float64], list[int], list[bool]]:
        """Raise `InputError`; soft templates do not support this view."""
        return View.node_vectors(self, encoding, largest)

    def edge_vectors(self, encoding: Encoding, largest: int) -> tuple[NDArray[np.float64], list[int], list[bool]]:
        """Raise `InputError`; soft templates do not support this view."""
        return View.edge_vectors(self, encoding, largest)


class DegreeView(View):
    """Only the degree of each node in the whole graph."""

    name = "degrees"

    def codes(self, structure: Structure) -> tuple[IntArray, IntArray]:
        """Return the level of each degree; all edges are equal."""
        return degree_levels(structure.degree), np.ones(len(structure.edges), dtype=np.int64)

    def node_text(self, code: int, encoding: Encoding, names: dict[Any, str]) -> str:
        """Return the degree in words."""
        return f"degree {2 ** float(degree_values(np.array(code))) - 1:.0f}"

    def smallest(self) -> int:
        """Return 2, a pair of nodes."""
        return 2

    def node_vectors(self, encoding: Encoding, largest: int) -> tuple[NDArray[np.float64], list[int], list[bool]]:
        """Return log2(1 + degree)."""
        return degree_values(np.arange(largest + 1))[:, None], [NODE_LABEL], [False]

    def edge_vectors(self, encoding: Encoding, largest: int) -> tuple[NDArray[np.float64], list[int], list[bool]]:
        """Return whether there is an edge."""
        return np.array([[0.0], [1.0]]), [EDGE], [True]


for _view in (LabelView(), RefinedView(), DegreeView()):
    register_view(_view)

#: Number of degree levels that fit into a refined node code.
_DEGREES = 64


@dataclass(frozen=True, eq=False)
class Encoding:
    """The codes for graphs, as learned from the training graphs by `fit_encoding`.

    Attributes:
        node_labels, edge_labels: the labels seen in training, sorted, or None if labels are not used.
        node_attributes, edge_weights: their levels, or None if they are not used.
        views: names of the views.
        sizes: the subgraph sizes of each view.
        neighbourhoods: whether neighbourhoods are also regions.
    """

    node_labels: NDArray[Any] | None
    node_attributes: Levels | None
    edge_labels: NDArray[Any] | None
    edge_weights: Levels | None
    views: tuple[str, ...]
    sizes: tuple[tuple[int, ...], ...]
    neighbourhoods: bool = False

    @property
    def groups(self) -> set[tuple[str, int, int]]:
        """The kind, view and size of all regions."""
        subgraphs = {("subgraphs", view, k) for view, sizes in enumerate(self.sizes) for k in sizes}
        if not self.neighbourhoods:
            return subgraphs
        radii = [range(VIEWS[name].radius() + 1) for name in self.views]
        return subgraphs | {("neighbourhoods", view, r) for view, own in enumerate(radii) for r in own}

    def structure(self, graphs: GraphSet) -> Structure:
        """Return the graphs with label and level codes; labels unseen in training get the code for no label."""
        check_undirected(graphs)
        once = graphs.edges[:, 0] < graphs.edges[:, 1]  # each edge once, without self-loops
        every = np.ones(graphs.node_offsets[-1], dtype=bool)
        node_codes, edge_codes = self._codes(graphs, "node", every), 1 + self._codes(graphs, "edge", once)
        return Structure(graphs, graphs.edges[once], graphs.graph_of_cell[once], node_codes, edge_codes)

    def encode(self, graphs: GraphSet | Structure) -> CodedGraphs:
        """Return the graphs with the codes of every view."""
        found = graphs if isinstance(graphs, Structure) else self.structure(graphs)
        offsets = np.concatenate([[0], np.bincount(found.owner, minlength=len(found.graphs)).cumsum()])
        coded = tuple(
            Codes(
                *VIEWS[name].codes(found), sizes, tuple(range(VIEWS[name].radius() + 1)) if self.neighbourhoods else ()
            )
            for name, sizes in zip(self.views, self.sizes, strict=True)
        )
        return CodedGraphs(found.graphs.node_offsets, offsets, found.edges, coded)

    def warn_of_unseen(self, graphs: GraphSet, strange: int = 0) -> None:
        """Warn once about labels never seen in training, and about graphs of mostly unseen subgraphs.

        Args:
            strange: number of graphs that consist mostly of subgraphs that no training graph has; 0 to say nothing.
        """
        once = graphs.edges[:, 0] < graphs.edges[:, 1]
        found = []
        for what, known, column in (
            ("nodes", self.node_labels, graphs.node_labels),
            ("edges", self.edge_labels, None if graphs.edge_labels is None else graphs.edge_labels[once]),
        ):
            if known is None or column is None:
                continue
            unseen = int((_number_of(column, known) == 0).sum())
            if unseen:
                found.append(f"{unseen} of {len(column)} {what}")
        facts = []
        if found:
            facts.append(
                f"{' and '.join(found)} of {graphs.name} have a label never seen in training; they are matched as if "
                f"they had none"
            )
        if strange:
            facts.append(
                f"{strange} of {len(graphs)} graphs of {graphs.name} consist mostly of subgraphs that no training "
                f"graph has; predictions for them are guesses (see unseen_share)"
            )
        if facts:
            warnings.warn("; ".join(facts), IsoNNWarning, stacklevel=2)

    def labelled(self, view: int) -> bool:
        """Return whether the nodes of a view carry labels."""
        return self.node_labels is not None and isinstance(VIEWS[self.views[view]], LabelView)

    def label_of(self, code: int, what: str) -> Any:
        """Return the label in a node or edge code, or None."""
        labels, levels = self._known(what)
        number = code // (1 if levels is None else len(levels))
        return None if labels is None or not 0 < number <= len(labels) else labels[number - 1].item()

    def layout(self, view: int, k: int) -> GraphLayout:
        """Return the layout of the entries of k-node soft templates."""
        from isonn.matching.permutations import GraphLayout

        node, edge = self._vectors(view, 0)
        return GraphLayout(k, node[0].shape[1], edge[0].shape[1])

    def entry_kinds(self, view: int, k: int) -> tuple[list[int], list[bool]]:
        """Return the kind of each entry, as in START_WEIGHTS, and whether it is 0 or 1 in every graph."""
        (_, node_kinds, node_binary), (_, edge_kinds, edge_binary) = self._vectors(view, 0)
        pairs = k * (k - 1) // 2
        return node_kinds * k + edge_kinds * pairs, node_binary * k + edge_binary * pairs

    def vectors(self, view: int, regions: IntArray, k: int) -> NDArray[np.float32]:
        """Convert regions of codes to regions of numbers, ``(d, layout.width)``."""
        (node, *_), (edge, *_) = self._vectors(view, int(regions.max(initial=0)))
        pairs = k * (k - 1) // 2
        flat = np.empty((len(regions), k * node.shape[1] + pairs * edge.shape[1]), dtype=np.float32)
        first = k * node.shape[1]
        flat[:, :first] = node[regions[:, :k]].reshape(len(regions), first)
        flat[:, first:] = edge[regions[:, k:]].reshape(len(regions), flat.shape[1] - first)
        return flat

    def soft_template(self, view: int, k: int, entries: NDArray[np.float32]) -> Template:
        """Return a soft template in its public form."""
        (node_table, *_), (edge_table, *_) = self._vectors(view, 0)
        width, depth, pairs = node_table.shape[1], edge_table.shape[1], k * (k - 1) // 2
        nodes, links = entries[: k * width].reshape(k, width), entries[k * width :].reshape(pairs, depth)
        rows, columns = np.triu_indices(k, 1)
        adjacency = np.zeros((k, k), dtype=np.float32)
        adjacency[rows, columns] = adjacency[columns, rows] = links[:, 0]
        if self.views[view] == DegreeView.name:
            return Template(adjacency, degrees=(np.exp2(nodes[:, 0]) - 1).astype(np.float32))
        node_labels = edge_labels = weights = None
        if self.node_labels is not None:
            weights = nodes[:, : len(self.node_labels)]
            node_labels = self.node_labels[weights.argmax(axis=1)]
        if self.edge_labels is not None:
            edge_labels = np.empty((k, k), dtype=object)
            there = links[:, 0] > 0.5
            best = self.edge_labels[links[there, 1:].argmax(axis=1)]
            edge_labels[rows[there], columns[there]] = edge_labels[columns[there], rows[there]] = best
        return Template(adjacency, node_labels, edge_labels, label_weights=weights)

    def hard_template(self, view: int, k: int, accepted: IntArray, names: dict[str, dict[Any, str]]) -> Template:
        """Return a template of the vocabulary in its public form.

        Args:
            accepted: the canonical rows it accepts, ``(rows, width)``; several rows differ in one node or edge.
        """
        look, codes = VIEWS[self.views[view]], accepted[0].tolist()
        rows, columns = np.triu_indices(k, 1)
        adjacency = np.zeros((k, k), dtype=np.float32)
        adjacency[rows, columns] = adjacency[columns, rows] = np.array(codes[k:]) > 0
        labels = [look.node_label(code, self) for code in codes[:k]]
        edge_labels = np.full((k, k), None, dtype=object)
        for i, j, code in zip(rows.tolist(), columns.tolist(), codes[k:], strict=True):
            if code:
                edge_labels[i, j] = edge_labels[j, i] = look.edge_label(code, self)
        texts = [look.node_text(code, self, names.get("node", {})) for code in codes[:k]]
        known = all(label is not None for label in labels)
        return Template(
            adjacency,
            node_labels=np.array(labels) if known else None,
            edge_labels=edge_labels if any(label is not None for label in edge_labels.flat) else None,
            texts=tuple(texts),
            view=look.name,
            others=tuple(self.hard_template(view, k, row[None], names) for row in accepted[1:]),
            label_names=names.get("node", {}),
            edge_label_names=names.get("edge", {}),
        )

    def as_json(self) -> dict[str, Any]:
        """Return the encoding as JSON, for `encoding_from_json`."""
        parts: dict[str, Any] = {"views": self.views, "sizes": self.sizes, "neighbourhoods": self.neighbourhoods}
        for name in ("node_labels", "edge_labels"):
            values = getattr(self, name)
            parts[name] = None if values is None else values_to_json(values)
        for name in ("node_attributes", "edge_weights"):
            levels = getattr(self, name)
            parts[name] = None if levels is None else levels.as_json()
        return parts

    def _known(self, what: str) -> tuple[NDArray[Any] | None, Levels | None]:
        if what == "node":
            return self.node_labels, self.node_attributes
        return self.edge_labels, self.edge_weights

    def _codes(self, graphs: GraphSet, what: str, rows: NDArray[np.bool_]) -> IntArray:
        """Combine the label and the level of each node or edge into one code."""
        labels, levels = self._known(what)
        codes = np.zeros(int(rows.sum()), dtype=np.int64)
        if labels is not None:
            column = graphs.node_labels if what == "node" else graphs.edge_labels
            if column is not None:
                codes = _number_of(column[rows], labels)
            elif len(codes):  # a graph without edges needs no edge labels
                raise InputError(f"{graphs.name} has no {what} labels, but this model was fitted with them; add them")
        if levels is not None:
            column = graphs.node_attributes if what == "node" else _weights(graphs)
            if column is None:
                hint = "" if graphs.node_labels is None else _ONE_HOT
                raise InputError(
                    f"{graphs.name} has no node attributes, but this model was fitted with them; add them{hint}"
                )
            codes = codes * len(levels) + levels.nearest(column[rows])
        return codes

    def _vectors(self, view: int, largest: int) -> tuple[Any, Any]:
        look = VIEWS[self.views[view]]
        return look.node_vectors(self, largest), look.edge_vectors(self, largest)


def edges_on_cycles(n: int, ends: IntArray) -> NDArray[np.bool_]:
    """Return whether each edge of an undirected graph lies on a cycle, ``(m,)``; all other edges are bridges.

    Example:
        >>> edges_on_cycles(4, np.array([[0, 1], [0, 2], [1, 2], [2, 3]])).tolist()
        [True, True, True, False]
    """
    if compiled():
        from isonn.subgraphs import kernels

        return kernels.edges_on_cycles(n, ends)
    import igraph

    graph = igraph.Graph(n=n, edges=ends)
    on_cycle = np.ones(len(ends), dtype=bool)
    on_cycle[graph.bridges()] = False
    return on_cycle


def fit_encoding(
    graphs: GraphSet, use: dict[str, bool], sizes: Sequence[int], views: Sequence[str], neighbourhoods: bool = False
) -> Encoding:
    """Learn the encoding from training graphs.

    Args:
        use: which of COLUMNS to use.
        sizes: the subgraph sizes.
        views: names of views.
        neighbourhoods: whether neighbourhoods are also regions.
    """
    known = DistinctValues([name for name in COLUMNS if use[name]]).add(graphs)
    return encoding_of(known, use, sizes, views, graphs.name, neighbourhoods)


def encoding_of(
    known: DistinctValues,
    use: dict[str, bool],
    sizes: Sequence[int],
    views: Sequence[str],
    name: str = "graphs",
    neighbourhoods: bool = False,
) -> Encoding:
    """Learn the encoding from the labels and values of the training graphs; see `fit_encoding`."""
    every = tuple(sorted(set(sizes)))
    by_view = {view: tuple(k for k in every if k >= get_view(view).smallest()) for view in views}
    for column in COLUMNS[:3]:  # weights default to 1
        if use[column] and not known.has[column]:
            raise InputError(f"{column}=True, but {name} has none; use {column}='auto' or False")
    values, weights = known.values, use["edge_weights"]
    kept = {view: own for view, own in by_view.items() if own}
    return Encoding(
        node_labels=known.labels["node_labels"] if use["node_labels"] else None,
        node_attributes=Levels.of_distinct(values["node_attributes"], LEVELS) if use["node_attributes"] else None,
        edge_labels=known.labels["edge_labels"] if use["edge_labels"] else None,
        edge_weights=Levels.of_distinct(values["edge_weights"], LEVELS, scale=True) if weights else None,
        views=tuple(kept),
        sizes=tuple(kept.values()),
        neighbourhoods=neighbourhoods,
    )


def encoding_from_json(stored: dict[str, Any]) -> Encoding:
    """Read an encoding that `Encoding.as_json` returned."""

    def labels(name: str) -> NDArray[Any] | None:
        return None if stored[name] is None else values_from_json(stored[name])

    def levels(name: str) -> Levels | None:
        return None if stored[name] is None else Levels.from_json(stored[name])

    for view in stored["views"]:
        get_view(view)
    sizes = tuple(tuple(view) for view in stored["sizes"])
    if len(sizes) != len(stored["views"]):
        raise InputError(f"it has sizes of {len(sizes)} views and {len(stored['views'])} views")
    for k in chain.from_iterable(sizes):
        check_subgraph_size(k)
    return Encoding(
        labels("node_labels"),
        levels("node_attributes"),
        labels("edge_labels"),
        levels("edge_weights"),
        tuple(stored["views"]),
        sizes,
        bool(stored["neighbourhoods"]),
    )


def leaf_label(graphs: GraphSet, leaf: Any) -> str:
    """Return the node label, as text, that a user calls ``leaf``: a label or the name of one.

    Example:
        >>> leaf_label(isonn.load("MUTAG"), "O")
        '2'
    """
    by_name = {name: str(label) for label, name in graphs.node_label_names.items()}
    known = str(leaf) in by_name.values()
    return str(leaf) if known else by_name.get(str(leaf), str(leaf))


def check_folded(leaf: str, labels: NDArray[Any] | None, names: dict[Any, str], name: str) -> None:
    """Raise `InputError` if no node had the label ``leaf``, given the labels after folding and their names."""
    if labels is None or any(label == leaf or label.endswith(f"x{leaf}") for label in labels.tolist()):
        return
    shown = [names.get(label, label) for label in labels[:10].tolist()] + (["..."] if len(labels) > 10 else [])
    raise InputError(f"fold={leaf} is not a node label of {name}; use one of {', '.join(shown)}, or leave fold out")


def fold_leaves(graphs: GraphSet, leaf: Any) -> tuple[GraphSet, IntArray]:
    """Remove leaf nodes with one label and add their number to the label of their neighbour.

    This turns hydrogens into a count on their atom. A leaf whose neighbour is also such a leaf stays.

    Returns:
        The graphs, and for each of their nodes its number in the original graph.

    Example:
        >>> methane = isonn.as_graphset([np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]])])
        >>> folded, kept = fold_leaves(replace(methane, node_labels=np.array(["C", "H", "H"])), "H")
        >>> folded.node_labels.tolist(), kept.tolist()
        (['C+2xH'], [0])
    """
    if graphs.node_labels is None:
        raise InputError(f"fold={leaf} needs node labels, and {graphs.name} has none; leave fold out")
    n = int(graphs.node_offsets[-1])
    ends = graphs.edges + graphs.node_offsets[graphs.graph_of_cell, None]
    leafy = (graphs.node_labels.astype(str) == str(leaf)) & (np.bincount(ends[:, 0], minlength=n) == 1)
    gone = leafy.copy()
    from_leaf = leafy[ends[:, 0]]
    gone[ends[from_leaf & leafy[ends[:, 1]], 0]] = False
    counts = np.bincount(ends[gone[ends[:, 0]], 1], minlength=n)
    both = zip(graphs.node_labels.tolist(), counts.tolist(), strict=True)
    labels = np.array([f"{label}+{count}x{leaf}" if count else str(label) for label, count in both])
    names = {str(label): name for label, name in graphs.node_label_names.items()}
    own = names.get(str(leaf), str(leaf))
    for label, count in sorted({(str(a), int(b)) for a, b in zip(graphs.node_labels, counts, strict=True) if b}):
        names[f"{label}+{count}x{leaf}"] = f"{names.get(label, label)}{own}{count if count > 1 else ''}"
    kept = np.flatnonzero(~gone)
    number = np.cumsum(~gone) - 1
    owner = np.repeat(np.arange(len(graphs)), graphs.sizes)
    offsets = np.concatenate([[0], np.bincount(owner[kept], minlength=len(graphs)).cumsum()])
    cells = ~gone[ends].any(axis=1)
    edges = number[ends[cells]] - offsets[graphs.graph_of_cell[cells], None]

    def rows(column: NDArray[Any] | None, which: NDArray[Any]) -> NDArray[Any] | None:
        return None if column is None else column[which]

    folded = replace(
        graphs,
        node_offsets=offsets,
        edge_offsets=np.concatenate([[0], np.bincount(graphs.graph_of_cell[cells], minlength=len(graphs)).cumsum()]),
        edges=edges,
        weights=rows(graphs.weights, cells),
        node_labels=labels[kept],
        edge_labels=rows(graphs.edge_labels, cells),
        node_attributes=rows(graphs.node_attributes, kept),
        node_names=rows(graphs.node_names, kept),
        node_label_names=names,
    )
    return folded, kept - np.repeat(graphs.node_offsets[:-1], np.diff(offsets))


def directed_graph(graphs: GraphSet) -> int | None:
    """Return the first graph with an edge that differs between the two directions, or None."""
    edges, owner = graphs.edges, graphs.graph_of_cell
    turned = np.lexsort((edges[:, 0], edges[:, 1], owner))
    differs = (edges[turned][:, ::-1] != edges).any(axis=1)
    for column in (graphs.weights, graphs.edge_labels):
        if column is not None:
            differs |= column[turned] != column
    return int(owner[differs][0]) if differs.any() else None


def check_undirected(graphs: GraphSet) -> None:
    """Raise `InputError` if a graph is directed."""
    i = directed_graph(graphs)
    if i is not None:
        raise InputError(directed_error(i, len(graphs)))


def directed_error(number: int, of: object) -> str:
    """Return the error for a directed graph; ``of`` is the size or the name of its set."""
    return (
        f"graph {number} of {of} is directed, and subgraphs need undirected graphs; make it symmetric, or use "
        f"IsoNNClassifier"
    )


def _weights(graphs: GraphSet) -> NDArray[np.float64]:
    return np.ones(len(graphs.edges)) if graphs.weights is None else graphs.weights


def _number_of(column: NDArray[Any], known: NDArray[Any]) -> IntArray:
    """Return the position of each value in ``known`` plus 1, or 0 for other values."""
    if column.dtype.kind != known.dtype.kind and "U" in column.dtype.kind + known.dtype.kind:
        return np.zeros(len(column), dtype=np.int64)  # text and numbers do not compare
    if not len(known):
        return np.zeros(len(column), dtype=np.int64)
    place = np.searchsorted(known, column).clip(max=len(known) - 1)
    return np.where(known[place] == column, place + 1, 0)


def _table(labels: NDArray[Any] | None, levels: Levels | None) -> NDArray[np.float64]:
    """Return the vector of each code: the one-hot label (all 0 for none), then the level."""
    count = 0 if labels is None else len(labels)
    table = np.eye(count + 1)[:, 1:] if labels is not None else np.zeros((1, 0))
    if levels is None:
        return table
    centres = np.tile(levels.centres, (len(table), 1))
    return np.concatenate([np.repeat(table, len(levels), axis=0), centres], axis=1)


# The facts about the training graphs that an encoding needs, collected a few graphs at a time.


COLUMNS = ("node_labels", "node_attributes", "edge_labels", "edge_weights")


def used_columns(settings: Any, has: dict[str, bool]) -> dict[str, bool]:
    """Return which of COLUMNS templates carry: as the estimator's parameters say, "auto" for those the graphs have."""
    use = {name: has[name] if getattr(settings, name) == "auto" else bool(getattr(settings, name)) for name in COLUMNS}
    if settings.node_attributes == "auto" and use["node_labels"]:
        use["node_attributes"] = False  # with levels beside labels, hardly any two subgraphs would be equal
    return use


def columns_to_read(settings: Any, graphs: GraphSet) -> list[str]:
    """Return the columns of a stream to look at, given its first graphs."""
    use = used_columns(settings, DistinctValues(()).add(graphs).has)
    use["edge_weights"] = settings.edge_weights is not False  # later graphs may have weights
    return [name for name in COLUMNS if use[name]]


class DistinctValues:
    """The labels and values of graphs; neither the order of the graphs nor their batches matter.

    Args:
        wanted: which of COLUMNS to look at.

    Attributes:
        has: whether the graphs have each of COLUMNS.
        labels: the distinct labels of each column, sorted.
        values: the distinct rows of numbers of each column; weights default to 1.
    """

    def __init__(self, wanted: Collection[str] = COLUMNS) -> None:
        self.has = dict.fromkeys(COLUMNS, False)
        self.labels: dict[str, NDArray[Any]] = {}
        self.values: dict[str, DistinctRows] = {}
        self._wanted = wanted

    def add(self, graphs: GraphSet) -> Self:
        """Add the labels and values of some graphs, ignoring self-loops."""
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

    def join(self, other: DistinctValues) -> Self:
        """Add the labels and values of other graphs, for the same columns."""
        for name in COLUMNS:
            self.has[name] |= other.has[name]
        for name, labels in other.labels.items():
            self.labels[name] = np.unique(np.concatenate([self.labels.get(name, labels[:0]), labels]))
        for name, values in other.values.items():
            own = self.values.setdefault(name, DistinctRows(values.rows.shape[1]))
            own.add(values.rows, values.often)
            own.largest = np.maximum(own.largest, values.largest)
        return self


# Numbers rounded to a few levels, so that equal subgraphs can be found.


#: Degrees up to this have a level each; above it a level is half an octave.
EXACT_DEGREES = 8
#: Number of values used to find levels; more change little.
MAX_VALUES = 20_000


@dataclass(frozen=True, eq=False)
class Levels:
    """Centres that rows of numbers are rounded to.

    Attributes:
        shift, scale: map rows to zero mean and unit size, ``(width,)``.
        centres: the levels in these units, ``(levels, width)``.
    """

    shift: NDArray[np.float64]
    scale: NDArray[np.float64]
    centres: NDArray[np.float64]

    @classmethod
    def of(cls, column: NDArray[np.float64], count: int, scale: bool = False) -> Levels:
        """Find at most ``count`` levels of a column: all its values if they are few, else cluster centres.

        Args:
            scale: only divide by the largest absolute value, so that 0 stays 0. Otherwise each number is standardised,
                and the mean squared distance of two rows equals that of two one-hot labels.
        """
        width = 1 if column.ndim == 1 else column.shape[1]
        values = DistinctRows(width)
        values.add(column.reshape(len(column), width))
        return cls.of_distinct(values, count, scale)

    @classmethod
    def of_distinct(cls, values: DistinctRows, count: int, scale: bool = False) -> Levels:
        """Find the levels of a column from its distinct rows; an empty column counts as ones."""
        distinct, often, width = values.rows, values.often, values.rows.shape[1]
        if not len(distinct):
            distinct, often = np.ones((1, width)), np.ones(1, dtype=np.int64)
        if scale:
            shift, size = np.zeros(width), values.largest
        else:  # sorted, so that sums do not depend on the order of rows
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
        """Number of values in a row."""
        return int(self.centres.shape[1])

    def nearest(self, column: NDArray[np.float64]) -> IntArray:
        """Return the nearest level of each row."""
        rows = (column.reshape(len(column), self.width) - self.shift) / self.scale
        squares = [((rows - centre) ** 2).sum(axis=1) for centre in self.centres]
        level: IntArray = np.argmin(squares, axis=0).astype(np.int64)
        return level

    def as_json(self) -> dict[str, Any]:
        """Return the levels as JSON."""
        return {"shift": self.shift.tolist(), "scale": self.scale.tolist(), "centres": self.centres.tolist()}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Levels:
        """Read levels that `as_json` returned."""
        return cls(*(np.array(stored[name], dtype=np.float64) for name in ("shift", "scale", "centres")))


def _clusters(rows: NDArray[np.float64], often: IntArray, count: int) -> NDArray[np.float64]:
    from sklearn.cluster import KMeans

    step = -(-len(rows) // MAX_VALUES)
    with limit_threads(1):  # threads split sums, and levels must not depend on the machine
        fitted = KMeans(count, n_init=1, random_state=0).fit(rows[::step], sample_weight=often[::step])
    centres: NDArray[np.float64] = np.unique(fitted.cluster_centers_, axis=0)
    return centres


def degree_levels(degree: IntArray) -> IntArray:
    """Return the level of each degree.

    Example:
        >>> degree_levels(np.array([0, 1, 8, 9, 12, 17])).tolist()
        [0, 1, 8, 8, 9, 10]
    """
    beyond = np.round(2 * np.log2((1.0 + degree) / (1 + EXACT_DEGREES))).astype(np.int64)
    return np.where(degree <= EXACT_DEGREES, degree, EXACT_DEGREES + beyond)


def degree_values(level: IntArray) -> NDArray[np.float64]:
    """Return log2(1 + degree) of each level."""
    low = np.log2(1.0 + np.minimum(level, EXACT_DEGREES))
    return low + np.maximum(level - EXACT_DEGREES, 0) / 2


# The distinct rows of a column that may not fit into memory.


#: Number of values kept, and the minimum number of rows kept.
MOST_NUMBERS, FEWEST_ROWS = 2**19, 2**16


class DistinctRows:
    """Distinct rows of numbers, with their counts and the largest absolute values.

    If there are more distinct rows than fit, those with the smallest hashes are kept. This choice does not depend on
    the order of the rows. A row that is kept at the end was kept all along, so every count is exact.

    Attributes:
        rows: the rows kept, sorted, ``(d, width)``.
        often: the count of each row, ``(d,)``.
        largest: the largest absolute value of each column over all rows added, ``(width,)``.
    """

    def __init__(self, width: int) -> None:
        self.rows: NDArray[np.float64] = np.zeros((0, width))
        self.often: IntArray = np.zeros(0, dtype=np.int64)
        self.largest: NDArray[np.float64] = np.zeros(width)
        self._room = max(FEWEST_ROWS, MOST_NUMBERS // max(width, 1))
        self._last = np.uint64(2**64 - 1)  # the largest hash kept, once rows were dropped

    def add(self, rows: NDArray[np.float64], times: int | IntArray = 1) -> None:
        """Add rows, each with the count ``times``."""
        if not len(rows):
            return
        rows = rows.astype(np.float64) + 0.0  # turns -0.0 into 0.0
        times = np.broadcast_to(times, len(rows))
        self.largest = np.maximum(self.largest, np.abs(rows).max(axis=0))
        if self._last < np.uint64(2**64 - 1):
            kept = _hashes(rows) <= self._last
            rows, times = rows[kept], times[kept]
        both = np.concatenate([self.rows, rows])
        weights = np.concatenate([self.often, times])
        if both.shape[1] == 1:  # the same result, faster
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
    """Hash each row (splitmix64, column by column)."""
    state = np.zeros(len(rows), dtype=np.uint64)
    for column in np.ascontiguousarray(rows).view(np.uint64).T:
        state = mix64(state + column)
    return state
