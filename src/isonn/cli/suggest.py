"""`isonn suggest`: small edits of a graph that move its prediction to a goal."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from isonn.cli.options import AsJson, Model, Quiet


def suggest(
    model: Model,
    graph: Annotated[
        str, typer.Argument(metavar="GRAPH", help="A SMILES, or a dataset or path with --graph.", show_default=False)
    ],
    goal: Annotated[
        str | None,
        typer.Option(
            help="The class to reach, or the number to get to or past.", show_default="the other of two classes"
        ),
    ] = None,
    number: Annotated[int, typer.Option("--graph", help="Index of a graph or row of a dataset, from 0.", min=0)] = 0,
    label: Annotated[
        str | None,
        typer.Option(help="The label or column that --goal is about, if there are several.", show_default=False),
    ] = None,
    steps: Annotated[int, typer.Option(help="Most edits of a suggestion.", min=1, max=3)] = 2,
    top: Annotated[int, typer.Option(help="Most suggestions.", min=1, max=50)] = 10,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Print small edits that move the prediction for one graph to a goal, each re-scored by the model."""
    import isonn
    from isonn.errors import InputError
    from isonn.explain.suggest import read_goal

    clf = isonn.load_model(model)
    if not hasattr(clf, "suggest"):
        raise InputError(f"{model} holds a {type(clf).__name__}, which makes no suggestions; use a subgraph model")
    given = _one_graph(graph, number, clf)
    predicted = clf.predict(given)[0]
    found = clf.suggest(given, read_goal(clf, goal, predicted), label=label, steps=steps, top=top)
    if as_json:
        print(json.dumps([_facts(one) for one in found], indent=1))
        return
    numeric = clf.target_.numeric
    print(f"now predicted: {predicted:.3g}" if numeric else f"now predicted: {predicted}")
    for one in found:
        answer = f"{one.answer:.3g}" if numeric else f"{100 * one.answer:.1f} %"
        similar = "" if one.similarity is None else f"  similarity {one.similarity:.2f}"
        missed = "" if one.reached else "  (does not reach the goal)"
        domain = "" if one.verdict in (None, "in") else f"  ({one.verdict})"
        print(f"{answer:>8}{similar}  {one.text}{f': {one.smiles}' if one.smiles else ''}{domain}{missed}")
    if not found:
        print("no small edit moves the prediction to the goal")


def _one_graph(text: str, number: int, clf: Any) -> Any:
    """Return the graph of a SMILES, or one of a dataset."""
    from isonn.cli.reading import graphs_of
    from isonn.errors import InputError
    from isonn.files import is_path
    from isonn.graphs.convert import as_graphset

    if clf.kind_ == "molecules" and not is_path(text):
        return as_graphset([text], standardize=clf.standardize_)
    graphs = graphs_of(text, clf)
    rows = graphs.table["row"].tolist() if "row" in graphs.table else list(range(len(graphs)))
    if number not in rows:
        raise InputError(f"--graph {number} is out of range: {graphs.name} has graphs 0 to {max(rows)}")
    place = rows.index(number)
    return graphs[place : place + 1]


def _facts(one: Any) -> dict[str, Any]:
    once = one.graph.edges[:, 0] < one.graph.edges[:, 1]
    structure = (
        {"smiles": one.smiles} if one.smiles else {"nodes": one.graph.n, "edges": one.graph.edges[once].tolist()}
    )
    return {
        "edits": one.edits,
        **structure,
        "predicted": one.predicted,
        "answer": one.answer,
        "reached": one.reached,
        "change": one.change,
        "similarity": one.similarity,
        "verdict": one.verdict,
    }
