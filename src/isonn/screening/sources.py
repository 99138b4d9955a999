"""DATA of `isonn predict` as pieces of some thousand rows: files, folders, named datasets and SMILES."""

from __future__ import annotations

import gzip
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from isonn.errors import DatasetError
from isonn.files import is_path
from isonn.graphs.convert import is_smiles, readable_rows
from isonn.graphs.datasets.registry import find, known
from isonn.graphs.graph import GraphSet
from isonn.graphs.io.registry import Problem, Reader, check_options, datasets_at, reader_of, size_of, with_likely
from isonn.graphs.io.tables import SUFFIXES
from isonn.graphs.stream import stream

#: Bytes of each end of a file that its digest reads.
_ENDS = 2**20


@dataclass(frozen=True)
class TableRows:
    """Some rows of a table, not parsed yet; ``blank`` is as in `isonn.graphs.io.registry.RowTable`."""

    reader: Reader | None
    name: str
    sources: list[str]
    cells: list[list[str]]
    blank: int | None = None

    def __len__(self) -> int:
        return len(self.sources)

    def __getitem__(self, places: Sequence[int]) -> TableRows:
        return replace(self, sources=[self.sources[i] for i in places], cells=[self.cells[i] for i in places])

    def parse(self, standardize: str | None) -> tuple[GraphSet | None, list[Problem]]:
        """Return the graphs, and the rows that are not graphs."""
        if self.reader is None:
            return readable_rows(self.sources, standardize)
        return self.reader.parse_rows(self.sources, self.name, standardize)


@dataclass(frozen=True)
class Piece:
    """Some rows of DATA, to be predicted by one call.

    Attributes:
        numbers: the number of each row in DATA, from 0.
        source: the number of its source.
        rows: the graphs, or the rows of a table.
    """

    numbers: Sequence[int]
    source: int
    rows: TableRows | GraphSet

    def only(self, wanted: set[int]) -> Piece | None:
        """Return the wanted rows, or None if there are none."""
        places = [i for i, number in enumerate(self.numbers) if number in wanted]
        return replace(self, numbers=[self.numbers[i] for i in places], rows=self.rows[places]) if places else None


class Source(ABC):
    """One file, dataset or list of SMILES.

    Attributes:
        name: shown in the column "file".
        names: the columns that it brings.
        truth: those that hold true values.
        ids: the one that names the graphs, or None.
        may_fail: whether some rows may not be graphs.
    """

    name: str
    names: list[str]
    truth: list[str]
    ids: str | None = None
    may_fail: bool = True

    @abstractmethod
    def chunks(self, at_once: int) -> Iterator[TableRows | GraphSet]:
        """Yield the rows in order; may be called again."""

    @abstractmethod
    def key(self) -> str:
        """Return a digest that changes with the content."""

    def count(self) -> int | None:
        """Return about how many rows there are, for a progress bar, or None."""
        return None


class TableSource(Source):
    """A file with a graph per row, such as a CSV file of SMILES."""

    def __init__(self, reader: Reader, path: Path, smiles: str | None, target: Any, likely: Sequence[str]) -> None:
        self.reader, self.path, self.smiles, self.name = reader, path, smiles, path.name
        table = reader.table(path, smiles)
        self.names = table.names
        first = [cells for _, cells in islice(table.rows, 1000)]
        self.truth, self.ids = reader.column_roles(path, table.names, first, target, likely)

    def chunks(self, at_once: int) -> Iterator[TableRows]:
        """Yield the rows, unparsed."""
        table = self.reader.table(self.path, self.smiles)
        title = self.reader.title(self.path)
        while rows := list(islice(table.rows, at_once)):
            sources, cells = map(list, zip(*rows, strict=True))
            yield TableRows(self.reader, title, sources, cells, table.blank)

    def key(self) -> str:
        """Return a digest of the file's name, size and both ends."""
        size = self.path.stat().st_size
        with self.path.open("rb") as file:
            ends = file.read(_ENDS)
            file.seek(max(0, size - _ENDS))
            ends += file.read()
        return f"{self.path.name} {size} {hashlib.sha256(ends).hexdigest()}"

    def count(self) -> int | None:
        """Count the lines of text, or the records."""
        suffixes = self.path.suffixes[-2:]
        if suffixes[-1:] == [".parquet"]:
            from pyarrow.parquet import ParquetFile

            return int(ParquetFile(self.path).metadata.num_rows)
        if suffixes[-1:] in ([".xlsx"], [".xlsm"]):
            return None
        mark, header = (b"$$$$", 0) if {".sdf", ".sd"} & set(suffixes) else (b"\n", ".smi" not in suffixes)
        opener = gzip.open if self.path.suffix == ".gz" else open
        with opener(self.path, "rb") as file:
            return sum(block.count(mark) for block in iter(lambda: file.read(2**20), b"")) - header


class GraphSource(Source):
    """A dataset that is read as graphs: a known name, a TU folder, matrices."""

    may_fail = False

    def __init__(self, data: str, options: dict[str, Any], truth: str, at_once: int) -> None:
        self.name, self._options = data, options
        self._opened: Iterator[GraphSet] | None = iter(stream(self.name, at_once, **self._options))
        first = next(self._opened, None)
        self.names, self.truth = [], []
        if first is None:
            return
        self._opened = chain([first], self._opened)
        if first.y is not None:
            several = list(first.target_names) or [f"{truth} {i}" for i in range(first.y.shape[-1])]
            self.truth = several if first.y.ndim == 2 else [truth]
        self.names = [*(["id"] if first.ids is not None else []), *first.table, *self.truth]

    def chunks(self, at_once: int) -> Iterator[GraphSet]:
        """Yield the graphs; those that were read for their columns are not read again."""
        opened, self._opened = self._opened, None
        return iter(stream(self.name, at_once, **self._options)) if opened is None else opened

    def key(self) -> str:
        """Return the dataset and its size in bytes."""
        path = Path(self.name).expanduser()
        return f"{self.name} {size_of(path) if is_path(path) else ''}"

    def count(self) -> int | None:
        """Return the number of graphs of a folder that is read in parts."""
        parts = stream(self.name, **self._options).parts()
        return None if parts is None else sum(map(len, parts))


class SmilesSource(Source):
    """SMILES that were given one by one."""

    def __init__(self, smiles: list[str]) -> None:
        self.name, self.names, self.truth, self.smiles = "SMILES", ["smiles"], [], smiles

    def chunks(self, at_once: int) -> Iterator[TableRows]:
        """Yield the SMILES."""
        for start in range(0, len(self.smiles), at_once):
            sources = self.smiles[start : start + at_once]
            yield TableRows(None, "SMILES", sources, [[text] for text in sources])

    def key(self) -> str:
        """Return the SMILES."""
        return " ".join(self.smiles)

    def count(self) -> int:
        """Return their number."""
        return len(self.smiles)


def sources_of(data: Sequence[str], clf: Any, at_once: int, **options: Any) -> list[Source]:
    """Return the sources that DATA names, in order.

    Args:
        data: paths of files and folders, names of datasets, and SMILES. Of a folder of tables, each is a source.
        clf: the model; if tables have the columns it was fitted to, they hold true values.
        at_once: number of rows per piece.
        options: ``smiles`` and ``target`` for tables, and options of other readers.
    """
    found: list[Source] = []
    truth = "class" if hasattr(clf, "predict_proba") else "value"
    unknown = [item for item in data if not is_path(item) and not is_dataset(item)]
    # beside a SMILES, other texts are SMILES with an error, unless they are named like files
    smiles = unknown if any(map(is_smiles, unknown)) else []
    smiles = [item for item in smiles if not item.lower().endswith(SUFFIXES)]
    for item in data:
        tables = _tables(item, options, getattr(clf, "kind_", "") == "molecules")
        if tables:
            given = {name: options.get(name) for name in ("smiles", "target")}
            found += [TableSource(reader, file, likely=target_names(clf), **given) for reader, file in tables]
        elif item in smiles:
            last = found[-1] if found else None
            if isinstance(last, SmilesSource):
                last.smiles.append(item)
            else:
                found.append(SmilesSource([item]))
        else:
            found.append(GraphSource(item, with_likely(item, target_names(clf), options), truth, at_once))
    return found


def target_names(clf: Any) -> list[str]:
    """Return the columns that a model was fitted to; [] if they had no names."""
    return [name for _, name in sorted(clf.label_names_.get("target", {}).items())]


def _tables(item: str, options: dict[str, Any], molecules: bool) -> list[tuple[Reader, Path]]:
    """Return the tables at a path; [] for anything else. A folder of CSV files holds matrices, unless of molecules."""
    if not is_path(item):
        return []
    path = Path(item).expanduser()
    if path.is_file() and reader_of(path) is None:
        return []
    if molecules and path.is_dir():
        files = [(reader_of(file), file) for file in sorted(path.iterdir()) if file.is_file()]
        inside = [(reader, file) for reader, file in files if reader is not None and reader.keeps_rows]
    else:
        inside = list(datasets_at(path))
    if not all(reader.keeps_rows for reader, _ in inside):
        return []
    for reader, _ in inside:
        check_options(reader, options)
    return inside


def is_dataset(name: str) -> bool:
    """Return whether a dataset of this name is known, or on this machine."""
    if name.casefold() in {entry.name.casefold() for entry in known()}:
        return True
    try:
        return find(name) is not None
    except DatasetError:
        return False


def pieces_of(sources: Sequence[Source], at_once: int) -> Iterator[Piece]:
    """Yield all rows of the sources in order, some thousand at a time."""
    done = 0
    for number, source in enumerate(sources):
        for rows in source.chunks(at_once):
            yield Piece(range(done, done + len(rows)), number, rows)
            done += len(rows)
