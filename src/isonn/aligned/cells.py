"""Graphs on the same regions as a table: one row per graph, one column per connection.

Which node of a graph is which region is told by names, by labels or by position. A graph may lack regions; their
connections are missing, which is not the same as absent: a missing connection takes the mean of the training graphs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import InputError
from isonn.graphs.graph import GraphSet
from isonn.packing import IntArray
from isonn.targets import values_from_json, values_to_json

Floats = NDArray[np.float64]

ALIGNMENTS = ("auto", "names", "labels", "order")
SCALES = ("auto", "none", "fisher", "log")
#: Fisher's z of a correlation of 1 is infinite; this is 7.25.
LARGEST = 1 - 1e-6
#: Weights whose largest is this many times the median are counted on a logarithmic scale (fibre counts are).
HEAVY_TAIL = 50.0
#: A connection known for fewer training graphs than this says nothing.
MIN_KNOWN = 3
#: Matrices are symmetric when their halves differ by less than this share of the largest weight.
ASYMMETRY = 1e-6


@dataclass(frozen=True, eq=False)
class Layout:
    """The regions, the connections between them, and how weights become numbers to learn from.

    Attributes:
        regions: the name, label or number of each region, shape (n,).
        align: how nodes are told apart: "names", "labels" or "order".
        directed: whether i to j and j to i are two connections.
        diagonal: whether a region's connection to itself is one.
        scale: "none", "fisher" (arctanh) or "log" (log(1 + w / unit)).
        unit: of "log": the median weight.
    """

    regions: NDArray[Any]
    align: str
    directed: bool
    diagonal: bool
    scale: str
    unit: float = 1.0

    @classmethod
    def learn(cls, graphs: GraphSet, align: str, scale: str, diagonal: bool) -> Layout:
        """The layout of the training graphs."""
        align = _alignment(graphs, align)
        if align == "order":
            regions = np.arange(int(graphs.sizes.max()))
        else:
            regions = np.unique(_keys(graphs, align))
            first = _keys(graphs[:1], align)
            if align == "names" and len(first) == len(regions):  # the order of the atlas, not of the alphabet
                regions = first
        weights = np.ones(1) if graphs.weights is None else graphs.weights
        off = weights if graphs.weights is None else weights[graphs.edges[:, 0] != graphs.edges[:, 1]]
        off = off if len(off) else np.ones(1)
        if scale == "auto":
            correlations = bool(off.min() < 0 and np.abs(off).max() <= 1)
            heavy = bool(off.min() >= 0 and off.max() > HEAVY_TAIL * np.median(off))
            scale = "fisher" if correlations else "log" if heavy else "none"
        if scale == "log" and off.min() < 0:
            raise InputError(f"scale='log' needs weights >= 0, and one is {off.min():.3g}; use scale='none'")
        return cls(regions, align, _asymmetric(graphs) is not None, diagonal, scale, float(np.median(np.abs(off))))

    @property
    def n(self) -> int:
        """Number of regions."""
        return len(self.regions)

    def connections(self) -> IntArray:
        """The two regions of each connection, shape (p, 2)."""
        i, j = np.indices((self.n, self.n)).reshape(2, -1) if self.directed else np.triu_indices(self.n)
        keep = (i != j) | self.diagonal
        return np.column_stack([i[keep], j[keep]])

    def cell_numbers(self) -> IntArray:
        """The connection of each pair of regions, shape (n, n); -1 where there is none."""
        numbers, pairs = np.full((self.n, self.n), -1, dtype=np.int64), self.connections()
        numbers[pairs[:, 0], pairs[:, 1]] = np.arange(len(pairs))
        if not self.directed:
            numbers[pairs[:, 1], pairs[:, 0]] = np.arange(len(pairs))
        return numbers

    def region_of_node(self, graphs: GraphSet) -> IntArray:
        """The region of every node of a set, shape (nodes,); -1 for a node the training graphs did not have."""
        column = graphs.node_names if self.align == "names" else graphs.node_labels
        if self.align == "order" or (column is None and (graphs.sizes == self.n).all()):
            if self.align == "order" and graphs.sizes.max() > self.n:
                i = int(graphs.sizes.argmax())
                raise InputError(
                    f"graph {i} of {len(graphs)} has {graphs.sizes[i]} regions and the training graphs had {self.n}; "
                    f"give matrices of the same atlas"
                )
            return _places(graphs)
        keys = _keys(graphs, self.align)
        order = np.argsort(self.regions, kind="stable")
        at = np.minimum(np.searchsorted(self.regions[order], keys), self.n - 1)
        found = np.where(self.regions[order][at] == keys, order[at], -1)
        known = np.bincount(np.repeat(np.arange(len(graphs)), graphs.sizes), found >= 0, minlength=len(graphs))
        if (known == 0).any():
            i = int((known == 0).argmax())
            raise InputError(
                f"graph {i} of {len(graphs)} has no region of the training graphs (its first is {keys[0]!r}, theirs "
                f"{self.regions[0]!r}); give matrices of the same atlas"
            )
        return found

    def table(self, graphs: GraphSet) -> tuple[Floats, NDArray[np.bool_] | None]:
        """Transformed weights of shape (g, p), and which are known (None: all)."""
        i = None if self.directed else _asymmetric(graphs)
        if i is not None:
            raise InputError(
                f"graph {i} of {len(graphs)} is not symmetric and the training graphs were; give (A + A.T) / 2"
            )
        region, numbers = self.region_of_node(graphs), self.cell_numbers()
        first = graphs.node_offsets[graphs.graph_of_cell]
        row, column = region[first + graphs.edges[:, 0]], region[first + graphs.edges[:, 1]]
        cell = np.where((row >= 0) & (column >= 0), numbers[row, column], -1)
        held = cell >= 0
        pairs = self.connections()
        values = np.zeros((len(graphs), len(pairs)))
        weights = np.ones(len(cell)) if graphs.weights is None else graphs.weights
        values[graphs.graph_of_cell[held], cell[held]] = weights[held]
        present = np.zeros((len(graphs), self.n), dtype=bool)
        owner = np.repeat(np.arange(len(graphs)), graphs.sizes)
        present[owner[region >= 0], region[region >= 0]] = True
        known = None if present.all() else present[:, pairs[:, 0]] & present[:, pairs[:, 1]]
        return self._transformed(values), known

    def _transformed(self, values: Floats) -> Floats:
        if self.scale == "fisher":
            return np.arctanh(np.clip(values, -LARGEST, LARGEST))
        if self.scale == "log":
            return np.asarray(np.sign(values) * np.log1p(np.abs(values) / self.unit))
        return values

    def describe(self) -> dict[str, Any]:
        """The layout as JSON."""
        return {
            "regions": values_to_json(self.regions),
            "align": self.align,
            "directed": self.directed,
            "diagonal": self.diagonal,
            "scale": self.scale,
            "unit": self.unit,
        }

    @classmethod
    def restore(cls, stored: dict[str, Any]) -> Layout:
        """The layout that `describe` wrote."""
        return cls(**{**stored, "regions": values_from_json(stored["regions"])})


@dataclass(frozen=True, eq=False)
class Scaling:
    """Mean and spread of every connection over the training graphs.

    Attributes:
        mean, spread: shape (p,); a connection that never varies has an infinite spread, so that it counts for nothing.
        whole: one spread for all connections, for the ridge part: rare connections are not blown up there.
    """

    mean: Floats
    spread: Floats
    whole: float

    @classmethod
    def learn(cls, values: Floats, known: NDArray[np.bool_] | None) -> Scaling:
        """Statistics of the known weights."""
        count = np.full(values.shape[1], len(values)) if known is None else known.sum(axis=0)
        there = values if known is None else np.where(known, values, 0.0)
        mean = there.sum(axis=0) / np.maximum(count, 1)
        off = values - mean if known is None else np.where(known, values - mean, 0.0)
        variance = (off**2).sum(axis=0) / np.maximum(count, 1)
        flat = (variance <= 1e-20 * np.maximum(mean**2, 1e-300)) | (count < MIN_KNOWN)
        whole = float(np.sqrt((off**2).mean(axis=0)[~flat].sum())) if not flat.all() else 1.0
        return cls(mean, np.where(flat, np.inf, np.sqrt(variance)), whole)

    def standardised(self, values: Floats, known: NDArray[np.bool_] | None) -> Floats:
        """Every connection with mean 0 and spread 1; 0 where missing."""
        scaled = (values - self.mean) / self.spread
        return scaled if known is None else np.where(known, scaled, 0.0)

    def raw_factor(self) -> Floats:
        """What turns standardised connections into centred ones of squared norm 1 on average, shape (p,)."""
        return np.where(np.isfinite(self.spread), self.spread, 0.0) / self.whole


def _alignment(graphs: GraphSet, align: str) -> str:
    """How the nodes of the training graphs are told apart."""
    same_size = bool((graphs.sizes == graphs.sizes[0]).all())
    if align == "auto":
        if graphs.node_names is not None and _repeated(graphs, graphs.node_names) is None:
            return "names"
        if same_size:
            return "order"
        if graphs.node_labels is not None and _repeated(graphs, graphs.node_labels) is None:
            return "labels"
        raise InputError(
            f"graphs of {graphs.name} have {graphs.sizes.min()} to {graphs.sizes.max()} nodes and nothing says which "
            f"region each node is; give node names or labels, or align='order' if the first nodes are the same regions"
        )
    if align != "order":
        column = graphs.node_names if align == "names" else graphs.node_labels
        if column is None:
            raise InputError(f"align={align!r}, and the graphs have no node {align}; use align='order', or give them")
        i = _repeated(graphs, column)
        if i is not None:
            raise InputError(
                f"graph {i} of {len(graphs)} has two nodes with the same one of its {align}; regions need their own"
            )
    return align


def _repeated(graphs: GraphSet, column: NDArray[Any]) -> int | None:
    """A graph in which two nodes have the same key, or None."""
    owner = np.repeat(np.arange(len(graphs)), graphs.sizes)
    _, code = np.unique(column, return_inverse=True)
    key = np.sort(owner * (int(code.max()) + 1) + code.reshape(-1))
    twice = np.flatnonzero(key[1:] == key[:-1])
    return int(key[twice[0]] // (int(code.max()) + 1)) if len(twice) else None


def _keys(graphs: GraphSet, align: str) -> NDArray[Any]:
    column = graphs.node_names if align == "names" else graphs.node_labels
    if column is None:
        raise InputError(
            f"graphs of {graphs.name} have no node {align}, by which the training graphs were aligned; give them"
        )
    return column


def _places(graphs: GraphSet) -> IntArray:
    """The number of every node within its graph."""
    return np.arange(graphs.node_offsets[-1]) - np.repeat(graphs.node_offsets[:-1], graphs.sizes)


def _asymmetric(graphs: GraphSet) -> int | None:
    """A graph whose matrix is not symmetric, or None."""
    largest = int(graphs.sizes.max())
    row, column = graphs.edges.T
    weights = np.ones(len(row)) if graphs.weights is None else graphs.weights
    owner = graphs.graph_of_cell
    there, back = (owner * largest + row) * largest + column, (owner * largest + column) * largest + row
    order = np.argsort(there, kind="stable")
    at = np.minimum(np.searchsorted(there[order], back), max(len(order) - 1, 0))
    mirrored = np.where(there[order][at] == back, weights[order][at], 0.0) if len(order) else weights
    wrong = np.abs(mirrored - weights) > ASYMMETRY * np.abs(weights).max(initial=0.0)
    return int(owner[wrong.argmax()]) if wrong.any() else None
