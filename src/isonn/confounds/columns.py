"""Confounds such as age, sex, site and motion as the columns of a regression."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import InputError, IsoNNWarning
from isonn.graphs.graph import GraphSet
from isonn.packing import Floats, IntArray

#: Mean number of graphs in a category within which permutations exchange graphs.
LEAST_STRATUM = 8
#: Names of columns in which numbers are categories.
SITES = re.compile(
    r"(.*[_ .-])?(sites?|scanners?|centers?|centres?|batch|manufacturer)([_ .-]?(id|no|nr|number|code))?", re.I
)


@dataclass(frozen=True)
class Confound:
    """One confound as columns of a regression.

    Attributes:
        name: its column in `GraphSet.table`.
        categories: the training categories of text, the first without a column of its own; () for numbers.
        center, spread: of a number, over the training graphs.
        square: whether the square of the number is a second column.
        means: mean of each column over the training graphs.
    """

    name: str
    categories: tuple[str, ...] = ()
    center: float = 0.0
    spread: float = 1.0
    square: bool = False
    means: tuple[float, ...] = ()

    @classmethod
    def learn(cls, name: str, values: NDArray[Any], square: bool) -> Confound:
        """Learn the categories, or the mean and spread, of one confound."""
        if SITES.fullmatch(name):
            values = as_categories(values)
        if values.dtype.kind not in "biuf":
            if square:
                raise InputError(f"confound {name!r} holds text such as {str(values[0])!r}; leave it out of squared")
            confound = cls(name, tuple(np.unique(values).tolist()))
        else:
            numbers = values.astype(np.float64)
            spread = float(numbers.std())
            confound = cls(name, (), float(numbers.mean()), spread if spread > 0 else 1.0, square)
        means = confound._raw(values)[0].mean(axis=0)
        return replace(confound, means=tuple(means.tolist()))

    def columns(self, values: NDArray[Any]) -> Floats:
        """Return the centred columns of some graphs, shape (g, columns); a category that is new counts as the mean."""
        if SITES.fullmatch(self.name):
            values = as_categories(values)
        if bool(self.categories) == (values.dtype.kind in "biuf"):
            was = "text" if self.categories else "numbers"
            raise InputError(f"confound {self.name!r} was {was} in training and holds {str(values[0])!r}; use one kind")
        raw, seen = self._raw(values)
        if not seen.all():
            new = values[~seen]
            warnings.warn(
                f"{self.name} {str(new[0])!r} was not in training; its {len(new)} graphs are adjusted as the average",
                IsoNNWarning,
                stacklevel=2,
            )
        return np.where(seen[:, None], raw - np.array(self.means), 0.0)

    def _raw(self, values: NDArray[Any]) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the columns, and which graphs have a known value."""
        if self.categories:
            table = values[:, None] == np.array(self.categories)
            return table[:, 1:].astype(np.float64), table.any(axis=1)
        numbers = (values.astype(np.float64) - self.center) / self.spread
        columns = [numbers, numbers**2] if self.square else [numbers]
        return np.stack(columns, axis=1), np.ones(len(values), dtype=bool)


def as_categories(values: NDArray[Any]) -> NDArray[Any]:
    """Return numbers of sites as text, so that they are categories; a whole number is the same as int or float.

    Example:
        >>> as_categories(np.array([1.0, 3.0])).tolist()
        ['1', '3']
    """
    if values.dtype.kind == "f" and (values == np.rint(values)).all():
        values = values.astype(np.int64)
    return values.astype(np.str_)


def learn_confounds(graphs: GraphSet, names: Sequence[str], squared: Sequence[str]) -> tuple[Confound, ...]:
    """Learn from the training graphs; raise an error for gaps and for too many columns."""
    odd = [name for name in squared if name not in names]
    if odd:
        raise InputError(f"squared names {odd[0]!r}, which is not a confound; the confounds are {list(names)}")
    _check_complete(graphs, names)
    confounds = tuple(Confound.learn(name, graphs.table[name], name in squared) for name in names)
    columns = sum(len(confound.means) for confound in confounds)
    if columns and columns > len(graphs) - 4:
        raise InputError(
            f"{columns} columns of confounds are too many for {len(graphs)} graphs; use fewer, at most "
            f"{max(len(graphs) - 4, 0)}"
        )
    return confounds


def confound_columns(confounds: Sequence[Confound], graphs: GraphSet) -> Floats:
    """Return the centred columns of all confounds, shape (g, columns)."""
    names = [confound.name for confound in confounds]
    missing = [name for name in names if name not in graphs.table]
    if missing:
        raise InputError(
            f"{graphs.name} has no {missing[0]!r}, but the model was fitted with the confounds "
            f"{', '.join(names)}; give them with confounds=, or graphs.with_confounds(table)"
        )
    _check_complete(graphs, names)
    columns = [confound.columns(graphs.table[confound.name]) for confound in confounds]
    return np.column_stack([np.zeros((len(graphs), 0)), *columns])


def confound_strata(confounds: Sequence[Confound], graphs: GraphSet) -> IntArray | None:
    """Return the joint category of each graph, shape (g,); None if there are no categories.

    Only graphs of one category are exchanged in permutations, because sites differ in noise as well as in mean. A
    confound that would leave too few graphs per category does not count.
    """
    codes: IntArray | None = None
    for confound in confounds:
        if not confound.categories:
            continue
        category = np.unique(graphs.table[confound.name], return_inverse=True)[1].reshape(-1)
        joint = category if codes is None else codes * (int(category.max()) + 1) + category
        joint = np.unique(joint, return_inverse=True)[1].reshape(-1).astype(np.int64)
        if len(graphs) >= LEAST_STRATUM * (int(joint.max()) + 1):
            codes = joint
    return codes


def _check_complete(graphs: GraphSet, names: Sequence[str]) -> None:
    """Raise an error for graphs without a confound, or with an infinite one."""
    for name in names:
        values = graphs.table[name]
        numbers = values.dtype.kind in "biuf"
        gaps = ~np.isfinite(values) if numbers else np.isin(values, ("", "n/a", "nan"))
        if gaps.any():
            i = int(gaps.argmax())
            who = f"graph {i} of {len(graphs)}" + (f" ({graphs.ids[i]:.60})" if graphs.ids is not None else "")
            raise InputError(
                f"{who} has no {name} ({int(gaps.sum())} have none), which is a confound; fill the gaps, or leave "
                f"these graphs out"
            )
