"""How a set is split for judging: the name of a protocol gives the folds of a set for a seed.

Folds depend on the set, the protocol and the seed alone, so that all methods meet the same folds.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import InputError
from isonn.graphs.graph import GraphSet
from isonn.graphs.isomorphism import twin_groups
from isonn.graphs.splits import Fold, balanced_folds, grouped_folds, released_folds
from isonn.packing import IntArray
from isonn.seeding import derive_seed

FAIR_FOLDS = 10
#: Of the training part of a fold, one in five graphs judges settings.
INNER_FOLDS = 5


@dataclass(frozen=True)
class Protocol:
    """A way of judging.

    Attributes:
        about: one sentence for the foot of a table.
        split: folds of a set for a seed, as pairs of training and test indices.
        inner: where settings are chosen: for a set, the training indices of a fold, and a seed, two parts of them,
            one to train candidates on and one to judge them by; None where settings are as given.
        seeds: fewer make no result under this protocol.
    """

    about: str
    split: Callable[[GraphSet, int], list[Fold]]
    inner: Callable[[GraphSet, IntArray, int], Fold] | None = None
    seeds: int = 1


def _paper(graphs: GraphSet, seed: int) -> list[Fold]:
    if graphs.y is None:
        raise InputError(f"{graphs.name} has no classes; the paper protocol needs one per graph")
    return balanced_folds(graphs.y, n_folds=3, seed=seed)


def _fair(graphs: GraphSet, seed: int) -> list[Fold]:
    return grouped_folds(_one_class_each(graphs), _twins(graphs), FAIR_FOLDS, seed)


def _fair_inner(graphs: GraphSet, train: IntArray, seed: int) -> Fold:
    y, groups = _one_class_each(graphs)[train], _twins(graphs)[train]
    rarest = int(np.unique(y, return_counts=True)[1].min())
    n_folds = max(2, min(INNER_FOLDS, rarest, len(np.unique(groups))))
    fit, judge = grouped_folds(y, groups, n_folds, derive_seed(seed, "inner"))[0]
    return train[fit], train[judge]


def _one_class_each(graphs: GraphSet) -> NDArray[Any]:
    if graphs.y is None:
        raise InputError(f"{graphs.name} has no classes; the fair protocol needs one per graph")
    return graphs.y


_known_twins: dict[str, IntArray] = {}


def _twins(graphs: GraphSet) -> IntArray:
    """Groups of twins, found once a set: every job of it asks again, and a worker is given the set anew each time."""
    if graphs.digest not in _known_twins:
        if len(_known_twins) >= 8:
            _known_twins.clear()
        _known_twins[graphs.digest] = twin_groups(graphs)
    return _known_twins[graphs.digest]


def _released(graphs: GraphSet, seed: int) -> list[Fold]:
    if graphs.folds is None:
        raise InputError(f"{graphs.name} was released without folds; use the paper protocol")
    return released_folds(graphs.folds)


#: Adding a protocol is one entry here.
PROTOCOLS: dict[str, Protocol] = {
    "paper": Protocol(
        "classes balanced by sub-sampling, 3 folds, no validation set, last epoch; "
        "a seed draws the sub-sample, the folds and the weights",
        _paper,
    ),
    "fair": Protocol(
        "all graphs, 10 stratified folds with structural twins in one fold, settings chosen on a fifth of the "
        "training part, last epoch; a seed draws the folds and the weights",
        _fair,
        _fair_inner,
        seeds=5,
    ),
    "released": Protocol(
        "the folds released with the data, no validation set, last epoch; a seed draws the weights",
        _released,
    ),
}


def find_protocol(name: str) -> Protocol:
    """The protocol of that name."""
    if name in PROTOCOLS:
        return PROTOCOLS[name]
    near = difflib.get_close_matches(name.lower(), PROTOCOLS, n=1, cutoff=0.5)
    meant = f"; did you mean {near[0]}? Known" if near else "; known"
    raise InputError(f"there is no protocol {name!r}{meant} protocols are {', '.join(PROTOCOLS)}")
