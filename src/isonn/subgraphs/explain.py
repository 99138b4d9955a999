r"""Explanations of the vocabulary model: which pieces a graph holds, and what each adds to the score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from isonn.explain.explanation import Logits, MatchedGraph, Occurrences, Regions, Template
from isonn.graphs.graph import Graph
from isonn.heads import Head
from isonn.packing import IntArray
from isonn.subgraphs.bank import (
    MAX_EDGE_CODE,
    CodedGraphs,
    compiled,
    counter_of,
    cut_graph,
    edge_numbers,
    region_codes,
)
from isonn.subgraphs.canonical import canonical_regions
from isonn.subgraphs.views import Encoding
from isonn.subgraphs.vocabulary import Vocabulary
from isonn.targets import Target


class Templates(Sequence[Template]):
    """The templates of a vocabulary, made when asked for; it prints as one line."""

    def __init__(self, vocabulary: Vocabulary, encoding: Encoding, names: dict[str, dict[Any, str]]) -> None:
        self._vocabulary, self._encoding, self._names = vocabulary, encoding, names

    def __len__(self) -> int:
        return len(self._vocabulary)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(len(self))[index]]
        column = range(len(self))[index]
        level = next(own for own in reversed(self._vocabulary.levels) if own.first <= column)
        row = level.rows[column - level.first].astype(np.int64)
        if level.kind != "subgraphs":
            return Template(np.zeros((1, 1), dtype=np.float32), texts=(f"neighbourhood of radius {level.size}",))
        return self._encoding.hard_template(level.view, level.size, row, self._names)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(own)} of {own.size}" for own in self._vocabulary.levels if own.kind == "subgraphs")
        return f"Templates({len(self)}: {sizes} nodes)"


class VocabularyMatches(MatchedGraph):
    """The matches of a vocabulary model in one graph: every subgraph that is a template, and what it adds.

    Of a linear head, one occurrence of piece t of a level adds

    .. math:: \\frac{w_t u_t - s u_t^2}{n_t} + \\frac{s}{N}, \\qquad u_t = x_t / a, \\quad s = \\sum_t w_t u_t

    with :math:`n_t` its occurrences, N all occurrences of the level and :math:`w_t` the weight times the level's scale.
    The second and third term give back the share of the norm: with more of t the other pieces count for less. Over a
    level they cancel, so the contributions of all occurrences sum to the level's score exactly. Pieces that are no
    templates take part in the norm alone. Without the norm an occurrence adds :math:`w_t x_t / n_t`.

    Args:
        graph: the graph.
        levels: of each distinct piece its level, ``(d,)``; columns: its column, -1 for pieces that are no templates;
            counts: how often it occurs.
        nodes: of each occurrence, padded with -1, ``(R, k)``; piece: which of the d it is; weights: how many it stands
            for where subgraphs were sampled.
        size_part: the features of plain size, ``(1, q)``.
    """

    def __init__(
        self,
        graph: Graph,
        templates: Sequence[Template],
        vocabulary: Vocabulary,
        head: Head,
        target: Target,
        levels: IntArray,
        columns: IntArray,
        nodes: IntArray,
        piece: IntArray,
        weights: NDArray[np.float64],
        size_part: NDArray[np.float64],
    ) -> None:
        self.graph, self.templates, self.target = graph, templates, target
        self._vocabulary, self._head, self._size = vocabulary, head, size_part
        self._levels, self._columns, self._piece, self._weights = levels, columns, piece, weights
        self._counts = np.bincount(piece, weights, minlength=len(levels)).astype(np.float64)
        self._known = np.flatnonzero(columns[piece] >= 0)
        self._nodes = nodes
        shown = nodes[self._known]
        self.occurrences = Occurrences(
            shown, None, np.arange(len(shown)), columns[piece[self._known]], np.zeros(len(shown))
        )

    undirected = True

    @property
    def exact(self) -> bool:
        """Whether contributions add up to the score."""
        return self._head.additive

    def logits(self) -> Logits:
        """Outputs for the graph as it is."""
        return np.asarray(self._outputs(self._counts[None])[0])

    def base_logits(self) -> Logits:
        """Outputs when the graph holds no piece at all: intercept and plain size."""
        return np.asarray(self._outputs(np.zeros((1, len(self._counts))))[0])

    def logits_without(self, rows: IntArray) -> Logits:
        """Outputs with these occurrences taken out of the counts."""
        taken = self._known[rows]
        gone = np.bincount(self._piece[taken], self._weights[taken], minlength=len(self._counts))
        return np.asarray(self._outputs(np.maximum(self._counts - gone, 0)[None])[0])

    def logits_without_each(self) -> tuple[IntArray, Logits]:
        """Outputs without one occurrence, for each."""
        one = np.zeros(len(self._counts))
        np.maximum.at(one, self._piece, self._weights)
        without = self._outputs(np.maximum(self._counts - np.diag(one), 0))
        return np.arange(len(self._known)), without[self._piece[self._known]]

    def logits_without_template(self) -> Logits:
        """Outputs with one template switched off, ``(templates, outputs)``."""
        every = np.repeat(self.logits()[None], len(self.templates), axis=0)
        held = np.flatnonzero(self._columns >= 0)
        every[self._columns[held]] = self._outputs(self._counts * (1 - np.eye(len(self._counts))))[held]
        return every

    def contributions(self, column: int) -> tuple[IntArray, NDArray[np.float64]]:
        """What each occurrence of a template adds: exact for an additive head, else by taking its piece away."""
        return np.arange(len(self._known)), self.shares(column)[self._known]

    def region_contributions(self, column: int, rows: IntArray, contributions: NDArray[np.float64]) -> Regions:
        """Every occurrence is a region of its own, also of pieces that are no templates."""
        return Regions(self._nodes, None, self.shares(column), np.ones(len(self._nodes)))

    def template_contributions(
        self, column: int, rows: IntArray, contributions: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The sum over the occurrences of each template."""
        return np.bincount(self.occurrences.template, contributions, minlength=len(self.templates)).astype(np.float64)

    def shares(self, column: int) -> NDArray[np.float64]:
        """What every occurrence adds, also of pieces that are no templates, ``(R,)``."""
        linear = self._head.coefficients()
        if linear is None:
            without = self._outputs(self._counts * (1 - np.eye(len(self._counts))))
            worth = self.target.margin(self.logits(), column) - self.target.margin(without, column)
            each = worth / np.maximum(self._counts, 1e-12)
        else:
            each = self._exact(linear[0], column)
        return each[self._piece] * self._weights

    def _exact(self, coef: NDArray[np.float64], column: int) -> NDArray[np.float64]:
        """What one occurrence of each piece adds, ``(d,)``."""
        outputs = coef.shape[0]
        direction = self.target.margin(np.eye(outputs), column) - self.target.margin(np.zeros(outputs), column)
        weight = np.zeros(len(self._columns))
        known = self._columns >= 0
        weight[known] = (direction @ coef)[self._columns[known]]
        scales = np.array([level.scale for level in self._vocabulary.levels])[self._levels]
        logs = np.log1p(self._counts)
        if not self._vocabulary.row_norm:
            return np.asarray(weight * scales * logs / np.maximum(self._counts, 1e-12))
        number = len(self._vocabulary.levels)
        norms = np.sqrt(np.bincount(self._levels, logs**2, minlength=number))
        unit = logs / np.maximum(norms, 1e-300)[self._levels]
        worth = weight * scales * unit
        score = np.bincount(self._levels, worth, minlength=number)
        every = np.bincount(self._levels, self._counts, minlength=number)
        share = (score / np.maximum(every, 1e-12))[self._levels]
        return np.asarray((worth - score[self._levels] * unit**2) / np.maximum(self._counts, 1e-12) + share)

    def order(self, row: int) -> IntArray | None:
        """Nodes are in no particular order: a piece is matched as a whole."""
        return None

    def cells(self, row: int) -> NDArray[np.float64]:
        """The adjacency matrix of a match."""
        nodes = self.occurrences.nodes[row]
        nodes = nodes[nodes >= 0]
        return self.graph.adjacency[np.ix_(nodes, nodes)]

    def count_equal(self, other: MatchedGraph, row: int) -> int:
        """How often this graph holds the template of another graph's match."""
        column = int(other.occurrences.template[row])
        return round(float(self._counts[self._columns == column].sum()))

    def _outputs(self, counts: NDArray[np.float64]) -> Logits:
        """Outputs for rows of counts of the distinct pieces, ``(b, d)``."""
        levels = self._vocabulary.levels
        logs = np.log1p(counts)
        factor = np.array([level.scale for level in levels])[self._levels]
        if self._vocabulary.row_norm:
            member = np.zeros((len(self._levels), len(levels)))
            member[np.arange(len(self._levels)), self._levels] = 1.0
            norms = np.sqrt(logs**2 @ member)
            logs = logs / np.where(norms > 0, norms, 1.0)[:, self._levels]
        known = np.flatnonzero(self._columns >= 0)
        order = known[np.argsort(self._columns[known])]
        values = (logs * factor)[:, order]
        width = len(self._vocabulary) + self._size.shape[1]
        columns = np.concatenate([self._columns[order], len(self._vocabulary) + np.arange(self._size.shape[1])])
        data = np.concatenate([values, np.repeat(self._size, len(values), axis=0)], axis=1)
        rows = np.arange(0, data.size + 1, data.shape[1])
        return self._head.outputs(
            csr_array((data.ravel(), np.tile(columns, len(data)), rows), shape=(len(data), width))
        )


@dataclass(frozen=True, eq=False)
class Found:
    """Every subgraph of one graph, in every view.

    Attributes:
        nodes: of each, padded with -1, ``(R, k)``.
        piece: which distinct piece it is, ``(R,)``.
        weights: how many subgraphs it stands for; 1 unless they were sampled.
        rows: view, size and canonical codes of each distinct piece, ``(d, 2 + width)``.
    """

    nodes: IntArray
    piece: IntArray
    weights: NDArray[np.float64]
    rows: IntArray

    def place(self, vocabulary: Vocabulary) -> tuple[IntArray, IntArray]:
        """Level and column of each distinct piece; -1 for pieces that are no templates."""
        levels, columns = np.zeros(len(self.rows), dtype=np.int64), np.full(len(self.rows), -1, dtype=np.int64)
        for number, level in enumerate(vocabulary.levels):
            own = np.flatnonzero((self.rows[:, 0] == level.view) & (self.rows[:, 1] == level.size))
            found = level.find(self.rows[own, 2 : 2 + level.size * (level.size + 1) // 2])
            levels[own], columns[own] = number, np.where(found >= 0, found + level.first, -1)
        return levels, columns


def find_occurrences(coded: CodedGraphs, limit: int, seed: int) -> Found:
    """Every subgraph of a single coded graph, with its nodes, in one pass."""
    sizes = sorted({k for view in coded.views for k in view.sizes})
    widest = sizes[-1]
    if not compiled() or any(view.edge_codes.max(initial=0) > MAX_EDGE_CODE for view in coded.views):
        return _found_in_numpy(coded, sizes, limit, seed)
    counter = counter_of(coded, limit)
    _, _, _, skipped = counter.count(0, 1, emit=True)
    nodes, columns = [counter.found_nodes.astype(np.int64)], [counter.found_columns.astype(np.int64)]
    weights = [np.ones(len(columns[0]))]
    least = min((size for _, size in skipped), default=widest + 1)
    for k in (k for k in sizes if k >= least):
        cut = cut_graph(coded, 0, k, limit, seed)
        for number, view in enumerate(coded.views):
            if k in view.sizes:
                nodes.append(np.pad(cut.nodes, ((0, 0), (0, widest - k)), constant_values=-1))
                columns.append(counter.columns_of(cut.nodes, number).astype(np.int64))
                weights.append(np.ones(len(cut.nodes)) if cut.weights is None else cut.weights)
    every = np.concatenate(nodes)
    every[np.maximum.accumulate(every < 0, axis=1)] = -1  # only the first cell behind a small piece is marked
    distinct, piece = np.unique(np.concatenate(columns), return_inverse=True)
    return Found(every, piece.reshape(-1), np.concatenate(weights), counter.columns[distinct].astype(np.int64))


def _found_in_numpy(coded: CodedGraphs, sizes: Sequence[int], limit: int, seed: int) -> Found:
    """The same without compiled code."""
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
