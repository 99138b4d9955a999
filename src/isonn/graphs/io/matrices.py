"""Reader of matrices over the same nodes, such as connectomes: ``.npz``, ``.mat``, or a folder of ``.csv``.

Files without labels, such as data to predict, are read without ``y``.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.errors import DatasetError
from isonn.graphs.convert import as_graphset
from isonn.graphs.graph import GraphSet
from isonn.graphs.io.npz import DAMAGE, check_room, read_arrays
from isonn.graphs.io.registry import Reader, short
from isonn.graphs.io.tables import open_text, read_matrix, read_table
from isonn.graphs.io.target_column import Column
from isonn.graphs.io.text import EXACT


class MatricesReader(Reader):
    """Reader of matrices over the same nodes; the set is named after the file or folder.

    - ``.npz``: ``adjacency`` of shape (g, n, n); ``labels`` (g,); optional ``fold`` (g,), the fold each
      graph was released in, ``names`` (n,) of the nodes, and ``ids`` (g,) of the graphs. Pickled objects raise an
      error.
    - ``.mat`` (MATLAB up to v7): the one 3-D array of numbers, (n, n, g) or (g, n, n), and the vector of
      length g; if there are several vectors, the one called label, labels, class, classes or y.
    - a folder: one matrix per ``.csv`` file, sorted by file name, which becomes the id. A header and an index column
      are optional and name the nodes. ``labels.csv`` has the columns ``file,label``; further columns become
      `GraphSet.table`. Optional ``nodes.txt`` has one node name per line.
    """

    name = "matrices"
    expects = "matrices (.npz, .mat, or a folder of .csv)"

    def recognises(self, path: Path) -> bool:
        """Return whether the path is a ``.npz`` or ``.mat`` file, or a folder with ``.csv`` files."""
        return any(path.glob("*.csv")) if path.is_dir() else path.suffix.lower() in (".npz", ".mat")

    def read(self, path: Path) -> GraphSet:
        """Read adjacency matrices and classes."""
        if path.is_dir():
            return _read_folder(path)
        return _read_npz(path) if path.suffix.lower() == ".npz" else _read_mat(path)


READER = MatricesReader()


def _read_npz(path: Path) -> GraphSet:
    arrays = read_arrays(path)
    usual = {"adjacency", "labels", "fold", "names", "ids"}
    if "adjacency" not in arrays or ("labels" not in arrays and set(arrays) - usual):
        raise DatasetError(
            f"{path} holds the arrays {', '.join(sorted(arrays))[:100] or 'none'}; "
            f"save it with adjacency (g, n, n) and labels (g,)"
        )
    labels, folds, names, ids = (arrays.get(name) for name in ("labels", "fold", "names", "ids"))
    return _assemble(path, arrays["adjacency"], labels, folds, names, ids)


def load_mat(path: Path) -> Mapping[str, Any]:
    """Read a MATLAB file that fits into memory; a byte order that SciPy only warns of is an error."""
    from scipy.io import loadmat, whosmat
    from scipy.io.matlab import MatReadError

    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("error", "We do not support byte ordering")  # "returned data may be corrupt"
            numbers = sum(math.prod(shape) for _, shape, _ in whosmat(path))
            check_room(path, numbers, 8 * numbers)
            contents: Mapping[str, Any] = loadmat(path)
    except NotImplementedError as error:  # raised by SciPy for v7.3
        raise DatasetError(
            f"{path} is a MATLAB v7.3 file (HDF5); save it again in MATLAB with the option -v7"
        ) from error
    except (OSError, MatReadError, UserWarning, *DAMAGE) as error:
        raise DatasetError(
            f"{path} cannot be read as a MATLAB file ({short(error)}); save it again with -v7"
        ) from error
    return contents


def _read_mat(path: Path) -> GraphSet:
    contents = load_mat(path)
    arrays = {
        key: value
        for key, value in contents.items()
        if not key.startswith("__") and isinstance(value, np.ndarray) and value.dtype.kind in "biuf"
    }
    cubes = sorted(key for key, value in arrays.items() if value.ndim == 3)
    if len(cubes) != 1:
        listed = ", ".join(f"{key} {getattr(v, 'shape', '')}" for key, v in sorted(contents.items()) if key[:2] != "__")
        raise DatasetError(f"{path} holds {listed[:100] or 'nothing'}; give one 3-D array of numbers, (n, n, g)")
    adjacency = _graphs_first(path, cubes[0], arrays[cubes[0]])
    vectors = {key: value.reshape(-1) for key, value in arrays.items() if value.ndim < 3 and value.size > 1}
    fitting = sorted(key for key, value in vectors.items() if value.size == len(adjacency) and 1 in arrays[key].shape)
    named = [key for key in fitting if key.lower() in {"label", "labels", "class", "classes", "y"}] or fitting
    if len(named) > 1 or (vectors and not named):
        raise DatasetError(
            f"{path} holds the vectors {', '.join(sorted(vectors))[:100]} for {len(adjacency)} graphs; keep one of "
            f"length {len(adjacency)}, called labels"
        )
    return _assemble(path, adjacency, vectors[named[0]] if named else None)


def _graphs_first(path: Path, key: str, cube: NDArray[Any]) -> NDArray[Any]:
    """Return the cube as (g, n, n). If g = n, take the orientation with symmetric matrices, else MATLAB's."""
    a, b, c = cube.shape
    matlab = np.moveaxis(cube, 2, 0)
    if a == b == c:
        symmetric = [bool((m == m.transpose(0, 2, 1)).all()) for m in (matlab, cube)]
        return cube if symmetric == [False, True] else matlab
    if a != b and b != c:
        raise DatasetError(f"{key:.60} of {path} has shape {cube.shape}; it should be (n, n, g) or (g, n, n)")
    return matlab if a == b else cube


def _read_folder(folder: Path) -> GraphSet:
    files = sorted(file for file in folder.glob("*.csv") if file.name != "labels.csv")
    if not files:
        raise DatasetError(f"{folder} holds no .csv matrices; put one file per graph there")
    matrices: list[NDArray[Any]] = []
    names: NDArray[Any] | None = None
    for i, file in enumerate(files):
        where = f"graph {i} of {len(files)} ({file.name} of {folder})"
        matrix, header = read_matrix(file)
        if matrices and matrix.shape != matrices[0].shape:
            raise DatasetError(
                f"{where} has {len(matrix)} nodes where {files[0].name} has {len(matrices[0])}; matrices of one study "
                f"have the same nodes"
            )
        if header is not None and names is not None and (header != names).any():
            at = int((header != names).argmax())
            raise DatasetError(
                f"{where} calls node {at} {str(header[at])!r:.60}, and {files[0].name} {str(names[at])!r:.60}; use one "
                f"order of nodes"
            )
        names = header if names is None else names
        matrices.append(matrix)
    labels_file, names_file = folder / "labels.csv", folder / "nodes.txt"
    labels, table = None, {}
    if labels_file.exists():
        table = _labels(labels_file, [file.name for file in files])
        labels = table.pop("label")
    if names_file.exists():
        with open_text(names_file, "strict") as lines:
            names = np.array(lines.read().rstrip().splitlines(), dtype=np.str_)
    ids = np.array([file.stem for file in files], dtype=np.str_)
    return replace(_assemble(folder, np.stack(matrices), labels, names=names, ids=ids), table=table)


def _labels(path: Path, files: list[str]) -> dict[str, NDArray[Any]]:
    """Return the columns of ``labels.csv``, which may leave out ``.csv``, in the order of the files."""
    rows = read_table(path)
    header = rows[0] if rows else []
    if header[:1] != ["file"] or "label" not in header or len(set(header)) != len(header):
        raise DatasetError(f"{path} starts with {','.join(header)!r:.60}; its first line is 'file,label'")
    row_of: dict[str, list[str]] = {}
    known = set(files)
    for number, row in enumerate(rows[1:], start=2):
        file = "".join(row[:1])
        file = file if file in known else f"{file}.csv"
        if len(row) != len(header) or not row[header.index("label")] or file in row_of:
            raise DatasetError(f"row {number} of {path} is {','.join(row)!r:.60}; name each file once, with its label")
        row_of[file] = row
    unlabelled, absent = sorted(known - set(row_of)), sorted(set(row_of) - known)
    if unlabelled:
        raise DatasetError(f"{path} has no label for {unlabelled[0]} ({len(unlabelled)} missing); label every file")
    if absent:
        raise DatasetError(
            f"{path} labels {row_of[absent[0]][0]:.60}, which is not in the folder; add it or drop the line"
        )
    columns = zip(*(row_of[file] for file in files), strict=True)
    return {name: Column.of(cells).values(cells) for name, cells in zip(header, columns, strict=True) if name != "file"}


def _assemble(
    path: Path,
    adjacency: NDArray[Any],
    labels: NDArray[Any] | None,
    folds: NDArray[Any] | None = None,
    names: NDArray[Any] | None = None,
    ids: NDArray[Any] | None = None,
) -> GraphSet:
    if adjacency.ndim != 3:
        raise DatasetError(f"adjacency of {path} has shape {adjacency.shape}; it should be (g, n, n)")
    if labels is not None and labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels is not None and labels.dtype.kind in "iuf" and (labels == np.rint(labels)).all():
        if labels.size and float(np.abs(labels.astype(np.float64)).max()) >= EXACT:
            raise DatasetError(f"labels of {path} reach {np.abs(labels).max()}, beyond 2**53; use smaller numbers")
        labels = labels.astype(np.int64)  # MATLAB stores classes as 1.0; small files store int8
    graphs = as_graphset(adjacency, labels, name=path.stem)
    columns: dict[str, Any] = {}
    if folds is not None:
        if folds.shape != (len(graphs),) or folds.dtype.kind not in "iu":
            raise DatasetError(
                f"fold of {path} has shape {folds.shape} and type {folds.dtype}; "
                f"give one integer per graph ({len(graphs)})"
            )
        columns["folds"] = folds.astype(np.int64)
    if ids is not None:
        if ids.shape != (len(graphs),) or ids.dtype.kind not in "Uiu":
            raise DatasetError(f"{path} has ids of shape {ids.shape} and type {ids.dtype}; give a string per graph")
        columns["ids"] = ids.astype(np.str_)
    if names is not None:
        n = adjacency.shape[1]
        if names.shape != (n,) or names.dtype.kind != "U":
            raise DatasetError(f"{path} has {names.size} node names for {n} nodes; give one name per node")
        columns["node_names"] = np.tile(names, len(graphs))
    return replace(graphs, **columns) if columns else graphs  # every copy is checked again
