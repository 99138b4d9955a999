"""Scores of held-out answers: for all targets together, and for each of several."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.packing import Floats
from isonn.targets import Target

Scores = dict[str, float]


def held_out_scores(target: Target, y: NDArray[Any], answers: Floats) -> tuple[Scores, list[Scores]]:
    """Return the scores of answers (probabilities or values), and those of each column if ``y`` has several.

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
    if target.exclusive:
        truth = np.asarray(y)[:, None] == target.classes
        ranked = [auroc(truth[:, i], answers[:, i]) for i in range(len(target.classes))]
        return {**overall, **_mean("auroc", ranked[1:] if len(ranked) == 2 else ranked)}, []
    values = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
    pairs = list(zip(values.T, answers.T, strict=True))
    if target.numeric:
        columns = [_number_scores(truth, guess) for truth, guess in pairs]
        overall |= _mean("pearson", [scores.get("pearson") for scores in columns])
    else:
        columns = [_label_scores(truth, guess) for truth, guess in pairs]
        overall.pop("accuracy", None)  # of all labels of a graph at once, which no one asks for
        overall = {**_mean("auroc", [scores.get("auroc") for scores in columns]), **overall}
    return overall, columns if len(columns) > 1 else []


def auroc(truth: NDArray[np.bool_], answers: Floats) -> float | None:
    """Return the area under the ROC curve; None if all graphs are positive or none is."""
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(truth, answers)) if 0 < truth.sum() < len(truth) else None


def _label_scores(truth: Floats, answers: Floats) -> Scores:
    known = np.isfinite(truth)
    positive = truth[known] == 1
    ranked = auroc(positive, answers[known])
    return {"known": int(known.sum()), "positive": int(positive.sum()), **({} if ranked is None else {"auroc": ranked})}


def _number_scores(truth: Floats, answers: Floats) -> Scores:
    known = np.isfinite(truth)
    truth, answers = truth[known], answers[known]
    scores: Scores = {"known": len(truth)}
    if not len(truth):
        return scores
    error = truth - answers
    scores |= {"rmse": float(np.sqrt((error**2).mean())), "mae": float(np.abs(error).mean())}
    if len(truth) > 1 and np.ptp(truth) > 0 and np.ptp(answers) > 0:
        scores["pearson"] = float(np.corrcoef(truth, answers)[0, 1])
    return scores


def _mean(name: str, values: list[float | None]) -> Scores:
    known = [value for value in values if value is not None]
    return {name: float(np.mean(known))} if known else {}
