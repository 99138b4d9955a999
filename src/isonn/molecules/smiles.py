"""Read tables with a SMILES column (``.csv``) and lists of SMILES (``.smi``), plain or compressed."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TextIO

from isonn.errors import DatasetError
from isonn.graphs.io.text import encoding_of
from isonn.molecules.convert import read_molecules
from isonn.molecules.files import MoleculeReader, Record, choose_column, is_missing

#: Names of SMILES columns, in lower case.
_USUAL = {"smiles", "smile", "mol", "molecule", "structure", "canonical_smiles", "isomeric_smiles", "smiles_string"}
#: Number of rows used to find the SMILES column, and the share of them that must be SMILES.
_LOOKED_AT, _SHARE = 50, 0.8
#: Number of bytes used to detect the encoding.
_HEAD = 2**20
#: Maximum length of a cell: some hundred thousand atoms.
_LONGEST = 2**24


class SmilesReader(MoleculeReader):
    """``.csv`` with a header (commas, semicolons or tabs) and ``.smi`` (SMILES, then a name), also ``.gz``."""

    name = "smiles"
    growth = 32  # 37 bytes a molecule of Ames, compared with about 1,200 in a TU folder
    expects = "a .csv with a SMILES column, a .smi file"
    suffixes = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".smi", ".smi.gz")

    def records(self, path: Path, smiles: str | None) -> Iterator[Record]:
        """Yield the rows of the file, in order."""
        if ".smi" in path.suffixes[-2:]:
            return _smi_records(path)
        return _csv_records(path, smiles)


READER = SmilesReader()


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


def _csv_records(path: Path, smiles: str | None) -> Iterator[Record]:
    before = csv.field_size_limit(_LONGEST)
    try:
        with open_text(path) as file:
            yield from _table_records(path, file, smiles)
    except csv.Error as error:
        raise DatasetError(f"{path} is not a table ({error}); save it as CSV again") from error
    finally:
        csv.field_size_limit(before)


def _table_records(path: Path, file: TextIO, smiles: str | None) -> Iterator[Record]:
    first = file.readline()
    if first.lower().startswith("sep="):  # written by spreadsheets to give the delimiter
        first = file.readline()
    delimiter = max(",;\t", key=first.count)
    names = [name.strip() for name in next(csv.reader([first], delimiter=delimiter), [])]
    if not any(names):
        raise DatasetError(f"{path} has no header; name the columns in the first line")
    lines = csv.reader(file, delimiter=delimiter)
    looked_at = list(islice(lines, _LOOKED_AT))
    column = names.index(
        _smiles_column(path, names, looked_at) if smiles is None else choose_column(path, names, smiles, "smiles")
    )
    row = 0
    for part in (looked_at, lines):
        for cells in part:
            if not cells:
                continue  # an empty line
            padded = cells + [""] * (len(names) - len(cells))
            others = {name: cell for i, (name, cell) in enumerate(zip(names, padded, strict=False)) if i != column}
            yield Record(row, padded[column], others)
            row += 1


def _smiles_column(path: Path, names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return the column named SMILES, or the only one with SMILES in it."""
    usual = [name for name in names if name.casefold() in _USUAL]
    if len(usual) == 1:
        return usual[0]
    if any(_is_smiles([name]) for name in names if name not in usual):
        raise DatasetError(f"{path} begins with a molecule instead of column names; add a header line")
    candidates = usual or [name for i, name in enumerate(names) if _is_smiles([r[i] for r in rows if len(r) > i])]
    if len(candidates) == 1:
        return candidates[0]
    columns = ", ".join(map(repr, names))
    if candidates:
        found = " and ".join(map(repr, candidates))
        raise DatasetError(f"{path} has SMILES in {found}; give one of them as smiles")
    inchi = any(cell.startswith("InChI=") for row in rows for cell in row)
    remedy = "convert its InChI to SMILES" if inchi else "give the column that holds them as smiles"
    raise DatasetError(f"{path} has no column of SMILES among {columns}; {remedy}")


def _is_smiles(cells: Sequence[str]) -> bool:
    """Return whether most cells are molecules, ignoring numbers and single letters."""
    texts = [cell for cell in cells if not is_missing(cell)]
    if not texts or max(map(len, texts)) < 3:
        return False
    _, problems = read_molecules(texts)
    return len(problems) <= (1 - _SHARE) * len(texts)


def _smi_records(path: Path) -> Iterator[Record]:
    with open_text(path) as file:
        row = 0
        for number, line in enumerate(file):
            smiles, _, name = line.strip().partition(" ") if "\t" not in line else line.strip().partition("\t")
            if not smiles or smiles.startswith("#") or (number == 0 and smiles.casefold().strip('"') in _USUAL):
                continue
            yield Record(row, smiles, {"name": name.strip()} if name.strip() else {})
            row += 1
