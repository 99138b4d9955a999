"""Predicted numbers against true ones, and the residuals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from isonn.packing import Floats
from isonn.report.cases import Cases
from isonn.report.charts import scatter
from isonn.report.page import Section
from isonn.targets import Numbers


class Error(NamedTuple):
    """Mean absolute error and Pearson's r of predictions; r is 0 where one of the columns does not vary."""

    mae: float
    r: float


def measured_and_predicted(cases: Cases) -> tuple[Floats, Floats]:
    """Return the true and the predicted numbers of the first column, where they are known."""
    numbers, predicted = cases.predictions
    y = np.asarray(cases.graphs.y, dtype=np.float64).reshape(len(cases.graphs), -1)[numbers, 0]
    guess = np.asarray(predicted, dtype=np.float64).reshape(len(numbers), -1)[:, 0]
    measured = np.isfinite(y)
    return y[measured], guess[measured]


def error_of(y: Floats, guess: Floats) -> Error:
    """Return the errors of some predictions."""
    varied = len(y) > 1 and y.std() > 0 and guess.std() > 0
    return Error(float(np.abs(y - guess).mean()), float(np.corrcoef(y, guess)[0, 1]) if varied else 0.0)


def parity_section(cases: Cases) -> Section | None:
    """Return predictions of graphs that their model was not fitted to, beside the true numbers; None for classes."""
    if not isinstance(cases.clf.target_, Numbers):
        return None
    y, guess = measured_and_predicted(cases)
    name = cases.naming.target()
    x, up = y.tolist(), guess.tolist()
    content = {
        "parity": scatter(x, up, f"predicted against measured {name}", "measured", "predicted", diagonal=True),
        "residuals": scatter(up, (guess - y).tolist(), f"residuals of {name}", "predicted", "predicted - measured"),
        "error": error_of(y, guess),
        "number": len(y),
        "noun": cases.naming.noun,
    }
    return Section("parity", "Predicted and measured", content, "Errors")
