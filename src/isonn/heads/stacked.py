"""The default head: sums and logic, weighed by held-out data."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from typing_extensions import Self

from isonn.heads.calibration import Blend
from isonn.heads.data import Distinct, Inputs
from isonn.heads.folds import grouped_folds
from isonn.heads.head import Contributions, Head, register_head
from isonn.heads.linear import LinearHead
from isonn.heads.trees import TreesHead
from isonn.packing import Floats, below, prefixed, stored_array
from isonn.targets import Target


@register_head
class StackedHead(Head):
    """A weighted sum of the linear head and the trees; weights come from held-out outputs of both on the same folds.

    The weights are not negative and minimise the held-out log loss of classes or squared error of numbers. Outputs are
    calibrated with them. Contributions are the weighted sums of both heads' contributions, so they add up, too.

    Attributes:
        linear, trees: the heads.
        held_out: calibrated outputs of models without the graph's fold, shape (g, outputs).

    Example:
        >>> from scipy.sparse import csr_array
        >>> from isonn.targets import Numbers
        >>> inputs = Inputs.of(csr_array(np.random.default_rng(0).random((60, 3))))
        >>> y = inputs.features.toarray() @ np.array([1.0, 2.0, 3.0])
        >>> StackedHead().fit(inputs, y[:, None], Numbers(np.zeros(1), np.ones(1), True)).weights
        [{'linear': 1.0, 'trees': 0.0}]
    """

    name = "auto"
    symmetric = True

    linear: LinearHead
    trees: TreesHead
    held_out: Floats

    def fit(
        self,
        inputs: Inputs,
        targets: NDArray[Any],
        target: Target,
        weights: Floats | None = None,
        seed: int = 0,
    ) -> Self:
        """Fit both heads with the same folds, then weigh them."""
        distinct = Distinct.of(inputs, weights)
        folds = grouped_folds(distinct, targets, target, seed)
        self.linear = LinearHead().fit(inputs, targets, target, weights, seed, folds)
        self.trees = TreesHead().fit(inputs, targets, target, weights, seed, folds)
        parts = [self.linear.held_out, self.trees.held_out]
        self.blend = self._calibrate(parts, targets, target, distinct)
        first = distinct.rows  # copies count once
        self.shares = self.blend.shares([part[first] for part in parts])
        return self

    @property
    def weights(self) -> list[dict[str, float]]:
        """The weights of both heads for each output: their shares in the spread of held-out outputs, which sum to 1."""
        return [{"linear": float(linear), "trees": float(trees)} for linear, trees in self.shares.T]

    def outputs(self, inputs: Inputs) -> Floats:
        """Return the weighted sums of both heads' outputs."""
        return self.blend([self.linear.outputs(inputs), self.trees.outputs(inputs)])

    def contributions(self, inputs: Inputs, output: int, reference: Inputs | None = None) -> Contributions:
        """Return the weighted sums of both heads' contributions and bases; the intercept belongs to the base."""
        linear, trees = (head.contributions(inputs, output, reference) for head in (self.linear, self.trees))
        a, b = self.blend.scales[:, output].tolist()
        base = a * linear.base + b * trees.base + float(self.blend.intercept[output])
        return Contributions(base, a * linear.features, b * trees.counts)

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the tensors of both heads and their weights."""
        weights = {"scales": self.blend.scales, "intercept": self.blend.intercept, "shares": self.shares}
        return weights | prefixed("linear", self.linear.tensors()) | prefixed("trees", self.trees.tensors())

    @classmethod
    def restore(cls, tensors: dict[str, NDArray[Any]]) -> StackedHead:
        """Restore both heads and their weights; raise ValueError if they are invalid."""
        head = cls()
        head.linear = LinearHead.restore(below("linear", tensors))
        head.trees = TreesHead.restore(below("trees", tensors))
        outputs = len(head.linear.intercept)
        scales, head.shares = (stored_array(tensors, name, (2, outputs)) for name in ("scales", "shares"))
        head.blend = Blend(scales, stored_array(tensors, "intercept", (outputs,)))
        if head.trees.blend.scales.shape[1] != outputs:
            raise ValueError(f"trees.scale has shape {head.trees.blend.scales.shape} for {outputs} outputs")
        return head
