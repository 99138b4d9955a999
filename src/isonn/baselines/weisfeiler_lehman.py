"""WL: how many neighbourhoods two graphs share."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from isonn.baselines.shapes import Shape, ShapeReader, check_shape_settings
from isonn.errors import InputError, MissingDependencyError
from isonn.estimator import GraphClassifier
from isonn.graphs.graph import GraphSet
from isonn.seeding import derive_seed, resolve_seed

#: What the support vector machine's settings are chosen from.
ITERATIONS = (1, 2, 3, 4, 5, 6)
PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
#: The paper does not say how often it iterates; with "mean" this is the number.
MEAN_ITERATIONS = 5


class WLClassifier(GraphClassifier):
    """The Weisfeiler-Lehman subtree kernel, normalised, and a decision on it.

    Shervashidze and Borgwardt, "Fast subtree kernels on graphs" (NeurIPS 2009), as grakel computes it: the kernel of
    two graphs counts equal node labels, before and after each iteration that replaces a node's label by itself and
    those of its neighbours, and is divided by the root of both graphs' kernels with themselves.
    ``decision="mean"`` is the paper's rule to the letter: a graph whose mean similarity to *all* training graphs is
    greater than 0.5 is positive (the second of ``classes_``), any other negative; the training classes are not used,
    and an accuracy near one half on balanced classes is what one should expect. The rule says nothing of three or
    more classes: there a graph gets the class to whose training graphs its mean similarity is largest.
    ``decision="svm"`` is what the kernel was made for: a support vector machine, its penalty C and the number of
    iterations chosen by stratified cross-validation within the training graphs. An edge in either direction is an
    edge, graphs with weights keep their strongest pairs (``density``) as edges, edge labels are not read. Without
    node labels all nodes start equal, so the first iteration tells their degrees apart.

    Probabilities are, with "mean", the mean similarity and its complement (of three classes or more: their share of
    the sum), and with "svm" a logistic function or softmax of the decision function: in the order of the decision,
    but not calibrated.

    Args:
        decision: "mean" or "svm".
        iterations: how often labels are refined; None: 5 with "mean", chosen from 1 to 6 with "svm".
        labels: "auto" (node labels where the training graphs have them), True, False, or "position" (node i is the
            same thing in every graph).
        density: the share of node pairs that are edges in graphs with weights.
        random_state: for the inner splits of "svm".

    Attributes set by ``fit``:
        iterations_: how often labels are refined.
        C_: the penalty, with "svm".
    """

    _supports_multilabel = False

    def __init__(
        self,
        decision: str = "mean",
        iterations: int | None = None,
        labels: bool | str = "auto",
        density: float = 0.1,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
    ) -> None:
        self.decision = decision
        self.iterations = iterations
        self.labels = labels
        self.density = density
        self.random_state = random_state

    def _check_params(self) -> None:
        """Refuse unknown decisions and impossible numbers."""
        if self.decision not in ("mean", "svm"):
            raise InputError(f'decision={self.decision!r} is no choice; use "mean" or "svm"')
        given = self.iterations
        if given is not None and (isinstance(given, bool) or not isinstance(given, Integral) or given < 1):
            raise InputError(f"iterations={given!r} is not a number of iterations; use an integer >= 1, or None")
        check_shape_settings(self.labels, self.density)

    def _fit(self, graphs: GraphSet, targets: NDArray[Any]) -> None:
        self.reader_ = ShapeReader(graphs, self.labels, self.density, type(self).__name__)
        inputs = _for_grakel(self.reader_.read(graphs))
        self.targets_ = targets
        if self.decision == "mean":
            self.iterations_ = MEAN_ITERATIONS if self.iterations is None else int(self.iterations)
            self.kernel_, _ = _kernel(inputs, self.iterations_)
            return
        choices = ITERATIONS if self.iterations is None else (int(self.iterations),)
        kernels = {number: _kernel(inputs, number) for number in choices}
        matrices = {number: matrix for number, (_, matrix) in kernels.items()}
        seed = derive_seed(resolve_seed(self.random_state), "inner splits") % 2**32
        self.iterations_, self.C_ = _choose(matrices, targets, seed)
        self.kernel_ = kernels[self.iterations_][0]
        self.svm_ = SVC(C=self.C_, kernel="precomputed").fit(matrices[self.iterations_], targets)

    def _answers(self, graphs: GraphSet) -> NDArray[np.float64]:
        similarity: NDArray[np.float64] = self.kernel_.transform(_for_grakel(self.reader_.read(graphs)))
        if self.decision == "svm":
            outputs = self.svm_.decision_function(similarity)
            positive = expit(outputs)
            of_svm: NDArray[np.float64] = (
                np.column_stack([1 - positive, positive]) if outputs.ndim == 1 else softmax(outputs, axis=1)
            )
            return of_svm
        if len(self.classes_) == 2:
            mean = np.clip(similarity.mean(axis=1), 0, 1)
            return np.column_stack([1 - mean, mean])
        means = np.column_stack([similarity[:, self.targets_ == i].mean(axis=1) for i in range(len(self.classes_))])
        means += np.finfo(float).tiny  # a graph like none of the training graphs is equally like all classes
        shares: NDArray[np.float64] = means / means.sum(axis=1, keepdims=True)
        return shares


def _choose(matrices: dict[int, NDArray[np.float64]], targets: NDArray[Any], seed: int) -> tuple[int, float]:
    """Iterations and C that classify most training graphs in cross-validation; of equals fewer, then smaller."""
    n_folds = min(5, int(np.bincount(targets).min()))
    settings = [(number, penalty) for number in matrices for penalty in PENALTIES]
    if n_folds < 2:  # a class of one graph cannot be in both halves of a split
        return next(iter(matrices)), 1.0
    folds = list(StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(targets, targets))
    correct = dict.fromkeys(settings, 0)
    for number, penalty in settings:
        for train, test in folds:
            svm = SVC(C=penalty, kernel="precomputed").fit(matrices[number][np.ix_(train, train)], targets[train])
            correct[number, penalty] += int((svm.predict(matrices[number][np.ix_(test, train)]) == targets[test]).sum())
    return max(settings, key=lambda setting: correct[setting])


def _kernel(inputs: list[Any], iterations: int) -> tuple[Any, NDArray[np.float64]]:
    """grakel's fitted kernel, and its matrix of the training graphs."""
    try:
        from grakel.kernels import VertexHistogram, WeisfeilerLehman
    except ImportError as error:
        raise MissingDependencyError(
            "the Weisfeiler-Lehman kernel needs grakel, which is not installed; pip install 'isonn[baselines]', "
            "with a Python before 3.13: grakel has no wheels for later ones"
        ) from error
    kernel = WeisfeilerLehman(n_iter=iterations, normalize=True, base_graph_kernel=VertexHistogram)
    return kernel, kernel.fit_transform(inputs)


def _for_grakel(shapes: list[Shape]) -> list[Any]:
    """Each graph as grakel takes it: neighbours of every node, and the label of every node."""
    inputs = []
    for shape in shapes:
        neighbours: dict[int, dict[int, float]] = {node: {} for node in range(len(shape.labels))}
        for first, second in shape.edges.tolist():
            neighbours[first][second] = neighbours[second][first] = 1.0
        inputs.append((neighbours, dict(enumerate(shape.labels.tolist()))))
    return inputs
