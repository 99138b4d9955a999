"""Tables of subjects: their ids, covariates and targets."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import InputError, IsoNNWarning
from isonn.graphs.io.tables import read_table

#: Columns with the ids of subjects.
ID_COLUMNS = ("participant_id", "participant", "subject_id", "subject", "sub_id", "id", "file", "filename")
#: Columns with the session of a row, in tables with a row per session.
SESSION_COLUMNS = ("session_id", "session")
#: Texts that stand for a missing value.
GAPS = ("", "n/a", "na", "nan", "none")
#: A number that must have a decimal comma; 1,234 may be thousands.
DECIMAL_COMMA = re.compile(r"\s*-?(0,\d+|\d+,(\d{1,2}|\d{4,}))\s*")
#: Numbers that mark missing values in tables of many studies.
CODES = (-999, -9999)


def read_participants(source: Any) -> dict[str, NDArray[Any]]:
    """Read a table of subjects by column; numeric columns become numbers, "n/a" becomes NaN.

    Args:
        source: a file such as participants.tsv, a pandas DataFrame, or a dict of columns.
    """
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        if not path.is_file():
            raise InputError(f"{path} does not exist; check the path")
        rows = read_table(path)
        if len(rows) < 2:
            raise InputError(f"{path} has no subjects; give a header and a row per subject")
        wrong = next((number for number, row in enumerate(rows, 1) if len(row) != len(rows[0])), None)
        if wrong is not None:
            raise InputError(f"row {wrong} of {path} does not have the {len(rows[0])} cells of the header; correct it")
        return {name: _column(name, [row[i] for row in rows[1:]]) for i, name in enumerate(rows[0])}
    if hasattr(source, "columns") and hasattr(source, "to_numpy"):
        columns = {str(name): _column(str(name), source[name].tolist()) for name in source.columns}
        if not set(columns) & set(ID_COLUMNS) and source.index.dtype.kind == "O":
            columns = {ID_COLUMNS[0]: np.array([str(value) for value in source.index]), **columns}
        return columns
    if isinstance(source, Mapping):
        columns = {str(name): _column(str(name), list(values)) for name, values in source.items()}
        lengths = {len(values) for values in columns.values()}
        if len(lengths) > 1:
            raise InputError(f"columns of participants have {sorted(lengths)} rows; give every column the same number")
        return columns
    raise InputError(
        f"participants={source!r:.60} is not a table; give participants.tsv, a DataFrame or a dict of columns"
    )


def _column(name: str, cells: Sequence[Any]) -> NDArray[Any]:
    """Return a column as integers, numbers or text; ids stay text, so that "01" is not 1."""
    if name in ID_COLUMNS:
        return np.array([str(cell).strip() for cell in cells], dtype=np.str_)
    gaps = [cell is None or str(cell).strip().lower() in GAPS for cell in cells]
    try:
        numbers = np.array([np.nan if gap else float(cell) for cell, gap in zip(cells, gaps, strict=True)])
    except (TypeError, ValueError):
        if any(DECIMAL_COMMA.fullmatch(str(cell)) for cell in cells):
            column = _column(name, [str(cell).replace(",", ".") for cell in cells])
            if column.dtype.kind != "U":
                return column
        return np.array(["n/a" if gap else str(cell) for cell, gap in zip(cells, gaps, strict=True)], dtype=np.str_)
    coded = np.isin(numbers, CODES)
    if rows := int(coded.sum()):
        warnings.warn(
            f"{name} holds {numbers[coded][0]:g} in {rows} row{'s' * (rows > 1)}, which is read as missing; write n/a",
            IsoNNWarning,
            stacklevel=4,
        )
        numbers[coded] = np.nan
        return numbers
    if not any(gaps) and (numbers == np.rint(numbers)).all() and (np.abs(numbers) < 2**53).all():
        return numbers.astype(np.int64)
    return numbers


def plain_id(text: str) -> str:
    """Return an id without "sub-" or "ses-" and leading zeros, which spreadsheets remove.

    Example:
        >>> plain_id("sub-007"), plain_id("7"), plain_id("ses-before"), plain_id("S01")
        ('7', '7', 'before', 'S01')
    """
    plain = text.strip().removeprefix("sub-").removeprefix("ses-")
    return str(int(plain)) if plain.isdecimal() else plain


@dataclass(frozen=True, eq=False)
class SubjectTable:
    """A table with a row for each subject, or for each session of a subject.

    Attributes:
        ids: the subject of each row.
        rows: for every subject, the row of each of its sessions; "" is the session in a table without sessions. Both
            are known by `plain_id`.
        columns: the other columns.
    """

    ids: list[str]
    rows: dict[str, dict[str, int]]
    columns: dict[str, NDArray[Any]]

    @classmethod
    def of(cls, columns: Mapping[str, NDArray[Any]], source: str) -> SubjectTable | None:
        """Return the table with these columns, or None if it has no ids; refuse two rows for one subject or session.

        Args:
            source: the name of the file, for errors.
        """
        column = next((name for name in ID_COLUMNS if name in columns), None)
        if column is None:
            return None
        ids: list[str] = columns[column].tolist()
        session = next((name for name in SESSION_COLUMNS if name in columns), None)
        sessions = [""] * len(ids) if session is None else [plain_id(str(one)) for one in columns[session].tolist()]
        rows: dict[str, dict[str, int]] = {}
        for number, (subject, when) in enumerate(zip(ids, sessions, strict=True)):
            if rows.setdefault(plain_id(subject), {}).setdefault(when, number) != number:
                which, remedy = (
                    ("", "or name its session in a column session_id")
                    if session is None
                    else (f" and session {when!r}", "or correct the other")
                )
                raise InputError(f"{source} has two rows for subject {subject!r}{which}; keep one, {remedy}")
        return cls(ids, rows, {name: values for name, values in columns.items() if name not in ID_COLUMNS})

    def row(self, subject: str, session: str) -> int | None:
        """Return the row of a session, or None; a file without a session has the only row of its subject."""
        rows = self.rows.get(plain_id(subject), {})
        if len(rows) > 1 and not session:
            raise InputError(
                f"subject {subject!r} has {len(rows)} rows, one per session, but the name of its file has no session; "
                f"name the files such as {subject}_ses-{next(iter(rows))}.npy"
            )
        alone = len(rows) == 1 and (not session or "" in rows)
        return next(iter(rows.values())) if alone else rows.get(plain_id(session))

    def values(self, name: str, rows: Sequence[int | None]) -> NDArray[Any]:
        """Return a column at these rows, with NaN or "n/a" where there is none."""
        values = self.columns[name]
        gap: Any = np.nan if values.dtype.kind in "iuf" else "n/a"
        return np.array([gap if row is None else values[row] for row in rows])


def unique_ids(ids: Iterable[Any]) -> NDArray[np.str_]:
    """Return ids as text; raise `InputError` if two are equal."""
    texts = np.array([str(subject) for subject in ids], dtype=np.str_)
    values, counts = np.unique(texts, return_counts=True)
    if (counts > 1).any():
        raise InputError(f"id '{values[counts > 1][0]}' occurs {counts.max()} times; give every subject its own id")
    return texts


def ids_of(columns: Mapping[str, NDArray[Any]]) -> NDArray[np.str_] | None:
    """Return the ids of a table, or None if it has none."""
    column = next((name for name in ID_COLUMNS if name in columns), None)
    return None if column is None else unique_ids(columns[column])


def rows_of(columns: Mapping[str, NDArray[Any]], ids: NDArray[np.str_] | None, g: int) -> NDArray[np.int64]:
    """Return the row of each subject."""
    table_ids, length = ids_of(columns), len(next(iter(columns.values()), ()))
    if ids is None or table_ids is None:
        if length != g:
            raise InputError(
                f"participants has {length} rows for {g} matrices; give ids, and a column participant_id with them"
            )
        return np.arange(g)
    row = {subject: number for number, subject in enumerate(table_ids.tolist())}
    without = [subject for subject in ids.tolist() if subject not in row]
    if without:
        raise InputError(
            f"subject {without[0]!r} has no row in participants ({len(without)} of {g} have none); add the rows, or "
            f"leave the subjects out"
        )
    warn_of_unused(set(row) - set(ids.tolist()))
    return np.array([row[subject] for subject in ids.tolist()], dtype=np.int64)


def warn_of_unused(subjects: Collection[str]) -> None:
    """Warn of subjects without a matrix."""
    if subjects:
        warnings.warn(
            f"{len(subjects)} rows of participants have no matrix and are left out, the first is {min(subjects)!r}",
            IsoNNWarning,
            stacklevel=5,
        )


def take_targets(
    target: str | Sequence[str] | None,
    table: dict[str, NDArray[Any]],
    ids: NDArray[np.str_] | None,
    join_case: bool = False,
) -> tuple[tuple[str, ...], NDArray[Any] | None]:
    """Take the columns to predict out of the table.

    Args:
        target: their names, such as "memory,iq"; None for no target.

    Returns:
        their names, and y: one class or number per subject, or a column of numbers for each of several targets.
    """
    given = [] if target is None else [target] if isinstance(target, str) else target
    names = [part.strip() for name in given for part in ([name] if name in table else name.split(","))]
    missing = [column for column in names if column not in table]
    if missing:
        raise InputError(
            f"target={missing[0]!r} is not a column of participants; its columns are {', '.join(table) or 'none'}"
        )
    columns = {name: table.pop(name) for name in dict.fromkeys(names)}
    for column, values in columns.items():
        gaps = np.zeros(len(values), dtype=bool) if values.dtype.kind == "f" else np.asarray(values == "n/a")
        if gaps.any():
            i = int(gaps.argmax())
            who = i if ids is None else repr(str(ids[i]))
            raise InputError(f"subject {who} has no {column}; leave the subject out, or fill the cell")
        if len(names) > 1 and values.dtype.kind not in "iuf":
            raise InputError(f"{column} holds text, but several targets must be numbers; give {column} alone")
    if len(names) > 1:
        return tuple(names), np.column_stack([columns[column].astype(np.float64) for column in names])
    return tuple(names), class_values(columns[names[0]], names[0], join_case) if names else None


def class_values(values: NDArray[Any], column: str, join_case: bool = False) -> NDArray[Any]:
    """Strip class names; refuse names that differ only in case, or join them."""
    if values.ndim != 1 or not all(isinstance(value, str) for value in values.tolist()):
        return values
    stripped = np.array([value.strip() for value in values.tolist()], dtype=np.str_)
    first: dict[str, str] = {}
    for value in stripped.tolist():
        other = first.setdefault(value.casefold(), value)
        if other != value and not join_case:
            raise InputError(
                f"{column} holds {other!r} and {value!r}, which differ only in case; correct them, or read the "
                f"folder with join_case=True (--join-case)"
            )
    return np.array([first[value.casefold()] for value in stripped.tolist()], dtype=np.str_)
