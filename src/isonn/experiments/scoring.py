"""How good predictions are, as fractions of 1."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, f1_score


def score(truth: NDArray[Any], predicted: NDArray[Any], classes: NDArray[Any]) -> dict[str, float]:
    """Accuracy and F1.

    Two classes: F1 of the larger label, the paper's +1. More: the mean of the F1 of each class (macro).
    Indicator matrix: a graph counts as right when all its labels are (subset accuracy), F1 over all
    labels at once (micro). The positive class, when it is neither predicted nor there, has an F1 of 0; of more than
    two, a class that is neither does not count.
    """
    if truth.ndim == 2:
        f1 = f1_score(truth, predicted, average="micro", zero_division=0)
    elif len(classes) == 2:
        positive = classes[-1]
        f1 = f1_score(truth == positive, predicted == positive, zero_division=0)
    else:
        f1 = f1_score(truth, predicted, average="macro", zero_division=0)
    return {"accuracy": float(np.float64(accuracy_score(truth, predicted))), "f1": float(f1)}
