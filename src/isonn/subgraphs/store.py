"""Banks on disk, for more graphs than fit in memory: each part is stored as soon as it is cut.

A folder contains one file per part (safetensors: codes and counts as small integers) and, once all are there,
`bank.json`. A complete part is never cut again, so a stopped run continues where it was.
"""

from __future__ import annotations

import errno
import hashlib
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import BrokenProcessPool
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save
from scipy.sparse import csr_array

from isonn import progress
from isonn.errors import DatasetError, InputError, IsoNNError
from isonn.files import atomic_file, remove_strays
from isonn.graphs.graph import GraphSet
from isonn.graphs.io.registry import Part
from isonn.graphs.isomorphism import graph_hashes
from isonn.graphs.stream import GraphStream
from isonn.processes import workers
from isonn.progress import Report, silent
from isonn.subgraphs.bank import (
    Banked,
    CodedGraphs,
    SubgraphBank,
    bank_block,
    merge_regions,
)
from isonn.subgraphs.views import DistinctValues, Encoding, directed_error, directed_graph, get_view
from isonn.subgraphs.vocabulary import Pieces, size_counts

FORMAT = "isonn-bank-3"
SUMMARY = "bank.json"

#: A function with its arguments, and a function that runs such calls in order and yields once per call.
Call = tuple[Callable[..., None], tuple[Any, ...]]
Run = Callable[[Iterable[Call]], Iterator[None]]


def bank_to_folder(
    parts: Iterable[CodedGraphs | EncodedPart],
    folder: Path,
    limit: int = 100_000,
    seed: int = 0,
    n_jobs: int | Run = 1,
    report: Report = silent,
) -> None:
    """Cut and merge the subgraphs of a stream of graphs into a folder, for `read_banks`.

    Memory holds two parts per process, however many graphs there are.

    Args:
        parts: runs of graphs, each of which becomes a file; ten thousand molecules are a good size. The
            process that cuts an `EncodedPart` reads it.
        folder: the folder for the files. Parts in it are not cut again; those of other graphs raise `InputError`.
        limit, seed: as in `bank_subgraphs`.
        n_jobs: number of processes, or a function that runs calls elsewhere, such as the result of
            `isonn.experiments.cluster.calls_on_cluster`; its workers must see the folder under the same path.
        report: called with the number of graphs that are done.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("part-*", SUMMARY):
        remove_strays(folder, name)
    sizes: list[int] = []
    kept = 0

    def work() -> Iterator[Call]:
        for graphs in parts:
            path = _part_path(folder.absolute(), len(sizes))  # workers stay in the folder they started in
            sizes.append(len(graphs))
            if isinstance(graphs, EncodedPart):
                yield _bank_unread, (graphs, path, limit, seed)
                continue
            key = _key(graphs, limit, seed)
            yield _bank_part, (None if _holds(path, key) else graphs, path, key, limit, seed)

    try:
        for _ in n_jobs(work()) if callable(n_jobs) else _in_processes(work(), n_jobs):
            kept += 1
            report(sum(sizes[:kept]), "graphs cut")
    except BrokenProcessPool as error:
        raise IsoNNError(
            f"a process that cut subgraphs died, most likely out of memory; {kept} parts are kept in {folder}, so "
            f"run this again with fewer than {n_jobs} processes to continue"
        ) from error
    except OSError as error:
        raise _unwritable(folder, error, kept) from error
    if not sizes:
        raise InputError(f"there are no graphs to cut for {folder}; give at least one")
    try:
        with atomic_file(folder / SUMMARY) as temporary:
            temporary.write_text(json.dumps({"format": FORMAT, "parts": sizes}) + "\n", encoding="utf-8")
    except OSError as error:
        raise _unwritable(folder, error, kept) from error


@dataclass(frozen=True, eq=False)
class EncodedPart:
    """Graphs to read and encode on demand, in any process."""

    part: Part
    encoding: Encoding

    def __len__(self) -> int:
        return len(self.part)

    def __call__(self) -> CodedGraphs:
        """Read and encode the graphs."""
        for view in self.encoding.views:
            get_view(view)  # other processes import views of extras here
        return self.encoding.encode(self.part())


def _unwritable(folder: Path, error: OSError, kept: int) -> IsoNNError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return IsoNNError(
            f"the disk of {folder} is full; {kept} complete parts are kept, so free some space and run this again"
        )
    return IsoNNError(f"subgraphs cannot be kept in {folder} ({error}); choose another folder, or remove this one")


def _in_processes(calls: Iterable[tuple[Callable[..., Any], tuple[Any, ...]]], jobs: int) -> Iterator[Any]:
    if jobs == 1:
        for function, given in calls:
            yield function(*given)
        return
    with workers():  # they start with the first call
        outcomes = Parallel(n_jobs=jobs, return_as="generator", batch_size=1)(
            delayed(function)(*given) for function, given in calls
        )
    yield from outcomes


def read_banks(folder: Path) -> Banked:
    """Join the banks of all parts, with counts as float32 (exact up to 2**24), or float64 if any are estimates."""
    return banks_of(*read_pieces(folder))


def banks_of(pieces: Sequence[Pieces], sampled: dict[tuple[int, int], float]) -> Banked:
    """Turn levels into banks, with all counts in memory."""
    banks: dict[str, list[dict[int, SubgraphBank]]] = {"subgraphs": [], "neighbourhoods": []}
    views = 1 + max(own.view for own in pieces)
    for kind in banks:
        banks[kind] = [
            {
                own.size: SubgraphBank(own.size, own.rows, own.counts)
                for own in pieces
                if (own.kind, own.view) == (kind, view)
            }
            for view in range(views)
        ]
    return Banked(tuple(banks["subgraphs"]), sampled, tuple(banks["neighbourhoods"]))


def read_pieces(folder: Path) -> tuple[list[Pieces], dict[tuple[int, int], float]]:
    """Join the levels of all parts, and return them with the sampled shares; counts are read when needed, part by part.

    Counts are float32 (exact up to 2**24), or float64 if any are estimates.
    """
    paths = [_part_path(folder, number) for number in range(len(_sizes(folder)))]
    headers = [_header(path) for path in paths]
    sizes, radii = json.loads(headers[0]["sizes"]), json.loads(headers[0]["radii"])
    dtype = np.float64 if any(json.loads(header["sampled"]) for header in headers) else np.float32
    graphs = sum(int(header["graphs"]) for header in headers)

    def read(kind: str, view: int, size: int, name: str) -> Pieces:
        regions, numbers = merge_regions(_read(path, name, "regions")[0] for path in paths)
        support = np.zeros(len(regions), dtype=np.int64)
        for path, number in zip(paths, numbers, strict=True):
            support[number] += np.bincount(_read(path, name, "indices")[0], minlength=len(number))

        def parts() -> Iterator[csr_array]:
            for path, number in zip(paths, numbers, strict=True):
                data, indices, indptr = _read(path, name, "data", "indices", "indptr")
                yield csr_array((data.astype(dtype), number[indices], indptr), shape=(len(indptr) - 1, len(regions)))

        return Pieces(kind, view, size, regions, graphs, support, parts)

    pieces = [read("subgraphs", view, k, f"{view}.{k}") for view, own in enumerate(sizes) for k in own]
    pieces += [read("neighbourhoods", view, r, f"{view}.r{r}") for view, own in enumerate(radii) for r in own]
    sampled, first = {}, 0
    for header in headers:
        for graph, k, share in json.loads(header["sampled"]):
            sampled[first + graph, k] = share
        first += int(header["graphs"])
    return pieces, sampled


def bank_digest(folder: Path) -> str:
    """Return a digest of the graphs and settings of a folder."""
    paths = [_part_path(folder, number) for number in range(len(_sizes(folder)))]
    return hashlib.sha256("".join(_header(path)["key"] for path in paths).encode()).hexdigest()


def _sizes(folder: Path) -> list[int]:
    """Return the number of graphs in each part of a finished folder."""
    try:
        summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    except FileNotFoundError:
        some = any(folder.glob("part-*.safetensors"))
        remedy = "run this again to cut the rest" if some else "give a folder that bank_to_folder made"
        raise DatasetError(f"{folder} has no {'complete ' if some else ''}bank; {remedy}") from None
    except ValueError as error:
        raise DatasetError(f"{folder / SUMMARY} is damaged ({error}); run this again to rewrite it") from error
    _check_format(folder / SUMMARY, summary.get("format") if isinstance(summary, dict) else None)
    parts = summary.get("parts")
    if not isinstance(parts, list) or not all(type(size) is int for size in parts):
        raise DatasetError(f"{folder / SUMMARY} is damaged; run this again to rewrite it")
    return parts


def _part_path(folder: Path, number: int) -> Path:
    return folder / f"part-{number:06d}.safetensors"


def _key(graphs: CodedGraphs, limit: int, seed: int) -> str:
    """Return a digest of the graphs and settings."""
    hasher = hashlib.sha256(
        json.dumps([limit, seed, [[view.sizes, view.radii] for view in graphs.views]], default=int).encode()
    )
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


def _bank_part(graphs: CodedGraphs | None, path: Path, key: str, limit: int, seed: int) -> None:
    """Cut and write one part, unless it exists."""
    if graphs is None:
        return
    banked = bank_block(graphs, limit, seed)
    tensors: dict[str, NDArray[Any]] = {}
    for kinds, letter in ((banked.banks, ""), (banked.neighbourhoods, "r")):
        for view, banks in enumerate(kinds):
            for size, bank in banks.items():
                tensors[f"{view}.{letter}{size}.regions"] = bank.regions
                for column in ("data", "indices", "indptr"):
                    tensors[f"{view}.{letter}{size}.{column}"] = getattr(bank.counts, column)
    header = {
        "format": FORMAT,
        "key": key,
        "graphs": str(len(graphs)),
        "sizes": json.dumps([list(map(int, view.sizes)) for view in graphs.views]),
        "radii": json.dumps([list(map(int, view.radii)) for view in graphs.views]),
        "sampled": json.dumps([[int(graph), int(k), share] for (graph, k), share in banked.sampled.items()]),
        "sha256": json.dumps({name: _digest(tensor) for name, tensor in tensors.items()}),
    }
    header["digest"] = _header_digest(header)
    with atomic_file(path) as temporary:
        temporary.write_bytes(save(tensors, header))


def _bank_unread(part: EncodedPart, path: Path, limit: int, seed: int) -> None:
    """Read, cut and write one part, unless it exists."""
    graphs = part()
    key = _key(graphs, limit, seed)
    _bank_part(None if _holds(path, key) else graphs, path, key, limit, seed)


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


def _read(path: Path, name: str, *columns: str) -> list[NDArray[Any]]:
    """Read and check some arrays of a part."""
    try:
        with safe_open(path, "numpy") as file:
            digests = json.loads(_header(path)["sha256"])
            tensors = {f"{name}.{column}": file.get_tensor(f"{name}.{column}") for column in columns}
    except (SafetensorError, OSError) as error:
        raise _damaged(path) from error
    if any(_digest(tensor) != digests.get(key) for key, tensor in tensors.items()):
        raise _damaged(path)
    return list(tensors.values())


def _digest(tensor: NDArray[Any]) -> str:
    return hashlib.sha256(np.ascontiguousarray(tensor).data).hexdigest()


def _damaged(path: Path) -> _DamagedError:
    return _DamagedError(f"{path} is damaged; remove it and run this again")


@dataclass(frozen=True, eq=False)
class Seen:
    """The result of a first pass over a stream.

    Attributes:
        known: labels and values.
        y: the classes, or None if the graphs have none.
        graphs: number of graphs.
        largest: number of nodes of the largest.
        sizes: their `size_counts`.
        label_names: names of node and edge labels, targets and classes.
        hashes: their `graph_hashes`.
        kind: the kind of the graphs.
    """

    known: DistinctValues
    y: NDArray[Any] | None
    graphs: int
    largest: int
    sizes: NDArray[np.float32]
    label_names: dict[str, dict[Any, str]]
    hashes: NDArray[np.uint64]
    kind: str

    def names_for(self, y: Any) -> dict[str, dict[Any, str]]:
        """Return the names; a ``y`` that does not come from the stream has none."""
        return {
            kind: {} if y is not None and kind in ("target", "class") else own for kind, own in self.label_names.items()
        }


def look(stream: GraphStream, wanted: Callable[[GraphSet], list[str]], show: bool, n_jobs: int | Run = 1) -> Seen:
    """Read a stream once.

    Args:
        wanted: returns the columns to read, given the first chunk.
        show: whether to show a progress bar.
        n_jobs: number of processes, for streams that several can read.
    """
    parts = stream.parts() if isinstance(n_jobs, int) and n_jobs > 1 else None
    with progress.bar("reading", None, show=show) as report:
        if parts is not None and isinstance(n_jobs, int):
            try:
                columns = wanted(parts[0]())
                chunks = _in_processes(((_see_part, (part, columns)) for part in parts), n_jobs)
                seen = _see_all(chunks, stream.name, report)
            except DatasetError:
                pass  # reading in order has the error message
            else:
                stream.graphs = seen.graphs
                return seen
        return _see_all(_see_in_order(stream, wanted), stream.name, report)


def _see_in_order(stream: GraphStream, wanted: Callable[[GraphSet], list[str]]) -> Iterator[tuple[Seen, int | None]]:
    columns: list[str] | None = None
    for chunk in stream:
        columns = wanted(chunk) if columns is None else columns
        yield _see(chunk, columns)


def _see_part(part: Part, columns: list[str]) -> tuple[Seen, int | None]:
    return _see(part(), columns)


def _see(chunk: GraphSet, columns: list[str]) -> tuple[Seen, int | None]:
    """Return the facts about some graphs, and the number of the first directed one."""
    directed = directed_graph(chunk)
    names = {"node": dict(chunk.node_label_names), "edge": dict(chunk.edge_label_names)}
    names.update(target=dict(enumerate(chunk.target_names)), **{"class": dict(chunk.class_names)})
    known, sizes = DistinctValues(columns).add(chunk), size_counts(chunk)
    largest = int(chunk.sizes.max())
    return Seen(known, chunk.y, len(chunk), largest, sizes, names, graph_hashes(chunk), chunk.kind), directed


def _see_all(chunks: Iterable[tuple[Seen, int | None]], name: str, report: Report) -> Seen:
    """Join the results of all chunks."""
    found: list[Seen] = []
    graphs = 0
    for seen, directed in chunks:
        if directed is not None:
            raise InputError(directed_error(graphs + directed, name))
        found.append(seen if not found else replace(seen, known=found[0].known.join(seen.known)))
        graphs += seen.graphs
        report(graphs, "graphs read")
    if not found:
        raise InputError(f"{name} has no graphs; give at least one")
    classes = [seen.y for seen in found]
    names: dict[str, dict[Any, str]] = {"node": {}, "edge": {}, "target": {}, "class": {}}
    for seen in found:
        for what, own in seen.label_names.items():
            names[what].update(own)
    return Seen(
        found[0].known,
        None if any(y is None for y in classes) else np.concatenate([y for y in classes if y is not None]),
        graphs,
        max(seen.largest for seen in found),
        np.concatenate([seen.sizes for seen in found]),
        names,
        np.concatenate([seen.hashes for seen in found]),
        found[-1].kind,
    )


def cut_to_folder(
    stream: GraphStream,
    encoding: Encoding,
    folder: Path,
    seen: Seen,
    limit: int,
    seed: int,
    n_jobs: int | Run,
    show: bool,
) -> None:
    """Read a stream again and store its subgraphs in a folder, except parts that exist."""
    parts = stream.parts() if isinstance(n_jobs, int) and n_jobs > 1 else None
    coded: Iterable[CodedGraphs | EncodedPart] = (
        (encoding.encode(chunk) for chunk in stream)
        if parts is None
        else (EncodedPart(part, encoding) for part in parts)
    )
    with progress.bar("cutting", seen.graphs, show=show) as report:
        bank_to_folder(coded, folder, limit, seed, n_jobs, report)


def pieces_in(folder: Path, seen: Seen, name: str) -> tuple[list[Pieces], dict[tuple[int, int], float]]:
    """Read the pieces that `cut_to_folder` wrote."""
    pieces, sampled = read_pieces(folder)
    if pieces[0].graphs != seen.graphs:
        raise InputError(
            f"{name} held {seen.graphs} graphs when first read and {pieces[0].graphs} afterwards; do not change it "
            f"while it is being read"
        )
    return pieces, sampled


@contextmanager
def bank_folder(given: str | Path | None) -> Iterator[Path]:
    """Yield the folder for banks: the given one, or a temporary one that is removed afterwards."""
    if given is not None:
        yield Path(given)
        return
    with tempfile.TemporaryDirectory(prefix="isonn-bank-") as folder:
        yield Path(folder)
