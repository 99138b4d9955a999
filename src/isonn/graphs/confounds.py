"""Columns of confounds from the forms that users have them in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import InputError


def confound_columns(
    confounds: Any, table: Mapping[str, NDArray[Any]], targets: Sequence[str] = ()
) -> dict[str, NDArray[Any]]:
    """Return the columns of confounds by name; ``targets`` are the columns to predict."""
    if confounds is None:
        return {}
    if hasattr(confounds, "columns") and hasattr(confounds, "to_numpy"):  # a DataFrame
        return {str(name): _plain_column(confounds[name].tolist()) for name in confounds.columns}
    if isinstance(confounds, Mapping):
        return {str(name): _plain_column(values) for name, values in confounds.items()}
    names = [confounds] if isinstance(confounds, str) else confounds
    if isinstance(names, (list, tuple)) and all(isinstance(name, str) for name in names):
        missing = [name for name in names if name not in table]
        if missing and missing[0] in targets:
            raise InputError(f"confound {missing[0]!r} is the target, so nothing would be left to find; leave it out")
        if missing:
            columns = ", ".join(map(str, table)) or "none"
            raise InputError(f"confound {missing[0]!r} is not a column of the graphs; their columns are: {columns}")
        return {name: table[name] for name in names}
    values = np.asarray(confounds)
    if values.ndim not in (1, 2) or values.dtype.kind not in "biufUO":
        raise InputError(f"confounds have shape {values.shape} and type {values.dtype}; give one row per graph")
    values = values.reshape(len(values), -1)
    return {f"confound {i + 1}": _plain_column(values[:, i].tolist()) for i in range(values.shape[1])}


def _plain_column(values: Any) -> NDArray[Any]:
    """Return numbers as numbers and anything else as text; None is a gap."""
    array = np.asarray(values)
    if array.dtype.kind in "biuf":
        return array
    cells = array.tolist() if array.ndim == 1 else [array]
    try:
        return np.array([np.nan if cell is None else float(cell) for cell in cells])
    except (TypeError, ValueError):
        gaps = [cell is None or cell != cell for cell in cells]
        return np.array(["" if gap else str(cell) for cell, gap in zip(cells, gaps, strict=True)], dtype=np.str_)
