"""Confusion: true classes against predicted ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.experiments.rows import Row
from isonn.graphs.graph import GraphSet
from isonn.report.rows import Measured, name_of
from isonn.report.runs import Group
from isonn.report.section import Section
from isonn.report.words import Naming

#: Maximum number of classes in a confusion matrix.
MAX_CLASSES = 12


class ConfusionSection(Section):
    """A confusion matrix of each method on each dataset."""

    anchor, template, listed = "errors", "confusion.html", "Confusion"
    title = "Confusion"

    def __init__(self, sets: Sequence[Measured]) -> None:
        self.sets = sets

    def applies(self) -> bool:
        """Return whether any of the datasets has classes."""
        return any(one.graphs is None or one.graphs.classes is not None for one in self.sets)

    def content(self) -> dict[str, Any]:
        """Return the matrices of each dataset, or why it has none."""
        blocks = []
        for measured in self.sets:
            made = [] if measured.graphs is None else confusions(measured.group, measured.rows, measured.graphs)
            why = measured.why or "a graph may have several labels, or there are too many classes"
            blocks.append({"name": measured.name, "confusions": made, "no_confusion": f"Left out: {why}."})
        return {"blocks": blocks}


@dataclass(frozen=True)
class Confusion:
    """Counts of true classes (rows) and predicted classes (columns), and each as a share of its row."""

    name: str
    classes: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    levels: tuple[tuple[int, ...], ...]


def confusions(group: Group, rows: Sequence[Row], graphs: GraphSet) -> list[Confusion]:
    """Compare the predictions of all folds and seeds with the true classes; empty if a graph has several labels."""
    if graphs.y is None or graphs.y.ndim != 1 or graphs.classes is None or len(graphs.classes) > MAX_CLASSES:
        return []
    names = [str(value) for value in graphs.classes.tolist()]
    naming = Naming.of(graphs)
    made = []
    for row in rows:
        counts = np.zeros((len(names), len(names)), dtype=np.int64)
        for _, result in group.of(row):
            if result is not None:
                _count(counts, graphs.y, result, names)
        if counts.sum():
            share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
            made.append(
                Confusion(
                    name_of(row, rows),
                    tuple(naming.class_(value) for value in graphs.classes.tolist()),
                    tuple(map(tuple, counts.tolist())),
                    tuple(map(tuple, np.rint(8 * share).astype(int).tolist())),
                )
            )
    return made


def _count(counts: NDArray[np.int64], y: NDArray[Any], result: Mapping[str, Any], names: Sequence[str]) -> None:
    tested, predicted = result.get("test"), result.get("predictions")
    if not isinstance(tested, list) or not isinstance(predicted, list) or len(tested) != len(predicted):
        return
    for graph, label in zip(tested, predicted, strict=True):
        truth = str(y[graph])
        if truth in names and str(label) in names:
            counts[names.index(truth), names.index(str(label))] += 1
