"""Blocks of work over the cores: one thread a block beats all threads on every small operation of a block."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import torch

#: Fewer blocks than this are not worth starting threads for.
MIN_BLOCKS = 4


def for_each_block(new_worker: Callable[[], Callable[[slice], None]], count: int, size: int) -> None:
    """Work through the slices of ``range(count)`` of the given size, on as many threads as torch would use.

    The blocks do not depend on the number of threads, so neither do the bits of the result.

    Args:
        new_worker: called once per thread; gives the function that works on a block, with memory of its own.
    """
    blocks = [slice(start, min(start + size, count)) for start in range(0, count, size)]
    threads = min(torch.get_num_threads(), len(blocks))
    if len(blocks) < MIN_BLOCKS or threads == 1:
        _work(new_worker, blocks)
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # within a block; a new thread starts with this setting
    try:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(_work, [new_worker] * threads, [blocks[first::threads] for first in range(threads)]))
    finally:
        torch.set_num_threads(before)


def _work(new_worker: Callable[[], Callable[[slice], None]], blocks: list[slice]) -> None:
    with torch.no_grad():  # a new thread does not inherit it
        worker = new_worker()
        for block in blocks:
            worker(block)
