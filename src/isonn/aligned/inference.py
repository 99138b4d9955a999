"""Statistics of connections, p-values of sets over all columns of targets, and scores on held-out graphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import false_discovery_control

from isonn.aligned.layout import Layout
from isonn.aligned.sample import Sample
from isonn.aligned.select import Shuffled, exceedance, search_shuffled
from isonn.confounds import Confound, Nuisance
from isonn.graphs.graph import GraphSet
from isonn.packing import Floats, IntArray
from isonn.scores import held_out_scores
from isonn.seeding import numpy_stream
from isonn.targets import Numbers, Target


@dataclass(frozen=True, eq=False)
class Family:
    """The search on the data as it is and on shuffled data, for all columns of targets.

    Attributes:
        searches: the search of each column; columns without anything to find have none.
        statistics: partial t of every connection, shape (columns, p).
        fwer, fdr: its p-values, family-wise and by the false discovery rate, over all connections and columns.
    """

    searches: dict[int, Shuffled]
    statistics: Floats
    fwer: Floats
    fdr: Floats

    @classmethod
    def search(cls, study: Sample, layout: Layout, sizes: Sequence[int], shuffles: int, seed: int) -> Family:
        """Search all columns; columns of the same graphs share their shuffles."""
        samples = study.samples()
        orders: dict[tuple[int, ...], IntArray] = {}
        searches: dict[int, Shuffled] = {}
        statistics = np.zeros((len(samples), study.cells.shape[1]))
        uncorrected = np.ones_like(statistics)
        for number, sample in enumerate(samples):
            if sample.constant or sample.folds < 2:
                continue
            rows = tuple(study.rows(number).tolist())
            if rows not in orders:
                draw = numpy_stream(seed, "shuffles", len(orders))
                orders[rows] = sample.exchange.draw(shuffles + 1, draw, len(rows))
            search = search_shuffled(sample.statistics(), orders[rows], layout.pairs, layout.n, sizes or [2])
            searches[number], statistics[number] = search, sample.observed()
            uncorrected[number] = search.uncorrected(statistics[number])
        strongest = _largest([search.strongest[1:] for search in searches.values()])
        return cls(
            searches,
            statistics,
            exceedance(strongest, np.abs(statistics).ravel()).reshape(statistics.shape),
            false_discovery_control(uncorrected.ravel()).reshape(statistics.shape),
        )

    @property
    def best_ranks(self) -> Floats:
        """The rank of the best set of each shuffle, over all columns."""
        return _largest([search.best[1:] for search in self.searches.values()])

    def set_p_values(self, ranks: Floats) -> Floats:
        """Return the p-value of each set: exact for the best of all, and never smaller for the others."""
        if not len(ranks):
            return np.zeros(0)
        others = _largest([search.others for search in self.searches.values()])
        first = exceedance(self.best_ranks, ranks.max(keepdims=True))[0]
        p = np.maximum(exceedance(others, ranks), first)
        p[ranks.argmax()] = first
        return np.asarray(p)


def _largest(ranks: list[Floats]) -> Floats:
    return np.asarray(np.max(ranks, axis=0)) if ranks else np.zeros(0)


def differences(layout: Layout, graphs: GraphSet, study: Sample, target: Target) -> Floats:
    """Return the difference (or slope) of every connection in the user's units, shape (columns, p)."""
    slopes = np.zeros((study.columns.shape[1], study.cells.shape[1]))
    for number in range(len(slopes)):
        rows = study.rows(number)
        values = study.columns[rows, number]
        # classes differ by 1; numbers are in the units of y
        values = values * target.scale[number] if isinstance(target, Numbers) else values / 2
        nuisance = Nuisance.of(study.confounds[rows], study.weights[rows])
        rest = nuisance.residuals(values[:, None])[:, 0] * nuisance.root**2
        total = float(rest @ values)
        if total > 1e-300:
            slopes[number] = layout.weighted_sum(graphs, rows, rest / total)
    return slopes


def confounding(
    study: Sample, held_out: Floats, confounds: Sequence[Confound], names: Sequence[str]
) -> list[dict[str, Any]]:
    """Return how much of each column, and of the held-out scores of the model, every confound explains."""
    lines = []
    ends = np.cumsum([len(confound.means) for confound in confounds])
    for number, name in enumerate(names):
        rows = study.rows(number)
        for confound, values in zip(confounds, np.split(study.confounds[rows], ends[:-1], axis=1), strict=False):
            to_target = explained(values, study.columns[rows, number])
            to_score = explained(values, held_out[rows, number])
            told = {"confound_to_target": to_target, "confound_to_score": to_score}
            lines.append({"target": name, "confound": confound.name, **told})
    return lines


def class_codes(columns: Floats, exclusive: bool) -> NDArray[Any]:
    """Return class numbers, or 0 and 1 for each label, from columns of -1 and +1."""
    if not exclusive:
        return np.where(np.isfinite(columns), (columns + 1) / 2, np.nan)
    if columns.shape[1] == 1:
        return (columns[:, 0] > 0).astype(np.int64)
    return np.asarray(columns.argmax(axis=1))


def explained(columns: Floats, target: Floats) -> float:
    """Return the share of a target that columns explain, adjusted for their number (adjusted R²), at least 0.

    Example:
        >>> round(explained(np.arange(9.0)[:, None], np.arange(9.0)), 3)
        1.0
    """
    centred, rest = columns - columns.mean(axis=0), target - target.mean()
    total = float(rest @ rest)
    if total <= 1e-300 or not columns.shape[1]:
        return 0.0
    left = rest - centred @ np.linalg.lstsq(centred, rest, rcond=None)[0]
    g, q = len(target), int(np.linalg.matrix_rank(centred))
    share = 1 - float(left @ left) / total * (g - 1) / max(g - q - 1, 1)
    return float(np.clip(share, 0.0, 1.0))


def held_out_score(held_out: Floats, columns: Floats, outputs: Floats, target: Target) -> dict[str, float]:
    """Return the scores on held-out graphs, means over splits; `isonn.scores.held_out_scores` says which.

    Args:
        held_out: predictions of every split, shape (splits, g, columns).
        columns: targets, shape (g, columns).
        outputs: matrix from columns to outputs.
    """
    y = target.decode(columns if target.numeric else class_codes(columns, target.exclusive))
    every = [held_out_scores(target, y, target.link(split @ outputs.T))[0] for split in held_out]
    values = {name: [scores[name] for scores in every if name in scores] for scores in every for name in scores}
    return {name: float(np.mean(each)) for name, each in values.items()}
