"""Read folders of connectivity matrices or time series with a table of subjects, as from neuroimaging pipelines."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn.connectomes.atlas import as_atlas
from isonn.connectomes.convert import study_graphs
from isonn.connectomes.participants import (
    SubjectTable,
    plain_id,
    read_participants,
    take_targets,
    warn_of_unused,
)
from isonn.connectomes.timeseries import Connectivity
from isonn.errors import DatasetError, InputError, IsoNNWarning
from isonn.graphs.graph import GraphSet
from isonn.graphs.io.matrices import load_mat
from isonn.graphs.io.npz import DAMAGE, read_arrays
from isonn.graphs.io.registry import Reader, short
from isonn.graphs.io.tables import read_matrix

TABLES = ("participants.tsv", "participants.csv")
ATLASES = ("atlas.csv", "atlas.tsv", "regions.csv", "regions.tsv", "labels.txt", "regions.txt")
SUFFIXES = (".npy", ".npz", ".csv", ".tsv", ".mat", ".txt")
PHENOTYPE = "phenotype"
#: Columns that are the target if none is named.
TARGETS = ("group", "diagnosis", "dx", "dx_group", "class", "label", "y")


class ConnectomeReader(Reader):
    """A folder with ``participants.tsv`` and a matrix or the time series of each subject, such as BIDS derivatives.

    Matrices are ``.npy``, ``.csv``, ``.tsv`` or ``.txt`` (with or without a header and an index column), ``.npz`` or
    ``.mat`` files with one matrix each, in the folder or below. The name of a file starts with the id of its subject:
    ``sub-01.npy``, ``sub-01_ses-1_task-rest_connectivity.csv``. Other files are left alone. An atlas (``atlas.csv``)
    names the regions. Arrays that are not square are time series with a column per region. Sessions and runs become
    graphs of their own, with their subject in the column ``subject``. Tables in ``phenotype/`` and
    ``sub-01/sub-01_sessions.tsv`` add columns to those of the participants. A table with a column ``session_id`` (or
    ``session``) has a row per session.
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
        target: str | Sequence[str] | None = None,
        select: Any = None,
        runs: str = "rows",
        atlas: Any = None,
        missing: str = "error",
        join_case: bool = False,
        directed: bool = False,
        connectivity: str = "correlation",
        likely: Sequence[str] = (),
    ) -> GraphSet:
        """Read the subjects in the order of their ids.

        Args:
            target: the column of participants.tsv to predict, or several, such as "memory,iq"; None uses group,
                diagnosis, dx, dx_group, class, label or y.
            select: entities of the files to read, such as "desc=denoised task=rest", or a dict.
            runs: "rows" for a graph per run, or "average" for the mean of the runs of a session.
            atlas, missing, directed: as in `isonn.connectomes.from_matrices`.
            join_case: treat classes that differ only in case, such as "Patient" and "patient", as one.
            connectivity: conversion of time series: a ``kind`` of `isonn.connectomes.Connectivity`, except "tangent",
                which learns from subjects and belongs in a pipeline.
            likely: the columns that a model was fitted to; they are the target if every subject has them.
        """
        if connectivity == "tangent":
            raise InputError(
                "connectivity='tangent' would learn from all subjects; use Connectivity('tangent') in a pipeline, or "
                "the method tangent-svm"
            )
        if runs not in ("rows", "average"):
            raise InputError(f"runs={runs!r} is unknown; use 'rows' or 'average'")
        tables, entities = _tables(path), as_entities(select)
        scans = find_scans(path, tables[0], entities)
        if atlas is None:
            atlas = next((path / name for name in ATLASES if (path / name).is_file()), None)
        arrays, names = _read_all(scans, atlas)
        series = not all(len(array) == array.shape[1] for array in arrays)
        if series:
            arrays = list(Connectivity(connectivity).fit_transform(arrays).dense(dtype=np.float64))
        if runs == "average":
            scans, arrays = _averaged(scans, arrays)
        subjects = [scan.subject for scan in scans]
        _check_unused(list(dict.fromkeys(tables[0].ids)), set(subjects), bool(entities))
        graphs = study_graphs(
            arrays,
            names if atlas is None else atlas,
            [scan.id for scan in scans],
            missing=missing,
            directed=directed,
            check=not series,
        )
        table: dict[str, NDArray[Any]] = {}
        for source in tables:
            rows = [source.row(scan.subject, scan.session) for scan in scans]
            table |= {name: source.values(name, rows) for name in source.columns if name not in table}
        if target is None and likely:
            target = likely if all(name in table and _complete(table[name]) for name in likely) else None
        elif target is None:
            target = next((name for name in table if name.lower() in TARGETS), None)
        targets, y = take_targets(target, table, graphs.ids, join_case)
        if len(set(subjects)) < len(subjects):
            table["subject"] = np.array(subjects)
            for column, key in (("session", "ses"), ("run", "run")):
                values = np.array([scan.entities.get(key, "") for scan in scans])
                if len(np.unique(values)) > 1:
                    table[column] = values
        return replace(graphs, y=y, name=self.title(path), table=table, target_names=targets)


READER = ConnectomeReader()


@dataclass(frozen=True)
class Scan:
    """A file of one subject.

    Attributes:
        file: the file.
        subject: the id of the subject, as in the table.
        entities: the key-value pairs of its name, as in BIDS, without the subject.
        id: a unique name of the graph.
    """

    file: Path
    subject: str
    entities: dict[str, str]
    id: str

    @property
    def session(self) -> str:
        """Its session, "" if the name has none."""
        return self.entities.get("ses", "")


def as_entities(select: Any) -> dict[str, str]:
    """Return entities from "desc=denoised ses=1" or a dict.

    Example:
        >>> as_entities("desc=denoised,ses=1")
        {'desc': 'denoised', 'ses': '1'}
    """
    if select is None:
        return {}
    if not isinstance(select, str):
        return {str(key): str(value) for key, value in dict(select).items()}
    pairs = [part.partition("=") for part in select.replace(",", " ").split()]
    wrong = next((key for key, equals, value in pairs if not (key and equals and value)), None)
    if wrong is not None:
        raise InputError(f"select={select!r} is not a list of entities; write desc=denoised task=rest")
    return {key: value for key, _, value in pairs}


def find_scans(folder: Path, table: SubjectTable, select: Mapping[str, str]) -> list[Scan]:
    """Return the selected files of all subjects, in the order of the table; other files are left alone and counted."""
    scans, others, strangers = [], 0, []
    subjects = list(dict.fromkeys(table.ids))
    by_plain_id = {plain_id(subject): subject for subject in subjects}
    for file in _candidates(folder):
        owners = [subject for subject in subjects if _is_of(file.stem, subject) or _is_of(file.stem, f"sub-{subject}")]
        begin = plain_id(re.split(r"[_.]", file.stem)[0])
        if not owners and begin in by_plain_id:
            owners = [by_plain_id[begin]]
        entities = _entities(file.stem)
        if not owners or table.row(max(owners, key=len), entities.get("ses", "")) is None:
            strangers.append(file)
            continue
        if any(entities.get(key) != value for key, value in select.items()):
            others += 1
            continue
        entities.pop("sub", None)
        who = max(owners, key=len)
        parts = [who, *(f"{key}-{entities[key]}" for key in ("ses", "run") if key in entities)]
        scans.append(Scan(file, who, entities, "_".join(parts)))
    if not scans:
        chosen = " ".join(f"{key}={value}" for key, value in select.items())
        remedy = f"select={chosen!r} leaves none of {others} files" if select else f"such as {subjects[0]}.npy"
        raise DatasetError(f"{folder} has no matrices of its {len(subjects)} subjects; name the files by id, {remedy}")
    _check_single(scans)
    if strangers:
        warnings.warn(
            f"{len(strangers)} files of {folder.name} belong to no row of the table and are left alone, the first "
            f"is {strangers[0].name}",
            IsoNNWarning,
            stacklevel=4,
        )
    if others:
        warnings.warn(f"{others} files of {folder.name} are not selected", IsoNNWarning, stacklevel=4)
    order = {who: number for number, who in enumerate(subjects)}
    return sorted(scans, key=lambda scan: (order[scan.subject], scan.id))


def _candidates(folder: Path) -> list[Path]:
    """Return the files that may be scans; those of text only if there are no others, because some are notes."""
    files = sorted(
        file
        for file in folder.rglob("*")
        if file.suffix.lower() in SUFFIXES
        and file.name not in (*TABLES, *ATLASES)
        and not file.stem.endswith("_sessions")
        and file.relative_to(folder).parts[0] != PHENOTYPE
        and not any(part.startswith(".") for part in file.relative_to(folder).parts)
    )
    return [file for file in files if file.suffix.lower() != ".txt"] or files


def _entities(stem: str) -> dict[str, str]:
    """Return the key-value pairs of a name, and its last part as "suffix"."""
    parts = stem.split("_")
    entities = {key: value for key, dash, value in (part.partition("-") for part in parts) if dash}
    return {**entities, "suffix": parts[-1]} if len(parts) > 1 and "-" not in parts[-1] else entities


def _check_single(scans: Sequence[Scan]) -> None:
    """Raise `DatasetError` if a session has several files; name the entity that tells them apart."""
    seen: dict[str, Scan] = {}
    for scan in scans:
        other = seen.setdefault(scan.id, scan)
        if other is scan:
            continue
        keys = sorted(set(scan.entities) | set(other.entities))
        differing = [key for key in keys if scan.entities.get(key) != other.entities.get(key)]
        key = next((key for key in differing if key in other.entities), "")
        values = sorted({each.entities[key] for each in scans if key in each.entities})
        remedy = f"choose one {key} ({', '.join(values)}), such as select='{key}={values[0]}'" if values else "keep one"
        raise DatasetError(f"subject {scan.subject} has two matrices, {other.file.name} and {scan.file.name}; {remedy}")


def _tables(folder: Path) -> list[SubjectTable]:
    """Return the table of participants, and those of sessions and in ``phenotype/`` that have ids."""
    participants = next(folder / name for name in TABLES if (folder / name).is_file())
    more = [(read_participants(file), file.name) for file in sorted((folder / PHENOTYPE).glob("*.tsv"))]
    first = SubjectTable.of(read_participants(participants), participants.name)
    if first is None:
        raise DatasetError(f"{participants} has no column participant_id; add one with the id of each subject")
    others = [SubjectTable.of(*table) for table in (_sessions(folder), *more)]
    return [first, *(table for table in others if table is not None)]


def _sessions(folder: Path) -> tuple[dict[str, NDArray[Any]], str]:
    """Join the tables of sessions of all subjects, such as ``sub-01/sub-01_sessions.tsv``."""
    files = sorted(folder.glob("sub-*/sub-*_sessions.tsv"))
    tables = [(file.parent.name, read_participants(file)) for file in files]
    joined: dict[str, list[Any]] = {name: [] for _, columns in tables for name in ("participant_id", *columns)}
    for subject, columns in tables:
        length = len(next(iter(columns.values())))
        for name, cells in joined.items():
            cells += (
                columns[name].tolist() if name in columns else [subject if name == "participant_id" else "n/a"] * length
            )
    return read_participants(joined), "the tables of sessions"


def _check_unused(subjects: Sequence[str], used: set[str], selected: bool) -> None:
    """Warn of subjects without a matrix; raise `DatasetError` if most have none although no files were deselected."""
    unused = [subject for subject in subjects if subject not in used]
    if len(unused) > len(subjects) / 2 and not selected:
        raise DatasetError(
            f"{len(unused)} of {len(subjects)} subjects have no matrix, the first is {unused[0]!r}; name the files by "
            f"id, such as {unused[0]}.npy, or remove the rows"
        )
    warn_of_unused(unused)


def _complete(values: NDArray[Any]) -> bool:
    return values.dtype.kind == "f" or not np.isin(values, ("", "n/a")).any()


def _read_all(scans: Sequence[Scan], atlas: Any) -> tuple[list[NDArray[np.float64]], NDArray[np.str_] | None]:
    """Return the arrays of all files, and the names of their regions."""
    matrices: list[NDArray[np.float64]] = []
    names = None
    for scan in scans:
        matrix, regions = _read(scan.file)
        if matrices and matrix.shape[1] != matrices[0].shape[1]:
            if len({len(matrix), len(matrices[0])}) == 1:
                raise DatasetError(
                    f"{scan.file} has {matrix.shape[1]} columns, but the first file has {matrices[0].shape[1]}, and "
                    f"both have {len(matrix)} rows; time series need a column per region: transpose them"
                )
            raise DatasetError(
                f"{scan.file} has {matrix.shape[1]} regions, but the first file has {matrices[0].shape[1]}; use one "
                f"atlas for all subjects (subject {scan.subject})"
            )
        if names is not None and regions is not None and regions.tolist() != names.tolist():
            raise DatasetError(f"{scan.file} has different regions from the first matrix; use one atlas")
        names = regions if names is None else names
        matrices.append(matrix)
    count = None if atlas is None else len(as_atlas(atlas))
    shape = matrices[0].shape
    if count is not None and shape[0] == count != shape[1]:
        raise DatasetError(
            f"{scans[0].file} has {shape[0]} rows and {shape[1]} columns for {count} regions; time series need a "
            f"column per region: transpose them"
        )
    return matrices, names


def _averaged(
    scans: Sequence[Scan], matrices: Sequence[NDArray[np.float64]]
) -> tuple[list[Scan], list[NDArray[np.float64]]]:
    """Return the mean matrix of the runs of each session."""
    sessions: dict[str, list[int]] = {}
    for number, scan in enumerate(scans):
        sessions.setdefault(scan.id.partition("_run-")[0], []).append(number)
    kept = [
        replace(scans[rows[0]], id=name, entities={k: v for k, v in scans[rows[0]].entities.items() if k != "run"})
        for name, rows in sessions.items()
    ]
    return kept, [np.mean([matrices[i] for i in rows], axis=0) for rows in sessions.values()]


def _is_of(stem: str, who: str) -> bool:
    return stem == who or stem.startswith((f"{who}_", f"{who}."))


def _read(file: Path) -> tuple[NDArray[np.float64], NDArray[np.str_] | None]:
    suffix = file.suffix.lower()
    names = None
    try:
        if suffix == ".npy":
            matrix = np.load(file, allow_pickle=False)
        elif suffix in (".mat", ".npz"):
            contents = load_mat(file) if suffix == ".mat" else read_arrays(file)
            arrays = [value for key, value in contents.items() if np.ndim(value) == 2 and key[:2] != "__"]
            large = [value for value in arrays if min(value.shape) > 1]
            square = [value for value in large if value.shape[0] == value.shape[1]]
            if len(square or large) != 1:
                raise DatasetError(f"{file} has {len(square or large)} matrices; keep one")
            matrix = (square or large)[0]
        else:
            matrix, names = read_matrix(file, square=False)
    except DatasetError:
        raise
    except (OSError, *DAMAGE) as error:
        raise DatasetError(f"{file} cannot be read ({short(error)}); save it again") from error
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise DatasetError(
            f"{file} has an array of shape {matrix.shape}; give a square matrix (of a vector, nilearn's "
            f"vec_to_sym_matrix makes one), or (times, regions)"
        )
    return matrix.astype(np.float64), names
