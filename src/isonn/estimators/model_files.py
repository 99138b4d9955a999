"""Models on disk: a folder with the weights as safetensors and everything else as JSON. Never pickle."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

import isonn
from isonn.errors import InputError, ModelFileError
from isonn.files import atomic_directory

FORMAT = "isonn-model-1"
JSON_NAME, TENSORS_NAME = "model.json", "model.safetensors"


def write_model(path: Path, description: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    """Write a model folder, whole or not at all; an existing path is refused."""
    if path.exists():
        raise InputError(f"{path} exists already; choose another path, or remove it first")
    with atomic_directory(path) as folder:
        save_file({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, folder / TENSORS_NAME)
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


def read_model(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
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
