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
from typing import Annotated, Any, TextIO

import typer

from isonn.cli.options import AsJson, Data


def predict(
    model: Annotated[Path, typer.Argument(help="A folder that `isonn fit` made.", show_default=False)],
    data: Data,
    out: Annotated[
        Path | None, typer.Option(help="CSV file to write; must not exist. Standard output if not given.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Classify the graphs of DATA: one line each with the class and the probability of every class."""
    import isonn
    from isonn.cli.options import stream_of
    from isonn.errors import InputError
    from isonn.files import atomic_file
    from isonn.graphs.io.tu import UnsortedError

    if out is not None and out.exists():
        raise InputError(f"{out} exists already; choose another --out, or remove it first")
    clf = isonn.load_model(model)
    with ExitStack() as stack:
        if out is not None:
            file = stack.enter_context(stack.enter_context(atomic_file(out)).open("w", encoding="utf-8"))
        else:  # not to standard output yet: data can turn out to be unusable in its last line
            file = stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8"))
        try:
            done, right = _write(clf, stream_of(data) or [isonn.load(data)], file, as_json)
        except UnsortedError:  # in pieces it cannot be read, and as a whole it can
            file.seek(0)
            file.truncate()
            done, right = _write(clf, [isonn.load(data)], file, as_json)
        if out is None:
            file.seek(0)
            shutil.copyfileobj(file, sys.stdout)
    if out is not None:
        print(f"{done} predictions in {out}", file=sys.stderr)
    if right is not None:
        print(f"accuracy {100 * right / done:.1f} % ({right} of {done})", file=sys.stderr)


def _write(clf: Any, chunks: Iterable[Any], file: TextIO, as_json: bool) -> tuple[int, int | None]:
    """Classify chunks of graphs; how many there are, and how many are right if their classes are known."""
    known = set(clf.classes_.tolist())
    done = right = 0
    scored = not clf.multilabel_
    for graphs in chunks:
        rows = _rows(clf, graphs, done)
        file.write(_json(rows, first=not done) if as_json else _csv(rows, header=not done))
        done += len(rows)
        scored = scored and graphs.y is not None and set(graphs.y.tolist()) <= known
        right += sum(row["class"] == row["predicted"] for row in rows) if scored else 0
    file.write("\n]\n" if as_json else "")
    return done, right if scored else None


def _rows(clf: Any, graphs: Any, first: int) -> list[dict[str, Any]]:
    probabilities = clf.predict_proba(graphs)
    predicted = clf.target_.decide(probabilities).tolist()
    names = clf.classes_.tolist()
    rows = []
    for i in range(len(graphs)):
        row: dict[str, Any] = {"graph": first + i}
        if graphs.y is not None:
            row["class"] = graphs.y[i].tolist()
        row["predicted"] = predicted[i]
        row.update({f"p({name})": round(float(p), 6) for name, p in zip(names, probabilities[i], strict=True)})
        rows.append(row)
    return rows


def _json(rows: list[dict[str, Any]], first: bool) -> str:
    """Some of the rows of a list, which is opened before the first of all."""
    return ("[\n" if first else ",\n") + json.dumps(rows, indent=1)[2:-2]


def _csv(rows: list[dict[str, Any]], header: bool) -> str:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, fieldnames=list(rows[0]), lineterminator="\n")
    if header:
        writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()
