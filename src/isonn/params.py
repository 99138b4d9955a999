"""Validation of parameters shared by several estimators."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import InputError

#: Largest sensible values; beyond them, a process would hang or be killed.
LIMITS = {
    "n_jobs": 1024,
    "c": 1_000_000,
    "n_templates": 10_000,
    "epochs": 10_000_000,
    "max_subgraphs": 2**53,
    "seeds": 10_000,
    "permutations": 10_000,
    "shuffles": 100_000,
    "width": 1_000_000,
}

#: A graph of 100 nodes can have a billion subgraphs of six nodes, each with 720 permutations.
MAX_SUBGRAPH_NODES = 6


def check_count(name: str, value: Any, parameter: str = "") -> None:
    """Raise `InputError` unless the value is an integer from 1 to the limit of the parameter.

    Args:
        name: the name in the error.
        parameter: the parameter in LIMITS, if it has another name.
    """
    most = LIMITS.get(parameter or name, 2**31 - 1)
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise InputError(f"{name}={_short(value)} is not a count; use an integer >= 1")
    if value > most:
        raise InputError(f"{name}={_short(value)} is too large; use at most {most:,}")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def sizes_of(k: Any) -> tuple[Any, ...]:
    """Return ``k``, one size or several, as a tuple.

    Example:
        >>> sizes_of(3), sizes_of([2, 3])
        ((3,), (2, 3))
    """
    return tuple(np.atleast_1d(np.asarray(k, dtype=object)).tolist())


def check_subgraph_size(max_nodes: Any) -> None:
    """Raise `InputError` if subgraphs of this size cannot be listed."""
    is_integer = isinstance(max_nodes, (int, np.integer)) and not isinstance(max_nodes, bool)
    if not is_integer or not 1 <= max_nodes <= MAX_SUBGRAPH_NODES:
        raise InputError(f"max_nodes={_short(max_nodes)} is not valid; use 1 to {MAX_SUBGRAPH_NODES}")


def check_plain(settings: Mapping[str, Any]) -> None:
    """Raise `InputError` for settings that are arrays, which cannot be compared with choices, and for a bad verbose."""
    if not isinstance(verbose := settings.get("verbose", 0), (bool, int, np.integer)):
        raise InputError(f"verbose={_short(verbose)} is not a number; use 0 or 1")
    for name, value in settings.items():
        if isinstance(value, np.ndarray) and name not in ("k", "hidden", "layers"):
            raise InputError(f"{name} is an array of shape {value.shape}; give a number, a name or a tuple")


def check_memory(what: str, shape: Sequence[int], remedy: str) -> None:
    """Raise `InputError` if an array of float32 does not fit in the memory of this machine."""
    needed, memory = 4 * math.prod(map(int, shape)), machine_memory()
    if needed > memory:
        sizes = " x ".join(f"{size:,}" for size in shape)
        raise InputError(
            f"{what} of {sizes} numbers take {_short(needed // 10**9)} GB, more than the {memory / 10**9:.0f} GB of "
            f"this machine; {remedy}"
        )


def machine_memory() -> int:
    """Return the bytes of memory; 32 GB if unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows
        return 2**35


def check_learning_rate(value: Any) -> None:
    """Raise `InputError` unless the value is above 0 and at most 1,000."""
    is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not is_number or not value > 0:
        raise InputError(f"learning_rate={_short(value)} is not above 0; try 0.001")
    if value > 1000:
        raise InputError(f"learning_rate={_short(value)} is too large; use at most 1,000, or try 0.001")


def check_widths(name: str, widths: Sequence[int]) -> None:
    """Raise `InputError` unless these are valid layer widths."""
    given = list(widths) if isinstance(widths, (Sequence, np.ndarray)) else []
    if not given or any(isinstance(w, bool) or not isinstance(w, (int, np.integer)) or w < 1 for w in given):
        raise InputError(f"{name}={_short(widths)} are not layer widths; use integers >= 1 such as (1024, 128)")
    if max(given) > LIMITS["width"]:
        raise InputError(f"{name}={_short(widths)} is too wide; use at most {LIMITS['width']:,}")


def check_class_weight(value: Any) -> None:
    """Raise `InputError` unless the value is None, "balanced" or a dict of positive weights."""
    if value is None or value == "balanced":
        return
    if not isinstance(value, Mapping) or not all(isinstance(w, Real) and float(w) > 0 for w in value.values()):
        raise InputError(f"class_weight={value!r} is unknown; use None, 'balanced' or a dict from class to weight > 0")


def check_sample_weight(given: Any, graphs: int) -> NDArray[np.float64]:
    """Return one finite weight >= 0 per graph; not all may be 0."""
    weights = np.asarray(given, dtype=np.float64)
    if weights.shape != (graphs,):
        raise InputError(f"sample_weight has shape {weights.shape}; give one number >= 0 for each of {graphs}")
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        i = int(wrong.argmax())
        raise InputError(f"sample_weight[{i}] is {weights[i]:g}; weights are finite numbers >= 0")
    if not weights.any():
        raise InputError("sample_weight is 0 for every graph; give at least one a positive weight")
    return weights
