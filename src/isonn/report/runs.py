"""The results in a folder, read without changing it.

Unfinished runs can be shown too: missing, failed and damaged jobs are counted and reported.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from isonn.errors import DatasetError, InputError
from isonn.experiments.jobs import Job
from isonn.experiments.methods import METHODS
from isonn.experiments.protocols import find_protocol
from isonn.experiments.rows import MEAN, Row, summarize
from isonn.experiments.source import Source
from isonn.experiments.spec import load_spec
from isonn.experiments.store import Store
from isonn.graphs.datasets.registry import find
from isonn.graphs.graph import GraphSet

#: Rows that a learned method has to beat.
TRIVIAL = ("majority", "size", "degrees", "edges")


def shown_name(row: Row) -> str:
    """Return the name of a row's method for people: for numbers, "majority" predicts the mean."""
    return "mean" if row.method == "majority" and "rmse" in row.metrics else row.method


@dataclass(frozen=True, eq=False)
class Group:
    """The jobs of one dataset under one protocol.

    Attributes:
        name: its name on the page: that of the dataset, with the protocol if a dataset has several.
        jobs: all its jobs, including those without a result.
        results, errors: by job id.
    """

    name: str
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

    @cached_property
    def rows(self) -> list[Row]:
        """The result table."""
        every = summarize(self.jobs, self.results, self.errors, load_spec("table"))
        return [row for row in every if row.target in ("", MEAN)]  # for several targets, their mean

    def label(self, row: Row) -> str:
        """Return the name of a row's method, with the settings that distinguish it from others of that name."""
        same = [other for other in self.rows if other.method == row.method]
        if len(same) == 1:
            return shown_name(row)
        differ = [key for key in row.settings if len({json.dumps(o.settings.get(key)) for o in same}) > 1]
        return f"{shown_name(row)} {', '.join(f'{key}={row.settings[key]}' for key in differ)}".strip()

    def finished(self, row: Row) -> list[tuple[Job, Mapping[str, Any]]]:
        """Return the finished jobs of a row of the table, each with its result."""
        return [
            (job, self.results[job.id])
            for job in self.jobs
            if job.id in self.results
            and job.method == row.method
            and not job.permutation
            and dict(job.settings) == dict(row.settings)
            and len(job.candidates) == row.candidates
        ]


@dataclass(frozen=True)
class Run:
    """A folder of results.

    Attributes:
        groups: by dataset and protocol.
        damaged: names of files that could not be read.
        summary: content of ``results.json``, or {}.
    """

    folder: Path
    groups: tuple[Group, ...]
    damaged: tuple[str, ...]
    summary: Mapping[str, Any]

    @property
    def left_out(self) -> dict[str, str]:
        """Methods that do not support the data, with the reason."""
        reasons = self.summary.get("left_out")
        return {str(name): str(reason) for name, reason in reasons.items()} if isinstance(reasons, dict) else {}

    def source(self, dataset: str) -> Source | None:
        """Return where the graphs of a dataset came from, if that is known."""
        about = self.summary.get("dataset")
        if not isinstance(about, dict) or about.get("name") != dataset:
            return None
        return Source.from_json(self.summary.get("source"), self.folder)


def read_run(folder: Path) -> Run:
    """Read a folder written by `isonn evaluate`; raise `InputError` if it has no results."""
    store = Store(folder, read_only=True)
    jobs: dict[str, Job] = {}
    results: dict[str, Mapping[str, Any]] = {}
    errors: dict[str, str] = {}
    for job, outcome in store.outcomes():
        jobs[job.id] = job
        if "metrics" in outcome:
            results[job.id] = outcome
        elif job.id not in results:
            errors[job.id] = str(outcome.get("error", "no reason was kept"))
    if not results:
        reasons = f"; every job failed: {next(iter(errors.values()))}" if errors else ""
        raise InputError(f"{folder} has no finished result{reasons}; run isonn evaluate first")
    damaged = tuple(path.name for path in store.set_aside)
    return Run(folder, _groups(jobs, results, errors), damaged, store.summary())


def find_graphs(run: Run, group: Group, given: str | None = None) -> tuple[GraphSet | None, str]:
    """Load the graphs of a group, or return the reason why they are not available.

    Args:
        given: a name or path to load them from; None uses the data of the run, if it is on this machine.
    """
    source = run.source(group.dataset) or Source(group.dataset)
    data = source.data if given is None else given
    if given is None and not _is_here(data):  # pages never download
        return None, f"{data} is not on this machine; give the file of its graphs to show them"
    try:
        graphs = replace(source, data=data).load()
    except (DatasetError, InputError) as error:
        if given is not None:
            raise
        return None, str(error)
    for version in (graphs, graphs.scaled()):
        if _digest(group.protocol, version) == group.digest:
            return version, ""
    sentence = f"{data} differs from the data that was evaluated (SHA-256 {graphs.digest[:12]} and {group.digest[:12]})"
    if given is not None:
        raise InputError(f"{sentence}; give the data of the run")
    return None, sentence


def _is_here(data: str) -> bool:
    try:
        return Path(data).expanduser().exists() or find(data) is not None
    except DatasetError:  # not the name of a dataset, so it was a file
        return False


def _digest(protocol: str, graphs: GraphSet) -> str:
    try:
        return find_protocol(protocol).digest(graphs)
    except InputError:  # the set has no such column
        return ""


def _groups(
    jobs: Mapping[str, Job], results: Mapping[str, Mapping[str, Any]], errors: Mapping[str, str]
) -> tuple[Group, ...]:
    by_data: dict[tuple[str, str, str], list[Job]] = {}
    for job in jobs.values():
        by_data.setdefault((job.dataset, job.protocol, job.digest), []).append(job)
    datasets = [dataset for dataset, _, _ in by_data]
    groups = []
    for (dataset, protocol, digest), members in sorted(by_data.items()):
        folds = 1 + max(job.fold for job in members)
        wanted: dict[str, Job] = {}
        # A stopped run has no list of its jobs, but a seed with one fold has them all.
        for job in members:
            for fold in range(folds):
                other = replace(job, fold=fold)
                wanted[other.id] = other
        ordered = sorted(wanted.values(), key=_place)
        name = dataset if datasets.count(dataset) == 1 else f"{dataset}, {protocol} protocol"
        groups.append(Group(name, dataset, protocol, digest, tuple(ordered), results, errors))
    return tuple(groups)


def _place(job: Job) -> tuple[Any, ...]:
    """Return the sort key: learned methods first, IsoNN before the others, trivial rows last."""
    names = list(METHODS)
    number = names.index(job.method) if job.method in names else len(names)
    return (
        job.method in TRIVIAL,
        number,
        job.method,
        json.dumps(dict(job.settings), sort_keys=True),
        job.seed,
        job.fold,
    )
