"""Reader of TU folders, the format of the public collection of graph-kernel benchmarks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.data.graphs import GraphSet, IntArray, graphset_from_cells
from isonn.data.numeric_text import read_numbers
from isonn.errors import DatasetError


def read_tu(folder: str | os.PathLike[str]) -> GraphSet:
    """The graphs of a TU folder; ``DS`` below is what stands before ``_A.txt``.

    ===============================  ================================================================
    ``DS_A.txt``                     a line ``row, column`` per cell, nodes counted from 1 over all
                                     graphs; a repeated line counts once
    ``DS_graph_indicator.txt``       the graph of each node, from 1; need not be sorted
    ``DS_graph_labels.txt``          the class of each graph
    ``DS_node_labels.txt``           optional
    ``DS_edge_labels.txt``           optional, one per line of ``DS_A.txt``
    ``DS_node_attributes.txt``       optional, real numbers
    ===============================  ================================================================

    Labels of several columns become one number per distinct row, and ``node_label_names`` or
    ``edge_label_names`` say which row it stands for. Edge attributes and graph attributes are not read:
    isonn has no place for them.
    """
    folder = Path(folder)
    name = tu_name(folder)
    owner = _indicator(folder / f"{name}_graph_indicator.txt")
    n_nodes, n_graphs = len(owner), int(owner.max()) + 1
    y = read_labels(folder / f"{name}_graph_labels.txt")
    if len(y) != n_graphs:
        raise DatasetError(
            f"{name}_graph_labels.txt has {len(y)} lines for the {n_graphs} graphs of {name}_graph_indicator.txt in "
            f"{folder}; give one class per graph"
        )
    cells = _cells(folder / f"{name}_A.txt", owner)
    node_labels, node_label_names = coded_labels(_optional(folder / f"{name}_node_labels.txt", n_nodes, "nodes"))
    edge_labels, edge_label_names = coded_labels(
        _optional(folder / f"{name}_edge_labels.txt", len(cells), f"{name}_A lines")
    )
    attributes_file = folder / f"{name}_node_attributes.txt"
    attributes = read_numbers(attributes_file) if attributes_file.exists() else None
    if attributes is not None:
        _check_length(attributes_file, len(attributes), n_nodes, "nodes")
        bad = ~np.isfinite(attributes).all(axis=1)
        if bad.any():
            raise DatasetError(
                f"line {int(bad.argmax()) + 1} of {attributes_file} is not finite; replace NaN and infinity"
            )

    order = np.argsort(owner, kind="stable")  # nodes of one graph side by side, otherwise as in the files
    sizes = np.bincount(owner, minlength=n_graphs)
    within = np.empty(n_nodes, dtype=np.int64)
    within[order] = np.arange(n_nodes) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return graphset_from_cells(
        owner[cells[:, 0]],
        within[cells],
        sizes,
        edge_labels=edge_labels,
        node_labels=None if node_labels is None else node_labels[order],
        node_attributes=None if attributes is None else attributes[order],
        y=y[:, 0] if y.shape[1] == 1 else y,
        name=name,
        node_label_names=node_label_names,
        edge_label_names=edge_label_names,
    )


def tu_name(folder: Path) -> str:
    """What stands before ``_A.txt`` in the one file of that kind."""
    if not folder.is_dir():
        raise DatasetError(f"{folder} is not a folder; give the folder that holds the *_A.txt file of a TU dataset")
    found = sorted(path.name[: -len("_A.txt")] for path in folder.glob("*_A.txt"))
    if len(found) != 1:
        what = f"those of {', '.join(found)}" if found else "no *_A.txt"
        raise DatasetError(f"{folder} holds {what}; a TU folder holds the files of one dataset")
    return found[0]


def _indicator(path: Path) -> IntArray:
    """The graph of each node, from 0."""
    table = read_numbers(path, int)
    if not table.size:
        raise DatasetError(f"{path} is empty; it holds one graph number per node")
    if table.shape[1] != 1:
        raise DatasetError(f"{path} has {table.shape[1]} columns; it holds one graph number per node")
    owner = table[:, 0].astype(np.int64)
    if owner.min() != 1:
        line = int(owner.argmin()) + 1
        raise DatasetError(f"{path} starts with graph {owner.min()} (line {line}); graphs are counted from 1")
    present = np.unique(owner)
    if present[-1] != len(present):
        empty = int((present != np.arange(1, len(present) + 1)).argmax()) + 1
        raise DatasetError(f"graph {empty} of {owner.max()} in {path} has no nodes; drop it and renumber the rest")
    return owner - 1


def _cells(path: Path, owner: IntArray) -> IntArray:
    """Row and column of each line, counted from 0 over all graphs."""
    table = read_numbers(path, int)
    if not table.size:
        return np.zeros((0, 2), dtype=np.int64)
    if table.shape[1] != 2:
        raise DatasetError(f"{path} has {table.shape[1]} columns; a line is 'row, column'")
    outside = ((table < 1) | (table > len(owner))).any(axis=1)
    if outside.any():
        line = int(outside.argmax())
        raise DatasetError(
            f"line {line + 1} of {path} has the edge {tuple(table[line].tolist())} but nodes are counted from 1 to "
            f"{len(owner)}; correct the line or graph_indicator"
        )
    cells = table.astype(np.int64) - 1
    apart = owner[cells[:, 0]] != owner[cells[:, 1]]
    if apart.any():
        line = int(apart.argmax())
        first, second = (owner[cells[line]] + 1).tolist()
        raise DatasetError(
            f"line {line + 1} of {path} joins node {table[line, 0]} of graph {first} to node {table[line, 1]} of graph "
            f"{second}; an edge stays within its graph"
        )
    return cells


def read_labels(path: Path) -> NDArray[Any]:
    """Labels of shape (lines, columns), as integers when all of them are."""
    table = read_numbers(path)
    bad = ~np.isfinite(table).all(axis=1)
    if bad.any():
        raise DatasetError(f"line {int(bad.argmax()) + 1} of {path} is not finite; a label is a finite number")
    return table.astype(np.int64) if (table == np.rint(table)).all() else table


def _optional(path: Path, needed: int, what: str) -> NDArray[Any] | None:
    if not path.exists():
        return None
    labels = read_labels(path)
    _check_length(path, len(labels), needed, what)
    return labels


def _check_length(path: Path, found: int, needed: int, what: str) -> None:
    if found != needed:
        raise DatasetError(f"{path} has {found} lines for {needed} {what}; give one line each")


def coded_labels(labels: NDArray[Any] | None) -> tuple[NDArray[Any] | None, dict[Any, str]]:
    """Labels of one column, and what each stands for if they had several."""
    if labels is None or labels.shape[1] <= 1:
        return (None if labels is None else labels.reshape(-1)), {}
    rows, codes = np.unique(labels, axis=0, return_inverse=True)
    return codes.reshape(-1), {i: ", ".join(map(str, row)) for i, row in enumerate(rows.tolist())}
