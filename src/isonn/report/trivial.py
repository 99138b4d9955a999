"""The best trivial method on the graphs of a page, as the number to beat."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from isonn.graphs.splits import Fold
from isonn.report.page import Tile
from isonn.report.page_models import PageModels, folds_of
from isonn.report.words import Naming, number_text, percent_text
from isonn.scores import right_graphs, score
from isonn.targets import Target


def trivial_tile(models: PageModels, target: Target) -> Tile | None:
    """Return the best trivial method on the graphs that the models predict; None if there are too few to fit it to.

    On the test graphs of one fold it is fitted to the training graphs of the model; on a whole set it is cross-fitted.
    """
    graphs, numbers = models.graphs, models.numbers
    if target.exclusive:
        return _trivial_classes(models)
    if len(graphs) < 2:
        return None
    y = np.asarray(graphs.y, dtype=float)
    guesses = np.full(y.shape, np.nan)
    for train, test in _folds(models):
        mean = np.nanmean(y[train], axis=0)
        guesses[test] = mean if target.numeric else mean > 0.5
    y, guesses = y[numbers], guesses[numbers]
    if target.numeric:
        rmse = score(target, y, guesses.reshape(len(y), -1))["rmse"]
        unit = Naming.of(graphs).unit() if target.outputs == 1 else ""
        return Tile("Trivial: always the mean", number_text(rmse or 0.0, unit), "typical error (RMSE)")
    about = f"{int(right_graphs(target, y, guesses).sum()):,} of {len(y):,} right"
    return Tile("Trivial: the most frequent value of each label", "0.500", f"all labels: {about}")


def _folds(models: PageModels) -> Sequence[Fold]:
    whole = len(models.numbers) == len(models.graphs)
    return folds_of(models.graphs) if whole else [(models.train, models.numbers)]


def _trivial_classes(models: PageModels) -> Tile | None:
    from isonn.baselines import DegreeHistogramClassifier, GraphSizeClassifier, MajorityClassifier

    graphs = models.graphs
    y = np.asarray(graphs.y)
    if len(np.unique(y)) == 1:
        return Tile("Best trivial method: the most frequent class", percent_text(1.0), "all of one class")
    folds = _folds(models)
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
    judged = sum(len(test) for _, test in folds)
    return Tile(
        f"Best trivial method: {best}", percent_text(right[best] / judged), f"{right[best]:,} of {judged:,} right"
    )
