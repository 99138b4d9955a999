"""`Data` objects of PyTorch Geometric."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import InputError, IsoNNWarning
from isonn.graphs.checks import MAX_NODES
from isonn.graphs.foreign.links import choose_attribute, merge_parallel, warn_of_zero_weights
from isonn.graphs.graph import Graph
from isonn.packing import IntArray, to_numpy


def from_pyg(
    graphs: Sequence[Any], label_from: str | None, edge_label_from: str | None
) -> tuple[list[Graph], NDArray[Any] | None]:
    """Read the graphs, and ``y`` if every ``Data`` has one element or one row.

    Whether ``x`` and ``edge_attr`` are one-hot is decided for the whole list, so a graph that looks one-hot by chance
    is read like the others.
    """
    total = len(graphs)
    edges = [_edge_index(data, i, total) for i, data in enumerate(graphs)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyG warns when it infers num_nodes from the edges
        sizes = [_number_of_nodes(data, i, total) for i, data in enumerate(graphs)]
    present = set().union(*(data.keys() for data in graphs))
    of_nodes = present - _EDGE_KEYS - _GRAPH_KEYS
    texts = {key for key in of_nodes if all(isinstance(getattr(data, key, None), str) for data in graphs)}
    label = choose_attribute("node", label_from, of_nodes - texts, usual="x")
    edge_label = choose_attribute("edge", edge_label_from, (present & _EDGE_KEYS) - {"edge_weight"}, usual="edge_attr")
    node_labels, node_attributes = _features([getattr(data, label or "", None) for data in graphs], sizes, label or "x")
    if label != "x" and "x" in present:
        if node_labels is None and label is not None:
            raise InputError(f"label_from={label!r} holds several numbers per node; name a column of integers")
        _, node_attributes = _features([getattr(data, "x", None) for data in graphs], sizes, "x", labels=False)
    counts = [len(pairs) for pairs in edges]
    edge_values = [getattr(data, edge_label or "", None) for data in graphs]
    edge_labels, edge_attributes = _features(edge_values, counts, edge_label or "edge_attr")
    weights = _columns([getattr(data, "edge_weight", None) for data in graphs], counts, "edge_weight")
    if weights is None and edge_attributes is not None and edge_attributes[0].shape[1] == 1:
        weights, edge_attributes = edge_attributes, None
    if edge_attributes is not None:
        warnings.warn(
            f"{edge_label} has {edge_attributes[0].shape[1]} real numbers per edge, which are not read; give a weight "
            f"or a label per edge, or edge_label_from=None to leave them out",
            IsoNNWarning,
            stacklevel=2,
        )
    parts = []
    for i, data in enumerate(graphs):
        weight = None if weights is None else weights[i].reshape(-1).astype(np.float64)
        bond = None if edge_labels is None else edge_labels[i]
        pairs, weight, bond = merge_parallel(f"graph {i} of {total}", sizes[i], edges[i], weight, bond)
        parts.append(
            Graph.unchecked(
                n=sizes[i],
                edges=pairs,
                weights=weight,
                node_labels=None if node_labels is None else node_labels[i],
                edge_labels=bond,
                node_attributes=None if node_attributes is None else node_attributes[i].astype(np.float64),
                id=data.name if "name" in texts else None,
                row={key: getattr(data, key) for key in sorted(texts - {"name"})},
            )
        )
    warn_of_zero_weights(parts)
    return parts, _collected_y([getattr(data, "y", None) for data in graphs])


#: Keys of PyG's ``Data`` for edges and for graphs; all others are for nodes.
_EDGE_KEYS = {"edge_attr", "edge_weight"}
_GRAPH_KEYS = {"edge_index", "y", "num_nodes", "idx", "batch", "ptr"}


def _number_of_nodes(data: Any, i: int, total: int) -> int:
    try:
        nodes = int(data.num_nodes or 0)
    except (TypeError, ValueError, RuntimeError, AttributeError, OverflowError, IndexError) as error:
        raise InputError(f"graph {i} of {total} has no usable number of nodes; set data.num_nodes") from error
    if not 0 <= nodes <= MAX_NODES:
        raise InputError(f"graph {i} of {total} has {nodes:.4g} nodes, not 1 to {MAX_NODES}; set data.num_nodes")
    return nodes


def _collected_y(targets: list[Any]) -> NDArray[Any] | None:
    """Return ``y`` of all graphs, if each has one element or one row of the same length; warn if only some have."""
    values = [_tensor(target, "y") for target in targets if target is not None]
    if not values:
        return None
    if len(values) < len(targets):
        i = next(i for i, target in enumerate(targets) if target is None)
        _leave_out_y(f"graph {i} of {len(targets)} has no y while others have; give it to every graph")
        return None
    if all(value.size == 1 for value in values):
        return np.concatenate([value.reshape(1) for value in values])
    if values[0].size and all(
        value.ndim == 2 and len(value) == 1 and value.shape == values[0].shape for value in values
    ):
        return np.concatenate(values)
    _leave_out_y(f"the y of graphs have shapes such as {values[0].shape}; give (1, t) for t targets of a graph")
    return None


def _leave_out_y(reason: str) -> None:
    warnings.warn(f"y is left out: {reason}", IsoNNWarning, stacklevel=2)


def _warn_of_one_hot(columns: list[NDArray[Any]], name: str) -> None:
    """Warn if the first or last attributes look like a one-hot label, of which attributes keep a few levels only."""
    table = np.concatenate(columns)
    binary = ((table == 0) | (table == 1)).all(axis=0)
    first = int(np.argmin(binary))  # the first column that is not binary
    last = int(np.argmin(binary[::-1]))
    for start, stop in ((0, first), (len(binary) - last, len(binary))):
        if stop - start > 1 and (table[:, start:stop].sum(axis=1) == 1).all():
            warnings.warn(
                f"columns {start} to {stop - 1} of {name} look like a one-hot label and are read as attributes; keep "
                f"the others in {name}, and give data.z = {name}[:, {start}:{stop}].argmax(dim=1) and label_from='z'",
                IsoNNWarning,
                stacklevel=2,
            )


def _edge_index(data: Any, i: int, total: int) -> IntArray:
    edge_index = getattr(data, "edge_index", None)
    if edge_index is None:
        raise InputError(f"graph {i} of {total} is a Data without edge_index; set data.edge_index of shape (2, edges)")
    index = _tensor(edge_index, "edge_index")
    if index.ndim != 2 or index.shape[0] != 2 or (index.dtype.kind not in "iu" and index.size):
        raise InputError(
            f"graph {i} of {total} has an edge_index of shape {index.shape} and type {index.dtype}; "
            f"use integers of shape (2, edges)"
        )
    return np.ascontiguousarray(index.T).astype(np.int64)


def _tensor(value: Any, name: str) -> NDArray[Any]:
    try:
        return to_numpy(value)
    except ValueError as error:
        raise InputError(f"{name} of the PyG data cannot be read ({error!s:.100}); use a tensor") from error


def _columns(values: list[Any], counts: list[int], name: str) -> list[NDArray[Any]] | None:
    """Return the feature matrices of all graphs, or None; a graph without nodes or edges may omit its matrix."""
    arrays = [None if value is None else np.atleast_1d(_tensor(value, name)) for value in values]
    arrays = [None if a is None else a.reshape(len(a), math.prod(a.shape[1:])) for a in arrays]
    widths = sorted({a.shape[1] for a in arrays if a is not None and len(a)})
    if widths in ([], [0]):
        return None
    total = len(arrays)
    if len(widths) > 1:
        raise InputError(f"{name} has {widths} columns in different graphs; use one number of columns")
    dtype = next(a.dtype for a in arrays if a is not None and len(a))
    filled = []
    for i, (array, count) in enumerate(zip(arrays, counts, strict=True)):
        if count == 0:
            array = np.zeros((0, widths[0]), dtype=dtype)
        if array is None:
            raise InputError(f"graph {i} of {total} has no {name} while others have; give it to every graph or to none")
        if len(array) != count:
            raise InputError(
                f"graph {i} of {total} has {len(array)} rows of {name} where {count} are needed; add or drop"
            )
        if array.dtype.kind not in "biuf":
            raise InputError(f"graph {i} of {total} has {name} of type {array.dtype}; use real numbers")
        filled.append(array)
    return filled


def _features(
    values: list[Any], counts: list[int], name: str, labels: bool = True
) -> tuple[list[NDArray[Any]] | None, list[NDArray[Any]] | None]:
    """Return (labels, None) for one-hot rows and single integers, (None, attributes) otherwise."""
    columns = _columns(values, counts, name)
    if columns is None or not labels:
        return None, columns
    single = columns[0].shape[1] == 1
    if single and all(column.dtype.kind in "biu" for column in columns):
        return [column[:, 0] for column in columns], None
    if not single and all(((c == 0) | (c == 1)).all() and (c.sum(axis=1) == 1).all() for c in columns):
        return [column.argmax(axis=1) for column in columns], None
    if not single and len(columns[0]):
        _warn_of_one_hot(columns, name)
    return None, columns
