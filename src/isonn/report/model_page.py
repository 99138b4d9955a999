"""The page of a model: the question, the answer with its reason, the accuracy, and every graph with its reasons."""

from __future__ import annotations

import warnings
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from isonn.errors import InputError, IsoNNWarning
from isonn.files import check_new
from isonn.graphs.convert import as_graphset
from isonn.graphs.graph import GraphSet
from isonn.graphs.stream import GraphStream
from isonn.report.answer import Answer, answer_of_pieces, answer_of_units, question_text
from isonn.report.cases import Cases
from isonn.report.header import Header, Tile
from isonn.report.judged import Judged, cross_fitted, held_out
from isonn.report.page import render_page, require_jinja2, write
from isonn.report.section import Section
from isonn.report.sections.gallery import gallery_of_set
from isonn.report.sections.mistakes import mistakes_section
from isonn.report.sections.parity import error_of, measured_and_predicted, parity_section
from isonn.report.sections.pieces import Piece, class_pieces, pieces_section
from isonn.report.sections.provenance import provenance_section
from isonn.report.sections.templates import template_cards_section
from isonn.report.sections.units import UnitGroup, unit_groups, units_section
from isonn.report.trivial import trivial_tile
from isonn.report.words import percent_text
from isonn.targets import Labels, Numbers, as_y

#: Default number of graphs on a page.
GRAPHS = 1000
#: A page is cross-fitted if the model was fitted to more than this share of its graphs; fewer are left out.
MOSTLY = 0.5


def report_model(clf: Any, X: Any, y: Any, path: str | Path, cross_fit: bool | None = None) -> None:
    """Write the page of a fitted model; see `GraphEstimator.report`."""
    require_jinja2()
    check_new(Path(path))
    graphs = _first_of(X, y) if isinstance(X, GraphStream) else as_graphset(X)
    if y is not None:
        graphs = graphs.with_y(as_y(y, len(graphs)))
    if graphs.y is None:
        raise InputError("report compares predictions with y; pass y, or a GraphSet that has it")
    if not hasattr(clf, "explain"):
        raise InputError(f"{type(clf).__name__} does not give reasons; use a model with explain")
    left_out = 0
    if cross_fit is None:
        seen = clf.seen_in_training(graphs)
        cross_fit = bool(seen.mean() > MOSTLY)
        if not cross_fit and seen.any():
            graphs, left_out = graphs[~seen], int(seen.sum())
    with warnings.catch_warnings():
        if cross_fit:  # folds may lack rare labels; no need to warn
            warnings.simplefilter("ignore", IsoNNWarning)
        judged = cross_fitted(clf, graphs) if cross_fit else held_out(clf, graphs, left_out)
        text = ModelPage(judged, graphs, trivial_tile(graphs, clf), quiet=True).html()
    write(Path(path), text)


def _first_of(stream: GraphStream, y: Any) -> GraphSet:
    """Return as many graphs of a stream as a page shows."""
    if y is not None:
        raise InputError("a stream carries its own y; pass y=None, or a GraphSet with y")
    chunks: list[GraphSet] = []
    for chunk in stream:
        chunks.append(chunk[: GRAPHS - sum(map(len, chunks))])
        if sum(map(len, chunks)) == GRAPHS:
            break
    if not chunks:
        raise InputError(f"{stream.name} has no graphs; give a stream that has some")
    return GraphSet.concat(chunks, stream.name)


class ModelPage:
    """The page of a model, as a list of sections.

    Args:
        judged: the model, and the models that explain each graph.
        graphs: graphs with y.
        trivial: the best trivial method.
        most: maximum number of graphs in the gallery.
        quiet: hide the progress bar.
    """

    def __init__(
        self, judged: Judged, graphs: GraphSet, trivial: Tile | None, most: int = GRAPHS, quiet: bool = False
    ) -> None:
        self.judged, self.graphs, self.trivial = judged, graphs, trivial
        self.cases = Cases(judged, graphs, np.sort(judged.numbers)[:most].tolist(), quiet=quiet)

    def html(self) -> str:
        """Return the page as text."""
        clf, graphs = self.cases.clf, self.graphs
        facts = [("model", repr(clf)), ("data", repr(graphs)), ("SHA-256 of the data", graphs.digest)]
        sections = [
            *self.sections,
            template_cards_section(self.cases),
            provenance_section("Model and data", [("", facts)]),
        ]
        return render_page(f"{graphs.name}: isonn report", self.header, sections)

    @property
    def sections(self) -> list[Section | None]:
        """The sections about the graphs, in order: what decides, how good it is, every graph."""
        pieces = pieces_section(self.cases, self.pieces, self.explained)
        return [
            units_section(self.cases, self.units) if self.units else pieces,
            parity_section(self.cases),
            gallery_of_set(self.cases),
            mistakes_section(self.cases),
        ]

    @cached_property
    def header(self) -> Header:
        """The first screen."""
        return Header(
            kicker="isonn report",
            question=question_text(self.cases, self.explained),
            answers=[self.answer.text],
            tiles=[self.tile, *([self.trivial] if self.trivial is not None else [])],
            example=self.answer.example,
            how=self.judged.how,
        )

    @cached_property
    def answer(self) -> Answer:
        """The answer of the first screen: named units where graphs have them, else pieces."""
        if self.units:
            return answer_of_units(self.cases, self.units[0])
        return answer_of_pieces(self.cases, self.explained, self.pieces.get(self.explained, []))

    @cached_property
    def units(self) -> list[UnitGroup]:
        """The named units that speak for each class; [] for graphs without such."""
        return unit_groups(self.cases)

    @cached_property
    def pieces(self) -> dict[Any, list[Piece]]:
        """The pieces that mark each class; {} where named units do."""
        return {} if self.units else class_pieces(self.cases)

    @cached_property
    def explained(self) -> Any:
        """The class of the first screen: the second of two if a piece marks it, else that with the strongest piece."""
        if self.units:
            return self.units[0].value
        target = self.cases.clf.target_
        pieces = {value: [piece for piece in pieces if piece.marks] for value, pieces in self.pieces.items()}
        pieces = pieces if any(pieces.values()) else self.pieces
        classes = target.classes.tolist()
        if target.exclusive and len(classes) > 2:
            here = set(np.unique(np.asarray(self.graphs.y)).tolist())
            classes = [value for value in classes if value in here] or classes
        if len(classes) == 2 and (not pieces or pieces.get(classes[-1])):
            return classes[-1]
        strongest = {value: pieces[value][0].effect for value in classes if pieces.get(value)}
        return max(strongest, key=lambda value: strongest[value]) if strongest else classes[-1]

    @property
    def tile(self) -> Tile:
        """The model's metric on these graphs."""
        target, (numbers, predicted) = self.cases.clf.target_, self.cases.predictions
        metrics = target.metrics(np.asarray(self.graphs.y)[numbers], predicted)
        if isinstance(target, Numbers):
            error = error_of(*measured_and_predicted(self.cases))
            about = f"mean absolute error {error.mae:.3g}, r {error.r:.2f}, R² {metrics['r2']:.2f}"
            return Tile("Typical error (RMSE)", f"{metrics['rmse']:.3g}", about, main=True)
        right = round(metrics["accuracy"] * len(numbers))
        what = "All labels right" if isinstance(target, Labels) else "Accuracy"
        return Tile(what, percent_text(metrics["accuracy"]), f"{right:,} of {len(numbers):,} right", main=True)
