"""Fit the features and the head of a subgraph model to the counts of training graphs."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from isonn.errors import IsoNNWarning
from isonn.graphs.graph import words_of
from isonn.heads import (
    Distinct,
    Head,
    Inputs,
    StackedHead,
    TreesHead,
    get_head,
    held_out_loss,
    join_groups,
    prefers_logarithm,
)
from isonn.heads.trees import training_rows
from isonn.packing import Floats, IntArray
from isonn.scores import held_out_scores
from isonn.subgraphs.features import COUNT, SumFeatures
from isonn.subgraphs.model import SubgraphModel
from isonn.subgraphs.select import shorten
from isonn.subgraphs.survey import Survey
from isonn.subgraphs.table import CountTable, first_of_equal, tell_apart
from isonn.subgraphs.vectorizer import SubgraphVectorizer
from isonn.targets import Numbers, Target

SomeHead = TypeVar("SomeHead", bound=Head)


@dataclass(frozen=True, eq=False)
class Training:
    """The training graphs of a fit.

    Attributes:
        survey: what a pass over them found.
        name: the name of the set.
        y, targets, target: as given, encoded, and the kind of target.
        weights: of the graphs, or None.
        digests: equal for equal graphs.
        groups: equal for graphs that are held out together.
        seed: of the head.
    """

    survey: Survey
    name: str
    y: NDArray[Any]
    targets: NDArray[Any]
    target: Target
    weights: Floats | None
    digests: NDArray[np.uint64]
    groups: IntArray
    seed: int

    @property
    def distinct(self) -> NDArray[np.bool_]:
        """The first of equal graphs with a weight above 0."""
        return first_of_equal(self.digests, self.weights)

    def tell_apart(self, table: CountTable, sampled: dict[int, float], groups: Any) -> Training:
        """Return the training graphs with other digests where graphs with equal ones have different counts."""
        digests = tell_apart(self.survey.hashes, table, sampled)
        return replace(self, digests=digests, groups=join_groups(digests, groups))

    def inputs(self, features: csr_array, counts: csr_array, sizes: IntArray | None = None) -> Inputs:
        """Return features and counts with what graphs are equal and stay together, and the nodes of pieces."""
        return Inputs(features, counts, self.digests, self.groups, sizes)

    def held_out_loss(self, inputs: Inputs) -> float:
        """Return the loss of a linear head for graphs that were left out."""
        return held_out_loss(inputs, self.targets, self.target, self.weights, self.seed)

    def fit(self, head: SomeHead, inputs: Inputs) -> SomeHead:
        """Fit a head to the targets; return it."""
        return head.fit(inputs, self.targets, self.target, self.weights, self.seed)

    def warn_of_repeats(self, inputs: Inputs) -> None:
        """Warn if equal graphs have different targets, which no model can predict."""
        distinct = Distinct.of(inputs, self.weights)
        if number := distinct.disagreeing(self.targets):
            warnings.warn(
                f"{self.name}: {number} of {len(distinct.rows)} distinct {words_of(self.survey.kind)[0]}s occur more "
                f"than once, with different targets; check them, or merge repeats before fitting",
                IsoNNWarning,
                stacklevel=3,
            )

    def scores(self, held_out: Floats | None) -> tuple[dict[str, float] | None, list[dict[str, float]]]:
        """Return the scores of held-out outputs, overall and per column; None without held-out outputs."""
        rows = np.zeros(0, dtype=bool) if held_out is None else np.isfinite(held_out).any(axis=1)
        if held_out is None or not rows.any():
            return None, []
        answers = self.target.link(np.nan_to_num(held_out[rows]))
        return held_out_scores(self.target, self.target.decode(self.targets[rows]), answers)


def fit_model(
    vectorizer: SubgraphVectorizer,
    table: CountTable,
    training: Training,
    head: str,
    n_templates: int | None,
) -> tuple[SubgraphModel, Training, Inputs]:
    """Learn templates, features and head; return also the training graphs in the scale that was learned, and inputs."""
    terms = training.survey.terms
    counted = vectorizer.learn(table, training.name, training.distinct)
    vocabulary = vectorizer.vocabulary_
    features = SumFeatures.learn(vocabulary, counted, terms, training.distinct)
    rows = _rows_with_counts(training, head)
    counts = vocabulary.counts(counted, rows, features.term_counts(terms))
    sizes = np.ones(counts.shape[1], dtype=np.int64)  # terms count as single nodes
    sizes[: len(vocabulary)] = vocabulary.pieces[:, 1]
    inputs = training.inputs(features.of(counted, terms), counts, sizes)
    if isinstance(training.target, Numbers):
        training = _choose_scale(training, inputs)
    if training.target.numeric:  # held-out data decide whether features are logarithms
        other = SumFeatures.learn(vocabulary, counted, terms, training.distinct, COUNT)
        tried = replace(inputs, features=other.of(counted, terms))
        if training.held_out_loss(tried) < training.held_out_loss(inputs):
            features, inputs = other, tried
    if n_templates is not None:
        features, chosen, short = shorten(features, counted, training.targets, training.target, n_templates)
        vectorizer.vocabulary_ = features.vocabulary
        inputs = training.inputs(short, csr_array(inputs.counts[:, chosen]))
    fitted = training.fit(get_head(head)(), inputs)
    return SubgraphModel(vectorizer, features, fitted, training.survey.kind), training, inputs


def _rows_with_counts(training: Training, head: str) -> NDArray[np.bool_] | None:
    """Return the training graphs whose counts the head reads, None for all: sums read features, trees a sample."""
    kind, none = get_head(head), csr_array((len(training.y), 0))
    if kind.additive:
        return np.zeros(len(training.y), dtype=bool)
    if kind not in (StackedHead, TreesHead):
        return None
    inputs = training.inputs(none, none)
    return training_rows(inputs, training.targets, training.target, training.weights, training.seed)


def _choose_scale(training: Training, inputs: Inputs) -> Training:
    """Learn numbers as logarithms where held-out data prefer it."""
    logs = prefers_logarithm(inputs, training.y, training.weights, training.seed)
    if not logs.any():
        return training
    target = Numbers.fit(training.y, logs)
    return replace(training, target=target, targets=target.encode(training.y))
