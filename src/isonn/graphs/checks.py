"""Checks of graphs and sets of graphs when they are made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import InputError
from isonn.graphs.columns import OF_CELLS, OF_GRAPHS, OF_NODES

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
_KINDS = {"iu": "integers", "biuf": "numbers", "U": "strings", "biufUO": "numbers or strings"}


def check_graph(graph: Graph) -> None:
    """Check a graph made by a user, convert lists to arrays, and sort its cells."""
    from isonn.graphs.join import graphset_from_cells

    n = graph.n
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or not 1 <= n <= MAX_NODES:
        raise InputError(f"n={n!r:.60} is not a valid number of nodes; use an integer from 1 to {MAX_NODES}")
    columns: dict[str, Any] = {}
    for name in ("edges", *OF_CELLS, *OF_NODES):
        if getattr(graph, name) is None and name != "edges":
            continue
        try:
            array = np.array(getattr(graph, name))
        except (ValueError, TypeError, OverflowError, RuntimeError) as error:
            raise InputError(f"{name} of the graph cannot be read as an array; give rows of one length") from error
        if array.dtype == object:
            raise InputError(f"{name} of the graph has type object; give numbers of 64 bits only, or strings only")
        empty = not array.size and name != "node_attributes"
        columns[name] = np.zeros((0, 2)[: _SHAPES[name][1][0]], dtype=np.int64) if empty else array
    _check_types(columns, "the graph")
    _check_lengths(columns, int(n), len(columns["edges"]), 1, "the graph")
    owner = np.zeros(len(columns["edges"]), dtype=np.int64)
    checked = graphset_from_cells(owner, columns.pop("edges"), [n], name="the graph", **columns)
    object.__setattr__(graph, "n", int(n))
    for name in ("edges", *columns):
        object.__setattr__(graph, name, getattr(checked, name))


def check_set(graphs: GraphSet) -> None:
    """Check the columns of a set; raise `InputError` that names the graph, the value and the remedy."""
    columns = {name: column for name in _SHAPES if (column := getattr(graphs, name)) is not None}
    _check_types(columns, graphs.name)
    _check_sizes(graphs)
    _check_lengths(columns, int(graphs.node_offsets[-1]), len(graphs.edges), len(graphs), graphs.name)
    _check_table(graphs)
    _check_cells(graphs)
    _check_labels(graphs)
    _check_finite(graphs)


def _check_types(columns: Mapping[str, NDArray[Any]], called: str) -> None:
    for name, column in columns.items():
        kinds, dimensions = _SHAPES[name]
        if (
            column.dtype.kind not in kinds
            or column.ndim not in dimensions
            or (name == "edges" and column.shape[1] != 2)
        ):
            raise InputError(
                f"{name} of {called} has shape {column.shape} and type {column.dtype}; give {_KINDS[kinds]} of "
                f"{' or '.join(map(str, dimensions))} dimensions"
            )


def _check_lengths(columns: Mapping[str, NDArray[Any]], nodes: int, cells: int, graphs: int, called: str) -> None:
    expected = {"edge_offsets": graphs + 1, **dict.fromkeys(OF_CELLS, cells)}
    expected |= {**dict.fromkeys(OF_NODES, nodes), **dict.fromkeys(OF_GRAPHS, graphs)}
    for name, length in expected.items():
        if name in columns and len(columns[name]) != length:
            raise InputError(f"{name} of {called} has {len(columns[name])} entries where {length} are needed")


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


def _check_table(graphs: GraphSet) -> None:
    g = len(graphs)
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
        if column is None or not len(column):
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
