"""The model behind the templates and the gallery: one of the run, fitted again, or one that was saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.data.graphs import GraphSet
from isonn.errors import InputError
from isonn.estimators import load_model
from isonn.experiments.methods import build
from isonn.experiments.protocols import find_protocol
from isonn.experiments.run import Task
from isonn.report.collect import Group

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
