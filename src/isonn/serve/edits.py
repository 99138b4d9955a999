"""Edits of graphs that a request names, and a drawing whose nodes and edges can be chosen for the next one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from isonn.errors import InputError
from isonn.graphs.columns import weights_of
from isonn.graphs.convert import as_graphset
from isonn.graphs.edit import add_node, delete_nodes, set_edge, set_label
from isonn.graphs.graph import Graph, GraphSet
from isonn.graphs.join import join_graphs
from isonn.report.draw import Drawing, svg_number
from isonn.serve.bodies import entries, is_number, is_whole, label_codes, label_names, numbers_read, shown, whole

#: Radius of the area of a node that reacts to a click, in pixels of the drawing.
NODE_AREA = 13


def apply_edit(graphs: GraphSet, edit: Any, model: Any) -> tuple[GraphSet, dict[str, Any]]:
    """Return one graph after an edit, and its structure as a request takes it.

    Args:
        graphs: a set of one graph.
        edit: an object with ``op`` and its fields; None leaves the graph as it is.
        model: the fitted model, whose labels the edit names.
    """
    if edit is not None and not isinstance(edit, dict):
        raise InputError('edit is not an object; give one such as {"op": "delete", "atom": 0}')
    if graphs.kind == "molecules":
        smiles = _edited_molecule(str(graphs.table["smiles"][0]), edit, model.standardize_)
        return as_graphset([smiles], standardize=model.standardize_), {"smiles": smiles}
    if edit is not None:
        edited = join_graphs([_edited(graphs[0], edit, model)], **label_names(model))
        graphs = replace(edited, table=graphs.table)  # it holds the confounds
    return graphs, {"graph": as_json(graphs[0], model)}


def _edited_molecule(given: str, edit: dict[str, Any] | None, mode: str | None) -> str:
    """Return the SMILES of a molecule after an edit, standardised; nodes are its atoms, in order."""
    from rdkit import Chem

    from isonn.molecules import edit as edits
    from isonn.molecules import standardize

    molecule = standardize(given, "none").mol
    if edit is not None:
        match _operation(edit, ("element", "bond", "delete", "attach")):
            case "element":
                molecule = edits.set_element(molecule, _node(edit, "atom"), _text(edit, "element"))
            case "bond":
                molecule = edits.set_bond(molecule, *_pair(edit, "atoms"), whole(edit.get("order"), "order", 0, 3))
            case "delete":
                molecule = edits.delete_atom(molecule, _node(edit, "atom"))
            case "attach":
                molecule = edits.attach(molecule, _node(edit, "atom"), _text(edit, "group"))
    return str(Chem.MolToSmiles(standardize(molecule, mode or "none").mol))


def _edited(graph: Graph, edit: dict[str, Any], model: Any) -> Graph:
    operation = _operation(edit, ("edge", "label", "delete", "add"))
    if operation == "edge":
        weight = _field({"weight": 1, **edit}, "weight", is_number, "give a number, 0 to delete the edge")
        label = _code(edit.get("label"), model.label_names_["edge"], graph.edge_labels)
        return set_edge(graph, *_pair(edit, "nodes"), float(weight), label)
    label = _code(edit.get("label"), model.label_names_["node"], graph.node_labels)
    if operation == "add":
        more = add_node(graph, label)
        return more if edit.get("node") is None else set_edge(more, _node(edit, "node", graph.n - 1), graph.n)
    node = _node(edit, "node", graph.n - 1)
    if operation == "delete":
        return delete_nodes(graph, [node])
    if label is None:
        raise InputError(f"label is {shown(None)}; give the new label of node {node}")
    return set_label(graph, node, label)


def as_json(graph: Graph, model: Any) -> dict[str, Any]:
    """Return a graph as `read_graph` takes it, with the names of its labels."""
    once = graph.edges[:, 0] < graph.edges[:, 1]
    row: dict[str, Any] = {"nodes": graph.n, "edges": graph.edges[once].tolist()}
    names = model.label_names_
    if graph.node_labels is not None:
        row["labels"] = [names["node"].get(label, label) for label in graph.node_labels.tolist()]
    if graph.edge_labels is not None:
        row["edge_labels"] = [names["edge"].get(label, label) for label in graph.edge_labels[once].tolist()]
    if graph.node_attributes is not None:
        row["attributes"] = graph.node_attributes.tolist()
    if graph.weights is not None or numbers_read(model, "edge_weights"):  # weights that are all 1 are not stored
        row["weights"] = weights_of(graph)[once].tolist()
    return row


def clickable(drawing: Drawing, graph: Graph) -> str:
    """Return a drawing with a transparent area over every node and edge, which the page gives a meaning."""
    if not drawing.points:
        return drawing.svg
    at = [(svg_number(x), svg_number(y)) for x, y in drawing.points]
    areas = [
        f'<path class="area" data-edge="{a} {b}" d="M{at[a][0]} {at[a][1]}L{at[b][0]} {at[b][1]}"/>'
        for a, b in graph.edges.tolist()
        if a < b
    ]
    areas += [
        f'<circle class="area" data-node="{i}" cx="{x}" cy="{y}" r="{NODE_AREA}"/>' for i, (x, y) in enumerate(at)
    ]
    return drawing.svg.removesuffix("</svg>") + f'<g class="areas">{"".join(areas)}</g></svg>'


def _field(edit: dict[str, Any], field: str, is_valid: Callable[[Any], bool], remedy: str) -> Any:
    value = edit.get(field)
    if not is_valid(value):
        raise InputError(f"{field} is {shown(value)}; {remedy}")
    return value


def _operation(edit: dict[str, Any], operations: tuple[str, ...]) -> str:
    return str(_field(edit, "op", lambda op: op in operations, f"use one of {', '.join(operations)}"))


def _node(edit: dict[str, Any], field: str, last: int = 2**31) -> int:
    return whole(edit.get(field), field, 0, last)


def _pair(edit: dict[str, Any], field: str) -> tuple[int, int]:
    """Return two nodes; whether the graph has them is checked where it is edited."""
    first, second = entries(field, edit.get(field), "give two whole numbers such as [0, 1]", is_whole, 2)
    return first, second


def _text(edit: dict[str, Any], field: str) -> str:
    return str(_field(edit, field, lambda value: isinstance(value, str) and value.isascii(), "give a text"))


def _code(label: Any, names: dict[Any, str], column: Any) -> Any:
    """Return the code of a label that is given by its name or as the code; None stays None."""
    if label is None:
        return None
    if column is None:
        raise InputError(f"label is {shown(label)}, but the graph has no such labels; leave it out")
    return label_codes("label", [label], names, 1, str if column.dtype.kind == "U" else int)[0].item()
