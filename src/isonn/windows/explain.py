r"""Matches of the paper's model, and its outputs without some of them.

A match is an entry :math:`q_i(s,t)` of a first-layer map whose window lies within the graph. Removing it sets this
entry to 0, keeps all others (without normalising again), and runs the rest of the model. Windows that reach into the
padding are not matches, because they have fewer than k nodes. `WindowMatches.padding_logits` gives the outputs without
them.
"""

from __future__ import annotations

import copy
import math
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from isonn.explain.matched import Logits, MatchedGraph, Occurrences
from isonn.explain.template import Template
from isonn.graphs.graph import Graph
from isonn.matching import matcher_named
from isonn.matching.permutations import MAX_ENUMERABLE_K
from isonn.packing import IntArray
from isonn.targets import Target
from isonn.torch_estimator import MLP
from isonn.windows.bank import WindowBank
from isonn.windows.cut import cut_windows
from isonn.windows.layer import IsoLayer
from isonn.windows.network import IsoNN

#: Numbers processed at a time: 32 MB of float64.
BLOCK_NUMBERS = 2**22
#: Multiplications that a deep model may spend on removing matches one by one: about ten seconds of one core.
MAX_DEEP_COST = 1e11
#: Cost of matching a template with a window beyond the permutations, in multiplications, measured at n=90, k=3.
WINDOW_COST = 4500
#: Minimum number of matches to compute, however large the model.
MIN_DEEP_REMOVALS = 64


class WindowMatches(MatchedGraph):
    """The matches of an `IsoNN` in one graph.

    In a shallow model the head's first layer reads the maps directly, so removing one entry changes its sums by one
    column of the weights, and every match is removed once. In a deep model each removal runs the later layers again. If
    that is too much work, only the matches with the largest gradient times entry are computed.

    Args:
        model: the fitted model.
        inputs: the padded graph as the model's input, a batch of one.
        graph: the graph.
        target: the kind of prediction.
    """

    def __init__(self, model: IsoNN, inputs: Tensor | WindowBank, graph: Graph, target: Target) -> None:
        self.graph, self.target, self._head = graph, target, model.head
        layer, *later = (layer for layer in model.features if isinstance(layer, IsoLayer))
        self._layer, self._later = layer, [copy.deepcopy(one).double() for one in later]
        self.templates = [Template(matrix) for matrix in layer.templates.detach().cpu().numpy()]
        with torch.no_grad():
            self._maps = layer(inputs)[0].double()  # (c, m, m)
            distance = layer.distances(inputs)[0].double().cpu().numpy()
        k, c = layer.k, layer.c
        side = max(graph.n - k + 1, 0)  # number of windows per side within the graph
        start = np.stack(np.meshgrid(np.arange(side), np.arange(side), indexing="ij"), axis=-1).reshape(-1, 2)
        self._start = start
        self.occurrences = Occurrences(
            nodes=start[:, :1] + np.arange(k),
            columns=start[:, 1:] + np.arange(k),
            region=np.tile(np.arange(len(start)), c),
            template=np.repeat(np.arange(c), len(start)),
            distance=distance[:, :side, :side].reshape(-1),
        )

    def logits(self) -> Logits:
        """Return the outputs for the graph as it is."""
        return self._rest_of_one(self._sums[:1])

    def base(self, column: int) -> float:
        """Return the score when every entry of every map is 0."""
        with torch.no_grad():
            zeros = torch.zeros_like(self._maps[None])
            return float(self.target.margin(self._rest_of_one(_first_sums(self._head, self._features(zeros))), column))

    def logits_without(self, rows: IntArray) -> Logits:
        """Return the outputs with the entries of these matches set to 0."""
        maps = self._maps.clone()
        maps.view(-1)[self._entries(rows)] = 0
        with torch.no_grad():
            return self._rest_of_one(_first_sums(self._head, self._features(maps[None])))

    def logits_without_template(self) -> Logits:
        """Return the outputs with the whole map of one template set to 0, for each template."""
        return self._rest_of(self._sums[2:])

    def padding_logits(self) -> Logits:
        """Return the outputs with the entries of all windows that reach into the padding set to 0."""
        return self._rest_of_one(self._sums[1:2])

    @cached_property
    def _sums(self) -> Tensor:
        """The first-layer sums of the head for the graph, without padding, and without each template.

        They are computed together, because converting the weights to float64 costs more than the products.
        """
        c, side = len(self._maps), max(self.graph.n - self._layer.k + 1, 0)
        maps = self._maps.repeat(2 + c, 1, 1, 1)
        maps[1, :, side:] = maps[1, :, :, side:] = 0
        maps[torch.arange(2, 2 + c), torch.arange(c)] = 0
        with torch.no_grad():
            return _first_sums(self._head, self._features(maps))

    def contributions(self, column: int) -> tuple[IntArray, NDArray[np.float64]]:
        """Return the score minus the score with one entry set to 0, for each match or the top ones of deep models."""
        rows, without = self._removals
        return rows, self.target.margin(self.logits(), column) - self.target.margin(without, column)

    def template_contributions(
        self, column: int, rows: IntArray, contributions: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the score minus the score with a template switched off, shape (templates,)."""
        without = self.target.margin(self.logits_without_template(), column)
        return np.asarray(self.target.margin(self.logits(), column) - without)

    @cached_property
    def _removals(self) -> tuple[IntArray, Logits]:
        """The matches that are removed one by one, and the outputs without each."""
        rows = np.arange(len(self.occurrences)) if not self._later else self._candidates()
        if not len(rows):
            return rows, np.zeros((0, _linear(self._head, -1).out_features))
        parts = []
        with torch.no_grad():
            step = self._removals_at_once()
            for start in range(0, len(rows), step):
                block = rows[start : start + step]
                changed = self._shallow_changes(block) if not self._later else self._deep_changes(block)
                parts.append(_rest(self._head, self._sums[0] + changed))
        return rows, torch.cat(parts).cpu().numpy()

    def order(self, row: int) -> IntArray | None:
        """Return the position in the window of each template node."""
        if self._orders is None:
            return None
        order: IntArray = self._orders[self.occurrences.region[row], self.occurrences.template[row]]
        return order

    def cells(self, row: int) -> NDArray[np.float64]:
        """Return the window of a match."""
        region = self.occurrences.region[row]
        assert self.occurrences.columns is not None
        return self.graph.adjacency[np.ix_(self.occurrences.nodes[region], self.occurrences.columns[region])]

    def count_equal(self, other: WindowMatches, row: int) -> int:
        """Return how many windows within the graph equal that of another graph's match, up to relabelling."""
        if not len(self._start):
            return 0
        region = other.cells(row)
        flat = self._windows.reshape(len(self._start), -1)
        # only windows with the same sorted numbers can be equal, so few remain to be matched
        same = np.flatnonzero((np.sort(flat, axis=1) == np.sort(region.reshape(-1))).all(axis=1))
        if not len(same):
            return 0
        matcher = matcher_named("exact" if self._layer.k <= MAX_ENUMERABLE_K else "assigned")
        distance = matcher.distance(torch.from_numpy(region)[None], torch.from_numpy(self._windows[same]))
        return int((distance == 0).sum())

    @cached_property
    def _windows(self) -> NDArray[np.float64]:
        """The windows within the graph, shape (R, k, k)."""
        k = self._layer.k
        return cut_windows(torch.from_numpy(self.graph.adjacency.copy())[None], k).numpy().reshape(-1, k, k)

    @cached_property
    def _orders(self) -> IntArray | None:
        """The position in the window of each template node, shape (R, c, k)."""
        templates = self._layer.templates.detach().cpu()
        windows = torch.from_numpy(self._windows).to(templates.dtype)
        found = matcher_named(self._layer.matching).permutations(templates, windows)
        if found is None:
            return None
        orders: IntArray = found.argsort(2).numpy()  # found is the template node at each position
        return orders

    def _entries(self, rows: IntArray) -> Tensor:
        """Return the position of each match's entry in the flat maps."""
        m = self._maps.shape[1]
        s, t = self._start[self.occurrences.region[rows]].T
        return torch.from_numpy(self.occurrences.template[rows] * m * m + s * m + t).to(self._maps.device)

    def _features(self, maps: Tensor) -> Tensor:
        """Return the head's inputs for first-layer maps: (b, c, m, m) to (b, features)."""
        return self._deeper(maps.flatten(0, 1)).reshape(len(maps), -1)

    def _deeper(self, maps: Tensor) -> Tensor:
        """Return the maps of the later layers for each map on its own: (b, m, m) to (b, maps, m', m')."""
        batch, deeper = len(maps), maps
        for later in self._later:
            deeper = later(deeper).flatten(0, 1)
        return deeper.view(batch, -1, *deeper.shape[1:])

    def _rest_of(self, sums: Tensor) -> Logits:
        with torch.no_grad():
            return np.asarray(_rest(self._head, sums).cpu().numpy())

    def _rest_of_one(self, sums: Tensor) -> Logits:
        return np.asarray(self._rest_of(sums)[0])

    def _shallow_changes(self, rows: IntArray) -> Tensor:
        """Return the change of the head's first-layer sums when one entry is 0, which is one column of the weights."""
        entries = self._entries(rows)
        columns: Tensor = _linear(self._head, 0).weight.detach()[:, entries].double()
        change: Tensor = columns.t() * -self._maps.view(-1)[entries, None]
        return change

    def _deep_changes(self, rows: IntArray) -> Tensor:
        """Return the same for a deep model, in which an entry changes all maps computed from its own."""
        m, entries = self._maps.shape[1], self._entries(rows)
        template, place = entries // (m * m), entries % (m * m)
        maps = self._maps[template].flatten(1)
        maps[torch.arange(len(rows)), place] = 0
        new = self._deeper(maps.view(-1, m, m)).flatten(1)
        change = new - self._deeper(self._maps).flatten(1)[template]
        weight, width = _linear(self._head, 0).weight.detach(), change.shape[1]
        sums = change.new_empty(len(rows), len(weight))
        for i in template.unique().tolist():  # the maps computed from map i are contiguous
            sums[template == i] = change[template == i] @ weight[:, i * width : (i + 1) * width].double().t()
        return sums

    def _removals_at_once(self) -> int:
        widest = _linear(self._head, 0).out_features
        side, maps = self._maps.shape[1], 1
        for later in self._later:
            side, maps = side - later.k + 1, maps * later.c
            widest = max(widest, maps * side * side * later.k**2)
        return max(1, BLOCK_NUMBERS // widest)

    def _candidates(self) -> IntArray:
        """Return the matches of a deep model to remove: all, or those with the largest gradient times entry."""
        side, maps, cost = self._maps.shape[1], 1, 0.0
        for later in self._later:
            side = side - later.k + 1
            tried = math.factorial(later.k) if later.k <= 6 else 720
            cost += maps * later.c * side * side * (later.k**2 * tried + WINDOW_COST)
            maps *= later.c
        wanted = max(MIN_DEEP_REMOVALS, int(MAX_DEEP_COST / cost))
        rows = np.arange(len(self.occurrences))
        if len(rows) <= wanted:
            return rows
        with torch.enable_grad():
            maps_in = self._maps.clone().requires_grad_()
            logits = _rest(self._head, _first_sums(self._head, self._features(maps_in[None])))[0]
            slopes = [torch.autograd.grad(one, maps_in, retain_graph=True)[0] * self._maps for one in logits]
        worth = torch.stack(slopes).abs().amax(0).flatten()[self._entries(rows)].cpu().numpy()
        return np.sort(np.argsort(-worth, kind="stable")[:wanted])


def _linear(head: MLP, i: int) -> nn.Linear:
    layer = head[i]
    assert isinstance(layer, nn.Linear)
    return layer


def _first_sums(head: MLP, features: Tensor) -> Tensor:
    """Compute the head's first layer in float64 without copying all its weights: (b, features) to (b, width)."""
    first = _linear(head, 0)
    sums = first.bias.detach().double().expand(len(features), -1)
    step = max(1, BLOCK_NUMBERS // first.out_features)
    for start in range(0, features.shape[1], step):
        block = slice(start, start + step)
        sums = sums + features[:, block] @ first.weight.detach()[:, block].double().t()
    return sums


def _rest(head: MLP, sums: Tensor) -> Tensor:
    """Compute the rest of the head in float64 from the sums of its first layer."""
    for layer in list(head)[1:]:
        if isinstance(layer, nn.Linear):
            sums = sums @ layer.weight.detach().double().t() + layer.bias.detach().double()
        else:
            sums = layer(sums)
    return sums
