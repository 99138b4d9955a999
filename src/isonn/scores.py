"""How good answers are: the metrics of classes, labels and numbers, and how tables show them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.packing import Floats
from isonn.targets import Target, as_columns, positive_of

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

_CLASS_SCORES = ("f1", "auroc", "average_precision", "brier", "accuracy", "balanced_accuracy", "mcc")
#: Scores in the order in which a sentence has them.
_TOLD = ("accuracy", "f1", "auroc", "pearson", "mae", "rmse", "r2")
#: Minimum number of values of a correlation: noise in folds of three is near -1 or 1.
LEAST_CORRELATED = 5
_NUMBER_SCORES = ("rmse", "mae", "r2", "pearson", "spearman")


def score(target: Target, y: NDArray[Any], answers: Floats) -> Scores:
    """Compute the metrics of answers (probabilities or values, as from ``predict_proba``), means over columns of ``y``.

    Metrics that cannot be computed are None: ranks need two classes, R² needs two values.
    """
    return mean_score(column_scores(target, y, answers))


def column_scores(target: Target, y: NDArray[Any], answers: Floats) -> list[Scores]:
    """Compute the metrics of each label or number of ``y``, a single dict for classes."""
    if target.exclusive:
        return [_class_scores(y, answers, target.classes)]
    of_column = _number_scores if target.numeric else _label_scores
    return [of_column(truth, answer) for truth, answer in zip(as_columns(y).T, answers.T, strict=True)]


def mean_score(columns: Sequence[Scores]) -> Scores:
    """Return the mean of each metric over the columns that have it."""
    means: Scores = {}
    for name in columns[0]:
        present = [value for scores in columns if (value := scores[name]) is not None]
        means[name] = float(np.mean(present)) if present else None
    return means


def held_out_scores(
    target: Target, y: NDArray[Any], answers: Floats
) -> tuple[dict[str, float], list[dict[str, float]]]:
    """Return the few scores that a fitted model tells, and those of each column if ``y`` has several.

    Classes have accuracy, F1 and AUROC (the mean over more than two classes). Several labels have the mean AUROC and
    micro-averaged F1, and each label its AUROC and the numbers of known and positive graphs. Numbers have RMSE, MAE, R²
    and Pearson's r. Scores that cannot be computed, such as the AUROC of a label that all graphs have, are left out.

    Example:
        >>> from isonn.targets import Labels
        >>> y = np.array([[1, 0], [0, 1], [1, np.nan], [0, 0]])
        >>> _, columns = held_out_scores(Labels(2), y, np.array([[0.9, 0.2], [0.3, 0.1], [0.4, 0.5], [0.2, 0.3]]))
        >>> columns
        [{'known': 4, 'positive': 2, 'auroc': 1.0}, {'known': 3, 'positive': 1, 'auroc': 0.0}]
    """
    from sklearn.metrics import f1_score

    scores = column_scores(target, y, answers)
    mean = mean_score(scores)
    if target.exclusive:
        return _present(mean, "accuracy", "f1", "auroc"), []
    columns = as_columns(y)
    known, positive = np.isfinite(columns), columns == 1
    if target.numeric:
        for column, truth, answer in zip(scores, columns.T, answers.T, strict=True):
            there = np.isfinite(truth)
            values = len(np.unique(truth[there]))  # not rows: repeats of graphs change no score
            if (column["pearson"] or 0) < 0 and answer[there].std() * values < 2 * truth[there].std():
                column["pearson"] = None  # only the mean of the others, which falls where a left out value is large
        mean = mean_score(scores)
        overall = _present(mean, "rmse", "mae", "r2", "pearson")
    else:
        f1 = float(f1_score(positive[known], answers[known] > 0.5, zero_division=0))
        overall = _present({**mean, "f1": f1}, "auroc", "f1")
    each: list[dict[str, float]] = []
    for column, given, ones in zip(scores, known.sum(axis=0).tolist(), positive.sum(axis=0).tolist(), strict=True):
        counts = {"known": given} if target.numeric else {"known": given, "positive": ones}
        each.append(counts | _present(column, *(("rmse", "mae", "pearson") if target.numeric else ("auroc",))))
    return overall, each if len(each) > 1 else []


def right_graphs(target: Target, y: NDArray[Any], predicted: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which graphs have the predicted class, or all predicted labels as far as they are known, shape (g,)."""
    if target.exclusive:
        return np.asarray(y == predicted)
    columns = as_columns(y)
    return np.asarray(((columns == predicted) | np.isnan(columns)).all(axis=1))


def shown(name: str, values: Mapping[str, Any]) -> float | None:
    """Return a metric of a result as shown in tables: in percent if it is a share of predictions."""
    value = values.get(name)
    return None if value is None else float(value) * (100 if METRICS[name].percent else 1)


def scores_text(scores: Mapping[str, float | None], unit: str = "") -> str:
    """Return the usual scores as text, with the unit of errors; those that are None are left out.

    Example:
        >>> scores_text({"rmse": 0.5123, "mae": 0.4, "r2": 0.9, "pearson": 0.95}, "mol/L")
        'r 0.950, MAE 0.4 mol/L, RMSE 0.512 mol/L, R² 0.900'
    """
    texts = []
    for name in _TOLD:
        value = scores.get(name)
        if value is None:
            continue
        if METRICS[name].percent:
            text = f"{100 * value:.1f} %"
        elif name in ("mae", "rmse"):
            text = f"{value:.3g} {unit}".strip()
        else:
            text = f"{value:.3f}"
        texts.append(f"{METRICS[name].heading} {text}")
    return ", ".join(texts)


def _present(scores: Scores, *names: str) -> dict[str, float]:
    return {name: value for name in names if (value := scores.get(name)) is not None}


def auroc(positive: NDArray[np.bool_], answers: Floats) -> float | None:
    """Return the area under the ROC curve; None if all graphs are positive or none is."""
    from scipy.stats import rankdata

    p, n = int(positive.sum()), int((~positive).sum())
    return float((rankdata(answers)[positive].sum() - p * (p + 1) / 2) / (p * n)) if p and n else None


def _class_scores(y: NDArray[Any], answers: Floats, classes: NDArray[Any]) -> Scores:
    from sklearn.metrics import f1_score, matthews_corrcoef

    predicted, truth = classes[answers.argmax(axis=1)], y[:, None] == classes
    # of two classes, F1 and ranks are those of the positive one; else the mean over classes
    shown = [positive_of(classes)] if len(classes) == 2 else range(len(classes))
    recalls = [float((predicted[y == value] == value).mean()) for value in np.unique(y)]
    return {
        "f1": float(
            f1_score(
                y, predicted, labels=classes[shown] if len(classes) == 2 else None, average="macro", zero_division=0
            )
        ),
        **mean_score([_rank_scores(truth[:, i], answers[:, i]) for i in shown]),
        "brier": float(((answers - truth) ** 2).sum(axis=1).mean() / 2),
        "accuracy": float((predicted == y).mean()),
        "balanced_accuracy": float(np.mean(recalls)),
        "mcc": float(matthews_corrcoef(y, predicted)) if len(recalls) > 1 else 0.0,
    }


def _rank_scores(truth: NDArray[np.bool_], probability: Floats) -> Scores:
    from sklearn.metrics import average_precision_score

    area = auroc(truth, probability)
    precision = None if area is None else float(average_precision_score(truth, probability))
    return {"auroc": area, "average_precision": precision}


def _label_scores(y: Floats, probability: Floats) -> Scores:
    """Compute the metrics of one column of labels, ignoring NaN; None for a column of only NaN."""
    known = ~np.isnan(y)
    if not known.any():
        return dict.fromkeys(_CLASS_SCORES)
    p = probability[known]
    return _class_scores(y[known].astype(np.int64), np.column_stack([1 - p, p]), np.array([0, 1]))


def _number_scores(y: Floats, answers: Floats) -> Scores:
    from scipy.stats import spearmanr

    measured = ~np.isnan(y)
    if not measured.any():
        return dict.fromkeys(_NUMBER_SCORES)
    truth, guess = y[measured], answers[measured]
    error, spread = truth - guess, truth.var()
    # a constant may differ from its mean by rounding
    varies = (
        len(truth) >= LEAST_CORRELATED and spread > 0 and bool(np.ptp(guess) > 1e-12 * max(np.abs(guess).max(), 1e-300))
    )
    return {
        "rmse": float(np.sqrt((error**2).mean())),
        "mae": float(np.abs(error).mean()),
        "r2": float(1 - (error**2).mean() / spread) if spread > 0 else None,
        "pearson": float(np.corrcoef(truth, guess)[0, 1]) if varies else None,
        "spearman": float(spearmanr(truth, guess).statistic) if varies else None,
    }
