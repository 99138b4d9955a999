"""What a subgraph model learns from held-out errors: intervals and sets, and which graphs it knows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from isonn.conformal import Conformal
from isonn.domain import EQUAL, Domain, Examples, Limits, strongest_pieces
from isonn.errors import InputError
from isonn.graphs.graph import GraphSet, words_of
from isonn.graphs.stream import GraphStream
from isonn.heads import Distinct, Inputs
from isonn.packing import Floats, below, prefixed
from isonn.processes import in_threads
from isonn.references import SIGNALS, Near, References, held_out_errors, learn_references, sketch
from isonn.subgraphs.model import SubgraphModel
from isonn.subgraphs.terms import term_names
from isonn.subgraphs.training import Training
from isonn.subgraphs.vectorizer import in_chunks, unseen_pieces
from isonn.subgraphs.vocabulary import Vocabulary
from isonn.targets import Target


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
        vocabulary: Vocabulary,
        names: NDArray[Any] | None = None,
    ) -> Trust | None:
        """Learn from held-out outputs; return None if there are none.

        Args:
            inputs: features of the training graphs.
            held_out: their held-out outputs, shape (g, outputs).
            training: the training graphs.
            coef: the weights of features in the linear head, shape (outputs, p).
            vocabulary: the pieces, which come first among the features.
            names: of the training graphs, from `example_names`; None keeps no examples.
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
        limits = Limits.fit(references.distances(learned.near), learned.errors, terms)
        examples = None
        if names is not None:
            kept, values = distinct.rows[learned.members], training.y.tolist()
            eligible = _pieces_to_show(vocabulary, inputs.features.shape[1])
            strongest = strongest_pieces(csr_array(inputs.features[kept]), size, eligible)
            examples = Examples([str(names[i]) for i in kept], [_without_nan(values[i]) for i in kept], strongest)
        return cls(conformal, references, limits, examples)

    def judge(
        self, model: SubgraphModel, graphs: GraphSet, numeric: bool, n_jobs: int
    ) -> tuple[Floats, Floats | None, Domain]:
        """Return outputs, signals of difficulty (for numbers) and the domain of graphs, counting once."""
        vectorizer, examples = model.vectorizer, self.examples

        def read(chunk: GraphSet) -> tuple[Any, ...]:
            inputs, counted, terms = model.read(chunk)
            features = inputs.features
            near = self.references.nearest(sketch(features, self.references.weights))
            unknown = vectorizer.vocabulary_.unknown_nodes(counted)
            pieces = np.split(features.indices, features.indptr[1:-1]) if examples is not None else []
            return model.head.outputs(inputs), near.similarity, near.reference, terms, unknown, pieces

        *arrays, lists = zip(*in_threads(read, in_chunks(graphs, n_jobs), n_jobs), strict=True)
        outputs, similarity, reference, terms, unknown = map(np.concatenate, arrays)
        pieces = [columns for chunk in lists for columns in chunk]  # of each graph, to name those it shares
        near = Near(similarity, reference)
        distance = self.references.distances(near)
        name_of = lru_cache(maxsize=None)(lambda column: vectorizer.templates_[column].text())
        domain = Domain(
            self.limits.verdicts(distance, similarity[:, 0] >= EQUAL, terms, unknown),
            distance,
            self.references.distances(near, all_reliable=True) < self.limits.distances[0],
            self.limits.outside(terms, term_names(model.kind)),
            lambda i: unseen_pieces(vectorizer, graphs[i : i + 1]),
            lambda i: [] if examples is None else examples.neighbours(similarity[i], reference[i], pieces[i], name_of),
            words_of(model.kind)[0],
        )
        return outputs, self.references.signals(near) if numeric else None, domain

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


def example_names(keep: bool | str, training: Training, graphs: GraphStream) -> NDArray[Any] | None:
    """Return how ``keep_examples`` names each training graph, by its id or its SMILES; None if none are kept."""
    if not keep:
        return None
    return training.survey.graph_ids if keep is True else _smiles_of(graphs, training)


def _pieces_to_show(vocabulary: Vocabulary, columns: int) -> NDArray[np.bool_]:
    """Return the features that may tell what two graphs share: pieces of fewer than three nodes say little."""
    eligible = np.zeros(columns, dtype=bool)
    eligible[: len(vocabulary)] = vocabulary.pieces[:, 1] >= min(3, vocabulary.max_nodes)
    return eligible


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
