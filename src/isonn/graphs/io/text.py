"""Numbers in large text files, with errors that name the file and line."""

from __future__ import annotations

import codecs
import io
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import DatasetError

#: The largest integer that a float represents exactly; larger labels could collide.
EXACT = 2**53
#: Bytes of a file that are read at a time.
BLOCK_BYTES = 2**22
#: Smaller blocks are parsed by NumPy unless numba is loaded already: importing it takes longer.
COMPILED_BYTES = 2**20


def read_numbers(path: Path, dtype: type = float) -> NDArray[Any]:
    """Read comma-separated numbers, of shape (lines, columns); skip blank lines. An empty file has shape (0, 0)."""
    blocks = list(number_blocks(path, dtype))
    return np.concatenate(blocks) if blocks else np.zeros((0, 0), dtype=dtype)


def number_blocks(path: Path, dtype: type = float) -> Iterator[NDArray[Any]]:
    """Yield the result of `read_numbers` some lines at a time, for files larger than memory.

    A compiled loop parses plain integers, ten times as fast as NumPy, which parses the rest. Only if NumPy fails are
    lines parsed one by one, to find the wrong one.
    """
    width = 0
    with path.open("rb") as file:
        while lines := file.read(BLOCK_BYTES):
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
    from isonn.graphs.io.integers import read_integers  # imports numba

    first = block.lstrip(b"\r\n").split(b"\n", 1)[0]
    rows = np.empty((block.count(b"\n") + 1, first.count(b",") + 1), dtype=np.int64)
    count = read_integers(np.frombuffer(block, dtype=np.uint8), rows)
    return None if count < 0 else rows[:count]


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
