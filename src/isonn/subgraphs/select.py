"""Choose templates: short lists, the start of soft templates, and the pieces that mark a class."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array
from scipy.special import expit

from isonn.heads import LinearHead
from isonn.packing import IntArray
from isonn.seeding import numpy_stream
from isonn.subgraphs.bank import SubgraphBank
from isonn.subgraphs.enumerate import canonical_regions
from isonn.targets import Target

#: Number of graphs whose counts are copied at a time.
GRAPHS_AT_ONCE = 2**16
#: Templates are added one at a time up to the first number, then four at a time up to the second; above it a lasso
#: chooses them.
SINGLE, FEW = 64, 256
#: Largest correlation of two templates that are added together, and of two templates in a list.
ALIKE_IN_BATCH, ALIKE_IN_LIST = 0.7, 0.95
#: Penalty of the regression between two additions, on standardised columns.
PENALTY = 1.0
#: The sizes that ``c="auto"`` chooses from, and the number of folds.
AUTO_SIZES, AUTO_FOLDS = (4, 8, 16, 32, 64, 128, 256), 5
#: Code of a node or edge that accepts several codes; larger than any other code.
WILDCARD = 2**31 - 1


def short_list(features: csr_array, wanted: NDArray[np.float64], c: int) -> IntArray:
    """Choose the columns of a short list.

    Up to 256 columns are chosen greedily: each is the column that explains most of the remaining error. Longer lists
    hold the columns that a lasso keeps. Near-duplicates of a chosen column are skipped.

    Args:
        features: features of the training graphs, ``(g, p)``.
        wanted: targets as numbers, ``(g, t)``; NaN counts as the mean.
        c: number of columns.

    Returns:
        At most c columns, in the order they were chosen.
    """
    values = np.where(np.isfinite(wanted), wanted, np.nanmean(wanted, axis=0))
    values = values - values.mean(axis=0)
    if c <= FEW:
        return _greedy(features, values, c)
    kept = _lasso(features, values, c)
    # in the order of the greedy rule, so that a longer list starts with the shorter one
    return kept[_greedy(csr_array(features[:, kept]), values, len(kept))]


def _greedy(features: csr_array, values: NDArray[np.float64], c: int) -> IntArray:
    g, p = features.shape
    features = features.tocsc()
    mean = np.asarray(features.mean(axis=0)).ravel()
    square = np.asarray(features.multiply(features).mean(axis=0)).ravel()
    deviation = np.sqrt(np.maximum(square - mean**2, 1e-12))
    constant = square - mean**2 <= 1e-12
    chosen: list[int] = []
    passed = np.flatnonzero(constant).tolist()  # constant, or a near-duplicate of a chosen column
    dense = np.zeros((g, 0))
    residual = values
    while len(chosen) + len(passed) < p and len(chosen) < c:
        # standardised columns times the residual, without making them dense; the residual has mean 0
        score = np.sqrt(((features.T @ residual / deviation[:, None]) ** 2).sum(axis=1))
        score[chosen], score[passed] = -1, -1
        batch = 1 if len(chosen) < SINGLE else 4 if len(chosen) < FEW else 16
        added: list[NDArray[np.float64]] = []
        for column in np.argsort(-score, kind="stable")[: 100 * batch].tolist():
            if score[column] < 0 or len(added) == batch or len(chosen) == c:
                break
            own = np.full(g, -mean[column])
            entries = slice(features.indptr[column], features.indptr[column + 1])
            own[features.indices[entries]] += features.data[entries]
            own /= deviation[column]
            if dense.shape[1] and np.abs(own @ dense).max() > ALIKE_IN_LIST * g:
                passed.append(column)
            elif all(abs(float(own @ other)) <= ALIKE_IN_BATCH * g for other in added):
                added.append(own)
                chosen.append(column)
        if added:
            dense = np.concatenate([dense, np.stack(added, axis=1)], axis=1)
            weights = np.linalg.solve(dense.T @ dense + PENALTY * np.eye(dense.shape[1]), dense.T @ values)
            residual = values - dense @ weights
    return np.array(chosen, dtype=np.int64)


def _lasso(features: csr_array, values: NDArray[np.float64], c: int) -> IntArray:
    """Return about c columns: for each target those with the largest weights once the penalty leaves enough."""
    from sklearn.linear_model import Lasso

    g, p = features.shape
    if c >= p:
        return np.arange(p)
    mean = np.asarray(features.mean(axis=0)).ravel()
    square = np.asarray(features.multiply(features).mean(axis=0)).ravel()
    deviation = np.sqrt(np.maximum(square - mean**2, 1e-12))
    scaled = csr_array(features.multiply(1 / deviation[None, :])).tocsc()
    scaled.indices, scaled.indptr = scaled.indices.astype(np.int32), scaled.indptr.astype(np.int32)
    each = -(-c // values.shape[1])
    weight = np.zeros(p)
    for column in values.T:
        alpha = float(np.abs(scaled.T @ column).max()) / g
        model = Lasso(alpha=alpha, warm_start=True, max_iter=200, tol=1e-2)
        for step in range(1, 60):
            model.set_params(alpha=alpha * 0.85**step)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a path need not converge to the last digit
                model.fit(scaled, column)
            if np.count_nonzero(model.coef_) >= each:
                break
        largest = np.argsort(-np.abs(model.coef_), kind="stable")[:each]
        weight[largest] = np.maximum(weight[largest], np.abs(model.coef_[largest]))
    return np.sort(np.argsort(-weight, kind="stable")[: min(c, int(np.count_nonzero(weight)))])


def auto_size(features: csr_array, wanted: NDArray[np.float64], losses: NDArray[np.float64], seed: int) -> int:
    """Return the smallest number of columns whose held-out loss is within one standard error of the full vocabulary's.

    Args:
        features: features of the training graphs.
        wanted: targets as numbers, ``(g, t)``.
        losses: leave-one-out squared error of each graph with the full vocabulary, ``(g,)``.
    """
    g = len(wanted)
    values = np.where(np.isfinite(wanted), wanted, np.nanmean(wanted, axis=0))
    fold = numpy_stream(seed, "auto-size").permutation(g) % AUTO_FOLDS
    sizes = [c for c in AUTO_SIZES if c < features.shape[1]] or [features.shape[1]]
    held_out = np.zeros((len(sizes), g))
    for number in range(AUTO_FOLDS):
        train, test = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        centre = values[train].mean(axis=0)
        order = _greedy(csr_array(features[train]), values[train] - centre, sizes[-1])
        dense = features[:, order].toarray()
        mean, deviation = dense[train].mean(axis=0), dense[train].std(axis=0)
        dense = (dense - mean) / np.where(deviation > 0, deviation, 1)
        for i, c in enumerate(sizes):
            own = dense[train, :c]
            weights = np.linalg.solve(own.T @ own + PENALTY * np.eye(own.shape[1]), own.T @ (values[train] - centre))
            error = values[test] - centre - dense[test, :c] @ weights
            held_out[i, test] = np.minimum(error**2, np.inf).mean(axis=1)
    gap = held_out - losses
    enough = gap.mean(axis=1) <= gap.std(axis=1) / np.sqrt(g)
    return sizes[int(enough.argmax())] if enough.any() else sizes[int(held_out.mean(axis=1).argmin())]


def wildcard_groups(rows: IntArray, k: int) -> tuple[IntArray, IntArray]:
    """Group subgraphs that differ in the code of one node or one edge.

    Args:
        rows: canonical rows of k-node subgraphs, ``(d, k + k*(k-1)/2)``.

    Returns:
        The row number and the template number of each pair in which a template with a wildcard accepts a row. Templates
        that accept fewer than two rows are left out.
    """
    masked, owner = [], []
    for place in range(rows.shape[1]):
        there = np.flatnonzero(rows[:, place] > 0) if place >= k else np.arange(len(rows))
        own = rows[there].astype(np.int64)
        own[:, place] = WILDCARD
        masked.append(own)
        owner.append(there)
    every, number = np.unique(canonical_regions(np.concatenate(masked), k), axis=0, return_inverse=True)
    pairs = np.unique(np.stack([np.concatenate(owner), number.reshape(-1)], axis=1), axis=0)
    accepted = np.bincount(pairs[:, 1], minlength=len(every))
    pairs = pairs[accepted[pairs[:, 1]] > 1]
    return pairs[:, 0], np.unique(pairs[:, 1], return_inverse=True)[1].reshape(-1)


def starting_subgraphs(banks: dict[int, SubgraphBank], targets: NDArray[Any], c: int) -> dict[int, IntArray]:
    """Choose at most c regions from the banks of one view; return row numbers by size.

    Half are those whose log counts separate the classes best (F statistic), half those that occur in most graphs. A
    region that occurs in one graph separates only that graph.

    Args:
        banks: the banks by size.
        targets: class numbers or a 0/1 matrix, for the graphs of the banks.
    """
    size = np.concatenate([np.full(len(bank.regions), k) for k, bank in banks.items()])
    row = np.concatenate([np.arange(len(bank.regions)) for bank in banks.values()])
    graphs = np.concatenate([np.bincount(bank.counts.indices, minlength=len(bank.regions)) for bank in banks.values()])
    separation = np.concatenate([_separation(bank.counts, targets) for bank in banks.values()])
    separation[graphs < 2] = -1.0
    best = np.argsort(-separation, kind="stable")[: c // 2]  # stable, so that ties go to the smaller codes
    rest = np.argsort(-graphs, kind="stable")
    chosen = np.concatenate([best, rest[~np.isin(rest, best)][: c - len(best)]])
    return {k: np.sort(row[chosen[size[chosen] == k]]) for k in banks}


def _separation(counts: csr_array, targets: NDArray[Any]) -> NDArray[np.float64]:
    """Return the F statistic of log(1 + count) between classes, up to a factor; for several labels the largest."""
    if targets.ndim == 2:
        largest: NDArray[np.float64] = np.max([_separation(counts, column) for column in targets.T], axis=0)
        return largest
    classes, number = np.unique(targets, return_inverse=True)
    n = np.bincount(number)[:, None]
    sums, squares = np.zeros((len(classes), counts.shape[1])), np.zeros(counts.shape[1])
    for start in range(0, len(number), GRAPHS_AT_ONCE):
        logs = counts[start : start + GRAPHS_AT_ONCE].astype(np.float64).log1p()
        of = number[start : start + GRAPHS_AT_ONCE]
        member = csr_array((np.ones(len(of)), (of, np.arange(len(of)))), shape=(len(classes), len(of)))
        sums += (member @ logs).toarray()
        squares += np.asarray(logs.multiply(logs).sum(axis=0)).ravel()
    total = sums.sum(axis=0)
    between = (sums**2 / n).sum(axis=0) - total**2 / len(number)
    within = squares - (sums**2 / n).sum(axis=0)
    ratio: NDArray[np.float64] = np.maximum(between, 0) / (np.maximum(within, 0) + 1e-6)
    return ratio


# The pieces that mark each class in the training graphs.


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
    """A class reason before it is put into words; see `isonn.explain.reasons.ClassReason`."""

    output: int
    column: int
    effect: float
    alike: int
    weight: float
    examples: Sequence[int]


def presence_by_class(
    features: csr_array, targets: NDArray[Any], target: Target, templates: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return how many training graphs contain each template, by class (one row for numbers), and the class sizes."""
    member = _members(targets, target)
    held = _sums_of_holders(features, member.astype(np.float64), templates)
    return np.rint(held.T).astype(np.int32), np.rint(np.asarray(member.sum(axis=0))).astype(np.int64)


def _sums_of_holders(features: csr_array, values: NDArray[np.float64], templates: int) -> NDArray[np.float64]:
    """Sum values, ``(g, t)``, over the graphs that contain each of the first columns, ``(templates, t)``."""
    sums = np.zeros((features.shape[1], values.shape[1]))
    for start in range(0, len(values), GRAPHS_AT_ONCE):
        indptr = features.indptr[start : start + GRAPHS_AT_ONCE + 1]
        indices = features.indices[indptr[0] : indptr[-1]]
        held = csr_array((np.ones(len(indices)), indices, indptr - indptr[0]), (len(indptr) - 1, len(sums)))
        sums += held.T @ values[start : start + GRAPHS_AT_ONCE]
    return sums[:templates]


def _members(targets: NDArray[Any], target: Target) -> NDArray[np.float32]:
    """Return which graphs count for each class (g, classes); all of them for numbers."""
    if target.exclusive:
        return np.asarray(targets[:, None] == np.arange(len(target.classes)), dtype=np.float32)
    if target.numeric:
        return np.ones((len(targets), 1), dtype=np.float32)
    return np.asarray(targets == 1, dtype=np.float32)


def evidence_of(features: csr_array, targets: NDArray[Any], target: Target, templates: int) -> NDArray[np.float32]:
    """Return the evidence of each template for each output on its own, (outputs, templates).

    For classes and labels this is the log-odds of the class among graphs that contain the template, minus the log-odds
    among all graphs. For numbers it is the mean standardised value among them. Both shrink towards 0 if few graphs
    contain a template.
    """
    if target.numeric:
        known = np.isfinite(targets)
        both = np.concatenate([np.where(known, targets, 0.0), known], axis=1)
        sums, holders = np.hsplit(_sums_of_holders(features, both, templates), 2)
        return np.asarray(sums / (holders + 1)).T.astype(np.float32)
    columns = _members(targets, target).astype(np.float64)
    known = np.ones_like(columns) if target.exclusive else np.isfinite(targets).astype(float)
    yes, all_ = np.hsplit(_sums_of_holders(features, np.concatenate([columns, known], axis=1), templates), 2)
    total = np.log((columns.sum(axis=0) + 0.5) / (known.sum(axis=0) - columns.sum(axis=0) + 0.5))
    return np.asarray(np.log((yes + 0.5) / (all_ - yes + 0.5)) - total).T.astype(np.float32)


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
        part, wanted = csr_array(features[rows]).tocsc()[:, : len(labelled)], targets[rows]
        direction = target.margin(np.eye(outputs), output) - target.margin(np.zeros(outputs), output)
        weight = direction @ head.coef[:, : len(labelled)]
        margin = target.margin(head.held_out[rows], output)
        if target.numeric:
            truth = target.margin(np.asarray(wanted, dtype=float), output)
            found = [
                mark
                for sign in (1.0, -1.0)
                for mark in _marks(
                    part, np.where(sign * weight > 0, weight, 0.0), margin, truth, None, output, labelled
                )
            ]
            found = _ranked(found, labelled)
        else:
            yes = _members(wanted, target)[:, output] > 0
            # scores have deviation 1, so that the loss can still rise for classes that are easy to separate
            unit = 1 / max(float(margin.std()), 1e-12)
            signed = unit * np.maximum(weight, 0.0)
            found = _marks(part, signed, unit * margin, np.where(yes, 1.0, -1.0), yes, output, labelled)
            found = [replace(mark, weight=mark.weight / unit) for mark in found]
        marks += [replace(mark, examples=tuple(int(rows[row]) for row in mark.examples)) for mark in found]
    return marks


def _marks(
    features: csc_array,
    weight: NDArray[np.float64],
    margin: NDArray[np.float64],
    truth: NDArray[np.float64],
    yes: NDArray[np.bool_] | None,
    output: int,
    labelled: NDArray[np.bool_],
) -> list[Mark]:
    """Find the marks of one output among templates with a nonzero weight."""

    def loss(values: NDArray[np.float64], rows: NDArray[Any]) -> NDArray[np.float64]:
        if yes is None:
            return np.asarray((values - truth[rows]) ** 2)
        return np.asarray(np.logaddexp(0, -truth[rows] * values))

    g, every = features.shape[0], np.arange(features.shape[0])
    now = loss(margin, every)

    def rise(shift: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the rise of the mean loss when a shift (g, columns) is replaced by its mean."""
        changed = margin[:, None] - shift + shift.mean(axis=0)
        flat = loss(changed.ravel(order="F"), np.tile(every, shift.shape[1])).reshape(-1, g)
        return np.asarray((flat - now).mean(axis=1))

    mean = np.asarray(features.mean(axis=0)).ravel()
    variance = np.asarray(features.multiply(features).mean(axis=0)).ravel() - mean**2
    deviation = np.sqrt(np.maximum(variance, 1e-12))
    # The rise is at most its second-order bound: the logistic loss has curvature 1/4 at most, the squared loss 2. Only
    # templates whose bound exceeds the best rise so far are measured: 512 on PROTEINS with k=5, which has 93,617.
    slope, curvature = (2 * (margin - truth), 2.0) if yes is None else (-truth * expit(-truth * margin), 0.25)
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
            own = features[:, [best]].toarray()[:, 0]
            alike = ((features.T @ own) / g - mean * own.mean()) / (deviation * max(own.std(), 1e-12)) >= SAME_REASON
            alike &= (weight != 0) & ~taken
            alike[best] = True
            group = np.flatnonzero(alike)
            total = float(rise((features[:, group] @ weight[group])[:, None])[0])
            shown = group[labelled[group] == want_labels]
            strongest = np.abs(says[shown]).max()
            face = int(shown[np.abs(says[shown]) >= 0.99 * strongest].max())  # larger pieces have higher columns
            examples = features[:, [face]].nonzero()[0][:6]
            if total > 0:
                marks.append(
                    Mark(output, face, total, len(group), float(weight[face]), tuple(int(row) for row in examples))
                )
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
