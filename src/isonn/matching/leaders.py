"""The best few orderings of a template in each region, told apart beyond rounding.

Products of flat vectors are rounded, so orderings whose products lie within the rounding of each other could be
ranked one way today and another way tomorrow. Here such orderings are settled by one arithmetic that depends on
nothing but the template and the region, so that whoever compares them, in whatever block, finds the same winner.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from isonn.matching.layout import MatrixLayout
from isonn.matching.parallel import for_each_block
from isonn.matching.permutations import permutations

FloatArray = NDArray[np.floating]
IntArray = NDArray[np.integer]

#: Numbers in one block of the product: 2 MB of float32.
BLOCK_NUMBERS = 2**19
#: Orderings multiplied at once: 7! of them; at k = 8 and 9 the leaders of several such parts are merged.
PART_ORDERINGS = 5040
#: From here on the leaders are sought among the best of groups of 12 first.
MANY_ORDERINGS = 2000
GROUP = 12
#: Numbers in one block of settling.
SETTLED_NUMBERS = 2**18


@lru_cache(maxsize=4)
def cells_of_all(k: int) -> Tensor:
    """Where each cell of a renumbered matrix comes from, for all k! orderings, ``(k!, k*k)``."""
    return MatrixLayout(k).cells(permutations(k)).int()


def renumber(template: Tensor) -> Tensor:
    """A flat template under all orderings, ``(k!, k*k)``."""
    cells = cells_of_all(round(len(template) ** 0.5))
    return template.index_select(0, cells.flatten()).view(cells.shape)


def rounding(k: int, dtype: torch.dtype) -> float:
    """Error of a product of k*k numbers, relative to the norms of its factors; twice what is proved, and more.

    A sum of n products in any order is off by at most n u of the product of the norms; a few more roundings
    follow it (a mean is subtracted, bounds are added).
    """
    return (k * k + 8) * torch.finfo(dtype).eps  # eps = 2 u


@dataclass(frozen=True)
class Twins:
    """Which nodes of a region may be exchanged without changing it, for many regions.

    Orderings that differ by such an exchange are equally good for every template, now and later; only the first of
    them is tried. A constant region is left with one ordering, a window over the padding of a graph with few.

    Attributes:
        pattern: for each region, its row of ``orderings``.
        orderings: for each pattern the orderings to try, as rows of `permutations`; None for all.
    """

    pattern: IntArray
    orderings: list[IntArray | None]


def twin_codes(regions: Tensor) -> IntArray:
    """A number that says which nodes of each region ``(w, k, k)`` are interchangeable, ``(w,)``."""
    w, k, _ = regions.shape
    values = regions.numpy()
    first = np.tile(np.arange(k), (w, 1))  # of each node, the first node it may be exchanged with
    for b in range(1, k):
        for a in range(b):
            # on weighted graphs hardly a region passes even this, so the rest is looked at for few
            like = values[:, a, a] == values[:, b, b]
            like &= values[:, a, b] == values[:, b, a]
            some = np.flatnonzero(like)
            others = [node for node in range(k) if node not in (a, b)]
            some = some[(values[some, a][:, others] == values[some, b][:, others]).all(1)]
            some = some[(values[some, :, a][:, others] == values[some, :, b][:, others]).all(1)]
            first[some, b] = np.minimum(first[some, b], first[some, a])
    codes: IntArray = first @ k ** np.arange(k)
    return codes


def twins_of(codes: IntArray, k: int) -> Twins:
    """The orderings to try for regions with these `twin_codes`."""
    distinct, pattern = np.unique(codes, return_inverse=True)
    every = permutations(k).numpy()
    orderings: list[IntArray | None] = []
    for code in distinct:
        classes = code // k ** np.arange(k) % k
        fits = np.ones(len(every), dtype=bool)
        for b in range(1, k):
            before = np.flatnonzero(classes[:b] == classes[b])
            if len(before):  # increasing within a class of twins: the first of the equally good ones
                fits &= every[:, before[-1]] < every[:, b]
        orderings.append(None if fits.all() else np.flatnonzero(fits))
    return Twins(pattern.astype(np.int32), orderings)


def leaders(renumbered: Tensor, regions: Tensor, count: int) -> tuple[FloatArray, IntArray]:
    """The ``count`` largest products of each region, falling, and the rows of ``renumbered`` they belong to.

    Fewer rows than asked for leave -inf and -1 at the end.

    Shapes:
        - renumbered ``(f, k*k)``
        - regions ``(w, k*k)``
        - outputs ``(count, w)``
    """
    w, f = len(regions), len(renumbered)
    values = np.full((count, w), -np.inf, dtype=regions.numpy().dtype)
    which = np.full((count, w), -1, dtype=np.int64)
    there = min(count, f)
    parts = renumbered.split(PART_ORDERINGS)
    rows = max(1, min(w, BLOCK_NUMBERS // len(parts[0])))

    def new_worker() -> Callable[[slice], None]:
        buffer = regions.new_empty(rows * len(parts[0]))

        def work(block: slice) -> None:
            some = regions[block]
            best = []
            for number, part in enumerate(parts):
                product = torch.mm(some, part.t(), out=buffer[: len(some) * len(part)].view(len(some), len(part)))
                top, place = _top(product, min(there, len(part)))
                best.append((top, place + number * PART_ORDERINGS))
            top, place = best[0]
            if len(best) > 1:
                top, at = torch.cat([part[0] for part in best], 1).topk(there, 1)
                place = torch.cat([part[1] for part in best], 1).gather(1, at)
            values[:there, block], which[:there, block] = top.t().numpy(), place.t().numpy()

        return work

    if w:
        for_each_block(new_worker, w, rows)
    return values, which


def _top(product: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """As ``product.topk(count, 1)``; what is in ``product`` is used up."""
    rows, f = product.shape
    if f < MANY_ORDERINGS or f % GROUP:
        return _largest(product, count)
    # The count largest numbers lie in the count groups with the largest maxima: 12 times fewer to look through.
    groups = f // GROUP
    members = product.view(rows, GROUP, groups)
    chosen = _largest(members.amax(1), count)[1]
    some = members.gather(2, chosen[:, None].expand(-1, GROUP, -1)).flatten(1)
    top, place = _largest(some, count)
    member, group = place // count, place % count
    return top, member * groups + chosen.gather(1, group)


def _largest(product: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """As ``product.topk(count, 1)``, by taking out the largest again and again: a third of its time for nine of 720."""
    values, rows = product.numpy(), np.arange(len(product))
    top = np.empty((len(values), count), dtype=values.dtype)
    place = np.empty((len(values), count), dtype=np.int64)
    for i in range(count):
        place[:, i] = largest = values.argmax(1)
        top[:, i] = values[rows, largest]
        values[rows, largest] = -np.inf
    return torch.from_numpy(top), torch.from_numpy(place)


def settle(renumbered: Tensor, regions: Tensor, candidates: IntArray) -> IntArray:
    """The best of the candidates of each region, in an arithmetic that nothing else has a part in; of equals the first.

    Shapes:
        - candidates ``(w, count)``, rows of ``renumbered``; -1 stands for none
        - output ``(w,)``, rows of ``renumbered``
    """
    table, values = renumbered.numpy(), regions.numpy().astype(np.float64)
    winners = np.empty(len(values), dtype=np.int64)
    size = max(1, SETTLED_NUMBERS // (candidates.shape[1] * table.shape[1]))
    for start in range(0, len(values), size):
        block = slice(start, start + size)
        some = candidates[block]
        # numpy adds up the last axis row by row, in an order that depends on its length alone
        score = (table[some] * values[block, None]).sum(-1)
        score[some < 0] = -np.inf
        best = np.where(score == score.max(1, keepdims=True), some, np.iinfo(np.int64).max)
        winners[block] = best.min(1)
    return np.where(winners == np.iinfo(np.int64).max, candidates[:, 0], winners)  # not a number: any will do


def rowwise(left: NDArray[Any], right: NDArray[Any], out: NDArray[Any] | None = None) -> NDArray[Any]:
    """Products of vectors, row by row; a row's bits do not depend on the other rows."""
    product: NDArray[Any] = np.einsum("...j,...j->...", left, right, out=out)
    return product
