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


def _first_bad_line(path: Path, dtype: type) -> str:
    kind = "an integer" if dtype is int else "a number"
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        return f"{path} is not text in UTF-8; save it as comma-separated numbers"
    width = None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        values = line.split(",")
        for value in values:
            try:
                dtype(value)
            except ValueError:
                return f"line {number} of {path} holds {value.strip()!r:.60}, which is not {kind}; correct the line"
        width = len(values) if width is None else width
        if len(values) != width:
            return f"line {number} of {path} has {len(values)} columns where the lines before have {width}; correct it"
    return f"{path} does not hold comma-separated numbers; check that it is the right file"
