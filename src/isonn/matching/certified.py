r"""Exact matching that tries all orderings only where one of them could have become the best.

Templates move little from step to step. For each region and template the m best orderings of the last full matching
are kept, and how well the next one did. Write :math:`\tilde X` for a matrix less the mean of its diagonal on the
diagonal and less the mean of the rest elsewhere: no renumbering changes those means, so orderings are ranked by
:math:`s_P = \langle P \tilde K P^\top, \tilde M \rangle`. When the template has moved by D since, an ordering outside
the list, then at most :math:`s_{m+1}`, is now at most

.. math:: s_{m+1} + \langle P \tilde D P^\top, \tilde M \rangle \le s_{m+1} + \lVert\tilde D\rVert \lVert\tilde M\rVert

by Cauchy and Schwarz. While the best of the list does better than that *now*, the best of the list is the best of
all. The same bound, with the runner-up of the list in the place of :math:`s_{m+1}`, says when not even the list has to
be looked at. docs/performance.md has the proof in full.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd.function import once_differentiable

from isonn.matching.exact import check_cost, check_pair, template_gradient
from isonn.matching.halves import cut_half
from isonn.matching.layout import MatrixLayout
from isonn.matching.leaders import (
    FloatArray,
    IntArray,
    Twins,
    leaders,
    renumber,
    rounding,
    rowwise,
    settle,
    twin_codes,
    twins_of,
)
from isonn.matching.parallel import for_each_block
from isonn.matching.windows import check_windows, cut_windows

#: Orderings kept for each region and template.
KEPT = 8
#: Regions scored at once: 400 kB at k = 7, so that three passes over them stay in the cache.
BLOCK_ROWS = 2048
#: Regions whose lists are scored at once.
BLOCK_LISTS = 512
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
        best: rows of `permutations`, the winner first, -1 for none, ``(KEPT, w)``.
        runner_up: no other of ``best`` had a higher score when ``listed``.
        outside: no ordering outside ``best`` had a higher score when ``matched``.
        listed, matched: snapshots of the template in its log.
    """

    best: IntArray
    runner_up: FloatArray
    outside: FloatArray
    listed: IntArray
    matched: IntArray

    @classmethod
    def empty(cls, w: int, k: int, dtype: Any) -> Certificates:
        """Nothing is known: everything will be matched in full."""
        best = np.zeros((KEPT, w), dtype=np.int16 if k <= 7 else np.int32)
        unknown = np.full(w, np.inf, dtype=dtype)
        never = np.zeros(w, dtype=np.int32)
        return cls(best, unknown.copy(), unknown, never.copy(), never)

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
        means: mean of the diagonal and of the rest, ``(w, 2)``.
        norms: of the regions and of the centred regions, ``(w, 2)``.
        twins: which orderings need not be told apart.
    """

    values: Tensor
    means: FloatArray
    norms: FloatArray
    twins: Twins

    @classmethod
    def of(cls, adjacency: Tensor, k: int, cut: Callable[[Tensor, int], Tensor]) -> Regions:
        """All windows of the graphs, with all that is known of them; without the windows if they are too many."""
        n, m = len(adjacency), cut(adjacency[:1], k).numel() // (k * k)
        means, norms = np.empty((2, n * m, 2), dtype=adjacency.numpy().dtype)
        codes = np.empty(n * m, dtype=np.int64)
        kept = []
        graphs = max(1, BLOCK_NUMBERS // (m * k * k))
        for start in range(0, n, graphs):
            windows = cut(adjacency[start : start + graphs], k).view(-1, k, k)
            block = slice(start * m, start * m + len(windows))
            values = windows.flatten(1).numpy().astype(np.float64)
            means[block] = mean = _means(values)
            norms[block, 0] = np.linalg.norm(values, axis=1)
            norms[block, 1] = np.linalg.norm(_centre(values, mean), axis=1)
            codes[block] = twin_codes(windows)
            if n * m * k * k <= KEPT_NUMBERS:
                kept.append(windows.flatten(1))
        return cls(torch.cat(kept) if kept else adjacency.new_empty(0, k * k), means, norms, twins_of(codes, k))


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
        length: FloatArray = np.linalg.norm(_centre(change, _means(change)), axis=1)
        return length * (1 + 1e-5)

    def drop_unused(self, certificates: Certificates) -> None:
        """Forget the snapshots no certificate refers to, once there are many."""
        if len(self.snapshots) < self.limit:
            return
        used = np.union1d(certificates.listed, certificates.matched)
        number = np.zeros(len(self.snapshots), dtype=np.int32)
        number[used] = np.arange(len(used))
        certificates.listed[:] = number[certificates.listed]
        certificates.matched[:] = number[certificates.matched]
        self.snapshots = [self.snapshots[i] for i in used]
        self.limit = max(LOG_LENGTH, 2 * len(used))


class CertifiedWindows:
    """The k x k windows of weighted graphs, with what earlier matchings know of them; ``[rows]`` selects graphs.

    For training: the model is fed this in the place of the tensor of graphs, and gets the same distances and
    gradients. Selections share what is known, so that mini-batches find their certificates again. Nothing of it
    belongs to the model: certificates hold for whatever templates come, and without them everything is matched in full.

    Args:
        adjacency: the graphs, on the CPU, ``(graphs, n, n)``.
        k: nodes of a window.
        half: only the windows at (s, t) with s <= t, for symmetric graphs and templates.

    Example:
        >>> graphs = CertifiedWindows(torch.randn(2, 6, 6), k=5)
        >>> graphs.distance(torch.randn(3, 5, 5)).shape
        torch.Size([8, 3])
    """

    def __init__(self, adjacency: Tensor, k: int, half: bool = False) -> None:
        check_windows(adjacency, k)
        self.adjacency, self.k, self.side, self.half = adjacency, k, adjacency.shape[1] - k + 1, half
        self._regions = Regions.of(adjacency, k, cut_half if half else cut_windows)
        self._known: list[tuple[Certificates, TemplateLog]] = []
        self._graphs: Tensor | None = None
        self._per_graph = len(self._regions.means) // len(adjacency)

    def __len__(self) -> int:
        return len(self.adjacency)

    def __getitem__(self, rows: Tensor) -> CertifiedWindows:
        part = object.__new__(CertifiedWindows)
        part.__dict__.update(self.__dict__)
        part.adjacency = self.adjacency[rows]
        part._graphs = rows if self._graphs is None else self._graphs[rows]
        return part

    def distance(self, templates: Tensor) -> Tensor:
        """`exact_distance` of templates ``(c, k, k)`` and all windows, ``(w, c)``; gradients flow to the templates."""
        check_pair(templates, self.adjacency[:, : self.k, : self.k])
        check_cost(self.k, len(templates), self._per_graph * len(self))
        distance: Tensor = _CertifiedDistance.apply(templates.flatten(1), self)
        return distance

    def match(self, templates: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Distances and winners, ``(c, w)``, and the flat regions they belong to."""
        rows, regions = self._selected()
        if len(self._known) != len(templates):
            w = len(self._regions.means)
            dtype = regions.values.numpy().dtype
            self._known[:] = [(Certificates.empty(w, self.k, dtype), TemplateLog()) for _ in templates]
        distances, winners = [], []
        for template, (certificates, log) in zip(templates.flatten(1), self._known, strict=True):
            log.drop_unused(certificates)
            some = certificates if rows is None else certificates[rows]
            distances.append(torch.from_numpy(_Step(template, regions, some, log).distance()))
            if rows is not None:
                certificates[rows] = some
            winners.append(torch.from_numpy(some.best[0].astype(np.int64)))
        return torch.stack(distances), torch.stack(winners), regions.values

    def _selected(self) -> tuple[IntArray | None, Regions]:
        """The selected rows of all regions (None for all of them, without a copy), and those regions."""
        if self._graphs is None and len(self._regions.values):
            return None, self._regions
        values = (cut_half if self.half else cut_windows)(self.adjacency, self.k).view(-1, self.k**2)
        if self._graphs is None:
            return None, replace(self._regions, values=values)
        rows = (self._graphs.numpy()[:, None] * self._per_graph + np.arange(self._per_graph)).ravel()
        twins = Twins(self._regions.twins.pattern[rows], self._regions.twins.orderings)
        return rows, Regions(values, self._regions.means[rows], self._regions.norms[rows], twins)


class _CertifiedDistance(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, templates: Tensor, windows: CertifiedWindows) -> Tensor:
        distance, winners, regions = windows.match(templates.detach())
        ctx.save_for_backward(templates, regions, winners)
        ctx.layout = MatrixLayout(windows.k)
        return distance.t()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        templates, regions, winners = ctx.saved_tensors
        return template_gradient(templates, regions, winners, grad, ctx.layout), None


class _Step:
    """One template, where it is now, against regions with their certificates, which are renewed where they run out."""

    def __init__(self, template: Tensor, regions: Regions, certificates: Certificates, log: TemplateLog) -> None:
        self.regions, self.certificates, self.log = regions, certificates, log
        self.k = round(len(template) ** 0.5)
        self.template = template.numpy().astype(np.float64)
        self.table = renumber(template)
        self.drift = log.drift(self.template).astype(regions.norms.dtype)
        # what all orderings of a region share is taken off, so that scores of different steps compare
        mean = _means(self.template[None])[0] * (self.k, self.k * (self.k - 1))
        self.shared = (regions.means @ mean).astype(regions.norms.dtype)
        self.error = regions.norms[:, 0] * (rounding(self.k, template.dtype) * float(np.linalg.norm(self.template)))

    def distance(self) -> FloatArray:
        """Squared distance to each region; the certificates then hold at this step."""
        known = self.certificates
        score, distance = self._of_winners()
        least = score - self.error
        outside = self._bound(known.outside, known.matched)
        sure = (least > self._bound(known.runner_up, known.listed)) & (least > outside)
        doubtful = np.flatnonzero(~sure)
        if not len(doubtful):
            return distance
        before = known.best[0, doubtful]
        now = len(self.log.snapshots)
        self.log.snapshots.append(self.template)
        listed = doubtful[outside[doubtful] < np.inf]  # others have never been matched
        certain = self._look_at_list(listed, outside[listed], now)
        again = np.setdiff1d(doubtful, listed[certain], assume_unique=True)
        self._match_in_full(again, now)
        changed = doubtful[known.best[0, doubtful] != before]
        gap = self.table.numpy()[known.best[0, changed]] - self._values(changed)
        distance[changed] = rowwise(gap, gap)
        return distance

    def _bound(self, then: FloatArray, snapshot: IntArray) -> FloatArray:
        """The most that what scored ``then`` at a snapshot can score now."""
        return then + self.drift[snapshot] * self.regions.norms[:, 1]

    def _values(self, rows: IntArray) -> FloatArray:
        values: FloatArray = self.regions.values.numpy()[rows]
        return values

    def _of_winners(self) -> tuple[FloatArray, FloatArray]:
        """Score of, and distance under, the ordering that won last in each region."""
        table, values, winners = self.table.numpy(), self.regions.values.numpy(), self.certificates.best[0]
        w, cells = values.shape
        score, distance = np.empty((2, w), dtype=values.dtype)

        def new_worker() -> Callable[[slice], None]:
            memory = np.empty((min(w, BLOCK_ROWS), cells), dtype=values.dtype)

            def work(block: slice) -> None:
                gap = memory[: block.stop - block.start]
                np.take(table, winners[block], axis=0, out=gap, mode="clip")
                score[block] = rowwise(gap, values[block])
                np.subtract(gap, values[block], out=gap)
                distance[block] = rowwise(gap, gap)

            return work

        if w:
            for_each_block(new_worker, w, BLOCK_ROWS)
        return score - self.shared, distance

    def _look_at_list(self, rows: IntArray, outside: FloatArray, now: int) -> NDArray[np.bool_]:
        """Choose among the orderings kept; True where one of them is certainly the best of all."""
        certain = np.empty(len(rows), dtype=bool)
        table = self.table.numpy()
        memory = np.empty((KEPT * BLOCK_LISTS, table.shape[1]), dtype=table.dtype)
        for start in range(0, len(rows), BLOCK_LISTS):
            block = slice(start, start + BLOCK_LISTS)
            some = rows[block]
            best = self.certificates.best[:, some]
            renumbered = memory[: best.size]
            np.take(table, best.ravel(), axis=0, out=renumbered, mode="clip")
            score = rowwise(renumbered.reshape(*best.shape, -1), self._values(some)) - self.shared[some]
            score[best < 0] = -np.inf
            certain[block] = sure = score.max(0) - self.error[some] > outside[block]
            if not sure.all():
                some, best, score = some[sure], best[:, sure], score[:, sure]
            self._choose(some, best, score, now)
        return certain

    def _choose(self, rows: IntArray, best: IntArray, score: FloatArray, now: int) -> None:
        """Write lists with the winner first, and what the runner-up scored; orderings and scores are ``(KEPT, w)``."""
        known, error, top = self.certificates, self.error[rows], score.max(0)
        close = score >= top - 2 * error
        place = close.argmax(0)
        tied = np.flatnonzero(close.sum(0) > 1)
        if len(tied):
            candidates = np.where(close[:, tied], best[:, tied], -1).astype(np.int64)
            winner = settle(self.table, self._tensor(rows[tied]), candidates.T)
            place[tied] = (candidates == winner).argmax(0)
        moved = np.flatnonzero(place)
        for values in (best, score):
            values[0, moved], values[place[moved], moved] = values[place[moved], moved], values[0, moved]
        known.best[:, rows] = best
        known.runner_up[rows] = score[1:].max(0) + error
        known.listed[rows] = now

    def _match_in_full(self, rows: IntArray, now: int) -> None:
        """Try all orderings and write new certificates."""
        patterns = self.regions.twins.pattern[rows]
        for number in np.unique(patterns):
            some = rows[patterns == number]
            orderings = self.regions.twins.orderings[number]
            table = self.table if orderings is None else self.table[torch.from_numpy(orderings)]
            score, best = leaders(table, self._tensor(some), KEPT + 1)
            if orderings is not None:
                best = np.where(best < 0, -1, orderings[best])
            score -= self.shared[some]
            error = self.error[some]
            # With as many near ties as that they are settled among all orderings, and there is no certificate.
            crowded = np.flatnonzero(score[KEPT] >= score[0] - 2 * error)
            every = np.arange(len(self.table)) if orderings is None else orderings
            for i in crowded:
                winner = settle(self.table, self._tensor(some[i : i + 1]), every[None])[0]
                if winner not in best[:KEPT, i]:
                    best[KEPT - 1, i] = winner
            score[KEPT, crowded] = score[0, crowded]
            self.certificates.outside[some] = score[KEPT] + error
            self.certificates.matched[some] = now
            self._choose(some, best[:KEPT], score[:KEPT], now)

    def _tensor(self, rows: IntArray) -> Tensor:
        return self.regions.values[torch.from_numpy(rows)]


def _means(flat: FloatArray) -> FloatArray:
    """Mean of the diagonal and of the rest of flat matrices, ``(w, 2)``."""
    k = round(flat.shape[1] ** 0.5)
    diagonal = flat[:, :: k + 1].sum(1)
    rest = flat.sum(1) - diagonal
    return np.stack([diagonal / k, rest / max(1, k * (k - 1))], axis=1)


def _centre(flat: FloatArray, means: FloatArray) -> FloatArray:
    """Flat matrices less the mean of the diagonal on the diagonal and that of the rest elsewhere."""
    k = round(flat.shape[1] ** 0.5)
    centred = flat - means[:, 1:]
    centred[:, :: k + 1] = flat[:, :: k + 1] - means[:, :1]
    return centred
