"""Targets of prediction: classes, labels or numbers.

A target encodes ``y`` for training and converts a model's outputs to answers and predictions. `Classes` is one class
per graph, `Labels` several labels per graph, and `Numbers` measurements.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax

from isonn.errors import InputError
from isonn.packing import Floats, to_numpy
from isonn.plugins import Registry

if TYPE_CHECKING:
    from torch import nn


class Target(ABC):
    """Base class of targets. To add one, subclass it and register it with `register_target`.

    A head returns ``outputs`` numbers per graph, shape (g, outputs). `link` converts them to answers (probabilities or
    values), `decide` converts answers to predictions, and `margin` returns the single number that explanations
    decompose. Heads and explanations ask a target only for what is defined here, so they work with any of them. An
    estimator chooses its target in ``_make_target(y)``.

    Attributes:
        classes: the meaning of the outputs: the classes, or the column numbers of ``y``.

    Example:
        >>> target = Classes.fit(np.array(["no", "yes", "no"]))  # the target of classifiers
        >>> target.outputs, target.decide(target.link(np.array([[0.0, 2.0]]))).tolist()
        (2, ['yes'])
    """

    #: The name in saved models.
    name: ClassVar[str]
    #: Whether outputs are values to predict; otherwise they are scores of classes or labels.
    numeric: ClassVar[bool] = False
    #: Whether every graph has exactly one class; otherwise the columns of ``y`` are independent.
    exclusive: ClassVar[bool] = False

    classes: NDArray[Any]

    @classmethod
    @abstractmethod
    def fit(cls, y: NDArray[Any]) -> Target:
        """Fit to ``y``, shape (g,) or (g, t); raise `InputError` for invalid values.

        Args:
            y: targets of the training graphs.

        Returns:
            the target.
        """

    @abstractmethod
    def encode(self, y: NDArray[Any]) -> NDArray[Any]:
        """Encode ``y``, with NaN for unknown values.

        Args:
            y: targets as the user gives them.

        Returns:
            class numbers (g,) if `exclusive`, standardised values (g, t) if `numeric`, else columns of 0 and 1.
        """

    def decode(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Return the entries of ``y`` that `encode` turned into ``codes``.

        Args:
            codes: what `encode` returned.

        Returns:
            ndarray of the same length.
        """
        return codes

    def columns(self, codes: NDArray[Any]) -> Floats:
        """Return encoded targets as columns to regress on: +1 and -1 for labels, values if `numeric`.

        Args:
            codes: what `encode` returned.

        Returns:
            ndarray of shape (g, outputs).
        """
        return np.asarray(codes if self.numeric else 2.0 * codes - 1, dtype=np.float64)

    @abstractmethod
    def link(self, outputs: Floats) -> Floats:
        """Convert outputs to answers of the same shape: probabilities or values.

        Args:
            outputs: shape (g, outputs).

        Returns:
            ndarray of the same shape.
        """

    @abstractmethod
    def decide(self, answers: Floats) -> NDArray[Any]:
        """Convert answers to predictions.

        Args:
            answers: what `link` returned.

        Returns:
            ndarray with the shape of ``y``.
        """

    @abstractmethod
    def margin(self, outputs: Floats, column: int) -> Floats:
        """Return the number that an explanation of one class or column decomposes: (..., outputs) to (...).

        Args:
            outputs: shape (..., outputs).
            column: number of the class or column.

        Returns:
            ndarray of shape (...).
        """

    @abstractmethod
    def loss(self) -> nn.Module:
        """Return the mean loss of outputs and encoded targets, as a torch module."""

    @property
    def outputs(self) -> int:
        """Number of outputs per graph."""
        return len(self.classes)

    def describe(self) -> dict[str, Any]:
        """Return the target as JSON, for `target_from`."""
        return {"name": self.name, "classes": values_to_json(self.classes)}

    @classmethod
    def restore(cls, stored: dict[str, Any]) -> Target:
        """Restore a target from `describe`."""
        target = cls.__new__(cls)
        target.classes = values_from_json(stored["classes"])
        return target


#: All targets by name.
TARGETS: Registry[type[Target]] = Registry("targets")


def register_target(cls: type[Target]) -> type[Target]:
    """Register a target for saved models; use as a decorator.

    Args:
        cls: a subclass of `Target` with a ``name``.

    Returns:
        the class.
    """
    TARGETS[cls.name] = cls
    return cls


def target_from(stored: dict[str, Any]) -> Target:
    """Restore a target from `Target.describe`."""
    return TARGETS.named(stored["name"], "target").restore(stored)


@register_target
class Classes(Target):
    """One class per graph.

    Example:
        >>> target = Classes.fit(np.array(["no", "yes", "no"]))
        >>> target.encode(np.array(["yes", "no"])), target.decide(target.link(np.array([[0.0, 2.0]])))
        (array([1, 0]), array(['yes'], dtype='<U3'))
    """

    name = "classes"
    exclusive = True

    def __init__(self, classes: NDArray[Any]) -> None:
        self.classes = classes

    @classmethod
    def fit(cls, y: NDArray[Any]) -> Classes:
        """Find the sorted distinct classes of ``y``."""
        missing = [i for i, value in enumerate(y.tolist()) if value is None or value != value or value in _INFINITE]
        if missing:
            raise InputError(f"y[{missing[0]}] is {y[missing[0]]}; give every graph a class")
        if y.dtype.kind == "f" and (y % 1 != 0).any():
            raise InputError(
                f"y holds measurements such as {y[y % 1 != 0][0]}, not classes; use the regressor of this model, such "
                f"as SubgraphRegressor, or bin them first"
            )
        if y.dtype.kind == "f" and (abs(y) >= 2**53).any():  # where floats merge neighbouring integers
            raise InputError(f"y holds {y[abs(y) >= 2**53][0]:g}, beyond 2**53; use smaller numbers, or strings")
        try:
            classes = np.unique(y)
        except TypeError as error:
            raise InputError(
                f"y mixes classes such as {y.tolist()[0]!r} that cannot be sorted; use numbers only or strings only"
            ) from error
        if len(classes) < 2:
            raise InputError(f"y holds one class only ({classes.tolist()[0]!r}); give graphs of at least two classes")
        return cls(classes)

    def encode(self, y: NDArray[Any]) -> NDArray[np.int64]:
        """Return class numbers, shape (g,)."""
        return np.searchsorted(self.classes, y).astype(np.int64)

    def decode(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Return the classes of class numbers."""
        return np.asarray(self.classes[codes])

    def columns(self, codes: NDArray[Any]) -> Floats:
        """Return +1 and -1, one column per class, or a single one for the second of two classes."""
        classes = range(len(self.classes)) if len(self.classes) > 2 else (1,)
        return np.stack([2.0 * (codes == i) - 1 for i in classes], axis=1)

    def class_weights(self, wanted: str | Mapping[Any, float], codes: NDArray[np.int64]) -> Floats:
        """Return the weight of each class: "balanced" as in scikit-learn, or from a dict, 1 for missing classes."""
        if wanted == "balanced":
            counts = np.bincount(codes, minlength=len(self.classes))
            return np.asarray(len(codes) / (len(self.classes) * np.maximum(counts, 1)))
        unknown = [value for value in wanted if value not in self.classes.tolist()]
        if unknown:
            raise InputError(f"class_weight names class {unknown[0]!r}; the classes are {self.classes.tolist()}")
        return np.array([float(wanted.get(value, 1.0)) for value in self.classes.tolist()])  # type: ignore[union-attr]

    def link(self, outputs: Floats) -> Floats:
        """Return the softmax; rows sum to 1."""
        return np.asarray(softmax(outputs, axis=-1))

    def decide(self, answers: Floats) -> NDArray[Any]:
        """Return the most likely class of each graph."""
        return np.asarray(self.classes[answers.argmax(axis=-1)])

    def margin(self, outputs: Floats, column: int) -> Floats:
        """Return the output of the class; for two classes, minus the other output, which is the log-odds."""
        if outputs.shape[-1] == 2:
            return np.asarray(outputs[..., column] - outputs[..., 1 - column])
        return np.asarray(outputs[..., column])

    def loss(self) -> nn.Module:
        """Cross-entropy."""
        from torch import nn

        return nn.CrossEntropyLoss()


@register_target
class Labels(Target):
    """Several labels per graph: a matrix of 0 and 1 with one column each; NaN if a label is unknown.

    Example:
        >>> target = Labels.fit(np.array([[0, 1], [1, np.nan]]))
        >>> target.decide(target.link(np.array([[-3.0, 3.0]])))
        array([[0, 1]])
    """

    name = "labels"

    def __init__(self, columns: int) -> None:
        self.classes = np.arange(columns)

    @classmethod
    def fit(cls, y: NDArray[Any]) -> Labels:
        """Check ``y``, with one label per column."""
        values = as_columns(y)
        wrong = ~np.isin(values, (0, 1)) & ~np.isnan(values)
        if wrong.any():
            raise InputError(f"y is a matrix holding {y[wrong].tolist()[0]!r}; an indicator matrix holds 0 and 1 only")
        _check_measured(values)
        return cls(y.shape[1])

    def encode(self, y: NDArray[Any]) -> NDArray[np.float32]:
        """Return the matrix as floats, NaN if unknown."""
        return as_columns(y).astype(np.float32)

    def link(self, outputs: Floats) -> Floats:
        """Return the logistic function of each output."""
        return np.asarray(expit(outputs))

    def decide(self, answers: Floats) -> NDArray[np.int64]:
        """Return 1 where a label is more likely than not."""
        return (answers > 0.5).astype(np.int64)

    def margin(self, outputs: Floats, column: int) -> Floats:
        """Return the log-odds of the label."""
        return np.asarray(outputs[..., column])

    def loss(self) -> nn.Module:
        """Return the cross-entropy of each known label."""
        return _masked_loss("binary_cross_entropy_with_logits")


@register_target
class Numbers(Target):
    """Measurements: one number per graph, or several columns of them; NaN if unknown.

    Outputs are standardised, so that every column has equal weight in training; `link` converts back to the units of
    ``y``. A column of positive numbers may be learned as a logarithm (base 10); `margin` then stays a logarithm.

    Example:
        >>> target = Numbers.fit(np.array([1.0, 3.0]))
        >>> target.encode(np.array([1.0, 3.0])).ravel(), target.decide(target.link(np.array([[1.0]])))
        (array([-1.,  1.]), array([3.]))
    """

    name = "numbers"
    numeric = True

    def __init__(self, mean: Floats, scale: Floats, single: bool, logs: NDArray[np.bool_] | None = None) -> None:
        self.mean, self.scale, self.single = mean, scale, single
        self.logs = np.zeros(len(mean), dtype=bool) if logs is None else logs
        self.classes = np.arange(len(mean))

    @classmethod
    def fit(cls, y: NDArray[Any], logs: NDArray[np.bool_] | None = None) -> Numbers:
        """Compute the mean and standard deviation of each column.

        Args:
            y: the numbers.
            logs: which columns are learned as logarithms, shape (t,).
        """
        if y.dtype.kind in "US" or (y.dtype.kind == "O" and any(isinstance(value, str) for value in y.flat)):
            raise InputError(f"y holds text such as {y.reshape(-1).tolist()[0]!r}, not numbers; use a classifier")
        values = as_columns(y)
        if np.isinf(values).any():
            raise InputError("y holds infinity; replace it by a number, or by NaN where nothing was measured")
        _check_measured(values)
        if logs is not None:
            values = _logarithms(values, logs)
        scale = np.nanstd(values, axis=0)
        return cls(np.nanmean(values, axis=0), np.where(scale > 0, scale, 1.0), y.ndim == 1, logs)

    def encode(self, y: NDArray[Any]) -> Floats:
        """Return standardised columns, shape (g, t)."""
        return np.asarray((_logarithms(as_columns(y), self.logs) - self.mean) / self.scale)

    def decode(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Return values in the units of ``y``."""
        return self.link(codes)

    def link(self, outputs: Floats) -> Floats:
        """Return values in the units of ``y``."""
        values = np.asarray(outputs * self.scale + self.mean)
        return np.where(self.logs, 10.0 ** np.where(self.logs, values, 0.0), values)

    def decide(self, answers: Floats) -> NDArray[Any]:
        """Return the values, of shape (g,) if ``y`` was."""
        return answers[:, 0] if self.single else answers

    def margin(self, outputs: Floats, column: int) -> Floats:
        """Return the value in the units of ``y``, or its logarithm if the column is learned so."""
        return np.asarray(outputs[..., column] * self.scale[column] + self.mean[column])

    def loss(self) -> nn.Module:
        """Return the mean squared error of each known value."""
        return _masked_loss("mse_loss")

    def describe(self) -> dict[str, Any]:
        """Return the target as JSON."""
        columns = {"mean": self.mean.tolist(), "scale": self.scale.tolist(), "logs": self.logs.tolist()}
        return {"name": self.name, **columns, "single": self.single}

    @classmethod
    def restore(cls, stored: dict[str, Any]) -> Numbers:
        """Restore a target from `describe`."""
        mean, scale = np.array(stored["mean"], dtype=float), np.array(stored["scale"], dtype=float)
        if mean.ndim != 1 or mean.shape != scale.shape or not np.isfinite([mean, scale]).all():
            raise ValueError("a mean and a scale are needed for each column of y")
        logs = np.array(stored["logs"], dtype=bool)
        if logs.shape != mean.shape:
            raise ValueError("each column of y is learned as a logarithm or not")
        return cls(mean, scale, stored["single"], logs)


def _check_measured(values: Floats) -> None:
    """Raise `InputError` if a column has no value."""
    empty = np.isnan(values).all(axis=0)
    if empty.any():
        raise InputError(f"column {int(empty.argmax())} of y has no measured value; drop the column")


def _logarithms(values: Floats, logs: NDArray[np.bool_]) -> Floats:
    """Return columns of positive numbers as logarithms; other values of such columns become NaN."""
    return np.where(logs, np.log10(np.where(logs & (values > 0), values, np.nan)), values)


_INFINITE = (float("inf"), float("-inf"))
#: Whole numbers with more different values than this are numbers, not classes.
MOST_CLASSES = 20
#: So are those with more different values than this, if half of the values occur in fewer than `FEW_GRAPHS` graphs.
MOST_RARE_CLASSES = 10
FEW_GRAPHS = 5
#: Two texts that are the whole answer of a test, the positive one first.
ANSWERS = [
    *(("yes", "no"), ("y", "n"), ("true", "false"), ("active", "inactive"), ("positive", "negative")),
    *(("pos", "neg"), ("+", "-"), ("1", "0"), ("toxic", "nontoxic"), ("toxic", "non-toxic"), ("pass", "fail")),
    *(("ja", "nein"), ("oui", "non"), ("mutagenic", "nonmutagenic"), ("mutagenic", "non-mutagenic")),
]


def positive_of(classes: Iterable[Any]) -> int:
    """Return the place of the positive one of two classes: "active" beside "inactive", "hit" beside "no hit".

    Where the words do not say it, as in 0 and 1, the second is positive.

    Example:
        >>> positive_of(["Active", "Non_Active"]), positive_of(["BBB+", "BBB-"]), positive_of([0, 1])
        (0, 0, 1)
        >>> positive_of(["agonist", "inactive"]), positive_of(["no", "yes"])
        (0, 1)
    """
    first, second = (str(value).strip().casefold() for value in classes)
    word, other = (re.sub(r"[\s_-]", "", text) for text in (first, second))
    negated = other in {f"{no}{word}" for no in ("no", "not", "non", "in", "im", "un")}
    signs = first[-1:] == "+" and second == f"{first[:-1]}-"
    known = (first, second) in ANSWERS or second in {no for _, no in ANSWERS if len(no) > 1}
    return 0 if known or negated or signs else 1


def are_too_many_classes(counts: Collection[int]) -> bool:
    """Guess whether whole numbers are numbers rather than classes, from the number of graphs with each value.

    Example:
        >>> are_too_many_classes([1] * 21), are_too_many_classes([2] * 12), are_too_many_classes([50] * 12)
        (True, True, False)
    """
    rare = sum(count < FEW_GRAPHS for count in counts)
    return len(counts) > MOST_CLASSES or (len(counts) > MOST_RARE_CLASSES and 2 * rare >= len(counts))


def are_numbers(y: NDArray[Any]) -> bool:
    """Guess whether ``y``, shape (g,), holds numbers rather than classes.

    Floats are numbers if some are not whole, or if they have too many values for classes (`are_too_many_classes`).
    Integers and text are classes; readers of tables store columns that they read as numbers as floats.

    Example:
        >>> are_numbers(np.array([0.5, 1.0])), are_numbers(np.arange(30.0)), are_numbers(np.array([0.0, 1.0]))
        (True, True, False)
    """
    if y.dtype.kind != "f":
        return False
    present = y[np.isfinite(y)]
    counts = np.unique(present, return_counts=True)[1]
    return bool((present % 1 != 0).any()) or are_too_many_classes(counts.tolist())


def target_kind(y: NDArray[Any]) -> str:
    """Return the kind of ``y``: "classes" (one per graph), "labels" (columns of 0 and 1) or "numbers".

    Example:
        >>> [target_kind(np.array(y)) for y in (["a", "b"], [1.0, 2.0], [0.5, 2.0], [[0, 1], [1, np.nan]])]
        ['classes', 'classes', 'numbers', 'labels']
    """
    if y.ndim == 1:
        return "numbers" if are_numbers(y) else "classes"
    try:
        values = y.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"y has several columns and holds {y.ravel().tolist()[0]!r}; use columns of 0 and 1, or of numbers"
        ) from error
    return "labels" if np.isin(values[~np.isnan(values)], (0, 1)).all() else "numbers"


def as_y(y: ArrayLike, g: int) -> NDArray[Any]:
    """Convert ``y`` to an array of shape (g,) or (g, t), t > 1."""
    try:
        values = to_numpy(y)
    except InputError:
        raise
    except ValueError as error:
        raise InputError(
            "y has entries of different lengths; give one class per graph, or an indicator matrix of 0 and 1 "
            "(scikit-learn's MultiLabelBinarizer makes one)"
        ) from error
    if values.ndim == 0:
        raise InputError(f"y={y!r:.60} is a single value; give one per graph")
    if len(values) != g:
        raise InputError(f"y has {len(values)} entries for {g} graphs; give one per graph")
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim > 2 or (values.ndim == 2 and not values.shape[1]):
        raise InputError(f"y has shape {values.shape}; give (graphs,) or one column per label (graphs, labels)")
    if values.dtype.kind == "f" and np.isinf(values).any():
        at = int(np.isinf(values).reshape(g, -1).any(axis=1).argmax())
        raise InputError(f"y[{at}] is infinite; give a number, or NaN where nothing was measured")
    return _with_gaps(values) if values.dtype.kind == "O" else values


def names_of_columns(y: Any) -> dict[Any, str]:
    """Return the names of the columns of ``y`` if it is a table such as a DataFrame."""
    return dict(enumerate(map(str, getattr(y, "columns", ()))))


def _with_gaps(values: NDArray[Any]) -> NDArray[Any]:
    """Convert numbers mixed with None to floats with NaN; keep strings as objects."""
    flat = values.reshape(-1).tolist()
    missing = [i for i, value in enumerate(flat) if value is None or value != value]
    present = [value for value in flat if value is not None and value == value]
    if present and all(isinstance(value, str) for value in present):
        if missing:
            at = missing[0] // (values.shape[1] if values.ndim == 2 else 1)
            raise InputError(f"y[{at}] is {flat[missing[0]]}; give every graph a class, or drop it")
        return values
    numbers = (bool, int, float, np.number, np.bool_)
    if odd := [value for value in present if not isinstance(value, (*numbers, str))]:
        raise InputError(f"y holds {odd[0]!r:.60} of type {type(odd[0]).__name__}; use numbers or strings")
    if not all(isinstance(value, numbers) for value in present):
        return values
    if too_large := [value for value in present if abs(value) >= 2**63]:
        raise InputError(f"y holds {too_large[0]!r:.60}, which is beyond 64 bits; use smaller numbers or strings")
    whole = [np.nan if value is None else value for value in flat]
    return np.array(whole, dtype=np.float64 if missing else None).reshape(values.shape)


def values_to_json(values: NDArray[Any]) -> dict[str, Any]:
    """Convert classes or labels to JSON that keeps their types."""
    entries = values.tolist()
    odd = next((entry for entry in entries if not isinstance(entry, (bool, int, float, str))), None)
    if odd is not None:
        raise InputError(f"class {odd!r} cannot be saved; use numbers, strings or booleans as classes")
    return {"dtype": values.dtype.str, "values": entries}


def values_from_json(stored: dict[str, Any]) -> NDArray[Any]:
    """Read the values written by `values_to_json`."""
    values, dtype = stored["values"], np.dtype(stored["dtype"])
    if not isinstance(values, list) or dtype.kind not in "biufUO" or not 0 <= len(values) * dtype.itemsize <= 2**28:
        raise ValueError(f"values of type {dtype} are not classes or labels")
    kinds = {type(value) for value in values}
    if len(kinds) > 1 or not kinds <= ({str} if dtype.kind == "U" else {bool, int, float, str}):
        raise ValueError(f"values of type {dtype} are given as {sorted(kind.__name__ for kind in kinds)}")
    return np.array(values, dtype=dtype)


def as_columns(y: NDArray[Any]) -> Floats:
    """Return ``y`` as columns of floats, shape (g, t); raise `InputError` for text."""
    try:
        return np.asarray(y, dtype=np.float64).reshape(len(y), -1)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"y holds {y.reshape(-1).tolist()[0]!r}, which is not a number; give numbers, NaN where unknown"
        ) from error


def _masked_loss(name: str) -> nn.Module:
    """Return a mean loss over the targets that are not NaN."""
    import torch
    from torch import Tensor, nn

    class MaskedLoss(nn.Module):
        def forward(self, outputs: Tensor, targets: Tensor) -> Tensor:
            present = ~targets.isnan()
            if not present.any():  # a batch without known targets has zero loss; the mean would be NaN
                return outputs.sum() * 0
            loss: Tensor = getattr(torch.nn.functional, name)(outputs[present], targets[present].to(outputs.dtype))
            return loss

    return MaskedLoss()
