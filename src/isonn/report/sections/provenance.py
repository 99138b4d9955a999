"""Where model, data and results come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from isonn.experiments.protocols import PROTOCOLS, about_run, find_protocol
from isonn.graphs.graph import GraphSet
from isonn.graphs.isomorphism import twin_groups
from isonn.report.page import Section
from isonn.report.runs import Group
from isonn.report.words import Naming, count_text

#: Names and values.
Facts = Sequence[tuple[str, str]]
#: Maximum number of nodes to search for equal graphs in; more takes too long for a page.
TWIN_NODES = 2_000_000


def provenance_section(title: str, blocks: Sequence[tuple[str, Facts]], note: str = "") -> Section:
    """Return facts about the model, the data and the versions.

    Args:
        blocks: the facts about each dataset, with its name.
        note: a sentence below them.
    """
    return Section("provenance", title, {"blocks": blocks, "note": note}, "Provenance")


def group_facts(group: Group, graphs: GraphSet | None) -> list[tuple[str, str]]:
    """Return the facts about one dataset under one protocol."""
    facts = [("dataset", group.dataset)]
    if graphs is not None:
        facts += _graph_facts(graphs)
    facts.append(("protocol", _protocol_text(group)))
    finished = f"{len(group.jobs) - group.missing} of {len(group.jobs)} jobs finished"
    facts.append(("runs", f"{count_text(group.seeds, 'seed')} of {group.folds} folds, {finished}"))
    facts.append(("SHA-256 of the data", group.digest))
    return [*facts, *versions(group).items()]


def versions(group: Group) -> dict[str, str]:
    """Return the versions, commits and machines of the results, each once."""
    facts: dict[str, dict[str, None]] = {}
    for result in (group.results[job.id] for job in group.jobs if job.id in group.results):
        for name in ("versions", "commit", "machine"):
            value = result.get(name)
            if isinstance(value, Mapping):
                value = ", ".join(f"{key} {text}" for key, text in sorted(value.items()))
            if value:
                facts.setdefault(name, {})[str(value)] = None
    return {name: "; ".join(values) for name, values in facts.items()}


def twins_text(graphs: GraphSet | None, protocol: str) -> str:
    """Return a sentence about test graphs that equal training graphs; "" if the folds keep them together."""
    together = protocol.partition(":")[0] in ("fair", "random", "scaffold")
    if together or graphs is None or graphs.sizes.sum() > TWIN_NODES:
        return ""
    counts = np.bincount(twin_groups(graphs))
    number = int(counts[counts > 1].sum())
    if not number:
        return ""
    return (
        f"{number} of the {len(graphs)} graphs equal another one up to relabelling (labels ignored). Under the "
        f"{protocol} protocol a test graph may equal a training graph, which makes accuracies too high; the fair "
        f"protocol keeps equal graphs in one fold."
    )


def _protocol_text(group: Group) -> str:
    if group.protocol.partition(":")[0] not in PROTOCOLS:
        return group.protocol
    return f"{group.protocol}: {about_run(find_protocol(group.protocol).about, group.folds)}"


def _graph_facts(graphs: GraphSet) -> list[tuple[str, str]]:
    sizes, naming = graphs.sizes, Naming.of(graphs)
    facts = [("graphs", f"{len(graphs)}, of {sizes.min()} to {sizes.max()} nodes (mean {sizes.mean():.1f})")]
    if graphs.y is not None and graphs.y.ndim == 1 and graphs.y.dtype.kind == "f":
        low, mean, high = np.nanmin(graphs.y), np.nanmean(graphs.y), np.nanmax(graphs.y)
        facts.append((naming.target(), f"{low:.3g} to {high:.3g} (mean {mean:.3g})"))
    elif graphs.y is not None and graphs.y.ndim == 1:
        values, counts = np.unique(graphs.y, return_counts=True)
        names = map(naming.class_, values.tolist())
        facts.append(("classes", ", ".join(f"{name}: {count}" for name, count in zip(names, counts, strict=True))))
    return facts
