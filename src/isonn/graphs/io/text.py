"""Read numbers and tables from text files in common encodings, with errors that name the file and line."""

from __future__ import annotations

import codecs
import csv
import importlib.util
import io
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import DatasetError

#: The largest integer that a float represents exactly; larger labels could collide.
EXACT = 2**53


def encoding_of(head: bytes) -> str:
    """Guess the encoding from the start of a text: UTF-16 if marked, UTF-8 if valid, else that of spreadsheets."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    try:
        codecs.getincrementaldecoder("utf-8-sig")().decode(head)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8-sig"


@contextmanager
def naming_the_file(path: Path) -> Iterator[None]:
    """Raise `DatasetError` for a file that is missing or cannot be read."""
    try:
        yield
    except (FileNotFoundError, IsADirectoryError) as error:
        raise DatasetError(f"{path} is missing; add the file") from error
    except OSError as error:
        raise DatasetError(f"{path} cannot be read ({error.strerror}); check its permissions") from error


def read_text(path: Path) -> str:
    """Read a text file."""
    with naming_the_file(path):
        data = path.read_bytes()
    try:
        text = data.decode(encoding_of(data[: 2**20]))
    except UnicodeError as error:
        raise DatasetError(f"{path} is not text; check that this is the right file, saved as UTF-8") from error
    if "\0" in text:
        raise DatasetError(f"{path} is not text but binary; check that this is the right file")
    return text


def read_table(path: Path) -> list[list[str]]:
    """Read the cells of a table separated by commas, semicolons or tabs; skip blank lines."""
    file = io.StringIO(read_text(path), newline="")
    first = file.readline()
    if first.lower().startswith("sep="):  # spreadsheets declare the separator here
        start, first = file.tell(), file.readline()
    else:
        start = 0
    file.seek(start)
    separator = max(",;\t", key=first.count)
    try:
        rows = [[cell.strip() for cell in row] for row in csv.reader(file, delimiter=separator)]
    except csv.Error as error:
        raise DatasetError(f"{path} is not a table ({error}); save it as CSV again") from error
    if separator == ";":  # if semicolons separate cells, commas are decimal points
        rows = [
            [cell.replace(",", ".") if _is_number(cell.replace(",", ".")) else cell for cell in row] for row in rows
        ]
    return [row for row in rows if any(row)]


def read_matrix(path: Path, square: bool = True) -> tuple[NDArray[np.float64], NDArray[np.str_] | None]:
    """Read a square matrix with an optional header and index column; return it with its node names, if any.

    With ``square=False``, also read a table of numbers with one column per node and an optional header.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            plain = np.loadtxt(path, delimiter=",", comments=None, ndmin=2, encoding="utf-8-sig")
        if plain.shape[0] == plain.shape[1]:
            return plain, None
    except (ValueError, OverflowError, UserWarning, DeprecationWarning, OSError):
        pass  # not only numbers; read it cell by cell
    rows = read_table(path)
    width = max(map(len, rows), default=0)
    columns, index = _edges_of(rows, width)
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


def _edges_of(rows: list[list[str]], width: int) -> tuple[list[str], list[str]]:
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


#: Bytes of a file that are read at a time.
BLOCK_BYTES = 2**22
#: Smaller blocks are parsed by NumPy unless numba is loaded already: importing it takes longer.
COMPILED_BYTES = 2**20


def read_numbers(path: Path, dtype: type = float, span: tuple[int, int] | None = None) -> NDArray[Any]:
    """Read comma-separated numbers, of shape (lines, columns); skip blank lines. An empty file has shape (0, 0).

    Args:
        span: the bytes to read, whole lines; None reads the whole file.
    """
    blocks = list(number_blocks(path, dtype, span))
    return np.concatenate(blocks) if blocks else np.zeros((0, 0), dtype=dtype)


def number_blocks(path: Path, dtype: type = float, span: tuple[int, int] | None = None) -> Iterator[NDArray[Any]]:
    """Yield the result of `read_numbers` some lines at a time, for files larger than memory.

    A compiled loop parses plain integers, ten times as fast as NumPy, which parses the rest. Only if NumPy fails are
    lines parsed one by one, to find the wrong one.
    """
    width = 0
    with naming_the_file(path), path.open("rb") as file:
        start, stop = span or (0, os.fstat(file.fileno()).st_size)
        file.seek(start)
        while (left := stop - file.tell()) > 0:
            lines = file.read(min(left, BLOCK_BYTES))
            if not lines:
                break
            if len(lines) < left:
                lines += file.readline()
            if not width:
                lines = lines.removeprefix(codecs.BOM_UTF8)
            rows = _plain_integers(lines)
            if rows is None:
                rows = _by_numpy(lines, dtype)
            if rows is None or (rows.size and width not in (0, rows.shape[1])):
                raise DatasetError(_first_bad_line(path, dtype))
            if rows.size:  # else blank lines
                width = rows.shape[1]
                yield rows.astype(dtype, copy=False)


def _by_numpy(lines: bytes, dtype: type) -> NDArray[Any] | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)  # "1.5" instead of an integer
            warnings.simplefilter("ignore", UserWarning)  # blank lines
            text = io.StringIO(lines.decode("utf-8"), newline=None)
            return np.loadtxt(text, dtype=dtype, delimiter=",", comments=None, ndmin=2)
    except (ValueError, OverflowError, DeprecationWarning):
        return None


def _plain_integers(block: bytes) -> NDArray[np.int64] | None:
    """Parse whole lines of comma-separated integers; None if there is anything else, or too little to compile for."""
    if len(block) < COMPILED_BYTES and "numba" not in sys.modules:
        return None
    if importlib.util.find_spec("numba") is None:
        return None
    first = block.lstrip(b"\r\n").split(b"\n", 1)[0]
    rows = np.empty((block.count(b"\n") + 1, first.count(b",") + 1), dtype=np.int64)
    count = _integer_loop()(np.frombuffer(block, dtype=np.uint8), rows)
    return None if count < 0 else rows[:count]


@lru_cache(maxsize=1)
def _integer_loop() -> Any:
    """Return the compiled loop; numba takes long to import."""
    from isonn.compiled import compiled

    @compiled()
    def read_integers(text, rows):  # type: ignore[no-untyped-def]
        """Write the rows; return their number, or -1 if the text is not plain integers in rows of one length."""
        width, row, column = rows.shape[1], 0, 0
        number, digits, negative, ended, blank = np.int64(0), 0, False, False, True
        for i in range(len(text) + 1):
            sign = text[i] if i < len(text) else np.uint8(10)
            if 48 <= sign <= 57:
                if ended or digits == 18:
                    return -1
                number = number * 10 + np.int64(sign - 48)
                digits, blank = digits + 1, False
            elif sign == 44 or sign == 10:
                if blank and sign == 10 and column == 0:
                    continue
                if digits == 0 or column == width:
                    return -1
                rows[row, column] = -number if negative else number
                column += 1
                number, digits, negative, ended, blank = np.int64(0), 0, False, False, False
                if sign == 10:
                    if column != width:
                        return -1
                    row, column, blank = row + 1, 0, True
            elif sign == 32 or sign == 9:
                if negative and digits == 0:
                    return -1
                blank, ended = False, ended or digits > 0  # a line of spaces is left to NumPy, which refuses it
            elif sign == 45 and digits == 0 and not negative:
                negative, blank = True, False
            elif sign == 13 and (i + 1 == len(text) or text[i + 1] == 10):
                ended = ended or digits > 0
            else:
                return -1
        return row

    return read_integers


def _first_bad_line(path: Path, dtype: type) -> str:
    kind = "an integer" if dtype is int else "a number"
    width = None
    try:
        with path.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                values = line.split(",")
                for value in values:
                    try:
                        too_large = dtype is int and abs(int(value)) >= 2**63
                        dtype(value)
                    except ValueError:
                        return f"line {number} of {path} holds {value.strip()!r:.60}, which is not {kind}; correct it"
                    if too_large:
                        return f"line {number} of {path} holds {value.strip():.60}, beyond 64 bits; use smaller numbers"
                width = len(values) if width is None else width
                if len(values) != width:
                    return (
                        f"line {number} of {path} has {len(values)} columns where the lines before have {width}; "
                        f"correct it"
                    )
    except UnicodeDecodeError:
        return f"{path} is not text in UTF-8; save it as comma-separated numbers"
    return f"{path} does not hold comma-separated numbers; check that this is the right file"
