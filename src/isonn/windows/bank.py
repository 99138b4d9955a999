"""Banks of windows: the distinct windows up to relabelling, and the positions of each.

A distance does not change when the region's nodes are relabelled, so regions that differ only in node order are matched
once. On 0/1 graphs this reduces the work by a factor of a hundred to a thousand.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd.function import once_differentiable

from isonn.matching.exact import exact_winners
from isonn.matching.matcher import Matcher
from isonn.matching.permutations import MAX_ENUMERABLE_K, permutations
from isonn.packing import IntArray, merge_equal, words_of
from isonn.seeding import numpy_stream
from isonn.windows.cut import check_windows, cut_windows

#: Graphs with more distinct weights than this count as weighted, because their windows hardly ever repeat.
MAX_VALUES = 16
#: Merging must at least halve the number of regions, or the lookup costs more than it saves.
MIN_SHRINKAGE = 2
#: Multiplications to spend on finding relabelled copies: two seconds of one core.
MAX_MERGING_COST = 5e10


@dataclass(frozen=True, eq=False)
class WindowBank:
    """The distinct windows of a stack of graphs; indexing selects graphs, as in a tensor.

    Attributes:
        regions: the distinct windows, ``(d, k, k)``.
        index: the number of the distinct window at each position, ``(graphs, m, m)``.
        prepared: the matcher's `prepare` of each region, or None.
        places: the positions sorted by region, and where each region begins; None if sorting does not pay.
    """

    regions: Tensor
    index: Tensor
    prepared: Tensor | None = None
    places: tuple[IntArray, IntArray] | None = None

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, rows: Tensor) -> WindowBank:
        index = self.index[rows]
        if len(self.regions) <= index.numel():
            return replace(self, index=index, places=None)
        used, index = torch.unique(index, return_inverse=True)  # a small batch keeps only the regions it needs
        return WindowBank(self.regions[used], index, None if self.prepared is None else self.prepared[used])

    def to(self, device: torch.device | str) -> WindowBank:
        """Return the bank on another device."""
        prepared = None if self.prepared is None else self.prepared.to(device)
        return WindowBank(self.regions.to(device), self.index.to(device), prepared)

    def spread(self, values: Tensor) -> Tensor:
        """Copy values of the distinct regions to every position: ``(c, d)`` to ``(c, graphs, m, m)``."""
        index = self.index.flatten()
        if self.places is None or values.device.type != "cpu":
            spread = values.index_select(1, index)
        else:
            spread = _Spread.apply(values, index, self.places)
        return spread.view(len(values), *self.index.shape)

    def prepared_for(self, matcher: Matcher) -> WindowBank:
        """Return the bank with the matcher's `prepare` of each region, which does not depend on templates."""
        return replace(self, prepared=matcher.prepare(self.regions))


class _Spread(torch.autograd.Function):
    """``index_select`` with a gradient summed by region, in a third of the time of torch's ``index_add_``."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, index: Tensor, places: tuple[IntArray, IntArray]) -> Tensor:
        ctx.places = places
        return values.index_select(1, index)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        order, first = ctx.places
        return torch.from_numpy(np.add.reduceat(grad.numpy().take(order, axis=1), first, axis=1)), None, None


def all_windows(adjacency: Tensor, k: int) -> WindowBank:
    """Return the bank of all k x k windows without merging.

    Shapes:
        - adjacency ``(graphs, n, n)``, n >= k
    """
    windows = cut_windows(adjacency, k)
    graphs, m = windows.shape[:2]
    index = torch.arange(graphs * m * m, device=adjacency.device).view(graphs, m, m)
    return WindowBank(windows.reshape(-1, k, k), index)


def bank_windows(adjacency: Tensor, k: int, relabelled: bool = True) -> WindowBank | None:
    """Return the bank of all k x k windows, or None for weighted graphs, whose windows are (nearly) all distinct.

    Args:
        relabelled: merge windows that are equal up to relabelling. If False only equal windows are merged, for a
            matcher that depends on node order.

    Shapes:
        - adjacency ``(graphs, n, n)``, n >= k

    Example:
        >>> bank = bank_windows(torch.ones(1, 5, 5) - torch.eye(5), k=2)
        >>> len(bank.regions), bank.index.shape
        (3, torch.Size([1, 4, 4]))
    """
    check_windows(adjacency, k)
    matrices = adjacency.detach().cpu().numpy()
    values = _distinct_values(matrices)
    if values is None:
        return None
    digits = np.searchsorted(values, matrices).astype(np.uint8)
    position, place = merge_equal(_window_words(digits, k, len(values)))
    m = digits.shape[1] - k + 1
    graph, row, column = np.unravel_index(place, (len(digits), m, m))
    windows = np.lib.stride_tricks.sliding_window_view(digits, (k, k), axis=(1, 2))
    regions = windows[graph, row, column]
    merged = np.arange(len(regions))
    if relabelled:
        regions, merged = _merge_relabelled(regions)
    if len(regions) * MIN_SHRINKAGE > position.size:
        return None
    index = merged[position]
    return WindowBank(
        regions=torch.from_numpy(values[regions]).to(adjacency),
        index=torch.from_numpy(index.reshape(len(digits), m, m)).to(adjacency.device),
        places=_sorted_places(index, len(regions)),
    )


def _sorted_places(index: IntArray, d: int) -> tuple[IntArray, IntArray] | None:
    """Return the positions sorted by region, and where each region begins; None above 16 bits, as sorting is slow."""
    if d > 2**16:
        return None
    counts = np.bincount(index, minlength=d)
    return np.argsort(index.astype(np.uint16), kind="stable"), np.cumsum(counts) - counts


def _distinct_values(matrices: NDArray[np.floating]) -> NDArray[np.floating] | None:
    """Return the sorted distinct entries, or None if there are too many to pack a window into integers."""
    if ((matrices == 0) | (matrices == 1)).all():
        return np.array([0, 1], dtype=matrices.dtype)
    if len(np.unique(matrices[:1])) > MAX_VALUES:
        return None
    values = np.unique(matrices)
    return values if len(values) <= MAX_VALUES and np.isfinite(values).all() else None


def _window_words(digits: NDArray[np.uint8], k: int, base: int) -> Iterator[NDArray[np.int64]]:
    """Yield every window packed into 63-bit integers, in as many flat arrays as a window needs."""
    m = digits.shape[1] - k + 1
    wide = digits.astype(np.int64)
    cells = [wide[:, i : i + m, j : j + m] for i in range(k) for j in range(k)]
    return (word.reshape(-1) for word in words_of(cells, [max(1, (base - 1).bit_length())] * len(cells)))


def _merge_relabelled(regions: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the distinct regions up to relabelling, in canonical order, and the number of each region among them.

    The canonical order is the one in which a region best fits a fixed irregular template, found by matching. A tie
    between two different orders leaves a copy unmerged, which only costs time.
    """
    d, k, _ = regions.shape
    if k <= MAX_ENUMERABLE_K and d * math.factorial(k) * k * k <= MAX_MERGING_COST:
        # Integers below 2^40 times at most 15, 81 times: every sum is exact in float64, in any order.
        irregular = torch.from_numpy(numpy_stream(0, "canonical order", k).integers(1, 2**40, (1, k, k))).double()
        winners = exact_winners(irregular, torch.from_numpy(regions).double())[:, 0]
        order = permutations(k)[winners].argsort(1).numpy()
        regions = regions[np.arange(d)[:, None, None], order[:, :, None], order[:, None, :]]
    distinct, merged = np.unique(regions.reshape(d, k * k), axis=0, return_inverse=True)
    return distinct.reshape(-1, k, k), merged.reshape(-1)
