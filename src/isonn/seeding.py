"""Reproducible results: named random streams, and control of torch threads.

Every random choice uses a stream named after its purpose, so adding one never changes the numbers of another.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from isonn.errors import InputError

if TYPE_CHECKING:
    import torch


def resolve_seed(random_state: int | np.integer | np.random.RandomState | np.random.Generator | None) -> int:
    """Return the integer seed of a ``random_state`` argument; ``None`` draws a new one.

    Example:
        >>> resolve_seed(7)
        7
    """
    if random_state is None:
        return int(np.random.default_rng().integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    is_integer = isinstance(random_state, (int, np.integer)) and not isinstance(random_state, (bool, np.bool_))
    if not is_integer or random_state < 0:
        raise InputError(
            f"random_state={random_state!r} is not a valid seed; use an integer >= 0, or None for a new one"
        )
    return int(random_state)


def derive_seed(seed: int, *names: object) -> int:
    """Return a 63-bit seed that depends only on ``seed`` and the names."""
    text = "\x1f".join([str(seed), *map(str, names)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def numpy_stream(seed: int, *names: object) -> np.random.Generator:
    """Return a NumPy generator for the purpose given by the names."""
    return np.random.default_rng(derive_seed(seed, *names))


def torch_stream(seed: int, *names: object) -> torch.Generator:
    """Return a CPU torch generator for the purpose given by the names."""
    import torch

    return torch.Generator().manual_seed(derive_seed(seed, *names))


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Limit torch to ``count`` threads inside the block; do nothing if torch is not loaded.

    Sums are split by thread, so identical results need the same number of threads.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
