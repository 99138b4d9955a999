"""`isonn predict`: classify graphs with a saved model."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TextIO

import typer

from isonn.cli.options import AsJson, Data, Model, Quiet, Select, SmilesColumn, TrueColumns, targets_of


def predict(
    model: Model,
    data: Data,
    out: Annotated[
        Path | None, typer.Option(help="CSV file to write; must not exist. Default: standard output.")
    ] = None,
    smiles: SmilesColumn = None,
    target: TrueColumns = None,
    select: Select = None,
    unseen: Annotated[
        bool,
        typer.Option("--unseen", help="Add the share of each graph's subgraphs not seen in training."),
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Predict the graphs of DATA; write the class and all probabilities, or the value, one line per graph.

    Table rows without a valid molecule are kept, with the error in the column "problem".
    """
    import isonn
    from isonn.cli.options import reading, rows_of
    from isonn.errors import InputError
    from isonn.files import atomic_file
    from isonn.graphs.io.tu_graphs import UnsortedError

    if out is not None and out.exists():
        raise InputError(f"{out} exists already; choose another --out, or remove it first")
    clf = isonn.load_model(model)
    if unseen and not hasattr(clf, "unseen_share"):
        raise InputError(f"--unseen needs a subgraph model, but {model} holds a {type(clf).__name__}; leave it out")
    options = reading(smiles, target, select=select)
    with ExitStack() as stack:
        if out is not None:
            file = stack.enter_context(stack.enter_context(atomic_file(out)).open("w", encoding="utf-8", newline=""))
        else:  # print nothing yet, because the last line of the data may be unusable
            file = stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8", newline=""))
        try:
            done = _write(clf, rows_of(data, clf, **options), file, as_json, unseen)
        except UnsortedError:  # it cannot be read in pieces, but it can be read whole
            file.seek(0)
            file.truncate()
            done = _write(clf, [(isonn.load(data, **options), None)], file, as_json, unseen)
        if out is None:
            file.seek(0)
            shutil.copyfileobj(file, sys.stdout)
    if out is not None:
        print(f"{done.rows} predictions in {out}", file=sys.stderr)
    if done.problems:
        print(f"isonn: {done.problems} of {done.rows} rows have a problem; see the column problem", file=sys.stderr)
    if done.seen:
        print(
            f"isonn: {done.seen} of {done.rows} graphs are training graphs of this model; "
            f"their predictions do not show how good the model is",
            file=sys.stderr,
        )
    if done.known:
        print(f"accuracy {100 * done.right / done.known:.1f} % ({done.right} of {done.known})", file=sys.stderr)


class _Done(NamedTuple):
    """Counts of rows: written, with a problem, with a known class, predicted correctly, and seen in training."""

    rows: int
    problems: int
    known: int
    right: int
    seen: int


def _write(clf: Any, pieces: Iterable[tuple[Any, Any]], file: TextIO, as_json: bool, unseen: bool) -> _Done:
    """Predict DATA piece by piece and write the rows."""
    classes = clf.classes_.tolist() if hasattr(clf, "classes_") else []
    scored = bool(classes) and not clf.multilabel_
    done = wrong = known = right = seen = 0
    columns: list[str] = []
    warned: list[warnings.WarningMessage] = []
    for graphs, problems in pieces:
        with warnings.catch_warnings(record=True) as caught:
            rows = [] if graphs is None else _rows(clf, graphs, done, unseen)
        warned += caught
        seen += 0 if graphs is None else int(clf.seen_in_training(graphs).sum())
        if problems is not None:
            empty = dict.fromkeys(rows[0] if rows else _columns_without_data(clf))
            rows = [{**row, "problem": ""} for row in rows]
            rows += [{**empty, "graph": bad.row, "smiles": bad.text, "problem": bad.reason} for bad in problems]
            rows.sort(key=lambda row: row["graph"])
            wrong += len(problems)
        columns = columns or list(rows[0])
        judged = [row for row in rows if row.get("class") not in (None, "")]
        scored = scored and all(row["class"] in classes for row in judged)
        known += len(judged)
        right += sum(row["class"] == row["predicted"] for row in judged)
        file.write(_json(rows, first=not done) if as_json else _csv(rows, columns, header=not done))
        done += len(rows)
    if not done:
        from isonn.errors import InputError

        raise InputError("DATA has no rows to predict; give at least one graph")
    file.write("\n]\n" if as_json else "")
    _warn_once_of_each_kind(warned)
    return _Done(done, wrong, known if scored else 0, right, seen)


def _warn_once_of_each_kind(warned: list[warnings.WarningMessage]) -> None:
    """Repeat the first of the warnings that differ only in their numbers, such as one for every piece of DATA."""
    kinds: dict[str, list[warnings.WarningMessage]] = {}
    for warning in warned:
        kinds.setdefault(re.sub(r"\d+", "", str(warning.message)), []).append(warning)
    for first, *others in kinds.values():
        more = f" (and {len(others)} more pieces of DATA like this one)" if others else ""
        warnings.warn(f"{first.message}{more}", first.category, stacklevel=2)


def _rows(clf: Any, graphs: Any, first: int, unseen: bool) -> list[dict[str, Any]]:
    """Return a row per graph; ``first`` is the number of the first, unless the file numbers its rows."""
    shares = clf.unseen_share(graphs) if unseen else None
    classifies = hasattr(clf, "predict_proba")
    answers = clf.predict_proba(graphs) if classifies else clf.predict(graphs).reshape(len(graphs), -1)
    predicted = clf.target_.decide(answers).tolist()
    names = clf.classes_.tolist() if classifies else []
    targets = _targets(clf)
    numbers = graphs.table["row"].tolist() if "row" in graphs.table else range(first, first + len(graphs))
    rows = []
    for i, number in enumerate(numbers):
        row: dict[str, Any] = {"graph": number}
        if graphs.ids is not None:
            row["id"] = str(graphs.ids[i])
        if "smiles" in graphs.table:
            row["smiles"] = str(graphs.table["smiles"][i])
        given = None if graphs.y is None else _given(graphs.y[i].tolist(), classifies)
        if targets:
            truths = given if isinstance(given, list) and len(given) == len(targets) else [None] * len(targets)
            for j, (name, truth) in enumerate(zip(targets, truths, strict=True)):
                row[name] = truth
                row[f"predicted {name}"] = predicted[i][j]
                if classifies:
                    row[f"p({name})"] = round(float(answers[i][j]), 6)
        else:
            if graphs.y is not None:
                row["class" if classifies else "value"] = given
            row["predicted"] = predicted[i]
            row.update({f"p({name})": round(float(p), 6) for name, p in zip(names, answers[i], strict=False)})
        if shares is not None:
            row["unseen"] = round(float(shares[i]), 4)
        rows.append(row)
    return rows


def _targets(clf: Any) -> list[str]:
    """Return the names of several targets; [] for one target, or if the model was fitted without names."""
    names = targets_of(clf)
    return names if len(names) > 1 else []


def _columns_without_data(clf: Any) -> list[str]:
    """Return the columns if no row could be predicted."""
    classes = clf.classes_.tolist() if hasattr(clf, "classes_") else []
    several = [column for name in _targets(clf) for column in (f"predicted {name}", *[f"p({name})"] * bool(classes))]
    return ["graph", "smiles", *(several or ["predicted", *(f"p({name})" for name in classes)])]


def _given(value: Any, classifies: bool) -> Any:
    """Return a target as it was in the file: gaps are empty, and a gap does not make whole classes numbers."""
    if isinstance(value, list):
        return [_given(one, classifies) for one in value]
    if not isinstance(value, float):
        return value
    return None if value != value else int(value) if classifies and value.is_integer() else value


def _json(rows: list[dict[str, Any]], first: bool) -> str:
    """Format rows as part of a JSON list, opened before the first."""
    return ("[\n" if first else ",\n") + json.dumps(rows, indent=1)[2:-2]


def _csv(rows: list[dict[str, Any]], columns: list[str], header: bool) -> str:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns, extrasaction="ignore", lineterminator="\n")
    if header:
        writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()
