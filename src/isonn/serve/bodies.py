"""Read the JSON bodies of requests: molecules, graphs and matrices."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from isonn.errors import InputError
from isonn.graphs.convert import as_graphset
from isonn.graphs.graph import Graph, GraphSet
from isonn.graphs.join import graphset_from_cells, join_graphs

#: The fields that hold graphs; a request has exactly one of them.
FORMS = ("smiles", "graphs", "matrices")


@dataclass(frozen=True)
class Limits:
    """What a server accepts.

    Args:
        body: bytes of a request.
        graphs: graphs of a prediction.
        explained: graphs of an explanation.
        nodes: nodes of a graph.
        waiting: requests that wait for the model; further ones are answered with 503.
        slow: seconds in which a request must arrive.
        seconds: seconds in which it must be answered.

    Example:
        >>> Limits(graphs=10).graphs
        10
    """

    body: int = 8 * 2**20
    graphs: int = 1000
    explained: int = 20
    nodes: int = 1000
    waiting: int = 64
    slow: float = 10.0
    seconds: float = 60.0


class RequestError(Exception):
    """A request that is answered with this status and sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def read_json(content: bytes) -> dict[str, Any]:
    """Parse a body; raise `RequestError` if it is not a JSON object.

    Example:
        >>> read_json(b'{"smiles": ["CCO"]}')
        {'smiles': ['CCO']}
    """
    try:
        body = json.loads(content.decode("utf-8"), parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise RequestError(400, f"the body is not UTF-8 (byte {error.start}); send JSON as UTF-8") from error
    except RecursionError as error:
        raise RequestError(400, "the body is nested too deeply; send an object such as {...}") from error
    except ValueError as error:
        raise RequestError(400, f"the body is not JSON ({error!s:.100}); send an object such as {{...}}") from error
    if not isinstance(body, dict):
        raise RequestError(400, f"the body is a JSON {_type(body)}; send an object such as {{...}}")
    return body


def read_graphs(body: Mapping[str, Any], model: Any, most: int, limits: Limits) -> GraphSet:
    """Return the graphs of a body, in the codes of a model.

    Args:
        body: has one of ``smiles``, ``graphs`` and ``matrices``; aligned models may need ``confounds``.
        model: the fitted model.
        most: the largest number of graphs.
        limits: the limits of the server.
    """
    forms = [form for form in FORMS if form in body]
    if len(forms) != 1:
        what = " and ".join(forms) if forms else "no graphs"
        raise InputError(f"the request has {what}; give one of smiles, graphs and matrices")
    given = body[forms[0]]
    items = [given] if isinstance(given, str) else given
    if not isinstance(items, list) or not items:
        raise InputError(f"{forms[0]} is {_shown(given)}; give a list with at least one entry")
    if len(items) > most:
        raise InputError(f"{forms[0]} has {len(items):,} entries, above the limit of {most:,}; send several requests")
    graphs = {"smiles": _molecules, "graphs": _plain, "matrices": _matrices}[forms[0]](items, model, limits)
    largest = int(graphs.sizes.argmax())
    if graphs.sizes[largest] > limits.nodes:
        raise InputError(
            f"graph {largest} of {len(graphs)} has {graphs.sizes[largest]:,} nodes, above the limit of {limits.nodes:,}"
            "; leave it out"
        )
    if "confounds" in body:
        if not isinstance(body["confounds"], dict):
            raise InputError(f'confounds is {_shown(body["confounds"])}; give an object such as {{"age": [31, 45]}}')
        graphs = graphs.with_confounds(body["confounds"])
    return graphs


def read_graph(given: Any, model: Any, limits: Limits) -> Graph:
    """Return a graph given as an object with ``nodes``, ``edges``, ``labels``, ``edge_labels`` and ``weights``."""
    if not isinstance(given, dict):
        raise InputError(f'a graph is {_shown(given)}; give an object such as {{"nodes": 2, "edges": [[0, 1]]}}')
    unknown = sorted(set(given) - {"nodes", "edges", "labels", "edge_labels", "weights"})
    if unknown:
        raise InputError(f"a graph has {unknown[0]!r:.40}; its fields are nodes, edges, labels, edge_labels, weights")
    n, edges = whole(given.get("nodes"), "nodes", 1, limits.nodes), given.get("edges", [])
    if not isinstance(edges, list) or not all(_is_edge(edge, n) for edge in edges):
        wrong = next((edge for edge in edges if not _is_edge(edge, n)), edges) if isinstance(edges, list) else edges
        raise InputError(f"edges has {_shown(wrong)}; give pairs of different nodes from 0 to {n - 1}")
    pairs = np.array(edges, dtype=np.int64).reshape(-1, 2)
    m = len(pairs)
    weights = None if given.get("weights") is None else _weights(given["weights"], m)
    names = model.label_names_
    labels = None if given.get("labels") is None else _labels("labels", given["labels"], n, names["node"])
    kinds = None if given.get("edge_labels") is None else _labels("edge_labels", given["edge_labels"], m, names["edge"])
    return graphset_from_cells(
        np.zeros(2 * m),
        np.concatenate([pairs, pairs[:, ::-1]]),
        [n],
        None if weights is None else np.concatenate([weights, weights]),
        None if kinds is None else np.concatenate([kinds, kinds]),
        node_labels=labels,
    )[0]


def _molecules(items: Sequence[Any], model: Any, limits: Limits) -> GraphSet:
    for item in items:
        if not isinstance(item, str) or not item.isascii():  # a SMILES has no other characters
            raise InputError(f"smiles has {_shown(item)}; give strings such as CCO")
    if getattr(model, "kind_", "molecules") != "molecules":
        raise InputError("this model was fitted to other graphs than molecules; give graphs instead of smiles")
    return as_graphset(list(items), standardize=model.standardize_)


def _plain(items: Sequence[Any], model: Any, limits: Limits) -> GraphSet:
    if getattr(model, "kind_", "") == "molecules":
        raise InputError("this model was fitted to molecules; give smiles instead of graphs")
    graphs = []
    for i, item in enumerate(items):
        try:
            graphs.append(read_graph(item, model, limits))
        except InputError as error:
            raise InputError(f"graph {i} of {len(items)}: {error}") from error
    return join_graphs(graphs, **label_names(model))


def label_names(model: Any) -> dict[str, Any]:
    """Return the names of labels of a model, as fields of a `GraphSet`."""
    return {"node_label_names": dict(model.label_names_["node"]), "edge_label_names": dict(model.label_names_["edge"])}


def _matrices(items: Sequence[Any], model: Any, limits: Limits) -> GraphSet:
    for i, item in enumerate(items):
        square = isinstance(item, list) and all(isinstance(row, list) and len(row) == len(item) for row in item)
        if not square or not 0 < len(item) <= limits.nodes:
            raise InputError(f"matrix {i} of {len(items)} is not square; give n rows of n numbers, n <= {limits.nodes}")
        if not all(is_number(value) for row in item for value in row):
            wrong = next(value for row in item for value in row if not is_number(value))
            raise InputError(f"matrix {i} of {len(items)} has {_shown(wrong)}; give n rows of n numbers")
    return as_graphset([np.array(item, dtype=np.float64) for item in items])


def _weights(given: Any, m: int) -> Any:
    if not isinstance(given, list) or len(given) != m or not all(map(is_number, given)):
        raise InputError(f"weights is {_shown(given)}; give one number per edge, {m} in all")
    return np.array(given, dtype=np.float64)


def _labels(field: str, given: Any, count: int, names: Mapping[Any, str]) -> Any:
    """Return labels as codes; they may be given as codes or by their names."""
    if not isinstance(given, list) or len(given) != count:
        what = "node" if field == "labels" else "edge"
        raise InputError(f"{field} is {_shown(given)}; give one label per {what}, {count} in all")
    codes = {name: code for code, name in names.items()}
    found = [codes.get(label, label) if isinstance(label, str) else label for label in given]
    kind = int if any(map(is_whole, (*codes.values(), *found))) else str
    wrong = [label for label in found if not (is_whole(label) if kind is int else isinstance(label, str))]
    if wrong:
        remedy = f"the labels are {', '.join(map(str, list(codes)[:20]))}" if codes else "give numbers or strings only"
        raise InputError(f"{field} has {_shown(wrong[0])}; {remedy}")
    if not all(_is_clean(label) for label in found):
        raise InputError(f"{field} has text that is not valid; use plain characters")
    return np.array(found, dtype=np.int64 if kind is int else np.str_)


def whole(value: Any, field: str, least: int, most: int) -> int:
    """Return a whole number of a request; raise `InputError` for anything else."""
    if not is_whole(value) or not least <= value <= most:
        raise InputError(f"{field} is {_shown(value)}; give a whole number from {least} to {most:,}")
    return int(value)


def _is_clean(label: Any) -> bool:
    """Return whether a label has no lone surrogate, which no encoding can write."""
    return not isinstance(label, str) or not any("\ud800" <= character <= "\udfff" for character in label)


def is_whole(value: Any) -> bool:
    """Return whether a value is a whole number that NumPy can hold."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


def is_number(value: Any) -> bool:
    """Return whether a value is a number, and not too large to compute with."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300


def _is_edge(edge: Any, n: int) -> bool:
    whole = isinstance(edge, list) and len(edge) == 2 and all(map(is_whole, edge))
    return whole and min(edge) >= 0 and max(edge) < n and edge[0] != edge[1]


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _type(value: Any) -> str:
    names = {"list": "array", "str": "string", "NoneType": "null", "bool": "boolean"}
    return names.get(type(value).__name__, "number")


def _shown(value: Any) -> str:
    """Return a value for an error, short and in ASCII."""
    if isinstance(value, (list, dict)):
        return f"a JSON {'array' if isinstance(value, list) else 'object'} of length {len(value)}"
    return f"{ascii(value)[:60]}"
