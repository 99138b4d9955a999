"""The linear head: ridge regression whose penalty and probabilities come from groups left out in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky, eigh, solve
from scipy.sparse import csr_array
from typing_extensions import Self

from isonn.heads.data import Distinct, Inputs
from isonn.heads.folds import MANY_GRAPHS, grouped_folds
from isonn.heads.head import Contributions, Head, register_head
from isonn.packing import Floats, IntArray, mix64, stored_array
from isonn.ridge import solve_ridge
from isonn.seeding import derive_seed
from isonn.targets import Target

#: Largest number of graphs for which all pairwise products are stored: 512 MB.
DUAL_GRAPHS = 8000
#: Number of graphs on which the penalty is chosen; a decomposition takes two seconds.
PENALTY_GRAPHS = 1500
#: Candidate penalties.
PENALTIES = 10.0 ** np.arange(-4.0, 1.51, 0.25)
#: Residuals are clipped here when a penalty for classes is chosen.
LARGEST_SQUARE = 4.0
#: Columns that occur in more than this share of graphs are multiplied as a dense matrix.
DENSE_SHARE = 0.05


@register_head
class LinearHead(Head):
    r"""Ridge regression with the penalty chosen by leaving groups out; outputs are sums, so explanations add up.

    Equal graphs are merged first: their weights are added and their targets averaged, which does not change the
    solution. With :math:`K = \Phi \Phi^\top` the products of all graphs' features,
    :math:`G = (K + \lambda C^{-1})^{-1}` for weights C, :math:`s = G 1` and :math:`P = G - s s^\top / 1^\top s`, the
    ridge solution with a free intercept is :math:`\alpha = P Y`, and leaving out a block B of graphs changes their
    residuals to :math:`P_{BB}^{-1} \alpha_B`: one decomposition of K gives the held-out error of every penalty. Classes
    are targets of +1 and -1, one against the rest. The outputs are calibrated on held-out outputs, with a factor and an
    intercept, so a score is a log-odds.

    Up to `PENALTY_GRAPHS` graphs, blocks are groups, else folds; the penalty is then chosen on a sample. The products
    take g² memory, so beyond `DUAL_GRAPHS` graphs the weights are computed directly from the sparse features.

    Attributes:
        coef, intercept: shape (outputs, p) and (outputs,).
        penalties: the penalty chosen for each column of targets, shape (columns,).
        held_out: calibrated outputs of models without the graph's group, shape (g, outputs); NaN if there is none.
        loss: mean held-out loss, for comparing features.

    Example:
        >>> from scipy.sparse import csr_array
        >>> from isonn.targets import Classes
        >>> inputs = Inputs.of(csr_array([[0.1, 1], [0.2, 0], [0.3, 1], [0.7, 0], [0.8, 1], [0.9, 0]]))
        >>> y = np.array([0, 0, 0, 1, 1, 1])
        >>> head = LinearHead().fit(inputs, y, Classes(np.array(["a", "b"])))
        >>> head.outputs(inputs).argmax(axis=1).tolist()
        [0, 0, 0, 1, 1, 1]
    """

    name = "linear"
    symmetric = True
    additive = True

    coef: Floats
    intercept: Floats
    penalties: Floats
    held_out: Floats
    loss: float

    def fit(
        self,
        inputs: Inputs,
        targets: NDArray[Any],
        target: Target,
        weights: Floats | None = None,
        seed: int = 0,
        folds: IntArray | None = None,
    ) -> Self:
        """Compute weights and intercepts.

        Args:
            inputs: features, with what graphs are equal and stay together.
            targets: from ``target.encode``.
            target: the kind of target.
            weights: of the graphs.
            seed: for the sample on which a penalty is chosen, and for folds.
            folds: the fold of each distinct graph, from `isonn.heads.folds`; by default groups are left out.
        """
        distinct = Distinct.of(inputs, weights)
        if folds is None and len(distinct.rows) > PENALTY_GRAPHS:
            folds = grouped_folds(distinct, targets, target, seed)
        cap = np.inf if target.numeric else LARGEST_SQUARE
        self._regress(inputs.features, target.columns(targets), distinct, folds, cap, seed)
        if target.exclusive and len(target.classes) == 2:
            # one score: plus half of it for one class, minus half for the other
            per_class = np.array([[-0.5], [0.5]])
            self.coef, self.intercept = per_class @ self.coef, per_class[:, 0] * self.intercept[0]
            self.held_out = self.held_out @ per_class.T
        blend = self._calibrate([self.held_out], targets, target, distinct)
        self.coef, self.intercept = self.coef * blend.scales[0][:, None], blend([self.intercept])
        return self

    def _regress(
        self, features: csr_array, wanted: Floats, distinct: Distinct, folds: IntArray | None, cap: float, seed: int
    ) -> None:
        """Fit every column of ``wanted`` on the graphs where it is known."""
        self.coef, self.intercept = np.zeros((wanted.shape[1], features.shape[1])), np.zeros(wanted.shape[1])
        self.held_out = np.full(wanted.shape, np.nan)
        self.penalties = np.zeros(wanted.shape[1])
        losses = []
        for columns in _known_together(np.isfinite(wanted[distinct.graph >= 0])):
            graphs, means, weights = distinct.merge(wanted[:, columns])
            blocks = distinct.groups if folds is None else folds
            table = Table.of(features, distinct.rows[graphs], means, weights, distinct.groups[graphs])
            coef, intercept, held_out, penalty, loss = solve_table(
                table, blocks[graphs], distinct.digests[graphs], cap, seed
            )
            self.coef[columns], self.intercept[columns], self.penalties[columns] = coef, intercept, penalty
            rows = np.flatnonzero((distinct.graph >= 0) & np.isfinite(wanted[:, columns[0]]))
            place = np.searchsorted(graphs, distinct.graph[rows])
            self.held_out[np.ix_(rows, columns)] = held_out[place]
            losses.append(loss)
        self.loss = float(np.mean(losses))

    def outputs(self, inputs: Inputs) -> Floats:
        """Return intercepts plus the weighted sums of features."""
        features = inputs.features
        # a product with all weights at once would copy them, which takes longer than a graph
        return np.stack([features @ weights for weights in self.coef], axis=1) + self.intercept

    def contributions(self, inputs: Inputs, output: int, reference: Inputs | None = None) -> Contributions:
        """Return weight times the difference of a feature from the reference."""
        given, base = inputs.features, float(self.intercept[output])
        if reference is not None:
            base += float((reference.features @ self.coef[output])[0])
            given = csr_array(given - reference.features[np.zeros(given.shape[0], dtype=np.int64)])
        values = given.data * self.coef[output][given.indices]
        features = csr_array((values, given.indices, given.indptr), shape=given.shape)
        return Contributions(base, features, csr_array(inputs.counts.shape))

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return weights and intercepts."""
        return {"coef": self.coef, "intercept": self.intercept}

    @classmethod
    def restore(cls, tensors: dict[str, NDArray[Any]]) -> LinearHead:
        """Restore a head from its weights; raise ValueError if they are invalid."""
        head = cls()
        head.coef = stored_array(tensors, "coef", (-1, -1))
        head.intercept = stored_array(tensors, "intercept", (len(head.coef),))
        return head


@dataclass(frozen=True, eq=False)
class Table:
    """Distinct graphs.

    Attributes:
        features: the features of all rows, shape (g, p).
        place: the row of each graph, shape (n,).
        wanted, weights, groups: targets (n, columns), weights (n,) and groups (n,).
    """

    features: csr_array
    place: IntArray
    wanted: Floats
    weights: Floats
    groups: IntArray

    @classmethod
    def of(cls, features: csr_array, place: IntArray, wanted: Floats, weights: Floats, groups: IntArray) -> Table:
        """Copy the features in the order of the graphs, so that sums do not depend on the order of rows.

        A copy of very many graphs would take gigabytes; their sums differ in the last digits.
        """
        sorted_rows = len(place) == features.shape[0] and bool((place == np.arange(len(place))).all())
        if len(place) <= MANY_GRAPHS and not sorted_rows:
            features, place = csr_array(features[place]), np.arange(len(place))
        return cls(features, place, wanted, weights, groups)

    def __len__(self) -> int:
        return len(self.place)

    def rows(self, rows: IntArray) -> Table:
        """Return some of the graphs."""
        return Table.of(self.features, self.place[rows], self.wanted[rows], self.weights[rows], self.groups[rows])


def _known_together(known: NDArray[np.bool_]) -> list[IntArray]:
    """Group columns that are known for the same graphs."""
    patterns, group = np.unique(known, axis=1, return_inverse=True)
    columns = [np.flatnonzero(group.reshape(-1) == i) for i in range(patterns.shape[1])]
    return [together for i, together in enumerate(columns) if patterns[:, i].any()]


def solve_table(
    table: Table, blocks: IntArray, digests: NDArray[np.uint64], cap: float, seed: int
) -> tuple[Floats, Floats, Floats, float, float]:
    """Solve ridge regression with the penalty chosen by leaving groups out, and hold out every block.

    Args:
        table: distinct graphs.
        blocks: the block of each graph, -1 if it is never held out.
        digests: of the graphs; a sample for the penalty is drawn by them.
        cap: largest squared residual when the penalty is chosen.
        seed: for the sample.

    Returns:
        Weights (columns, p), intercepts (columns,), held-out outputs (n, columns), the penalty, and the held-out loss.
    """
    if len(table) <= PENALTY_GRAPHS:
        kernel = products(table.features)
        penalty, alpha, bias, residual, loss = leave_one_out(kernel, table.wanted, table.weights, cap, table.groups)
        if (blocks != table.groups).any():
            residual = block_residuals(kernel, alpha, table.weights, penalty, blocks)
        return np.asarray(alpha.T @ table.features), bias, table.wanted - residual, penalty, loss
    order = np.argsort(mix64(digests ^ np.uint64(derive_seed(seed, "penalty"))), kind="stable")
    sample = table.rows(np.sort(order[:PENALTY_GRAPHS]))
    penalty, _, _, _, loss = leave_one_out(products(sample.features), sample.wanted, sample.weights, cap, sample.groups)
    few = len(table) <= DUAL_GRAPHS
    fit = partial(_fit_few, table, products(table.features)) if few else partial(_fit_many, table)
    coef, intercept = fit(np.arange(len(table)), penalty)
    held_out = np.full(table.wanted.shape, np.nan)
    for block in np.unique(blocks[blocks >= 0]).tolist():
        out = np.flatnonzero(blocks == block)
        without, bias = fit(np.flatnonzero(blocks != block), penalty)
        held_out[out] = table.features[table.place[out]] @ without.T + bias
    return coef, intercept, held_out, penalty, loss


def _fit_many(table: Table, rows: IntArray, penalty: float) -> tuple[Floats, Floats]:
    """Return weights (columns, p) and intercepts (columns,) of ridge regression on some of very many graphs.

    The others get no weight, so that nothing is copied.
    """
    g = table.features.shape[0]
    wanted, weights = np.zeros((g, table.wanted.shape[1])), np.zeros(g)
    wanted[table.place], weights[table.place[rows]] = table.wanted, table.weights[rows]
    return solve_ridge(table.features, wanted, weights, penalty, table.place[rows])


def _fit_few(table: Table, kernel: Floats, rows: IntArray, penalty: float) -> tuple[Floats, Floats]:
    """Return weights and intercepts of ridge regression on some of the graphs, from the products of all of them."""
    wanted, kernel = table.wanted[rows], kernel[np.ix_(rows, rows)]
    kernel[np.diag_indices(len(rows))] += penalty / table.weights[rows]
    root = cholesky(kernel, lower=True, overwrite_a=True, check_finite=False)
    solved = cho_solve((root, True), np.column_stack([np.ones(len(rows)), wanted]), check_finite=False)
    s = solved[:, 0]
    bias = (s @ wanted) / s.sum()
    alpha = np.zeros(table.wanted.shape)
    alpha[rows] = solved[:, 1:] - np.outer(s, bias)
    return np.asarray(alpha.T @ table.features), bias


def products(features: csr_array) -> Floats:
    """Return the products of all pairs of rows; frequent columns are multiplied as dense, rare ones as sparse."""
    share = np.bincount(features.indices, minlength=features.shape[1]) / max(1, features.shape[0])
    often = np.flatnonzero(share > DENSE_SHARE)
    dense = features[:, often].toarray()
    total = dense @ dense.T
    rest = features[:, np.flatnonzero(share <= DENSE_SHARE)]
    if rest.nnz:
        total += (rest @ rest.T).toarray()
    return np.asarray(total)


def leave_one_out(
    kernel: Floats, wanted: Floats, weights: Floats, cap: float, groups: IntArray | None = None
) -> tuple[float, Floats, Floats, Floats, float]:
    """Return the best penalty with its dual weights, intercepts, held-out residuals and loss.

    Groups of graphs are left out together, single graphs without ``groups``. If all graphs are one group, the largest
    penalty is returned and residuals are NaN.

    Example:
        >>> x = np.arange(6.0)[:, None] / 6
        >>> penalty, alpha, bias, residuals, loss = leave_one_out(x @ x.T, 2 * x + 1, np.ones(6), np.inf)
        >>> bool(penalty == PENALTIES[0]), bool(abs(residuals).max() < 0.01)
        (True, True)
    """
    root = np.sqrt(weights)
    values, vectors = eigh(kernel * np.outer(root, root))
    vectors = vectors * root[:, None]  # so that G = V diag(1 / (d + penalty)) V'
    projected, ones = vectors.T @ wanted, vectors.sum(axis=0)
    square = vectors**2
    groups = np.arange(len(wanted)) if groups is None else groups
    blocks = [np.flatnonzero(groups == group) for group in np.flatnonzero(np.bincount(groups) > 1).tolist()]
    single = len(wanted) == 1 or (len(blocks) == 1 and len(blocks[0]) == len(wanted))
    best: tuple[float, Floats, Floats, Floats, float] | None = None
    for penalty in PENALTIES[-1:].tolist() if single else PENALTIES.tolist():
        inverse = 1 / (np.maximum(values, 0) + penalty)
        s = vectors @ (inverse * ones)
        total = float(s.sum())
        bias = (s @ wanted) / total
        alpha = vectors @ (inverse[:, None] * projected) - np.outer(s, bias)
        residual = alpha / np.maximum(square @ inverse - s**2 / total, 1e-300)[:, None]
        if single:
            residual[:] = np.nan
        for block in () if single else blocks:
            part = (vectors[block] * inverse) @ vectors[block].T - np.outer(s[block], s[block]) / total
            residual[block] = solve(part, alpha[block], assume_a="sym")
        loss = float((weights[:, None] * np.minimum(residual**2, cap)).mean() / weights.mean())
        if best is None or loss < best[4]:
            best = penalty, alpha, bias, residual, loss
    assert best is not None
    return best


def block_residuals(kernel: Floats, alpha: Floats, weights: Floats, penalty: float, blocks: IntArray) -> Floats:
    r"""Return the residuals :math:`P_{BB}^{-1} \alpha_B` of every block; NaN for graphs of block -1."""
    inverse = np.linalg.inv(kernel + np.diag(penalty / weights))
    s = inverse.sum(axis=1)
    p = inverse - np.outer(s, s) / s.sum()
    residual = np.full(alpha.shape, np.nan)
    for block in np.unique(blocks[blocks >= 0]).tolist():
        rows = np.flatnonzero(blocks == block)
        residual[rows] = solve(p[np.ix_(rows, rows)], alpha[rows], assume_a="sym")
    return residual
