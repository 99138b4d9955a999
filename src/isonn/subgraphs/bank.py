"""The bank: a folder with the counts of a stream, for more graphs than fit in memory.

Each part is a file (safetensors: codes and counts as small integers), written as soon as it is counted. A complete file
is never counted again, so a stopped run continues where it was.
"""

from __future__ import annotations

import errno
import hashlib
import json
import tempfile
import threading
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save
from scipy.sparse import csr_array

from isonn.errors import DatasetError, InputError, IsoNNError
from isonn.files import atomic_file, remove_strays
from isonn.graphs.graph import GraphSet
from isonn.graphs.stream import GraphStream
from isonn.model_files import digest_of
from isonn.processes import Call, Run, in_threads
from isonn.progress import Report, silent
from isonn.subgraphs.count import count_chunk
from isonn.subgraphs.encode import CodedGraphs, Encoding
from isonn.subgraphs.table import CountTable

FORMAT = "isonn-bank-6"


def count_to_folder(
    graphs: GraphStream,
    encoding: Encoding,
    folder: Path,
    limit: int,
    seed: int,
    workers: int | Run = 1,
    report: Report = silent,
) -> list[CountTable]:
    """Count the subgraphs of a stream into a folder; memory holds a chunk per thread.

    Args:
        folder: the folder for the files. Files in it are not counted again; those of other graphs raise `InputError`.
        limit: subgraphs per size and graph above which they are sampled.
        seed: seed of the samples.
        workers: number of threads, or a function that runs calls elsewhere; its workers must see the folder under the
            same path.
        report: called with the number of graphs that are done.
    """
    folder.mkdir(parents=True, exist_ok=True)
    remove_strays(folder, "part-*")
    sizes: list[int] = []
    paths: list[Path] = []
    done, stop = 0, threading.Event()

    def calls() -> Iterator[Call]:
        for chunk in graphs:
            # workers stay in the folder they started in
            paths.append(folder.absolute() / f"part-{len(sizes):06d}.safetensors")
            sizes.append(len(chunk))
            yield _count_part, (chunk, encoding, paths[-1], limit, seed)

    def counted() -> Generator[Any, None, None]:
        if callable(workers):
            yield from workers(calls())
        else:
            yield from in_threads(lambda call: call[0](*call[1], stop), calls(), workers, stop)

    try:
        with closing(counted()) as results:
            for _ in results:
                done += 1
                report(sum(sizes[:done]), "graphs cut")
        if not sizes:
            raise InputError(f"there are no graphs to count for {folder}; give at least one")
    except OSError as error:
        raise _unwritable(folder, error, done) from error
    return [_open_part(path) for path in paths]


@contextmanager
def bank_folder(given: Path | None) -> Iterator[Path]:
    """Yield the folder of a bank: the given one, or a temporary one that is removed afterwards."""
    if given is not None:
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="isonn-bank-") as folder:
        yield Path(folder)


def _open_part(path: Path) -> CountTable:
    """Read and check the header of a part; return a table that reads the rest when it is needed."""
    header = _header(path)
    shape = int(header["graphs"]), int(header["pieces"])

    def counts() -> list[csr_array]:
        return [csr_array(tuple(_read(path, "data", "indices", "indptr")), shape=shape)]

    return CountTable(
        tuple(map(tuple, json.loads(header["view_sizes"]))),
        shape[0],
        {(graph, k): share for graph, k, share in json.loads(header["sampled"])},
        lambda: _read(path, "pieces")[0],
        counts,
    )


def _unwritable(folder: Path, error: OSError, kept: int) -> IsoNNError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return IsoNNError(
            f"the disk of {folder} is full; {kept} complete parts are kept, so free some space and run this again"
        )
    return IsoNNError(f"subgraphs cannot be kept in {folder} ({error}); choose another folder, or remove this one")


def _key(graphs: CodedGraphs, limit: int, seed: int) -> str:
    """Return a digest of the graphs and settings."""
    settings = [limit, seed, graphs.view_sizes]
    hasher = hashlib.sha256(json.dumps(settings, default=int).encode())
    columns = [graphs.node_offsets, graphs.edge_offsets, graphs.edges]
    for codes in zip(graphs.node_codes, graphs.edge_codes, strict=True):
        columns += codes
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


def _count_part(
    graphs: GraphSet, encoding: Encoding, path: Path, limit: int, seed: int, stop: threading.Event | None = None
) -> None:
    """Count graphs and write one part, unless it exists; after another thread sets ``stop``, end within a second."""
    coded = encoding.encode(graphs)
    key = _key(coded, limit, seed)
    if _holds(path, key):
        return
    table = count_chunk(coded, limit, seed, stop)
    (counts,) = table.chunks()
    tensors: dict[str, NDArray[Any]] = {"pieces": table.pieces()}
    tensors |= {column: getattr(counts, column) for column in ("data", "indices", "indptr")}
    header = {
        "format": FORMAT,
        "key": key,
        "graphs": str(len(coded)),
        "pieces": str(counts.shape[1]),
        "view_sizes": json.dumps(table.view_sizes),
        "sampled": json.dumps([[int(graph), int(k), share] for (graph, k), share in table.sampled.items()]),
        "sha256": json.dumps({name: _digest(tensor) for name, tensor in tensors.items()}),
    }
    header["digest"] = digest_of(header)
    with atomic_file(path) as temporary:
        temporary.write_bytes(save(tensors, header))


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
    if header.get("format") != FORMAT:
        raise DatasetError(
            f"{path} has format {header.get('format')!r} but this version of isonn reads {FORMAT!r}; remove its folder "
            f"to cut the graphs again, or use the version that wrote it"
        )
    if header.pop("digest", None) != digest_of(header):
        raise _damaged(path)
    return header


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
