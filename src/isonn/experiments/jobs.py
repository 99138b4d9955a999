"""One job: one method trained and tested on one fold. What is run, and what comes out of it."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, f1_score
from threadpoolctl import threadpool_limits

from isonn import __version__
from isonn.audit import relabelling
from isonn.errors import InputError, IsoNNWarning
from isonn.experiments.methods import METHODS, build
from isonn.experiments.protocols import find_protocol
from isonn.graphs.graph import GraphSet
from isonn.packing import IntArray
from isonn.seeding import derive_seed

#: Of the test graphs of each job. A table averages over folds and seeds, so that three are many.
RELABELLINGS = 3


@dataclass(frozen=True)
class Job:
    """A method on one fold of a dataset.

    Attributes:
        dataset: its name.
        method, settings: what is trained: a name of `methods.METHODS`, and arguments of its estimator.
        protocol, fold: a name of `protocols.PROTOCOLS`, and which of its folds.
        seed: draws the folds and the weights.
        digest: SHA-256 of the graphs and targets (`GraphSet.digest`): other data is another job.
        candidates: settings to choose from on a part of the training graphs, each added to ``settings``; empty if
            nothing is chosen.
        version: of the method (`Method.version`): a method that computes something else now is another job.
    """

    dataset: str
    method: str
    settings: Mapping[str, Any]
    protocol: str
    fold: int
    seed: int
    digest: str
    candidates: tuple[Mapping[str, Any], ...] = field(default=())
    version: int = 1

    @cached_property
    def id(self) -> str:
        """Hash of everything above; the name of the job's result."""
        return hashlib.sha256(_canonical(self.as_dict()).encode()).hexdigest()[:32]

    def as_dict(self) -> dict[str, Any]:
        """The job for JSON, without the fields that the first jobs did not have and that say nothing here.

        So the ids of stored results stay valid: they are hashes of this.
        """
        content = asdict(self)
        candidates, version = list(content.pop("candidates")), content.pop("version")
        return {
            **content,
            **({"candidates": candidates} if candidates else {}),
            **({"version": version} if version != 1 else {}),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Job:
        """The job that `as_dict` wrote."""
        for name, kind in _KINDS.items():
            if not isinstance(content[name], kind) or isinstance(content[name], bool):
                raise ValueError(f"{name}={content[name]!r} is not part of a job")
        known = {field.name for field in fields(cls)}
        return cls(**{**{k: v for k, v in content.items() if k in known}, "candidates": _candidates(content)})

    @property
    def weight_seed(self) -> int:
        """The seed of the estimator: from all of the job but its fold, so that no fold is given a seed of its own."""
        rest = {key: value for key, value in self.as_dict().items() if key not in ("fold", "seed")}
        return derive_seed(self.seed, "weights", _canonical(rest))


_KINDS = {"dataset": str, "method": str, "settings": dict, "protocol": str, "fold": int, "seed": int, "digest": str}


def _candidates(content: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    return tuple(dict(candidate) for candidate in content.get("candidates", ()))


def plan(
    graphs: GraphSet,
    methods: Iterable[str],
    settings: Mapping[str, Mapping[str, Any]],
    protocol: str,
    seeds: int,
    candidates: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
) -> list[Job]:
    """The jobs of an evaluation: seeds 0, 1, ... of every method on every fold, seed by seed.

    Args:
        settings: by method; a method that is not there runs with its defaults.
        seeds: how many.
        candidates: by method; settings to choose from under a protocol that chooses, ignored under others.
    """
    if seeds < 1:
        raise InputError(f"{seeds} seeds leave nothing to run; use at least 1")
    judged = find_protocol(protocol)
    n_folds = len(judged.split(graphs, 0))
    methods = tuple(methods)
    choices = {
        method: tuple(dict(c) for c in (candidates or {}).get(method, ())) if judged.inner is not None else ()
        for method in methods
    }
    return [
        Job(
            dataset=graphs.name,
            method=method,
            settings=dict(settings.get(method, {})),
            protocol=protocol,
            fold=fold,
            seed=seed,
            digest=graphs.digest,
            candidates=choices[method],
            version=METHODS[method].version if method in METHODS else 1,
        )
        for seed in range(seeds)
        for method in methods
        for fold in range(n_folds)
    ]


def run_job(job: Job, graphs: GraphSet) -> dict[str, Any]:
    """Train and test; the result is ready for JSON and, its ``timings`` apart, the same wherever it is run.

    Returns:
        ``id``, ``job``, ``metrics`` (accuracy, f1), ``timings`` (fit_seconds, predict_seconds), ``n_train``,
        ``n_test``, ``test`` (which graphs), ``predictions`` (in that order), ``audit`` (flip_rate: the share of
        predictions that change when the test graphs are relabelled), ``loss`` (by epoch, of methods that keep one),
        ``warnings`` (what isonn warned of), ``chosen`` and ``inner`` (of a job with candidates: which one,
        and the accuracy of each), and where it comes from: ``versions``, ``commit`` (of a checkout of isonn, else None)
        and ``machine``.
    """
    if graphs.digest != job.digest:
        raise InputError(f"the graphs given are not the {job.dataset} of the job; load the set the job was made from")
    if graphs.y is None or graphs.classes is None:
        raise InputError(f"{graphs.name} has no classes to predict; give one per graph")
    train, test = find_protocol(job.protocol).split(graphs, job.seed)[job.fold]
    said: list[str] = []
    with _one_thread(), _listening(said):
        begin = time.perf_counter()
        inner = [_judge(job, candidate, graphs, train) for candidate in job.candidates]
        chosen = job.candidates[int(np.argmax(inner))] if inner else {}  # of equals the first
        estimator = build(job.method, {**job.settings, **chosen}, job.weight_seed, int(graphs.sizes.max()))
        start = time.perf_counter()
        estimator.fit(graphs[train], graphs.y[train])
        fitted = time.perf_counter()
        predicted = np.asarray(estimator.predict(graphs[test]))
        done = time.perf_counter()
        audit = relabelling(estimator, graphs[test], repeats=RELABELLINGS, random_state=job.weight_seed)
    result: dict[str, Any] = {
        "id": job.id,
        "job": job.as_dict(),
        "metrics": score(graphs.y[test], predicted, graphs.classes),
        "timings": {"fit_seconds": fitted - start, "predict_seconds": done - fitted},
        "n_train": len(train),
        "n_test": len(test),
        "test": test.tolist(),
        "predictions": predicted.tolist(),
        "audit": {"flip_rate": audit.flip_rate},
        **provenance(),
    }
    if said:
        result["warnings"] = said
    if inner:
        result["chosen"], result["inner"] = dict(chosen), inner
        result["timings"]["choose_seconds"] = start - begin
    history = getattr(estimator, "history_", None)
    if history is not None:
        result["loss"] = [float(loss) for loss in history.loss]
    return result


def _judge(job: Job, candidate: Mapping[str, Any], graphs: GraphSet, train: IntArray) -> float:
    """Accuracy of a candidate on the part of the training graphs that judges; no test graph is looked at."""
    inner = find_protocol(job.protocol).inner
    if inner is None or graphs.y is None or graphs.classes is None:
        raise InputError(f"the {job.protocol} protocol chooses no settings; give none to choose from")
    fit, judge = inner(graphs, train, job.seed)
    estimator = build(job.method, {**job.settings, **candidate}, job.weight_seed, int(graphs.sizes.max()))
    estimator.fit(graphs[fit], graphs.y[fit])
    return score(graphs.y[judge], np.asarray(estimator.predict(graphs[judge])), graphs.classes)["accuracy"]


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


@contextmanager
def _listening(said: list[str]) -> Iterator[None]:
    """Keep what isonn warns of, each sentence once; in a table of a hundred fits nobody reads it as it comes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", IsoNNWarning)
        yield
    for warning in caught:
        if not issubclass(warning.category, IsoNNWarning):
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        elif str(warning.message) not in said:
            said.append(str(warning.message))


@contextmanager
def _one_thread() -> Iterator[None]:
    """One thread for every library: sums split over threads differ in the last bits, and processes share the cores."""
    torch = sys.modules.get("torch")  # loaded later, it is for the method to say how many threads it has
    before = torch.get_num_threads() if torch is not None else 1
    with threadpool_limits(limits=1):
        if torch is not None:
            torch.set_num_threads(1)  # also the MKL linked into it, which threadpoolctl cannot see
        try:
            yield
        finally:
            if torch is not None:
                torch.set_num_threads(before)


# Where a result comes from: versions, commit, machine.


#: The whole source: a result depends on more than this package of it.
_FOLDER = Path(__file__).parents[1]


@lru_cache(maxsize=1)
def provenance() -> dict[str, Any]:
    """``versions`` of what computes, ``commit`` of the checkout isonn runs from (or None), and the ``machine``.

    The machine is described, not named: results are meant to be published.
    """
    return {"versions": versions(), "commit": _commit(), "machine": _machine()}


def versions() -> dict[str, str]:
    """Of isonn, Python and the libraries that compute."""
    found = {"isonn": __version__, "python": platform.python_version()}
    # read from metadata: trivial methods never load torch
    for package in ("numpy", "scipy", "scikit-learn", "torch", "igraph"):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found


def _commit() -> str | None:
    """The commit, with a plus sign when the source differs from it; None outside a checkout of isonn."""
    if not (_FOLDER.parents[1] / "pyproject.toml").is_file():
        return None  # installed: a repository found further up would be someone else's
    commit = _git("rev-parse", "--short=12", "HEAD")
    if not commit:
        return None
    return commit + ("+" if _git("status", "--porcelain", "--untracked-files=no", "--", ".") else "")


def _git(*arguments: str) -> str:
    try:
        run = subprocess.run(["git", *arguments], cwd=_FOLDER, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return run.stdout.strip() if run.returncode == 0 else ""


def _machine() -> dict[str, Any]:
    return {
        "system": platform.system(),
        "processor": _processor() or platform.machine(),
        "cores": os.cpu_count(),
    }


def _processor() -> str:
    """What the processor calls itself, where the system tells."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor()


# How good predictions are, as fractions of 1.


def score(truth: NDArray[Any], predicted: NDArray[Any], classes: NDArray[Any]) -> dict[str, float]:
    """Accuracy and F1.

    Two classes: F1 of the larger label, the paper's +1. More: the mean of the F1 of each class (macro).
    Indicator matrix: a graph counts as right when all its labels are (subset accuracy), F1 over all
    labels at once (micro). The positive class, when it is neither predicted nor there, has an F1 of 0; of more than
    two, a class that is neither does not count.
    """
    if truth.ndim == 2:
        f1 = f1_score(truth, predicted, average="micro", zero_division=0)
    elif len(classes) == 2:
        positive = classes[-1]
        f1 = f1_score(truth == positive, predicted == positive, zero_division=0)
    else:
        f1 = f1_score(truth, predicted, average="macro", zero_division=0)
    return {"accuracy": float(np.float64(accuracy_score(truth, predicted))), "f1": float(f1)}
