"""The page that compares methods: paired differences with intervals, a ranking, learning curves, all results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from isonn.experiments.tables import failures
from isonn.report.comparison import Difference, Rank, differences, ranking
from isonn.report.header import Header, Tile
from isonn.report.page import render_page, require_jinja2
from isonn.report.provenance import finished_text, versions
from isonn.report.rows import Measured, count_text
from isonn.report.runs import Collected, Group, collect
from isonn.report.section import Section
from isonn.report.sections.all_results import AllResultsSection
from isonn.report.sections.differences import DifferencesSection
from isonn.report.sections.learning_curves import LearningCurvesSection
from isonn.report.sections.provenance import ProvenanceSection
from isonn.report.sections.ranking import RankingSection


def compare_page(folder: Path) -> str:
    """Create the comparison page of a folder of results."""
    require_jinja2()
    return comparison_page(collect(folder))


def comparison_page(collected: Collected) -> str:
    """Create the page that compares the methods over several datasets."""
    sets = [Measured(_dataset_name(group, collected.groups), group, group.rows()) for group in collected.groups]
    ranks = ranking(sets)
    reference, against = differences(sets, ranks)
    title = f"{count_text(len(sets), 'dataset')}, {len(ranks)} methods"
    header = Header(
        kicker=f"isonn comparison: {title}",
        question="Which method is best, and by how much?",
        answers=[answer_text(ranks, reference, against)],
        tiles=_tiles(ranks, reference),
        wide=True,
    )
    sections: list[Section] = [
        DifferencesSection(reference, against),
        RankingSection(sets, ranks),
        LearningCurvesSection(sets),
        AllResultsSection(sets, ranks),
        ProvenanceSection("Protocol and versions", [("", _facts(sets))]),
    ]
    warnings = [sentence for measured in sets for sentence in failures(measured.rows)]
    warnings += [f"{name} could not be read." for name in collected.damaged]
    return render_page(f"{title}: isonn comparison", header, sections, warnings)


def answer_text(ranks: Sequence[Rank], reference: str, against: Mapping[str, Sequence[Difference]]) -> str:
    """Return which method ranks first, and how the reference compares with its best rival."""
    first = ranks[0]
    lead = f"{first.method} has the best mean rank ({first.rank:.1f} of {len(ranks)})."
    rival = next((rank.method for rank in ranks if rank.method != reference and rank.method in against), None)
    if rival is None:
        return lead
    verdicts = [d.verdict for d in against[rival]]
    of = count_text(len(verdicts), "dataset")
    counts = [f"{word} on {n}" for word in ("better", "worse", "equal", "undecided") if (n := verdicts.count(word))]
    if len(counts) == 1:
        return f"{lead} Against {rival}, {reference} is {counts[0].split()[0]} on all {of}."
    return f"{lead} Against {rival}, {reference} is {', '.join(counts[:-1])} and {counts[-1]} of {of}."


def _tiles(ranks: Sequence[Rank], reference: str) -> list[Tile]:
    best = next(rank for rank in ranks if rank.method == reference)
    tiles = [Tile(reference, f"{best.rank:.1f}", f"mean rank of {len(ranks)} methods", main=True)]
    trivial = min((rank for rank in ranks if rank.kind == "trivial"), key=lambda rank: rank.rank, default=None)
    if trivial is not None and trivial.method != reference:
        tiles.append(Tile(f"Best trivial method: {trivial.method}", f"{trivial.rank:.1f}", "mean rank"))
    return tiles


def _dataset_name(group: Group, groups: Sequence[Group]) -> str:
    """Return the name of the dataset, with its protocol if needed to distinguish it."""
    same = [other for other in groups if other.dataset == group.dataset]
    return group.dataset if len(same) == 1 else f"{group.dataset}, {group.protocol}"


def _facts(sets: Sequence[Measured]) -> list[tuple[str, str]]:
    facts = [(name, f"{group.protocol} protocol, {finished_text(group)}") for name, group, *_ in sets]
    return [*facts, *versions(sets[0].group).items()]
