"""Exact matching of windows in place, without cutting them out; the loops are in `isonn.windows.kernels`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd.function import once_differentiable

from isonn.matching.exact import centred, for_each_block, relabelled, warn_of_cost
from isonn.matching.permutations import cells_of_all
from isonn.windows.cut import check_windows, half_places

FloatArray = NDArray[np.floating]
IntArray = NDArray[np.integer]

#: Multiplications of a pass from which compiled loops are used: about 2 ms of one core. For less work, compiling them
#: (a few seconds, once per machine) does not pay.
MIN_MULTIPLICATIONS = 2**26
#: Up to this k the loops are faster than the blocked product of `exact_distance` (`make bench` shows both). At k = 8
#: they are as fast in one thread and slower in two, as the product reaches 0.8 of the machine's peak.
MAX_IN_PLACE_K = 7
#: Windows per thread and step if they are matched one by one.
BLOCK_WINDOWS = 2**13


def worth_compiling(adjacency: Tensor, k: int, c: int) -> bool:
    """Return whether compiled loops support the dtype and matching c templates with all windows is enough work."""
    windows = len(adjacency) * max(0, adjacency.shape[-1] - k + 1) ** 2
    return (
        adjacency.device.type == "cpu"
        and adjacency.dtype in (torch.float32, torch.float64)
        and c * windows * math.factorial(min(k, 20)) * k * k >= MIN_MULTIPLICATIONS
    )


def matches_in_place(templates: Tensor, adjacency: Tensor) -> bool:
    """Return whether `window_distance` is the fastest way to match these templates with all windows."""
    c, k = templates.shape[:2]
    same = templates.dtype == adjacency.dtype and templates.device == adjacency.device
    return same and k <= MAX_IN_PLACE_K and worth_compiling(adjacency, k, c)


def window_distance(templates: Tensor, adjacency: Tensor, half: bool = False) -> Tensor:
    """Return `exact_distance` of all windows of graphs; gradients reach the templates and the graphs.

    Args:
        half: only use the windows at (s, t) with s <= t, in the order of `cut_half`.

    Shapes:
        - templates ``(c, k, k)``
        - adjacency ``(graphs, n, n)``, n >= k
        - output ``(c, windows)``: all windows of one template are contiguous

    Example:
        >>> window_distance(torch.ones(2, 3, 3), torch.ones(4, 5, 5)).shape
        torch.Size([2, 36])
    """
    check_windows(adjacency, templates.shape[-1])
    windows = Windows.of(adjacency.detach(), templates.shape[-1], half)
    warn_of_cost(windows.k, len(templates), len(windows))

    def match(templates: Tensor) -> Matched:
        distance = templates.new_empty(len(templates), len(windows))
        winners = np.empty(distance.shape, dtype=windows.number)
        for i, template in enumerate(templates):
            windows.match(template.flatten(), winners[i], distance[i].numpy())
        return distance, winners, windows

    distance: Tensor = WindowDistance.apply(templates, adjacency, match)
    return distance


class WindowDistance(torch.autograd.Function):
    """The distances that a function finds for templates, with gradients through the winning permutations."""

    @staticmethod
    def forward(ctx: Any, templates: Tensor, adjacency: Tensor, match: Callable[[Tensor], Matched]) -> Tensor:
        distance, ctx.winners, ctx.windows = match(templates.detach())
        ctx.save_for_backward(templates, adjacency)
        return distance

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        templates, adjacency = ctx.saved_tensors
        factors = grad.contiguous().numpy()
        to_templates = to_adjacency = None
        if ctx.needs_input_grad[0]:
            to_templates = ctx.windows.template_gradient(templates.detach(), ctx.winners, factors)
        if ctx.needs_input_grad[1]:
            to_adjacency = ctx.windows.matrix_gradient(templates.detach(), ctx.winners, factors).view(adjacency.shape)
        return to_templates, to_adjacency, None


@dataclass(frozen=True)
class Windows:
    """The windows of a stack of graphs, each given by its first cell.

    Attributes:
        flat: all matrices concatenated, ``(graphs * n * n,)``.
        starts: where each window begins, ``(windows,)``; each graph has the same number of windows.
        n, k: sides of a matrix and of a window.
        whole: whether these are all windows of the graphs.
    """

    flat: FloatArray
    starts: IntArray
    n: int
    k: int
    whole: bool

    @classmethod
    def of(cls, adjacency: Tensor, k: int, half: bool = False) -> Windows:
        """Create all windows of graphs ``(graphs, n, n)``, or those with s <= t."""
        graphs, n = adjacency.shape[:2]
        flat = adjacency.contiguous().view(-1).numpy()
        return cls(flat, window_starts(graphs, n, k, half), n, k, not half)

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, rows: IntArray) -> Windows:
        return replace(self, starts=self.starts[rows], whole=False)

    def values(self, rows: IntArray) -> FloatArray:
        """Cut out some windows, ``(rows, k*k)``."""
        cells = np.arange(self.k)[:, None] * self.n + np.arange(self.k)
        values: FloatArray = self.flat[self.starts[rows, None] + cells.ravel()]
        return values

    @property
    def size(self) -> tuple[int, ...]:
        """The form of k for the compiled loops."""
        return (0,) * self.k

    @property
    def number(self) -> Any:
        """The type of a row number of `permutations`."""
        return np.int16 if self.k <= 7 else np.int32

    def match(self, template: Tensor, winners: IntArray, distance: FloatArray) -> None:
        """Write the best permutation, a row of `permutations`, and the squared distance of each window."""
        from isonn.windows import kernels

        middle = centred(template[None])
        table = relabelled(template[None]).numpy()
        ranked = fill_up(table if middle is None else relabelled(middle).numpy())
        matrices = self.flat.reshape(-1, self.n**2)
        m = self.n - self.k + 1
        runs = -(-((m - 1) * self.n + m) // kernels.RUN) * len(matrices)

        def run(block: slice) -> None:
            kernels.match_runs(self.size, matrices, self.n, ranked, table, winners, distance, block.start, block.stop)

        def at(block: slice) -> None:
            kernels.match_at(
                self.size, self.flat, self.starts[block], self.n, ranked, table, winners[block], distance[block]
            )

        if self.whole:
            for_each_block(lambda: run, runs, 4)
        else:
            for_each_block(lambda: at, len(self), BLOCK_WINDOWS)

    def measure(self, table: FloatArray, winners: IntArray, distance: FloatArray) -> None:
        """Write the squared distance of each window under a given permutation."""
        from isonn.windows import kernels

        def work(block: slice) -> None:
            kernels.measure(*self._cells, table, winners, distance, block.start, block.stop)

        for_each_block(lambda: work, len(self), BLOCK_WINDOWS)

    @property
    def _cells(self) -> tuple[Any, ...]:
        """The first arguments of loops over windows: where the cells of each window lie."""
        return self.size, self.flat, self.starts, self.n

    def template_gradient(self, templates: Tensor, winners: IntArray, factors: FloatArray) -> Tensor:
        """Return the gradient of the templates, given that of the distances, ``(c, windows)``.

        d/dK sum_w g_w |K - P'M_wP|^2 = 2 K sum(g) - 2 sum_w g_w P'M_wP.
        """
        from isonn.windows import kernels

        cells = cells_of_all(self.k)
        parts = np.zeros((len(templates), -(-len(self) // BLOCK_WINDOWS), self.k**2))

        def work(block: slice) -> None:
            for i, sums_of_block in enumerate(parts[:, block.start // BLOCK_WINDOWS]):
                kernels.add_to_template(
                    *self._cells, cells, winners[i], factors[i], sums_of_block, block.start, block.stop
                )

        for_each_block(lambda: work, len(self), BLOCK_WINDOWS)
        sums = torch.from_numpy(parts.sum(1)).view(templates.shape)
        total = torch.from_numpy(factors.sum(1, dtype=np.float64))[:, None, None]
        return (2 * (templates * total - sums)).to(templates.dtype)

    def matrix_gradient(self, templates: Tensor, winners: IntArray, factors: FloatArray) -> Tensor:
        """Return the gradient of the flat matrices, given that of the distances, ``(c, windows)``."""
        from isonn.windows import kernels

        tables = relabelled(templates.flatten(1)).numpy().reshape(len(templates), -1, self.k**2)
        gradient = np.zeros_like(self.flat)
        graphs = len(self.flat) // self.n**2
        each = len(self) // graphs

        def work(block: slice) -> None:  # whole graphs, because their windows overlap
            some = block.start * each, block.stop * each
            for i, table in enumerate(tables):
                kernels.add_to_matrices(*self._cells, table, winners[i], factors[i], gradient, *some)

        for_each_block(lambda: work, graphs, 1)
        return torch.from_numpy(gradient)


#: Distances ``(c, w)``, winning permutations ``(c, w)``, and their windows.
Matched = tuple[Tensor, IntArray, Windows]


@lru_cache(maxsize=16)
def window_starts(graphs: int, n: int, k: int, half: bool = False) -> IntArray:
    """Return where each window begins in flat matrices, ``(windows,)``; cached, so do not modify."""
    m = n - k + 1
    places = half_places(m)[0].numpy() if half else np.arange(m * m)
    starts: IntArray = (np.arange(graphs)[:, None] * n * n + places // m * n + places % m).ravel()
    return starts


def fill_up(table: FloatArray) -> FloatArray:
    """Pad the table with copies of its first row to a length that the loops accept."""
    from isonn.windows import kernels

    missing = -len(table) % kernels.AT_ONCE
    return np.concatenate([table, np.repeat(table[:1], missing, axis=0)]) if missing else table
