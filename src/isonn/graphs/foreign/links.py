"""Graphs of NetworkX and igraph, which hold links, weights and labels as lists."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
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

#: Warnings that were given. Estimators convert the same graphs at each call, so each is given once per process.
_GIVEN: set[str] = set()


@dataclass(frozen=True)
class Links:
    """The lists that NetworkX and igraph hold.

    Attributes:
        pairs: the nodes of each link.
        directed: whether a link has one direction; else it is two cells, and a loop is one.
        nodes, edges: the attributes of each node and link.
        names: one per node; they count unless they are the numbers of the nodes in order.
        id: the name of the graph.
    """

    pairs: Sequence[tuple[int, int]]
    directed: bool
    nodes: Sequence[Mapping[Any, Any]]
    edges: Sequence[Mapping[Any, Any]]
    names: list[Any]
    id: Any


def networkx_links(graph: Any) -> Links:
    """Read a graph of NetworkX; its nodes are names."""
    number = {node: position for position, node in enumerate(graph)}
    edges = list(graph.edges(data=True))
    return Links(
        pairs=[(number[u], number[v]) for u, v, _ in edges],
        directed=graph.is_directed(),
        nodes=[attributes for _, attributes in graph.nodes(data=True)],
        edges=[attributes for _, _, attributes in edges],
        names=list(number),
        id=graph.graph.get("name"),
    )


def igraph_links(graph: Any) -> Links:
    """Read a graph of igraph; the vertex attribute ``name`` holds the names."""
    nodes = [vertex.attributes() for vertex in graph.vs]
    return Links(
        pairs=graph.get_edgelist(),
        directed=graph.is_directed(),
        names=[attributes.pop("name", None) for attributes in nodes],
        nodes=nodes,
        edges=[edge.attributes() for edge in graph.es],
        id=graph["name"] if "name" in graph.attributes() else None,
    )


def graphs_from_links(links: Sequence[Links], label_from: str | None, edge_label_from: str | None) -> list[Graph]:
    """Build the graphs, with edge ``weight`` and the labels of nodes and edges."""
    label = _chosen("node", label_from, [attributes for graph in links for attributes in graph.nodes])
    edge_label = _chosen("edge", edge_label_from, [attributes for graph in links for attributes in graph.edges])
    graphs = [_graph(graph, f"graph {i} of {len(links)}", label, edge_label) for i, graph in enumerate(links)]
    warn_of_zero_weights(graphs)
    names = [list(map(str, graph.names)) for graph in links]
    if _are_names(links) and all(len(set(each)) == len(each) for each in names):
        graphs = [graph.but_with(node_names=np.array(each)) for graph, each in zip(graphs, names, strict=True)]
    return graphs


def _are_names(links: Sequence[Links]) -> bool:
    """Return whether the names of nodes say more than their numbers do: other ids, or another order."""
    every = [name for graph in links for name in graph.names]
    return None not in every and every != [number for graph in links for number in range(len(graph.names))]


def warn_of_zero_weights(graphs: Sequence[Graph]) -> None:
    """Warn of edges that were given with weight 0, which no longer are edges."""
    zeros = [int((graph.weights == 0).sum()) for graph in graphs if graph.weights is not None]
    if any(zeros):
        warnings.warn(
            f"{sum(zeros)} of {sum(len(graph.edges) for graph in graphs)} edges (one in each direction) have weight 0 "
            f"and count as no edge; shift the weights, or use edge labels",
            IsoNNWarning,
            stacklevel=2,
        )


def _chosen(what: str, wanted: str | None, attributes: Sequence[Mapping[Any, Any]]) -> str | None:
    """Return the attribute that holds labels; refuse measurements, each of which would be a label."""
    chosen = choose_attribute(what, wanted, {str(key) for each in attributes for key in each})
    if wanted in (AUTO, None):
        return chosen
    values = (each.get(chosen) for each in attributes)
    numbers = [value for value in values if isinstance(value, (float, np.floating)) and value % 1]
    if are_too_many_classes(Counter(numbers).values()):
        argument, instead = (
            ("label_from", "use them as node attributes of the GraphSet")
            if what == "node"
            else ("edge_label_from", "call the attribute weight")
        )
        raise InputError(
            f"{argument}={wanted!r:.60} holds measurements such as {numbers[0]!r:.20}, each of which would be a label; "
            f"round them to a few classes, or {instead}"
        )
    return chosen


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
            f"{what} labels are read from {usual!r}; the other attributes ({others}) are left out; "
            f"{argument}=... reads another"
            if usual in present
            else f"no {what} has the attribute {usual!r}, so {what}s have no labels; "
            f"isonn.as_graphset(X, {argument}=...) reads them from one of {others}"
        )
        if message not in _GIVEN:
            warnings.warn(message, IsoNNWarning, stacklevel=2)
            _GIVEN.add(message)
    return usual if wanted == AUTO else wanted


def _graph(links: Links, where: str, label: str | None, edge_label: str | None) -> Graph:
    """Build one graph; ``where`` names it in errors."""
    n, cells = len(links.nodes), np.array(links.pairs, dtype=np.int64).reshape(-1, 2)
    weights = [attributes.get("weight") for attributes in links.edges]
    given = np.array([weight is not None for weight in weights], dtype=bool)
    values = _weights(where, weights) if given.any() else None
    labels = _labels(where, "edge", [attributes.get(edge_label) for attributes in links.edges])
    if not links.directed:
        back = np.flatnonzero(cells[:, 0] != cells[:, 1])
        there_and_back = np.concatenate([np.arange(len(cells)), back])
        cells = np.concatenate([cells, cells[back, ::-1]])
        given, values, labels = (take(column, there_and_back) for column in (given, values, labels))
    cells, values, labels = merge_parallel(where, n, cells, values, labels, given)
    return Graph.unchecked(
        n=n,
        edges=cells,
        weights=values,
        node_labels=_labels(where, "node", [attributes.get(label) for attributes in links.nodes]),
        edge_labels=labels,
        id=links.id if isinstance(links.id, str) and links.id else None,
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
    labels: NDArray[Any] | None,
    given: NDArray[np.bool_] | None = None,
) -> tuple[IntArray, NDArray[np.float64] | None, NDArray[Any] | None]:
    """Sort cells and merge parallel ones: add their weights, if any; their labels must agree. Check the nodes first.

    Args:
        given: which edges have a weight; None means all. Parallel edges without a weight add 1 together.
    """
    outside = ((cells < 0) | (cells >= n)).any(axis=1)
    if n and outside.any():
        raise InputError(
            f"{where} has an edge {tuple(cells[outside][0].tolist())} but only nodes 0 to {n - 1}; correct the edge or "
            f"the number of nodes"
        )
    _, first, merged = np.unique(cells[:, 0] * n + cells[:, 1], return_index=True, return_inverse=True)
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
        unweighted = np.zeros(len(cells)) if given is None else ~given
        summed = np.bincount(merged, np.where(unweighted, 0.0, weights))
        weights = np.asarray(summed + (np.bincount(merged, unweighted) > 0), dtype=np.float64)
    return cells[first], weights, labels
