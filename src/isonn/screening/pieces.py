"""Predict one piece of DATA: this runs in worker processes, and on the workers of a cluster."""

from __future__ import annotations

import csv
import gzip
import importlib
import io
import json
import re
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import IsoNNWarning
from isonn.graphs.io.registry import LISTED, Problem
from isonn.graphs.io.target_column import TargetReading, plain_number, unit_of, yes_or_no
from isonn.model_files import load_model
from isonn.packing import Floats
from isonn.processes import limit_threads
from isonn.screening.columns import EXTRAS
from isonn.screening.finished import Result
from isonn.screening.sources import Piece, TableRows
from isonn.targets import Target

#: The columns of a list of changed molecules.
CHANGE_COLUMNS = ("row", "id", "smiles", "standardized", "changes")
#: Scores and row numbers, as they are stored.
BEST_TYPE = np.dtype([("score", "<f8"), ("number", "<i8")])


@dataclass(frozen=True)
class Layout:
    """Where the columns of the output come from.

    Attributes:
        files: the name of each source, for the column "file"; empty if there is only one source.
        given: the columns of the user.
        places: for each source, the place of each of its columns in ``given``.
        truth: for each source, the places of true values among its columns; empty if it has none.
        ids: for each source, the place of the column that names its graphs, or None.
        predicted: the columns of predictions and probabilities, each with whether it holds numbers.
        extras: the columns of each of ``EXTRAS`` that is wanted, likewise.
        problems: whether there is a column "problem".
    """

    files: list[str]
    given: list[str]
    places: list[list[int]]
    truth: list[list[int]]
    ids: list[int | None]
    predicted: dict[str, bool]
    extras: dict[str, dict[str, bool]]
    problems: bool

    @property
    def columns(self) -> dict[str, bool]:
        """All columns in order, each with whether it holds numbers."""
        extras = {name: number for names in self.extras.values() for name, number in names.items()}
        before = {"file": False, "graph": True} if self.files else {"graph": True}
        after = {**self.predicted, **extras, **({"problem": False} if self.problems else {})}
        given: dict[str, bool] = {}
        for name in self.given:  # columns of the user keep their names unless a new one has it
            while name in given or name in before or name in after:
                name = f"{name} (given)"
            given[name] = False
        return {**before, **given, **after}


@dataclass(frozen=True)
class Task:
    """What is computed for every piece.

    Attributes:
        model: the folder of the model.
        digest: the digest of its files, so that a worker does not use an earlier model of that path.
        layout: the columns.
        format: "csv", "tsv" or "json".
        compress: whether rows are compressed.
        options: the value of each of ``EXTRAS`` that is wanted.
        top: with a number, only the best scores are returned, not the rows.
        column: the output that is ranked.
        sign: 1 if large values are best, -1 if small ones are.
        values, censored: how true values are read, as in `isonn.graphs.io.target_column.read_target`.
        changes: whether molecules that standardisation changed are listed.
    """

    model: str
    digest: str
    layout: Layout
    format: str = "csv"
    compress: bool = False
    options: dict[str, Any] = field(default_factory=dict)
    top: int | None = None
    column: int = 0
    sign: int = 1
    values: Mapping[str, str | None] = field(default_factory=dict)
    censored: str = "drop"
    changes: bool = False


def run_piece(task: Task, piece: Piece) -> Result:
    """Read and predict a piece.

    Its arrays are "rows", as they are written, or "best", the best scores with row numbers; "truth", true values beside
    answers; and "changes", the lines about molecules that standardisation changed.
    """
    clf = _model(task.model, task.digest)
    with warnings.catch_warnings(record=True) as caught, limit_threads(1):
        warnings.simplefilter("always", IsoNNWarning)
        predicted = _Predicted(clf, piece, task)
        arrays: dict[str, NDArray[Any]] = {"truth": predicted.known_truth()}
        if task.top is None:
            text = write_rows(predicted.rows(), list(task.layout.columns), task.format, first=piece.numbers[0] == 0)
            arrays["rows"] = np.frombuffer(packed(text, task.compress), dtype=np.uint8)
        else:
            arrays["best"] = predicted.best(task.top)
        if task.changes:
            arrays["changes"] = np.frombuffer(write_rows(predicted.changed_rows(), [], "csv"), dtype=np.uint8)
    facts = {
        "rows": len(piece.numbers),
        "bad": len(predicted.problems),
        "first": [[p.row, p.text, p.reason] for p in predicted.problems[:LISTED]],
        "judged": predicted.judged,
        "seen": predicted.seen(),
        "changes": predicted.changes(),
        "warnings": sorted({str(w.message) for w in caught if issubclass(w.category, IsoNNWarning)}),
    }
    return facts, arrays


def rows_of_piece(task: Task, piece: Piece) -> dict[int, list[Any]]:
    """Return the rows of a piece by their numbers."""
    with warnings.catch_warnings(), limit_threads(1):
        warnings.simplefilter("ignore", IsoNNWarning)
        rows = _Predicted(_model(task.model, task.digest), piece, task).rows()
    return dict(zip(piece.numbers, rows, strict=True))


@lru_cache(maxsize=1)
def _model(folder: str, digest: str) -> Any:
    clf = load_model(Path(folder))
    return clf.set_params(n_jobs=1) if "n_jobs" in clf.get_params(deep=False) else clf


class _Predicted:
    """A piece with its graphs and answers."""

    def __init__(self, clf: Any, piece: Piece, task: Task) -> None:
        self.clf, self.piece, self.task, self.layout = clf, piece, task, task.layout
        problems: list[Problem] = []
        if isinstance(piece.rows, TableRows):
            self.graphs, problems = piece.rows.parse(clf.standardize_)
        else:
            self.graphs = piece.rows
        bad = {problem.row for problem in problems}
        #: the places of rows with a graph
        self.good = [i for i in range(len(piece.numbers)) if i not in bad]
        self.problems = [Problem(piece.numbers[p.row], p.text, p.reason) for p in problems]
        self.reasons = {problem.row: problem.reason for problem in problems}
        outputs = clf.target_.outputs
        if self.graphs is None:
            self.answers: Floats = np.zeros((0, outputs))
        elif hasattr(clf, "predict_proba"):
            self.answers = clf.predict_proba(self.graphs)
        else:
            self.answers = clf.predict(self.graphs).reshape(len(self.graphs), -1)
        self.truth = self._truth()
        self.judged = int((~np.isnan(self.truth)).any(axis=1).sum())

    def seen(self) -> int:
        """Return how many of the graphs with a true value the model was fitted to."""
        return int(self.clf.seen_in_training(self.graphs).sum()) if self.judged and self.graphs is not None else 0

    def changes(self) -> dict[str, int]:
        """Return how many molecules standardisation changed ("molecules"), and how many with each kind of change."""
        table = {} if self.graphs is None else self.graphs.table
        texts = table["changes"].tolist() if "standardize" in table else []
        kinds = Counter(kind for text in texts for kind in text.split(", ") if kind)
        return {"molecules": sum(map(bool, texts)), **kinds} if kinds else {}

    def changed_rows(self) -> list[list[Any]]:
        """Return the row, id, SMILES, standard SMILES and changes of each molecule that standardisation changed."""
        if not self.changes() or self.graphs is None:
            return []
        ids, rows, names = self.layout.ids[self.piece.source], self.piece.rows, None
        if ids is not None and isinstance(rows, TableRows):
            names = [rows.cells[i][ids] for i in self.good]
        molecules = importlib.import_module("isonn.molecules.standardizer")  # an extra
        numbers = [self.piece.numbers[i] for i in self.good]
        changed: list[list[Any]] = molecules.changed_rows(self.graphs, numbers, names)
        return changed

    def best(self, top: int) -> NDArray[Any]:
        """Return the best scores with the numbers of their rows, best first."""
        scores = self.task.sign * self.answers[:, self.task.column]
        order = np.argsort(-scores, kind="stable")[:top]
        found = np.empty(len(order), dtype=BEST_TYPE)
        found["score"] = scores[order]
        found["number"] = [self.piece.numbers[self.good[i]] for i in order.tolist()]
        return found

    def known_truth(self) -> Floats:
        """Return true values beside answers, of the graphs that have a true value."""
        known = ~np.isnan(self.truth).all(axis=1)
        return np.hstack([self.truth[known], self.answers[known]])

    def _truth(self) -> Floats:
        """Return the true values of the graphs, shape (g, t): numbers of classes, or values; NaN if unknown."""
        target, places = self.clf.target_, self.layout.truth[self.piece.source]
        columns = 1 if target.exclusive else target.outputs
        unknown = np.full((len(self.good), columns), np.nan)
        if self.graphs is None or len(places) != columns:
            return unknown
        if isinstance(self.piece.rows, TableRows):
            cells = [[self.piece.rows.cells[i][place] for i in self.good] for place in places]
        elif self.graphs.y is None:
            return unknown
        else:
            cells = self.graphs.y.reshape(len(self.graphs), -1).T.tolist()
        task = self.task
        read = [read_truth(target, column, task.values, task.censored) for column in cells]
        return np.array(read).T.reshape(len(self.good), columns)

    def rows(self) -> list[list[Any]]:
        """Return all rows, with empty cells where there is no graph."""
        piece, layout, count = self.piece, self.layout, len(self.piece.numbers)
        columns: list[Sequence[Any]] = [[layout.files[piece.source]] * count] if layout.files else []
        columns += [piece.numbers, *self._given()]
        predicted = self._predictions()
        for name, names in layout.extras.items():
            extra = [] if self.graphs is None else EXTRAS[name].columns(self.clf, self.graphs, self.task.options[name])
            predicted += extra or [[]] * len(names)
        if len(self.good) < count:
            predicted = [self._spread(column) for column in predicted]
        columns += predicted
        if layout.problems:
            columns.append([self.reasons.get(i, "") for i in range(count)])
        return list(map(list, zip(*columns, strict=True)))

    def _spread(self, column: Sequence[Any]) -> list[Any]:
        """Return the cells of graphs as cells of rows."""
        cells: list[Any] = [None] * len(self.piece.numbers)
        for place, cell in zip(self.good, column, strict=True):
            cells[place] = cell
        return cells

    def _given(self) -> list[Sequence[Any]]:
        """Return the columns of the user."""
        rows, count = self.piece.rows, len(self.piece.numbers)
        if isinstance(rows, TableRows):
            own: list[Sequence[Any]] = list(zip(*rows.cells, strict=True))
            if rows.blank is not None:
                texts = [] if self.graphs is None else self.graphs.table["smiles"].tolist()
                own[rows.blank] = self._spread(texts)
        else:
            own = [] if rows.ids is None else [rows.ids.tolist()]
            own += [column.tolist() for column in rows.table.values()]
            if rows.y is not None:
                whole = hasattr(self.clf, "predict_proba")
                own += [[_plain(cell, whole) for cell in column] for column in rows.y.reshape(count, -1).T.tolist()]
        columns: list[Sequence[Any]] = [[""] * count] * len(self.layout.given)
        for place, column in zip(self.layout.places[self.piece.source], own, strict=True):
            columns[place] = column
        return columns

    def _predictions(self) -> list[Sequence[Any]]:
        """Return predictions and probabilities, as `predicted_columns` names them."""
        target = self.clf.target_
        decided = target.decide(self.answers) if len(self.answers) else self.answers[:, :0]
        if target.numeric:
            return [[float(f"{value:.10g}") for value in column] for column in self.answers.T.tolist()]
        shown = [[round(p, 6) for p in column] for column in self.answers.T.tolist()]
        if target.exclusive:
            return [decided.reshape(-1).tolist(), *shown]
        decided = decided.reshape(len(self.answers), len(shown)) if len(self.answers) else self.answers
        return [column for pair in zip(decided.T.tolist(), shown, strict=True) for column in pair]


def predicted_columns(target: Target, names: Sequence[str]) -> dict[str, bool]:
    """Return the columns of predictions and probabilities, each with whether it holds numbers.

    Args:
        names: the targets that the model was fitted to; [] if they had no names.
    """
    if target.exclusive:
        values = target.classes.tolist()
        return {"predicted": target.classes.dtype.kind in "iuf", **{f"p({value})": True for value in values}}
    if target.outputs == 1 and target.numeric:
        unit = unit_of(names[0]) if names else ""
        return {f"predicted ({unit})" if unit else "predicted": True}
    names = names if len(names) == target.outputs else [str(value) for value in target.classes.tolist()]
    pairs = [(f"predicted {name}", f"p({name})") for name in names]
    return {name: True for pair in pairs for name in (pair[:1] if target.numeric else pair)}


def read_truth(
    target: Target, cells: Sequence[Any], values: Mapping[str, str | None] | None = None, censored: str = "drop"
) -> list[float]:
    """Read true values as the model would: numbers, 0 and 1 for labels, or the number of the class; NaN if unknown.

    Args:
        values, censored: as in `isonn.graphs.io.target_column.read_target`.

    Example:
        >>> from isonn.targets import Classes
        >>> read_truth(Classes(np.array(["no", "yes"])), ["Yes", "no", "", "perhaps"])
        [1.0, 0.0, nan, nan]
    """
    spellings = {text.strip().casefold(): to for text, to in (values or {}).items()}
    reading = TargetReading("", "numbers" if target.numeric else "classes", spellings=spellings, censored=censored)
    found: list[Any] = [reading.value(str(cell)) for cell in cells]
    if target.exclusive:
        codes = {_written(value): i for i, value in enumerate(target.classes.tolist())}
        found = [None if text is None else codes.get(_written(text)) for text in found]
    elif not target.numeric:
        found = [None if text is None else yes_or_no(text) for text in found]
    return [np.nan if value is None else float(value) for value in found]


def _written(value: Any) -> str:
    """Return a class as text, the same for 1, 1.0 and "1"."""
    text = str(value).strip()
    number = plain_number(text)
    return text.casefold() if number is None or not number.is_integer() else str(int(number))


def _plain(value: Any, whole: bool) -> Any:
    """Return a true value as it was in the file: gaps are empty, and a gap does not make whole classes numbers."""
    if not isinstance(value, float):
        return value
    return None if value != value else int(value) if whole and value.is_integer() else value


def packed(text: bytes, compress: bool) -> bytes:
    """Return bytes as a member of a .gz file, if asked."""
    return gzip.compress(text, 6, mtime=0) if compress and text else text


def write_rows(rows: Sequence[Sequence[Any]], names: Sequence[str], form: str, first: bool = False) -> bytes:
    """Return rows as lines of CSV or TSV, or as objects of a JSON list, after a comma unless they are the first."""
    if form == "json":
        objects = (json.dumps(dict(zip(names, map(_typed, row), strict=True))) for row in rows)
        return (("\n" if first else ",\n") + ",\n".join(objects)).encode()
    buffer = io.StringIO()
    csv.writer(buffer, "excel-tab" if form == "tsv" else "excel", lineterminator="\n").writerows(rows)
    return buffer.getvalue().encode()


_INTEGER, _FLOAT = re.compile(r"-?(0|[1-9]\d{0,15})"), re.compile(r"-?(0|[1-9]\d*)\.\d+([eE][-+]?\d+)?")


def _typed(cell: Any) -> Any:
    """Return a cell of text as a number if it is written like one, and None if it is empty."""
    if not isinstance(cell, str):
        return cell
    return int(cell) if _INTEGER.fullmatch(cell) else float(cell) if _FLOAT.fullmatch(cell) else cell or None
