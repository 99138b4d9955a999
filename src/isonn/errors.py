"""Every exception isonn raises on purpose.

All inherit from :class:`IsoNNError`, and each also from the built-in or scikit-learn exception a
caller would already be catching. A message is one sentence: what is wrong, the value, what to do.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from sklearn.exceptions import NotFittedError as _SklearnNotFittedError

#: Characters of the longest message; what is quoted in it may be of any length.
LONGEST = 300


class IsoNNError(Exception):
    """Root of every exception isonn raises on purpose; its message is one line."""

    def __init__(self, *args: object) -> None:
        super().__init__(*(_one_line(part) if isinstance(part, str) else part for part in args))


def _one_line(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} ... {text[-LONGEST // 3 :]}"


class InputError(IsoNNError, ValueError):
    """A value given by the caller cannot be used; the message names it and the remedy."""


class NotFittedError(IsoNNError, _SklearnNotFittedError):
    """The estimator has to be fitted before this call."""


class MissingDependencyError(IsoNNError, ImportError):
    """An optional package is missing; the message names the extra that brings it."""


class DatasetError(IsoNNError):
    """A dataset could not be found, downloaded, or does not hold what its name promises."""


class ModelFileError(IsoNNError):
    """A model or checkpoint file is missing, damaged, or not one of ours."""


class IsoNNWarning(UserWarning):
    """Something a caller should know of, that does not keep isonn from going on; its message is one line."""

    def __init__(self, *args: object) -> None:
        super().__init__(*(_one_line(part) if isinstance(part, str) else part for part in args))


class TrainingError(IsoNNError):
    """Training went wrong in a way other settings can mend; the message names them."""


#: The extra that brings each optional package.
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
}


def name_the_extra(what: str, error: ModuleNotFoundError) -> NoReturn:
    """Raise the error of a missing package again, as a sentence that names the extra to install.

    Args:
        what: what needs the package, as the subject of the sentence.
    """
    package = (error.name or "").partition(".")[0]
    if package not in EXTRAS:
        raise error
    raise MissingDependencyError(
        f"{what} needs {package}, which is not installed; pip install 'isonn[{EXTRAS[package]}]'"
    ) from error


@contextmanager
def naming_the_extra(what: str) -> Iterator[None]:
    """Call `name_the_extra` when an import inside the block fails."""
    try:
        yield
    except ModuleNotFoundError as error:
        name_the_extra(what, error)
