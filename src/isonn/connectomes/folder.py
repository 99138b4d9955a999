"""Read folders of connectivity matrices or time series with a table of subjects, as from neuroimaging pipelines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.connectomes.convert import from_matrices, read_participants
from isonn.connectomes.timeseries import Connectivity
from isonn.errors import DatasetError, InputError
from isonn.graphs.graph import GraphSet
from isonn.graphs.io.matrices import load_mat
from isonn.graphs.io.npz import DAMAGE
from isonn.graphs.io.registry import Reader, short
from isonn.graphs.io.text import read_matrix

TABLES = ("participants.tsv", "participants.csv")
ATLASES = ("atlas.csv", "atlas.tsv", "regions.csv", "regions.tsv", "labels.txt", "regions.txt")
SUFFIXES = (".npy", ".csv", ".tsv", ".mat")


class ConnectomeReader(Reader):
    """A folder with ``participants.tsv`` and a matrix or the time series of each subject.

    Matrices are ``.npy``, ``.csv`` or ``.tsv`` (with or without a header and an index column) or ``.mat`` files with
    one matrix each, in the folder or below. The name of a file starts with the id of its subject: ``sub-01.npy``,
    ``sub-01_task-rest_connectivity.csv``. An atlas (``atlas.csv``) names the regions. Arrays that are not square are
    time series with a column per region.
    """

    name = "connectomes"
    expects = "a folder with participants.tsv and a matrix or time series per subject (.npy, .csv, .mat)"

    def recognises(self, path: Path) -> bool:
        """Return whether this is a folder with a table of participants."""
        return path.is_dir() and any((path / table).is_file() for table in TABLES)

    def read(
        self,
        path: Path,
        *,
        target: str | None = None,
        atlas: Any = None,
        missing: str = "error",
        diagonal: bool = False,
        directed: bool = False,
        connectivity: str = "correlation",
    ) -> GraphSet:
        """Read the subjects in the order of their ids.

        Args:
            target: the column of participants.tsv to predict; None uses group, diagnosis, dx, class, label or y.
            atlas, missing, diagonal, directed: as in `isonn.connectomes.from_matrices`.
            connectivity: conversion of time series: a ``kind`` of `isonn.connectomes.Connectivity`, except "tangent",
                which learns from subjects and belongs in a pipeline.
        """
        if connectivity == "tangent":
            raise InputError(
                "connectivity='tangent' would learn from all subjects; use Connectivity('tangent') in a pipeline, or "
                "the method tangent-svm"
            )
        table = next(path / name for name in TABLES if (path / name).is_file())
        columns = read_participants(table)
        ids = next((columns[name] for name in ("participant_id", "subject", "id") if name in columns), None)
        if ids is None:
            raise DatasetError(f"{table} has no column participant_id; add one with the id of each subject")
        found = _files(path, [str(one) for one in ids.tolist()])
        source = atlas
        if source is None:
            source = next((path / name for name in ATLASES if (path / name).is_file()), None)
        matrices: list[NDArray[np.float64]] = []
        names = None
        for who, file in found.items():
            matrix, own = _read(file)
            if matrices and matrix.shape[1] != matrices[0].shape[1]:
                raise DatasetError(
                    f"{file} has {matrix.shape[1]} regions, but the first file has {matrices[0].shape[1]}; use one "
                    f"atlas for all subjects (subject {who})"
                )
            if names is not None and own is not None and own.tolist() != names.tolist():
                raise DatasetError(f"{file} has different regions from the first matrix; use one atlas")
            names = own if names is None else names
            matrices.append(matrix)
        if target is None:
            guesses = ("group", "diagnosis", "dx", "class", "label", "y")
            target = next((name for name in columns if name.lower() in guesses), None)
        if all(len(matrix) == matrix.shape[1] for matrix in matrices):
            stack = np.stack(matrices)
        else:
            stack = Connectivity(connectivity).fit_transform(matrices).dense(dtype=np.float64)
        graphs = from_matrices(
            stack,
            atlas=names if source is None else source,
            ids=found,
            participants=columns,
            target=target,
            missing=missing,
            diagonal=diagonal,
            directed=directed,
            name=self.title(path),
        )
        return graphs


READER = ConnectomeReader()


def _files(folder: Path, ids: list[str]) -> dict[str, Path]:
    """Return the matrix file of each subject, by id."""
    candidates = sorted(
        file
        for file in folder.rglob("*")
        if file.suffix.lower() in SUFFIXES
        and file.name not in (*TABLES, *ATLASES)
        and not any(part.startswith(".") for part in file.relative_to(folder).parts)
    )
    found: dict[str, Path] = {}
    strangers = []
    for file in candidates:
        owners = [one for one in ids if _is_of(file.stem, one) or _is_of(file.stem, f"sub-{one}")]
        if not owners:
            strangers.append(file)
            continue
        who = max(owners, key=len)
        if who in found:
            raise DatasetError(f"subject {who} has two matrices, {found[who].name} and {file.name}; keep one")
        found[who] = file
    if strangers:
        raise InputError(
            f"{strangers[0].name} belongs to no subject of the table, one of {len(strangers)} such files; add a row "
            f"with its id, or remove the file"
        )
    if not found:
        raise DatasetError(
            f"{folder} has no matrices of its {len(ids)} subjects; name the files by id, such as {ids[0]}.npy"
        )
    return {one: found[one] for one in ids if one in found}


def _is_of(stem: str, who: str) -> bool:
    return stem == who or stem.startswith((f"{who}_", f"{who}."))


def _read(file: Path) -> tuple[NDArray[np.float64], NDArray[np.str_] | None]:
    suffix = file.suffix.lower()
    names = None
    try:
        if suffix == ".npy":
            matrix = np.load(file, allow_pickle=False)
        elif suffix == ".mat":
            arrays = [value for key, value in load_mat(file).items() if np.ndim(value) == 2 and key[:2] != "__"]
            large = [value for value in arrays if min(value.shape) > 1]
            square = [value for value in large if value.shape[0] == value.shape[1]]
            if len(square or large) != 1:
                raise DatasetError(f"{file} has {len(square or large)} matrices; keep one")
            matrix = (square or large)[0]
        else:
            matrix, names = read_matrix(file, square=False)
    except DatasetError:
        raise
    except NotImplementedError as error:  # raised by SciPy for v7.3 files
        raise DatasetError(f"{file} is a MATLAB v7.3 file (HDF5); save it again with the option -v7") from error
    except (OSError, *DAMAGE) as error:
        raise DatasetError(f"{file} cannot be read ({short(error)}); save it again") from error
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise DatasetError(f"{file} has an array of shape {matrix.shape}; give a square matrix, or (times, regions)")
    return matrix.astype(np.float64), names
