"""How the predictions of a page are made: by the model as it is, or by models fitted again without each graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from isonn.graphs.graph import GraphSet
from isonn.graphs.isomorphism import twin_groups
from isonn.graphs.splits import Fold, grouped_folds
from isonn.report.header import Tile
from isonn.report.words import Naming, percent_text
from isonn.seeding import derive_seed
from isonn.targets import Labels, Numbers

#: Number of folds of a cross-fitted page.
FOLDS = 5


@dataclass(frozen=True, eq=False)
class Judged:
    """Models with the graphs they are shown on, none of which they were fitted to.

    Attributes:
        clf: the model of the page, which provides the pieces that mark a class.
        shown: pairs of a model and the numbers of the graphs it predicts and explains.
        how: a sentence about how the predictions were made.
        train: numbers of graphs the model was fitted to, for template cards; empty if unknown.
    """

    clf: Any
    shown: Sequence[tuple[Any, NDArray[np.int64]]]
    how: str
    train: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The numbers of the graphs shown."""
        return np.concatenate([numbers for _, numbers in self.shown])


def held_out(clf: Any, graphs: GraphSet, left_out: int = 0) -> Judged:
    """Judge the model as it is; ``left_out`` more graphs, which it was fitted to, are gone."""
    noun = Naming.of(graphs).noun
    how = training_words(clf, graphs) or f"Held out: the model was not fitted to any of these {len(graphs):,} {noun}s."
    how += f" {left_out:,} more that equal its training {noun}s are left out." if left_out else ""
    return Judged(clf, [(clf, np.arange(len(graphs)))], how)


def training_words(clf: Any, graphs: GraphSet) -> str:
    """Return a sentence about graphs that the model was fitted to; "" if there are none."""
    seen, noun = int(clf.seen_in_training(graphs).sum()), Naming.of(graphs).noun
    if not seen:
        return ""
    which = f"This is a training {noun}"
    if len(graphs) > 1:
        which = f"{seen:,} of these {len(graphs):,} are training {noun}s"
    return f"{which} of the model, so predictions look better than on new {noun}s."


def cross_fitted(clf: Any, graphs: GraphSet) -> Judged:
    """Fit the model again in folds, so that each graph is predicted and explained by a model that has not seen it."""
    folds = folds_of(graphs)
    shown = [(clone(clf).fit(graphs[train]), test) for train, test in folds]
    noun = Naming.of(graphs).noun
    how = (
        f"Cross-fitted in {len(folds)} folds: every {noun} is predicted and explained by a model fitted to others; "
        f"equal {noun}s share a fold."
    )
    return Judged(clf, shown, how, np.arange(len(graphs)))


def folds_of(graphs: GraphSet) -> list[Fold]:
    """Return stratified folds with twins in one fold, always the same."""
    seed = derive_seed(0, "report")
    if graphs.y is not None and graphs.y.ndim == 1 and graphs.y.dtype.kind != "f":
        rarest = int(np.unique(graphs.y, return_counts=True)[1].min())
        groups = twin_groups(graphs)
        count = min(FOLDS, rarest, len(np.unique(groups)))
        if count >= 2:
            return grouped_folds(graphs.y, groups, count, seed)
    order = np.random.default_rng(seed).permutation(len(graphs))
    parts = np.array_split(order, min(FOLDS, len(graphs)))
    return [(np.sort(np.setdiff1d(order, part)), np.sort(part)) for part in parts]


def trivial_tile(graphs: GraphSet, clf: Any) -> Tile | None:
    """Return the best trivial method, cross-fitted on these graphs; None if there are too few to fit anything to."""
    if graphs.y is None:
        return None
    if isinstance(clf.target_, Numbers):
        error = clf.target_.metrics(*_guessed(graphs, lambda mean: mean))["rmse"]
        return Tile("Trivial: always the mean", f"{error:.3g}", "typical error (RMSE)")
    if isinstance(clf.target_, Labels):
        accuracy = clf.target_.metrics(*_guessed(graphs, lambda mean: mean > 0.5))["accuracy"]
        about = f"{round(accuracy * len(graphs)):,} of {len(graphs):,} right"
        return Tile("Trivial: the most frequent value of each label", percent_text(accuracy), about)
    return _trivial_classes(graphs)


def _guessed(graphs: GraphSet, guess: Callable[[NDArray[Any]], Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return y, and what is guessed from its mean in the other folds."""
    y = np.asarray(graphs.y, dtype=float)
    guesses = np.full(y.shape, np.nan)
    for train, test in folds_of(graphs):
        guesses[test] = guess(np.nanmean(y[train], axis=0))
    return y, guesses


def _trivial_classes(graphs: GraphSet) -> Tile | None:
    from isonn.baselines import DegreeHistogramClassifier, GraphSizeClassifier, MajorityClassifier

    y = np.asarray(graphs.y)
    if len(np.unique(y)) == 1:
        return Tile("Best trivial method: the most frequent class", percent_text(1.0), "all of one class")
    folds = folds_of(graphs)
    if any(len(np.unique(y[train])) == 1 for train, _ in folds):
        return None
    methods = {
        "the most frequent class": MajorityClassifier,
        "graph size": GraphSizeClassifier,
        "node degrees": DegreeHistogramClassifier,
    }
    right = dict.fromkeys(methods, 0)
    for name, method in methods.items():
        for train, test in folds:
            fitted = method().fit(graphs[train], y[train])
            right[name] += int((fitted.predict(graphs[test]) == y[test]).sum())
    best = max(right, key=lambda name: right[name])
    share = percent_text(right[best] / len(graphs))
    return Tile(f"Best trivial method: {best}", share, f"{right[best]:,} of {len(graphs):,} right")
