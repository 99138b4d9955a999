"""Small tables of counts and targets for tests of heads."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from isonn.heads import Inputs
from isonn.targets import Classes, Labels, Numbers

SIZE = 60


def counts(seed=0, rows=SIZE, columns=8):
    """Counts like those of pieces: small, many zeros; no two rows are equal."""
    generator = np.random.default_rng(seed)
    values = generator.integers(0, 5, (rows, columns)) * (generator.random((rows, columns)) < 0.6)
    values[:, 0] = np.arange(rows) % 7
    values[:, 1] = np.arange(rows)
    return values.astype(float)


def inputs_of(values):
    """Inputs whose features are the scaled counts, as those of pieces are."""
    values = np.asarray(values, dtype=float)
    norm = np.sqrt((values**2).sum(axis=1, keepdims=True)) + 1
    return Inputs(csr_array(values / norm), csr_array(values))


def targets_of(values):
    """One target of every kind, from counts: its name, with ``y``."""
    logic = (values[:, 0] > 2) & (values[:, 2] > 0)
    gaps = np.where(np.arange(len(values)) % 4, values[:, 1], np.nan)
    return {
        "two classes": np.where(logic, "yes", "no"),
        "three classes": (values[:, 0] % 3).astype(int),
        "labels": np.column_stack([logic, values[:, 3] > 1]).astype(float),
        "labels with gaps": np.column_stack([logic, np.where(np.arange(len(values)) % 5, values[:, 3] > 1, np.nan)]),
        "a number": values[:, 0] * 2 - values[:, 2],
        "numbers with gaps": np.column_stack([values[:, 0], gaps]),
    }


KINDS = list(targets_of(counts()))


def target_of(y):
    """The target that fits ``y``."""
    if y.ndim == 1 and y.dtype.kind != "f":
        return Classes.fit(y)
    return Labels.fit(y) if y.ndim == 2 and set(np.unique(y[np.isfinite(y)])) <= {0, 1} else Numbers.fit(y)
