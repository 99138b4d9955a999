"""`isonn findings`: what a model of connectomes found, as a table, a page or figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from isonn.cli import options as opt
from isonn.cli.options import argument, new_path, option
from isonn.cli.reading import graphs_of, model_with, reading


def findings(
    model: opt.Model,
    data: Annotated[str | None, argument("DATA", "The subjects, to show the values of each set by class.")] = None,
    out: Annotated[
        Path | None,
        new_path(None, "File to write: .csv, .html or .pdf", default="print the findings"),
    ] = None,
    figures: Annotated[Path | None, option(None, "Folder for every figure as SVG, PDF and PNG of 300 dpi.")] = None,
    label: opt.Label = None,
    atlas: Annotated[
        str | None,
        option(None, "A file or a name such as power; for networks and coordinates.", default="the model's"),
    ] = None,
    top: Annotated[int, option(None, "Largest number of connections.")] = 50,
    target: opt.TrueColumns = None,
    select: opt.Select = None,
    runs: opt.Runs = None,
    missing: opt.Missing = None,
    join_case: opt.JoinCase = False,
    as_json: opt.AsJson = False,
    quiet: opt.Quiet = False,
) -> None:
    """List the sets of regions and connections that a model of connectomes found, with effect sizes and p-values.

    They are those of the positive one of two classes, or of the last class, unless --label names another class or
    target. A .csv file holds the connections; the sets are in NAME-sets.csv beside it.
    """
    import json
    from dataclasses import asdict

    from isonn.connectomes import brain_page, save_figures
    from isonn.connectomes import findings as find
    from isonn.connectomes.figures import write_pdf
    from isonn.errors import InputError
    from isonn.files import check_new

    if out is not None and out.suffix not in (".csv", ".html", ".pdf"):
        raise InputError(f"--out {out} has the suffix {out.suffix!r}; use .csv, .html or .pdf")
    sets = out.with_name(f"{out.stem}-sets.csv") if out is not None and out.suffix == ".csv" else None
    if sets is not None:
        check_new(sets, "another --out")
    clf = model_with(model, "connections_", "findings need a model of --method isonn-aligned")
    options = reading(target=target, select=select, runs=runs, missing=missing, join_case=join_case)
    graphs = None if data is None else graphs_of(data, clf, **options)
    result = find(clf, label, atlas=atlas, top=top, data=graphs)
    if figures is not None:
        save_figures(result, figures)
    if out is None:
        facts = {"about": result.about, "score": result.score, "confounding": result.confounding}
        lists: dict[str, list[Any]] = {"subnetworks": result.subnetworks, "connections": result.connections}
        rows = {name: [_plain(asdict(finding)) for finding in entries] for name, entries in lists.items()}
        print(json.dumps({**facts, **rows}, indent=1) if as_json else result)
    elif sets is not None:
        result.to_csv(out)
        result.to_csv(sets, what="subnetworks")
    elif out.suffix == ".html":
        brain_page(result, out)
    else:
        write_pdf(result, out)
    if out is not None:
        print(f"{len(result.subnetworks)} sets and {len(result.connections)} connections in {out}")


def _plain(row: dict[str, object]) -> dict[str, object]:
    """Replace NaN, which JSON does not have, by None."""
    return {name: None if value != value else value for name, value in row.items()}
