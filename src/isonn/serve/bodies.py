"""Read the JSON bodies of requests: molecules, graphs and matrices."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import InputError
from isonn.graphs.convert import as_graphset
from isonn.graphs.graph import Graph, GraphSet
from isonn.graphs.join import graphset_from_cells, join_graphs
from isonn.subgraphs.levels import Levels

#: The fields that hold graphs; a request has exactly one of them.
FORMS = ("smiles", "graphs", "matrices")
#: The fields of a graph.
FIELDS = ("nodes", "edges", "labels", "attributes", "edge_labels", "weights")
#: Lists of at most so many numbers and texts are shown in errors.
SHORT = 5


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
        raise RequestError(400, f"the body is {shown(body)}; send an object such as {{...}}")
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
        raise InputError(f"{forms[0]} is {shown(given)}; give a list with at least one entry")
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
            raise InputError(f'confounds is {shown(body["confounds"])}; give an object such as {{"age": [31, 45]}}')
        graphs = graphs.with_confounds(body["confounds"])
    return graphs


def read_graph(given: Any, model: Any, limits: Limits) -> Graph:
    """Return a graph given as an object with ``nodes``, ``edges`` and what they carry, as `FIELDS` names it."""
    if not isinstance(given, dict):
        raise InputError(f'a graph is {shown(given)}; give an object such as {{"nodes": 2, "edges": [[0, 1]]}}')
    unknown = sorted(set(given) - set(FIELDS))
    if unknown:
        raise InputError(f"a graph has {unknown[0]!r:.40}; its fields are {', '.join(FIELDS)}")
    n = whole(given.get("nodes"), "nodes", 1, limits.nodes)
    remedy = f"give pairs of different nodes from 0 to {n - 1}"
    edges = entries("edges", given.get("edges", []), remedy, lambda edge: _is_edge(edge, n))
    pairs = np.array(edges, dtype=np.int64).reshape(-1, 2)
    m, names = len(pairs), model.label_names_
    weights, labels, kinds = given.get("weights"), given.get("labels"), given.get("edge_labels")
    if weights is None and m and numbers_read(model, "edge_weights"):
        raise InputError(
            f"the graph has no weights, but this model was fitted with them; give one per edge, {m} in all"
        )
    if weights is not None:
        weights = entries("weights", weights, f"give one number per edge, {m} in all", is_number, m)
    if labels is not None:
        labels = label_codes("labels", labels, names["node"], n)
    if kinds is not None:
        kinds = label_codes("edge_labels", kinds, names["edge"], m)
    return graphset_from_cells(
        np.zeros(2 * m),
        np.concatenate([pairs, pairs[:, ::-1]]),
        [n],
        None if weights is None else np.tile(np.array(weights, dtype=np.float64), 2),
        None if kinds is None else np.tile(kinds, 2),
        node_labels=labels,
        node_attributes=_attributes(given.get("attributes"), model, n),
    )[0]


def numbers_read(model: Any, column: str) -> Levels | None:
    """Return the levels of the ``node_attributes`` or ``edge_weights`` that a model reads; None if it reads none."""
    encoding = getattr(getattr(model, "vectorizer_", None), "encoding_", None)
    levels: Levels | None = None if encoding is None else encoding.levels.get(column)
    return levels


def _attributes(given: Any, model: Any, n: int) -> NDArray[np.float64] | None:
    """Return the attributes of nodes, shape (n, width), which a model that reads them needs."""
    read = numbers_read(model, "node_attributes")
    if read is None:
        if given is not None:
            raise InputError("the graph has attributes, but this model does not read any; leave them out")
        return None
    remedy = f"give a row of {read.width} numbers per node, {n} in all"
    if given is None:
        raise InputError(f"the graph has no attributes, but this model was fitted with them; {remedy}")
    for row in entries("attributes", given, remedy, lambda row: isinstance(row, list), n):
        entries("attributes", row, remedy, is_number, read.width)
    return np.array(given, dtype=np.float64).reshape(n, read.width)


def _molecules(items: list[Any], model: Any, limits: Limits) -> GraphSet:
    # a SMILES is written in ASCII
    entries("smiles", items, "give strings such as CCO", lambda item: isinstance(item, str) and item.isascii())
    if getattr(model, "kind_", "molecules") != "molecules":
        raise InputError("this model was fitted to other graphs than molecules; give graphs instead of smiles")
    return as_graphset(items, standardize=model.standardize_)


def _plain(items: list[Any], model: Any, limits: Limits) -> GraphSet:
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


def _matrices(items: list[Any], model: Any, limits: Limits) -> GraphSet:
    entries("matrices", items, "give n rows of n numbers for each", lambda item: isinstance(item, list))
    try:
        return as_graphset(items)
    except OverflowError as error:
        raise InputError("a matrix has a number that is too large to compute with; give n rows of n numbers") from error


def entries(
    field: str,
    given: Any,
    remedy: str,
    is_valid: Callable[[Any], bool] = lambda entry: True,
    count: int | None = None,
) -> list[Any]:
    """Return a list of a request; raise `InputError` if it is none, has another length, or a wrong entry."""
    if not isinstance(given, list) or count not in (None, len(given)):
        raise InputError(f"{field} is {shown(given)}; {remedy}")
    for entry in given:
        if not is_valid(entry):
            raise InputError(f"{field} has {shown(entry)}; {remedy}")
    return given


def label_codes(field: str, given: Any, names: Mapping[Any, str], count: int, kind: type | None = None) -> NDArray[Any]:
    """Return labels of a request as codes; they may be given as codes or by their names.

    Args:
        field: where they are, for errors.
        given: a list of ``count`` labels.
        names: the names of codes.
        kind: what codes are, ``int`` or ``str``; None decides by names and labels.
    """
    codes = {name: code for code, name in names.items()}
    labels = entries(field, given, f"give a list of {count} labels", count=count)
    labels = [codes.get(label, label) if isinstance(label, str) else label for label in labels]
    if kind is None:
        kind = int if any(map(is_whole, (*codes.values(), *labels))) else str
    remedy = f"the labels are {', '.join(map(str, list(codes)[:20]))}" if codes else "give numbers or strings only"
    entries(field, labels, remedy, is_whole if kind is int else _is_text)
    return np.array(labels, dtype=np.int64 if kind is int else np.str_)


def whole(value: Any, field: str, least: int, most: int) -> int:
    """Return a whole number of a request; raise `InputError` for anything else."""
    if not is_whole(value) or not least <= value <= most:
        upper = f" to {most:,}" if most < 2**31 else ""
        raise InputError(f"{field} is {shown(value)}; give a whole number from {least}{upper}")
    return int(value)


def _is_text(label: Any) -> bool:
    """Return whether a label is a text without a lone surrogate, which no encoding can write."""
    return isinstance(label, str) and not any("\ud800" <= character <= "\udfff" for character in label)


def is_whole(value: Any) -> bool:
    """Return whether a value is a whole number that NumPy can hold."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


def is_number(value: Any) -> bool:
    """Return whether a value is a number, and not too large to compute with."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300


def _is_edge(edge: Any, n: int) -> bool:
    pair = isinstance(edge, list) and len(edge) == 2 and all(map(is_whole, edge))
    return pair and min(edge) >= 0 and max(edge) < n and edge[0] != edge[1]


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def shown(value: Any) -> str:
    """Return a value for an error, short and in ASCII."""
    if isinstance(value, list) and 0 < len(value) <= SHORT and not any(isinstance(x, (list, dict)) for x in value):
        return f"[{', '.join(map(shown, value))}]"
    if isinstance(value, (list, dict)):
        return f"a JSON {'array' if isinstance(value, list) else 'object'} of length {len(value)}"
    return f"{ascii(value)[:60]}"
