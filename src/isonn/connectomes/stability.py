"""How often the findings of a model come back without some of the graphs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GroupKFold, check_cv

from isonn.aligned.exchange import as_groups
from isonn.aligned.folds import SAME
from isonn.connectomes.findings import Findings, Subnetwork, findings
from isonn.errors import InputError
from isonn.graphs.convert import as_graphset
from isonn.graphs.graph import GraphSet


def stability(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    cv: Any = 5,
    label: Any = None,
    atlas: Any = None,
    top: int = 50,
    groups: Any = None,
) -> Findings:
    """Return the findings of a model, with the share of folds that find each one.

    The model is fitted to all graphs, and again without each fold.

    Args:
        estimator: an `AlignedClassifier` or `AlignedRegressor`, or a pipeline that ends with one, fitted or not; it is
            cloned.
        X, y: the graphs and their targets; for a pipeline, what it takes.
        cv: folds, as in scikit-learn.
        label, atlas, top: as in `findings`.
        groups: the subject of each graph, as in `fit`, which gets them; the graphs of a subject stay in one fold. None
            uses the column ``subject`` of connectomes with several sessions.

    Returns:
        `Findings`, whose ``share`` is the share of folds that find each connection and set.

    Example:
        >>> from isonn.connectomes import planted_connectomes
        >>> study = planted_connectomes(n_subjects=40, n_regions=12, effect=0.8, seed=1)
        >>> clf = isonn.AlignedClassifier(shuffles=9, random_state=0)
        >>> found = stability(clf, study.graphs, label="patient", cv=3)
        >>> print(f"{found.subnetworks[0].share:.0%} of folds")
        100% of folds
    """
    steps = getattr(estimator, "steps", None)
    samples = list(X) if steps is not None and not isinstance(X, GraphSet) else as_graphset(X)
    y = getattr(samples, "y", None) if y is None else np.asarray(y)
    if y is None:
        raise InputError("stability needs y; pass it, or a GraphSet that has it")
    together = as_groups(groups, samples) if isinstance(samples, GraphSet) else groups
    if isinstance(groups, str):
        groups = as_graphset(X).table[groups]

    def fitted(rows: NDArray[np.int64]) -> Findings:
        selected = samples[rows] if isinstance(samples, GraphSet) else [samples[i] for i in rows]
        prefix = "" if steps is None else f"{steps[-1][0]}__"
        options = {} if groups is None else {f"{prefix}groups": np.asarray(groups)[rows]}
        return findings(clone(estimator).fit(selected, y[rows], **options), label, atlas=atlas, top=top)

    result = fitted(np.arange(len(y)))
    if together is not None and isinstance(cv, int):
        cv = GroupKFold(cv)
    splits = list(check_cv(cv, y, classifier=is_classifier(estimator)).split(np.zeros(len(y)), y, together))
    connections, sets = np.zeros(len(result.connections)), np.zeros(len(result.subnetworks))
    for train, _ in splits:
        fold = fitted(train)
        signs = {(line.region_1, line.region_2): np.sign(line.weight) for line in fold.connections}
        connections += [
            signs.get((line.region_1, line.region_2), 0) == np.sign(line.weight) for line in result.connections
        ]
        sets += [any(_alike(line, other) for other in fold.subnetworks) for line in result.subnetworks]
    return replace(
        result,
        connections=[
            replace(line, share=float(n / len(splits))) for line, n in zip(result.connections, connections, strict=True)
        ],
        subnetworks=[
            replace(line, share=float(n / len(splits))) for line, n in zip(result.subnetworks, sets, strict=True)
        ],
        folds=len(splits),
    )


def _alike(line: Subnetwork, other: Subnetwork) -> bool:
    a, b = set(line.regions.split(" + ")), set(other.regions.split(" + "))
    return bool(np.sign(line.weight) == np.sign(other.weight)) and len(a & b) / len(a | b) >= SAME
