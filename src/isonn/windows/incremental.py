r"""Certified matching: train with exact matching, without trying all permutations at every step.

Templates move little from step to step, so the permutation that won a window at the last step nearly always wins it
again. This file proves that it does, window by window, and matches in full only where the proof fails. The result is
the exact minimum, with the same bits in any batch and after any history.

**What is kept.** When a window is matched in full, its m = 8 best permutations are listed, with the score of the next
one. Scores are :math:`s_P = \langle P \tilde K P^\top, \tilde M \rangle`, where :math:`\tilde X` is a matrix less the
mean of its diagonal on the diagonal and less the mean of the rest elsewhere; no permutation changes those means.

**What it proves.** Let the template have moved by D since. A permutation outside the list, then at most
:math:`s_{m+1}`, is now at most

.. math:: s_{m+1} + \langle P \tilde D P^\top, \tilde M \rangle \le s_{m+1} + \lVert\tilde D\rVert \lVert\tilde M\rVert

by Cauchy and Schwarz. While the best of the list scores more than that now, it is the best of all. With the second or
third of the list in the place of :math:`s_{m+1}`, the same bound says when it is enough to look at the winner alone, or
at the winner and the runner-up.

**When it pays.** From k = 6 on (docs/performance.md has figures). A first epoch costs about one and a half full
matchings and a later one a tenth of one, so it pays from the second epoch. At k = 5, matching all 120 permutations in
place takes no longer than checking certificates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd.function import once_differentiable

from isonn.matching.exact import for_each_block, warn_of_cost
from isonn.matching.matcher import check_pair
from isonn.matching.permutations import permutations
from isonn.windows.cut import check_windows, cut_half, cut_windows
from isonn.windows.match import Windows, relabel

FloatArray = NDArray[np.floating]
IntArray = NDArray[np.integer]

#: Permutations listed for each window and template.
KEPT = 8
#: Windows looked at together before training: 16 MB of float64.
BLOCK_NUMBERS = 2**21
#: Snapshots of a template before those no window refers to any more are dropped.
LOG_LENGTH = 1024


class CertifiedWindows:
    """The k x k windows of weighted graphs, with what earlier matchings know of them; ``[rows]`` selects graphs.

    A model in training is fed this instead of the tensor of graphs, and gets the same distances and gradients.
    Selections share what is known, so mini-batches find their certificates again. Nothing here belongs to the model:
    certificates hold for whatever templates come, and without them every window is matched in full.

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
        self._windows = Windows.of(adjacency, k, half)
        self._facts = Facts.of(adjacency, k, cut_half if half else cut_windows)
        self._known: list[tuple[Certificates, TemplateLog]] = []
        self._graphs: Tensor | None = None
        self._per_graph = len(self._windows) // len(adjacency)

    def __len__(self) -> int:
        return len(self.adjacency) if self._graphs is None else len(self._graphs)

    def __getitem__(self, rows: Tensor) -> CertifiedWindows:
        part = object.__new__(CertifiedWindows)
        part.__dict__.update(self.__dict__)
        part._graphs = rows if self._graphs is None else self._graphs[rows]
        return part

    def distance(self, templates: Tensor) -> Tensor:
        """`exact_distance` of templates ``(c, k, k)`` and all windows, ``(w, c)``; gradients reach the templates."""
        check_pair(templates, self.adjacency[:, : self.k, : self.k])
        warn_of_cost(self.k, len(templates), self._per_graph * len(self))
        distance: Tensor = _CertifiedDistance.apply(templates, self)
        return distance.t()

    def match(self, templates: Tensor) -> tuple[Tensor, IntArray, Windows]:
        """Distances ``(c, w)``, winning permutations ``(c, w)``, and the windows they belong to."""
        rows, windows, facts = self._selected()
        if len(self._known) != len(templates):
            self._known[:] = [(Certificates.empty(self._windows), TemplateLog()) for _ in templates]
        distances = templates.new_empty(len(templates), len(windows))
        winners = np.empty(distances.shape, dtype=windows.number)
        for i, (certificates, log) in enumerate(self._known):
            log.drop_unused(certificates)
            some = certificates if rows is None else certificates[rows]
            _Step(templates[i].flatten(), windows, facts, some, log).match(distances[i].numpy())
            if rows is not None:
                certificates[rows] = some
            winners[i] = some.best[0]
        return distances, winners, windows

    def _selected(self) -> tuple[IntArray | None, Windows, Facts]:
        """The selected rows of all windows (None for all of them), those windows, and what is known of them."""
        if self._graphs is None:
            return None, self._windows, self._facts
        rows = (self._graphs.numpy()[:, None] * self._per_graph + np.arange(self._per_graph)).ravel()
        return rows, self._windows[rows], self._facts[rows]


class _CertifiedDistance(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, templates: Tensor, windows: CertifiedWindows) -> Tensor:
        distance, ctx.winners, ctx.windows = windows.match(templates.detach())
        ctx.save_for_backward(templates)
        return distance

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (templates,) = ctx.saved_tensors
        return ctx.windows.template_gradient(templates.detach(), ctx.winners, grad.contiguous().numpy()), None


class _Step:
    """One template, where it is now, against windows with their certificates, which are renewed where they run out."""

    def __init__(
        self, template: Tensor, windows: Windows, facts: Facts, certificates: Certificates, log: TemplateLog
    ) -> None:
        self.windows, self.facts, self.certificates, self.log = windows, facts, certificates, log
        k = windows.k
        self.template = template.numpy().astype(np.float64)
        self.table = relabel(template)
        self.drift = log.drift(self.template).astype(facts.lengths.dtype)
        diagonal, rest = means_of(self.template[None])[:, 0].tolist()
        square, unit = float(self.template @ self.template), rounding(k, template.dtype)
        self.product_error = unit * square**0.5
        # Linear in the facts of a window, so that one small product gives them for many: score plus half the distance,
        # and the error of a score that was got from a distance, unit * (|K| + |M|)^2 <= 2 unit (|K|^2 + |M|^2).
        self.shared = np.array([k * diagonal, k * (k - 1) * rest], dtype=self.drift.dtype)
        self.start = square / 2, np.array([*-self.shared, 1], dtype=self.drift.dtype)
        self.error = 2 * unit * square, np.array([0, 0, 4 * unit], dtype=self.drift.dtype)

    def match(self, distance: FloatArray) -> None:
        """Write the squared distance to each window, ``(w,)``; the certificates then hold at this step."""
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

    def _of_winners(self, distance: FloatArray) -> IntArray:
        """Write the distance under the permutation that won last; returns the windows where another may be better."""
        from isonn.windows import kernels

        self.windows.measure(self.table, self.certificates.best[0], distance)
        least, coefficients = self.start[0] - self.error[0], tuple((self.start[1] - self.error[1]).tolist())
        known, room = self.certificates, np.empty_like(distance)
        kernels.certain_below(
            coefficients, least, self.facts.columns, self.facts.lengths, self.drift, known.paired, known.runner_up, room
        )
        return np.flatnonzero(~(room > distance))

    def _bound(self, seen: int, rows: IntArray) -> FloatArray:
        """The most that any permutation but the first ``seen`` of the lists can score now."""
        known = self.certificates
        score, snapshot = {
            2: (known.third, known.listed),
            KEPT: (known.outside, known.matched),
        }[seen]
        bound: FloatArray = self.drift[snapshot[rows]]
        bound *= self.facts.lengths[rows]
        bound += score[rows]
        return bound

    def _score(self, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Score plus half the distance, and the error of a score got from a distance, of these windows."""
        columns = np.take(self.facts.columns, rows, axis=1)
        return self.start[1] @ columns + self.start[0], self.error[1] @ columns + self.error[0]

    def _distance(self, numbers: IntArray, rows: IntArray) -> FloatArray:
        """Squared distance of windows under given permutations, ``(rows,)`` or ``(count, rows)``."""
        distance = np.empty(numbers.shape, dtype=self.facts.lengths.dtype)
        windows = self.windows[rows]
        for line, out in zip(np.atleast_2d(numbers), np.atleast_2d(distance), strict=True):
            windows.measure(self.table, np.maximum(line, 0), out)
        return distance

    def _compare_two(self, rows: IntArray, distance: FloatArray, now: int) -> IntArray:
        """The better of winner and runner-up wins; returns the rows where yet another permutation could do better."""
        known = self.certificates
        first, second = np.take(known.best[:2], rows, axis=1)
        near, far = distance[rows], self._distance(second, rows)
        far[second < 0] = np.inf
        start, error = self._score(rows)
        better = far < near
        tied = np.flatnonzero(np.abs(far - near) <= 4 * error)
        if len(tied):
            candidates = np.stack([first[tied], second[tied]], axis=1).astype(np.int64)
            better[tied] = settle(self.table, self.windows.values(rows[tied]), candidates) == second[tied]
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
        """The best of the list wins; returns the rows where a permutation that is not in it could do better."""
        best = np.take(self.certificates.best, rows, axis=1)
        far = self._distance(best, rows)
        far[best < 0] = np.inf
        start, error = self._score(rows)
        score = start - far / 2
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
            others: no permutation outside the list scores more.
        """
        known = self.certificates
        close = score >= score.max(0) - 2 * error
        place = close.argmax(0)
        tied = np.flatnonzero(close.sum(0) > 1)
        if len(tied):
            candidates = np.where(close[:, tied], best[:, tied], -1).astype(np.int64)
            winner = settle(self.table, self.windows.values(rows[tied]), candidates.T)
            place[tied] = (candidates == winner).argmax(0)
        _bring_to(0, place, best, score)
        _bring_to(1, score[1:].argmax(0) + 1, best, score)
        known.best[:, rows] = best
        known.runner_up[rows], known.paired[rows] = np.maximum(score[1] + error, others), now
        third = score[2:].max(0, initial=-np.inf) + error
        known.third[rows], known.listed[rows] = np.maximum(third, others), now

    def _match_in_full(self, rows: IntArray, now: int) -> None:
        """Try all permutations and write new certificates."""
        patterns = self.facts.twins.pattern[rows]
        for number in np.unique(patterns):
            some = rows[patterns == number]
            tried = self.facts.twins.permutations[number]
            every = np.arange(len(self.table)) if tried is None else tried
            score, best = leaders(self.table if tried is None else self.table[tried], self.windows, some, KEPT + 1)
            best = np.where(best < 0, -1, every[best])
            best[0] = np.maximum(best[0], 0)  # where products are not numbers no permutation leads
            score -= self.shared @ self.facts.columns[:2, some]
            error = self.product_error * np.sqrt(2 * self.facts.columns[2, some])
            # With more near ties than the list is long, they are settled among all, and there is no certificate.
            crowded = np.flatnonzero(score[KEPT] >= score[0] - 2 * error)
            for i in crowded:
                winner = settle(self.table, self.windows.values(some[i : i + 1]), every[None])[0]
                if winner not in best[:KEPT, i]:
                    best[KEPT - 1, i] = winner
            score[KEPT, crowded] = score[0, crowded]
            outside = score[KEPT] + error
            self.certificates.outside[some], self.certificates.matched[some] = outside, now
            self._choose(some, best[:KEPT], score[:KEPT], error, outside, now)


def _bring_to(line: int, place: IntArray, *tables: NDArray[Any]) -> None:
    """Exchange the entry at ``place`` of each column with the one in the given line."""
    moved = np.flatnonzero(place != line)
    for table in tables:
        table[line, moved], table[place[moved], moved] = table[place[moved], moved], table[line, moved]


# What is remembered from step to step, and what is known of the windows from the start.


@dataclass
class Certificates:
    """What is known of one template in each window; see the top of the file for what it proves.

    Attributes:
        best: rows of `permutations`, the winner first, then the runner-up, -1 for none, ``(KEPT, w)``.
        runner_up: no permutation but the first of ``best`` had a higher score when ``paired``.
        third: no permutation but the first two had a higher score when ``listed``.
        outside: no permutation outside ``best`` had a higher score when ``matched``.
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
    def empty(cls, windows: Windows) -> Certificates:
        """Nothing is known: everything will be matched in full."""
        w = len(windows)
        best = np.zeros((KEPT, w), dtype=windows.number)
        scores: list[Any] = [np.full(w, np.inf, dtype=windows.flat.dtype) for _ in range(3)]
        return cls(best, *scores, *(np.zeros(w, dtype=np.int32) for _ in range(3)))

    def __getitem__(self, rows: IntArray) -> Certificates:
        return Certificates(*(column[..., rows] for column in vars(self).values()))

    def __setitem__(self, rows: IntArray, other: Certificates) -> None:
        for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True):
            mine[..., rows] = theirs


@dataclass(frozen=True)
class Facts:
    """What certificates need to know of windows.

    Attributes:
        columns: mean of the diagonal, mean of the rest, half the squared norm, ``(3, w)``.
        lengths: norms of the centred windows, ``(w,)``.
        twins: which permutations need not be told apart.
    """

    columns: FloatArray
    lengths: FloatArray
    twins: Twins

    @classmethod
    def of(cls, adjacency: Tensor, k: int, cut: Callable[[Tensor, int], Tensor]) -> Facts:
        """The facts of all windows, some graphs at a time."""
        n, m = len(adjacency), cut(adjacency[:1], k).numel() // (k * k)
        known = np.empty((4, n * m), dtype=adjacency.numpy().dtype)
        codes = np.empty(n * m, dtype=np.int64)
        graphs = max(1, BLOCK_NUMBERS // (m * k * k))
        for start in range(0, n, graphs):
            windows = cut(adjacency[start : start + graphs], k).view(-1, k, k)
            block = slice(start * m, start * m + len(windows))
            values = windows.flatten(1).numpy().astype(np.float64)
            means = means_of(values)
            half_squares = np.einsum("we,we->w", values, values) / 2
            known[:, block] = *means, half_squares, np.linalg.norm(centre(values, means), axis=1)
            codes[block] = twin_codes(windows)
        return cls(known[:3], known[3], twins_of(codes, k))

    def __getitem__(self, rows: IntArray) -> Facts:
        twins = Twins(self.twins.pattern[rows], self.twins.permutations)
        return Facts(self.columns[:, rows], self.lengths[rows], twins)


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


def rounding(k: int, dtype: torch.dtype) -> float:
    """Error of a product of k*k numbers, relative to the norms of its factors; twice what is proved, and more.

    A sum of n products in any order is off by at most n u of the product of the norms; a few more roundings
    follow it (a mean is subtracted, bounds are added).
    """
    return (k * k + 8) * torch.finfo(dtype).eps  # eps = 2 u


@dataclass(frozen=True)
class Twins:
    """Which nodes of a window may be exchanged without changing it, for many windows.

    Permutations that differ by such an exchange are equally good for every template, now and later; only the first of
    them is tried. A constant window is left with one permutation, a window over the padding of a graph with few.

    Attributes:
        pattern: for each window, its entry of ``permutations``.
        permutations: for each pattern the permutations to try, as rows of `permutations`; None for all.
    """

    pattern: IntArray
    permutations: list[IntArray | None]


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
    """The permutations to try for regions with these `twin_codes`."""
    distinct, pattern = np.unique(codes, return_inverse=True)
    every = permutations(k).numpy()
    tried: list[IntArray | None] = []
    for code in distinct:
        classes = code // k ** np.arange(k) % k
        fits = np.ones(len(every), dtype=bool)
        for b in range(1, k):
            before = np.flatnonzero(classes[:b] == classes[b])
            if len(before):  # increasing within a class of twins: the first of the equally good ones
                fits &= every[:, before[-1]] < every[:, b]
        tried.append(None if fits.all() else np.flatnonzero(fits))
    return Twins(pattern.astype(np.int32), tried)


# The best few permutations of a template in each window, told apart beyond rounding.
#
# Products of flat vectors are rounded, so permutations whose products lie within the rounding of each other could be
# ranked one way today and another way tomorrow. `settle` compares such permutations in an arithmetic that depends on
# nothing but the template and the window, so that whoever compares them, in whatever block, finds the same winner.


#: Numbers in one block of products: 2 MB of float32.
PRODUCTS = 2**19
#: Permutations multiplied at once: 7! of them.
PART_PERMUTATIONS = 5040
#: Numbers in one block of settling.
SETTLED_NUMBERS = 2**18


def leaders(table: FloatArray, windows: Windows, rows: IntArray, count: int) -> tuple[FloatArray, IntArray]:
    """The ``count`` largest products of some windows, falling, and the rows of ``table`` they belong to.

    Fewer rows than asked for leave -inf and -1 at the end.

    Shapes:
        - table ``(f, k*k)``
        - outputs ``(count, rows)``
    """
    from isonn.windows import kernels

    relabelled = torch.from_numpy(table)
    parts = relabelled.split(PART_PERMUTATIONS)
    values = np.full((len(rows), count), -np.inf, dtype=table.dtype)
    which = np.full((len(rows), count), -1, dtype=np.int64)
    size = max(1, PRODUCTS // len(parts[0]))

    def new_worker() -> Callable[[slice], None]:
        buffer = relabelled.new_empty(size * len(parts[0]))

        def work(block: slice) -> None:
            some = torch.from_numpy(windows.values(rows[block]))
            for number, part in enumerate(parts):
                product = torch.mm(some, part.t(), out=buffer[: len(some) * len(part)].view(len(some), len(part)))
                kernels.keep_leaders(product.numpy(), number * PART_PERMUTATIONS, values[block], which[block])

        return work

    if len(rows):
        for_each_block(new_worker, len(rows), size)
    return np.ascontiguousarray(values.T), np.ascontiguousarray(which.T)


def settle(table: FloatArray, regions: FloatArray, candidates: IntArray) -> IntArray:
    """The best of the candidates of each region; of equals the first. In float64, so batching cannot change it.

    Shapes:
        - candidates ``(w, count)``, rows of ``table``; -1 stands for none
        - output ``(w,)``, rows of ``table``
    """
    values = regions.astype(np.float64)
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
