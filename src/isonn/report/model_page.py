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
from isonn.report.answer import answer_text, example_of, question_text
from isonn.report.cases import Cases
from isonn.report.header import Example, Header, Tile
from isonn.report.judged import Judged, cross_fitted, held_out, trivial_tile
from isonn.report.page import render_page, require_jinja2, write
from isonn.report.section import Section
from isonn.report.sections.gallery import GallerySection
from isonn.report.sections.mistakes import MistakesSection
from isonn.report.sections.parity import ParitySection
from isonn.report.sections.pieces import Piece, PiecesSection, class_pieces
from isonn.report.sections.provenance import Facts, ProvenanceSection
from isonn.report.sections.templates import TemplateCardsSection
from isonn.report.sections.units import UnitsSection
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
        return render_page(f"{graphs.name}: isonn report", self.header, self.sections(facts))

    def sections(self, facts: Facts) -> list[Section]:
        """Return the sections, in order."""
        return [
            *self.reasons,
            *self.fit,
            GallerySection.of_set(self.cases),
            MistakesSection(self.cases),
            TemplateCardsSection(self.cases),
            ProvenanceSection("Model and data", [("", facts)]),
        ]

    @cached_property
    def header(self) -> Header:
        """The first screen."""
        tiles = [*self.tiles, *([self.trivial] if self.trivial is not None else [])]
        return Header(
            kicker="isonn report",
            question=question_text(self.cases, self.explained),
            answers=[self.answer],
            tiles=tiles,
            example=self.example,
            how=self.judged.how,
        )

    @cached_property
    def reasons(self) -> list[Section]:
        """What marks each class: named units where graphs have them, else pieces."""
        units = UnitsSection(self.cases, self.explained)
        return [units if units.applies() else PiecesSection(self.cases, self.pieces, self.explained)]

    @property
    def fit(self) -> list[Section]:
        """Predicted against true numbers."""
        return [ParitySection(self.cases)] if isinstance(self.cases.clf.target_, Numbers) else []

    @property
    def answer(self) -> str:
        """The answer in one sentence."""
        section = self.reasons[0]
        if isinstance(section, UnitsSection):
            return section.groups[0].sentence
        return answer_text(self.cases, self.explained, self.first_piece)

    @property
    def example(self) -> Example | None:
        """The graph of the first screen."""
        section = self.reasons[0]
        if isinstance(section, UnitsSection) and (lines := section.groups[0].lines):
            row = lines[0].row
            panel = next((panel for panel in self.cases.panels if panel.number == row.graphs[0]), None)
            if panel is not None:
                return Example(panel, section.picture(row), row.text)
        return example_of(self.cases, self.explained, self.first_piece)

    @cached_property
    def pieces(self) -> dict[Any, list[Piece]]:
        """The pieces that mark each class."""
        return class_pieces(self.cases)

    @cached_property
    def explained(self) -> Any:
        """The class of the first screen: the larger of two, else one of these graphs with the strongest piece."""
        target, pieces = self.cases.clf.target_, self.pieces
        classes = target.classes.tolist()
        if target.exclusive and len(classes) > 2:
            here = set(np.unique(np.asarray(self.graphs.y)).tolist())
            classes = [value for value in classes if value in here] or classes
            pieces = {value: pieces[value] for value in pieces if value in classes}
        if len(classes) == 2 and (not pieces or pieces.get(classes[-1])):
            return classes[-1]
        strongest = {value: marking[0].effect for value, marking in pieces.items() if marking}
        return max(strongest, key=lambda value: strongest[value]) if strongest else classes[-1]

    @property
    def first_piece(self) -> Piece | None:
        """The strongest piece whose counts differ; of numbers, only one that some graphs lack has means to compare."""
        marking = self.pieces.get(self.explained, [])
        return next((piece for piece in marking if piece.marks), next(iter(marking), None))

    @property
    def tiles(self) -> list[Tile]:
        """The model's metrics on these graphs."""
        target, (numbers, predicted) = self.cases.clf.target_, self.cases.predictions
        metrics = target.metrics(np.asarray(self.graphs.y)[numbers], predicted)
        if isinstance(target, Numbers):
            error = ParitySection(self.cases).error
            about = f"mean absolute error {error.mae:.3g}, r {error.r:.2f}, R² {metrics['r2']:.2f}"
            return [Tile("Typical error (RMSE)", f"{metrics['rmse']:.3g}", about, main=True)]
        right = round(metrics["accuracy"] * len(numbers))
        what = "All labels right" if isinstance(target, Labels) else "Accuracy"
        return [Tile(what, percent_text(metrics["accuracy"]), f"{right:,} of {len(numbers):,} right", main=True)]
