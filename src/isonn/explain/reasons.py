"""Reasons: the few pieces of a graph that decide a prediction, instead of hundreds of overlapping matches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isonn.explain.text import MOST_IN_FORMULA, piece_text
from isonn.graphs.graph import Graph, GraphSet

if TYPE_CHECKING:
    from isonn.explain.explanation import Explanation
    from isonn.explain.template import Template

#: Maximum number of reasons per graph.
MOST = 5
#: Edges belong to a reason if their importance is at least this share of the strongest edge's.
SHARE = 0.4
#: Number of windows searched for reasons.
STRONGEST = 200
#: Reasons below this share of the strongest one's contribution are not listed.
LEAST = 0.1
#: Contributions below this are rounding errors.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class Reason:
    """A connected piece of a graph that speaks for or against the explained class.

    Attributes:
        graph: the graph.
        nodes: its nodes, ascending.
        names: the name of each node.
        contribution: total contribution of all matches inside the piece.
        answers: probabilities (or values) without the matches inside the piece, shape (outputs,).
        matches: rows of the matches inside it.
        text: the piece in words.
    """

    graph: Graph
    nodes: tuple[int, ...]
    names: tuple[str, ...]
    contribution: float
    answers: NDArray[np.float64]
    matches: NDArray[np.int64]
    text: str

    def __str__(self) -> str:
        return f"{self.contribution:+.2f}  {self.text} ({', '.join(self.names)})"

    def __repr__(self) -> str:
        return f"Reason({self})"

    def found_in(self, graphs: GraphSet) -> NDArray[np.bool_]:
        """Return which of the graphs contain the piece, including node and edge labels, shape (g,)."""
        piece = _igraph_of(self.graph, self.nodes)
        return np.array([_contains(_igraph_of(graph), piece) for graph in graphs])


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
    """Find at most five disjoint pieces of the graph, strongest first; for classes, those that speak against it last.

    Edges whose importance has one sign and is near that of the strongest edge are joined into connected pieces. The
    contribution of a piece is that of all matches inside it. Nodes of a stronger piece belong to no other.
    """
    graph, found = explanation.graph, explanation.source.occurrences
    rows, contributions = explanation.contributions
    nodes_of = found.nodes[found.region[rows]] if found.columns is None else None
    importance = explanation.edge_importance + explanation.edge_importance.T
    pieces: list[tuple[float, list[int]]] = []
    for sign in (1.0, -1.0) if found.columns is None else ():
        strength = np.triu(sign * importance, 1)
        strongest = float(strength.max(initial=0.0))
        if strongest > 0:
            for members in _small_pieces(strength, strongest):
                inside = np.ix_(members, members)
                pieces.append((float(strength[inside].sum()), members))
    if found.columns is not None:  # a connected piece seldom contains rows and columns of a window
        for i in np.argsort(-np.abs(contributions), kind="stable")[:STRONGEST].tolist():
            both = (found.nodes[found.region[rows[i]]], found.columns[found.region[rows[i]]])
            pieces.append((abs(float(contributions[i])), sorted({int(v) for v in np.concatenate(both) if v >= 0})))
    if not pieces and len(explanation.node_importance):
        best = int(np.abs(explanation.node_importance).argmax())
        pieces = [(abs(float(explanation.node_importance[best])), [best])]
    reasons: list[Reason] = []
    used: set[int] = set()
    for _, members in sorted(pieces, key=lambda piece: -piece[0]):
        free = [node for node in members if node not in used]
        if len(free) < len(members) and (len(free) < 2 or found.columns is not None):
            continue
        used.update(free)
        inside = _inside(nodes_of, found, rows, free, graph.n)
        if not len(inside):
            continue
        answers = explanation.target.link(explanation.source.logits_without(rows[inside]))
        names = tuple(explanation.node_name(node) for node in free)
        worth = float(contributions[inside].sum())
        text = piece_text(graph, free, explanation.label_names, explanation.edge_label_names)
        reasons.append(Reason(graph, tuple(free), names, worth, answers, rows[inside], text))
    reasons.sort(key=lambda reason: -abs(reason.contribution))
    least = max(LEAST * abs(reasons[0].contribution), ROUNDING) if reasons else 0.0
    kept = [reason for reason in reasons[:MOST] if abs(reason.contribution) >= least]
    if not explanation.target.numeric:
        kept.sort(key=lambda reason: reason.contribution < 0)
    return kept


def _inside(nodes_of, found, rows, members, n):  # type: ignore[no-untyped-def]
    """Return which of the matches lie entirely inside a piece."""
    member = np.zeros(n + 1, dtype=bool)
    member[members] = True
    member[n] = True  # -1, the padding of smaller regions, is inside everything
    if nodes_of is None:
        both = np.concatenate([found.nodes[found.region[rows]], found.columns[found.region[rows]]], axis=1)
        return np.flatnonzero(member[both].all(axis=1))
    return np.flatnonzero(member[nodes_of].all(axis=1))


def _small_pieces(strength: NDArray[np.float64], strongest: float) -> list[list[int]]:
    """Return the connected pieces of strong edges; with a piece of half the graph, only stronger edges count."""
    pieces: list[list[int]] = []
    for share in np.arange(SHARE, 0.95, 0.1):
        pieces = _connected(len(strength), np.argwhere(strength >= share * strongest))
        if max(map(len, pieces)) <= max(MOST_IN_FORMULA, len(strength) // 2):
            break
    return pieces


def _connected(n: int, edges: NDArray[np.int64]) -> list[list[int]]:
    """Return the connected components of these edges, as sorted nodes."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    nodes = np.unique(edges)
    table = coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n))
    piece = connected_components(table, directed=False)[1][nodes]
    return [nodes[piece == number].tolist() for number in np.unique(piece)]


def _igraph_of(graph: Graph, nodes: Sequence[int] | None = None) -> tuple[Any, dict[str, list[str]]]:
    """Convert a graph (or a piece of it) to igraph, with node and edge labels as text."""
    import igraph

    chosen = list(range(graph.n)) if nodes is None else list(nodes)
    place = {node: i for i, node in enumerate(chosen)}
    edges, labels = [], []
    for number, (a, b) in enumerate(graph.edges.tolist()):
        if a < b and a in place and b in place:
            edges.append((place[a], place[b]))
            labels.append("" if graph.edge_labels is None else str(graph.edge_labels[number]))
    names = [""] * len(chosen) if graph.node_labels is None else [str(graph.node_labels[v]) for v in chosen]
    return igraph.Graph(n=len(chosen), edges=edges), {"node": names, "edge": labels}


def _contains(whole: tuple[Any, dict[str, list[str]]], piece: tuple[Any, dict[str, list[str]]]) -> bool:
    codes: dict[str, dict[str, int]] = {"node": {}, "edge": {}}

    def colour(kind: str, labels: dict[str, list[str]]) -> list[int]:
        return [codes[kind].setdefault(label, len(codes[kind])) for label in labels[kind]]

    if whole[0].vcount() < piece[0].vcount() or whole[0].ecount() < piece[0].ecount():
        return False
    colours = [colour(kind, labels) for kind in ("node", "edge") for labels in (whole[1], piece[1])]
    return bool(
        whole[0].subisomorphic_vf2(
            piece[0], color1=colours[0], color2=colours[1], edge_color1=colours[2], edge_color2=colours[3]
        )
    )
