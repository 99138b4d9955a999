"""The best trivial method on the graphs of a page, as the number to beat."""

from __future__ import annotations

import numpy as np

from isonn.errors import InputError
from isonn.experiments.methods import build
from isonn.report.page import Tile
from isonn.report.page_models import PageModels, folds_of
from isonn.report.words import Naming, number_text, percent_text
from isonn.scores import right_graphs, score
from isonn.targets import Target

#: The methods of `isonn evaluate` that any model has to beat; of several labels, only the first.
TRIVIAL = {"majority": "the most frequent class", "size": "graph size", "degrees": "node degrees"}


def trivial_tile(models: PageModels, target: Target) -> Tile | None:
    """Return the best trivial method on the graphs that the models predict; None if there are too few to fit it to.

    On the test graphs of one fold it is fitted to the training graphs of the model; on a whole set it is cross-fitted.
    """
    graphs, numbers = models.graphs, models.numbers
    if len(graphs) < 2 or (target.exclusive and len(np.unique(np.asarray(graphs.y))) == 1):
        return None
    folds = folds_of(graphs) if len(numbers) == len(graphs) else [(models.train, numbers)]
    truth = np.asarray(graphs.y)[np.concatenate([test for _, test in folds])]
    tiles: list[tuple[float, Tile]] = []
    for name, words in list(TRIVIAL.items())[: None if target.exclusive or target.numeric else 1]:
        method = build(name, {}, 0, int(graphs.sizes.max()), target.numeric)
        try:
            predicted = np.concatenate([method.fit(graphs[train]).predict(graphs[test]) for train, test in folds])
        except InputError:  # a fold has graphs of one class, or gaps that the method cannot learn from
            continue
        if target.numeric:
            first, answers = truth.reshape(len(truth), -1)[:, 0], predicted.reshape(len(truth), -1)[:, :1]
            rmse = score(target, first, answers)["rmse"] or 0.0  # of the first column, as the tile of the model
            unit = Naming.of(graphs).unit()
            words = "always the mean" if name == "majority" else words
            tiles.append(
                (-rmse, Tile(f"Best trivial method: {words}", number_text(rmse, unit), "typical error (RMSE)"))
            )
            continue
        right = right_graphs(target, truth, predicted)
        about = f"{right.sum():,} of {len(right):,} right"
        if not target.exclusive:
            return Tile("Trivial: the most frequent value of each label", "0.500", f"all labels: {about}")
        tiles.append((right.mean(), Tile(f"Best trivial method: {words}", percent_text(right.mean()), about)))
    return max(tiles, key=lambda tile: tile[0])[1] if tiles else None
