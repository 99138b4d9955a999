"""Graphs of NetworkX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isonn.graphs.foreign.links import Links, attribute_names, choose_attribute
from isonn.graphs.graph import Graph


def from_networkx(graphs: Sequence[Any], label_from: str | None, edge_label_from: str | None) -> list[Graph]:
    """Read node labels, edge labels and edge ``weight``; nodes that are strings become names."""
    node_keys = attribute_names(data for graph in graphs for _, data in graph.nodes(data=True))
    edge_keys = attribute_names(data for graph in graphs for _, _, data in graph.edges(data=True))
    label = choose_attribute("node", label_from, node_keys)
    edge_label = choose_attribute("edge", edge_label_from, edge_keys)

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
