"""Fold leaf nodes into a count on their neighbours, such as explicit hydrogens into CH, CH2 and CH3."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import InputError
from isonn.graphs.graph import GraphSet


def fold_leaves(graphs: GraphSet, label: Any) -> GraphSet:
    """Return graphs without the leaf nodes of one label; see `GraphSet.fold_leaves`."""
    if graphs.node_labels is None:
        raise InputError(f"fold_leaves({label!r}) needs node labels, and {graphs.name} has none")
    leaf = _label_called(graphs, label)
    n = int(graphs.node_offsets[-1])
    ends = graphs.edges + graphs.node_offsets[graphs.graph_of_cell, None]
    leafy = (graphs.node_labels.astype(str) == str(leaf)) & (np.bincount(ends[:, 0], minlength=n) == 1)
    gone = leafy.copy()
    from_leaf = leafy[ends[:, 0]]
    gone[ends[from_leaf & leafy[ends[:, 1]], 0]] = False
    counts = np.bincount(ends[gone[ends[:, 0]], 1], minlength=n)
    both = zip(graphs.node_labels.tolist(), counts.tolist(), strict=True)
    labels = np.array([f"{label}+{count}x{leaf}" if count else str(label) for label, count in both])
    names = {str(label): name for label, name in graphs.node_label_names.items()}
    leaf_name = names.get(str(leaf), str(leaf))
    for label, count in sorted({(str(a), int(b)) for a, b in zip(graphs.node_labels, counts, strict=True) if b}):
        names[f"{label}+{count}x{leaf}"] = f"{names.get(label, label)}{leaf_name}{count if count > 1 else ''}"
    kept = np.flatnonzero(~gone)
    number = np.cumsum(~gone) - 1
    owner = np.repeat(np.arange(len(graphs)), graphs.sizes)
    offsets = np.concatenate([[0], np.bincount(owner[kept], minlength=len(graphs)).cumsum()])
    cells = ~gone[ends].any(axis=1)
    edges = number[ends[cells]] - offsets[graphs.graph_of_cell[cells], None]

    def rows(column: NDArray[Any] | None, which: NDArray[Any]) -> NDArray[Any] | None:
        return None if column is None else column[which]

    return replace(
        graphs,
        node_offsets=offsets,
        edge_offsets=np.concatenate([[0], np.bincount(graphs.graph_of_cell[cells], minlength=len(graphs)).cumsum()]),
        edges=edges,
        weights=rows(graphs.weights, cells),
        node_labels=labels[kept],
        edge_labels=rows(graphs.edge_labels, cells),
        node_attributes=rows(graphs.node_attributes, kept),
        node_names=rows(graphs.node_names, kept),
        node_label_names=names,
    )


def _label_called(graphs: GraphSet, wanted: Any) -> str:
    """Return the node label, as text, that a user calls by its value or its name."""
    assert graphs.node_labels is not None
    labels = [str(label) for label in np.unique(graphs.node_labels).tolist()]
    by_name = {name: str(label) for label, name in graphs.node_label_names.items()}
    leaf = str(wanted) if str(wanted) in labels else by_name.get(str(wanted))
    if leaf not in labels:
        names = {str(label): name for label, name in graphs.node_label_names.items()}
        shown = [names.get(label, label) for label in labels[:10]] + (["..."] if len(labels) > 10 else [])
        raise InputError(f"{wanted!r} is not a node label of {graphs.name}; use one of {', '.join(shown)}")
    return leaf
