"""`Source`: where the graphs of an evaluation come from, kept with its results so that reports find them again."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from isonn.errors import InputError, IsoNNWarning
from isonn.graphs.datasets import load
from isonn.graphs.graph import GraphSet
from isonn.graphs.io.registry import option_names, reader_of
from isonn.graphs.isomorphism import graph_hashes
from isonn.targets import target_kind

#: The column that marks the graphs of another dataset to test on.
TEST_COLUMN = "train or test"


@dataclass(frozen=True)
class Source:
    """The graphs of an evaluation.

    Attributes:
        data: a name or path.
        options: options of its format.
        test: name or path of other graphs to test on, or None.
        numbers: whether the targets are numbers (True) or classes (False); None decides by their values.
        confounds: columns that are confounds.
    """

    data: str
    options: Mapping[str, Any] = field(default_factory=dict)
    test: str | None = None
    numbers: bool | None = None
    confounds: tuple[str, ...] = ()

    def load(self) -> GraphSet:
        """Read the graphs, those to test on last and marked in the column `TEST_COLUMN`."""
        graphs = load(self.data, **self._options(self.data))
        if self.test is not None:
            graphs = _with_test(graphs, load(self.test, **self._options(self.test)))
        graphs = self._with_kind(graphs)
        return graphs.with_confounds(list(self.confounds)) if self.confounds else graphs

    def _options(self, data: str) -> dict[str, Any]:
        path = Path(data).expanduser()
        reader = reader_of(path) if path.exists() else None
        passed = self.numbers is not None and reader is not None and "numbers" in option_names(reader)
        return {**self.options, **({"numbers": self.numbers} if passed else {})}

    def _with_kind(self, graphs: GraphSet) -> GraphSet:
        """Return the graphs with targets that are of the kind asked for."""
        if graphs.y is None:
            return graphs
        kind = target_kind(graphs.y)
        if self.numbers is False and kind == "numbers":
            raise InputError(f"the target of {graphs.name} holds measurements, not classes; leave --classes out")
        if self.numbers is False or (self.numbers is None and predicts_numbers(graphs) == (kind == "numbers")):
            return graphs
        try:
            y = np.asarray(graphs.y, dtype=np.float64)
        except ValueError:
            raise InputError(
                f"the target of {graphs.name} holds text such as {graphs.y.ravel().tolist()[0]!r}, not numbers"
            ) from None
        return graphs.with_y(y.reshape(len(graphs), -1))

    def as_json(self, folder: Path) -> dict[str, Any]:
        """Return the source as JSON, with paths relative to the folder of the results."""
        test = None if self.test is None else _relative(self.test, folder)
        return {**asdict(self), "data": _relative(self.data, folder), "test": test}

    @classmethod
    def from_json(cls, stored: Any, folder: Path) -> Source | None:
        """Return a stored source, or None if there is none that can be used."""
        if not isinstance(stored, dict) or not isinstance(stored.get("data"), str):
            return None
        test = stored.get("test")
        return cls(
            _absolute(stored["data"], folder),
            dict(stored.get("options") or {}),
            None if test is None else _absolute(str(test), folder),
            stored.get("numbers"),
            tuple(stored.get("confounds") or ()),
        )


def _with_test(graphs: GraphSet, other: GraphSet) -> GraphSet:
    """Join training graphs and test graphs."""
    repeated = int(np.isin(graph_hashes(other), graph_hashes(graphs)).sum())
    if repeated:
        warnings.warn(
            f"{repeated} of {len(other)} graphs of {other.name} equal graphs of {graphs.name}, so every score is "
            f"too high; leave them out of one of the two",
            IsoNNWarning,
            stacklevel=3,
        )
    columns = sorted(graphs.table.keys() & other.table.keys())
    both = [replace(piece, table={name: piece.table[name] for name in columns}) for piece in (graphs, other)]
    joined = GraphSet.concat(both, name=graphs.name)
    marks = np.repeat(["train", "test"], [len(graphs), len(other)])
    return replace(joined, table={**joined.table, TEST_COLUMN: marks})


def _relative(data: str, folder: Path) -> str:
    """Return a path relative to a folder; names of datasets as they are."""
    path = Path(data).expanduser()
    if not path.exists():
        return data
    try:
        return os.path.relpath(path.resolve(), folder.resolve())
    except ValueError:  # another drive
        return str(path.resolve())


def _absolute(data: str, folder: Path) -> str:
    path = folder / data
    return str(path) if path.exists() else data


def predicts_numbers(graphs: GraphSet) -> bool:
    """Return whether the targets are measurements.

    Tables of molecules store these as floats, even if all are whole. Tables of subjects store whole numbers as
    integers, be they groups or ages.
    """
    assert graphs.y is not None
    y = graphs.y
    if graphs.kind == "connectomes" and y.dtype.kind == "i":
        y = y.astype(np.float64)
    measured = "row" in graphs.table and y.ndim == 1 and y.dtype.kind == "f"
    return measured or target_kind(y) == "numbers"
