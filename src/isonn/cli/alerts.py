"""`isonn alerts`: list structural alerts of a model as SMARTS."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

from isonn.cli import options as opt
from isonn.cli.options import new_path, option
from isonn.cli.reading import graphs_of, model_with, reading


def alerts(
    model: opt.Model,
    data: opt.Data,
    out: Annotated[Path | None, new_path(None, "CSV file to write", default="standard output")] = None,
    html: Annotated[Path | None, new_path(None, "HTML page to write, with drawings")] = None,
    label: opt.Label = None,
    top: Annotated[int, option(None, "Largest number of alerts.")] = 50,
    min_support: Annotated[int, option(None, "Smallest number of molecules that an alert is judged on.")] = 5,
    smiles: opt.SmilesColumn = None,
    target: opt.TrueColumns = None,
    values: opt.Values = None,
    as_json: opt.AsJson = False,
    quiet: opt.Quiet = False,
) -> None:
    """List groups and pieces of molecules that warn of a class as SMARTS, with the precision of each.

    The class is the positive one of two (active, yes, 1), unless --label names it. Precision is counted on molecules
    that took no part in choosing an alert: the list is chosen again without each fold of DATA.
    """
    from isonn.errors import InputError
    from isonn.screening.sources import target_names

    clf = model_with(model, "alerts", "alerts need a model of --method isonn-subgraph")
    if not hasattr(clf, "classes_"):
        raise InputError(
            f"{model} predicts numbers, and alerts warn of a class; fit classes, such as values above a threshold, or "
            f"see what raises and lowers a number with isonn explain"
        )
    graphs = graphs_of(data, clf, **reading(smiles, target, values=values))
    if graphs.y is None:
        columns = ", ".join(target_names(clf))
        column = f"add the column {columns}" if columns else "add them"
        raise InputError(f"{data} has no classes to judge alerts by; {column}, or name theirs with --target")
    chosen = clf.alerts(graphs, label=label, top=top, min_support=min_support)
    if html is not None:
        chosen.to_html(html)
    if out is not None:
        chosen.to_csv(out)
    if as_json:
        facts = {"class": chosen.label, "base": chosen.base, "rule": chosen.rule, "alerts": chosen.rows()}
        print(json.dumps(facts, indent=1))
        return
    if out is None:
        chosen.to_csv(sys.stdout)
    elif html is None:
        print(chosen)
    print(chosen.sentence(), file=sys.stderr)
