"""Predict all pieces of DATA, in order, and write them."""

from __future__ import annotations

import hashlib
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from joblib.externals.loky.process_executor import BrokenProcessPool

import isonn
from isonn.errors import InputError, IsoNNError, IsoNNWarning
from isonn.graphs.io.registry import LISTED, Problem
from isonn.graphs.io.tables import write_text
from isonn.graphs.io.target_column import CENSORED, values_option
from isonn.model_files import JSON_NAME
from isonn.packing import Floats
from isonn.processes import Call, Run, run_in_order
from isonn.progress import bar
from isonn.scores import Scores, column_scores
from isonn.screening.output import Format
from isonn.screening.partial import Partial, partial_folder
from isonn.screening.predictions import BEST_TYPE, CHANGE_COLUMNS, Best, Task, output_columns, rows_of_piece, run_piece
from isonn.screening.sources import Piece, Source, pieces_of, sources_of, target_names


@dataclass(frozen=True)
class Screened:
    """What `screen` did.

    Attributes:
        rows: number of rows.
        bad: number of rows without a graph. problems: the first of them.
        seen: number of rows that the model was fitted to, in pieces of DATA with true values.
        scores: metrics for each target with true values, and how many there are; its name is "" if it has none.
        changes: number of molecules that standardisation changed ("molecules"), and with each kind of change.
        unknown: how often each text stands where a true class should be, but is no class of the model; not in scores.
    """

    rows: int
    bad: int
    problems: list[Problem]
    seen: int
    scores: list[tuple[str, int, Scores]]
    changes: dict[str, int]
    unknown: dict[str, int]


def screen(
    model: str | Path,
    data: Sequence[str],
    out: Path,
    *,
    options: dict[str, Any] | None = None,
    extras: dict[str, Any] | None = None,
    best: Best | None = None,
    changes: Path | None = None,
    pages: Callable[[Iterator[Piece]], None] | None = None,
    jobs: int | Run = 1,
) -> Screened:
    """Predict DATA with a saved model and write a table; memory does not grow with DATA unless it has true values.

    Finished pieces are kept in ``OUT.partial``. If that exists, the run that wrote it is continued.

    Args:
        model: a folder written by ``save``.
        data: paths, names of datasets and SMILES.
        out: the file to write: .csv, .tsv or .json, each may be followed by .gz, or .parquet.
        options: options of the readers, such as ``{"smiles": "structure"}``; ``values`` and ``censored`` say how true
            values are read.
        extras: further columns, ``{name: value}`` of `isonn.screening.columns.EXTRAS`.
        best: keep only the best rows, best first; None keeps all.
        changes: a CSV file to list the molecules that standardisation changed.
        pages: called with the rows that are written, before the file appears, to write more about them.
        jobs: number of processes, or a function that runs calls elsewhere; its workers must see the model under the
            same path.
    """
    clf, options, extras = isonn.load_model(model), options or {}, extras or {}
    form = Format.of(out)
    values, censored = values_option(options.get("values")), options.get("censored", "drop")
    if censored not in CENSORED:
        raise InputError(f"censored={censored!r:.60} is unknown; use 'drop' or 'bound'")
    if best is not None:
        best.scores(clf, np.zeros((0, clf.target_.outputs)))  # refuses what cannot be ranked
    sources = sources_of(data, clf, **options)
    headers = [source.header for source in sources]
    given = headers[0].names
    if len(headers) > 1:
        given = list(dict.fromkeys(name for header in headers for name in header.names))
    folder = Path(model).resolve()
    task = Task(
        str(folder),
        hashlib.sha256((folder / JSON_NAME).read_bytes()).hexdigest(),
        given,
        output_columns(clf, headers, given, extras),
        extras,
        form,
        best,
        values,
        censored,
        changes is not None,
    )
    about = {
        "version of isonn": isonn.__version__,
        "model": task.digest,
        "data": hashlib.sha256("\n".join(source.key for source in sources).encode()).hexdigest(),
        "choice of options": asdict(replace(task, model="", digest="")),
    }
    with Partial(partial_folder(out), about) as finished:
        try:
            jobs = _predict_rest(task, sources, finished, jobs)
        except BaseException:
            if not len(finished):  # nothing is worth keeping
                finished.remove()
            raise
        screened = _sum_up(finished, clf)
        if changes is not None:
            with write_text(changes) as file:
                file.write(f"{','.join(CHANGE_COLUMNS)}\n")
                file.writelines(arrays["changes"].tobytes().decode() for _, arrays in finished)
        numbers = None if best is None else _best_numbers(best, finished)
        if pages is not None:
            pages(_pieces_with(sources, numbers))
        if numbers is None:
            form.write((arrays["rows"].tobytes() for _, arrays in finished), out, task.columns)
        else:
            rows = _rows_of(numbers, task, sources, jobs)
            form.write([form.encode(rows, list(task.columns))], out, task.columns)
        finished.remove()
    return screened


def _predict_rest(task: Task, sources: Sequence[Source], finished: Partial, jobs: int | Run) -> int | Run:
    """Predict the pieces that are not finished; return how calls were run."""
    pieces = islice(pieces_of(sources), len(finished), None)
    first = list(islice(pieces, 2))
    if len(first) < 2 and isinstance(jobs, int):
        jobs = 1  # a process would take longer to start
    rows = sum(facts["rows"] for facts, _ in finished)
    calls: Iterator[Call] = ((run_piece, (task, piece)) for piece in chain(first, pieces))
    watched = sys.stderr.isatty()  # else the rows need not be counted first
    try:
        counts = [source.count() for source in sources] if watched else [None]
        total = None if None in counts else sum(filter(None, counts))
        with bar("predict", total, show=watched) as report:
            report(rows, "")
            for result in run_in_order(calls, jobs):
                finished.append(result)
                rows += result[0]["rows"]
                report(rows, "")
    except BrokenProcessPool as error:
        raise IsoNNError(
            f"a process that predicted graphs died, most likely out of memory; {rows} rows are kept in "
            f"{finished.folder}, so run this again with --resume and fewer than {jobs} --jobs"
        ) from error
    if not rows:
        raise InputError("DATA has no rows to predict; give at least one graph")
    return jobs


def _sum_up(finished: Partial, clf: Any) -> Screened:
    """Return what is told about all pieces; warn once of texts that differ only in their numbers."""
    totals: Counter[str] = Counter()
    changes: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    problems: list[Problem] = []
    texts: dict[str, list[str]] = {}
    truth = []
    for facts, arrays in finished:
        totals.update({name: facts[name] for name in ("rows", "bad", "seen")})
        changes.update(facts["changes"])
        unknown.update(facts["unknown"])
        problems = [*problems, *(Problem(*problem) for problem in facts["first"])][:LISTED]
        for kind, text in facts["warnings"].items():
            texts.setdefault(kind, []).append(text)
        truth.append(arrays["truth"])
    for first, *others in texts.values():
        more = f" (and in {len(others)} more part{'s' * (len(others) != 1)} of DATA)" if others else ""
        warnings.warn(f"{first}{more}", IsoNNWarning, stacklevel=3)
    scores = _scores(clf, np.concatenate(truth))
    return Screened(totals["rows"], totals["bad"], problems, totals["seen"], scores, dict(changes), dict(unknown))


def _best_numbers(best: Best, finished: Partial) -> list[int]:
    """Return the numbers of the best rows, best first."""
    ranked = np.empty(0, dtype=BEST_TYPE)
    for _, arrays in finished:
        ranked = np.concatenate([ranked, arrays["best"]])
        ranked = ranked[np.lexsort([ranked["number"], -ranked["score"]])][: best.number]
    numbers: list[int] = ranked["number"].tolist()
    return numbers


def _pieces_with(sources: Sequence[Source], numbers: Sequence[int] | None) -> Iterator[Piece]:
    """Read the rows with these numbers again; None means all."""
    wanted = None if numbers is None else set(numbers)
    for piece in pieces_of(sources):
        some = piece if wanted is None else piece.only(wanted)
        if some is not None:
            yield some


def _rows_of(numbers: Sequence[int], task: Task, sources: Sequence[Source], jobs: int | Run) -> list[list[Any]]:
    """Read rows again, and return them with all columns, in the order of ``numbers``."""
    rows: dict[int, list[Any]] = {}
    calls = ((rows_of_piece, (task, piece)) for piece in _pieces_with(sources, numbers))
    for read in run_in_order(calls, jobs):
        rows.update(read)
    return [rows[number] for number in numbers]


def _scores(clf: Any, table: Floats) -> list[tuple[str, int, Scores]]:
    """Return the metrics of each target with true values, from true values beside answers."""
    if not len(table):
        return []
    target = clf.target_
    columns = 1 if target.exclusive else target.outputs
    truth, answers = table[:, :columns], table[:, columns:]
    names = target_names(clf) or [str(value) if columns > 1 else "" for value in target.classes.tolist()[:columns]]
    scores = column_scores(target, target.classes[truth[:, 0].astype(np.int64)] if target.exclusive else truth, answers)
    counts = (~np.isnan(truth)).sum(axis=0).tolist()
    each = zip(names, counts, scores, strict=True)
    return [(name, count, metrics) for name, count, metrics in each if count]
