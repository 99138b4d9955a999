r"""Training graphs that new graphs are compared with, and how wrong the model was about them.

Graphs are compared by their features times the size of the model's weights, so pieces that matter for the prediction
matter for the comparison. The similarity of two graphs with weighted features a and b is Tanimoto's,
:math:`s = a \cdot b / (\lVert a \rVert^2 + \lVert b \rVert^2 - a \cdot b)`. Weighted features are stored as a sketch
of `WIDTH` numbers: every column is added to one of them with a random sign, which keeps the products of graphs on
average. No piece can be read from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from isonn.compiled import compiled
from isonn.heads.data import Distinct, Inputs
from isonn.packing import Floats, IntArray, mix64, stored_array
from isonn.targets import Target

#: Numbers per graph. On ESOL, 256 tell graphs with large errors as well as all columns do (AUROC .75 both).
WIDTH = 256
#: Number of nearest graphs that are looked at. On ESOL and FreeSolv, 10 and 20 do equally well.
NEAREST = 20
#: Most training graphs to compare with, and most that errors are calibrated on, drawn by digest.
MOST_REFERENCES, MOST_CALIBRATED = 8192, 20_000
#: Graphs compared at a time.
CHUNK = 512
#: Number of signals of difficulty.
SIGNALS = 2
#: Weight of the mean error of all graphs beside the nearest ones.
PRIOR = 1e-3
#: An error of so many times the mean makes a neighbour unreliable.
UNRELIABLE = 2.0


@dataclass(frozen=True, eq=False)
class Near:
    """The nearest training graphs of some graphs, nearest first.

    Attributes:
        similarity: from 0 to 1, shape (g, k).
        reference: their rows in `References`, shape (g, k).
    """

    similarity: Floats
    reference: IntArray


@dataclass(frozen=True, eq=False)
class References:
    """Training graphs to compare new graphs with, and how wrong the model was about them when they were held out.

    Attributes:
        weights: the weight of each feature, shape (p,).
        points: sketches of weighted features, shape (m, WIDTH), in half precision.
        errors: the held-out error of each column or, for classes, of the graph, divided by the mean error; NaN if
            unknown, shape (m, columns).
        mean_errors: shape (columns,).
    """

    weights: NDArray[np.float32]
    points: NDArray[np.float16]
    errors: NDArray[np.float32]
    mean_errors: Floats

    @property
    def mean_error(self) -> Floats:
        """The mean over columns of each reference's error, 1 if it is unknown, shape (m,)."""
        return _mean_over_columns(self.errors)

    def nearest(
        self, points: NDArray[np.float32], group: IntArray | None = None, groups: IntArray | None = None
    ) -> Near:
        """Return the nearest references of sketches.

        Args:
            points: from `sketch`.
            group: the group of each graph; references of the same group do not count.
            groups: the group of each reference.
        """
        k = min(NEAREST, len(self.points))
        stored, squares = self._stored
        similarity, reference = np.full((len(points), k), -np.inf), np.zeros((len(points), k), dtype=np.int64)
        if group is None or groups is None:  # no graph is of the group of a reference
            group, groups = np.zeros(len(points), dtype=np.int64), np.ones(len(stored), dtype=np.int64)
        for start in range(0, len(points), CHUNK):
            rows = slice(start, start + CHUNK)
            lengths = np.einsum("gd,gd->g", points[rows], points[rows])
            keep_nearest(
                points[rows] @ stored.T, lengths, squares, group[rows], groups, similarity[rows], reference[rows]
            )
        return Near(np.clip(similarity, 0.0, 1.0), reference)

    @cached_property
    def _stored(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The sketches in single precision, and their squared lengths."""
        stored = self.points.astype(np.float32)
        return stored, np.einsum("md,md->m", stored, stored)

    def distances(self, near: Near, all_reliable: bool = False) -> Floats:
        """Return how far graphs are from training graphs that are predicted well, shape (g,), from 0 to 1.

        Args:
            near: their nearest references.
            all_reliable: count every reference as predicted well.
        """
        errors = self.mean_error[near.reference] * (not all_reliable)
        reliable = 1 - np.minimum(errors / UNRELIABLE, 1)
        weights = near.similarity**4 + 1e-12
        return np.asarray(1 - (weights * near.similarity * reliable).sum(axis=1) / weights.sum(axis=1))

    def local_errors(self, near: Near) -> Floats:
        """Return the mean held-out error of the nearest graphs, 1 for the mean over all, shape (g, columns).

        Graphs count by the fourth power of their similarity; without similar ones, the mean over all graphs remains.
        """
        weights = near.similarity**4
        errors = self.errors[near.reference].astype(np.float64)  # (g, k, columns)
        given = np.isfinite(errors) * weights[:, :, None]
        total = (given * np.nan_to_num(errors)).sum(axis=1) + PRIOR
        return np.asarray(total / (given.sum(axis=1) + PRIOR))

    def signals(self, near: Near) -> Floats:
        """Return signals of difficulty for numbers, in the units of outputs, shape (g, 2, columns).

        They are the error of the nearest graphs, and the mean error times how far these are.
        """
        local = self.local_errors(near) * self.mean_errors
        apart = 1 - near.similarity.mean(axis=1)
        return np.stack([local, apart[:, None] * self.mean_errors], axis=1)

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name."""
        return {
            "weights": self.weights,
            "points": self.points,
            "errors": self.errors,
            "mean_errors": self.mean_errors,
        }

    @classmethod
    def restore(cls, tensors: dict[str, NDArray[Any]], features: int, columns: int) -> References:
        """Restore references; raise ValueError if they do not fit the model.

        Args:
            tensors: from `tensors`.
            features: number of features of the model.
            columns: number of columns of errors.
        """
        points = stored_array(tensors, "points", (-1, WIDTH), np.float16)
        if not len(points):
            raise ValueError("there are no references")
        return cls(
            stored_array(tensors, "weights", (features,), np.float32),
            points,
            stored_array(tensors, "errors", (len(points), columns), np.float32, gaps=True),
            stored_array(tensors, "mean_errors", (columns,)),
        )


@compiled()
def keep_nearest(products, lengths, squares, group, groups, similarity, reference):  # type: ignore[no-untyped-def]
    """Write the most similar references of each graph, most similar first; of equal ones the first in order.

    Args:
        products: of graphs and references, shape (g, m).
        lengths, squares: squared lengths of graphs, shape (g,), and of references, shape (m,).
        group, groups: of graphs and of references; those of the same group have similarity 0.
        similarity, reference: the result, shape (g, k); similarities start as minus infinity.
    """
    k = similarity.shape[1]
    for i in range(products.shape[0]):
        for j in range(products.shape[1]):
            product = products[i, j]
            alike = product / max(lengths[i] + squares[j] - product, np.float32(1e-12))
            if group[i] == groups[j]:
                alike = np.float32(0)
            if alike > similarity[i, k - 1]:
                place = k - 1
                while place > 0 and alike > similarity[i, place - 1]:
                    similarity[i, place], reference[i, place] = similarity[i, place - 1], reference[i, place - 1]
                    place -= 1
                similarity[i, place], reference[i, place] = alike, j


def sketch(features: csr_array, weights: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return weighted features as `WIDTH` numbers per graph; products of graphs stay the same on average.

    Example:
        >>> rows = csr_array(np.eye(2, 5))
        >>> points = sketch(rows, np.ones(5, dtype=np.float32))
        >>> points.shape, np.abs(points).sum(axis=1).tolist()
        ((2, 256), [1.0, 1.0])
    """
    hashed = mix64(np.arange(features.shape[1], dtype=np.uint64))
    place = (hashed % np.uint64(WIDTH)).astype(np.int64)
    factor = np.where(hashed >> np.uint64(63), weights, -weights)
    graphs = features.shape[0]
    row = np.repeat(np.arange(graphs) * WIDTH, np.diff(features.indptr))
    values = features.data * factor[features.indices]
    sums = np.bincount(row + place[features.indices], values, minlength=graphs * WIDTH)
    return sums.reshape(graphs, WIDTH).astype(np.float32)


def held_out_errors(outputs: Floats, targets: NDArray[Any], target: Target) -> Floats:
    """Return the error of each graph: absolute for numbers, else one minus the probability of the truth.

    Returns:
        ndarray of shape (g, columns), NaN if unknown; classes have one column.

    Example:
        >>> from isonn.targets import Labels
        >>> held_out_errors(np.zeros((1, 2)), np.array([[1.0, np.nan]]), Labels(2)).tolist()
        [[0.5, nan]]
    """
    if target.numeric:
        return np.asarray(np.abs(targets - outputs), dtype=np.float64)
    answers = target.link(outputs)
    if target.exclusive:
        return np.asarray(1 - answers[np.arange(len(answers)), targets][:, None])
    return np.abs(np.asarray(targets, dtype=np.float64) - answers)


@dataclass(frozen=True, eq=False)
class HeldOutGraphs:
    """Training graphs with their errors, and their nearest references of other groups.

    Attributes:
        graphs: numbers of the distinct graphs, rising, at most `MOST_CALIBRATED`, shape (n,).
        errors: the mean over columns of their errors, divided by the mean over graphs, shape (n,).
        near: their nearest references of other groups.
        members: numbers of the distinct graphs that are references, shape (m,).
    """

    graphs: IntArray
    errors: Floats
    near: Near
    members: IntArray


def learn_references(
    inputs: Inputs, errors: Floats, weights: Floats, distinct: Distinct
) -> tuple[References, HeldOutGraphs]:
    """Store the training graphs, and find the nearest references of each that are of another group.

    Args:
        inputs: features of the training graphs.
        errors: from `held_out_errors`.
        weights: the weight of each feature, not negative, shape (p,).
        distinct: which rows are equal graphs.
    """
    held = np.isfinite(errors).any(axis=1) & (distinct.graph >= 0)
    order = np.argsort(mix64(distinct.digests), kind="stable")
    order = order[np.isin(order, distinct.graph[held])]
    graphs, members = np.sort(order[:MOST_CALIBRATED]), np.sort(order[:MOST_REFERENCES])
    by_graph = _mean_by_graph(errors, distinct.graph, len(distinct.rows))
    totals = np.nansum(by_graph[order], axis=0) / np.maximum(np.isfinite(by_graph[order]).sum(axis=0), 1)
    means = np.where(totals > 0, totals, 1.0)
    relative = (by_graph / means).astype(np.float32)
    scaled = (weights / max(float(weights.max(initial=0.0)), 1e-300)).astype(np.float32)
    points = sketch(csr_array(inputs.features[distinct.rows[graphs]]), scaled)
    norm = np.float32(max(float(np.sqrt(np.einsum("gd,gd->g", points, points).mean())), 1e-12))
    points = points / norm
    stored = points[np.searchsorted(graphs, members)].astype(np.float16)
    references = References(scaled / norm, stored, relative[members], means)
    near = references.nearest(points, distinct.groups[graphs], distinct.groups[members])
    return references, HeldOutGraphs(graphs, _mean_over_columns(relative[graphs]), near, members)


def _mean_over_columns(errors: NDArray[np.float32]) -> Floats:
    """Return the mean of the known errors of each row, 1 if there is none."""
    known = np.isfinite(errors)
    total = np.where(known, errors, 0.0).sum(axis=1)
    return np.asarray(np.where(known.any(axis=1), total / np.maximum(known.sum(axis=1), 1), 1.0), dtype=np.float64)


def _mean_by_graph(errors: Floats, graph: IntArray, graphs: int) -> Floats:
    """Return the mean error of the copies of each distinct graph, NaN if unknown."""
    means = np.full((graphs, errors.shape[1]), np.nan)
    for column, values in enumerate(errors.T):
        rows = np.flatnonzero(np.isfinite(values) & (graph >= 0))
        count = np.bincount(graph[rows], minlength=graphs)
        total = np.bincount(graph[rows], values[rows], minlength=graphs)
        means[:, column] = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return means
