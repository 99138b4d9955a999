"""Reader of files saved by `GraphSet.save`, and of ``.npz`` arrays that may be damaged or hostile.

A saved set is an ordinary ``.npz`` file (a zip archive) without pickled objects:

- ``graphset.json``: ``format`` ("isonn graphs"), ``version`` (1), ``name``, ``kind``, ``target_names``,
  ``confounds``; names of labels and classes as lists of ``[value, name]``; ``table``, the column names of the arrays
  ``table-0.npy``, ...; and ``objects``, columns that are neither numbers nor strings, as ``[shape, values]``.
- one array ``X.npy`` for each column ``X`` of `GraphSet` that is not None.

The zip archive's checksums detect damage, not forgery. Nothing in the file is executed.
"""

from __future__ import annotations

import json
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import DatasetError, InputError
from isonn.files import atomic_file
from isonn.graphs.graph import DIGESTED, GraphSet
from isonn.graphs.io.registry import Reader, short

FORMAT, VERSION = "isonn graphs", 1
_DESCRIPTION = "graphset.json"
_COLUMNS = (*DIGESTED, "ids")
_NAMES = ("node_label_names", "edge_label_names", "class_names")

#: Errors that NumPy, SciPy and the standard library raise for damaged files.
DAMAGE = (
    *(ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError, EOFError, MemoryError),
    *(RuntimeError, SyntaxError, tokenize.TokenError, zipfile.BadZipFile, zlib.error),
)


class SavedReader(Reader):
    """Reader of files written by `GraphSet.save`."""

    name = "saved"
    expects = "a saved GraphSet (.npz)"

    def recognises(self, path: Path) -> bool:
        """Return whether the path is a ``.npz`` file that contains ``graphset.json``."""
        if path.suffix.lower() != ".npz" or not path.is_file():
            return False
        try:
            with zipfile.ZipFile(path) as archive:
                return _DESCRIPTION in archive.namelist()
        except (OSError, *DAMAGE):
            return False

    def read(self, path: Path) -> GraphSet:
        """Return the saved set, unchanged."""
        with _damage_named(path, "save it again with GraphSet.save"):
            arrays, about = read_arrays(path), _description(path)
            if about.get("format") != FORMAT or about.get("version") != VERSION:
                written = f"{about.get('format')!r:.40} version {about.get('version')!r:.20}"
                raise DatasetError(
                    f"{path} has the format {written}; this version of isonn reads {FORMAT!r} version {VERSION}"
                )
            for column, (shape, values) in about["objects"].items():
                array = np.empty(len(values), dtype=object)
                array[:] = values
                arrays[column] = array.reshape(shape)
            columns: dict[str, Any] = {column: arrays[column] for column in _COLUMNS if column in arrays}
            columns |= {what: {key: str(name) for key, name in about[what]} for what in _NAMES}
            table = {str(name): arrays[f"table-{i}"] for i, name in enumerate(about["table"])}
            graphs = GraphSet(
                **columns,
                table=table,
                name=_name(about, path),
                kind=str(about["kind"]),
                target_names=tuple(map(str, about["target_names"])),
                confounds=tuple(map(str, about.get("confounds", ()))),
            )
            key = np.column_stack([graphs.graph_of_cell, graphs.edges])
            steps = np.diff(key, axis=0)
            first = steps[np.arange(len(steps)), (steps != 0).argmax(axis=1)]
            if (first <= 0).any():
                raise DatasetError(f"{path} holds cells that are not sorted; save it again with GraphSet.save")
        return graphs

    def title(self, path: Path) -> str:
        """Return the name under which the set was saved; that of the file if it had none."""
        try:
            return _name(_description(path), path)
        except (OSError, *DAMAGE):
            return path.stem


READER = SavedReader()


def _description(path: Path) -> Any:
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read(_DESCRIPTION))


def _name(about: Any, path: Path) -> str:
    return path.stem if about["name"] == GraphSet.name else str(about["name"])


def save(graphs: GraphSet, path: Path) -> None:
    """Write a set; see `GraphSet.save`."""
    if path.suffix.lower() != ".npz":
        raise InputError(
            f"path={str(path)!r:.100} does not end with .npz; add the suffix so that isonn.load recognises the file"
        )
    about: dict[str, Any] = {"format": FORMAT, "version": VERSION, "name": graphs.name, "kind": graphs.kind}
    about["target_names"], about["confounds"] = list(graphs.target_names), list(graphs.confounds)
    for what in _NAMES:
        about[what] = [[_plain(key, what), str(name)] for key, name in getattr(graphs, what).items()]
    about["table"] = list(graphs.table)
    arrays = {column: getattr(graphs, column) for column in _COLUMNS if getattr(graphs, column) is not None}
    arrays |= {f"table-{i}": values for i, values in enumerate(graphs.table.values())}
    about["objects"] = {
        column: [list(values.shape), [_plain(value, column) for value in values.reshape(-1).tolist()]]
        for column, values in arrays.items()
        if values.dtype.hasobject
    }
    # members that are opened by their name are dated 1980, so that equal sets give equal files
    with atomic_file(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open(_DESCRIPTION, "w") as file:
            file.write(json.dumps(about, ensure_ascii=False).encode())
        for column, values in arrays.items():
            if column not in about["objects"]:
                with archive.open(f"{column}.npy", "w", force_zip64=True) as file:
                    np.lib.format.write_array(file, np.ascontiguousarray(values), allow_pickle=False)


def _plain(value: Any, where: str) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if value is not None and not isinstance(value, (bool, int, float, str)):
        raise InputError(
            f"{where} holds {value!r:.60} of type {type(value).__name__}; use numbers or strings to save it"
        )
    return value


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Read the arrays of an ``.npz`` file, after checking their sizes."""
    arrays: dict[str, NDArray[Any]] = {}
    numbers = size = 0
    with _damage_named(path, "save it again with numpy.savez"), zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if not member.filename.endswith(".npy"):
                continue
            name = member.filename.removesuffix(".npy")
            check_room(path, numbers, size := size + member.file_size)
            with archive.open(member) as file, np.errstate(all="raise"):  # the product of a forged shape may overflow
                try:
                    arrays[name] = np.lib.format.read_array(file, allow_pickle=False)
                except ValueError as error:
                    if "allow_pickle" not in str(error):
                        raise
                    raise DatasetError(
                        f"{path} holds {name} as Python objects, which are not read from files; save it again with "
                        f"{name}.astype(str), or as numbers"
                    ) from error
                if file.read(1):  # reading to the end also compares the checksum
                    raise DatasetError(f"{path} is damaged: {name} does not have its shape; get it again")
            check_room(path, numbers := numbers + arrays[name].size, size)
    return arrays


def check_room(path: Path, numbers: int, size: int) -> None:
    """Raise `DatasetError` if a file unpacks to more numbers or bytes than real data does."""
    packed = path.stat().st_size
    for unpacked, limit, unit in (
        (numbers, max(2**24, 32 * packed), "numbers"),
        (size, max(2**28, 256 * packed), "bytes"),
    ):
        if unpacked > limit:
            raise DatasetError(
                f"{path} unpacks to {unpacked:.4g} {unit}, above the limit of {limit} for a file of its size; if this "
                f"is right, save it without compression"
            )


@contextmanager
def _damage_named(path: Path, remedy: str) -> Iterator[None]:
    try:
        yield
    except DatasetError:
        raise
    except DAMAGE as error:
        raise DatasetError(f"{path} cannot be read as .npz ({short(error)}); {remedy}") from error
