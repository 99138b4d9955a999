"""What a subgraph model learns from held-out errors: intervals and sets, and which graphs it knows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from isonn.conformal import Conformal
from isonn.domain import SHARED, SHOWN, Examples, Limits, distances, strongest_pieces
from isonn.heads import Distinct, Inputs
from isonn.heads.head import below, prefixed
from isonn.packing import Floats, IntArray, row_hashes
from isonn.references import SIGNALS, Near, References, held_out_errors, learn_references
from isonn.subgraphs.table import CountTable
from isonn.subgraphs.vocabulary import Vocabulary
from isonn.targets import Target


@dataclass(frozen=True, eq=False)
class Assessed:
    """The outputs of graphs with what is needed for their intervals and their domain.

    Attributes:
        outputs: shape (g, outputs).
        near: the nearest references.
        terms: whole-graph terms, shape (g, terms).
        unknown: 2 for graphs with a node that is unseen in every view, 1 in some view, else 0, shape (g,).
        shared: columns of pieces that a graph shares with its nearest references, -1 to fill up, shape (g, SHOWN,
            SHARED); empty without examples.
    """

    outputs: Floats
    near: Near
    terms: Floats
    unknown: IntArray
    shared: NDArray[np.int32]

    @classmethod
    def join(cls, parts: Sequence[Assessed]) -> Assessed:
        """Join the graphs of several chunks."""
        near = Near(*(np.concatenate([getattr(p.near, name) for p in parts]) for name in ("similarity", "reference")))
        rest = {
            name: np.concatenate([getattr(p, name) for p in parts])
            for name in ("outputs", "terms", "unknown", "shared")
        }
        return cls(near=near, **rest)


@dataclass(frozen=True, eq=False)
class Trust:
    """The held-out scores, the references, and the limits of the domain; examples only if the user keeps them."""

    conformal: Conformal
    references: References
    limits: Limits
    examples: Examples | None = None

    @classmethod
    def learn(
        cls,
        inputs: Inputs,
        outputs: Floats,
        targets: NDArray[Any],
        target: Target,
        weights: Floats | None,
        coef: Floats,
        terms: Floats,
        describe: Callable[[IntArray, Floats], Examples] | None = None,
    ) -> Trust | None:
        """Learn from held-out outputs; return None if there are none.

        Args:
            inputs: features of the training graphs.
            outputs: their held-out outputs, shape (g, outputs).
            targets: from ``target.encode``.
            target: the kind of target.
            weights: of the graphs.
            coef: the weights of features in the linear head, shape (outputs, p).
            terms: whole-graph terms, shape (g, terms).
            describe: returns examples for rows of the training graphs, given the weight of each column.
        """
        distinct = Distinct.of(inputs, weights)
        errors = held_out_errors(outputs, targets, target)
        if not np.isfinite(errors[distinct.graph >= 0]).any():
            return None
        size = np.abs(coef).max(axis=0)
        references, learned = learn_references(inputs, errors, size, distinct)
        rows = np.flatnonzero(np.isin(distinct.graph, learned.graphs))
        graph = distinct.graph[rows]
        signals = None
        if target.numeric:
            signals = references.signals(learned.near)[np.searchsorted(learned.graphs, graph)]
        conformal = Conformal.fit(outputs[rows], targets[rows], target, graph, distinct.groups[graph], signals)
        limits = Limits.fit(distances(references, learned.near), learned.errors, terms[distinct.graph >= 0])
        examples = None if describe is None else describe(distinct.rows[learned.members], size)
        return cls(conformal, references, limits, examples)

    def shared(self, features: csr_array, near: Near) -> NDArray[np.int32]:
        """Return the columns of strong pieces that graphs share with their nearest references."""
        graphs, width = features.shape
        found = np.full((graphs, SHOWN, SHARED), -1, dtype=np.int32)
        if self.examples is None:
            return found[:, :0]
        owner = np.repeat(np.arange(graphs, dtype=np.int64), np.diff(features.indptr))
        present = np.sort(owner * width + features.indices, kind="stable")  # fast, because it is sorted already
        wanted = self.examples.pieces[near.reference[:, :SHOWN]].astype(np.int64)  # (g, shown, PIECES)
        keys = np.arange(graphs)[:, None, None] * width + wanted
        place = np.minimum(np.searchsorted(present, keys), max(len(present) - 1, 0))
        both = (wanted >= 0) & (present[place] == keys) if len(present) else np.zeros(wanted.shape, dtype=bool)
        rank = np.where(both, np.cumsum(both, axis=2) - 1, SHARED)
        i, j, k = np.nonzero(rank < SHARED)
        found[i, j, rank[i, j, k]] = wanted[i, j, k]
        return found

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name."""
        tensors = prefixed("conformal", self.conformal.tensors()) | prefixed("references", self.references.tensors())
        tensors |= prefixed("limits", self.limits.tensors())
        return tensors if self.examples is None else tensors | {"example_pieces": self.examples.pieces}

    def describe(self) -> dict[str, Any] | None:
        """Return the names and values of examples as JSON; None without examples."""
        examples = self.examples
        return None if examples is None else {"names": examples.names, "values": examples.values}

    @classmethod
    def restore(
        cls, tensors: dict[str, NDArray[Any]], stored: dict[str, Any] | None, target: Target, columns: int, terms: int
    ) -> Trust:
        """Restore what `tensors` and `describe` stored; raise ValueError if it is invalid.

        Args:
            columns: number of features of the model.
            terms: number of whole-graph terms.
        """
        error_columns = 1 if target.exclusive else target.outputs
        references = References.restore(below("references", tensors), columns, error_columns)
        examples = None
        if stored is not None:
            examples = Examples.restore(stored, tensors["example_pieces"], len(references.points), columns)
        return cls(
            Conformal.restore(below("conformal", tensors), target, SIGNALS),
            references,
            Limits.restore(below("limits", tensors), terms),
            examples,
        )


def unknown_nodes(tables: Sequence[CountTable], vocabulary: Vocabulary) -> IntArray:
    """Return 2 for graphs with a node that is unseen in every view, 1 in some view, else 0, shape (g,)."""
    single = [pair for pair in zip(tables, vocabulary.blocks, strict=True) if pair[1].size == 1]
    views = np.zeros(tables[0].graphs, dtype=np.int64)
    for table, block in single:
        new = ~np.isin(row_hashes(table.rows), block.seen)
        views += np.asarray(table.counts @ new.astype(np.float64)) > 0
    return np.where(views == 0, 0, np.where(views == len(single), 2, 1)) if single else views


def examples_of(
    features: csr_array, names: NDArray[Any], values: Sequence[Any], vocabulary: Vocabulary
) -> Callable[[IntArray, Floats], Examples]:
    """Return a function that describes rows of the training graphs as examples.

    Args:
        features: of all training graphs, shape (g, p).
        names, values: ids or SMILES, and true values as JSON, of all training graphs.
        vocabulary: the pieces. Pieces of fewer than three nodes say little about what two graphs share.
    """
    least = min(3, max(block.size for block in vocabulary.blocks))
    eligible = np.zeros(features.shape[1], dtype=bool)
    for block in vocabulary.blocks:
        eligible[block.columns] = block.size >= least

    def describe(rows: IntArray, weights: Floats) -> Examples:
        strongest = strongest_pieces(csr_array(features[rows]), weights, eligible)
        return Examples([str(names[i]) for i in rows], [values[i] for i in rows], strongest)

    return describe
