"""Checks of the settings every training shares."""

from __future__ import annotations

from typing import Any

import numpy as np

from isonn.errors import InputError


def check_count(name: str, value: Any) -> None:
    """Refuse what is not an integer of at least 1."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise InputError(f"{name}={value!r} is not a count; use an integer >= 1")


def check_learning_rate(value: Any) -> None:
    """Refuse what is not above 0."""
    if not value > 0:
        raise InputError(f"learning_rate={value!r} is not above 0; 0.001 is a good start")
