"""Tables as rows of text: CSV with any delimiter, Excel and Parquet, plain or compressed; matrices in CSV."""

from __future__ import annotations

import codecs
import csv
import gzip
import re
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import date, datetime
from io import TextIOWrapper
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from isonn.errors import DatasetError, MissingDependencyError, naming_the_extra
from isonn.files import atomic_file

#: Suffixes of tables of text; each may be followed by ``.gz``.
TEXT = (".csv", ".tsv", ".tab", ".txt")
#: Suffixes of all tables.
SUFFIXES = (*TEXT, *(f"{suffix}.gz" for suffix in TEXT), ".xlsx", ".xlsm", ".parquet")
#: Delimiters, the usual ones first.
_DELIMITERS = ",;\t|^~:"
#: A number with a decimal comma between semicolons.
_DECIMAL_COMMA = re.compile(r"(^|;)\s*-?\d+,\d+(e[-+]?\d+)?\s*;", re.IGNORECASE)
#: Texts for NaN in a matrix, as R writes it.
_NOT_A_NUMBER = ("NA", "N/A", "n/a")
#: Number of bytes used to detect the encoding.
_HEAD = 2**20
#: Number of rows of a Parquet file read at a time.
_BATCH = 4096


def table_rows(path: Path, sheet: str | None = None) -> Iterator[list[str]]:
    """Yield the rows of a table, with its header, as lists of text; empty rows are left out.

    Args:
        path: a file with one of `SUFFIXES`.
        sheet: the sheet of a workbook; None reads the first with rows.

    Example:
        >>> _ = (tmp_path / "a.txt").write_text("name|smiles\\nethanol|CCO\\n")
        >>> list(table_rows(tmp_path / "a.txt"))
        [['name', 'smiles'], ['ethanol', 'CCO']]
    """
    if _is_workbook(path):
        return _excel_rows(path, sheet)
    return _parquet_rows(path) if path.name.lower().endswith(".parquet") else _text_rows(path)


def sheet_names(path: Path) -> list[str]:
    """Return the sheets of a workbook; [] for other tables."""
    if not _is_workbook(path):
        return []
    with _workbook(path) as book:
        return [sheet.title for sheet in book.worksheets]


def _is_workbook(path: Path) -> bool:
    return path.name.lower().endswith((".xlsx", ".xlsm"))


def begins_with_number(path: Path) -> bool:
    """Return whether the first line of a text file is a whole number, as in the format of DGCNN; never raise."""
    try:
        with open_text(path) as file:
            return re.fullmatch(r"\s*\d+\s*", file.readline(10_000)) is not None
    except (OSError, DatasetError, UnicodeError):
        return False


@contextmanager
def open_text(path: Path, errors: str = "replace") -> Iterator[TextIO]:
    """Open a text file, plain or compressed, in its detected encoding; raise `DatasetError` if it is damaged.

    Args:
        errors: "strict" raises `DatasetError` for bytes that are not text; "replace" reads them as "\ufffd", so that
            one of them does not spoil a million molecules.
    """
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opener(path, "rb") as file:
            head = file.read(_HEAD)
        with opener(path, "rt", encoding=_encoding_of(head), errors=errors, newline="") as text:
            yield text
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DatasetError(f"{path} is cut off or damaged ({error}); get it again") from error
    except UnicodeError as error:
        raise DatasetError(f"{path} is not text in UTF-8 ({error}); save it as UTF-8") from error


def _encoding_of(head: bytes) -> str:
    """Guess the encoding from the start of a text: UTF-16 if marked, UTF-8 if valid, else that of spreadsheets."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    try:
        codecs.getincrementaldecoder("utf-8-sig")().decode(head)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8-sig"


@contextmanager
def write_text(path: Path) -> Iterator[TextIO]:
    """Write a text file in UTF-8, compressed if its name ends with ``.gz``; nothing is left if the block fails.

    Equal texts make equal files: the compressed file holds no time and no name.

    Example:
        >>> with write_text(tmp_path / "a.csv.gz") as file:
        ...     _ = file.write("a,b\\n")
        >>> with open_text(tmp_path / "a.csv.gz") as file:
        ...     file.read()
        'a,b\\n'
    """
    with atomic_file(path) as temporary:
        if path.suffix.lower() != ".gz":
            with temporary.open("w", encoding="utf-8", newline="") as file:
                yield file
        else:
            with (
                temporary.open("wb") as raw,
                gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed,
                TextIOWrapper(packed, encoding="utf-8", newline="") as file,
            ):
                yield file


def _text_rows(path: Path) -> Iterator[list[str]]:
    with _csv_rows(path, _DELIMITERS, "replace") as (rows, _):
        yield from (row for row in rows if row)


@contextmanager
def _csv_rows(path: Path, delimiters: str, errors: str) -> Iterator[tuple[Iterator[list[str]], str]]:
    """Open a table of text; return its rows and the delimiter."""
    try:
        with open_text(path, errors) as file:
            first = file.readline()
            if first.lower().startswith("sep="):  # written by spreadsheets to give the delimiter
                first = file.readline()
            delimiter = max(delimiters, key=first.count)
            if delimiter == "," and ";" in delimiters and _DECIMAL_COMMA.search(first):
                delimiter = ";"
            if delimiter not in first:  # a space only where no other character separates the names
                spaces = path.name.lower().removesuffix(".gz").endswith(".txt") and " " in first.strip()
                delimiter = " " if spaces else ","
            yield csv.reader(chain([first], file), delimiter=delimiter, skipinitialspace=delimiter == " "), delimiter
    except csv.Error as error:  # such as a cell of more than 131,072 characters, after an open quote
        raise DatasetError(f"{path} is not a table ({error}); save it as CSV again") from error


def read_table(path: Path) -> list[list[str]]:
    """Read the cells of a table separated by commas, semicolons or tabs; skip blank lines."""
    with _csv_rows(path, ",;\t", "strict") as (lines, delimiter):
        rows = [row for line in lines if any(row := [cell.strip() for cell in line])]
    if any("\0" in cell for row in rows for cell in row):
        raise DatasetError(f"{path} is not text but binary; check that this is the right file")
    if delimiter == ";":  # if semicolons separate cells, commas are decimal points
        rows = [[point if _is_number(point := cell.replace(",", ".")) else cell for cell in row] for row in rows]
    return rows


def read_matrix(path: Path, square: bool = True) -> tuple[NDArray[np.float64], NDArray[np.str_] | None]:
    """Read a square matrix with an optional header and index column; return it with its node names, if any.

    With ``square=False``, also read a table of numbers with one column per node and an optional header. Cells of
    ``.txt`` are separated by white space.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            delimiter = None if path.suffix.lower() == ".txt" else ","
            plain = np.loadtxt(path, delimiter=delimiter, comments=None, ndmin=2, encoding="utf-8-sig")
        if plain.shape[0] == plain.shape[1]:
            return plain, None
    except (ValueError, OverflowError, UserWarning, DeprecationWarning, OSError):
        pass  # not only numbers; read it cell by cell
    rows = _with_nan(read_table(path))
    width = max(map(len, rows), default=0)
    columns, index = _names_of(rows, width)
    if columns and index and columns != index and not (_counted(columns) or _counted(index)):
        at = next(i for i, names in enumerate(zip(columns, index, strict=True)) if len(set(names)) > 1)
        raise DatasetError(
            f"{path} calls column {at} {columns[at]!r:.60} and row {at} {index[at]!r:.60}; use one order for both"
        )
    if not square and not columns and not index and rows and not any(map(_is_number, rows[0])):
        index = [row[0] for row in rows[1:]] if rows[0][0] == "" else []  # as pandas writes it
        columns = rows[0][bool(index) :]
    rows = [row[bool(index) :] for row in rows[bool(columns) :]]
    for number, row in enumerate(rows, start=1 + bool(columns)):
        wrong = next((cell for cell in row if not _is_number(cell)), None)
        if wrong is not None:
            raise DatasetError(f"row {number} of {path} holds {wrong!r:.60}, which is not a number; correct it")
        if not square and len(row) != len(rows[0]):
            raise DatasetError(f"row {number} of {path} has {len(row)} cells and the first {len(rows[0])}; correct it")
        if square and len(row) != len(rows):
            raise DatasetError(
                f"{path} is {len(rows)} x {len(row)} in row {number}, not square; give n rows of n numbers, with or "
                f"without a header and an index column"
            )
    if not rows:
        raise DatasetError(f"{path} is empty; give n rows of n numbers")
    names = columns if columns and not _counted(columns) else index
    matrix = np.array([[float(cell) for cell in row] for row in rows])
    names = names if len(names) == matrix.shape[1] else []
    return matrix, None if not names or _counted(names) else np.array(names, dtype=np.str_)


def _with_nan(rows: list[list[str]]) -> list[list[str]]:
    """Return the rows with "nan" for NA, but not in names."""
    edge = [cell for row in rows[:1] for cell in row] + [row[0] for row in rows]
    names = not all(cell in _NOT_A_NUMBER or _is_number(cell) for cell in edge)
    return [
        ["nan" if cell in _NOT_A_NUMBER and not (names and 0 in (i, j)) else cell for j, cell in enumerate(row)]
        for i, row in enumerate(rows)
    ]


def _names_of(rows: list[list[str]], width: int) -> tuple[list[str], list[str]]:
    """Return the column and row names of a square matrix, [] if it has none."""
    height = len(rows)
    if height == width > 1 and all(len(row) == width for row in rows[1:]):
        if len(rows[0]) == width - 1 or not _is_number(rows[0][0]):
            return rows[0][-(width - 1) :], [row[0] for row in rows[1:]]
    elif height == width + 1 and (_counted(rows[0]) or not any(map(_is_number, rows[0]))):
        return rows[0], []
    elif 1 < height == width - 1:
        index = [row[0] for row in rows]
        if _counted(index) or not any(map(_is_number, index)):
            return [], index
    return [], []


def _counted(names: list[str]) -> bool:
    """Return whether names are just the numbers from 0 or from 1."""
    return names in ([str(i) for i in range(len(names))], [str(i + 1) for i in range(len(names))])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@contextmanager
def _workbook(path: Path) -> Iterator[Any]:
    """Open a workbook; raise `DatasetError` if it is damaged."""
    with naming_the_extra(f"reading {path.name}"):
        from openpyxl import load_workbook
        from openpyxl.utils.exceptions import InvalidFileException
    try:
        with closing(load_workbook(path, read_only=True, data_only=True)) as book:
            yield book
    except (zipfile.BadZipFile, InvalidFileException, KeyError, ValueError, TypeError, SyntaxError, EOFError) as error:
        raise DatasetError(
            f"{path} is not a workbook that can be read ({error!s:.80}); save it as .xlsx again"
        ) from error


def _excel_rows(path: Path, name: str | None) -> Iterator[list[str]]:
    with _workbook(path) as book:
        for sheet in book.worksheets if name is None else [book[name]]:
            rows = ([_text_of(cell) for cell in row] for row in sheet.iter_rows(values_only=True))
            filled = (row for row in rows if any(row))
            first = next(filled, None)
            if first is not None:
                yield first
                yield from filled
                return


def _text_of(cell: Any) -> str:
    """Return a cell of a workbook as the text that a spreadsheet would save."""
    if cell is None:
        return ""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    if isinstance(cell, (date, datetime)):
        return cell.isoformat(" ") if isinstance(cell, datetime) else cell.isoformat()
    return str(cell)


def _parquet_rows(path: Path) -> Iterator[list[str]]:
    try:
        from pyarrow.lib import ArrowException
        from pyarrow.parquet import ParquetFile
    except ModuleNotFoundError as error:
        raise MissingDependencyError(f"reading {path.name} needs {error.name}; pip install pyarrow") from error
    try:
        file = ParquetFile(path)
        # pandas stores its row numbers in a column
        names = [name for name in file.schema_arrow.names if not name.startswith("__index_level_")]
        yield names
        for batch in file.iter_batches(_BATCH, columns=names):
            columns = (column.to_pylist() for column in batch.columns)
            yield from (
                [_text_of(None if cell != cell else cell) for cell in row] for row in zip(*columns, strict=True)
            )
    except (ArrowException, ValueError, OSError) as error:
        raise DatasetError(f"{path} is not a Parquet file that can be read ({error!s:.80}); write it again") from error
