r"""Features for sums: logarithms of counts, divided by their norm, and a few size terms.

For a graph that contains template t of a block :math:`n_t` times, the feature is

.. math:: x_t = a \, \frac{\log(1 + n_t)}{\lVert \log(1 + n) \rVert}

with the norm over all subgraphs of that view and size, also those that are not templates, and the same a for the whole
block. Each size of a view, and each view, has the same weight. Large graphs then do not count more than small ones. For
numbers that grow with the graph the norm can be left out (``row_norm=False``). A few size terms (nodes, edges, cycles,
degrees) are added. Everything is sparse and linear, so the contribution of each occurrence to the score is exact
(`isonn.subgraphs.explain`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from isonn.packing import Floats
from isonn.subgraphs.table import CountTable, stack_rows
from isonn.subgraphs.terms import SIZE_WEIGHT, SizeTerms
from isonn.subgraphs.vocabulary import Vocabulary, moved

#: Number of graphs above which features are stored in single precision.
DOUBLE_GRAPHS = 2**17


@dataclass(frozen=True, eq=False)
class SumFeatures:
    """The conversion of counts to features.

    Attributes:
        vocabulary: the templates.
        scales: the factor of each template's feature, ``(p,)``.
        row_norm: whether the features of a block are divided by their norm.
        terms: the size terms, to the right of the templates.
    """

    vocabulary: Vocabulary
    scales: Floats
    row_norm: bool
    terms: SizeTerms

    @classmethod
    def learn(
        cls, vocabulary: Vocabulary, tables: Sequence[CountTable], sizes: NDArray[np.float32], row_norm: bool
    ) -> SumFeatures:
        """Learn the scale of each block from the training graphs.

        Args:
            sizes: their `size_counts`.
        """
        views = [block.view for block in vocabulary.blocks]
        count = len(set(views))
        scales = []
        for table, block in zip(tables, vocabulary.blocks, strict=True):
            scale = 1 / np.sqrt(views.count(block.view) * (count + SIZE_WEIGHT))
            if not row_norm:
                dtype = _dtype(table.graphs)
                squares = np.concatenate([_norms(_logs(counts, dtype)) ** 2 for counts in table.chunks()])
                scale /= max(np.sqrt(np.mean(squares)), 1e-12)
            scales.append(np.full(len(block), scale))
        return cls(vocabulary, np.concatenate(scales), row_norm, SizeTerms.learn(sizes, count))

    @property
    def columns(self) -> int:
        """Number of features: templates, then size terms."""
        return len(self.vocabulary) + self.terms.columns

    def of(
        self,
        tables: Sequence[CountTable],
        sizes: NDArray[np.float32],
        places: Sequence[NDArray[np.integer]] | None = None,
    ) -> csr_array:
        """Return the features of graphs, ``(g, columns)``.

        Counts are read chunk by chunk, so that memory holds little more than the features.

        Args:
            tables: the counts of the graphs.
            sizes: their `size_counts`.
            places: `Vocabulary.places`, if they are known.
        """
        places = self.vocabulary.places(tables) if places is None else places
        room = sum(int(table.support[place >= 0].sum()) for table, place in zip(tables, places, strict=True))
        room += len(sizes) * self.terms.columns
        return stack_rows(self._chunks(tables, places, sizes), len(sizes), room)

    def _chunks(
        self, tables: Sequence[CountTable], places: Sequence[NDArray[np.integer]], sizes: NDArray[np.float32]
    ) -> Iterator[csr_array]:
        done, dtype = 0, _dtype(len(sizes))
        for chunk in zip(*(table.chunks() for table in tables), strict=True):
            columns = []
            for counts, block, place in zip(chunk, self.vocabulary.blocks, places, strict=True):
                logs, scales = _logs(counts, dtype), self.scales[block.columns]
                if self.row_norm and len(scales):  # one scale for the whole block
                    columns.append(moved(_scaled(logs, scales[0] / _norms(logs)), place, len(block)))
                else:
                    columns.append(moved(logs, place, len(block)))
                    columns[-1].data *= scales.astype(dtype)[columns[-1].indices]
            graphs = columns[0].shape[0]
            columns.append(csr_array(self.terms.features(sizes[done : done + graphs]).astype(dtype)))
            done += graphs
            yield csr_array(hstack(columns, format="csr"))

    def standardised(self, features: csr_array) -> tuple[SumFeatures, csr_array]:
        """Divide every feature by its deviation; return the new conversion and features, for short lists."""
        mean = np.asarray(features.mean(axis=0)).ravel()
        square = np.asarray(features.multiply(features).mean(axis=0)).ravel()
        scale = 1 / (np.sqrt(np.maximum(square - mean**2, 1e-12)) * np.sqrt(max(1, features.shape[1])))
        changed = SumFeatures(self.vocabulary, self.scales * scale, False, SizeTerms.empty())
        return changed, csr_array(features.multiply(scale[None, :]))


def _dtype(graphs: int) -> np.dtype[Any]:
    return np.dtype(np.float64 if graphs <= DOUBLE_GRAPHS else np.float32)


def _logs(counts: csr_array, dtype: Any = np.float64) -> csr_array:
    return csr_array((np.log1p(counts.data.astype(dtype)), counts.indices, counts.indptr), shape=counts.shape)


def _norms(logs: csr_array) -> Floats:
    """Return the norm of each row, 1 for an empty one."""
    owner = np.repeat(np.arange(logs.shape[0]), np.diff(logs.indptr))
    squares = np.bincount(owner, logs.data.astype(np.float64) ** 2, minlength=logs.shape[0])
    return np.where(squares > 0, np.sqrt(squares), 1.0)


def _scaled(rows: csr_array, factors: Floats) -> csr_array:
    """Multiply every row by its factor."""
    factor = np.repeat(factors, np.diff(rows.indptr)).astype(rows.dtype)
    return csr_array((rows.data * factor, rows.indices, rows.indptr), shape=rows.shape)
