"""`isonn predict`: classify graphs with a saved model."""

from __future__ import annotations

import csv
import io
import json
import shutil
import sys
import tempfile
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TextIO

import typer

from isonn.cli.options import AsJson, Data, Model, Quiet, SmilesColumn, TargetColumns


def predict(
    model: Model,
    data: Data,
    out: Annotated[
        Path | None, typer.Option(help="CSV file to write; must not exist. Default: standard output.")
    ] = None,
    smiles: SmilesColumn = None,
    target: TargetColumns = None,
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
    from isonn.graphs.io.tu import UnsortedError

    if out is not None and out.exists():
        raise InputError(f"{out} exists already; choose another --out, or remove it first")
    clf = isonn.load_model(model)
    if unseen and not hasattr(clf, "unseen_share"):
        raise InputError(f"--unseen needs a subgraph model, but {model} holds a {type(clf).__name__}; leave it out")
    options = reading(smiles, target)
    with ExitStack() as stack:
        if out is not None:
            file = stack.enter_context(stack.enter_context(atomic_file(out)).open("w", encoding="utf-8", newline=""))
        else:  # print nothing yet, because the last line of the data may be unusable
            file = stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8", newline=""))
        try:
            done = _write(clf, rows_of(data, **options), file, as_json, unseen)
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
    if done.right is not None:
        print(f"accuracy {100 * done.right / done.rows:.1f} % ({done.right} of {done.rows})", file=sys.stderr)


class _Done(NamedTuple):
    """Counts of rows written, with a problem, predicted correctly (None without targets), and seen in training."""

    rows: int
    problems: int
    right: int | None
    seen: int


def _write(clf: Any, pieces: Iterable[tuple[Any, Any]], file: TextIO, as_json: bool, unseen: bool) -> _Done:
    """Predict DATA piece by piece and write the rows."""
    known = set(clf.classes_.tolist()) if hasattr(clf, "classes_") else set()
    done = wrong = right = seen = 0
    columns: list[str] = []
    scored = bool(known) and not clf.multilabel_
    for graphs, problems in pieces:
        rows = [] if graphs is None else _rows(clf, graphs, done, unseen)
        seen += 0 if graphs is None else int(clf.seen_in_training(graphs).sum())
        if problems is not None:
            empty = dict.fromkeys(
                rows[0] if rows else ("graph", "predicted", *(f"p({name})" for name in sorted(known)))
            )
            rows = [{**row, "problem": ""} for row in rows]
            rows += [{**empty, "graph": bad.row, "problem": bad.reason} for bad in problems]
            rows.sort(key=lambda row: row["graph"])
            wrong += len(problems)
        columns = columns or list(rows[0])
        scored = scored and not wrong and graphs is not None and graphs.y is not None
        scored = scored and set(graphs.y.tolist()) <= known
        right += sum(row["class"] == row["predicted"] for row in rows) if scored else 0
        file.write(_json(rows, first=not done) if as_json else _csv(rows, columns, header=not done))
        done += len(rows)
    file.write("\n]\n" if as_json else "")
    return _Done(done, wrong, right if scored else None, seen)


def _rows(clf: Any, graphs: Any, first: int, unseen: bool) -> list[dict[str, Any]]:
    """Return a row per graph; ``first`` is the number of the first, unless the file numbers its rows."""
    shares = clf.unseen_share(graphs) if unseen else None
    classifies = hasattr(clf, "predict_proba")
    answers = clf.predict_proba(graphs) if classifies else clf.predict(graphs).reshape(len(graphs), -1)
    predicted = clf.target_.decide(answers).tolist()
    names = clf.classes_.tolist() if classifies else []
    numbers = graphs.table["row"].tolist() if "row" in graphs.table else range(first, first + len(graphs))
    rows = []
    for i, number in enumerate(numbers):
        row: dict[str, Any] = {"graph": number}
        if graphs.ids is not None:
            row["id"] = str(graphs.ids[i])
        if graphs.y is not None:
            row["class" if classifies else "value"] = graphs.y[i].tolist()
        row["predicted"] = predicted[i]
        row.update({f"p({name})": round(float(p), 6) for name, p in zip(names, answers[i], strict=False)})
        if shares is not None:
            row["unseen"] = round(float(shares[i]), 4)
        rows.append(row)
    return rows


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
