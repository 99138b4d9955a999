"""Tables as rows of text: CSV with any delimiter, Excel and Parquet, plain or compressed."""

from __future__ import annotations

import csv
import gzip
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime
from io import TextIOWrapper
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

from isonn.errors import DatasetError, MissingDependencyError, naming_the_extra
from isonn.files import atomic_file
from isonn.graphs.io.text import encoding_of

#: Suffixes of tables of text; each may be followed by ``.gz``.
TEXT = (".csv", ".tsv", ".tab", ".txt")
#: Suffixes of all tables.
SUFFIXES = (*TEXT, *(f"{suffix}.gz" for suffix in TEXT), ".xlsx", ".xlsm", ".parquet")
#: Delimiters, the usual ones first.
_DELIMITERS = ",;\t|^~:"
#: Number of bytes used to detect the encoding.
_HEAD = 2**20
#: Number of rows of a Parquet file read at a time.
_BATCH = 4096
#: Maximum length of a cell: some hundred thousand atoms.
_LONGEST = 2**24


def table_rows(path: Path) -> Iterator[list[str]]:
    """Yield the rows of a table, with its header, as lists of text; empty rows are left out.

    Args:
        path: a file with one of `SUFFIXES`. Of a workbook, the first sheet with rows is read.

    Example:
        >>> _ = (tmp_path / "a.txt").write_text("name|smiles\\nethanol|CCO\\n")
        >>> list(table_rows(tmp_path / "a.txt"))
        [['name', 'smiles'], ['ethanol', 'CCO']]
    """
    name = path.name.lower()
    if name.endswith((".xlsx", ".xlsm")):
        return _excel_rows(path)
    return _parquet_rows(path) if name.endswith(".parquet") else _text_rows(path)


def is_table(path: Path) -> bool:
    """Return whether a ``.txt`` file begins like a table or a list of SMILES, not with a number; never raise."""
    try:
        with open_text(path) as file:
            first = file.readline(10_000).strip()
    except (OSError, DatasetError, UnicodeError):
        return False
    if not re.search("[A-Za-z]", first) or "\0" in first:
        return False
    several = any(delimiter in first for delimiter in ",;\t|") or "smiles" in first.casefold()
    return several or re.fullmatch(r"[BCNOFPSIclnosrH\d@+\-\[\]()=#/\\.%]+", first.split()[0]) is not None


@contextmanager
def open_text(path: Path) -> Iterator[TextIO]:
    """Open a text file, plain or compressed, in its detected encoding; raise `DatasetError` if it is damaged."""
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opener(path, "rb") as file:
            head = file.read(_HEAD)
        with opener(path, "rt", encoding=encoding_of(head), errors="replace", newline="") as text:
            yield text
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DatasetError(f"{path} is cut off or damaged ({error}); get it again") from error


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
    before = csv.field_size_limit(_LONGEST)
    try:
        with open_text(path) as file:
            first = file.readline()
            if first.lower().startswith("sep="):  # written by spreadsheets to give the delimiter
                first = file.readline()
            delimiter = _delimiter(first, path.name.lower().removesuffix(".gz").endswith(".txt"))
            rows = csv.reader(chain([first], file), delimiter=delimiter, skipinitialspace=delimiter == " ")
            yield from (row for row in rows if row)
    except csv.Error as error:
        raise DatasetError(f"{path} is not a table ({error}); save it as CSV again") from error
    finally:
        csv.field_size_limit(before)


def _delimiter(header: str, spaces: bool) -> str:
    """Return the character that separates the names of a header; a space only where no other does."""
    most = max(_DELIMITERS, key=header.count)
    if most in header:
        return most
    return " " if spaces and " " in header.strip() else ","


def _excel_rows(path: Path) -> Iterator[list[str]]:
    with naming_the_extra(f"reading {path.name}"):
        from openpyxl import load_workbook
        from openpyxl.utils.exceptions import InvalidFileException
    try:
        book = load_workbook(path, read_only=True, data_only=True)
        try:
            for sheet in book.worksheets:
                rows = ([_text_of(cell) for cell in row] for row in sheet.iter_rows(values_only=True))
                filled = (row for row in rows if any(row))
                first = next(filled, None)
                if first is not None:
                    yield first
                    yield from filled
                    return
        finally:
            book.close()
    except (zipfile.BadZipFile, InvalidFileException, KeyError, ValueError, TypeError, SyntaxError, EOFError) as error:
        raise DatasetError(
            f"{path} is not a workbook that can be read ({error!s:.80}); save it as .xlsx again"
        ) from error


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
