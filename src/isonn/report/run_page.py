"""The report page of a folder of results, with templates and graphs of one of its models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter

from isonn.errors import IsoNNWarning
from isonn.experiments.rows import Row
from isonn.experiments.tables import failures
from isonn.graphs.graph import GraphSet
from isonn.progress import bar
from isonn.report.compare_page import comparison_page
from isonn.report.header import Header, Tile
from isonn.report.judged import Judged, trivial_tile
from isonn.report.model_page import GRAPHS, ModelPage
from isonn.report.page import render_page, require_jinja2
from isonn.report.provenance import group_facts
from isonn.report.rows import Measured, best_of, kind_of, metric_heading, metric_text
from isonn.report.runs import Collected, Fitted, Group, choose_job, collect, find_graphs, refit, saved
from isonn.report.section import Section
from isonn.report.sections.confusion import ConfusionSection
from isonn.report.sections.gallery import GallerySection
from isonn.report.sections.mistakes import MistakesSection
from isonn.report.sections.node_order import NodeOrderSection
from isonn.report.sections.provenance import ProvenanceSection
from isonn.report.sections.results import ResultsSection
from isonn.report.sections.templates import TemplateCardsSection
from isonn.report.sections.training import TrainingSection


@dataclass(frozen=True)
class ReportPage:
    """A page and a summary of its content.

    Attributes:
        text: the page.
        facts: counts, for machines.
    """

    text: str
    facts: dict[str, Any]


@dataclass(frozen=True, eq=False)
class _ShownModel:
    """The model of a run that the page shows, and why there is none."""

    page: ModelPage | None = None
    fitted: Fitted | None = None
    header: Header | None = None
    missing: str = ""


def report_page(
    folder: Path, data: str | None = None, model: Path | None = None, graphs_shown: int = GRAPHS, quiet: bool = False
) -> ReportPage:
    """Create the page of a folder of results.

    Args:
        data: name or path of the graphs, if the run's own name does not find them.
        model: a saved model to show instead of one from the run.
        graphs_shown: maximum number of graphs in the gallery.
        quiet: hide the progress bar.
    """
    require_jinja2()
    collected = collect(folder)
    if len({group.dataset for group in collected.groups}) > 1 and data is None and model is None:
        text = comparison_page(collected)
        results = sum(job.id in group.results for group in collected.groups for job in group.jobs)
        return ReportPage(text, _facts(collected, results, text))
    preferred = _preferred(collected, data)
    sets = [_measured(collected, group, data if group is preferred else None) for group in collected.groups]
    shown = _model_of(next(one for one in sets if one.group is preferred), model, graphs_shown, quiet)
    title = ", ".join(dict.fromkeys(group.dataset for group in collected.groups))
    header = shown.header or Header("isonn report", title, _headline(sets), note=shown.missing, wide=True)
    warnings = [*_warnings(collected), *(sentence for one in sets for sentence in failures(one.rows))]
    sections = _sections(sets, shown)
    text = render_page(f"{title}: isonn report", header, sections, warnings, contents=True)
    results = len({job.id for group in collected.groups for job in group.jobs} & set(collected.groups[0].results))
    return ReportPage(text, _facts(collected, results, text, shown, sections))


def _sections(sets: Sequence[Measured], shown: _ShownModel) -> list[Section]:
    """Return the sections, in order; those of the model only if there is one."""
    sentence = "" if shown.fitted is None else shown.fitted.sentence
    provenance = [(one.name, group_facts(one.group, one.graphs)) for one in sets]
    before: list[Section] = []
    cards: list[Section] = []
    if shown.page is not None:
        cases = shown.page.cases
        before = [
            *shown.page.reasons,
            *shown.page.fit,
            GallerySection.of_set(cases),
            MistakesSection(cases),
        ]
        cards = [TemplateCardsSection(cases, f"{sentence} The strongest templates are shown.")]
    return [
        *before,
        ResultsSection(sets),
        ConfusionSection(sets),
        *cards,
        TrainingSection(sets),
        NodeOrderSection(sets),
        ProvenanceSection("Data, protocol and versions", provenance, sentence),
    ]


def _facts(
    collected: Collected, results: int, text: str, shown: _ShownModel | None = None, sections: Sequence[Section] = ()
) -> dict[str, Any]:
    """Return the counts of the page, for machines."""
    shown = shown or _ShownModel()
    page = shown.page
    cards = [section for section in sections if isinstance(section, TemplateCardsSection) and section.applies()]
    return {
        "datasets": [group.dataset for group in collected.groups],
        "results": results,
        "missing": sum(group.missing for group in collected.groups),
        "damaged": list(collected.damaged),
        "reasons": 0 if page is None else sum(map(len, page.pieces.values())),
        "templates": sum(section.number for section in cards),
        "graphs": 0 if page is None else len(page.cases.panels),
        "no_model": shown.missing,
        "bytes": len(text.encode()),
    }


def _measured(collected: Collected, group: Group, data: str | None) -> Measured:
    graphs, why = find_graphs(group, data, collected.source(group.dataset))
    return Measured(f"{group.dataset}, {group.protocol} protocol", group, group.rows(), graphs, why)


def _model_of(measured: Measured, model: Path | None, most: int, quiet: bool) -> _ShownModel:
    """Return the model that the page shows, or why there is none."""
    graphs, rows = measured.graphs, measured.rows
    if graphs is None:
        return _ShownModel(missing=f"Reasons and graphs cannot be shown: {measured.why}.")
    with catch_warnings():  # `isonn evaluate` has told what its jobs warned of
        simplefilter("ignore", IsoNNWarning)
        fitted = _fitted(measured.group, graphs, model, quiet)
        if fitted is None:
            return _ShownModel(missing="No method of this run gives reasons; add isonn-subgraph to its methods.")
        judged = Judged(fitted.clf, [(fitted.clf, fitted.test)], fitted.how, fitted.train)
        of_run = _best_trivial(rows)
        page = ModelPage(judged, graphs, of_run or trivial_tile(graphs, fitted.clf), most, quiet)
        header = page.header
    tile = _tile_of(rows, fitted.method)
    if tile is not None and of_run is not None:
        header = replace(header, tiles=[tile, of_run])  # both over all seeds of the run
    return _ShownModel(page, fitted, header)


def _tile_of(rows: Sequence[Row], method: str) -> Tile | None:
    """Return the metric of a method, over all seeds."""
    best = best_of([row for row in rows if row.method == method])
    if best is None:
        return None
    return Tile(method, metric_text(best), f"{metric_heading(best)} over all seeds of the run", main=True)


def _best_trivial(rows: Sequence[Row]) -> Tile | None:
    """Return the best trivial row of the run's table."""
    best = best_of([row for row in rows if kind_of(row.method) == "trivial"])
    if best is None:
        return None
    about = f"{metric_heading(best)} over all seeds of the run"
    return Tile(f"Best trivial method: {best.method}", metric_text(best), about)


def _preferred(collected: Collected, data: str | None) -> Group:
    """Return the group whose graphs are shown: that of ``data``, or the first with a model to show."""
    groups = collected.groups
    candidates = [group for group in groups if choose_job(group) is not None] or list(groups)
    if data is not None and len(groups) > 1:
        named = [group for group in groups if group.dataset == data or Path(data).stem == group.dataset]
        candidates = named or candidates
    return candidates[0]


def _fitted(group: Group, graphs: GraphSet, model: Path | None, quiet: bool) -> Fitted | None:
    if model is not None:
        return saved(model, graphs)
    job = choose_job(group)
    if job is None:
        return None
    with bar(f"fitting {job.method}", 1, show=not quiet) as report:
        fitted = refit(job, group.results[job.id], graphs)
        report(1, "")
    return fitted


def _headline(sets: Sequence[Measured]) -> list[str]:
    """Describe the best learned row beside the best trivial one, for each dataset."""
    kinds = {"isonn": "best template model", "other": "best other method", "trivial": "best trivial method"}
    sentences = []
    for measured in sets:
        best = {kind: best_of([row for row in measured.rows if kind_of(row.method) == kind]) for kind in kinds}
        words = [
            f"{row.method} {metric_text(row)} {metric_heading(row)} ({kinds[kind]})"
            for kind, row in best.items()
            if row is not None
        ]
        if words:
            lead = f"{measured.name}: " if len(sets) > 1 else ""
            sentences.append(f"{lead}{', '.join(words)}.")
    return sentences


def _warnings(collected: Collected) -> list[str]:
    sentences = []
    for group in collected.groups:
        if group.missing:
            sentences.append(
                f"{group.missing} of {len(group.jobs)} jobs of {group.dataset} have no result; a seed counts once "
                f"all its folds are there. Run the same isonn evaluate again to complete it."
            )
    if collected.damaged:
        names = ", ".join(collected.damaged[:3]) + (", …" if len(collected.damaged) > 3 else "")
        sentences.append(f"{len(collected.damaged)} files could not be read and are left out: {names}.")
    sentences += [f"{name} is left out: {reason}." for name, reason in collected.left_out.items()]
    return sentences
