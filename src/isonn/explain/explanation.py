"""`Match` and `Explanation`: which nodes matched which template, and the effect on the prediction."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.domain import Assessment, GraphDomain
from isonn.errors import InputError, IsoNNWarning
from isonn.explain.matched import MatchedGraph, NamedContribution
from isonn.explain.reasons import Reason, find_reasons
from isonn.explain.text import factor_text
from isonn.explain.units import Unit
from isonn.graphs.edit import input_nodes, on_input_nodes
from isonn.graphs.io.target_column import unit_of
from isonn.packing import Floats, IntArray
from isonn.seeding import torch_threads
from isonn.targets import Target

#: Default number of matches to list; importances always count all.
LISTED = 100


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
        >>> clf = isonn.SubgraphClassifier(max_nodes=3, random_state=0).fit(graphs)
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

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells it from other matches of the same graph."""
        return self.template, self.nodes, self.columns

    def __repr__(self) -> str:
        places = ", ".join(map(str, self.nodes))
        places += "" if self.columns is None else f" to {', '.join(map(str, self.columns))}"
        return f"Match({self.contribution:+.3f}  template {self.template} at {places})"


class Explanation:
    """The explanation of one prediction.

    A **score** is the logit of the explained class, or for two classes its logit minus the other's. The
    **contribution** is an exact share of the score: in subgraph and aligned models ``node_importance`` and the
    contributions of ``absent`` and ``terms`` sum to ``score - base``. In the paper's models it is the score with a
    match minus the score without it, which does not add up.

    Args:
        source: the graph and its matches.
        label: the class to explain, by value or name; None explains the predicted class.
        top: number of matches to list; None lists all. The importances always count all matches.
        names: names of labels, classes and columns of y, by "node", "edge", "class" and "target".
        assess: returns the `assessment` of the graph; None if the model has none.

    Attributes:
        graph: the graph.
        label: the predicted class; for several labels the most likely one.
        explained: the class (or column of y) that scores and contributions refer to: ``label`` unless another was
            requested; ``column`` is its number in ``classes``.
        classes: all classes.
        exact: whether ``node_importance`` and the contributions of ``absent`` and ``terms`` sum to ``score - base``.
        logarithm: whether score and contributions are base-10 logarithms of a number: +0.3 is a factor of 2.
        unit: the unit of a predicted number, from the name of its column: "uM" for "IC50 (uM)"; "" if it has none.
        probabilities: the probability of each class, or the predicted numbers, shape (classes,).
        score: the score of the explained class.
        base: the score before anything contributes: for the paper's models the score without any matches, for subgraph
            models that of an empty graph, for aligned models that of a mean training graph.
        padding: contribution of all inputs beyond the graph's nodes; 0 for models without padding.
        node_importance: every match's contribution shared equally among its nodes, and the contributions of terms that
            are sums over nodes, shape (n,).
        input_importance: the same for each node of the input, with 0 for nodes that were removed from it:
            standardisation removes the counter-ions and solvents of molecules.
        terms: the terms of the whole graph, such as its number of nodes, that do not belong to single nodes.
        count: the number of all matches.
        target: the kind of prediction.
        source: the graph and its matches.
        contributions: rows of matches in ``source.occurrences`` and their contributions, largest absolute one first.
        label_names, edge_label_names, class_names: the names of labels and classes, where known.

    Example:
        >>> graphs = isonn.load("MUTAG")
        >>> clf = isonn.SubgraphClassifier(max_nodes=3, random_state=0).fit(graphs)
        >>> why = clf.explain(graphs[0])
        >>> [why.node_name(node) for node in why.reasons[0].nodes][:3]  # carbons of the rings
        ['C 3', 'C 4', 'C 6']
        >>> rest = sum(part.contribution for part in why.absent + why.terms)
        >>> bool(abs(why.node_importance.sum() + rest - (why.score - why.base)) < 1e-9)
        True
    """

    def __init__(
        self,
        source: MatchedGraph,
        label: Any = None,
        top: int | None = LISTED,
        names: Mapping[str, Mapping[Any, str]] | None = None,
        assess: Callable[[], Assessment] | None = None,
    ) -> None:
        if top is not None and (isinstance(top, bool) or top < 0):
            raise InputError(f"top={top!r} is not a number of matches to list; use top >= 0, or None for all")
        target, logits, names = source.target, source.logits(), names or {}
        self.source, self.graph, self.target, self.classes = source, source.graph, target, target.classes
        self.exact, self.count = source.exact, len(source.occurrences)
        # new labels have the names of their graph
        self.label_names = {**self.graph.node_label_names, **names.get("node", {})}
        self.edge_label_names = {**self.graph.edge_label_names, **names.get("edge", {})}
        self.class_names = dict(output_names(target, names))
        predicted = 0 if target.numeric else int(logits.argmax())
        column = predicted if label is None else column_of(target.classes, label, self.class_names)
        self.column, values = column, target.classes.tolist()
        self.label, self.explained = target.classes[predicted], values[column]
        self.logarithm = is_logarithm(target, column)
        self.unit = unit_of(self.class_names.get(column, "")) if target.numeric else ""
        self.probabilities = target.link(logits)
        self.score, self.base = float(target.margin(logits, column)), source.base(column)
        self.padding = self.score - float(target.margin(source.padding_logits(), column))
        rows, contributions = source.contributions(column)
        order = np.argsort(-np.abs(contributions), kind="stable")
        self.contributions = rows[order], contributions[order]
        self._regions = source.region_contributions(column, rows, contributions)
        self.node_importance = self._regions.node_shares(self.graph.n) + source.node_terms(column)
        self.input_importance: Floats = np.asarray(on_input_nodes(self.graph, self.node_importance))
        self.terms = source.terms(column)
        self._top, self._assess = top, assess

    @cached_property
    def matches(self) -> list[Match]:
        """The listed matches, by absolute contribution, largest first."""
        rows, contributions = self.contributions
        return matches_of(self.source, rows[: self._top], contributions[: self._top])

    @cached_property
    def edge_importance(self) -> Floats:
        """Every match's contribution, shared among the cells of its region by their absolute weight, shape (n, n).

        A region without an edge shares equally among its cells. The sum is that of all matches; in undirected models,
        where an edge has two equal cells, one of them and ``single_nodes`` add up to it.
        """
        edges = self._regions.edge_shares(self.graph.adjacency)
        if self.source.undirected:  # an edge is both of its cells; the diagonal belongs to single nodes
            edges = edges + edges.T
            np.fill_diagonal(edges, 0.0)
        return edges

    @property
    def single_nodes(self) -> float:
        """The contribution of single-node pieces; 0 for models without any."""
        return float(np.trace(self._regions.edge_shares(self.graph.adjacency))) if self.source.undirected else 0.0

    def effect_text(self, contribution: float) -> str:
        """Return what a contribution does to the score, or to a number that was learned as a logarithm.

        Args:
            contribution: of a unit, a term or several of them.

        Returns:
            the contribution with its sign, such as "+0.60"; for a logarithm the factor, such as "\u00d7 4.0".
        """
        return factor_text(contribution) if self.logarithm else f"{contribution:+.2f}"

    @cached_property
    def assessment(self) -> Assessment | None:
        """The prediction with its interval or set, coverage 0.9, and its domain; None if the model has none."""
        if self._assess is None:
            return None
        with warnings.catch_warnings():  # an infinite interval is shown as one; strange graphs were warned of before
            warnings.simplefilter("ignore", IsoNNWarning)
            return self._assess()

    @property
    def interval(self) -> Floats | None:
        """The lowest and the highest value of the explained column with coverage 0.9, shape (2,); None for classes."""
        if self.assessment is None or self.assessment.interval is None:
            return None
        return np.asarray(self.assessment.interval.reshape(-1, 2)[self.column])

    @property
    def prediction_set(self) -> list[Any] | None:
        """The classes in the set with coverage 0.9, for a label False and True; None for numbers."""
        if self.assessment is None or self.assessment.sets is None:
            return None
        held = self.assessment.sets[0]
        values, kept = (self.classes, held) if held.ndim == 1 else (np.array([False, True]), held[self.column])
        return list(values[kept].tolist())

    @property
    def domain(self) -> GraphDomain | None:
        """Whether the model knows such graphs, what is new, and the nearest known ones; None if the model has none."""
        return None if self.assessment is None or self.assessment.domain is None else self.assessment.domain[0]

    @cached_property
    def absent(self) -> list[NamedContribution]:
        """The pieces whose absence contributes, by name; [] for the heads of isonn, which compare with no pieces."""
        return self.source.absent(self.column)

    @cached_property
    def units(self) -> list[Unit]:
        """The parts of the graph, largest absolute contribution first.

        Units, ``absent`` and ``terms`` sum to ``score - base``. Units of molecules are functional groups, ring systems
        and chains; of aligned graphs sets of regions, connections and the rest; of other graphs connected pieces whose
        nodes contribute with one sign, and the rest. [] for the paper's models, whose contributions do not add up.
        """
        return self.source.units(self.column, self.node_importance)

    @cached_property
    def reasons(self) -> list[Reason]:
        """The strongest units, at most five, largest absolute contribution first."""
        return find_reasons(self)

    def node_name(self, node: int) -> str:
        """Return the name of a node, or its label and number.

        Args:
            node: number of the node.

        Returns:
            its name, such as "Precuneus L"; without names, or with numbers as names, its label and number: "N 14".

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> clf = isonn.SubgraphClassifier(max_nodes=2, head="linear", random_state=0).fit(graphs)
            >>> clf.explain(graphs[0]).node_name(14)
            'N 14'
        """
        number = str(input_nodes(self.graph)[node])
        if self.graph.node_names is not None:
            number = str(self.graph.node_names[node])
        if self.graph.has_named_nodes or self.graph.node_labels is None:
            return number
        label = self.graph.node_labels[node].item()
        return f"{self.label_names.get(label, label)} {number}"

    def without(self, match: Match | Reason | int | Sequence[Match | int]) -> Floats | None:
        """Run the model without a reason or some matches and return the probabilities (or values), shape (outputs,).

        Args:
            match: one of ``reasons``, as in `Reason.without`; or one or several entries of ``matches``, or their
                numbers, which are left out while the graph stays as it is.

        Returns:
            ndarray of shape (outputs,); None if nothing is left of the graph.

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> why = isonn.SubgraphClassifier(max_nodes=3, random_state=0).fit(graphs).explain(graphs[0])
            >>> bool(why.without(why.reasons[0])[1] < why.probabilities[1])  # its rings speak for a mutagen
            True
        """
        if isinstance(match, Reason):
            return match.without
        given = list(match) if isinstance(match, (Sequence, np.ndarray)) else [match]
        for entry in given:
            if not isinstance(entry, (Match, int, np.integer)):
                raise InputError(f"{entry!r:.60} is not left out this way; give one of reasons, or some of matches")
        place = {listed.key: i for i, listed in enumerate(self.matches)}
        numbers = [place.get(entry.key, -1) if isinstance(entry, Match) else int(entry) for entry in given]
        for i, (entry, number) in enumerate(zip(given, numbers, strict=True)):
            if not 0 <= number < len(self.matches):
                which = f"match {i} of {len(given)}" if isinstance(entry, Match) else f"match {entry}"
                raise InputError(
                    f"{which} is not among the {len(self.matches)} of this explanation; "
                    f"give entries of its matches, or explain with top=None to list all {self.count}"
                )
        with torch_threads(1):
            return self.target.link(self.source.logits_without(self.contributions[0][numbers]))

    def summary(self, top: int = 5) -> str:
        """Return a few lines: the prediction, and how reasons and everything else add up from base to score.

        The paper's models, whose contributions do not add up, list their strongest matches.

        Args:
            top: maximum number of reasons to list.

        Returns:
            the text; ``print(explanation)`` prints the same.

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> clf = isonn.SubgraphClassifier(max_nodes=3, head="linear", random_state=0).fit(graphs)
            >>> print(clf.explain(graphs[0]).summary(top=1))  # doctest: +ELLIPSIS
            mutagenic with probability 0...: score +... (base: ...)
            ...
        """
        from isonn.explain.export import as_text

        return as_text(self, top)

    __repr__ = summary

    def to_dict(self, without: bool = True) -> dict[str, Any]:
        """Return the explanation as plain data that `json.dumps` takes.

        Args:
            without: also predict the graph without each reason, which takes as long as so many predictions.

        Returns:
            a dict of numbers, strings, lists and dicts.

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> e = isonn.SubgraphClassifier(max_nodes=3, random_state=0).fit(graphs).explain(graphs[0])
            >>> sorted(e.to_dict()["reasons"][0])
            ['agrees', 'contribution', 'kind', 'name', 'nodes', 'text', 'without']
        """
        from isonn.explain.export import as_dict

        return as_dict(self, without)

    def to_svg(self) -> str:
        """Return the graph as an SVG file, coloured by contribution, with its reasons highlighted.

        Returns:
            the text of an SVG file, which needs no other file.

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> clf = isonn.SubgraphClassifier(max_nodes=3, head="linear", random_state=0).fit(graphs)
            >>> clf.explain(graphs[0]).to_svg()[:4]
            '<svg'
        """
        from isonn.report.show import explanation_svg

        return explanation_svg(self)

    def to_html(self, path: str | Path) -> None:
        """Write a page with the drawing, the reasons and all listed matches; needs the extra ``report``.

        Args:
            path: the file to write; a page that is there is never replaced.

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> clf = isonn.SubgraphClassifier(max_nodes=3, head="linear", random_state=0).fit(graphs)
            >>> clf.explain(graphs[0]).to_html(tmp_path / "why.html")
        """
        from isonn.report.explain_page import write_explanation

        write_explanation(self, Path(path))

    def _repr_html_(self) -> str:
        from isonn.report.show import explanation_html

        return explanation_html(self)


def is_logarithm(target: Target, column: int) -> bool:
    """Return whether the score of a column is the base-10 logarithm of a number."""
    logs = getattr(target, "logs", None)
    return logs is not None and bool(logs[column])


def matches_of(matched: MatchedGraph, rows: IntArray, contributions: Floats) -> list[Match]:
    """Return the public form of some rows of the occurrences."""
    occurrences, names = matched.occurrences, matched.graph.node_names
    matches = []
    for row, contribution in zip(rows.tolist(), contributions.tolist(), strict=True):
        region, order = occurrences.region[row], matched.order(row)
        places = slice(None) if order is None else order
        nodes = tuple(node for node in occurrences.nodes[region][places].tolist() if node >= 0)
        columns = None if occurrences.columns is None else tuple(occurrences.columns[region][places].tolist())
        columns = None if columns == nodes else columns
        named = None if names is None else tuple(str(names[node]) for node in nodes + (columns or ()))
        template, distance = int(occurrences.template[row]), float(occurrences.distance[row])
        matches.append(Match(template, nodes, columns, named, distance, contribution, order is not None))
    return matches


def output_names(target: Target, label_names: Mapping[str, Mapping[Any, str]]) -> Mapping[Any, str]:
    """Return the names of classes, or of columns of several labels or numbers, as far as they have some."""
    return label_names.get("class" if target.exclusive else "target", {})


def column_of(classes: NDArray[Any], label: Any, names: Mapping[Any, str], what: str = "label") -> int:
    """Return the column of a class or target, given as it is in ``classes`` or by its name; ``what`` names it.

    A text may have another case, and be that of a number.
    """
    values = classes.tolist()
    places = [i for i, value in enumerate(values) if value == label]
    places = places or [i for i, value in enumerate(values) if names.get(value) == label]
    if not places and isinstance(label, str):
        called = [{str(value).casefold(), str(names.get(value, value)).casefold()} for value in values]
        places = [i for i, texts in enumerate(called) if label.casefold() in texts]
    if len(places) != 1:
        shown = ", ".join(repr(names.get(value, value)) for value in values[:10]) + ", ..." * (len(values) > 10)
        raise InputError(f"{what}={label!r:.60} is not a class of this model; use one of {shown}")
    return places[0]
