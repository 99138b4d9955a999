"""How a set is split for judging: the name of a protocol gives the folds of a set for a seed.

Folds depend on the set, the protocol and the seed alone, so that all methods meet the same folds.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass

from isonn.data.folds import Fold, balanced_folds, released_folds
from isonn.data.graphs import GraphSet
from isonn.errors import InputError


@dataclass(frozen=True)
class Protocol:
    """A way of judging.

    Attributes:
        about: one sentence for the foot of a table.
        split: folds of a set for a seed, as pairs of training and test indices.
    """

    about: str
    split: Callable[[GraphSet, int], list[Fold]]


def _paper(graphs: GraphSet, seed: int) -> list[Fold]:
    if graphs.y is None:
        raise InputError(f"{graphs.name} has no classes; the paper protocol needs one per graph")
    return balanced_folds(graphs.y, n_folds=3, seed=seed)


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
    meant = f"; did you mean {near[0]}?" if near else ";"
    raise InputError(f"there is no protocol {name!r}{meant} Known protocols are {', '.join(PROTOCOLS)}")
