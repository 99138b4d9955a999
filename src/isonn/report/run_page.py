"""The page of a folder of results: how methods compare, and the graphs of one of its models with their reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from warnings import catch_warnings, simplefilter

from isonn.errors import IsoNNWarning
from isonn.experiments.rows import Row
from isonn.experiments.tables import failures
from isonn.graphs.graph import GraphSet
from isonn.progress import bar
from isonn.report.model_page import GRAPHS, ModelPage
from isonn.report.page import Header, Tile, render_page, require_jinja2
from isonn.report.page_models import choose_job, refitted, saved
from isonn.report.runs import Group, Run, find_graphs, read_run, shown_name
from isonn.report.sections import comparison
from isonn.report.sections.comparison import best_of, kind_of
from isonn.report.sections.provenance import group_facts, provenance_section, twins_text
from isonn.report.sections.templates import matched_templates_section
from isonn.report.words import Naming
from isonn.scores import METRICS

#: Metrics of numbers on the first screen, beside the one that is tested.
MORE = ("mae", "pearson")
#: Datasets on the first screen of a run on several.
TILES = 3


class ReportPage(NamedTuple):
    """A page as text, and counts of its content for machines."""

    text: str
    facts: dict[str, Any]


def report_page(
    folder: Path, data: str | None = None, model: Path | None = None, graphs_shown: int = GRAPHS
) -> ReportPage:
    """Create the page of a folder of results.

    Args:
        data: name or path of the graphs, if the run's own name does not find them.
        model: a saved model to show instead of one from the run.
        graphs_shown: maximum number of graphs in the gallery.
    """
    require_jinja2()
    with catch_warnings():  # `isonn evaluate` has told what it warned of
        simplefilter("ignore", IsoNNWarning)
        return _report_page(read_run(folder), data, model, graphs_shown)


def _report_page(run: Run, data: str | None, model: Path | None, graphs_shown: int) -> ReportPage:
    title = ", ".join(dict.fromkeys(group.dataset for group in run.groups))
    several = len({group.dataset for group in run.groups}) > 1 and data is None and model is None
    graphs: dict[str, GraphSet] = {}
    page, missing = None, ""
    if several:  # pages of single datasets show graphs
        header = _several_header(run.groups)
    else:
        shown, why = _chosen_group(run, data), ""
        for group in run.groups:
            loaded, why_not = find_graphs(run, group, data if group is shown else None)
            graphs |= {} if loaded is None else {group.name: loaded}
            why = why_not if group is shown else why
        page, missing = _model_page(shown, graphs.get(shown.name), why, model, graphs_shown)
        if page is None:
            header = Header("isonn report", title, tiles=_tiles(shown), note=missing, wide=True)
        else:
            tiles = _tiles(shown, page.models.method, page.cases.naming)
            header = page.first_screen(tiles if len(tiles) > 1 else page.tiles)
    provenance = [(group.name, group_facts(group, graphs.get(group.name))) for group in run.groups]
    sections = [
        *([] if page is None else page.sections),
        comparison.results_section(run.groups),
        comparison.differences_section(run.groups),
        comparison.confusion_section(run.groups, graphs),
        None if page is None else matched_templates_section(page.cases),
        provenance_section("Data, protocol and versions", provenance, "" if page is None else page.models.origin),
    ]
    text = render_page(f"{title}: isonn report", header, sections, _warnings(run, graphs), contents=True)
    return ReportPage(text, _facts(run, text, page, missing))


def _several_header(groups: Sequence[Group]) -> Header:
    """Return the first screen of a run on several datasets: on how many of them each method is best."""
    best = {group.name: row for group in groups if (row := best_of(group.rows)) is not None}
    kicker, question = f"isonn report: {len(groups)} datasets", "Which method is best?"
    if not best:
        return Header(kicker, question, note="No method has finished all folds of a seed yet.", wide=True)
    wins = Counter(shown_name(row) for row in best.values()).most_common()
    told = f"{wins[0][0]} has the best mean on {wins[0][1]} of {len(best)} datasets"
    answer = ", ".join([told, *(f"{name} on {number}" for name, number in wins[1:])])
    tiles = [_tile(row, f"{name}: {shown_name(row)}", Naming()) for name, row in best.items()]
    return Header(kicker, question, f"{answer}.", tiles[:TILES], wide=True)


def _model_page(
    group: Group, graphs: GraphSet | None, why: str, model: Path | None, most: int
) -> tuple[ModelPage | None, str]:
    """Return the page of the model that is shown, or why there is none."""
    if graphs is None:
        return None, f"Reasons and graphs cannot be shown: {why}."
    if model is not None:
        return ModelPage(saved(model, graphs), most), ""
    job = choose_job(group)
    if job is None:
        return None, "No method of this run gives reasons; add isonn-subgraph to its methods."
    with bar(f"fitting {job.method}", 1) as report:
        models = refitted(job, group.results[job.id], graphs)
        report(1, "")
    return ModelPage(models, most), ""


def _tiles(group: Group, method: str | None = None, naming: Naming | None = None) -> list[Tile]:
    """Return the score of a method (None: of the best learned one) over all seeds, and of the best simple method."""
    simple = [row for row in group.rows if kind_of(row.method) == "trivial"]
    learned = [row for row in group.rows if row not in simple and method in (None, row.method)]
    best, trivial = best_of(learned), best_of(simple)
    naming = naming or Naming()
    tiles = [] if best is None else [_tile(best, shown_name(best), naming, MORE)]
    name = "" if trivial is None else f"Best simple method: {shown_name(trivial)}"
    return tiles if trivial is None else [*tiles, _tile(trivial, name, naming)]


def _tile(row: Row, name: str, naming: Naming, more: Sequence[str] = ()) -> Tile:
    first, unit = next(iter(row.metrics)), naming.unit() if len(naming.targets) == 1 else ""
    units = {"rmse": f" {unit}", "mae": f" {unit}"} if unit else {}
    about = f"{METRICS[first].heading} on held-out {naming.noun}s"
    for metric in more:
        if metric in row.metrics:
            about += f"; {METRICS[metric].heading} {row.metrics[metric]}{units.get(metric, '')}"
    return Tile(name, f"{row.first}{' %' if METRICS[first].percent else units.get(first, '')}", about)


def _chosen_group(run: Run, data: str | None) -> Group:
    """Return the group whose graphs are shown: that of ``data``, or the first with a model to show."""
    named = [group for group in run.groups if data is not None and group.dataset in (data, Path(data).stem)]
    return next(iter([*named, *(group for group in run.groups if choose_job(group) is not None), *run.groups]))


def _warnings(run: Run, graphs: dict[str, GraphSet]) -> list[str]:
    sentences = [
        f"{group.missing} of {len(group.jobs)} jobs of {group.name} have no result; a seed counts once all its folds "
        f"are there. Run the same isonn evaluate again to complete it."
        for group in run.groups
        if group.missing
    ]
    if run.damaged:
        names = ", ".join(run.damaged[:3]) + (", …" if len(run.damaged) > 3 else "")
        sentences.append(f"{len(run.damaged)} files could not be read and are left out: {names}.")
    sentences += [f"{name} is left out: {reason}." for name, reason in run.left_out.items()]
    sentences += [twins for group in run.groups if (twins := twins_text(graphs.get(group.name), group.protocol))]
    return [*sentences, *(sentence for group in run.groups for sentence in failures(group.rows))]


def _facts(run: Run, text: str, page: ModelPage | None, missing: str) -> dict[str, Any]:
    """Return the counts of the page, for machines."""
    reasons = 0
    if page is not None:
        reasons = sum(len(group.lines) for group in page.units) or sum(map(len, page.pieces.values()))
    return {
        "datasets": list(dict.fromkeys(group.dataset for group in run.groups)),
        "results": sum(job.id in group.results for group in run.groups for job in group.jobs),
        "missing": sum(group.missing for group in run.groups),
        "damaged": list(run.damaged),
        "reasons": reasons,
        "graphs": 0 if page is None else len(page.cases.panels),
        "no_model": missing,
        "bytes": len(text.encode()),
    }
