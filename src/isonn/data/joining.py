"""Several sets of graphs as one, where they are alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from isonn.data.graphs import GraphSet
from isonn.errors import InputError

#: What all sets have, or none.
_COLUMNS = ("node_labels", "edge_labels", "node_attributes", "node_names", "y")


def join_sets(sets: Sequence[GraphSet], name: str | None = None) -> GraphSet:
    """The graphs of all sets, one set after the other.

    Sets have to be alike (see `difference`). Where some have weights, the edges of the others weigh 1. The folds of
    several sets have nothing to do with each other and are left out.
    """
    first = sets[0]
    if len(sets) == 1:
        return first if name is None else replace(first, name=name)
    for number, other in enumerate(sets):
        if reason := difference(first, other):
            raise InputError(f"set {number} of {len(sets)} ({other.name}) {reason}; join sets that are alike")
    columns: dict[str, Any] = {
        column: None
        if getattr(first, column) is None
        else np.concatenate([np.asarray(getattr(graphs, column)) for graphs in sets])
        for column in _COLUMNS
    }
    weights = None
    if any(graphs.weights is not None for graphs in sets):
        weights = np.concatenate([np.ones(len(g.edges)) if g.weights is None else g.weights for g in sets])
    return replace(
        first,
        node_offsets=np.concatenate([[0], np.concatenate([graphs.sizes for graphs in sets]).cumsum()]),
        edge_offsets=np.concatenate([[0], np.concatenate([np.diff(g.edge_offsets) for g in sets]).cumsum()]),
        edges=np.concatenate([graphs.edges for graphs in sets]),
        weights=weights,
        folds=None,
        name=first.name if name is None else name,
        **columns,
    )


def difference(first: GraphSet, other: GraphSet) -> str | None:
    """What keeps two sets from being parts of one, after "the other set ...", or None."""
    for column in _COLUMNS:
        one, two = getattr(first, column), getattr(other, column)
        called = "classes" if column == "y" else column
        if (one is None) != (two is None):
            return (
                f"has {'no ' if two is None else ''}{called} where {first.name} has {'none' if one is None else 'them'}"
            )
        if one is None or not len(one) or not len(two):
            continue
        if one.shape[1:] != two.shape[1:]:
            return f"has {called} of shape {two.shape} where {first.name} has {one.shape}"
        if (one.dtype.kind == "U") != (two.dtype.kind == "U"):
            return f"has {called} such as {two.flat[0]!r} where {first.name} has {one.flat[0]!r}"
    for column in ("node_label_names", "edge_label_names"):
        if getattr(first, column) != getattr(other, column):
            return f"has {column} that differ from those of {first.name}, so that the same label means two things"
    return None
