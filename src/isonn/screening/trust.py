"""Columns of `isonn predict` that say how far to trust a prediction: --interval, --domain, --neighbours."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from isonn.domain import SHOWN, Assessment
from isonn.errors import InputError
from isonn.graphs.graph import GraphSet
from isonn.screening.extra import Extra


@lru_cache(maxsize=1)
def _assessed(clf: Any, graphs: GraphSet, coverage: float) -> Assessment:
    """Assess graphs once for all columns."""
    assessment: Assessment = clf.assess(graphs, coverage)
    return assessment


def _targets(clf: Any) -> list[str]:
    """Return what to append to names of columns: nothing for one target, else the names of the targets."""
    if clf.target_.exclusive or clf.target_.outputs == 1:
        return [""]
    names = clf.label_names_.get("target", {})
    return [f" {names.get(i, i)}" for i in range(clf.target_.outputs)]


def _require(clf: Any, option: str) -> None:
    if getattr(clf, "_conformal", None) is None:
        raise InputError(
            f"{option} needs a subgraph or aligned model with held-out errors, but MODEL holds a "
            f"{type(clf).__name__} without; leave it out"
        )


def _interval_names(clf: Any, coverage: float) -> list[str]:
    from isonn.conformal import check_coverage

    _require(clf, "--interval")
    check_coverage(coverage)
    if not clf.target_.numeric:
        return []
    return [f"{side}{name}" for name in _targets(clf) for side in ("low", "high")]


def _interval(clf: Any, graphs: GraphSet, coverage: float) -> list[list[Any]]:
    found = _assessed(clf, graphs, coverage).interval
    if found is None:
        return []
    return [[round(value, 6) for value in column] for column in found.reshape(len(graphs), -1).T.tolist()]


def _set_names(clf: Any, coverage: float) -> list[str]:
    return [] if clf.target_.numeric else [f"set{name}" for name in _targets(clf)]


def _sets(clf: Any, graphs: GraphSet, coverage: float) -> list[list[Any]]:
    sets = _assessed(clf, graphs, coverage).sets
    if sets is None:
        return []
    if sets.ndim == 2:
        names = [str(value) for value in clf.classes_.tolist()]
        return [[" or ".join(name for name, kept in zip(names, row, strict=True) if kept) for row in sets.tolist()]]
    words = {(False, False): "", (True, False): "0", (False, True): "1", (True, True): "0 or 1"}
    return [[words[absent, present] for absent, present in column] for column in sets.transpose(1, 0, 2).tolist()]


def _require_domain(clf: Any, option: str) -> None:
    if getattr(clf, "_trust", None) is None:
        raise InputError(
            f"{option} needs a subgraph model with held-out errors, but MODEL holds a {type(clf).__name__} without; "
            "leave it out"
        )


def _domain_names(clf: Any, _: Any) -> list[str]:
    _require_domain(clf, "--domain")
    return ["domain", "distance", "new"]


def _domain(clf: Any, graphs: GraphSet, coverage: float) -> list[list[Any]]:
    """Return verdict and distance, and for graphs out of the domain what is new in them."""
    domain = _assessed(clf, graphs, coverage).domain
    assert domain is not None
    verdicts = domain.verdict.tolist()
    new = [
        "; ".join([*domain[i].outside[:SHOWN], *(piece.name for piece in domain[i].unseen[:SHOWN])])
        if verdict == "out"
        else ""
        for i, verdict in enumerate(verdicts)
    ]
    return [verdicts, [f"{distance:.4f}" for distance in domain.distance.tolist()], new]


def _neighbour_names(clf: Any, _: Any) -> list[str]:
    _require_domain(clf, "--neighbours")
    if clf._trust.examples is None:
        raise InputError(
            "--neighbours needs a model that keeps its training graphs; fit it with --keep-examples, after reading "
            "what that reveals"
        )
    return [f"neighbour {i + 1}" for i in range(SHOWN)]


def _neighbours(clf: Any, graphs: GraphSet, coverage: float) -> list[list[Any]]:
    domain = _assessed(clf, graphs, coverage).domain
    assert domain is not None
    rows = []
    for cases in domain.neighbours:
        texts = [f"{case.id} ({case.value}; similarity {case.similarity:.2f})" for case in cases]
        rows.append(texts + [""] * (SHOWN - len(texts)))
    return [list(column) for column in zip(*rows, strict=True)]


#: The columns by name; the value of each is the coverage, so that graphs are assessed once for all.
TRUST = {
    "interval": Extra(_interval_names, _interval, numeric=True),
    "set": Extra(_set_names, _sets),
    "domain": Extra(_domain_names, _domain),
    "neighbours": Extra(_neighbour_names, _neighbours),
}
