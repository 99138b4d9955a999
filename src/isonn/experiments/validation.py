"""Validation of a model on its own data: held-out predictions with bootstrap intervals, and scrambled targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import csr_array
from sklearn.base import clone

from isonn.errors import InputError
from isonn.graphs.graph import GraphSet
from isonn.graphs.isomorphism import graph_hashes
from isonn.heads import PENALTIES, Distinct, Inputs
from isonn.packing import Floats, IntArray
from isonn.scores import auroc, score
from isonn.seeding import numpy_stream
from isonn.targets import Target, as_y, positive_of

#: Number of bootstrap samples of an interval, and of scrambled targets.
BOOTSTRAPS, SCRAMBLES = 300, 50
#: Largest number of distinct graphs for scrambled targets; one decomposition gives all held-out predictions.
SCRAMBLED_GRAPHS = 1500


@dataclass(frozen=True, eq=False)
class Validation:
    """Predictions for graphs that the predicting model had not seen, and how good they are.

    Attributes:
        how: how the predictions were made, a sentence.
        rows: numbers of the graphs, shape (n,).
        groups: graphs of one group are drawn together in the bootstrap, shape (n,).
        truth: encoded targets, shape (n,) or (n, columns).
        answers: probabilities or values, shape (n, outputs).
        metrics: value and 95 % interval by name.
    """

    how: str
    rows: IntArray
    groups: IntArray
    truth: NDArray[Any]
    answers: Floats
    metrics: dict[str, tuple[float, float, float]]

    @classmethod
    def of(
        cls, how: str, rows: IntArray, groups: IntArray, truth: NDArray[Any], answers: Floats, target: Target, seed: int
    ) -> Validation:
        """Compute the metrics and their intervals; the bootstrap draws groups with replacement."""
        _, group = np.unique(groups, return_inverse=True)
        members = np.split(np.argsort(group.reshape(-1), kind="stable"), np.cumsum(np.bincount(group.reshape(-1)))[:-1])
        draw = numpy_stream(seed, "bootstrap")
        samples = []
        for _ in range(BOOTSTRAPS):
            some = np.concatenate([members[i] for i in draw.integers(len(members), size=len(members)).tolist()])
            samples.append(metrics_of(target, truth[some], answers[some]))
        metrics = {}
        for name, value in metrics_of(target, truth, answers).items():
            finite = [sample[name] for sample in samples if np.isfinite(sample[name])]
            low, high = np.quantile(finite, [0.025, 0.975]).tolist() if finite else (np.nan, np.nan)
            metrics[name] = (value, low, high)
        return cls(how, rows, groups, truth, answers, metrics)

    def as_json(self) -> dict[str, Any]:
        """Return metrics and predictions as JSON, with None for NaN."""
        return {
            "how": self.how,
            "metrics": {name: _nested(np.array(values)) for name, values in self.metrics.items()},
            "rows": self.rows.tolist(),
            "groups": self.groups.tolist(),
            "truth": _nested(self.truth),
            "answers": _nested(self.answers),
        }


def metrics_of(target: Target, truth: NDArray[Any], answers: Floats) -> dict[str, float]:
    """Return the metrics of answers by name, from encoded targets; NaN where they are not defined.

    Example:
        >>> from isonn.targets import Classes
        >>> answers = np.array([[0.9, 0.1], [0.2, 0.8], [0.4, 0.6]])
        >>> metrics_of(Classes(np.array([0, 1])), np.array([0, 1, 0]), answers)["accuracy"]
        0.6666666666666666
    """
    if target.numeric:
        values = score(target, target.decode(truth), answers)
        names = {"R²": values["r2"], "RMSE": values["rmse"], "MAE": values["mae"]}
        return {name: np.nan if value is None else value for name, value in names.items()}
    if not target.exclusive:
        known = np.isfinite(truth)
        areas = [_area(truth[some, j] == 1, answers[some, j]) for j, some in enumerate(known.T)]
        finite = [area for area in areas if np.isfinite(area)]
        each = {f"AUROC {name}": area for name, area in zip(target.classes.tolist(), areas, strict=True)}
        return {"mean AUROC": float(np.mean(finite)) if finite else np.nan, **each}
    guess = answers.argmax(axis=1)
    right = guess == truth
    recall = [float(right[truth == c].mean()) if (truth == c).any() else np.nan for c in range(answers.shape[1])]
    if answers.shape[1] > 2:
        return {"accuracy": float(right.mean()), "balanced accuracy": float(np.nanmean(recall))}
    yes = positive_of(target.classes.tolist())
    hits, misses = float((right & (guess == yes)).sum()), float((~right & (guess != yes)).sum())
    false, clear = float((~right & (guess == yes)).sum()), float((right & (guess != yes)).sum())
    product = (hits + false) * (hits + misses) * (clear + false) * (clear + misses)
    return {
        "AUROC": _area(truth == yes, answers[:, yes]),
        "accuracy": float(right.mean()),
        "balanced accuracy": float(np.mean(recall)),
        "sensitivity": recall[yes],
        "specificity": recall[1 - yes],
        "MCC": (hits * clear - false * misses) / np.sqrt(product) if product else np.nan,
    }


def _area(positive: NDArray[np.bool_], answers: Floats) -> float:
    area = auroc(positive, answers)
    return np.nan if area is None else area


def refit_held_out(
    model: Any, graphs: GraphSet, how: str, groups: NDArray[Any] | None = None
) -> tuple[Any, Validation]:
    """Fit a copy of a subgraph model again, and return it with the held-out predictions of its training graphs.

    Args:
        model: a fitted subgraph model.
        graphs: its training graphs, with targets.
        how: a sentence about the folds.
        groups: graphs that are held out together, such as scaffolds, shape (g,).
    """
    again = clone(model).set_params(random_state=model.seed_).fit(graphs, groups=groups)
    assert graphs.y is not None
    outputs = getattr(again.head_, "held_out", None)
    if outputs is None or not np.isfinite(outputs).any():
        raise InputError(f"head={model.head!r} gives no held-out predictions; use head='auto', 'linear' or 'trees'")
    truth = again.target_.encode(as_y(graphs.y, len(graphs)))
    held = np.isfinite(outputs)
    rows = np.flatnonzero(held.all(axis=1) if again.target_.exclusive else held.any(axis=1))
    answers = again.target_.link(outputs[rows])
    joined = np.unique(graph_hashes(graphs) if groups is None else groups, return_inverse=True)[1].reshape(-1)
    return again, Validation.of(how, rows, joined[rows], truth[rows], answers, again.target_, model.seed_)


def scramble(features: csr_array, y: NDArray[Any], target: Target, seed: int) -> dict[str, Any]:
    """Compare the linear head with itself on scrambled targets; a model that learns nothing real does as well there.

    Args:
        features: of the graphs, shape (g, p).
        y: their targets, as given.
        target: the kind of target.
        seed: for the sample and the permutations.

    Returns:
        The measure by name, its value, the values with scrambled targets, and the share of these that is not smaller.
    """
    draw = numpy_stream(seed, "scramble")
    inputs = Inputs.of(features)
    distinct = Distinct.of(inputs)
    order = draw.permutation(len(distinct.rows))[:SCRAMBLED_GRAPHS]
    columns = target.columns(target.encode(y))
    measured = np.isfinite(columns[distinct.rows[order]]).all(axis=1)
    rows = np.sort(distinct.rows[order[measured]])
    wanted, some = columns[rows], features[rows]
    shuffles = [np.arange(len(rows)), *(draw.permutation(len(rows)) for _ in range(SCRAMBLES))]
    stacked, width = np.concatenate([wanted[shuffle] for shuffle in shuffles], axis=1), wanted.shape[1]
    residual = _leave_one_out(np.asarray((some @ some.T).toarray()), stacked)
    values = [
        _fit_of(stacked[:, i : i + width], residual[:, i : i + width], target.numeric)
        for i in range(0, stacked.shape[1], width)
    ]
    real, scrambled = values[0], values[1:]
    return {
        "measure": "R²" if target.numeric else "AUROC",
        "graphs": len(rows),
        "value": real,
        "scrambled": scrambled,
        "p": (1 + sum(value >= real for value in scrambled)) / (1 + len(scrambled)),
    }


def _leave_one_out(kernel: Floats, wanted: Floats) -> Floats:
    """Return the leave-one-out residuals of ridge regression, with the best penalty of each column by itself.

    `isonn.heads.leave_one_out` has one penalty for all columns, which would favour none of the scrambled ones.
    """
    values, vectors = eigh(kernel)
    projected, ones, square = vectors.T @ wanted, vectors.sum(axis=0), vectors**2
    best, least = np.zeros(wanted.shape), np.full(wanted.shape[1], np.inf)
    for penalty in PENALTIES.tolist():
        inverse = 1 / (np.maximum(values, 0) + penalty)
        s = vectors @ (inverse * ones)
        alpha = vectors @ (inverse[:, None] * projected) - np.outer(s, (s @ wanted) / s.sum())
        residual = alpha / np.maximum(square @ inverse - s**2 / s.sum(), 1e-300)[:, None]
        loss = (residual**2).mean(axis=0)
        better = loss < least
        best[:, better], least[better] = residual[:, better], loss[better]
    return best


def _fit_of(wanted: Floats, residual: Floats, numeric: bool) -> float:
    if numeric:
        return float(np.mean(1 - (residual**2).mean(axis=0) / np.maximum(wanted.var(axis=0), 1e-300)))
    areas = [_area(column > 0, column - rest) for column, rest in zip(wanted.T, residual.T, strict=True)]
    return float(np.nanmean(areas))


def _nested(values: NDArray[Any]) -> Any:
    """Return an array as lists, with None for numbers that are not finite."""
    plain = values.astype(object)
    if values.dtype.kind == "f":
        plain[~np.isfinite(values)] = None
    return plain.tolist()
