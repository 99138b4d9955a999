"""Graphs of igraph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isonn.graphs.foreign.links import Links, attribute_names, choose_attribute
from isonn.graphs.graph import Graph


def from_igraph(graphs: Sequence[Any], label_from: str | None, edge_label_from: str | None) -> list[Graph]:
    """Read node labels, edge labels and edge ``weight``; the vertex attribute ``name`` becomes node names."""
    label = choose_attribute("node", label_from, attribute_names(graph.vs.attributes() for graph in graphs) - {"name"})
    edge_label = choose_attribute("edge", edge_label_from, attribute_names(graph.es.attributes() for graph in graphs))

    def column(sequence: Any, attribute: str | None) -> list[Any]:
        there = attribute is not None and attribute in sequence.attributes()
        return list(sequence[attribute]) if there else [None] * len(sequence)

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
