"""Folds that separate neither equal graphs nor groups, and that do not depend on the order of graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from isonn.errors import InputError
from isonn.heads.data import Digests, Distinct, in_order
from isonn.packing import IntArray, mix64
from isonn.seeding import derive_seed
from isonn.targets import Target

#: Number of folds up to FEW_GROUPS groups, and beyond.
FOLDS_OF_FEW, FEW_GROUPS, FOLDS = 10, 1000, 5
#: Beyond this many distinct graphs, one tenth is held out once: 3,000 graphs are enough to weigh two heads.
MANY_GRAPHS, TENTH = 30_000, 10
#: Trees are trained on at most about this many distinct graphs.
TREE_GRAPHS = 200_000


def join_groups(digests: Digests, groups: ArrayLike | None = None) -> IntArray:
    """Return groups that contain all copies of a graph and all graphs of a group of the user.

    Args:
        digests: equal for equal graphs, shape (g,).
        groups: scaffolds, patients or sites, shape (g,); any values that can be compared.

    Returns:
        ndarray of shape (g,).

    Example:
        >>> join_groups(np.array([7, 8, 8, 9], dtype=np.uint64), ["a", "a", "b", "c"]).tolist()
        [0, 0, 0, 1]
    """
    _, graph = np.unique(digests, return_inverse=True)
    if groups is None:
        return graph.reshape(-1).astype(np.int64)
    given = np.asarray(groups)
    if given.shape != (len(graph),):
        raise InputError(f"groups has shape {given.shape} for {len(graph)} graphs; give one group per graph")
    _, group = np.unique(given, return_inverse=True)
    if group.max(initial=0) == 0:
        raise InputError(f"all graphs are in group {given.tolist()[0]!r:.60}; give at least two groups, or none")
    pairs = (np.ones(len(graph)), (graph.reshape(-1), graph.max() + 1 + group.reshape(-1)))
    count = int(graph.max() + group.max() + 2)
    _, joined = connected_components(coo_array(pairs, shape=(count, count)), directed=False)
    return in_order(joined[graph.reshape(-1)])


def grouped_folds(distinct: Distinct, targets: NDArray[Any], target: Target, seed: int) -> IntArray:
    """Return the fold of each distinct graph, shape (d,); -1 if it is never held out.

    There are ten folds for up to 1,000 groups, then five; beyond 30,000 graphs one tenth is held out once. Classes,
    or the rarest labels, are spread over the folds. A single group is not held out.
    """
    order = mix64(distinct.digests ^ np.uint64(derive_seed(seed, "folds")))
    if len(distinct.rows) > MANY_GRAPHS:
        _, first = np.unique(distinct.groups, return_index=True)
        tenth = order[first] % np.uint64(TENTH) == 0
        return np.where(tenth[distinct.groups], 0, -1)
    count = int(distinct.groups.max()) + 1
    folds = min(count, FOLDS_OF_FEW if count <= FEW_GROUPS else FOLDS)
    if folds < 2:
        return np.full(len(distinct.rows), -1)
    return _spread(distinct.groups, order, _strata(distinct, targets, target), folds)[distinct.groups]


def sample_graphs(distinct: Distinct, targets: NDArray[Any], target: Target, seed: int) -> IntArray:
    """Return the distinct graphs that trees are trained on, rising.

    Beyond 200,000 graphs they are a sample: of each class, or rarest label, the graphs that come first by digest.
    """
    n = len(distinct.rows)
    if n <= TREE_GRAPHS:
        return np.arange(n)
    strata = _strata(distinct, targets, target)
    sequence = np.lexsort((mix64(distinct.digests ^ np.uint64(derive_seed(seed, "sample"))), strata))
    sizes = np.bincount(strata)
    place = np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.sort(sequence[place < np.ceil(sizes * (TREE_GRAPHS / n))[strata[sequence]]])


def _strata(distinct: Distinct, targets: NDArray[Any], target: Target) -> IntArray:
    """Return the class of each distinct graph, or its rarest label; zeros for numbers."""
    kept = np.flatnonzero(distinct.graph >= 0)
    graph, weights, size = distinct.graph[kept], distinct.weights[kept], len(distinct.rows)
    if target.numeric:
        return np.zeros(size, dtype=np.int64)
    if target.exclusive:
        columns = [targets[kept] == code for code in range(len(target.classes))]
        totals = [np.bincount(graph, weights * column, minlength=size) for column in columns]
        return np.asarray(np.argmax(totals, axis=0))
    positive = np.stack([np.bincount(graph, column, minlength=size) > 0 for column in targets[kept].T == 1])
    rarest = np.argsort(positive.sum(axis=1), kind="stable")
    return np.asarray(np.where(positive.any(axis=0), positive[rarest].argmax(axis=0) + 1, 0))


def _spread(groups: IntArray, order: Digests, strata: IntArray, folds: int) -> IntArray:
    """Return the fold of each group: large ones first, each to the fold with the fewest graphs of the same strata."""
    members = np.split(np.argsort(groups, kind="stable"), np.cumsum(np.bincount(groups))[:-1])
    sequence = sorted(range(len(members)), key=lambda i: (-len(members[i]), order[members[i][0]]))
    loads = [[0] * folds for _ in range(int(strata.max()) + 1)]
    totals, fold = [0] * folds, np.zeros(len(members), dtype=np.int64)
    for i in sequence:
        inside = strata[members[i]].tolist()
        least = min(range(folds), key=lambda j: (sum(loads[stratum][j] for stratum in inside), totals[j], j))
        fold[i] = least
        totals[least] += len(inside)
        for stratum in inside:
            loads[stratum][least] += 1
    return fold
