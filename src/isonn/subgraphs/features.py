r"""Features for sums: logarithms of counts, divided by their norm, and a few terms of the whole graph.

For a graph that contains template t of a block :math:`n_t` times, the feature is

.. math:: x_t = a \, \frac{\log(1 + n_t)}{\lVert \log(1 + n) \rVert}

with the norm over all subgraphs of that view and size, also those that are not templates, and the same a for the whole
block. Each size of a view, and each view, has the same weight. Large graphs then do not count more than small ones. For
numbers that grow with the graph, held-out data may prefer logarithms without the norm, or counts, each divided by its
root mean square and by the number of templates of its block, so that few plain pieces come first. A few terms of the
whole graph (nodes, edges, cycles, degrees; logP and others for molecules) are added. Everything is sparse and linear,
so the contribution of each occurrence to the score is exact (`isonn.subgraphs.explain`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from isonn.packing import Floats
from isonn.subgraphs.table import CountTable, precision, stack_rows
from isonn.subgraphs.terms import SIZE_WEIGHT, NumberTerms, SizeTerms
from isonn.subgraphs.vocabulary import Vocabulary, moved

#: How a count becomes a feature: its logarithm divided by the norm of all logarithms, its logarithm, or the count.
NORM, LOG, COUNT = "norm", "log", "count"


@dataclass(frozen=True, eq=False)
class SumFeatures:
    """The conversion of counts to features.

    Attributes:
        vocabulary: the templates.
        scales: the factor of each template's feature, ``(p,)``.
        transform: "norm", "log" or "count".
        size: the size terms, to the right of the templates.
        further: further terms, such as logP, to the right of these.
    """

    vocabulary: Vocabulary
    scales: Floats
    transform: str
    size: SizeTerms
    further: NumberTerms

    @classmethod
    def learn(
        cls,
        vocabulary: Vocabulary,
        tables: Sequence[CountTable],
        terms: Floats,
        distinct: NDArray[np.bool_],
        transform: str = NORM,
    ) -> SumFeatures:
        """Learn the scale of each block from the training graphs.

        Args:
            terms: their `term_table`.
            distinct: the first of equal graphs; repeats do not count.
        """
        views = [block.view for block in vocabulary.blocks]
        count = len(set(views))
        scales = []
        for table, block in zip(tables, vocabulary.blocks, strict=True):
            scale = 1 / np.sqrt(views.count(block.view) * (count + SIZE_WEIGHT))
            if transform == COUNT:
                mean_square = _squares(table, distinct)[block.find(table.rows) >= 0] / max(1, int(distinct.sum()))
                scales.append(scale / (len(block) * np.sqrt(np.maximum(mean_square, 1e-24))))
                continue
            if transform == LOG:
                values = (_transformed(counts, transform, np.float64) for counts in table.chunks())
                squares = np.concatenate([_norms(chunk) ** 2 for chunk in values])
                scale /= max(np.sqrt(np.mean(squares[distinct])), 1e-12)
            scales.append(np.full(len(block), scale))
        size, further = SizeTerms.learn(terms[distinct], count), NumberTerms.learn(terms[distinct], count)
        return cls(vocabulary, np.concatenate(scales), transform, size, further)

    @property
    def columns(self) -> int:
        """Number of features: templates, then terms."""
        return len(self.vocabulary) + self.size.columns + self.further.columns

    @property
    def term_of(self) -> NDArray[np.int64]:
        """The term that each feature to the right of the templates belongs to."""
        return np.concatenate([self.size.term_of, self.further.first + np.arange(self.further.columns)])

    def term_features(self, terms: Floats) -> Floats:
        """Return the features to the right of the templates, dense."""
        return np.concatenate([self.size.features(terms), self.further.features(terms)], axis=1)

    def of(
        self,
        tables: Sequence[CountTable],
        terms: Floats,
        places: Sequence[NDArray[np.integer]] | None = None,
    ) -> csr_array:
        """Return the features of graphs, ``(g, columns)``.

        Counts are read chunk by chunk, so that memory holds little more than the features.

        Args:
            tables: the counts of the graphs.
            terms: their `term_table`.
            places: `Vocabulary.places`, if they are known.
        """
        places = self.vocabulary.places(tables) if places is None else places
        room = sum(int(table.support[place >= 0].sum()) for table, place in zip(tables, places, strict=True))
        room += len(terms) * (self.columns - len(self.vocabulary))
        return stack_rows(self._chunks(tables, places, terms, precision(room)), len(terms), room)

    def _chunks(
        self, tables: Sequence[CountTable], places: Sequence[NDArray[np.integer]], terms: Floats, dtype: np.dtype[Any]
    ) -> Iterator[csr_array]:
        done = 0
        for chunk in zip(*(table.chunks() for table in tables), strict=True):
            columns = []
            for counts, block, place in zip(chunk, self.vocabulary.blocks, places, strict=True):
                values, scales = _transformed(counts, self.transform, dtype), self.scales[block.columns]
                if self.transform == NORM and len(scales):  # one scale for the whole block
                    columns.append(moved(_scaled(values, scales[0] / _norms(values)), place, len(block)))
                else:
                    columns.append(moved(values, place, len(block)))
                    columns[-1].data *= scales.astype(dtype)[columns[-1].indices]
            graphs = columns[0].shape[0]
            columns.append(csr_array(self.term_features(terms[done : done + graphs]).astype(dtype)))
            done += graphs
            yield csr_array(hstack(columns, format="csr"))

    def standardised(self, features: csr_array) -> tuple[SumFeatures, csr_array]:
        """Divide every feature by its deviation; return the new conversion and features, for short lists."""
        mean = np.asarray(features.mean(axis=0)).ravel()
        square = np.asarray(features.multiply(features).mean(axis=0)).ravel()
        scale = 1 / (np.sqrt(np.maximum(square - mean**2, 1e-12)) * np.sqrt(max(1, features.shape[1])))
        return replace(self, scales=self.scales * scale), csr_array(features.multiply(scale[None, :]))


def transformed(counts: NDArray[Any], transform: str) -> NDArray[Any]:
    """Return counts or their logarithms."""
    return counts if transform == COUNT else np.log1p(counts)


def _transformed(counts: csr_array, transform: str, dtype: Any) -> csr_array:
    data = transformed(counts.data.astype(dtype), transform)
    return csr_array((data, counts.indices, counts.indptr), shape=counts.shape)


def _squares(table: CountTable, rows: NDArray[np.bool_]) -> Floats:
    """Return the sum of squared counts of each subgraph over some of the graphs, ``(d,)``."""
    squares, done = np.zeros(len(table.rows)), 0
    for counts in table.chunks():
        kept = np.repeat(rows[done : done + counts.shape[0]], np.diff(counts.indptr))
        values = counts.data[kept].astype(np.float64)
        squares += np.bincount(counts.indices[kept], values**2, minlength=len(squares))
        done += counts.shape[0]
    return squares


def _norms(logs: csr_array) -> Floats:
    """Return the norm of each row, 1 for an empty one."""
    each = csr_array((logs.data.astype(np.float64) ** 2, logs.indices, logs.indptr), shape=logs.shape)
    squares = each @ np.ones(logs.shape[1])
    return np.where(squares > 0, np.sqrt(squares), 1.0)


def _scaled(rows: csr_array, factors: Floats) -> csr_array:
    """Multiply every row by its factor."""
    factor = np.repeat(factors, np.diff(rows.indptr)).astype(rows.dtype)
    return csr_array((rows.data * factor, rows.indices, rows.indptr), shape=rows.shape)
