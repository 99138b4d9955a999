"""Predictions, explanations and facts about models, as JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from isonn.domain import Assessment
from isonn.errors import InputError
from isonn.graphs.graph import GraphSet

#: Elements that the page offers.
ELEMENTS = ["C", "N", "O", "S", "F", "Cl", "Br", "I", "P", "B", "Si"]


def predict(model: Any, graphs: GraphSet, coverage: Any = None) -> list[dict[str, Any]]:
    """Return the prediction of each graph, with a probability per class or label.

    Args:
        model: a fitted model.
        graphs: the graphs.
        coverage: adds an interval or a set of classes that holds the truth with this probability, and the domain, as
            far as the model has them; None adds nothing.
    """
    target, names = model.target_, output_names(model)
    more: list[dict[str, Any]]
    if coverage is None:
        answers, more = model.predict(graphs) if target.numeric else model.predict_proba(graphs), [{}] * len(graphs)
    else:
        if isinstance(coverage, bool) or not isinstance(coverage, (int, float)):
            raise InputError(f"coverage is {ascii(coverage)[:40]}; give a number between 0 and 1")
        found = model.assess(graphs, coverage)
        answers, more = found.answers, _trust(found, names)
    answers = answers.reshape(len(graphs), -1)
    rows = []
    for value, answer, extra in zip(target.decide(answers).tolist(), answers.tolist(), more, strict=True):
        row = {"predicted": _by_name(names, value) if isinstance(value, list) else value}
        probabilities = {} if target.numeric else {"probabilities": _by_name(names, answer)}
        rows.append({**row, **probabilities, **extra})
    return rows


def _trust(found: Assessment, names: list[str]) -> list[dict[str, Any]]:
    """Return the interval or set of each graph and its domain, as far as there are such."""
    rows: list[dict[str, Any]] = [{} for _ in found.answers]
    if found.interval is not None:
        finite = found.interval.astype(object)
        finite[~np.isfinite(found.interval)] = None  # JSON has no infinity
        pairs = finite.tolist()
        held = pairs if found.interval.ndim == 2 else [_by_name(names, row) for row in pairs]
        rows = [{"coverage": found.coverage, "interval": value} for value in held]
    elif found.sets is not None:
        held = [_chosen(names, row) for row in found.sets.tolist()]
        rows = [{"coverage": found.coverage, "set": value} for value in held]
    for row, domain in zip(rows, found.domain or (), strict=False):
        row["domain"] = domain.to_dict()
    return rows


def _chosen(names: list[Any], kept: list[Any]) -> Any:
    """Return the classes that a set holds; for labels False and True by name."""
    if isinstance(kept[0], list):
        return {name: _chosen([False, True], pair) for name, pair in zip(names, kept, strict=True)}
    return [name for name, inside in zip(names, kept, strict=True) if inside]


def _by_name(names: list[str], values: list[Any]) -> dict[str, Any]:
    return dict(zip(names, values, strict=True))


def facts(name: str, model: Any) -> dict[str, Any]:
    """Describe a model: what it reads, what it predicts, and a graph for the page to start with."""
    reads = _reads(model)
    encoding = getattr(getattr(model, "vectorizer_", None), "encoding_", None)
    labels = {} if encoding is None or reads == "smiles" else encoding.labels
    known = {}
    for kind in ("node", "edge"):
        codes = labels.get(f"{kind}_labels", np.array([])).tolist()
        known[kind] = [model.label_names_[kind].get(code, code) for code in codes]
    editing = {}
    if reads == "smiles":
        from isonn.molecules.edit import GROUPS

        editing = {"elements": ELEMENTS, "groups": list(GROUPS)}
    values = model.target_.classes.tolist()
    return {
        "name": name,
        "class": type(model).__name__,
        "reads": reads,
        "predicts": model.target_.name,
        "outputs": [{"value": v, "name": n} for v, n in zip(values, output_names(model), strict=True)],
        "node_labels": known["node"],
        "edge_labels": known["edge"],
        **editing,
        "suggests": hasattr(model, "suggest"),
        "held_out_score": getattr(model, "held_out_score_", None),
        "example": _example(model, reads, known),
    }


def _reads(model: Any) -> str:
    if getattr(model, "kind_", "") == "molecules":
        return "smiles"
    return "matrices" if type(model).__name__.startswith("Aligned") else "graphs"


def _example(model: Any, reads: str, labels: dict[str, list[Any]]) -> dict[str, Any]:
    """Return the body of a request with a graph that the model reads."""
    if reads == "smiles":
        return {"smiles": ["CC(=O)Oc1ccccc1C(=O)O"]}
    if reads == "matrices":
        return {"matrices": [np.where(np.eye(model.size_, dtype=bool), 0.0, 0.1).tolist()]}
    n = 4 if type(model).__name__.startswith("Subgraph") else model.size_
    edges = [[i, i + 1] for i in range(n - 1)] + ([[0, n - 1]] if n > 2 else [])
    graph: dict[str, Any] = {"nodes": n, "edges": edges}
    if labels["node"]:
        graph["labels"] = [labels["node"][0]] * n
    if labels["edge"]:
        graph["edge_labels"] = [labels["edge"][0]] * len(edges)
    return {"graphs": [graph]}


def output_names(model: Any) -> list[str]:
    """Return the name of each class, label or column of numbers; by default its value."""
    names = model.label_names_.get("class" if model.target_.exclusive else "target", {})
    return [str(names.get(value, value)) for value in model.target_.classes.tolist()]
