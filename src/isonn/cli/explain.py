"""`isonn explain`: why graphs get their class, as a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from isonn.cli.options import AsJson, Data, SmilesColumn, TargetColumns, reading


def explain(
    model: Annotated[Path, typer.Argument(help="A folder that `isonn fit` made.", show_default=False)],
    data: Data,
    out: Annotated[Path, typer.Option(help="Page to write.", show_default=False)],
    graph: Annotated[
        list[int] | None,
        typer.Option(help="Number of a graph, from 0; may be given several times.", show_default="the first 20"),
    ] = None,
    smiles: SmilesColumn = None,
    target: TargetColumns = None,
    as_json: AsJson = False,
) -> None:
    """Make an HTML page that shows which pieces of graphs decide their class, and what would happen without them."""
    import isonn
    from isonn.report.explain_page import explain_page
    from isonn.report.page import write

    clf = isonn.load_model(model)
    graphs = isonn.load(data, **reading(smiles, target))
    text, shown = explain_page(clf, graphs, graph, model, quiet=as_json)
    write(out, text)
    if as_json:
        print(json.dumps({"page": str(out), "graphs": [_facts(panel, clf.multilabel_) for panel in shown]}, indent=1))
        return
    for panel in shown[:5]:
        best = panel.matches[0] if panel.matches else None
        why = f"; strongest match: template {best.template} at {best.nodes} ({best.contribution:+.3f})" if best else ""
        what = "class" if not clf.multilabel_ else "label" if panel.confidence > 0.5 else "no label, the likeliest is"
        print(f"graph {panel.number}: {what} {panel.predicted} ({100 * panel.confidence:.1f} %){why}")
    print(f"{len(shown)} graphs in {out}")


def _facts(panel: object, multilabel: bool) -> dict[str, object]:
    from isonn.report.panels import Panel

    assert isinstance(panel, Panel)
    return {
        "graph": panel.number,
        "class": panel.truth,
        "predicted": [label for label, p in panel.probabilities if p > 0.5] if multilabel else panel.predicted,
        "explained": panel.predicted,
        "probabilities": dict(panel.probabilities),
        "score": panel.score,
        "base": panel.base,
        "matches": [
            {
                "template": match.template,
                "nodes": match.nodes,
                "distance": match.distance,
                "contribution": match.contribution,
                "probability_without": match.without,
            }
            for match in panel.matches
        ],
    }
