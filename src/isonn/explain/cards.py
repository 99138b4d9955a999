"""Template cards: each learned template with its matches in a set of graphs and its effect on the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from isonn.errors import InputError
from isonn.explain.explanation import matches_of
from isonn.explain.matched import Logits, MatchedGraph
from isonn.explain.template import Template
from isonn.graphs.convert import as_graphset
from isonn.graphs.graph import GraphSet
from isonn.seeding import torch_threads
from isonn.targets import Target


class MatchingClassifier(Protocol):
    """The interface that cards need from a fitted classifier."""

    classes_: NDArray[Any]
    target_: Target

    @property
    def templates_(self) -> list[Template]:
        """The learned templates."""

    def _matched_graph(self, X: Any) -> MatchedGraph:
        """Return one graph with its matches."""


@dataclass(frozen=True, eq=False)
class Example:
    """A match of a template in a set of graphs.

    Attributes:
        graph: number of the graph in the set.
        nodes, columns, names, distance: as in `Match`.
        cells: the adjacency matrix of the region in the template's node order, shape (k, k).

    Example:
        >>> graphs = isonn.load("MUTAG")[:20]
        >>> clf = isonn.IsoNNClassifier(k=3, c=1, hidden=(8,), epochs=2, random_state=0).fit(graphs)
        >>> card = template_cards(clf, graphs)[0]
        >>> card.nearest.cells.shape
        (3, 3)
    """

    graph: int
    nodes: tuple[int, ...]
    columns: tuple[int, ...] | None
    names: tuple[str, ...] | None
    distance: float
    cells: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TemplateCard:
    """A learned template with its matches and effect on a set of graphs.

    Attributes:
        index: its number in ``templates_``.
        template: the template.
        edges: its cells above the threshold, as (row, column, value).
        classes: the model's classes, in the order of the arrays below.
        nearest: the region nearest to it in all graphs; None if no graph has enough nodes.
        occurrences: regions equal to the nearest one, up to relabelling, in the graphs of each class, shape (classes,).
        graphs_with: graphs of each class that contain such a region, shape (classes,).
        graphs_of: graphs of each class, shape (classes,).
        effect: mean effect of the template on the score of each class over the graphs of the class: the score minus the
            score with the template switched off, shape (classes,); 0 for a class without graphs.
        accuracy, accuracy_without: accuracy with the template, and with it switched off.
        examples: its best matches, one per graph, nearest first.

    Example:
        >>> graphs = isonn.load("MUTAG")[:20]
        >>> clf = isonn.IsoNNClassifier(k=3, c=1, hidden=(8,), epochs=2, random_state=0).fit(graphs)
        >>> card = template_cards(clf, graphs)[0]
        >>> card.graphs_of.tolist()  # graphs of each class
        [8, 12]
    """

    index: int
    template: Template
    edges: tuple[tuple[int, int, float], ...]
    classes: NDArray[Any]
    nearest: Example | None
    occurrences: NDArray[np.int64]
    graphs_with: NDArray[np.int64]
    graphs_of: NDArray[np.int64]
    effect: NDArray[np.float64]
    accuracy: float
    accuracy_without: float
    examples: list[Example]


def template_cards(
    clf: MatchingClassifier, graphs: Any, y: Any = None, examples: int = 3, threshold: float = 0.5
) -> list[TemplateCard]:
    """Create a card for every template of a fitted classifier.

    Args:
        clf: the classifier.
        graphs: the training graphs, or others to measure on; anything `isonn.as_graphset` takes.
        y: their classes; None uses those of the graphs.
        examples: maximum number of best matches, one per graph.
        threshold: the edges of a template are its cells above this value.

    Example:
        >>> graphs = isonn.load("MUTAG")[:40]
        >>> clf = isonn.IsoNNClassifier(k=3, c=2, hidden=(16,), epochs=5, random_state=0).fit(graphs, graphs.y)
        >>> [card.index for card in isonn.explain.template_cards(clf, graphs)]
        [0, 1]
    """
    graphs = as_graphset(graphs)
    holds = _membership(clf, graphs, graphs.y if y is None else y)
    with torch_threads(1):  # with many small products, threads would mostly wait for each other
        return _cards(clf, graphs, holds, examples, threshold)


def _cards(
    clf: MatchingClassifier, graphs: GraphSet, holds: NDArray[np.int64], examples: int, threshold: float
) -> list[TemplateCard]:
    templates = clf.templates_
    best: list[list[tuple[float, int, int]]] = [[] for _ in templates]  # (distance, graph, match) per template
    logits, without = [], []
    for g in range(len(graphs)):
        matched = clf._matched_graph(graphs[g : g + 1])
        logits.append(matched.logits())
        without.append(matched.logits_without_template())
        for i, row in _nearest_rows(matched):
            best[i].append((float(matched.occurrences.distance[row]), g, row))
    shown = [sorted(found)[: max(examples, 1)] for found in best]
    chosen = {g: clf._matched_graph(graphs[g : g + 1]) for g in sorted({g for found in shown for _, g, _ in found})}
    equal = _count_equal(clf, graphs, chosen, shown)
    before = _right(np.stack(logits), holds, clf.target_)
    cards = []
    for i, template in enumerate(templates):
        off = np.stack([one[i] for one in without])
        found = [_example(chosen[g], g, row) for _, g, row in shown[i]]
        cards.append(
            TemplateCard(
                index=i,
                template=template,
                edges=_edges(template, threshold),
                classes=clf.classes_,
                nearest=found[0] if found else None,
                occurrences=holds.T @ equal[i],
                graphs_with=holds.T @ (equal[i] > 0),
                graphs_of=holds.sum(axis=0),
                effect=_effect(np.stack(logits), off, holds, clf.target_),
                accuracy=float(before.mean()),
                accuracy_without=float(_right(off, holds, clf.target_).mean()),
                examples=found[:examples],
            )
        )
    return cards


def _membership(clf: MatchingClassifier, graphs: GraphSet, y: Any) -> NDArray[np.int64]:
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


def _nearest_rows(matched: MatchedGraph) -> list[tuple[int, int]]:
    """Return each template with a match in the graph, and its nearest match, the first of equals."""
    found = matched.occurrences
    order = np.lexsort((found.distance, found.template))
    templates, first = np.unique(found.template[order], return_index=True)
    return list(zip(templates.tolist(), order[first].tolist(), strict=True))


def _count_equal(
    clf: MatchingClassifier,
    graphs: GraphSet,
    chosen: dict[int, MatchedGraph],
    shown: Sequence[Sequence[tuple[float, int, int]]],
) -> NDArray[np.int64]:
    """Count the regions of each graph equal to each template's nearest one, shape (templates, g)."""
    equal = np.zeros((len(shown), len(graphs)), dtype=np.int64)
    for g in range(len(graphs)):
        matched = chosen.get(g) or clf._matched_graph(graphs[g : g + 1])
        for i, found in enumerate(shown):
            if found:
                _, other, row = found[0]
                equal[i, g] = matched.count_equal(chosen[other], row)
    return equal


def _example(matched: MatchedGraph, graph: int, row: int) -> Example:
    match = matches_of(matched, np.array([row]), np.zeros(1))[0]
    order = matched.order(row)
    cells = matched.cells(row)
    return Example(
        graph=graph,
        nodes=match.nodes,
        columns=match.columns,
        names=match.names,
        distance=match.distance,
        cells=cells if order is None else cells[np.ix_(order, order)],
    )


def _edges(template: Template, threshold: float) -> tuple[tuple[int, int, float], ...]:
    cells = np.argwhere(template.adjacency > threshold)
    return tuple((row, column, float(template.adjacency[row, column])) for row, column in cells.tolist())


def _effect(logits: Logits, off: Logits, holds: NDArray[np.int64], target: Target) -> NDArray[np.float64]:
    """Return the mean change of each class's score over the graphs of the class, shape (classes,)."""
    change = [target.margin(logits, j) - target.margin(off, j) for j in range(holds.shape[1])]
    totals = (np.stack(change, axis=1) * holds).sum(axis=0)
    return np.asarray(totals / np.maximum(holds.sum(axis=0), 1))


def _right(logits: Logits, holds: NDArray[np.int64], target: Target) -> NDArray[np.bool_]:
    """Return whether each graph is classified correctly; with several labels, whether all are."""
    if not target.exclusive:
        return np.asarray(((logits > 0) == (holds == 1)).all(axis=1))
    return np.asarray(holds[np.arange(len(holds)), logits.argmax(axis=1)] == 1)
