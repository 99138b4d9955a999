"""`isonn explain`: explain predictions on a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isonn.cli.options import AsJson, Data, Model, Quiet, Select, SmilesColumn, TrueColumns, graphs_of, reading

if TYPE_CHECKING:
    from isonn.graphs import GraphSet
    from isonn.report.panels import Panel


def explain(
    model: Model,
    data: Data,
    out: Annotated[Path, typer.Option(help="HTML page to write; must not exist.", show_default=False)],
    graph: Annotated[
        list[int] | None,
        typer.Option(
            help="Index of a graph or row, from 0, as in predictions; may be repeated.", show_default="the first 20"
        ),
    ] = None,
    smiles: SmilesColumn = None,
    target: TrueColumns = None,
    select: Select = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write an HTML page that shows the pieces behind each prediction, and the prediction without them."""
    import isonn
    from isonn.files import check_new
    from isonn.report.explain_page import explain_page
    from isonn.report.page import write

    check_new(out)
    clf = isonn.load_model(model)
    graphs = graphs_of(data, clf, **reading(smiles, target, select=select))
    text, shown = explain_page(clf, graphs, graph, model, quiet=as_json)
    write(out, text)
    if as_json:
        print(json.dumps({"page": str(out), "graphs": [_facts(panel, graphs) for panel in shown]}, indent=1))
        return
    for panel in shown[:5]:
        best = panel.reasons[0] if panel.reasons else None
        why = f"; strongest reason: {best.text} ({best.contribution:+.2f})" if best else "; no reason found"
        sure = f" ({panel.certainty})" if panel.certainty else ""
        print(f"{panel.title}: {panel.predicted}{sure}{why}")
    print(f"{len(shown)} graph{'s' * (len(shown) != 1)} in {out}")


def _facts(panel: Panel, graphs: GraphSet) -> dict[str, object]:
    return {
        "graph": int(graphs.table["row"][panel.number]) if "row" in graphs.table else panel.number,
        "name": panel.name,
        "truth": panel.truth,
        "predicted": panel.predicted,
        "explained": panel.explained,
        "probabilities": dict(panel.probabilities),
        "score": panel.score,
        "logarithm": panel.logarithm,
        "base": panel.base,
        "reasons": [
            {
                "text": reason.text,
                "nodes": reason.nodes,
                "contribution": reason.contribution,
                "without": reason.without,
                "found": reason.held,
            }
            for reason in panel.reasons
        ],
        "matches": [
            {
                "template": match.template,
                "nodes": match.nodes,
                "distance": match.distance,
                "contribution": match.contribution,
                "without": match.without,
            }
            for match in panel.matches
        ],
    }
