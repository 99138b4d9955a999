"""DATA of `isonn predict` as pieces of some thousand rows: files, folders, named datasets and SMILES."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any

from isonn.aligned.estimators import AlignedEstimator
from isonn.errors import DatasetError, InputError
from isonn.files import is_path
from isonn.graphs.convert import is_smiles, readable_rows
from isonn.graphs.datasets.registry import find, known
from isonn.graphs.graph import GraphSet
from isonn.graphs.io.registry import Problem, RowReader, check_options, datasets_at, reader_of, size_of, with_likely
from isonn.graphs.io.tables import SUFFIXES
from isonn.graphs.stream import stream

#: Bytes of each end of a file that its digest reads.
_ENDS = 2**20
#: The rows of a table as texts, not parsed yet, or graphs; and the cells of each row.
Rows = tuple[list[str] | GraphSet, list[list[Any]]]


@dataclass(frozen=True)
class Header:
    """What the rows of a source have in common.

    Attributes:
        file: the name of the source, for the column "file" and warnings.
        names: its columns.
        truth: those that hold true values.
        ids: the one that names the graphs, or None.
        reader: what parses its texts; None for SMILES.
        blank: as in `isonn.graphs.io.registry.RowTable`.
        may_fail: whether some rows may not be graphs.
    """

    file: str
    names: list[str]
    truth: Sequence[str] = ()
    ids: str | None = None
    reader: RowReader | None = None
    blank: int | None = None
    may_fail: bool = True


@dataclass(frozen=True)
class Piece:
    """Some rows of one source, to be predicted by one call.

    Attributes:
        header: of the source.
        numbers: the number of each row in DATA, from 0.
        rows: the texts of the graphs, or the graphs.
        cells: the cells of each row.
    """

    header: Header
    numbers: Sequence[int]
    rows: list[str] | GraphSet
    cells: list[list[Any]]

    def only(self, wanted: set[int]) -> Piece | None:
        """Return the wanted rows, or None if there are none."""
        places = [i for i, number in enumerate(self.numbers) if number in wanted]
        if not places:
            return None
        rows = [self.rows[i] for i in places] if isinstance(self.rows, list) else self.rows[places]
        return replace(
            self, numbers=[self.numbers[i] for i in places], rows=rows, cells=[self.cells[i] for i in places]
        )

    def parse(self, standardize: str | None) -> tuple[GraphSet | None, list[Problem]]:
        """Return the graphs (None if there are none), and the rows that are not graphs."""
        if not isinstance(self.rows, list):
            return self.rows, []
        if self.header.reader is None:
            return readable_rows(self.rows, standardize)
        return self.header.reader.parse_rows(self.rows, self.header.file, standardize)


@dataclass(frozen=True)
class Source:
    """One file, dataset or list of SMILES.

    Attributes:
        header: its columns.
        rows: reads it in order, so many rows at once; may be called again.
        key: a text that changes with the content.
        count: returns how many rows there are, for a progress bar, or None.
    """

    header: Header
    rows: Callable[[int], Iterator[Rows]]
    key: str
    count: Callable[[], int | None]


def _table(reader: RowReader, path: Path, smiles: str | None, target: Any, likely: Sequence[str]) -> Source:
    """Return a file with a graph per row, such as a CSV file of SMILES; its key is made of name, size and both ends."""
    table = reader.table(path, smiles)
    truth, ids = reader.column_roles(path, table.names, list(islice(table.rows, 1000)), target, likely)
    size = path.stat().st_size
    with path.open("rb") as file:
        ends = file.read(_ENDS)
        file.seek(max(0, size - _ENDS))
        ends += file.read()

    def rows(at_once: int) -> Iterator[Rows]:
        unread = reader.table(path, smiles).rows
        while chunk := list(islice(unread, at_once)):
            yield [text for text, _ in chunk], [cells for _, cells in chunk]

    def count() -> int:
        """Count the rows, which takes a small part of the time of predicting them."""
        return sum(1 for _ in reader.table(path, smiles).rows)

    header = Header(path.name, table.names, truth, ids, reader, table.blank)
    return Source(header, rows, f"{path.name} {size} {hashlib.sha256(ends).hexdigest()}", count)


def _dataset(data: str, clf: Any, options: dict[str, Any]) -> Source:
    """Return a dataset that is read as graphs: a known name, a TU folder, matrices; its key is its size in bytes."""
    classes = hasattr(clf, "predict_proba")
    read = partial(stream, data, **with_likely(data, target_names(clf), options))
    graphs = iter(read())
    first = next(graphs, None)
    unread = [chain([] if first is None else [first], graphs)]  # what was read for its columns is not read again
    names: list[str] = []
    truth: list[str] = []
    if first is not None:
        if first.y is not None:
            word = "class" if classes else "value"
            several = list(first.target_names) or [f"{word} {i}" for i in range(first.y.shape[-1])]
            truth = several if first.y.ndim == 2 else [word]
        names = [*(["id"] if first.ids is not None else []), *first.table, *truth]

    def rows(at_once: int) -> Iterator[Rows]:
        for piece in unread.pop() if unread else read(at_once=at_once):
            yield piece, _cells(piece, classes)

    path = Path(data).expanduser()
    key = f"{data} {size_of(path) if is_path(path) else ''}"
    return Source(Header(data, names, truth, may_fail=False), rows, key, lambda: None)


def _cells(graphs: GraphSet, classes: bool) -> list[list[Any]]:
    """Return ids, table and true values of graphs, a list for each graph."""

    def plain(value: Any) -> Any:
        """Return a true value as it was in the file: gaps are empty, and do not make whole classes numbers."""
        if not isinstance(value, float):
            return value
        return None if value != value else int(value) if classes and value.is_integer() else value

    columns = [] if graphs.ids is None else [graphs.ids.tolist()]
    columns += [column.tolist() for column in graphs.table.values()]
    if graphs.y is not None:
        columns += [list(map(plain, column)) for column in graphs.y.reshape(len(graphs), -1).T.tolist()]
    return [[column[i] for column in columns] for i in range(len(graphs))]


def _smiles(smiles: list[str]) -> Source:
    """Return SMILES that were given one by one."""

    def rows(at_once: int) -> Iterator[Rows]:
        for start in range(0, len(smiles), at_once):
            texts = smiles[start : start + at_once]
            yield texts, [[text] for text in texts]

    return Source(Header("SMILES", ["smiles"]), rows, " ".join(smiles), lambda: len(smiles))


def sources_of(data: Sequence[str], clf: Any, **options: Any) -> list[Source]:
    """Return the sources that DATA names, in order.

    Args:
        data: paths of files and folders, names of datasets, and SMILES. Of a folder of tables, each is a source.
        clf: the model; if tables have the columns it was fitted to, they hold true values.
        options: ``smiles`` and ``target`` for tables, and options of other readers.
    """
    sources: list[Source] = []
    molecules = smiles_among(data)
    for are_smiles, items in groupby(data, key=lambda item: item in molecules):
        if are_smiles:
            sources.append(_smiles(list(items)))
            continue
        for item in items:
            check_item(item, clf)
            if tables := _tables(item, options, getattr(clf, "kind_", "") == "molecules"):
                given = options.get("smiles"), options.get("target"), target_names(clf)
                sources += [_table(reader, file, *given) for reader, file in tables]
            else:
                sources.append(_dataset(item, clf, options))
    return sources


def smiles_among(data: Sequence[str]) -> list[str]:
    """Return the items of DATA that are SMILES, not paths or datasets.

    Where one is a SMILES, the others are SMILES with an error, unless they are named like files.
    """
    unknown = [item for item in data if not is_path(item) and not is_dataset(item)]
    if not any(is_smiles(item) or re.search(r"[()\[\]=#@]", item) for item in unknown):
        return []
    return [item for item in unknown if not item.lower().endswith(SUFFIXES)]


def target_names(clf: Any) -> list[str]:
    """Return the columns that a model was fitted to; [] if they had no names."""
    return [name for _, name in sorted(clf.label_names_.get("target", {}).items())]


def _tables(item: str, options: dict[str, Any], molecules: bool) -> list[tuple[RowReader, Path]]:
    """Return the tables at a path; [] for anything else. A folder of CSV files holds matrices, unless of molecules."""
    if not is_path(item):
        return []
    path = Path(item).expanduser()
    if path.is_file() and reader_of(path) is None:
        return []
    if molecules and path.is_dir():
        inside = [(reader_of(file), file) for file in sorted(path.iterdir()) if file.is_file()]
    else:
        inside = list(datasets_at(path))
    tables = [(reader, file) for reader, file in inside if isinstance(reader, RowReader)]
    if len(tables) < len(inside) and not molecules:
        return []
    for reader, _ in tables:
        check_options(reader, options)
    return tables


def check_item(item: str, clf: Any) -> None:
    """Raise `InputError` if an item of DATA is of another kind than the graphs of the model.

    Names of molecules, such as aspirin, are not looked up elsewhere, and a file of one matrix is not a table of SMILES.
    """
    if getattr(clf, "kind_", "") == "molecules" and not is_path(item) and not is_dataset(item):
        raise InputError(
            f"there is no dataset and no file {item!r:.100}, and it is no SMILES; give a path, or write the structure "
            f"as SMILES"
        )
    path = Path(item).expanduser()
    if isinstance(clf, AlignedEstimator) and is_path(item) and path.is_file():
        reader = reader_of(path)
        if reader is None or isinstance(reader, RowReader):
            raise InputError(
                f"{item} is one file, but this model reads matrices from folders; give the folder that holds it, with "
                f"participants.tsv or with a .csv file per matrix"
            )


def is_dataset(name: str) -> bool:
    """Return whether a dataset of this name is known, or on this machine."""
    if name.casefold() in {entry.name.casefold() for entry in known()}:
        return True
    try:
        return find(name) is not None
    except DatasetError:
        return False


def pieces_of(sources: Sequence[Source]) -> Iterator[Piece]:
    """Yield all rows of the sources in order, some thousand at a time."""
    from isonn.graphs.stream import AT_ONCE

    done = 0
    for source in sources:
        for rows, cells in source.rows(AT_ONCE):
            yield Piece(source.header, range(done, done + len(cells)), rows, cells)
            done += len(cells)
