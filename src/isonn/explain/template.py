"""`Template`, the public form of a learned template, and the facts that its nodes and edges require."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from isonn.errors import MissingDependencyError

if TYPE_CHECKING:
    import networkx


class NodeFacts(NamedTuple):
    """What a template requires of a node; None for what it does not look at.

    Attributes:
        label: the node label.
        values: the node attributes, rounded to a level.
        degree: the number of neighbours in the whole graph.
        about: whether ``degree`` is rounded.
        ring: whether the node lies on a cycle.

    Example:
        >>> NodeFacts(label="C", degree=3, ring=True).label
        'C'
    """

    label: Any = None
    values: tuple[float, ...] | None = None
    degree: int | None = None
    about: bool = False
    ring: bool | None = None


class EdgeFacts(NamedTuple):
    """What a template requires of an edge; None for what it does not look at.

    Attributes:
        label: the edge label.
        weight: the edge weight, rounded to a level.
        ring: whether the edge lies on a cycle.

    Example:
        >>> EdgeFacts(label="double").ring is None
        True
    """

    label: Any = None
    weight: float | None = None
    ring: bool | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Template:
    """One learned template.

    Attributes:
        adjacency: ndarray of shape (k, k): weights, or 1 for an edge without one.
        nodes: what each node requires; empty for the windows of the paper.
        edges: what each edge (i, j) with i < j requires.
        view: the name of the view it belongs to, or "".
        texts: the names of the nodes it is bound to, for templates of aligned graphs, or None.
        label_names, edge_label_names: the names of labels, where known.

    Example:
        >>> Template(np.array([[0, 1], [1, 0]]), (NodeFacts("C"), NodeFacts("O")), {(0, 1): EdgeFacts("double")})
        Template(C=O)
    """

    adjacency: NDArray[Any]
    nodes: tuple[NodeFacts, ...] = ()
    edges: Mapping[tuple[int, int], EdgeFacts] = field(default_factory=dict)
    view: str = ""
    texts: tuple[str, ...] | None = None
    label_names: Mapping[Any, str] = field(default_factory=dict)
    edge_label_names: Mapping[Any, str] = field(default_factory=dict)

    @property
    def k(self) -> int:
        """Number of nodes."""
        return len(self.adjacency)

    @property
    def node_labels(self) -> NDArray[Any] | None:
        """The label of each node, shape (k,); None if some node needs no label."""
        labels = [facts.label for facts in self.nodes]
        return np.array(labels) if labels and all(label is not None for label in labels) else None

    @property
    def edge_labels(self) -> NDArray[Any] | None:
        """The label of each edge, shape (k, k), None elsewhere; None if no edge needs a label."""
        if all(facts.label is None for facts in self.edges.values()):
            return None
        labels = np.full((self.k, self.k), None, dtype=object)
        for (i, j), facts in self.edges.items():
            labels[i, j] = labels[j, i] = facts.label
        return labels

    @property
    def linked(self) -> NDArray[np.bool_]:
        """Which nodes are linked, shape (k, k); for a window, its cells above one half."""
        if not self.nodes:
            return np.asarray(self.adjacency > 0.5)
        linked = np.zeros((self.k, self.k), dtype=bool)
        for i, j in self.edges:
            linked[i, j] = linked[j, i] = True
        return linked

    def text(self) -> str:
        """Describe the template in words: its nodes by label, and their links.

        Returns:
            the text.

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> isonn.SubgraphVectorizer(max_nodes=2, view="labels").fit(graphs).templates_[-1].text()
            'N=O'
        """
        from isonn.explain.text import template_text

        return template_text(self)

    def __repr__(self) -> str:
        return f"Template({self.text()})"

    def to_networkx(self, threshold: float = 0.5) -> networkx.DiGraph:
        """Convert to a NetworkX graph with both directions of every edge, weighted.

        Args:
            threshold: cells of a window above this value are edges.

        Returns:
            a `networkx.DiGraph`; labels and weights of the template are attributes of its nodes and edges.

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> template = isonn.SubgraphVectorizer(max_nodes=2, view="labels").fit(graphs).templates_[-1]
            >>> sorted(template.to_networkx().edges)
            [(0, 1), (1, 0)]
        """
        try:
            import networkx
        except ImportError as error:
            raise MissingDependencyError("to_networkx needs networkx; pip install networkx") from error
        graph = networkx.DiGraph()
        labels = self.node_labels
        for node in range(self.k):
            graph.add_node(node, **({} if labels is None else {"label": labels[node]}))
        cells = self.linked if self.nodes else self.adjacency > threshold
        for row, column in np.argwhere(cells).tolist():
            graph.add_edge(row, column, weight=float(self.adjacency[row, column]))
        return graph

    def _repr_html_(self) -> str:
        from isonn.report.show import template_html

        return template_html(self)
