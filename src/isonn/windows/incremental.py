r"""Exact matching that tries all orderings only where one of them could have become the best.

Templates move little from step to step. For each region and template the m best orderings of the last full matching
are kept, and how well the next one did. Write :math:`\tilde X` for a matrix less the mean of its diagonal on the
diagonal and less the mean of the rest elsewhere: no relabelling changes those means, so orderings are ranked by
:math:`s_P = \langle P \tilde K P^\top, \tilde M \rangle`. When the template has moved by D since, an ordering outside
the list, then at most :math:`s_{m+1}`, is now at most

.. math:: s_{m+1} + \langle P \tilde D P^\top, \tilde M \rangle \le s_{m+1} + \lVert\tilde D\rVert \lVert\tilde M\rVert

by Cauchy and Schwarz. While the best of the list does better than that *now*, the best of the list is the best of
all. The same bound, with the second or the third of the list in the place of :math:`s_{m+1}`, says when only the
winner, or the winner and the runner-up, have to be looked at. docs/performance.md has the proof in full.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd.function import once_differentiable

from isonn.matching.exact import for_each_block, template_gradient, warn_of_cost
from isonn.matching.matcher import check_pair
from isonn.matching.permutations import MatrixLayout, permutations
from isonn.windows.cut import check_windows, cut_half, cut_windows

FloatArray = NDArray[np.floating]
IntArray = NDArray[np.integer]
Rows = IntArray | slice

#: Orderings kept for each region and template.
KEPT = 8
#: Regions looked at at once: 1.6 MB at k = 7, so that three passes over them stay in the cache. With a quarter of that
#: numpy's calls made it a third slower here.
BLOCK_ROWS = 2**13


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
        self._per_graph = len(self._regions) // len(adjacency)

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
        warn_of_cost(self.k, len(templates), self._per_graph * len(self))
        distance: Tensor = _CertifiedDistance.apply(templates.flatten(1), self)
        return distance

    def match(self, templates: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Distances and winners, ``(c, w)``, and the flat regions they belong to."""
        rows, regions = self._selected()
        if len(self._known) != len(templates):
            w, dtype = len(self._regions), regions.lengths.dtype
            self._known[:] = [(Certificates.empty(KEPT, w, self.k, dtype), TemplateLog()) for _ in templates]
        distances = templates.new_empty(len(templates), len(regions))
        winners = torch.empty(distances.shape, dtype=torch.int64)
        for i, (certificates, log) in enumerate(self._known):
            log.drop_unused(certificates)
            some = certificates if rows is None else certificates[rows]
            _Step(templates[i].flatten(), regions, some, log).match(distances[i].numpy())
            if rows is not None:
                certificates[rows] = some
            winners[i] = torch.from_numpy(some.best[0])
        return distances, winners, regions.values

    def _selected(self) -> tuple[IntArray | None, Regions]:
        """The selected rows of all regions (None for all of them, without a copy), and those regions."""
        if self._graphs is None and len(self._regions.values):
            return None, self._regions
        values = (cut_half if self.half else cut_windows)(self.adjacency, self.k).view(-1, self.k**2)
        if self._graphs is None:
            return None, replace(self._regions, values=values)
        rows = (self._graphs.numpy()[:, None] * self._per_graph + np.arange(self._per_graph)).ravel()
        twins = Twins(self._regions.twins.pattern[rows], self._regions.twins.orderings)
        return rows, Regions(values, self._regions.facts[:, rows], self._regions.lengths[rows], twins)


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
        self.table = relabel(template)
        self.drift = log.drift(self.template).astype(regions.lengths.dtype)
        diagonal, rest = means_of(self.template[None])[:, 0].tolist()
        square, unit = float(self.template @ self.template), rounding(self.k, template.dtype)
        self.product_error = unit * square**0.5
        # Linear in the facts of a region, so that one small product gives them for many: score plus half the distance,
        # and the error of a score that was got from a distance, unit * (|K| + |M|)^2 <= 2 unit (|K|^2 + |M|^2).
        self.shared = np.array([self.k * diagonal, self.k * (self.k - 1) * rest], dtype=self.drift.dtype)
        self.start = square / 2, np.array([*-self.shared, 1], dtype=self.drift.dtype)
        self.error = 2 * unit * square, np.array([0, 0, 4 * unit], dtype=self.drift.dtype)

    def match(self, distance: FloatArray) -> None:
        """Write the squared distance to each region, ``(w,)``; the certificates then hold at this step."""
        known = self.certificates
        doubtful = self._of_winners(distance)
        if not len(doubtful):
            return
        now = len(self.log.snapshots)
        self.log.snapshots.append(self.template)
        matched = known.outside[doubtful] < np.inf
        left = self._compare_two(doubtful[matched], distance, now)
        left = self._compare_list(left, distance, now)
        left = np.concatenate([doubtful[~matched], left])
        self._match_in_full(left, now)
        distance[left] = self._distance(known.best[0, left], left)

    def _bound(self, seen: int, rows: Rows) -> FloatArray:
        """The most that any ordering but the first ``seen`` of the lists can score now."""
        known = self.certificates
        score, snapshot = {
            1: (known.runner_up, known.paired),
            2: (known.third, known.listed),
            KEPT: (known.outside, known.matched),
        }[seen]
        bound: FloatArray = self.drift[snapshot[rows]]
        bound *= self.regions.lengths[rows]
        bound += score[rows]
        return bound

    def _shared(self, rows: IntArray) -> FloatArray:
        """What all orderings of a region share; without it the scores of different steps compare."""
        shared: FloatArray = self.shared @ self.regions.facts[:2, rows]
        return shared

    def _error(self, rows: IntArray) -> FloatArray:
        """How far rounding can have moved a score that is a product."""
        error: FloatArray = self.product_error * np.sqrt(2 * self.regions.facts[2, rows])
        return error

    def _distance(self, orderings: IntArray, rows: IntArray) -> FloatArray:
        """Squared distance of regions to the template in given orderings, ``(rows,)`` or ``(count, rows)``."""
        distance = np.empty(orderings.shape, dtype=self.regions.lengths.dtype)
        size = max(1, BLOCK_ROWS * len(rows) // max(1, orderings.size))
        for first in range(0, len(rows), size):
            block = slice(first, first + size)
            gap = np.take(self.table.numpy(), orderings[..., block], axis=0, mode="clip")
            gap -= np.take(self.regions.values.numpy(), rows[block], axis=0, mode="clip")
            distance[..., block] = rowwise(gap, gap)
        return distance

    def _of_winners(self, distance: FloatArray) -> IntArray:
        """Write the distance under the ordering that won last; returns the regions where another may be better."""
        table, values, winners = self.table.numpy(), self.regions.values.numpy(), self.certificates.best[0]
        w, cells = values.shape
        doubtful = np.empty(w, dtype=bool)
        least, coefficients = self.start[0] - self.error[0], self.start[1] - self.error[1]

        def new_worker() -> Callable[[slice], None]:
            memory = np.empty((min(w, BLOCK_ROWS), cells), dtype=values.dtype)

            def work(block: slice) -> None:
                gap, far = memory[: block.stop - block.start], distance[block]
                np.take(table, winners[block], axis=0, out=gap, mode="clip")
                gap -= values[block]
                rowwise(gap, gap, out=far)
                room = coefficients @ self.regions.facts[:, block]
                room -= self._bound(1, block)
                room += least
                room *= 2  # a distance below this is a score beyond what any other can have
                doubtful[block] = ~(room > far)

            return work

        if w:
            for_each_block(new_worker, w, BLOCK_ROWS)
        return np.flatnonzero(doubtful)

    def _compare_two(self, rows: IntArray, distance: FloatArray, now: int) -> IntArray:
        """The better of winner and runner-up wins; the rows where yet another ordering could do better are left."""
        known = self.certificates
        first, second = np.take(known.best[:2], rows, axis=1)
        near, far = distance[rows], self._distance(second, rows)
        far[second < 0] = np.inf
        facts = np.take(self.regions.facts, rows, axis=1)
        start, error = self.start[1] @ facts + self.start[0], self.error[1] @ facts + self.error[0]
        better = far < near
        tied = np.flatnonzero(np.abs(far - near) <= 4 * error)
        if len(tied):
            candidates = np.stack([first[tied], second[tied]], axis=1).astype(np.int64)
            better[tied] = settle(self.table, self._tensor(rows[tied]), candidates) == second[tied]
        swapped = np.flatnonzero(better)
        known.best[0, rows[swapped]], known.best[1, rows[swapped]] = second[swapped], first[swapped]
        distance[rows[swapped]] = far[swapped]
        bound = self._bound(2, rows)
        loser = start - np.maximum(near, far) / 2 + error
        known.runner_up[rows], known.paired[rows] = np.maximum(loser, bound), now
        sure = start - np.minimum(near, far) / 2 - error > bound
        left: IntArray = rows[~sure]
        return left

    def _compare_list(self, rows: IntArray, distance: FloatArray, now: int) -> IntArray:
        """The best of the list wins; the rows where an ordering that is not in it could do better are left."""
        best = np.take(self.certificates.best, rows, axis=1)
        far = self._distance(best, rows)
        far[best < 0] = np.inf
        facts = np.take(self.regions.facts, rows, axis=1)
        score = self.start[1] @ facts + self.start[0] - far / 2
        error = self.error[1] @ facts + self.error[0]
        bound = self._bound(KEPT, rows)
        sure = score.max(0) - error > bound
        some, best = rows[sure], best[:, sure]
        self._choose(some, best, score[:, sure], error[sure], bound[sure], now)
        distance[some] = self._distance(self.certificates.best[0, some], some)
        left: IntArray = rows[~sure]
        return left

    def _choose(
        self, rows: IntArray, best: IntArray, score: FloatArray, error: FloatArray, others: FloatArray, now: int
    ) -> None:
        """Write the winner and the runner-up of the list ``best``, ``(KEPT, rows)``, and what the others scored.

        Args:
            error: how far rounding can have moved the scores.
            others: no ordering outside the list scores more.
        """
        known = self.certificates
        close = score >= score.max(0) - 2 * error
        place = close.argmax(0)
        tied = np.flatnonzero(close.sum(0) > 1)
        if len(tied):
            candidates = np.where(close[:, tied], best[:, tied], -1).astype(np.int64)
            winner = settle(self.table, self._tensor(rows[tied]), candidates.T)
            place[tied] = (candidates == winner).argmax(0)
        _bring_to(0, place, best, score)
        _bring_to(1, score[1:].argmax(0) + 1, best, score)
        known.best[:, rows] = best
        known.runner_up[rows], known.paired[rows] = np.maximum(score[1] + error, others), now
        third = score[2:].max(0, initial=-np.inf) + error
        known.third[rows], known.listed[rows] = np.maximum(third, others), now

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
            score -= self._shared(some)
            error = self._error(some)
            # With as many near ties as that they are settled among all orderings, and there is no certificate.
            crowded = np.flatnonzero(score[KEPT] >= score[0] - 2 * error)
            every = np.arange(len(self.table)) if orderings is None else orderings
            for i in crowded:
                winner = settle(self.table, self._tensor(some[i : i + 1]), every[None])[0]
                if winner not in best[:KEPT, i]:
                    best[KEPT - 1, i] = winner
            score[KEPT, crowded] = score[0, crowded]
            outside = score[KEPT] + error
            self.certificates.outside[some], self.certificates.matched[some] = outside, now
            self._choose(some, best[:KEPT], score[:KEPT], error, outside, now)

    def _tensor(self, rows: IntArray) -> Tensor:
        return self.regions.values[torch.from_numpy(rows)]


def _bring_to(line: int, place: IntArray, *tables: NDArray[Any]) -> None:
    """Exchange the entry at ``place`` of each column with the one in the given line."""
    moved = np.flatnonzero(place != line)
    for table in tables:
        table[line, moved], table[place[moved], moved] = table[place[moved], moved], table[line, moved]


# What training remembers of weighted windows from step to step; `isonn.windows.incremental` says what for.


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


# The best few orderings of a template in each region, told apart beyond rounding.
#
# Products of flat vectors are rounded, so orderings whose products lie within the rounding of each other could be
# ranked one way today and another way tomorrow. Here such orderings are settled by one arithmetic that depends on
# nothing but the template and the region, so that whoever compares them, in whatever block, finds the same winner.


#: Numbers in one block of the product: 2 MB of float32.
LEADERS_BLOCK_NUMBERS = 2**19
#: Orderings multiplied at once: 7! of them; at k = 8 and 9 the leaders of several such parts are merged.
PART_ORDERINGS = 5040
#: From here on the leaders are sought among the best of groups of 12 first.
MANY_ORDERINGS = 2000
GROUP = 12
#: Numbers in one block of settling.
SETTLED_NUMBERS = 2**18


@lru_cache(maxsize=4)
def cells_of_all(k: int) -> Tensor:
    """Where each cell of a relabelled matrix comes from, for all k! orderings, ``(k!, k*k)``."""
    return MatrixLayout(k).cells(permutations(k)).int()


def relabel(template: Tensor) -> Tensor:
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


def leaders(relabelled: Tensor, regions: Tensor, count: int) -> tuple[FloatArray, IntArray]:
    """The ``count`` largest products of each region, falling, and the rows of ``relabelled`` they belong to.

    Fewer rows than asked for leave -inf and -1 at the end.

    Shapes:
        - relabelled ``(f, k*k)``
        - regions ``(w, k*k)``
        - outputs ``(count, w)``
    """
    w, f = len(regions), len(relabelled)
    values = np.full((count, w), -np.inf, dtype=regions.numpy().dtype)
    which = np.full((count, w), -1, dtype=np.int64)
    there = min(count, f)
    parts = relabelled.split(PART_ORDERINGS)
    rows = max(1, min(w, LEADERS_BLOCK_NUMBERS // len(parts[0])))

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


def settle(relabelled: Tensor, regions: Tensor, candidates: IntArray) -> IntArray:
    """The best of the candidates of each region, in an arithmetic that nothing else has a part in; of equals the first.

    Shapes:
        - candidates ``(w, count)``, rows of ``relabelled``; -1 stands for none
        - output ``(w,)``, rows of ``relabelled``
    """
    table, values = relabelled.numpy(), regions.numpy().astype(np.float64)
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
