"""The bank: a folder with the counts of a stream, for more graphs than fit in memory.

Each chunk is a file (safetensors: codes and counts as small integers), written as soon as it is counted; `bank.json`
follows when all are there. A complete file is never counted again, so a stopped run continues where it was.
"""

from __future__ import annotations

import errno
import hashlib
import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from joblib.externals.loky.process_executor import BrokenProcessPool
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save
from scipy.sparse import csr_array

from isonn.errors import DatasetError, InputError, IsoNNError
from isonn.files import atomic_file, remove_strays
from isonn.graphs.graph import GraphSet
from isonn.graphs.io.registry import Part
from isonn.graphs.stream import GraphStream
from isonn.packing import IntArray
from isonn.processes import Call, Run, run_in_order
from isonn.progress import Report, silent
from isonn.subgraphs.count import count_chunk
from isonn.subgraphs.encode import CodedGraphs, Encoding
from isonn.subgraphs.table import Key

FORMAT = "isonn-bank-5"
SUMMARY = "bank.json"


@dataclass(frozen=True)
class Limits:
    """How subgraphs are counted: the number per size and graph above which they are sampled, and the seed."""

    max_subgraphs: int = 100_000
    seed: int = 0


def count_to_folder(
    graphs: GraphStream,
    encoding: Encoding,
    folder: Path,
    limits: Limits,
    workers: int | Run = 1,
    report: Report = silent,
) -> list[FileChunk]:
    """Count the subgraphs of a stream into a folder; memory holds two chunks per process.

    Args:
        folder: the folder for the files. Files in it are not counted again; those of other graphs raise `InputError`.
        workers: number of processes, or a function that runs calls elsewhere; its workers must see the folder under the
            same path.
        report: called with the number of graphs that are done.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("part-*", SUMMARY):
        remove_strays(folder, name)
    sizes: list[int] = []
    done = 0

    def calls() -> Iterator[Call]:
        unread = graphs.parts() if isinstance(workers, int) and workers > 1 else None
        chunks: Iterable[GraphSet | Part] = graphs if unread is None else unread
        for chunk in chunks:
            path = _chunk_path(folder.absolute(), len(sizes))  # workers stay in the folder they started in
            sizes.append(len(chunk))
            if isinstance(chunk, GraphSet):
                coded = encoding.encode(chunk)
                key = _key(coded, limits)
                yield _count_to_file, (None if _holds(path, key) else coded, path, key, limits)
            else:  # the process that counts the graphs reads them
                yield _count_unread, (chunk, encoding, path, limits)

    try:
        for _ in run_in_order(calls(), workers):
            done += 1
            report(sum(sizes[:done]), "graphs cut")
        if not sizes:
            raise InputError(f"there are no graphs to count for {folder}; give at least one")
        with atomic_file(folder / SUMMARY) as temporary:
            temporary.write_text(json.dumps({"format": FORMAT, "parts": sizes}) + "\n", encoding="utf-8")
    except BrokenProcessPool as error:
        raise IsoNNError(
            f"a process that cut subgraphs died, most likely out of memory; {done} parts are kept in {folder}, so "
            f"run this again with fewer than {workers} processes to continue"
        ) from error
    except OSError as error:
        raise _unwritable(folder, error, done) from error
    return read_bank(folder)


@contextmanager
def bank_folder(given: Path | None) -> Iterator[Path]:
    """Yield the folder of a bank: the given one, or a temporary one that is removed afterwards."""
    if given is not None:
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="isonn-bank-") as folder:
        yield Path(folder)


def read_bank(folder: Path) -> list[FileChunk]:
    """Return the chunks of a complete folder."""
    return [FileChunk.open(_chunk_path(folder, number)) for number in range(len(_chunk_sizes(folder)))]


@dataclass(frozen=True, eq=False)
class FileChunk:
    """The tables of a run of graphs, in a file."""

    path: Path
    graphs: int
    widths: dict[Key, int]
    sampled: dict[Key, float]

    @classmethod
    def open(cls, path: Path) -> FileChunk:
        """Read and check the header."""
        header = _header(path)
        widths = {(view, k): width for view, k, width in json.loads(header["widths"])}
        sampled = {(graph, k): share for graph, k, share in json.loads(header["sampled"])}
        return cls(path, int(header["graphs"]), widths, sampled)

    def __len__(self) -> int:
        return self.graphs

    @property
    def keys(self) -> Sequence[Key]:
        """The views and sizes."""
        return list(self.widths)

    def rows(self, key: Key) -> IntArray:
        """Return the distinct subgraphs of one view and size."""
        return _read(self.path, f"{key[0]}.{key[1]}.rows")[0]

    def counts(self) -> csr_array:
        """Return their counts."""
        columns = _read(self.path, "data", "indices", "indptr")
        return csr_array(tuple(columns), shape=(self.graphs, sum(self.widths.values())))


def _unwritable(folder: Path, error: OSError, kept: int) -> IsoNNError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return IsoNNError(
            f"the disk of {folder} is full; {kept} complete parts are kept, so free some space and run this again"
        )
    return IsoNNError(f"subgraphs cannot be kept in {folder} ({error}); choose another folder, or remove this one")


def _chunk_sizes(folder: Path) -> list[int]:
    """Return the number of graphs in each part of a finished folder."""
    try:
        summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    except FileNotFoundError:
        some = any(folder.glob("part-*.safetensors"))
        remedy = "run this again to cut the rest" if some else "give a folder that a stream was counted into"
        raise DatasetError(f"{folder} has no {'complete ' if some else ''}bank; {remedy}") from None
    except ValueError as error:
        raise DatasetError(f"{folder / SUMMARY} is damaged ({error}); run this again to rewrite it") from error
    _check_format(folder / SUMMARY, summary.get("format") if isinstance(summary, dict) else None)
    parts = summary.get("parts")
    if not isinstance(parts, list) or not all(type(size) is int for size in parts):
        raise DatasetError(f"{folder / SUMMARY} is damaged; run this again to rewrite it")
    return parts


def _chunk_path(folder: Path, number: int) -> Path:
    return folder / f"part-{number:06d}.safetensors"


def _key(graphs: CodedGraphs, limits: Limits) -> str:
    """Return a digest of the graphs and settings."""
    settings = [limits.max_subgraphs, limits.seed, [view.sizes for view in graphs.views]]
    hasher = hashlib.sha256(json.dumps(settings, default=int).encode())
    columns = [graphs.node_offsets, graphs.edge_offsets, graphs.edges]
    for view in graphs.views:
        columns += [view.node_codes, view.edge_codes]
    for column in columns:
        hasher.update(f"{column.dtype.str}{column.shape}".encode())
        hasher.update(np.ascontiguousarray(column).data)
    return hasher.hexdigest()


def _holds(path: Path, key: str) -> bool:
    """Return whether the part exists; a damaged part counts as missing, one of other graphs raises `InputError`."""
    if not path.exists():
        return False
    try:
        header = _header(path)
    except _DamagedError:
        return False
    if header["key"] != key:
        raise InputError(
            f"{path} was cut from other graphs or with other settings; remove its folder, or give another one"
        )
    return True


def _count_to_file(graphs: CodedGraphs | None, path: Path, key: str, limits: Limits) -> None:
    """Count and write one chunk, unless it exists."""
    if graphs is None:
        return
    chunk = count_chunk(graphs, limits.max_subgraphs, limits.seed)
    tensors: dict[str, NDArray[Any]] = {f"{view}.{k}.rows": rows for (view, k), rows in chunk.distinct.items()}
    tensors |= {column: getattr(chunk.table, column) for column in ("data", "indices", "indptr")}
    header = {
        "format": FORMAT,
        "key": key,
        "graphs": str(len(graphs)),
        "widths": json.dumps([[view, k, len(rows)] for (view, k), rows in chunk.distinct.items()]),
        "sampled": json.dumps([[int(graph), int(k), share] for (graph, k), share in chunk.sampled.items()]),
        "sha256": json.dumps({name: _digest(tensor) for name, tensor in tensors.items()}),
    }
    header["digest"] = _header_digest(header)
    with atomic_file(path) as temporary:
        temporary.write_bytes(save(tensors, header))


def _count_unread(part: Part, encoding: Encoding, path: Path, limits: Limits) -> None:
    """Read, count and write one chunk, unless it exists."""
    graphs = encoding.encode(part())
    key = _key(graphs, limits)
    _count_to_file(None if _holds(path, key) else graphs, path, key, limits)


class _DamagedError(DatasetError):
    """A part that is not a safetensors file, or was modified."""


def _header(path: Path) -> dict[str, str]:
    try:
        with safe_open(path, "numpy") as file:
            header = dict(file.metadata() or {})
    except FileNotFoundError as error:
        raise _DamagedError(f"{path} is missing; run this again to cut it again") from error
    except (SafetensorError, OSError) as error:
        raise _damaged(path) from error
    _check_format(path, header.get("format"))
    if header.pop("digest", None) != _header_digest(header):
        raise _damaged(path)
    return header


def _header_digest(header: dict[str, str]) -> str:
    """Return the SHA-256 of a header, which contains those of the arrays."""
    content = {name: value for name, value in header.items() if name != "digest"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _check_format(path: Path, found: object) -> None:
    if found != FORMAT:
        raise DatasetError(
            f"{path} has format {found!r} but this version of isonn reads {FORMAT!r}; remove its folder to cut the "
            f"graphs again, or use the version that wrote it"
        )


def _read(path: Path, *names: str) -> list[NDArray[Any]]:
    """Read and check some arrays of a chunk."""
    try:
        with safe_open(path, "numpy") as file:
            digests = json.loads(_header(path)["sha256"])
            tensors = {name: file.get_tensor(name) for name in names}
    except (SafetensorError, OSError) as error:
        raise _damaged(path) from error
    if any(_digest(tensor) != digests.get(name) for name, tensor in tensors.items()):
        raise _damaged(path)
    return list(tensors.values())


def _digest(tensor: NDArray[Any]) -> str:
    return hashlib.sha256(np.ascontiguousarray(tensor).data).hexdigest()


def _damaged(path: Path) -> _DamagedError:
    return _DamagedError(f"{path} is damaged; remove it and run this again")
