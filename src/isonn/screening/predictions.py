"""Predict one piece of DATA: this runs in worker processes, and on the workers of a cluster."""

from __future__ import annotations

import importlib
import re
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from isonn.errors import InputError, IsoNNWarning
from isonn.explain.explanation import column_of, output_names
from isonn.graphs.convert import count_changes
from isonn.graphs.io.registry import LISTED, Problem
from isonn.graphs.io.target_column import TargetReading, plain_number, unit_of, yes_or_no
from isonn.model_files import load_model
from isonn.packing import Floats
from isonn.screening.columns import EXTRAS
from isonn.screening.output import Format
from isonn.screening.partial import Result
from isonn.screening.sources import Header, Piece, target_names
from isonn.targets import Target, positive_of

#: The columns of a list of changed molecules.
CHANGE_COLUMNS = ("row", "id", "smiles", "standardized", "changes")
#: Scores and row numbers, as they are stored.
BEST_TYPE = np.dtype([("score", "<f8"), ("number", "<i8")])


class Best(NamedTuple):
    """Which rows are the best.

    Attributes:
        number: how many are kept.
        label: the class or target they are ranked by; None is the positive one of two classes, or the only target.
        lowest: whether small values are best.
    """

    number: int
    label: str | None = None
    lowest: bool = False

    def scores(self, clf: Any, answers: Floats) -> Floats:
        """Return the values that rows are ranked by, the best largest; raise `InputError` if it is not clear which."""
        target = clf.target_
        if self.number < 1:
            raise InputError(f"--top must be at least 1, got {self.number}")
        if self.label is not None:
            output = column_of(target.classes, self.label, output_names(target, clf.label_names_))
        elif target.outputs == 1:
            output = 0
        elif target.exclusive and target.outputs == 2:
            output = positive_of(target.classes.tolist())
        else:
            names = [] if target.exclusive else target_names(clf)
            shown = ", ".join(names or map(str, target.classes.tolist()))
            raise InputError(f"--top ranks by one of {shown}; name it with --label")
        return answers[:, output] * (-1 if self.lowest else 1)


@dataclass(frozen=True)
class Task:
    """What is computed for every piece.

    Attributes:
        model: the folder of the model.
        digest: the digest of its files, so that a worker does not use an earlier model of that path.
        given: the columns of the user.
        columns: all columns in order, each with whether it holds numbers.
        extras: the value of each of ``EXTRAS`` that is wanted.
        format: how rows are written.
        best: with a value, only the best scores are returned, not the rows.
        values, censored: how true values are read, as in `isonn.graphs.io.target_column.read_as_target`.
        changes: whether molecules that standardisation changed are listed.
    """

    model: str
    digest: str
    given: list[str]
    columns: dict[str, bool]
    extras: dict[str, Any]
    format: Format
    best: Best | None
    values: Mapping[str, str | None]
    censored: str
    changes: bool


def output_columns(clf: Any, headers: Sequence[Header], given: list[str], extras: dict[str, Any]) -> dict[str, bool]:
    """Return all columns in order, each with whether it holds numbers; columns of the user may get another name."""
    before = {"file": False, "graph": True} if len(headers) > 1 else {"graph": True}
    after = predicted_columns(clf.target_, target_names(clf))
    for name, value in extras.items():
        after |= EXTRAS[name].names(clf, value)
    if any(header.may_fail for header in headers):
        after["problem"] = False
    between: dict[str, bool] = {}
    for name in given:
        while name in between or name in before or name in after:
            name = f"{name} (given)"
        between[name] = False
    return {**before, **between, **after}


def run_piece(task: Task, piece: Piece) -> Result:
    """Read and predict a piece.

    Its arrays are "rows", as they are written, or "best", the best scores with row numbers; "truth", true values beside
    answers; and "changes", the lines about molecules that standardisation changed.
    """
    clf = _model(task.model, task.digest)
    with warnings.catch_warnings(record=True) as caught, threadpool_limits(1):
        warnings.simplefilter("always", IsoNNWarning)
        predicted = _Predicted(clf, piece, task)
        arrays: dict[str, NDArray[Any]] = {"truth": predicted.known_truth()}
        if task.best is None:
            text = task.format.encode(predicted.rows(), list(task.columns))
            arrays["rows"] = np.frombuffer(text, dtype=np.uint8)
        else:
            arrays["best"] = predicted.best(task.best)
        if task.changes:
            arrays["changes"] = np.frombuffer(Format("csv").encode(predicted.changed_rows(), ()), dtype=np.uint8)
    facts = {
        "rows": len(piece.numbers),
        "bad": len(predicted.problems),
        "first": [[p.row, p.text, p.reason] for p in predicted.problems[:LISTED]],
        "seen": predicted.seen(),
        "unknown": dict(predicted.unknown),
        "changes": predicted.changes(),
        # texts that differ only in numbers and the file are told once
        "warnings": {
            re.sub(r"\d+", "", str(w.message).replace(f" of {piece.header.file} ", " ")): str(w.message)
            for w in caught
            if issubclass(w.category, IsoNNWarning)
        },
    }
    return facts, arrays


def rows_of_piece(task: Task, piece: Piece) -> dict[int, list[Any]]:
    """Return the rows of a piece by their numbers."""
    with warnings.catch_warnings(), threadpool_limits(1):
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
        self.clf, self.piece, self.task = clf, piece, task
        self.graphs, problems = piece.parse(clf.standardize_)
        self.reasons = {problem.row: problem.reason for problem in problems}
        self.problems = [Problem(piece.numbers[p.row], p.text, p.reason) for p in problems]
        #: the places of rows with a graph
        self.good = [i for i in range(len(piece.numbers)) if i not in self.reasons]
        if self.graphs is None:
            self.answers: Floats = np.zeros((0, clf.target_.outputs))
        elif hasattr(clf, "predict_proba"):
            self.answers = clf.predict_proba(self.graphs)
        else:
            self.answers = clf.predict(self.graphs).reshape(len(self.graphs), -1)
        #: texts where a true class should be that are no class of the model
        self.unknown: Counter[str] = Counter()
        self.truth = self._truth()

    def _truth(self) -> Floats:
        """Return the true values of the graphs, shape (g, t): numbers of classes, or values; NaN if unknown."""
        target, header = self.clf.target_, self.piece.header
        columns = 1 if target.exclusive else target.outputs
        if len(header.truth) != columns:
            return np.full((len(self.good), columns), np.nan)
        places = [header.names.index(name) for name in header.truth]
        cells = [[self.piece.cells[i][place] for i in self.good] for place in places]
        columns_read = []
        for column in cells:
            read, unknown = read_truth(target, column, self.task.values, self.task.censored)
            columns_read.append(read)
            self.unknown += unknown
        return np.array(columns_read).T

    def known_truth(self) -> Floats:
        """Return true values beside answers, of the graphs that have a true value."""
        has_truth = ~np.isnan(self.truth).all(axis=1)
        return np.hstack([self.truth[has_truth], self.answers[has_truth]])

    def seen(self) -> int:
        """Return how many of the graphs the model was fitted to; 0 if none has a true value."""
        if self.graphs is None or np.isnan(self.truth).all():
            return 0
        return int(self.clf.seen_in_training(self.graphs).sum())

    def changes(self) -> dict[str, int]:
        """Return how many molecules standardisation changed ("molecules"), and how many with each kind of change."""
        return {} if self.graphs is None else dict(count_changes(self.graphs))

    def changed_rows(self) -> list[list[Any]]:
        """Return the row, id, SMILES, standard SMILES and changes of each molecule that standardisation changed."""
        if not self.changes() or self.graphs is None:
            return []
        header, names = self.piece.header, None
        if header.ids is not None:
            names = [self.piece.cells[i][header.names.index(header.ids)] for i in self.good]
        molecules = importlib.import_module("isonn.molecules.standardizer")  # an extra
        changed: list[list[Any]] = molecules.changed_rows(
            self.graphs, [self.piece.numbers[i] for i in self.good], names
        )
        return changed

    def best(self, best: Best) -> NDArray[Any]:
        """Return the best scores with the numbers of their rows, best first."""
        scores = best.scores(self.clf, self.answers)
        order = np.argsort(-scores, kind="stable")[: best.number]
        ranked = np.empty(len(order), dtype=BEST_TYPE)
        ranked["score"] = scores[order]
        ranked["number"] = [self.piece.numbers[self.good[i]] for i in order.tolist()]
        return ranked

    def rows(self) -> list[list[Any]]:
        """Return all rows, with empty cells where there is no graph."""
        names = list(self.task.columns)
        file = [self.piece.header.file] if names[0] == "file" else []
        columns: list[Sequence[Any]] = []
        if self.graphs is not None:
            columns += self._predictions()
            for name, value in self.task.extras.items():
                columns += EXTRAS[name].columns(self.clf, self.graphs, value)
        answers = dict(zip(self.good, zip(*columns, strict=True), strict=True))
        rows = []
        for i, (number, given) in enumerate(zip(self.piece.numbers, self._given(), strict=True)):
            row = [*file, number, *given, *answers.get(i, ())]
            row += [None] * (len(names) - len(row))
            if names[-1] == "problem":
                row[-1] = self.reasons.get(i, "")
            rows.append(row)
        return rows

    def _given(self) -> list[list[Any]]:
        """Return the cells of the user in each row; columns of other files are empty."""
        header, rows = self.piece.header, self.piece.cells
        if header.blank is not None and self.graphs is not None:
            rows = [list(row) for row in rows]
            for i, smiles in zip(self.good, self.graphs.table["smiles"].tolist(), strict=True):
                rows[i][header.blank] = smiles
        if header.names == self.task.given:  # a name may occur twice
            return rows
        places = {name: place for place, name in enumerate(header.names)}
        return [[row[places[name]] if name in places else "" for name in self.task.given] for row in rows]

    def _predictions(self) -> list[list[Any]]:
        """Return predictions and probabilities, as `predicted_columns` names them."""
        target = self.clf.target_
        if target.numeric:
            return [[float(f"{value:.10g}") for value in column] for column in self.answers.T.tolist()]
        shown = [[round(p, 6) for p in column] for column in self.answers.T.tolist()]
        decided = target.decide(self.answers)
        if target.exclusive:
            return [decided.tolist(), *shown]
        decided = decided.reshape(self.answers.shape)
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
) -> tuple[list[float], Counter[str]]:
    """Read true values as the model would: numbers, 0 and 1 for labels, or the number of the class; NaN if unknown.

    Args:
        values, censored: as in `isonn.graphs.io.target_column.read_as_target`.

    Returns:
        the values, and how often each text occurs that is no class of the model.

    Example:
        >>> from isonn.targets import Classes
        >>> read_truth(Classes(np.array(["no", "yes"])), ["Yes", "no", "", "perhaps"])
        ([1.0, 0.0, nan, nan], Counter({'perhaps': 1}))
    """
    spellings = {text.strip().casefold(): to for text, to in (values or {}).items()}
    reading = TargetReading("", "numbers" if target.numeric else "classes", spellings=spellings, censored=censored)
    given: list[Any] = [reading.value("" if cell is None else str(cell)) for cell in cells]
    read = given
    if target.exclusive:
        codes = {_written(value): i for i, value in enumerate(target.classes.tolist())}
        read = [None if text is None else codes.get(_written(text)) for text in given]
    elif not target.numeric:
        read = [None if text is None else yes_or_no(text) for text in given]
    unknown = Counter(str(text) for text, value in zip(given, read, strict=True) if value is None and text is not None)
    return [np.nan if value is None else float(value) for value in read], unknown


def _written(value: Any) -> str:
    """Return a class as text, the same for 1, 1.0 and "1"."""
    text = str(value).strip()
    number = plain_number(text)
    return text.casefold() if number is None or not number.is_integer() else str(int(number))
