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
    r"|(c|s|mol|chembl|pubchem)id|compound.*|molecule.*|structures?|formula|mol_?(weight|formula)"
    r"|split|fold|set|groups?|scaffold"
)
#: Columns that name a molecule, by lower-case name with single underscores: ids come before names.
_ID = re.compile(
    r"(.*_)?id|(c|s|mol|chembl|pubchem|zinc)id|identifier|cas(_?(no|rn|number))?|(compound|molecule)(_?(no|code))?"
)
_NAME = re.compile(r"(.*_)?names?|title")


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
        texts: dict[str, set[int]] = {}  # hashes of the distinct texts of columns that may name molecules
        for cells in rows:
            for name, text in cells.items():
                if name not in texts:
                    texts[name] = set()
                    self.facts.setdefault(name, Column())
                self.facts[name].add(text)
                if _naming_rank(name) is not None:
                    texts[name].add(hash(text.strip()))
        whole = [name for name, column in self.facts.items() if not column.missing]
        self._unique = {name for name in whole if len(texts.get(name, ())) == self.facts[name].present}

    def targets(self, asked: str | Sequence[str] | None) -> list[str]:
        """Return the columns to predict: those requested, or the only one that fits, if any."""
        if asked is None:
            fitting = self._fitting()
            if len(fitting) > 1:
                shown = ", ".join(map(repr, fitting[:15])) + (", ..." if len(fitting) > 15 else "")
                raise DatasetError(
                    f"{self.path} has {len(fitting)} columns that may be the target ({shown}); choose one, such as "
                    f"target={fitting[-1]!r}, several with commas, or all"
                )
            return fitting
        if asked in (ALL, [ALL], (ALL,)) and not _called(ALL, self.facts):
            targets = [name for name, column in self.facts.items() if _may_be_target(name) and column.present]
            if not targets:
                raise DatasetError(f"{self.path} has no column that may be a target beside ids and structures; add one")
            return targets
        targets = self.named(asked)
        if empty := [target for target in targets if not self.facts[target].present]:
            raise DatasetError(f"column {empty[0]!r} of {self.path} is empty; choose another target")
        return targets

    def named(self, asked: str | Sequence[str]) -> list[str]:
        """Return the columns with these names; a comma separates names unless it is part of one."""
        given = [asked] if isinstance(asked, str) else asked
        texts = [text for name in given for text in ([name] if _called(name, self.facts) else name.split(","))]
        names = list(self.facts)
        return list(dict.fromkeys(choose_column(self.path, names, text.strip(), "target") for text in texts))

    def of_model(self, likely: Sequence[str]) -> list[str]:
        """Return the columns that a model was fitted to, with or without their units; [] unless all are there.

        Without ``likely`` names, return the only column that may be a target.
        """
        if not likely:
            fitting = self._fitting()
            return fitting if len(fitting) == 1 else []
        named = [_called(name, self.facts) or _called(without_unit(name), self.facts) for name in likely]
        return [same[0] for same in named] if all(named) else []

    def ids(self, targets: Sequence[str]) -> str | None:
        """Return the column that names the molecules: one that is unique before others, ids before names."""
        ranks = {name: _naming_rank(name) for name in self.facts if name not in targets}
        naming = [name for name, rank in ranks.items() if rank is not None]
        return min(naming, key=lambda name: (name not in self._unique, ranks[name]), default=None)

    def _fitting(self) -> list[str]:
        return [name for name, column in self.facts.items() if _may_be_target(name) and column.may_be_target]


def choose_column(path: Path, names: Sequence[str], asked: str, option: str) -> str:
    """Return the requested column, ignoring case."""
    same = _called(asked, names)
    if len(same) != 1:
        raise DatasetError(f"{path} has no column {asked!r}; {option} is one of {', '.join(map(repr, names))}")
    return same[0]


def _called(asked: str, names: Collection[str]) -> list[str]:
    return [name for name in names if name == asked] or [n for n in names if n.casefold() == asked.casefold()]


def _may_be_target(name: str) -> bool:
    return not _NO_TARGET.fullmatch(name.strip().casefold())


@lru_cache(maxsize=1024)
def _naming_rank(name: str) -> int | None:
    """Return 0 for the name of a column of ids, 1 for one of names, None for others."""
    plain = re.sub(r"[\s_.-]+", "_", name.strip().casefold()).strip("_")
    return 0 if _ID.fullmatch(plain) else 1 if _NAME.fullmatch(plain) else None
