"""The work of each path of the server: facts about models, predictions, explanations, edits and suggestions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from isonn.domain import Assessment
from isonn.errors import InputError
from isonn.explain.explanation import output_names
from isonn.graphs.graph import GraphSet
from isonn.graphs.io.target_column import unit_of
from isonn.report.draw import describe, draw_explained
from isonn.serve.bodies import FORMS, Limits, RequestError, numbers_read, read_graphs, shown, whole
from isonn.serve.edits import apply_edit, as_json, clickable

#: Elements that the page offers.
ELEMENTS = ["C", "N", "O", "S", "F", "Cl", "Br", "I", "P", "B", "Si"]
#: Coverage of intervals and sets if a request names none.
COVERAGE = 0.9
#: Suggestions of a request, the most that may be asked for, and the nodes of the largest graph to suggest edits of.
SUGGESTED, MOST_SUGGESTED, LARGEST_EDITED = 8, 50, 150


class Models:
    """The models of a server by name, and the work of each path, which is done in the thread of the models."""

    def __init__(self, models: Mapping[str, Any], limits: Limits) -> None:
        self.by_name, self.limits = dict(models), limits

    def list(self, body: dict[str, Any]) -> dict[str, Any]:
        """Describe all models."""
        return {"models": [_facts(name, model) for name, model in self.by_name.items()]}

    def predict(self, body: dict[str, Any]) -> dict[str, Any]:
        """Predict graphs, with intervals, sets and domains if ``trust`` is asked for."""
        name, model = self._find(body, "trust", "coverage")
        graphs = read_graphs(body, model, self.limits.graphs, self.limits)
        coverage = body.get("coverage", COVERAGE) if _asked(body, "trust") else None
        return {"model": name, "predictions": _predictions(model, graphs, coverage)}

    def explain(self, body: dict[str, Any]) -> dict[str, Any]:
        """Explain the predictions of graphs."""
        name, model = self._find(body, "label", "svg")
        svg, rows = _asked(body, "svg"), []
        graphs = read_graphs(body, model, self.limits.explained, self.limits)
        for i in range(len(graphs)):
            explanation = model.explain(graphs[i : i + 1], label=body.get("label"))
            drawn = {"svg": draw_explained(explanation).svg} if svg else {}
            rows.append({**explanation.to_dict(without=False), **drawn})
        return {"model": name, "explanations": rows}

    def whatif(self, body: dict[str, Any]) -> dict[str, Any]:
        """Apply ``edit``, an object with ``op``, to one graph, and explain the result."""
        name, model = self._find(body, "label", "edit")
        graphs, edited = apply_edit(read_graphs(body, model, 1, self.limits), body.get("edit"), model)
        explanation = model.explain(graphs, label=body.get("label"))
        return {
            "model": name,
            **explanation.to_dict(without=False),
            **edited,
            "about": describe(graphs[0]),
            "names": [explanation.node_name(node) for node in range(graphs[0].n)],
            "svg": clickable(draw_explained(explanation), graphs[0]),
        }

    def suggest(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return small edits of one graph that move its prediction to ``goal``."""
        name, model = self._find(body, "label", "goal", "top")
        if not hasattr(model, "suggest"):
            raise InputError(f"{type(model).__name__} makes no suggestions; use a subgraph model")
        graphs, goal = read_graphs(body, model, 1, self.limits), body.get("goal")
        if graphs.sizes[0] > LARGEST_EDITED:
            raise InputError(
                f"the graph has {graphs.sizes[0]} nodes, above the limit of {LARGEST_EDITED} for suggestions"
            )
        if isinstance(goal, bool) or not isinstance(goal, (str, int, float)):
            raise InputError(f"goal is {ascii(goal)[:40]}; give the class, or the number to reach")
        top = whole(body.get("top", SUGGESTED), "top", 1, MOST_SUGGESTED)
        suggestions = model.suggest(graphs, goal, label=body.get("label"), top=top)
        structures = [{"smiles": s.smiles} if s.smiles else {"graph": as_json(s.graph, model)} for s in suggestions]
        rows = [{**where, **suggestion.to_dict()} for where, suggestion in zip(structures, suggestions, strict=True)]
        return {"model": name, "suggestions": rows, "out_of_domain": suggestions.out_of_domain}

    def _find(self, body: Mapping[str, Any], *more: str) -> tuple[str, Any]:
        """Return the name and the model that a request asks for; it may be left out if there is one.

        Args:
            body: the request; fields other than those of graphs and ``more`` are refused, because they may be misspelt.
        """
        fields = ("model", *FORMS, "confounds", *more)
        for field in body:
            if field not in fields:
                raise InputError(f"the request has {ascii(field)[:60]}; its fields are {', '.join(fields)}")
        names = ", ".join(self.by_name)
        name = body.get("model")
        if name is None:
            if len(self.by_name) > 1:
                raise RequestError(404, f"this server has several models; give model as one of {names}")
            name = next(iter(self.by_name))
        if not isinstance(name, str) or name not in self.by_name:
            raise RequestError(404, f"model {ascii(name)[:60]} is not on this server; use one of {names}")
        return name, self.by_name[name]


def _asked(body: Mapping[str, Any], field: str) -> bool:
    """Return whether a request asks for something with true."""
    if not isinstance(asked := body.get(field, False), bool):
        raise InputError(f"{field} is {shown(asked)}; give true or false")
    return asked


def _predictions(model: Any, graphs: GraphSet, coverage: Any = None) -> list[dict[str, Any]]:
    """Return the prediction of each graph, with a probability per class or label.

    A ``coverage`` adds an interval or a set of classes that holds the truth with this probability, and the domain, as
    far as the model has them.
    """
    target, names = model.target_, _output_names(model)
    more: list[dict[str, Any]]
    if coverage is None:
        answers, more = model.predict(graphs) if target.numeric else model.predict_proba(graphs), [{}] * len(graphs)
    else:
        if isinstance(coverage, bool) or not isinstance(coverage, (int, float)):
            raise InputError(f"coverage is {ascii(coverage)[:40]}; give a number between 0 and 1")
        assessed = model.assess(graphs, coverage)
        answers, more = assessed.answers, _trust(assessed, names)
    answers = answers.reshape(len(graphs), -1)
    rows = []
    for value, answer, extra in zip(target.decide(answers).tolist(), answers.tolist(), more, strict=True):
        row = {"predicted": _by_name(names, value) if isinstance(value, list) else value}
        probabilities = {} if target.numeric else {"probabilities": _by_name(names, answer)}
        rows.append({**row, **probabilities, **extra})
    return rows


def _trust(assessed: Assessment, names: list[str]) -> list[dict[str, Any]]:
    """Return the interval or set of each graph and its domain, as far as there are such."""
    rows: list[dict[str, Any]] = [{} for _ in assessed.answers]
    if assessed.interval is not None:
        finite = assessed.interval.astype(object)
        finite[~np.isfinite(assessed.interval)] = None  # JSON has no infinity
        pairs = finite.tolist()
        held = pairs if assessed.interval.ndim == 2 else [_by_name(names, row) for row in pairs]
        rows = [{"coverage": assessed.coverage, "interval": value} for value in held]
    elif assessed.sets is not None:
        held = [_chosen(names, row) for row in assessed.sets.tolist()]
        rows = [{"coverage": assessed.coverage, "set": value} for value in held]
    for row, domain in zip(rows, assessed.domain or (), strict=False):
        row["domain"] = domain.to_dict()
    return rows


def _chosen(names: list[Any], kept: list[Any]) -> Any:
    """Return the classes that a set holds; for labels False and True by name."""
    if isinstance(kept[0], list):
        return {name: _chosen([False, True], pair) for name, pair in zip(names, kept, strict=True)}
    return [name for name, inside in zip(names, kept, strict=True) if inside]


def _by_name(names: list[str], values: list[Any]) -> dict[str, Any]:
    return dict(zip(names, values, strict=True))


def _facts(name: str, model: Any) -> dict[str, Any]:
    """Describe a model: what it reads, what it predicts, and a graph for the page to start with."""
    reads = _reads(model)
    encoding = getattr(getattr(model, "vectorizer_", None), "encoding_", None)
    labels = {} if encoding is None or reads == "smiles" else encoding.labels
    named = {}
    for kind in ("node", "edge"):
        codes = labels.get(f"{kind}_labels", np.array([])).tolist()
        named[kind] = [model.label_names_[kind].get(code, code) for code in codes]
    attributes = numbers_read(model, "node_attributes")
    editing = {}
    if reads == "smiles":
        from isonn.molecules.edit import GROUPS

        editing = {"elements": ELEMENTS, "groups": list(GROUPS)}
    values, names = model.target_.classes.tolist(), _output_names(model)
    units = [unit_of(output) if model.target_.numeric else "" for output in names]
    return {
        "name": name,
        "class": type(model).__name__,
        "reads": reads,
        "predicts": model.target_.name,
        "outputs": [{"value": v, "name": n, "unit": u} for v, n, u in zip(values, names, units, strict=True)],
        "node_labels": named["node"],
        "edge_labels": named["edge"],
        "attributes": 0 if attributes is None else attributes.width,
        "weights": numbers_read(model, "edge_weights") is not None,
        **editing,
        "suggests": hasattr(model, "suggest"),
        "held_out_score": getattr(model, "held_out_score_", None),
        "example": _example(model, reads, named),
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
        confounds = model.model_.encoder.adjustment.confounds
        given = {one.name: [one.categories[0] if one.categories else one.center] for one in confounds}
        body = {"matrices": [np.where(np.eye(model.size_, dtype=bool), 0.0, 0.1).tolist()]}
        return {**body, "confounds": given} if given else body
    n = 4 if type(model).__name__.startswith("Subgraph") else model.size_
    edges = [[i, i + 1] for i in range(n - 1)] + ([[0, n - 1]] if n > 2 else [])
    graph: dict[str, Any] = {"nodes": n, "edges": edges}
    if labels["node"]:
        graph["labels"] = [labels["node"][0]] * n
    if (attributes := numbers_read(model, "node_attributes")) is not None:
        graph["attributes"] = [list(attributes.value(0))] * n
    if (weights := numbers_read(model, "edge_weights")) is not None:
        graph["weights"] = [next(w for i in range(len(weights)) for w in weights.value(i) if w)] * len(edges)
    if labels["edge"]:
        graph["edge_labels"] = [labels["edge"][0]] * len(edges)
    return {"graphs": [graph]}


def _output_names(model: Any) -> list[str]:
    """Return the name of each class, label or column of numbers; by default its value."""
    names = output_names(model.target_, model.label_names_)
    return [str(names.get(value, value)) for value in model.target_.classes.tolist()]
