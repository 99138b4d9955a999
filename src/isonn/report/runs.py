"""What a folder of results holds, read without changing anything in it.

Half a run is worth a page too: tasks that are missing, failed or damaged are counted and said.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import DatasetError, InputError
from isonn.estimator import load_model
from isonn.experiments.jobs import Task
from isonn.experiments.methods import build
from isonn.experiments.protocols import find_protocol
from isonn.experiments.spec import load_spec
from isonn.experiments.tables import Row, summarize
from isonn.graphs.datasets.registry import find, load
from isonn.graphs.graph import GraphSet

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


# The model behind the templates and the gallery: one of the run, fitted again, or one that was saved.


#: Methods that can explain themselves, the preferred one first.
EXPLAINED = (
    "isonn-subgraph",
    "isonn-subgraph-frozen",
    "isonn-subgraph-ensemble",
    "isonn",
    "isonn-assigned",
    "isonn-fast",
    "isonn-deep",
    "isonn-deep-relative",
)


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model, what it learned from, and what it is shown on.

    Attributes:
        train, test: numbers of graphs; without knowing what a saved model learned from, train is empty.
        sentence: where the model comes from, for the page.
    """

    clf: Any
    train: NDArray[np.int64]
    test: NDArray[np.int64]
    sentence: str


def choose_task(group: Group) -> Task | None:
    """The finished task whose model is shown: the preferred method, its first seed and fold."""
    finished = [task for task in group.tasks if task.id in group.results and task.method in EXPLAINED]
    return min(finished, key=lambda task: (EXPLAINED.index(task.method), task.seed, task.fold), default=None)


def refit(task: Task, result: Mapping[str, Any], graphs: GraphSet) -> Fitted:
    """Fit the model of a finished task again: the same graphs, settings and seed give the same model."""
    train, test = find_protocol(task.protocol).split(graphs, task.seed)[task.fold]
    chosen = result.get("chosen") or {}
    clf = build(task.method, {**task.settings, **chosen}, task.weight_seed, int(graphs.sizes.max()))
    if graphs.y is None:
        raise InputError(f"{graphs.name} has no classes; a model cannot be fitted again")
    clf.fit(graphs[train], graphs.y[train])
    predicted = clf.predict(graphs[test]).tolist()
    same = predicted == result.get("predictions")
    sentence = (
        f"{task.method}, fitted on the {len(train)} training graphs of seed {task.seed}, fold {task.fold}"
        f"{'' if same else ', with predictions that differ from the stored ones (another version of a library?)'}."
    )
    return Fitted(clf, train, test, sentence)


def saved(path: Path, graphs: GraphSet) -> Fitted:
    """A model that ``isonn fit`` saved; all graphs are shown, for what it learned from is not known."""
    clf = load_model(path)
    check_takes(clf, graphs, path)
    sentence = f"{type(clf).__name__} from {path.name}; it may have learned from some of these graphs."
    return Fitted(clf, np.zeros(0, dtype=np.int64), np.arange(len(graphs)), sentence)


def check_takes(clf: Any, graphs: GraphSet, path: Path) -> None:
    """Refuse a model that explains nothing, or that has no room for the graphs."""
    if not hasattr(clf, "explain"):
        raise InputError(f"the {type(clf).__name__} in {path} cannot explain itself; use a model of isonn fit")
    clf.predict_proba(graphs[:1])
