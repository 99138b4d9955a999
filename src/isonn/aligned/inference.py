"""Statistics of connections and p-values of sets, family-wise over all columns of targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from isonn.aligned.effects import false_discovery
from isonn.aligned.layout import Layout
from isonn.aligned.sample import Study
from isonn.aligned.scores import explained
from isonn.aligned.select import Shuffled, exceedance, search_shuffled
from isonn.aligned.sets import Geometry
from isonn.confounds import Confounds, Nuisance
from isonn.graphs.graph import GraphSet
from isonn.packing import Floats, IntArray
from isonn.seeding import numpy_stream
from isonn.targets import Numbers, Target


@dataclass(frozen=True, eq=False)
class Family:
    """The search on the data as it is and on shuffled data, for all columns of targets.

    Attributes:
        searches: the search of each column; None if there is nothing to find.
        statistics: partial t of every connection, shape (columns, p).
        fwer, fdr: its p-values, family-wise and by the false discovery rate, over all connections and columns.
    """

    searches: list[Shuffled | None]
    statistics: Floats
    fwer: Floats
    fdr: Floats

    @classmethod
    def search(cls, study: Study, geometry: Geometry, sizes: Sequence[int], shuffles: int, seed: int) -> Family:
        """Search all columns; columns of the same graphs share their shuffles."""
        samples = study.samples()
        orders: dict[tuple[int, ...], IntArray] = {}
        searches: list[Shuffled | None] = []
        statistics = np.zeros((len(samples), study.cells.shape[1]))
        uncorrected = np.ones_like(statistics)
        for number, sample in enumerate(samples):
            if sample.constant or sample.folds < 2:
                searches.append(None)
                continue
            rows = tuple(study.rows(number).tolist())
            if rows not in orders:
                orders[rows] = sample.exchange.draw(
                    shuffles + 1, numpy_stream(seed, "shuffles", len(orders)), len(rows)
                )
            search = search_shuffled(sample.statistics(), orders[rows], geometry.pairs, geometry.n, sizes or [2])
            searches.append(search)
            statistics[number] = sample.observed()
            uncorrected[number] = search.uncorrected(statistics[number])
        strongest = _largest([search.strongest[1:] for search in searches if search is not None])
        return cls(
            searches,
            statistics,
            exceedance(strongest, np.abs(statistics).ravel()).reshape(statistics.shape),
            false_discovery(uncorrected.reshape(-1)).reshape(uncorrected.shape),
        )

    @property
    def best_ranks(self) -> Floats:
        """The rank of the best set of each shuffle, over all columns."""
        return _largest([search.best[1:] for search in self.searches if search is not None])

    def set_p_values(self, ranks: Floats) -> Floats:
        """Return the p-value of each set: exact for the best of all, and never smaller for the others."""
        if not len(ranks):
            return np.zeros(0)
        others = _largest([search.others for search in self.searches if search is not None])
        first = exceedance(self.best_ranks, ranks.max(keepdims=True))[0]
        p = np.maximum(exceedance(others, ranks), first)
        p[ranks.argmax()] = first
        return np.asarray(p)


def _largest(ranks: list[Floats]) -> Floats:
    return np.asarray(np.max(ranks, axis=0)) if ranks else np.zeros(0)


def differences(layout: Layout, graphs: GraphSet, study: Study, target: Target) -> Floats:
    """Return the difference (or slope) of every connection in the user's units, shape (columns, p)."""
    found = np.zeros((study.columns.shape[1], study.cells.shape[1]))
    for number in range(len(found)):
        rows = study.rows(number)
        values = study.columns[rows, number]
        # classes differ by 1; numbers are in the units of y
        values = values * target.scale[number] if isinstance(target, Numbers) else values / 2
        nuisance = Nuisance.of(None if study.confounds is None else study.confounds[rows], study.weights[rows])
        rest = nuisance.residuals(values[:, None])[:, 0] * nuisance.root**2
        total = float(rest @ values)
        if total > 1e-300:
            found[number] = layout.weighted_sum(graphs, rows, rest / total)
    return found


def confounding(study: Study, held_out: Floats, confounds: Confounds, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return how much of each column, and of the held-out scores of the model, every confound explains."""
    if study.confounds is None:
        return []
    lines = []
    for number, name in enumerate(names):
        rows = study.rows(number)
        for confound, columns in confounds.slices().items():
            values = study.confounds[rows][:, columns]
            to_target = explained(values, study.columns[rows, number])
            to_score = explained(values, held_out[rows, number])
            lines.append(
                {"target": name, "confound": confound, "confound_to_target": to_target, "confound_to_score": to_score}
            )
    return lines
