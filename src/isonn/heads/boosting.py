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
#: A tree sees this share of the columns, more for numbers than for classes. Half instead of a fifth lowered the RMSE
#: of trees in six of seven Murcko folds of numbers (ESOL .65 to .62, FreeSolv 1.22 to 1.15); a tenth raised the AUROC
#: of small sets of classes (Bioavailability .65 to .69) and left larger ones (BACE, Ames) as they were.
SHARE_FOR_NUMBERS, SHARE_FOR_CLASSES = 0.5, 0.1
#: A tree sees at least so many columns, since single columns hold no logic.
LEAST_COLUMNS = 64
#: A tree has one leaf per so many graphs, within these limits: there are more columns than graphs, but large sets hold
#: more logic. On two folds of Ames, 15 / 31 / 63 / 127 leaves had AUROC .892 / .899 / .901 / .900.
GRAPHS_PER_LEAF, FEWEST_LEAVES, MOST_LEAVES = 100, 15, 63
#: The gain of a split is multiplied by this for each further node of its piece, so that of two pieces that tell graphs
#: apart equally well the smaller is taken. With 1 / .9 / .8, bonds of two rules joined by AND had AUROC .859 / .883 /
#: .898; held-out molecules of seven sets were predicted equally well with 1 and .9, worse with .8.
PREFERENCE = 0.9
#: Fixed for all data.
SETTINGS = {
    "learning_rate": 0.05,
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


def train(counts: csr_array, sizes: IntArray, jobs: Sequence[Job], seed: int) -> list[TreeArrays]:
    """Train one model per job on rows of counts (n, q); results do not depend on the number of threads or the place."""
    run = _RUN.get()
    if run is None:
        return _train_all(counts, sizes, jobs, seed)
    (models,) = run([(_train_all, (counts, sizes, jobs, seed))])
    return list(models)


def _train_all(counts: csr_array, sizes: IntArray, jobs: Sequence[Job], seed: int) -> list[TreeArrays]:
    import_lightgbm()
    # here and not in the threads, where the last to end would leave every warning of the process ignored
    with warnings.catch_warnings(), ThreadPoolExecutor(min(threads(), max(1, len(jobs)))) as pool:
        warnings.simplefilter("ignore")
        return list(pool.map(lambda job: _train(counts, sizes, job, seed), jobs))


def _train(counts: csr_array, sizes: IntArray, job: Job, seed: int) -> TreeArrays:
    if not counts.shape[1] or not len(job.rows) or (job.targets == job.targets[0]).all():
        return _constant(job)
    lightgbm = import_lightgbm()
    settings = settings_for(job.objective, len(job.rows), counts.shape[1], seed)
    settings["feature_contri"] = (PREFERENCE ** (sizes - 1.0)).tolist()
    if job.objective == "multiclass":
        settings["num_class"] = job.outputs
    every = len(job.rows) == counts.shape[0] and bool((np.diff(job.rows) == 1).all())
    table = csr_matrix(counts if every else counts[job.rows])  # LightGBM does not read sparse arrays
    data = lightgbm.Dataset(table, job.targets, weight=job.weights, params=settings).construct()
    del table  # LightGBM has its own copy
    booster = lightgbm.train(settings, data, ROUNDS)
    return from_text(booster.model_to_string(), job.outputs)


def settings_for(objective: str, graphs: int, columns: int, seed: int) -> dict[str, Any]:
    """Return LightGBM's settings for "binary", "multiclass" or "regression" on so many graphs and columns."""
    share = SHARE_FOR_NUMBERS if objective == "regression" else SHARE_FOR_CLASSES
    return SETTINGS | {
        "objective": objective,
        "num_leaves": min(MOST_LEAVES, max(FEWEST_LEAVES, graphs // GRAPHS_PER_LEAF)),
        "feature_fraction": min(1.0, max(share, LEAST_COLUMNS / columns)),
        "seed": seed % 2**31,
    }


def _constant(job: Job) -> TreeArrays:
    """Return trees of one leaf: the mean of numbers, or class shares with one more graph of each class."""
    if job.objective == "regression":
        mean = np.average(job.targets, weights=job.weights) if len(job.rows) else 0.0
        return TreeArrays.leaves(np.array([mean]))
    logs = np.log(np.bincount(job.targets.astype(np.int64), job.weights, minlength=max(2, job.outputs)) + 1)
    return TreeArrays.leaves(logs if job.objective == "multiclass" else logs[1:] - logs[:1])


def from_text(text: str, outputs: int) -> TreeArrays:
    """Read the trees of LightGBM's own text, which must come from this process: its fields are not checked."""
    blocks = text.partition("\nend of trees")[0].split("\nTree=")[1:]
    return TreeArrays.join([_tree(block) for block in blocks], [i % outputs for i in range(len(blocks))])


def _tree(block: str) -> TreeArrays:
    """Read one tree; every node comes before its children: splits first, then leaves."""
    fields = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)

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
    none, first = np.zeros(leaves, dtype=np.int32), np.zeros(1, dtype=np.int32)
    return TreeArrays(
        np.concatenate([column("split_feature", int), none - 1]).astype(np.int32),
        np.concatenate([threshold, np.zeros(leaves)]),
        np.concatenate([nan_left, none > 0]).astype(np.bool_),
        np.concatenate([left, none]).astype(np.int32),
        np.concatenate([right, none]).astype(np.int32),
        np.concatenate([np.zeros(splits), column("leaf_value")]),
        first,
        first,
    )
