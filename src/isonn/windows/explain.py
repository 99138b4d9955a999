r"""Matches of the paper's model, and its outputs without some of them.

A match is an entry :math:`q_i(s,t)` of a first-layer map whose window lies within the graph. Removing it sets this
entry to 0, keeps all others (without normalising again), and runs the rest of the model. Windows that reach into the
padding are not matches, because they have fewer than k nodes. `WindowMatches.padding_logits` gives the outputs without
them.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from isonn.explain.matched import Logits, MatchedGraph, Occurrences
from isonn.explain.template import Template
from isonn.graphs.graph import Graph
from isonn.matching import matcher_named
from isonn.packing import IntArray
from isonn.targets import Target
from isonn.windows.bank import WindowBank
from isonn.windows.cut import cut_windows
from isonn.windows.network import IsoNN
from isonn.windows.removal import AfterMaps


class WindowMatches(MatchedGraph):
    """The matches of an `IsoNN` in one graph.

    Every match is removed once. If that is too much work in a deep model, only the matches with the largest gradient
    times entry are.

    Args:
        model: the fitted model.
        inputs: the padded graph as the model's input, a batch of one.
        graph: the graph.
        target: the kind of prediction.
    """

    def __init__(self, model: IsoNN, inputs: Tensor | WindowBank, graph: Graph, target: Target) -> None:
        self.graph, self.target, self._after = graph, target, AfterMaps(model)
        layer = self._layer = self._after.layer
        self.templates = [Template(matrix) for matrix in layer.templates.detach().cpu().numpy()]
        with torch.no_grad():
            self._maps = layer(inputs)[0].double()  # (c, m, m)
            distance = layer.distances(inputs)[0].double().cpu().numpy()
        k, c = layer.k, layer.c
        side = self._side = max(graph.n - k + 1, 0)  # number of windows per side within the graph
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
        return np.asarray(self._outputs[0])

    def base(self, column: int) -> float:
        """Return the score when every entry of every map is 0."""
        return float(self.target.margin(self._after.outputs(torch.zeros_like(self._maps[None]))[0], column))

    def logits_without(self, rows: IntArray) -> Logits:
        """Return the outputs with the entries of these matches set to 0."""
        maps = self._maps.clone()
        maps.view(-1)[self._entries(rows)] = 0
        return np.asarray(self._after.outputs(maps[None])[0])

    def padding_logits(self) -> Logits:
        """Return the outputs with the entries of all windows that reach into the padding set to 0."""
        return np.asarray(self._outputs[1])

    @cached_property
    def _sums(self) -> Tensor:
        """The first-layer sums of the head for the graph, and without padding.

        They are computed together, because converting the weights to float64 costs more than the products.
        """
        maps = self._maps.repeat(2, 1, 1, 1)
        maps[1, :, self._side :] = maps[1, :, :, self._side :] = 0
        with torch.no_grad():
            return self._after.sums(maps)

    @cached_property
    def _outputs(self) -> Logits:
        """The outputs of each of these sums."""
        with torch.no_grad():
            return np.asarray(self._after.logits(self._sums).cpu().numpy())

    def contributions(self, column: int) -> tuple[IntArray, NDArray[np.float64]]:
        """Return the score minus the score with one entry set to 0, for each match or the top ones of deep models."""
        rows, without = self._removals
        return rows, self.target.margin(self.logits(), column) - self.target.margin(without, column)

    @cached_property
    def _removals(self) -> tuple[IntArray, Logits]:
        """The matches that are removed one by one, and the outputs without each."""
        rows = np.arange(len(self.occurrences))
        chosen = self._after.worth_removing(self._maps, self._entries(rows))
        return rows[chosen], self._after.outputs_without(self._maps, self._sums[0], self._entries(rows[chosen]))

    def order(self, row: int) -> IntArray | None:
        """Return the position in the window of each template node."""
        if self._orders is None:
            return None
        order: IntArray = self._orders[self.occurrences.region[row], self.occurrences.template[row]]
        return order

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
        permutations = matcher_named(self._layer.matching).permutations(templates, windows)
        if permutations is None:
            return None
        orders: IntArray = permutations.argsort(2).numpy()  # found is the template node at each position
        return orders

    def _entries(self, rows: IntArray) -> Tensor:
        """Return the position of each match's entry in the flat maps."""
        m = self._maps.shape[1]
        s, t = self._start[self.occurrences.region[rows]].T
        return torch.from_numpy(self.occurrences.template[rows] * m * m + s * m + t).to(self._maps.device)
