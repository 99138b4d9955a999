"""`isonn audit`: check whether predictions depend on the order of nodes."""

from __future__ import annotations

import json
from typing import Annotated

from isonn.cli import options as opt
from isonn.cli.options import option
from isonn.cli.reading import graphs_of, reading


def audit(
    model: opt.Model,
    data: opt.Data,
    repeats: Annotated[int, option(None, "Number of relabellings per graph.")] = 20,
    seed: Annotated[int, option(None, "Seed of the relabellings.")] = 0,
    smiles: opt.SmilesColumn = None,
    target: opt.TrueColumns = None,
    as_json: opt.AsJson = False,
    quiet: opt.Quiet = False,
) -> None:
    """Relabel the graphs of DATA and count the predictions that change; also report equal graphs."""
    import isonn
    from isonn.audit import relabelling, twins

    clf = isonn.load_model(model)
    graphs = graphs_of(data, clf, **reading(smiles, target))
    flips = relabelling(clf, graphs, repeats=repeats, random_state=seed)
    groups = twins(graphs)
    changed = int((flips.by_graph > 0).sum())
    in_groups = sum(map(len, groups))
    if as_json:
        summary = {
            "dataset": graphs.name,
            "graphs": len(graphs),
            "repeats": repeats,
            "flip_rate": flips.flip_rate,
            "largest_change": flips.largest_change,
            "flips_by_graph": flips.by_graph.tolist(),
            "twins": [group.tolist() for group in groups],
        }
        print(json.dumps(summary, indent=1))
        return
    print(f"{graphs.name}: {len(graphs)} graphs, each relabelled {repeats} times")
    kind = "probability" if hasattr(clf, "predict_proba") else "number"
    print(
        f"Predictions that changed: {flips.flip_rate:.1%}, in {changed} graphs; "
        f"largest change of a {kind}: {flips.largest_change:.2g}"
    )
    if changed:
        worst = flips.by_graph.argsort()[::-1][:5]
        print("Most often: " + ", ".join(f"graph {i} ({flips.by_graph[i]:.0%})" for i in worst if flips.by_graph[i]))
    print(
        f"Structural twins: {in_groups} graphs in {len(groups)} groups are equal up to relabelling, labels ignored; "
        f"keep each group in one fold"
        if groups
        else "Structural twins: none"
    )
