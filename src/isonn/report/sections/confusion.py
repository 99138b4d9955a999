"""Confusion: true classes against predicted ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from isonn.graphs.graph import GraphSet
from isonn.report.runs import Group
from isonn.report.section import Section
from isonn.report.words import Naming

#: Maximum number of classes in a confusion matrix.
MAX_CLASSES = 12


@dataclass(frozen=True)
class Confusion:
    """Counts of true classes (rows) and predicted classes (columns), and each as a share of its row."""

    name: str
    classes: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    levels: tuple[tuple[int, ...], ...]


def confusion_section(groups: Sequence[Group], graphs: Mapping[str, GraphSet]) -> Section | None:
    """Return a confusion matrix of each method on each dataset that has classes and whose graphs are at hand."""
    blocks = [
        {"name": group.name, "confusions": made}
        for group in groups
        if group.name in graphs and (made := confusions(group, graphs[group.name]))
    ]
    return Section("confusion", "Confusion", {"blocks": blocks}, "Confusion") if blocks else None


def confusions(group: Group, graphs: GraphSet) -> list[Confusion]:
    """Compare the predictions of all folds and seeds with the true classes; [] if there are none, or too many."""
    if graphs.y is None or graphs.y.ndim != 1 or graphs.classes is None or len(graphs.classes) > MAX_CLASSES:
        return []
    place = {str(value): i for i, value in enumerate(graphs.classes.tolist())}
    truth, naming = [place.get(str(value)) for value in graphs.y.tolist()], Naming.of(graphs)
    matrices = []
    for row in group.rows:
        counts = np.zeros((len(place), len(place)), dtype=np.int64)
        for _, result in group.finished(row):
            for graph, label in zip(result.get("test", ()), result.get("predictions", ()), strict=False):
                if truth[graph] is not None and str(label) in place:
                    counts[truth[graph], place[str(label)]] += 1
        if counts.sum():
            share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
            matrices.append(
                Confusion(
                    group.label(row),
                    tuple(naming.class_(value) for value in graphs.classes.tolist()),
                    tuple(map(tuple, counts.tolist())),
                    tuple(map(tuple, np.rint(8 * share).astype(int).tolist())),
                )
            )
    return matrices
