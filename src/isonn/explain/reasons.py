"""Reasons: the few pieces of a graph that decide, instead of hundreds of overlapping matches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from isonn.explain.explanation import Explanation

#: Reasons of one graph at most.
MOST = 5
#: An edge belongs to a reason while its importance is at least this share of the strongest edge's.
SHARE = 0.4
#: A reason below this share of the strongest one's contribution is not listed.
LEAST = 0.1


@dataclass(frozen=True, eq=False)
class Reason:
    """A connected piece of a graph that speaks for or against the explained class.

    Attributes:
        nodes: its nodes, ascending.
        names: what each node is called.
        contribution: what all matches inside the piece add to the score together.
        answers: probabilities (or values) when the matches inside the piece are taken away, shape (outputs,).
        matches: numbers of the matches inside it, in the order of ``Explanation.rows_of``.
    """

    nodes: tuple[int, ...]
    names: tuple[str, ...]
    contribution: float
    answers: NDArray[np.float64]
    matches: NDArray[np.int64]

    def __str__(self) -> str:
        return f"{self.contribution:+.2f}  {', '.join(self.names)}"


def find_reasons(explanation: Explanation) -> list[Reason]:
    """At most five disjoint pieces of the graph, the strongest first.

    Edges whose importance has one sign and is near that of the strongest edge are joined into connected pieces; what a
    piece is worth is what all matches inside it contribute. Nodes of a stronger piece belong to no other.
    """
    graph, found = explanation.graph, explanation.source.occurrences
    rows, contributions = explanation.source.contributions(explanation.column)
    nodes_of = found.nodes[found.region[rows]] if found.columns is None else None
    importance = explanation.edge_importance + explanation.edge_importance.T
    pieces: list[tuple[float, list[int]]] = []
    for sign in (1.0, -1.0):
        strength = np.triu(sign * importance, 1)
        strongest = float(strength.max(initial=0.0))
        if strongest > 0:
            for members in _connected(graph.n, np.argwhere(strength >= SHARE * strongest)):
                inside = np.ix_(members, members)
                pieces.append((float(strength[inside].sum()), members))
    if not pieces and len(explanation.node_importance):
        best = int(np.abs(explanation.node_importance).argmax())
        pieces = [(abs(float(explanation.node_importance[best])), [best])]
    reasons: list[Reason] = []
    used: set[int] = set()
    for _, members in sorted(pieces, key=lambda piece: -piece[0]):
        free = [node for node in members if node not in used]
        if len(free) < len(members) and len(free) < 2:
            continue
        used.update(free)
        inside = _inside(nodes_of, found, rows, free, graph.n)
        if not len(inside):
            continue
        answers = explanation.target.link(explanation.source.logits_without(rows[inside]))
        names = tuple(explanation.node_name(node) for node in free)
        reasons.append(Reason(tuple(free), names, float(contributions[inside].sum()), answers, rows[inside]))
    reasons.sort(key=lambda reason: -abs(reason.contribution))
    least = LEAST * abs(reasons[0].contribution) if reasons else 0.0
    return [reason for reason in reasons[:MOST] if abs(reason.contribution) >= least]


def _inside(nodes_of, found, rows, members, n):  # type: ignore[no-untyped-def]
    """Which of the matches lie wholly inside a piece."""
    member = np.zeros(n + 1, dtype=bool)
    member[members] = True
    member[n] = True  # -1, the padding of smaller regions, is inside everything
    if nodes_of is None:
        both = np.concatenate([found.nodes[found.region[rows]], found.columns[found.region[rows]]], axis=1)
        return np.flatnonzero(member[both].all(axis=1))
    return np.flatnonzero(member[nodes_of].all(axis=1))


def _connected(n: int, edges: NDArray[np.int64]) -> list[list[int]]:
    """Connected pieces of the graph of these edges, as sorted nodes."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    nodes = np.unique(edges)
    table = coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n))
    piece = connected_components(table, directed=False)[1][nodes]
    return [nodes[piece == number].tolist() for number in np.unique(piece)]
