"""A forest of decision trees as tensors, so that it is saved like any other weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


class Forest(nn.Module):
    """The mean vote of decision trees that scikit-learn grew.

    Args:
        trees, nodes: how many trees, and how many nodes the largest has.
        outputs: classes, or labels of a multi-label task.

    Shapes:
        - features ``(batch, inputs)``
        - output ``(batch, outputs)``, probabilities
    """

    feature: Tensor
    threshold: Tensor
    left: Tensor
    right: Tensor
    votes: Tensor

    def __init__(self, trees: int, nodes: int, outputs: int) -> None:
        super().__init__()
        for name in ("feature", "left", "right"):
            self.register_buffer(name, torch.zeros(trees, nodes, dtype=torch.int32))
        self.register_buffer("threshold", torch.zeros(trees, nodes, dtype=torch.float64))
        self.register_buffer("votes", torch.zeros(trees, nodes, outputs))

    @classmethod
    def of(cls, forest: Any) -> Forest:
        """The same forest as a fitted ``RandomForestClassifier``."""
        trees = [estimator.tree_ for estimator in forest.estimators_]
        made = cls(len(trees), max(tree.node_count for tree in trees), len(forest.classes_))
        several = trees[0].n_outputs > 1
        for i, tree in enumerate(trees):
            n = tree.node_count
            leaf = torch.from_numpy(tree.children_left < 0)
            here = torch.arange(n, dtype=torch.int32)
            # a leaf leads to itself, so that all examples can take the same number of steps
            made.left[i, :n] = torch.where(leaf, here, torch.from_numpy(tree.children_left).int())
            made.right[i, :n] = torch.where(leaf, here, torch.from_numpy(tree.children_right).int())
            made.feature[i, :n] = torch.from_numpy(tree.feature).clamp(min=0).int()
            made.threshold[i, :n] = torch.from_numpy(tree.threshold)
            share = torch.from_numpy(tree.value / tree.value.sum(axis=2, keepdims=True))  # (nodes, outputs, classes)
            # of several labels each is 0 or 1, or, when all training graphs agree, only one of the two
            votes = (
                [share[:, j, : len(c)] @ torch.tensor(c).double() for j, c in enumerate(forest.classes_)]
                if several
                else share[:, 0].T
            )
            made.votes[i, :n] = torch.stack(tuple(votes), dim=1).float()
        return made

    def forward(self, features: Tensor) -> Tensor:
        values = features.float().double()  # scikit-learn compares features rounded to float32
        example = torch.arange(len(values), device=values.device)
        total = values.new_zeros(len(values), self.votes.shape[2])
        for feature, threshold, left, right, votes in zip(
            self.feature.long(), self.threshold, self.left.long(), self.right.long(), self.votes, strict=True
        ):
            node = torch.zeros_like(example)
            while True:
                low = values[example, feature[node]] <= threshold[node]
                following = torch.where(low, left[node], right[node])
                if (following == node).all():
                    break
                node = following
            total += votes[node]
        return total / len(self.votes)
