"""`isonn data`: list, describe and fetch datasets."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from isonn.cli import options as opt
from isonn.cli.options import argument
from isonn.cli.reading import reading

app = typer.Typer(no_args_is_help=True)


@app.command("list")
def list_datasets(as_json: opt.AsJson = False, quiet: opt.Quiet = False) -> None:
    """List the datasets isonn knows by name, and their local paths."""
    from isonn.graphs import find, known

    rows = [(entry, find(entry.name)) for entry in known()]
    if as_json:
        print(
            json.dumps([{"name": e.name, "about": e.about, "path": path and str(path)} for e, path in rows], indent=1)
        )
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("name", "graphs", "what it is", "here", box=None)
    for entry, path in rows:
        graphs = "" if entry.graphs is None else str(entry.graphs)
        table.add_row(entry.name, graphs, entry.about, "yes" if path else "download" if entry.url else "no")
    console = Console()
    console.print(table)
    console.print("Any other name of the TU collection or a path also works.", style="dim")


@app.command()
def info(
    data: opt.Data,
    smiles: opt.SmilesColumn = None,
    target: opt.TargetColumns = None,
    standardize: opt.Standardize = None,
    censored: opt.Censored = None,
    values: opt.Values = None,
    skip_bad: opt.SkipBad = False,
    as_json: opt.AsJson = False,
    quiet: opt.Quiet = False,
) -> None:
    """Describe a dataset: graphs, classes, sizes, labels and source."""
    import isonn

    options = reading(smiles, target, standardize=standardize, censored=censored, values=values, skip_bad=skip_bad)
    graphs = isonn.load(data, **options)
    facts = _facts(graphs)
    if as_json:
        print(json.dumps(facts, indent=1))
        return
    for name, value in facts.items():
        if value is not None:
            print(f"{name:16} {value}")


@app.command()
def fetch(
    name: Annotated[str, argument("NAME", "A known dataset, or any name of the TU collection.")],
    quiet: opt.Quiet = False,
) -> None:
    """Download a public dataset unless it is already on this machine."""
    from isonn import graphs, progress

    with progress.bar(f"fetching {name}", total=100) as report:

        def on_progress(done: int, total: int | None) -> None:
            report(0 if not total else 100 * done // total, f"{done / 1e6:.1f} MB")

        path = graphs.fetch(name, on_progress)
    print(path)


def _facts(graphs: Any) -> dict[str, Any]:
    from isonn.graphs import find, known

    sizes = graphs.sizes
    entry = next((entry for entry in known() if entry.name == graphs.name), None)
    return {
        "name": graphs.name,
        "about": entry and entry.about,
        "path": entry and str(find(entry.name)),
        "graphs": len(graphs),
        **_target(graphs),
        "nodes": f"{sizes.min()} to {sizes.max()}, mean {sizes.mean():.1f}",
        "edges": "weighted" if graphs.weights is not None else "0/1",
        "node labels": None if graphs.node_labels is None else len(set(graphs.node_labels.tolist())),
        "edge labels": None if graphs.edge_labels is None else len(set(graphs.edge_labels.tolist())),
        "node attributes": None if graphs.node_attributes is None else graphs.node_attributes.shape[1],
        "ids": None
        if graphs.ids is None
        else ", ".join(graphs.ids[:3].tolist()) + (", ..." if len(graphs) > 3 else ""),
        "table": ", ".join(graphs.table) or None,
        "sha256": graphs.digest,
        "source": entry and entry.source,
    }


def _target(graphs: Any) -> dict[str, Any]:
    """Return the classes with their counts, or the names and ranges of numbers."""
    import numpy as np

    if graphs.y is None:
        return {"classes": None}
    if graphs.y.ndim == 1 and graphs.y.dtype.kind != "f":
        counts = {str(value): int((graphs.y == value).sum()) for value in graphs.classes.tolist()}
        names = {str(value): name for value, name in graphs.class_names.items()}
        return {"classes": counts, "class names": names or None}
    columns = graphs.y.reshape(len(graphs), -1).astype(np.float64)
    targets = graphs.target_names or tuple(f"column {i}" for i in range(columns.shape[1]))
    ranges = {
        name: f"{np.nanmin(column):g} to {np.nanmax(column):g}, {int(np.isnan(column).sum())} missing"
        for name, column in zip(targets, columns.T, strict=True)
        if not np.isnan(column).all()
    }
    return {"to predict": ranges}
