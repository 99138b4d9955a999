"""Common parts of molecule readers: columns, the target, and unusable rows."""

from __future__ import annotations

import hashlib
import math
import re
import warnings
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rdkit.Chem import Mol

from isonn.errors import DatasetError, IsoNNWarning
from isonn.graphs.graph import GraphSet
from isonn.graphs.io.registry import LISTED, Problem, Reader, left_out
from isonn.molecules.convert import parse_smiles, read_molecules

#: Texts that mean a missing value.
MISSING = {"", "na", "nan", "n/a", "none", "null", "?"}
#: Maximum number of distinct texts in a column of classes.
MOST_CLASSES = 20
#: Columns that are not used as the target unless named.
_NO_TARGET = re.compile(
    r"|unnamed: ?\d+|index|idx|row|cas|.*smiles.*|.*inchi.*|names?|(.*[_ -])?id|(c|s|mol|chembl|pubchem)id|compound.*"
    r"|molecule.*"
    r"|split|fold|set|groups?|scaffold"
)
#: Columns that name a molecule.
_ID = re.compile(r"id|name|mol_?id|molecule_?id|compound(_?(id|name))?|.*_id")


@dataclass
class Record:
    """One row of a file: its number from 0, the text to parse, and the other columns as text."""

    row: int
    source: str
    cells: dict[str, str] = field(default_factory=dict)


@dataclass
class Column:
    """The facts about a column after all its cells have been read."""

    present: int = 0
    missing: int = 0
    numeric: bool = True
    whole: bool = True
    distinct: set[str] = field(default_factory=set)

    def add(self, text: str) -> None:
        """Add one more cell."""
        if is_missing(text):
            self.missing += 1
            return
        self.present += 1
        if len(self.distinct) <= MOST_CLASSES:
            self.distinct.add(text)
        if self.numeric:
            number = _number(text)
            self.numeric = number is not None
            self.whole = self.whole and number is not None and number.is_integer() and abs(number) < 2**53

    @property
    def may_be_target(self) -> bool:
        """Return whether it has numbers, or classes that repeat."""
        classes = len(self.distinct) <= MOST_CLASSES and self.present >= 2 * len(self.distinct)
        return self.present > 0 and (self.numeric or classes)


class MoleculeReader(Reader):
    """A file with a molecule per row and further columns.

    Rows without a readable molecule, and rows without a target, are left out and listed in one warning. Molecules that
    are equal graphs have the same text in ``table["groups"]``, so that splits can keep them together.
    """

    keeps_rows = True
    suffixes: tuple[str, ...]

    def parse(self, source: str, log: list[str]) -> tuple[Mol | str, str]:
        """Return the molecule of a record, or the reason why it cannot be read, and its SMILES or another text."""
        return parse_smiles(source, log)

    @abstractmethod
    def records(self, path: Path, smiles: str | None) -> Iterator[Record]:
        """Yield the rows of the file, in order."""

    def recognises(self, path: Path) -> bool:
        """Return whether the file has a known suffix."""
        return path.is_file() and path.name.lower().endswith(self.suffixes)

    def title(self, path: Path) -> str:
        """Return the file's name without its suffix."""
        return path.name[: -max(len(end) for end in self.suffixes if path.name.lower().endswith(end))]

    def read(self, path: Path, *, smiles: str | None = None, target: str | Sequence[str] | None = None) -> GraphSet:
        """Read the molecules of the file.

        Args:
            smiles: the column with SMILES; None finds it if only one fits.
            target: the column to predict, or several ("a,b" or a list); None finds it if only one fits.
        """
        columns = self._survey(path, smiles)
        wanted = choose_targets(path, columns, target)
        graphs, problems = self._graphs(path, list(self.records(path, smiles)), columns, wanted)
        if graphs is None:
            first = f" ({problems[0]})" if problems else ""
            raise DatasetError(f"{path} has no usable molecules{first}; correct the file")
        _warn_of(path, problems, len(problems), repeats(graphs.table["groups"], graphs.y))
        return graphs

    def stream(
        self, path: Path, at_once: int, *, smiles: str | None = None, target: str | Sequence[str] | None = None
    ) -> Iterator[GraphSet]:
        """Yield the same molecules in chunks; of earlier ones, 8 bytes and the targets are kept to count repeats."""
        columns = self._survey(path, smiles)
        wanted = choose_targets(path, columns, target)
        first: list[Problem] = []
        count, groups, targets = 0, [np.zeros(0, dtype=np.uint64)], []
        records = self.records(path, smiles)
        while piece := list(islice(records, at_once)):
            graphs, problems = self._graphs(path, piece, columns, wanted)
            first, count = [*first, *problems][:LISTED], count + len(problems)
            if graphs is not None:
                groups.append(_short_hashes(graphs.table["groups"]))
                targets += [] if graphs.y is None else [graphs.y]
                yield graphs
        y = np.concatenate(targets) if targets else None
        _warn_of(path, first, count, repeats(np.concatenate(groups), y))

    def rows(
        self,
        path: Path,
        at_once: int,
        *,
        likely: Sequence[str] = (),
        smiles: str | None = None,
        target: str | Sequence[str] | None = None,
    ) -> Iterator[tuple[GraphSet | None, list[Problem]]]:
        """Yield all rows in chunks, with or without a target: the graphs, and the rows that are not molecules."""
        columns = self._survey(path, smiles)
        if target is None and likely:
            filled = {name.casefold() for name, column in columns.items() if column.present}
            target = likely if {name.casefold() for name in likely} <= filled else ()
        try:
            wanted = choose_targets(path, columns, target)
        except DatasetError:  # several columns may be the target, but a fitted model needs none
            if target is not None:
                raise
            wanted = []
        records = self.records(path, smiles)
        while piece := list(islice(records, at_once)):
            yield self._graphs(path, piece, columns, wanted, keep=True)

    def _survey(self, path: Path, smiles: str | None) -> dict[str, Column]:
        columns: dict[str, Column] = {}
        for record in self.records(path, smiles):
            for name, text in record.cells.items():
                columns.setdefault(name, Column()).add(text)
        return columns

    def _graphs(
        self,
        path: Path,
        records: list[Record],
        columns: dict[str, Column],
        targets: Sequence[str],
        keep: bool = False,
    ) -> tuple[GraphSet | None, list[Problem]]:
        """Return the graphs of some rows, and the rows left out."""
        graphs, problems = read_molecules((r.source for r in records), self.title(path), self.parse, not keep)
        unreadable = {problem.row for problem in problems}
        problems = [replace(problem, row=records[problem.row].row) for problem in problems]
        good = [record for place, record in enumerate(records) if place not in unreadable]
        if targets and not keep and graphs is not None:
            empty = [all(is_missing(record.cells.get(target, "")) for target in targets) for record in good]
            problems += [
                Problem(record.row, text[:60], f"no value of {', '.join(targets)}")
                for record, text, out in zip(good, graphs.table["smiles"].tolist(), empty, strict=True)
                if out
            ]
            problems.sort(key=lambda problem: problem.row)
            kept = np.flatnonzero(~np.array(empty))
            good, graphs = [good[i] for i in kept], graphs[kept] if len(kept) else None
        if graphs is None:
            return None, problems
        names = [name for name in columns if name not in targets]
        table = {name: _values([record.cells.get(name, "") for record in good], columns[name]) for name in names}
        table["row"] = np.array([record.row for record in good], dtype=np.int64)
        ids = next((name for name in names if _ID.fullmatch(name.strip().casefold())), None)
        matrix = [[record.cells.get(target, "") for record in good] for target in targets]
        y = [_values(cells, columns[target]) for cells, target in zip(matrix, targets, strict=True)]
        return replace(
            graphs,
            y=None if not y else y[0] if len(y) == 1 else np.column_stack(y),
            target_names=tuple(targets),
            ids=None if ids is None else np.array([record.cells.get(ids, "") for record in good], dtype=np.str_),
            table={**table, **graphs.table},
        ), problems


def choose_column(path: Path, names: Sequence[str], asked: str, option: str) -> str:
    """Return the requested column, ignoring case."""
    exact = [name for name in names if name == asked] or [n for n in names if n.casefold() == asked.casefold()]
    if len(exact) != 1:
        raise DatasetError(f"{path} has no column {asked!r}; {option} is one of {', '.join(map(repr, names))}")
    return exact[0]


def choose_targets(path: Path, columns: dict[str, Column], asked: str | Sequence[str] | None) -> list[str]:
    """Return the columns to predict: those requested, or the only one that fits, if any."""
    if asked is not None:
        wanted = asked.split(",") if isinstance(asked, str) and asked not in columns else asked
        names = [wanted] if isinstance(wanted, str) else list(wanted)
        targets = [choose_column(path, list(columns), name.strip(), "target") for name in names]
        for target in targets:
            if not columns[target].present:
                raise DatasetError(f"column {target!r} of {path} is empty; choose another target")
            if len(targets) > 1 and not columns[target].numeric:
                raise DatasetError(
                    f"column {target!r} of {path} is text, but several targets must be numbers; use 0 and 1, or one "
                    f"target"
                )
        return targets
    fitting = [
        name
        for name, column in columns.items()
        if not _NO_TARGET.fullmatch(name.strip().casefold()) and column.may_be_target
    ]
    if len(fitting) > 1:
        shown = ", ".join(map(repr, fitting[:15])) + (", ..." if len(fitting) > 15 else "")
        raise DatasetError(
            f"{path} has {len(fitting)} columns that may be the target ({shown}); give one of them as target, or "
            f"several with commas"
        )
    return fitting


def is_missing(text: str) -> bool:
    """Return whether a cell is empty or means a missing value."""
    return text.strip().casefold() in MISSING


def _number(text: str) -> float | None:
    for written in (text, text.replace(",", ".")):  # the decimal comma of some spreadsheets
        try:
            number = float(written)
        except ValueError:
            continue
        return number if math.isfinite(number) else None
    return None


def _values(cells: Iterable[str], column: Column) -> NDArray[Any]:
    """Return a column as integers, numbers (NaN if missing) or text."""
    if column.present and column.numeric:
        numbers = [np.nan if is_missing(text) else _number(text) for text in cells]
        whole = column.whole and np.nan not in numbers  # a record of an SDF may lack the column
        return np.array(numbers, dtype=np.int64 if whole else np.float64)
    return np.array([text.strip() for text in cells], dtype=np.str_)


def _warn_of(path: Path, problems: Sequence[Problem], count: int, repeated: str) -> None:
    """Warn about the rows left out, of which the first are given, and about repeated molecules."""
    if count:
        warnings.warn(left_out(path, problems, count), IsoNNWarning, stacklevel=3)
    if repeated:
        warnings.warn(f"{path.name}: {repeated}", IsoNNWarning, stacklevel=3)


def repeats(structures: NDArray[Any], y: NDArray[Any] | None) -> str:
    """Describe how many molecules repeat an earlier one, and how many contradict it; "" if none does."""
    _, groups = np.unique(structures, return_inverse=True)
    sizes = np.bincount(groups)
    repeated = int((sizes[sizes > 1] - 1).sum())
    if not repeated:
        return ""
    clash = ""
    if y is not None and y.ndim == 1:
        _, classes = np.unique(y, return_inverse=True)
        low, high = np.full(len(sizes), len(y)), np.full(len(sizes), -1)
        np.minimum.at(low, groups, classes)
        np.maximum.at(high, groups, classes)
        clash = f", {int((low < high).sum())} of these structures with different targets"
    return f"{repeated} of {len(structures)} molecules repeat an earlier one (stereo and isotopes aside){clash}"


def _short_hashes(texts: NDArray[np.str_]) -> NDArray[np.uint64]:
    """Return 8 bytes for each text."""
    digests = (hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts.tolist())
    return np.frombuffer(b"".join(digests), dtype=np.uint64)
