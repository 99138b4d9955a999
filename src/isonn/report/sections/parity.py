"""Predicted numbers against true ones, and the residuals."""

from __future__ import annotations

import numpy as np

from isonn.explain.explanation import is_logarithm
from isonn.packing import Floats
from isonn.report.cases import Cases
from isonn.report.charts import scatter
from isonn.report.page import Section
from isonn.report.words import number_text
from isonn.scores import score


def measured_and_predicted(cases: Cases) -> tuple[Floats, Floats]:
    """Return the true and the predicted numbers of the first column, where they are known."""
    numbers, predicted = cases.predictions
    y = np.asarray(cases.graphs.y, dtype=np.float64).reshape(len(cases.graphs), -1)[numbers, 0]
    guess = np.asarray(predicted, dtype=np.float64).reshape(len(numbers), -1)[:, 0]
    measured = np.isfinite(y)
    return y[measured], guess[measured]


def error_of(cases: Cases) -> dict[str, float]:
    """Return the metrics of the first column of numbers by name; 0 for a correlation that is not defined."""
    y, guess = measured_and_predicted(cases)
    return {name: value or 0.0 for name, value in score(cases.target, y, guess[:, None]).items()}


def parity_section(cases: Cases) -> Section | None:
    """Return predictions of graphs that their model was not fitted to, beside the true numbers; None for classes."""
    if not cases.target.numeric:
        return None
    y, guess = measured_and_predicted(cases)
    name, unit = cases.naming.target(), cases.naming.unit()
    x, up = y.tolist(), guess.tolist()
    error = error_of(cases)
    logarithmic = is_logarithm(cases.target, 0) and bool((y > 0).all() and (guess > 0).all())
    errors, how = (guess / y, "predicted / measured") if logarithmic else (guess - y, "predicted - measured")
    measured, predicted = (f"{axis} ({unit})" if unit else axis for axis in ("measured", "predicted"))
    agree = f"predicted against measured {name}"
    content = {
        "parity": scatter(x, up, agree, measured, predicted, diagonal=True, logarithmic=logarithmic),
        "residuals": scatter(up, errors.tolist(), f"residuals of {name}", predicted, how, logarithmic=logarithmic),
        "level": 1 if logarithmic else 0,
        "error": error,
        "number": len(y),
        "noun": cases.naming.noun,
        "of": f"Of {name}: " if cases.target.outputs > 1 else "",
        "mae": number_text(error["mae"], unit),
    }
    return Section("parity", "Predicted and measured", content, "Errors")
