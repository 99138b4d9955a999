"""Confounds such as age, sex, site and motion: their columns in a regression, and the regression itself."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import InputError, IsoNNWarning
from isonn.graphs.graph import GraphSet
from isonn.packing import Floats, IntArray

#: Confounds that explain all but this share of a target leave nothing to test.
DETERMINED = 1e-8
#: Columns whose residuals are computed at a time, to save memory.
CHUNK = 4096
#: Mean number of graphs in a category within which permutations exchange graphs.
LEAST_STRATUM = 8


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
        _check_known(name, values)
        if values.dtype.kind not in "biuf":
            if square:
                raise InputError(f"confound {name!r} holds text such as {str(values[0])!r}; leave it out of squared")
            found = cls(name, tuple(np.unique(values).tolist()))
        else:
            numbers = values.astype(np.float64)
            spread = float(numbers.std())
            found = cls(name, (), float(numbers.mean()), spread if spread > 0 else 1.0, square)
        means = found._raw(values)[0].mean(axis=0)
        return cls(**{**vars(found), "means": tuple(means.tolist())})

    def columns(self, values: NDArray[Any], unseen: str = "mean") -> Floats:
        """Return the centred columns of some graphs, shape (g, columns)."""
        _check_known(self.name, values)
        if bool(self.categories) == (values.dtype.kind in "biuf"):
            was = "text" if self.categories else "numbers"
            raise InputError(f"confound {self.name!r} was {was} in training and holds {str(values[0])!r}; use one kind")
        raw, known = self._raw(values)
        if not known.all():
            new = values[~known]
            if unseen == "error":
                raise InputError(
                    f"{self.name} {str(new[0])!r} was not in training ({len(new)} graphs); leave these graphs out, or "
                    f"use unseen='mean'"
                )
            warnings.warn(
                f"{self.name} {str(new[0])!r} was not in training; its {len(new)} graphs are adjusted as the average",
                IsoNNWarning,
                stacklevel=2,
            )
        return np.where(known[:, None], raw - np.array(self.means), 0.0)

    def _raw(self, values: NDArray[Any]) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the columns, and which graphs have a known value."""
        if self.categories:
            table = values[:, None] == np.array(self.categories)
            return table[:, 1:].astype(np.float64), table.any(axis=1)
        numbers = (values.astype(np.float64) - self.center) / self.spread
        columns = [numbers, numbers**2] if self.square else [numbers]
        return np.stack(columns, axis=1), np.ones(len(values), dtype=bool)


@dataclass(frozen=True)
class Confounds:
    """The confounds of a model.

    Attributes:
        parts: one `Confound` per column of the table.
        unseen: how to treat a category that was not in training: "mean" or "error".
    """

    parts: tuple[Confound, ...]
    unseen: str = "mean"

    @classmethod
    def learn(cls, graphs: GraphSet, names: Sequence[str], squared: Sequence[str], unseen: str) -> Confounds:
        """Learn from the training graphs; raise an error for gaps and for too many columns."""
        odd = [name for name in squared if name not in names]
        if odd:
            raise InputError(f"squared names {odd[0]!r}, which is not a confound; the confounds are {list(names)}")
        parts = tuple(Confound.learn(name, graphs.table[name], name in squared) for name in names)
        columns = sum(len(part.means) for part in parts)
        if columns > len(graphs) - 4:
            raise InputError(
                f"{columns} columns of confounds are too many for {len(graphs)} graphs; use fewer, at most "
                f"{max(len(graphs) - 4, 0)}"
            )
        return cls(parts, unseen)

    @property
    def names(self) -> list[str]:
        """The names of the confounds."""
        return [part.name for part in self.parts]

    def matrix(self, graphs: GraphSet) -> Floats:
        """Return the centred columns of all confounds, shape (g, columns)."""
        missing = [name for name in self.names if name not in graphs.table]
        if missing:
            raise InputError(
                f"{graphs.name} has no {missing[0]!r}, but the model was fitted with the confounds "
                f"{', '.join(self.names)}; give them with confounds=, or graphs.with_confounds(table)"
            )
        return np.column_stack(
            [np.zeros((len(graphs), 0)), *(part.columns(graphs.table[part.name], self.unseen) for part in self.parts)]
        )

    def slices(self) -> dict[str, slice]:
        """Return the columns of each confound."""
        ends = np.cumsum([len(part.means) for part in self.parts]).tolist()
        return {part.name: slice(end - len(part.means), end) for part, end in zip(self.parts, ends, strict=True)}

    def strata(self, graphs: GraphSet) -> IntArray | None:
        """Return the joint category of each graph, shape (g,); None if there are no categories.

        Only graphs of one category are exchanged in permutations, because sites differ in noise as well as in mean. A
        confound that would leave too few graphs per category does not count.
        """
        codes: IntArray | None = None
        for part in self.parts:
            if not part.categories:
                continue
            own = np.unique(graphs.table[part.name], return_inverse=True)[1].reshape(-1)
            joint = own if codes is None else codes * (int(own.max()) + 1) + own
            joint = np.unique(joint, return_inverse=True)[1].reshape(-1).astype(np.int64)
            if len(graphs) >= LEAST_STRATUM * (int(joint.max()) + 1):
                codes = joint
        return codes

    def describe(self) -> dict[str, Any]:
        """Return the confounds as JSON."""
        return {"unseen": self.unseen, "parts": [vars(part) for part in self.parts]}

    @classmethod
    def restore(cls, stored: Mapping[str, Any]) -> Confounds:
        """Restore the confounds from `describe`."""
        lists = ("categories", "means")
        parts = [Confound(**{**part, **{name: tuple(part[name]) for name in lists}}) for part in stored["parts"]]
        return cls(tuple(parts), stored["unseen"])


@dataclass(frozen=True, eq=False)
class Nuisance:
    """Least squares on an intercept and the confounds, for residuals and partial statistics.

    Attributes:
        root: square roots of the weights, of mean square 1, shape (g,).
        basis: an orthonormal basis of the weighted intercept and confounds, shape (g, q); the intercept is first.
    """

    root: Floats
    basis: Floats

    @classmethod
    def of(cls, confounds: Floats | None, weights: Floats) -> Nuisance:
        """Prepare the regression of some graphs."""
        root = np.sqrt(weights / weights.mean())
        first = root / np.linalg.norm(root)
        if confounds is None or not confounds.shape[1]:
            return cls(root, first[:, None])
        rest = confounds * root[:, None]
        rest = rest - np.outer(first, first @ rest)
        vectors, sizes, _ = np.linalg.svd(rest, full_matrices=False)
        return cls(root, np.column_stack([first, vectors[:, sizes > 1e-9 * max(sizes.max(initial=0.0), 1e-300)]]))

    @property
    def freedom(self) -> int:
        """Degrees of freedom of a partial correlation."""
        return max(len(self.root) - int(self.basis.shape[1]) - 1, 1)

    def residuals(self, values: Floats) -> Floats:
        """Return what the confounds do not explain; ``values`` themselves if they explain nothing."""
        if np.ptp(self.root) == 0:
            explained = np.abs(self.basis.T @ values).max(initial=0.0)
            if explained <= 1e-12 * np.sqrt(len(values)) * np.abs(values[0]).max(initial=0.0):
                return values
        rest = values * self.root[:, None]
        for start in range(0, rest.shape[1], CHUNK):
            part = rest[:, start : start + CHUNK]
            part -= self.basis @ (self.basis.T @ part)
        rest /= self.root[:, None]
        return np.asarray(rest)


def adjustment(confounds: Floats, source: NDArray[np.bool_]) -> Floats:
    """Return the matrix that maps the values of all graphs to the slopes of the confounds, shape (columns, g).

    Args:
        confounds: shape (g, columns).
        source: the graphs that the regression is fitted to, shape (g,).
    """
    own = confounds[source]
    slopes = np.zeros((confounds.shape[1], len(confounds)))
    slopes[:, source] = np.linalg.pinv(own - own.mean(axis=0), rcond=1e-9)
    return slopes


def subtract(values: Floats, confounds: Floats, slopes: Floats) -> None:
    """Subtract the effects of confounds from ``values`` in place, some columns at a time."""
    for start in range(0, values.shape[1], CHUNK):
        values[:, start : start + CHUNK] -= confounds @ slopes[:, start : start + CHUNK]


def check_determined(confounds: Floats, columns: Floats, names: Sequence[str], what: Sequence[str]) -> None:
    """Raise `InputError` if the confounds determine a column of the target, so that nothing is left to test."""
    for number in range(columns.shape[1]):
        known = np.isfinite(columns[:, number])
        target = columns[known, number] - columns[known, number].mean()
        nuisance = Nuisance.of(confounds[known], np.ones(int(known.sum())))
        rest = nuisance.residuals(target[:, None])
        if (target**2).sum() > 0 and (rest**2).sum() <= DETERMINED * (target**2).sum():
            raise InputError(
                f"the confounds {', '.join(names)} determine {what[number]} exactly, as with one site per class, so "
                f"its effect cannot be told from theirs; leave out the confound that equals it"
            )


def _check_known(name: str, values: NDArray[Any]) -> None:
    gaps = np.isnan(values) if values.dtype.kind == "f" else np.isin(values, ("", "n/a", "nan"))
    if values.dtype.kind in "biu" or not gaps.any():
        if values.dtype.kind == "f" and np.isinf(values).any():
            raise InputError(f"confound {name!r} of graph {int(np.isinf(values).argmax())} is infinite; correct it")
        return
    raise InputError(
        f"graph {int(gaps.argmax())} of {len(values)} has no {name} ({int(gaps.sum())} have none), which is a "
        f"confound; fill the gaps, or leave these graphs out"
    )
