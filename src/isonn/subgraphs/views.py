"""Views: the information about nodes and edges that subgraphs are compared by.

Equal subgraphs are found by comparing integers, so everything a node or an edge carries becomes one code. A `View`
chooses which labels, attributes and weights of a graph count, and combines them with its structure:

- ``labels``: labels, and levels of attributes and weights, unchanged;
- ``refined``: nodes also carry their degree and whether they lie on a cycle; edges on a cycle become "ring edges", all
  others keep their labels. This separates ring carbons from chain carbons without any chemistry;
- ``degrees``: only the degree of each node.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from typing_extensions import Self

from isonn.errors import InputError
from isonn.explain.template import EdgeFacts, NodeFacts
from isonn.packing import IntArray
from isonn.plugins import Registry
from isonn.subgraphs.levels import EXACT_DEGREES, degree_levels, degree_values

if TYPE_CHECKING:
    from isonn.subgraphs.encode import Encoding, Structure

#: What graphs can carry, and a view can look at.
COLUMNS = ("node_labels", "node_attributes", "edge_labels", "edge_weights")


@dataclass(frozen=True)
class View(ABC):
    """What nodes and edges carry. To add a view, subclass this and register it with `register_view`.

    `codes` gives every node a code from 0 and every edge a code from 1 (0 means "no edge"). Equal codes mean the same
    thing in every graph, regardless of node order. `node_facts` and `edge_facts` return what a code means.

    Args:
        node_labels, edge_labels, edge_weights: whether they count: True, False, or "auto" if the graphs have them.
        node_attributes: the same; "auto" uses them if there are no node labels. They are rounded to a few levels.

    Example:
        >>> from isonn.subgraphs.views import LabelsView
        >>> LabelsView(edge_labels=False)
        LabelsView(node_labels='auto', edge_labels=False, node_attributes='auto', edge_weights='auto')
    """

    node_labels: bool | str = "auto"
    edge_labels: bool | str = "auto"
    node_attributes: bool | str = "auto"
    edge_weights: bool | str = "auto"

    name: ClassVar[str]
    #: The smallest useful subgraph size.
    smallest: ClassVar[int] = 1

    def __post_init__(self) -> None:
        for column in COLUMNS:
            if getattr(self, column) not in (True, False, "auto"):
                raise InputError(f"{column}={getattr(self, column)!r} is unknown; use True, False or 'auto'")

    @abstractmethod
    def codes(self, structure: Structure) -> tuple[IntArray, IntArray]:
        """Return the code of each node and each edge.

        Args:
            structure: labels, levels, degrees and cycles of all nodes and edges of a set.

        Returns:
            two integer arrays: a code from 0 for each node, and from 1 for each edge.
        """

    @abstractmethod
    def node_facts(self, code: int, encoding: Encoding) -> NodeFacts:
        """Return what a node with this code carries.

        Args:
            code: a code that `codes` gave to a node.
            encoding: the labels and levels of the training graphs.

        Returns:
            `NodeFacts`, from which texts, SMARTS and drawings are made.
        """

    def edge_facts(self, code: int, encoding: Encoding) -> EdgeFacts:
        """Return what an edge with this code carries.

        Args:
            code: a code that `codes` gave to an edge.
            encoding: the labels and levels of the training graphs.

        Returns:
            `EdgeFacts`.
        """
        return EdgeFacts()

    def label_names(self, encoding: Encoding) -> tuple[Mapping[Any, str], Mapping[Any, str]]:
        """Return names of node and edge labels that only this view has.

        Args:
            encoding: the labels and levels of the training graphs.

        Returns:
            names of node labels and of edge labels, by label.
        """
        return {}, {}

    @property
    def labelled(self) -> bool:
        """Whether its templates are told before the unlabelled shapes of other views."""
        return False

    def uses(self, has: Mapping[str, bool]) -> dict[str, bool]:
        """Return which columns the view looks at, with "auto" decided by what graphs have.

        Args:
            has: whether the graphs have each column.

        Returns:
            whether the view looks at each column.
        """
        use = {c: has[c] if getattr(self, c) == "auto" else bool(getattr(self, c)) for c in COLUMNS}
        if self.node_attributes == "auto" and use["node_labels"]:
            use["node_attributes"] = False  # with levels beside labels, hardly any two subgraphs would be equal
        return use

    def resolve(self, has: Mapping[str, bool], name: str) -> Self:
        """Return the view with "auto" decided by what the graphs of a set have.

        Args:
            has: whether the graphs have each column.
            name: name of the set, for errors.

        Returns:
            the same view with True or False for every column.
        """
        use = self.uses(has)
        for column in COLUMNS[:3]:  # weights default to 1
            if use[column] and not has[column]:
                raise InputError(f"{column}=True, but {name} has none; use {column}='auto' or False")
        return replace(self, **use)

    def as_json(self) -> dict[str, Any]:
        """Return the view as JSON, for `view_from_json`.

        Returns:
            the name and the columns of the view.
        """
        return {"view": self.name, **asdict(self)}


#: All views by name.
VIEWS: Registry[type[View]] = Registry("views", {"elements": "isonn.molecules.views"})


def register_view(cls: type[View]) -> type[View]:
    """Register a view under its name; use as a decorator.

    Args:
        cls: a frozen dataclass, a subclass of `View` with a ``name``.

    Returns:
        the class.
    """
    VIEWS[cls.name] = cls
    return cls


def get_view(name: Any) -> View:
    """Return the view with this name, or the given view; views that need an extra are imported on first use.

    Args:
        name: a name such as "refined", or a view.

    Returns:
        the view.

    Example:
        >>> get_view("refined").name
        'refined'
    """
    if isinstance(name, View):
        return name
    return VIEWS.named(name, "view")()


#: The views of ``view="auto"``, by kind of graphs. Atom labels already contain what "refined" adds, and elements alone
#: join what they split (5 folds: RMSE 0.68 instead of 0.71 on ESOL, 1.09 instead of 1.19 on FreeSolv; same AUROC on
#: BBBP and BACE).
AUTO_VIEWS = {"": ("labels", "refined"), "molecules": ("elements", "labels")}


def views_of(view: Any, kind: str = "") -> tuple[View, ...]:
    """Return the views of a parameter: "auto", one or several names, or one or several views.

    Args:
        kind: the kind of the graphs, for "auto".

    Returns:
        the views, at least one.
    """
    if isinstance(view, str) and view == "auto":
        view = AUTO_VIEWS.get(kind, AUTO_VIEWS[""])
    if isinstance(view, (str, View)):
        view = (view,)
    if not isinstance(view, Sequence) or not view:
        raise InputError(f"view={view!r} is not a view; use 'auto', or one or several names")
    return tuple(map(get_view, view))


def view_from_json(stored: Mapping[str, Any]) -> View:
    """Restore a view from `View.as_json`."""
    view = get_view(stored["view"])
    return replace(view, **{field.name: stored[field.name] for field in fields(view)})


def view_param_from_json(stored: Any) -> Any:
    """Restore the parameter ``view`` of a saved model: a name, a view, or several of them."""
    if isinstance(stored, list):
        return tuple(map(view_param_from_json, stored))
    return view_from_json(stored) if isinstance(stored, dict) else stored


@register_view
@dataclass(frozen=True)
class LabelsView(View):
    """Labels, and levels of attributes and weights, unchanged.

    Example:
        >>> graphs = isonn.load("MUTAG")
        >>> vectorizer = isonn.SubgraphVectorizer(max_nodes=2, view=LabelsView(edge_labels=False)).fit(graphs)
        >>> str(vectorizer.get_feature_names_out()[-1])
        'labels [N]-[O]'
    """

    name = "labels"

    @property
    def labelled(self) -> bool:
        """Whether nodes carry labels."""
        return bool(self.node_labels)

    def codes(self, structure: Structure) -> tuple[IntArray, IntArray]:
        """Return label and level as one number."""
        nodes = structure.combined("node_labels", "node_attributes", self)
        return nodes, 1 + structure.combined("edge_labels", "edge_weights", self)

    def node_facts(self, code: int, encoding: Encoding) -> NodeFacts:
        """Return label and attributes."""
        label, values = encoding.meaning(code, "node_labels", "node_attributes", self)
        return NodeFacts(label, values)

    def edge_facts(self, code: int, encoding: Encoding) -> EdgeFacts:
        """Return label and weight."""
        label, weight = encoding.meaning(code - 1, "edge_labels", "edge_weights", self)
        return EdgeFacts(label, None if weight is None else weight[0])


#: Number of degree levels that fit into a refined node code.
_DEGREES = 64


@register_view
@dataclass(frozen=True)
class RefinedView(LabelsView):
    """Labels with degrees and cycles: nodes carry both, and all edges on cycles are equal.

    Example:
        >>> graphs = isonn.load("MUTAG")
        >>> str(isonn.SubgraphVectorizer(max_nodes=1, view="refined").fit(graphs).get_feature_names_out()[0])
        'refined [C degree 1 not ring]'
    """

    name = "refined"

    def codes(self, structure: Structure) -> tuple[IntArray, IntArray]:
        """Return code, degree and cycle of nodes as one number; 1 for ring edges, their code plus 1 for others."""
        nodes, edges = super().codes(structure)
        nodes = (nodes * _DEGREES + degree_levels(structure.degree)) * 2 + structure.ring_nodes
        return nodes, np.where(structure.ring_edges, 1, 1 + edges)

    def node_facts(self, code: int, encoding: Encoding) -> NodeFacts:
        """Return label, attributes, degree and cycle."""
        facts = super().node_facts(code // (2 * _DEGREES), encoding)
        return facts._replace(ring=bool(code % 2), **_degree_facts(code // 2 % _DEGREES))

    def edge_facts(self, code: int, encoding: Encoding) -> EdgeFacts:
        """Return the label and weight of an edge that is not on a cycle."""
        if code == 1:
            return EdgeFacts(ring=True)
        return super().edge_facts(code - 1, encoding)._replace(ring=False)


@register_view
@dataclass(frozen=True)
class DegreesView(View):
    """Only the degree of each node in the whole graph.

    Example:
        >>> graphs = isonn.load("MUTAG")
        >>> str(isonn.SubgraphVectorizer(max_nodes=2, view="degrees").fit(graphs).get_feature_names_out()[0])
        'degrees [degree 1]-[degree 2]'
    """

    name = "degrees"
    smallest = 2

    def codes(self, structure: Structure) -> tuple[IntArray, IntArray]:
        """Return the level of each degree; all edges are equal."""
        return degree_levels(structure.degree), np.ones(len(structure.edges), dtype=np.int64)

    def node_facts(self, code: int, encoding: Encoding) -> NodeFacts:
        """Return the degree."""
        return NodeFacts(**_degree_facts(code))


def _degree_facts(level: int) -> dict[str, Any]:
    degree = round(2 ** float(degree_values(np.array(level))) - 1)
    return {"degree": degree, "about": level > EXACT_DEGREES}
