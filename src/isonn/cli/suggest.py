"""`isonn suggest`: small edits of a graph that move its prediction to a goal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

from isonn.cli import options as opt
from isonn.cli.options import argument, option
from isonn.cli.reading import given_graphs, model_with

if TYPE_CHECKING:
    from isonn.targets import Target


def suggest(
    model: opt.Model,
    graph: Annotated[str, argument("GRAPH", "A SMILES, or a dataset or path with --graph.")],
    goal: opt.Goal = None,
    number: Annotated[str, option(None, "A graph of a dataset by its number from 0, or by its id.", "--graph")] = "0",
    label: opt.Label = None,
    steps: Annotated[int, option(None, "Most edits of a suggestion.", min=1, max=3)] = 2,
    top: Annotated[int, option(None, "Most suggestions.", min=1, max=50)] = 10,
    as_json: opt.AsJson = False,
    quiet: opt.Quiet = False,
) -> None:
    """Print small edits that move the prediction for one graph to a goal, each re-scored by the model.

    Of several labels or columns, --label names the one that --goal is about.
    """
    from isonn.explain.explanation import column_of, output_names
    from isonn.explain.suggest import read_goal
    from isonn.graphs.io.target_column import unit_of
    from isonn.report.explain_page import places_of

    clf = model_with(model, "suggest", "suggestions need a model of --method isonn-subgraph")
    graphs = given_graphs([graph], clf)
    given = graphs[places_of(graphs, [number])]
    predicted = clf.predict(given)[0]
    wanted = read_goal(clf, goal, predicted)
    names, column = output_names(clf.target_, clf.label_names_), None
    if label is not None and not clf.target_.exclusive:
        column = column_of(clf.target_.classes, label, names)
    suggestions = clf.suggest(given, wanted, label=column, steps=steps, top=top)
    if as_json:
        print(json.dumps([_facts(suggestion) for suggestion in suggestions], indent=1))
        return
    numeric = clf.target_.numeric
    named = "" if clf.target_.exclusive else str(names.get(column or 0, ""))
    unit = unit_of(named) if numeric else ""
    print(_heading(clf.target_, column, predicted, wanted, named, unit))
    for suggestion in suggestions:
        similar = "" if suggestion.similarity is None else f"  similarity {suggestion.similarity:.2f}"
        missed = "" if suggestion.reached else "  (does not reach the goal)"
        domain = "" if suggestion.verdict in (None, "in") else f"  ({suggestion.verdict})"
        structure = f": {suggestion.smiles}" if suggestion.smiles else ""
        answer = f"{suggestion.answer:.3g} {unit}".rstrip() if numeric else f"{100 * suggestion.answer:.1f} %"
        print(f"{answer:>8}{similar}  {suggestion.text}{structure}{domain}{missed}")
    if not suggestions:
        print("no small edit moves the prediction to the goal")
    if suggestions.out_of_domain:
        print(f"left out: {suggestions.out_of_domain} edits out of the model's domain")


def _heading(target: Target, column: int | None, predicted: Any, goal: Any, name: str, unit: str) -> str:
    """Say what is predicted now, and what the goal is; of several columns, which one."""
    if target.exclusive:
        return f"now predicted: {predicted}; the probability of {goal} is first"
    which = f"{name or column} " if target.outputs > 1 else ""
    value = predicted[column or 0] if hasattr(predicted, "__len__") else predicted
    if target.numeric:
        bound = "at least" if goal >= value else "at most"
        return f"now predicted: {which}{value:.3g} {unit}".rstrip() + f"; goal: {bound} {goal:g} {unit}".rstrip()
    return f"now predicted: {which}{value:g}; the probability of {which}{goal:g} is first"


def _facts(suggestion: Any) -> dict[str, Any]:
    graph, smiles = suggestion.graph, suggestion.smiles
    once = graph.edges[:, 0] < graph.edges[:, 1]
    structure = {"smiles": smiles} if smiles else {"nodes": graph.n, "edges": graph.edges[once].tolist()}
    return {"edits": suggestion.edits, **structure, **suggestion.to_dict()}
