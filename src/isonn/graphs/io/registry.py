"""Whatever lies at a path, whole or in pieces: a file, a TU folder, a folder of matrices, a folder of many of these."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from isonn.errors import DatasetError
from isonn.graphs.graph import GraphSet, difference, join_sets
from isonn.graphs.io.dgcnn import read_text
from isonn.graphs.io.matrices import read_matrices
from isonn.graphs.io.tu import read_tu, tu_name, tu_pieces


def read_path(path: Path) -> GraphSet:
    """The graphs at a path that exists."""
    if _holds_many(path):
        return join_sets(list(path_pieces(path)), name_of(path))
    return _read_one(path)


def name_of(path: Path) -> str:
    """What the graphs at a path are called."""
    if _is_tu(path):
        return tu_name(path)
    return path.resolve().name if _holds_many(path) else path.stem


def path_pieces(path: Path, at_once: int | None = None) -> Iterator[GraphSet]:
    """The same graphs in pieces, alike in what they have: a file each, and ``at_once`` graphs of a TU folder.

    Without ``at_once``, every TU folder is one piece.
    """
    first = None
    for file in _files(path):
        for piece in tu_pieces(file, at_once) if at_once is not None and _is_tu(file) else iter([_read_one(file)]):
            first = first or piece
            if reason := difference(first, piece):
                raise DatasetError(f"{file} {reason}; give every file of {path} the same")
            yield piece


def size_of(path: Path) -> int:
    """Bytes of everything at a path."""
    if path.is_dir():
        return sum(map(size_of, _visible(path)))
    return path.stat().st_size


def _files(path: Path) -> Iterator[Path]:
    """What is read in one go, in sorted order of the names."""
    if not _holds_many(path):
        yield path
        return
    for file in sorted(_visible(path)):
        yield from _files(file)


def _is_tu(path: Path) -> bool:
    return path.is_dir() and any(path.glob("*_A.txt"))


def _holds_many(path: Path) -> bool:
    return path.is_dir() and not _is_tu(path) and not any(path.glob("*.csv")) and any(_visible(path))


def _visible(folder: Path) -> Iterator[Path]:
    return (file for file in folder.iterdir() if not file.name.startswith("."))


def _read_one(path: Path) -> GraphSet:
    if path.is_dir():
        if _is_tu(path):
            return read_tu(path)
        if any(path.glob("*.csv")):
            return read_matrices(path)
        raise DatasetError(
            f"{path} holds no dataset; a folder holds TU files (*_A.txt), .csv matrices, or many datasets"
        )
    if path.name.endswith("_A.txt"):
        raise DatasetError(f"{path} is one file of a TU dataset; give its folder {path.parent}")
    if path.suffix.lower() == ".txt":
        return read_text(path)
    if path.suffix.lower() in (".npz", ".mat"):
        return read_matrices(path)
    raise DatasetError(f"{path} is of no format isonn reads; give a TU folder, .txt, .npz, .mat or a folder of .csv")
