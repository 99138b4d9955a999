"""`isonn suggest`: small edits of a graph that move its prediction to a goal."""

from __future__ import annotations

import json
from typing import Annotated, Any

from isonn.cli import options as opt
from isonn.cli.options import argument, option
from isonn.cli.reading import given_graphs


def suggest(
    model: opt.Model,
    graph: Annotated[str, argument("GRAPH", "A SMILES, or a dataset or path with --graph.")],
    goal: opt.Goal = None,
    number: Annotated[int, option(None, "Index of a graph or row of a dataset, from 0.", "--graph", min=0)] = 0,
    label: opt.Label = None,
    steps: Annotated[int, option(None, "Most edits of a suggestion.", min=1, max=3)] = 2,
    top: Annotated[int, option(None, "Most suggestions.", min=1, max=50)] = 10,
    as_json: opt.AsJson = False,
    quiet: opt.Quiet = False,
) -> None:
    """Print small edits that move the prediction for one graph to a goal, each re-scored by the model.

    Of several labels or columns, --label names the one that --goal is about.
    """
    import isonn
    from isonn.errors import InputError
    from isonn.explain.suggest import read_goal

    clf = isonn.load_model(model)
    if not hasattr(clf, "suggest"):
        raise InputError(f"{model} holds a {type(clf).__name__}, which makes no suggestions; use a subgraph model")
    graphs = given_graphs([graph], clf)
    rows = graphs.table["row"].tolist() if "row" in graphs.table else list(range(len(graphs)))
    if number not in rows:
        raise InputError(f"--graph {number} is out of range: {graphs.name} has graphs 0 to {max(rows)}")
    given = graphs[[rows.index(number)]]
    predicted = clf.predict(given)[0]
    wanted = read_goal(clf, goal, predicted)
    suggestions = clf.suggest(given, wanted, label=label, steps=steps, top=top)
    if as_json:
        print(json.dumps([_facts(suggestion) for suggestion in suggestions], indent=1))
        return
    numeric = clf.target_.numeric
    print(
        f"now predicted: {predicted:.3g}"
        if numeric
        else f"now predicted: {predicted}; the probability of {wanted} is first"
    )
    for suggestion in suggestions:
        answer = f"{suggestion.answer:.3g}" if numeric else f"{100 * suggestion.answer:.1f} %"
        similar = "" if suggestion.similarity is None else f"  similarity {suggestion.similarity:.2f}"
        missed = "" if suggestion.reached else "  (does not reach the goal)"
        domain = "" if suggestion.verdict in (None, "in") else f"  ({suggestion.verdict})"
        structure = f": {suggestion.smiles}" if suggestion.smiles else ""
        print(f"{answer:>8}{similar}  {suggestion.text}{structure}{domain}{missed}")
    if not suggestions:
        print("no small edit moves the prediction to the goal")


def _facts(suggestion: Any) -> dict[str, Any]:
    graph, smiles = suggestion.graph, suggestion.smiles
    once = graph.edges[:, 0] < graph.edges[:, 1]
    structure = {"smiles": smiles} if smiles else {"nodes": graph.n, "edges": graph.edges[once].tolist()}
    return {"edits": suggestion.edits, **structure, **suggestion.to_dict()}
