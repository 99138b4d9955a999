"""Graphs on the same regions as a table, with one row per graph and one column per connection.

Names, labels or positions determine the region of each node. A graph may lack regions. Their connections are missing
rather than absent, and take the mean of the training graphs.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import InputError, IsoNNWarning
from isonn.graphs.columns import are_numbers, numbers_of_nodes
from isonn.graphs.graph import GraphSet
from isonn.packing import Floats, IntArray
from isonn.targets import values_from_json, values_to_json

SCALES = ("auto", "none", "fisher", "log")
#: Fisher's z is infinite for a correlation of 1; this limits it to 7.25.
LARGEST = 1 - 1e-6
#: Weights whose largest is this many times the median, such as fibre counts, use a logarithmic scale.
HEAVY_TAIL = 50.0
#: Matrices are symmetric if their halves differ by less than this share of the largest weight.
ASYMMETRY = 1e-6
#: Numbers of the dense matrices that are held at a time: 8 MB.
CHUNK_NUMBERS = 2**20
#: The median of weights is that of every nth if there are more than this.
MEDIAN_OF = 10_000_000


@dataclass(frozen=True, eq=False)
class Layout:
    """The regions, the connections between them, and the transformation of their weights.

    Attributes:
        regions: the name, label or number of each region, shape (n,).
        names: the name of each region.
        align: how nodes are identified: "names", "labels" or "order".
        directed: whether i to j and j to i are two connections.
        scale: "none", "fisher" (arctanh) or "log" (log(1 + w / unit)).
        unit: for "log", the median weight.
    """

    regions: NDArray[Any]
    names: list[str]
    align: str
    directed: bool
    scale: str
    unit: float = 1.0

    @classmethod
    def learn(cls, graphs: GraphSet, scale: str) -> Layout:
        """Learn the layout from the training graphs."""
        align = _alignment(graphs)
        regions: NDArray[Any] = np.arange(int(graphs.sizes.max()))
        if align != "order":
            regions = np.unique(_keys(graphs, align))
        if align == "names":  # in the order of the atlas, not the alphabet
            first = _keys(graphs[:1], align)
            if not graphs.kind and _are_positions(regions):
                regions = np.arange(len(regions)).astype(regions.dtype)
            elif len(first) == len(regions):
                regions = first
        off = np.ones(1)
        if graphs.weights is not None:
            loops = graphs.edges[:, 0] == graphs.edges[:, 1]
            off = graphs.weights[~loops] if loops.any() else graphs.weights
            off = off if len(off) else np.ones(1)
        unit = float(np.median(np.abs(off[:: max(1, len(off) // MEDIAN_OF)])))
        if scale == "auto":
            correlations = bool(off.min() < 0 and largest_weight(off) <= 1)
            heavy = bool(off.min() >= 0 and off.max() > HEAVY_TAIL * unit)
            scale = "fisher" if correlations else "log" if heavy else "none"
        if scale == "log" and off.min() < 0:
            raise InputError(f"scale='log' needs weights >= 0, but one is {off.min():.3g}; use scale='none'")
        called = graphs.node_label_names if align == "labels" else {}
        names = [str(called.get(region, region)) for region in regions.tolist()]
        layout = cls(regions, names, align, True, scale, unit)
        limit = _tolerance(graphs)
        directed = any(_first_asymmetric(block, limit) is not None for _, block, _ in layout.matrices(graphs))
        return replace(layout, directed=directed)

    @property
    def n(self) -> int:
        """Number of regions."""
        return len(self.regions)

    @cached_property
    def pairs(self) -> IntArray:
        """The two regions of each connection, shape (p, 2)."""
        return np.column_stack(_pairs(self.n, self.directed))

    @cached_property
    def numbers(self) -> IntArray:
        """The connection of each pair of regions, shape (n, n)."""
        return self.as_matrices(np.arange(len(self.pairs)))

    def as_matrices(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values of connections, shape (..., p), as matrices of shape (..., n, n)."""
        matrices = np.zeros((*values.shape[:-1], self.n, self.n), dtype=values.dtype)
        i, j = self.pairs.T
        matrices[..., i, j] = values
        if not self.directed:
            matrices[..., j, i] = values
        return matrices

    def inside(self, nodes: Sequence[int]) -> IntArray:
        """Return the connections among some regions."""
        members = np.array(nodes)
        a, b = _pairs(len(nodes), self.directed)
        return np.asarray(self.numbers[members[a], members[b]])

    def region_of_node(self, graphs: GraphSet) -> IntArray:
        """Return the region of every node of a set, shape (nodes,); -1 for a node not in the training graphs."""
        column = graphs.node_names if self.align == "names" else graphs.node_labels
        if self.align == "order" or (column is None and (graphs.sizes == self.n).all()):
            if self.align == "order" and (other := graphs.sizes != self.n).any():
                i = int(other.argmax())
                raise InputError(
                    f"graph {i} of {len(graphs)} has {graphs.sizes[i]} regions, but the training graphs had {self.n}; "
                    f"give matrices of the same atlas"
                )
            ids = graphs.node_names if self.align == "order" else None
            if ids is not None and _are_positions(ids.reshape(len(graphs), self.n)):
                return ids.astype(np.int64)
            return numbers_of_nodes(graphs.sizes)
        keys = _keys(graphs, self.align)
        order = np.argsort(self.regions, kind="stable")
        at = np.minimum(np.searchsorted(self.regions[order], keys), self.n - 1)
        region = np.where(self.regions[order][at] == keys, order[at], -1)
        shared = np.bincount(np.repeat(np.arange(len(graphs)), graphs.sizes), region >= 0, minlength=len(graphs))
        if (shared == 0).any():
            i = int((shared == 0).argmax())
            raise InputError(
                f"graph {i} of {len(graphs)} has no region of the training graphs (its first is {keys[0].item()!r}, "
                f"theirs {self.regions[0].item()!r}); give matrices of the same atlas"
            )
        return region

    def anatomy(self, graphs: GraphSet) -> tuple[list[str] | None, Floats | None]:
        """Return the network and the coordinates of each region of connectomes, or None."""
        if graphs.kind != "connectomes" or self.align == "labels":
            return None, None
        region, nodes = self.region_of_node(graphs), np.zeros(self.n, dtype=np.int64)
        nodes[region[::-1]] = np.arange(len(region))[::-1]  # the first node of each region
        labels, places = graphs.node_labels, graphs.node_attributes
        networks = None if labels is None else [str(graphs.node_label_names.get(x, x)) for x in labels[nodes].tolist()]
        return networks, places[nodes] if places is not None and places.shape[1] == 3 else None

    def table(self, graphs: GraphSet) -> tuple[Floats, NDArray[np.bool_] | None]:
        """Return transformed weights of shape (g, p), and which are known (None if all)."""
        pairs = self.pairs
        values, present = np.empty((len(graphs), len(pairs))), np.zeros((len(graphs), self.n), dtype=bool)
        limit, beyond = _tolerance(graphs), np.zeros(len(graphs))
        for rows, matrices, here in self.matrices(graphs):
            odd = None if self.directed else _first_asymmetric(matrices, limit)
            if odd is not None:
                raise InputError(
                    f"graph {rows.start + odd} of {len(graphs)} is not symmetric, but the training graphs were; give "
                    f"(A + A.T) / 2"
                )
            weights = matrices[:, pairs[:, 0], pairs[:, 1]]
            beyond[rows] = np.abs(weights).max(axis=1, initial=0.0)
            values[rows], present[rows] = self._transformed(weights), here
        if self.scale == "fisher" and np.median(beyond) > 1 + ASYMMETRY:
            warnings.warn(
                f"{int((beyond > 1 + ASYMMETRY).sum())} of {len(graphs)} graphs have weights beyond 1, up to "
                f"{beyond.max():.3g}, which count as correlations of 1; give correlations, not Fisher's z, or fit with "
                f"scale='none'",
                IsoNNWarning,
                stacklevel=2,
            )
        return values, None if present.all() else present[:, pairs[:, 0]] & present[:, pairs[:, 1]]

    def matrices(self, graphs: GraphSet) -> Iterator[tuple[slice, Floats, NDArray[np.bool_]]]:
        """Yield some graphs at a time: their place, their weights by region, and which regions they have."""
        region = self.region_of_node(graphs)
        step = max(1, CHUNK_NUMBERS // self.n**2)
        for start in range(0, len(graphs), step):
            rows = slice(start, min(start + step, len(graphs)))
            some = graphs[rows]
            here = region[graphs.node_offsets[start] : graphs.node_offsets[rows.stop]]
            first = some.node_offsets[some.graph_of_cell]
            row, column = here[first + some.edges[:, 0]], here[first + some.edges[:, 1]]
            matrices = np.zeros((len(some), self.n + 1, self.n + 1))  # the last place is for nodes without a region
            matrices[some.graph_of_cell, row, column] = 1.0 if some.weights is None else some.weights
            present = np.zeros((len(some), self.n + 1), dtype=bool)
            present[np.repeat(np.arange(len(some)), some.sizes), here] = True
            yield rows, matrices[:, : self.n, : self.n], present[:, : self.n]

    def weighted_sum(self, graphs: GraphSet, rows: IntArray, weights: Floats) -> Floats:
        """Return the sum over some graphs of weight times connection, not transformed, shape (p,).

        Weights sum to 0. A region that a graph lacks counts as average.
        """
        (i, j), every_weight = self.pairs.T, np.zeros(len(graphs))
        every_weight[rows] = weights
        total, share, sums, count = (np.zeros(len(i)) for _ in range(4))
        for block, matrices, present in self.matrices(graphs):
            values, there = matrices[:, i, j], present[:, i] & present[:, j]
            total += every_weight[block] @ values
            share += every_weight[block] @ ~there
            sums, count = sums + (values * there).sum(axis=0), count + there.sum(axis=0)
        return np.asarray(total + share * sums / np.maximum(count, 1))

    def _transformed(self, values: Floats) -> Floats:
        if self.scale == "fisher":
            return np.arctanh(np.clip(values, -LARGEST, LARGEST))
        if self.scale == "log":
            return np.asarray(np.sign(values) * np.log1p(np.abs(values) / self.unit))
        return values

    def describe(self) -> dict[str, Any]:
        """Return the layout as JSON."""
        return {**asdict(self), "regions": values_to_json(self.regions)}

    @classmethod
    def restore(cls, stored: dict[str, Any]) -> Layout:
        """Create the layout from the result of `describe`."""
        return cls(**{**stored, "regions": values_from_json(stored["regions"])})


def _pairs(n: int, directed: bool) -> tuple[IntArray, IntArray]:
    """Return the first and second of each pair of n regions."""
    first, second = np.nonzero(~np.eye(n, dtype=bool)) if directed else np.triu_indices(n, 1)
    return first, second


def _alignment(graphs: GraphSet) -> str:
    """Return how the nodes of the training graphs are identified: "names", "order" or "labels".

    Numbers, such as the ids of NetworkX, identify regions only if all graphs share some.
    """
    if graphs.node_names is not None and _identify(graphs, graphs.node_names):
        shared = np.unique(graphs.node_names, return_counts=True)[1].max() == len(graphs)
        if shared or not are_numbers(graphs.node_names):
            return "names"
    if (graphs.sizes == graphs.sizes[0]).all():
        return "order"
    if _identify(graphs, graphs.node_labels):
        return "labels"
    raise InputError(
        f"{graphs.name}: graphs have {graphs.sizes.min()} to {graphs.sizes.max()} nodes, but no node names or labels "
        f"identify their regions; add names that no two nodes of a graph share"
    )


def _identify(graphs: GraphSet, column: NDArray[Any] | None) -> bool:
    """Return whether no two nodes of a graph have the same name or label."""
    if column is None:
        return False
    owner, (values, code) = np.repeat(np.arange(len(graphs)), graphs.sizes), np.unique(column, return_inverse=True)
    return len(np.unique(owner * len(values) + code.reshape(-1))) == len(owner)


def _are_positions(names: NDArray[Any]) -> bool:
    """Return whether the last axis holds the numbers from 0 in any order, as the nodes of NetworkX do."""
    return bool((np.sort(names, axis=-1) == np.sort(np.arange(names.shape[-1]).astype(np.str_))).all())


def _keys(graphs: GraphSet, align: str) -> NDArray[Any]:
    column = graphs.node_names if align == "names" else graphs.node_labels
    if column is None:
        raise InputError(
            f"{graphs.name}: graphs have no node {align}, but the training graphs were aligned by them; add them"
        )
    return column


def _tolerance(graphs: GraphSet) -> float:
    """Return the largest difference between the halves of a symmetric matrix."""
    return ASYMMETRY * (1.0 if graphs.weights is None else largest_weight(graphs.weights))


def largest_weight(weights: Floats) -> float:
    """Return the largest absolute weight, without a copy of all weights."""
    return float(max(weights.max(initial=0.0), -weights.min(initial=0.0)))


def _first_asymmetric(matrices: Floats, limit: float) -> int | None:
    """Return the first matrix that is not symmetric, or None."""
    for i, matrix in enumerate(matrices):
        if (np.abs(matrix - matrix.T) > limit).any():
            return i
    return None
