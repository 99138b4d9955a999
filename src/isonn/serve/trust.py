"""How sure predictions are, as JSON: intervals, sets of classes, domain and nearest training graphs."""

from __future__ import annotations

from typing import Any

import numpy as np

from isonn.errors import InputError
from isonn.graphs.graph import GraphSet
from isonn.serve.answers import output_names

#: Coverage of intervals and sets if a request names none.
COVERAGE = 0.9


def trust(model: Any, graphs: GraphSet, coverage: Any) -> list[dict[str, Any]]:
    """Return for each graph an interval or a set of classes, and whether it resembles the training graphs.

    Args:
        model: a fitted model; what it cannot tell is left out.
        graphs: the graphs.
        coverage: the probability that an interval or a set holds the truth; None takes `COVERAGE`.
    """
    coverage = COVERAGE if coverage is None else coverage
    if isinstance(coverage, bool) or not isinstance(coverage, (int, float)):
        raise InputError(f"coverage is {ascii(coverage)[:40]}; give a number between 0 and 1")
    rows: list[dict[str, Any]] = [{} for _ in graphs]
    if getattr(model, "_conformal", None) is not None:
        found = _intervals(model, graphs, coverage) if model.target_.numeric else _sets(model, graphs, coverage)
        name = "interval" if model.target_.numeric else "set"
        for row, value in zip(rows, found, strict=True):
            row.update({"coverage": coverage, name: value})
    if getattr(model, "_trust", None) is not None:
        for row, one in zip(rows, model.domain(graphs), strict=True):
            row["domain"] = {
                "verdict": one.verdict,
                "distance": one.distance,
                "text": one.text,
                "neighbours": [
                    {"id": near.id, "value": near.value, "similarity": near.similarity, "shared": list(near.shared)}
                    for near in one.neighbours
                ],
            }
    return rows


def trusts(model: Any) -> bool:
    """Return whether a model says how sure a prediction is."""
    return any(getattr(model, name, None) is not None for name in ("_conformal", "_trust"))


def _intervals(model: Any, graphs: GraphSet, coverage: float) -> list[Any]:
    """Return pairs, by column if there are several; None stands for infinity."""
    bounds = model.predict_interval(graphs, coverage)
    pairs = [[[v if np.isfinite(v) else None for v in pair] for pair in row.reshape(-1, 2).tolist()] for row in bounds]
    if bounds.ndim == 2:
        return [row[0] for row in pairs]
    return [dict(zip(output_names(model), row, strict=True)) for row in pairs]


def _sets(model: Any, graphs: GraphSet, coverage: float) -> list[list[str]]:
    held, names = model.predict_set(graphs, coverage), output_names(model)
    if held.ndim == 2:
        return [[name for name, inside in zip(names, row, strict=True) if inside] for row in held.tolist()]
    words = {(True, True): "undecided", (True, False): "no", (False, True): "yes", (False, False): "neither fits"}
    return [[f"{name}: {words[tuple(pair)]}" for name, pair in zip(names, row, strict=True)] for row in held.tolist()]
