"""Train boosted trees with LightGBM and return them as arrays; predictions and explanations do not need LightGBM."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix

from isonn.errors import MissingDependencyError
from isonn.heads.tree_arrays import TreeArrays
from isonn.packing import Floats, IntArray
from isonn.processes import Run

#: Number of rounds. A round grows one tree, or one per class.
ROUNDS = 300
#: A tree sees this share of the columns, but at least so many, since single columns hold no logic.
SHARE, LEAST_COLUMNS = 0.2, 64
#: Fixed for all data. Trees are shallow, since there are more columns than graphs.
SETTINGS = {
    "learning_rate": 0.05,
    "num_leaves": 15,
    "min_data_in_leaf": 5,
    "lambda_l2": 1.0,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "max_bin": 15,  # counts have few values
    "feature_pre_filter": False,
    "deterministic": True,
    "force_col_wise": True,
    "num_threads": 1,  # models are trained side by side instead, so that threads never wait for each other
    "verbosity": -1,
}


@dataclass(frozen=True, eq=False)
class Job:
    """A model to train.

    Attributes:
        rows: the graphs to train on, as rows of a table of counts, shape (n,).
        targets, weights: shape (n,).
        objective: "binary", "multiclass" or "regression".
        outputs: number of classes if there are more than two, else 1.
    """

    rows: IntArray
    targets: Floats
    weights: Floats
    objective: str
    outputs: int = 1

    def without(self, out: NDArray[np.bool_]) -> Job:
        """Return the job without the rows of the table that are True in ``out``."""
        stay = ~out[self.rows]
        return replace(self, rows=self.rows[stay], targets=self.targets[stay], weights=self.weights[stay])


def import_lightgbm() -> Any:
    """Import LightGBM, or say what is missing."""
    try:
        import lightgbm
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            "head='auto' needs lightgbm; pip install lightgbm, or use head='linear'"
        ) from error
    except OSError as error:  # the library of OpenMP is missing
        remedy = "brew install libomp" if sys.platform == "darwin" else "install libgomp1 (apt) or libgomp (dnf, apk)"
        raise MissingDependencyError(f"lightgbm does not load ({error}); {remedy}, or use head='linear'") from error
    return lightgbm


def threads() -> int:
    """Return the number of models to train at a time: the cores, or OMP_NUM_THREADS; one on macOS beside torch.

    There, two OpenMP libraries in one process crash with several threads.
    """
    if sys.platform == "darwin" and "torch" in sys.modules:
        return 1
    limit = os.environ.get("OMP_NUM_THREADS", "")
    cores = int(joblib.cpu_count())
    return min(cores, int(limit)) if limit.isdigit() and int(limit) else cores


#: Runs `train` elsewhere.
_RUN: ContextVar[Run | None] = ContextVar("run", default=None)


@contextmanager
def trained_by(run: Run | None) -> Iterator[None]:
    """Train in this block by a function that runs calls elsewhere, such as on a worker of a cluster; None: here."""
    before = _RUN.set(run)
    try:
        yield
    finally:
        _RUN.reset(before)


def train(counts: csr_array, jobs: Sequence[Job], seed: int) -> list[TreeArrays]:
    """Train one model per job on rows of counts (n, q); results do not depend on the number of threads or the place."""
    run = _RUN.get()
    if run is None:
        return _train_all(counts, jobs, seed)
    (models,) = run([(_train_all, (counts, jobs, seed))])
    return list(models)


def _train_all(counts: csr_array, jobs: Sequence[Job], seed: int) -> list[TreeArrays]:
    import_lightgbm()
    with ThreadPoolExecutor(min(threads(), max(1, len(jobs)))) as pool:
        return list(pool.map(lambda job: _train(counts, job, seed), jobs))


def _train(counts: csr_array, job: Job, seed: int) -> TreeArrays:
    if not counts.shape[1] or not len(job.rows) or (job.targets == job.targets[0]).all():
        return _constant(job)
    lightgbm = import_lightgbm()
    share = min(1.0, max(SHARE, LEAST_COLUMNS / counts.shape[1]))
    settings = SETTINGS | {"objective": job.objective, "feature_fraction": share, "seed": seed % 2**31}
    if job.objective == "multiclass":
        settings["num_class"] = job.outputs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = csr_matrix(counts[job.rows])  # LightGBM does not read sparse arrays
        data = lightgbm.Dataset(table, job.targets, weight=job.weights, params=settings).construct()
        del table  # LightGBM has its own copy
        booster = lightgbm.train(settings, data, ROUNDS)
    return from_text(booster.model_to_string(), job.outputs)


def _constant(job: Job) -> TreeArrays:
    """Return trees of one leaf: the mean of numbers, or class shares with one more graph of each class."""
    if job.objective == "regression":
        mean = np.average(job.targets, weights=job.weights) if len(job.rows) else 0.0
        return TreeArrays.leaves(np.array([mean]))
    logs = np.log(np.bincount(job.targets.astype(np.int64), job.weights, minlength=max(2, job.outputs)) + 1)
    return TreeArrays.leaves(logs if job.objective == "multiclass" else logs[1:] - logs[:1])


def from_text(text: str, outputs: int) -> TreeArrays:
    """Read the trees of LightGBM's own text, which must come from this process: its fields are not checked."""
    trees = []
    for block in text.partition("\nend of trees")[0].split("\nTree=")[1:]:
        fields = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        trees.append(_nodes(fields))
    return TreeArrays.join(trees, outputs)


def _nodes(fields: dict[str, str]) -> dict[str, Any]:
    """Return the nodes of a tree, every node before its children: splits first, then leaves."""

    def column(name: str, kind: type = float) -> Any:
        return np.array(fields.get(name, "").split(), dtype=kind)

    leaves = int(fields["num_leaves"])
    splits = leaves - 1
    threshold, decision = column("threshold"), column("decision_type", int)
    # bit 1: missing values go left; bits 2 and 3: 2 if missing values are NaN, else NaN counts as 0
    nan_left = np.where(decision >> 2 == 2, decision & 2 > 0, threshold >= 0)
    left, right = (
        np.where(child < 0, splits + ~child, child)  # leaves come after the splits
        for child in (column("left_child", int), column("right_child", int))
    )
    return {
        "feature": np.concatenate([column("split_feature", int), np.full(leaves, -1)]),
        "threshold": np.concatenate([threshold, np.zeros(leaves)]),
        "nan_left": np.concatenate([nan_left, np.zeros(leaves, dtype=bool)]),
        "left": np.concatenate([left, np.zeros(leaves, dtype=int)]),
        "right": np.concatenate([right, np.zeros(leaves, dtype=int)]),
        "value": np.concatenate([np.zeros(splits), column("leaf_value")]),
    }
