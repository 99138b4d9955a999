"""Common parts of molecule readers: columns, the target, and unusable rows."""

from __future__ import annotations

import re
import warnings
from abc import abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rdkit.Chem import Mol

from isonn.errors import DatasetError, IsoNNWarning
from isonn.graphs.convert import count_changes
from isonn.graphs.graph import GraphSet
from isonn.graphs.io.registry import LISTED, Problem, RowReader, RowTable, left_out, listed
from isonn.graphs.io.target_column import (
    Column,
    TargetReading,
    is_missing,
    read_as_target,
    values_option,
    without_unit,
)
from isonn.molecules.convert import read_molecules
from isonn.molecules.parse import parse_smiles
from isonn.molecules.standardizer import DEFAULT, changes_told, check_mode

#: Target that means every column that is neither an id nor a structure.
ALL = "all"
#: With this share of rows that are not molecules, and more than a few of them, a file is not read.
MOST_BAD, FEW_BAD = 0.3, 2
#: Number of rows that show which columns a file without a header has.
FIRST_ROWS = 1000
#: Columns that are not used as the target unless named.
_NO_TARGET = re.compile(
    r"|unnamed: ?\d+|index|idx|row|no\.?|nr\.?|#|remarks?|comments?|notes?"
    r"|cas([ _-]?(no|rn|number)\.?)?|.*smiles.*|.*inchi.*|names?|(.*[_ -])?id"
    r"|(c|s|mol|chembl|pubchem)id|compound.*|molecule.*|structures?|formula|mol_?(weight|formula)"
    r"|split|fold|set|groups?|scaffold"
)
#: Columns that name a molecule, by lower-case name with single underscores: ids come before names.
_ID = re.compile(
    r"(.*_)?id|(c|s|mol|chembl|pubchem|zinc)id|identifier|cas(_?(no|rn|number))?|(compound|molecule)(_?(no|code))?"
)
_NAME = re.compile(r"(.*_)?names?|title")


@dataclass
class Record:
    """One row of a file: its number from 0, the text to parse, and the other columns as text."""

    row: int
    source: str
    cells: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Options:
    """The options of `MoleculeReader.read`."""

    smiles: str | None = None
    target: str | Sequence[str] | None = None
    standardize: str = DEFAULT
    numbers: bool | None = None
    censored: str = "drop"
    values: Mapping[str, str | None] | Sequence[str] | str | None = None
    skip_bad: bool = False


@dataclass(frozen=True)
class Plan:
    """What is read from the columns of a file.

    Attributes:
        columns: the facts about each column.
        targets: how each target is read.
        ids: the column with the name of each molecule, or None.
    """

    columns: dict[str, Column]
    targets: list[TargetReading]
    ids: str | None


class MoleculeReader(RowReader):
    """A file with a molecule per row and further columns.

    Rows without a readable molecule, and rows without a target, are left out and listed in one warning. Molecules that
    are equal graphs have the same text in ``table["groups"]``, so that splits can keep them together.
    """

    suffixes: tuple[str, ...]
    _last_plan: tuple[tuple[Any, ...], Plan] | None = None

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

    def read(
        self,
        path: Path,
        *,
        smiles: str | None = None,
        target: str | Sequence[str] | None = None,
        standardize: str = DEFAULT,
        numbers: bool | None = None,
        censored: str = "drop",
        values: Mapping[str, str | None] | Sequence[str] | str | None = None,
        skip_bad: bool = False,
    ) -> GraphSet:
        """Read the molecules of the file.

        Args:
            smiles: the column with SMILES; None finds it if only one fits.
            target: the column to predict, or several ("a,b" or a list), or "all" for every column that is neither an id
                nor a structure; None finds it if only one fits.
            standardize: as in `isonn.molecules.from_smiles`.
            numbers: whether the target holds numbers (True) or classes (False); None decides by its values.
            censored: "drop" leaves rows with targets such as ">100" out, "bound" uses 100.
            values: other values for some texts of the target, such as ``{"inconclusive": None}`` (leave out), or
                "inconclusive=no".
            skip_bad: read the file even if many rows are not molecules.
        """
        options = Options(smiles, target, standardize, numbers, censored, values, skip_bad)
        records = list(self.records(path, smiles))
        (graphs,) = self._read_pieces(path, [records], _plan(path, *_survey(records), options), options)
        return graphs

    def stream(self, path: Path, at_once: int, **options: Any) -> Iterator[GraphSet]:
        """Yield the same molecules in chunks; of earlier ones, 8 bytes and the targets are kept to count repeats."""
        chosen = Options(**options)
        plan = self._stream_plan(path, chosen)
        records = self.records(path, chosen.smiles)
        yield from self._read_pieces(path, iter(lambda: list(islice(records, at_once)), []), plan, chosen)

    def _read_pieces(
        self, path: Path, pieces: Iterable[list[Record]], plan: Plan, options: Options
    ) -> Iterator[GraphSet]:
        """Yield the graphs of each piece that has some; at the end, warn of rows left out and the like."""
        summary = _Summary(path, plan, options)
        for records in pieces:
            graphs = summary.add(self._graphs(path, records, plan, options), len(records))
            if graphs is not None:
                yield graphs
        summary.warn()

    def rows(self, path: Path, likely: Sequence[str], **options: Any) -> tuple[GraphSet | None, list[Problem]]:
        """Return all molecules, with or without a target, and the rows that are not molecules."""
        chosen = Options(**options)
        records = list(self.records(path, chosen.smiles))
        columns, unique = _survey(records)
        asked = chosen.target
        if asked is None and likely:
            asked = _targets_of_model([name for name, column in columns.items() if column.present], likely)
        try:
            plan = _plan(path, columns, unique, replace(chosen, target=asked))
        except DatasetError as error:  # no column, or several, may be the target, but a fitted model needs none
            if chosen.target is not None:
                raise
            if asked:
                warnings.warn(f"{error}; until then the column is not read", IsoNNWarning, stacklevel=2)
            plan = _plan(path, columns, unique, replace(chosen, target=()))
        return self._graphs(path, records, plan, chosen, keep=True)

    def table(self, path: Path, smiles: str | None = None) -> RowTable:
        """Open the file: the SMILES, left blank until the molecules are parsed, and the columns of the first rows."""
        records = self.records(path, smiles)
        first = list(islice(records, FIRST_ROWS))
        names = list(dict.fromkeys(name for record in first for name in record.cells if name.casefold() != "smiles"))
        rows = ((record.source, ["", *map(record.cells.get, names, repeat(""))]) for record in chain(first, records))
        return RowTable(["smiles", *names], rows, blank=0)

    def parse_rows(
        self, sources: Sequence[str], name: str, standardize: str | None
    ) -> tuple[GraphSet | None, list[Problem]]:
        """Return the graphs of some rows, and the rows that are not molecules."""
        return read_molecules(sources, name, self.parse, standardize=DEFAULT if standardize is None else standardize)

    def column_roles(
        self, path: Path, names: Sequence[str], rows: Sequence[Sequence[str]], target: Any, likely: Sequence[str]
    ) -> tuple[list[str], str | None]:
        """Return the targets (named by the user, those of the model, or the only one that fits) and the ids."""
        columns, unique = _survey(Record(i, "", dict(zip(names, cells, strict=True))) for i, cells in enumerate(rows))
        if target is not None:
            targets = named_targets(path, list(names), target)
        elif likely:
            targets = _targets_of_model(names, likely)
        else:
            fitting = _fitting(columns)
            targets = fitting if len(fitting) == 1 else []
        return targets, _id_column(columns, unique, targets)

    def _stream_plan(self, path: Path, options: Options) -> Plan:
        """Return the plan of a file; a stream, which ``fit`` reads several times, is surveyed only the first time."""
        state = path.stat()
        key = (str(path.resolve()), state.st_mtime_ns, state.st_size, repr(options))
        if self._last_plan is None or self._last_plan[0] != key:
            self._last_plan = key, _plan(path, *_survey(self.records(path, options.smiles)), options)
        return self._last_plan[1]

    def _graphs(
        self, path: Path, records: list[Record], plan: Plan, options: Options, keep: bool = False
    ) -> tuple[GraphSet | None, list[Problem]]:
        """Return the graphs of some rows, and the rows left out; with ``keep``, rows without a target stay."""
        sources = (record.source for record in records)
        graphs, problems = read_molecules(sources, self.title(path), self.parse, not keep, options.standardize)
        unreadable = {problem.row for problem in problems}
        problems = [replace(problem, row=records[problem.row].row) for problem in problems]
        good = [record for place, record in enumerate(records) if place not in unreadable]
        if graphs is None:
            return None, problems
        if plan.targets and not keep:
            used, unused = _with_target(good, plan.targets)
            problems += [Problem(good[i].row, str(graphs.table["smiles"][i])[:60], reason) for i, reason in unused]
            problems.sort(key=lambda problem: problem.row)
            if not used:
                return None, problems
            good, graphs = [good[i] for i in used], graphs[used] if len(used) < len(graphs) else graphs
        return _with_columns(graphs, good, plan), problems


def _with_target(
    records: Sequence[Record], targets: Sequence[TargetReading]
) -> tuple[list[int], list[tuple[int, str]]]:
    """Return the records with a value of any target, and those without one that were not left out on purpose."""
    used, unused = [], []
    for i, record in enumerate(records):
        cells = [record.cells.get(target.name, "") for target in targets]
        if any(target.value(cell) is not None for target, cell in zip(targets, cells, strict=True)):
            used.append(i)
        elif all(map(is_missing, cells)):
            unused.append((i, f"no value of {', '.join(target.name for target in targets)}"))
    return used, unused


def _with_columns(graphs: GraphSet, records: Sequence[Record], plan: Plan) -> GraphSet:
    """Add targets, ids and the other columns."""
    targets = {target.name for target in plan.targets}
    cells = {name: [record.cells.get(name, "") for record in records] for name in plan.columns}
    table = {name: column.values(cells[name]) for name, column in plan.columns.items() if name not in targets}
    table["row"] = np.array([record.row for record in records], dtype=np.int64)
    y = [target.values(cells[target.name]) for target in plan.targets]
    return replace(
        graphs,
        y=None if not y else y[0] if len(y) == 1 else np.column_stack(y),
        target_names=tuple(target.title for target in plan.targets),
        ids=None if plan.ids is None else np.array(cells[plan.ids], dtype=np.str_),
        table={**table, **graphs.table},
    )


class _Summary:
    """What is told about a file after its last chunk."""

    def __init__(self, path: Path, plan: Plan, options: Options) -> None:
        self.path, self.plan, self.options = path, plan, options
        self.rows = self.bad = self.unused = self.kept = 0
        self.first: list[Problem] = []
        self.changes: Counter[str] = Counter()
        self.groups: list[NDArray[np.int64]] = []
        self.targets: list[NDArray[Any]] = []

    def add(self, read: tuple[GraphSet | None, list[Problem]], rows: int) -> GraphSet | None:
        """Add a chunk and return its graphs."""
        graphs, problems = read
        self.rows += rows
        self.unused += len(problems)
        self.bad += sum(not problem.reason.startswith("no value of") for problem in problems)
        self.first = [*self.first, *problems][:LISTED]
        if graphs is not None:
            self.kept += len(graphs)
            self.groups.append(np.array([hash(text) for text in graphs.table["groups"].tolist()]))
            self.targets += [] if graphs.y is None else [graphs.y]
            self.changes += count_changes(graphs)
        return graphs

    def _nothing(self) -> DatasetError:
        """Return the error about a file without usable rows."""
        if self.bad and all(map(is_name, (problem.text for problem in self.first))):
            return DatasetError(
                f"{self.path} has names such as {self.first[0].text!r} where structures are expected; convert them to "
                f"SMILES first, or name another column, such as smiles='structure'"
            )
        first = f" ({self.first[0]})" if self.first else ""
        return DatasetError(f"{self.path} has no usable molecules{first}; correct the file")

    def warn(self) -> None:
        """Warn about rows left out, repeats and other facts; raise `DatasetError` if too many rows are bad."""
        if not self.kept:
            raise self._nothing()
        if self.bad > FEW_BAD and self.bad >= MOST_BAD * self.rows and not self.options.skip_bad:
            raise DatasetError(
                f"{self.bad} of {self.rows} rows of {self.path} are not molecules: {listed(self.first, self.bad)}; "
                f"correct them, or give skip_bad=True to go on without them"
            )
        y = np.concatenate(self.targets) if self.targets else None
        sentences = [
            *(target for reading in self.plan.targets for target in reading.told),
            changes_told(self.changes, self.kept),
            repeats(np.concatenate(self.groups), y),
        ]
        if self.unused:
            warnings.warn(left_out(self.path, self.first, self.unused), IsoNNWarning, stacklevel=5)
        for sentence in filter(None, sentences):
            warnings.warn(f"{self.path.name}: {sentence}", IsoNNWarning, stacklevel=5)


def is_name(text: str) -> bool:
    """Return whether a text looks like the name of a compound, such as "acetic acid" or "aspirin"."""
    return re.fullmatch(r"[A-Za-z0-9,'() \-]*[a-z]{4,}[A-Za-z0-9,'() \-]*", text) is not None


def _survey(records: Iterable[Record]) -> tuple[dict[str, Column], set[str]]:
    """Return the facts about all columns, and the columns that name molecules with a different text in every row."""
    columns: dict[str, Column] = {}
    seen: dict[str, set[int] | None] = {}  # hashes of the texts of a column that may be an id, until one repeats
    for record in records:
        for name, text in record.cells.items():
            if name not in columns:
                columns[name] = Column()
                seen[name] = None if _naming_rank(name) is None else set()
            columns[name].add(text)
            texts = seen[name]
            if texts is not None:
                before = len(texts)
                texts.add(hash(text.strip()))
                seen[name] = texts if len(texts) > before else None
    return columns, {name for name, texts in seen.items() if texts is not None and not columns[name].missing}


def _naming_rank(name: str) -> int | None:
    """Return 0 for the name of a column of ids, 1 for one of names, None for others."""
    plain = re.sub(r"[\s_.-]+", "_", name.strip().casefold()).strip("_")
    return 0 if _ID.fullmatch(plain) else 1 if _NAME.fullmatch(plain) else None


def _plan(path: Path, columns: dict[str, Column], unique: set[str], options: Options) -> Plan:
    check_mode(options.standardize)
    values = values_option(options.values)
    names = choose_targets(path, columns, options.target)
    readings = []
    for name in names:
        try:
            reading = read_as_target(
                columns[name], name, numbers=options.numbers, censored=options.censored, values=values
            )
            readings.append(reading.indicators() if len(names) > 1 else reading)
        except DatasetError as error:
            raise DatasetError(f"{path}: {error}") from error
    return Plan(columns, readings, _id_column(columns, unique, names))


def _id_column(columns: Iterable[str], unique: set[str], targets: Sequence[str]) -> str | None:
    """Return the column that names the molecules: one that is unique before others, ids before names."""
    ranks = {name: rank for name in columns if name not in targets and (rank := _naming_rank(name)) is not None}
    return min(ranks, key=lambda name: (name not in unique, ranks[name]), default=None)


def choose_column(path: Path, names: Sequence[str], asked: str, option: str) -> str:
    """Return the requested column, ignoring case."""
    exact = _columns_called(names, asked)
    if len(exact) != 1:
        raise DatasetError(f"{path} has no column {asked!r}; {option} is one of {', '.join(map(repr, names))}")
    return exact[0]


def _columns_called(names: Collection[str], asked: str) -> list[str]:
    return [name for name in names if name == asked] or [n for n in names if n.casefold() == asked.casefold()]


def _targets_of_model(names: Sequence[str], targets: Sequence[str]) -> list[str]:
    """Return the columns of the targets of a model, with or without their units; [] unless all are there."""
    named = [_columns_called(names, name) or _columns_called(names, without_unit(name)) for name in targets]
    return [same[0] for same in named] if all(named) else []


def choose_targets(path: Path, columns: dict[str, Column], asked: str | Sequence[str] | None) -> list[str]:
    """Return the columns to predict: those requested, or the only one that fits, if any."""
    if asked is not None:
        if asked in (ALL, [ALL], (ALL,)) and not _columns_called(columns, ALL):
            targets = [name for name, column in columns.items() if _may_be_target(name) and column.present]
            if not targets:
                raise DatasetError(f"{path} has no column that may be a target beside ids and structures; add one")
            return targets
        targets = named_targets(path, list(columns), asked)
        if empty := [target for target in targets if not columns[target].present]:
            raise DatasetError(f"column {empty[0]!r} of {path} is empty; choose another target")
        return targets
    fitting = _fitting(columns)
    if len(fitting) > 1:
        shown = ", ".join(map(repr, fitting[:15])) + (", ..." if len(fitting) > 15 else "")
        raise DatasetError(
            f"{path} has {len(fitting)} columns that may be the target ({shown}); choose one, such as "
            f"target={fitting[-1]!r}, several with commas, or all"
        )
    return fitting


def _fitting(columns: dict[str, Column]) -> list[str]:
    return [name for name, column in columns.items() if _may_be_target(name) and column.may_be_target]


def _may_be_target(name: str) -> bool:
    return not _NO_TARGET.fullmatch(name.strip().casefold())


def named_targets(path: Path, names: Sequence[str], asked: str | Sequence[str]) -> list[str]:
    """Return the columns with these names; a comma separates names unless it is part of one."""
    given = [asked] if isinstance(asked, str) else asked
    texts = [text for name in given for text in ([name] if _columns_called(names, name) else name.split(","))]
    return list(dict.fromkeys(choose_column(path, names, text.strip(), "target") for text in texts))


def repeats(structures: NDArray[Any], y: NDArray[Any] | None) -> str:
    """Describe how many molecules repeat an earlier one, and how many contradict it; "" if none does."""
    _, groups = np.unique(structures, return_inverse=True)
    sizes = np.bincount(groups)
    repeated = int((sizes[sizes > 1] - 1).sum())
    if not repeated:
        return ""
    clash = ""
    if y is not None and y.ndim == 1:
        pairs = np.unique([groups, np.unique(y, return_inverse=True)[1]], axis=1)
        clash = f", {int((np.bincount(pairs[0]) > 1).sum())} of these structures with different targets"
    repeat = "repeats" if repeated == 1 else "repeat"
    return f"{repeated} of {len(structures)} molecules {repeat} an earlier one (stereo and isotopes aside){clash}"
