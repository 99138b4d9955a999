"""The paper's model without single entries of its first maps, in float64."""

from __future__ import annotations

import copy
import math

import numpy as np
import torch
from torch import Tensor, nn

from isonn.explain.matched import Logits
from isonn.packing import IntArray
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


class AfterMaps:
    """An `IsoNN` from the maps of its first layer on.

    In a shallow model the head's first layer reads the maps directly, so removing one entry changes its sums by one
    column of the weights. In a deep model each removal runs the later layers again.

    Args:
        model: the fitted model.

    Attributes:
        layer: its first layer.
    """

    def __init__(self, model: IsoNN) -> None:
        self.layer, *later = (layer for layer in model.features if isinstance(layer, IsoLayer))
        self._later = [copy.deepcopy(layer).double() for layer in later]
        first, *self._rest = model.head
        assert isinstance(first, nn.Linear)
        self._first = first

    def outputs(self, maps: Tensor) -> Logits:
        """Return the outputs for first-layer maps: (b, c, m, m) to (b, outputs)."""
        with torch.no_grad():
            return self.logits(self.sums(maps)).cpu().numpy()

    def outputs_without(self, maps: Tensor, sums: Tensor, entries: Tensor) -> Logits:
        """Return the outputs with each of some entries of the flat maps (c, m, m) set to 0 on its own.

        Args:
            sums: those of the whole maps, (width,).
        """
        change = self._deep_change if self._later else self._shallow_change
        with torch.no_grad():
            blocks = entries.split(self._removals_at_once(maps.shape[1])) if len(entries) else ()
            changed = [self.logits(sums + change(maps, block)) for block in blocks]
            return torch.cat(changed or [self.logits(sums[None])[:0]]).cpu().numpy()

    def worth_removing(self, maps: Tensor, entries: Tensor) -> IntArray:
        """Return which entries of the flat maps to remove: all, or those with the largest gradient times entry."""
        side, count, cost = maps.shape[1], 1, 0.0
        for later in self._later:
            side = side - later.k + 1
            tried = math.factorial(later.k) if later.k <= 6 else 720
            cost += count * later.c * side * side * (later.k**2 * tried + WINDOW_COST)
            count *= later.c
        wanted = max(MIN_DEEP_REMOVALS, int(MAX_DEEP_COST / cost)) if cost else len(entries)
        if len(entries) <= wanted:
            return np.arange(len(entries))
        with torch.enable_grad():
            moved = maps.clone().requires_grad_()
            logits = self.logits(self.sums(moved[None]))[0]
            slopes = [torch.autograd.grad(logit, moved, retain_graph=True)[0] * maps for logit in logits]
        worth = torch.stack(slopes).abs().amax(0).flatten()[entries].cpu().numpy()
        return np.sort(np.argsort(-worth, kind="stable")[:wanted])

    def _deeper(self, maps: Tensor) -> Tensor:
        """Return the flat maps of the later layers for each map on its own: (b, m, m) to (b, features)."""
        batch = len(maps)
        for later in self._later:
            maps = later(maps).flatten(0, 1)
        return maps.reshape(batch, -1)

    def sums(self, maps: Tensor) -> Tensor:
        """Compute the head's first layer without copying all its weights: (b, c, m, m) to (b, width)."""
        features = self._deeper(maps.flatten(0, 1)).reshape(len(maps), -1)
        first = self._first
        sums = first.bias.detach().double().expand(len(features), -1)
        step = max(1, BLOCK_NUMBERS // first.out_features)
        for start in range(0, features.shape[1], step):
            block = slice(start, start + step)
            sums = sums + features[:, block] @ first.weight.detach()[:, block].double().t()
        return sums

    def logits(self, sums: Tensor) -> Tensor:
        """Compute the rest of the head from the sums of its first layer."""
        for layer in self._rest:
            if isinstance(layer, nn.Linear):
                sums = sums @ layer.weight.detach().double().t() + layer.bias.detach().double()
            else:
                sums = layer(sums)
        return sums

    def _shallow_change(self, maps: Tensor, entries: Tensor) -> Tensor:
        """Return the change of the head's first sums when one entry is 0, which is one column of the weights."""
        columns: Tensor = self._first.weight.detach()[:, entries].double()
        return columns.t() * -maps.view(-1)[entries, None]

    def _deep_change(self, maps: Tensor, entries: Tensor) -> Tensor:
        """Return the same for a deep model, in which an entry changes all maps computed from its own."""
        m = maps.shape[1]
        template, place = entries // (m * m), entries % (m * m)
        removed = maps[template].flatten(1)
        removed[torch.arange(len(entries)), place] = 0
        change = self._deeper(removed.view(-1, m, m)) - self._deeper(maps)[template]
        weight, width = self._first.weight.detach(), change.shape[1]
        sums = change.new_empty(len(entries), len(weight))
        for i in template.unique().tolist():  # the maps computed from map i are contiguous
            sums[template == i] = change[template == i] @ weight[:, i * width : (i + 1) * width].double().t()
        return sums

    def _removals_at_once(self, side: int) -> int:
        widest, maps = self._first.out_features, 1
        for later in self._later:
            side, maps = side - later.k + 1, maps * later.c
            widest = max(widest, maps * side * side * later.k**2)
        return max(1, BLOCK_NUMBERS // widest)
