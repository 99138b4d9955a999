"""`Encoding`: the labels and levels of the training graphs, and the integer codes of any graphs in every view."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import InputError
from isonn.explain.template import Template
from isonn.graphs.cycles import edges_on_cycles
from isonn.graphs.graph import GraphSet
from isonn.packing import IntArray
from isonn.params import check_subgraph_size
from isonn.subgraphs.levels import Levels
from isonn.subgraphs.survey import DistinctValues
from isonn.subgraphs.views import COLUMNS, View, view_from_json
from isonn.targets import values_from_json, values_to_json

_ONE_HOT = " (PyTorch Geometric's x is read as labels only if all of it is one-hot; convert all graphs together)"


@dataclass(frozen=True, eq=False)
class CodedGraphs:
    """Undirected graphs as flat columns, with the codes of every view.

    Attributes:
        node_offsets, edge_offsets: where the nodes and edges of each graph start, ``(g + 1,)``.
        edges: each edge once, as (smaller, larger) node, numbered from 0 within their graph, sorted, ``(edges, 2)``.
        node_codes: code of each node in each view, ``(views, nodes)``, from 0.
        edge_codes: code of each edge in each view, ``(views, edges)``, from 1.
        view_sizes: sizes of the subgraphs to count in each view.
    """

    node_offsets: IntArray
    edge_offsets: IntArray
    edges: IntArray
    node_codes: IntArray
    edge_codes: IntArray
    view_sizes: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.node_offsets) - 1

    @property
    def sizes(self) -> list[int]:
        """The sizes of the subgraphs to count in any view, ascending."""
        return sorted(set(chain.from_iterable(self.view_sizes)))

    def slice(self, start: int, stop: int) -> CodedGraphs:
        """Return graphs ``start`` to ``stop``."""
        nodes = slice(self.node_offsets[start], self.node_offsets[stop])
        edges = slice(self.edge_offsets[start], self.edge_offsets[stop])
        return CodedGraphs(
            self.node_offsets[start : stop + 1] - nodes.start,
            self.edge_offsets[start : stop + 1] - edges.start,
            self.edges[edges],
            self.node_codes[:, nodes],
            self.edge_codes[:, edges],
            self.view_sizes,
        )


@dataclass(frozen=True, eq=False)
class Structure:
    """Graphs in the form that views read: each undirected edge once, and the numbers of labels and levels.

    Attributes:
        graphs: the graphs.
        encoding: the encoding.
    """

    graphs: GraphSet
    encoding: Encoding

    @cached_property
    def once(self) -> IntArray:
        """The cells that stand for each edge once, without self-loops, ``(m,)``."""
        return np.flatnonzero(self.graphs.edges[:, 0] < self.graphs.edges[:, 1])

    @cached_property
    def edges(self) -> IntArray:
        """The (smaller, larger) node of each edge, numbered within its graph, ``(m, 2)``."""
        return self.graphs.edges[self.once]

    @cached_property
    def owner(self) -> IntArray:
        """The graph of each edge, ``(m,)``."""
        return self.graphs.graph_of_cell[self.once]

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
        on_cycle = np.zeros(int(self.graphs.node_offsets[-1]), dtype=bool)
        on_cycle[self.ends[self.ring_edges].ravel()] = True
        return on_cycle

    def combined(self, labels: str, values: str, view: View) -> IntArray:
        """Return one number for the label and the level of each node or edge, as far as a view looks at them.

        Labels unseen in training have the same number as no label.
        """
        count = len(self.edges) if labels == "edge_labels" else int(self.graphs.node_offsets[-1])
        codes = np.zeros(count, dtype=np.int64)
        if getattr(view, labels):
            codes = self.label_numbers(labels)
        if getattr(view, values):
            codes = codes * len(self.encoding.levels[values]) + self._levels(values)
        return codes

    def label_numbers(self, name: str) -> IntArray:
        """Return the number of the label of each node or edge, from 1; 0 for labels unseen in training."""
        column = self._column(name)
        if column is None:
            kind = name.removesuffix("_labels")
            if kind == "edge" and not len(self.edges):  # graphs without edges need no edge labels
                return np.zeros(0, dtype=np.int64)
            raise InputError(f"{self.graphs.name} has no {kind} labels, but this model was fitted with them; add them")
        return number_of(column, self.encoding.labels[name])

    def _levels(self, name: str) -> IntArray:
        column = self._column(name)
        if column is None and name == "edge_weights":
            column = np.ones(len(self.edges))
        if column is None:
            hint = "" if self.graphs.node_labels is None else _ONE_HOT
            raise InputError(
                f"{self.graphs.name} has no node attributes, but this model was fitted with them; add them{hint}"
            )
        return self.encoding.levels[name].nearest(column)

    def _column(self, name: str) -> NDArray[Any] | None:
        column = getattr(self.graphs, "weights" if name == "edge_weights" else name)
        if column is None or not name.startswith("edge"):
            return None if column is None else np.asarray(column)
        return np.asarray(column[self.once])


@dataclass(frozen=True, eq=False)
class Encoding:
    """The codes for graphs, as learned from the training graphs.

    Attributes:
        views: the views, with every choice made.
        sizes: the subgraph sizes of each view.
        labels: the labels seen in training, sorted, by column, for those that some view looks at.
        levels: the levels of attributes and weights, likewise.
    """

    views: tuple[View, ...]
    sizes: tuple[tuple[int, ...], ...]
    labels: dict[str, NDArray[Any]]
    levels: dict[str, Levels]

    @classmethod
    def fit(cls, seen: DistinctValues, views: tuple[View, ...], max_nodes: int, name: str = "graphs") -> Encoding:
        """Learn the encoding from the labels and values of the training graphs."""
        resolved = [view.resolve(seen.has, name) for view in views if view.smallest <= max_nodes]
        used = {column for view in resolved for column in COLUMNS if getattr(view, column)}
        return cls(
            tuple(resolved),
            tuple(tuple(range(view.smallest, max_nodes + 1)) for view in resolved),
            {column: seen.labels[column] for column in ("node_labels", "edge_labels") if column in used},
            {
                column: Levels.fit(seen.values[column], scale=column == "edge_weights")
                for column in ("node_attributes", "edge_weights")
                if column in used
            },
        )

    def encode(self, graphs: GraphSet) -> CodedGraphs:
        """Return undirected graphs with the codes of every view."""
        structure = Structure(graphs, self)
        offsets = np.concatenate([[0], np.bincount(structure.owner, minlength=len(graphs)).cumsum()])
        nodes, edges = (np.stack(codes) for codes in zip(*(view.codes(structure) for view in self.views), strict=True))
        return CodedGraphs(graphs.node_offsets, offsets, structure.edges, nodes, edges, self.sizes)

    def meaning(self, code: int, labels: str, values: str, view: View) -> tuple[Any, tuple[float, ...] | None]:
        """Return the label and the values in a code of `Structure.combined`; None for what it does not tell."""
        levels = self.levels[values] if getattr(view, values) else None
        number, level = divmod(code, 1 if levels is None else len(levels))
        known = self.labels[labels] if getattr(view, labels) else ()
        label = known[number - 1].item() if 0 < number <= len(known) else None
        return label, None if levels is None or len(levels) < 2 else levels.value(level)

    def template(self, piece: NDArray[np.integer], names: dict[str, dict[Any, str]]) -> Template:
        """Return a piece as a template.

        Args:
            piece: view, size and codes, as in `CountTable.pieces`.
            names: names of labels, by "node" and "edge".
        """
        view, k, *codes = piece.tolist()
        look = self.views[view]
        nodes = tuple(look.node_facts(code, self) for code in codes[:k])
        edges, adjacency = {}, np.zeros((k, k), dtype=np.float32)
        for i, j, code in zip(*(side.tolist() for side in np.triu_indices(k, 1)), codes[k:], strict=False):
            if code:
                edges[i, j] = facts = look.edge_facts(code, self)
                adjacency[i, j] = adjacency[j, i] = 1.0 if facts.weight is None else facts.weight
        own_nodes, own_edges = look.label_names(self)
        return Template(
            adjacency,
            nodes,
            edges,
            look.name,
            label_names={**names.get("node", {}), **own_nodes},
            edge_label_names={**names.get("edge", {}), **own_edges},
        )

    def unseen_labels(self, graphs: GraphSet) -> list[str]:
        """Return how many nodes and edges have a label never seen in training, in words."""
        words, structure = [], Structure(graphs, self)
        for name, what in (("node_labels", "nodes"), ("edge_labels", "edges")):
            if name in self.labels and getattr(graphs, name) is not None:
                numbers = structure.label_numbers(name)
                if unseen := int((numbers == 0).sum()):
                    words.append(f"{unseen} of {len(numbers)} {what}")
        return words

    def as_json(self) -> dict[str, Any]:
        """Return the encoding as JSON, for `from_json`."""
        return {
            "views": [view.as_json() for view in self.views],
            "sizes": self.sizes,
            "labels": {name: values_to_json(values) for name, values in self.labels.items()},
            "levels": {name: levels.as_json() for name, levels in self.levels.items()},
        }

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Encoding:
        """Read an encoding that `as_json` returned."""
        views = tuple(map(view_from_json, stored["views"]))
        sizes = tuple(tuple(view) for view in stored["sizes"])
        if len(sizes) != len(views):
            raise InputError(f"it has sizes of {len(sizes)} views and {len(views)} views")
        for k in chain.from_iterable(sizes):
            check_subgraph_size(k)
        labels = {name: values_from_json(values) for name, values in stored["labels"].items()}
        levels = {name: Levels.from_json(values) for name, values in stored["levels"].items()}
        for view in views:
            missing = [name for name in COLUMNS if getattr(view, name) and name not in {*labels, *levels}]
            if missing:
                raise InputError(f"it has no {missing[0]} for view {view.name!r}")
        return cls(views, sizes, labels, levels)


def number_of(column: NDArray[Any], known: NDArray[Any]) -> IntArray:
    """Return the position of each value in ``known`` plus 1, or 0 for other values."""
    if column.dtype.kind != known.dtype.kind and "U" in column.dtype.kind + known.dtype.kind:
        return np.zeros(len(column), dtype=np.int64)  # text and numbers do not compare
    if not len(known):
        return np.zeros(len(column), dtype=np.int64)
    place = np.searchsorted(known, column).clip(max=len(known) - 1)
    return np.where(known[place] == column, place + 1, 0)
