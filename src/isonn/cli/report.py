"""`isonn report`: write one page about a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from isonn.cli import options as opt
from isonn.cli.options import argument, option


def report(
    folder: Annotated[Path, argument("DIR", "A folder of results written by `isonn evaluate --out`.")],
    out: Annotated[Path | None, option(None, "HTML page to write.", default="DIR/report.html")] = None,
    data: Annotated[
        str | None, option(None, "Name or path of the graphs, if the name in the run is not enough.")
    ] = None,
    model: Annotated[
        Path | None, option(None, "A saved model to show.", default="a model of the run, refitted")
    ] = None,
    graphs: Annotated[int, option(None, "Largest number of graphs in the gallery.", min=1)] = 1000,
    as_json: opt.AsJson = False,
    quiet: opt.Quiet = False,
) -> None:
    """Write one self-contained HTML page about a run: results, templates, and graphs with their matches."""
    from isonn.report.page import write
    from isonn.report.run_page import report_page

    page = report_page(folder, data, model, graphs)
    target = out if out is not None else folder / "report.html"
    write(target, page.text)
    if as_json:
        print(json.dumps({"page": str(target), **page.facts}, indent=1))
        return
    facts = page.facts
    held = f"{facts['results']} results, {facts['reasons']} reasons, {facts['graphs']} graphs"
    if not facts["graphs"]:
        held = f"{facts['results']} results of {', '.join(facts['datasets'])}"
    print(f"{target}: {held}, {facts['bytes'] / 1e6:.1f} MB")
    if facts["no_model"]:
        print(facts["no_model"] + ("" if data else " Give the graphs with --data."))
    if facts["missing"] or facts["damaged"]:
        print(
            f"{facts['missing']} jobs have no result and {len(facts['damaged'])} files could not be read; the "
            "page lists them"
        )
