"""The report page of a folder of results, with templates and graphs of one of its models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np

from isonn.errors import IsoNNWarning
from isonn.experiments.rows import Row
from isonn.experiments.tables import failures
from isonn.graphs.graph import GraphSet
from isonn.graphs.isomorphism import twin_groups
from isonn.progress import bar
from isonn.report import results
from isonn.report.compare_page import Measured, comparison, differences, learning_curves, ranking, with_charts
from isonn.report.model_page import GRAPHS, Judged, Tile, model_content, trivial_tile
from isonn.report.page import render, require_jinja2
from isonn.report.pieces import Naming
from isonn.report.runs import Collected, Fitted, Group, choose_job, collect, find_graphs, refit, saved

#: Maximum number of nodes to search for twins in; more takes too long for a page.
TWIN_NODES = 2_000_000


@dataclass(frozen=True)
class ReportPage:
    """A page and a summary of its content.

    Attributes:
        text: the page.
        facts: counts, for machines.
    """

    text: str
    facts: dict[str, Any]


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
    found = collect(folder)
    if len({group.dataset for group in found.groups}) > 1 and data is None and model is None:
        return _compared(found)
    shown_group = _preferred(found, data)
    blocks, warnings = [], _warnings(found)
    content: dict[str, Any] = {"model": None, "no_model": "", "model_sentence": "", "templates_sentence": ""}
    for group in found.groups:
        given = data if group is shown_group else None
        graphs, why = find_graphs(group, given)
        rows = group.rows()
        warnings += failures(rows)
        blocks.append(_block(group, rows, graphs, why))
        if group is not shown_group:
            continue
        if graphs is None:
            content["no_model"] = f"Reasons and graphs cannot be shown: {why}."
            continue
        with catch_warnings():  # `isonn evaluate` has told what its jobs warned of
            simplefilter("ignore", IsoNNWarning)
            try_model = _fitted(group, graphs, model, quiet)
            if try_model is None:
                content["no_model"] = "No method of this run gives reasons; add isonn-subgraph to its methods."
                continue
            judged = Judged(try_model.clf, [(try_model.clf, try_model.test)], try_model.how, try_model.train)
            trivial = _best_trivial(rows) or trivial_tile(graphs, try_model.clf)
            made = model_content(judged, graphs, trivial, graphs_shown, quiet)
        if (own := _tile_of(rows, try_model.method)) is not None and trivial is not None:
            made["tiles"] = [own, trivial]  # both over all seeds of the run
        content |= {"model": made, "model_sentence": try_model.sentence}
        content["templates_sentence"] = f"{try_model.sentence} The strongest templates are shown."
    title = ", ".join(dict.fromkeys(group.dataset for group in found.groups))
    shown = content["model"] or {}
    text = render(
        "report.html",
        title=title,
        headline=_headline(blocks),
        warnings=warnings,
        groups=blocks,
        sections=_sections(shown),
        **content,
    )
    facts = {
        "datasets": [group.dataset for group in found.groups],
        "results": len({job.id for group in found.groups for job in group.jobs} & set(found.groups[0].results)),
        "missing": sum(group.missing for group in found.groups),
        "damaged": list(found.damaged),
        "reasons": sum(len(own) for _, own in shown.get("pieces", ())),
        "templates": len(shown.get("cards", ())),
        "graphs": len(shown.get("panels", ())),
        "no_model": content["no_model"],
        "bytes": len(text.encode()),
    }
    return ReportPage(text, facts)


def _compared(found: Collected) -> ReportPage:
    """Create the page that compares the methods over several datasets; ``data`` selects one of them instead."""
    content = comparison(found)
    text = render("compare.html", **content)
    facts = {
        "datasets": [group.dataset for group in found.groups],
        "results": sum(job.id in group.results for group in found.groups for job in group.jobs),
        "missing": sum(group.missing for group in found.groups),
        "damaged": list(found.damaged),
        "reasons": 0,
        "templates": 0,
        "graphs": 0,
        "no_model": "",
        "bytes": len(text.encode()),
    }
    return ReportPage(text, facts)


def _tile_of(rows: Sequence[Row], method: str) -> Tile | None:
    """Return the metric of the method shown, over all seeds."""
    own = results.best_of([row for row in rows if row.method == method])
    if own is None or _best_trivial(rows) is None:
        return None
    about = f"{results.metric_heading(own)} over all seeds of the run"
    return Tile(method, results.metric_text(own), about, main=True)


def _best_trivial(rows: Sequence[Row]) -> Tile | None:
    """Return the best trivial row of the run's own table."""
    best = results.best_of([row for row in rows if results.kind_of(row.method) == "trivial"])
    if best is None:
        return None
    about = f"{results.metric_heading(best)} over all seeds of the run"
    return Tile(f"Best trivial method: {best.method}", results.metric_text(best), about)


def _preferred(found: Collected, data: str | None) -> Group:
    """Return the group whose graphs are shown: that of ``data``, or the first with a model to show."""
    candidates = [group for group in found.groups if choose_job(group) is not None] or list(found.groups)
    if data is not None and len(found.groups) > 1:
        named = [group for group in found.groups if group.dataset == data or Path(data).stem == group.dataset]
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


def _block(group: Group, rows: Sequence[Row], graphs: GraphSet | None, why: str) -> dict[str, Any]:
    """Return the content for one dataset under one protocol."""
    lines = results.table(rows)
    found = results.confusions(group, rows, graphs) if graphs is not None else []
    twins, matter = _twins(graphs, group) if graphs is not None else ("", False)
    seeds = f"mean ± standard deviation over {group.seeds} seeds" if group.seeds > 1 else "one seed"
    measured = Measured(group.dataset, group, rows)
    ranks = ranking([measured])
    reference, against = differences([measured], ranks) if ranks else ("", {})
    compared = "; p: corrected resampled t-test" if any(line.against for line in lines) else ""
    return {
        "name": f"{group.dataset}, {group.protocol} protocol",
        "rows": rows,
        "facts": _facts(group, graphs),
        "table": lines,
        "headings": results.headings(rows),
        "caption": f"{seeds[0].upper()}{seeds[1:]}{compared}. A learned method has to beat the trivial rows.",
        "intervals": any(line.interval for line in lines),
        "printed": any(line.printed for line in lines),
        "flips": any(line.flips for line in lines),
        "dots": results.dots(group, rows),
        "reference": reference,
        "against": with_charts(against),
        "curves": learning_curves(measured),
        "confusions": found,
        "no_confusion": f"Left out: {why or 'a graph may have several labels, or there are too many classes'}.",
        "losses": results.losses(group, rows),
        "sweeps": results.sweeps(rows),
        "times": results.times(group, rows),
        "audit": results.audit_chart(group, rows),
        "twins": twins,
        "twins_matter": matter,
    }


def _facts(group: Group, graphs: GraphSet | None) -> list[tuple[str, str]]:
    facts = [("dataset", group.dataset)]
    if graphs is not None:
        sizes = graphs.sizes
        facts.append(("graphs", f"{len(graphs)}, of {sizes.min()} to {sizes.max()} nodes (mean {sizes.mean():.1f})"))
        if graphs.y is not None and graphs.y.ndim == 1 and graphs.y.dtype.kind == "f":
            low, mean, high = np.nanmin(graphs.y), np.nanmean(graphs.y), np.nanmax(graphs.y)
            facts.append((Naming.of(graphs).target(), f"{low:.3g} to {high:.3g} (mean {mean:.3g})"))
        elif graphs.y is not None and graphs.y.ndim == 1:
            values, counts = np.unique(graphs.y, return_counts=True)
            named = map(Naming.of(graphs).class_, values.tolist())
            facts.append(("classes", ", ".join(f"{name}: {c}" for name, c in zip(named, counts, strict=True))))
    about = results.protocol_text(group)
    facts.append(("protocol", f"{group.protocol}: {about}" if about else group.protocol))
    finished = f"{len(group.jobs) - group.missing} of {len(group.jobs)} jobs finished"
    facts.append(("runs", f"{group.seeds} seed{'s' * (group.seeds != 1)} of {group.folds} folds, {finished}"))
    facts.append(("SHA-256 of the data", group.digest))
    return facts + list(results.provenance(group).items())


def _twins(graphs: GraphSet, group: Group) -> tuple[str, bool]:
    """Describe how many graphs equal another one, and return whether that reveals test graphs."""
    if graphs.sizes.sum() > TWIN_NODES:
        return f"Twins were not searched for among {len(graphs):,} graphs.", False
    counts = np.bincount(twin_groups(graphs))
    number = int(counts[counts > 1].sum())
    if not number:
        return "No two graphs are equal up to relabelling.", False
    sentence = f"{number} of the {len(graphs)} graphs equal another one up to relabelling (labels ignored)"
    if group.protocol == "fair":
        return f"{sentence}; the fair protocol keeps such twins in one fold.", False
    remedy = "which makes accuracies too high; the fair protocol keeps twins in one fold"
    return (
        f"{sentence}. Under the {group.protocol} protocol a test graph's twin may be a training graph, {remedy}.",
        True,
    )


def _headline(blocks: Sequence[dict[str, Any]]) -> list[str]:
    """Describe the best learned row beside the best trivial one, for each dataset."""
    sentences = []
    for block in blocks:
        kinds = (("isonn", "best template model"), ("other", "best other method"), ("trivial", "best trivial method"))
        words = []
        for kind, name in kinds:
            best = results.best_of([row for row in block["rows"] if results.kind_of(row.method) == kind])
            words += (
                []
                if best is None
                else [f"{best.method} {results.metric_text(best)} {results.metric_heading(best)} ({name})"]
            )
        if words:
            text = ", ".join(words)
            lead = f"{block['name']}: " if len(blocks) > 1 else ""
            sentences.append(f"{lead}{text}.")
    return sentences


def _sections(shown: dict[str, Any]) -> list[tuple[str, str]]:
    sections = []
    if shown.get("pieces"):
        sections.append(("reasons", "Reasons"))
    if shown:
        sections.append(("gallery", "Graphs"))
    if shown.get("worst"):
        sections.append(("worst", "Mistakes"))
    sections += [("results", "Results"), ("errors", "Confusion")]
    if shown.get("cards"):
        sections.append(("templates", "Templates"))
    return [*sections, ("training", "Training"), ("trust", "Node order"), ("provenance", "Provenance")]


def _warnings(found: Collected) -> list[str]:
    sentences = []
    for group in found.groups:
        if group.missing:
            sentences.append(
                f"{group.missing} of {len(group.jobs)} jobs of {group.dataset} have no result; a seed counts once "
                f"all its folds are there. Run the same isonn evaluate again to complete it."
            )
    if found.damaged:
        names = ", ".join(found.damaged[:3]) + (", …" if len(found.damaged) > 3 else "")
        sentences.append(f"{len(found.damaged)} files could not be read and are left out: {names}.")
    sentences += [f"{name} is left out: {reason}." for name, reason in found.left_out.items()]
    return sentences
