"""Rows of predictions as files: CSV, TSV, JSON and Parquet."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from isonn.errors import InputError, MissingDependencyError
from isonn.files import atomic_file

#: The formats by suffix.
SUFFIXES = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".txt": "tsv", ".json": "json", ".parquet": "parquet"}


class Format(NamedTuple):
    """How rows are written.

    Attributes:
        name: "csv", "tsv", "json" or "parquet".
        compress: whether the file is compressed by gzip.

    Example:
        >>> Format("csv").encode([[0, "C, N"]], ["graph", "note"])
        b'0,"C, N"\\n'
    """

    name: str
    compress: bool = False

    @classmethod
    def of(cls, out: Path) -> Format:
        """Return the format that the name of a file asks for; raise `InputError` if there is no such format."""
        plain = Path(out.name.lower().removesuffix(".gz"))
        compress = out.name.lower().endswith(".gz")
        name = SUFFIXES.get(plain.suffix)
        if name is None or (name == "parquet" and compress):
            raise InputError(
                f"--out {out} has no format that can be written; use .csv, .tsv, .json (also .gz), or .parquet"
            )
        if name == "parquet" and find_spec("pyarrow") is None:
            raise MissingDependencyError(f"writing {out.name} needs pyarrow; pip install pyarrow")
        return cls(name, compress)

    def encode(self, rows: Sequence[Sequence[Any]], names: Sequence[str]) -> bytes:
        """Return some rows as `write` takes them; for Parquet they are lines of CSV until then."""
        if self.name == "json":
            objects = (json.dumps(dict(zip(names, map(_typed, row), strict=True))) for row in rows)
            return self._packed(",\n".join(objects).encode())
        buffer = io.StringIO()
        csv.writer(buffer, "excel-tab" if self.name == "tsv" else "excel", lineterminator="\n").writerows(rows)
        return self._packed(buffer.getvalue().encode())

    def write(self, pieces: Iterable[bytes], out: Path, columns: dict[str, bool]) -> None:
        """Write a file in one step.

        Args:
            pieces: rows from `encode`.
            out: the file.
            columns: the names of columns, each with whether it holds numbers.
        """
        if self.name == "json":
            head, between, tail = map(self._packed, (b"[\n", b",\n", b"\n]\n"))
        else:
            head, between, tail = self.encode([list(columns)], ()), b"", b""
        with atomic_file(out) as temporary:
            if self.name == "parquet":
                _write_parquet((head + piece for piece in pieces), temporary, columns)
                return
            with temporary.open("wb") as file:
                file.write(head)
                for i, piece in enumerate(pieces):
                    file.write(between + piece if i else piece)
                file.write(tail)

    def _packed(self, text: bytes) -> bytes:
        """Return bytes as a member of a .gz file, if asked."""
        return gzip.compress(text, 6, mtime=0) if self.compress and text else text


_INTEGER, _FLOAT = re.compile(r"-?(0|[1-9]\d{0,15})"), re.compile(r"-?(0|[1-9]\d*)\.\d+([eE][-+]?\d+)?")


def _typed(cell: Any) -> Any:
    """Return a cell of text as a number if it is written like one, and None if it is empty."""
    if not isinstance(cell, str):
        return cell
    return int(cell) if _INTEGER.fullmatch(cell) else float(cell) if _FLOAT.fullmatch(cell) else cell or None


def _write_parquet(texts: Iterable[bytes], path: Path, columns: dict[str, bool]) -> None:
    """Convert texts of CSV to one file of Parquet; columns of the user are text."""
    import pyarrow
    from pyarrow.csv import ConvertOptions, ParseOptions, read_csv
    from pyarrow.parquet import ParquetWriter

    types = {name: pyarrow.float64() if number else pyarrow.string() for name, number in columns.items()}
    types["graph"] = pyarrow.int64()
    convert = ConvertOptions(column_types=types, strings_can_be_null=False)
    parse = ParseOptions(newlines_in_values=True)
    with ParquetWriter(path, pyarrow.schema(types)) as writer:
        for text in texts:
            writer.write_table(read_csv(io.BytesIO(text), parse_options=parse, convert_options=convert))
