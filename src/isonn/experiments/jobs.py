"""Jobs and their results; a job trains and tests one method on one fold."""

from __future__ import annotations

import hashlib
import json
import os
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from isonn.aligned.exchange import Exchange, as_groups
from isonn.audit import relabelling
from isonn.errors import InputError, IsoNNWarning
from isonn.estimator import GraphClassifier, GraphEstimator
from isonn.experiments.methods import METHODS, build
from isonn.experiments.protocols import Protocol, find_protocol, targets
from isonn.experiments.provenance import provenance
from isonn.graphs.graph import GraphSet
from isonn.graphs.splits import Fold
from isonn.packing import IntArray
from isonn.params import check_count
from isonn.scores import METRICS, column_scores, score
from isonn.seeding import derive_seed, numpy_stream, torch_threads
from isonn.targets import target_kind

# Layers of 100 million weights get huge pages, which takes a third off a training step on Linux. torch reads this when
# it first allocates memory; results do not depend on it.
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")

#: Relabellings of the test graphs per job. Tables average over folds and seeds, so three are enough.
RELABELLINGS = 3


@dataclass(frozen=True)
class Job:
    """One method on one fold of a dataset.

    Attributes:
        dataset: the name of the dataset.
        method, settings: a name of `methods.METHODS`, and arguments of its estimator.
        protocol, fold: a name of `protocols.PROTOCOLS`, and the number of the fold.
        seed: seed of the folds and the weights.
        digest: SHA-256 of the graphs and targets (`GraphSet.digest`), so other data makes another job.
        candidates: settings to choose from by validation on training graphs, each added to ``settings``; empty if none
            are chosen.
        version: version of the method (`Method.version`); a new version makes another job.
        permutation: 0, or the number of a permutation of the targets, which measures the method on data without signal.
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
    permutation: int = 0

    @cached_property
    def id(self) -> str:
        """Hash of all fields; the file name of the result."""
        return hashlib.sha256(_canonical(self.as_dict()).encode()).hexdigest()[:32]

    def as_dict(self) -> dict[str, Any]:
        """Return the job for JSON, without newer fields that have their default values.

        Ids are hashes of this dict, so ids of older results stay valid.
        """
        content = {**asdict(self), "candidates": list(self.candidates)}
        return {name: value for name, value in content.items() if name not in _LEFT_OUT or value != _LEFT_OUT[name]}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Job:
        """Read a job written by `as_dict`."""
        for name, kind in _KINDS.items():
            if not isinstance(content[name], kind) or isinstance(content[name], bool):
                raise ValueError(f"{name}={content[name]!r} is not part of a job")
        names = {field.name for field in fields(cls)}
        candidates = tuple(map(dict, content.get("candidates", ())))
        return cls(**{**{k: v for k, v in content.items() if k in names}, "candidates": candidates})

    @property
    def weight_seed(self) -> int:
        """The seed of the estimator, a hash of all fields but the fold, so all folds share it."""
        rest = {key: value for key, value in self.as_dict().items() if key not in ("fold", "seed")}
        return derive_seed(self.seed, "weights", _canonical(rest))


#: Fields that `Job.as_dict` omits if they have these values.
_LEFT_OUT: dict[str, Any] = {"candidates": [], "version": 1, "permutation": 0}
_KINDS = {"dataset": str, "method": str, "settings": dict, "protocol": str, "fold": int, "seed": int, "digest": str}


def plan(
    graphs: GraphSet,
    methods: Sequence[str],
    settings: Mapping[str, Mapping[str, Any]],
    protocol: str,
    seeds: int,
    candidates: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
) -> list[Job]:
    """Plan an evaluation: every method on every fold for seeds 0, 1, ..., in the order of the seeds.

    Args:
        settings: settings by method; other methods use their defaults.
        seeds: number of seeds.
        candidates: settings to choose from, by method; ignored by protocols that do not choose settings.
    """
    if seeds < 1:
        raise InputError(f"seeds must be at least 1, got {seeds}")
    check_count("seeds", seeds)
    judged = find_protocol(protocol)
    n_folds, digest = len(judged.split(graphs, 0)), judged.digest(graphs)
    choices = candidates if candidates is not None and judged.chooses else {}
    return [
        Job(
            dataset=graphs.name,
            method=method,
            settings=dict(settings.get(method, {})),
            protocol=protocol,
            fold=fold,
            seed=seed,
            digest=digest,
            candidates=tuple(dict(candidate) for candidate in choices.get(method, ())),
            version=METHODS[method].version if method in METHODS else 1,
        )
        for seed in range(seeds)
        for method in methods
        for fold in range(n_folds)
    ]


#: Methods that do not look at the graphs.
BLIND = ("majority",)


def permuted(jobs: Iterable[Job], permutations: int) -> list[Job]:
    """Return the jobs of seed 0 with permuted targets, once per permutation.

    Methods that ignore the graphs are left out: for them, permuted targets are as good as the true ones.
    """
    check_count("permutations", permutations)
    first = [job for job in jobs if job.seed == 0 and job.method not in BLIND]
    return [replace(job, permutation=number) for number in range(1, permutations + 1) for job in first]


def run_job(job: Job, graphs: GraphSet) -> dict[str, Any]:
    """Train and test; return a result for JSON that, except for ``timings``, is the same on every machine.

    Returns:
        ``id``, ``job``, ``metrics`` (see `isonn.scores`; means over several ``targets``, with each under
        ``by_target``), ``timings`` (fit_seconds, cpu_seconds of the fit, predict_seconds), ``n_train``, ``n_test``,
        ``test`` (indices), ``predictions`` (in that order), ``audit`` (for classifiers; flip_rate: the share of
        predictions that change when the test graphs are relabelled), ``loss`` (by epoch, if the method records it),
        ``warnings`` (of isonn), ``chosen`` and ``inner`` (with candidates: the choice, and the first metric of each),
        ``versions``, ``commit`` (of the isonn checkout, else None) and ``machine``.
    """
    protocol = find_protocol(job.protocol)
    y = targets(graphs)
    if protocol.digest(graphs) != job.digest:
        raise InputError(f"the graphs differ from the {job.dataset} of the job; load the set the job was planned for")
    folds = protocol.split(graphs, job.seed)
    train, test = folds[job.fold]
    if job.permutation:
        graphs = _permuted(graphs, protocol, folds, numpy_stream(job.seed, "permutation", job.permutation))
        y = targets(graphs)
    said: list[str] = []
    # thread counts change the last bits of sums, and processes share the cores
    with threadpool_limits(1), torch_threads(1), _collecting_warnings(said):
        begin = time.perf_counter()
        inner = [_judge(job, candidate, graphs, train) for candidate in job.candidates]
        best = np.argmax if METRICS[protocol.metrics(target_kind(y))[0]].larger else np.argmin
        chosen = job.candidates[int(best(inner))] if inner else {}  # the first of equals
        estimator = _estimator(job, chosen, graphs)
        start, cpu = time.perf_counter(), _cpu_seconds()
        estimator.fit(graphs[train], y[train])
        fitted, cpu = time.perf_counter(), _cpu_seconds() - cpu
        answers = estimator._all_answers(graphs[test])
        done = time.perf_counter()
        flips = None
        # the regions of an atlas are fixed, so relabelled connectomes are not equivalent
        if isinstance(estimator, GraphClassifier) and not job.permutation and not _on_an_atlas(graphs, estimator):
            flips = relabelling(estimator, graphs[test], repeats=RELABELLINGS, random_state=job.weight_seed).flip_rate
    result: dict[str, Any] = {
        "id": job.id,
        "job": job.as_dict(),
        "metrics": score(estimator.target_, y[test], answers),
        "timings": {"fit_seconds": fitted - start, "cpu_seconds": cpu, "predict_seconds": done - fitted},
        "n_train": len(train),
        "n_test": len(test),
        "test": test.tolist(),
        "predictions": estimator.target_.decide(answers).tolist(),
        **provenance(),
    }
    if y.ndim == 2:
        result["targets"] = list(target_names(graphs))  # keeps their order; JSON sorts the dict below
        result["by_target"] = dict(
            zip(result["targets"], column_scores(estimator.target_, y[test], answers), strict=True)
        )
    if flips is not None:
        result["audit"] = {"flip_rate": flips}
    if said:
        result["warnings"] = said
    if inner:
        result["chosen"], result["inner"] = dict(chosen), inner
        result["timings"]["choose_seconds"] = start - begin
    history = getattr(estimator, "history_", None)
    if history is not None:
        result["loss"] = [float(loss) for loss in history.loss]
    return result


def _cpu_seconds() -> float:
    """Return the processor time of this process and its finished children, which other programs do not lengthen."""
    return time.process_time() + sum(os.times()[2:4])


def _on_an_atlas(graphs: GraphSet, estimator: GraphEstimator) -> bool:
    """Return whether the order of nodes has a meaning, so that relabelled graphs are other graphs."""
    return graphs.kind == "connectomes" or hasattr(estimator, "connections_")


def _permuted(graphs: GraphSet, protocol: Protocol, folds: Sequence[Fold], generator: np.random.Generator) -> GraphSet:
    """Permute the targets within each test part, so that folds keep their class proportions.

    Graphs that belong together, such as the sessions of a subject, are exchanged as a block if they have one target,
    and among themselves if not.
    """
    fold_of = np.full(len(graphs), -1)
    for number, (_, test) in enumerate(folds):
        fold_of[test] = number
    y = targets(graphs)
    groups = as_groups(None if protocol.name == "column" else protocol.column or None, graphs)
    columns = y if y.dtype.kind == "f" else np.unique(y, return_inverse=True)[1].reshape(y.shape)
    exchange = Exchange.of(groups, columns.reshape(len(y), -1).astype(np.float64), fold_of)
    return graphs.with_y(y[exchange.draw(2, generator, len(y))[:, 1]])


def target_names(graphs: GraphSet) -> tuple[str, ...]:
    """Return the names of the columns of ``y``, or their numbers if unnamed."""
    columns = targets(graphs).reshape(len(graphs), -1).shape[1]
    return graphs.target_names if len(graphs.target_names) == columns else tuple(map(str, range(columns)))


def _estimator(job: Job, chosen: Mapping[str, Any], graphs: GraphSet) -> GraphEstimator:
    numbers = target_kind(targets(graphs)) == "numbers"
    return build(job.method, {**job.settings, **chosen}, job.weight_seed, int(graphs.sizes.max()), numbers)


def _judge(job: Job, candidate: Mapping[str, Any], graphs: GraphSet, train: IntArray) -> float:
    """Return the first metric of a candidate on the validation part of the training graphs."""
    protocol, y = find_protocol(job.protocol), targets(graphs)
    fit, judge = protocol.inner(graphs, train, job.seed)
    estimator = _estimator(job, candidate, graphs).fit(graphs[fit], y[fit])
    scores = score(estimator.target_, y[judge], estimator._all_answers(graphs[judge]))
    return scores[protocol.metrics(target_kind(y))[0]] or 0.0


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


@contextmanager
def _collecting_warnings(said: list[str]) -> Iterator[None]:
    """Collect the distinct warnings of isonn, for the notes below a table."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", IsoNNWarning)
        yield
    for warning in caught:
        if not issubclass(warning.category, IsoNNWarning):
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        elif str(warning.message) not in said:
            said.append(str(warning.message))
