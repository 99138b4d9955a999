"""Graphs on the same regions as a table, with one row per graph and one column per connection.

Names, labels or positions determine the region of each node. A graph may lack regions. Their connections are missing
rather than absent, and take the mean of the training graphs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import InputError
from isonn.graphs.graph import GraphSet
from isonn.packing import Floats, IntArray
from isonn.targets import values_from_json, values_to_json

ALIGNMENTS = ("auto", "names", "labels", "order")
SCALES = ("auto", "none", "fisher", "log")
#: Fisher's z is infinite for a correlation of 1; this limits it to 7.25.
LARGEST = 1 - 1e-6
#: Weights whose largest is this many times the median, such as fibre counts, use a logarithmic scale.
HEAVY_TAIL = 50.0
#: Minimum number of training graphs in which a connection must be known to count.
MIN_KNOWN = 3
#: Matrices are symmetric if their halves differ by less than this share of the largest weight.
ASYMMETRY = 1e-6


@dataclass(frozen=True, eq=False)
class Layout:
    """The regions, the connections between them, and the transformation of their weights.

    Attributes:
        regions: the name, label or number of each region, shape (n,).
        align: how nodes are identified: "names", "labels" or "order".
        directed: whether i to j and j to i are two connections.
        diagonal: whether a region's connection to itself counts.
        scale: "none", "fisher" (arctanh) or "log" (log(1 + w / unit)).
        unit: for "log", the median weight.
    """

    regions: NDArray[Any]
    align: str
    directed: bool
    diagonal: bool
    scale: str
    unit: float = 1.0

    @classmethod
    def learn(cls, graphs: GraphSet, align: str, scale: str, diagonal: bool) -> Layout:
        """Learn the layout from the training graphs."""
        align = _alignment(graphs, align)
        if align == "order":
            regions = np.arange(int(graphs.sizes.max()))
        else:
            regions = np.unique(_keys(graphs, align))
            first = _keys(graphs[:1], align)
            if align == "names" and len(first) == len(regions):  # in the order of the atlas, not the alphabet
                regions = first
        weights = np.ones(1) if graphs.weights is None else graphs.weights
        off = weights if graphs.weights is None else weights[graphs.edges[:, 0] != graphs.edges[:, 1]]
        off = off if len(off) else np.ones(1)
        if scale == "auto":
            correlations = bool(off.min() < 0 and np.abs(off).max() <= 1)
            heavy = bool(off.min() >= 0 and off.max() > HEAVY_TAIL * np.median(off))
            scale = "fisher" if correlations else "log" if heavy else "none"
        if scale == "log" and off.min() < 0:
            raise InputError(f"scale='log' needs weights >= 0, but one is {off.min():.3g}; use scale='none'")
        return cls(regions, align, _asymmetric(graphs) is not None, diagonal, scale, float(np.median(np.abs(off))))

    @property
    def n(self) -> int:
        """Number of regions."""
        return len(self.regions)

    def connections(self) -> IntArray:
        """Return the two regions of each connection, shape (p, 2)."""
        i, j = np.indices((self.n, self.n)).reshape(2, -1) if self.directed else np.triu_indices(self.n)
        keep = (i != j) | self.diagonal
        return np.column_stack([i[keep], j[keep]])

    def cell_numbers(self) -> IntArray:
        """Return the connection of each pair of regions, shape (n, n); -1 for none."""
        numbers, pairs = np.full((self.n, self.n), -1, dtype=np.int64), self.connections()
        numbers[pairs[:, 0], pairs[:, 1]] = np.arange(len(pairs))
        if not self.directed:
            numbers[pairs[:, 1], pairs[:, 0]] = np.arange(len(pairs))
        return numbers

    def region_of_node(self, graphs: GraphSet) -> IntArray:
        """Return the region of every node of a set, shape (nodes,); -1 for a node not in the training graphs."""
        column = graphs.node_names if self.align == "names" else graphs.node_labels
        if self.align == "order" or (column is None and (graphs.sizes == self.n).all()):
            if self.align == "order" and graphs.sizes.max() > self.n:
                i = int(graphs.sizes.argmax())
                raise InputError(
                    f"graph {i} of {len(graphs)} has {graphs.sizes[i]} regions, but the training graphs had {self.n}; "
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
        """Return transformed weights of shape (g, p), and which are known (None if all)."""
        i = None if self.directed else _asymmetric(graphs)
        if i is not None:
            raise InputError(
                f"graph {i} of {len(graphs)} is not symmetric, but the training graphs were; give (A + A.T) / 2"
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
        """Return the layout as JSON."""
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
        """Create the layout from the result of `describe`."""
        return cls(**{**stored, "regions": values_from_json(stored["regions"])})


@dataclass(frozen=True, eq=False)
class Scaling:
    """Mean and spread of every connection over the training graphs.

    Attributes:
        mean, spread: shape (p,); a constant connection has infinite spread, so that it does not count.
        whole: one spread for all connections, for the ridge part, so that rare connections are not scaled up.
    """

    mean: Floats
    spread: Floats
    whole: float

    @classmethod
    def learn(cls, values: Floats, known: NDArray[np.bool_] | None) -> Scaling:
        """Learn from the known weights."""
        count = np.full(values.shape[1], len(values)) if known is None else known.sum(axis=0)
        there = values if known is None else np.where(known, values, 0.0)
        mean = there.sum(axis=0) / np.maximum(count, 1)
        off = values - mean if known is None else np.where(known, values - mean, 0.0)
        variance = (off**2).sum(axis=0) / np.maximum(count, 1)
        flat = (variance <= 1e-20 * np.maximum(mean**2, 1e-300)) | (count < MIN_KNOWN)
        whole = float(np.sqrt((off**2).mean(axis=0)[~flat].sum())) if not flat.all() else 1.0
        return cls(mean, np.where(flat, np.inf, np.sqrt(variance)), whole)

    def standardised(self, values: Floats, known: NDArray[np.bool_] | None) -> Floats:
        """Return every connection with mean 0 and spread 1; 0 if missing."""
        scaled = (values - self.mean) / self.spread
        return scaled if known is None else np.where(known, scaled, 0.0)

    def raw_factor(self) -> Floats:
        """Return the factors from standardised to centred connections of mean squared norm 1, shape (p,)."""
        return np.where(np.isfinite(self.spread), self.spread, 0.0) / self.whole


def _alignment(graphs: GraphSet, align: str) -> str:
    """Return how the nodes of the training graphs are identified."""
    same_size = bool((graphs.sizes == graphs.sizes[0]).all())
    if align == "auto":
        if graphs.node_names is not None and _repeated(graphs, graphs.node_names) is None:
            return "names"
        if same_size:
            return "order"
        if graphs.node_labels is not None and _repeated(graphs, graphs.node_labels) is None:
            return "labels"
        raise InputError(
            f"graphs of {graphs.name} have {graphs.sizes.min()} to {graphs.sizes.max()} nodes, but no node names or "
            f"labels identify their regions; add them, or use align='order' if the first nodes are the same regions"
        )
    if align != "order":
        column = graphs.node_names if align == "names" else graphs.node_labels
        if column is None:
            raise InputError(f"align={align!r}, but the graphs have no node {align}; add them, or use align='order'")
        i = _repeated(graphs, column)
        if i is not None:
            raise InputError(f"graph {i} of {len(graphs)} has two nodes with equal {align}; make them unique")
    return align


def _repeated(graphs: GraphSet, column: NDArray[Any]) -> int | None:
    """Return a graph in which two nodes have the same key, or None."""
    owner = np.repeat(np.arange(len(graphs)), graphs.sizes)
    _, code = np.unique(column, return_inverse=True)
    key = np.sort(owner * (int(code.max()) + 1) + code.reshape(-1))
    twice = np.flatnonzero(key[1:] == key[:-1])
    return int(key[twice[0]] // (int(code.max()) + 1)) if len(twice) else None


def _keys(graphs: GraphSet, align: str) -> NDArray[Any]:
    column = graphs.node_names if align == "names" else graphs.node_labels
    if column is None:
        raise InputError(
            f"graphs of {graphs.name} have no node {align}, but the training graphs were aligned by them; add them"
        )
    return column


def _places(graphs: GraphSet) -> IntArray:
    """Return the number of every node within its graph."""
    return np.arange(graphs.node_offsets[-1]) - np.repeat(graphs.node_offsets[:-1], graphs.sizes)


def _asymmetric(graphs: GraphSet) -> int | None:
    """Return a graph whose matrix is not symmetric, or None."""
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
