"""Explanations of the subgraph model: the pieces in a graph and their contributions to the score."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from isonn.explain.matched import Logits, MatchedGraph, Occurrences, Regions
from isonn.explain.template import Template
from isonn.graphs.graph import Graph
from isonn.heads import Head
from isonn.packing import Floats, IntArray
from isonn.subgraphs.count import Listed
from isonn.subgraphs.features import SumFeatures
from isonn.targets import Target


class SubgraphMatches(MatchedGraph):
    r"""The matches of a subgraph model in one graph: every subgraph that is a template, with its contribution.

    With a linear head, one occurrence of piece t of a block (a view and a size) contributes

    .. math:: \frac{w_t u_t - s u_t^2}{n_t} + \frac{s}{N}, \qquad u_t = x_t / a, \quad s = \sum_t w_t u_t

    with :math:`n_t` its occurrences, N all occurrences of the block and :math:`w_t` the weight times the block's scale.
    The second and third terms account for the norm: with more of t the other pieces count less. They cancel over a
    block, so the contributions of all occurrences sum exactly to the block's score. Pieces that are not templates
    affect only the norm. Without the norm an occurrence contributes :math:`w_t x_t / n_t`.

    Args:
        graph: the graph.
        templates: the templates of the model.
        features: the conversion of counts to features.
        head: the head.
        target: the kind of prediction.
        listed: all subgraphs of the graph.
        columns: the column of each distinct piece of ``listed``, or -1.
        size_terms: the size features, ``(1, q)``.
    """

    undirected = True

    def __init__(
        self,
        graph: Graph,
        templates: Sequence[Template],
        features: SumFeatures,
        head: Head,
        target: Target,
        listed: Listed,
        columns: IntArray,
        size_terms: Floats,
    ) -> None:
        self.graph, self.templates, self.target = graph, templates, target
        self._features, self._head, self._size = features, head, size_terms
        self._piece, self._weights = listed.piece, listed.weights
        self._counts = np.bincount(listed.piece, listed.weights, minlength=len(listed.rows)).astype(np.float64)
        keys = {(block.view, block.size): number for number, block in enumerate(features.vocabulary.blocks)}
        self._blocks = np.array([keys[view, size] for view, size in listed.rows[:, :2].tolist()], dtype=np.int64)
        # the pieces that are templates, in the order of their columns
        pieces = np.flatnonzero(columns >= 0)
        self._held = pieces[np.argsort(columns[pieces])]
        self._columns = columns[self._held]
        # a match is an occurrence of a piece that is a template
        region = np.flatnonzero(columns[listed.piece] >= 0)
        self.occurrences = Occurrences(listed.nodes, None, region, columns[listed.piece[region]], np.zeros(len(region)))

    @property
    def exact(self) -> bool:
        """Whether contributions add up to the score."""
        return self._head.additive

    def logits(self) -> Logits:
        """Return the outputs for the graph as it is."""
        return self._logits

    @cached_property
    def _logits(self) -> Logits:
        return np.asarray(self._outputs(self._counts[None])[0])

    def base_logits(self) -> Logits:
        """Return the outputs without any piece: intercept and size terms."""
        return np.asarray(self._outputs(np.zeros((1, len(self._counts))))[0])

    def logits_without(self, rows: IntArray) -> Logits:
        """Return the outputs without the occurrences of these matches."""
        taken = np.unique(self.occurrences.region[rows])
        gone = np.bincount(self._piece[taken], self._weights[taken], minlength=len(self._counts))
        return np.asarray(self._outputs(np.maximum(self._counts - gone, 0)[None])[0])

    def logits_without_each(self) -> tuple[IntArray, Logits]:
        """Return the outputs without one occurrence, for each match."""
        largest = np.zeros(len(self._counts))
        np.maximum.at(largest, self._piece, self._weights)
        without = self._outputs(np.maximum(self._counts - np.diag(largest), 0))
        return np.arange(len(self.occurrences)), without[self._piece[self.occurrences.region]]

    def logits_without_template(self) -> Logits:
        """Return the outputs with one template switched off, ``(templates, outputs)``."""
        every = np.repeat(self.logits()[None], len(self.templates), axis=0)
        values = np.repeat(self._values(self._counts[None]), len(self._held), axis=0)
        every[self._columns] = self._head_outputs(values * (1 - np.eye(len(self._held))))
        return every

    def contributions(self, column: int) -> tuple[IntArray, Floats]:
        """Return the contribution of each match: exact for an additive head, else by removing its piece."""
        return np.arange(len(self.occurrences)), self._shares(column)[self.occurrences.region]

    def region_contributions(self, column: int, rows: IntArray, contributions: Floats) -> Regions:
        """Return every occurrence as a region, including pieces that are not templates."""
        return Regions(self.occurrences.nodes, None, self._shares(column), np.ones(len(self._piece)))

    def template_contributions(self, column: int, rows: IntArray, contributions: Floats) -> Floats:
        """Return the sum over the matches of each template."""
        sums = np.bincount(self.occurrences.template, contributions, minlength=len(self.templates))
        return sums.astype(np.float64)

    def _shares(self, column: int) -> Floats:
        """Return the contribution of every occurrence, including pieces that are not templates, ``(R,)``."""
        linear = self._head.coefficients()
        if linear is None:
            without = self._outputs(self._counts * (1 - np.eye(len(self._counts))))
            worth = self.target.margin(self.logits(), column) - self.target.margin(without, column)
            each = worth / np.maximum(self._counts, 1e-12)
        else:
            each = self._worth_of_one(linear[0], column)
        return np.asarray(each[self._piece] * self._weights)

    def _worth_of_one(self, coef: Floats, column: int) -> Floats:
        """Return the contribution of one occurrence of each piece with a linear head, ``(d,)``."""
        outputs = coef.shape[0]
        direction = self.target.margin(np.eye(outputs), column) - self.target.margin(np.zeros(outputs), column)
        weight = np.zeros(len(self._counts))
        weight[self._held] = (direction @ coef[:, self._columns]) * self._features.scales[self._columns]
        logs = np.log1p(self._counts)
        if not self._features.row_norm:
            return np.asarray(weight * logs / np.maximum(self._counts, 1e-12))
        number = len(self._features.vocabulary.blocks)
        norms = np.sqrt(np.bincount(self._blocks, logs**2, minlength=number))
        unit = logs / np.maximum(norms, 1e-300)[self._blocks]
        worth = weight * unit
        score = np.bincount(self._blocks, worth, minlength=number)
        every = np.bincount(self._blocks, self._counts, minlength=number)
        share = (score / np.maximum(every, 1e-12))[self._blocks]
        return np.asarray((worth - score[self._blocks] * unit**2) / np.maximum(self._counts, 1e-12) + share)

    def order(self, row: int) -> IntArray | None:
        """Return None, because a piece is matched as a whole."""
        return None

    def cells(self, row: int) -> Floats:
        """Return the adjacency matrix of a match."""
        nodes = self.occurrences.nodes[self.occurrences.region[row]]
        nodes = nodes[nodes >= 0]
        return self.graph.adjacency[np.ix_(nodes, nodes)]

    def count_equal(self, other: MatchedGraph, row: int) -> int:
        """Return how often this graph contains the template of another graph's match."""
        column = int(other.occurrences.template[row])
        return round(float(self._counts[self._held[self._columns == column]].sum()))

    def _values(self, counts: Floats) -> Floats:
        """Return the features of the templates for rows of counts of the distinct pieces, ``(b, held)``."""
        values = np.log1p(counts[:, self._held])
        if self._features.row_norm:
            block = np.zeros((len(self._blocks), len(self._features.vocabulary.blocks)))
            block[np.arange(len(self._blocks)), self._blocks] = 1.0
            norms = np.sqrt(np.log1p(counts) ** 2 @ block)
            values = values / np.where(norms > 0, norms, 1.0)[:, self._blocks[self._held]]
        return np.asarray(values * self._features.scales[self._columns])

    def _outputs(self, counts: Floats) -> Logits:
        return self._head_outputs(self._values(counts))

    def _head_outputs(self, values: Floats) -> Logits:
        """Return the outputs for features of the held templates, ``(b, held)``."""
        linear, p = self._head.coefficients(), len(self._features.vocabulary)
        if linear is not None:
            coef, intercept = linear
            return np.asarray(values @ coef[:, self._columns].T + self._size @ coef[:, p:].T + intercept)
        columns = np.concatenate([self._columns, p + np.arange(self._size.shape[1])])
        data = np.concatenate([values, np.repeat(self._size, len(values), axis=0)], axis=1)
        rows = np.arange(len(data) + 1) * data.shape[1]
        shape = (len(data), p + self._size.shape[1])
        return self._head.outputs(csr_array((data.ravel(), np.tile(columns, len(data)), rows), shape=shape))
