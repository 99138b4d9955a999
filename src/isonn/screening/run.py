"""Predict all pieces of DATA, in order, and write them."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import shutil
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from joblib.externals.loky.process_executor import BrokenProcessPool
from numpy.typing import NDArray

import isonn
from isonn.errors import InputError, IsoNNError, IsoNNWarning, MissingDependencyError
from isonn.experiments.metrics import Scores, score
from isonn.files import atomic_file
from isonn.graphs.io.registry import LISTED, Problem
from isonn.graphs.io.tables import write_text
from isonn.graphs.io.target_column import CENSORED, values_option
from isonn.packing import Floats
from isonn.processes import Call, Run, run_in_order
from isonn.progress import Report, silent
from isonn.screening.columns import EXTRAS
from isonn.screening.journal import Journal
from isonn.screening.pieces import (
    BEST,
    BEST_TYPE,
    CHANGE_COLUMNS,
    CHANGES,
    ROWS,
    TRUTH,
    Layout,
    Task,
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
    top: int | None = None,
    label: str | None = None,
    lowest: bool = False,
    changes: Path | None = None,
    jobs: int | Run = 1,
    as_json: bool = False,
    report: Callable[[int | None], Report] | None = None,
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
        top: keep only the best rows, best first.
        label: the class or target that ``top`` ranks by; None is the second of two classes, or the only target.
        lowest: whether small values are best.
        changes: a CSV file to list the molecules that standardisation changed.
        jobs: number of processes, or a function that runs calls elsewhere; its workers must see the model under the
            same path.
        as_json: write JSON whatever the suffix of ``out`` is.
        report: called with the number of rows, or None if it is unknown; returns a function that shows progress.
    """
    from isonn.graphs.stream import AT_ONCE

    clf = isonn.load_model(model)
    extras = {name: value for name, value in (extras or {}).items() if value is not None and value is not False}
    added = {name: EXTRAS[name].names(clf, value) for name, value in extras.items()}
    form, compressed, parquet = _format(out, as_json)
    sources = sources_of(data, clf, AT_ONCE, **(options or {}))
    layout = _layout(sources, clf, added)
    folder = Path(model).resolve()
    values, censored = values_option((options or {}).get("values")), (options or {}).get("censored", "drop")
    if censored not in CENSORED:
        raise InputError(f"censored={censored!r:.60} is unknown; use 'drop' or 'bound'")
    task = Task(
        str(folder),
        _digest(folder),
        layout,
        form,
        compressed,
        extras,
        values=values,
        censored=censored,
        changes=changes is not None,
    )
    if top is not None:
        if top < 1:
            raise InputError(f"--top must be at least 1, got {top}")
        task = replace(task, top=top, column=_ranked(clf, label), sign=-1 if lowest else 1)
    about = {
        "version of isonn": isonn.__version__,
        "model": task.digest,
        "data": hashlib.sha256("\n".join(source.key() for source in sources).encode()).hexdigest(),
        "choice of options": [
            list(layout.columns),
            layout.truth,
            form,
            compressed,
            extras,
            task.top,
            task.column,
            task.sign,
            values,
            censored,
            task.changes,
        ],
    }
    head = b"" if top is not None else _head(layout, form)
    start = {ROWS: gzip.compress(head, 6, mtime=0) if compressed and head else head}
    with Journal(partial_folder(out), about, [ROWS, TRUTH, BEST, CHANGES], start) as journal:
        try:
            told, jobs = _run_all(task, sources, journal, jobs, AT_ONCE, report)
        except BaseException:
            if not journal.pieces:  # nothing is worth keeping
                journal.remove()
            raise
        told.warn()
        scores = _scores(clf, journal) if told.judged else []
        screened = Screened(told.rows, told.bad, told.problems, told.judged, told.seen, scores, dict(told.changes))
        if changes is not None:
            with write_text(changes) as file, journal.path(CHANGES).open(encoding="utf-8", newline="") as rows:
                file.write(f"{','.join(CHANGE_COLUMNS)}\n")
                shutil.copyfileobj(rows, file)
        if top is None:
            _finish(journal, out, task, parquet)
        else:
            best = _best_rows(task, sources, journal, jobs, AT_ONCE)
            content = _head(layout, form) + write_rows(best, list(layout.columns), form, first=True) + _tail(form)
            with atomic_file(out) as temporary:
                if parquet:
                    _write_parquet(io.BytesIO(content), temporary, layout)
                else:
                    temporary.write_bytes(gzip.compress(content, 6, mtime=0) if compressed else content)
            journal.remove()
    return screened


def _run_all(
    task: Task,
    sources: Sequence[Source],
    journal: Journal,
    jobs: int | Run,
    at_once: int,
    report: Callable[[int | None], Report] | None,
) -> tuple[_Told, int | Run]:
    """Predict the pieces that the journal does not have; return what is told about all, and how calls were run."""
    told = _Told()
    for facts in journal.earlier:
        told.add(facts)
    pieces = islice(pieces_of(sources, at_once), journal.pieces, None)
    first = list(islice(pieces, 2))
    if len(first) < 2 and isinstance(jobs, int):
        jobs = 1  # a process would take longer to start
    show = silent if report is None else report(_total(sources))
    show(told.rows, "")
    calls: Iterator[Call] = ((run_piece, (task, piece)) for piece in chain(first, pieces))
    least = _Threshold(task.top, journal)
    try:
        for outcome in run_in_order(calls, jobs):
            journal.append(least.better(outcome.files), outcome.facts)
            told.add(outcome.facts)
            show(told.rows, "")
    except BrokenProcessPool as error:
        raise IsoNNError(
            f"a process that predicted graphs died, most likely out of memory; {told.rows} rows are kept in "
            f"{journal.folder}, so run this again with --resume and fewer than {jobs} --jobs"
        ) from error
    if not told.rows:
        raise InputError("DATA has no rows to predict; give at least one graph")
    return told, jobs


class _Told:
    """What the user is told about all pieces."""

    def __init__(self) -> None:
        self.rows = self.bad = self.judged = self.seen = 0
        self.problems: list[Problem] = []
        self.changes: Counter[str] = Counter()
        self.warnings: dict[str, list[Any]] = {}  # the first text of each kind, and how many there are

    def add(self, facts: dict[str, Any]) -> None:
        """Add what is told about a piece."""
        for name in ("rows", "bad", "judged", "seen"):
            setattr(self, name, getattr(self, name) + facts[name])
        self.problems = [*self.problems, *(Problem(*problem) for problem in facts["first"])][:LISTED]
        self.changes.update(facts["changes"])
        for text in facts["warnings"]:
            self.warnings.setdefault(re.sub(r"\d+", "", text), [text, 0])[1] += 1

    def warn(self) -> None:
        """Warn once of texts that differ only in their numbers, such as one for every piece of DATA."""
        for text, count in self.warnings.values():
            more = f" (and {count - 1} more pieces of DATA like this one)" if count > 1 else ""
            warnings.warn(f"{text}{more}", IsoNNWarning, stacklevel=3)


class _Threshold:
    """The best scores so far, of which only new ones are kept."""

    def __init__(self, top: int | None, journal: Journal) -> None:
        self.top = top
        self.best = _read_best(journal)[: top or 0]

    def better(self, files: dict[str, bytes]) -> dict[str, bytes]:
        """Return the files of a piece without the scores that are not among the best."""
        if self.top is None:
            return files
        new = np.frombuffer(files[BEST], dtype=BEST_TYPE)
        if len(self.best) == self.top:
            new = new[new["score"] > self.best["score"][-1]]
        self.best = _ranked_rows(np.concatenate([self.best, new]))[: self.top]
        return {**files, BEST: new.tobytes()}


def _read_best(journal: Journal) -> NDArray[Any]:
    return _ranked_rows(np.frombuffer(journal.path(BEST).read_bytes(), dtype=BEST_TYPE))


def _ranked_rows(best: NDArray[Any]) -> NDArray[Any]:
    """Sort by score, and by row where scores are equal."""
    return best[np.lexsort([best["number"], -best["score"]])]


def _best_rows(
    task: Task, sources: Sequence[Source], journal: Journal, jobs: int | Run, at_once: int
) -> list[list[Any]]:
    """Read the best rows again, and return them with all columns, best first."""
    numbers = _read_best(journal)["number"][: task.top].tolist()
    wanted = set(numbers)
    some = (piece.only(wanted) for piece in pieces_of(sources, at_once))
    rows: dict[int, list[Any]] = {}
    for found in run_in_order(((rows_of_piece, (task, piece)) for piece in some if piece is not None), jobs):
        rows.update(found)
    return [rows[number] for number in numbers]


def _layout(sources: Sequence[Source], clf: Any, extras: dict[str, list[str]]) -> Layout:
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


def _format(out: Path, as_json: bool) -> tuple[str, bool, bool]:
    """Return the format of the rows, whether they are compressed, and whether the file is Parquet."""
    name = out.name.lower()
    compressed = name.endswith(".gz")
    suffix = Path(name.removesuffix(".gz")).suffix
    form = "json" if as_json else FORMATS.get(suffix)
    if form is None:
        raise InputError(
            f"--out {out} has no format that can be written; use .csv, .tsv, .json (also .gz), or .parquet"
        )
    parquet = suffix == ".parquet" and not as_json
    if parquet:
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError as error:
            raise MissingDependencyError(f"writing {out.name} needs pyarrow; pip install pyarrow") from error
    return form, compressed or parquet, parquet


def _head(layout: Layout, form: str) -> bytes:
    return b"[" if form == "json" else write_rows([list(layout.columns)], [], form)


def _tail(form: str) -> bytes:
    return b"\n]\n" if form == "json" else b""


def _finish(journal: Journal, out: Path, task: Task, parquet: bool) -> None:
    """Make the rows of the journal the output, in one step."""
    rows = journal.path(ROWS)
    if parquet:
        with atomic_file(out) as temporary, gzip.open(rows) as text:
            _write_parquet(text, temporary, task.layout)
    else:
        tail = _tail(task.format)
        with rows.open("ab") as file:
            file.write(gzip.compress(tail, 6, mtime=0) if task.compress and tail else tail)
            file.flush()
            os.fsync(file.fileno())
        rows.replace(out)
    journal.remove()


def _write_parquet(text: Any, path: Path, layout: Layout) -> None:
    """Convert a file of CSV to Parquet, block by block; columns of the user are text."""
    import pyarrow
    from pyarrow.csv import ConvertOptions, ParseOptions, open_csv
    from pyarrow.parquet import ParquetWriter

    types = {name: pyarrow.float64() if number else pyarrow.string() for name, number in layout.columns.items()}
    types["graph"] = pyarrow.int64()
    convert = ConvertOptions(column_types=types, strings_can_be_null=False)
    blocks = open_csv(text, parse_options=ParseOptions(newlines_in_values=True), convert_options=convert)
    with blocks, ParquetWriter(path, blocks.schema) as writer:
        for block in blocks:
            writer.write_batch(block)


def _scores(clf: Any, journal: Journal) -> list[tuple[str, int, Scores]]:
    target = clf.target_
    columns = 1 if target.exclusive else target.outputs
    table = np.fromfile(journal.path(TRUTH), dtype="<f8").reshape(-1, columns + target.outputs)
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
