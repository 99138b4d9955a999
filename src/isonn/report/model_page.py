"""The page of a model: the question, the answer with its reason, the accuracy, and every graph with its reasons."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from isonn.errors import InputError, IsoNNWarning
from isonn.explain import template_cards
from isonn.graphs.convert import as_graphset
from isonn.graphs.graph import GraphSet
from isonn.graphs.isomorphism import twin_groups
from isonn.graphs.splits import Fold, grouped_folds
from isonn.graphs.stream import GraphStream
from isonn.progress import bar
from isonn.report.cards import Card, cards, readable
from isonn.report.draw import Mark, draw_graph, drawer_of, symbols
from isonn.report.page import check_new, render, require_jinja2, write
from isonn.report.panels import Panel, panels, percent_text
from isonn.report.pieces import Holders, Naming, Piece, class_pieces, piece_nodes
from isonn.seeding import derive_seed
from isonn.targets import Labels, Numbers, as_y

#: Default number of graphs on a page.
GRAPHS = 1000
#: Number of mistakes shown separately.
WORST = 6
#: Graphs with more nodes than this are not chosen for the first screen if there is a smaller one.
LARGE = 40
#: Graphs predicted with a lower probability are not chosen for the first screen if there is another one.
SURE = 0.8
#: Number of folds of a cross-fitted page.
FOLDS = 5
#: A page is cross-fitted if the model was fitted to more than this share of its graphs; fewer are left out.
MOSTLY = 0.5


@dataclass(frozen=True)
class Tile:
    """One number of the first screen: its name, the number, and a line below."""

    name: str
    value: str
    about: str
    main: bool = False


@dataclass(frozen=True, eq=False)
class Judged:
    """Models with the graphs they are shown on, none of which they were fitted to.

    Attributes:
        clf: the model of the page, which provides the pieces that mark a class.
        shown: pairs of a model and the numbers of the graphs it predicts and explains.
        how: a sentence about how the predictions were made.
        train: numbers of graphs the model was fitted to, for template cards; empty if unknown.
    """

    clf: Any
    shown: Sequence[tuple[Any, NDArray[np.int64]]]
    how: str
    train: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The numbers of the graphs shown."""
        return np.concatenate([numbers for _, numbers in self.shown])

    def predictions(self, graphs: GraphSet) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return the graphs shown and their predictions."""
        parts = [clf.predict(graphs[numbers]) for clf, numbers in self.shown]
        return self.numbers, np.concatenate(parts)


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
        content = model_content(judged, graphs, trivial_tile(graphs, clf), quiet=True)
    facts = [("model", repr(clf)), ("data", repr(graphs)), ("SHA-256 of the data", graphs.digest)]
    write(Path(path), render("model.html", **content, facts=facts))


def _first_of(stream: GraphStream, y: Any) -> GraphSet:
    """Return as many graphs of a stream as a page shows."""
    if y is not None:
        raise InputError("a stream carries its own y; pass y=None, or a GraphSet with y")
    parts: list[GraphSet] = []
    for part in stream:
        parts.append(part[: GRAPHS - sum(map(len, parts))])
        if sum(map(len, parts)) == GRAPHS:
            break
    if not parts:
        raise InputError(f"{stream.name} has no graphs; give a stream that has some")
    return GraphSet.concat(parts, stream.name)


def held_out(clf: Any, graphs: GraphSet, left_out: int = 0) -> Judged:
    """Judge the model as it is; ``left_out`` more graphs, which it was fitted to, are gone."""
    noun = Naming.of(graphs).noun
    how = training_words(clf, graphs) or f"Held out: the model was not fitted to any of these {len(graphs):,} {noun}s."
    how += f" {left_out:,} more that equal its training {noun}s are left out." if left_out else ""
    return Judged(clf, [(clf, np.arange(len(graphs)))], how)


def training_words(clf: Any, graphs: GraphSet) -> str:
    """Return a sentence about graphs that the model was fitted to; "" if there are none."""
    seen, noun = int(clf.seen_in_training(graphs).sum()), Naming.of(graphs).noun
    if not seen:
        return ""
    which = f"This is a training {noun}"
    if len(graphs) > 1:
        which = f"{seen:,} of these {len(graphs):,} are training {noun}s"
    return f"{which} of the model, so predictions look better than on new {noun}s."


def cross_fitted(clf: Any, graphs: GraphSet) -> Judged:
    """Fit the model again in folds, so that each graph is predicted and explained by a model that has not seen it."""
    folds = folds_of(graphs)
    shown = []
    for train, test in folds:
        again = clone(clf).fit(graphs[train])
        shown.append((again, test))
    noun = Naming.of(graphs).noun
    how = (
        f"Cross-fitted in {len(folds)} folds: every {noun} is predicted and explained by a model fitted to others; "
        f"equal {noun}s share a fold."
    )
    return Judged(clf, shown, how, np.arange(len(graphs)))


def folds_of(graphs: GraphSet) -> list[Fold]:
    """Return stratified folds with twins in one fold, always the same."""
    seed = derive_seed(0, "report")
    if graphs.y is not None and graphs.y.ndim == 1 and graphs.y.dtype.kind != "f":
        rarest = int(np.unique(graphs.y, return_counts=True)[1].min())
        groups = twin_groups(graphs)
        count = min(FOLDS, rarest, len(np.unique(groups)))
        if count >= 2:
            return grouped_folds(graphs.y, groups, count, seed)
    order = np.random.default_rng(seed).permutation(len(graphs))
    parts = np.array_split(order, min(FOLDS, len(graphs)))
    return [(np.sort(np.setdiff1d(order, part)), np.sort(part)) for part in parts]


def trivial_tile(graphs: GraphSet, clf: Any) -> Tile | None:
    """Return the best trivial method, cross-fitted on these graphs."""
    if graphs.y is None:
        return None
    if isinstance(clf.target_, Numbers):
        y = np.asarray(graphs.y, dtype=float)
        guesses = np.full(y.shape, np.nan)
        for train, test in folds_of(graphs):
            guesses[test] = np.nanmean(y[train], axis=0)
        error = clf.target_.metrics(y, guesses)["rmse"]
        return Tile("Trivial: always the mean", f"{error:.3g}", "typical error (RMSE)")
    if isinstance(clf.target_, Labels):
        y = np.asarray(graphs.y, dtype=float)
        guesses = np.zeros(y.shape)
        for train, test in folds_of(graphs):
            guesses[test] = np.nanmean(y[train], axis=0) > 0.5
        accuracy = clf.target_.metrics(y, guesses)["accuracy"]
        about = f"{round(accuracy * len(y)):,} of {len(y):,} right"
        return Tile("Trivial: the most frequent value of each label", percent_text(accuracy), about)
    from isonn.baselines import DegreeHistogramClassifier, GraphSizeClassifier, MajorityClassifier

    if len(np.unique(graphs.y)) == 1:
        return Tile("Best trivial method: the most frequent class", percent_text(1.0), "all of one class")
    folds = folds_of(graphs)
    if any(len(np.unique(graphs.y[train])) == 1 for train, _ in folds):
        return None  # too few graphs to fit anything to
    named = {
        "the most frequent class": MajorityClassifier,
        "graph size": GraphSizeClassifier,
        "node degrees": DegreeHistogramClassifier,
    }
    scores: dict[str, int] = {}
    for name, method in named.items():
        right = 0
        for train, test in folds:
            fitted = method().fit(graphs[train], graphs.y[train])
            right += int((fitted.predict(graphs[test]) == graphs.y[test]).sum())
        scores[name] = right
    best = max(scores, key=lambda name: scores[name])
    share = percent_text(scores[best] / len(graphs))
    return Tile(f"Best trivial method: {best}", share, f"{scores[best]:,} of {len(graphs):,} right")


def model_content(
    judged: Judged, graphs: GraphSet, trivial: Tile | None, most: int = GRAPHS, quiet: bool = False
) -> dict[str, Any]:
    """Return the content of ``model.html``, without ``facts``.

    Args:
        graphs: graphs with y.
        trivial: the best trivial method.
        most: maximum number of graphs in the gallery.
    """
    clf, look, naming = judged.clf, symbols(graphs), Naming.of(graphs)
    pieces = class_pieces(clf, graphs, look)
    numbers = judged.numbers
    chosen = set(np.sort(numbers)[:most].tolist())
    shown: list[Panel] = []
    holders = Holders(graphs)
    with bar("explaining graphs", len(chosen), show=not quiet) as report:
        for model, own in judged.shown:
            wanted = [number for number in own.tolist() if number in chosen]
            done = len(shown)
            shown += panels(model, graphs, wanted, report=_shifted(report, done), holders=holders)
    shown.sort(key=lambda panel: panel.number)
    tested, predicted = judged.predictions(graphs)
    class_ = _positive(clf, graphs, pieces)
    marking = pieces.get(class_, [])
    # a piece whose counts tell something: of numbers, only one that some graphs lack has two means to compare
    first = next((piece for piece in marking if piece.marks), next(iter(marking), None))
    sentence = _answer(clf, graphs, naming, class_, first, shown)
    wrong = sorted((panel for panel in shown if panel.right is False), key=lambda panel: -(panel.confidence or 0))
    return {
        "title": graphs.name,
        "question": question(clf, graphs, naming, class_),
        "answer": sentence,
        "hero": _hero(shown, judged, graphs, naming, class_, first),
        "tiles": [*_tiles(clf, graphs, tested, predicted), *([trivial] if trivial is not None else [])],
        "how": judged.how,
        "pieces": [(_called(clf, naming, value), pieces[value]) for value in _ordered(pieces, class_)],
        "numeric": isinstance(clf.target_, Numbers),
        "word": naming.word,
        "noun": naming.noun,
        "panels": shown,
        "shown_sentence": _shown_sentence(shown, numbers, naming),
        "worst": wrong[:WORST],
        "cards": [] if pieces else _cards(judged, graphs),
        "legend": drawer_of(graphs[0]).legend(),
        "bonds": look.molecules and drawer_of(graphs[0]).name == "graph",
    }


def _ordered(pieces: dict[Any, list[Piece]], first: Any) -> list[Any]:
    """Return the classes with pieces, beginning with that of the first screen."""
    return sorted((value for value, own in pieces.items() if own), key=lambda value: value != first)


def _shifted(report: Callable[[int, str], None], by: int) -> Callable[[int, str], None]:
    return lambda done, text: report(by + done, text)


def question(clf: Any, graphs: GraphSet, naming: Naming, class_: Any) -> str:
    """Return the question that the model answers."""
    name = graphs.name
    if name == "graphs":  # no name was given
        name = "this set"
    if isinstance(clf.target_, Numbers):
        return f"What decides {naming.target()} in {name}?"
    if isinstance(clf.target_, Labels):
        return f"Which labels does a {naming.noun} of {name} have, and why?"
    if len(clf.classes_) > 2:
        return f"What tells the {len(clf.classes_)} classes of {name} apart?"
    return f"Which {naming.noun}s of {name} {naming.being(class_)}, and why?"


def _called(clf: Any, naming: Naming, value: Any) -> str:
    """Return the name of a class, or of a column of numbers."""
    return naming.target(value) if isinstance(clf.target_, Numbers) else naming.class_(value)


def _positive(clf: Any, graphs: GraphSet, pieces: dict[Any, list[Piece]]) -> Any:
    """Return the class of the first screen: the larger of two, else one of these graphs with the strongest piece."""
    classes = clf.target_.classes.tolist()
    if clf.target_.exclusive and len(classes) > 2:
        here = set(np.unique(np.asarray(graphs.y)).tolist())
        classes = [value for value in classes if value in here] or classes
        pieces = {value: own for value, own in pieces.items() if value in classes}
    if len(classes) == 2 and (not pieces or pieces.get(classes[-1])):
        return classes[-1]
    strongest = {value: own[0].effect for value, own in pieces.items() if own}
    return max(strongest, key=lambda value: strongest[value]) if strongest else classes[-1]


def _answer(
    clf: Any, graphs: GraphSet, naming: Naming, class_: Any, piece: Piece | None, shown: Sequence[Panel]
) -> str:
    """Return the answer in one sentence, with counts in these graphs."""
    name = _called(clf, naming, class_)
    if piece is not None and piece.means is not None:
        held, of = piece.outside
        return (
            f"{held:,} of the {of:,} {naming.noun}s contain {piece.text}, the most important piece that not all "
            f"contain: their mean "
            f"{naming.target(class_).removeprefix('the ')} is {piece.means[0]:.3g}, that of the others "
            f"{piece.means[1]:.3g}."
        )
    if piece is not None and any(own == name for own, _, _ in piece.counts):
        held, of = piece.counted(name)
        others_held, others = piece.outside[0] - held, piece.outside[1] - of
        which = f"{naming.noun}s that {naming.being(class_)}"
        if piece.times:
            weights = [of for _, _, of in piece.counts[1:]]
            rest = float(np.average(piece.times[1:], weights=weights))
            return (
                f"The {of:,} {which} contain {piece.text} {piece.times[0]:.1f} times on average, "
                f"the {others:,} others {rest:.1f} times."
            )
        do = "does" if others_held == 1 else "do"
        return (
            f"{held:,} of the {of:,} {which} contain {piece.text}, and {others_held:,} of the {others:,} others {do}."
        )
    of = sum(panel.explained == name for panel in shown)
    text, count = _leading(shown, name)
    if not count:
        return f"No piece of these {naming.noun}s speaks for {name} in particular."
    if count == 1 < of:
        return f"No single piece decides {name}: the {of:,} {naming.noun}s predicted so all have different reasons."
    return f"For {count:,} of the {of:,} {naming.noun}s predicted {name}, the strongest reason is {text}."


def _leading(shown: Sequence[Panel], name: str) -> tuple[str, int]:
    """Return the most frequent strongest reason of graphs predicted so, and how many have it."""
    first = Counter(panel.reasons[0].text for panel in shown if panel.reasons and panel.explained == name)
    return first.most_common(1)[0] if first else ("", 0)


def _tiles(clf: Any, graphs: GraphSet, tested: NDArray[np.int64], predicted: NDArray[Any]) -> list[Tile]:
    """Return the model's metrics on these graphs."""
    assert graphs.y is not None
    truth = graphs.y[tested]
    metrics = clf.target_.metrics(truth, predicted)
    if isinstance(clf.target_, Numbers):
        return [Tile("Typical error (RMSE)", f"{metrics['rmse']:.3g}", f"R² {metrics['r2']:.2f}", main=True)]
    right = round(metrics["accuracy"] * len(tested))
    what = "All labels right" if isinstance(clf.target_, Labels) else "Accuracy"
    return [Tile(what, percent_text(metrics["accuracy"]), f"{right:,} of {len(tested):,} right", main=True)]


def _hero(
    shown: Sequence[Panel], judged: Judged, graphs: GraphSet, naming: Naming, class_: Any, piece: Piece | None
) -> dict[str, Any] | None:
    """Return the graph of the first screen: of the class in question, and predicted correctly.

    It contains the answer's piece where that contributes most. Without such a graph it is the one whose strongest
    reason exceeds the others most, first of those whose strongest reason is the most frequent one.
    """

    def suits(panel: Panel) -> bool:
        return bool(panel.reasons) and panel.right is not False and panel.explained == name

    name = _called(judged.clf, naming, class_)
    by_number = {panel.number: panel for panel in shown if suits(panel)}
    best: tuple[tuple[bool, float], Panel, tuple[int, ...], Any] | None = None
    for number in [] if piece is None else [number for number in piece.examples if number in by_number]:
        model = next(clf for clf, numbers in judged.shown if number in numbers)
        found = model.explain(graphs[number])
        for nodes in piece_nodes(judged.clf, graphs, number, piece.column) if piece is not None else ():
            worth = float(found.node_importance[list(nodes)].sum() / (np.abs(found.node_importance).sum() or 1.0))
            worth *= -1.0 if piece is not None and piece.means is not None and piece.means[0] < piece.means[1] else 1.0
            sure = (by_number[number].confidence or 1.0) > SURE
            if worth > 0 and (best is None or (sure, worth) > best[0]):
                best = (sure, worth), by_number[number], nodes, found
    if best is not None and piece is not None:
        _, panel, nodes, found = best
        drawing = draw_graph(
            graphs[panel.number],
            symbols=symbols(graphs),
            title=f"{panel.title}, predicted {panel.predicted}; highlighted: {piece.text}",
            marks=[Mark(nodes, positive=bool(found.node_importance[list(nodes)].sum() >= 0))],
            shown=[0],
            node_importance=found.node_importance,
            edge_importance=found.edge_importance,
        )
        return {"panel": panel, "drawing": drawing, "text": piece.text}

    def rank(panel: Panel) -> tuple[Any, ...]:
        first, whole = panel.reasons[0].contribution, sum(abs(reason.contribution) for reason in panel.reasons)
        large = panel.drawing.kind != "matrix" and graphs.sizes[panel.number] > LARGE
        other = panel.reasons[0].text != leading
        return not suits(panel), first <= 0, large, other, -first / (whole or 1.0), panel.number

    candidates = [panel for panel in shown if panel.reasons]
    if not candidates:
        return None
    leading = _leading(shown, name)[0]
    panel = min(candidates, key=rank)
    first = panel.reasons[0]
    where = "" if first.nodes in first.text or len(first.members) > 6 else f" ({first.nodes})"
    return {"panel": panel, "drawing": panel.drawing, "text": f"{first.text}{where}; without it: {first.without}"}


def _shown_sentence(shown: Sequence[Panel], numbers: NDArray[np.int64], naming: Naming) -> str:
    which = f"All {len(shown):,}" if len(shown) == len(numbers) else f"{len(shown):,} of {len(numbers):,}"
    judged = [panel for panel in shown if panel.right is not None]
    right = sum(panel.right is True for panel in judged)
    count = f", {right:,} classified correctly" if judged else ""
    return f"{which} {naming.noun}s{count}. Choose one to see its reasons."


def _cards(judged: Judged, graphs: GraphSet) -> list[Card]:
    """Return template cards, for models with few templates and no class reasons."""
    if graphs.y is None or isinstance(judged.clf.target_, Numbers) or not readable(judged.clf.templates_):
        return []
    chosen = judged.train if len(judged.train) else judged.numbers
    found = template_cards(judged.clf, graphs[chosen], graphs.y[chosen], examples=2)
    return cards(found, graphs[chosen], chosen)
