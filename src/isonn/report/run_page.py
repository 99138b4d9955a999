"""The report page: everything a folder of results holds, with templates and graphs of one of its models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from isonn.experiments.tables import Row, failures
from isonn.explain import template_cards
from isonn.graphs.graph import GraphSet
from isonn.graphs.isomorphism import twin_groups
from isonn.progress import bar
from isonn.report import results
from isonn.report.draw import symbols
from isonn.report.page import render, require_jinja2
from isonn.report.panels import Card, cards, panels
from isonn.report.runs import Collected, Fitted, Group, choose_job, collect, find_graphs, refit, saved

#: Graphs in the gallery unless another number is asked for.
GRAPHS = 200
#: Mistakes shown on their own.
WORST = 6
#: Looking for twins among more nodes than this takes too long for a page.
TWIN_NODES = 2_000_000


@dataclass(frozen=True)
class ReportPage:
    """A page and what it holds.

    Attributes:
        text: the page.
        facts: counts for machines.
    """

    text: str
    facts: dict[str, Any]


def report_page(
    folder: Path, data: str | None = None, model: Path | None = None, graphs_shown: int = GRAPHS, quiet: bool = False
) -> ReportPage:
    """Make the page of a folder of results.

    Args:
        data: name or path of the graphs, where the run's own name for them does not lead there.
        model: a saved model to show instead of one of the run's.
        graphs_shown: graphs in the gallery at most.
        quiet: show no progress.
    """
    require_jinja2()
    found = collect(folder)
    shown_group = _preferred(found, data)
    blocks, warnings = [], _warnings(found)
    content: dict[str, Any] = {"templates": [], "panels": [], "worst": [], "no_model": "", "molecules": False}
    for group in found.groups:
        given = data if group is shown_group else None
        graphs, why = find_graphs(group, given)
        rows = group.rows()
        warnings += failures(rows)
        blocks.append(_block(group, rows, graphs, why))
        if group is not shown_group:
            continue
        if graphs is None:
            content["no_model"] = f"Templates and graphs cannot be shown: {why}."
            continue
        try_model = _fitted(group, graphs, model, quiet)
        if try_model is None:
            content["no_model"] = (
                "None of the methods of this run learns templates; add isonn to its methods to see them."
            )
            continue
        content |= _explained(try_model, graphs, graphs_shown, quiet)
    title = ", ".join(dict.fromkeys(group.dataset for group in found.groups))
    text = render(
        "report.html",
        title=title,
        headline=_headline(blocks),
        warnings=warnings,
        groups=blocks,
        sections=_sections(content),
        **content,
    )
    facts = {
        "datasets": [group.dataset for group in found.groups],
        "results": len({job.id for group in found.groups for job in group.jobs} & set(found.groups[0].results)),
        "missing": sum(group.missing for group in found.groups),
        "damaged": list(found.damaged),
        "templates": len(content["templates"]),
        "graphs": len(content["panels"]),
        "no_model": content["no_model"],
        "bytes": len(text.encode()),
    }
    return ReportPage(text, facts)


def _preferred(found: Collected, data: str | None) -> Group:
    """The group whose graphs are shown: the first with a model to show, where data is named the one it belongs to."""
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


def _explained(fitted: Fitted, graphs: GraphSet, most: int, quiet: bool) -> dict[str, Any]:
    """Cards, gallery and worst errors of a model."""
    learned = fitted.train if len(fitted.train) else np.arange(len(graphs))
    with bar("templates", 1, show=not quiet) as report:
        made: list[Card] = []
        if graphs.y is not None:
            made = cards(
                template_cards(fitted.clf, graphs[learned], graphs.y[learned], examples=2), graphs[learned], learned
            )
        report(1, "")
    numbers = fitted.test[:most].tolist()
    with bar("explaining graphs", len(numbers), show=not quiet) as report:
        shown = panels(fitted.clf, graphs, numbers, report=report)
    wrong = sorted((panel for panel in shown if panel.right is False), key=lambda panel: -panel.confidence)
    total = len(fitted.clf.templates_)
    right = sum(panel.right is True for panel in shown)
    which = (
        f"The {len(shown)} test graphs"
        if len(shown) == len(fitted.test)
        else f"{len(shown)} of {len(fitted.test)} test graphs"
    )
    if not len(fitted.train):
        some = f"All {len(graphs)} graphs" if len(shown) == len(graphs) else f"{len(shown)} of the {len(graphs)} graphs"
        which = f"{some} (the model may have learned from them)"
    return {
        "templates": made,
        "templates_sentence": f"The {len(made)} strongest of {total} templates are shown." if total > len(made) else "",
        "model_sentence": fitted.sentence,
        "panels": shown,
        "template_numbers": list(range(total)),
        "worst": wrong[:WORST],
        "gallery_sentence": f"{which}, {right} of them classified rightly. Choose a template to see in every graph "
        f"where it fits best; click a graph to see its matches and what the prediction would be without them.",
        "molecules": symbols(graphs).molecules,
    }


def _block(group: Group, rows: Sequence[Row], graphs: GraphSet | None, why: str) -> dict[str, Any]:
    """What the page says of one dataset under one protocol."""
    lines = results.table(group, rows)
    found = results.confusions(group, rows, graphs) if graphs is not None else []
    twins, matter = _twins(graphs, group) if graphs is not None else ("", False)
    seeds = f"mean ± standard deviation over {group.seeds} seeds" if group.seeds > 1 else "one seed"
    compared = "; p: corrected resampled t-test against isonn" if any(line.against for line in lines) else ""
    return {
        "name": f"{group.dataset}, {group.protocol} protocol",
        "rows": rows,
        "facts": _facts(group, graphs),
        "table": lines,
        "caption": f"In percent, {seeds}{compared}. Trivial rows are what a learned method has to beat.",
        "intervals": any(line.interval for line in lines),
        "printed": any(line.printed for line in lines),
        "flips": any(line.flips for line in lines),
        "dots": results.dots(group, rows),
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
        if graphs.y is not None and graphs.y.ndim == 1:
            values, counts = np.unique(graphs.y, return_counts=True)
            facts.append(("classes", ", ".join(f"{v}: {c}" for v, c in zip(values.tolist(), counts, strict=True))))
    about = results.protocol_text(group)
    facts.append(("protocol", f"{group.protocol}: {about}" if about else group.protocol))
    finished = f"{len(group.jobs) - group.missing} of {len(group.jobs)} jobs finished"
    facts.append(("runs", f"{group.seeds} seeds of {group.folds} folds, {finished}"))
    facts.append(("SHA-256", group.digest))
    return facts + list(results.provenance(group).items())


def _twins(graphs: GraphSet, group: Group) -> tuple[str, bool]:
    """How many graphs equal another one, and whether that tells the test graphs away."""
    if graphs.sizes.sum() > TWIN_NODES:
        return f"Twins were not looked for among {len(graphs):,} graphs.", False
    counts = np.bincount(twin_groups(graphs))
    number = int(counts[counts > 1].sum())
    if not number:
        return "No two graphs are equal up to relabelling.", False
    sentence = f"{number} of the {len(graphs)} graphs equal another one up to relabelling (labels ignored)"
    if group.protocol == "fair":
        return f"{sentence}; the fair protocol keeps such twins in one fold.", False
    remedy = "so that accuracies are too high; the fair protocol keeps twins in one fold"
    return f"{sentence}. Under the {group.protocol} protocol a test graph's twin may be trained on, {remedy}.", True


def _headline(blocks: Sequence[dict[str, Any]]) -> list[str]:
    """The best learned row beside the best trivial one, of each dataset."""
    sentences = []
    for block in blocks:
        judged = [row for row in block["rows"] if row.accuracy is not None]
        best: dict[str, Row] = {}
        for row in judged:
            kind = results.kind_of(row.method)
            if kind not in best or row.accuracy.mean > best[kind].accuracy.mean:  # type: ignore[union-attr]
                best[kind] = row
        kinds = (("isonn", "best template model"), ("other", "best other method"), ("trivial", "best trivial method"))
        words = [f"{best[kind].method} {best[kind].accuracy} % ({name})" for kind, name in kinds if kind in best]
        if words:
            text = ", ".join(words)
            lead = f"{block['name']}: " if len(blocks) > 1 else "Accuracy: "
            sentences.append(f"{lead}{text}.")
    return sentences


def _sections(content: dict[str, Any]) -> list[tuple[str, str]]:
    sections = [("data", "Data"), ("results", "Results"), ("errors", "Confusion")]
    if content["templates"]:
        sections.append(("templates", "Templates"))
    if content["panels"] or content["no_model"]:
        sections.append(("gallery", "Graphs"))
    if content["worst"]:
        sections.append(("worst", "Worst errors"))
    return [*sections, ("training", "Training"), ("trust", "Order and twins")]


def _warnings(found: Collected) -> list[str]:
    sentences = []
    for group in found.groups:
        if group.missing:
            sentences.append(
                f"{group.missing} of {len(group.jobs)} jobs of {group.dataset} have no result; a seed counts once "
                f"all its folds are there. The same isonn evaluate again runs what is missing."
            )
    if found.damaged:
        names = ", ".join(found.damaged[:3]) + (", …" if len(found.damaged) > 3 else "")
        sentences.append(f"{len(found.damaged)} files could not be read and are left out: {names}.")
    sentences += [f"{name} is left out: {reason}." for name, reason in found.left_out.items()]
    return sentences
