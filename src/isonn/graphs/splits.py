"""Split graphs into training and test sets, as pairs of index arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from isonn.errors import InputError
from isonn.packing import IntArray
from isonn.seeding import numpy_stream

Fold = tuple[IntArray, IntArray]


def balanced_folds(y: ArrayLike, n_folds: int = 3, seed: int = 0) -> list[Fold]:
    """Make folds as the paper does: subsample every class to the size of the smallest, then stratify.

    Graphs left out of the sample are in no fold. The seed determines the sample and the folds.

    Example:
        >>> [(len(train), len(test)) for train, test in balanced_folds([0] * 9 + [1] * 3, n_folds=3, seed=0)]
        [(4, 2), (4, 2), (4, 2)]
    """
    code, counts = _classes(y, n_folds)
    draw = numpy_stream(seed, "balance")
    chosen = np.sort(
        np.concatenate([draw.permutation(np.flatnonzero(code == c))[: counts.min()] for c in range(len(counts))])
    )
    return [(chosen[train], chosen[test]) for train, test in _split(code[chosen], n_folds, seed)]


def stratified_folds(y: ArrayLike, n_folds: int = 3, seed: int = 0) -> list[Fold]:
    """Make folds that keep the class proportions; every graph is tested once.

    Example:
        >>> y = np.array(["a", "b", "a", "b"])
        >>> [y[test].tolist() for _, test in stratified_folds(y, n_folds=2)]
        [['a', 'b'], ['a', 'b']]
    """
    return _split(_classes(y, n_folds)[0], n_folds, seed)


def grouped_folds(y: ArrayLike, groups: ArrayLike, n_folds: int = 10, seed: int = 0) -> list[Fold]:
    """Make stratified folds that keep every group in one fold; every graph is tested once.

    Grouping by structural twins (`isonn.graphs.isomorphism.twin_groups`) ensures that no test graph equals a training
    graph. Class proportions are kept as well as the groups allow.

    Example:
        >>> sorted(test.tolist() for _, test in grouped_folds([0, 1, 0, 1], [7, 7, 8, 8], n_folds=2))
        [[0, 1], [2, 3]]
    """
    code, counts = _classes(y, n_folds)
    column = np.asarray(groups)
    if column.shape != code.shape:
        raise InputError(f"groups have shape {column.shape} for {len(code)} graphs; give one group per graph")
    n_groups = len(np.unique(column))
    if n_groups < n_folds:
        raise InputError(f"{n_groups} groups cannot be spread over {n_folds} folds; use n_folds <= {n_groups}")
    group = np.unique(column, return_inverse=True)[1].reshape(-1)
    fold = _spread(group, code, counts, int(n_folds), np.random.RandomState(_random_state(seed)))[group]
    return [(np.flatnonzero(fold != number), np.flatnonzero(fold == number)) for number in range(int(n_folds))]


def _spread(group: IntArray, code: IntArray, counts: IntArray, n_folds: int, draw: np.random.RandomState) -> IntArray:
    """Assign groups to folds, the least balanced first, each to the fold where it keeps the best balance.

    The folds equal those of StratifiedGroupKFold in scikit-learn 1.9. Earlier versions return others, and a seed must
    give the same folds with any version.
    """
    held = np.zeros((group.max() + 1, len(counts)))
    np.add.at(held, (group, code), 1)
    order = np.arange(len(held))
    draw.shuffle(order)
    order = order[np.argsort(-held[order].std(axis=1), kind="stable")]
    fold, full = np.empty(len(held), dtype=np.int64), np.zeros((n_folds, len(counts)))
    here = np.eye(n_folds)[:, :, None]
    for number in order:
        tried = full + here * held[number]  # what every fold holds if the group joins the first, the second, ...
        spreads = (tried / counts).std(axis=1).mean(axis=1).tolist()
        sizes = full.sum(axis=1).tolist()
        best = 0
        for other in range(1, n_folds):
            alike = abs(spreads[other] - spreads[best]) <= 1e-8 + 1e-5 * spreads[best]  # as np.isclose
            if spreads[other] < spreads[best] or (alike and sizes[other] < sizes[best]):
                best = other
        fold[number] = best
        full[best] += held[number]
    return fold


def released_folds(folds: ArrayLike | None) -> list[Fold]:
    """Make one split per value of ``folds`` (`GraphSet.folds`): test on that value, train on the others.

    Example:
        >>> [test.tolist() for _, test in released_folds([0, 1, 0, 1])]
        [[0, 2], [1, 3]]
    """
    if folds is None:
        raise InputError("the dataset was released without folds; use balanced_folds or stratified_folds")
    column = np.asarray(folds)
    values = np.unique(column)
    if column.ndim != 1 or len(values) < 2:
        raise InputError(f"folds of shape {column.shape} hold {len(values)} fold; two or more are needed to split")
    return [(np.flatnonzero(column != value), np.flatnonzero(column == value)) for value in values]


def _classes(y: ArrayLike, n_folds: int) -> tuple[IntArray, IntArray]:
    """Return the class number of each graph, and the number of graphs per class, which must suffice for the folds."""
    column = np.asarray(y)
    if column.ndim != 1:
        raise InputError(f"y has shape {column.shape}; folds need one class per graph, of shape (g,)")
    classes, code, counts = np.unique(column, return_inverse=True, return_counts=True)
    if not isinstance(n_folds, (int, np.integer)) or isinstance(n_folds, bool) or n_folds < 2:
        raise InputError(f"n_folds={n_folds!r} is not a valid number of folds; use an integer >= 2")
    if len(classes) < 2:
        problem = f"all {counts.sum()} graphs are of class {classes[0]}" if len(classes) else "y is empty"
        raise InputError(f"{problem}; a classifier needs graphs of at least two classes")
    if counts.min() < n_folds:
        rare = int(counts.argmin())
        raise InputError(
            f"class {classes[rare]} has {counts[rare]} graphs, fewer than the {n_folds} folds; "
            + (f"use n_folds <= {counts[rare]}, or add graphs" if counts[rare] > 1 else "add graphs, or drop the class")
        )
    return code.astype(np.int64), counts.astype(np.int64)


def _split(code: IntArray, n_folds: int, seed: int) -> list[Fold]:
    from sklearn.model_selection import StratifiedKFold  # takes a second to import

    splitter = StratifiedKFold(n_splits=int(n_folds), shuffle=True, random_state=_random_state(seed))
    return [(train.astype(np.int64), test.astype(np.int64)) for train, test in splitter.split(code, code)]


def _random_state(seed: int) -> int:
    return int(numpy_stream(seed, "folds").integers(2**32))  # scikit-learn accepts 32-bit seeds
