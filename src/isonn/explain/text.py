"""Words and formulas of pieces and templates. Everything else hands over facts; this module alone writes English."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.explain.template import EdgeFacts, NodeFacts, Template
from isonn.graphs.graph import Graph

#: Largest number of nodes of a piece that is written as a formula.
MOST_IN_FORMULA = 12
#: Larger pieces whose nodes all have one name are counted: "9 linked C with 2 rings".
MOST_OF_ONE_NAME = 6
#: Number of attributes of a node that a formula shows.
MOST_VALUES = 3
#: Logarithms from this on are not shown as a factor, but as a power of ten.
LARGE = 4
#: The sign of a link by the last word of its name: "double" in "ring double", "=" in "=;@". A link without a name lies
#: on a cycle and may be of any kind.
LINK_SIGNS = {"single": "\u2013", "double": "=", "triple": "\u2261", "aromatic": ":"}
LINK_SIGNS |= {"-": "\u2013", "=": "=", "#": "\u2261", ":": ":", "": "~"}


def template_text(template: Template, most_values: int | None = None) -> str:
    """Describe a template in words: its nodes by label, and their links.

    Args:
        most_values: number of attributes of a node that are shown; None shows all.

    Example:
        >>> from isonn.explain.template import EdgeFacts, NodeFacts, Template
        >>> nodes = NodeFacts("C", degree=3, ring=True), NodeFacts("O", degree=1, ring=False)
        >>> template_text(Template(1 - np.eye(2), nodes, {(0, 1): EdgeFacts("double")}, "refined"))
        'O=ring C (neighbours: 1, 3)'
    """
    if template.texts:
        return ", ".join(template.texts)
    links = _link_names(template)
    names = _node_names(template, links, most_values)
    neighbours = [degree_text(facts) for facts in template.nodes if facts.degree is not None]
    return formula(template.linked, names, links, neighbours)


def template_name(template: Template) -> str:
    """Return everything a template requires in one line; different templates have different lines.

    Nodes are written as a walk from the first node; ``{-2}`` is a link back to the second node of the walk.

    Example:
        >>> from isonn.explain.template import EdgeFacts, NodeFacts, Template
        >>> nodes = NodeFacts("C", degree=3, ring=True), NodeFacts("O", degree=1, ring=False)
        >>> template_name(Template(1 - np.eye(2), nodes, {(0, 1): EdgeFacts("double")}, "refined"))
        '[C degree 3 ring]-double-[O degree 1 not ring]'
    """
    linked, place = template.linked, dict[int, int]()

    def link(node: int, other: int) -> str:
        words = _edge_words(template.edges[min(node, other), max(node, other)], template.edge_label_names)
        return f"-{words}-" if words else "-"

    def name(node: int, parent: int) -> str:
        back = [other for other in np.flatnonzero(linked[node]).tolist() if other in place and other != parent]
        closing = "".join(f"{{{link(node, other)}{place[other]}}}" for other in back)
        return f"[{_node_words(template.nodes[node], template.label_names)}]{closing}"

    return _branches(0, -1, lambda node: np.flatnonzero(linked[node]).tolist(), name, link, place)


def _branches(
    node: int,
    parent: int,
    neighbours: Callable[[int], Sequence[int]],
    name: Callable[[int, int], str],
    link: Callable[[int, int], str],
    place: dict[int, int],
) -> str:
    """Write what is reached from a node, depth first; all branches but the last are in brackets.

    Args:
        name: the text of a node, given the one before it.
        link: the text of a link.
        place: the nodes that are written, with their place from 1, in order.
    """
    text, branches = name(node, parent), []
    place[node] = len(place) + 1
    for other in neighbours(node):
        if other not in place:
            branches.append(link(node, other) + _branches(other, node, neighbours, name, link, place))
    return text + "".join(f"({branch})" for branch in branches[:-1]) + "".join(branches[-1:])


def _node_words(facts: NodeFacts, names: Mapping[Any, str]) -> str:
    words = [] if facts.label is None else [str(names.get(facts.label, facts.label))]
    if facts.values is not None:
        words.append(" ".join(f"{value:.6g}" for value in facts.values))
    if facts.degree is not None:
        words.append(f"degree {degree_text(facts)}")
    if facts.ring is not None:
        words.append("ring" if facts.ring else "not ring")
    return " ".join(words)


def _edge_words(facts: EdgeFacts, names: Mapping[Any, str]) -> str:
    words = ["ring"] if facts.ring else []
    words += [] if facts.label is None else [str(names.get(facts.label, facts.label))]
    return " ".join(words + ([] if facts.weight is None else [f"{facts.weight:.6g}"]))


def degree_text(facts: NodeFacts) -> str:
    """Return the number of neighbours in words."""
    return f"about {facts.degree}" if facts.about else f"{facts.degree}"


def _node_names(template: Template, links: NDArray[Any] | None, most: int | None) -> list[str] | None:
    """Return a name for each node of a formula, or None if nodes carry neither labels nor values."""
    labelled = template.node_labels is not None
    weighted = any(facts.weight is not None for facts in template.edges.values())
    if not labelled and not weighted and all(facts.values is None for facts in template.nodes):
        return None
    names = []
    for node, (facts, linked) in enumerate(zip(template.nodes, template.linked, strict=True)):
        name = str(template.label_names.get(facts.label, facts.label)) if labelled else "node"
        if facts.values is not None:
            values = [f"{value:.3g}" for value in facts.values]
            name += f"[{', '.join(values if most is None or len(values) <= most else [*values[:most], '…'])}]"
        # a link without a name lies on a cycle, so its ends need not be called so
        told = links is not None and any(link is None for link in links[node][linked])
        names.append(f"ring {name}" if facts.ring and not told else name)
    return names


def _link_names(template: Template) -> NDArray[Any] | None:
    """Return the name of each link, shape (k, k), None for a link that only must lie on a cycle; None if unnamed."""
    edges = template.edges
    named = any(facts.label is not None or facts.weight is not None for facts in edges.values())
    if not named and not (template.edge_label_names and any(facts.ring for facts in edges.values())):
        return None
    links = np.full((template.k, template.k), None, dtype=object)
    for (i, j), facts in edges.items():
        name = None if facts.label is None else str(template.edge_label_names.get(facts.label, facts.label))
        if facts.weight is not None:
            name = f"{name or ''} {facts.weight:.3g}".strip()
        links[i, j] = links[j, i] = name
    return links


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
    reads: Collection[str] = ("node_labels", "edge_labels"),
) -> str:
    """Describe a piece of a graph in words: a formula of its nodes with what they carry, or its shape.

    Args:
        reads: the columns of the graph that the model reads; others are left out. Large pieces are told by their labels
            and the range of their weights.

    Example:
        >>> graph = isonn.Graph(3, [[0, 1], [1, 0], [1, 2], [2, 1]], weights=[0.5, 0.5, 0.25, 0.25])
        >>> piece_text(graph, [0, 1, 2], {}, reads=["edge_weights"])
        'node\u2013node\u2013node (link 0.5; link 0.25)'
    """
    if graph.kind in PIECE_TEXTS:
        return PIECE_TEXTS[graph.kind](len(nodes))
    place, small = {node: i for i, node in enumerate(nodes)}, len(nodes) <= MOST_IN_FORMULA
    inside = np.flatnonzero(np.isin(graph.edges, nodes).all(axis=1)).tolist()
    labels = graph.node_labels if "node_labels" in reads else None
    values = graph.node_attributes if "node_attributes" in reads and small else None
    kinds = graph.edge_labels if "edge_labels" in reads else None
    weights = graph.weights if "edge_weights" in reads else None
    facts = [
        NodeFacts(
            None if labels is None else labels[node].item(), None if values is None else tuple(values[node].tolist())
        )
        for node in nodes
    ]
    links = {
        (place[a], place[b]): EdgeFacts(
            None if kinds is None else kinds[i].item(), None if weights is None or not small else float(weights[i])
        )
        for i, (a, b) in ((i, graph.edges[i].tolist()) for i in inside)
        if a != b
    }
    names = (dict(label_names), dict(edge_label_names or {}))
    piece = Template(np.zeros((len(nodes), len(nodes))), tuple(facts), links, "", None, *names)
    text = template_text(piece, MOST_VALUES)
    if weights is not None and not small and inside:
        text += f" (weights {weights[inside].min():.3g} to {weights[inside].max():.3g})"
    return text


def connections(names: Sequence[str]) -> str:
    """Name the connections among some regions.

    Example:
        >>> connections(["left insula", "right insula"]), connections(["A", "B", "C"])
        ('the connection between left insula and right insula', 'the connections among A, B and C')
    """
    if len(names) < 3:
        return f"the connection between {' and '.join(names)}" if len(names) == 2 else ", ".join(names)
    return f"the connections among {', '.join(names[:-1])} and {names[-1]}"


def factor_text(contribution: float) -> str:
    """Return what a contribution to a base-10 logarithm does to the number itself.

    Args:
        contribution: its share of the logarithm.

    Returns:
        the factor by which the number grows or falls.

    Example:
        >>> factor_text(0.6), factor_text(-0.62), factor_text(0.0), factor_text(-8.0)
        ('\u00d7 4.0', '\u00f7 4.2', '\u00d7 1.00', '\u00f7 10^8.0')
    """
    size = abs(contribution)
    sign = "\u00f7" if contribution < 0 else "\u00d7"
    if size >= LARGE:
        return f"{sign} 10^{size:.1f}"
    factor = 10.0**size
    return f"{sign} {factor:.2f}" if factor < 2 else f"{sign} {factor:.1f}" if factor < 10 else f"{sign} {factor:.0f}"


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
        >>> formula(1 - np.eye(3), ["A", "B", "A"], np.full((3, 3), "likes"))
        'A\u2013A\u2013B with 1 ring (2 \u00d7 link likes; and 1 more)'
        >>> formula(path, ["C", "C", "O"], neighbours=["2", "3", "1"])
        'C\u2013C\u2013O (neighbours: 2, 3, 1)'
        >>> formula(path, ["aromatic C"] * 3, np.full((3, 3), "aromatic"))
        'C:C:C'
        >>> formula(np.ones((3, 3)) - np.eye(3), None)
        'a ring of 3 nodes'
    """
    linked = (np.asarray(adjacency) != 0) & ~np.eye(len(adjacency), dtype=bool)
    linked |= linked.T
    n, degree = len(linked), linked.sum(axis=1)
    if names is None:  # a shape has no first node
        return f"{_shape(linked)} ({_counted(sorted(neighbours))})" if neighbours else _shape(linked)
    if n > MOST_IN_FORMULA:
        return f"{n} nodes: " + ", ".join(f"{count} {name}" for name, count in Counter(names).items())
    told_as = _short_names(names, linked, links)
    written: list[str] = []  # the names of links, in order

    def sign(node: int, other: int) -> str:
        if links is None:
            return "\u2013"
        name = links[node, other] if links[node, other] is not None else links[other, node]
        written.append(name or "")
        return LINK_SIGNS.get(_kind_of_link(written[-1]), "\u2013")

    def near(node: int) -> list[int]:
        return sorted(np.flatnonzero(linked[node]).tolist(), key=lambda v: (degree[v], names[v], v))

    # start at a node with few links and a rare name, so that equal pieces mostly get the same text
    first = min(range(n), key=lambda v: (degree[v] > 1, names[v], v))
    place: dict[int, int] = {}
    parts = [
        _branches(start, -1, near, lambda node, _: told_as[node], sign, place)
        for start in (first, *range(n))
        if start not in place
    ]
    # pieces of a window need not be linked: the largest first, equal ones once
    counts = Counter(sorted(parts, key=lambda part: -len(part)))
    text = " and ".join(part if times == 1 else f"{times} {part}" for part, times in counts.items())
    if n > MOST_OF_ONE_NAME and len(set(told_as)) == len(parts) == 1:
        text = f"{n} linked {told_as[0]}"
    rings = int(degree.sum()) // 2 - n + len(parts)  # links that close rings are not written
    text += f" with {rings} ring{'s' * (rings != 1)}" if rings else ""
    told = [_counted([neighbours[node] for node in place])] if neighbours else []
    if any(_kind_of_link(name) not in LINK_SIGNS for name in written):
        more = [f"and {rings} more"] if rings else []
        told = _repeated([f"link {name}" if name else "ring link" for name in written]) + more + told
    return f"{text} ({'; '.join(told)})" if told else text


def _shape(linked: NDArray[np.bool_]) -> str:
    """Name a graph without labels by its shape."""
    n, degree = len(linked), linked.sum(axis=1)
    count = int(degree.sum()) // 2
    if n < 3 and count == n - 1:
        return "1 node" if n == 1 else "2 linked nodes"
    if count >= n - 1 and degree.min() > 0 and degree.max() <= 2:  # connected, as templates and reasons are
        return f"a ring of {n} nodes" if degree.min() == 2 else f"a path of {n} nodes"
    return f"{n} nodes, all linked" if count == n * (n - 1) // 2 else f"{n} nodes, {count} links"


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
