"""Assertions for testing graph estimators."""

from __future__ import annotations

from typing import Any

from isonn.audit import relabelling
from isonn.estimator import GraphClassifier, GraphRegressor

__all__ = ["assert_relabelling_invariant"]


def assert_relabelling_invariant(
    clf: GraphClassifier | GraphRegressor, X: Any, repeats: int = 5, tolerance: float = 1e-6, random_state: Any = 0
) -> None:
    """Raise AssertionError if relabelling nodes changes a prediction of a fitted classifier or regressor.

    Args:
        clf: a fitted classifier or regressor.
        X: a `GraphSet`, or anything `isonn.as_graphset` accepts.
        repeats: number of relabellings per graph.
        tolerance: largest allowed change of a probability or predicted number, since sums in another order differ in
            their last bits.
        random_state: seed of the relabellings.

    Example:
        >>> graphs = isonn.load("MUTAG")
        >>> clf = isonn.baselines.GraphSizeClassifier().fit(graphs, graphs.y)
        >>> isonn.testing.assert_relabelling_invariant(clf, graphs)
    """
    effect = relabelling(clf, X, repeats=repeats, random_state=random_state)
    if effect.flip_rate > 0:
        worst = int(effect.by_graph.argmax())
        raise AssertionError(
            f"{effect.flip_rate:.1%} of predictions changed when nodes were relabelled; graph {worst} changed in "
            f"{effect.by_graph[worst]:.0%} of {repeats} relabellings"
        )
    if effect.largest_change > tolerance:
        raise AssertionError(
            f"a probability changed by {effect.largest_change:.2g} when nodes were relabelled, more than {tolerance:g}"
        )
