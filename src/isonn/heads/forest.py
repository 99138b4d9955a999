"""Random forests of scikit-learn: what soft templates still use. To be removed together with them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit, logit, softmax
from typing_extensions import Self

from isonn.heads.head import Head, register_head
from isonn.heads.linear import LinearHead
from isonn.packing import Floats
from isonn.targets import Target

#: Number of trees of a forest.
TREES = 300
#: Number of columns for the trees, those that split the graphs most evenly. More took longer without a gain.
COLUMNS = 2000
#: Smallest distance of probabilities from 0 and 1, so that log-odds are finite.
MARGIN = 1e-3


@dataclass(frozen=True, eq=False)
class Trees:
    """Decision trees grown by scikit-learn, as arrays.

    Attributes:
        feature, threshold, left, right: the split of each tree node, shape (trees, nodes); a leaf points to itself, so
            that all examples take the same number of steps.
        votes: the prediction of each tree node, shape (trees, nodes, outputs).
    """

    feature: NDArray[np.int32]
    threshold: Floats
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    votes: NDArray[np.float32]

    @classmethod
    def of(cls, forest: Any, exclusive: bool = True) -> Trees:
        """Convert a fitted random forest; it votes for classes, for each label if not ``exclusive``, or for numbers."""
        grown = [estimator.tree_ for estimator in forest.estimators_]
        shape = len(grown), max(tree.node_count for tree in grown)
        feature, left, right = (np.zeros(shape, dtype=np.int32) for _ in range(3))
        threshold, votes = np.zeros(shape), []
        for i, tree in enumerate(grown):
            n = tree.node_count
            leaf, here = tree.children_left < 0, np.arange(n)
            left[i, :n] = np.where(leaf, here, tree.children_left)
            right[i, :n] = np.where(leaf, here, tree.children_right)
            feature[i, :n] = np.maximum(tree.feature, 0)
            threshold[i, :n] = tree.threshold
            votes.append(_votes(tree, forest, exclusive))
        padded = np.zeros((*shape, votes[0].shape[1]), dtype=np.float32)
        for i, own in enumerate(votes):
            padded[i, : len(own)] = own
        return cls(feature, threshold, left, right, padded)

    def mean_vote(self, values: NDArray[np.floating]) -> Floats:
        """Return the mean vote of the trees for rows of features, shape (g, outputs)."""
        values = values.astype(np.float32).astype(np.float64)  # scikit-learn compares features rounded to float32
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


def _votes(tree: Any, forest: Any, exclusive: bool) -> Floats:
    if not hasattr(forest, "classes_"):
        return np.asarray(tree.value[:, :, 0])
    share = tree.value / tree.value.sum(axis=2, keepdims=True)  # (nodes, columns, classes)
    if exclusive and share.shape[1] == 1:
        return np.asarray(share[:, 0])
    # each label is 0 or 1, or only one of them if all training graphs agree
    classes = forest.classes_ if share.shape[1] > 1 else [forest.classes_]
    return np.stack([share[:, j, : len(c)] @ np.asarray(c, dtype=float) for j, c in enumerate(classes)], axis=1)


@register_head
class ForestHead(Head):
    """A random forest on the columns that split the graphs most evenly; explanations are computed by removal.

    Attributes:
        columns: the features used by the trees, shape (q,).
        trees: the trees.

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
        self.numbers = target.numeric
        if self.numbers:
            forest: Any = RandomForestRegressor(TREES, max_features=1 / 3, random_state=seed)
        else:
            forest = RandomForestClassifier(TREES, random_state=seed)
        y = columns[known] if columns.shape[1] > 1 else columns[known, 0]
        if not self.numbers:
            y = y.astype(np.int64)
        forest.fit(dense[known], y, None if weights is None else weights[known])
        self.trees, self.one_class = Trees.of(forest, target.exclusive), target.exclusive
        return self

    def outputs(self, features: csr_array) -> Floats:
        """Return log-odds or values from the mean vote."""
        votes = self.votes_of(features)
        if self.numbers:
            return votes
        votes = np.clip(votes, MARGIN, 1 - MARGIN)
        return np.log(votes) if self.one_class else np.log(votes / (1 - votes))

    def votes_of(self, features: csr_array) -> Floats:
        """Return the mean vote of the trees, shape (g, outputs)."""
        return self.trees.mean_vote(features[:, self.columns].toarray())

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the columns, the trees and the kind of votes."""
        kind = np.array([self.numbers, self.one_class])
        return {"kind": kind, "columns": self.columns, **vars(self.trees)}

    @classmethod
    def restore(cls, tensors: dict[str, NDArray[Any]]) -> ForestHead:
        """Restore a forest from its trees."""
        head = cls()
        head.columns, head.trees = tensors["columns"], Trees(*(tensors[field.name] for field in fields(Trees)))
        head.numbers, head.one_class = (bool(value) for value in tensors["kind"])
        return head


@register_head
class EnsembleHead(Head):
    """The mean of the probabilities or values of the linear head and the forest; explained by removal.

    Example:
        >>> from scipy.sparse import csr_array
        >>> from isonn.targets import Classes
        >>> features = csr_array(np.eye(2)[[0, 0, 0, 0, 1, 1, 1, 1]])
        >>> target, y = Classes(np.array(["a", "b"])), np.array([0, 0, 0, 0, 1, 1, 1, 1])
        >>> EnsembleHead().fit(features, y, target).outputs(features).argmax(axis=1).tolist()
        [0, 0, 0, 0, 1, 1, 1, 1]
    """

    name = "ensemble"

    def fit(
        self,
        features: csr_array,
        targets: NDArray[Any],
        target: Target,
        weights: Floats | None = None,
        seed: int = 0,
    ) -> Self:
        """Fit both heads."""
        self.linear = LinearHead().fit(features, targets, target, weights, seed)
        self.forest = ForestHead().fit(features, targets, target, weights, seed)
        return self

    def outputs(self, features: csr_array) -> Floats:
        """Return the log-odds of the mean probability, or the mean value."""
        linear, forest = self.linear.outputs(features), self.forest.votes_of(features)
        if self.forest.numbers:
            return np.asarray((linear + forest) / 2)
        if self.forest.one_class:
            return np.asarray(np.log(np.maximum((softmax(linear, axis=1) + forest) / 2, MARGIN)))
        return np.asarray(logit(np.clip((expit(linear) + forest) / 2, MARGIN, 1 - MARGIN)))

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the tensors of both heads."""
        own = (("linear", self.linear), ("forest", self.forest))
        return {f"{part}.{name}": tensor for part, head in own for name, tensor in head.tensors().items()}

    @classmethod
    def restore(cls, tensors: dict[str, NDArray[Any]]) -> EnsembleHead:
        """Restore both heads from their tensors."""
        head = cls()

        def below(part: str) -> dict[str, NDArray[Any]]:
            return {name.removeprefix(part): tensor for name, tensor in tensors.items() if name.startswith(part)}

        head.linear, head.forest = LinearHead.restore(below("linear.")), ForestHead.restore(below("forest."))
        return head
