"""Run a whole experiment: load its datasets, plan its jobs, and collect its rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from isonn.errors import DatasetError, InputError, MissingDependencyError
from isonn.estimator import GraphClassifier
from isonn.experiments.jobs import Job, plan, target_names
from isonn.experiments.methods import METHODS, build, resolve_methods, settings_of
from isonn.experiments.protocols import find_protocol
from isonn.experiments.rows import Row, absent_rows, in_words, summarize
from isonn.experiments.spec import Spec, Sweep
from isonn.experiments.store import Store
from isonn.graphs import known, load
from isonn.graphs.datasets.registry import find
from isonn.graphs.graph import GraphSet
from isonn.targets import target_kind


@dataclass(frozen=True)
class Datasets:
    """The datasets of an experiment.

    Attributes:
        graphs: the loaded sets by name, in the requested order.
        absent: the reasons why datasets could not be loaded, by name; ``private`` lists those without a download.
    """

    graphs: Mapping[str, GraphSet] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    private: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Part:
    """The jobs of one table or figure on one dataset.

    Attributes:
        sweep: the figure, or None for the table.
        dataset: the name of the dataset in `Datasets`.
        left_out: methods or sweep values that cannot be used on the dataset, with the reason.
    """

    sweep: Sweep | None
    dataset: str
    methods: tuple[str, ...]
    jobs: tuple[Job, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the part in file names."""
        return "table" if self.sweep is None else self.sweep.name


def load_datasets(names: Iterable[str], download: bool = True) -> Datasets:
    """Load datasets; note known ones that cannot be loaded, and raise an error for unknown names.

    Args:
        download: whether to fetch datasets that are not on this machine. If not, any name may be absent.
    """
    entries = {entry.name.casefold(): entry for entry in known()}
    graphs: dict[str, GraphSet] = {}
    absent: dict[str, str] = {}
    for name in names:
        entry = entries.get(name.casefold())
        if not download and not Path(name).exists() and (entry is None or find(name) is None):
            absent[entry.name if entry is not None else name] = "its data is not on this machine"
            continue
        try:
            loaded = load(name)
        except DatasetError as error:
            if entry is None:
                raise
            absent[entry.name] = str(error)
        else:
            if graphs.setdefault(loaded.name, loaded).digest != loaded.digest:
                raise InputError(
                    f"{name} has the name {loaded.name}, like another dataset; rename its folder or file, or "
                    f"run it on its own"
                )
    private = {entry.name: entry for entry in entries.values() if entry.url is None and entry.name in absent}
    for name, entry in private.items():  # tables are published, so the reason must not name local folders
        absent[name] = f"{entry.source}; `isonn data info {name}` says where to put it"
    return Datasets(graphs, absent, frozenset(private))


def plan_study(spec: Spec, datasets: Datasets, methods: Sequence[str] | None, protocol: str, seeds: int) -> list[Part]:
    """Plan all jobs of the experiment on these datasets.

    A figure uses its own datasets, or all if none of them was requested.

    Args:
        methods: methods that replace those of the spec; a figure keeps its own if it uses none of these.
    """
    return [
        Part(sweep, name, asked)
        if name in datasets.absent
        else _part(spec, sweep, datasets.graphs[name], asked, protocol, seeds)
        for sweep, name, asked in _asked(spec, datasets, methods)
    ]


def _asked(
    spec: Spec, datasets: Datasets, methods: Sequence[str] | None
) -> Iterator[tuple[Sweep | None, str, tuple[str, ...]]]:
    """Yield the tables or figures on each of their datasets, with the methods, as in `plan_study`."""
    every = (*datasets.graphs, *datasets.absent)
    places = {name: place for place, name in enumerate(spec.datasets)}
    order = sorted(every, key=lambda name: places.get(name, len(every)))
    asked = resolve_methods(methods if methods is not None else spec.methods)
    for sweep in spec.sweeps or (None,):
        names, chosen = order, asked
        if sweep is not None:
            names = [name for name in order if name in sweep.datasets] or order
            chosen = resolve_methods(sweep.methods) if sweep.methods else asked
            chosen = chosen if methods is None else tuple(name for name in chosen if name in asked) or asked
        yield from ((sweep, name, chosen) for name in names)


#: Settings of a row: its name, the settings, and the candidates to choose from.
_Variant = tuple[str, dict[str, Any], tuple[dict[str, Any], ...]]


def _variants(spec: Spec, sweep: Sweep | None, dataset: str, method: str, protocol: str) -> list[_Variant]:
    """Return the rows of a method in a table or figure."""
    if sweep is None:
        return [(method, *table_settings(spec, dataset, method, protocol))]
    values: Iterable[dict[str, Any]] = [{sweep.vary: value} for value in sweep.values] if sweep.vary else [{}]
    return [
        (
            f"{method} with {in_words(value)}" if value else method,
            spec.settings_for(dataset, method, {**sweep.settings, **value}),
            (),
        )
        for value in values
    ]


def _part(
    spec: Spec, sweep: Sweep | None, graphs: GraphSet, methods: tuple[str, ...], protocol: str, seeds: int
) -> Part:
    left_out: dict[str, str] = {}
    jobs: list[Job] = []
    for method in methods:
        for name, common, candidates in _variants(spec, sweep, graphs.name, method, protocol):
            try:
                reason = unsupported_reason(method, common, graphs, candidates)
                if reason is None:
                    jobs += plan(graphs, [method], {method: common}, protocol, seeds, {method: candidates})
            except InputError as error:
                reason = str(error)
            if reason is not None:
                left_out[name] = reason
    jobs.sort(key=lambda job: job.seed)  # ordered by seed, so that early results are comparable
    return Part(sweep, graphs.name, methods, tuple(jobs), left_out)


def stored_parts(
    spec: Spec, datasets: Datasets, methods: Sequence[str] | None, protocol: str, seeds: int, store: Store
) -> list[Part]:
    """Return the parts of `plan_study` from the finished jobs of a store, for which no data is needed.

    Seeds with missing folds are left out. A table without a choice of methods has every stored row, also of methods
    that isonn no longer has.
    """
    finished: dict[str, list[Job]] = {}
    for job, outcome in store.outcomes():
        if "metrics" in outcome and (job.protocol, job.permutation) == (protocol, 0) and job.seed < seeds:
            finished.setdefault(job.dataset, []).append(job)
    parts = []
    for sweep, name, asked in _asked(spec, datasets, methods):
        here = finished.get(name, [])
        whole = sweep is None and methods is None  # also the rows that the spec does not name
        others = [job.method for job in here if whole and job.method not in asked]
        kept = []
        for method in dict.fromkeys((*asked, *others)):
            # the newest version of the method that has run; notes below a table name the versions
            newest = max((job.version for job in here if job.method == method), default=1)
            jobs = [job for job in here if (job.method, job.version) == (method, newest)]
            if method in METHODS:  # those that have the settings of the spec, in its order
                jobs = [
                    replace(job, settings=common)
                    for _, common, candidates in _variants(spec, sweep, name, method, protocol)
                    for job in jobs
                    if _key(job.settings, job.candidates) == _key(common, candidates)
                ]
            kept += jobs
        parts.append(Part(sweep, name, asked, tuple(_whole_seeds(kept))))
    return parts


def _key(settings: Mapping[str, Any], candidates: Sequence[Mapping[str, Any]]) -> str:
    return json.dumps([dict(settings), [dict(candidate) for candidate in candidates]], sort_keys=True, default=list)


def _whole_seeds(jobs: Iterable[Job]) -> list[Job]:
    """Return the jobs of seeds that have every fold, by seed; each job belongs to one dataset and protocol."""
    groups: dict[tuple[str, str, int, int], list[Job]] = {}
    for job in jobs:
        groups.setdefault((job.method, _key(job.settings, job.candidates), job.version, job.seed), []).append(job)
    folds = max(map(len, groups.values()), default=0)
    whole = (group for group in groups.values() if len(group) == folds)
    return [job for group in whole for job in sorted(group, key=lambda job: job.fold)]


def table_settings(
    spec: Spec, dataset: str, method: str, protocol: str, changes: Mapping[str, Any] | None = None
) -> tuple[dict[str, Any], tuple[dict[str, Any], ...]]:
    """Return the settings of a method, and the candidates if the protocol chooses settings."""
    if not find_protocol(protocol).chooses:
        return spec.settings_for(dataset, method, changes), ()
    return spec.candidates_for(dataset, method, changes)


def given_settings(
    spec: Spec, graphs: GraphSet, methods: Sequence[str], protocol: str, given: Mapping[str, Any]
) -> dict[str, tuple[dict[str, Any], tuple[dict[str, Any], ...]]]:
    """Return `table_settings` by method, with the settings that were given for each method that takes them.

    Raises:
        InputError: if no method takes one of the settings.
    """
    takes: dict[str, tuple[str, ...]] = {}
    if given:
        numbers = graphs.y is not None and target_kind(graphs.y) == "numbers"
        takes = {method: settings_of(method, numbers) for method in methods}
    for name in given:
        if not any(name in names for names in takes.values()):
            known = ", ".join(sorted({name for names in takes.values() for name in names})) or "none"
            raise InputError(f"no method of {', '.join(methods)} takes the setting {name}; they take {known}")
    return {
        method: table_settings(
            spec, graphs.name, method, protocol, {name: given[name] for name in given if name in takes[method]}
        )
        for method in methods
    }


def unsupported_reason(
    method: str, settings: Mapping[str, Any], graphs: GraphSet, candidates: Sequence[Mapping[str, Any]] = ()
) -> str | None:
    """Return why the method, with one of the candidates, cannot be used on these graphs, or None.

    Raises:
        InputError: if settings are not valid.
    """
    kind = "classes" if graphs.y is None else target_kind(graphs.y)
    if kind == "numbers" and not METHODS[method].regressor:
        return f"{method} predicts classes, not numbers"
    gaps = kind == "labels" and np.isnan(np.asarray(graphs.y, dtype=float)).any()
    for candidate in candidates or ({},):
        try:
            estimator = build(method, {**settings, **candidate}, 0, int(graphs.sizes.max()), kind == "numbers")
        except MissingDependencyError as error:
            return str(error)
        estimator._check_params()
        if gaps and isinstance(estimator, GraphClassifier) and not estimator._supports_gaps:
            return f"{method} cannot learn from targets with gaps"
        if (reason := estimator._unsupported(graphs)) is not None:
            return reason
    return None


def part_rows(part: Part, store: Store, spec: Spec, datasets: Datasets) -> list[Row]:
    """Return the rows of a part from the store."""
    if part.dataset in datasets.absent and not part.jobs:
        why = "data not public" if part.dataset in datasets.private else "not loaded"
        return absent_rows(part.dataset, part.methods, spec, why)
    losses = part.sweep is not None and part.sweep.measure == "loss"
    return stored_rows(part.jobs, store, spec, losses)


def stored_rows(jobs: Iterable[Job], store: Store, spec: Spec, losses: bool = False) -> list[Row]:
    """Return the rows of some jobs from the store."""
    jobs = tuple(jobs)
    results = {job.id: result for job in jobs if (result := store.get(job)) is not None}
    gone = "there is no result; the job was not run, or its result was removed"
    errors = {job.id: store.error(job) or gone for job in jobs if job.id not in results}
    return summarize(jobs, results, errors, spec, losses)


def check_seeds(protocol: str, seeds: int) -> str | None:
    """Return a warning if the protocol needs more seeds, or None."""
    least = find_protocol(protocol).seeds
    if seeds >= least:
        return None
    return f"the {protocol} protocol needs at least {least} seeds, got {seeds}"


def about(graphs: GraphSet) -> dict[str, Any]:
    """Describe a dataset for a summary."""
    kind = None if graphs.y is None else target_kind(graphs.y)
    counts: dict[str, int] = {}
    if graphs.y is not None and kind == "classes":
        labels, numbers = np.unique(graphs.y, return_counts=True)
        counts = {str(label): int(number) for label, number in zip(labels, numbers, strict=True)}
    return {
        "name": graphs.name,
        "digest": graphs.digest,
        "graphs": len(graphs),
        "target": kind,
        "targets": [] if graphs.y is None or graphs.y.ndim == 1 else list(target_names(graphs)),
        "classes": len(counts),
        "graphs_by_class": counts,
        "smallest": int(graphs.sizes.min()),
        "largest": int(graphs.sizes.max()),
    }


def check_jobs(parts: Sequence[Part], datasets: Datasets) -> None:
    """Raise `InputError` with the reasons if nothing can be run."""
    if not any(part.jobs for part in parts):
        reasons = [*datasets.absent.values(), *(reason for part in parts for reason in part.left_out.values())]
        raise InputError("; ".join(dict.fromkeys(reasons)))
