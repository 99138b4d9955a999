"""The page of a model: the question, the answer with its reason, the accuracy, and every graph with its reasons."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from isonn.errors import InputError, IsoNNWarning
from isonn.files import check_new
from isonn.graphs.convert import as_graphset
from isonn.graphs.graph import GraphSet
from isonn.graphs.stream import GraphStream
from isonn.report.cases import Cases
from isonn.report.page import Example, Header, Section, Tile, example_of, render_page, require_jinja2, write
from isonn.report.page_models import PageModels, cross_fitted, held_out
from isonn.report.panels import Panel, leading_reason
from isonn.report.sections.gallery import gallery_of_set, mistakes_section
from isonn.report.sections.parity import error_of, parity_section
from isonn.report.sections.pieces import Piece, class_pieces, pieces_section
from isonn.report.sections.provenance import provenance_section
from isonn.report.sections.templates import matched_templates_section
from isonn.report.sections.units import UnitGroup, unit_groups, units_section
from isonn.report.trivial import trivial_tile
from isonn.report.words import number_text, percent_text
from isonn.scores import right_graphs, score
from isonn.targets import as_y, positive_of

#: Default number of graphs on a page.
GRAPHS = 1000
#: Graphs predicted with a lower probability are not chosen for the first screen if there is another one.
SURE = 0.8
#: A page is cross-fitted if the model was fitted to more than this share of its graphs; fewer are left out.
MOSTLY = 0.5


def report_model(clf: Any, X: Any, y: Any, path: str | Path, cross_fit: bool | None) -> None:
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
        models = cross_fitted(clf, graphs) if cross_fit else held_out(clf, graphs, left_out)
        text = ModelPage(models).html()
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
        models: the model, the models that explain each graph, and graphs with y.
        most: maximum number of graphs in the gallery.
    """

    def __init__(self, models: PageModels, most: int = GRAPHS) -> None:
        self.models, self.graphs = models, models.graphs
        self.cases = Cases(models, np.sort(models.numbers)[:most].tolist())

    def html(self) -> str:
        """Return the page as text."""
        clf, graphs = self.cases.clf, self.graphs
        facts = [("model", repr(clf)), ("data", repr(graphs)), ("SHA-256 of the data", graphs.digest)]
        sections = [
            *self.sections,
            matched_templates_section(self.cases),
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

    @property
    def header(self) -> Header:
        """The first screen: the answer names units where graphs have such, else pieces."""
        return self.first_screen(self.tiles)

    def first_screen(self, tiles: Sequence[Tile]) -> Header:
        """Return the first screen with these numbers."""
        cases, explained = self.cases, self.explained
        if self.units:
            answer, example = self.units[0].sentence, example_of_units(cases, self.units[0])
        else:
            pieces = self.pieces.get(explained, [])
            piece = next((piece for piece in pieces if piece.marks), next(iter(pieces), None))
            answer, example = _answer_text(cases, explained, piece), _example(cases, explained, piece)
        return Header(
            kicker="isonn report",
            question=question_text(cases, explained),
            answer=answer,
            tiles=tiles,
            example=example,
            how=self.models.how,
        )

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
        """The class of the first screen: the positive one of two if a piece marks it, else the most marked one."""
        if self.units:
            return self.units[0].value
        target = self.cases.target
        pieces = {value: [piece for piece in pieces if piece.marks] for value, pieces in self.pieces.items()}
        pieces = pieces if any(pieces.values()) else self.pieces
        classes = target.classes.tolist()
        if target.exclusive and len(classes) > 2:
            here = set(np.unique(np.asarray(self.graphs.y)).tolist())
            classes = [value for value in classes if value in here] or classes
        positive = classes[positive_of(classes)] if len(classes) == 2 else classes[-1]
        if len(classes) == 2 and (not pieces or pieces.get(positive)):
            return positive
        strongest = {value: pieces[value][0].effect for value in classes if pieces.get(value)}
        return max(strongest, key=lambda value: strongest[value]) if strongest else positive

    @property
    def tiles(self) -> list[Tile]:
        """The model's metric, and that of the best trivial method on the same graphs."""
        trivial = trivial_tile(self.models, self.cases.target)
        return [self.tile] if trivial is None else [self.tile, trivial]

    @property
    def tile(self) -> Tile:
        """The model's metric on these graphs."""
        target, (numbers, predicted) = self.cases.target, self.cases.predictions
        y = np.asarray(self.graphs.y)[numbers]
        if target.numeric:
            error, naming = error_of(self.cases), self.cases.naming  # of the first column, as the page
            of = f" of {naming.target()}" if target.outputs > 1 else ""
            mae = number_text(error["mae"], naming.unit())
            about = f"mean absolute error {mae}, r {error['pearson']:.2f}, R² {error['r2']:.2f}"
            return Tile(f"Typical error{of} (RMSE)", number_text(error["rmse"], naming.unit()), about)
        right = right_graphs(target, y, predicted)
        about = f"{right.sum():,} of {len(right):,} right"
        if target.exclusive:
            return Tile("Accuracy", percent_text(right.mean()), about)
        area = score(target, y, np.concatenate(self.cases.answers))["auroc"]
        value = "not defined" if area is None else f"{area:.3f}"  # every label is the same for all graphs
        return Tile(f"Mean AUROC of {len(target.classes)} labels", value, f"all labels: {about}")


def question_text(cases: Cases, explained: Any) -> str:
    """Return the question that the model answers."""
    target, naming = cases.target, cases.naming
    name = "this set" if cases.graphs.name == "graphs" else cases.graphs.name  # no name was given
    if target.numeric:
        return f"What decides {naming.target()} in {name}?"
    if not target.exclusive:
        return f"Which labels does a {naming.noun} of {name} have, and why?"
    if len(target.classes) > 2:
        return f"What tells the {len(target.classes)} classes of {name} apart?"
    if naming.targets and explained not in naming.classes:
        return f"Which {naming.noun}s of {name} have {naming.target()} = {explained}, and why?"
    return f"Which {naming.noun}s of {name} {naming.being(explained)}, and why?"


def example_of_units(cases: Cases, group: UnitGroup) -> Example | None:
    """Return the graph where the strongest named unit that speaks for a class contributes most."""
    row = next((line.row for line in group.lines if not line.contradicted), group.lines[0].row)
    panel = next(panel for panel in cases.panels if panel.number == row.graphs[0])
    return cases.highlighted(panel, row.nodes, row.mean >= 0, row.text)


def _answer_text(cases: Cases, explained: Any, piece: Piece | None) -> str:
    """Answer with the strongest piece whose counts differ; without such a piece, with the most frequent reason."""
    name, noun = cases.output_name(explained), cases.naming.noun
    if piece is not None and piece.means is not None:
        unit = cases.naming.unit(explained)
        return (
            f"{piece.held:,} of the {piece.total:,} {noun}s contain {piece.phrase}, the most important piece that not "
            f"all contain: their mean {cases.naming.target(explained).removeprefix('the ')} is "
            f"{number_text(piece.means[0], unit)}, that of the others {number_text(piece.means[1], unit)}."
        )
    if piece is not None and piece.counts[0][0] == name:
        return _counted(piece, f"{noun}s that {cases.naming.being(explained)}")
    predicted = [panel for panel in cases.panels if panel.explained == name]
    of, (text, count) = len(predicted), leading_reason(predicted)
    if not count:
        return f"No piece of these {noun}s speaks for {name} in particular."
    if count == 1 < of:
        return f"No single piece decides {name}: the {of:,} {noun}s predicted so all have different reasons."
    return f"For {count:,} of the {of:,} {noun}s predicted {name}, the strongest reason is {text}."


def _counted(piece: Piece, which: str) -> str:
    """Describe how many graphs of a class and of the others contain a piece, or how often."""
    _, held, of = piece.counts[0]
    others_held, others = piece.held - held, piece.total - of
    if piece.times:
        rest = float(np.average(piece.times[1:], weights=[of for _, _, of in piece.counts[1:]]))
        return (
            f"The {of:,} {which} contain {piece.phrase} {piece.times[0]:.1f} times on average, "
            f"the {others:,} others {rest:.1f} times."
        )
    do = "does" if others_held == 1 else "do"
    return f"{held:,} of the {of:,} {which} contain {piece.phrase}, and {others_held:,} of the {others:,} others {do}."


def _example(cases: Cases, explained: Any, piece: Piece | None) -> Example | None:
    """Return a graph of the class in question, predicted correctly if there is one.

    It contains the answer's piece where that contributes most. Without such a graph it is that of `example_of`.
    """
    name = cases.output_name(explained)
    suitable = [
        panel for panel in cases.panels if panel.reasons and panel.right is not False and panel.explained == name
    ]
    if piece is not None:
        places = [
            ((panel.confidence or 1.0) > SURE, _worth(cases, panel, piece, nodes), -panel.number, nodes, panel)
            for panel in suitable
            if panel.number in piece.examples
            for nodes in cases.nodes_of(panel.number, piece.column)
        ]
        places = [place for place in places if place[1] > 0]
        if places:
            *_, nodes, panel = max(places, key=lambda place: place[:3])
            return cases.highlighted(panel, nodes, not piece.lowers, piece.text)
    return example_of(suitable or cases.panels)


def _worth(cases: Cases, panel: Panel, piece: Piece, nodes: Sequence[int]) -> float:
    """Return what some nodes contribute to a prediction in the direction of a piece, as a share of all nodes."""
    importance = cases.explanation(panel.number).node_importance
    share = float(importance[list(nodes)].sum() / (np.abs(importance).sum() or 1.0))
    return -share if piece.lowers else share
