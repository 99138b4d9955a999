r"""Features for sums: logarithms of counts, or counts, and a few terms of the whole graph.

For a graph that contains template t of a block (a view and a size) :math:`n_t` times, the feature is

.. math:: x_t = a \log(1 + n_t)

with the same a for the whole block: each view has the same weight, and sizes weigh less the larger they are. For
numbers, held-out data may prefer counts, each divided by its root mean square and by the number of templates of its
block, so that few plain pieces come first. Terms of the whole graph, such as logP of molecules, are added. Everything
is sparse and linear and 0 for an empty graph, so the contribution of each occurrence is exact, and what deleting a part
of a graph changes (`isonn.subgraphs.explain`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from isonn.packing import Floats, below, prefixed, stored_array
from isonn.subgraphs.table import CountTable, in_runs, precision, stack_rows
from isonn.subgraphs.terms import TERM_WEIGHT, NumberTerms
from isonn.subgraphs.vocabulary import Vocabulary, moved

#: How a count becomes a feature: its logarithm, or the count.
LOG, COUNT = "log", "count"


@dataclass(frozen=True, eq=False)
class SumFeatures:
    """The conversion of counts to features.

    Attributes:
        vocabulary: the templates.
        scales: the factor of each template's feature, ``(p,)``.
        transform: "log" or "count".
        terms: the terms, to the right of the templates; None for short lists, which have none.
    """

    vocabulary: Vocabulary
    scales: Floats
    transform: str
    terms: NumberTerms | None

    @classmethod
    def learn(
        cls,
        vocabulary: Vocabulary,
        counted: CountTable,
        terms: Floats,
        distinct: NDArray[np.bool_],
        transform: str = LOG,
    ) -> SumFeatures:
        """Learn the scale of each block from the training graphs.

        Args:
            vocabulary: the templates.
            counted: the counts of the training graphs.
            terms: their `term_table`.
            distinct: the first of equal graphs; repeats do not count.
            transform: how a count becomes a feature.
        """
        views = vocabulary.view_sizes
        mean_square = np.maximum(_squares(counted, distinct, transform) / max(1, int(distinct.sum())), 1e-24)
        scales = np.zeros(len(vocabulary))
        for view, size in ((view, size) for view, sizes in enumerate(views) for size in sizes):
            block = (counted.kinds == (view, size)).all(axis=1)
            held = block & (counted.columns >= 0)
            templates = counted.columns[held]
            if not len(templates):
                continue
            # Otherwise large pieces share the weight of a small one that they contain, and with it the importance of
            # the nodes around it. Divided by the size to the power of 0 / 1 / 2, bonds of a rule with AND had AUROC
            # .947 / .962 / .967; first reasons of BACE had the sign of their deletion in 92 / 91 / 85 %.
            weight = 1 / size / sum(1 / other for other in views[view])
            scale = np.sqrt(weight / (len(views) + TERM_WEIGHT))
            if transform == LOG:
                scales[templates] = scale / np.sqrt(mean_square[block].sum())
            else:
                scales[templates] = scale / len(templates) / np.sqrt(mean_square[held])
        return cls(vocabulary, scales, transform, NumberTerms.learn(terms[distinct], len(views)))

    @property
    def columns(self) -> int:
        """Number of features: templates, then terms."""
        return len(self.vocabulary) + len(self.term_of)

    @property
    def term_of(self) -> NDArray[np.int64]:
        """The term that each feature to the right of the templates belongs to."""
        first, columns = (0, 0) if self.terms is None else (self.terms.first, self.terms.columns)
        return np.arange(first, first + columns)

    def term_features(self, terms: Floats) -> Floats:
        """Return the features to the right of the templates, dense."""
        return np.zeros((len(terms), 0)) if self.terms is None else self.terms.features(terms)

    def term_counts(self, terms: Floats) -> Floats:
        """Return the terms that trees read to the right of the counts, dense."""
        return np.zeros((len(terms), 0)) if self.terms is None else self.terms.filled(terms)

    def of(self, counted: CountTable, terms: Floats) -> csr_array:
        """Return the features of graphs, ``(g, columns)``.

        Counts are read chunk by chunk, so that memory holds little more than the features.

        Args:
            counted: the counts of the graphs.
            terms: their `term_table`.
        """
        room = counted.entries + len(terms) * (self.columns - len(self.vocabulary))
        return stack_rows(self._chunks(counted, terms, precision(room)), len(terms), room)

    def _chunks(self, counted: CountTable, terms: Floats, dtype: np.dtype[Any]) -> Iterator[csr_array]:
        for run, counts in in_runs(counted.chunks()):
            values = _transformed(counts.data, self.transform).astype(dtype, copy=False)
            yield moved(counts, values, counted.columns, self.scales, self.term_features(terms[run]))

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return all arrays by name."""
        terms = {} if self.terms is None else prefixed("terms", self.terms.tensors())
        return {"scales": self.scales, **terms}

    @classmethod
    def restore(cls, vocabulary: Vocabulary, transform: str, tensors: dict[str, NDArray[Any]]) -> SumFeatures:
        """Restore the conversion from its `tensors`; raise ValueError if they are invalid."""
        terms, scales = below("terms", tensors), stored_array(tensors, "scales", (len(vocabulary),))
        if transform not in (LOG, COUNT):
            raise ValueError(f"there is no transform {transform!r}")
        return cls(vocabulary, scales, transform, NumberTerms.restore(terms) if terms else None)


#: The logarithms of small counts plus one, because computing them takes longer than looking them up.
LOGS = np.log1p(np.arange(1024.0))


def _transformed(counts: NDArray[Any], transform: str) -> NDArray[Any]:
    """Return counts, or the logarithms of counts plus one."""
    if transform == COUNT:
        return counts
    if counts.dtype.kind in "iu" and counts.max(initial=0) < len(LOGS):
        return np.asarray(LOGS[counts])
    return np.log1p(counts.astype(np.float64))


def _squares(counted: CountTable, rows: NDArray[np.bool_], transform: str) -> Floats:
    """Return the sum of each subgraph's squared values over some of the graphs, ``(d,)``.

    Squares are rounded to 2**-30, so that sums are exact and chunks change no digit.
    """
    squares = np.zeros(len(counted.columns))
    for run, counts in in_runs(counted.chunks()):
        kept = np.repeat(rows[run], np.diff(counts.indptr))
        values = _transformed(counts.data[kept], transform).astype(np.float64)
        squares += np.bincount(counts.indices[kept], np.rint(values**2 * 2.0**30), minlength=len(squares))
    return squares * 2.0**-30
