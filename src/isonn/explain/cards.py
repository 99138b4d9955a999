"""Template cards: each learned template with its matches in a set of graphs and its effect on the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import InputError
from isonn.explain.explanation import Match, matches_of
from isonn.explain.template import Template
from isonn.graphs.convert import as_graphset
from isonn.graphs.graph import GraphSet
from isonn.packing import IntArray
from isonn.seeding import torch_threads
from isonn.targets import Target


@dataclass(frozen=True, eq=False)
class TemplateCard:
    """A learned template with its matches and effect on a set of graphs.

    Attributes:
        index: its number in ``templates_``.
        template: the template.
        classes: the model's classes, in the order of the arrays below.
        examples: its best match in each of a few graphs, nearest first, as the number of the graph and the `Match`; []
            if no graph has enough nodes.
        occurrences: regions equal to that of the first example, up to relabelling, in the graphs of each class, shape
            (classes,).
        graphs_with: graphs of each class that contain such a region, shape (classes,).
        graphs_of: graphs of each class, shape (classes,).
        effect: mean effect of the template on the score of each class over the graphs of the class: the score minus the
            score with the template switched off, shape (classes,); 0 for a class without graphs.
        accuracy, accuracy_without: accuracy with the template, and with it switched off.

    Example:
        >>> graphs = isonn.load("MUTAG")[:20]
        >>> clf = isonn.IsoNNClassifier(k=3, c=1, hidden=(8,), epochs=2, random_state=0).fit(graphs)
        >>> card = template_cards(clf, graphs)[0]
        >>> card.graphs_of.tolist()  # graphs of each class
        [8, 12]
    """

    index: int
    template: Template
    classes: NDArray[Any]
    examples: list[tuple[int, Match]]
    occurrences: NDArray[np.int64]
    graphs_with: NDArray[np.int64]
    graphs_of: NDArray[np.int64]
    effect: NDArray[np.float64]
    accuracy: float
    accuracy_without: float


def template_cards(clf: Any, graphs: Any, y: Any = None, examples: int = 3) -> list[TemplateCard]:
    """Create a card for every template of the paper's model; subgraph models have ``reasons_`` instead.

    Args:
        clf: a fitted `IsoNNClassifier`.
        graphs: the training graphs, or others to measure on; anything `isonn.as_graphset` takes.
        y: their classes; None uses those of the graphs.
        examples: maximum number of graphs whose best match is listed, at least 1.

    Returns:
        a card for each template, in order.

    Example:
        >>> graphs = isonn.load("MUTAG")[:40]
        >>> clf = isonn.IsoNNClassifier(k=3, c=2, hidden=(16,), epochs=5, random_state=0).fit(graphs, graphs.y)
        >>> [card.index for card in isonn.explain.template_cards(clf, graphs)]
        [0, 1]
    """
    if hasattr(clf, "reasons_") or not hasattr(clf, "_matched_graph"):
        raise InputError(f"a {type(clf).__name__} has no template cards; use reasons_, or an IsoNNClassifier")
    graphs = as_graphset(graphs)
    holds = _membership(clf, graphs, graphs.y if y is None else y)
    with torch_threads(1):  # with many small products, threads would mostly wait for each other
        return _cards(clf, graphs, holds, examples)


def _cards(clf: Any, graphs: GraphSet, holds: IntArray, examples: int) -> list[TemplateCard]:
    templates, target = clf.templates_, clf.target_
    best: list[list[tuple[float, int, int]]] = [[] for _ in templates]  # (distance, graph, match) per template
    logits, without = [], []
    for g in range(len(graphs)):
        matched = clf._matched_graph(graphs[g : g + 1])
        logits.append(matched.logits())
        without.append(matched.logits_without_template())
        occurrences = matched.occurrences
        for i, places in enumerate(best):
            rows = np.flatnonzero(occurrences.template == i)
            if len(rows):
                row = int(rows[occurrences.distance[rows].argmin()])
                places.append((float(occurrences.distance[row]), g, row))
    shown = [sorted(places)[: max(examples, 1)] for places in best]
    chosen = {g: clf._matched_graph(graphs[g : g + 1]) for places in shown for _, g, _ in places}
    equal = np.zeros((len(templates), len(graphs)), dtype=np.int64)  # regions equal to each template's nearest one
    for g in range(len(graphs)):
        matched = chosen.get(g) or clf._matched_graph(graphs[g : g + 1])
        for i, (_, other, row) in ((i, places[0]) for i, places in enumerate(shown) if places):
            equal[i, g] = matched.count_equal(chosen[other], row)
    whole, outputs = np.stack(logits), range(holds.shape[1])
    cards = []
    for i, template in enumerate(templates):
        off = np.stack([logits[i] for logits in without])
        change = np.stack([target.margin(whole, j) - target.margin(off, j) for j in outputs], axis=1)
        cards.append(
            TemplateCard(
                index=i,
                template=template,
                classes=clf.classes_,
                examples=[(g, matches_of(chosen[g], np.array([row]), np.zeros(1))[0]) for _, g, row in shown[i]],
                occurrences=holds.T @ equal[i],
                graphs_with=holds.T @ (equal[i] > 0),
                graphs_of=holds.sum(axis=0),
                effect=(change * holds).sum(axis=0) / np.maximum(holds.sum(axis=0), 1),
                accuracy=_accuracy(whole, holds, target),
                accuracy_without=_accuracy(off, holds, target),
            )
        )
    return cards


def _membership(clf: Any, graphs: GraphSet, y: Any) -> IntArray:
    """Return the classes of each graph as 0 and 1, shape (g, classes)."""
    if y is None:
        raise InputError("template cards need classes; pass y, or a GraphSet that has them")
    labels = np.asarray(y)
    if len(labels) != len(graphs):
        raise InputError(f"y has {len(labels)} entries for {len(graphs)} graphs; give one per graph")
    if not clf.target_.exclusive:
        if labels.shape != (len(graphs), len(clf.classes_)):
            raise InputError(f"y has shape {labels.shape}; give an indicator matrix with {len(clf.classes_)} columns")
        return np.asarray(labels, dtype=np.int64)
    labels = labels.reshape(-1)
    unknown = [label for label in labels.tolist() if label not in clf.classes_.tolist()]
    if unknown:
        raise InputError(
            f"y contains {unknown[0]!r}, not a class of this model; its classes are {clf.classes_.tolist()}"
        )
    return np.asarray(labels[:, None] == clf.classes_, dtype=np.int64)


def _accuracy(logits: NDArray[np.float64], holds: IntArray, target: Target) -> float:
    """Return the share of graphs that are classified correctly; with several labels, those where all are."""
    if not target.exclusive:
        return float(((logits > 0) == (holds == 1)).all(axis=1).mean())
    return float((holds[np.arange(len(holds)), logits.argmax(axis=1)] == 1).mean())
