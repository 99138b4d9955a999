"""Readers of connectome matrices: ``.npz``, ``.mat``, or a folder of ``.csv``.

All graphs of one file have the same nodes in the same order, as brain atlases have. A set without
labels is read too (there is something to predict); it then has no ``y``.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from isonn.errors import DatasetError, InputError
from isonn.graphs.convert import as_graphset
from isonn.graphs.graph import GraphSet
from isonn.graphs.io.numbers import read_numbers
from isonn.graphs.io.registry import Reader


class MatricesReader(Reader):
    """Matrices over the same nodes; see `read_matrices`."""

    name = "matrices"
    expects = "matrices (.npz, .mat, or a folder of .csv)"

    def recognises(self, path: Path) -> bool:
        """A ``.npz`` or ``.mat`` file, or a folder with ``.csv`` files."""
        return any(path.glob("*.csv")) if path.is_dir() else path.suffix.lower() in (".npz", ".mat")

    def read(self, path: Path) -> GraphSet:
        """See `read_matrices`."""
        return read_matrices(path)


READER = MatricesReader()


def read_matrices(path: str | os.PathLike[str]) -> GraphSet:
    """Adjacency matrices and classes of a connectome study, named after the file or folder.

    - ``.npz``: ``adjacency`` of shape (g, n, n); ``labels`` (g,); optional ``fold`` (g,), the fold each
      graph was released in, and ``names`` (n,), what each node is called. Pickled objects are refused.
    - ``.mat`` (MATLAB up to v7): the one 3-D array of numbers, (n, n, g) or (g, n, n), and the vector of
      length g; of several vectors, the one called label, labels, class, classes or y.
    - a folder: a matrix per ``.csv`` file without a header, in sorted order of the file names;
      ``labels.csv`` with the header ``file,label``; optional ``nodes.txt`` with a node name per line.
    """
    path = Path(path)
    try:
        if path.is_dir():
            return _read_folder(path)
        if not path.is_file():
            raise DatasetError(f"{path} is missing; put it there")
        if path.suffix.lower() == ".npz":
            return _read_npz(path)
        if path.suffix.lower() == ".mat":
            return _read_mat(path)
    except InputError as error:
        raise DatasetError(f"{path} cannot be used: {error}") from error
    raise DatasetError(f"{path} is not a file of matrices; give .npz, .mat or a folder of .csv")


def _read_npz(path: Path) -> GraphSet:
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            arrays = {key: _array(path, file, key) for key in file.files}
    except DatasetError:
        raise
    except (ValueError, OSError, EOFError, BadZipFile) as error:
        raise DatasetError(f"{path} cannot be read as .npz ({error}); save it again with numpy.savez") from error
    known = {"adjacency", "labels", "fold", "names"}
    if "adjacency" not in arrays or ("labels" not in arrays and set(arrays) - known):
        raise DatasetError(
            f"{path} holds the arrays {', '.join(sorted(arrays)) or 'none'}; "
            f"save it with adjacency (g, n, n) and labels (g,)"
        )
    return _assemble(path, arrays["adjacency"], arrays.get("labels"), arrays.get("fold"), arrays.get("names"))


def _array(path: Path, file: Any, key: str) -> NDArray[Any]:
    try:
        array: NDArray[Any] = file[key]
    except ValueError as error:
        if "allow_pickle" not in str(error):
            raise
        raise DatasetError(
            f"{path} holds {key} as Python objects, which are not read from files; save it again with "
            f"{key}.astype(str), or as numbers"
        ) from error
    return array


def _read_mat(path: Path) -> GraphSet:
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        contents: Mapping[str, Any] = loadmat(path)
    except NotImplementedError as error:  # how SciPy says v7.3
        raise DatasetError(
            f"{path} is a MATLAB v7.3 file (HDF5); save it again in MATLAB with the option -v7"
        ) from error
    except (MatReadError, ValueError, OSError, TypeError) as error:
        raise DatasetError(f"{path} cannot be read as a MATLAB file ({error}); save it again with -v7") from error
    arrays = {
        key: value
        for key, value in contents.items()
        if not key.startswith("__") and isinstance(value, np.ndarray) and value.dtype.kind in "biuf"
    }
    cubes = sorted(key for key, value in arrays.items() if value.ndim == 3)
    if len(cubes) != 1:
        found = ", ".join(f"{key} {getattr(v, 'shape', '')}" for key, v in sorted(contents.items()) if key[:2] != "__")
        raise DatasetError(f"{path} holds {found or 'nothing'}; it should hold one 3-D array of numbers, (n, n, g)")
    adjacency = _graphs_first(path, cubes[0], arrays[cubes[0]])
    vectors = {key: value.reshape(-1) for key, value in arrays.items() if value.ndim < 3 and value.size > 1}
    fitting = sorted(key for key, value in vectors.items() if value.size == len(adjacency) and 1 in arrays[key].shape)
    named = [key for key in fitting if key.lower() in {"label", "labels", "class", "classes", "y"}] or fitting
    if len(named) > 1 or (vectors and not named):
        raise DatasetError(
            f"{path} holds the vectors {', '.join(sorted(vectors))} for {len(adjacency)} graphs; keep one of length "
            f"{len(adjacency)}, called labels"
        )
    return _assemble(path, adjacency, vectors[named[0]] if named else None)


def _graphs_first(path: Path, key: str, cube: NDArray[Any]) -> NDArray[Any]:
    """(g, n, n) of either orientation; when g = n, the one whose matrices are symmetric, else MATLAB's."""
    a, b, c = cube.shape
    matlab = np.moveaxis(cube, 2, 0)
    if a == b == c:
        symmetric = [bool((m == m.transpose(0, 2, 1)).all()) for m in (matlab, cube)]
        return cube if symmetric == [False, True] else matlab
    if a != b and b != c:
        raise DatasetError(f"{key} of {path} has shape {cube.shape}; it should be (n, n, g) or (g, n, n)")
    return matlab if a == b else cube


def _read_folder(folder: Path) -> GraphSet:
    files = sorted(file for file in folder.glob("*.csv") if file.name != "labels.csv")
    if not files:
        raise DatasetError(f"{folder} holds no .csv matrices; put one file per graph there")
    matrices: list[NDArray[Any]] = []
    for i, file in enumerate(files):
        matrix = read_numbers(file)
        if matrix.shape[0] != matrix.shape[1] or not matrix.size:
            raise DatasetError(
                f"graph {i} of {len(files)} ({file}) is {matrix.shape[0]} x {matrix.shape[1]}, not square; "
                f"give n lines of n numbers without a header"
            )
        if matrices and matrix.shape != matrices[0].shape:
            raise DatasetError(
                f"graph {i} of {len(files)} ({file}) has {len(matrix)} nodes where {files[0].name} has "
                f"{len(matrices[0])}; matrices of one study have the same nodes"
            )
        matrices.append(matrix)
    labels_file, names_file = folder / "labels.csv", folder / "nodes.txt"
    labels = _labels(labels_file, [file.name for file in files]) if labels_file.exists() else None
    names = None
    if names_file.exists():
        names = np.array(names_file.read_text(encoding="utf-8-sig").rstrip().splitlines(), dtype=np.str_)
    return _assemble(folder, np.stack(matrices), labels, None, names)


def _labels(path: Path, files: list[str]) -> NDArray[Any]:
    with path.open(newline="", encoding="utf-8-sig") as stream:
        rows = [row for row in csv.reader(stream) if row]
    if not rows or [cell.strip() for cell in rows[0]] != ["file", "label"]:
        raise DatasetError(f"{path} starts with {','.join(rows[0]) if rows else ''!r}; its first line is 'file,label'")
    label_of: dict[str, str] = {}
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != 2 or not row[1].strip() or row[0].strip() in label_of:
            raise DatasetError(f"line {number} of {path} is {','.join(row)!r}; name each file once, with its label")
        label_of[row[0].strip()] = row[1].strip()
    unlabelled, absent = sorted(set(files) - set(label_of)), sorted(set(label_of) - set(files))
    if unlabelled:
        raise DatasetError(f"{path} has no label for {unlabelled[0]} ({len(unlabelled)} missing); label every file")
    if absent:
        raise DatasetError(f"{path} labels {absent[0]}, which is not in the folder; add the file or drop the line")
    labels = [label_of[file] for file in files]
    try:
        return np.array([int(label) for label in labels])
    except ValueError:
        return np.array(labels)


def _assemble(
    path: Path,
    adjacency: NDArray[Any],
    labels: NDArray[Any] | None,
    folds: NDArray[Any] | None = None,
    names: NDArray[Any] | None = None,
) -> GraphSet:
    if adjacency.ndim != 3:
        raise DatasetError(f"adjacency of {path} has shape {adjacency.shape}; it should be (g, n, n)")
    if labels is not None and labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels is not None and labels.dtype.kind in "iuf" and (labels == np.rint(labels)).all():
        labels = labels.astype(np.int64)  # MATLAB writes classes as 1.0, small files as int8
    graphs = as_graphset(adjacency, labels, name=path.stem)
    if folds is not None:
        if folds.shape != (len(graphs),) or folds.dtype.kind not in "iu":
            raise DatasetError(
                f"fold of {path} has shape {folds.shape} and type {folds.dtype}; "
                f"give one integer per graph ({len(graphs)})"
            )
        graphs = replace(graphs, folds=folds.astype(np.int64))
    if names is not None:
        n = adjacency.shape[1]
        if names.shape != (n,) or names.dtype.kind != "U":
            raise DatasetError(f"{path} has {names.size} node names for {n} nodes; give one name per node")
        graphs = replace(graphs, node_names=np.tile(names, len(graphs)))
    return graphs
