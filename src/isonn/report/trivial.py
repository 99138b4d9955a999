"""The best trivial method on the graphs of a page, as the number to beat."""

from __future__ import annotations

import numpy as np

from isonn.graphs.graph import GraphSet
from isonn.report.page import Tile
from isonn.report.page_models import folds_of
from isonn.report.words import Naming, number_text, percent_text
from isonn.scores import right_graphs, score
from isonn.targets import Target


def trivial_tile(graphs: GraphSet, target: Target) -> Tile | None:
    """Return the best trivial method, cross-fitted on these graphs; None if there are too few to fit anything to."""
    if target.exclusive:
        return _trivial_classes(graphs)
    if len(graphs) < 2:
        return None
    y = np.asarray(graphs.y, dtype=float)
    guesses = np.full(y.shape, np.nan)
    for train, test in folds_of(graphs):
        mean = np.nanmean(y[train], axis=0)
        guesses[test] = mean if target.numeric else mean > 0.5
    if target.numeric:
        rmse = score(target, y, guesses.reshape(len(y), -1))["rmse"]
        unit = Naming.of(graphs).unit() if target.outputs == 1 else ""
        return Tile("Trivial: always the mean", number_text(rmse or 0.0, unit), "typical error (RMSE)")
    about = f"{int(right_graphs(target, y, guesses).sum()):,} of {len(graphs):,} right"
    return Tile("Trivial: the most frequent value of each label", "0.500", f"all labels: {about}")


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
