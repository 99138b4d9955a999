"""The head of boosted trees: logic on the counts of pieces, with exact Shapley values as contributions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack
from typing_extensions import Self

from isonn.heads.boosting import Job, train
from isonn.heads.calibration import Blend
from isonn.heads.data import Distinct, Inputs
from isonn.heads.folds import grouped_folds, sample_graphs
from isonn.heads.head import Contributions, Head, register_head
from isonn.heads.tree_arrays import TreeArrays
from isonn.packing import Floats, IntArray, below, mix64, prefixed, stored_array
from isonn.seeding import derive_seed
from isonn.targets import Target

#: Largest number of columns for the trees. On a fold of Ames, 1,000 / 2,000 / 4,000 / all 34,627 columns had AUROC
#: .898 / .901 / .901 / .902 in 1.6 / 2.4 / 3.8 / 15.5 s of one core.
COLUMNS = 3072
#: A column must differ from its commonest value in this many distinct graphs.
LEAST_GRAPHS = 3
#: Number of graphs that are read at a time, and of frequent columns that are screened at a time.
GRAPHS_AT_ONCE, COLUMNS_AT_ONCE = 4096, 32


@register_head
class TreesHead(Head):
    """Boosted trees on counts; contributions are exact Shapley values, so they add up as well.

    Several classes are one model, each label or number is one of its own on the graphs where it is known. Identical
    columns are merged: in new graphs the first of them is read. Columns are screened without looking at the targets.
    Rows of equal graphs with equal targets are merged and rows are sorted by digest, so neither the order of graphs nor
    repeats instead of weights change the trees. Beyond 200,000 distinct graphs, trees are trained on a sample of them.

    Attributes:
        graphs: number of distinct graphs that the trees were trained on.
        columns: the columns of counts that the trees read, shape (q,).
        trees: the trees of all models.
        held_out: calibrated outputs of models without the graph's fold, shape (g, outputs).

    Example:
        >>> from scipy.sparse import csr_array
        >>> from isonn.targets import Classes
        >>> inputs = Inputs.of(csr_array(np.random.default_rng(0).integers(0, 9, (60, 3)).astype(float)))
        >>> y = (inputs.counts.toarray()[:, 0] > 4).astype(int)
        >>> head = TreesHead().fit(inputs, y, Classes(np.array(["a", "b"])))
        >>> float((head.outputs(inputs).argmax(axis=1) == y).mean())
        1.0
    """

    name = "trees"
    symmetric = True

    graphs: int
    columns: IntArray
    trees: TreeArrays
    held_out: Floats

    def fit(
        self,
        inputs: Inputs,
        targets: NDArray[Any],
        target: Target,
        weights: Floats | None = None,
        seed: int = 0,
        folds: IntArray | None = None,
    ) -> Self:
        """Train the trees.

        Args:
            inputs: counts, with what graphs are equal and stay together.
            targets: from ``target.encode``.
            target: the kind of target.
            weights: of the graphs.
            seed: for the samples of rows and columns.
            folds: the fold of each distinct graph, from `isonn.heads.folds`.
        """
        distinct = Distinct.of(inputs, weights)
        folds = grouped_folds(distinct, targets, target, seed) if folds is None else folds
        self.halves = target.exclusive and len(target.classes) == 2
        sample = sample_graphs(distinct, targets, target, seed)
        folds = np.where(np.isin(np.arange(len(folds)), sample), folds, -1)
        self.graphs = len(sample)
        self.columns = screen_columns(inputs.counts, distinct.rows[sample])
        scores = self._train(inputs, distinct, _jobs(targets, target, distinct, sample), folds, seed)
        raw = np.where((distinct.graph >= 0)[:, None], self._per_class(scores)[distinct.graph], np.nan)
        if not target.exclusive:
            raw = np.where(np.isfinite(targets), raw, np.nan)
        self.blend = self._calibrate([raw], targets, target, distinct)
        return self

    def _train(self, inputs: Inputs, distinct: Distinct, jobs: list[Job], folds: IntArray, seed: int) -> Floats:
        """Train on all graphs and without each fold; return the held-out scores of the distinct graphs."""
        used = np.unique(np.concatenate([*(job.rows for job in jobs), np.flatnonzero(folds >= 0)]))
        table, folds = take_cells(inputs.counts, distinct.rows[used], self.columns), folds[used]
        jobs = [replace(job, rows=np.searchsorted(used, job.rows)) for job in jobs]
        values = np.unique(folds[folds >= 0]).tolist()
        parts = [job.without(folds == fold) for fold in values for job in jobs]
        sizes = np.ones(len(self.columns), dtype=np.int64) if inputs.sizes is None else inputs.sizes[self.columns]
        models = train(table, sizes, [*jobs, *parts], derive_seed(seed, "trees"))
        self.trees = TreeArrays.stack(models[: len(jobs)])
        scores = np.full((len(distinct.rows), self.trees.outputs), np.nan)
        for i, fold in enumerate(values):
            model = TreeArrays.stack(models[(i + 1) * len(jobs) : (i + 2) * len(jobs)])
            scores[used[folds == fold]] = model.sums(csr_array(table[folds == fold], dtype=np.float64))
        return scores

    def _per_class(self, scores: Floats) -> Floats:
        """Return one column per output: of two classes, minus and plus half of the score."""
        return np.asarray(scores @ np.array([[-0.5, 0.5]]) if self.halves else scores)

    def outputs(self, inputs: Inputs) -> Floats:
        """Return the calibrated sums of leaves."""
        counts = take_columns(inputs.counts, self.columns)
        return self.blend([self._per_class(self.trees.sums(counts))])

    def contributions(self, inputs: Inputs, output: int, reference: Inputs | None = None) -> Contributions:
        """Return Shapley values of the columns against the reference."""
        factor, score = float(self.blend.scales[0, output]), output
        if self.halves:
            factor, score = factor * (output - 0.5), 0
        start = csr_array((1, inputs.counts.shape[1])) if reference is None else reference.counts
        start = take_columns(start, self.columns)
        values = self.trees.shapley(take_columns(inputs.counts, self.columns), score, start.toarray()[0])
        rows, places = np.nonzero(values)
        shares = factor * values[rows, places]
        counts = csr_array((shares, (rows, self.columns[places])), shape=inputs.counts.shape)
        base = factor * float(self.trees.sums(start)[0, score]) + float(self.blend.intercept[output])
        return Contributions(base, csr_array(inputs.features.shape), counts)

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return columns, trees and calibration."""
        return {
            "columns": self.columns,
            "graphs": np.array([self.graphs]),
            "halves": np.array([self.halves]),
            "scale": self.blend.scales[0],
            "intercept": self.blend.intercept,
            **prefixed("trees", self.trees.tensors()),
        }

    @classmethod
    def restore(cls, tensors: dict[str, NDArray[Any]]) -> TreesHead:
        """Restore a head; raise ValueError if the trees are damaged."""
        head = cls()
        head.columns, head.halves = tensors["columns"].astype(np.int64), bool(tensors["halves"][0])
        head.graphs = int(tensors["graphs"][0])
        head.trees = TreeArrays.restore(below("trees", tensors), len(head.columns))
        if head.halves and head.trees.outputs != 1:
            raise ValueError(f"the trees of two classes have {head.trees.outputs} outputs instead of one")
        outputs = 2 if head.halves else head.trees.outputs
        if head.columns.ndim != 1 or (np.diff(head.columns) <= 0).any() or head.columns.min(initial=0) < 0:
            raise ValueError("the columns of the trees are not rising numbers")
        scale, intercept = (stored_array(tensors, name, (outputs,)) for name in ("scale", "intercept"))
        head.blend = Blend(scale[None], intercept)
        return head


def _jobs(targets: NDArray[Any], target: Target, distinct: Distinct, sample: IntArray) -> list[Job]:
    """Return one job for all classes, or one for each column."""
    if target.exclusive:
        classes = len(target.classes)
        kind, outputs = ("multiclass", classes) if classes > 2 else ("binary", 1)
        return [_job(targets.astype(np.float64), distinct, sample, kind, outputs)]
    kind = "regression" if target.numeric else "binary"
    return [_job(column, distinct, sample, kind, 1) for column in targets.astype(np.float64).T]


def _job(column: Floats, distinct: Distinct, sample: IntArray, objective: str, outputs: int) -> Job:
    """Merge rows of equal graphs with equal targets, sorted by digest and target; weights have mean 1."""
    rows, weights = distinct.pairs(column)
    graphs = distinct.graph[rows]
    if len(sample) < len(distinct.rows):
        some = np.isin(graphs, sample)
        graphs, rows, weights = graphs[some], rows[some], weights[some]
    return Job(graphs, column[rows], weights, objective, outputs)


def training_rows(
    inputs: Inputs, targets: NDArray[Any], target: Target, weights: Floats | None, seed: int
) -> NDArray[np.bool_] | None:
    """Return the rows whose counts `TreesHead.fit` reads, shape (g,), or None for all of them."""
    distinct = Distinct.of(inputs, weights)
    sample = sample_graphs(distinct, targets, target, seed)
    if len(sample) == len(distinct.rows):
        return None
    rows = np.zeros(len(inputs), dtype=bool)
    rows[distinct.rows[sample]] = True
    return rows


def take_columns(counts: csr_array, columns: IntArray, dtype: Any = np.float64) -> csr_array:
    """Return some columns, given as rising numbers; scipy takes five times as long for a single graph."""
    if counts.nnz * 8 < counts.shape[1]:  # a graph: a search takes less time than a table of all columns
        number = np.minimum(np.searchsorted(columns, counts.indices), len(columns) - 1).astype(np.int32)
        kept = columns[number] == counts.indices if len(columns) else np.zeros(counts.nnz, dtype=bool)
    else:
        place = np.full(counts.shape[1], -1, dtype=np.int32)
        place[columns] = np.arange(len(columns))
        number = place[counts.indices]
        kept = number >= 0
    ends = np.concatenate([[0], np.cumsum(kept)])[counts.indptr].astype(counts.indptr.dtype)
    shape = counts.shape[0], len(columns)
    return csr_array((counts.data[kept].astype(dtype), number[kept], ends), shape=shape)


def take_cells(counts: csr_array, rows: IntArray, columns: IntArray) -> csr_array:
    """Return some columns of some rows, reading a few rows at a time: a copy of all columns may take gigabytes."""
    blocks = [take_columns(block, columns, counts.dtype) for _, block in _in_blocks(counts, rows)]
    return csr_array(vstack(blocks, format="csr"))


def screen_columns(counts: csr_array, rows: IntArray | None = None) -> IntArray:
    """Return the columns for the trees: of identical columns the first, those with the most varied values.

    A column is varied if it differs from its commonest value in many graphs. Targets play no part.

    Args:
        counts: shape (g, c).
        rows: the graphs to look at; None for all.

    Example:
        >>> table = csr_array(np.array([[1, 1, 0], [1, 1, 2], [0, 0, 2], [0, 0, 0], [1, 1, 0], [0, 0, 2]]))
        >>> screen_columns(table).tolist()
        [0, 2]
    """
    rows = np.arange(counts.shape[0]) if rows is None else rows
    varied, digests = np.zeros(counts.shape[1], dtype=np.int64), np.zeros(counts.shape[1], dtype=np.uint64)
    for start, block in _in_blocks(counts, rows):
        graph = np.repeat(np.arange(start, start + block.shape[0], dtype=np.uint64), np.diff(block.indptr))
        kept = block.data != 0  # ignore explicitly stored zeros
        varied += np.bincount(block.indices[kept], minlength=len(varied))
        bits = block.data[kept].astype(np.float64).view(np.uint64)
        np.add.at(digests, block.indices[kept], mix64(mix64(graph[kept]) ^ bits))
    # the commonest value is zero unless more than half of the values are others
    often = np.flatnonzero(2 * varied > len(rows))
    for start in range(0, len(often), COLUMNS_AT_ONCE):
        some = often[start : start + COLUMNS_AT_ONCE]
        varied[some] = _varied(take_cells(counts, rows, some))
    _, first = np.unique(digests, return_index=True)
    first = np.sort(first[varied[first] >= max(1, min(LEAST_GRAPHS, len(rows) // 2))])
    return np.sort(first[np.argsort(-varied[first], kind="stable")[:COLUMNS]])


def _in_blocks(counts: csr_array, rows: IntArray) -> Iterator[tuple[int, csr_array]]:
    """Yield the number of the first row of each block, and the block."""
    for start in range(0, max(1, len(rows)), GRAPHS_AT_ONCE):
        yield start, csr_array(counts[rows[start : start + GRAPHS_AT_ONCE]])


def _varied(counts: csr_array) -> IntArray:
    """Return in how many graphs each column differs from its commonest value; NaN equals NaN."""
    graphs, columns = counts.shape[0], counts.tocsc()
    varied = []
    for values in np.split(columns.data, columns.indptr[1:-1]):
        numbers = np.unique(values[values != 0], return_counts=True)[1]
        varied.append(graphs - max(numbers.max(initial=0), graphs - numbers.sum()))
    return np.array(varied, dtype=np.int64)
