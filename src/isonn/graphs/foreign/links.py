"""Graphs of NetworkX and igraph, which hold links, weights and labels as lists."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import InputError, IsoNNWarning
from isonn.graphs.columns import take
from isonn.graphs.graph import Graph
from isonn.packing import IntArray
from isonn.targets import are_too_many_classes

#: Default of ``label_from`` and ``edge_label_from``: read the attribute ``label`` and warn about others.
AUTO = "auto"


def attribute_names(attributes: Iterable[Iterable[str]]) -> set[str]:
    """Return the names of the attributes of all nodes or edges."""
    return {str(key) for some in attributes for key in some}


#: Warnings that were given. Estimators convert the same graphs at each call, so each is given once per process.
_GIVEN: set[str] = set()


def choose_attribute(what: str, wanted: str | None, present: set[str], usual: str = "label") -> str | None:
    """Return the attribute that holds the labels; warn once about others if the caller named none."""
    argument = "label_from" if what == "node" else "edge_label_from"
    if wanted is not None and wanted != AUTO and wanted not in present:
        there = ", ".join(sorted(present)[:10]) or "none"
        raise InputError(f"{argument}={wanted!r:.60}: no {what} has this attribute; attributes of {what}s are {there}")
    unread = sorted(present - {usual, "weight"})
    if wanted == AUTO and unread:
        others = ", ".join(unread[:5]) + (", ..." if len(unread) > 5 else "")
        message = (
            f"{what} labels are read from {usual!r}; the other attributes ({others}) are left out (docs/data.md)"
            if usual in present
            else f"no {what} has the attribute {usual!r}, so {what}s have no labels; "
            f"isonn.as_graphset(X, {argument}=...) reads them from one of {others} (docs/data.md)"
        )
        if message not in _GIVEN:
            warnings.warn(message, IsoNNWarning, stacklevel=2)
            _GIVEN.add(message)
    return usual if wanted == AUTO else wanted


def check_classes(what: str, wanted: str | None, values: Iterable[Any]) -> None:
    """Raise `InputError` if the attribute that the caller named holds measurements, each of which would be a label."""
    if wanted in (AUTO, None):
        return
    numbers = [value for value in values if isinstance(value, (float, np.floating)) and value % 1]
    if not are_too_many_classes(Counter(numbers).values()):
        return
    argument, instead = (
        ("label_from", "use them as node attributes (docs/data.md)")
        if what == "node"
        else ("edge_label_from", "call the attribute weight")
    )
    raise InputError(
        f"{argument}={wanted!r:.60} holds measurements such as {numbers[0]!r:.20}, each of which would be a label; "
        f"round them to a few classes, or {instead}"
    )


def from_networkx(graphs: Sequence[Any], label_from: str | None, edge_label_from: str | None) -> list[Graph]:
    """Read node labels, edge labels and edge ``weight``; nodes that are strings become names."""
    node_keys = attribute_names(data for graph in graphs for _, data in graph.nodes(data=True))
    edge_keys = attribute_names(data for graph in graphs for _, _, data in graph.edges(data=True))
    label = choose_attribute("node", label_from, node_keys)
    edge_label = choose_attribute("edge", edge_label_from, edge_keys)
    check_classes("node", label_from, (data.get(label) for graph in graphs for _, data in graph.nodes(data=True)))
    check_classes(
        "edge", edge_label_from, (data.get(edge_label) for graph in graphs for _, _, data in graph.edges(data=True))
    )

    def links(graph: Any) -> Links:
        number = {node: position for position, node in enumerate(graph)}
        edges = list(graph.edges(data=True))
        return Links(
            n=len(number),
            pairs=[(number[u], number[v]) for u, v, _ in edges],
            directed=graph.is_directed(),
            weights=[data.get("weight") for _, _, data in edges],
            edge_labels=[data.get(edge_label) for _, _, data in edges],
            node_labels=[data.get(label) for _, data in graph.nodes(data=True)],
            names=list(number),
            id=graph.graph.get("name"),
        )

    return [links(graph).graph(f"graph {i} of {len(graphs)}") for i, graph in enumerate(graphs)]


def from_igraph(graphs: Sequence[Any], label_from: str | None, edge_label_from: str | None) -> list[Graph]:
    """Read node labels, edge labels and edge ``weight``; the vertex attribute ``name`` becomes node names."""
    label = choose_attribute("node", label_from, attribute_names(graph.vs.attributes() for graph in graphs) - {"name"})
    edge_label = choose_attribute("edge", edge_label_from, attribute_names(graph.es.attributes() for graph in graphs))

    def column(sequence: Any, attribute: str | None) -> list[Any]:
        there = attribute is not None and attribute in sequence.attributes()
        return list(sequence[attribute]) if there else [None] * len(sequence)

    check_classes("node", label_from, (value for graph in graphs for value in column(graph.vs, label)))
    check_classes("edge", edge_label_from, (value for graph in graphs for value in column(graph.es, edge_label)))

    def links(graph: Any) -> Links:
        return Links(
            n=graph.vcount(),
            pairs=graph.get_edgelist(),
            directed=graph.is_directed(),
            weights=column(graph.es, "weight"),
            edge_labels=column(graph.es, edge_label),
            node_labels=column(graph.vs, label),
            names=column(graph.vs, "name"),
            id=graph["name"] if "name" in graph.attributes() else None,
        )

    return [links(graph).graph(f"graph {i} of {len(graphs)}") for i, graph in enumerate(graphs)]


@dataclass(frozen=True)
class Links:
    """The lists that NetworkX and igraph hold; None stands for a missing weight or label.

    Attributes:
        n: number of nodes.
        pairs: the nodes of each link.
        directed: whether a link has one direction; else it is two cells, and a loop is one.
        weights, edge_labels: one per link.
        node_labels, names: one per node; names count only if all are strings.
        id: the name of the graph.
    """

    n: int
    pairs: Sequence[tuple[int, int]]
    directed: bool
    weights: list[Any]
    edge_labels: list[Any]
    node_labels: list[Any]
    names: list[Any]
    id: Any = None

    def graph(self, where: str) -> Graph:
        """Build the graph; ``where`` names it in errors."""
        cells = np.array(self.pairs, dtype=np.int64).reshape(-1, 2)
        given = np.array([weight is not None for weight in self.weights], dtype=bool)
        values = _weights(where, self.weights) if given.any() else None
        labels = _labels(where, "edge", self.edge_labels)
        if not self.directed:
            back = np.flatnonzero(cells[:, 0] != cells[:, 1])
            there_and_back = np.concatenate([np.arange(len(cells)), back])
            cells = np.concatenate([cells, cells[back, ::-1]])
            given, values, labels = (take(column, there_and_back) for column in (given, values, labels))
        cells, values, labels = merge_parallel(where, self.n, cells, values, given, labels)
        named = self.n > 0 and all(isinstance(name, str) for name in self.names)
        return Graph.unchecked(
            n=self.n,
            edges=cells,
            weights=values,
            node_labels=_labels(where, "node", self.node_labels),
            edge_labels=labels,
            node_names=np.array(self.names, dtype=np.str_) if named else None,
            id=self.id if isinstance(self.id, str) and self.id else None,
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


def merge_parallel(
    where: str,
    n: int,
    cells: IntArray,
    weights: NDArray[np.float64] | None,
    given: NDArray[np.bool_] | None,
    labels: NDArray[Any] | None,
) -> tuple[IntArray, NDArray[np.float64] | None, NDArray[Any] | None]:
    """Merge parallel edges: add their weights if they have any; their labels must agree. Check the nodes first."""
    outside = ((cells < 0) | (cells >= n)).any(axis=1)
    if n and outside.any():
        raise InputError(
            f"{where} has an edge {tuple(cells[outside][0].tolist())} but only nodes 0 to {n - 1}; correct the edge or "
            f"the number of nodes"
        )
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
