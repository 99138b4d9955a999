"""The Weisfeiler-Lehman subtree kernel, which counts common neighbourhoods of two graphs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from isonn.baselines.shapes import Shape, ShapeReader
from isonn.baselines.simple import margins_as_probabilities
from isonn.errors import InputError
from isonn.estimator import GraphClassifier
from isonn.graphs.graph import GraphSet
from isonn.graphs.isomorphism import refine_colours
from isonn.packing import mix64
from isonn.seeding import derive_seed, resolve_seed

Matrix = NDArray[np.float64]
#: Candidate settings of the support vector machine.
ITERATIONS = (1, 2, 3, 4, 5, 6)
PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
#: Number of iterations with "mean"; the paper does not give one.
MEAN_ITERATIONS = 5


def wl_counts(shapes: list[Shape], iterations: int) -> Iterator[tuple[NDArray[np.uint64], csr_array]]:
    """Count the colours of the nodes of each graph, for every radius from 0 to ``iterations``.

    A node starts with its label. Each iteration replaces its colour by a hash of that colour and those of its
    neighbours. Hashes have 64 bits, so a collision among a million neighbourhoods has a probability of 3e-8.

    Yields:
        the sorted distinct colours, and sparse counts of shape (graphs, colours).
    """
    sizes = np.array([len(shape.labels) for shape in shapes])
    starts = np.cumsum(sizes) - sizes
    ends = np.concatenate([shape.edges + start for shape, start in zip(shapes, starts, strict=True)])
    rows, columns = np.concatenate([ends, ends[:, ::-1]]).T
    owner = np.repeat(np.arange(len(shapes)), sizes)
    colours = mix64(np.concatenate([shape.labels for shape in shapes]).astype(np.uint64))
    for radius in range(iterations + 1):
        if radius:
            colours = refine_colours(colours, rows, columns, np.zeros(len(rows), dtype=np.uint64), rounds=1)
        distinct, column = np.unique(colours, return_inverse=True)
        counts = csr_array((np.ones(len(owner)), (owner, column)), shape=(len(shapes), len(distinct)))
        counts.sum_duplicates()
        yield distinct, counts


def wl_kernels(shapes: list[Shape], iterations: int) -> Iterator[Matrix]:
    """Yield the unnormalised kernel matrix, shape (g, g), after 0, 1, ..., ``iterations`` iterations."""
    kernel = np.zeros((len(shapes), len(shapes)))
    for _, counts in wl_counts(shapes, iterations):
        kernel = kernel + (counts @ counts.T).toarray()
        yield kernel


class WLKernel:
    """Similarity to the training graphs: the normalised kernel after some iterations, 1 for equal graphs.

    Args:
        shapes: the training graphs.
        iterations: number of refinements of the colours.
    """

    def __init__(self, shapes: list[Shape], iterations: int) -> None:
        self.iterations = iterations
        self.colour_counts = list(wl_counts(shapes, iterations))
        self.squares = _squares(counts for _, counts in self.colour_counts)

    def transform(self, shapes: list[Shape]) -> Matrix:
        """Return similarities of shape (graphs, training graphs)."""
        colour_counts = list(wl_counts(shapes, self.iterations))
        squares = _squares(counts for _, counts in colour_counts)
        kernel = np.zeros((len(shapes), len(self.squares)))
        for (seen, train), (colours, counts) in zip(self.colour_counts, colour_counts, strict=True):
            place = np.searchsorted(seen, colours).clip(max=len(seen) - 1)
            shared = seen[place] == colours
            kernel += (counts[:, shared] @ train[:, place[shared]].T).toarray()
        return np.asarray(kernel / np.sqrt(np.outer(squares, self.squares)))


def _squares(by_iteration: Iterable[csr_array]) -> Matrix:
    """Return the kernel of each graph with itself."""
    return np.asarray(sum(counts.multiply(counts).sum(axis=1) for counts in by_iteration))


def _normalised(kernel: Matrix) -> Matrix:
    squares = kernel.diagonal()
    return np.asarray(kernel / np.sqrt(np.outer(squares, squares)))


@dataclass(eq=False, repr=False)
class WLClassifier(GraphClassifier):
    """A classifier on the normalised Weisfeiler-Lehman subtree kernel.

    Shervashidze and Borgwardt, "Fast subtree kernels on graphs" (NeurIPS 2009): the kernel of two graphs counts equal
    node colours, before and after each iteration that replaces a node's colour by itself and those of its neighbours,
    divided by the root of both graphs' kernels with themselves.

    ``decision="mean"`` is exactly the paper's rule: a graph whose mean similarity to *all* training graphs is greater
    than 0.5 is positive (the second of ``classes_``). It does not use the training classes, so its accuracy on balanced
    classes is near one half. The rule does not cover three or more classes; then the class with the largest mean
    similarity is predicted.

    ``decision="svm"`` is the usual choice: a support vector machine whose penalty C and number of iterations are chosen
    by stratified cross-validation within the training graphs.

    Edge directions and edge labels are ignored; graphs with weights keep the strongest tenth of their pairs as edges.
    Without node labels all nodes start equal, so the first iteration separates degrees. Probabilities with "mean" are
    the mean similarity and its complement (with three or more classes, shares of the sum). With "svm" they are a
    logistic function or softmax of the decision function and are not calibrated.

    Args:
        decision: "mean" or "svm".
        iterations: number of refinements; None means 5 with "mean", and chosen from 1 to 6 with "svm".
        random_state: seed of the inner splits of "svm".

    Attributes set by ``fit``:
        iterations_: number of refinements.
        C_: the chosen penalty, with "svm".

    Example:
        >>> graphs = isonn.load("MUTAG")
        >>> WLClassifier(decision="svm", random_state=0).fit(graphs[:120]).score(graphs[120:], graphs.y[120:]) > 0.7
        True
    """

    _supports_multilabel = False

    decision: str = "mean"
    iterations: int | None = None
    _: KW_ONLY
    random_state: Any = None

    def _check_params(self) -> None:
        if self.decision not in ("mean", "svm"):
            raise InputError(f'decision={self.decision!r} is unknown; use "mean" or "svm"')
        given = self.iterations
        if given is not None and (isinstance(given, bool) or not isinstance(given, Integral) or given < 1):
            raise InputError(f"iterations={given!r} is not a valid number of iterations; use an integer >= 1, or None")

    def _fit(self, graphs: GraphSet, targets: NDArray[Any]) -> None:
        self.reader_ = ShapeReader(graphs, type(self).__name__)
        shapes = self.reader_.read(graphs)
        self.targets_ = targets
        if self.decision == "svm":
            choices = ITERATIONS if self.iterations is None else (int(self.iterations),)
            kernels = (
                (number, _normalised(kernel))
                for number, kernel in enumerate(wl_kernels(shapes, max(choices)))
                if number in choices
            )
            seed = derive_seed(resolve_seed(self.random_state), "inner splits") % 2**32
            self.iterations_, self.C_, matrix = _choose(kernels, targets, seed)
            self.svm_ = SVC(C=self.C_, kernel="precomputed").fit(matrix, targets)
        else:
            self.iterations_ = MEAN_ITERATIONS if self.iterations is None else int(self.iterations)
        self.kernel_ = WLKernel(shapes, self.iterations_)

    def _answers(self, graphs: GraphSet) -> NDArray[np.float64]:
        similarity = self.kernel_.transform(self.reader_.read(graphs))
        if self.decision == "svm":
            return margins_as_probabilities(self.svm_.decision_function(similarity))
        if len(self.classes_) == 2:
            mean = np.clip(similarity.mean(axis=1), 0, 1)
            return np.column_stack([1 - mean, mean])
        means = np.column_stack([similarity[:, self.targets_ == i].mean(axis=1) for i in range(len(self.classes_))])
        means += np.finfo(float).tiny  # a graph without similarity to any training graph has equal shares
        shares: NDArray[np.float64] = means / means.sum(axis=1, keepdims=True)
        return shares


def _choose(kernels: Iterable[tuple[int, Matrix]], targets: NDArray[Any], seed: int) -> tuple[int, float, Matrix]:
    """Return the iterations, C and kernel with the best cross-validation accuracy, the first of equals.

    Kernels may be large, so they are computed one at a time and only the best is kept.
    """
    n_folds = min(5, int(np.bincount(targets).min()))
    if n_folds < 2:  # a class with one graph cannot be in both parts of a split
        number, kernel = next(iter(kernels))
        return number, 1.0, kernel
    folds = list(StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(targets, targets))
    best, most = None, -1
    for number, kernel in kernels:
        for penalty in PENALTIES:
            correct = 0
            for train, test in folds:  # cross_val_predict would take one and a half times as long on MUTAG
                svm = SVC(C=penalty, kernel="precomputed").fit(kernel[np.ix_(train, train)], targets[train])
                correct += int((svm.predict(kernel[np.ix_(test, train)]) == targets[test]).sum())
            if correct > most:
                best, most = (number, penalty, kernel), correct
    assert best is not None
    return best
