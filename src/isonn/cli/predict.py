"""`isonn predict`: classify graphs with a saved model."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from typing import Annotated, Any

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
    from isonn.errors import InputError
    from isonn.files import atomic_file

    if out is not None and out.exists():
        raise InputError(f"{out} exists already; choose another --out, or remove it first")
    clf = isonn.load_model(model)
    graphs = isonn.load(data)
    rows = _rows(clf, graphs)
    text = json.dumps(rows, indent=1) + "\n" if as_json else _csv(rows)
    if out is None:
        sys.stdout.write(text)
    else:
        with atomic_file(out) as temporary:
            temporary.write_text(text, encoding="utf-8")
        print(f"{len(rows)} predictions in {out}", file=sys.stderr)
    if graphs.y is not None and not clf.multilabel_ and set(graphs.y.tolist()) <= set(clf.classes_.tolist()):
        right = sum(row["class"] == row["predicted"] for row in rows)
        print(f"accuracy {100 * right / len(rows):.1f} % ({right} of {len(rows)})", file=sys.stderr)


def _rows(clf: Any, graphs: Any) -> list[dict[str, Any]]:
    predicted, probabilities = clf.predict(graphs).tolist(), clf.predict_proba(graphs)
    names = clf.classes_.tolist()
    rows = []
    for i in range(len(graphs)):
        row: dict[str, Any] = {"graph": i}
        if graphs.y is not None:
            row["class"] = graphs.y[i].tolist()
        row["predicted"] = predicted[i]
        row.update({f"p({name})": round(float(p), 6) for name, p in zip(names, probabilities[i], strict=True)})
        rows.append(row)
    return rows


def _csv(rows: list[dict[str, Any]]) -> str:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()
