"""Metrics for classes, labels and numbers, as shown in tables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, average_precision_score, f1_score, matthews_corrcoef, roc_auc_score

from isonn.errors import InputError
from isonn.graphs.graph import GraphSet
from isonn.packing import Floats
from isonn.targets import Target, are_numbers

Scores = dict[str, float | None]


@dataclass(frozen=True)
class Metric:
    """Display of a metric.

    Attributes:
        heading: the heading of its column.
        percent: whether it is shown in percent.
        larger: whether larger is better.
        about: a phrase for the notes below a table, or "".
        limits: the smallest and the largest possible value, which intervals are cut to.
    """

    heading: str
    percent: bool = False
    larger: bool = True
    about: str = ""
    limits: tuple[float, float] = (0.0, 1.0)


#: All metrics by name, in column order.
METRICS: dict[str, Metric] = {
    "accuracy": Metric("accuracy", percent=True),
    "f1": Metric("F1", percent=True),
    "auroc": Metric("AUROC", about="area under the ROC curve"),
    "average_precision": Metric("AP", about="average precision"),
    "mcc": Metric("MCC", about="Matthews correlation", limits=(-1.0, 1.0)),
    "balanced_accuracy": Metric("balanced", percent=True, about="balanced accuracy"),
    "brier": Metric("Brier", larger=False, about="squared error of the probabilities, smaller is better"),
    "rmse": Metric("RMSE", larger=False, about="root mean squared error, smaller is better", limits=(0.0, math.inf)),
    "mae": Metric("MAE", larger=False, about="mean absolute error, smaller is better", limits=(0.0, math.inf)),
    "r2": Metric("R²", limits=(-math.inf, 1.0)),
    "pearson": Metric("r", about="Pearson correlation", limits=(-1.0, 1.0)),
    "spearman": Metric("Spearman", about="rank correlation", limits=(-1.0, 1.0)),
}


def target_kind(y: NDArray[Any]) -> str:
    """Return the kind of ``y``: "classes" (one per graph), "labels" (columns of 0 and 1) or "numbers".

    Example:
        >>> [target_kind(np.array(y)) for y in (["a", "b"], [1.0, 2.0], [0.5, 2.0], [[0, 1], [1, np.nan]])]
        ['classes', 'classes', 'numbers', 'labels']
    """
    if y.ndim == 1:
        return "numbers" if are_numbers(y) else "classes"
    try:
        values = y.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"y has several columns and holds {y.flat[0]!r}; use columns of 0 and 1, or of numbers"
        ) from error
    return "labels" if np.isin(values[~np.isnan(values)], (0, 1)).all() else "numbers"


def predicts_numbers(graphs: GraphSet) -> bool:
    """Return whether the targets are measurements.

    Tables of molecules store these as floats, even if all are whole. Tables of subjects store whole numbers as
    integers, be they groups or ages.
    """
    assert graphs.y is not None
    y = graphs.y
    if graphs.kind == "connectomes" and y.dtype.kind == "i":
        y = y.astype(np.float64)
    measured = "row" in graphs.table and y.ndim == 1 and y.dtype.kind == "f"
    return measured or target_kind(y) == "numbers"


def score(target: Target, y: NDArray[Any], answers: Floats) -> Scores | list[Scores]:
    """Compute the metrics of answers (probabilities or values, as from ``predict_proba``), one dict per column of
    ``y``.

    For one class or one number per graph, return a single dict. Metrics that cannot be computed are None: ranks need
    two classes, R² needs two values.
    """
    if target.numeric:
        columns = y.reshape(len(y), -1).astype(np.float64)
        scores = [_number_scores(columns[:, i], answers[:, i]) for i in range(columns.shape[1])]
        return scores[0] if y.ndim == 1 else scores
    if y.ndim == 1:
        return _class_scores(y, answers, target.classes)
    return [_label_scores(y[:, i].astype(np.float64), answers[:, i]) for i in range(y.shape[1])]


def mean_score(columns: list[Scores]) -> Scores:
    """Return the mean of each metric over the columns that have it."""
    means: Scores = {}
    for name in columns[0]:
        present = [value for scores in columns if (value := scores[name]) is not None]
        means[name] = float(np.mean(present)) if present else None
    return means


def _class_scores(y: NDArray[Any], answers: Floats, classes: NDArray[Any]) -> Scores:
    predicted = classes[answers.argmax(axis=1)]
    if len(classes) == 2:  # F1 of the larger class, +1 in the paper
        return {**_binary_scores(y == classes[1], predicted == classes[1], answers[:, 1]), **_common(y, predicted)}
    truth = y[:, None] == classes
    ranked = [_rank_scores(truth[:, i], answers[:, i]) for i in range(len(classes))]
    return {
        "f1": float(f1_score(y, predicted, average="macro", zero_division=0)),
        **mean_score(ranked),
        "brier": float(((answers - truth) ** 2).sum(axis=1).mean() / 2),
        **_common(y, predicted),
    }


def _label_scores(y: Floats, answers: Floats) -> Scores:
    """Compute the metrics of one column of labels, ignoring NaN; None for a column of only NaN."""
    measured = ~np.isnan(y)
    if not measured.any():
        names = ("f1", "auroc", "average_precision", "brier", "accuracy", "balanced_accuracy", "mcc")
        return dict.fromkeys(names)
    truth, predicted = y[measured] == 1, answers[measured] > 0.5
    return {**_binary_scores(truth, predicted, answers[measured]), **_common(truth, predicted)}


def _binary_scores(truth: NDArray[np.bool_], predicted: NDArray[np.bool_], probability: Floats) -> Scores:
    return {
        "f1": float(f1_score(truth, predicted, zero_division=0)),
        **_rank_scores(truth, probability),
        "brier": float(((probability - truth) ** 2).mean()),
    }


def _rank_scores(truth: NDArray[np.bool_], probability: Floats) -> Scores:
    both = truth.any() and not truth.all()
    return {
        "auroc": float(roc_auc_score(truth, probability)) if both else None,
        "average_precision": float(average_precision_score(truth, probability)) if both else None,
    }


def _common(y: NDArray[Any], predicted: NDArray[Any]) -> Scores:
    recalls = [float((predicted[y == value] == value).mean()) for value in np.unique(y)]
    return {
        "accuracy": float(np.float64(accuracy_score(y, predicted))),
        "balanced_accuracy": float(np.mean(recalls)),
        "mcc": float(matthews_corrcoef(y, predicted)) if len(np.unique(y)) > 1 else 0.0,
    }


def _number_scores(y: Floats, answers: Floats) -> Scores:
    from scipy.stats import spearmanr

    measured = ~np.isnan(y)
    if not measured.any():
        return dict.fromkeys(("rmse", "mae", "r2", "pearson", "spearman"))
    truth, guess = y[measured], answers[measured]
    error, spread = truth - guess, truth.var()
    # a constant may differ from its mean by rounding
    varies = len(truth) > 1 and spread > 0 and bool(np.ptp(guess) > 1e-12 * max(np.abs(guess).max(), 1e-300))
    return {
        "rmse": float(np.sqrt((error**2).mean())),
        "mae": float(np.abs(error).mean()),
        "r2": float(1 - (error**2).mean() / spread) if spread > 0 else None,
        "pearson": float(np.corrcoef(truth, guess)[0, 1]) if varies else None,
        "spearman": float(spearmanr(truth, guess).statistic) if varies else None,
    }


def shown(name: str, values: Mapping[str, Any]) -> float | None:
    """Return a metric of a result as shown in tables: in percent if it is a share of predictions."""
    value = values.get(name)
    return None if value is None else float(value) * (100 if METRICS[name].percent else 1)
