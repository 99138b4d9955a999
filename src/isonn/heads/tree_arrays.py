"""Decision trees as arrays: outputs, and exact Shapley values of the columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from isonn.packing import Floats

#: Longest path from a root to a leaf that is read; LightGBM's trees of 15 leaves have at most 14 splits.
DEEPEST = 64
#: 1 / n, because a division takes as long as several products.
INVERSE = np.array([0.0, *(1 / np.arange(1, DEEPEST + 3))])


@dataclass(frozen=True, eq=False)
class TreeArrays:
    """Trees whose leaves are summed; node by node, tree after tree, every node before its children.

    Attributes:
        feature: the column that a node splits, -1 for leaves.
        threshold: values up to it go left.
        nan_left: whether NaN goes left.
        left, right: children, as numbers of nodes.
        value: the output of a leaf.
        cover: number of training graphs that reached the node.
        roots: the first node of each tree, shape (trees,).
        output: the output that each tree adds to, shape (trees,).
    """

    feature: NDArray[np.int32]
    threshold: Floats
    nan_left: NDArray[np.bool_]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: Floats
    cover: Floats
    roots: NDArray[np.int32]
    output: NDArray[np.int32]

    @classmethod
    def leaves(cls, values: Floats) -> TreeArrays:
        """Return one tree of a single leaf for each output."""
        n = len(values)
        none, numbers = np.zeros(n, dtype=np.int32), np.arange(n, dtype=np.int32)
        no_split = np.full(n, -1, dtype=np.int32)
        return cls(no_split, np.zeros(n), none > 0, none, none, np.asarray(values, float), np.ones(n), numbers, numbers)

    @classmethod
    def join(cls, trees: Sequence[dict[str, Any]], outputs: int) -> TreeArrays:
        """Join trees, given as their arrays; tree i adds to output i modulo ``outputs``."""
        sizes = [len(tree["feature"]) for tree in trees]
        roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int32)
        start = np.repeat(roots, sizes)
        joined = {name: np.concatenate([tree[name] for tree in trees]) for name in trees[0]}
        return cls(
            joined["feature"].astype(np.int32),
            joined["threshold"].astype(np.float64),
            joined["nan_left"].astype(np.bool_),
            (joined["left"] + start).astype(np.int32),
            (joined["right"] + start).astype(np.int32),
            joined["value"].astype(np.float64),
            joined["cover"].astype(np.float64),
            roots,
            (np.arange(len(trees)) % outputs).astype(np.int32),
        )

    @classmethod
    def stack(cls, models: Sequence[TreeArrays]) -> TreeArrays:
        """Put models side by side: the outputs of each follow those of the one before."""
        nodes = np.cumsum([0, *(len(model.feature) for model in models)], dtype=np.int32)
        outputs = np.cumsum([0, *(model.outputs for model in models)], dtype=np.int32)
        shifted = [model._shifted(*start) for model, *start in zip(models, nodes, outputs, strict=False)]
        return cls(*(np.concatenate(arrays) for arrays in zip(*shifted, strict=True)))

    def _shifted(self, node: np.int32, output: np.int32) -> tuple[NDArray[Any], ...]:
        """Return the arrays with later numbers of nodes and outputs."""
        shift = {"left": node, "right": node, "roots": node, "output": output}
        arrays = ((field.name, getattr(self, field.name)) for field in fields(self))
        return tuple(array + shift[name] if name in shift else array for name, array in arrays)

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return int(self.output.max()) + 1

    def sums(self, counts: csr_array) -> Floats:
        """Return the sum of the leaves that each row of counts (g, q) reaches, shape (g, outputs)."""
        total = np.zeros((counts.shape[0], self.outputs))
        walk = _kernels()[0]
        table = counts.indptr, counts.indices, counts.data.astype(np.float64, copy=False), counts.shape[1]
        walk(*table, *self._arrays(), total)
        return total

    def shapley(self, counts: csr_array, output: int) -> Floats:
        """Return the exact Shapley values of the columns (path-dependent TreeSHAP), shape (g, q)."""
        values = np.zeros(counts.shape)
        share = _kernels()[1]
        share(counts.toarray().astype(np.float64), *self._arrays(), self.cover, output, values)
        return values

    def mean(self, output: int) -> float:
        """Return the mean output over the training graphs: leaves weighted by their number of graphs."""
        return float(self._tree_means[self.output == output].sum())

    @cached_property
    def _tree_means(self) -> Floats:
        leaf = self.feature < 0
        totals = (np.add.reduceat(values, self.roots) for values in (self.cover * self.value * leaf, self.cover * leaf))
        return np.asarray(np.divide(*totals))

    def _arrays(self) -> tuple[NDArray[Any], ...]:
        return tuple(getattr(self, field.name) for field in fields(self) if field.name != "cover")

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return all arrays by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def restore(cls, tensors: dict[str, NDArray[Any]], columns: int) -> TreeArrays:
        """Restore trees from their arrays; raise ValueError unless every walk stays inside its tree and ends."""
        trees = cls(**{field.name: tensors[field.name] for field in fields(cls)})
        trees._check_arrays()
        trees._check_walks(columns)
        return trees

    def _check_arrays(self) -> None:
        kinds = {"feature": "i4", "left": "i4", "right": "i4", "roots": "i4", "output": "i4", "nan_left": "b1"}
        for field in fields(self):
            array = getattr(self, field.name)
            size = len(self.roots) if field.name in ("roots", "output") else len(self.feature)
            if array.dtype != np.dtype(kinds.get(field.name, "f8")) or array.shape != (size,) or not size:
                raise ValueError(f"{field.name} of the trees has type {array.dtype} and shape {array.shape}")
        for name in ("threshold", "value", "cover"):
            if not np.isfinite(getattr(self, name)).all():
                raise ValueError(f"{name} of the trees is not finite")
        if not (self.cover > 0).all():
            raise ValueError("a node of the trees has no training graph")

    def _check_walks(self, columns: int) -> None:
        n, split = len(self.feature), np.flatnonzero(self.feature >= 0)
        if self.roots[0] != 0 or (np.diff(self.roots) <= 0).any() or self.roots[-1] >= n:
            raise ValueError("the trees do not start at rising nodes")
        if self.feature.min() < -1 or self.feature.max() >= columns:
            raise ValueError(f"a tree reads column {int(self.feature.max())} of {columns}")
        present = np.unique(self.output)
        if (present != np.arange(len(present))).any():
            raise ValueError("an output has no trees")
        ends = np.append(self.roots[1:], n)
        end = np.repeat(ends, np.diff(np.append(self.roots, n)))[split]
        depth = np.zeros(n, dtype=np.int64)
        for child in (self.left[split], self.right[split]):
            if (child <= split).any() or (child >= end).any():
                raise ValueError("a child of a tree does not come after its parent in the same tree")
        children = np.concatenate([self.left[split], self.right[split]])
        if len(np.unique(children)) != len(children) or len(children) + len(self.roots) != n:
            raise ValueError("a node of the trees does not have exactly one parent")
        for i in split.tolist():  # parents come first
            depth[self.left[i]] = depth[self.right[i]] = depth[i] + 1
        if depth.max() > DEEPEST:
            raise ValueError(f"a tree is {int(depth.max())} splits deep; at most {DEEPEST} are read")


@lru_cache(maxsize=1)
def _kernels() -> tuple[Any, Any]:
    """Compile the loops on first use, because numba is slow to import."""
    from isonn.compiled import compiled

    @compiled()
    def walk(indptr, indices, data, columns, feature, threshold, nan_left, left, right, value, roots, output, total):  # type: ignore[no-untyped-def]
        """Add the leaves of every row to its outputs."""
        row = np.zeros(columns)
        for i in range(len(indptr) - 1):
            for j in range(indptr[i], indptr[i + 1]):
                row[indices[j]] = data[j]
            for t in range(len(roots)):
                node = roots[t]
                while feature[node] >= 0:
                    x = row[feature[node]]
                    go_left = nan_left[node] if np.isnan(x) else x <= threshold[node]
                    node = left[node] if go_left else right[node]
                total[i, output[t]] += value[node]
            for j in range(indptr[i], indptr[i + 1]):
                row[indices[j]] = 0.0

    @compiled()
    def add_leaf(row, d, on_path, zero, one, value, weight, out, i):  # type: ignore[no-untyped-def]
        """Add the Shapley values of one leaf, whose path has d distinct columns, to ``out[i]``.

        Lundberg et al., Algorithm 2: ``zero`` is the share of training graphs that go on towards the leaf if the column
        is unknown, ``one`` is 1 if this graph does. ``weight`` holds the sums over sets of columns by their size.
        """
        weight[0] = 1.0
        for k in range(1, d + 1):
            z, o, share = zero[row, k - 1], one[row, k - 1], INVERSE[k + 1]
            weight[k] = 0.0
            for j in range(k - 1, -1, -1):
                weight[j + 1] += o * weight[j] * (j + 1) * share
                weight[j] = z * weight[j] * (k - j) * share
        left_out = 0.0  # the same for all columns that lead away from the leaf
        for j in range(d):
            left_out += weight[j] * INVERSE[d - j]
        left_out *= -(d + 1) * value
        for k in range(d):
            if one[row, k] == 0.0:
                out[i, on_path[row, k]] += left_out
                continue
            z, total, last = zero[row, k], 0.0, weight[d]
            for j in range(d - 1, -1, -1):
                part = last * (d + 1) * INVERSE[j + 1]
                total += part
                last = weight[j] - part * z * (d - j) * INVERSE[d + 1]
            out[i, on_path[row, k]] += total * (1 - z) * value

    @compiled()
    def share(rows, feature, threshold, nan_left, left, right, value, roots, output, cover, wanted, out):  # type: ignore[no-untyped-def]
        """Add the Shapley values of every row, walking to every leaf with the distinct columns of its path."""
        stack = np.zeros(DEEPEST + 2, np.int64)  # nodes still to visit
        depth = np.zeros(DEEPEST + 2, np.int64)  # distinct columns above each of them
        on_path = np.zeros((DEEPEST + 2, DEEPEST + 1), np.int64)
        zero = np.zeros((DEEPEST + 2, DEEPEST + 1))
        one = np.zeros((DEEPEST + 2, DEEPEST + 1))
        weight = np.zeros(DEEPEST + 2)
        for i in range(len(rows)):
            for t in range(len(roots)):
                if output[t] != wanted:
                    continue
                top = 0
                stack[0] = roots[t]
                depth[0] = 0
                while top >= 0:
                    node, d = stack[top], depth[top]
                    if feature[node] < 0:
                        if d > 0:
                            add_leaf(top, d, on_path, zero, one, value[node], weight, out, i)
                        top -= 1
                        continue
                    x = rows[i, feature[node]]
                    go_left = nan_left[node] if np.isnan(x) else x <= threshold[node]
                    place = d
                    for k in range(d):
                        if on_path[top, k] == feature[node]:
                            place = k
                    z, o = (zero[top, place], one[top, place]) if place < d else (1.0, 1.0)
                    # the right child takes the place of the node on the stack, the left one comes above it
                    for k in range(d):
                        on_path[top + 1, k] = on_path[top, k]
                        zero[top + 1, k] = zero[top, k]
                        one[top + 1, k] = one[top, k]
                    for step in range(2):
                        child = left[node] if step == 1 else right[node]
                        at = top + step
                        on_path[at, place] = feature[node]
                        zero[at, place] = z * cover[child] / cover[node]
                        one[at, place] = o if go_left == (step == 1) else 0.0
                        depth[at] = max(d, place + 1)
                        stack[at] = child
                    top += 1

    return walk, share
