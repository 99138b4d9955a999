"""`MoleculeReader`: the base of readers of files with a molecule per row; some rows may be unusable."""

from __future__ import annotations

import re
import warnings
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rdkit.Chem import Mol

from isonn.errors import DatasetError, IsoNNWarning
from isonn.graphs.convert import count_changes
from isonn.graphs.graph import GraphSet
from isonn.graphs.io.registry import LISTED, Problem, RowReader, RowTable, left_out, listed
from isonn.graphs.io.target_column import TargetReading, is_missing, read_as_target, values_option
from isonn.molecules.columns import Columns, quoted
from isonn.molecules.convert import read_molecules
from isonn.molecules.parse import parse_smiles
from isonn.molecules.standardizer import DEFAULT, changes_told, check_mode

#: With this share of rows that are not molecules, and more than a few of them, a file is not read.
MOST_BAD, FEW_BAD = 0.3, 2
#: A number is far from the others from this many times the range of 80 % of them on, among so many numbers, if at most
#: this share of them is far.
FAR, FEWEST_COMPARED, MOST_FAR = 20, 20, 0.02
#: Number of rows that show which columns a file without a header has.
FIRST_ROWS = 1000


class Record(NamedTuple):
    """One row of a file: the text to parse, and the other columns as text."""

    source: str
    cells: dict[str, str]


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
    """How a file is read.

    Attributes:
        columns: the columns of the file.
        options: the options of `MoleculeReader.read`.
        targets: how each target is read.
        ids: the column with the name of each molecule, or None.
    """

    columns: Columns
    options: Options
    targets: list[TargetReading]
    ids: str | None


class MoleculeReader(RowReader):
    """A file with a molecule per row and further columns.

    Rows without a readable molecule, and rows without a target, are left out and listed in one warning. Molecules that
    are equal graphs have the same text in ``table["groups"]``, so that splits can keep them together.
    """

    suffixes: tuple[str, ...]

    def parse(self, source: str) -> tuple[Mol | str, str]:
        """Return the molecule of a record, or the reason why it cannot be read, and its SMILES or another text."""
        return parse_smiles(source)

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
        (graphs,) = self._chunks(path, lambda: iter(records), len(records), options)
        return graphs

    def stream(self, path: Path, at_once: int, **options: Any) -> Iterator[GraphSet]:
        """Yield the same molecules in chunks; of earlier ones, 8 bytes and the targets are kept to count repeats."""
        chosen = Options(**options)
        return self._chunks(path, lambda: self.records(path, chosen.smiles), at_once, chosen)

    def _chunks(
        self, path: Path, records: Callable[[], Iterator[Record]], at_once: int, options: Options
    ) -> Iterator[GraphSet]:
        """Yield the graphs of each chunk that has some; at the end, warn of rows left out and the like."""
        plan = _plan(Columns(path, (record.cells for record in records())), options)
        summary, unread = _Summary(plan), records()
        while chunk := list(islice(unread, at_once)):
            graphs, problems = self._graphs(chunk, plan, summary.rows)
            summary.add(len(chunk), graphs, problems)
            if graphs is not None:
                yield graphs
        summary.warn()

    def rows(self, path: Path, likely: Sequence[str], **options: Any) -> tuple[GraphSet | None, list[Problem]]:
        """Return all molecules, with or without a target, and the rows that are not molecules."""
        chosen = Options(**options)
        records = list(self.records(path, chosen.smiles))
        columns = Columns(path, (record.cells for record in records))
        targets = columns.true_values(chosen.target, likely)
        if chosen.target is None and not all(columns.facts[name].present for name in targets):
            targets = []
        try:
            plan = _plan(columns, replace(chosen, target=targets))
        except DatasetError as error:  # a fitted model can do without the column
            if chosen.target is not None:
                raise
            if likely:
                warnings.warn(f"{error}; until then the column is not read", IsoNNWarning, stacklevel=2)
            plan = _plan(columns, replace(chosen, target=()))
        return self._graphs(records, plan, keep=True)

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
        self,
        path: Path,
        names: Sequence[str],
        rows: Sequence[tuple[str, list[str]]],
        target: Any,
        likely: Sequence[str],
    ) -> tuple[list[str], str | None]:
        """Return the targets (named by the user, those of the model, or the only one that fits) and the ids."""
        others = {name: i for i, name in enumerate(names) if any(cells[i] != source for source, cells in rows)}
        columns = Columns(path, ({name: cells[i] for name, i in others.items()} for _, cells in rows), others or names)
        targets = columns.true_values(target, likely)
        return targets, columns.ids(targets)

    def _graphs(
        self, records: Sequence[Record], plan: Plan, first: int = 0, keep: bool = False
    ) -> tuple[GraphSet | None, list[Problem]]:
        """Return the graphs of the rows from ``first`` on, and the rows left out.

        Rows without a target are left out unless ``keep``; only those whose cells are all empty are problems.
        """
        sources, name = (record.source for record in records), self.title(plan.columns.path)
        graphs, problems = read_molecules(sources, name, self.parse, not keep, plan.options.standardize)
        if graphs is None:
            return None, [replace(problem, row=first + problem.row) for problem in problems]
        unreadable = {problem.row for problem in problems}
        rows = [row for row in range(len(records)) if row not in unreadable]
        if plan.targets and not keep:
            used = []
            for i, row in enumerate(rows):
                cells = [records[row].cells.get(target.name, "") for target in plan.targets]
                if any(target.value(cell) is not None for target, cell in zip(plan.targets, cells, strict=True)):
                    used.append(i)
                elif all(map(is_missing, cells)):
                    reason = f"no value of {', '.join(target.name for target in plan.targets)}"
                    problems.append(Problem(row, str(graphs.table["smiles"][i])[:60], reason))
            rows = [rows[i] for i in used]
            graphs = graphs[used] if 0 < len(used) < len(graphs) else graphs
        problems = [replace(problem, row=first + problem.row) for problem in sorted(problems, key=lambda p: p.row)]
        if not rows:
            return None, problems
        numbers = first + np.array(rows, dtype=np.int64)
        return _with_columns(graphs, numbers, [records[row].cells for row in rows], plan), problems


def _with_columns(
    graphs: GraphSet, rows: NDArray[np.int64], found: Sequence[Mapping[str, str]], plan: Plan
) -> GraphSet:
    """Add targets, ids and the other columns, from the cells of each row."""
    targets, facts = {target.name for target in plan.targets}, plan.columns.facts
    cells = {name: [row.get(name, "") for row in found] for name in facts}
    table = {name: column.values(cells[name]) for name, column in facts.items() if name not in targets}
    table["row"] = rows
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

    def __init__(self, plan: Plan) -> None:
        self.path, self.plan = plan.columns.path, plan
        self.rows = self.bad = self.unused = self.kept = 0
        self.first: list[Problem] = []
        self.changes: Counter[str] = Counter()
        self.groups: list[NDArray[np.int64]] = []
        self.targets: list[NDArray[Any]] = []

    def add(self, rows: int, graphs: GraphSet | None, problems: list[Problem]) -> None:
        """Add a chunk of so many rows."""
        self.rows += rows
        self.unused += len(problems)
        self.bad += sum(not problem.reason.startswith("no value of") for problem in problems)
        self.first = [*self.first, *problems][:LISTED]
        if graphs is not None:
            self.kept += len(graphs)
            self.groups.append(np.array([hash(text) for text in graphs.table["groups"].tolist()]))
            self.targets += [] if graphs.y is None else [graphs.y]
            self.changes += count_changes(graphs)

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
        if self.bad > FEW_BAD and self.bad >= MOST_BAD * self.rows and not self.plan.options.skip_bad:
            raise DatasetError(
                f"{self.bad} of {self.rows} rows of {self.path} are not molecules: {listed(self.first, self.bad)}; "
                f"correct them, or give skip_bad=True to go on without them"
            )
        y = np.concatenate(self.targets) if self.targets else None
        sentences = [
            *(target for reading in self.plan.targets for target in reading.told),
            *([] if y is None else map(far_values, self.plan.targets, y.reshape(len(y), -1).T)),
            changes_told(self.changes, self.kept),
            repeats(np.concatenate(self.groups)),
        ]
        if self.unused:
            warnings.warn(left_out(self.path, self.first, self.unused), IsoNNWarning, stacklevel=5)
        for sentence in filter(None, sentences):
            warnings.warn(f"{self.path.name}: {sentence}", IsoNNWarning, stacklevel=5)


def is_name(text: str) -> bool:
    """Return whether a text looks like the name of a compound, such as "acetic acid" or "aspirin"."""
    return re.fullmatch(r"[A-Za-z0-9,'() \-]*[a-z]{4,}[A-Za-z0-9,'() \-]*", text) is not None


def _plan(columns: Columns, options: Options) -> Plan:
    check_mode(options.standardize)
    values = values_option(options.values)
    names = columns.targets(options.target)
    readings, words = [], None
    for name in names:
        try:
            reading = read_as_target(
                columns.facts[name], name, numbers=options.numbers, censored=options.censored, values=values
            )
            words = name if reading.kind == "classes" and not reading.whole else words
            readings.append(reading.indicators() if len(names) > 1 else reading)
        except DatasetError as error:
            numbers = quoted([other for other in names if columns.facts[other].numeric])
            hint = f" (columns of numbers: {numbers})" if len(names) > 1 and numbers else ""
            raise DatasetError(f"{columns.path}: {error}{hint}") from error
    if words is not None and (measured := next((one.name for one in readings if one.kind == "numbers"), None)):
        raise DatasetError(
            f"{columns.path}: column {words!r} holds classes and {measured!r} numbers; fit a model to each of them"
        )
    return Plan(columns, options, readings, columns.ids(names))


def far_values(target: TargetReading, y: NDArray[Any]) -> str:
    """Name the few numbers that are so far from the others that they may be codes such as -999; "" if there are none.

    Positive numbers are compared by their logarithms.
    """
    if target.kind != "numbers":
        return ""
    known = y[np.isfinite(y)]
    scaled = np.log(known) if (known > 0).all() else known
    if len(known) < FEWEST_COMPARED:
        return ""
    low, middle, high = np.quantile(scaled, (0.1, 0.5, 0.9))
    far = known[np.abs(scaled - middle) > FAR * (high - low)]
    if high == low or not 0 < len(far) <= max(1, MOST_FAR * len(known)):
        return ""
    first, them, are = f"{far[0]:g}", "it" if len(far) == 1 else "them", "is" if len(far) == 1 else "are"
    return (
        f"{target.name!r}: {len(far)} of {len(known)} values {are} far from the others, such as {first}; check {them}, "
        f"or leave {them} out with values={f'{first}='!r}"
    )


def repeats(structures: NDArray[Any]) -> str:
    """Describe how many molecules repeat an earlier one; "" if none does. `fit` tells of different targets."""
    repeated = len(structures) - len(np.unique(structures))
    repeat = "repeats" if repeated == 1 else "repeat"
    told = f"{repeated} of {len(structures)} molecules {repeat} an earlier one (stereo and isotopes aside)"
    return told if repeated else ""
