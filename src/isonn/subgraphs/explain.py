r"""Matches of a model that pools over regions, and that model without some of them.

Such a model sums, for each template i and temperature s, one term for every region r that it is compared with,
and its head reads these sums :math:`S_{is}`. Taking the match of r and i away takes its terms out of the sums; all
other terms stay as they are.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from isonn.explain.explanation import Logits, MatchedGraph, Occurrences, Template
from isonn.graphs.graph import Graph
from isonn.matching.exact import exact_flat_winners
from isonn.matching.permutations import permutations
from isonn.packing import IntArray
from isonn.subgraphs.bank import CodedGraphs, cut_graph, edge_numbers, region_codes
from isonn.subgraphs.canonical import canonical_regions
from isonn.subgraphs.soft import PooledTemplates, SubgraphModel
from isonn.subgraphs.views import Encoding

#: Numbers in one block of sums with a match left out: 64 MB of float64.
BLOCK_NUMBERS = 2**23


class PooledMatches(MatchedGraph):
    """The matches of a pooling model in one graph.

    Args:
        graph: the graph.
        templates: the model's c templates.
        occurrences: the matches.
        terms: what each match adds to the sums of its template, shape (r, temperatures).
        codes: one per region, R of them, numbers or bytes or anything hashable: regions have the same code, in
            this graph and in others, exactly when they are equal up to relabelling.
        logits_of: the rest of the model, from sums (b, c, temperatures) to logits (b, outputs), in float64.
        order: from a match's row to the place in its region of each template node.
        weights: how many regions each one stands for where they were sampled, shape (R,), already in ``terms``; None
            when every region is there once.
    """

    def __init__(
        self,
        graph: Graph,
        templates: list[Template],
        occurrences: Occurrences,
        terms: NDArray[np.float64],
        codes: Sequence[Any] | NDArray[Any],
        logits_of: Callable[[NDArray[np.float64]], Logits],
        order: Callable[[int], IntArray | None],
        weights: NDArray[np.float64] | None = None,
    ) -> None:
        self.graph, self.templates, self.occurrences = graph, templates, occurrences
        self._terms, self._codes, self._logits_of, self._order = terms, list(codes), logits_of, order
        # equal regions add equal terms, unless they stand for different numbers of others
        kinds = self._codes if weights is None else list(zip(self._codes, weights.tolist(), strict=True))
        numbers = {kind: number for number, kind in enumerate(dict.fromkeys(kinds))}
        self._kind = np.array([numbers[kind] for kind in kinds], dtype=np.int64)
        self._weights = np.ones(len(self._codes)) if weights is None else weights
        self._sums = self._summed(np.arange(len(occurrences)))

    def logits(self) -> Logits:
        """What the model says of the graph as it is."""
        return np.asarray(self._logits_of(self._sums[None])[0])

    def base_logits(self) -> Logits:
        """What it says when all sums are empty."""
        return np.asarray(self._logits_of(np.zeros_like(self._sums)[None])[0])

    def logits_without(self, rows: IntArray) -> Logits:
        """What it says without the terms of these matches."""
        kept = np.ones(len(self.occurrences), dtype=bool)
        kept[rows] = False
        return np.asarray(self._logits_of(self._summed(np.flatnonzero(kept))[None])[0])

    def logits_without_template(self) -> Logits:
        """What it says when the sums of one template are empty."""
        others = 1 - np.eye(len(self._sums))
        return self._logits_of(self._sums * others[:, :, None])

    def logits_without_each(self) -> tuple[IntArray, Logits]:
        """What it says without the terms of one match, for every match."""
        found = self.occurrences
        rows = np.arange(len(found))
        # what is left without one of several equal matches is computed once
        match_kind = found.template * (int(self._kind.max(initial=0)) + 1) + self._kind[found.region]
        _, first, inverse = np.unique(match_kind, return_index=True, return_inverse=True)
        step = max(1, BLOCK_NUMBERS // max(self._sums.size, 1))
        parts = [self._without_one(first[start : start + step]) for start in range(0, len(first), step)]
        return rows, np.concatenate(parts)[inverse.reshape(-1)] if parts else self.logits()[None][:0]

    def order(self, row: int) -> IntArray | None:
        """The place in the region of each template node."""
        return self._order(row)

    def cells(self, row: int) -> NDArray[np.float64]:
        """The adjacency matrix of a match's region."""
        nodes = self.occurrences.nodes[self.occurrences.region[row]]
        nodes = nodes[nodes >= 0]
        return self.graph.adjacency[np.ix_(nodes, nodes)]

    def count_equal(self, other: MatchedGraph, row: int) -> int:
        """How many regions have the code of a match's region; estimated where they were sampled."""
        assert isinstance(other, PooledMatches)
        return round(self._often[other._codes[int(other.occurrences.region[row])]])

    @cached_property
    def _often(self) -> Counter[Any]:
        often: Counter[Any] = Counter()
        for code, weight in zip(self._codes, self._weights.tolist(), strict=True):
            often[code] += weight
        return often

    def _summed(self, rows: IntArray) -> NDArray[np.float64]:
        """The sums over some of the matches, shape (c, temperatures)."""
        sums = np.zeros((len(self.templates), self._terms.shape[1]))
        np.add.at(sums, self.occurrences.template[rows], self._terms[rows])
        return sums

    def _without_one(self, rows: IntArray) -> Logits:
        template = self.occurrences.template[rows]
        sums = np.repeat(self._sums[None], len(rows), axis=0)
        # a sum of one term, less that term, is 0: rounding must not leave a negative number for the logarithm
        left = np.maximum(self._sums[template] - self._terms[rows], 0)
        sums[np.arange(len(rows)), template] = left
        return self._logits_of(sums)


# The matches of a subgraph model in one graph: every template in every connected subgraph, and what it adds.


def subgraph_matches(
    graph: Graph,
    coded: CodedGraphs,
    encoding: Encoding,
    sizes: list[tuple[int, int]],
    model: SubgraphModel,
    templates: list[Template],
    limit: int,
    seed: int,
) -> MatchedGraph:
    """Match one graph, keeping which nodes every subgraph has.

    Args:
        coded: the graph, encoded, as a set of one.
        sizes: view and size of each group of templates.
        limit, seed: as in `bank_subgraphs`; the same subgraphs are sampled here.
    """
    numbers = edge_numbers(coded)
    widest = max(k for _, k in sizes)
    nodes, counts, regions, owners, distances, terms = [], [], [], [], [], []
    codes: list[tuple[int, int, bytes]] = []  # equal in two graphs exactly when the regions are, up to relabelling
    orders: list[IntArray] = []
    first_region = first_template = 0
    for (view, k), group in zip(sizes, model.groups, strict=True):
        assert isinstance(group, PooledTemplates)
        cut = cut_graph(coded, 0, k, limit, seed)
        raw = region_codes(cut.nodes, numbers, coded.views[view])
        vectors = torch.from_numpy(encoding.vectors(view, raw, k)).to(group.templates.device)
        with torch.no_grad():
            distance = group.distances(vectors)
            term = group.terms(distance).cpu().double().numpy()
            weights = (group.log_weight / 2).exp()[group.kinds]
            winners = exact_flat_winners(group.templates * weights, vectors * weights, group.layout)
        if cut.weights is not None:
            term *= cut.weights[:, None, None]
        w, c = distance.shape
        nodes.append(np.pad(cut.nodes, ((0, 0), (0, widest - k)), constant_values=-1))
        codes += [(view, k, row.tobytes()) for row in canonical_regions(raw, k)] if w else []
        counts.append(np.ones(w) if cut.weights is None else cut.weights)
        regions.append(np.repeat(first_region + np.arange(w), c))
        owners.append(np.tile(first_template + np.arange(c), w))
        distances.append(distance.cpu().double().numpy().ravel())
        terms.append(term.reshape(w * c, term.shape[2]))
        # node a of the region is node p[a] of the template, so template node j is at the place where p is j
        orders += list(permutations(k).numpy()[winners.cpu().numpy().ravel()].argsort(axis=1)) if w else []
        first_region, first_template = first_region + w, first_template + c
    head = copy.deepcopy(model).cpu().double().eval()

    def logits_of(sums: NDArray[np.float64]) -> NDArray[np.float64]:
        with torch.inference_mode():
            return head.logits(torch.from_numpy(sums)).numpy()

    return PooledMatches(
        graph,
        templates,
        Occurrences(
            np.concatenate(nodes), None, np.concatenate(regions), np.concatenate(owners), np.concatenate(distances)
        ),
        np.concatenate(terms),
        codes,
        logits_of,
        lambda row: orders[row],
        np.concatenate(counts),
    )
