r"""Learn one target column from aligned graphs: sets of regions, single connections, and a ridge part.

Three parts are learned from the same standardised connections. **Sets** of regions are found by `isonn.aligned.select`;
each contributes the sum of its connections, weighed by its own t statistic. **Single connections** are the strongest m,
weighed by how far their t statistic exceeds that of the next, as in nearest shrunken centroids. The **ridge** part
gives all connections small weights, for effects that are spread out.

The number of sets and connections, and the weight of each part, are chosen by predictions for held-out graphs: every
part is learned again without each inner fold, and the predictions for that fold are weighed by non-negative least
squares. All numbers of sets and connections are averaged in proportion to their likelihood, :math:`\text{loss}^{-g/4}`,
which is right more often than the best one alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import permutations, product

import numpy as np
from scipy.optimize import nnls

from isonn.aligned.select import RegionSet, Shuffled, propose, search_shuffled, t_statistics
from isonn.heads import LARGEST_SQUARE, leave_one_out
from isonn.packing import Floats, IntArray

INNER_FOLDS = 5
#: Minimum number of held-out predictions for these choices; small sets are split into folds up to four times.
HELD_OUT, MOST_SPLITS = 240, 4
#: Parts with less than this share of the total weight are left out of the model.
LEAST_SHARE = 0.02


@dataclass(frozen=True)
class Settings:
    """Limits and options of learning.

    Attributes:
        sizes: regions a set may have; 2 stands for single connections.
        sets, connections: maximum numbers of each.
        ridge: whether to add small weights for all connections.
        permute: match the pattern of a set under all permutations of its regions.
        apart: what two sets must not share.
        shuffles: number of shuffled targets to compare scores with.
    """

    sizes: tuple[int, ...]
    sets: int
    connections: int
    ridge: bool
    permute: bool
    apart: str
    shuffles: int

    @property
    def set_counts(self) -> list[int]:
        """The numbers of sets to choose from: 0, 1, 2, 4, ..."""
        return _doubling(self.sets) if any(k > 2 for k in self.sizes) else [0]

    @property
    def connection_counts(self) -> list[int]:
        """The numbers of single connections to choose from: 0, 8, 24, 64, ..."""
        if 2 not in self.sizes:
            return [0]
        counts = [0, *(count for count in (8, 24) if count < self.connections), self.connections]
        return sorted(set(counts))


@dataclass(frozen=True, eq=False)
class Geometry:
    """Regions and connections: the regions of each connection (p, 2), the connection of each pair (n, n)."""

    pairs: IntArray
    numbers: IntArray
    directed: bool

    @property
    def n(self) -> int:
        """Number of regions."""
        return len(self.numbers)

    def inside(self, nodes: Sequence[int]) -> tuple[IntArray, IntArray, IntArray]:
        """Return positions (a, b) of a set's connections in its pattern, and their numbers."""
        k = len(nodes)
        a, b = np.nonzero(~np.eye(k, dtype=bool)) if self.directed else np.triu_indices(k, 1)
        members = np.array(nodes)
        return a, b, self.numbers[members[a], members[b]]


@dataclass(frozen=True, eq=False)
class SetTemplate:
    """A set of regions with a pattern of connections.

    Its feature is the sum of pattern times standardised connections minus the centre; spread 1, mean 0 in training.

    Attributes:
        found: the set.
        pattern: shape (k, k), with an empty diagonal.
        centre: mean of the sum over training graphs; 0 without permutations.
    """

    found: RegionSet
    pattern: Floats
    centre: float

    def values(self, cells: Floats, geometry: Geometry, permute: bool) -> Floats:
        """Return the feature of every graph, shape (g,)."""
        if permute:
            return self.best(cells, geometry)[1] - self.centre
        a, b, inside = geometry.inside(self.found.nodes)
        return np.asarray(cells[:, inside] @ self.pattern[a, b] - self.centre)

    def best(self, cells: Floats, geometry: Geometry) -> tuple[IntArray, Floats]:
        """Return the best permutation of the pattern for every graph, shape (g, k), and its sum.

        Template node j is region ``nodes[order[j]]``.
        """
        a, b, inside = geometry.inside(self.found.nodes)
        orders = np.array(list(permutations(range(len(self.pattern)))))
        turned = np.argsort(orders, axis=1)
        patterns = self.pattern[turned[:, a], turned[:, b]]  # (k!, connections)
        sums = cells[:, inside] @ patterns.T
        winner = sums.argmax(axis=1)
        return orders[winner], np.take_along_axis(sums, winner[:, None], axis=1)[:, 0]


@dataclass(frozen=True, eq=False)
class ColumnModel:
    """The model of one column of targets: ``intercept + sets + connections + ridge``.

    Attributes:
        sets, coef: templates and their weights.
        p_values: family-wise p-value of each set.
        connections, ridge: weights of standardised connections, shape (p,).
        intercept: the mean of the target.
        held_out: predictions for graphs that were held out, shape (g,).
        shares: the share of each part, by name: its weight times the spread of its held-out predictions, of all parts.
    """

    sets: list[SetTemplate]
    coef: Floats
    p_values: Floats
    connections: Floats
    ridge: Floats
    intercept: float
    held_out: Floats
    shares: dict[str, float] = field(default_factory=dict)


def fit_column(
    cells: Floats,
    raw: Floats,
    target: Floats,
    weights: Floats,
    numeric: bool,
    geometry: Geometry,
    settings: Settings,
    draw: np.random.Generator,
) -> ColumnModel:
    """Learn one column of targets.

    Args:
        cells: standardised connections, shape (g, p).
        raw: factors from standardised connections to the features of the ridge part, shape (p,).
        target, weights: shape (g,); +1 and -1 for classes.
        numeric: whether the target is a measurement.
    """
    g, p = cells.shape
    weights = weights / weights.mean()
    mean = float(weights @ target / g)
    constant = ColumnModel([], np.zeros(0), np.zeros(0), np.zeros(p), np.zeros(p), mean, np.full(g, mean))
    folds = min(INNER_FOLDS, g // 2 if numeric else int(np.unique(target, return_counts=True)[1].min()))
    if np.ptp(target) == 0 or not cells.any():
        return constant
    sizes = tuple(k for k in settings.sizes if k <= geometry.n)
    learner = _Parts(settings, sizes, geometry, raw, np.inf if numeric else LARGEST_SQUARE)
    if folds < 2:  # too few graphs to hold out
        if settings.ridge:
            ridge = learner.ridge(cells, cells @ (cells * raw**2).T, target, weights)
            return ColumnModel([], np.zeros(0), np.zeros(0), np.zeros(p), ridge, mean, np.full(g, mean))
        return constant
    largest = max(2, *sizes) if sizes else 2
    shuffled = search_shuffled(cells, target, weights, geometry.pairs, geometry.n, largest, settings.shuffles, draw)
    kernel = cells @ (cells * raw**2).T
    splits = min(MOST_SPLITS, -(-HELD_OUT // g))
    held: list[list[Floats]] = []
    for _ in range(splits):
        seen = [
            np.zeros((g, len(settings.set_counts))),
            np.zeros((g, len(settings.connection_counts))),
            np.zeros((g, 1)),
        ]
        for test in _folds(target, folds, draw):
            train = np.setdiff1d(np.arange(g), test)
            parts = learner.learn(cells[train], kernel[np.ix_(train, train)], target[train], weights[train], shuffled)
            for column, values in zip(seen, parts.outputs(cells[test]), strict=True):
                column[test] = values
        held.append(seen)
    stacked = [np.concatenate(part) for part in zip(*held, strict=True)]
    mixture = _mix(stacked, np.tile(target, splits), np.tile(weights, splits), g, settings.ridge)
    parts = learner.learn(cells, kernel, target, weights, shuffled)
    set_weights = mixture.sets @ parts.set_coef
    kept = np.flatnonzero(set_weights > LEAST_SHARE * set_weights.sum()) if set_weights.sum() > 0 else np.arange(0)
    # the held-out predictions also lose the contribution of the sets left out, which is negligible
    sets = [parts.sets[i] for i in kept]
    return ColumnModel(
        sets=sets,
        coef=set_weights[kept],
        p_values=np.array([shuffled.p_value(one.found.rank) for one in sets]),
        connections=mixture.connections @ parts.connections,
        ridge=mixture.ridge * parts.ridge_weights,
        intercept=mean,
        held_out=(mean + mixture.outputs(stacked)).reshape(splits, g).mean(axis=0),
        shares=mixture.shares,
    )


@dataclass(frozen=True, eq=False)
class _Learned:
    """The three parts learned from some graphs; sets and connections have spread 1 on them.

    Attributes:
        set_coef: the weight of each set, for every number of sets, shape (numbers, sets).
        connections: the weight of each connection, for every number of connections, shape (numbers, p).
        ridge_weights: shape (p,).
    """

    sets: list[SetTemplate]
    set_coef: Floats
    connections: Floats
    ridge_weights: Floats
    geometry: Geometry
    permute: bool

    def outputs(self, cells: Floats) -> list[Floats]:
        """Return the predictions of every choice of each part: three arrays of shape (g, choices)."""
        features = [one.values(cells, self.geometry, self.permute) for one in self.sets]
        values = np.stack(features, axis=1) if features else np.zeros((len(cells), 0))
        return [values @ self.set_coef.T, cells @ self.connections.T, (cells @ self.ridge_weights)[:, None]]


@dataclass(frozen=True, eq=False)
class _Parts:
    """Learner of the three parts from any selection of graphs."""

    settings: Settings
    sizes: tuple[int, ...]
    geometry: Geometry
    raw: Floats
    cap: float

    def learn(self, cells: Floats, kernel: Floats, target: Floats, weights: Floats, shuffled: Shuffled) -> _Learned:
        statistics = t_statistics(cells, target[:, None], weights[:, None])[0]
        sets = self._sets(cells, statistics, shuffled)
        values = (
            np.stack([one.values(cells, self.geometry, self.settings.permute) for one in sets], axis=1)
            if sets
            else None
        )
        set_coef = np.zeros((len(self.settings.set_counts), len(sets)))
        if values is not None:
            strength = np.maximum(t_statistics(values, target[:, None], weights[:, None])[0], 0.0)
            for row, count in enumerate(self.settings.set_counts):
                set_coef[row, :count] = strength[:count]
                set_coef[row] /= max(float((values @ set_coef[row]).std()), 1e-9)
        return _Learned(
            sets,
            set_coef,
            self._connections(cells, statistics),
            self.ridge(cells, kernel, target, weights) if self.settings.ridge else np.zeros(cells.shape[1]),
            self.geometry,
            self.settings.permute,
        )

    def ridge(self, cells: Floats, kernel: Floats, target: Floats, weights: Floats) -> Floats:
        """Return ridge weights of standardised connections, with the penalty chosen by exact leave-one-out."""
        _, alpha, _, _, _ = leave_one_out(kernel, target[:, None], weights, self.cap)
        return np.asarray((alpha[:, 0] @ cells) * self.raw**2)

    def _sets(self, cells: Floats, statistics: Floats, shuffled: Shuffled) -> list[SetTemplate]:
        sizes, most = [k for k in self.sizes if k > 2], max(self.settings.set_counts)
        if not sizes or not most:
            return []
        found = propose(statistics, self.geometry.pairs, self.geometry.n, sizes, shuffled, most, self.settings.apart)
        return [self._template(one, cells, statistics) for one in found]

    def _template(self, found: RegionSet, cells: Floats, statistics: Floats) -> SetTemplate:
        a, b, inside = self.geometry.inside(found.nodes)
        pattern = np.zeros((len(found.nodes), len(found.nodes)))
        pattern[a, b] = statistics[inside] if self.settings.permute else float(found.sign)
        if not self.geometry.directed:
            pattern += pattern.T
        template = SetTemplate(found, pattern, 0.0)
        values = template.values(cells, self.geometry, self.settings.permute)
        spread = max(float(values.std()), 1e-9)
        return SetTemplate(found, pattern / spread, float(values.mean()) / spread if self.settings.permute else 0.0)

    def _connections(self, cells: Floats, statistics: Floats) -> Floats:
        strength = np.abs(statistics)
        counts = self.settings.connection_counts
        found = np.zeros((len(counts), len(statistics)))
        order = np.argsort(-strength, kind="stable")
        for row, count in enumerate(counts):
            if count:
                top = order[:count]
                rest = strength[order[count]] if count < len(order) else 0.0
                found[row, top] = np.sign(statistics[top]) * (strength[top] - rest)
                found[row] /= max(float((cells @ found[row]).std()), 1e-9)
        return found


@dataclass(frozen=True, eq=False)
class _Mixture:
    """The weights of every number of sets and connections and of the ridge part, and the means of the columns."""

    sets: Floats
    connections: Floats
    ridge: float
    means: list[Floats]
    shares: dict[str, float]

    def outputs(self, stacked: list[Floats]) -> Floats:
        return np.asarray(
            (stacked[0] - self.means[0]) @ self.sets
            + (stacked[1] - self.means[1]) @ self.connections
            + (stacked[2] - self.means[2])[:, 0] * self.ridge
        )


def _mix(stacked: list[Floats], target: Floats, weights: Floats, g: int, ridge: bool) -> _Mixture:
    """Weigh the held-out predictions of all choices."""
    share = weights / weights.sum()
    means = [share @ part for part in stacked]
    sets, connections, rest = (part - mean for part, mean in zip(stacked, means, strict=True))
    wanted, root = target - share @ target, np.sqrt(weights)
    choices = list(product(range(sets.shape[1]), range(connections.shape[1])))
    coef, losses = np.zeros((len(choices), 3)), np.zeros(len(choices))
    for row, (i, j) in enumerate(choices):
        columns = np.column_stack([sets[:, i], connections[:, j], rest[:, 0] * ridge])
        coef[row] = nnls(columns * root[:, None], wanted * root)[0]
        losses[row] = share @ (wanted - columns @ coef[row]) ** 2
    likely = (losses / max(losses.min(), 1e-300) + 1e-12) ** (-g / 4)
    likely /= likely.sum()
    mixed_sets, mixed_connections = np.zeros(sets.shape[1]), np.zeros(connections.shape[1])
    for row, (i, j) in enumerate(choices):
        mixed_sets[i] += likely[row] * coef[row, 0]
        mixed_connections[j] += likely[row] * coef[row, 1]
    mixed_ridge = float(likely @ coef[:, 2])
    said = [sets.std(axis=0) @ mixed_sets, connections.std(axis=0) @ mixed_connections, rest.std() * mixed_ridge]
    total = max(float(sum(said)), 1e-300)
    shares = {name: float(part) / total for name, part in zip(("sets", "connections", "ridge"), said, strict=True)}
    return _Mixture(mixed_sets, mixed_connections, mixed_ridge, means, shares)


def _folds(target: Floats, folds: int, draw: np.random.Generator) -> list[IntArray]:
    """Return the test graphs of each fold; every fold has its share of small and large targets, or of each class."""
    order = np.lexsort((draw.random(len(target)), target))
    fold = np.concatenate([draw.permutation(folds) for _ in range(-(-len(target) // folds))])[: len(target)]
    of_graph = np.empty(len(target), dtype=np.int64)
    of_graph[order] = fold
    return [np.flatnonzero(of_graph == number) for number in range(folds)]


def _doubling(most: int) -> list[int]:
    counts = [0]
    while counts[-1] < most:
        counts.append(min(most, max(1, 2 * counts[-1])))
    return counts
