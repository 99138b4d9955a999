"""How the predictions of a page are made: by the model as it is, by a model of a run, or by models of each fold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from isonn.errors import InputError
from isonn.experiments.jobs import Job
from isonn.experiments.methods import build
from isonn.experiments.protocols import find_protocol
from isonn.graphs.graph import GraphSet
from isonn.graphs.isomorphism import twin_groups
from isonn.graphs.splits import Fold, grouped_folds
from isonn.model_files import load_model
from isonn.report.runs import Group
from isonn.report.words import Naming
from isonn.seeding import derive_seed
from isonn.targets import target_kind

#: Number of folds of a cross-fitted page.
FOLDS = 5
#: Methods of isonn whose model is preferred on a page, in this order; the others follow.
EXPLAINED = ("isonn-subgraph", "isonn-aligned", "isonn-subgraph-short", "isonn-subgraph-linear", "isonn")


@dataclass(frozen=True, eq=False)
class PageModels:
    """Models with the graphs they are shown on, none of which they were fitted to.

    Attributes:
        graphs: the whole set, which may include graphs that the models were fitted to.
        clf: the model of the page, which provides the pieces that mark a class.
        shown: pairs of a model and the numbers of the graphs it predicts and explains.
        how: a sentence about how the predictions were made.
        train: numbers of graphs the model was fitted to; empty if unknown.
        origin: a sentence about where the model comes from, or "".
        method: its name in the run; "" for a model that is not of a run.
    """

    graphs: GraphSet
    clf: Any
    shown: Sequence[tuple[Any, NDArray[np.int64]]]
    how: str
    train: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    origin: str = ""
    method: str = ""

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The numbers of the graphs shown."""
        return np.concatenate([numbers for _, numbers in self.shown])


def held_out(clf: Any, graphs: GraphSet, left_out: int = 0) -> PageModels:
    """Judge the model as it is; ``left_out`` more graphs, which it was fitted to, are gone."""
    noun = Naming.of(graphs).noun
    how = training_words(clf, graphs) or f"Held out: the model was not fitted to any of these {len(graphs):,} {noun}s."
    how += f" {left_out:,} more that equal its training {noun}s are left out." if left_out else ""
    return PageModels(graphs, clf, [(clf, np.arange(len(graphs)))], how)


def training_words(clf: Any, graphs: GraphSet) -> str:
    """Return a sentence about graphs that the model was fitted to; "" if there are none."""
    seen, noun = int(clf.seen_in_training(graphs).sum()), Naming.of(graphs).noun
    if not seen:
        return ""
    which = f"This is a training {noun}"
    if len(graphs) > 1:
        be = f"is a training {noun}" if seen == 1 else f"are training {noun}s"
        which = f"{'All' if seen == len(graphs) else f'{seen:,}'} of these {len(graphs):,} {be}"
    return f"{which} of the model, so predictions look better than on new {noun}s."


def cross_fitted(clf: Any, graphs: GraphSet) -> PageModels:
    """Fit the model again in folds, so that each graph is predicted and explained by a model that has not seen it."""
    folds = folds_of(graphs)
    shown = [(clone(clf).fit(graphs[train]), test) for train, test in folds]
    noun = Naming.of(graphs).noun
    how = (
        f"Cross-fitted in {len(folds)} folds: every {noun} is predicted and explained by a model fitted to others; "
        f"equal {noun}s share a fold."
    )
    return PageModels(graphs, clf, shown, how, np.arange(len(graphs)))


def folds_of(graphs: GraphSet) -> list[Fold]:
    """Return folds with twins in one fold, stratified by class where possible, always the same."""
    seed, groups = derive_seed(0, "report"), twin_groups(graphs)
    if graphs.y is not None and graphs.y.ndim == 1 and graphs.y.dtype.kind != "f":
        rarest = int(np.unique(graphs.y, return_counts=True)[1].min())
        count = min(FOLDS, rarest, len(np.unique(groups)))
        if count >= 2:
            return grouped_folds(graphs.y, groups, count, seed)
    every = np.arange(len(graphs))
    groups = groups if groups.any() else every  # graphs that are all equal
    order = np.random.default_rng(seed).permutation(groups.max() + 1)
    tests = [np.flatnonzero(np.isin(groups, members)) for members in np.array_split(order, min(FOLDS, len(order)))]
    return [(np.setdiff1d(every, test), test) for test in tests]


def choose_job(group: Group) -> Job | None:
    """Return the finished job whose model is shown: the preferred method, its first seed and fold."""
    finished = [
        job for job in group.jobs if job.id in group.results and job.method.startswith("isonn") and not job.permutation
    ]
    preferred = {method: place for place, method in enumerate(EXPLAINED)}
    return min(finished, key=lambda job: (preferred.get(job.method, len(preferred)), job.seed, job.fold), default=None)


def refitted(job: Job, result: Mapping[str, Any], graphs: GraphSet) -> PageModels:
    """Fit the model of a finished job again; the same graphs, settings and seed give the same model."""
    train, test = find_protocol(job.protocol).split(graphs, job.seed)[job.fold]
    noun = Naming.of(graphs).noun
    if graphs.y is None:
        raise InputError(f"{graphs.name} has no targets to fit the model again; give the data of the run")
    settings = {**job.settings, **(result.get("chosen") or {})}
    clf = build(job.method, settings, job.weight_seed, int(graphs.sizes.max()), target_kind(graphs.y) == "numbers")
    clf.fit(graphs[train])  # with its y, so that the model knows the names and units of its columns
    origin = f"{job.method}, fitted on the {len(train)} training graphs of seed {job.seed}, fold {job.fold}"
    if not _agree(clf.predict(graphs[test]), result["predictions"]):
        origin += ", with predictions that differ from the stored ones (another version of a library?)"
    how = f"Held out: the {noun}s below are the {len(test):,} of one test fold; the model shown was not fitted to them."
    return PageModels(graphs, clf, [(clf, test)], how, train, f"{origin}.", job.method)


def saved(path: Path, graphs: GraphSet) -> PageModels:
    """Read a model that ``isonn fit`` saved; all graphs are shown, because its training graphs are unknown."""
    clf = load_model(path)
    check_takes(clf, graphs, path)
    origin = f"{type(clf).__name__} from {path.name}; it may have been fitted to some of these graphs."
    how = "The saved model on all graphs; it may have been fitted to some of them."
    return PageModels(graphs, clf, [(clf, np.arange(len(graphs)))], how, origin=origin)


def check_takes(clf: Any, graphs: GraphSet, path: Path) -> None:
    """Raise `InputError` for a model without explanations, or too small for the graphs."""
    if not hasattr(clf, "explain"):
        raise InputError(f"the {type(clf).__name__} in {path} cannot be explained; use a model of isonn fit")
    clf.predict(graphs[:1])


def _agree(predicted: NDArray[Any], stored: Sequence[Any]) -> bool:
    """Return whether predictions are the stored ones; numbers may differ in their last digits."""
    if predicted.dtype.kind != "f":
        return bool(predicted.tolist() == stored)
    return bool(np.isclose(predicted, np.asarray(stored, dtype=np.float64), rtol=1e-6, equal_nan=True).all())
