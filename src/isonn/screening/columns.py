"""Columns that options of `isonn predict` add to predictions: reasons, intervals, domain, neighbours.

To add one, write an `Extra` and list it in `EXTRAS`; the command passes ``{name: value of its option}`` to `screen`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import lru_cache
from itertools import compress
from typing import Any, NamedTuple

from isonn.domain import SHOWN, Assessment
from isonn.errors import InputError, IsoNNWarning
from isonn.explain.explanation import column_of, output_names
from isonn.explain.reasons import Reason
from isonn.graphs.graph import GraphSet
from isonn.graphs.io.target_column import unit_of

#: A list of cells for each column.
Cells = list[list[Any]]


class Extra(NamedTuple):
    """Columns that an option adds.

    Attributes:
        names: returns their names, from the model and the value of the option, each with whether it holds numbers;
            raises `InputError` if the model cannot fill them.
        columns: returns their cells, from the model, some graphs and the value of the option.
    """

    names: Callable[[Any, Any], dict[str, bool]]
    columns: Callable[[Any, GraphSet, Any], Cells]


def _reason_names(clf: Any, wanted: tuple[int, str | None]) -> dict[str, bool]:
    most, label = wanted
    if most < 1:
        raise InputError(f"--reasons must be at least 1, got {most}")
    if label is not None:
        column_of(clf.target_.classes, label, output_names(clf.target_, clf.label_names_))
    return {f"reason {i + 1}": False for i in range(most)}


def _reasons(clf: Any, graphs: GraphSet, wanted: tuple[int, str | None]) -> Cells:
    """Return the strongest reasons of each graph; those for the explained class or label come before those against."""
    (most, label), rows = wanted, []
    for i in range(len(graphs)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IsoNNWarning)  # predicting all graphs warned of new labels
            reasons = clf.explain(graphs[i : i + 1], label, top=0).reasons  # the strongest first
        if not clf.target_.numeric:
            reasons = sorted(reasons, key=lambda reason: reason.contribution < 0)
        rows.append([f"{reason.name or reason.text} ({_effect(reason)})" for reason in reasons])
    return _padded(rows, most)


def _effect(reason: Reason) -> str:
    """Return what a reason adds to the score, and what it speaks for: of two classes "+1.86 for yes"."""
    e, value, column = reason.explanation, reason.contribution, reason.explanation.column
    if e.target.exclusive and len(e.classes) == 2 and value < 0:
        value, column = -value, 1 - column
    effect = e.effect_text(value)
    if e.target.numeric and len(e.classes) == 1:
        return effect
    named = e.classes.tolist()[column]
    return f"{effect} for {named if e.target.exclusive else e.class_names.get(named, named)}"


def _padded(rows: list[list[str]], width: int) -> Cells:
    """Return columns from rows that are cut, or filled with empty cells, to one width."""
    return [list(column) for column in zip(*((row + [""] * width)[:width] for row in rows), strict=True)]


@lru_cache(maxsize=1)
def _assessed(clf: Any, graphs: GraphSet, coverage: float) -> Assessment:
    """Assess graphs once for all columns about trust."""
    assessment: Assessment = clf.assess(graphs, coverage)
    return assessment


def _target_names(clf: Any) -> list[str]:
    """Return what to append to names of columns: the unit of one target, or the names of several."""
    names = clf.label_names_.get("target", {})
    if clf.target_.exclusive or clf.target_.outputs == 1:
        unit = unit_of(names.get(0, "")) if clf.target_.numeric else ""
        return [f" ({unit})" if unit else ""]
    return [f" {names.get(i, i)}" for i in range(clf.target_.outputs)]


def _require(clf: Any, option: str, attribute: str, kind: str) -> None:
    if getattr(clf, attribute, None) is None:
        raise InputError(
            f"{option} needs {kind} model with held-out errors, and this model ({type(clf).__name__}) has none; "
            "leave it out"
        )


def _interval_names(clf: Any, _: float) -> dict[str, bool]:
    _require(clf, "--interval", "_conformal", "a subgraph or aligned")
    numeric = clf.target_.numeric
    sides = ("low", "high") if numeric else ("set",)
    return {f"{side}{name}": numeric for name in _target_names(clf) for side in sides}


def _interval(clf: Any, graphs: GraphSet, coverage: float) -> Cells:
    """Return the ends of intervals of numbers, or sets of classes as text."""
    assessed = _assessed(clf, graphs, coverage)
    if assessed.interval is not None:
        ends = assessed.interval.reshape(len(graphs), -1).T.tolist()
        return [[round(value, 6) for value in column] for column in ends]
    sets = assessed.sets
    assert sets is not None
    names = ["0", "1"] if sets.ndim == 3 else [str(value) for value in clf.classes_.tolist()]
    columns = sets.transpose(1, 0, 2) if sets.ndim == 3 else sets[None]
    return [[" or ".join(compress(names, kept)) for kept in column] for column in columns.tolist()]


def _domain_names(clf: Any, _: float) -> dict[str, bool]:
    _require(clf, "--domain", "_trust", "a subgraph")
    return {"domain": False, "distance": True, "out because": False}


def _domain(clf: Any, graphs: GraphSet, coverage: float) -> Cells:
    """Return verdict and distance, and for graphs out of the domain the reason and what is new in them."""
    domain = _assessed(clf, graphs, coverage).domain
    assert domain is not None
    verdicts = domain.verdict.tolist()
    reasons = [domain[i].text.split(": ", 1)[1] if verdict == "out" else "" for i, verdict in enumerate(verdicts)]
    return [verdicts, [f"{distance:.4f}" for distance in domain.distance.tolist()], reasons]


def _neighbour_names(clf: Any, _: float) -> dict[str, bool]:
    _require(clf, "--neighbours", "_trust", "a subgraph")
    if clf._trust.examples is None:
        raise InputError(
            "--neighbours needs a model that keeps its training graphs; fit it with --keep-examples, after reading "
            "what that reveals"
        )
    return {f"neighbour {i + 1}": False for i in range(SHOWN)}


def _neighbours(clf: Any, graphs: GraphSet, coverage: float) -> Cells:
    domain = _assessed(clf, graphs, coverage).domain
    assert domain is not None
    rows = [[f"{c.id} ({c.value}; similarity {c.similarity:.2f})" for c in cases] for cases in domain.neighbours]
    return _padded(rows, SHOWN)


#: What options can add, by name. The value of the last three is the coverage, so that graphs are assessed once for all.
EXTRAS = {
    "reasons": Extra(_reason_names, _reasons),
    "interval": Extra(_interval_names, _interval),
    "domain": Extra(_domain_names, _domain),
    "neighbours": Extra(_neighbour_names, _neighbours),
}
