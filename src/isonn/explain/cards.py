"""Template cards: each learned template with its best matches in a set of graphs and its effect on the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import InputError
from isonn.explain.explanation import Match, matches_of
from isonn.explain.template import Template
from isonn.graphs.convert import as_graphset
from isonn.scores import right_graphs
from isonn.seeding import torch_threads
from isonn.targets import as_y


@dataclass(frozen=True, eq=False)
class TemplateCard:
    """A learned template with its matches and effect on a set of graphs.

    Attributes:
        index: its number in ``templates_``.
        template: the template.
        classes: the model's classes, in the order of ``effect``.
        examples: its best match in each of a few graphs, nearest first, as the number of the graph and the `Match`; []
            if no graph has enough nodes.
        effect: mean effect of the template on the score of each class over the graphs of the class: the score minus the
            score with the template switched off, shape (classes,); 0 for a class without graphs.
        accuracy, accuracy_without: accuracy with the template, and with it switched off.

    Example:
        >>> graphs = isonn.load("MUTAG")[:20]
        >>> clf = isonn.IsoNNClassifier(k=3, c=1, hidden=(8,), epochs=2, random_state=0).fit(graphs)
        >>> card = template_cards(clf, graphs)[0]
        >>> len(card.examples), card.effect.shape
        (3, (2,))
    """

    index: int
    template: Template
    classes: NDArray[Any]
    examples: list[tuple[int, Match]]
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
    truth, target = _classes(clf, len(graphs), graphs.y if y is None else y), clf.target_
    holds = truth[:, None] == clf.classes_ if target.exclusive else truth == 1
    best: list[list[tuple[float, int, int]]] = [[] for _ in clf.templates_]  # (distance, graph, match) per template
    logits, without = [], []
    with torch_threads(1):  # with many small products, threads would mostly wait for each other
        for g in range(len(graphs)):
            matched = clf._matched_graph(graphs[g : g + 1])
            logits.append(matched.logits())
            without.append(matched.logits_without_template())
            for i, places in enumerate(best):
                rows = np.flatnonzero(matched.occurrences.template == i)
                distance = matched.occurrences.distance[rows]
                places += [(float(distance.min()), g, int(rows[distance.argmin()]))] if len(rows) else []

        def match_at(g: int, row: int) -> Match:
            return matches_of(clf._matched_graph(graphs[g : g + 1]), np.array([row]), np.zeros(1))[0]

        shown = [[(g, match_at(g, row)) for _, g, row in sorted(places)[: max(examples, 1)]] for places in best]

    def accuracy(outputs: NDArray[np.float64]) -> float:
        return float(right_graphs(target, truth, target.decide(target.link(outputs))).mean())

    whole, cards = np.stack(logits), []
    for i, template in enumerate(clf.templates_):
        off = np.stack([outputs[i] for outputs in without])
        change = np.stack([target.margin(whole, j) - target.margin(off, j) for j in range(holds.shape[1])], axis=1)
        effect = (change * holds).sum(axis=0) / np.maximum(holds.sum(axis=0), 1)
        cards.append(TemplateCard(i, template, clf.classes_, shown[i], effect, accuracy(whole), accuracy(off)))
    return cards


def _classes(clf: Any, count: int, y: Any) -> NDArray[Any]:
    """Return the classes of ``count`` graphs, shape (g,), or several labels each; refuse those of other models."""
    if y is None:
        raise InputError("template cards need classes; pass y, or a GraphSet that has them")
    labels, classes = as_y(y, count), clf.classes_.tolist()
    if not clf.target_.exclusive:
        if labels.shape != (count, len(classes)):
            raise InputError(f"y has shape {labels.shape}; give an indicator matrix with {len(classes)} columns")
        return labels
    unknown = [label for label in labels.tolist() if label not in classes]
    if unknown:
        raise InputError(f"y contains {unknown[0]!r}, not a class of this model; its classes are {classes}")
    return labels
