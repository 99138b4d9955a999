"""Predicted numbers against true ones, and the residuals."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from isonn.packing import Floats
from isonn.report.cases import Cases
from isonn.report.charts import scatter
from isonn.report.section import Section


class Error(NamedTuple):
    """Mean absolute error and Pearson's r of predictions."""

    mae: float
    r: float


class ParitySection(Section):
    """Predictions of graphs that their model was not fitted to, beside the true numbers.

    Args:
        cases: the graphs.
    """

    anchor, template, listed = "parity", "parity.html", "Errors"
    title = "Predicted and measured"

    def __init__(self, cases: Cases) -> None:
        self.cases = cases

    @cached_property
    def values(self) -> tuple[Floats, Floats]:
        """The true and predicted numbers of the first column, where they are known."""
        numbers, predicted = self.cases.predictions
        y = np.asarray(self.cases.graphs.y, dtype=np.float64).reshape(len(self.cases.graphs), -1)[numbers, 0]
        guess = np.asarray(predicted, dtype=np.float64).reshape(len(numbers), -1)[:, 0]
        known = np.isfinite(y)
        return y[known], guess[known]

    @property
    def error(self) -> Error:
        """The errors of the first column; r is 0 where a column does not vary."""
        y, guess = self.values
        varied = len(y) > 1 and y.std() > 0 and guess.std() > 0
        return Error(float(np.abs(y - guess).mean()), float(np.corrcoef(y, guess)[0, 1]) if varied else 0.0)

    def content(self) -> dict[str, Any]:
        """Return the two plots and the errors."""
        y, guess = (column.tolist() for column in self.values)
        name = self.cases.naming.target()
        return {
            "parity": scatter(y, guess, f"predicted against measured {name}", "measured", "predicted", diagonal=True),
            "residuals": scatter(
                guess,
                [b - a for a, b in zip(y, guess, strict=True)],
                f"residuals of {name}",
                "predicted",
                "predicted - measured",
            ),
            "error": self.error,
            "number": len(y),
            "noun": self.cases.naming.noun,
        }
