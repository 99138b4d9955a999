r"""Learn one target column from aligned graphs: sets of regions, single connections, and a ridge part.

Three parts are learned from the same standardised connections. **Sets** of regions are found by `isonn.aligned.select`;
each contributes the sum of its connections, weighed by its own t statistic. **Single connections** are the strongest m,
weighed by how far their t statistic exceeds that of the next, as in nearest shrunken centroids. The **ridge** part
gives all connections small weights, for effects that are spread out.

The number of sets and connections, and the weight of each part, are chosen by predictions for held-out graphs: every
part is learned again without each inner fold, and the predictions for that fold are weighed by non-negative least
squares (`isonn.aligned.folds`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from isonn.aligned.encoder import Encoder
from isonn.aligned.folds import Parts, Trials, mean_effect
from isonn.aligned.inference import Family
from isonn.aligned.layout import Layout
from isonn.aligned.model import AlignedModel, RegionSet, set_values
from isonn.aligned.sample import Sample
from isonn.aligned.select import Shuffled, propose
from isonn.heads import LARGEST_SQUARE, leave_one_out
from isonn.packing import Floats, IntArray

#: Number of connections of each fold whose effect is measured on its held-out graphs.
MEASURED = 64
#: The numbers of single connections to choose from.
CONNECTION_COUNTS = (0, 8, 24, 64)
#: Sets with less than this share of the weight of all sets are left out, unless their family-wise p-value is up to
#: `LISTED`.
LEAST_SHARE, LISTED = 0.02, 0.05


@dataclass(frozen=True, eq=False)
class Learner:
    """Learns the three parts from any selection of graphs.

    Attributes:
        layout: regions and connections.
        sizes: the numbers of regions that a set may have, among which 2 stands for single connections.
        most_sets: maximum number of sets.
        raw: factors from standardised connections to the features of the ridge part, shape (p,).
        shuffled: the search on shuffled data; None if there are no sets to find.
    """

    layout: Layout
    sizes: tuple[int, ...]
    most_sets: int
    raw: Floats
    shuffled: Shuffled | None

    @property
    def set_counts(self) -> list[int]:
        """The numbers of sets to choose from: 0, 1, 2, 4, ..."""
        counts = [0]
        while counts[-1] < self.most_sets and any(k > 2 for k in self.sizes):
            counts.append(min(self.most_sets, max(1, 2 * counts[-1])))
        return counts

    @property
    def connection_counts(self) -> tuple[int, ...]:
        """The numbers of single connections to choose from."""
        return CONNECTION_COUNTS if 2 in self.sizes else (0,)

    def learn(self, sample: Sample, kernel: Floats) -> Parts:
        """Learn all parts; ``kernel`` is that of the ridge part."""
        statistics = sample.observed()
        sets = self._sets(sample.cells, statistics)
        most = min(MEASURED, len(statistics))
        return Parts(
            sets,
            self._set_coef(sample, sets),
            self._connections(sample.cells, statistics),
            self.ridge(sample, kernel),
            np.argpartition(-np.abs(statistics), most - 1)[:most],
            self.layout,
        )

    def ridge(self, sample: Sample, kernel: Floats) -> Floats:
        """Return ridge weights of standardised connections, with the penalty chosen by exact leave-one-out."""
        largest = np.inf if sample.numeric else LARGEST_SQUARE
        _, alpha, _, _, _ = leave_one_out(kernel, sample.target[:, None], sample.weights, largest)
        return np.asarray((alpha[:, 0] @ sample.cells) * self.raw**2)

    def _sets(self, cells: Floats, statistics: Floats) -> list[RegionSet]:
        if self.shuffled is None:
            return []
        sizes = set_sizes(self.sizes, self.layout.n)
        sets = propose(statistics, self.layout.pairs, self.layout.n, sizes, self.shuffled, self.most_sets)
        spreads = [max(float(values.std()), 1e-9) for values in set_values(sets, cells, self.layout).T]
        return [replace(regions, spread=spread) for regions, spread in zip(sets, spreads, strict=True)]

    def _set_coef(self, sample: Sample, sets: list[RegionSet]) -> Floats:
        coef = np.zeros((len(self.set_counts), len(sets)))
        if sets:
            values = set_values(sets, sample.cells, self.layout)
            strength = np.maximum(replace(sample, cells=values).observed(), 0.0)
            for row, count in enumerate(self.set_counts):
                coef[row, :count] = strength[:count]
                coef[row] /= max(float((values @ coef[row]).std()), 1e-9)
        return coef

    def _connections(self, cells: Floats, statistics: Floats) -> Floats:
        strength, coef = np.abs(statistics), np.zeros((len(self.connection_counts), len(statistics)))
        order = np.argsort(-strength, kind="stable")
        for row, count in enumerate(self.connection_counts):
            if count:
                top = order[:count]
                rest = strength[order[count]] if count < len(order) else 0.0
                coef[row, top] = np.sign(statistics[top]) * (strength[top] - rest)
                coef[row] /= max(float((cells @ coef[row]).std()), 1e-9)
        return coef


def set_sizes(sizes: tuple[int, ...], n: int) -> list[int]:
    """Return the numbers of regions of sets among n regions."""
    return [k for k in sizes if 2 < k <= n]


@dataclass(frozen=True, eq=False)
class ColumnModel:
    """The model of one column of targets: ``intercept + sets + connections``.

    Attributes:
        sets, coef: sets of regions and their weights.
        connections: weights of standardised connections, shape (p,).
        intercept: the mean of the target.
        held_out: predictions for graphs that were held out, also from the choice of the mixture, shape (splits, g).
        shares: the share of sets, single connections and ridge in the predictions; {} for a constant.
        effects: effect size of each set on held-out graphs and its 95 % interval, and the share of folds that find the
            set, shape (4, sets).
        connection_effects: effect size of connections on held-out graphs and its interval, shape (3, p); NaN for those
            that no fold has among its strongest.
    """

    sets: list[RegionSet]
    coef: Floats
    connections: Floats
    intercept: float
    held_out: Floats
    shares: dict[str, float]
    effects: Floats
    connection_effects: Floats


def fit_column(sample: Sample, learner: Learner, draw: np.random.Generator) -> ColumnModel:
    """Learn one column of targets."""
    g, p = sample.cells.shape
    mean = float(sample.weights @ sample.target / g)
    constant = ColumnModel(
        [], np.zeros(0), np.zeros(p), mean, np.full((1, g), mean), {}, np.zeros((4, 0)), np.full((3, p), np.nan)
    )
    if sample.constant:
        return constant
    kernel = sample.cells @ (sample.cells * learner.raw**2).T
    if sample.folds < 2:  # too few graphs to hold out
        return replace(constant, connections=learner.ridge(sample, kernel))
    trials = Trials.run(learner.learn, sample, kernel, draw)
    mixture = trials.mixture()
    parts = learner.learn(sample, kernel)
    sets, connections, ridge = mixture.weights
    return ColumnModel(
        sets=parts.sets,
        coef=sets @ parts.set_coef,
        connections=connections @ parts.connections + ridge[0] * parts.ridge,
        intercept=mean,
        held_out=mean + trials.held_out(),
        shares=mixture.shares,
        effects=trials.set_effects(parts.sets),
        connection_effects=mean_effect(trials.moments, sample.numeric),
    )


def join_columns(
    columns: Sequence[ColumnModel], outputs: Floats, encoder: Encoder, family: Family
) -> tuple[AlignedModel, Floats, IntArray, Floats]:
    """Join the models of all columns; keep the sets that count or are significant, of the largest weight first.

    Args:
        outputs: the matrix from columns to outputs.

    Returns:
        the model, and for each of its sets the p-value, the column it belongs to, and its effect, shape (4, sets).
    """
    sets = [regions for column in columns for regions in column.sets]
    owner = np.repeat(np.arange(len(columns)), [len(column.sets) for column in columns])
    coef = outputs[:, owner] * np.concatenate([column.coef for column in columns])
    p_values = family.set_p_values(np.array([regions.rank for regions in sets]))
    shares = np.concatenate([column.coef / max(column.coef.sum(), 1e-300) for column in columns])
    order = np.argsort(-np.abs(coef).max(axis=0, initial=0.0), kind="stable")
    order = order[((shares > LEAST_SHARE) | (p_values <= LISTED))[order]]
    model = AlignedModel(
        encoder,
        [sets[i] for i in order],
        coef[:, order],
        outputs @ np.stack([column.connections for column in columns]),
        outputs @ np.array([column.intercept for column in columns]),
    )
    effects = np.concatenate([column.effects for column in columns], axis=1)
    return model, p_values[order], owner[order], effects[:, order]
