"""The templates that mark each class in the training graphs: the facts behind ``reasons_``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array
from scipy.special import expit

from isonn.explain.reasons import ClassReason
from isonn.explain.template import Template
from isonn.heads import Inputs, LinearHead
from isonn.packing import Floats, IntArray, stored_array
from isonn.seeding import numpy_stream
from isonn.subgraphs.table import mean_and_variance
from isonn.subgraphs.training import Training
from isonn.subgraphs.vectorizer import SubgraphVectorizer
from isonn.targets import Target

#: Number of graphs whose features are read at a time.
GRAPHS_AT_ONCE = 2**16
#: Maximum number of reasons per class.
REASONS_OF_CLASS = 8
#: Templates with a higher correlation than this count as one reason.
SAME_REASON = 0.7
#: Number of columns whose effect is measured at a time.
COLUMNS_AT_ONCE = 256
#: Number of graphs used to find class reasons; larger sets are sampled.
GRAPHS_FOR_REASONS = 2000


@dataclass(frozen=True)
class Mark:
    """The facts of one `isonn.explain.reasons.ClassReason`: numbers of an output, a column and training graphs."""

    output: int
    column: int
    effect: float
    alike: int
    weight: float
    examples: Sequence[int]


@dataclass(frozen=True, eq=False)
class ClassMarks:
    """The templates that mark each class, and how many training graphs have each template.

    Attributes:
        marks: the facts of each reason.
        presence: number of training graphs with each template, by class; one row for numbers.
        graphs: number of training graphs, by class.
        examples: the ids of the training graphs that are examples, "" for others; empty if they are not kept.
    """

    marks: Sequence[Mark]
    presence: NDArray[np.int32]
    graphs: IntArray
    examples: Sequence[str]

    @classmethod
    def learn(
        cls,
        inputs: Inputs,
        head: LinearHead,
        training: Training,
        vectorizer: SubgraphVectorizer,
        keep_examples: bool,
        seed: int,
    ) -> ClassMarks:
        """Find them in the training graphs."""
        labelled_views = np.array([view.labelled for view in vectorizer.encoding_.views])
        labelled = labelled_views[vectorizer.vocabulary_.pieces[:, 0]]
        target, targets = training.target, training.targets
        presence, graphs = presence_by_class(inputs.features, targets, target, len(labelled), training.weights)
        marks = class_marks(inputs.features, head, targets, target, labelled, seed)
        shown = {i for mark in marks for i in mark.examples} if keep_examples else set()
        ids = training.survey.graph_ids
        return cls(
            marks, presence, graphs, [str(ids[i]) if i in shown else "" for i in range(len(ids))] if shown else []
        )

    def reasons(self, templates: Sequence[Template], target: Target) -> dict[Any, list[ClassReason]]:
        """Return the reasons of each class, strongest first."""
        classes = target.classes.tolist()
        reasons: dict[Any, list[ClassReason]] = {value: [] for value in classes}
        rows = ["all graphs"] if target.numeric else classes
        for mark in self.marks:
            template, value = templates[mark.column], classes[mark.output]
            counts = zip(rows, self.presence[:, mark.column].tolist(), self.graphs.tolist(), strict=True)
            reasons[value].append(
                ClassReason(
                    value,
                    template.text(),
                    template,
                    mark.column,
                    mark.effect,
                    mark.alike,
                    {row: (held, of) for row, held, of in counts},
                    mark.weight,
                    tuple(self.examples[i] for i in mark.examples) if self.examples else (),
                )
            )
        return reasons

    def describe(self) -> dict[str, Any]:
        """Return what is not in `tensors`, as JSON."""
        return {"marks": [list(astuple(mark)) for mark in self.marks], "examples": self.examples}

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name."""
        return {"presence": self.presence, "graphs": self.graphs}

    @classmethod
    def restore(
        cls, stored: dict[str, Any], tensors: dict[str, NDArray[Any]], templates: int, target: Target
    ) -> ClassMarks:
        """Restore what `describe` and `tensors` returned; raise ValueError if it is invalid.

        Args:
            stored, tensors: what they returned.
            templates: number of templates.
            target: the kind of target.
        """
        rows = 1 if target.numeric else len(target.classes)
        presence = stored_array(tensors, "presence", (rows, templates), np.int32)
        graphs = stored_array(tensors, "graphs", (rows,), np.int64)
        examples = list(stored["examples"])
        marks = [Mark(*mark) for mark in stored["marks"]]
        for mark in marks:
            if mark.output not in range(target.outputs) or mark.column not in range(templates):
                raise ValueError(f"a mark is of output {mark.output} and template {mark.column}, which do not exist")
            if not np.isfinite([mark.effect, mark.alike, mark.weight]).all():
                raise ValueError("the effect of a mark is not finite")
            if examples and not all(example in range(len(examples)) for example in mark.examples):
                raise ValueError("an example of a mark is no training graph")
        return cls(marks, presence, graphs, examples)


def presence_by_class(
    features: csr_array, targets: NDArray[Any], target: Target, templates: int, weights: Floats | None = None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return how many training graphs contain each template, by class (one row for numbers), and the class sizes.

    Graphs of weight 0 do not count.
    """
    member = _members(targets, target).astype(np.float64)
    if weights is not None:
        member[weights == 0] = 0
    held = np.zeros((features.shape[1], member.shape[1]))
    for start in range(0, len(member), GRAPHS_AT_ONCE):
        indptr = features.indptr[start : start + GRAPHS_AT_ONCE + 1]
        indices = features.indices[indptr[0] : indptr[-1]]
        some = csr_array((np.ones(len(indices)), indices, indptr - indptr[0]), (len(indptr) - 1, len(held)))
        held += some.T @ member[start : start + GRAPHS_AT_ONCE]
    return np.rint(held[:templates].T).astype(np.int32), np.rint(member.sum(axis=0)).astype(np.int64)


def _members(targets: NDArray[Any], target: Target) -> NDArray[np.float32]:
    """Return which graphs count for each class (g, classes); all of them for numbers."""
    if target.exclusive:
        return np.asarray(targets[:, None] == np.arange(len(target.classes)), dtype=np.float32)
    if target.numeric:
        return np.ones((len(targets), 1), dtype=np.float32)
    return np.asarray(targets == 1, dtype=np.float32)


def class_marks(
    features: csr_array, head: LinearHead, targets: NDArray[Any], target: Target, labelled: NDArray[np.bool_], seed: int
) -> list[Mark]:
    """Find the templates that mark each class, by the rise of the held-out loss without them.

    Templates that occur in nearly the same graphs are grouped. The template most associated with the class represents
    the group; of equals, the largest. Labelled templates come before unlabelled shapes.

    Args:
        features: features of the training graphs, templates first.
        head: the linear head, with its leave-one-out outputs.
        labelled: which templates carry labels, ``(p,)``.
    """
    marks: list[Mark] = []
    outputs = target.outputs
    for output in range(outputs):
        rows = np.flatnonzero(np.isfinite(head.held_out[:, output]))
        if len(rows) > GRAPHS_FOR_REASONS:
            rows = np.sort(numpy_stream(seed, "reasons").choice(rows, GRAPHS_FOR_REASONS, replace=False))
        if len(rows) < 2:
            continue
        pieces, wanted = csr_array(features[rows]).tocsc()[:, : len(labelled)], targets[rows]
        direction = target.margin(np.eye(outputs), output) - target.margin(np.zeros(outputs), output)
        weight = direction @ head.coef[:, : len(labelled)]
        margin = target.margin(head.held_out[rows], output)
        if target.numeric:
            truth = target.margin(np.asarray(wanted, dtype=float), output)
            signs = [np.where(sign * weight > 0, weight, 0.0) for sign in (1.0, -1.0)]
            of_output = [mark for signed in signs for mark in _marks(pieces, signed, margin, truth, True, labelled)]
            of_output = _ranked(of_output, labelled)
        else:
            truth = np.where(_members(wanted, target)[:, output] > 0, 1.0, -1.0)
            # scores have deviation 1, so that the loss can still rise for classes that are easy to separate
            unit = 1 / max(float(margin.std()), 1e-12)
            signed = unit * np.maximum(weight, 0.0)
            of_output = _marks(pieces, signed, unit * margin, truth, False, labelled)
            of_output = [replace(mark, weight=mark.weight / unit) for mark in of_output]
        for mark in of_output:
            marks.append(replace(mark, output=output, examples=tuple(int(rows[row]) for row in mark.examples)))
    return marks


def _marks(
    features: csc_array,
    weight: NDArray[np.float64],
    margin: NDArray[np.float64],
    truth: NDArray[np.float64],
    numeric: bool,
    labelled: NDArray[np.bool_],
) -> list[Mark]:
    """Find the marks of one output, written as output 0, among templates with a nonzero weight.

    Args:
        features: of some graphs, ``(g, templates)``.
        weight: of the templates.
        margin: the held-out score of each graph.
        truth: its number, or 1 and -1 for graphs with and without the class.
        numeric: whether these are numbers.
        labelled: which templates carry labels.
    """

    def loss(values: NDArray[np.float64], rows: NDArray[Any]) -> NDArray[np.float64]:
        if numeric:
            return np.asarray((values - truth[rows]) ** 2)
        return np.asarray(np.logaddexp(0, -truth[rows] * values))

    g, every = features.shape[0], np.arange(features.shape[0])
    now = loss(margin, every)

    def rise(shift: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the rise of the mean loss when a shift (g, columns) is replaced by its mean."""
        changed = margin[:, None] - shift + shift.mean(axis=0)
        flat = loss(changed.ravel(order="F"), np.tile(every, shift.shape[1])).reshape(-1, g)
        return np.asarray((flat - now).mean(axis=1))

    mean, variance = mean_and_variance(features)
    deviation = np.sqrt(np.maximum(variance, 1e-12))
    # The rise is at most its second-order bound: the logistic loss has curvature 1/4 at most, the squared loss 2. Only
    # templates whose bound exceeds the best rise so far are measured: 512 on PROTEINS with k=5, which has 93,617.
    slope, curvature = (2 * (margin - truth), 2.0) if numeric else (-truth * expit(-truth * margin), 0.25)
    linear = weight * (mean * slope.mean() - (features.T @ slope) / g)
    square = curvature / 2 * weight**2 * np.maximum(variance, 0)
    bound = linear + square + 1e-9 * (np.abs(linear) + square)  # more than sums are rounded by
    used = np.flatnonzero((weight != 0) & (np.diff(features.indptr) > 0))  # the others contribute nothing
    says = _association(features, truth)
    marks: list[Mark] = []
    taken = np.zeros(features.shape[1], dtype=np.bool_)  # a template belongs to one group: no piece is listed twice
    for want_labels in (True, False):
        waiting = used[(labelled[used] == want_labels) & ~taken[used]]
        waiting = waiting[np.argsort(-bound[waiting], kind="stable")]
        effect = np.full(features.shape[1], -np.inf)
        while len(marks) < REASONS_OF_CLASS:
            while len(waiting) and bound[waiting[0]] >= max(effect.max(), 0.0):
                block, waiting = waiting[:COLUMNS_AT_ONCE], waiting[COLUMNS_AT_ONCE:]
                block = block[~taken[block]]
                effect[block] = rise(features[:, block].toarray() * weight[block])
            best = int(effect.argmax())
            if not effect[best] > 0:
                break
            held = features[:, [best]].toarray()[:, 0]
            alike = ((features.T @ held) / g - mean * held.mean()) / (deviation * max(held.std(), 1e-12)) >= SAME_REASON
            alike &= (weight != 0) & ~taken
            alike[best] = True
            group = np.flatnonzero(alike)
            total = float(rise((features[:, group] @ weight[group])[:, None])[0])
            shown = group[labelled[group] == want_labels]
            strongest = np.abs(says[shown]).max()
            face = int(shown[np.abs(says[shown]) >= 0.99 * strongest].max())  # larger pieces have higher columns
            examples = features[:, [face]].nonzero()[0][:6]
            if total > 0:
                marks.append(Mark(0, face, total, len(group), float(weight[face]), examples.tolist()))
            effect[group], taken[group] = -np.inf, True
    return _ranked(marks, labelled)


def _ranked(marks: list[Mark], labelled: NDArray[np.bool_]) -> list[Mark]:
    """Sort marks of one output: labelled ones first, then by effect."""
    return sorted(marks, key=lambda mark: (not labelled[mark.column], -mark.effect))


def _association(features: csc_array, truth: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the correlation between the presence of each template and the truth."""
    centred = np.where(np.isfinite(truth), truth - np.nanmean(truth), 0.0)
    held = csc_array((np.ones(features.nnz), features.indices, features.indptr), shape=features.shape)
    share = np.diff(features.indptr) / features.shape[0]
    spread = np.sqrt(np.maximum(share * (1 - share), 1e-12)) * max(float(centred.std()), 1e-12)
    return np.asarray((held.T @ centred) / features.shape[0] / spread)
