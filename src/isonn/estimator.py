"""The base classes of all estimators, following scikit-learn's conventions.

A method implements two hooks, which receive checked data:

- ``_fit(graphs, targets)``: fit to a `GraphSet`; ``targets`` come from ``self.target_.encode``;
- ``_answers(graphs)``: probabilities or values, shape (g, outputs), one column per entry of ``target_.classes``.

A method that can be saved adds the hooks of `isonn.model_files.Saved`.
"""

from __future__ import annotations

import warnings
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import estimator_html_repr
from typing_extensions import Self

from isonn.errors import InputError, IsoNNWarning, NotFittedError
from isonn.graphs.convert import as_graphset, readable_rows, standardization_of
from isonn.graphs.graph import GraphSet
from isonn.graphs.io.registry import listed
from isonn.graphs.isomorphism import graph_hashes
from isonn.graphs.stream import GraphStream
from isonn.judged import Judged
from isonn.model_files import Saved
from isonn.packing import mix64
from isonn.params import check_sample_weight
from isonn.scores import right_graphs, score
from isonn.targets import Classes, Labels, Numbers, Target, as_columns, as_y, names_of_columns


class GraphEstimator(Saved, Judged, BaseEstimator):
    """Base of all estimators; see the module docstring for the hooks.

    Attributes set by ``fit``:
        target_: the `Target`.
        size_: largest number of nodes of a graph: ``size`` if the method has it, else that of the training graphs.
        label_names_: names of the training labels, by "node" and "edge", of the columns of y, by "target", and of
            classes, by "class"; empty if they have none.
        standardize_: how molecules are standardised, as in training; None for other graphs.
    """

    #: Whether graphs larger than the training graphs raise an error, as with one feature per node index.
    _fixed_size: bool = False
    #: Whether confounds of the graphs (`GraphSet.with_confounds`) are regressed out of their connections.
    takes_confounds: ClassVar[bool] = False

    target_: Target
    size_: int
    label_names_: dict[str, dict[Any, str]]
    standardize_: str | None = None
    #: A salt and a salted hash of every training graph; None if unknown.
    _trained_on: NDArray[np.uint64] | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to graphs ``X`` and targets ``y``.

        Args:
            X: a `GraphSet`, or anything `isonn.as_graphset` accepts.
            y: one class or number per graph, shape (g,), or one column per label or measurement, shape (g, t). May be
                omitted if ``X`` has ``y``.

        Returns:
            the fitted estimator.

        Example:
            >>> from isonn.baselines.simple import GraphSizeClassifier
            >>> graphs = isonn.load("MUTAG")
            >>> GraphSizeClassifier().fit(graphs[:150]).predict(graphs[150:153]).shape
            (3,)
        """
        self._check_params()
        graphs, targets = self._start(X, y)
        self._fit(graphs, targets)
        self._fitted = True
        return self

    def predict(self, X: Any, *, on_error: str = "raise") -> NDArray[Any]:
        """Predict graphs; the result has the shape of ``y``.

        Args:
            X: graphs, as in ``fit``, or a single SMILES.
            on_error: "raise" raises an error for molecules that cannot be read; "nan" predicts NaN and warns once.

        Returns:
            ndarray of shape (g,), or (g, columns) for several labels or numbers.

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> clf = isonn.SubgraphClassifier(max_nodes=2, head="linear", random_state=0).fit(graphs[:150])
            >>> clf.predict(graphs[150:153]).tolist()
            [-1, 1, 1]
        """
        answers = self._answers_of(X, on_error)
        return _or_nan(self.target_.decide(answers), np.asarray(np.isnan(answers).all(axis=1)))

    def seen_in_training(self, X: Any) -> NDArray[np.bool_]:
        """Return which graphs the model was fitted to, shape (g,); all False if unknown.

        Args:
            X: graphs, as in ``fit``.

        Returns:
            ndarray of booleans, shape (g,).

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> clf = isonn.SubgraphClassifier(max_nodes=2, random_state=0).fit(graphs[:100])
            >>> int(clf.seen_in_training(graphs).sum()) >= 100
            True
        """
        self._require_fit()
        check_in_memory(X, "seen_in_training")
        graphs = as_graphset(X, standardize=self.standardize_)
        if self._trained_on is None:
            return np.zeros(len(graphs), dtype=bool)
        return np.isin(graph_hashes(graphs, int(self._trained_on[0])), self._trained_on[1:])

    def report(self, X: Any, y: Any, path: str | Path, *, cross_fit: bool | None = None) -> None:
        """Write an HTML page with the main findings, the quality of the model, and every graph with its reasons.

        Args:
            X, y: graphs and their targets.
            path: the file to write; must not exist.
            cross_fit: refit the model in folds, so that no graph is explained by a model that has seen it. None does so
                if the model was fitted to most of these graphs; if it was fitted to a few, they are left out. The page
                states which.

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> clf = isonn.SubgraphClassifier(max_nodes=2, head="linear", random_state=0).fit(graphs[:150])
            >>> clf.report(graphs[150:], graphs.y[150:], tmp_path / "report.html")
        """
        from isonn.report.model_page import report_model

        self._require_fit()
        report_model(self, X, y, path, cross_fit)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: once fitted, the score, the size and the first reasons."""
        if not self.__sklearn_is_fitted__():
            return str(estimator_html_repr(self))
        from isonn.report.show import model_html

        return model_html(self)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _check_params(self) -> None:
        """Validate parameters; called first by ``fit``."""

    def _unsupported(self, graphs: GraphSet) -> str | None:
        """Return why the method cannot be used on these graphs, or None if it can."""
        return None

    def _make_target(self, y: NDArray[Any]) -> Target:
        raise TypeError(f"{type(self).__name__} does not implement _make_target")

    def _fit(self, graphs: GraphSet, targets: NDArray[Any]) -> None:
        raise TypeError(f"{type(self).__name__} does not implement _fit")

    def _answers(self, graphs: GraphSet) -> NDArray[np.float64]:
        raise TypeError(f"{type(self).__name__} does not implement _answers")

    def _start(self, X: Any, y: Any) -> tuple[GraphSet, NDArray[Any]]:
        """Reset an earlier fit; check the graphs and encode the targets."""
        self._fitted = False
        graphs = as_graphset(X)
        y = graphs.y if y is None else y
        if y is None:
            raise InputError(f"{type(self).__name__}.fit needs y; pass it, or a GraphSet that has it")
        targets = self._encode(y, len(graphs))
        self.size_ = _room(getattr(self, "size", None), int(graphs.sizes.max()))
        self.label_names_ = {"node": dict(graphs.node_label_names), "edge": dict(graphs.edge_label_names)}
        self.label_names_["target"] = dict(enumerate(graphs.target_names)) if y is graphs.y else names_of_columns(y)
        self.label_names_["class"] = dict(graphs.class_names) if y is graphs.y else {}
        self.standardize_ = standardization_of(graphs) if graphs.kind == "molecules" else None
        self._remember(graph_hashes(graphs))
        return graphs, targets

    def _remember(self, hashes: NDArray[np.uint64]) -> None:
        """Store salted hashes of the training graphs; the salt is derived from them, so equal fits save equal files."""
        salt = np.bitwise_xor.reduce(mix64(np.unique(hashes)))
        self._trained_on = np.concatenate([[salt], np.unique(mix64(hashes ^ salt))])

    def _encode(self, y: Any, g: int) -> NDArray[Any]:
        values = as_y(y, g)
        self.target_ = self._make_target(values)
        return self.target_.encode(values)

    def _weights(self, sample_weight: Any, targets: NDArray[Any]) -> NDArray[np.float64] | None:
        """Return one weight per graph from ``sample_weight`` and ``class_weight``; None if all are equal.

        Graphs of weight 0 are left out, also when classes are balanced. So are those of less than 1e-9 of the largest.
        """
        by_graph = None
        if sample_weight is not None:
            by_graph = check_sample_weight(sample_weight, len(targets))
            by_graph = by_graph / by_graph.mean()
            by_graph = np.where(by_graph > 1e-9 * by_graph.max(), by_graph, 0.0)
        class_weight = getattr(self, "class_weight", None)
        if class_weight is None:
            return by_graph
        if not isinstance(self.target_, Classes):
            raise InputError("class_weight is for one class per graph; leave it out for an indicator matrix")
        counted = targets if by_graph is None else targets[by_graph > 0]
        by_class = np.asarray(self.target_.class_weights(class_weight, counted)[targets])
        return by_class if by_graph is None else by_graph * by_class

    def __sklearn_is_fitted__(self) -> bool:
        return getattr(self, "_fitted", False)

    def _require_fit(self) -> bool:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"this {type(self).__name__} is not fitted; call fit first")
        return True

    def _checked(self, X: Any, method: str = "predict") -> GraphSet:
        """Convert the graphs to predict; raise an error if the estimator is not fitted or cannot predict them.

        Args:
            X: the graphs.
            method: the public method that got them, for errors.
        """
        self._require_fit()
        check_in_memory(X, method)
        graphs = as_graphset(X, standardize=self.standardize_)
        if self._fixed_size and graphs.sizes.max() > self.size_:
            i = int(graphs.sizes.argmax())
            raise InputError(
                f"graph {i} of {len(graphs)} has {graphs.sizes[i]} nodes, more than the {self.size_} that this "
                f"{type(self).__name__} has room for; fit with size={graphs.sizes[i]}, or leave it out"
            )
        _check_names(graphs, self.label_names_)
        return graphs

    def _answers_of(self, X: Any, on_error: str) -> NDArray[np.float64]:
        """Return answers, with NaN for molecules that cannot be read if ``on_error`` is "nan"."""
        if on_error == "raise" or isinstance(X, GraphStream):
            return self._all_answers(X)
        if on_error != "nan":
            raise InputError(f"on_error={on_error!r:.60} is unknown; use 'raise' or 'nan'")
        self._require_fit()
        graphs, problems = readable_rows(X, self.standardize_)
        unreadable = [problem.row for problem in problems]
        answers = np.full((len(problems) + (0 if graphs is None else len(graphs)), self.target_.outputs), np.nan)
        if graphs is not None:
            answers[np.setdiff1d(np.arange(len(answers)), unreadable)] = self._all_answers(graphs)
        if problems:
            count = f"{len(problems)} of {len(answers)} molecules"
            warnings.warn(
                f"{count} cannot be read and are predicted as NaN: {listed(problems, len(problems))}",
                IsoNNWarning,
                stacklevel=3,
            )
        return answers

    def _all_answers(self, X: Any) -> NDArray[np.float64]:
        """Return answers for graphs or a stream of them, checked to be finite."""
        if isinstance(X, GraphStream):
            return np.concatenate([self._all_answers(chunk) for chunk in X])
        graphs = self._checked(X)
        answers = self._answers(graphs)
        odd = ~np.isfinite(answers).all(axis=1)
        if odd.any():
            raise InputError(
                f"graph {int(odd.argmax())} of {len(graphs)} gives answers that are not finite; scale its "
                "weights like those of the training graphs"
            )
        return answers

    def __sklearn_tags__(self) -> Any:
        return for_graphs(super().__sklearn_tags__())


class GraphClassifier(ClassifierMixin, GraphEstimator):
    """Base of all classifiers.

    Attributes set by ``fit``:
        classes_: ndarray of shape (n_classes,), or the column numbers of an indicator matrix.
        multilabel_: whether ``y`` was an indicator matrix.
    """

    #: Whether the method supports an indicator matrix, and one with gaps (NaN).
    _supports_multilabel: ClassVar[bool] = True
    _supports_gaps: ClassVar[bool] = False

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, or the column numbers of an indicator matrix."""
        if not hasattr(self, "target_"):
            raise AttributeError(f"{type(self).__name__} has no classes_ before fit")
        return self.target_.classes

    @property
    def multilabel_(self) -> bool:
        """Whether ``y`` was an indicator matrix."""
        return isinstance(self.target_, Labels)

    def predict_proba(self, X: Any, *, on_error: str = "raise") -> NDArray[np.float64]:
        """Return probabilities of shape (g, n_classes); each row sums to 1 unless ``multilabel_``.

        Args:
            X, on_error: as in `predict`.

        Returns:
            ndarray of shape (g, n_classes), columns as in ``classes_``; for several labels the probability of each.

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> clf = isonn.SubgraphClassifier(max_nodes=2, head="linear", random_state=0).fit(graphs[:150])
            >>> probabilities = clf.predict_proba(graphs[150:])
            >>> probabilities.shape, bool(np.allclose(probabilities.sum(axis=1), 1))
            ((38, 2), True)
        """
        return self._answers_of(X, on_error)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy; of several labels the share of graphs of which all known ones are predicted.

        Args:
            X: graphs, as in ``fit``.
            y: the true classes or labels; graphs of which no label is known are left out.
            sample_weight: a weight for each graph; None weighs all alike.

        Returns:
            a number from 0 to 1.

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> clf = isonn.SubgraphClassifier(max_nodes=2, random_state=0).fit(graphs[:150])
            >>> clf.score(graphs[150:], graphs.y[150:]) > 0.7
            True
        """
        self._require_fit()
        if not self.multilabel_:
            return float(super().score(X, y, sample_weight))
        predicted = self.predict(X)
        truth = as_columns(as_y(y, len(predicted)))
        weights = np.ones(len(truth)) if sample_weight is None else check_sample_weight(sample_weight, len(truth))
        known = ~np.isnan(truth).all(axis=1)
        if truth.shape != predicted.shape:
            raise InputError(f"y has shape {truth.shape}, and this model predicts {predicted.shape}; give those labels")
        if not weights[known].any():
            raise InputError("y holds no known label to score; give at least one")
        return float(np.average(right_graphs(self.target_, truth, predicted)[known], weights=weights[known]))

    def _unsupported(self, graphs: GraphSet) -> str | None:
        if graphs.y is not None and graphs.y.ndim == 2 and not self._supports_multilabel:
            return self._one_class_only()
        return super()._unsupported(graphs)

    def _one_class_only(self) -> str:
        return f"{type(self).__name__} takes one class per graph; fit one estimator per column of y"

    def _make_target(self, y: NDArray[Any]) -> Target:
        if y.ndim == 1:
            return Classes.fit(y)
        if not self._supports_multilabel:
            raise InputError(self._one_class_only())
        target = Labels.fit(y)
        values = target.encode(y)
        if not self._supports_gaps and np.isnan(values).any():
            raise InputError(f"y has gaps (NaN), which {type(self).__name__} cannot learn from; fill or drop them")
        constant = np.nanmin(values, axis=0) == np.nanmax(values, axis=0)
        if constant.any():  # a warning, as in scikit-learn: a rare label may be missing from one fold of many
            i = int(constant.argmax())
            warnings.warn(
                f"column {i} of y is {np.nanmin(values[:, i]):g} for every graph, so it is always predicted; drop it",
                IsoNNWarning,
                stacklevel=4,
            )
        return target

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        tags.classifier_tags.multi_label = self._supports_multilabel
        tags.target_tags.multi_output = self._supports_multilabel
        return tags


class GraphRegressor(RegressorMixin, GraphEstimator):
    """Base of all regressors; ``y`` holds one number per graph or one column per measurement, NaN if unknown."""

    def _make_target(self, y: NDArray[Any]) -> Target:
        return Numbers.fit(y)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the R² of the predictions, mean over columns; NaN in ``y`` is ignored.

        Args:
            X: graphs, as in ``fit``.
            y: the true numbers.
            sample_weight: a weight for each graph; None weighs all alike.

        Returns:
            R²: 1 for perfect predictions, 0 for those no better than the mean.

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> nodes = graphs.sizes.astype(float)
            >>> reg = isonn.SubgraphRegressor(max_nodes=2, random_state=0).fit(graphs[:150], nodes[:150])
            >>> reg.score(graphs[150:], nodes[150:]) > 0.95
            True
        """
        predicted = self.predict(X)
        truth = as_y(y, len(predicted))
        if sample_weight is not None:
            weights = np.asarray(sample_weight)
            columns = zip(as_columns(truth).T, as_columns(predicted).T, strict=True)
            known = [(true, told, ~np.isnan(true)) for true, told in columns]
            return float(np.mean([r2_score(true[k], told[k], sample_weight=weights[k]) for true, told, k in known]))
        return score(self.target_, truth, as_columns(predicted))["r2"] or 0.0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def check_in_memory(X: Any, method: str) -> None:
    """Raise `InputError` if ``X`` is a stream, which only predictions and scores take."""
    if isinstance(X, GraphStream):
        raise InputError(
            f"{method} needs graphs in memory, and {X.name} is a stream; give its chunks one by one, as in "
            f"[model.{method}(chunk) for chunk in stream]"
        )


def for_graphs(tags: Any) -> Any:
    """Tell scikit-learn that an estimator takes graphs, not a table, and checks them itself."""
    tags.input_tags.two_d_array = False
    tags.input_tags.three_d_array = True
    tags.no_validation = True
    return tags


def _or_nan(predicted: NDArray[Any], unknown: NDArray[np.bool_]) -> NDArray[Any]:
    """Return predictions with NaN in some rows; whole numbers then become floats, and text objects."""
    if not unknown.any():
        return predicted
    predicted = predicted.astype(np.float64 if predicted.dtype.kind in "biuf" else object)
    predicted[unknown] = np.nan
    return predicted


def _room(size: Any, largest: int) -> int:
    """Return ``size``, or if it is None the number of nodes of the largest training graph."""
    if size is None:
        return largest
    if isinstance(size, bool) or not isinstance(size, Integral):
        raise InputError(f"size={size!r} is not a number of nodes; use an integer >= {largest}, or None")
    if size < largest:
        raise InputError(f"size={size!r} is too small for a graph of {largest} nodes; use size={largest} or None")
    return int(size)


def _check_names(graphs: GraphSet, label_names: dict[str, dict[Any, str]]) -> None:
    """Raise `InputError` if a label code had another name in training."""
    for kind, names in (("node", graphs.node_label_names), ("edge", graphs.edge_label_names)):
        trained = label_names.get(kind, {})
        for code, name in names.items():
            if trained.get(code, name) != name:
                raise InputError(
                    f"{kind} label {code!r} is {name!r} in {graphs.name} and was {trained[code]!r} in training; "
                    f"code the labels as in training"
                )
