"""Explanations of the vocabulary model: the pieces in a graph and their contributions to the score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from isonn.explain.explanation import Logits, MatchedGraph, Occurrences, Regions, Template
from isonn.graphs.graph import Graph
from isonn.heads import Head
from isonn.packing import Floats, IntArray
from isonn.subgraphs.bank import (
    CodedGraphs,
    counter_of,
    cut_graph,
    edge_numbers,
    fits_kernels,
    region_codes,
)
from isonn.subgraphs.enumerate import canonical_regions
from isonn.subgraphs.views import Encoding
from isonn.subgraphs.vocabulary import Vocabulary
from isonn.targets import Target


class Templates(Sequence[Template]):
    """The templates of a vocabulary, created on access and printed as one line."""

    def __init__(self, vocabulary: Vocabulary, encoding: Encoding, names: dict[str, dict[Any, str]]) -> None:
        self._vocabulary, self._encoding, self._names = vocabulary, encoding, names

    def __len__(self) -> int:
        return len(self._vocabulary)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(len(self))[index]]
        column = range(len(self))[index]
        group = self._vocabulary.group_of(column)
        if group.kind != "subgraphs":
            return Template(np.zeros((1, 1), dtype=np.float32), texts=(f"neighbourhood of radius {group.size}",))
        accepted = group.rows_of(column).astype(np.int64)
        return self._encoding.hard_template(group.view, group.size, accepted, self._names)

    def __repr__(self) -> str:
        sizes: dict[str, int] = {}
        for own in self._vocabulary.groups:
            what = f"{own.size} node{'s' * (own.size != 1)}" if own.kind == "subgraphs" else "a neighbourhood"
            sizes[what] = sizes.get(what, 0) + len(own)
        return f"Templates({len(self)}: {', '.join(f'{count} of {what}' for what, count in sizes.items())})"


class VocabularyMatches(MatchedGraph):
    r"""The matches of a vocabulary model in one graph: every subgraph that is a template, with its contribution.

    With a linear head, one occurrence of piece t of a group contributes

    .. math:: \frac{w_t u_t - s u_t^2}{n_t} + \frac{s}{N}, \qquad u_t = x_t / a, \quad s = \sum_t w_t u_t

    with :math:`n_t` its occurrences, N all occurrences of the group and :math:`w_t` the weight times the group's scale.
    The second and third terms account for the norm: with more of t the other pieces count less. They cancel over a
    group, so the contributions of all occurrences sum exactly to the group's score. Pieces that are not templates
    affect only the norm. Without the norm an occurrence contributes :math:`w_t x_t / n_t`.

    Args:
        graph: the graph.
        found: all its subgraphs.
        size_part: the size features, ``(1, q)``.
        model_outputs: outputs of the model itself, if ``head`` is its student.
    """

    undirected = True

    def __init__(
        self,
        graph: Graph,
        templates: Sequence[Template],
        vocabulary: Vocabulary,
        head: Head,
        target: Target,
        found: Found,
        size_part: Floats,
        model_outputs: Logits | None = None,
    ) -> None:
        self.graph, self.templates, self.target = graph, templates, target
        self._vocabulary, self._head, self._size, self._model = vocabulary, head, size_part, model_outputs
        self._groups, pair_piece, columns = found.place(vocabulary)
        self._piece, self._weights = found.piece, found.weights
        self._counts = np.bincount(found.piece, found.weights, minlength=len(found.rows)).astype(np.float64)
        # templates in this graph, and the pieces each accepts
        self._held, local = np.unique(columns, return_inverse=True)
        self._pair_piece, self._pair_held = pair_piece, local.reshape(-1)
        self._held_groups = np.zeros(len(self._held), dtype=np.int64)
        self._held_groups[self._pair_held] = self._groups[pair_piece]
        # a match is an occurrence of a piece with a template that accepts it
        self._accepting = np.bincount(pair_piece, minlength=len(found.rows))
        first = np.concatenate([[0], np.cumsum(self._accepting)])
        many = self._accepting[found.piece]
        region = np.repeat(np.arange(len(found.piece)), many)
        pair = np.repeat(first[found.piece] - np.cumsum(many) + many, many) + np.arange(len(region))
        self._match_held = self._pair_held[pair]
        self.occurrences = Occurrences(found.nodes, None, region, self._held[self._match_held], np.zeros(len(region)))

    @property
    def exact(self) -> bool:
        """Whether contributions add up to the score."""
        return self._head.additive

    def model_logits(self) -> Logits:
        """Return the model's outputs for the graph; `logits` are those of its student if it has one."""
        return self.logits() if self._model is None else self._model

    def logits(self) -> Logits:
        """Return the outputs for the graph as it is."""
        return self._logits

    @cached_property
    def _logits(self) -> Logits:
        return np.asarray(self._outputs(self._counts[None])[0])

    def base_logits(self) -> Logits:
        """Return the outputs without any piece: intercept and size features."""
        return np.asarray(self._outputs(np.zeros((1, len(self._counts))))[0])

    def logits_without(self, rows: IntArray) -> Logits:
        """Return the outputs without the occurrences of these matches."""
        taken = np.unique(self.occurrences.region[rows])
        gone = np.bincount(self._piece[taken], self._weights[taken], minlength=len(self._counts))
        return np.asarray(self._outputs(np.maximum(self._counts - gone, 0)[None])[0])

    def logits_without_each(self) -> tuple[IntArray, Logits]:
        """Return the outputs without one occurrence, for each match."""
        one = np.zeros(len(self._counts))
        np.maximum.at(one, self._piece, self._weights)
        without = self._outputs(np.maximum(self._counts - np.diag(one), 0))
        return np.arange(len(self.occurrences)), without[self._piece[self.occurrences.region]]

    def logits_without_template(self) -> Logits:
        """Return the outputs with one template switched off, ``(templates, outputs)``."""
        every = np.repeat(self.logits()[None], len(self.templates), axis=0)
        values = np.repeat(self._values(self._counts[None]), len(self._held), axis=0)
        every[self._held] = self._head_outputs(values * (1 - np.eye(len(self._held))))
        return every

    def contributions(self, column: int) -> tuple[IntArray, Floats]:
        """Return the contribution of each match: exact for an additive head, else by removing its piece."""
        rows, linear = np.arange(len(self.occurrences)), self._head.coefficients()
        if linear is None or self._vocabulary.row_norm:
            return rows, self.shares(column)[self.occurrences.region]
        return rows, self._unit_worth(linear[0], column)[self._match_held] * self._weights[self.occurrences.region]

    def region_contributions(self, column: int, rows: IntArray, contributions: Floats) -> Regions:
        """Return every occurrence as a region, including pieces that are not templates."""
        return Regions(self.occurrences.nodes, None, self.shares(column), np.ones(len(self._piece)))

    def template_contributions(self, column: int, rows: IntArray, contributions: Floats) -> Floats:
        """Return the sum over the matches of each template."""
        found = np.bincount(self.occurrences.template, contributions, minlength=len(self.templates))
        return found.astype(np.float64)

    def shares(self, column: int) -> Floats:
        """Return the contribution of every occurrence, including pieces that are not templates, ``(R,)``."""
        linear = self._head.coefficients()
        if linear is None:
            without = self._outputs(self._counts * (1 - np.eye(len(self._counts))))
            worth = self.target.margin(self.logits(), column) - self.target.margin(without, column)
            each = worth / np.maximum(self._counts, 1e-12)
        elif self._vocabulary.row_norm:
            each = self._norm_corrected(linear[0], column)
        else:
            each = self._by_piece(self._unit_worth(linear[0], column))
        return np.asarray(each[self._piece] * self._weights)

    def evidence(self, table: Floats, column: int) -> Floats:
        """Return the evidence of every occurrence: the mean table entry of the templates that accept it."""
        sums = self._by_piece(table[column, self._held])
        return np.asarray((sums / np.maximum(self._accepting, 1))[self._piece])

    def _by_piece(self, values: Floats) -> Floats:
        """Sum the values of the templates that accept each piece, ``(d,)``."""
        return np.bincount(self._pair_piece, values[self._pair_held], minlength=len(self._counts)).astype(np.float64)

    def _by_template(self, counts: Floats) -> Floats:
        """Sum the counts ``(b, d)`` of the pieces each template accepts, ``(b, h)``."""
        if len(self._held) == len(self._pair_piece):  # every template accepts one piece
            found = np.empty((len(counts), len(self._held)))
            found[:, self._pair_held] = counts[:, self._pair_piece]
            return found
        found = np.zeros((len(self._held), len(counts)))
        np.add.at(found, self._pair_held, counts.T[self._pair_piece])
        return found.T

    def _direction(self, coef: Floats, column: int) -> Floats:
        """Return the effect of one unit of each feature on the margin, scale included, ``(h,)``."""
        outputs = coef.shape[0]
        direction = self.target.margin(np.eye(outputs), column) - self.target.margin(np.zeros(outputs), column)
        return np.asarray((direction @ coef[:, self._held]) * self._vocabulary.scales[self._held])

    def _unit_worth(self, coef: Floats, column: int) -> Floats:
        """Return the contribution of one occurrence of each template without the norm, ``(h,)``."""
        counts = self._by_template(self._counts[None])[0]
        return np.asarray(self._direction(coef, column) * np.log1p(counts) / np.maximum(counts, 1e-12))

    def _norm_corrected(self, coef: Floats, column: int) -> Floats:
        """Return the contribution of one occurrence of each piece with the norm, ``(d,)``."""
        logs, number = np.log1p(self._counts), len(self._vocabulary.groups)
        norms = np.sqrt(np.bincount(self._groups, logs**2, minlength=number))
        unit = logs / np.maximum(norms, 1e-300)[self._groups]
        worth = self._by_piece(self._direction(coef, column)) * unit
        score = np.bincount(self._groups, worth, minlength=number)
        every = np.bincount(self._groups, self._counts, minlength=number)
        share = (score / np.maximum(every, 1e-12))[self._groups]
        return np.asarray((worth - score[self._groups] * unit**2) / np.maximum(self._counts, 1e-12) + share)

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
        return round(float(self._by_template(self._counts[None])[0, self._held == column].sum()))

    def _values(self, counts: Floats) -> Floats:
        """Return the template features for rows of counts of the distinct pieces, ``(b, h)``."""
        values = np.log1p(self._by_template(counts))
        if self._vocabulary.row_norm:
            group = np.zeros((len(self._groups), len(self._vocabulary.groups)))
            group[np.arange(len(self._groups)), self._groups] = 1.0
            norms = np.sqrt(np.log1p(counts) ** 2 @ group)
            values = values / np.where(norms > 0, norms, 1.0)[:, self._held_groups]
        return np.asarray(values * self._vocabulary.scales[self._held])

    def _outputs(self, counts: Floats) -> Logits:
        return self._head_outputs(self._values(counts))

    def _head_outputs(self, values: Floats) -> Logits:
        """Return the outputs for template features ``(b, h)``."""
        linear, p = self._head.coefficients(), len(self._vocabulary)
        if linear is not None:
            coef, intercept = linear
            return np.asarray(values @ coef[:, self._held].T + self._size @ coef[:, p:].T + intercept)
        columns = np.concatenate([self._held, p + np.arange(self._size.shape[1])])
        data = np.concatenate([values, np.repeat(self._size, len(values), axis=0)], axis=1)
        rows = np.arange(len(data) + 1) * data.shape[1]
        shape = (len(data), p + self._size.shape[1])
        return self._head.outputs(csr_array((data.ravel(), np.tile(columns, len(data)), rows), shape=shape))


@dataclass(frozen=True, eq=False)
class Found:
    """All subgraphs of one graph, in every view.

    Attributes:
        nodes: nodes of each subgraph, padded with -1, ``(R, k)``.
        piece: the number of its distinct piece, ``(R,)``.
        weights: number of subgraphs it stands for; 1 unless they were sampled.
        rows: view, size and canonical codes of each distinct piece, ``(d, 2 + width)``.
    """

    nodes: IntArray
    piece: IntArray
    weights: Floats
    rows: IntArray

    def place(self, vocabulary: Vocabulary) -> tuple[IntArray, IntArray, IntArray]:
        """Return each piece's group, and pairs of a piece and the column of a template that accepts it."""
        groups = np.zeros(len(self.rows), dtype=np.int64)
        pieces, columns = [], []
        for number, group in enumerate(vocabulary.groups):
            own = np.flatnonzero((self.rows[:, 0] == group.view) & (self.rows[:, 1] == group.size))
            groups[own] = number
            row, template = group.accepts(self.rows[own, 2 : 2 + group.size * (group.size + 1) // 2])
            pieces.append(own[row])
            columns.append(template + group.first)
        piece, column = np.concatenate(pieces), np.concatenate(columns)
        order = np.argsort(piece, kind="stable")
        return groups, piece[order], column[order]


def find_occurrences(coded: CodedGraphs, limit: int, seed: int) -> Found:
    """Find all subgraphs of a single coded graph, with their nodes, in one pass."""
    sizes = sorted({k for view in coded.views for k in view.sizes})
    widest = sizes[-1]
    if not fits_kernels(coded):
        return _found_in_numpy(coded, sizes, limit, seed)
    counter = counter_of(coded, limit)
    _, _, _, skipped = counter.count(emit=True)
    nodes, columns = [counter.found_nodes.astype(np.int64)], [counter.found_columns.astype(np.int64)]
    weights = [np.ones(len(columns[0]))]
    least = min((size for _, size in skipped), default=widest + 1)
    for k in (k for k in sizes if k >= least):
        cut = cut_graph(coded, 0, k, limit, seed)
        found = counter.columns_of(cut.nodes).astype(np.int64)
        for number, view in enumerate(coded.views):
            if k in view.sizes:
                nodes.append(np.pad(cut.nodes, ((0, 0), (0, widest - k)), constant_values=-1))
                columns.append(found[:, number])
                weights.append(np.ones(len(cut.nodes)) if cut.weights is None else cut.weights)
    every = np.concatenate(nodes)
    every[np.maximum.accumulate(every < 0, axis=1)] = -1  # only the first cell after a small piece is marked
    distinct, piece = np.unique(np.concatenate(columns), return_inverse=True)
    return Found(every, piece.reshape(-1), np.concatenate(weights), counter.rows(distinct).astype(np.int64))


def _found_in_numpy(coded: CodedGraphs, sizes: Sequence[int], limit: int, seed: int) -> Found:
    """Find all subgraphs without compiled code."""
    numbers, widest = edge_numbers(coded), sizes[-1]
    nodes, rows, weights = [], [], []
    for k in sizes:
        cut = cut_graph(coded, 0, k, limit, seed)
        for number, view in enumerate(coded.views):
            if k in view.sizes:
                codes = canonical_regions(region_codes(cut.nodes, numbers, view), k)
                wide = np.zeros((len(codes), 2 + widest * (widest + 1) // 2), dtype=np.int64)
                wide[:, 0], wide[:, 1], wide[:, 2 : 2 + codes.shape[1]] = number, k, codes
                rows.append(wide)
                nodes.append(np.pad(cut.nodes, ((0, 0), (0, widest - k)), constant_values=-1))
                weights.append(np.ones(len(cut.nodes)) if cut.weights is None else cut.weights)
    distinct, piece = np.unique(np.concatenate(rows), axis=0, return_inverse=True)
    return Found(np.concatenate(nodes), piece.reshape(-1), np.concatenate(weights), distinct)
