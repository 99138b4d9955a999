"""Check whether predictions depend on node order (`relabelling`), and whether a set holds equal graphs (`twins`).

The node order of a molecule is arbitrary. A classifier whose predictions change when nodes are relabelled has learned
from the file, not from the molecule.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import InputError, IsoNNWarning
from isonn.estimator import GraphClassifier, GraphRegressor
from isonn.graphs.convert import as_graphset
from isonn.graphs.isomorphism import twin_groups
from isonn.packing import IntArray
from isonn.seeding import numpy_stream, resolve_seed

__all__ = ["Relabelling", "relabelling", "twins"]


@dataclass(frozen=True, eq=False)
class Relabelling:
    """The effect of relabelling on predictions.

    Attributes:
        by_graph: ndarray of shape (g,), the share of relabellings under which each graph's prediction changed; a
            predicted number changes if it differs by more than a millionth of the largest one.
        largest_change: the largest change of any probability or predicted number.
        repeats: number of relabellings per graph.
    """

    by_graph: NDArray[np.float64]
    largest_change: float
    repeats: int

    @property
    def flip_rate(self) -> float:
        """Share of predictions that changed, from 0 to 1."""
        return float(self.by_graph.mean())


def relabelling(clf: GraphClassifier | GraphRegressor, X: Any, repeats: int = 20, random_state: Any = 0) -> Relabelling:
    """Compare the predictions for graphs with those for random relabellings of them.

    Args:
        clf: a fitted classifier or regressor.
        X: a `GraphSet`, or anything `isonn.as_graphset` accepts.
        repeats: number of relabellings per graph.
        random_state: seed of the relabellings.

    Returns:
        `Relabelling`.

    Example:
        >>> graphs = isonn.load("MUTAG")
        >>> by_size = isonn.baselines.GraphSizeClassifier().fit(graphs, graphs.y)
        >>> isonn.audit.relabelling(by_size, graphs, repeats=2).flip_rate
        0.0
    """
    if repeats < 1:
        raise InputError(f"repeats must be at least 1, got {repeats}")
    graphs = as_graphset(X)
    generator = numpy_stream(resolve_seed(random_state), "renumbering")
    answer = clf.predict_proba if isinstance(clf, GraphClassifier) else clf.predict
    before = answer(graphs)
    flips, largest = np.zeros(len(graphs)), 0.0
    for _ in range(repeats):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IsoNNWarning)  # the first prediction has already warned about these graphs
            after = answer(graphs.relabelled(generator))
        flips += _differ(clf, before, after)
        largest = max(largest, float(np.abs(after - before).max()))
    return Relabelling(flips / repeats, largest, repeats)


def twins(X: Any) -> list[IntArray]:
    """Return groups of two or more graphs that are equal up to relabelling, ignoring labels, as arrays of indices.

    A model can predict a test graph with a twin in the training set by memory alone.

    Args:
        X: a `GraphSet`, or anything `isonn.as_graphset` accepts.

    Returns:
        a list of arrays, one per group.

    Example:
        >>> isonn.audit.twins(np.array([np.eye(2)[::-1], np.zeros((2, 2)), np.eye(2)[::-1]]))
        [array([0, 2])]
    """
    group = twin_groups(as_graphset(X))
    members = np.split(np.argsort(group, kind="stable"), np.bincount(group).cumsum()[:-1])
    return [numbers for numbers in members if len(numbers) > 1]


def _differ(
    clf: GraphClassifier | GraphRegressor, before: NDArray[np.float64], after: NDArray[np.float64]
) -> NDArray[np.bool_]:
    if isinstance(clf, GraphClassifier):
        changed: NDArray[np.bool_] = clf.target_.decide(before) != clf.target_.decide(after)
    else:  # sums in another order differ in their last bits
        changed = np.abs(after - before) > 1e-6 * np.abs(before).max()
    return np.asarray(changed.reshape(len(changed), -1).any(axis=1))
