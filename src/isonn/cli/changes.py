"""The molecules that standardisation changed: counted, and listed in a file (`--changes`)."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from isonn.graphs.graph import GraphSet


class ChangeList:
    """Counts changed molecules and writes a line for each, if there is a file; see `listing_changes`."""

    def __init__(self, file: TextIO | None = None) -> None:
        self.molecules = self.changed = 0
        self.counts: Counter[str] = Counter()
        self._writer = None if file is None else csv.writer(file, lineterminator="\n")
        if self._writer is not None:
            from isonn.screening.pieces import CHANGE_COLUMNS

            self._writer.writerow(CHANGE_COLUMNS)

    def add(self, graphs: GraphSet) -> None:
        """Add the graphs of a set that are molecules; others have nothing to list."""
        changes = graphs.table.get("changes")
        self.molecules += len(graphs)
        if changes is None or not (changes != "").any():
            return
        from isonn.molecules.standardizer import changed_rows, count_changes

        self.changed += int((changes != "").sum())
        self.counts.update(count_changes(changes.tolist()))
        if self._writer is not None:
            before = self.molecules - len(graphs)
            rows = None if "row" in graphs.table else range(before, self.molecules)
            self._writer.writerows(changed_rows(graphs, rows))

    def facts(self) -> dict[str, Any]:
        """Return the counts for JSON; {} if nothing changed."""
        return {"standardized": {"molecules": self.changed, **self.counts}} if self.changed else {}

    def sentence(self) -> str:
        """Say how many molecules changed, and how; "" if none did."""
        if not self.changed:
            return ""
        from isonn.molecules.standardizer import CHANGES, changes_told

        return changes_told(self.changed, self.molecules, {k: self.counts[k] for k in CHANGES if self.counts[k]})


@contextmanager
def listing_changes(path: Path | None) -> Iterator[ChangeList]:
    """Yield a `ChangeList` that writes to a new file, complete or not at all; None writes nothing.

    Example:
        >>> with listing_changes(tmp_path / "changes.csv") as changes:
        ...     changes.add(isonn.as_graphset(["CCO", "CC[NH3+].[Cl-]"]))
        >>> print((tmp_path / "changes.csv").read_text(), end="")
        row,id,smiles,standardized,changes
        1,,CC[NH3+].[Cl-],CCN,"fragment, charge"
        >>> changes.sentence()
        '1 of 2 molecules are standardised: 1 without counter-ions or solvents, 1 neutralised'
    """
    if path is None:
        yield ChangeList()
        return
    from isonn.files import check_new
    from isonn.graphs.io.tables import write_text

    check_new(path)
    with write_text(path) as file:
        yield ChangeList(file)
