"""Certificates of windows kept from step to step, and facts about the windows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from isonn.matching.permutations import permutations
from isonn.windows.match import FloatArray, IntArray, Windows

#: Number of permutations listed for each window and template.
KEPT = 8
#: Windows processed together before training: 16 MB of float64.
BLOCK_NUMBERS = 2**21
#: Number of snapshots of a template above which unused ones are dropped.
LOG_LENGTH = 1024


@dataclass
class Certificates:
    """Bounds for one template in each window; see the top of the module for the proof.

    Attributes:
        best: rows of `permutations`, the winner first, -1 for none, ``(KEPT, w)``.
        runner_up: upper bound of all scores but that of the first of ``best`` at snapshot ``paired``.
        outside: upper bound of the scores outside ``best`` at snapshot ``matched``.
        paired, matched: snapshots of the template in its log.
    """

    best: IntArray
    runner_up: FloatArray
    outside: FloatArray
    paired: IntArray
    matched: IntArray

    @classmethod
    def empty(cls, windows: Windows) -> Certificates:
        """Return empty certificates, so that everything is matched in full."""
        w = len(windows)
        best = np.zeros((KEPT, w), dtype=windows.number)
        scores: list[Any] = [np.full(w, np.inf, dtype=windows.flat.dtype) for _ in range(2)]
        return cls(best, *scores, *(np.zeros(w, dtype=np.int32) for _ in range(2)))

    def __getitem__(self, rows: IntArray) -> Certificates:
        return Certificates(*(column[..., rows] for column in vars(self).values()))

    def __setitem__(self, rows: IntArray, other: Certificates) -> None:
        for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True):
            mine[..., rows] = theirs


@dataclass(frozen=True)
class Facts:
    """The facts about windows that certificates need.

    Attributes:
        columns: mean of the diagonal, mean of the rest, half the squared norm, ``(3, w)``.
        lengths: norms of the centred windows, ``(w,)``.
        pattern: which nodes of each window are twins, as an entry of ``tried``, ``(w,)``; see `twins_of`.
        tried: for each pattern the permutations to try, as rows of `permutations`; None for all.
    """

    columns: FloatArray
    lengths: FloatArray
    pattern: IntArray
    tried: list[IntArray | None]

    @classmethod
    def of(cls, adjacency: Tensor, k: int, cut: Callable[[Tensor, int], Tensor]) -> Facts:
        """Compute the facts of all windows, some graphs at a time."""
        n, m = len(adjacency), cut(adjacency[:1], k).numel() // (k * k)
        numbers = np.empty((4, n * m), dtype=adjacency.numpy().dtype)
        codes = np.empty(n * m, dtype=np.int64)
        graphs = max(1, BLOCK_NUMBERS // (m * k * k))
        for start in range(0, n, graphs):
            windows = cut(adjacency[start : start + graphs], k).view(-1, k, k)
            block = slice(start * m, start * m + len(windows))
            values = windows.flatten(1).numpy().astype(np.float64)
            means = means_of(values)
            half_squares = np.einsum("we,we->w", values, values) / 2
            numbers[:, block] = *means, half_squares, np.linalg.norm(centre(values, means), axis=1)
            codes[block] = twin_codes(windows)
        return cls(numbers[:3], numbers[3], *twins_of(codes, k))

    def __getitem__(self, rows: IntArray) -> Facts:
        return Facts(self.columns[:, rows], self.lengths[rows], self.pattern[rows], self.tried)


class TemplateLog:
    """Snapshots of a template at the steps that certificates refer to."""

    def __init__(self) -> None:
        self.snapshots: list[FloatArray] = []
        self.limit = LOG_LENGTH

    def drift(self, template: FloatArray) -> FloatArray:
        """Return the distance the centred template has moved since each snapshot, rounded up."""
        if not self.snapshots:
            return np.zeros(1)
        change = template - np.stack(self.snapshots)
        length: FloatArray = np.linalg.norm(centre(change, means_of(change)), axis=1)
        return length * (1 + 1e-5)

    def drop_unused(self, certificates: Certificates) -> None:
        """Drop the snapshots that no certificate refers to, once there are many."""
        if len(self.snapshots) < self.limit:
            return
        columns = (certificates.paired, certificates.matched)
        used = np.unique(np.stack(columns))
        number = np.zeros(len(self.snapshots), dtype=np.int32)
        number[used] = np.arange(len(used))
        for column in columns:
            column[:] = number[column]
        self.snapshots = [self.snapshots[i] for i in used]
        self.limit = max(LOG_LENGTH, 2 * len(used))


def means_of(flat: FloatArray) -> FloatArray:
    """Return the mean of the diagonal and of the other entries of flat matrices, ``(2, w)``."""
    k = round(flat.shape[1] ** 0.5)
    diagonal = flat[:, :: k + 1].sum(1)
    rest = flat.sum(1) - diagonal
    return np.stack([diagonal / k, rest / max(1, k * (k - 1))])


def centre(flat: FloatArray, means: FloatArray) -> FloatArray:
    """Subtract the mean of the diagonal on the diagonal and the mean of the other entries elsewhere."""
    k = round(flat.shape[1] ** 0.5)
    centred: FloatArray = flat - means[1][:, None]
    centred[:, :: k + 1] = flat[:, :: k + 1] - means[0][:, None]
    return centred


def rounding(k: int, dtype: torch.dtype) -> float:
    """Return the error of a product of k*k numbers, relative to the norms of its factors; over twice the proven bound.

    A sum of n products in any order has an error of at most n u times the product of the norms. A few more roundings
    follow, when a mean is subtracted and bounds are added.
    """
    return (k * k + 8) * torch.finfo(dtype).eps  # eps = 2 u


def twin_codes(regions: Tensor) -> IntArray:
    """Return a number for each region ``(w, k, k)`` that encodes which of its nodes are interchangeable, ``(w,)``."""
    w, k, _ = regions.shape
    values = regions.numpy()
    first = np.tile(np.arange(k), (w, 1))  # for each node, the first node it can be swapped with
    for b in range(1, k):
        for a in range(b):
            # on weighted graphs hardly any region passes even this, so few need the full check
            like = values[:, a, a] == values[:, b, b]
            like &= values[:, a, b] == values[:, b, a]
            some = np.flatnonzero(like)
            others = [node for node in range(k) if node not in (a, b)]
            some = some[(values[some, a][:, others] == values[some, b][:, others]).all(1)]
            some = some[(values[some, :, a][:, others] == values[some, :, b][:, others]).all(1)]
            first[some, b] = np.minimum(first[some, b], first[some, a])
    codes: IntArray = first @ k ** np.arange(k)
    return codes


def twins_of(codes: IntArray, k: int) -> tuple[IntArray, list[IntArray | None]]:
    """Return the pattern of each region with these `twin_codes`, and the permutations to try for each pattern.

    Twins are nodes of a window that can be swapped without changing it. Permutations that differ by such a swap are
    equally good for every template, so only the first of them is tried. A constant window has one permutation left, a
    window over the padding of a graph a few.
    """
    distinct, pattern = np.unique(codes, return_inverse=True)
    every = permutations(k).numpy()
    tried: list[IntArray | None] = []
    for code in distinct:
        classes = code // k ** np.arange(k) % k
        fits = np.ones(len(every), dtype=bool)
        for b in range(1, k):
            before = np.flatnonzero(classes[:b] == classes[b])
            if len(before):  # increasing within a class of twins: the first of equally good permutations
                fits &= every[:, before[-1]] < every[:, b]
        tried.append(None if fits.all() else np.flatnonzero(fits))
    return pattern.astype(np.int32), tried
