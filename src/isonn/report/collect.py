"""What a folder of results holds, read without changing anything in it.

Half a run is worth a page too: tasks that are missing, failed or damaged are counted and said.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from isonn.data.catalog import find, load
from isonn.data.graphs import GraphSet
from isonn.errors import DatasetError, InputError
from isonn.experiments.run import Task
from isonn.experiments.spec import load_spec
from isonn.experiments.tables import Row, summarize

#: Rows that a learned method has to beat before it has learned anything worth the name.
TRIVIAL = ("majority", "size", "degrees", "edges")
_FIELDS = {column.name for column in fields(Task)}


@dataclass(frozen=True)
class Group:
    """The tasks of one dataset under one protocol.

    Attributes:
        tasks: every task that belongs to it, also those without a result.
        results, errors: by task id.
    """

    dataset: str
    protocol: str
    digest: str
    tasks: tuple[Task, ...]
    results: Mapping[str, Mapping[str, Any]]
    errors: Mapping[str, str]

    @property
    def missing(self) -> int:
        """How many tasks have no result."""
        return sum(task.id not in self.results for task in self.tasks)

    @property
    def seeds(self) -> int:
        """How many seeds there are."""
        return len({task.seed for task in self.tasks})

    @property
    def folds(self) -> int:
        """How many folds a seed has."""
        return 1 + max(task.fold for task in self.tasks)

    def rows(self) -> list[Row]:
        """The result table."""
        return summarize(self.tasks, self.results, self.errors, load_spec("table"))

    def of(self, row: Row) -> list[tuple[Task, Mapping[str, Any] | None]]:
        """The tasks behind a row of the table, each with its result or None."""
        return [
            (task, self.results.get(task.id))
            for task in self.tasks
            if task.method == row.method
            and dict(task.settings) == dict(row.settings)
            and len(task.candidates) == row.candidates
        ]


@dataclass(frozen=True)
class Collected:
    """A folder of results.

    Attributes:
        groups: by dataset and protocol.
        damaged: names of files that could not be read.
        summary: what ``results.json`` says, or {}.
        about: what ``run.json`` says.
    """

    folder: Path
    groups: tuple[Group, ...]
    damaged: tuple[str, ...]
    summary: Mapping[str, Any]
    about: Mapping[str, Any]

    @property
    def left_out(self) -> dict[str, str]:
        """Methods that cannot be used on the data, and why."""
        found = self.summary.get("left_out")
        return {str(name): str(reason) for name, reason in found.items()} if isinstance(found, dict) else {}


def collect(folder: Path) -> Collected:
    """Read a folder that `isonn evaluate` made; a folder that is none, or holds no result, is refused."""
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder; give the one that isonn evaluate wrote its results to")
    about = _json(folder / "run.json")
    if about.get("kind") != "isonn results":
        raise InputError(f"{folder} holds no results of isonn; give the folder that isonn evaluate wrote them to")
    results, errors, damaged = {}, {}, []
    tasks: dict[str, Task] = {}
    for path in sorted((folder / "tasks").glob("*.json")) + sorted((folder / "tasks").glob("*.error")):
        content = _json(path)
        try:
            task = _task(content["task"])
            if path.suffix == ".json":
                _check(content)
                results[task.id] = content
            else:
                errors[task.id] = str(content.get("error", "no reason was kept"))
        except (KeyError, TypeError, ValueError):
            damaged.append(path.name)
            continue
        tasks[task.id] = task
    if not results:
        reasons = f"; every task failed: {next(iter(errors.values()))}" if errors else ""
        raise InputError(f"{folder} holds no finished result{reasons}; run isonn evaluate with --out {folder} first")
    return Collected(folder, _groups(tasks, results, errors), tuple(damaged), _json(folder / "results.json"), about)


def find_graphs(group: Group, given: str | None = None) -> tuple[GraphSet | None, str]:
    """The graphs of a group, and, when there are none to be had, why.

    Args:
        given: a name or path to load them from; without it, a dataset known by name that lies on this machine.
    """
    if given is not None:
        name, graphs = given, load(given)
    else:
        name = group.dataset
        try:
            here = find(name) is not None
        except DatasetError:  # not even the name of a dataset: it was a file
            here = False
        if not here:  # nothing is downloaded for a page
            return None, f"{name} is not on this machine by that name; name its file with --data to see its graphs"
        try:
            graphs = load(name)
        except DatasetError as error:
            return None, str(error)
    for version in (graphs, graphs.scaled()):
        if version.digest == group.digest:
            return version, ""
    sentence = f"{name} differs from the data that was evaluated (SHA-256 {graphs.digest[:12]} and {group.digest[:12]})"
    if given is not None:
        raise InputError(f"{sentence}; give the data of the run")
    return None, sentence


def _groups(
    tasks: Mapping[str, Task], results: Mapping[str, Mapping[str, Any]], errors: Mapping[str, str]
) -> tuple[Group, ...]:
    parts: dict[tuple[str, str, str], list[Task]] = {}
    for task in tasks.values():
        parts.setdefault((task.dataset, task.protocol, task.digest), []).append(task)
    groups = []
    for (dataset, protocol, digest), members in sorted(parts.items()):
        folds = 1 + max(task.fold for task in members)
        wanted: dict[str, Task] = {}
        # A run that was stopped leaves no list of what it meant to do: a seed that has one fold has them all.
        for task in members:
            for fold in range(folds):
                other = replace(task, fold=fold)
                wanted[other.id] = other
        ordered = sorted(wanted.values(), key=_place)
        groups.append(Group(dataset, protocol, digest, tuple(ordered), results, errors))
    return tuple(groups)


def _place(task: Task) -> tuple[Any, ...]:
    """Learned methods first, IsoNN before the others, trivial rows last."""
    from isonn.experiments.methods import METHODS

    names = list(METHODS)
    number = names.index(task.method) if task.method in names else len(names)
    return (
        task.method in TRIVIAL,
        number,
        task.method,
        json.dumps(dict(task.settings), sort_keys=True),
        task.seed,
        task.fold,
    )


def _task(content: Mapping[str, Any]) -> Task:
    known = {name: value for name, value in content.items() if name in _FIELDS}
    return Task(**{**known, "candidates": tuple(known.get("candidates", ()))})


def _check(content: Mapping[str, Any]) -> None:
    """A file without the numbers of a table is no result."""
    numbers = (content["metrics"]["accuracy"], content["metrics"]["f1"], content["timings"]["fit_seconds"])
    for value in (*numbers, content["n_train"], content["n_test"]):
        float(value)


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
