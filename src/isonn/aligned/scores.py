"""How well held-out graphs are predicted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import r2_score, roc_auc_score

from isonn.packing import Floats
from isonn.targets import Numbers, Target


def class_codes(columns: Floats, exclusive: bool) -> NDArray[Any]:
    """Return class numbers, or 0 and 1 for each label, from columns of -1 and +1."""
    if not exclusive:
        return np.where(np.isfinite(columns), (columns + 1) / 2, np.nan)
    if columns.shape[1] == 1:
        return (columns[:, 0] > 0).astype(np.int64)
    return np.asarray(columns.argmax(axis=1))


def explained(columns: Floats, target: Floats) -> float:
    """Return the share of a target that columns explain, adjusted for their number (adjusted R²), at least 0.

    Example:
        >>> round(explained(np.arange(9.0)[:, None], np.arange(9.0)), 3)
        1.0
    """
    centred, rest = columns - columns.mean(axis=0), target - target.mean()
    total = float(rest @ rest)
    if total <= 1e-300 or not columns.shape[1]:
        return 0.0
    left = rest - centred @ np.linalg.lstsq(centred, rest, rcond=None)[0]
    g, q = len(target), int(np.linalg.matrix_rank(centred))
    share = 1 - float(left @ left) / total * (g - 1) / max(g - q - 1, 1)
    return float(np.clip(share, 0.0, 1.0))


def held_out_score(held_out: Floats, columns: Floats, outputs: Floats, target: Target) -> dict[str, float]:
    """Return scores on held-out graphs: accuracy and AUROC, or Pearson's r, R² and MAE, means over splits and columns.

    Args:
        held_out: predictions of every split, shape (splits, g, columns).
        columns: targets, shape (g, columns).
        outputs: matrix from columns to outputs.
    """
    scores: dict[str, list[float]] = {}
    for split in held_out:
        for number in range(columns.shape[1]):
            known = np.isfinite(columns[:, number]) & np.isfinite(split[:, number])
            truth, guess = columns[known, number], split[known, number]
            if len(truth) > 2 and np.ptp(truth) > 0:
                unit = float(target.scale[number]) if isinstance(target, Numbers) else 1.0
                column = _number_scores(truth, guess, unit) if target.numeric else {"auroc": _auroc(truth, guess)}
                for name, value in column.items():
                    scores.setdefault(name, []).append(value)
        if target.exclusive:
            right = (split @ outputs.T).argmax(axis=1) == class_codes(columns, True)
            scores.setdefault("accuracy", []).append(float(right.mean()))
    order = ("accuracy", "auroc", "pearson", "r2", "mae")
    return {name: float(np.mean(scores[name])) for name in order if name in scores}


def _auroc(truth: Floats, guess: Floats) -> float:
    return float(roc_auc_score(truth > 0, guess))


def _number_scores(truth: Floats, guess: Floats, unit: float) -> dict[str, float]:
    r = float(np.corrcoef(truth, guess)[0, 1]) if np.ptp(guess) > 1e-12 else 0.0
    return {"pearson": r, "r2": float(r2_score(truth, guess)), "mae": unit * float(np.abs(truth - guess).mean())}
