"""Terms: numbers of whole graphs beside their pieces, such as the number of nodes, or logP for molecules."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.graphs.columns import count_components, ends_of
from isonn.graphs.graph import GraphSet, words_of
from isonn.packing import Floats, IntArray, stored_array
from isonn.plugins import Registry

#: Weight of the terms in sums; a view has weight 1.
TERM_WEIGHT = 0.3
#: Number of terms that count nodes by degree: 0 to 8, and 9 or more.
DEGREE_BINS = 10
#: Standardised terms are clipped here, so that an unusual graph does not leave the range of the training graphs by far.
LARGEST_DEVIATION = 5.0


class Terms(ABC):
    """Numbers of whole graphs. To add some for a kind of graphs, subclass this and add an instance to `TERMS`.

    Attributes:
        names: the name of each term.
        shared: the first so many terms are sums of values of nodes, all of one sign, so that a contribution of the term
            can be shared among nodes.
    """

    names: tuple[str, ...]
    shared: int = 0

    @abstractmethod
    def table(self, graphs: GraphSet) -> Floats:
        """Return the terms of graphs, ``(g, terms)``; NaN where a term cannot be computed."""

    def of_graph(self, graphs: GraphSet) -> tuple[Floats, Floats]:
        """Return the terms of a set of one graph, ``(terms,)``, and the value of each node for the shared terms.

        The latter have shape ``(shared, n)``; rows sum to the terms.
        """
        return self.table(graphs)[0], np.zeros((0, graphs[0].n))


class SizeCounts(Terms):
    """Nodes, edges, nodes by degree, and independent cycles; those of molecules are called atoms and bonds.

    Cycles are edges - nodes + connected components. Trees read these terms; for sums they say nothing that pieces do
    not.
    """

    shared = 2 + DEGREE_BINS

    def __init__(self, kind: str = "") -> None:
        _, node, edge = words_of(kind)
        self.names = (
            f"{node}s",
            f"{edge}s",
            *(f"{node}s with {degree} neighbour{'s' * (degree != 1)}" for degree in range(DEGREE_BINS - 1)),
            f"{node}s with {DEGREE_BINS - 1} or more neighbours",
            "cycles",
        )

    def table(self, graphs: GraphSet) -> Floats:
        """Return the counts of graphs."""
        nodes, g, degree = graphs.sizes, len(graphs), _degrees(graphs)
        owner = np.repeat(np.arange(g), nodes)
        edges = np.bincount(owner, degree, minlength=g) / 2
        place = owner * DEGREE_BINS + np.minimum(degree, DEGREE_BINS - 1)
        bins = np.bincount(place, minlength=g * DEGREE_BINS).reshape(g, DEGREE_BINS)
        return np.column_stack([nodes, edges, bins, edges - nodes + count_components(graphs)])

    def of_graph(self, graphs: GraphSet) -> tuple[Floats, Floats]:
        """Return the counts of a graph, and what each node adds to them."""
        degree = _degrees(graphs)
        bins = np.minimum(degree, DEGREE_BINS - 1) == np.arange(DEGREE_BINS)[:, None]
        return self.table(graphs)[0], np.concatenate([np.ones((1, len(degree))), degree[None] / 2, bins])


#: Further terms by kind of graphs; kinds of extras are imported on first use.
TERMS: Registry[Terms] = Registry("terms", {"molecules": "isonn.molecules.terms"})


def terms_of(kind: str) -> list[Terms]:
    """Return the terms of a kind of graphs: their size, then those of the kind."""
    # without its extra a kind would lose columns that a model reads, so that is an error
    terms = TERMS.named(kind, "terms") if kind in TERMS.later else TERMS.find(kind)
    return [SizeCounts(kind), *([] if terms is None else [terms])]


def term_names(kind: str) -> list[str]:
    """Return the names of all terms of a kind of graphs."""
    return [name for terms in terms_of(kind) for name in terms.names]


def term_table(graphs: GraphSet, kind: str) -> Floats:
    """Return all terms of graphs, ``(g, terms)``."""
    return np.concatenate([terms.table(graphs) for terms in terms_of(kind)], axis=1)


@dataclass(frozen=True, eq=False)
class GraphTerms:
    """The terms of one graph.

    Attributes:
        names: their names.
        values: their values, ``(terms,)``.
        places, per_node: numbers of the terms that are sums over nodes, and the value of each node for them,
            ``(places, n)``.
    """

    names: Sequence[str]
    values: Floats
    places: IntArray
    per_node: Floats


def graph_terms(graphs: GraphSet, kind: str) -> GraphTerms:
    """Return the terms of a set of one graph."""
    groups = terms_of(kind)
    starts = np.cumsum([0, *(len(terms.names) for terms in groups)])
    places = [start + np.arange(terms.shared) for start, terms in zip(starts, groups, strict=False)]
    values, per_node = zip(*(terms.of_graph(graphs) for terms in groups), strict=True)
    return GraphTerms(
        term_names(kind),
        np.concatenate(values),
        np.concatenate(places).astype(np.int64),
        np.concatenate(per_node),
    )


def _degrees(graphs: GraphSet) -> IntArray:
    """Return the degree of every node, all graphs together; loops do not count."""
    here, there = ends_of(graphs).T
    return np.bincount(here[here != there], minlength=int(graphs.node_offsets[-1]))


@dataclass(frozen=True, eq=False)
class NumberTerms:
    """Features of the terms of a kind of graphs: standardised and clipped.

    Attributes:
        first: the number of size terms before them.
        mean, deviation: of each term in the training graphs; NaN counts as the mean.
        scale: factor of every feature.
    """

    first: int
    mean: Floats
    deviation: Floats
    scale: float

    @classmethod
    def learn(cls, table: Floats, blocks: int) -> NumberTerms:
        """Learn the features from all terms of the training graphs."""
        first = len(SizeCounts().names)
        further = table[:, first:]
        known = np.isfinite(further)
        count = np.maximum(known.sum(axis=0), 1)
        mean = np.where(known, further, 0).sum(axis=0) / count
        deviation = np.sqrt((np.where(known, further - mean, 0) ** 2).sum(axis=0) / count)
        terms = cls(first, mean, np.where(deviation > 1e-9 * (1 + np.abs(mean)), deviation, 1.0), 1.0)
        size = np.sqrt((terms.features(table) ** 2).sum(axis=1).mean()) if further.size else 1.0
        scale = np.sqrt(TERM_WEIGHT / (blocks + TERM_WEIGHT)) / max(size, 1e-12)
        return cls(first, terms.mean, terms.deviation, float(scale))

    @property
    def columns(self) -> int:
        """Number of features."""
        return len(self.mean)

    def filled(self, table: Floats) -> Floats:
        """Return all terms with NaN replaced by the mean of the training graphs."""
        table = table.copy()
        further = table[:, self.first : self.first + len(self.mean)]
        further[:] = np.where(np.isfinite(further), further, self.mean)
        return table

    def features(self, table: Floats) -> Floats:
        """Return the features of graphs, dense, ``(g, columns)``."""
        deviations = (self.filled(table)[:, self.first : self.first + len(self.mean)] - self.mean) / self.deviation
        return np.asarray(np.clip(deviations, -LARGEST_DEVIATION, LARGEST_DEVIATION) * self.scale)

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return all arrays by name."""
        return {
            "first": np.array([self.first]),
            "mean": self.mean,
            "deviation": self.deviation,
            "scale": np.array([self.scale]),
        }

    @classmethod
    def restore(cls, tensors: dict[str, NDArray[Any]]) -> NumberTerms:
        """Restore the terms from their `tensors`."""
        first, scale = int(tensors["first"][0]), float(tensors["scale"][0])
        mean, deviation = (stored_array(tensors, name, (-1,)) for name in ("mean", "deviation"))
        return cls(first, mean, deviation, scale)
