"""Suggestions: small edits of a graph that move its prediction to a goal, re-scored exactly by the model.

An `Editor` proposes edited graphs of one kind; molecules have their own, other graphs lose or gain nodes, edges and
labels. The model predicts all proposals in one batch. If one edit is not enough, the best proposals are edited again.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import logit

from isonn.errors import InputError
from isonn.explain.explanation import column_of, output_names
from isonn.graphs.convert import as_one_graph
from isonn.graphs.edit import add_node, delete_nodes, set_edge, set_label
from isonn.graphs.graph import Graph, GraphSet
from isonn.graphs.isomorphism import graph_hashes
from isonn.graphs.join import join_graphs
from isonn.packing import Floats
from isonn.params import check_count
from isonn.plugins import Registry

#: Proposals that are edited again, and the most proposals of one graph and of one step.
BEAM, MOST, MOST_IN_STEP = 24, 400, 3000
#: The best proposals of a step, whose domain is looked at.
LOOKED_AT = 720


@dataclass(frozen=True, eq=False, repr=False)
class Suggestion:
    """An edited graph whose prediction is nearer to a goal.

    Attributes:
        graph: the graph after the edits; molecules are standardised as for the model.
        edits: each edit in words.
        answer: the model's probability of the goal, or the number it predicts.
        predicted: what the model predicts.
        reached: whether that is the goal, or at or beyond it for numbers.
        change: how far the edits move the answer towards the goal: in log-odds, or in the units of ``y``.
        similarity: of molecules, the Tanimoto similarity (ECFP4) to the given one; None for other graphs.
        verdict: "in" or "borderline", as of `domain`; None if the model does not know its domain.

    Example:
        >>> graphs = isonn.load("MUTAG")
        >>> clf = isonn.SubgraphClassifier(max_nodes=3, random_state=0).fit(graphs)
        >>> clf.suggest(graphs[0], goal=-1, top=1)[0].change > 0
        True
    """

    graph: Graph
    edits: tuple[str, ...]
    answer: float
    predicted: Any
    reached: bool
    change: float
    similarity: float | None = None
    verdict: str | None = None

    @property
    def smiles(self) -> str:
        """The SMILES of a molecule; "" for other graphs."""
        return str(self.graph.row.get("smiles", ""))

    @property
    def text(self) -> str:
        """All edits in words."""
        return ", then ".join(self.edits)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the graph, as plain data that `json.dumps` takes.

        Returns:
            a dict of numbers, strings and lists.
        """
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "graph"}
        return {**values, "edits": list(self.edits)}

    def __repr__(self) -> str:
        return f"Suggestion({self.text}: {self.answer:.3g}{f' {self.smiles}' if self.smiles else ''})"


class Suggestions(list[Suggestion]):
    """A list of `Suggestion`, the best first, from ``clf.suggest(graph, goal)``.

    Attributes:
        out_of_domain: number of edited graphs that come nearer to the goal, but that the model does not know. They
            are left out.

    Example:
        >>> graphs = isonn.load("MUTAG")
        >>> clf = isonn.SubgraphClassifier(max_nodes=3, random_state=0).fit(graphs)
        >>> suggestions = clf.suggest(graphs[0], goal=-1, top=3)
        >>> len(suggestions), suggestions.out_of_domain >= 0
        (3, True)
    """

    out_of_domain: int = 0


class Editor(ABC):
    """Base class of what proposes edits of graphs. To add one, subclass it and call `register_editor` with a kind.

    ``clf.suggest`` asks `propose` for edits of a graph and `read` for the edited graphs, and predicts these.
    """

    @abstractmethod
    def propose(self, graph: Graph, standardize: str | None) -> list[tuple[str, Any]]:
        """Return edits in words with what `read` makes a graph from, the most natural first; at most one per result.

        Args:
            graph: the graph to edit.
            standardize: how the model standardises molecules, or None.

        Returns:
            pairs of a text, such as "replace nitro by cyano", and what `read` takes.
        """

    @abstractmethod
    def read(self, proposals: Sequence[Any], standardize: str | None) -> tuple[GraphSet | None, list[int]]:
        """Return the graphs of proposals, and which proposals they are; others are not valid.

        Args:
            proposals: second entries of what `propose` returned.
            standardize: how the model standardises molecules, or None.

        Returns:
            the graphs (None if there are none), and the number of the proposal of each.
        """

    def similarity(self, first: Graph, second: Graph) -> float | None:
        """Return how similar two graphs are, from 0 to 1, or None.

        Args:
            first, second: the graph, and an edited one.

        Returns:
            a number from 0 to 1, or None.
        """
        return None


class GraphEditor(Editor):
    """Deletes and adds edges between near nodes, deletes nodes, adds neighbours and changes labels."""

    def propose(self, graph: Graph, standardize: str | None) -> list[tuple[str, Any]]:
        """Return all single edits, at most `MOST`."""
        nodes = range(graph.n)
        name = list(map(str, nodes)) if graph.node_names is None else graph.node_names.tolist()
        called = graph.node_label_names
        joined = {(a, b) for a, b in graph.edges.tolist() if a < b}
        labels = [] if graph.node_labels is None else sorted(set(graph.node_labels.tolist()), key=str)
        weight = 1.0 if graph.weights is None else float(np.median(graph.weights))
        proposals = [(f"delete edge {name[a]}-{name[b]}", set_edge(graph, a, b, 0.0)) for a, b in sorted(joined)]
        if graph.n > 1:
            proposals += [(f"delete node {name[node]}", delete_nodes(graph, [node])) for node in nodes]
        for node in nodes if labels else ():
            before = graph.node_labels[node] if graph.node_labels is not None else None
            proposals += [
                (f"relabel node {name[node]} as {called.get(label, label)}", set_label(graph, node, label))
                for label in labels
                if label != before
            ]
        near = {(a, c) for a, b in graph.edges.tolist() for x, c in graph.edges.tolist() if x == b and a < c} - joined
        if graph.edge_labels is None or len(graph.edges):
            proposals += [(f"add edge {name[a]}-{name[b]}", set_edge(graph, a, b, weight)) for a, b in sorted(near)]
            if graph.node_attributes is None:
                more = add_node(graph)
                proposals += [
                    (f"add a neighbour to node {name[node]}", set_edge(more, node, graph.n, weight)) for node in nodes
                ]
        return proposals[:MOST]

    def read(self, proposals: Sequence[Any], standardize: str | None) -> tuple[GraphSet | None, list[int]]:
        """Join the graphs, which are all valid."""
        if not proposals:
            return None, []
        first = proposals[0]
        names = {"node_label_names": dict(first.node_label_names), "edge_label_names": dict(first.edge_label_names)}
        return join_graphs(list(proposals), **names), list(range(len(proposals)))


_EDITORS: Registry[Editor] = Registry("editors", {"molecules": "isonn.molecules.suggest"})


def register_editor(kind: str, editor: Editor) -> None:
    """Propose edits of graphs of a kind (``GraphSet.kind``) with this editor, replacing an earlier one.

    Args:
        kind: the kind of graphs, as in ``GraphSet.kind``.
        editor: an instance of a subclass of `Editor`.
    """
    if not isinstance(editor, Editor):
        raise InputError(f"{editor!r:.60} is not a Editor; give an instance of a subclass")
    _EDITORS[kind] = editor


def find_editor(kind: str) -> Editor:
    """Return the editor of a kind; graphs of other kinds lose and gain nodes and edges."""
    return _EDITORS.find(kind) or _GRAPH_EDITOR


_GRAPH_EDITOR = GraphEditor()


def suggest(model: Any, X: Any, goal: Any, *, label: Any = None, steps: int = 2, top: int = 10) -> Suggestions:
    """Return edits of one graph that move its prediction to a goal; see `SubgraphClassifier.suggest`."""
    check_count("steps", steps)
    check_count("top", top)
    aim, names = Aim(model, goal, label), model.label_names_
    given = replace(as_one_graph(X, model.standardize_), node_label_names=names["node"], edge_label_names=names["edge"])
    editor = find_editor(given.kind)

    def compared(s: Suggestion) -> Suggestion:
        return replace(s, similarity=editor.similarity(given[0], s.graph))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # proposals may be unusual; their domain says so
        start = float(aim.measure(given)[0][0])
        seen = {int(graph_hashes(given)[0])}
        beam: list[tuple[Graph, tuple[str, ...]]] = [(given[0], ())]
        best: list[Suggestion] = []
        left_out = 0
        for _ in range(steps):
            layer = _layer(aim, editor, beam, seen, start)
            looked_at = _with_verdicts(model, layer)
            checked = [s for s in looked_at if s.verdict != "out"]
            left_out += len(looked_at) - len(checked)
            if model.target_.numeric:  # the similarity ranks those that reach the goal
                checked = [compared(s) if s.reached else s for s in checked]
            best = _ranked(best + checked, model.target_.numeric)
            if sum(s.reached and s.verdict in (None, "in") for s in best) >= top:
                break
            beam = [(s.graph, s.edits) for s in _edited_next(layer, checked)]
    suggestions = Suggestions(compared(s) if s.similarity is None else s for s in best[:top])
    suggestions.out_of_domain = left_out
    return suggestions


def read_goal(model: Any, text: str | None, predicted: Any = None) -> Any:
    """Return the goal that a text names: a class by its value or name, or a number.

    Args:
        model: a fitted model.
        text: the text; None means the other of two classes.
        predicted: the predicted class, for that.

    Example:
        >>> graphs = isonn.load("MUTAG")
        >>> clf = isonn.SubgraphClassifier(max_nodes=2, head="linear", random_state=0).fit(graphs)
        >>> read_goal(clf, "-1"), read_goal(clf, None, predicted=-1)
        (-1, 1)
    """
    values = model.target_.classes.tolist()
    if text is None:
        if not model.target_.exclusive or len(values) != 2:
            raise InputError("this model does not predict one of two classes; give a goal (--goal)")
        return values[1 - values.index(predicted)]
    if model.target_.exclusive:
        return next((value for value in values if str(value) == text), text)
    try:
        return float(text)
    except ValueError:
        raise InputError(f"goal {text!r:.40} is not a number; give one") from None


class Aim:
    """What a suggestion should reach: the class, label or number wanted in a column of the model's answers."""

    def __init__(self, model: Any, goal: Any, label: Any) -> None:
        target = model.target_
        names = output_names(target, model.label_names_)
        self.model, self.goal, self.column = model, goal, 0
        if target.exclusive:
            self.column = column_of(target.classes, goal, names, "goal")
            self.goal = target.classes.tolist()[self.column]
            return
        if label is not None:
            self.column = column_of(target.classes, label, names)
        elif len(target.classes) > 1:
            choices = ", ".join(str(names.get(value, value)) for value in target.classes.tolist())
            raise InputError(f"this model predicts several columns; give label as one of {choices}")
        if isinstance(goal, bool) or not isinstance(goal, Real) or not np.isfinite(float(goal)):
            raise InputError(f"goal={goal!r:.40} is not a number; give one")
        if not target.numeric and goal not in (0, 1):
            raise InputError(f"goal={goal!r:.40} is not 0 or 1, the absence or presence of a label")

    def measure(self, graphs: GraphSet) -> tuple[Floats, Floats, list[Any]]:
        """Return for each graph its progress, the answer about the goal, and the prediction.

        Progress is the log-odds of the goal, or the number itself.
        """
        target = self.model.target_
        answers = self.model.predict(graphs) if target.numeric else self.model.predict_proba(graphs)
        answers = answers.reshape(len(graphs), -1)
        values = answers[:, self.column]
        if target.numeric:
            return values, values, values.tolist()
        if not target.exclusive and not self.goal:
            values = 1 - values
        decided = target.decide(answers)
        chosen = decided if target.exclusive else decided[:, self.column]
        return logit(np.clip(values, 1e-9, 1 - 1e-9)), values, chosen.tolist()

    def reach(self, start: float, progress: float, predicted: Any) -> tuple[float, bool]:
        """Return the change from ``start`` towards the goal, and whether the goal is reached."""
        if not self.model.target_.numeric:
            return progress - start, bool(predicted == self.goal)
        sign = 1.0 if self.goal >= start else -1.0
        return sign * (progress - start), sign * (progress - self.goal) >= 0


def _layer(
    aim: Aim, editor: Editor, beam: Sequence[tuple[Graph, tuple[str, ...]]], seen: set[int], start: float
) -> list[Suggestion]:
    """Edit the graphs of the beam, and return the new ones that are nearer to the goal than the given graph."""
    words: list[tuple[str, ...]] = []
    proposals: list[Any] = []
    mode = aim.model.standardize_
    for graph, before in beam:
        for text, proposal in editor.propose(graph, mode)[: MOST_IN_STEP // len(beam)]:
            words.append((*before, text))
            proposals.append(proposal)
    graphs, rows = editor.read(proposals, mode)
    if graphs is None:
        return []
    hashes = graph_hashes(graphs).tolist()
    fresh = [i for i, value in enumerate(hashes) if value not in seen and hashes.index(value) == i]
    seen.update(hashes)
    if not fresh:
        return []
    chosen = graphs[np.array(fresh)]
    layer = []
    for i, (place, progress, answer, predicted) in enumerate(zip(fresh, *aim.measure(chosen), strict=True)):
        change, reached = aim.reach(start, float(progress), predicted)
        if change > 0:
            layer.append(Suggestion(chosen[i], words[rows[place]], float(answer), predicted, reached, change))
    return layer


def _edited_next(layer: Sequence[Suggestion], checked: Sequence[Suggestion]) -> list[Suggestion]:
    """Return the suggestions that are edited again: the largest changes, and the largest of others in the domain."""
    by_change = sorted(layer, key=lambda s: -s.change)[: BEAM // 2]
    chosen = {id(s.graph) for s in by_change}
    inside = [s for s in checked if s.verdict in (None, "in") and id(s.graph) not in chosen]
    return by_change + sorted(inside, key=lambda s: -s.change)[: BEAM - len(by_change)]


def _with_verdicts(model: Any, suggestions: Sequence[Suggestion]) -> list[Suggestion]:
    """Return the best suggestions with the verdicts of the model's domain, where it has one."""
    best = _ranked(suggestions, model.target_.numeric)[:LOOKED_AT]
    if not best or getattr(model, "_trust", None) is None:
        return best
    verdicts = model.domain(join_graphs([s.graph for s in best])).verdict.tolist()
    return [replace(s, verdict=verdict) for s, verdict in zip(best, verdicts, strict=True)]


def _ranked(suggestions: Sequence[Suggestion], numeric: bool) -> list[Suggestion]:
    """Order suggestions: those that reach the goal come first, then those in domain.

    Of those that reach it, fewer edits come first, then for classes the largest change, for numbers the most similar
    graph, because a number beyond the goal is no better than one at it. Of the others, the largest change per edit.
    """

    def place(s: Suggestion) -> tuple[float, ...]:
        first = not s.reached, s.verdict == "borderline"
        if not s.reached:
            return *first, -s.change / len(s.edits)
        return *first, len(s.edits), *((-(s.similarity or 0.0), s.change) if numeric else (-s.change,))

    return sorted(suggestions, key=place)
