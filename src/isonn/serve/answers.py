"""Predictions and explanations as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from isonn.errors import InputError
from isonn.explain.explanation import Explanation
from isonn.explain.matched import NamedContribution
from isonn.explain.reasons import Reason
from isonn.graphs.graph import GraphSet
from isonn.report.draw import Drawing, draw_graph, symbols_of

#: Elements that the page offers.
ELEMENTS = ["C", "N", "O", "S", "F", "Cl", "Br", "I", "P", "B", "Si"]
#: Absent pieces and terms that are named.
NAMED = 5


def predict(model: Any, graphs: GraphSet) -> list[dict[str, Any]]:
    """Return the prediction of each graph, with a probability per class or label."""
    target = model.target_
    answers = model.predict(graphs) if target.numeric else model.predict_proba(graphs)
    decided = target.decide(answers.reshape(len(graphs), -1))
    names = output_names(model)
    rows = []
    for answer, value in zip(answers.reshape(len(graphs), -1).tolist(), decided.tolist(), strict=True):
        several = isinstance(value, list)
        row = {"predicted": dict(zip(names, value, strict=True)) if several else value}
        if not target.numeric:
            row["probabilities"] = dict(zip(names, answer, strict=True))
        rows.append(row)
    return rows


def facts(name: str, model: Any) -> dict[str, Any]:
    """Describe a model: what it reads, and what it predicts."""
    encoding = getattr(getattr(model, "vectorizer_", None), "encoding_", None)
    labels = {} if encoding is None or model.kind_ == "molecules" else encoding.labels
    names = model.label_names_
    editing = _editing() if getattr(model, "kind_", "") == "molecules" else {}
    return {
        "name": name,
        "class": type(model).__name__,
        "reads": "smiles" if getattr(model, "kind_", "") == "molecules" else _form(model),
        "predicts": model.target_.name,
        "outputs": [
            {"value": value, "name": called}
            for value, called in zip(model.target_.classes.tolist(), output_names(model), strict=True)
        ],
        "node_labels": [names["node"].get(label, label) for label in labels.get("node_labels", np.array([])).tolist()],
        "edge_labels": [names["edge"].get(label, label) for label in labels.get("edge_labels", np.array([])).tolist()],
        **editing,
        "suggests": hasattr(model, "suggest"),
        "held_out_score": getattr(model, "held_out_score_", None),
    }


def _editing() -> dict[str, list[str]]:
    """Return what the page offers: elements, and groups to attach."""
    from isonn.molecules.edit import GROUPS

    return {"elements": ELEMENTS, "groups": list(GROUPS)}


def _form(model: Any) -> str:
    return "matrices" if type(model).__name__.startswith("Aligned") else "graphs"


def example(model: Any) -> dict[str, Any]:
    """Return the body of a request with a graph that the model reads, for the page to start with."""
    form = facts("", model)["reads"]
    if form == "smiles":
        return {"smiles": ["CC(=O)Oc1ccccc1C(=O)O"]}
    if form == "matrices":
        n = model.size_
        return {"matrices": [np.where(np.eye(n, dtype=bool), 0.0, 0.1).tolist()]}
    labels = facts("", model)
    n = 4 if type(model).__name__.startswith("Subgraph") else model.size_
    graph: dict[str, Any] = {"nodes": n, "edges": [[i, i + 1] for i in range(n - 1)] + ([[0, n - 1]] if n > 2 else [])}
    if labels["node_labels"]:
        graph["labels"] = [labels["node_labels"][0]] * n
    if labels["edge_labels"]:
        graph["edge_labels"] = [labels["edge_labels"][0]] * len(graph["edges"])
    return {"graphs": [graph]}


def label_of(model: Any, given: Any) -> Any:
    """Return the class, label or column that a request names, by its value or its name; None for None."""
    if given is None:
        return None
    values, names = model.target_.classes.tolist(), output_names(model)
    if isinstance(given, (str, int, float)):
        if given in values and not isinstance(given, bool):
            return given
        if str(given) in names:
            return values[names.index(str(given))]
    raise InputError(f"label is {ascii(given)[:40]}; use one of {', '.join(names[:20])}")


def output_names(model: Any) -> list[str]:
    """Return the name of each class, label or column of numbers; by default its value."""
    names = model.label_names_.get("class" if model.target_.exclusive else "target", {})
    return [str(names.get(value, value)) for value in model.target_.classes.tolist()]


def describe(model: Any, explanation: Explanation, svg: bool = True) -> dict[str, Any]:
    """Return an explanation as JSON.

    Args:
        model: the model.
        explanation: its explanation.
        svg: whether to draw the graph, coloured by contribution.
    """
    target = explanation.target
    row: dict[str, Any] = {
        "predicted": _plain(target.decide(explanation.probabilities[None])[0]),
        "explained": output_names(model)[explanation.column],
        "score": explanation.score,
        "base": explanation.base,
        "answers": dict(zip(output_names(model), explanation.probabilities.tolist(), strict=True)),
        "node_importance": explanation.node_importance.tolist(),
        "units": units(explanation),
        "absent": _named(explanation.absent),
        "terms": _named(explanation.terms),
    }
    if svg:
        row["svg"] = draw(explanation).svg
    return row


def units(explanation: Explanation) -> list[dict[str, Any]]:
    """Return the units of a graph with their contributions, largest first."""
    return [
        {
            "name": Reason(unit, explanation).text,
            "kind": unit.kind,
            "nodes": list(unit.nodes),
            "contribution": unit.contribution,
            **({"smiles": unit.smiles, "smarts": unit.smarts} if unit.smiles else {}),
        }
        for unit in explanation.units
    ]


def draw(explanation: Explanation) -> Drawing:
    """Draw a graph, coloured by contribution."""
    graph = explanation.graph
    return draw_graph(
        graph,
        symbols=symbols_of(graph.node_labels, explanation.label_names, explanation.edge_label_names),
        node_importance=explanation.node_importance,
        edge_importance=explanation.edge_importance,
    )


def _named(parts: Sequence[NamedContribution]) -> dict[str, Any]:
    """Return the sum of some contributions and the strongest of them; the name of a piece takes a millisecond."""
    strongest = [{"name": part.name, "contribution": part.contribution} for part in parts[:NAMED]]
    return {"contribution": float(sum(part.contribution for part in parts)), "strongest": strongest}


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
