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

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from isonn.aligned.effects import Moments, mean_effect
from isonn.aligned.exchange import Exchange, averaging
from isonn.aligned.select import PartialT, RegionSet, Shuffled, propose
from isonn.confounds import CHUNK, adjustment, subtract
from isonn.heads import LARGEST_SQUARE, leave_one_out
from isonn.packing import Floats, IntArray

INNER_FOLDS = 5
#: Minimum number of held-out predictions for these choices; small sets are split into folds up to four times.
HELD_OUT, MOST_SPLITS = 240, 4
#: A fold finds a set again if it shares at least this part of the regions (Jaccard).
SAME = 0.6
#: Number of connections of each fold whose effect is measured on its held-out graphs.
MEASURED = 64


@dataclass(frozen=True)
class Settings:
    """Limits and options of learning.

    Attributes:
        sizes: regions a set may have; 2 stands for single connections.
        sets, connections: maximum numbers of each.
        ridge: whether to add small weights for all connections.
        permute: match the pattern of a set under all permutations of its regions.
        apart: what two sets must not share.
    """

    sizes: tuple[int, ...]
    sets: int
    connections: int
    ridge: bool
    permute: bool
    apart: str

    @property
    def set_counts(self) -> list[int]:
        """The numbers of sets to choose from: 0, 1, 2, 4, ..."""
        return _doubling(self.sets) if any(k > 2 for k in self.sizes) else [0]

    def set_sizes(self, n: int) -> list[int]:
        """Return the numbers of regions of sets among n regions."""
        return [k for k in self.sizes if 2 < k <= n] if self.sets else []

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
        a, b = _inner_cells(len(nodes), self.directed)
        members = np.array(nodes)
        return a, b, self.numbers[members[a], members[b]]


@lru_cache
def _inner_cells(k: int, directed: bool) -> tuple[IntArray, IntArray]:
    a, b = np.nonzero(~np.eye(k, dtype=bool)) if directed else np.triu_indices(k, 1)
    return a, b


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
class Sample:
    """The graphs that one column of targets is learned from.

    Attributes:
        cells: standardised connections without the effect of confounds, shape (g, p).
        target, weights: shape (g,); +1 and -1 for classes; weights have mean 1.
        numeric: whether the target is a measurement.
        confounds: columns of confounds, shape (g, q), or None.
        source: the graphs that effects of confounds are estimated from, shape (g,).
        exchange: the groups of graphs.
    """

    cells: Floats
    target: Floats
    weights: Floats
    numeric: bool
    confounds: Floats | None
    source: NDArray[np.bool_]
    exchange: Exchange

    @property
    def constant(self) -> bool:
        """Whether there is nothing to learn."""
        return bool(np.ptp(self.target) == 0) or not self.cells.any()

    def statistics(self) -> PartialT:
        """Return the partial t statistics of the connections, for any order of the graphs."""
        return PartialT(self.cells, self.target, self.weights, self.confounds)

    def observed(self) -> Floats:
        """Return the statistics of the graphs as they are, shape (p,), without a copy of all connections."""
        parts = [
            PartialT(self.cells[:, start : start + CHUNK], self.target, self.weights, self.confounds)()[0]
            for start in range(0, self.cells.shape[1], CHUNK)
        ]
        return np.concatenate(parts)

    def fold(self, train: IntArray, test: IntArray, kernel: Floats) -> tuple[Sample, Sample, Floats]:
        """Return training and test graphs, with confounds regressed out by the training graphs, and their kernel."""
        if self.confounds is None:
            return self._part(train), self._part(test), kernel[np.ix_(train, train)]
        source = np.zeros(len(self.target), dtype=bool)
        source[train] = self.source[train]
        operator = adjustment(self.confounds, source if source.sum() > self.confounds.shape[1] else self.source)
        slopes = operator @ self.cells
        keep = np.eye(len(self.target)) - self.confounds @ operator
        kernel = keep @ kernel @ keep.T
        parts = self._part(train), self._part(test)
        for part, rows in zip(parts, (train, test), strict=True):
            subtract(part.cells, self.confounds[rows], slopes)
        return *parts, kernel[np.ix_(train, train)]

    def rest(self, train: IntArray, test: IntArray) -> Floats:
        """Return the targets of test graphs without what the confounds predict by the training graphs."""
        target = self.target if self.numeric else self.target / 2  # so that classes differ by 1
        if self.confounds is None:
            return target[test]
        known = np.zeros(len(target), dtype=bool)
        known[train] = True
        return np.asarray(target[test] - self.confounds[test] @ (adjustment(self.confounds, known) @ target))

    def _part(self, rows: IntArray) -> Sample:
        return replace(
            self,
            cells=self.cells[rows],
            target=self.target[rows],
            weights=self.weights[rows],
            confounds=None if self.confounds is None else self.confounds[rows],
            source=self.source[rows],
            exchange=self.exchange.at(rows),
        )


@dataclass(frozen=True, eq=False)
class ColumnModel:
    """The model of one column of targets: ``intercept + sets + connections + ridge``.

    Attributes:
        sets, coef: templates and their weights.
        connections, ridge: weights of standardised connections, shape (p,).
        intercept: the mean of the target.
        held_out: predictions for graphs that were held out, also from the mixture, shape (splits, g).
        shares: the share of each part, by name: its weight times the spread of its held-out predictions, of all parts.
        effects: effect size of each set on held-out graphs and its 95 % interval, and the share of folds that find the
            set, shape (4, sets).
        connection_effects: effect size of connections on held-out graphs and its interval, shape (3, p); NaN for those
            that no fold has among its strongest.
    """

    sets: list[SetTemplate]
    coef: Floats
    connections: Floats
    ridge: Floats
    intercept: float
    held_out: Floats
    shares: dict[str, float]
    effects: Floats
    connection_effects: Floats


def fit_column(
    sample: Sample,
    raw: Floats,
    geometry: Geometry,
    settings: Settings,
    shuffled: Shuffled | None,
    draw: np.random.Generator,
) -> ColumnModel:
    """Learn one column of targets.

    Args:
        raw: factors from standardised connections to the features of the ridge part, shape (p,).
        shuffled: the result of `search_shuffled`; None if there are no sets to find.
    """
    g, p = sample.cells.shape
    mean = float(sample.weights @ sample.target / g)
    nothing, unknown = np.zeros(p), np.full((3, p), np.nan)
    constant = ColumnModel(
        [], np.zeros(0), nothing, nothing, mean, np.full((1, g), mean), {}, np.zeros((4, 0)), unknown
    )
    folds = count_folds(sample)
    if sample.constant:
        return constant
    sizes = tuple(k for k in settings.sizes if k <= geometry.n)
    learner = _Parts(settings, sizes, geometry, raw, np.inf if sample.numeric else LARGEST_SQUARE)
    kernel = sample.cells @ (sample.cells * raw**2).T
    if folds < 2:  # too few graphs to hold out
        return replace(constant, ridge=learner.ridge(sample, kernel)) if settings.ridge else constant
    tried = _Trials.run(learner, sample, kernel, shuffled, folds, draw)
    mixture = tried.mixture(settings.ridge)
    parts = learner.learn(sample, kernel, shuffled)
    return ColumnModel(
        sets=parts.sets,
        coef=mixture.sets @ parts.set_coef,
        connections=mixture.connections @ parts.connections,
        ridge=mixture.ridge * parts.ridge_weights,
        intercept=mean,
        held_out=mean + tried.held_out(settings.ridge),
        shares=mixture.shares,
        effects=tried.set_effects(parts.sets),
        connection_effects=mean_effect(tried.moments, sample.numeric),
    )


def count_folds(sample: Sample) -> int:
    """Return the number of inner folds that the graphs, or their groups, allow."""
    if sample.numeric:
        return min(INNER_FOLDS, len(sample.target) // 2 if sample.exchange.groups is None else _groups(sample) // 2)
    counts = np.unique(sample.target, return_counts=True)[1].min()
    if sample.exchange.groups is not None:
        own = [len(np.unique(sample.exchange.groups[sample.target == value])) for value in np.unique(sample.target)]
        counts = min(own)
    return min(INNER_FOLDS, int(counts))


def _groups(sample: Sample) -> int:
    assert sample.exchange.groups is not None
    return int(sample.exchange.groups.max()) + 1


@dataclass(frozen=True, eq=False)
class _Trials:
    """What was learned without each inner fold, and how it did there.

    Attributes:
        splits: for every split, the fold of each graph, shape (splits, g).
        stacked: predictions of every choice of the three parts, each of shape (splits, g, choices).
        sets: for every split and fold, the sets that were found.
        values: for every split and fold, the targets and the values of these sets on the held-out graphs.
        moments: for every split, the sums of the strongest connections.
    """

    sample: Sample
    splits: IntArray
    stacked: list[Floats]
    sets: list[list[list[RegionSet]]]
    values: list[list[tuple[Floats, Floats]]]
    moments: list[Moments]

    @classmethod
    def run(
        cls,
        learner: _Parts,
        sample: Sample,
        kernel: Floats,
        shuffled: Shuffled | None,
        folds: int,
        draw: np.random.Generator,
    ) -> _Trials:
        """Learn all parts again without each fold of every split."""
        g, p = sample.cells.shape
        count = min(MOST_SPLITS, -(-HELD_OUT // g))
        splits = np.stack([_folds(sample, folds, draw) for _ in range(count)])
        choices = (len(learner.settings.set_counts), len(learner.settings.connection_counts), 1)
        stacked = [np.zeros((count, g, number)) for number in choices]
        sets: list[list[list[RegionSet]]] = [[] for _ in range(count)]
        values: list[list[tuple[Floats, Floats]]] = [[] for _ in range(count)]
        moments = [Moments(p) for _ in range(count)]
        for i, split in enumerate(splits):
            for number in range(folds):
                train, test = np.flatnonzero(split != number), np.flatnonzero(split == number)
                seen, new, inner = sample.fold(train, test, kernel)
                parts = learner.learn(seen, inner, shuffled)
                for column, found in zip(stacked, parts.outputs(new.cells), strict=True):
                    column[i, test] = found
                rest, merge = sample.rest(train, test), _merging(new)
                sets[i].append([one.found for one in parts.sets])
                values[i].append((merge(rest[:, None])[:, 0], merge(parts.set_values(new.cells))))
                moments[i].add(parts.strongest, merge(rest[:, None])[:, 0], merge(new.cells[:, parts.strongest]))
                del seen, new, parts  # the next fold needs their memory
        return cls(sample, splits, stacked, sets, values, moments)

    def mixture(self, ridge: bool, subjects: NDArray[np.bool_] | None = None) -> _Mixture:
        """Weigh the choices by all held-out predictions, or by those of some graphs."""
        rows = np.ones(len(self.sample.target), dtype=bool) if subjects is None else subjects
        count = len(self.splits)
        target, weights = np.tile(self.sample.target[rows], count), np.tile(self.sample.weights[rows], count)
        stacked = [part[:, rows].reshape(-1, part.shape[2]) for part in self.stacked]
        return _mix(stacked, target, weights, int(rows.sum()), ridge)

    def held_out(self, ridge: bool) -> Floats:
        """Return held-out predictions whose mixture was also weighed without the graph, shape (splits, g)."""
        found = np.zeros(self.splits.shape)
        for number in range(int(self.splits[0].max()) + 1):
            own = self.splits[0] == number
            mixture = self.mixture(ridge, ~own)
            for i in range(len(self.splits)):
                found[i, own] = mixture.outputs([part[i, own] for part in self.stacked])
        return found

    def set_effects(self, sets: Sequence[SetTemplate]) -> Floats:
        """Return the effect of each set on graphs that did not choose it, its interval, and the share of folds.

        In every fold, the set found without its graphs that shares most regions with the given one is measured.
        """
        effects = np.full((4, len(sets)), np.nan)
        for column, template in enumerate(sets):
            moments, hits, folds = [], 0, 0
            for found, held in zip(self.sets, self.values, strict=True):
                own = Moments(1)
                for others, (target, values) in zip(found, held, strict=True):
                    folds += 1
                    at = most_alike(template.found, others)
                    if at is not None:
                        hits += 1
                        # values are larger for larger targets; times the sign, for stronger connections
                        own.add(np.zeros(1, dtype=np.int64), target, others[at].sign * values[:, at : at + 1])
                moments.append(own)
            effects[:3, column : column + 1] = mean_effect(moments, self.sample.numeric)
            effects[3, column] = hits / max(folds, 1)
        return effects


def most_alike(one: RegionSet, others: Sequence[RegionSet]) -> int | None:
    """Return the set of the same sign that shares most regions with ``one``, if it shares enough of them."""
    shares = [
        len({*one.nodes} & {*other.nodes}) / len({*one.nodes} | {*other.nodes}) * (one.sign == other.sign)
        for other in others
    ]
    return int(np.argmax(shares)) if shares and max(shares) >= SAME else None


def _merging(sample: Sample) -> Callable[[Floats], Floats]:
    """Return a function that averages the graphs of a group, if whole groups are exchanged."""
    if sample.exchange.groups is None or sample.exchange.within:
        return lambda values: values
    members = averaging(sample.exchange.groups)
    return lambda values: np.asarray(members @ values)


@dataclass(frozen=True, eq=False)
class _Learned:
    """The three parts learned from some graphs; sets and connections have spread 1 on them.

    Attributes:
        set_coef: the weight of each set, for every number of sets, shape (numbers, sets).
        connections: the weight of each connection, for every number of connections, shape (numbers, p).
        ridge_weights: shape (p,).
        strongest: the connections with the largest t statistics.
    """

    sets: list[SetTemplate]
    set_coef: Floats
    connections: Floats
    ridge_weights: Floats
    strongest: IntArray
    geometry: Geometry
    permute: bool

    def outputs(self, cells: Floats) -> list[Floats]:
        """Return the predictions of every choice of each part: three arrays of shape (g, choices)."""
        values = self.set_values(cells)
        return [values @ self.set_coef.T, cells @ self.connections.T, (cells @ self.ridge_weights)[:, None]]

    def set_values(self, cells: Floats) -> Floats:
        """Return the feature of every set, shape (g, sets)."""
        features = [one.values(cells, self.geometry, self.permute) for one in self.sets]
        return np.stack(features, axis=1) if features else np.zeros((len(cells), 0))


@dataclass(frozen=True, eq=False)
class _Parts:
    """Learner of the three parts from any selection of graphs."""

    settings: Settings
    sizes: tuple[int, ...]
    geometry: Geometry
    raw: Floats
    cap: float

    def learn(self, sample: Sample, kernel: Floats, shuffled: Shuffled | None) -> _Learned:
        """Learn all parts."""
        cells, permute = sample.cells, self.settings.permute
        statistics = sample.observed()
        sets = [] if shuffled is None else self._sets(cells, statistics, shuffled)
        set_coef = np.zeros((len(self.settings.set_counts), len(sets)))
        if sets:
            values = np.stack([one.values(cells, self.geometry, permute) for one in sets], axis=1)
            strength = np.maximum(replace(sample, cells=values).observed(), 0.0)
            for row, count in enumerate(self.settings.set_counts):
                set_coef[row, :count] = strength[:count]
                set_coef[row] /= max(float((values @ set_coef[row]).std()), 1e-9)
        most = min(MEASURED, len(statistics))
        return _Learned(
            sets,
            set_coef,
            self._connections(cells, statistics),
            self.ridge(sample, kernel) if self.settings.ridge else np.zeros(cells.shape[1]),
            np.argpartition(-np.abs(statistics), most - 1)[:most],
            self.geometry,
            permute,
        )

    def ridge(self, sample: Sample, kernel: Floats) -> Floats:
        """Return ridge weights of standardised connections, with the penalty chosen by exact leave-one-out."""
        _, alpha, _, _, _ = leave_one_out(kernel, sample.target[:, None], sample.weights, self.cap)
        return np.asarray((alpha[:, 0] @ sample.cells) * self.raw**2)

    def _sets(self, cells: Floats, statistics: Floats, shuffled: Shuffled) -> list[SetTemplate]:
        sizes, most = [k for k in self.sizes if k > 2], max(self.settings.set_counts)
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


def _folds(sample: Sample, folds: int, draw: np.random.Generator) -> IntArray:
    """Return the fold of each graph; every fold has its share of small and large targets, and whole groups."""
    groups = sample.exchange.groups
    target = sample.target if groups is None else averaging(groups) @ sample.target
    order = np.lexsort((draw.random(len(target)), target))
    fold = np.concatenate([draw.permutation(folds) for _ in range(-(-len(target) // folds))])[: len(target)]
    of_group = np.empty(len(target), dtype=np.int64)
    of_group[order] = fold
    return of_group if groups is None else of_group[groups]


def _doubling(most: int) -> list[int]:
    counts = [0]
    while counts[-1] < most:
        counts.append(min(most, max(1, 2 * counts[-1])))
    return counts
