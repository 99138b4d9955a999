"""Read numbers and tables from text files in common encodings, with errors that name the file and line."""

from __future__ import annotations

import codecs
import csv
import io
import warnings
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


def read_text(path: Path) -> str:
    """Read a text file."""
    try:
        data = path.read_bytes()
        text = data.decode(encoding_of(data[: 2**20]))
    except (FileNotFoundError, IsADirectoryError) as error:
        raise DatasetError(f"{path} is missing; put it there") from error
    except UnicodeError as error:
        raise DatasetError(f"{path} is not text; check that this is the right file, saved as UTF-8") from error
    except OSError as error:
        raise DatasetError(f"{path} cannot be read ({error.strerror}); check its permissions") from error
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
        at = next(i for i, (one, two) in enumerate(zip(columns, index, strict=True)) if one != two)
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


def read_numbers(path: Path, dtype: type = float) -> NDArray[Any]:
    """Read a table of shape (lines, columns); skip blank lines. An empty file has shape (0, 0)."""
    reader = NumberReader(path, dtype)
    try:
        rows = reader.read(None)
    finally:
        reader.close()
    return rows


class NumberReader:
    """Reader of comma-separated numbers, some lines at a time, for files larger than memory.

    NumPy parses the lines (5 million lines of two integers in 0.8 s). Only if it fails are lines parsed one by one, to
    find the wrong one.

    Attributes:
        path: the path of the file.
    """

    def __init__(self, path: Path, dtype: type = float) -> None:
        self.path = path
        self._dtype, self._width = dtype, 0
        try:
            self._file = path.open(encoding="utf-8-sig")
        except (FileNotFoundError, IsADirectoryError) as error:
            raise DatasetError(f"{path} is missing; put it there") from error
        except OSError as error:
            raise DatasetError(f"{path} cannot be read ({error.strerror}); check its permissions") from error

    def read(self, count: int | None) -> NDArray[Any]:
        """Return the next lines, at most ``count``; none at the end."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", DeprecationWarning)  # "1.5" instead of an integer
                warnings.simplefilter("ignore", UserWarning)  # blank lines, or the end of the file
                rows: NDArray[Any] = np.loadtxt(
                    self._file, dtype=self._dtype, delimiter=",", comments=None, ndmin=2, max_rows=count
                )
        except (ValueError, OverflowError, DeprecationWarning) as error:
            self.close()
            raise DatasetError(_first_bad_line(self.path, self._dtype)) from error
        except OSError as error:
            raise DatasetError(f"{self.path} cannot be read ({error.strerror}); check the file") from error
        if not rows.size:
            return np.zeros((0, self._width), dtype=self._dtype)
        if self._width not in (0, rows.shape[1]):
            raise DatasetError(_first_bad_line(self.path, self._dtype))
        self._width = rows.shape[1]
        return rows

    def close(self) -> None:
        """Close the file."""
        self._file.close()


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
