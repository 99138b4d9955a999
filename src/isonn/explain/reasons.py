"""Reasons: the few pieces of a graph that decide a prediction, instead of hundreds of overlapping matches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isonn.graphs.graph import Graph, GraphSet

if TYPE_CHECKING:
    from isonn.explain.explanation import Explanation, Template

#: Maximum number of reasons per graph.
MOST = 5
#: Edges belong to a reason if their importance is at least this share of the strongest edge's.
SHARE = 0.4
#: Largest number of nodes of a piece that is written as a formula.
MOST_IN_FORMULA = 12
#: Larger pieces whose nodes all have one name are counted: "9 linked C with 2 rings".
MOST_OF_ONE_NAME = 6
#: Number of windows searched for reasons.
STRONGEST = 200
#: Reasons below this share of the strongest one's contribution are not listed.
LEAST = 0.1
#: The sign of a link by the last word of its name: "double" in "ring double", "=" in "=;@". A link without a name lies
#: on a cycle and may be of any kind.
LINK_SIGNS = {"single": "\u2013", "double": "=", "triple": "\u2261", "aromatic": ":"}
LINK_SIGNS |= {"-": "\u2013", "=": "=", "#": "\u2261", ":": ":", "": "~"}
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
    rows, contributions = explanation.source.contributions(explanation.column)
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


#: Texts for pieces of n nodes, by `Graph.kind`, for kinds whose nodes and links would be too long.
PIECE_TEXTS: dict[str, Callable[[int], str]] = {
    # nearly all regions are linked, so only their names matter
    "connectomes": lambda n: f"connections among {n} regions" if n > 2 else "connection",
}


def piece_text(
    graph: Graph,
    nodes: Sequence[int],
    label_names: Mapping[Any, str],
    edge_label_names: Mapping[Any, str] | None = None,
) -> str:
    """Describe a piece of a graph in words: its labelled nodes as a formula, or its shape if nodes have no labels."""
    if graph.kind in PIECE_TEXTS:
        return PIECE_TEXTS[graph.kind](len(nodes))
    labels = None if graph.node_labels is None else graph.node_labels[list(nodes)].tolist()
    names = None if labels is None else [str(label_names.get(label, label)) for label in labels]
    links = None
    if graph.edge_labels is not None:
        links = np.full((graph.n, graph.n), None, dtype=object)
        links[tuple(graph.edges.T)] = [link_name(label, edge_label_names) for label in graph.edge_labels.tolist()]
        links = links[np.ix_(nodes, nodes)]
    return formula(graph.adjacency[np.ix_(nodes, nodes)] != 0, names, links)


def link_name(label: Any, names: Mapping[Any, str] | None) -> str | None:
    """Return the name of an edge label, or None for an edge without one."""
    return None if label is None else str((names or {}).get(label, label))


def formula(
    adjacency: NDArray[Any],
    names: Sequence[str] | None,
    links: NDArray[Any] | None = None,
    neighbours: Sequence[str] = (),
) -> str:
    """Write a small connected graph as one line, as chemists write structures: ``O=N(=O)\u2013C``.

    Links that are not bonds, and numbers of neighbours, follow in the order of the formula. What the formula shows is
    not repeated: atoms with an aromatic bond are not called aromatic, and atoms of a whole ring not "ring".

    Args:
        adjacency: shape (n, n).
        names: one per node, or None for the shape alone.
        links: the name of each link, shape (n, n), None for a link that is only known to lie on a cycle; or None if
            links have no labels.
        neighbours: the number of neighbours of each node in the whole graph, as text.

    Example:
        >>> path = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
        >>> formula(path, ["O", "N", "O"])
        'O\u2013N\u2013O'
        >>> formula(path, ["O", "N", "O"], np.array([["", "double", ""], ["double", "", "single"], ["", "single", ""]]))
        'O=N\u2013O'
        >>> formula(path, ["A", "B", "A"], np.full((3, 3), "likes"))
        'A\u2013B\u2013A (2 \u00d7 link likes)'
        >>> formula(path, ["C", "C", "O"], neighbours=["2", "3", "1"])
        'C\u2013C\u2013O (neighbours: 2, 3, 1)'
        >>> formula(path, ["aromatic C"] * 3, np.full((3, 3), "aromatic"))
        'C:C:C'
        >>> formula(np.ones((3, 3)) - np.eye(3), None)
        'a ring of 3 nodes'
    """
    n = len(adjacency)
    linked = (np.asarray(adjacency) != 0) & ~np.eye(n, dtype=bool)
    count = int(np.triu(linked | linked.T, 1).sum())
    if names is None:
        counted = sorted(neighbours)  # a shape has no first node
        degree = (linked | linked.T).sum(axis=1)
        shape = f"{n} nodes, {count} links"
        if n == 1:
            shape = "1 node"
        elif count >= n - 1 and degree.min() > 0 and degree.max() <= 2:  # connected, as templates and reasons are
            shape = f"a ring of {n} nodes" if degree.min() == 2 else f"a path of {n} nodes"
            shape = "2 linked nodes" if n == 2 else shape
        elif count == n * (n - 1) // 2:
            shape = f"{n} nodes, all linked"
        return f"{shape} ({_counted(counted)})" if counted else shape
    if n > MOST_IN_FORMULA:
        counts = {name: list(names).count(name) for name in names}
        return f"{n} nodes: " + ", ".join(f"{count} {name}" for name, count in counts.items())
    degree = linked.sum(axis=1)
    told_as = _short_names(names, linked, links)
    # start at a node with few links and a rare name, so that equal pieces mostly get the same text
    start = min(range(n), key=lambda v: (degree[v] > 1, names[v], v))
    seen: dict[int, None] = {}  # in the order they are written
    closing: dict[tuple[int, int], int] = {}
    written: list[str] = []  # the names of links, in the same order

    def sign(node: int, other: int) -> str:
        if links is None:
            return "\u2013"
        name = links[node, other] if links[node, other] is not None else links[other, node]
        written.append(name or "")
        return LINK_SIGNS.get(_kind_of_link(written[-1]), "\u2013")

    def walk(node: int, parent: int) -> str:
        seen[node] = None
        branches = []
        text = told_as[node]
        for other in sorted(np.flatnonzero(linked[node]).tolist(), key=lambda v: (degree[v], names[v], v)):
            if other == parent:
                continue
            if other in seen:
                pair = (min(node, other), max(node, other))
                closing.setdefault(pair, len(closing) + 1)
            else:
                branches.append(sign(node, other) + walk(other, node))
        for branch in branches[:-1]:
            text += f"({branch})"
        return text + (branches[-1] if branches else "")

    parts = [walk(start, -1)]
    for node in range(n):
        if node not in seen:
            parts.append(walk(node, -1))
    # pieces of a window need not be linked: the largest first, equal ones once
    counts = {part: parts.count(part) for part in sorted(parts, key=lambda part: -len(part))}
    text = " and ".join(part if times == 1 else f"{times} {part}" for part, times in counts.items())
    if n > MOST_OF_ONE_NAME and len(set(told_as)) == len(parts) == 1:
        text = f"{n} linked {told_as[0]}"
    text += f" with {len(closing)} ring{'s' * (len(closing) != 1)}" if closing else ""
    told = [_counted([neighbours[node] for node in seen])] if neighbours else []
    if any(_kind_of_link(name) not in LINK_SIGNS for name in written):
        told = _repeated([f"link {name}" if name else "ring link" for name in written]) + told
    return f"{text} ({'; '.join(told)})" if told else text


def _counted(neighbours: Sequence[str]) -> str:
    """Return numbers of neighbours in words: "neighbours: 2, 3", "3 neighbours each"."""
    if len(set(neighbours)) > 1:
        return f"neighbours: {', '.join(neighbours)}"
    words = f"{neighbours[0]} neighbour{'s' * (neighbours[0] != '1')}"
    return f"{words} each" if len(neighbours) > 1 else words


def _short_names(names: Sequence[str], linked: NDArray[np.bool_], links: NDArray[Any] | None) -> list[str]:
    """Return the names without what the formula shows: "aromatic" beside ":", "ring" in a whole ring."""
    on_ring = np.ones(len(names), dtype=bool)
    for _ in names:  # take away ends until only rings, and what joins them, are left
        on_ring &= linked[:, on_ring].sum(axis=1) > 1
    short = []
    for node, name in enumerate(names):
        kinds = (
            [] if links is None else [_kind_of_link(str(links[node, v] or "")) for v in np.flatnonzero(linked[node])]
        )
        if "aromatic" in kinds or ":" in kinds:
            name = name.removeprefix("aromatic ")
        short.append(name.removeprefix("ring ") if on_ring[node] else name)
    return short


def _repeated(texts: Sequence[str]) -> list[str]:
    """Join equal neighbouring texts: "2 \u00d7 C"."""
    return [text if (times := len(list(same))) == 1 else f"{times} \u00d7 {text}" for text, same in groupby(texts)]


def _kind_of_link(name: str) -> str:
    """Return the part of a link's name that has a sign: "double" in "ring double", "=" in "=;@"."""
    return name.partition(";")[0].rpartition(" ")[2]


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
