"""How labels of nodes and edges look: a text, and the name of a colour that the style sheet knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from isonn.data.graphs import Graph, GraphSet

#: Elements with a colour of their own (after the CPK convention); others take a colour by their number.
ELEMENTS = ("H", "C", "N", "O", "F", "P", "S", "Cl", "Br", "I")
#: How many colours there are for labels that are no elements.
COLOURS = 8
_BONDS = {"single": "1", "double": "2", "triple": "3", "aromatic": "a"}
_LONGEST = 3


@dataclass(frozen=True)
class Symbols:
    """The look of the labels of one dataset.

    Attributes:
        nodes: by label, the text in a node and its colour's name.
        bonds: by edge label, "1", "2", "3" or "a" for aromatic; labels that are no bonds are not there.
        names: by label, what it means in full.
    """

    nodes: Mapping[Any, tuple[str, str]] = field(default_factory=dict)
    bonds: Mapping[Any, str] = field(default_factory=dict)
    names: Mapping[Any, str] = field(default_factory=dict)

    @property
    def molecules(self) -> bool:
        """Whether the graphs are molecules: their edges are bonds."""
        return bool(self.bonds)

    def name(self, graph: Graph, node: int) -> str:
        """What a person calls a node: its name, or its label and number."""
        if graph.node_names is not None:
            return str(graph.node_names[node])
        if graph.node_labels is None:
            return str(node)
        label = graph.node_labels.tolist()[node]
        return f"{self.names[label]} {node}" if label in self.names else str(node)


def symbols(graphs: GraphSet) -> Symbols:
    """The symbols of a set; a label keeps its text and colour in every graph of it."""
    nodes, names = {}, {}
    if graphs.node_labels is not None:
        for number, label in enumerate(
            sorted(set(graphs.node_labels.tolist()), key=lambda value: (str(type(value)), value))
        ):
            name = str(graphs.node_label_names.get(label, label))
            text = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
            nodes[label] = (text, f"el{name}" if name in ELEMENTS else f"k{number % COLOURS}")
            if label in graphs.node_label_names:
                names[label] = name
    bonds = {label: _BONDS[name] for label, name in graphs.edge_label_names.items() if name in _BONDS}
    return Symbols(nodes, bonds, names)
