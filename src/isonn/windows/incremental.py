r"""Certified matching: exact matching in training without trying all permutations at every step.

Templates move little from step to step, so the permutation that won a window at the last step nearly always wins again.
This module proves it for each window, and matches in full only where the proof fails. The result is the exact minimum,
with the same bits in any batch and after any history.

**What is stored.** When a window is matched in full, its m = 8 best permutations are listed, with the score of the next
one. Scores are :math:`s_P = \langle P \tilde K P^\top, \tilde M \rangle`. Here :math:`\tilde X` is X minus the mean of
its diagonal on the diagonal, and minus the mean of the other entries elsewhere. Permutations do not change these means.

**What it proves.** Let D be the change of the template since then. The score of a permutation outside the list, which
was at most :math:`s_{m+1}`, is now at most

.. math:: s_{m+1} + \langle P \tilde D P^\top, \tilde M \rangle \le s_{m+1} + \lVert\tilde D\rVert \lVert\tilde M\rVert

by the Cauchy-Schwarz inequality. If the best of the list now scores more than that, it is the best of all. With the
second of the list instead of :math:`s_{m+1}`, the same bound shows when it is enough to check the winner alone.

**When it pays.** From k = 5 on (see docs/performance.md).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from isonn.matching.exact import relabelled, warn_of_cost
from isonn.matching.matcher import check_pair
from isonn.windows.best import best_permutations, settle
from isonn.windows.certificates import (
    KEPT,
    Certificates,
    Facts,
    TemplateLog,
    means_of,
    rounding,
)
from isonn.windows.cut import check_windows, cut_half, cut_windows
from isonn.windows.match import FloatArray, IntArray, Matched, WindowDistance, Windows


class CertifiedWindows:
    """The k x k windows of weighted graphs, with certificates from earlier matchings; ``[rows]`` selects graphs.

    A model in training takes this instead of the tensor of graphs, and gets the same distances and gradients.
    Selections share their certificates, so mini-batches find them again. Certificates do not belong to a model: they
    hold for any templates, and without them every window is matched in full.

    Args:
        adjacency: the graphs, on the CPU, ``(graphs, n, n)``.
        k: nodes per window.
        half: only use the windows at (s, t) with s <= t, for symmetric graphs and templates.

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
        self._certified: list[tuple[Certificates, TemplateLog]] = []  # one per template
        self._graphs: Tensor | None = None
        self._per_graph = len(self._windows) // len(adjacency)

    def __len__(self) -> int:
        return len(self.adjacency) if self._graphs is None else len(self._graphs)

    def __getitem__(self, rows: Tensor) -> CertifiedWindows:
        selection = object.__new__(CertifiedWindows)
        selection.__dict__.update(self.__dict__)
        selection._graphs = rows if self._graphs is None else self._graphs[rows]
        return selection

    def distance(self, templates: Tensor) -> Tensor:
        """Return `exact_distance` of templates ``(c, k, k)`` and windows, ``(w, c)``; gradients reach the templates."""
        check_pair(templates, self.adjacency[:, : self.k, : self.k])
        warn_of_cost(self.k, len(templates), self._per_graph * len(self))
        distance: Tensor = WindowDistance.apply(templates, self.adjacency, self.match)
        return distance.t()

    def match(self, templates: Tensor) -> Matched:
        """Return distances ``(c, w)``, winning permutations ``(c, w)``, and their windows."""
        rows, windows, facts = self._selected()
        if len(self._certified) != len(templates):
            self._certified[:] = [(Certificates.empty(self._windows), TemplateLog()) for _ in templates]
        distances = templates.new_empty(len(templates), len(windows))
        winners = np.empty(distances.shape, dtype=windows.number)
        for i, (certificates, log) in enumerate(self._certified):
            log.drop_unused(certificates)
            some = certificates if rows is None else certificates[rows]
            _Step(templates[i].flatten(), windows, facts, some, log).match(distances[i].numpy())
            if rows is not None:
                certificates[rows] = some
            winners[i] = some.best[0]
        return distances, winners, windows

    def _selected(self) -> tuple[IntArray | None, Windows, Facts]:
        """Return the selected rows (None for all), their windows, and the facts about them."""
        if self._graphs is None:
            return None, self._windows, self._facts
        rows = (self._graphs.numpy()[:, None] * self._per_graph + np.arange(self._per_graph)).ravel()
        return rows, self._windows[rows], self._facts[rows]


class _Step:
    """One template at this step, matched with windows; certificates that run out are renewed."""

    def __init__(
        self, template: Tensor, windows: Windows, facts: Facts, certificates: Certificates, log: TemplateLog
    ) -> None:
        self.windows, self.facts, self.certificates, self.log = windows, facts, certificates, log
        k = windows.k
        self.template = template.numpy().astype(np.float64)
        self.table = relabelled(template[None]).numpy()
        self.drift = log.drift(self.template).astype(facts.lengths.dtype)
        diagonal, rest = means_of(self.template[None])[:, 0].tolist()
        square, unit = float(self.template @ self.template), rounding(k, template.dtype)
        self.product_error = unit * square**0.5
        # Linear in the facts of a window, so that one small product computes them for many: score plus half the
        # distance, and the error of a score computed from a distance, unit * (|K| + |M|)^2 <= 2 unit (|K|^2 + |M|^2).
        self.shared = np.array([k * diagonal, k * (k - 1) * rest], dtype=self.drift.dtype)
        self.start = square / 2, np.array([*-self.shared, 1], dtype=self.drift.dtype)
        self.error = 2 * unit * square, np.array([0, 0, 4 * unit], dtype=self.drift.dtype)

    def match(self, distance: FloatArray) -> None:
        """Write the squared distance to each window, ``(w,)``; the certificates then hold at this step."""
        certificates = self.certificates
        fresh = len(self.log.snapshots) == 0  # nothing is known yet
        doubtful = np.arange(len(distance)) if fresh else self._of_winners(distance)
        if not len(doubtful):
            return
        now = len(self.log.snapshots)
        self.log.snapshots.append(self.template)
        matched = certificates.outside[doubtful] < np.inf
        left = np.concatenate([doubtful[~matched], self._compare_list(doubtful[matched], distance, now)])
        self._match_in_full(left, now)
        distance[left] = self._distance(certificates.best[0, left], left)

    def _of_winners(self, distance: FloatArray) -> IntArray:
        """Write the distance under the last winner; return the windows where another permutation may be better."""
        from isonn.windows import kernels

        self.windows.measure(self.table, self.certificates.best[0], distance)
        least, coefficients = self.start[0] - self.error[0], tuple((self.start[1] - self.error[1]).tolist())
        certificates, room = self.certificates, np.empty_like(distance)
        kernels.certain_below(
            coefficients,
            least,
            self.facts.columns,
            self.facts.lengths,
            self.drift,
            certificates.paired,
            certificates.runner_up,
            room,
        )
        return np.flatnonzero(~(room > distance))

    def _score(self, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return score plus half the distance, and the error of a score computed from a distance, for these windows."""
        columns = np.take(self.facts.columns, rows, axis=1)
        return self.start[1] @ columns + self.start[0], self.error[1] @ columns + self.error[0]

    def _distance(self, numbers: IntArray, rows: IntArray) -> FloatArray:
        """Return the squared distance of windows under given permutations, ``(rows,)`` or ``(count, rows)``."""
        distance = np.empty(numbers.shape, dtype=self.facts.lengths.dtype)
        windows = self.windows[rows]
        for line, out in zip(np.atleast_2d(numbers), np.atleast_2d(distance), strict=True):
            windows.measure(self.table, np.maximum(line, 0), out)
        return distance

    def _compare_list(self, rows: IntArray, distance: FloatArray, now: int) -> IntArray:
        """Choose the best of the list; return the rows where a permutation outside it could be better."""
        certificates = self.certificates
        best = np.take(certificates.best, rows, axis=1)
        far = self._distance(best, rows)
        far[best < 0] = np.inf
        start, error = self._score(rows)
        score = start - far / 2
        # the largest score that a permutation outside the list can have now
        bound = certificates.outside[rows] + self.drift[certificates.matched[rows]] * self.facts.lengths[rows]
        sure = score.max(0) - error > bound
        some, best = rows[sure], best[:, sure]
        self._choose(some, best, score[:, sure], error[sure], bound[sure], now)
        distance[some] = self._distance(certificates.best[0, some], some)
        left: IntArray = rows[~sure]
        return left

    def _choose(
        self, rows: IntArray, best: IntArray, score: FloatArray, error: FloatArray, others: FloatArray, now: int
    ) -> None:
        """Write the list ``best``, ``(KEPT, rows)``, with the winner first, and a bound for the others.

        Args:
            error: bound on the rounding error of the scores.
            others: bound on the scores of permutations outside the list.
        """
        certificates = self.certificates
        close = score >= score.max(0) - 2 * error
        place = close.argmax(0)
        tied = np.flatnonzero(close.sum(0) > 1)
        if len(tied):
            candidates = np.where(close[:, tied], best[:, tied], -1).astype(np.int64)
            winner = settle(self.table, self.windows.values(rows[tied]), candidates.T)
            place[tied] = (candidates == winner).argmax(0)
        _bring_first(place, best, score)
        certificates.best[:, rows] = best
        certificates.runner_up[rows], certificates.paired[rows] = np.maximum(score[1:].max(0) + error, others), now

    def _match_in_full(self, rows: IntArray, now: int) -> None:
        """Try all permutations and write new certificates."""
        patterns = self.facts.pattern[rows]
        for number in np.unique(patterns):
            some = rows[patterns == number]
            tried = self.facts.tried[number]
            every = np.arange(len(self.table)) if tried is None else tried
            score, best = best_permutations(
                self.table if tried is None else self.table[tried], self.windows, some, KEPT + 1
            )
            best = np.where(best < 0, -1, every[best])
            best[0] = np.maximum(best[0], 0)  # if products are NaN, there is no best permutation
            score -= self.shared @ self.facts.columns[:2, some]
            error = self.product_error * np.sqrt(2 * self.facts.columns[2, some])
            # With more near ties than the list holds, all permutations are settled, without a certificate.
            crowded = np.flatnonzero(score[KEPT] >= score[0] - 2 * error)
            for i in crowded:
                winner = settle(self.table, self.windows.values(some[i : i + 1]), every[None])[0]
                if winner not in best[:KEPT, i]:
                    best[KEPT - 1, i] = winner
            score[KEPT, crowded] = score[0, crowded]
            outside = score[KEPT] + error
            self.certificates.outside[some], self.certificates.matched[some] = outside, now
            self._choose(some, best[:KEPT], score[:KEPT], error, outside, now)


def _bring_first(place: IntArray, *tables: NDArray[Any]) -> None:
    """Swap the entry at ``place`` of each column with the first."""
    moved = np.flatnonzero(place)
    for table in tables:
        table[0, moved], table[place[moved], moved] = table[place[moved], moved], table[0, moved]
