"""Quality control of connectivity matrices when they are loaded: one sentence per problem, naming subjects."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

#: The median weight of an outlier is this many times larger or smaller than that of the middle subject.
OUTLIER = 5.0
#: Fisher's z of a correlation is below this; larger weights are outliers of another kind.
LARGEST_Z = 8.0
#: Two scales differ by this factor in their largest weights, and a tenth of the subjects has each.
GAP, LEAST_SHARE = 1.1, 0.1


def problems(stack: NDArray[np.floating], who: Callable[[int], str], region: Callable[[int], str]) -> list[str]:
    """Return a sentence for each problem: scales that differ, outliers, regions without signal, repeated matrices.

    Args:
        stack: matrices of shape (g, n, n); NaN is ignored here.
        who: name of a subject.
        region: name of a region.
    """
    facts = [_facts(matrix) for matrix in stack]
    largest, smallest, middle = (np.array([fact[i] for fact in facts]) for i in range(3))
    dead = np.stack([fact[3] for fact in facts])
    ones = np.array([bool((np.abs(np.diagonal(matrix) - 1) < 1e-6).all()) for matrix in stack])
    signed = (smallest < 0).any() or (ones[largest <= 1].all() and ones.any())  # others may be no correlations
    return [
        *(_scales(largest, who) if signed else []),
        *_outliers(middle, who),
        *_dead(dead, who, region),
        *_repeats(stack, who),
    ]


def _facts(matrix: NDArray[np.floating]) -> tuple[float, float, float, NDArray[np.bool_]]:
    """Return the largest absolute and the smallest weight, the median absolute weight, and regions without signal."""
    off = matrix.copy()
    np.fill_diagonal(off, np.nan)
    known = off[np.isfinite(off)]
    if not known.size:
        return 0.0, 0.0, 0.0, np.zeros(len(matrix), dtype=bool)
    gaps = np.isnan(off)
    low = np.where(gaps, np.inf, off).min(axis=1)
    high = np.where(gaps, -np.inf, off).max(axis=1)
    flat = (low == high) & (len(matrix) > 2)  # all connections are equal, such as 0
    return float(np.abs(known).max()), float(known.min()), float(np.median(np.abs(known))), flat


def _scales(largest: NDArray[np.float64], who: Callable[[int], str]) -> list[str]:
    """Correlations lie in [-1, 1], their Fisher z do not."""
    beyond = (largest > 1 + 1e-6) & (largest < LARGEST_Z)
    if np.median(largest) >= 4 or beyond.all() or not beyond.any():
        return []
    # weights on one scale that happens to reach 1 leave no gap there
    apart = np.quantile(largest[beyond], 0.1) / max(float(np.quantile(largest[~beyond], 0.9)), 1e-300)
    few = beyond if beyond.sum() <= len(beyond) / 2 else ~beyond
    if apart < GAP or few.mean() < LEAST_SHARE:
        return []
    kind = "beyond 1, as Fisher's z" if few is beyond else "within 1, as correlations"
    return [
        f"{int(few.sum())} of {len(few)} matrices have weights {kind}, unlike the others; the first is "
        f"{who(int(few.argmax()))}; give all of them on one scale"
    ]


def _outliers(middle: NDArray[np.float64], who: Callable[[int], str]) -> list[str]:
    usual = float(np.median(middle))
    if usual <= 0 or len(middle) < 4:
        return []
    ratio = np.where(middle > 0, middle / usual, np.nan)
    odd = (ratio > OUTLIER) | (ratio < 1 / OUTLIER)
    if not odd.any():
        return []
    first = int(odd.argmax())
    return [
        f"{who(first)} has weights {ratio[first]:.3g} times the usual ({int(odd.sum())} of {len(odd)} such matrices); "
        f"check its scale, or leave it out"
    ]


def _dead(dead: NDArray[np.bool_], who: Callable[[int], str], region: Callable[[int], str]) -> list[str]:
    if not dead.any():
        return []
    subject, first = (int(i) for i in np.argwhere(dead)[0])
    everywhere = np.flatnonzero(dead.all(axis=0))
    if len(everywhere):
        return [f"{region(int(everywhere[0]))} has no signal in any subject ({len(everywhere)} such regions); drop it"]
    some = int(dead.any(axis=1).sum())
    return [
        f"{region(first)} of {who(subject)} has no signal: all its connections are equal ({some} subjects have such "
        f"regions); set its row and column to NaN and use missing='drop', or leave the subject out"
    ]


def _repeats(stack: NDArray[np.floating], who: Callable[[int], str]) -> list[str]:
    seen: dict[bytes, int] = {}
    for i, matrix in enumerate(stack):
        digest = hashlib.sha256(np.ascontiguousarray(matrix).tobytes()).digest()
        if digest in seen:
            return [f"the matrices of {who(seen[digest])} and {who(i)} are equal; remove one, or correct the file"]
        seen[digest] = i
    return []
