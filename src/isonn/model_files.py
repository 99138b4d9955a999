"""Saved models: a folder with ``model.safetensors``, which holds the numbers, and ``model.json`` with everything else.

It contains no pickle, and a damaged or edited folder is refused in one sentence.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

import isonn
from isonn.errors import InputError, IsoNNError, MissingDependencyError, ModelFileError
from isonn.files import atomic_directory, check_new
from isonn.targets import Target, target_from

FORMAT = "isonn-model-4"
JSON_NAME, TENSORS_NAME = "model.json", "model.safetensors"
#: Formats of earlier versions.
OLD_FORMATS = {"isonn-model-1": "0.1.0", "isonn-model-2": "0.2.0", "isonn-model-3": "0.3.0.dev"}
#: The tensor with the hashes of the training graphs.
TRAINED_ON = "trained_on"
#: Largest size of a description, in bytes.
MOST_JSON = 2**28

#: The modules of the estimators that can be saved; a model file cannot name any other class.
SAVED = {
    "AlignedClassifier": "isonn.aligned.estimators",
    "AlignedRegressor": "isonn.aligned.estimators",
    "IsoNNClassifier": "isonn.windows.estimators",
    "IsoNNRegressor": "isonn.windows.estimators",
    "SubgraphClassifier": "isonn.subgraphs.estimators",
    "SubgraphRegressor": "isonn.subgraphs.estimators",
}


class Saved:
    """Methods of estimators that can be saved: they implement ``_description``, ``_tensors`` and ``_restore``."""

    if TYPE_CHECKING:  # of the estimator
        target_: Target
        size_: int
        label_names_: dict[str, dict[Any, str]]
        standardize_: str | None
        _trained_on: NDArray[np.uint64] | None
        get_params: Any

        def _require_fit(self) -> bool: ...

    def save(self, path: str | Path) -> None:
        """Save the model to a new folder, for `isonn.load_model`.

        Args:
            path: a folder that does not exist yet.

        Example:
            >>> graphs = isonn.load("MUTAG")
            >>> clf = isonn.SubgraphClassifier(max_nodes=2, head="linear", random_state=0).fit(graphs)
            >>> clf.save(tmp_path / "saved")
            >>> bool((isonn.load_model(tmp_path / "saved").predict(graphs) == clf.predict(graphs)).all())
            True
        """
        self._require_fit()
        name = type(self).__name__
        if name not in SAVED or type(self).__module__ != SAVED[name]:
            raise InputError(f"{name} cannot be saved; these can: {', '.join(sorted(SAVED))}")
        params = self.get_params(deep=False)
        seed = getattr(self, "seed_", None)
        if "random_state" in params:
            params["random_state"] = seed if params["random_state"] is not None else None
        description = {
            "class": name,
            "params": params,
            "target": self.target_.describe(),
            "size": self.size_,
            "seed": seed,
            "label_names": {kind: as_pairs(names) for kind, names in self.label_names_.items()},
            "standardize": self.standardize_,
            "details": self._description(),
        }
        tensors = self._tensors()
        if self._trained_on is not None:
            tensors = {**tensors, TRAINED_ON: self._trained_on}
        write_model(Path(path), description, tensors)

    @classmethod
    def _params_from_json(cls, stored: dict[str, Any]) -> dict[str, Any]:
        """Restore the parameters of a saved model."""
        return {name: as_tuples(value) for name, value in stored.items()}

    def _description(self) -> dict[str, Any]:
        """Return what `_restore` needs besides parameters and tensors, as JSON."""
        return {}

    def _tensors(self) -> dict[str, NDArray[Any]]:
        """Return the learned numbers by name."""
        raise TypeError(f"{type(self).__name__} does not implement _tensors")

    def _restore(self, details: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> None:
        """Restore the state from the results of `_description` and `_tensors`."""
        raise TypeError(f"{type(self).__name__} does not implement _restore")


def load_model(path: str | Path) -> Any:
    """Load a model written by ``save``; raise `ModelFileError` if it is damaged or has another format version.

    Args:
        path: the folder that ``save`` wrote.

    Returns:
        the estimator, fitted.

    Example:
        >>> import tempfile
        >>> graphs = isonn.load("MUTAG")
        >>> clf = isonn.SubgraphClassifier(random_state=0).fit(graphs)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     clf.save(folder + "/model")
        ...     same = isonn.load_model(folder + "/model")
        >>> bool((same.predict(graphs) == clf.predict(graphs)).all())
        True
    """
    description, tensors = read_model(Path(path))
    name = description.get("class")
    if not isinstance(name, str) or name not in SAVED:
        raise ModelFileError(f"{path} holds a model of kind {name!r}; this version knows {sorted(SAVED)}")
    for entry, is_sound in _ENTRIES.items():
        if entry not in description or not is_sound(description[entry]):
            raise ModelFileError(
                f"{path} does not describe a model: its {entry} is not one; copy or save the model again"
            )
    cls = getattr(importlib.import_module(SAVED[name]), name)
    try:
        model = cls(**cls._params_from_json(description["params"]))
        model._check_params()
        model.target_ = target_from(description["target"])
        model.size_ = int(description["size"])
        model.seed_ = description["seed"]
        model.label_names_ = {kind: dict(pairs) for kind, pairs in description["label_names"].items()}
        model.standardize_ = description["standardize"]
        model._trained_on = tensors.pop(TRAINED_ON, None)
        model._restore(description["details"], tensors)
    except MissingDependencyError:
        raise
    except IsoNNError as error:
        raise ModelFileError(f"{path} does not describe a model ({error}); copy or save the model again") from error
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RuntimeError, AssertionError) as error:
        raise ModelFileError(f"{path} does not describe the weights it holds; copy or save the model again") from error
    model._fitted = True
    return model


#: The entries of a description, checked before anything is built from it; estimators check the details.
_ENTRIES = {
    "params": lambda value: isinstance(value, dict) and len(value) < 100,
    "target": lambda value: isinstance(value, dict),
    "size": lambda value: type(value) is int and 0 < value < 2**31,
    "seed": lambda value: type(value) is int and 0 <= value < 2**63,
    "label_names": lambda value: (
        isinstance(value, dict) and {"node", "edge"} <= value.keys() <= {"node", "edge", "target", "class"}
    ),
    "standardize": lambda value: value in (None, "none", "salts", "full"),
    "details": lambda value: isinstance(value, dict),
}


def write_model(path: Path, description: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> None:
    """Write a model folder atomically; raise an error if the path exists."""
    check_new(path, "another path")
    try:
        with atomic_directory(path) as folder:
            file = folder / TENSORS_NAME
            save_file({name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}, file)
            description = {
                "format": FORMAT,
                "isonn": isonn.__version__,
                **description,
                "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
            }
            description = json.loads(json.dumps(description, default=_plain))
            description["digest"] = digest_of(description)
            (folder / JSON_NAME).write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")
    except (OSError, SafetensorError) as error:
        if path.exists():
            raise InputError(f"{path} was written by another process meanwhile; choose another path") from error
        raise ModelFileError(f"{path} cannot be written ({error}); free some space, or choose another path") from error


def read_model(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read the description and tensors of a model folder, checked against each other."""
    if not path.is_dir():
        raise ModelFileError(f"{path} is not a model folder; give one written by save or `isonn fit`")
    for name in (JSON_NAME, TENSORS_NAME):
        if not (path / name).is_file():
            raise ModelFileError(f"{path} holds no {name}; copy or save the model again")
    if (path / JSON_NAME).stat().st_size > MOST_JSON:
        raise ModelFileError(f"{path / JSON_NAME} is larger than {MOST_JSON >> 20} MB; copy or save the model again")
    try:
        description = json.loads((path / JSON_NAME).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{path / JSON_NAME} is damaged ({error}); copy or save the model again") from error
    written = description.get("format") if isinstance(description, dict) else description
    if isinstance(written, str) and written in OLD_FORMATS:
        raise ModelFileError(
            f"{path} was saved by isonn {OLD_FORMATS[written]}, whose models this version cannot read; fit it again"
        )
    if written != FORMAT:
        raise ModelFileError(
            f"{path / JSON_NAME} has format {written!r} where {FORMAT!r} is needed; copy or save the model again"
        )
    if digest_of(description) != description.get("digest"):
        raise ModelFileError(f"{path / JSON_NAME} was changed after it was saved; copy or save the model again")
    if hashlib.sha256((path / TENSORS_NAME).read_bytes()).hexdigest() != description.get("sha256"):
        raise ModelFileError(
            f"{path / TENSORS_NAME} is not the file {JSON_NAME} was written with; copy or save the model again"
        )
    try:
        return description, load_file(path / TENSORS_NAME)
    except SafetensorError as error:
        raise ModelFileError(f"{path / TENSORS_NAME} is damaged ({error}); copy or save the model again") from error


def digest_of(description: dict[str, Any]) -> str:
    """Return the SHA-256 of a description, which detects damage and edits, but not forgery."""
    content = {name: value for name, value in description.items() if name != "digest"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _plain(value: Any) -> Any:
    """Convert NumPy numbers and arrays, as from a parameter grid, and views to JSON."""
    if hasattr(value, "as_json"):
        return value.as_json()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise InputError(f"parameter value {value!r} cannot be saved; use numbers, strings or tuples of them")


def as_tuples(value: Any) -> Any:
    """Convert lists from JSON back to tuples, at every depth."""
    return tuple(map(as_tuples, value)) if isinstance(value, list) else value


def as_pairs(names: dict[Any, str]) -> list[tuple[Any, str]]:
    """Convert a dict to pairs, because keys in JSON are strings and these may be numbers."""
    return [(code.item() if isinstance(code, np.generic) else code, name) for code, name in names.items()]
