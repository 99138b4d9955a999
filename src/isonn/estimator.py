"""What every classifier of graphs shares: graphs in, classes out, scikit-learn's rules in between.

A method fills in two hooks and never meets a user's types:

- ``_fit(graphs, targets)``: learn from a checked `GraphSet`; ``targets`` are class numbers of shape (g,)
  or, when ``self.multilabel_``, a 0/1 matrix of shape (g, labels);
- ``_probabilities(graphs)``: an array of shape (g, outputs), columns in the order of ``classes_``.
"""

from __future__ import annotations

import hashlib
import json
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import type_of_target
from typing_extensions import Self

import isonn
from isonn.errors import InputError, ModelFileError, NotFittedError
from isonn.files import atomic_directory
from isonn.graphs.convert import as_graphset
from isonn.graphs.graph import GraphSet
from isonn.graphs.stream import GraphStream

_ENDLESS = (float("inf"), float("-inf"))


class GraphClassifier(ClassifierMixin, BaseEstimator):
    """Base of every classifier in isonn; see the module's text for the hooks.

    Attributes set by ``fit``:
        classes_: ndarray of shape (n_classes,), or the column numbers of an indicator matrix.
        multilabel_: whether ``y`` was an indicator matrix.
        size_: nodes there is room for: ``size`` where the method has it, else the largest training graph.
    """

    #: Methods whose features have one place per node index cannot take a graph larger than the training ones.
    _fixed_size = False
    #: Whether the method can learn an indicator matrix.
    _supports_multilabel = True

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from graphs ``X`` and classes ``y``.

        Args:
            X: a `GraphSet`, or anything `isonn.as_graphset` takes.
            y: classes of any type, shape (g,), or an indicator matrix of shape (g, labels). A `GraphSet`
                that carries its own classes needs none.
        """
        self.check_settings()
        graphs, targets = self._start(X, y)
        self._fit(graphs, targets)
        self._fitted = True
        return self

    def check_settings(self) -> None:
        """Refuse constructor arguments that mean nothing; ``fit`` does this first."""

    def why_not(self, graphs: GraphSet) -> str | None:
        """Why the method cannot be used on these graphs at all, as a sentence, or None when it can."""
        if graphs.y is not None and graphs.y.ndim == 2 and not self._supports_multilabel:
            return f"{type(self).__name__} takes one class per graph; fit one estimator per column of y"
        return None

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each graph, shape (g,), or a 0/1 matrix of shape (g, labels)."""
        return self.chosen(self.predict_proba(X))

    def chosen(self, probabilities: NDArray[np.float64]) -> NDArray[Any]:
        """The classes that belong to such probabilities."""
        if self.multilabel_:
            return (probabilities > 0.5).astype(np.int64)
        chosen: NDArray[Any] = self.classes_[probabilities.argmax(axis=1)]
        return chosen

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of shape (g, n_classes); each row sums to 1 unless ``multilabel_``."""
        if isinstance(X, GraphStream):
            return np.concatenate([self.predict_proba(chunk) for chunk in X])
        graphs = self._checked(X)
        probabilities = self._probabilities(graphs)
        odd = ~np.isfinite(probabilities).all(axis=1)
        if odd.any():
            raise InputError(
                f"graph {int(odd.argmax())} of {len(graphs)} gives probabilities that are not numbers; scale its "
                f"weights as those of the training graphs were"
            )
        return probabilities

    def _fit(self, graphs: GraphSet, targets: NDArray[Any]) -> None:
        raise TypeError(f"{type(self).__name__} does not say how to fit")

    def _probabilities(self, graphs: GraphSet) -> NDArray[np.float64]:
        raise TypeError(f"{type(self).__name__} does not say how to predict")

    def _start(self, X: Any, y: Any) -> tuple[GraphSet, NDArray[Any]]:
        """Forget an earlier fit; check and encode what the new one learns from."""
        self._fitted = False
        graphs = as_graphset(X)
        y = graphs.y if y is None else y
        if y is None:
            raise InputError(f"{type(self).__name__}.fit needs classes; pass y, or a GraphSet that carries them")
        targets = self._encode(y, len(graphs))
        self.size_ = self._room(graphs)
        return graphs, targets

    def _room(self, graphs: GraphSet) -> int:
        """Nodes there is room for: the largest training graph, or ``size`` where the method has that argument."""
        largest, size = int(graphs.sizes.max()), getattr(self, "size", None)
        if size is None:
            return largest
        if isinstance(size, bool) or not isinstance(size, Integral):
            raise InputError(f"size={size!r} is not a number of nodes; use an integer >= {largest}, or None")
        if size < largest:
            raise InputError(f"size={size!r} is too small for a graph of {largest} nodes; use size={largest} or None")
        return int(size)

    def __sklearn_is_fitted__(self) -> bool:
        return getattr(self, "_fitted", False)

    def _require_fit(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"this {type(self).__name__} has learnt nothing yet; call fit first")

    def _checked(self, X: Any) -> GraphSet:
        """The graphs to predict, once the estimator is fitted and able to take them."""
        self._require_fit()
        graphs = as_graphset(X)
        if self._fixed_size and graphs.sizes.max() > self.size_:
            i = int(graphs.sizes.argmax())
            raise InputError(
                f"graph {i} of {len(graphs)} has {graphs.sizes[i]} nodes, more than the {self.size_} that this "
                f"{type(self).__name__} was fitted with room for; fit with size={graphs.sizes[i]}, or leave it out"
            )
        return graphs

    def _encode(self, y: Any, g: int) -> NDArray[Any]:
        """Class numbers, or the 0/1 matrix as floats; sets ``classes_`` and ``multilabel_``."""
        try:
            labels = np.asarray(y)
        except ValueError as error:
            raise InputError(
                "y has entries of different lengths; give one class per graph, or an indicator matrix of 0 and 1 "
                "(scikit-learn's MultiLabelBinarizer makes one)"
            ) from error
        if labels.ndim == 0:
            raise InputError(f"y={y!r} is a single value; give one class per graph")
        if len(labels) != g:
            raise InputError(f"y has {len(labels)} entries for {g} graphs; give one per graph")
        if labels.ndim == 2 and labels.shape[1] == 1:
            labels = labels[:, 0]
        if labels.ndim == 2:
            return self._encode_indicators(labels)
        if labels.ndim != 1:
            raise InputError(f"y has shape {labels.shape}; give (graphs,) or an indicator matrix (graphs, labels)")
        missing = [i for i, label in enumerate(labels.tolist()) if label is None or label != label or label in _ENDLESS]
        if missing:
            raise InputError(f"y[{missing[0]}] is {labels[missing[0]]}; give every graph a class")
        if labels.dtype.kind == "f" and type_of_target(labels).startswith("continuous"):
            raise InputError(f"y holds measurements such as {labels[labels % 1 != 0][0]}, not classes; bin them first")
        self.multilabel_ = False
        try:
            self.classes_, targets = np.unique(labels, return_inverse=True)
        except TypeError as error:
            raise InputError(
                f"y mixes classes such as {labels[0]!r} that cannot be sorted; use numbers only or strings only"
            ) from error
        if len(self.classes_) < 2:
            only = self.classes_.tolist()[0]
            raise InputError(f"y holds one class only ({only!r}); give graphs of at least two classes")
        return targets.astype(np.int64)

    def _encode_indicators(self, labels: NDArray[Any]) -> NDArray[Any]:
        if not self._supports_multilabel:
            raise InputError(f"{type(self).__name__} takes one class per graph; fit one estimator per column of y")
        if not np.isin(labels, (0, 1)).all():
            wrong = labels[~np.isin(labels, (0, 1))].flat[0]
            raise InputError(f"y is a matrix holding {wrong!r}; an indicator matrix holds 0 and 1 only")
        self.multilabel_ = True
        self.classes_ = np.arange(labels.shape[1])
        return labels.astype(np.float32)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.classifier_tags.multi_class = True
        tags.classifier_tags.multi_label = self._supports_multilabel
        tags.target_tags.multi_output = self._supports_multilabel
        tags.no_validation = True
        return tags


# Models on disk: a folder with the weights as safetensors and everything else as JSON. Never pickle.


FORMAT = "isonn-model-1"
JSON_NAME, TENSORS_NAME = "model.json", "model.safetensors"


def write_model(path: Path, description: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> None:
    """Write a model folder, whole or not at all; an existing path is refused."""
    if path.exists():
        raise InputError(f"{path} exists already; choose another path, or remove it first")
    with atomic_directory(path) as folder:
        save_file(
            {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()},
            folder / TENSORS_NAME,
        )
        description = {
            "format": FORMAT,
            "isonn": isonn.__version__,
            **description,
            "sha256": hashlib.sha256((folder / TENSORS_NAME).read_bytes()).hexdigest(),
        }
        (folder / JSON_NAME).write_text(json.dumps(description, indent=2, default=_plain) + "\n", encoding="utf-8")


def _plain(value: Any) -> Any:
    """NumPy numbers, which a parameter grid may hold, as Python's own."""
    if isinstance(value, np.generic):
        return value.item()
    raise InputError(f"parameter value {value!r} cannot be saved; use numbers, strings or tuples of them")


def read_model(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Description and tensors of a model folder, checked against each other."""
    if not path.is_dir():
        raise ModelFileError(f"{path} is not a model folder; give one that save or `isonn fit` made")
    for name in (JSON_NAME, TENSORS_NAME):
        if not (path / name).is_file():
            raise ModelFileError(f"{path} holds no {name}; save the model again")
    try:
        description = json.loads((path / JSON_NAME).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelFileError(f"{path / JSON_NAME} is damaged ({error}); save the model again") from error
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        found = description.get("format") if isinstance(description, dict) else description
        raise ModelFileError(
            f"{path / JSON_NAME} has format {found!r} where {FORMAT!r} is needed; save the model again"
        )
    if hashlib.sha256((path / TENSORS_NAME).read_bytes()).hexdigest() != description.get("sha256"):
        raise ModelFileError(
            f"{path / TENSORS_NAME} is not the file {JSON_NAME} was written with; save the model again"
        )
    try:
        return description, load_file(path / TENSORS_NAME)
    except SafetensorError as error:
        raise ModelFileError(f"{path / TENSORS_NAME} is damaged ({error}); save the model again") from error


def classes_to_json(classes: NDArray[Any]) -> dict[str, Any]:
    """Classes as JSON that gives them back with their type."""
    values = classes.tolist()
    if not all(isinstance(value, (bool, int, float, str)) for value in values):
        odd = next(value for value in values if not isinstance(value, (bool, int, float, str)))
        raise InputError(f"class {odd!r} cannot be saved; use numbers, strings or booleans as classes")
    return {"dtype": classes.dtype.str, "values": values}


def classes_from_json(stored: dict[str, Any]) -> NDArray[Any]:
    """The classes `classes_to_json` wrote."""
    dtype = np.dtype(stored["dtype"])
    return np.array(stored["values"], dtype=dtype)
