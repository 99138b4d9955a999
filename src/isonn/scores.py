"""How good answers are: the metrics of classes, labels and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.packing import Floats
from isonn.targets import Target

Scores = dict[str, float | None]

_CLASS_SCORES = ("f1", "auroc", "average_precision", "brier", "accuracy", "balanced_accuracy", "mcc")
_NUMBER_SCORES = ("rmse", "mae", "r2", "pearson", "spearman")


def score(target: Target, y: NDArray[Any], answers: Floats) -> Scores | list[Scores]:
    """Compute the metrics of answers (probabilities or values, as from ``predict_proba``), one dict per column of
    ``y``.

    For one class or one number per graph, return a single dict. Metrics that cannot be computed are None: ranks need
    two classes, R² needs two values.
    """
    if target.exclusive:
        return _class_scores(y, answers, target.classes)
    one_column = _number_scores if target.numeric else _label_scores
    columns = y.reshape(len(y), -1).astype(np.float64)
    scores = [one_column(truth, column) for truth, column in zip(columns.T, answers.T, strict=True)]
    return scores[0] if y.ndim == 1 else scores


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
    overall = target.metrics(y, target.decide(answers))
    scores = score(target, y, answers)
    columns = scores if isinstance(scores, list) else [scores]
    overall |= _present(mean_score(columns), "auroc", "pearson")
    if target.exclusive:
        return overall, []
    if not target.numeric:  # the accuracy is that of all labels of a graph at once, which no one asks for
        overall = {name: overall[name] for name in ("auroc", "f1") if name in overall}
    values = np.asarray(y, dtype=np.float64).reshape(len(y), -1).T
    counts = [{"known": int(np.isfinite(column).sum())} for column in values]
    if not target.numeric:
        counts = [{**count, "positive": int((column == 1).sum())} for count, column in zip(counts, values, strict=True)]
    told = ("rmse", "mae", "pearson") if target.numeric else ("auroc",)
    each = [{**count, **_present(column, *told)} for count, column in zip(counts, columns, strict=True)]
    return overall, each if len(each) > 1 else []


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
    two = len(classes) == 2  # F1 and ranks are those of the larger class, +1 in the paper; else the mean over classes
    recalls = [float((predicted[y == value] == value).mean()) for value in np.unique(y)]
    return {
        "f1": float(f1_score(y, predicted, labels=classes[1:] if two else None, average="macro", zero_division=0)),
        **mean_score([_rank_scores(truth[:, i], answers[:, i]) for i in range(int(two), len(classes))]),
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
    varies = len(truth) > 1 and spread > 0 and bool(np.ptp(guess) > 1e-12 * max(np.abs(guess).max(), 1e-300))
    return {
        "rmse": float(np.sqrt((error**2).mean())),
        "mae": float(np.abs(error).mean()),
        "r2": float(1 - (error**2).mean() / spread) if spread > 0 else None,
        "pearson": float(np.corrcoef(truth, guess)[0, 1]) if varies else None,
        "spearman": float(spearmanr(truth, guess).statistic) if varies else None,
    }
