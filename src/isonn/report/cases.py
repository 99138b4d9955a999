"""`Cases`: the graphs of a page with their explanations, computed once for all sections."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from isonn.errors import IsoNNWarning
from isonn.explain.explanation import Explanation
from isonn.explain.reasons import Reason, predict_without
from isonn.graphs.graph import GraphSet
from isonn.progress import bar
from isonn.report.counts import Holders
from isonn.report.draw import Mark, draw_explained, shortened, symbols
from isonn.report.page import Example
from isonn.report.page_models import PageModels
from isonn.report.panels import Panel
from isonn.report.words import Naming, has_target
from isonn.targets import Target

#: Numbers of explanations kept in memory, about a gigabyte; beyond that an explanation is computed again if needed.
KEPT = 2**27
#: Number of graphs whose reasons are deleted and predicted at once.
AT_ONCE = 100


class Cases:
    """The graphs of a page, and what its models say about each.

    Sections read everything about graphs from here: a graph is explained once, by the model that has not seen it, and
    the subgraphs of all graphs are counted once.

    Args:
        models: the models of the page and the graphs that each explains.
        shown: numbers of the graphs that have a panel, in this order.
        label: the class or column to explain; None explains the predicted one.

    Attributes:
        clf: the model of the page.
        graphs: the whole set.
        target: what is predicted.
        naming: the names of classes.
        look: the look of labels.
    """

    def __init__(self, models: PageModels, shown: Sequence[int], label: Any = None) -> None:
        self.models, self.clf, self.graphs, self.shown = models, models.clf, models.graphs, list(shown)
        self.target: Target = models.clf.target_
        self.naming, self.look = Naming.of(self.graphs), symbols(self.graphs)
        self._room = KEPT
        self._model = {int(number): model for model, numbers in models.shown for number in numbers}
        self._label = label
        self._explanations: dict[int, Explanation] = {}
        self._warnings: list[warnings.WarningMessage] = []

    def explanation(self, number: int) -> Explanation:
        """Return the explanation of a graph."""
        if number in self._explanations:
            return self._explanations[number]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", IsoNNWarning)
            explanation: Explanation = self._model[number].explain(self.graphs[number : number + 1], self._label)
        self._warnings += caught
        self._room -= explanation.edge_importance.size + explanation.source.occurrences.nodes.size
        if self._room >= 0:
            self._explanations[number] = explanation
        return explanation

    @cached_property
    def panels(self) -> list[Panel]:
        """The graphs that are shown, each with its prediction, drawing and reasons."""
        train = self.models.train
        holders, made = Holders(self.graphs[train]) if len(train) else None, []
        with bar("explaining graphs", len(self.shown)) as report:
            for start in range(0, len(self.shown), AT_ONCE):
                numbers = self.shown[start : start + AT_ONCE]
                explanations = [self.explanation(number) for number in numbers]
                self._predict_without_reasons(numbers, explanations)
                for number, explanation in zip(numbers, explanations, strict=True):
                    name, truth = self.name(number), self._truth(number)
                    made.append(Panel(explanation, number, name, self.naming, self.look, truth, holders))
                report(len(made), f"graph {numbers[-1]}")
        self._warn_once()
        return made

    def _predict_without_reasons(self, numbers: Sequence[int], explanations: Sequence[Explanation]) -> None:
        """Predict some graphs without each of their reasons, at once for each model."""
        by_model: dict[int, list[Reason]] = {}
        for number, explanation in zip(numbers, explanations, strict=True):
            by_model.setdefault(id(self._model[number]), []).extend(explanation.reasons)
        for reasons in by_model.values():
            predict_without(reasons)

    @cached_property
    def answers(self) -> list[NDArray[np.float64]]:
        """The probabilities or values of the graphs that each model predicts."""
        by_model, shown = [], set(self.shown)
        for model, numbers in self.models.shown:
            answers = {n: self.explanation(n).probabilities for n in numbers.tolist() if n in shown}
            rest = [number for number in numbers.tolist() if number not in shown]
            if rest:
                others = self.graphs[rest]
                given = model.predict(others) if model.target_.numeric else model.predict_proba(others)
                answers.update(zip(rest, np.reshape(given, (len(rest), -1)), strict=True))
            by_model.append(np.stack([answers[number] for number in numbers.tolist()]))
        return by_model

    @cached_property
    def predictions(self) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """The numbers of all graphs that the models predict, and the predictions."""
        models = [model for model, _ in self.models.shown]  # one of a fold may lack a class
        decided = [model.target_.decide(answers) for model, answers in zip(models, self.answers, strict=True)]
        return self.models.numbers, np.concatenate(decided)

    @cached_property
    def numbers(self) -> list[int]:
        """The numbers of all graphs that the models predict, ascending."""
        return sorted(self.models.numbers.tolist())

    @cached_property
    def judged_graphs(self) -> GraphSet:
        """The graphs that the models predict."""
        return self.graphs[self.numbers]

    @cached_property
    def counts(self) -> csc_array:
        """How often each of the `judged_graphs` contains each template of the page's model, shape (g, templates)."""
        return csc_array(self.clf.vectorizer_.transform(self.judged_graphs))

    def nodes_of(self, number: int, column: int) -> list[tuple[int, ...]]:
        """Return the nodes of every match of a template of the page's model in a graph."""
        if self._model.get(number) is self.clf:
            occurrences = self.explanation(number).source.occurrences
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", IsoNNWarning)
                occurrences = self.clf._matched_graph(self.graphs[number]).occurrences
        rows = np.flatnonzero(occurrences.template == column)
        regions = occurrences.nodes[occurrences.region[rows]].tolist()
        return [tuple(node for node in nodes if node >= 0) for nodes in regions]

    def _warn_once(self) -> None:
        """Repeat the first of the warnings about graphs, because a sentence for each would be too many."""
        if self._warnings:
            first, *others = self._warnings
            more = f" (and {len(others)} more graphs like this one)" if others else ""
            warnings.warn(f"{first.message}{more}", first.category, stacklevel=2)

    def output_name(self, value: Any) -> str:
        """Return the name of a class, or of a column of numbers."""
        return self.naming.output(value, self.target)

    def highlighted(self, panel: Panel, nodes: Sequence[int], positive: bool, text: str) -> Example:
        """Draw a graph for the first screen with some nodes highlighted."""
        drawing = draw_explained(
            self.explanation(panel.number),
            self.look,
            title=f"{panel.title}, predicted {panel.predicted}; highlighted: {text}",
            marks=[Mark(tuple(nodes), positive=positive)],
            shown=[0],
        )
        return Example(panel, drawing, text)

    def name(self, number: int) -> str:
        """Return the name of a graph: its id, or its number."""
        if self.graphs.ids is not None:
            return shortened(str(self.graphs.ids[number]))
        return str(self.graphs.table["row"][number] if "row" in self.graphs.table else number)  # in its file

    def _truth(self, number: int) -> Any:
        y = self.graphs.y
        return y[number] if y is not None and y.ndim == 1 and has_target(y[[number]]).all() else None
