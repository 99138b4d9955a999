"""What training remembers of weighted windows from step to step; `isonn.matching.certified` says what for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from isonn.matching.leaders import FloatArray, IntArray, Twins, rowwise, twin_codes, twins_of

#: Numbers the windows of all graphs may take to be kept rather than cut at every step: 512 MB of float32.
KEPT_NUMBERS = 2**27
#: Numbers of windows that are looked at together before training: 16 MB of float64.
BLOCK_NUMBERS = 2**21
#: Snapshots of a template before those no region refers to any more are dropped.
LOG_LENGTH = 1024


@dataclass
class Certificates:
    """What is known of one template in each region; see the module for what it proves.

    Attributes:
        best: rows of `permutations`, the winner first, then the runner-up, -1 for none, ``(KEPT, w)``.
        runner_up: no ordering but the first of ``best`` had a higher score when ``paired``.
        third: no ordering but the first two had a higher score when ``listed``.
        outside: no ordering outside ``best`` had a higher score when ``matched``.
        paired, listed, matched: snapshots of the template in its log.
    """

    best: IntArray
    runner_up: FloatArray
    third: FloatArray
    outside: FloatArray
    paired: IntArray
    listed: IntArray
    matched: IntArray

    @classmethod
    def empty(cls, kept: int, w: int, k: int, dtype: Any) -> Certificates:
        """Nothing is known: everything will be matched in full."""
        best = np.zeros((kept, w), dtype=np.int16 if k <= 7 else np.int32)
        scores = [np.full(w, np.inf, dtype=dtype) for _ in range(3)]
        return cls(best, *scores, *(np.zeros(w, dtype=np.int32) for _ in range(3)))

    def __getitem__(self, rows: IntArray) -> Certificates:
        return Certificates(*(column[..., rows] for column in vars(self).values()))

    def __setitem__(self, rows: IntArray, other: Certificates) -> None:
        for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True):
            mine[..., rows] = theirs


@dataclass(frozen=True)
class Regions:
    """Flat regions, and what certificates need to know of them.

    Attributes:
        values: ``(w, k*k)``, or empty when they are cut anew at every step.
        facts: mean of the diagonal, mean of the rest, half the squared norm, ``(3, w)``.
        lengths: norms of the centred regions, ``(w,)``.
        twins: which orderings need not be told apart.
    """

    values: Tensor
    facts: FloatArray
    lengths: FloatArray
    twins: Twins

    @classmethod
    def of(cls, adjacency: Tensor, k: int, cut: Callable[[Tensor, int], Tensor]) -> Regions:
        """All windows of the graphs, with all that is known of them; without the windows if they are too many."""
        n, m = len(adjacency), cut(adjacency[:1], k).numel() // (k * k)
        known = np.empty((4, n * m), dtype=adjacency.numpy().dtype)
        codes = np.empty(n * m, dtype=np.int64)
        kept = []
        graphs = max(1, BLOCK_NUMBERS // (m * k * k))
        for start in range(0, n, graphs):
            windows = cut(adjacency[start : start + graphs], k).view(-1, k, k)
            block = slice(start * m, start * m + len(windows))
            values = windows.flatten(1).numpy().astype(np.float64)
            means = means_of(values)
            known[:, block] = *means, rowwise(values, values) / 2, np.linalg.norm(centre(values, means), axis=1)
            codes[block] = twin_codes(windows)
            if n * m * k * k <= KEPT_NUMBERS:
                kept.append(windows.flatten(1))
        windows = torch.cat(kept) if kept else adjacency.new_empty(0, k * k)
        return cls(windows, known[:3], known[3], twins_of(codes, k))

    def __len__(self) -> int:
        return len(self.lengths)


class TemplateLog:
    """Where a template was at the steps certificates refer to."""

    def __init__(self) -> None:
        self.snapshots: list[FloatArray] = []
        self.limit = LOG_LENGTH

    def drift(self, template: FloatArray) -> FloatArray:
        """How far the centred template has moved since each snapshot, rounded up."""
        if not self.snapshots:
            return np.zeros(1)
        change = template - np.stack(self.snapshots)
        length: FloatArray = np.linalg.norm(centre(change, means_of(change)), axis=1)
        return length * (1 + 1e-5)

    def drop_unused(self, certificates: Certificates) -> None:
        """Forget the snapshots no certificate refers to, once there are many."""
        if len(self.snapshots) < self.limit:
            return
        columns = (certificates.paired, certificates.listed, certificates.matched)
        used = np.unique(np.stack(columns))
        number = np.zeros(len(self.snapshots), dtype=np.int32)
        number[used] = np.arange(len(used))
        for column in columns:
            column[:] = number[column]
        self.snapshots = [self.snapshots[i] for i in used]
        self.limit = max(LOG_LENGTH, 2 * len(used))


def means_of(flat: FloatArray) -> FloatArray:
    """Mean of the diagonal and of the rest of flat matrices, ``(2, w)``."""
    k = round(flat.shape[1] ** 0.5)
    diagonal = flat[:, :: k + 1].sum(1)
    rest = flat.sum(1) - diagonal
    return np.stack([diagonal / k, rest / max(1, k * (k - 1))])


def centre(flat: FloatArray, means: FloatArray) -> FloatArray:
    """Flat matrices less the mean of the diagonal on the diagonal and that of the rest elsewhere."""
    k = round(flat.shape[1] ** 0.5)
    centred: FloatArray = flat - means[1][:, None]
    centred[:, :: k + 1] = flat[:, :: k + 1] - means[0][:, None]
    return centred
