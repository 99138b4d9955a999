"""Explanations of the subgraph model: the pieces in a graph, what is absent from it, and their contributions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from isonn.explain.matched import Logits, MatchedGraph, NamedContribution, Occurrences, Regions
from isonn.graphs.convert import as_graphset
from isonn.graphs.graph import GraphSet
from isonn.heads import Inputs
from isonn.packing import Floats, IntArray
from isonn.subgraphs.features import COUNT
from isonn.subgraphs.model import SubgraphModel
from isonn.subgraphs.terms import graph_terms
from isonn.targets import Target


class SubgraphMatches(MatchedGraph):
    r"""The matches of a subgraph model in one graph: every subgraph that is a template, with its contribution.

    A head splits its output into a sum over columns, templates and terms, each compared with an empty graph. The
    contribution of a template is shared equally among its occurrences, that of a term that is a sum over nodes among
    these nodes.

    Args:
        model: the model.
        graphs: a set of one graph.
        target: the kind of prediction.
    """

    undirected = True
    exact = True

    def __init__(self, model: SubgraphModel, graphs: GraphSet, target: Target) -> None:
        vectorizer, features = model.vectorizer, model.features
        listed, terms = vectorizer.list_pieces(graphs), graph_terms(graphs, model.kind)
        self.graph, self.templates, self.target = graphs[0], vectorizer.templates_, target
        self.reads = {*vectorizer.encoding_.labels, *vectorizer.encoding_.levels}
        # what is asked about edited graphs needs no warnings
        self.predict = lambda edited: target.link(model.outputs(as_graphset(list(edited))))
        self._features, self._head, self._terms = features, model.head, terms
        self._piece, self._weights = listed.piece, listed.weights
        self._counts = np.bincount(listed.piece, listed.weights, minlength=len(listed.pieces)).astype(np.float64)
        columns = listed.columns
        self._held = np.flatnonzero(columns >= 0)  # the pieces that are templates, in the order of their columns
        self._columns = columns[self._held]
        self._term_features = features.term_features(terms.values[None])
        self._term_counts = features.term_counts(terms.values[None])
        # a match is an occurrence of a piece that is a template
        region = np.flatnonzero(columns[listed.piece] >= 0)
        self.occurrences = Occurrences(listed.nodes, None, region, columns[listed.piece[region]], np.zeros(len(region)))
        self._split_of = cache(self._split)
        self._logits: Logits = np.asarray(self._outputs(self._counts[None])[0])

    def logits(self) -> Logits:
        """Return the outputs for the graph as it is."""
        return self._logits

    def base(self, column: int) -> float:
        """Return the score of an empty graph."""
        return self._split_of(column).base

    def logits_without(self, rows: IntArray) -> Logits:
        """Return the outputs without the occurrences of these matches."""
        taken = np.unique(self.occurrences.region[rows])
        gone = np.bincount(self._piece[taken], self._weights[taken], minlength=len(self._counts))
        return np.asarray(self._outputs(np.maximum(self._counts - gone, 0)[None])[0])

    def contributions(self, column: int) -> tuple[IntArray, Floats]:
        """Return the contribution of each match."""
        return np.arange(len(self.occurrences)), self._shares(column)[self.occurrences.region]

    def region_contributions(self, column: int, rows: IntArray, contributions: Floats) -> Regions:
        """Return every occurrence as a region, including pieces that are not templates."""
        return Regions(self.occurrences.nodes, None, self._shares(column))

    def node_terms(self, column: int) -> Floats:
        """Return what terms contribute through their nodes, ``(n,)``."""
        contributions = self._split_of(column).terms
        shared = self._shared_terms(contributions)
        if not shared.any():
            return np.zeros(self.graph.n)
        places = self._terms.places[shared]
        values = self._terms.per_node[shared]
        return np.asarray((contributions[places] / values.sum(axis=1)) @ values)

    def terms(self, column: int) -> list[NamedContribution]:
        """Return the terms that do not belong to nodes, largest contribution first."""
        contributions = self._split_of(column).terms
        told = np.ones(len(contributions), dtype=bool)
        told[self._terms.places[self._shared_terms(contributions)]] = False
        order = np.argsort(-np.abs(contributions), kind="stable")
        return [
            NamedContribution(self._terms.names[i], float(self._terms.values[i]), float(contributions[i]))
            for i in order.tolist()
            if told[i] and contributions[i] != 0
        ]

    def absent(self, column: int) -> list[NamedContribution]:
        """Return the templates whose absence contributes, largest contribution first."""
        columns, contributions = self._split_of(column).absent
        order = np.argsort(-np.abs(contributions), kind="stable")
        return [
            NamedContribution(f"no {self.templates[columns[i]].text()}", 0.0, float(contributions[i]))
            for i in order.tolist()
        ]

    def _shared_terms(self, contributions: Floats) -> NDArray[np.bool_]:
        """Return which of the terms that are sums over nodes contribute, and are not 0, ``(places,)``."""
        places = self._terms.places
        return np.asarray((contributions[places] != 0) & (np.abs(self._terms.values[places]) > 1e-9))

    def _shares(self, column: int) -> Floats:
        """Return the contribution of every occurrence, including pieces that are not templates, ``(R,)``."""
        split = self._split_of(column)
        each = split.pieces / np.maximum(self._counts, 1e-12)
        return np.asarray(each[self._piece] * self._weights)

    def _split(self, column: int) -> _Split:
        """Split the margin of an output into the contributions of pieces, absent templates and terms."""
        outputs = self.target.outputs
        zero = self.target.margin(np.zeros(outputs), column)
        direction = self.target.margin(np.eye(outputs), column) - zero
        if self._head.symmetric and self.target.exclusive and outputs == 2:
            direction = np.where(np.arange(2) == column, 2.0, 0.0)  # the other output is minus this one
        inputs, reference = self._inputs(self._counts[None]), self._reference()
        base, p = float(zero), len(self._features.vocabulary)
        by_feature = np.zeros(self._features.columns)
        by_count = np.zeros(p + len(self._terms.values))
        for output in np.flatnonzero(direction).tolist():
            split = self._head.contributions(inputs, output, reference)
            base += direction[output] * split.base
            by_feature[split.features.indices] += direction[output] * split.features.data
            by_count[split.counts.indices] += direction[output] * split.counts.data
        terms = by_count[p:] + np.bincount(self._features.term_of, by_feature[p:], minlength=len(self._terms.values))
        present = np.zeros(p, dtype=bool)
        present[self._columns] = True
        absent = np.flatnonzero(~present & (by_count[:p] != 0))
        pieces = np.zeros(len(self._counts))
        pieces[self._held] = by_feature[self._columns] + by_count[self._columns]
        return _Split(base, pieces, (absent, by_count[absent]), terms)

    def _outputs(self, counts: Floats) -> Logits:
        """Return the outputs for rows of counts of the distinct pieces, ``(b, d)``."""
        return self._head.outputs(self._inputs(counts))

    def _reference(self) -> Inputs:
        """Return the inputs of an empty graph, so that what a node adds is the difference that its presence makes.

        Compared with a mean graph instead, the few polar atoms of a molecule would get a positive contribution where
        polar surface is bad, and pieces and terms that grow with the graph would not balance each other.
        """
        none, zeros = (np.zeros((1, 0)), np.zeros(0, dtype=np.int64)), np.zeros((1, len(self._terms.values)))
        p = len(self._features.vocabulary)
        return Inputs(
            _beside(*none, self._features.term_features(zeros), p), _beside(*none, self._features.term_counts(zeros), p)
        )

    def _inputs(self, counts: Floats) -> Inputs:
        held, p = counts[:, self._held], len(self._features.vocabulary)
        values = held if self._features.transform == COUNT else np.log1p(held)
        return Inputs(
            _beside(values * self._features.scales[self._columns], self._columns, self._term_features, p),
            _beside(held, self._columns, self._term_counts, p),
        )


@dataclass(frozen=True, eq=False)
class _Split:
    """A margin as a sum: base, distinct pieces (d,), columns and contributions of absent templates, terms."""

    base: float
    pieces: Floats
    absent: tuple[IntArray, Floats]
    terms: Floats


def _beside(values: Floats, columns: IntArray, terms: Floats, p: int) -> csr_array:
    """Return rows with values in some of p columns, and the terms to their right."""
    data = np.concatenate([values, np.repeat(terms, len(values), axis=0)], axis=1)
    places = np.concatenate([columns, p + np.arange(terms.shape[1])])
    rows = np.arange(len(data) + 1) * data.shape[1]
    return csr_array((data.ravel(), np.tile(places, len(data)), rows), shape=(len(data), p + terms.shape[1]))
