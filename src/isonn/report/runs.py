"""The results in a folder, read without changing it.

Unfinished runs can be shown too: missing, failed and damaged jobs are counted and reported.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import DatasetError, InputError
from isonn.estimator import load_model
from isonn.experiments.jobs import Job
from isonn.experiments.methods import build
from isonn.experiments.metrics import target_kind
from isonn.experiments.protocols import find_protocol
from isonn.experiments.rows import MEAN, Row, summarize
from isonn.experiments.source import Source
from isonn.experiments.spec import load_spec
from isonn.experiments.store import outcome_files, read_outcome
from isonn.graphs.datasets.registry import find, load
from isonn.graphs.graph import GraphSet

#: Rows that a learned method has to beat.
TRIVIAL = ("majority", "size", "degrees", "edges")


@dataclass(frozen=True)
class Group:
    """The jobs of one dataset under one protocol.

    Attributes:
        jobs: all its jobs, including those without a result.
        results, errors: by job id.
    """

    dataset: str
    protocol: str
    digest: str
    jobs: tuple[Job, ...]
    results: Mapping[str, Mapping[str, Any]]
    errors: Mapping[str, str]

    @property
    def missing(self) -> int:
        """Number of jobs without a result."""
        return sum(job.id not in self.results for job in self.jobs)

    @property
    def seeds(self) -> int:
        """Number of seeds."""
        return len({job.seed for job in self.jobs})

    @property
    def folds(self) -> int:
        """Number of folds per seed."""
        return 1 + max(job.fold for job in self.jobs)

    def rows(self) -> list[Row]:
        """Return the result table."""
        every = summarize(self.jobs, self.results, self.errors, load_spec("table"))
        return [row for row in every if row.target in ("", MEAN)]  # for several targets, their mean

    def of(self, row: Row) -> list[tuple[Job, Mapping[str, Any] | None]]:
        """Return the jobs of a row of the table, each with its result or None."""
        return [(job, self.results.get(job.id)) for job in self.of_every_share(row) if job.share == 1]

    def of_every_share(self, row: Row) -> list[Job]:
        """Return the jobs of a row of the table and of its learning curve."""
        return [
            job
            for job in self.jobs
            if job.method == row.method
            and not job.permutation
            and dict(job.settings) == dict(row.settings)
            and len(job.candidates) == row.candidates
        ]


@dataclass(frozen=True)
class Collected:
    """A folder of results.

    Attributes:
        groups: by dataset and protocol.
        damaged: names of files that could not be read.
        summary: content of ``results.json``, or {}.
        about: content of ``run.json``.
    """

    folder: Path
    groups: tuple[Group, ...]
    damaged: tuple[str, ...]
    summary: Mapping[str, Any]
    about: Mapping[str, Any]

    @property
    def left_out(self) -> dict[str, str]:
        """Methods that do not support the data, with the reason."""
        found = self.summary.get("left_out")
        return {str(name): str(reason) for name, reason in found.items()} if isinstance(found, dict) else {}

    def source(self, dataset: str) -> Source | None:
        """Return where the graphs of a dataset came from, if that is known."""
        about = self.summary.get("dataset")
        if not isinstance(about, dict) or about.get("name") != dataset:
            return None
        return Source.from_json(self.summary.get("source"), self.folder)


def collect(folder: Path) -> Collected:
    """Read a folder written by `isonn evaluate`; raise `InputError` if it has no results."""
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; give a folder written by isonn evaluate")
    about = _json(folder / "run.json")
    if about.get("kind") != "isonn results":
        raise InputError(f"{folder} has no isonn results; give a folder written by isonn evaluate")
    results: dict[str, Mapping[str, Any]] = {}
    errors: dict[str, str] = {}
    damaged: list[str] = []
    jobs: dict[str, Job] = {}
    for path in outcome_files(folder):
        try:
            job, content = read_outcome(path)
        except InputError:
            damaged.append(path.name)
            continue
        if path.suffix == ".json":
            results.setdefault(job.id, content)
        elif job.id not in results:
            errors[job.id] = str(content.get("error", "no reason was kept"))
        jobs[job.id] = job
    if not results:
        reasons = f"; every job failed: {next(iter(errors.values()))}" if errors else ""
        raise InputError(f"{folder} has no finished result{reasons}; run isonn evaluate first")
    return Collected(folder, _groups(jobs, results, errors), tuple(damaged), _json(folder / "results.json"), about)


def find_graphs(group: Group, given: str | None = None, source: Source | None = None) -> tuple[GraphSet | None, str]:
    """Load the graphs of a group, or return the reason why they are not available.

    Args:
        given: a name or path to load them from; None uses ``source``, or a named dataset if it is on this machine.
        source: the source of the run.
    """
    if source is not None and (given is not None or Path(source.data).exists()):
        name = source.data if given is None else given
        try:
            graphs = replace(source, data=name).load()
        except (DatasetError, InputError) as error:
            if given is not None:
                raise
            return None, str(error)
    elif given is not None:
        name, graphs = given, load(given)
    else:
        name = group.dataset
        try:
            here = find(name) is not None
        except DatasetError:  # not a dataset name, so it was a file
            here = False
        if not here:  # pages never download
            return None, f"{name} is not on this machine; give the file of its graphs to show them"
        try:
            graphs = load(name)
        except DatasetError as error:
            return None, str(error)
    for version in (graphs, graphs.scaled()):
        if _digest(group.protocol, version) == group.digest:
            return version, ""
    sentence = f"{name} differs from the data that was evaluated (SHA-256 {graphs.digest[:12]} and {group.digest[:12]})"
    if given is not None:
        raise InputError(f"{sentence}; give the data of the run")
    return None, sentence


def _digest(protocol: str, graphs: GraphSet) -> str:
    try:
        return find_protocol(protocol).digest(graphs)
    except InputError:  # the set has no such column
        return ""


def _groups(
    jobs: Mapping[str, Job], results: Mapping[str, Mapping[str, Any]], errors: Mapping[str, str]
) -> tuple[Group, ...]:
    parts: dict[tuple[str, str, str], list[Job]] = {}
    for job in jobs.values():
        parts.setdefault((job.dataset, job.protocol, job.digest), []).append(job)
    groups = []
    for (dataset, protocol, digest), members in sorted(parts.items()):
        folds = 1 + max(job.fold for job in members)
        wanted: dict[str, Job] = {}
        # A stopped run has no list of its jobs, but a seed with one fold has them all.
        for job in members:
            for fold in range(folds):
                other = replace(job, fold=fold)
                wanted[other.id] = other
        ordered = sorted(wanted.values(), key=_place)
        groups.append(Group(dataset, protocol, digest, tuple(ordered), results, errors))
    return tuple(groups)


def _place(job: Job) -> tuple[Any, ...]:
    """Return the sort key: learned methods first, IsoNN before the others, trivial rows last."""
    from isonn.experiments.methods import METHODS

    names = list(METHODS)
    number = names.index(job.method) if job.method in names else len(names)
    return (
        job.method in TRIVIAL,
        number,
        job.method,
        json.dumps(dict(job.settings), sort_keys=True),
        job.share,
        job.seed,
        job.fold,
    )


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


# The model of the templates and the gallery: one of the run, fitted again, or a saved one.


#: Methods that give explanations, preferred one first.
EXPLAINED = (
    "isonn-subgraph",
    "isonn-aligned",
    "isonn-subgraph-short",
    "isonn-subgraph-linear",
    "isonn",
    "isonn-assigned",
    "isonn-fast",
    "isonn-deep",
    "isonn-deep-relative",
)


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model with the graphs it was fitted to and those it is shown on.

    Attributes:
        train, test: numbers of graphs; for a saved model, whose training graphs are unknown, train is empty.
        sentence: the origin of the model, for the page.
        how: a sentence about the predictions shown.
        method: the run's name for it; "" for a saved model.
    """

    clf: Any
    train: NDArray[np.int64]
    test: NDArray[np.int64]
    sentence: str
    how: str
    method: str = ""


def choose_job(group: Group) -> Job | None:
    """Return the finished job whose model is shown: the preferred method, its first seed and fold."""
    finished = [
        job
        for job in group.jobs
        if job.id in group.results and job.method in EXPLAINED and not job.permutation and job.share == 1
    ]
    return min(finished, key=lambda job: (EXPLAINED.index(job.method), job.seed, job.fold), default=None)


def refit(job: Job, result: Mapping[str, Any], graphs: GraphSet) -> Fitted:
    """Fit the model of a finished job again; the same graphs, settings and seed give the same model."""
    train, test = find_protocol(job.protocol).split(graphs, job.seed)[job.fold]
    chosen = result.get("chosen") or {}
    if graphs.y is None:
        raise InputError(f"{graphs.name} has no classes to fit the model again; give the data of the run")
    numbers = target_kind(graphs.y) == "numbers"
    clf = build(job.method, {**job.settings, **chosen}, job.weight_seed, int(graphs.sizes.max()), numbers)
    clf.fit(graphs[train], graphs.y[train])
    predicted = clf.predict(graphs[test]).tolist()
    same = predicted == result.get("predictions")
    sentence = (
        f"{job.method}, fitted on the {len(train)} training graphs of seed {job.seed}, fold {job.fold}"
        f"{'' if same else ', with predictions that differ from the stored ones (another version of a library?)'}."
    )
    how = f"Held out: the {len(test):,} test graphs of one fold, which the model shown was not fitted to."
    return Fitted(clf, train, test, sentence, how, job.method)


def saved(path: Path, graphs: GraphSet) -> Fitted:
    """Read a model that ``isonn fit`` saved; all graphs are shown, because its training graphs are unknown."""
    clf = load_model(path)
    check_takes(clf, graphs, path)
    sentence = f"{type(clf).__name__} from {path.name}; it may have been fitted to some of these graphs."
    how = "The saved model on all graphs; it may have been fitted to some of them."
    return Fitted(clf, np.zeros(0, dtype=np.int64), np.arange(len(graphs)), sentence, how)


def check_takes(clf: Any, graphs: GraphSet, path: Path) -> None:
    """Raise `InputError` for a model without explanations, or too small for the graphs."""
    if not hasattr(clf, "explain"):
        raise InputError(f"the {type(clf).__name__} in {path} cannot be explained; use a model of isonn fit")
    clf.predict(graphs[:1])
