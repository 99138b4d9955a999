"""The exceptions of isonn.

All inherit from :class:`IsoNNError`, and each also from the matching built-in or scikit-learn exception. A message is
one sentence with the problem, the value and the remedy.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sklearn.exceptions import NotFittedError as _SklearnNotFittedError

__all__ = [
    "DatasetError",
    "InputError",
    "IsoNNError",
    "IsoNNWarning",
    "MissingDependencyError",
    "ModelFileError",
    "NotFittedError",
    "TrainingError",
]

#: Largest number of characters of a message; longer ones are shortened.
LONGEST = 300


class IsoNNError(Exception):
    """Root of all exceptions of isonn; the message is one line."""

    def __init__(self, *args: object) -> None:
        super().__init__(*(_one_line(text) if isinstance(text, str) else text for text in args))


def _one_line(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} ... {text[-LONGEST // 3 :]}"


class InputError(IsoNNError, ValueError):
    """An invalid value was given; the message names it and the remedy."""


class MissingDependencyError(IsoNNError, ImportError):
    """An optional package is missing; the message names the extra to install."""


class DatasetError(IsoNNError):
    """A dataset cannot be found, downloaded or read, or has unexpected contents."""


class ModelFileError(IsoNNError):
    """A model file is missing, damaged, or not written by isonn."""


class IsoNNWarning(UserWarning):
    """Root of all warnings of isonn; the message is one line."""

    def __init__(self, *args: object) -> None:
        super().__init__(*(_one_line(text) if isinstance(text, str) else text for text in args))


class TrainingError(IsoNNError):
    """Training failed; the message names settings that may help."""


if TYPE_CHECKING:

    class NotFittedError(IsoNNError, _SklearnNotFittedError):
        """The estimator is not fitted."""

else:

    def __getattr__(name: str) -> Any:
        """Create `NotFittedError` on first use: scikit-learn, which has its parent, takes a second to import."""
        if name != "NotFittedError":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from sklearn.exceptions import NotFittedError as Parent

        members = {"__module__": __name__, "__doc__": "The estimator is not fitted."}
        globals()[name] = type(name, (IsoNNError, Parent), members)
        return globals()[name]


#: The extra that installs each optional package.
EXTRAS = {
    "torch": "torch",
    "torch_geometric": "baselines",
    "fast_gspan": "baselines",
    "distributed": "cluster",
    "dask": "cluster",
    "jinja2": "report",
    "matplotlib": "report",
    "rdkit": "molecules",
    "nilearn": "connectomes",
    "nibabel": "connectomes",
    "openpyxl": "excel",
    "anyio": "serve",
    "starlette": "serve",
    "uvicorn": "serve",
}


@contextmanager
def naming_the_extra(what: str) -> Iterator[None]:
    """Raise `MissingDependencyError`, with the extra to install, if an import inside the block fails.

    Args:
        what: the feature that needs the package, as the subject of the sentence.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        raise MissingDependencyError(
            f"{what} needs {package}, which is not installed; pip install 'isonn[{EXTRAS[package]}]'"
        ) from error
