"""Heads predict from graph features: the base class `Head`, and the linear, forest and ensemble heads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky, eigh
from scipy.linalg.lapack import dtrtri
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array
from scipy.special import expit, log_softmax, logit, softmax
from typing_extensions import Self

from isonn.errors import InputError
from isonn.packing import Floats
from isonn.plugins import load_plugin
from isonn.ridge import solve_ridge
from isonn.seeding import numpy_stream
from isonn.targets import Target

__all__ = ["HEADS", "EnsembleHead", "ForestHead", "Head", "LinearHead", "get_head", "register_head"]


#: Largest number of graphs for which all pairwise products are stored: 512 MB.
DUAL_GRAPHS = 8000
#: Number of graphs on which the penalty is chosen; a decomposition takes two seconds.
PENALTY_GRAPHS = 1500
#: Candidate penalties; the features of a graph have norm 1.
PENALTIES = 10.0 ** np.arange(-4.0, 1.51, 0.25)
#: Residuals are clipped here when a penalty for classes is chosen.
LARGEST_SQUARE = 4.0
#: Columns that occur in more than this share of graphs are multiplied as a dense matrix.
DENSE_SHARE = 0.05
#: Number of trees of a forest.
TREES = 300
#: Number of columns for the trees, those that split the graphs most evenly. More took longer without a gain.
COLUMNS = 2000
#: Smallest distance of probabilities from 0 and 1, so that log-odds are finite.
MARGIN = 1e-3


class Head(ABC):
    """Base class of heads. To add one, subclass it and register it with `register_head`.

    Features are a sparse matrix with one row per graph; targets come from ``target.encode``. ``target.link`` converts
    `outputs` to answers. A head whose outputs are sums over features is `additive` and returns their weights from
    `coefficients`; explanations of other heads are computed by removal. `tensors` and `restore` save and load the
    learned state.

    Example:
        >>> class Shares(Head):
        ...     name = "shares"
        ...
        ...     def fit(self, features, targets, target, weights=None, seed=0):
        ...         self.shares = np.bincount(targets, minlength=target.outputs) / len(targets)
        ...         return self
        ...
        ...     def outputs(self, features):
        ...         return np.tile(np.log(self.shares), (features.shape[0], 1))
        ...
        ...     def tensors(self):
        ...         return {"shares": self.shares}
        ...
        ...     @classmethod
        ...     def restore(cls, tensors):
        ...         head = cls()
        ...         head.shares = tensors["shares"]
        ...         return head
        >>> Shares().name
        'shares'
    """

    name: ClassVar[str]
    #: Whether outputs are an intercept plus one term per feature.
    additive: ClassVar[bool] = False

    @abstractmethod
    def fit(
        self,
        features: csr_array,
        targets: NDArray[Any],
        target: Target,
        weights: Floats | None = None,
        seed: int = 0,
    ) -> Self:
        """Fit to features (g, p) and targets, with one of ``weights`` per graph."""

    @abstractmethod
    def outputs(self, features: csr_array) -> Floats:
        """Return outputs of shape (g, target.outputs)."""

    @abstractmethod
    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the learned arrays by name."""

    @classmethod
    @abstractmethod
    def restore(cls, tensors: dict[str, NDArray[Any]]) -> Head:
        """Restore a head from its `tensors`."""

    def coefficients(self) -> tuple[Floats, Floats] | None:
        """Return weights (outputs, p) and intercepts (outputs,) of an additive head, else None."""
        return None


#: All heads by name.
HEADS: dict[str, type[Head]] = {}


def register_head(cls: type[Head]) -> type[Head]:
    """Register a head under its name; use as a decorator.

    Example:
        >>> from isonn.heads import HEADS, LinearHead, register_head
        >>> @register_head
        ... class Named(LinearHead):
        ...     name = "linear again"
        >>> HEADS.pop("linear again").additive  # pop: only so that this example leaves nothing behind
        True
    """
    HEADS[cls.name] = cls
    return cls


def get_head(name: Any) -> type[Head]:
    """Return the head of a name.

    Example:
        >>> from isonn.heads import get_head
        >>> get_head("linear").additive
        True
    """
    if isinstance(name, str) and name not in HEADS:
        load_plugin("heads", name)
    if not isinstance(name, str) or name not in HEADS:
        raise InputError(f"head={name!r} is unknown; use one of {', '.join(map(repr, HEADS))}")
    return HEADS[name]


@register_head
class LinearHead(Head):
    r"""Ridge regression with the penalty chosen by exact leave-one-out; outputs are sums, so explanations add up.

    With :math:`K = \Phi \Phi^\top` the products of all graphs' features, :math:`G = (K + \lambda C^{-1})^{-1}` for
    weights C, :math:`s = G 1` and :math:`P = G - s s^\top / 1^\top s`, the ridge solution with a free intercept is
    :math:`\alpha = P Y`, and leaving graph i out changes its residual to :math:`\alpha_i / P_{ii}`: one decomposition
    of K gives the leave-one-out error of every penalty. Classes are targets of +1 and -1, one against the rest. The
    outputs are scaled by one number that maximises the likelihood of the leave-one-out probabilities, so a score is a
    log-odds.

    The products take g² memory. Beyond `DUAL_GRAPHS` graphs, the penalty is chosen on a sample and the weights are
    computed directly from the sparse features.

    Attributes:
        coef, intercept: shape (outputs, p) and (outputs,).
        penalties: the penalty chosen for each column of targets, shape (columns,).
        held_out: leave-one-out outputs of the training graphs, shape (g, outputs); NaN if there is none.
        loss: mean leave-one-out loss, for comparing features.

    Example:
        >>> from scipy.sparse import csr_array
        >>> from isonn.targets import Classes
        >>> features = csr_array(np.eye(2)[[0, 0, 0, 0, 1, 1, 1, 1]])
        >>> target, y = Classes(np.array(["a", "b"])), np.array([0, 0, 0, 0, 1, 1, 1, 1])
        >>> LinearHead().fit(features, y, target).outputs(features).argmax(axis=1).tolist()
        [0, 0, 0, 0, 1, 1, 1, 1]
    """

    name = "linear"
    additive = True

    coef: Floats
    intercept: Floats
    penalties: Floats
    held_out: Floats
    loss: float

    def fit(
        self,
        features: csr_array,
        targets: NDArray[Any],
        target: Target,
        weights: Floats | None = None,
        seed: int = 0,
    ) -> Self:
        """Compute weights and intercepts."""
        wanted = target.columns(targets)
        self._regress(features, wanted, weights, np.inf if target.numeric else LARGEST_SQUARE, seed)
        if target.exclusive and len(target.classes) == 2:
            # one score: plus half of it for one class, minus half for the other
            per_class = np.array([[-0.5], [0.5]])
            self.coef, self.intercept = per_class @ self.coef, per_class[:, 0] * self.intercept[0]
            self.held_out = self.held_out @ per_class.T
        if not target.numeric:
            scale = temperature(self.held_out, targets, target)
            self.coef, self.intercept, self.held_out = (
                scale * value for value in (self.coef, self.intercept, self.held_out)
            )
        return self

    def fit_outputs(self, features: csr_array, outputs: Floats, seed: int = 0) -> Self:
        """Fit the outputs of another head, shape (g, outputs); rows with NaN are ignored."""
        self._regress(features, outputs, None, np.inf, seed)
        return self

    def _regress(self, features: csr_array, wanted: Floats, weights: Floats | None, cap: float, seed: int) -> None:
        """Fit every column of ``wanted`` on the graphs where it is known."""
        g, p = features.shape
        self.coef, self.intercept = np.zeros((wanted.shape[1], p)), np.zeros(wanted.shape[1])
        self.held_out = np.full(wanted.shape, np.nan)
        self.penalties = np.zeros(wanted.shape[1])
        losses = []
        weights = np.ones(g) if weights is None else weights
        for rows, columns in _same_rows(np.isfinite(wanted)):
            part = features if len(rows) == g else features[rows]
            found = _solve(part, wanted[np.ix_(rows, columns)], weights[rows], cap, seed)
            self.coef[columns], self.intercept[columns] = found.coef, found.intercept
            self.held_out[np.ix_(rows, columns)] = found.held_out
            self.penalties[columns] = found.penalty
            losses.append(found.loss)
        self.loss = float(np.mean(losses))

    def outputs(self, features: csr_array) -> Floats:
        """Return intercepts plus the weighted sums of features."""
        return np.asarray(features @ self.coef.T + self.intercept)

    def coefficients(self) -> tuple[Floats, Floats]:
        """Return weights and intercepts."""
        return self.coef, self.intercept

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return weights and intercepts."""
        return {"coef": self.coef, "intercept": self.intercept}

    @classmethod
    def restore(cls, tensors: dict[str, NDArray[Any]]) -> LinearHead:
        """Restore a head from its weights."""
        head = cls()
        head.coef, head.intercept = tensors["coef"].astype(np.float64), tensors["intercept"].astype(np.float64)
        return head


class _Solution:
    def __init__(self, coef: Floats, intercept: Floats, held_out: Floats, penalty: float, loss: float) -> None:
        self.coef, self.intercept, self.held_out, self.penalty, self.loss = coef, intercept, held_out, penalty, loss


def _same_rows(known: NDArray[np.bool_]) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Group columns that are known for the same graphs; return the rows and columns of each group."""
    patterns, group = np.unique(known, axis=1, return_inverse=True)
    return [(np.flatnonzero(patterns[:, i]), np.flatnonzero(group.reshape(-1) == i)) for i in range(patterns.shape[1])]


def _solve(features: csr_array, wanted: Floats, weights: Floats, cap: float, seed: int) -> _Solution:
    g = len(wanted)
    if g <= PENALTY_GRAPHS:
        penalty, alpha, bias, residual, loss = leave_one_out(products(features), wanted, weights, cap)
        return _Solution(np.asarray(alpha.T @ features), bias, wanted - residual, penalty, loss)
    rows = np.sort(numpy_stream(seed, "penalty").choice(g, PENALTY_GRAPHS, replace=False))
    penalty, _, _, residual, loss = leave_one_out(products(features[rows]), wanted[rows], weights[rows], cap)
    held_out = np.full(wanted.shape, np.nan)
    if g > DUAL_GRAPHS:
        held_out[rows] = wanted[rows] - residual
        return _Solution(*solve_ridge(features, wanted, weights, penalty), held_out, penalty, loss)
    kernel = products(features)
    kernel[np.diag_indices(g)] += penalty / weights
    root = cholesky(kernel, lower=True, overwrite_a=True)
    solved = cho_solve((root, True), np.column_stack([np.ones(g), wanted]))
    s = solved[:, 0]
    bias = (s @ wanted) / s.sum()
    alpha = solved[:, 1:] - np.outer(s, bias)
    root, _ = dtrtri(root, lower=1, overwrite_c=1)  # only the diagonal of the inverse is needed: a sixth of the work
    residual = alpha / (np.einsum("ij,ij->j", root, root) - s**2 / s.sum())[:, None]
    return _Solution(np.asarray(alpha.T @ features), bias, wanted - residual, penalty, loss)


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
    kernel: Floats, wanted: Floats, weights: Floats, cap: float
) -> tuple[float, Floats, Floats, Floats, float]:
    """Return the best penalty with its dual weights, intercepts, leave-one-out residuals and loss."""
    root = np.sqrt(weights)
    values, vectors = eigh(kernel * np.outer(root, root))
    vectors = vectors * root[:, None]  # so that G = V diag(1 / (d + penalty)) V'
    projected, ones = vectors.T @ wanted, vectors.sum(axis=0)
    square = vectors**2
    best: tuple[float, Floats, Floats, Floats, float] | None = None
    for penalty in PENALTIES.tolist():
        inverse = 1 / (np.maximum(values, 0) + penalty)
        s = vectors @ (inverse * ones)
        total = float(s.sum())
        bias = (s @ wanted) / total
        alpha = vectors @ (inverse[:, None] * projected) - np.outer(s, bias)
        residual = alpha / np.maximum(square @ inverse - s**2 / total, 1e-300)[:, None]
        loss = float((weights[:, None] * np.minimum(residual**2, cap)).mean() / weights.mean())
        if best is None or loss < best[4]:
            best = penalty, alpha, bias, residual, loss
    assert best is not None
    return best


def temperature(held_out: Floats, targets: NDArray[Any], target: Target) -> float:
    """Return the scale of outputs that maximises the leave-one-out likelihood.

    As in Platt scaling, one graph in n + 2 counts as wrong. Otherwise perfectly separated classes would be predicted
    with certainty.
    """
    known = np.isfinite(held_out).all(axis=1) if target.exclusive else np.isfinite(held_out)
    if not known.any():
        return 1.0
    doubt = 1 / (int(known.sum()) + 2)

    def negative_log_likelihood(log_scale: float) -> float:
        scaled = np.exp(log_scale) * held_out
        if target.exclusive:
            rows = np.flatnonzero(known)
            logs = log_softmax(scaled[rows], axis=1)
            right = logs[np.arange(len(rows)), targets[rows]]
            wrong = (logs.sum(axis=1) - right) / max(1, logs.shape[1] - 1)
            return -float(((1 - doubt) * right + doubt * wrong).mean())
        signs = 2.0 * targets[known] - 1
        loss = np.logaddexp(0, -signs * scaled[known])
        return float(((1 - doubt) * loss + doubt * np.logaddexp(0, signs * scaled[known])).mean())

    return float(np.exp(minimize_scalar(negative_log_likelihood, bounds=(-3, 5), method="bounded").x))


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
