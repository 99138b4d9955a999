"""The best few permutations of a template in each window, separated beyond rounding errors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from isonn.matching.exact import for_each_block
from isonn.windows.match import FloatArray, IntArray, Windows

#: Numbers in one block of products, 2 MB of float32, and fewest windows in one.
PRODUCTS, FEWEST = 2**19, 64
#: Numbers in one block of settling.
SETTLED_NUMBERS = 2**18


def best_permutations(table: FloatArray, windows: Windows, rows: IntArray, count: int) -> tuple[FloatArray, IntArray]:
    """Return the ``count`` largest products of some windows, in descending order, and their rows of ``table``.

    If there are fewer rows, the end is filled with -inf and -1.

    Shapes:
        - table ``(f, k*k)``
        - outputs ``(count, rows)``
    """
    relabelled = torch.from_numpy(table)
    values = np.full((len(rows), count), -np.inf, dtype=table.dtype)
    which = np.full((len(rows), count), -1, dtype=np.int64)
    size, filled = max(FEWEST, PRODUCTS // len(table)), min(count, len(table))

    def new_worker() -> Callable[[slice], None]:
        buffer = relabelled.new_empty(size * len(table))

        def work(block: slice) -> None:
            some = torch.from_numpy(windows.values(rows[block]))
            product = torch.mm(some, relabelled.t(), out=buffer[: len(some) * len(table)].view(len(some), len(table)))
            best = product.topk(filled, dim=1)
            values[block, :filled], which[block, :filled] = best.values.numpy(), best.indices.numpy()

        return work

    if len(rows):
        for_each_block(new_worker, len(rows), size)
    return np.ascontiguousarray(values.T), np.ascontiguousarray(which.T)


def settle(table: FloatArray, regions: FloatArray, candidates: IntArray) -> IntArray:
    """Return the best candidate of each region, the first of equals; in float64, so batching cannot change it.

    Shapes:
        - candidates ``(w, count)``, rows of ``table``; -1 for none
        - output ``(w,)``, rows of ``table``
    """
    values = regions.astype(np.float64)
    winners = np.empty(len(values), dtype=np.int64)
    size = max(1, SETTLED_NUMBERS // (candidates.shape[1] * table.shape[1]))
    for start in range(0, len(values), size):
        block = slice(start, start + size)
        some = candidates[block]
        # numpy sums the last axis row by row, in an order that depends only on its length
        score = (table[some] * values[block, None]).sum(-1)
        score[some < 0] = -np.inf
        best = np.where(score == score.max(1, keepdims=True), some, np.iinfo(np.int64).max)
        winners[block] = best.min(1)
    return np.where(winners == np.iinfo(np.int64).max, candidates[:, 0], winners)  # NaN: any will do
