"""What a subgraph model learns from held-out errors: intervals and sets, and which graphs it knows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from isonn.conformal import Conformal
from isonn.domain import EQUAL, Domain, Examples, Limits, Neighbour, distances, strongest_pieces
from isonn.errors import InputError
from isonn.graphs.graph import GraphSet
from isonn.graphs.stream import GraphStream
from isonn.heads import Distinct, Inputs
from isonn.heads.head import below, prefixed
from isonn.packing import Floats, IntArray
from isonn.processes import in_threads
from isonn.references import SIGNALS, Near, References, held_out_errors, learn_references, sketch
from isonn.subgraphs.model import SubgraphModel
from isonn.subgraphs.terms import terms_of
from isonn.subgraphs.training import Training
from isonn.subgraphs.vectorizer import in_chunks, unseen_pieces
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
        pieces: columns of the pieces of each graph, for the names of those that it shares with its neighbours.
    """

    outputs: Floats
    near: Near
    terms: Floats
    unknown: IntArray
    pieces: list[NDArray[Any]]

    @classmethod
    def join(cls, parts: Sequence[Assessed]) -> Assessed:
        """Join the graphs of several chunks."""
        near = Near(*(np.concatenate([getattr(p.near, name) for p in parts]) for name in ("similarity", "reference")))
        rest = {name: np.concatenate([getattr(p, name) for p in parts]) for name in ("outputs", "terms", "unknown")}
        return cls(near=near, pieces=[columns for part in parts for columns in part.pieces], **rest)


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
        held_out: Floats,
        training: Training,
        coef: Floats,
        describe: Callable[[IntArray, Floats], Examples] | None = None,
    ) -> Trust | None:
        """Learn from held-out outputs; return None if there are none.

        Args:
            inputs: features of the training graphs.
            held_out: their held-out outputs, shape (g, outputs).
            training: the training graphs.
            coef: the weights of features in the linear head, shape (outputs, p).
            describe: returns examples for rows of the training graphs, given the weight of each column.
        """
        distinct, target, targets = Distinct.of(inputs, training.weights), training.target, training.targets
        errors = held_out_errors(held_out, targets, target)
        if not np.isfinite(errors[distinct.graph >= 0]).any():
            return None
        size = np.abs(coef).max(axis=0)
        references, learned = learn_references(inputs, errors, size, distinct)
        rows = np.flatnonzero(np.isin(distinct.graph, learned.graphs))
        graph = distinct.graph[rows]
        signals = None
        if target.numeric:
            signals = references.signals(learned.near)[np.searchsorted(learned.graphs, graph)]
        conformal = Conformal.fit(held_out[rows], targets[rows], target, graph, distinct.groups[graph], signals)
        terms = training.survey.terms[distinct.graph >= 0]
        limits = Limits.fit(distances(learned.near, references), learned.errors, terms)
        examples = None if describe is None else describe(distinct.rows[learned.members], size)
        return cls(conformal, references, limits, examples)

    def judge(
        self, model: SubgraphModel, graphs: GraphSet, numeric: bool, n_jobs: int
    ) -> tuple[Floats, Floats | None, Domain]:
        """Return outputs, signals of difficulty (for numbers) and the domain of graphs, counting once."""

        def read(chunk: GraphSet) -> Assessed:
            inputs, counted, terms = model.read(chunk)
            features = inputs.features
            near = self.references.nearest(sketch(features, self.references.weights))
            unknown = model.features.vocabulary.unknown_nodes(counted)
            pieces = np.split(features.indices, features.indptr[1:-1]) if self.examples is not None else []
            return Assessed(model.head.outputs(inputs), near, terms, unknown, pieces)

        assessed = Assessed.join(list(in_threads(read, in_chunks(graphs, n_jobs), n_jobs)))
        signals = self.references.signals(assessed.near) if numeric else None
        return assessed.outputs, signals, self._domain(model, graphs, assessed)

    def _domain(self, model: SubgraphModel, graphs: GraphSet, assessed: Assessed) -> Domain:
        vectorizer, near, examples = model.vectorizer, assessed.near, self.examples
        distance = distances(near, self.references)
        equal = near.similarity[:, 0] >= EQUAL
        names = [name for terms in terms_of(model.kind) for name in terms.names]
        name_of = lru_cache(maxsize=None)(lambda column: vectorizer.templates_[column].text())

        def neighbours_of(i: int) -> list[Neighbour]:
            if examples is None:
                return []
            return examples.neighbours(near.similarity[i], near.reference[i], assessed.pieces[i], name_of)

        return Domain(
            self.limits.verdicts(distance, equal, assessed.terms, assessed.unknown),
            distance,
            distances(near) < self.limits.distances[0],
            self.limits.outside(assessed.terms, names),
            lambda i: unseen_pieces(vectorizer, graphs[i : i + 1]),
            neighbours_of,
        )

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


def examples_of(
    keep: bool | str, inputs: Inputs, training: Training, graphs: GraphStream, vocabulary: Vocabulary
) -> Callable[[IntArray, Floats], Examples] | None:
    """Return a function that describes rows of the training graphs as examples; None if none are kept.

    Args:
        keep: ``keep_examples`` of the estimator.
        inputs: features of all training graphs.
        training: the training graphs.
        graphs: the same, to read their SMILES.
        vocabulary: the pieces. Pieces of fewer than three nodes say little about what two graphs share.
    """
    if not keep:
        return None
    names, values = training.survey.graph_ids if keep is True else _smiles_of(graphs, training), training.y.tolist()
    least = min(3, max(block.size for block in vocabulary.blocks))
    eligible = np.zeros(inputs.features.shape[1], dtype=bool)
    for block in vocabulary.blocks:
        eligible[block.columns] = block.size >= least

    def describe(rows: IntArray, weights: Floats) -> Examples:
        strongest = strongest_pieces(csr_array(inputs.features[rows]), weights, eligible)
        return Examples([str(names[i]) for i in rows], [_without_nan(values[i]) for i in rows], strongest)

    return describe


def _smiles_of(graphs: GraphStream, training: Training) -> NDArray[Any]:
    chunks = list(graphs) if training.survey.kind == "molecules" else []
    if not chunks or any("smiles" not in chunk.table for chunk in chunks):
        raise InputError("keep_examples='smiles' needs molecules given as SMILES; use keep_examples=True for ids")
    return np.concatenate([chunk.table["smiles"] for chunk in chunks])


def _without_nan(value: Any) -> Any:
    """Return a target as JSON, with None for NaN."""
    if isinstance(value, list):
        return [_without_nan(entry) for entry in value]
    return None if isinstance(value, float) and value != value else value
