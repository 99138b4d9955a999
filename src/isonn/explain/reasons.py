"""Reasons: the few units of a graph that decide a prediction, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isonn.explain.text import piece_text
from isonn.explain.units import REST, Unit, delete_unit, parts_without
from isonn.graphs.graph import Graph, GraphSet

if TYPE_CHECKING:
    from isonn.explain.explanation import Explanation
    from isonn.explain.template import Template

#: Maximum number of reasons per graph.
MOST = 5
#: Number of windows searched for reasons.
STRONGEST = 200
#: Reasons below this share of the strongest one's contribution are not listed.
LEAST = 0.1
#: Contributions below this are rounding errors.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Reason(Unit):
    """A unit of a graph that speaks for or against the explained class, or raises or lowers the explained number.

    ``contribution`` is the unit's share of the score of this graph. ``without`` answers another question: what the
    model predicts for the graph without the unit. Other units may then count more, so the two can differ in sign;
    ``agrees`` says whether they do not.

    Attributes:
        explanation: the explanation it belongs to. For ``name``, ``kind``, ``nodes``, ``contribution``, ``matches``
            and ``source`` see `Unit`.

    Example:
        >>> graphs = isonn.load("MUTAG")
        >>> clf = isonn.SubgraphClassifier(max_nodes=3, random_state=0).fit(graphs)
        >>> reason = clf.explain(graphs[0]).reasons[0]
        >>> reason.text, reason.agrees
        ('10 linked C with 2 rings', True)
    """

    explanation: Explanation = field(repr=False)

    @classmethod
    def of(cls, unit: Unit, explanation: Explanation) -> Reason:
        """Return a unit as a reason of an explanation.

        Args:
            unit: one of the explanation's units.
            explanation: the explanation.

        Returns:
            the unit with its words and the model's answer without it.
        """
        return cls(**vars(unit), explanation=explanation)

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self.explanation.graph

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each node."""
        return tuple(map(self.explanation.node_name, self.nodes))

    @cached_property
    def text(self) -> str:
        """The unit in words: its name, the SMILES of one without a name, or a formula of its nodes."""
        e = self.explanation
        return (
            self.name
            or self.smiles
            or piece_text(self.graph, self.nodes, e.label_names, e.edge_label_names, e.source.reads)
        )

    @property
    def effect(self) -> str:
        """The contribution as text: "+0.60", or "\u00d7 4.0" if the number was learned as a logarithm."""
        return self.explanation.effect_text(self.contribution)

    @cached_property
    def without(self) -> NDArray[np.float64] | None:
        """The model's probabilities (or values) for the graph without the unit, shape (outputs,).

        The nodes are deleted, hydrogens close the bonds of molecules, and the model predicts what is left; None if
        nothing is left. For aligned graphs the connections of the unit are average instead, also in other sets; for
        the paper's models its matches are left out. What is left may fall into several ``parts``. Computed when first
        asked for.
        """
        return self.explanation.source.answers_without(self)

    @cached_property
    def parts(self) -> int:
        """The number of connected parts of what is left without the unit, which are predicted as one graph."""
        return parts_without(self.graph, self)

    @property
    def agrees(self) -> bool | None:
        """Whether deleting the unit moves the answer as its contribution says; None if nothing is left without it.

        If not, other units take over when this one is gone.
        """
        if self.without is None:
            return None
        column = self.explanation.column
        change = self.explanation.probabilities[column] - self.without[column]
        return bool(change * self.contribution >= 0)

    def __str__(self) -> str:
        nodes = "" if self.kind in ("set", "connection") else f" ({', '.join(self.names)})"
        return f"{self.effect}  {self.text}{nodes}"

    def __repr__(self) -> str:
        return f"Reason({self})"

    def found_in(self, graphs: GraphSet) -> NDArray[np.bool_]:
        """Return which of the graphs contain the piece, including node and edge labels, shape (g,).

        Args:
            graphs: the set to search in.

        Returns:
            ndarray of booleans, shape (g,).
        """
        return PieceSearch(graphs).holders(self.graph, self.nodes)


@dataclass(frozen=True, eq=False, repr=False)
class ClassReason:
    """A piece that marks a class in the training graphs.

    Attributes:
        explained: the class it speaks for; for numbers, the column whose value it raises or lowers.
        text: the piece in words.
        template: the piece.
        column: its number in ``templates_``.
        effect: the rise of the held-out loss on the training graphs without it and its near-equals: the mean log loss
            of standardised scores (classes) or the mean squared error (numbers).
        alike: number of templates, including itself, that occur in nearly the same graphs; they count as one.
        graphs: for each class, the number of training graphs that contain it and of all: ``{class: (with, all)}``.
        weight: the contribution of one unit of its feature, with its sign.
        examples: ids or numbers of training graphs that contain it, if the model keeps examples.

    Example:
        >>> graphs = isonn.load("MUTAG")
        >>> clf = isonn.SubgraphClassifier(max_nodes=3, random_state=0).fit(graphs)
        >>> reason = clf.reasons_[1][0]
        >>> reason.explained, sorted(reason.graphs) == [-1, 1]
        (1, True)
    """

    explained: Any
    text: str
    template: Template
    column: int
    effect: float
    alike: int
    graphs: dict[Any, tuple[int, int]]
    weight: float
    examples: tuple[str, ...] = ()

    def __str__(self) -> str:
        counts = ", ".join(
            f"{held} of {of} graphs" if value == "all graphs" else f"{held} of {of} in {value}"
            for value, (held, of) in self.graphs.items()
        )
        return f"{self.text}: {counts}"

    def __repr__(self) -> str:
        return f"ClassReason({self})"


def find_reasons(explanation: Explanation) -> list[Reason]:
    """Return the strongest units, at most five, largest absolute contribution first."""
    units = explanation.units if explanation.exact else _windows(explanation)
    units = sorted((unit for unit in units if unit.kind != REST), key=lambda unit: -abs(unit.contribution))[:MOST]
    least = max(LEAST * abs(units[0].contribution), ROUNDING) if units else 0.0
    return [Reason.of(unit, explanation) for unit in units if abs(unit.contribution) >= least]


def predict_without(reasons: Sequence[Reason]) -> None:
    """Compute `Reason.without` for reasons of one model at once, several times faster than one by one."""
    predict = reasons[0].explanation.source.predict if reasons else None
    if predict is None:
        return
    deleted = [(reason, delete_unit(reason.graph, reason)) for reason in reasons if not reason.matches]
    rest = [(reason, graph) for reason, graph in deleted if graph is not None]
    for (reason, _), answers in zip(rest, predict([graph for _, graph in rest]) if rest else (), strict=True):
        vars(reason)["without"] = answers  # where the cached property keeps it


def _windows(explanation: Explanation) -> list[Unit]:
    """Return disjoint windows of the paper's models, strongest first, each with all matches inside it."""
    occurrences, n = explanation.source.occurrences, explanation.graph.n
    rows, contributions = explanation.contributions
    assert occurrences.columns is not None
    both = np.concatenate(
        [occurrences.nodes[occurrences.region[rows]], occurrences.columns[occurrences.region[rows]]], axis=1
    )
    units: list[Unit] = []
    free = np.ones(n, dtype=bool)
    for i in range(min(STRONGEST, len(rows))):
        nodes = np.unique(both[i])
        if free[nodes].all():
            free[nodes] = False
            inside = np.flatnonzero(np.isin(both, nodes).all(axis=1))
            worth = float(contributions[inside].sum())
            units.append(Unit(None, "window", tuple(nodes.tolist()), worth, tuple(rows[inside].tolist())))
    return units


class PieceSearch:
    """Finds pieces of graphs in a set of graphs, including node and edge labels."""

    def __init__(self, graphs: GraphSet) -> None:
        self._codes: dict[str, int] = {}
        wholes = [self._coloured(graph, range(graph.n)) for graph in graphs]
        self._wholes = [(*whole, Counter([*whole[1], *whole[2]])) for whole in wholes]

    def holders(self, graph: Graph, nodes: Sequence[int]) -> NDArray[np.bool_]:
        """Return which of the graphs contain a piece of a graph, shape (g,)."""
        piece, colours, links = self._coloured(graph, nodes)
        needed = Counter([*colours, *links])
        return np.array(
            [
                needed <= counts  # most graphs lack some label, which is faster to see
                and whole.subisomorphic_vf2(
                    piece, color1=of_nodes, color2=colours, edge_color1=of_links, edge_color2=links
                )
                for whole, of_nodes, of_links, counts in self._wholes
            ],
            dtype=bool,
        )

    def _coloured(self, graph: Graph, nodes: Sequence[int]) -> tuple[Any, list[int], list[int]]:
        """Convert a piece of a graph to igraph, with a number for the label of each node and each edge."""
        import igraph

        place = {node: i for i, node in enumerate(nodes)}
        inside = [i for i, (a, b) in enumerate(graph.edges.tolist()) if a < b and a in place and b in place]
        labels, links = graph.node_labels, graph.edge_labels
        texts = [f"node {'' if labels is None else labels[node]}" for node in nodes]
        edge_texts = [f"edge {'' if links is None else links[i]}" for i in inside]
        colours, codes = ([self._codes.setdefault(t, len(self._codes)) for t in some] for some in (texts, edge_texts))
        edges = [(place[a], place[b]) for a, b in graph.edges[inside].tolist()]
        return igraph.Graph(n=len(place), edges=edges), colours, codes
