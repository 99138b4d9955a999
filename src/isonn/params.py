"""Checks of parameters that several estimators share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from isonn.errors import InputError

#: The most that makes sense, by parameter: beyond, a process would hang or be killed.
LIMITS = {"n_jobs": 1024, "c": 1_000_000, "epochs": 10_000_000, "max_subgraphs": 2**53}


def check_count(name: str, value: Any) -> None:
    """Refuse what is not an integer of at least 1, or more than makes sense."""
    most = LIMITS.get(name, 2**31 - 1)
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise InputError(f"{name}={_short(value)} is not a count; use an integer >= 1")
    if value > most:
        raise InputError(f"{name}={_short(value)} is too large; use at most {most:,}")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def check_learning_rate(value: Any) -> None:
    """Refuse what is not above 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not value > 0:
        raise InputError(f"learning_rate={value!r} is not above 0; 0.001 is a good start")


def check_widths(name: str, widths: Sequence[int]) -> None:
    """Refuse what are not widths of layers."""
    given = list(widths) if isinstance(widths, (Sequence, np.ndarray)) else []
    if not given or any(isinstance(w, bool) or not isinstance(w, (int, np.integer)) or w < 1 for w in given):
        raise InputError(f"{name}={widths!r} are not layer widths; use integers >= 1 such as (1024, 128)")


def check_class_weight(value: Any) -> None:
    """Refuse anything but None, "balanced" or a dict of positive weights."""
    if value is None or value == "balanced":
        return
    if not isinstance(value, Mapping) or not all(isinstance(w, (int, float)) and w > 0 for w in value.values()):
        raise InputError(f"class_weight={value!r} is unknown; use None, 'balanced' or a dict from class to weight")
