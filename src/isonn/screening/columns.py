"""Columns that options of `isonn predict` add to predictions.

To add one, write an `Extra` and list it in `EXTRAS`; the command passes ``{name: value of its option}`` to `screen`.
"""

from __future__ import annotations

from typing import Any

from isonn.errors import InputError
from isonn.graphs.graph import GraphSet
from isonn.screening.extra import Extra
from isonn.screening.trust import TRUST


def _unseen_names(clf: Any, _: bool) -> list[str]:
    if not hasattr(clf, "unseen_share"):
        raise InputError(f"--unseen needs a subgraph model, but MODEL holds a {type(clf).__name__}; leave it out")
    return ["unseen"]


def _unseen(clf: Any, graphs: GraphSet, _: bool) -> list[list[Any]]:
    return [[round(share, 4) for share in clf.unseen_share(graphs).tolist()]]


def _reason_names(clf: Any, most: int) -> list[str]:
    if most < 1:
        raise InputError(f"--reasons must be at least 1, got {most}")
    return [f"reason {i + 1}" for i in range(most)]


def _reasons(clf: Any, graphs: GraphSet, most: int) -> list[list[Any]]:
    """Return the strongest reasons of each graph, with their contributions to the score."""
    rows = []
    for i in range(len(graphs)):
        found = clf.explain(graphs[i : i + 1], top=0).reasons[:most]
        texts = [f"{getattr(reason, 'name', '') or reason.text} ({reason.contribution:+.2f})" for reason in found]
        rows.append(texts + [""] * (most - len(texts)))
    return [list(column) for column in zip(*rows, strict=True)]


#: What options can add, by name.
EXTRAS = {"unseen": Extra(_unseen_names, _unseen, numeric=True), "reasons": Extra(_reason_names, _reasons), **TRUST}
