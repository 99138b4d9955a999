"""`Match` and `Explanation`: which nodes matched which template, and the effect on the prediction."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import InputError, MissingDependencyError
from isonn.explain.reasons import Reason, find_reasons, formula, link_name
from isonn.graphs.graph import Graph
from isonn.packing import IntArray
from isonn.seeding import torch_threads
from isonn.targets import Target

if TYPE_CHECKING:
    import networkx

#: Default number of matches to list; importances always count all.
LISTED = 100
#: Longer lines of a summary are cut; names may be of any length.
LINE = 300


@dataclass(frozen=True, eq=False, repr=False)
class Match:
    """One match of a template.

    Attributes:
        template: number of the template in ``templates_``.
        nodes: graph node ``nodes[j]`` matched template node j. For a window off the diagonal these are the nodes of its
            rows.
        columns: the nodes of the columns of such a window, in the same order, else None.
        names: the names of ``nodes`` (and, for a window off the diagonal, then of ``columns``), or None.
        distance: squared distance between the template and the region, as the model computed it.
        contribution: the explained class's score with this match minus the score without it.
        ordered: False for matching="fast", which finds no permutation, so that ``nodes`` are in the region's own order.

    Example:
        >>> graphs = isonn.load("MUTAG")
        >>> clf = isonn.SubgraphClassifier(k=(1, 2, 3), random_state=0).fit(graphs)
        >>> match = clf.explain(graphs[0]).matches[0]
        >>> len(match.nodes) == clf.templates_[match.template].k
        True
    """

    template: int
    nodes: tuple[int, ...]
    columns: tuple[int, ...] | None
    names: tuple[str, ...] | None
    distance: float
    contribution: float
    ordered: bool = True

    def __repr__(self) -> str:
        places = ", ".join(map(str, self.nodes))
        places += "" if self.columns is None else f" to {', '.join(map(str, self.columns))}"
        return f"Match({self.contribution:+.3f}  template {self.template} at {places})"


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """The explanation of one prediction.

    A **score** is the logit of the explained class, or for two classes its logit minus the other's. The
    **contribution** of a match is the score with it minus the score without it, with everything else unchanged. With a
    linear head the contributions of templates add up to ``score - base``. Those of single matches need not, and neither
    do those of a model whose head is a network.

    Attributes:
        graph: the graph.
        label: the predicted class; for several labels the most likely one.
        explained: the class that scores and contributions refer to: ``label`` unless another was requested.
        classes: all classes.
        probabilities: the probability of each class, shape (classes,).
        score: the score of the explained class.
        base: the score without any matches.
        padding: contribution of all inputs beyond the graph's nodes; 0 for models without padding.
        templates: the model's templates.
        matches: the listed matches, by absolute contribution, largest first.
        count: the number of all matches.
        total: the sum of the contributions of all matches.
        template_contributions: the score minus the score with a template switched off, shape (c,).
        node_importance: every match's contribution shared equally among its nodes, shape (n,); sums to ``total``.
        edge_importance: every match's contribution shared among the cells of its region by their absolute weight, shape
            (n, n); sums to ``total``. A region without an edge shares equally among its cells.
        single_nodes: contribution of single-node pieces; 0 for models without any.
        exact: whether contributions add up. Node importances then sum to ``score - base``, and so do edge importances
            (every undirected edge once) plus ``single_nodes``.
        method: "contribution" or "evidence".
        note: a further remark in one sentence, or "".

    Example:
        >>> graphs = isonn.load("MUTAG")
        >>> clf = isonn.SubgraphClassifier(k=(1, 2, 3), random_state=0).fit(graphs)
        >>> why = clf.explain(graphs[0])
        >>> [why.node_name(node) for node in why.reasons[0].nodes]  # the nitro group
        ['C 12', 'N 14', 'O 15', 'O 16']
        >>> bool(abs(why.node_importance.sum() - (why.score - why.base)) < 1e-9)
        True
    """

    graph: Graph
    label: Any
    explained: Any
    classes: NDArray[Any]
    probabilities: NDArray[np.float64]
    score: float
    base: float
    padding: float
    templates: Sequence[Template]
    matches: list[Match]
    count: int
    total: float
    template_contributions: NDArray[np.float64]
    node_importance: NDArray[np.float64]
    edge_importance: NDArray[np.float64]
    target: Target
    source: MatchedGraph = field(repr=False)
    rows: IntArray = field(repr=False)
    regions: Regions = field(repr=False)
    single_nodes: float = 0.0
    exact: bool = False
    label_names: dict[Any, str] = field(default_factory=dict, repr=False)
    edge_label_names: dict[Any, str] = field(default_factory=dict, repr=False)
    class_names: dict[Any, str] = field(default_factory=dict, repr=False)
    method: str = "contribution"
    note: str = ""

    @property
    def column(self) -> int:
        """The column of the explained output."""
        return int(np.flatnonzero(self.classes == self.explained)[0])

    @property
    def class_name(self) -> str:
        """The name of the explained class, or "class 1"."""
        plain = self.explained.item() if isinstance(self.explained, np.generic) else self.explained
        return self.class_names.get(plain, f"class {plain}")

    @cached_property
    def reasons(self) -> list[Reason]:
        """At most five disjoint pieces of the graph that decide the prediction, strongest first.

        For classes, the pieces that speak against the class come last.
        """
        return find_reasons(self)

    @cached_property
    def edge_means(self) -> NDArray[np.float64]:
        """The mean contribution of the matches that contain each edge, shape (n, n).

        These do not add up, but unlike sums they do not grow with the number of matches that contain an edge.
        """
        return edge_means(self.graph.adjacency, self.regions)

    def node_name(self, node: int) -> str:
        """Return the name of a node, or its label and number."""
        if self.graph.node_names is not None:
            return str(self.graph.node_names[node])
        if self.graph.node_labels is None:
            return str(node)
        label = self.graph.node_labels[node].item()
        return f"{self.label_names.get(label, label)} {node}"

    def without(self, match: Match | Reason | int | Sequence[Match | int]) -> NDArray[np.float64]:
        """Run the model without some matches and return the probabilities (or values), shape (outputs,).

        Args:
            match: one or several entries of ``matches`` or their numbers, or one of ``reasons``.
        """
        if isinstance(match, Reason):
            return match.answers
        given = [match] if isinstance(match, (Match, int, np.integer)) else list(match)
        for one in given:
            if isinstance(one, (int, np.integer)) and not 0 <= one < len(self.matches):
                raise InputError(f"match {one} is not listed; use 0 to {len(self.matches) - 1}")
        matches = [self.matches[int(one)] if isinstance(one, (int, np.integer)) else one for one in given]
        listed = dict(zip(map(_key, self.matches), self.rows.tolist(), strict=True))
        rows = [listed.get(_key(one)) for one in matches]
        if None in rows:
            raise InputError(
                f"match {rows.index(None)} of {len(rows)} is not among the {len(self.matches)} of this explanation; "
                f"give entries of its matches, or explain with top=None to list all {self.count}"
            )
        with torch_threads(1):
            logits = self.source.logits_without(np.array(rows, dtype=np.int64))
        return self.target.link(logits)

    def summary(self, top: int = 5) -> str:
        """Return a few lines: the prediction, the score, and the reasons, or the strongest matches without reasons."""
        if self.target.numeric:
            what = f"predicted {self.score:.3g}"
        else:
            what = f"{self.class_name} with probability {self.probabilities[self.column]:.3f}"
        lines = [f"{what}: score {self.score:+.2f} (no matches at all: {self.base:+.2f})"]
        if self.padding:
            lines.append(f"  {self.padding:+.3f}  everything read beyond the graph's {self.graph.n} nodes")
        for reason in self.reasons[:top]:
            lines.append(f"  {reason}")
        if self.reasons and self.count:
            lines.append(f"  {self.count:,} matches in all, see matches")
        for match in self.matches[:top] if not self.reasons else ():
            rows = ", ".join(map(self.node_name, match.nodes))
            columns = "" if match.columns is None else " to " + ", ".join(map(self.node_name, match.columns))
            lines.append(f"  {match.contribution:+.3f}  template {match.template} at {rows}{columns}")
        if self.note:
            lines.append(f"  {self.note}")
        if not self.exact and self.method == "contribution":
            lines.append("  Contributions are computed by removal and need not add up.")
        return "\n".join(line if len(line) <= LINE else f"{line[: LINE - 1]}\u2026" for line in lines)

    def to_svg(self) -> str:
        """Return the graph as an SVG file, coloured by contribution, with its reasons highlighted."""
        from isonn.report.show import explanation_svg

        return explanation_svg(self)

    def to_html(self, path: str | Path) -> None:
        """Write a page with the drawing, the reasons and all listed matches; needs the extra ``report``."""
        from isonn.report.show import write_explanation

        write_explanation(self, path)

    def _repr_html_(self) -> str:
        from isonn.report.show import explanation_html

        return explanation_html(self)

    def __repr__(self) -> str:
        return self.summary()


def explain_matched(
    matched: MatchedGraph,
    target: Target,
    label: Any = None,
    top: int | None = LISTED,
    names: Mapping[str, Mapping[Any, str]] | None = None,
) -> Explanation:
    """Explain one graph by the model's outputs without each match.

    Args:
        matched: the graph and its matches.
        target: the kind of prediction.
        label: the class to explain; None explains the predicted class.
        top: number of matches to list; None lists all. The importances always count all matches.
        names: names of labels, classes and columns of y, by "node", "edge", "class" and "target".

    Example:
        >>> graphs = isonn.load("MUTAG")
        >>> clf = isonn.SubgraphClassifier(k=(1, 2, 3), random_state=0).fit(graphs)
        >>> matched = clf.explain(graphs[0]).source
        >>> len(explain_matched(matched, clf.target_, top=3).matches)
        3
    """
    if top is not None and (isinstance(top, bool) or top < 0):
        raise InputError(f"top={top!r} is not a number of matches to list; use top >= 0, or None for all")
    classes = target.classes
    logits, model = matched.logits(), matched.model_logits()
    predicted = 0 if target.numeric else int(model.argmax())
    column = predicted if label is None else _column(classes, label)

    def score(values: Logits) -> NDArray[np.float64]:
        return target.margin(values, column)

    matched.target = target
    rows, contributions = matched.contributions(column)
    order = np.argsort(-np.abs(contributions), kind="stable")[:top]
    regions = matched.region_contributions(column, rows, contributions)
    edges = edge_shares(matched.graph.adjacency, regions.nodes, regions.columns, regions.total)
    single_nodes = 0.0
    if matched.undirected:  # an edge is both of its cells; the diagonal belongs to single nodes
        single_nodes = float(np.trace(edges))
        edges = edges + edges.T
        np.fill_diagonal(edges, 0.0)
    return Explanation(
        graph=matched.graph,
        label=classes[predicted],
        explained=classes[column],
        classes=classes,
        probabilities=target.link(model),
        score=float(score(logits)),
        base=float(score(matched.base_logits())),
        padding=float(score(logits) - score(matched.padding_logits())),
        templates=matched.templates,
        matches=matches_of(matched, rows[order], contributions[order]),
        count=len(matched.occurrences),
        total=float(regions.total.sum()),
        template_contributions=matched.template_contributions(column, rows, contributions),
        node_importance=node_shares(matched.graph.n, regions.nodes, regions.columns, regions.total),
        edge_importance=edges,
        target=target,
        source=matched,
        single_nodes=single_nodes,
        exact=matched.exact,
        label_names=dict((names or {}).get("node", {})),
        edge_label_names=dict((names or {}).get("edge", {})),
        class_names=dict((names or {}).get("class" if target.exclusive else "target", {})),
        rows=rows[order],
        regions=regions,
    )


def with_evidence(explanation: Explanation, nodes: IntArray, evidence: NDArray[np.float64]) -> Explanation:
    """Return importances as the sum of standard scores of contributions and of the evidence of each piece.

    Args:
        nodes: nodes of each piece, ``(R, k)``, padded with -1.
        evidence: evidence of each piece, ``(R,)``.
    """
    graph = explanation.graph
    means = edge_means(graph.adjacency, Regions(nodes, None, evidence, np.ones(len(nodes))))
    there = graph.adjacency != 0

    def standard(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray((values - values.mean()) / max(float(values.std()), 1e-12)) if values.size else values

    edges = np.zeros_like(means)
    edges[there] = standard(explanation.edge_importance[there]) + standard(means[there])
    real = nodes >= 0
    counts = np.bincount(nodes[real], minlength=graph.n)
    sums = np.bincount(nodes[real], np.broadcast_to(evidence[:, None], nodes.shape)[real], minlength=graph.n)
    at_nodes = standard(explanation.node_importance) + standard(sums / np.maximum(counts, 1))
    return replace(explanation, edge_importance=edges, node_importance=at_nodes, exact=False, method="evidence")


def matches_of(matched: MatchedGraph, rows: IntArray, contributions: NDArray[np.float64]) -> list[Match]:
    """Return the public form of some rows of the occurrences."""
    found, names = matched.occurrences, matched.graph.node_names
    region = found.region[rows]
    every_node = found.nodes[region].tolist()
    every_column = itertools.repeat(None) if found.columns is None else found.columns[region].tolist()
    columns_of_match = rows.tolist(), found.template[rows].tolist(), found.distance[rows].tolist()
    matches = []
    for row, template, distance, contribution, in_nodes, in_columns in zip(
        *columns_of_match, contributions.tolist(), every_node, every_column, strict=False
    ):
        order = matched.order(row)
        if order is not None:
            in_nodes = [in_nodes[place] for place in order.tolist()]
            in_columns = None if in_columns is None else [in_columns[place] for place in order.tolist()]
        nodes = tuple([node for node in in_nodes if node >= 0])
        columns = None if in_columns is None else tuple(in_columns)
        if columns == nodes:
            columns = None
        named = None if names is None else tuple([str(names[node]) for node in nodes + (columns or ())])
        matches.append(Match(template, nodes, columns, named, distance, contribution, order is not None))
    return matches


def _column(classes: NDArray[Any], label: Any) -> int:
    found = np.flatnonzero(classes == label)
    if len(found) != 1:
        raise InputError(
            f"label={label!r} is not a class of this model; use one of {', '.join(map(repr, classes.tolist()))}"
        )
    return int(found[0])


def _key(match: Match) -> tuple[Any, ...]:
    return match.template, match.nodes, match.columns


# The public form of a learned template.


@dataclass(frozen=True, eq=False, repr=False)
class Template:
    """One learned template.

    Attributes:
        adjacency: ndarray of shape (k, k).
        node_labels: ndarray of shape (k,), the most likely label of each node, or None for a template without labels.
        edge_labels: ndarray of shape (k, k), the most likely label of each edge (value above 0.5), else None; or None.
        degrees: ndarray of shape (k,), the degrees its nodes should have in the whole graph, or None.
        label_weights: ndarray of shape (k, labels), the weight of each label at each node, or None.
        texts: each node in words ("ring C with 3 neighbours") for templates that are subgraphs, or None.
        view: the name of the view it belongs to, or "".
        others: for a template with a wildcard, the other subgraphs it accepts.
        label_names, edge_label_names: the names of labels, where known.
    """

    adjacency: NDArray[np.float32]
    node_labels: NDArray[Any] | None = None
    edge_labels: NDArray[Any] | None = None
    degrees: NDArray[np.float32] | None = None
    label_weights: NDArray[np.float32] | None = None
    texts: tuple[str, ...] | None = None
    view: str = ""
    others: tuple[Template, ...] = ()
    label_names: Mapping[Any, str] = field(default_factory=dict)
    edge_label_names: Mapping[Any, str] = field(default_factory=dict)

    @property
    def k(self) -> int:
        """Number of nodes."""
        return len(self.adjacency)

    def text(
        self, label_names: Mapping[Any, str] | None = None, edge_label_names: Mapping[Any, str] | None = None
    ) -> str:
        """Describe the template in words: its nodes by label, and their links; None uses its own names of labels."""
        if self.texts and not self.view:  # certain nodes, or a neighbourhood
            return ", ".join(self.texts)
        names, labels = label_names or self.label_names, self.node_labels
        edge_label_names = edge_label_names or self.edge_label_names
        shown = None if labels is None else [str(names.get(label, label)) for label in labels.tolist()]
        if shown is not None and self.texts and self.view != "refined":
            shown = list(self.texts)
        links = None
        if self.edge_labels is not None:
            links = np.array(
                [[link_name(label, edge_label_names) for label in row] for row in self.edge_labels.tolist()]
            )
        elif self.view == "refined" and edge_label_names:  # all its links lie on cycles
            links = np.full(self.adjacency.shape, None)
        neighbours: list[str] = []
        if self.view == "refined" and self.texts:
            neighbours = [text.rpartition(" with ")[2].rpartition(" ")[0] for text in self.texts]
            # a link without a label lies on a ring, so its ends need not be called so
            plain = [self.adjacency[node] > 0.5 for node in range(self.k)]
            told = [
                links is not None and any(link is None for link in links[node][own]) for node, own in enumerate(plain)
            ]
            shown = shown and [
                f"ring {name}" if text.startswith(f"ring {name} with ") and not known else name
                for name, text, known in zip(shown, self.texts, told, strict=True)
            ]
        words = formula(self.adjacency > 0.5, shown, links, neighbours)
        if self.others:
            words += " or a similar piece" if len(self.others) == 1 else f" or one of {len(self.others)} similar pieces"
        return words

    def __repr__(self) -> str:
        return f"Template({self.text()})"

    def to_networkx(self, threshold: float = 0.5) -> networkx.DiGraph:
        """Convert the template to a NetworkX graph with an edge for each cell above the threshold, weighted by it."""
        try:
            import networkx
        except ImportError as error:
            raise MissingDependencyError("to_networkx needs networkx; pip install networkx") from error
        graph = networkx.DiGraph()
        for node in range(self.k):
            graph.add_node(node, **({} if self.node_labels is None else {"label": self.node_labels[node]}))
        for row, column in np.argwhere(self.adjacency > threshold).tolist():
            graph.add_edge(row, column, weight=float(self.adjacency[row, column]))
        return graph

    def _repr_html_(self) -> str:
        from isonn.report.show import template_html

        return template_html(self)


# One graph as the model sees it: its matches, and the model's outputs without some of them. Explanations need nothing
# else from a model. Each kind of region has its own subclass.


Logits = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Occurrences:
    """All matches of all templates in one graph: r matches in R regions.

    Attributes:
        nodes: the graph nodes of each region in the order of its rows, shape (R, k), padded with -1 if regions differ
            in size.
        columns: the graph nodes of each region's columns, shape (R, k), or None if they are its rows.
        region: the region of each match, shape (r,).
        template: the template of each match, shape (r,).
        distance: the distance between template and region of each match, shape (r,).

    Example:
        >>> found = Occurrences(  # both templates match nodes 4 and 7
        ...     nodes=np.array([[4, 7]]),
        ...     columns=None,
        ...     region=np.array([0, 0]),
        ...     template=np.array([0, 1]),
        ...     distance=np.array([0.0, 1.0]),
        ... )
        >>> len(found)
        2
    """

    nodes: IntArray
    columns: IntArray | None
    region: IntArray
    template: IntArray
    distance: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.region)


@dataclass(frozen=True, eq=False)
class Regions:
    """Regions of a graph with the total contribution and the number of their matches."""

    nodes: IntArray
    columns: IntArray | None
    total: NDArray[np.float64]
    count: NDArray[np.float64]


class MatchedGraph(ABC):
    """A graph with the matches of a fitted model, and the model's outputs without some of them.

    Matches are given by their rows in ``occurrences``. Logits are float64, one per class or label.

    Example:
        >>> graphs = isonn.load("MUTAG")
        >>> clf = isonn.SubgraphClassifier(k=(1, 2, 3), random_state=0).fit(graphs)
        >>> matched = clf.explain(graphs[0]).source
        >>> matched.logits_without(np.array([0])).shape  # without the first match
        (2,)
    """

    graph: Graph
    templates: Sequence[Template]
    occurrences: Occurrences
    target: Target
    #: Whether edges have no direction, so that an edge's importance is in both of its cells.
    undirected: bool = False

    @property
    def exact(self) -> bool:
        """Whether the contributions of all matches sum to score - base."""
        return False

    @abstractmethod
    def logits(self) -> Logits:
        """Return the outputs for the graph as it is, shape (outputs,)."""

    @abstractmethod
    def base_logits(self) -> Logits:
        """Return the outputs without any matches, shape (outputs,)."""

    @abstractmethod
    def logits_without(self, rows: IntArray) -> Logits:
        """Return the outputs without all these matches, shape (outputs,)."""

    @abstractmethod
    def logits_without_each(self) -> tuple[IntArray, Logits]:
        """Return the outputs without one match, for each: match rows, and logits of shape (rows, outputs).

        If this is too expensive for all matches, the least important ones are left out.
        """

    @abstractmethod
    def logits_without_template(self) -> Logits:
        """Return the outputs with one template switched off, shape (templates, outputs)."""

    @abstractmethod
    def order(self, row: int) -> IntArray | None:
        """Return the position in the region of each template node of a match, shape (k,), or None if unknown."""

    @abstractmethod
    def cells(self, row: int) -> NDArray[np.float64]:
        """Return the adjacency matrix of a match's region, rows by columns, shape (k, k)."""

    @abstractmethod
    def count_equal(self, other: MatchedGraph, row: int) -> int:
        """Return how many regions of this graph equal the region of another graph's match, up to relabelling."""

    def model_logits(self) -> Logits:
        """Return the outputs of the model itself, if ``logits`` are those of a simpler student."""
        return self.logits()

    def contributions(self, column: int) -> tuple[IntArray, NDArray[np.float64]]:
        """Return match rows and their contributions to the margin of one output, by removal unless overridden."""
        rows, without = self.logits_without_each()
        return rows, self.target.margin(self.logits(), column) - self.target.margin(without, column)

    def region_contributions(self, column: int, rows: IntArray, contributions: NDArray[np.float64]) -> Regions:
        """Sum the contributions of matches (by their rows) over each region."""
        found = self.occurrences
        total, count = np.zeros(len(found.nodes)), np.zeros(len(found.nodes))
        np.add.at(total, found.region[rows], contributions)
        np.add.at(count, found.region[rows], 1)
        return Regions(found.nodes, found.columns, total, count)

    def template_contributions(
        self, column: int, rows: IntArray, contributions: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the margin minus the margin with a template switched off, shape (templates,)."""
        without = self.target.margin(self.logits_without_template(), column)
        return np.asarray(self.target.margin(self.logits(), column) - without)

    def padding_logits(self) -> Logits:
        """Return the outputs without any input that is not a node of the graph, shape (outputs,)."""
        return self.logits()


# Importances of nodes and edges: the contributions of regions, shared among them.


#: Numbers shared at a time: 64 MB of float64.
BLOCK_NUMBERS = 2**23


def node_shares(
    n: int, nodes: IntArray, columns: IntArray | None, contributions: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Share every contribution equally among the nodes of its region, those of rows and columns alike.

    Args:
        n: number of nodes of the graph.
        nodes: nodes of each region, shape (R, k), padded with -1.
        columns: the same for columns, or None if they are the same nodes.
        contributions: contribution of each region, shape (R,).

    Returns:
        ndarray of shape (n,) with the sum of ``contributions``.
    """
    both = nodes if columns is None else np.concatenate([nodes, columns], axis=1)
    real = both >= 0
    share = np.broadcast_to((contributions / np.maximum(real.sum(axis=1), 1))[:, None], both.shape)
    return np.bincount(both[real], weights=share[real], minlength=n).astype(np.float64)


def edge_shares(
    adjacency: NDArray[np.float64], nodes: IntArray, columns: IntArray | None, contributions: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Share every contribution among the cells of its region in proportion to their absolute weight.

    A region without edges shares equally among all its cells, because the absence of edges was matched.

    Returns:
        ndarray of shape (n, n) with the sum of ``contributions``.
    """
    n = len(adjacency)
    total = np.zeros(n * n)
    for block, cell, real, share in _cells(adjacency, nodes, columns):
        empty = share.sum(axis=1) == 0
        share[empty] = real[empty]
        share *= (contributions[block] / np.maximum(share.sum(axis=1), np.finfo(float).tiny))[:, None]
        total += np.bincount(cell[real], weights=share[real], minlength=n * n)
    return total.reshape(n, n)


def edge_means(adjacency: NDArray[np.float64], regions: Regions) -> NDArray[np.float64]:
    """Return the mean contribution of the matches that contain each edge.

    Returns:
        ndarray of shape (n, n), 0 where there is no edge. It does not add up to the score.
    """
    n = len(adjacency)
    total, count = np.zeros(n * n), np.zeros(n * n)
    for block, cell, _, weight in _cells(adjacency, regions.nodes, regions.columns):
        held = weight != 0
        for sums, values in ((total, regions.total[block]), (count, regions.count[block])):
            sums += np.bincount(cell[held], weights=np.broadcast_to(values[:, None], cell.shape)[held], minlength=n * n)
    return (total / np.maximum(count, 1)).reshape(n, n)


def _cells(
    adjacency: NDArray[np.float64], nodes: IntArray, columns: IntArray | None
) -> Iterator[tuple[slice, IntArray, NDArray[np.bool_], NDArray[np.float64]]]:
    """Yield blocks of regions with their cells in the flat matrix, whether each is valid, and its absolute weight."""
    n, (count, k) = len(adjacency), nodes.shape
    weight = np.abs(adjacency).reshape(-1)
    step = max(1, BLOCK_NUMBERS // (k * k))
    for start in range(0, count, step):
        block = slice(start, start + step)
        row, column = nodes[block, :, None], (nodes if columns is None else columns)[block, None, :]
        real = ((row >= 0) & (column >= 0)).reshape(-1, k * k)
        cell = (row * n + column).reshape(-1, k * k)
        yield block, cell, real, np.where(real, weight[np.where(real, cell, 0)], 0.0)
