"""Protocols define how sets are split, how settings are chosen, and which metrics are reported.

Folds depend only on the set, the protocol and the seed, so all methods are compared on the same folds. Protocols are
given by name: ``fair``, or ``fair:site`` to keep together graphs with the same value in a column of the set's table
(instead of twins).
"""

from __future__ import annotations

import hashlib
import importlib
import re
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold

from isonn.errors import InputError
from isonn.experiments.methods import unknown_name
from isonn.graphs.graph import GraphSet
from isonn.graphs.isomorphism import graph_hashes, twin_groups
from isonn.graphs.splits import Fold, balanced_folds, grouped_folds, released_folds
from isonn.packing import IntArray
from isonn.plugins import Registry
from isonn.seeding import derive_seed
from isonn.targets import target_kind

#: One in five training graphs of a fold validates settings.
INNER_FOLDS = 5
#: Largest number of values of a column that splits a set.
MOST_VALUES = 50


class Protocol(ABC):
    """Base class of protocols. To add one, subclass it and register it with `register_protocol`.

    Args:
        column: a column of ``GraphSet.table`` that the protocol reads, or "".

    Attributes:
        about: one sentence for the notes below a table.
        chooses: whether settings are chosen on the parts of `inner`; if not, they are used as given.
        seeds: the recommended number of seeds.

    Example:
        >>> class Halves(Protocol):
        ...     name, about = "halves", "First half for training, second for testing."
        ...
        ...     def split(self, graphs, seed):
        ...         middle = len(graphs) // 2
        ...         return [(np.arange(middle), np.arange(middle, len(graphs)))]
        >>> train, test = Halves().split(isonn.load("MUTAG"), seed=0)[0]
        >>> len(train), len(test)
        (94, 94)
    """

    #: The name in commands and in stored jobs.
    name: ClassVar[str]
    about: str
    chooses: ClassVar[bool] = False
    seeds: ClassVar[int] = 1
    #: Metrics for classes and for numbers; the first is tested and used to choose settings.
    classes: ClassVar[tuple[str, ...]] = ("auroc", "average_precision", "mcc", "balanced_accuracy", "brier", "accuracy")
    numbers: ClassVar[tuple[str, ...]] = ("rmse", "mae", "r2", "pearson", "spearman")

    def __init__(self, column: str = "") -> None:
        self.column = column

    @abstractmethod
    def split(self, graphs: GraphSet, seed: int) -> list[Fold]:
        """Return folds as pairs of training and test indices.

        Args:
            graphs: the whole set.
            seed: the seed of the run.

        Returns:
            a list of pairs of index arrays.
        """

    def inner(self, graphs: GraphSet, train: IntArray, seed: int) -> Fold:
        """Split the training indices of a fold into two parts, to train and to validate candidates.

        Args:
            graphs: the whole set.
            train: the training indices of a fold.
            seed: the seed of the run.

        Returns:
            a pair of index arrays.
        """
        raise InputError(f"the {self.name} protocol chooses no settings; give no candidates")

    def metrics(self, target: str) -> tuple[str, ...]:
        """Return the metrics for a target of "classes", "labels" or "numbers".

        Args:
            target: "classes", "labels" or "numbers".

        Returns:
            names of metrics; the first is tested.
        """
        return self.numbers if target == "numbers" else self.classes

    def digest(self, graphs: GraphSet) -> str:
        """Return the SHA-256 of the graphs and of the column, if any.

        Args:
            graphs: the whole set.

        Returns:
            64 hexadecimal digits, part of the id of a job.
        """
        if not self.column:
            return graphs.digest
        values = "\n".join(map(str, self._values(graphs).tolist()))
        return hashlib.sha256(f"{graphs.digest}\n{values}".encode()).hexdigest()

    def _values(self, graphs: GraphSet) -> NDArray[Any]:
        if self.column not in graphs.table:
            columns = ", ".join(map(str, graphs.table)) or "none"
            raise InputError(f"{graphs.name} has no column {self.column!r}; its columns are: {columns}")
        return graphs.table[self.column]


PROTOCOLS: Registry[type[Protocol]] = Registry("protocols")


def register_protocol(cls: type[Protocol]) -> type[Protocol]:
    """Register a protocol under its name; use as a decorator.

    Args:
        cls: a subclass of `Protocol` with a ``name``.

    Returns:
        the class.
    """
    PROTOCOLS[cls.name] = cls
    return cls


def find_protocol(text: str) -> Protocol:
    """Return the protocol of a name such as ``fair`` or ``random:site``."""
    name, _, column = text.partition(":")
    protocol = PROTOCOLS.find(name)
    if protocol is None:
        raise InputError(unknown_name("protocol", name, PROTOCOLS))
    return protocol(column)


@register_protocol
class Paper(Protocol):
    """The paper's protocol: balanced classes, three folds."""

    name = "paper"
    about = (
        "classes balanced by sub-sampling, 3 folds, no validation set, last epoch; "
        "a seed draws the sub-sample, the folds and the weights"
    )
    classes = ("accuracy", "f1")

    def split(self, graphs: GraphSet, seed: int) -> list[Fold]:
        """Return three balanced folds."""
        y = targets(graphs)
        if target_kind(y) != "classes":
            raise InputError(f"the paper protocol balances classes, and {graphs.name} has none; use fair or random")
        return balanced_folds(y, n_folds=3, seed=seed)


class _Grouped(Protocol):
    """Base of protocols that keep groups of graphs together, and class proportions as well as the groups allow.

    A column replaces the groups, because joining both could leave a single group.
    """

    chooses = True
    folds: ClassVar[int]
    #: What a single group has in common, and what to do then, in the sentence that refuses it.
    alike: ClassVar[str] = "are equal"
    remedy: ClassVar[str] = "name a column with several values by --group or --split"

    def __init__(self, column: str = "") -> None:
        super().__init__(column)
        if column:
            self.about = (
                f"all graphs, at most {self.folds} folds with each value of {column} in one fold, settings chosen on a "
                "fifth of the training part; a seed draws the folds and the weights"
            )

    @abstractmethod
    def groups(self, graphs: GraphSet) -> IntArray:
        """Return the group of each graph, shape (g,)."""

    def split(self, graphs: GraphSet, seed: int) -> list[Fold]:
        """Return folds of all graphs; fewer if a class is too small or groups are too few."""
        groups = self._all_groups(graphs)
        if len(np.unique(groups)) == 1:
            what = f"share one value of {self.column}" if self.column else self.alike
            raise InputError(
                f"all {len(graphs)} graphs of {graphs.name} {what}, so none is left to test on; {self.remedy}"
            )
        return _grouped(targets(graphs), groups, self.folds, seed)

    def inner(self, graphs: GraphSet, train: IntArray, seed: int) -> Fold:
        """Split the training graphs into four fifths and one fifth, keeping groups together."""
        y, groups = targets(graphs)[train], self._all_groups(graphs)[train]
        fit, judge = _grouped(y, groups, INNER_FOLDS, derive_seed(seed, "inner"))[0]
        return train[fit], train[judge]

    def _all_groups(self, graphs: GraphSet) -> IntArray:
        """Return the groups, or those of the column if there is one; cached per set, since every job needs them."""
        key = f"{self.name}:{self.digest(graphs)}"
        if key not in _groups_by_digest:
            if len(_groups_by_digest) >= 8:
                _groups_by_digest.clear()
            if self.column:
                groups = np.unique(self._values(graphs).astype(str), return_inverse=True)[1].astype(np.int64)
            else:
                groups = self.groups(graphs)
            _groups_by_digest[key] = groups
        return _groups_by_digest[key]


_groups_by_digest: dict[str, IntArray] = {}


def about_run(about: str, folds: int) -> str:
    """Return what a protocol says about itself, with the number of folds that were run.

    A rare class, or few groups, leave fewer folds than it asks for.

    Example:
        >>> about_run("all graphs, 5 stratified folds with duplicates in one fold", 3)
        'all graphs, 3 stratified folds with duplicates in one fold'
    """
    return re.sub(r"(?:at most )?\d+ ((?:stratified )?folds)", rf"{folds} \1", about, count=1)


@register_protocol
class Fair(_Grouped):
    """Ten folds of all graphs, structural twins together."""

    name = "fair"
    about = (
        "all graphs, 10 stratified folds with structural twins in one fold, settings chosen on a fifth of the "
        "training part, last epoch; a seed draws the folds and the weights"
    )
    seeds = 5
    folds = 10
    classes = ("accuracy", "f1", "auroc", "balanced_accuracy", "mcc")
    alike = "have the same structure"
    remedy = "use --protocol random, which keeps together only graphs whose labels and attributes are equal too"

    def groups(self, graphs: GraphSet) -> IntArray:
        """Group graphs that are equal up to relabelling, ignoring labels."""
        return twin_groups(graphs)


@register_protocol
class Random(_Grouped):
    """Five folds of all graphs, duplicates together."""

    name = "random"
    about = (
        "all graphs, 5 stratified folds with duplicates in one fold, settings chosen on a fifth of the training part; "
        "a seed draws the folds and the weights"
    )
    folds = 5

    def groups(self, graphs: GraphSet) -> IntArray:
        """Group graphs that are equal up to relabelling, including labels and attributes."""
        exact = np.column_stack([twin_groups(graphs).astype(np.uint64), graph_hashes(graphs)])
        return np.unique(exact, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


@register_protocol
class Scaffold(_Grouped):
    """Five folds of molecules, each scaffold in one fold."""

    name = "scaffold"
    about = (
        "all molecules, 5 folds with each Murcko scaffold in one fold, settings chosen on a fifth of the training "
        "part; a seed draws the folds and the weights"
    )
    folds = 5

    def groups(self, graphs: GraphSet) -> IntArray:
        """Group molecules with the same scaffold."""
        if "smiles" not in graphs.table:
            raise InputError(f"{graphs.name} holds no molecules (no SMILES), so it has no scaffolds; use random")
        scaffolds = importlib.import_module("isonn.molecules").scaffolds  # needs rdkit
        return np.unique(np.asarray(scaffolds(graphs)), return_inverse=True)[1].astype(np.int64)


@register_protocol
class Released(Protocol):
    """The folds that came with the data."""

    name = "released"
    about = "the folds released with the data, no validation set, last epoch; a seed draws the weights"
    classes = ("accuracy", "f1")

    def split(self, graphs: GraphSet, seed: int) -> list[Fold]:
        """Return one fold per released fold."""
        if graphs.folds is None:
            raise InputError(f"{graphs.name} was released without folds; use the paper protocol")
        return released_folds(graphs.folds)


@register_protocol
class Column(Protocol):
    """Folds given by a column: each value is tested once, or only the value "test" is."""

    name = "column"
    about = "the folds of a column of the data, settings as given; a seed draws the weights"

    def split(self, graphs: GraphSet, seed: int) -> list[Fold]:
        """Return one fold per value, or, if there is a value "test", one fold that trains on all others."""
        if not self.column:
            raise InputError("the column protocol needs a column; write column:NAME")
        values = np.array([str(value).strip().lower() for value in self._values(graphs).tolist()])
        distinct = np.unique(values)
        if not 2 <= len(distinct) <= MOST_VALUES:
            raise InputError(
                f"column {self.column!r} of {graphs.name} has {len(distinct)} values; use a column with 2 to "
                f"{MOST_VALUES} values"
            )
        tested = [value for value in distinct if value == "test"] or list(distinct)
        return [(np.flatnonzero(values != value), np.flatnonzero(values == value)) for value in tested]


def targets(graphs: GraphSet) -> NDArray[Any]:
    """Return the targets of the graphs; raise `InputError` if they have none."""
    if graphs.y is None:
        raise InputError(f"{graphs.name} has no classes or numbers to predict; give one per graph")
    return graphs.y


def _grouped(y: NDArray[Any], groups: IntArray, n_folds: int, seed: int) -> list[Fold]:
    """Make folds that keep groups together, stratified for classes."""
    wanted = min(n_folds, len(np.unique(groups)))
    if wanted < 2:
        raise InputError("the training graphs of a fold form one group, so settings cannot be chosen; use other groups")
    if target_kind(y) == "classes":
        return grouped_folds(y, groups, max(2, min(wanted, int(np.unique(y, return_counts=True)[1].min()))), seed)
    splitter = GroupKFold(wanted, shuffle=True, random_state=derive_seed(seed, "folds") % 2**32)
    return [(train.astype(np.int64), test.astype(np.int64)) for train, test in splitter.split(groups, groups=groups)]
