"""Decision trees as arrays: outputs, and exact Shapley values of the columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from isonn.compiled import compiled
from isonn.packing import Floats

#: Longest path from a root to a leaf that is read; LightGBM's trees of 63 leaves have at most 62 splits.
DEEPEST = 64
#: 0!, 1!, ... as far as a path of distinct columns can need them.
FACTORIALS = np.array([math.factorial(n) for n in range(DEEPEST + 2)], dtype=np.float64)


class TreeArrays(NamedTuple):
    """Trees whose leaves are summed; node by node, tree after tree, every node before its children.

    Attributes:
        feature: the column that a node splits, -1 for leaves.
        threshold: values up to it go left.
        nan_left: whether NaN goes left.
        left, right: children, as numbers of nodes.
        value: the output of a leaf.
        roots: the first node of each tree, shape (trees,).
        output: the output that each tree adds to, shape (trees,).
    """

    feature: NDArray[np.int32]
    threshold: Floats
    nan_left: NDArray[np.bool_]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: Floats
    roots: NDArray[np.int32]
    output: NDArray[np.int32]

    @classmethod
    def leaves(cls, values: Floats) -> TreeArrays:
        """Return one tree of a single leaf for each output."""
        n = len(values)
        none, numbers = np.zeros(n, dtype=np.int32), np.arange(n, dtype=np.int32)
        no_split = np.full(n, -1, dtype=np.int32)
        return cls(no_split, np.zeros(n), none > 0, none, none, np.asarray(values, float), numbers, numbers)

    @classmethod
    def join(cls, models: Sequence[TreeArrays], first_outputs: Sequence[int]) -> TreeArrays:
        """Put models one after another; the trees of each add to outputs from its first output on."""
        nodes = np.cumsum([0, *(len(model.feature) for model in models)], dtype=np.int32)
        shifted = [
            model._replace(
                left=model.left + node,
                right=model.right + node,
                roots=model.roots + node,
                output=model.output + np.int32(output),
            )
            for model, node, output in zip(models, nodes[:-1], first_outputs, strict=True)
        ]
        return cls(*(np.concatenate(arrays) for arrays in zip(*shifted, strict=True)))

    @classmethod
    def stack(cls, models: Sequence[TreeArrays]) -> TreeArrays:
        """Put models side by side: the outputs of each follow those of the one before."""
        return cls.join(models, np.cumsum([0, *(model.outputs for model in models[:-1])]).tolist())

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return int(self.output.max()) + 1

    def sums(self, counts: csr_array) -> Floats:
        """Return the sum of the leaves that each row of counts (g, q) reaches, shape (g, outputs)."""
        total = np.zeros((counts.shape[0], self.outputs))
        _walk(
            counts.indptr.astype(np.int64, copy=False),
            counts.indices.astype(np.int32, copy=False),
            counts.data.astype(np.float64, copy=False),
            np.zeros(counts.shape[1]),
            self,
            total,
        )
        return total

    def shapley(self, counts: csr_array, output: int, reference: Floats) -> Floats:
        """Return the exact Shapley values of the columns against a reference, shape (g, q).

        A set of columns is worth the output for a row that has its own values there and those of the reference
        elsewhere. A column with the value of the reference contributes nothing.

        Args:
            counts: rows to explain, shape (g, q).
            output: the output to explain.
            reference: the row to compare with, shape (q,).
        """
        values = np.zeros(counts.shape)
        # compiling allocations would take half a second
        paths = np.zeros((4, DEEPEST + 2, DEEPEST + 1), dtype=np.int64)
        _share(counts.toarray().astype(np.float64), reference, self, FACTORIALS, output, paths, values)
        return values

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return all arrays by name."""
        return self._asdict()

    @classmethod
    def restore(cls, tensors: dict[str, NDArray[Any]], columns: int) -> TreeArrays:
        """Restore trees from their arrays; raise ValueError unless every walk stays inside its tree and ends."""
        trees = cls(**{name: tensors[name] for name in cls._fields})
        trees._check_arrays()
        trees._check_walks(columns)
        return trees

    def _check_arrays(self) -> None:
        kinds = {"feature": "i4", "left": "i4", "right": "i4", "roots": "i4", "output": "i4", "nan_left": "b1"}
        for name, array in self.tensors().items():
            size = len(self.roots) if name in ("roots", "output") else len(self.feature)
            if array.dtype != np.dtype(kinds.get(name, "f8")) or array.shape != (size,) or not size:
                raise ValueError(f"{name} of the trees has type {array.dtype} and shape {array.shape}")
        for name in ("threshold", "value"):
            if not np.isfinite(getattr(self, name)).all():
                raise ValueError(f"{name} of the trees is not finite")

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


@compiled()
def _walk(indptr, indices, data, row, nodes, total):  # type: ignore[no-untyped-def]
    """Add the leaves of every row to its outputs; ``row`` has a 0 for each column."""
    feature, threshold, nan_left, left, right, value, roots, output = nodes
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
def _share(rows, reference, nodes, factorials, wanted, paths, out):  # type: ignore[no-untyped-def]
    """Add the Shapley values of every row, walking to every leaf that mixtures of row and reference can reach.

    A leaf is reached by the sets of columns that hold all u columns where only the row goes on towards it and none
    of the v columns where only the reference does, so each of the u gets (u-1)! v! / (u+v)! of its value, and each
    of the v minus u! (v-1)! / (u+v)!.
    """
    feature, threshold, nan_left, left, right, value, roots, output = nodes
    stack, depth = paths[0, :, 0], paths[1, :, 0]  # nodes still to visit, and distinct columns above each of them
    on_path, ways = paths[2], paths[3]  # these columns; 1: only the row goes on, 2: only the reference, 3: both
    for i in range(len(rows)):
        for t in range(len(roots)):
            if output[t] != wanted:
                continue
            top = 0
            stack[0] = roots[t]
            depth[0] = 0
            while top >= 0:
                node, d = stack[top], depth[top]
                column = feature[node]
                if column < 0:
                    u, v = 0, 0
                    for k in range(d):
                        u += ways[top, k] == 1
                        v += ways[top, k] == 2
                    for k in range(d):
                        if ways[top, k] == 1:
                            out[i, on_path[top, k]] += (
                                value[node] * factorials[u - 1] * factorials[v] / factorials[u + v]
                            )
                        elif ways[top, k] == 2:
                            out[i, on_path[top, k]] -= (
                                value[node] * factorials[u] * factorials[v - 1] / factorials[u + v]
                            )
                    top -= 1
                    continue
                x, r = rows[i, column], reference[column]
                row_left = nan_left[node] if np.isnan(x) else x <= threshold[node]
                reference_left = nan_left[node] if np.isnan(r) else r <= threshold[node]
                to_left = (1 if row_left else 0) + (2 if reference_left else 0)
                place, way = d, 3
                for k in range(d):
                    if on_path[top, k] == column:
                        place, way = k, ways[top, k]
                # children that nothing reaches are left out; the first takes the place of the node on the stack
                first = top
                top -= 1
                for child, going in ((right[node], way & (3 - to_left)), (left[node], way & to_left)):
                    if going == 0:
                        continue
                    top += 1
                    if top > first:
                        for k in range(d):
                            on_path[top, k] = on_path[first, k]
                            ways[top, k] = ways[first, k]
                    on_path[top, place] = column
                    ways[top, place] = going
                    depth[top] = max(d, place + 1)
                    stack[top] = child
