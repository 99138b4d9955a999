r"""Exact matching that tries all orderings only where one of them could have become the best.

Templates move little from step to step. For each region and template the m best orderings of the last full matching
are kept, and how well the next one did. Write :math:`\tilde X` for a matrix less the mean of its diagonal on the
diagonal and less the mean of the rest elsewhere: no renumbering changes those means, so orderings are ranked by
:math:`s_P = \langle P \tilde K P^\top, \tilde M \rangle`. When the template has moved by D since, an ordering outside
the list, then at most :math:`s_{m+1}`, is now at most

.. math:: s_{m+1} + \langle P \tilde D P^\top, \tilde M \rangle \le s_{m+1} + \lVert\tilde D\rVert \lVert\tilde M\rVert

by Cauchy and Schwarz. While the best of the list does better than that *now*, the best of the list is the best of
all. The same bound, with the second or the third of the list in the place of :math:`s_{m+1}`, says when only the
winner, or the winner and the runner-up, have to be looked at. docs/performance.md has the proof in full.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd.function import once_differentiable

from isonn.matching.certificates import Certificates, Regions, TemplateLog, means_of
from isonn.matching.exact import check_cost, check_pair, template_gradient
from isonn.matching.halves import cut_half
from isonn.matching.layout import MatrixLayout
from isonn.matching.leaders import FloatArray, IntArray, Twins, leaders, renumber, rounding, rowwise, settle
from isonn.matching.parallel import for_each_block
from isonn.matching.windows import check_windows, cut_windows

#: Orderings kept for each region and template.
KEPT = 8
#: Regions scored at once: 1.6 MB at k = 7, so that three passes over them stay in the cache. With a quarter of that
#: numpy's calls made it a third slower here.
BLOCK_ROWS = 2**13
#: Kept orderings scored at once: 1.6 MB at k = 7; in smaller blocks numpy's calls would cost more than its work.
BLOCK_ORDERINGS = 2**13

Rows = IntArray | slice


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
        self._per_graph = self._regions.means.shape[1] // len(adjacency)

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
            w = self._regions.means.shape[1]
            dtype = regions.values.numpy().dtype
            self._known[:] = [(Certificates.empty(KEPT, w, self.k, dtype), TemplateLog()) for _ in templates]
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
        return rows, Regions(values, self._regions.means[:, rows], self._regions.norms[:, rows], twins)


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
        diagonal, rest = means_of(self.template[None])[:, 0].tolist()
        self.sums = (self.k * diagonal, self.k * (self.k - 1) * rest)
        self.relative_error = rounding(self.k, template.dtype) * float(np.linalg.norm(self.template))

    def distance(self) -> FloatArray:
        """Squared distance to each region; the certificates then hold at this step."""
        known = self.certificates
        distance, doubtful = self._of_winners()
        if not len(doubtful):
            return distance
        before = known.best[0, doubtful]
        now = len(self.log.snapshots)
        self.log.snapshots.append(self.template)
        matched = known.outside[doubtful] < np.inf
        left = self._look_at(2, doubtful[matched], now)
        left = self._look_at(KEPT, left, now)
        self._match_in_full(np.concatenate([doubtful[~matched], left]), now)
        changed = doubtful[known.best[0, doubtful] != before]
        gap = self.table.numpy()[known.best[0, changed]] - self._values(changed)
        distance[changed] = rowwise(gap, gap)
        return distance

    def _bound(self, seen: int, rows: Rows) -> FloatArray:
        """The most that any ordering but the first ``seen`` of the lists can score now."""
        known = self.certificates
        then = [(known.outside, known.matched)]
        then += [(known.third, known.listed)] if seen <= 2 else []
        then += [(known.runner_up, known.paired)] if seen == 1 else []
        length = self.regions.norms[1, rows]
        bounds = [score[rows] + self.drift[snapshot[rows]] * length for score, snapshot in then]
        return reduce(np.maximum, bounds)

    def _shared(self, rows: Rows) -> FloatArray:
        """What all orderings of a region share; without it the scores of different steps compare."""
        diagonal, rest = self.regions.means[:, rows]
        shared: FloatArray = self.sums[0] * diagonal + self.sums[1] * rest
        return shared

    def _error(self, rows: Rows) -> FloatArray:
        """How far rounding can have moved a score."""
        error: FloatArray = self.relative_error * self.regions.norms[0, rows]
        return error

    def _values(self, rows: IntArray) -> FloatArray:
        values: FloatArray = self.regions.values.numpy()[rows]
        return values

    def _of_winners(self) -> tuple[FloatArray, IntArray]:
        """Distance under the ordering that won last in each region, and the regions where another may be better."""
        table, values, winners = self.table.numpy(), self.regions.values.numpy(), self.certificates.best[0]
        w, cells = values.shape
        distance, doubtful = np.empty(w, dtype=values.dtype), np.empty(w, dtype=bool)

        def new_worker() -> Callable[[slice], None]:
            memory = np.empty((min(w, BLOCK_ROWS), cells), dtype=values.dtype)

            def work(block: slice) -> None:
                gap = memory[: block.stop - block.start]
                np.take(table, winners[block], axis=0, out=gap, mode="clip")
                least = rowwise(gap, values[block]) - self._shared(block) - self._error(block)
                doubtful[block] = ~(least > self._bound(1, block))
                np.subtract(gap, values[block], out=gap)
                distance[block] = rowwise(gap, gap)

            return work

        if w:
            for_each_block(new_worker, w, BLOCK_ROWS)
        return distance, np.flatnonzero(doubtful)

    def _look_at(self, count: int, rows: IntArray, now: int) -> IntArray:
        """Choose among the first orderings of the lists; the rows where one of the others could do better are left."""
        left = []
        table = self.table.numpy()
        memory = np.empty((BLOCK_ORDERINGS, table.shape[1]), dtype=table.dtype)
        size = BLOCK_ORDERINGS // count
        for start in range(0, len(rows), size):
            some = rows[start : start + size]
            best = self.certificates.best[:count, some]
            renumbered = memory[: best.size]
            np.take(table, best.ravel(), axis=0, out=renumbered, mode="clip")
            score = rowwise(renumbered.reshape(*best.shape, -1), self._values(some)) - self._shared(some)
            score[best < 0] = -np.inf
            sure = score.max(0) - self._error(some) > self._bound(count, some)
            left.append(some[~sure])
            self._choose(some[sure], best[:, sure], score[:, sure], now)
        return np.concatenate(left) if left else rows

    def _choose(self, rows: IntArray, best: IntArray, score: FloatArray, now: int) -> None:
        """Write the winner and the runner-up of the candidates, ``(2 or KEPT, rows)``, and what the others scored."""
        known, error = self.certificates, self._error(rows)
        close = score >= score.max(0) - 2 * error
        place = close.argmax(0)
        tied = np.flatnonzero(close.sum(0) > 1)
        if len(tied):
            candidates = np.where(close[:, tied], best[:, tied], -1).astype(np.int64)
            winner = settle(self.table, self._tensor(rows[tied]), candidates.T)
            place[tied] = (candidates == winner).argmax(0)
        _bring_to(0, place, best, score)
        if len(best) > 2:
            _bring_to(1, score[1:].argmax(0) + 1, best, score)
        known.best[: len(best), rows] = best
        known.runner_up[rows], known.paired[rows] = score[1] + error, now
        if len(best) == KEPT:
            known.third[rows], known.listed[rows] = score[2:].max(0, initial=-np.inf) + error, now

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
            self.certificates.outside[some] = score[KEPT] + error
            self.certificates.matched[some] = now
            self._choose(some, best[:KEPT], score[:KEPT], now)

    def _tensor(self, rows: IntArray) -> Tensor:
        return self.regions.values[torch.from_numpy(rows)]


def _bring_to(line: int, place: IntArray, *tables: NDArray[Any]) -> None:
    """Exchange the entry at ``place`` of each column with the one in the given line."""
    moved = np.flatnonzero(place != line)
    for table in tables:
        table[line, moved], table[place[moved], moved] = table[place[moved], moved], table[line, moved]
