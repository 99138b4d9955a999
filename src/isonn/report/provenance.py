"""Where results come from: data, protocol, versions and machines."""

from __future__ import annotations

import numpy as np

from isonn.experiments.protocols import PROTOCOLS, about_run, find_protocol
from isonn.graphs.graph import GraphSet
from isonn.report.rows import count_text
from isonn.report.runs import Group
from isonn.report.words import Naming


def group_facts(group: Group, graphs: GraphSet | None) -> list[tuple[str, str]]:
    """Return the facts about one dataset under one protocol, as names and values."""
    facts = [("dataset", group.dataset)]
    if graphs is not None:
        facts += _graph_facts(graphs)
    about = protocol_text(group)
    facts.append(("protocol", f"{group.protocol}: {about}" if about else group.protocol))
    facts.append(("runs", finished_text(group)))
    facts.append(("SHA-256 of the data", group.digest))
    return [*facts, *versions(group).items()]


def finished_text(group: Group) -> str:
    """Describe the seeds, folds and finished jobs of a group."""
    finished = f"{len(group.jobs) - group.missing} of {len(group.jobs)} jobs finished"
    return f"{count_text(group.seeds, 'seed')} of {group.folds} folds, {finished}"


def protocol_text(group: Group) -> str:
    """Describe the protocol in a sentence; "" if it is not one of isonn's."""
    listed = group.protocol.partition(":")[0] in PROTOCOLS
    return about_run(find_protocol(group.protocol).about, group.folds) if listed else ""


def versions(group: Group) -> dict[str, str]:
    """Return the versions, commits and machines of the results, each once."""
    facts: dict[str, dict[str, None]] = {}
    for result in (group.results[job.id] for job in group.jobs if job.id in group.results):
        if isinstance(result.get("versions"), dict):
            text = ", ".join(f"{name} {version}" for name, version in sorted(result["versions"].items()))
            facts.setdefault("versions", {})[text] = None
        if result.get("commit"):
            facts.setdefault("commit", {})[str(result["commit"])] = None
        if isinstance(result.get("machine"), dict):
            machine = result["machine"].items()
            text = ", ".join(f"{value} cores" if name == "cores" else str(value) for name, value in machine)
            facts.setdefault("machine", {})[text] = None
    return {name: "; ".join(values) for name, values in facts.items()}


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
