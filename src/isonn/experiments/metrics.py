"""How metrics (`isonn.scores`) are shown in tables, and which kind of target has which."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import InputError
from isonn.graphs.graph import GraphSet
from isonn.targets import are_numbers


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


def shown(name: str, values: Mapping[str, Any]) -> float | None:
    """Return a metric of a result as shown in tables: in percent if it is a share of predictions."""
    value = values.get(name)
    return None if value is None else float(value) * (100 if METRICS[name].percent else 1)
