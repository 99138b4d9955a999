r"""Held-out graphs: predictions of all parts of the model, the weights that they give the parts, and effect sizes.

All numbers of sets and connections are averaged in proportion to their likelihood, :math:`\text{loss}^{-g/4}`, which is
right more often than the best one alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from scipy.optimize import nnls

from isonn.aligned.layout import Layout
from isonn.aligned.model import RegionSet, set_values
from isonn.aligned.sample import Sample
from isonn.packing import Floats, IntArray

#: Minimum number of held-out predictions for these choices; small sets are split into folds up to four times.
HELD_OUT, MOST_SPLITS = 240, 4
#: A fold finds a set again if it shares at least this part of the regions.
SAME = 0.6
PARTS = ("sets", "connections", "ridge")
#: The normal quantile of a 95 % interval.
QUANTILE = 1.959964
#: Minimum number, and share, of held-out graphs for an effect. What few folds choose is weak in the graphs that they
#: hold out: planted effects of d = 0.8 measured on less than a quarter of 40 graphs were -0.7 on average.
LEAST_GRAPHS, LEAST_PART = 6, 0.25


@dataclass(frozen=True, eq=False)
class Parts:
    """The three parts learned from some graphs; sets and connections have spread 1 on them.

    Attributes:
        sets: the sets of regions.
        set_coef: the weight of each set, for every number of sets, shape (numbers, sets).
        connections: the weight of each connection, for every number of connections, shape (numbers, p).
        ridge: the weight of each connection, shape (p,).
        strongest: the connections with the largest t statistics.
        layout: regions and connections.
    """

    sets: list[RegionSet]
    set_coef: Floats
    connections: Floats
    ridge: Floats
    strongest: IntArray
    layout: Layout

    def set_values(self, cells: Floats) -> Floats:
        """Return the value of every set, shape (g, sets)."""
        return set_values(self.sets, cells, self.layout)

    def outputs(self, cells: Floats) -> list[Floats]:
        """Return the predictions of every choice of each part: three arrays of shape (g, choices)."""
        return [self.set_values(cells) @ self.set_coef.T, cells @ self.connections.T, (cells @ self.ridge)[:, None]]


@dataclass(frozen=True, eq=False)
class Mixture:
    """The weights of every number of sets and connections and of the ridge part.

    Attributes:
        weights: the weight of every choice, for the three parts.
        means: the means of their held-out predictions.
        shares: the share of each part: its weight times the spread of its predictions, of all parts.
    """

    weights: list[Floats]
    means: list[Floats]
    shares: dict[str, float]

    @classmethod
    def weigh(cls, predictions: list[Floats], target: Floats, weights: Floats, g: int) -> Mixture:
        """Weigh predictions of g held-out graphs, each of shape (splits * g, choices)."""
        share = weights / weights.sum()
        means = [share @ part for part in predictions]
        sets, connections, ridge = (part - mean for part, mean in zip(predictions, means, strict=True))
        wanted, root = target - share @ target, np.sqrt(weights)
        choices = list(product(range(sets.shape[1]), range(connections.shape[1])))
        coef, losses = np.zeros((len(choices), 3)), np.zeros(len(choices))
        for row, (i, j) in enumerate(choices):
            columns = np.column_stack([sets[:, i], connections[:, j], ridge[:, 0]])
            coef[row] = nnls(columns * root[:, None], wanted * root)[0]
            losses[row] = share @ (wanted - columns @ coef[row]) ** 2
        likelihood = (losses / max(losses.min(), 1e-300) + 1e-12) ** (-g / 4)
        likelihood /= likelihood.sum()
        mixed = [np.zeros(part.shape[1]) for part in predictions]
        for row, (i, j) in enumerate(choices):
            mixed[0][i] += likelihood[row] * coef[row, 0]
            mixed[1][j] += likelihood[row] * coef[row, 1]
        mixed[2][0] = likelihood @ coef[:, 2]
        spreads = [part.std(axis=0) @ weight for part, weight in zip((sets, connections, ridge), mixed, strict=True)]
        total = max(float(sum(spreads)), 1e-300)
        return cls(mixed, means, {name: float(part) / total for name, part in zip(PARTS, spreads, strict=True)})

    def outputs(self, predictions: list[Floats]) -> Floats:
        """Return the mixed predictions, shape (g,)."""
        parts = zip(predictions, self.means, self.weights, strict=True)
        return np.asarray(sum((part - mean) @ weight for part, mean, weight in parts))


class Moments:
    """Sums over held-out graphs, from which effects of many features are computed at once.

    Args:
        features: number of features.
        least: minimum number of graphs that have a feature, for its effect.

    Example:
        >>> moments = Moments(1)
        >>> y = np.array([0, 0, 0, 0, 1, 1, 1, 1.0])
        >>> moments.add(np.array([0]), y, np.array([[0, 1, 0, 1, 2, 3, 2, 3.0]]).T)
        >>> moments.difference()[0].round(2).tolist()  # means 2.5 and 0.5, deviation 0.58
        [3.46]
    """

    def __init__(self, features: int, least: float = LEAST_GRAPHS) -> None:
        self.least = least
        self.n, self.y, self.e = (np.zeros(features) for _ in range(3))
        self.yy, self.ee, self.ye = (np.zeros(features) for _ in range(3))

    def add(self, features: IntArray, target: Floats, values: Floats) -> None:
        """Add held-out graphs: their target (g,) and the values of some features (g, features)."""
        self.n[features] += len(target)
        self.y[features] += target.sum()
        self.yy[features] += target @ target
        self.e[features] += values.sum(axis=0)
        self.ee[features] += np.einsum("gp,gp->p", values, values)
        self.ye[features] += target @ values

    def difference(self) -> tuple[Floats, Floats, Floats]:
        """Return Cohen's d of a target coded 0 and 1, and the ends of its 95 % interval; NaN if unknown."""
        n, yy, ee, ye = self._centred()
        slope = ye / yy
        spread = np.sqrt(np.maximum(ee - slope * ye, 1e-300) / (n - 2))
        d = slope / spread
        error = np.sqrt(1 / yy + d**2 / (2 * (n - 2)))
        return d, d - QUANTILE * error, d + QUANTILE * error

    def correlation(self) -> tuple[Floats, Floats, Floats]:
        """Return the correlation with the target and the ends of its 95 % interval (Fisher's z); NaN if unknown."""
        n, yy, ee, ye = self._centred()
        r = np.clip(ye / np.sqrt(np.maximum(yy * ee, 1e-300)), -1 + 1e-9, 1 - 1e-9)
        z, error = np.arctanh(r), 1 / np.sqrt(n - 3)
        return r, np.tanh(z - QUANTILE * error), np.tanh(z + QUANTILE * error)

    def _centred(self) -> tuple[Floats, Floats, Floats, Floats]:
        n = np.where(self.n >= self.least, self.n, np.nan)
        yy = self.yy - self.y**2 / n
        yy = np.where(yy > 1e-12, yy, np.nan)
        return n, yy, self.ee - self.e**2 / n, self.ye - self.y * self.e / n


def mean_effect(splits: list[Moments], numeric: bool) -> Floats:
    """Return effect, lower and upper end, shape (3, features): means over splits of the same graphs into folds.

    The interval is as wide as that of one split, because splits share their graphs.
    """
    effects = np.stack([np.stack(split.correlation() if numeric else split.difference()) for split in splits])
    finite = np.isfinite(effects)
    total = np.where(finite, effects, 0.0).sum(axis=0)
    count = finite.sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _least(sample: Sample) -> float:
    """Return the minimum number of held-out graphs (or groups) for an effect."""
    return max(LEAST_GRAPHS, LEAST_PART * len(sample.merge(sample.target)))


@dataclass(frozen=True, eq=False)
class Trials:
    """What was learned without each inner fold, and how it did there.

    Attributes:
        sample: the graphs.
        splits: for every split, the fold of each graph, shape (splits, g).
        predictions: of every choice of the three parts, each of shape (splits, g, choices).
        nested: predictions of models that were learned without the graph's fold and another one, each of shape
            (splits, other folds, g, choices); [] if there are only two folds.
        sets: for every split and fold, the sets that were found, with the targets of the held-out graphs and the values
            of the sets in them.
        moments: for every split, the sums of the strongest connections.
    """

    sample: Sample
    splits: IntArray
    predictions: list[Floats]
    nested: list[Floats]
    sets: list[list[tuple[list[RegionSet], Floats, Floats]]]
    moments: list[Moments]

    @classmethod
    def run(
        cls, learn: Callable[[Sample, Floats], Parts], sample: Sample, kernel: Floats, draw: np.random.Generator
    ) -> Trials:
        """Learn all parts again without each fold of every split; ``learn`` takes graphs and their kernel."""
        g, p = sample.cells.shape
        count = min(MOST_SPLITS, -(-HELD_OUT // g))
        splits = np.stack([sample.draw_folds(draw) for _ in range(count)])
        trials = cls(sample, splits, [], [], [[] for _ in splits], [Moments(p, _least(sample)) for _ in splits])
        for i, split in enumerate(splits):
            for number in range(sample.folds):
                train, test = np.flatnonzero(split != number), np.flatnonzero(split == number)
                seen, new, inner = sample.split(train, test, kernel)
                parts = learn(seen, inner)
                outputs = parts.outputs(new.cells)
                if not trials.predictions:
                    trials.predictions.extend(np.zeros((count, g, part.shape[1])) for part in outputs)
                for column, predicted in zip(trials.predictions, outputs, strict=True):
                    column[i, test] = predicted
                target = new.merge(sample.unexplained(train, test))
                trials.sets[i].append((parts.sets, target, new.merge(parts.set_values(new.cells))))
                trials.moments[i].add(parts.strongest, target, new.merge(new.cells[:, parts.strongest]))
                del seen, new, parts  # the next fold needs their memory
            if sample.folds > 2:
                trials._nest(learn, kernel, i)
        return trials

    def _nest(self, learn: Callable[[Sample, Floats], Parts], kernel: Floats, i: int) -> None:
        """Learn without every two folds of a split, and predict both."""
        split, folds = self.splits[i], self.sample.folds
        if not self.nested:
            self.nested.extend(np.zeros((len(self.splits), folds, *part.shape[1:])) for part in self.predictions)
        for pair in combinations(range(folds), 2):
            test = np.isin(split, pair)
            seen, new, inner = self.sample.split(np.flatnonzero(~test), np.flatnonzero(test), kernel)
            outputs = learn(seen, inner).outputs(new.cells)
            for column, predicted in zip(self.nested, outputs, strict=True):
                for own, other in (pair, pair[::-1]):
                    column[i, other, split == own] = predicted[split[test] == own]
            del seen, new

    def mixture(self) -> Mixture:
        """Weigh the choices by all held-out predictions."""
        predictions = [part.reshape(-1, part.shape[2]) for part in self.predictions]
        target, weights = (np.tile(values, len(self.splits)) for values in (self.sample.target, self.sample.weights))
        return Mixture.weigh(predictions, target, weights, len(self.sample.target))

    def held_out(self) -> Floats:
        """Return held-out predictions, shape (splits, g), from mixtures that were weighed without the graph, too.

        Weights chosen by predictions of models that saw the graph would favour the parts that happen to predict it.
        """
        outputs = np.zeros(self.splits.shape)
        nested = self.nested or [np.repeat(part[:, None], 2, axis=1) for part in self.predictions]
        for i, split in enumerate(self.splits):
            for number in range(int(split.max()) + 1):
                rest = split != number
                target, weights = self.sample.target[rest], self.sample.weights[rest]
                mixture = Mixture.weigh([part[i, number, rest] for part in nested], target, weights, len(target))
                outputs[i, ~rest] = mixture.outputs([part[i, ~rest] for part in self.predictions])
        return outputs

    def set_effects(self, sets: Sequence[RegionSet]) -> Floats:
        """Return the effect of each set on graphs that did not choose it, its interval, and the share of folds.

        In every fold, the set found without its graphs that shares most regions with the given one is measured.
        """
        effects = np.full((4, len(sets)), np.nan)
        for column, regions in enumerate(sets):
            moments, hits = [Moments(1, _least(self.sample)) for _ in self.splits], 0
            for split, folds in zip(moments, self.sets, strict=True):
                for others, target, values in folds:
                    shares = [regions.overlap(other) for other in others]
                    if max(shares, default=0.0) >= SAME:
                        hits, at = hits + 1, int(np.argmax(shares))
                        # values are larger for larger targets; times the sign, for stronger connections
                        split.add(np.zeros(1, dtype=np.int64), target, others[at].sign * values[:, at : at + 1])
            effects[:3, column : column + 1] = mean_effect(moments, self.sample.numeric)
            effects[3, column] = hits / sum(map(len, self.sets))
        return effects
