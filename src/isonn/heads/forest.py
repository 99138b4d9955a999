"""The forest head: scikit-learn's random forest, kept as arrays so that it is saved like any other weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from typing_extensions import Self

from isonn.heads.base import Floats, Head, register_head
from isonn.targets import Classes, Numbers, Target

TREES = 300
#: Columns the trees see: those that split the graphs most evenly. More cost time and gained nothing.
COLUMNS = 2000
#: Probabilities are kept this far from 0 and 1, so that log-odds stay finite.
MARGIN = 1e-3


@register_head
class ForestHead(Head):
    """A random forest on the columns that split the graphs most evenly; explanations are computed by removal.

    Attributes:
        columns: which features the trees see, shape (q,).
        feature, threshold, left, right: of each node of each tree, shape (trees, nodes); a leaf leads to itself.
        votes: what each node predicts, shape (trees, nodes, outputs).

    Example:
        >>> from scipy.sparse import csr_array
        >>> from isonn.targets import Classes
        >>> features = csr_array(np.eye(2)[[0, 0, 0, 0, 1, 1, 1, 1]])
        >>> target, y = Classes(np.array(["a", "b"])), np.array([0, 0, 0, 0, 1, 1, 1, 1])
        >>> ForestHead().fit(features, y, target).outputs(features).argmax(axis=1).tolist()
        [0, 0, 0, 0, 1, 1, 1, 1]
    """

    name = "forest"

    def fit(
        self,
        features: csr_array,
        targets: NDArray[Any],
        target: Target,
        weights: Floats | None = None,
        seed: int = 0,
    ) -> Self:
        """Grow the trees."""
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        share = np.bincount(features.indices, minlength=features.shape[1]) / features.shape[0]
        self.columns = np.sort(np.argsort(-(share * (1 - share)), kind="stable")[:COLUMNS])
        dense = features[:, self.columns].toarray().astype(np.float32)
        columns = targets.reshape(len(targets), -1)
        known = np.isfinite(columns).all(axis=1)
        seed = seed % 2**32
        self.numbers = isinstance(target, Numbers)
        if self.numbers:
            forest: Any = RandomForestRegressor(TREES, max_features=1 / 3, random_state=seed)
        else:
            forest = RandomForestClassifier(TREES, random_state=seed)
        y = columns[known] if columns.shape[1] > 1 else columns[known, 0]
        if not self.numbers:
            y = y.astype(np.int64)
        forest.fit(dense[known], y, None if weights is None else weights[known])
        self._take(forest, isinstance(target, Classes))
        return self

    def outputs(self, features: csr_array) -> Floats:
        """Log-odds or values from the mean vote."""
        votes = self.votes_of(features)
        if self.numbers:
            return votes
        votes = np.clip(votes, MARGIN, 1 - MARGIN)
        return np.log(votes) if self.one_class else np.log(votes / (1 - votes))

    def votes_of(self, features: csr_array) -> Floats:
        """The mean vote of the trees, shape (g, outputs)."""
        values = features[:, self.columns].toarray().astype(np.float32).astype(np.float64)
        example = np.arange(len(values))
        total = np.zeros((len(values), self.votes.shape[2]))
        for feature, threshold, left, right, votes in zip(
            self.feature, self.threshold, self.left, self.right, self.votes, strict=True
        ):
            node = np.zeros(len(values), dtype=np.int64)
            while True:
                after = np.where(values[example, feature[node]] <= threshold[node], left[node], right[node])
                if (after == node).all():
                    break
                node = after
            total += votes[node]
        return total / len(self.votes)

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Columns, trees, and what the votes mean."""
        kind = np.array([self.numbers, self.one_class])
        names = ("columns", "feature", "threshold", "left", "right", "votes")
        return {"kind": kind, **{name: getattr(self, name) for name in names}}

    @classmethod
    def restore(cls, tensors: dict[str, NDArray[Any]]) -> ForestHead:
        """The forest with these trees."""
        head = cls()
        for name in ("columns", "feature", "threshold", "left", "right", "votes"):
            setattr(head, name, tensors[name])
        head.numbers, head.one_class = (bool(value) for value in tensors["kind"])
        return head

    def _take(self, forest: Any, one_class: bool) -> None:
        trees = [estimator.tree_ for estimator in forest.estimators_]
        nodes, self.one_class = max(tree.node_count for tree in trees), one_class
        self.feature, self.left, self.right = (np.zeros((len(trees), nodes), dtype=np.int32) for _ in range(3))
        self.threshold = np.zeros((len(trees), nodes))
        votes = []
        for i, tree in enumerate(trees):
            n = tree.node_count
            leaf, here = tree.children_left < 0, np.arange(n)
            self.left[i, :n] = np.where(leaf, here, tree.children_left)
            self.right[i, :n] = np.where(leaf, here, tree.children_right)
            self.feature[i, :n] = np.maximum(tree.feature, 0)
            self.threshold[i, :n] = tree.threshold
            votes.append(self._votes(tree, forest))
        self.votes = np.zeros((len(trees), nodes, votes[0].shape[1]), dtype=np.float32)
        for i, own in enumerate(votes):
            self.votes[i, : len(own)] = own

    def _votes(self, tree: Any, forest: Any) -> Floats:
        if self.numbers:
            return np.asarray(tree.value[:, :, 0])
        share = tree.value / tree.value.sum(axis=2, keepdims=True)  # (nodes, columns, classes)
        if self.one_class:
            return np.asarray(share[:, 0])
        # each label is 0 or 1, or, when all training graphs agree, only one of the two
        classes = forest.classes_ if share.shape[1] > 1 else [forest.classes_]
        return np.stack([share[:, j, : len(c)] @ np.asarray(c, dtype=float) for j, c in enumerate(classes)], axis=1)
