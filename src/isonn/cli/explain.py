"""`isonn explain`: explain predictions on a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from isonn.cli import options as opt
from isonn.cli.options import argument, flag, new_path, option
from isonn.cli.reading import given_graphs, reading

if TYPE_CHECKING:
    from isonn.report.cases import Cases
    from isonn.report.panels import Panel


def explain(
    model: opt.Model,
    data: Annotated[
        list[str], argument("DATA", "A known dataset (see `isonn data list`), a path, or one or several SMILES.")
    ],
    out: Annotated[Path | None, new_path(None, "HTML page to write", default="print the reasons")] = None,
    graph: Annotated[
        list[str] | None,
        option(
            None,
            "A graph by its number from 0, as in predictions, or by its id; may be repeated.",
            metavar="GRAPH",
            default="the first 20",
        ),
    ] = None,
    label: opt.Label = None,
    smiles: opt.SmilesColumn = None,
    target: opt.TrueColumns = None,
    censored: opt.Censored = None,
    values: opt.Values = None,
    select: opt.Select = None,
    runs: opt.Runs = None,
    missing: opt.Missing = None,
    suggest: Annotated[bool, flag(None, "Show small edits that move each prediction to --goal.", "--suggest")] = False,
    goal: opt.Goal = None,
    as_json: opt.AsJson = False,
    quiet: opt.Quiet = False,
) -> None:
    """Show the pieces behind each prediction, and the prediction without them, on an HTML page.

    The predicted class is explained, unless --label names another. --goal is what --suggest tries to reach.

    DATA may be molecules: isonn explain MODEL 'CCO' 'c1ccccc1N' --out why.html.
    """
    import isonn
    from isonn.errors import InputError
    from isonn.report.explain_page import explain_page, explained_cases
    from isonn.report.page import write
    from isonn.report.words import count_text

    if suggest and out is None:
        raise InputError("--suggest shows edits on a page; name it with --out, or use `isonn suggest`")
    clf = isonn.load_model(model)
    options = reading(smiles, target, censored=censored, values=values, select=select, runs=runs, missing=missing)
    graphs = given_graphs(data, clf, **options)
    if out is None:
        cases = explained_cases(clf, graphs, graph, model, label)
    else:
        text, cases = explain_page(clf, graphs, graph, model, label, (goal or "") if suggest else None)
        write(out, text)
    if as_json:
        page = {} if out is None else {"page": str(out)}
        print(json.dumps({**page, "graphs": [_facts(cases, panel) for panel in cases.panels]}, indent=1))
        return
    if out is not None:
        print(f"{count_text(len(cases.panels), 'graph')} in {out}")
        return
    for panel in cases.panels:
        sure = f" ({panel.certainty})" if panel.certainty else ""
        print(f"{panel.title}: {panel.predicted}{sure}")
        for reason in panel.reasons:  # nothing is left of a graph that is one piece
            parts = f" (what is left falls into {reason.parts} parts)" if reason.parts else ""
            without = f"; without it: {reason.without}{parts}" if reason.without else ""
            print(f"  {reason.text} ({reason.effect}){without}")


def _facts(cases: Cases, panel: Panel) -> dict[str, object]:
    rows = cases.graphs.table.get("row")
    number = panel.number if rows is None else int(rows[panel.number])
    return {"graph": number, "truth": panel.truth, **cases.explanation(panel.number).to_dict()}
