"""Predict all pieces of DATA, in order, and write them."""

from __future__ import annotations

import hashlib
import io
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib.externals.loky.process_executor import BrokenProcessPool

import isonn
from isonn.errors import InputError, IsoNNError, IsoNNWarning, MissingDependencyError
from isonn.experiments.metrics import Scores, score
from isonn.files import atomic_file
from isonn.graphs.io.registry import LISTED, Problem
from isonn.graphs.io.tables import write_text
from isonn.graphs.io.target_column import CENSORED, values_option
from isonn.packing import Floats
from isonn.processes import Call, Run, run_in_order
from isonn.progress import bar
from isonn.screening.columns import EXTRAS
from isonn.screening.finished import Finished
from isonn.screening.pieces import (
    BEST_TYPE,
    CHANGE_COLUMNS,
    Layout,
    Task,
    packed,
    predicted_columns,
    rows_of_piece,
    run_piece,
    write_rows,
)
from isonn.screening.sources import Source, pieces_of, sources_of, target_names

#: Suffixes of files that `screen` writes, and the format of their rows.
FORMATS = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".txt": "tsv", ".json": "json", ".parquet": "csv"}


@dataclass(frozen=True)
class Screened:
    """What `screen` did.

    Attributes:
        rows: number of rows.
        bad: number of rows without a graph. problems: the first of them.
        judged: number of rows with a true value.
        seen: number of rows with a true value that the model was fitted to.
        scores: metrics for each target with true values, and how many there are; its name is "" if it has none.
        changes: number of molecules that standardisation changed ("molecules"), and with each kind of change.
    """

    rows: int
    bad: int
    problems: list[Problem]
    judged: int
    seen: int
    scores: list[tuple[str, int, Scores]]
    changes: dict[str, int]


class Best(NamedTuple):
    """Which rows are the best.

    Attributes:
        number: how many are kept.
        label: the class or target they are ranked by; None is the second of two classes, or the only target.
        lowest: whether small values are best.
    """

    number: int
    label: str | None = None
    lowest: bool = False


def partial_folder(out: Path) -> Path:
    """Return the folder that keeps finished pieces until ``out`` is complete."""
    return out.with_name(f"{out.name}.partial")


def screen(
    model: str | Path,
    data: Sequence[str],
    out: Path,
    *,
    options: dict[str, Any] | None = None,
    extras: dict[str, Any] | None = None,
    best: Best | None = None,
    changes: Path | None = None,
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
        jobs: number of processes, or a function that runs calls elsewhere; its workers must see the model under the
            same path.
    """
    from isonn.graphs.stream import AT_ONCE

    clf, options, extras = isonn.load_model(model), options or {}, extras or {}
    added = {name: EXTRAS[name].names(clf, value) for name, value in extras.items()}
    form, compress, parquet = _format(out)
    sources = sources_of(data, clf, AT_ONCE, **options)
    folder = Path(model).resolve()
    values, censored = values_option(options.get("values")), options.get("censored", "drop")
    if censored not in CENSORED:
        raise InputError(f"censored={censored!r:.60} is unknown; use 'drop' or 'bound'")
    if best is not None and best.number < 1:
        raise InputError(f"--top must be at least 1, got {best.number}")
    task = Task(
        str(folder),
        _digest(folder),
        _layout(sources, clf, added),
        form,
        compress,
        extras,
        None if best is None else best.number,
        0 if best is None else _ranked(clf, best.label),
        -1 if best is not None and best.lowest else 1,
        values,
        censored,
        changes is not None,
    )
    about = {
        "version of isonn": isonn.__version__,
        "model": task.digest,
        "data": hashlib.sha256("\n".join(source.key() for source in sources).encode()).hexdigest(),
        "choice of options": asdict(replace(task, model="", digest="")),
    }
    with Finished(partial_folder(out), about) as finished:
        try:
            jobs = _predict_rest(task, sources, finished, jobs, AT_ONCE)
        except BaseException:
            if not len(finished):  # nothing is worth keeping
                finished.remove()
            raise
        screened = _sum_up(finished, clf)
        if changes is not None:
            with write_text(changes) as file:
                file.write(f"{','.join(CHANGE_COLUMNS)}\n")
                file.writelines(arrays["changes"].tobytes().decode() for _, arrays in finished)
        rows: Iterable[bytes] = (arrays["rows"].tobytes() for _, arrays in finished)
        if best is not None:
            found = _best_rows(task, sources, finished, jobs, AT_ONCE)
            rows = [packed(write_rows(found, list(task.layout.columns), form, first=True), compress)]
        _write(rows, out, task, parquet)
        finished.remove()
    return screened


def _predict_rest(
    task: Task, sources: Sequence[Source], finished: Finished, jobs: int | Run, at_once: int
) -> int | Run:
    """Predict the pieces that are not finished; return how calls were run."""
    pieces = islice(pieces_of(sources, at_once), len(finished), None)
    first = list(islice(pieces, 2))
    if len(first) < 2 and isinstance(jobs, int):
        jobs = 1  # a process would take longer to start
    rows = sum(facts["rows"] for facts, _ in finished)
    calls: Iterator[Call] = ((run_piece, (task, piece)) for piece in chain(first, pieces))
    watched = sys.stderr.isatty()  # else the rows need not be counted first
    try:
        with bar("predict", _total(sources) if watched else None, show=watched) as report:
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


def _sum_up(finished: Finished, clf: Any) -> Screened:
    """Return what is told about all pieces; warn once of texts that differ only in their numbers."""
    totals: Counter[str] = Counter()
    changes: Counter[str] = Counter()
    problems: list[Problem] = []
    texts: dict[str, list[str]] = {}
    truth = []
    for facts, arrays in finished:
        totals.update({name: facts[name] for name in ("rows", "bad", "judged", "seen")})
        changes.update(facts["changes"])
        problems = [*problems, *(Problem(*problem) for problem in facts["first"])][:LISTED]
        for text in facts["warnings"]:
            texts.setdefault(re.sub(r"\d+", "", text), []).append(text)
        truth.append(arrays["truth"])
    for first, *others in texts.values():
        more = f" (and {len(others)} more pieces of DATA like this one)" if others else ""
        warnings.warn(f"{first}{more}", IsoNNWarning, stacklevel=3)
    scores = _scores(clf, np.concatenate(truth)) if totals["judged"] else []
    return Screened(totals["rows"], totals["bad"], problems, totals["judged"], totals["seen"], scores, dict(changes))


def _best_rows(
    task: Task, sources: Sequence[Source], finished: Finished, jobs: int | Run, at_once: int
) -> list[list[Any]]:
    """Read the best rows again, and return them with all columns, best first."""
    best = np.empty(0, dtype=BEST_TYPE)
    for _, arrays in finished:
        best = np.concatenate([best, arrays["best"]])
        best = best[np.lexsort([best["number"], -best["score"]])][: task.top]
    numbers = best["number"].tolist()
    wanted = set(numbers)
    some = (piece.only(wanted) for piece in pieces_of(sources, at_once))
    rows: dict[int, list[Any]] = {}
    for found in run_in_order(((rows_of_piece, (task, piece)) for piece in some if piece is not None), jobs):
        rows.update(found)
    return [rows[number] for number in numbers]


def _layout(sources: Sequence[Source], clf: Any, extras: dict[str, dict[str, bool]]) -> Layout:
    single = len(sources) == 1
    given = sources[0].names if single else list(dict.fromkeys(name for source in sources for name in source.names))
    return Layout(
        [] if single else [source.name for source in sources],
        given,
        [list(range(len(given)))] if single else [[given.index(name) for name in source.names] for source in sources],
        [[source.names.index(name) for name in source.truth] for source in sources],
        [None if source.ids is None else source.names.index(source.ids) for source in sources],
        predicted_columns(clf.target_, target_names(clf)),
        extras,
        any(source.may_fail for source in sources),
    )


def _ranked(clf: Any, label: str | None) -> int:
    """Return the output that ``label`` names."""
    target = clf.target_
    names = [str(value) for value in target.classes.tolist()] if target.exclusive else target_names(clf)
    names = names or [str(value) for value in target.classes.tolist()]
    if label is None:
        if target.outputs == 1 or (target.exclusive and target.outputs == 2):
            return int(target.outputs) - 1
        raise InputError(f"--top ranks by one of {', '.join(names)}; name it with --label")
    found = [i for i, name in enumerate(names) if name.casefold() == label.casefold()]
    if not found:
        raise InputError(f"--label {label} is not predicted by this model; it predicts {', '.join(names)}")
    return found[0]


def _format(out: Path) -> tuple[str, bool, bool]:
    """Return the format of the rows, whether they are compressed, and whether the file is Parquet."""
    name = out.name.lower()
    compressed = name.endswith(".gz")
    suffix = Path(name.removesuffix(".gz")).suffix
    form = FORMATS.get(suffix)
    if form is None:
        raise InputError(
            f"--out {out} has no format that can be written; use .csv, .tsv, .json (also .gz), or .parquet"
        )
    parquet = suffix == ".parquet"
    if parquet:
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError as error:
            raise MissingDependencyError(f"writing {out.name} needs pyarrow; pip install pyarrow") from error
    return form, compressed, parquet


def _write(rows: Iterable[bytes], out: Path, task: Task, parquet: bool) -> None:
    """Write all rows in one step, with the names of columns."""
    as_json = task.format == "json"
    head = b"[" if as_json else write_rows([list(task.layout.columns)], [], task.format)
    with atomic_file(out) as temporary:
        if parquet:
            _write_parquet((head + lines for lines in rows), temporary, task.layout)
            return
        with temporary.open("wb") as file:
            file.write(packed(head, task.compress))
            file.writelines(rows)
            file.write(packed(b"\n]\n" if as_json else b"", task.compress))


def _write_parquet(texts: Iterable[bytes], path: Path, layout: Layout) -> None:
    """Convert texts of CSV to one file of Parquet; columns of the user are text."""
    import pyarrow
    from pyarrow.csv import ConvertOptions, ParseOptions, read_csv
    from pyarrow.parquet import ParquetWriter

    types = {name: pyarrow.float64() if number else pyarrow.string() for name, number in layout.columns.items()}
    types["graph"] = pyarrow.int64()
    convert, parse = (
        ConvertOptions(column_types=types, strings_can_be_null=False),
        ParseOptions(newlines_in_values=True),
    )
    with ParquetWriter(path, pyarrow.schema(types)) as writer:
        for text in texts:
            writer.write_table(read_csv(io.BytesIO(text), parse_options=parse, convert_options=convert))


def _scores(clf: Any, table: Floats) -> list[tuple[str, int, Scores]]:
    """Return the metrics of each target, from true values beside answers."""
    target = clf.target_
    columns = 1 if target.exclusive else target.outputs
    truth, answers = table[:, :columns], table[:, columns:]
    names = target_names(clf) or [str(value) if columns > 1 else "" for value in target.classes.tolist()[:columns]]
    y = target.classes[truth[:, 0].astype(np.int64)] if target.exclusive else truth
    scores = score(target, y, answers)
    found: list[tuple[str, int, Scores]] = []
    for i, (name, metrics) in enumerate(zip(names, scores if isinstance(scores, list) else [scores], strict=True)):
        known = ~np.isnan(truth[:, i])
        if target.numeric:
            metrics["r"] = _correlation(truth[known, i], answers[known, i])
        found += [(name, int(known.sum()), metrics)] if known.any() else []
    return found


def _correlation(truth: Floats, answers: Floats) -> float | None:
    if len(truth) < 2 or np.ptp(truth) == 0 or np.ptp(answers) == 0:
        return None
    return float(np.corrcoef(truth, answers)[0, 1])


def _total(sources: Sequence[Source]) -> int | None:
    counts = [source.count() for source in sources]
    return None if None in counts else sum(count for count in counts if count is not None)


def _digest(folder: Path) -> str:
    """Return the digest of a model's files."""
    hasher = hashlib.sha256()
    for file in sorted(folder.iterdir()):
        hasher.update(file.name.encode() + file.read_bytes())
    return hasher.hexdigest()
