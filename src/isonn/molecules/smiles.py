"""Read tables with a SMILES column (``.csv``, ``.xlsx``, ...) and lists of SMILES (``.smi``), plain or compressed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice, zip_longest
from pathlib import Path

from isonn.errors import DatasetError
from isonn.graphs.io.registry import RowTable
from isonn.graphs.io.tables import SUFFIXES, begins_with_number, open_text, sheet_names, table_rows
from isonn.graphs.io.target_column import is_missing, measured
from isonn.molecules.columns import choose_column, quoted
from isonn.molecules.files import MoleculeReader, Record, is_name
from isonn.molecules.parse import is_smiles

#: Names of SMILES columns, in lower case.
_USUAL = {"smiles", "smile", "mol", "molecule", "structure", "canonical_smiles", "isomeric_smiles", "smiles_string"}
#: Number of rows used to find the SMILES column, and the share of them that must be SMILES.
_LOOKED_AT, _SHARE = 50, 0.8
#: Maximum number of lines above the names of columns, such as a title and an empty line, that an error tells of.
_TITLE_LINES = 5


class SmilesReader(MoleculeReader):
    """Tables with a header (text with any delimiter, Excel, Parquet), and ``.smi`` (SMILES, then a name)."""

    name = "smiles"
    growth = 32  # 37 bytes a molecule of Ames, compared with about 1,200 in a TU folder
    expects = "a .csv, .tsv, .txt, .xlsx or .parquet table with a SMILES column, a .smi file"
    suffixes = (*SUFFIXES, ".smi", ".smi.gz")

    def recognises(self, path: Path) -> bool:
        """Return whether the file has a known suffix, and is not a ``.txt`` of DGCNN, which begins with a number."""
        numbers = path.suffix.lower() == ".txt" and begins_with_number(path)
        return super().recognises(path) and not numbers

    def records(self, path: Path, smiles: str | None) -> Iterator[Record]:
        """Yield the rows of the file, in order."""
        if _is_list(path):
            yield from _listed_records(path)
            return
        names, column, rows = _open_table(path, smiles)
        for cells in rows:
            others = {name: cell for i, (name, cell) in enumerate(zip(names, cells, strict=True)) if i != column}
            yield Record(cells[column], others)

    def table(self, path: Path, smiles: str | None = None) -> RowTable:
        """Open the file with its columns as they are; the second of one name gets a number."""
        if _is_list(path):
            listed = super().table(path, smiles)
            return RowTable(listed.names, ((source, [source, *cells[1:]]) for source, cells in listed.rows))
        names, column, rows = _open_table(path, smiles)
        return RowTable(names, ((cells[column], cells) for cells in rows))


READER = SmilesReader()


def _is_list(path: Path) -> bool:
    """Return whether a file is a list of SMILES without a header: a ``.smi``, or a ``.txt`` that begins with one."""
    if path.name.lower().endswith((".smi", ".smi.gz")):
        return True
    if not path.name.lower().endswith((".txt", ".txt.gz")):
        return False
    with open_text(path) as file:
        first = file.readline().split()
    return bool(first) and "," not in first[0] and is_smiles(first[0])


def _open_table(path: Path, smiles: str | None) -> tuple[list[str], int, Iterator[list[str]]]:
    """Return the columns, the place of the SMILES among them, and the rows, each with a cell per column.

    Of a workbook, it is the first sheet with such a column.
    """
    problems: dict[str | None, DatasetError] = {}
    sheets: Sequence[str | None] = sheet_names(path) or [None]
    for sheet in sheets:
        rows = table_rows(path, sheet)
        names = _numbered([name.strip() for name in next(rows, [])])
        if not any(names):
            continue
        first = list(islice(rows, _LOOKED_AT))
        try:
            where = path if sheet is None or len(sheets) == 1 else f"sheet {sheet!r} of {path}"
            chosen = (
                _smiles_column(where, names, first) if smiles is None else choose_column(path, names, smiles, "smiles")
            )
        except DatasetError as error:
            if smiles is None and any(map(_holds_smiles, zip_longest(*first[1:], fillvalue=""))):
                raise  # this is the sheet, so none after it is read instead
            problems[sheet] = error
            continue
        column, width = names.index(chosen), len(names)
        _check_header(path, names, first, column)
        return names, column, ((cells + [""] * width)[:width] for cells in chain(first, rows))
    if len(problems) > 1:
        which = "of SMILES" if smiles is None else repr(smiles)
        raise DatasetError(
            f"{path} has no column {which} in any of its sheets ({quoted(list(map(str, problems)))}); name the columns "
            f"in the first line, or the one that holds the structures, such as smiles='structure'"
        )
    raise next(iter(problems.values()), DatasetError(f"{path} has no header; name the columns in the first line"))


def _numbered(names: Sequence[str]) -> list[str]:
    """Return the names of columns with a number after the second of one name.

    Example:
        >>> _numbered(["smiles", "y", "y"])
        ['smiles', 'y', 'y (2)']
    """
    before = [names[:i].count(name) for i, name in enumerate(names)]
    return [f"{name} ({count + 1})" if count and name else name for name, count in zip(names, before, strict=True)]


def _check_header(path: Path, names: Sequence[str], rows: Sequence[Sequence[str]], column: int) -> None:
    """Raise `DatasetError` if the first row continues the header, for example with units."""
    if len(rows) < 3 or len(rows[0]) <= column or is_smiles(rows[0][column]):
        return
    for i, cell in enumerate(rows[0][: len(names)]):
        below = [row[i] for row in rows[1:] if len(row) > i and not is_missing(row[i])]
        if i != column and not is_missing(cell) and not measured(cell) and below and all(map(measured, below)):
            raise DatasetError(
                f"{path} has two header rows: column {names[i]!r} goes on with {cell!r:.40} above numbers; delete the "
                f"second one, or join both"
            )


def _smiles_column(path: Path | str, names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return the column named SMILES, or the only one with SMILES in it."""
    usual = [name for name in names if re.sub(r" \(\d+\)$", "", name.casefold()) in _USUAL]
    if len(usual) == 1:
        return usual[0]
    if any(_holds_smiles([name]) for name in names if name not in usual):
        raise DatasetError(f"{path} begins with a molecule instead of column names; add a header line")
    titled = sum(map(bool, names)) == 1
    for line, row in enumerate(() if usual else rows[:_TITLE_LINES], 2):
        if (titled and sum(map(bool, row)) > 1) or any(cell.strip().casefold() in _USUAL for cell in row):
            above = "line" if line == 2 else "lines"
            raise DatasetError(f"{path} has its column names in line {line}; delete the {above} above them")
    candidates = usual or [name for i, name in enumerate(names) if _holds_smiles([r[i] for r in rows if len(r) > i])]
    if len(candidates) == 1:
        return candidates[0]
    columns = ", ".join(map(repr, names))
    if candidates:
        several = " and ".join(map(repr, candidates))
        raise DatasetError(f"{path} has SMILES in {several}; choose one, such as smiles={candidates[0]!r}")
    inchi = any(cell.startswith("InChI=") for row in rows for cell in row)
    name = next((cell for row in rows for cell in row if is_name(cell)), None)
    remedy = "name the column that holds them, such as smiles='structure'"
    if inchi or name:
        remedy = "convert its InChI to SMILES" if inchi else f"convert names such as {name!r:.40} to SMILES"
    raise DatasetError(f"{path} has no column of SMILES among {columns}; {remedy}")


def _holds_smiles(cells: Sequence[str]) -> bool:
    """Return whether most cells are molecules, ignoring numbers and single letters."""
    texts = [cell for cell in cells if not is_missing(cell)]
    if not texts or max(map(len, texts)) < 3:
        return False
    return sum(not is_smiles(text) for text in texts) <= (1 - _SHARE) * len(texts)


def _listed_records(path: Path) -> Iterator[Record]:
    with open_text(path) as file:
        for number, line in enumerate(file):
            smiles, _, name = line.strip().partition(" ") if "\t" not in line else line.strip().partition("\t")
            if not smiles or smiles.startswith("#") or (number == 0 and smiles.casefold().strip('"') in _USUAL):
                continue
            yield Record(smiles, {"name": name.strip()} if name.strip() else {})
