"""The columns of a table of molecules: which ones hold targets, and which one names the molecules."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from isonn.errors import DatasetError
from isonn.graphs.io.target_column import Column, without_unit

#: Target that means every column that is neither an id nor a structure.
ALL = "all"
#: Columns that are not used as the target unless named.
_NO_TARGET = re.compile(
    r"|unnamed: ?\d+|index|idx|row|no\.?|nr\.?|#|remarks?|comments?|notes?"
    r"|cas([ _-]?(no|rn|number)\.?)?|.*smiles.*|.*inchi.*|names?|(.*[_ -])?id"
    r"|(c|s|mol|chembl|pubchem)id|(compound|cmpd|cpd|molecule).*|structures?|formula|mol_?(weight|formula)"
    r"|split|fold|set|groups?|scaffold|samples?|batch|lot|cat(alogue|alog)?[ _.-]*(no|number|code)\.?"
)
#: Columns that name a molecule, by lower-case name with single underscores: ids come before names.
_ID = re.compile(
    r"(.*_)?id|(c|s|mol|chembl|pubchem|zinc)id|identifier|cas(_?(no|rn|number))?"
    r"|(compound|cmpd|cpd|molecule|sample)(_?(no|number|code))?|cat(alogue|alog)?_?(no|number|code)"
)
_NAME = re.compile(r"(.*_)?names?|title|drugs?")
#: Fewest rows whose texts are ids because they differ; two answers may be "yes" and "no".
_FEWEST_IDS = 3


class Columns:
    """The columns of a file beside the structures, surveyed in one pass over its rows.

    Args:
        path: the file, for errors.
        rows: the cells of each row by the names of their columns.
        names: columns that are listed even if no row has them.

    Attributes:
        facts: the facts about the cells of each column.
    """

    def __init__(self, path: Path, rows: Iterable[Mapping[str, str]], names: Iterable[str] = ()) -> None:
        self.path = path
        self.facts: dict[str, Column] = {name: Column() for name in names}
        texts: dict[str, set[int]] = {}  # hashes of the texts of columns that may name molecules, while they differ
        n_rows = 0
        for n_rows, cells in enumerate(rows, start=1):
            for name, text in cells.items():
                if name not in self.facts:
                    self.facts[name] = Column()
                column = self.facts[name]
                column.add(text)
                if n_rows == 1 or name in texts:
                    texts.setdefault(name, set()).add(hash(text.strip()))
                    number = column.measurements > 0 and _naming_rank(name) is None
                    if number or column.present < n_rows or len(texts[name]) < n_rows:
                        del texts[name]
        #: Columns with another text in every row.
        self._unique = {name for name, hashes in texts.items() if len(hashes) == n_rows}

    def targets(self, asked: str | Sequence[str] | None) -> list[str]:
        """Return the columns to predict: those requested, or the only one that fits, if any."""
        if asked is None:
            fitting = self._fitting()
            if len(fitting) > 1:
                raise DatasetError(
                    f"{self.path} has {len(fitting)} columns that may be the target ({quoted(fitting)}); choose one, "
                    f"such as target={fitting[-1]!r}, several with commas, or all"
                )
            return fitting
        targets = self.named(asked)
        if empty := [target for target in targets if not self.facts[target].present]:
            raise DatasetError(f"column {empty[0]!r} of {self.path} is empty; choose another target")
        return targets

    def named(self, asked: str | Sequence[str]) -> list[str]:
        """Return the columns with these names, or "all" targets; a comma separates names unless it is part of one."""
        if self._asks_for_all(asked):
            targets = [name for name, column in self.facts.items() if column.present and self._is_one_of_all(name)]
            if not targets:
                raise DatasetError(f"{self.path} has no column that may be a target beside ids and structures; add one")
            return targets
        given = [asked] if isinstance(asked, str) else asked
        texts = [text for name in given for text in ([name] if _called(name, self.facts) else name.split(","))]
        names = list(self.facts)
        return list(dict.fromkeys(choose_column(self.path, names, text.strip(), "target") for text in texts))

    def true_values(self, asked: str | Sequence[str] | None, likely: Sequence[str]) -> list[str]:
        """Return the targets of a fitted model: the columns it was fitted to, unless others are requested."""
        of_model = self._of_model(likely) if asked is None or self._asks_for_all(asked) else []
        return of_model if of_model or asked is None else self.named(asked)

    def _asks_for_all(self, asked: str | Sequence[str]) -> bool:
        """Return whether a target means every column that may be one; a column may be called so."""
        return asked in (ALL, [ALL], (ALL,)) and not _called(ALL, self.facts)

    def _of_model(self, likely: Sequence[str]) -> list[str]:
        """Return the columns that a model was fitted to, with or without their units; [] unless all are there.

        Without ``likely`` names, return the only column that may be a target.
        """
        if not likely:
            fitting = self._fitting()
            return fitting if len(fitting) == 1 else []
        named = [_called(name, self.facts) or _called(without_unit(name), self.facts) for name in likely]
        return [same[0] for same in named] if all(named) else []

    def ids(self, targets: Sequence[str]) -> str | None:
        """Return the column that names the molecules: one that is unique before others, ids before names.

        If no column is called so, it is the first with another text in every row.
        """
        ranks = {name: _naming_rank(name) for name in self.facts if name not in targets}
        naming = [name for name, rank in ranks.items() if rank is not None]
        if not naming:
            return next(filter(self._differs_in_every_row, ranks), None)
        return min(naming, key=lambda name: (name not in self._unique, ranks[name]))

    def _differs_in_every_row(self, name: str) -> bool:
        """Return whether a column is an id by its texts; a unique number may be a measured value."""
        column = self.facts[name]
        unique = name in self._unique and column.present >= _FEWEST_IDS and not column.measurements
        return unique and _may_be_target(name)

    def _is_one_of_all(self, name: str) -> bool:
        names_molecules = _naming_rank(name) is not None and not self.facts[name].may_be_target
        return _may_be_target(name) and not names_molecules and not self._differs_in_every_row(name)

    def _fitting(self) -> list[str]:
        return [name for name, column in self.facts.items() if _may_be_target(name) and column.may_be_target]


def choose_column(path: Path, names: Sequence[str], asked: str, option: str) -> str:
    """Return the requested column, ignoring case."""
    same = _called(asked, names)
    if len(same) != 1:
        raise DatasetError(f"{path} has no column {asked!r}; {option} is one of {', '.join(map(repr, names))}")
    return same[0]


def quoted(names: Sequence[str]) -> str:
    """Return the first names, as a list in a sentence."""
    return ", ".join(map(repr, names[:15])) + (", ..." if len(names) > 15 else "")


def _called(asked: str, names: Collection[str]) -> list[str]:
    """Return the columns of a name: as written, else ignoring case, else without their units."""
    text = asked.casefold()
    return (
        [name for name in names if name == asked]
        or [name for name in names if name.casefold() == text]
        or [name for name in names if without_unit(name).casefold() == text]
    )


def _may_be_target(name: str) -> bool:
    return not _NO_TARGET.fullmatch(name.strip().casefold())


@lru_cache(maxsize=1024)
def _naming_rank(name: str) -> int | None:
    """Return 0 for the name of a column of ids, 1 for one of names, None for others."""
    plain = re.sub(r"[\s_.-]+", "_", name.strip().casefold()).strip("_")
    return 0 if _ID.fullmatch(plain) else 1 if _NAME.fullmatch(plain) else None
