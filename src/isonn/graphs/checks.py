"""Checks of graphs and sets of graphs when they are made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isonn.errors import InputError
from isonn.graphs.columns import OF_CELLS, OF_GRAPHS, OF_NODES, cell_order, read_only

if TYPE_CHECKING:
    from isonn.graphs.graph import Graph, GraphSet

#: The largest number of nodes allowed; more means a damaged file or a matrix of the wrong shape.
MAX_NODES = 2**24

#: The allowed dtype kinds and dimensions of each column; labels and ``y`` may have any type.
_SHAPES = {
    "node_offsets": ("iu", (1,)),
    "edge_offsets": ("iu", (1,)),
    "edges": ("iu", (2,)),
    "weights": ("biuf", (1,)),
    "node_labels": ("biufUO", (1,)),
    "edge_labels": ("biufUO", (1,)),
    "node_attributes": ("biuf", (2,)),
    "node_names": ("U", (1,)),
    "y": ("biufUO", (1, 2)),
    "folds": ("iu", (1,)),
    "ids": ("U", (1,)),
}
#: The same for a graph made by a user, and what to use.
_GRAPH = {
    "edges": ("iu", 2, "integers of shape (m, 2)"),
    "weights": ("biuf", 1, "numbers"),
    "edge_labels": ("biufU", 1, "numbers only or strings only"),
    "node_labels": ("biufU", 1, "numbers only or strings only"),
    "node_attributes": ("biuf", 2, "numbers of shape (n, d)"),
    "node_names": ("U", 1, "strings"),
}
_KINDS = {"iu": "integers", "biuf": "numbers", "U": "strings", "biufUO": "numbers or strings"}


def check_graph(graph: Graph) -> None:
    """Check a graph made by a user, convert lists to arrays, and sort its cells."""
    n, m = graph.n, 0
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or not 1 <= n <= MAX_NODES:
        raise InputError(f"n={n!r:.60} is not a valid number of nodes; use an integer from 1 to {MAX_NODES}")
    columns: dict[str, Any] = {"n": int(n)}
    for name, (kinds, dimensions, what) in _GRAPH.items():
        if getattr(graph, name) is None and name != "edges":
            continue
        try:
            array = np.array(getattr(graph, name))
        except (ValueError, TypeError, OverflowError, RuntimeError) as error:
            raise InputError(f"{name} of the graph cannot be read as an array; give rows of one length") from error
        if not array.size and name != "node_attributes":
            array = np.zeros((0, 2)[:dimensions], dtype=np.int64)
        if array.dtype.kind not in kinds or array.ndim != dimensions or (name == "edges" and array.shape[1] != 2):
            raise InputError(f"{name} of the graph has shape {array.shape} and type {array.dtype}; use {what}")
        m = len(array) if name == "edges" else m
        if len(array) != (expected := n if name in OF_NODES else m):
            raise InputError(f"the graph has {len(array)} {name} where {expected} are needed; give one each")
        columns[name] = array
    edges = columns["edges"] = columns["edges"].astype(np.int64)
    outside = ((edges < 0) | (edges >= n)).any(axis=1)
    if outside.any():
        edge = tuple(edges[outside][0].tolist())
        raise InputError(f"the graph has an edge {edge} but only nodes 0 to {n - 1}; correct the edge or n")
    for name in ("weights", "node_attributes"):
        if name in columns:
            columns[name] = columns[name].astype(np.float64)
            if not np.isfinite(columns[name]).all():
                raise InputError(f"{name} of the graph hold NaN or infinity; replace them by numbers")
    order = cell_order(np.zeros(m, dtype=np.int64), edges, columns.get("weights"))
    for name in ("edges", *OF_CELLS):
        if name in columns:
            columns[name] = columns[name][order]
    if "weights" in columns and (columns["weights"] == 1).all():
        columns["weights"] = None
    for name, value in columns.items():
        object.__setattr__(graph, name, read_only(value) if isinstance(value, np.ndarray) else value)


def check_set(graphs: GraphSet) -> None:
    """Check the columns of a set; raise `InputError` that names the graph, the value and the remedy."""
    _check_types(graphs)
    _check_sizes(graphs)
    _check_lengths(graphs)
    _check_cells(graphs)
    _check_labels(graphs)
    _check_finite(graphs)


def _check_types(graphs: GraphSet) -> None:
    for name, (kinds, dimensions) in _SHAPES.items():
        column = getattr(graphs, name)
        right = column is None or (column.dtype.kind in kinds and column.ndim in dimensions)
        if not right or (name == "edges" and column.shape[1] != 2):
            raise InputError(
                f"{name} of {graphs.name} has shape {column.shape} and type {column.dtype}; give {_KINDS[kinds]} of "
                f"{' or '.join(map(str, dimensions))} dimensions"
            )


def _check_sizes(graphs: GraphSet) -> None:
    g = len(graphs)
    if g < 1:
        raise InputError(f"{graphs.name} holds no graph; give at least one")
    if (graphs.sizes < 1).any():
        raise InputError(f"graph {int((graphs.sizes < 1).argmax())} of {g} has no nodes; drop it")
    if graphs.sizes.max() > MAX_NODES:
        i = int(graphs.sizes.argmax())
        raise InputError(
            f"graph {i} of {g} has {graphs.sizes[i]} nodes, above the limit of {MAX_NODES}; check its shape"
        )
    counts = np.diff(graphs.edge_offsets)
    for name, offsets in (("node_offsets", graphs.node_offsets), ("edge_offsets", graphs.edge_offsets)):
        if not len(offsets) or offsets[0] != 0 or (counts < 0).any():
            raise InputError(f"{name} of {graphs.name} do not rise from 0; give where each graph starts")
    if graphs.edge_offsets[-1] != len(graphs.edges):
        raise InputError(f"edge_offsets of {graphs.name} end with {graphs.edge_offsets[-1]}, not {len(graphs.edges)}")


def _check_lengths(graphs: GraphSet) -> None:
    g = len(graphs)
    n_nodes, n_cells = int(graphs.node_offsets[-1]), len(graphs.edges)
    expected = {"edge_offsets": g + 1, **dict.fromkeys(OF_CELLS, n_cells)}
    expected |= {**dict.fromkeys(OF_NODES, n_nodes), **dict.fromkeys(OF_GRAPHS, g)}
    for name, length in expected.items():
        column = getattr(graphs, name)
        if column is not None and len(column) != length:
            raise InputError(f"{name} of {graphs.name} has {len(column)} entries where {length} are needed")
    for name, column in graphs.table.items():
        if column.shape != (g,):
            raise InputError(f"column {name!r:.60} of table has shape {column.shape}; give one entry per graph ({g})")
    if unknown := [name for name in graphs.confounds if name not in graphs.table]:
        raise InputError(f"confound {unknown[0]!r:.60} of {graphs.name} is not a column of table; add it")
    if graphs.y is not None and graphs.target_names:
        columns = graphs.y.shape[1] if graphs.y.ndim == 2 else 1
        if len(graphs.target_names) != columns:
            raise InputError(f"{len(graphs.target_names)} target_names for {columns} columns of y; name each column")


def _check_cells(graphs: GraphSet) -> None:
    # graphs of one size need no limit per cell, which would cost more memory than the graphs
    if len(graphs.edges) and (graphs.edges.min() < 0 or graphs.edges.max() >= graphs.sizes.min()):
        limit = graphs.sizes[graphs.graph_of_cell, None]
        wrong = ((graphs.edges < 0) | (graphs.edges >= limit)).any(axis=1)
        if wrong.any():
            cell = int(wrong.argmax())
            i = int(graphs.graph_of_cell[cell])
            raise InputError(
                f"graph {i} of {len(graphs)} has an edge {tuple(graphs.edges[cell].tolist())} but only nodes 0 to "
                f"{graphs.sizes[i] - 1}; correct the edge or the number of nodes"
            )


def _check_labels(graphs: GraphSet) -> None:
    for name in ("node_labels", "edge_labels"):
        column = getattr(graphs, name)
        if column is None or column.dtype.kind != "f":
            continue
        if not np.isfinite(column).all():
            raise InputError(f"{name} of {graphs.name} hold NaN or infinity; give every one a label")
        if (large := column[abs(column) >= 2**53]).size:  # where floats merge neighbouring integers
            raise InputError(
                f"{name} of {graphs.name} hold {large[0]:g}, beyond 2**53; use smaller numbers, or strings"
            )


def _check_finite(graphs: GraphSet) -> None:
    for name, offsets in (("weights", graphs.edge_offsets), ("node_attributes", graphs.node_offsets)):
        column = getattr(graphs, name)
        if column is None:
            continue
        bad = ~np.isfinite(column).reshape(len(column), -1).all(axis=1)
        if bad.any():
            row = int(bad.argmax())
            i = int(np.searchsorted(offsets, row, side="right") - 1)
            value = column[row] if column.ndim == 1 else column[row][~np.isfinite(column[row])][0]
            what = "an edge of weight" if name == "weights" else "a node attribute"
            raise InputError(
                f"graph {i} of {len(graphs)} has {what} {value}; replace NaN and infinity by numbers, or drop it"
            )
