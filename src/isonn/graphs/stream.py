"""Read graphs a few thousand at a time, for datasets larger than memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from isonn.errors import InputError
from isonn.graphs.convert import as_graphset
from isonn.graphs.datasets.registry import known, locate, read_entry
from isonn.graphs.graph import GraphSet
from isonn.graphs.io.registry import name_of, path_pieces
from isonn.graphs.join import difference
from isonn.params import check_count
from isonn.processes import Run

#: Default number of graphs per chunk: a few megabytes of molecules.
AT_ONCE = 4096

Pieces = Callable[[], Iterable[GraphSet]]


class GraphStream:
    """Graphs in chunks, each a `GraphSet`, created by :func:`isonn.stream`. Each iteration reads them again.

    Attributes:
        name: the name of the set in tables and errors.
        at_once: number of graphs per chunk; the last may have fewer.
        graphs: the number of graphs, known after the first complete iteration.
        whole: the graphs if all are in memory as one chunk, else None.
        bank: the folder for counted subgraphs, or None.
        workers: number of threads that count graphs, a function that counts them elsewhere, or None.

    Example:
        >>> chunks = isonn.stream("MUTAG", at_once=100)
        >>> [len(chunk) for chunk in chunks], chunks.graphs
        ([100, 88], 188)
    """

    graphs: int | None = None
    whole: GraphSet | None = None
    bank: Path | None = None
    workers: int | Run | None = None

    def __init__(self, pieces: Pieces, name: str, at_once: int) -> None:
        check_count("at_once", at_once)
        self._pieces, self.name, self.at_once = pieces, name, at_once

    def __iter__(self) -> Iterator[GraphSet]:
        waiting: list[GraphSet] = []
        room, total = self.at_once, 0
        for piece in self._pieces():
            start, total = 0, total + len(piece)
            while start < len(piece):
                graphs = piece if room >= len(piece) and not start else piece[start : start + room]
                waiting.append(graphs)
                start, room = start + len(graphs), room - len(graphs)
                if not room:
                    yield GraphSet.concat(waiting, self.name)
                    waiting, room = [], self.at_once
        if waiting:
            yield GraphSet.concat(waiting, self.name)
        self.graphs = total

    def __repr__(self) -> str:
        return f"GraphStream({self.name}, {self.at_once} graphs at once)"


def as_stream(X: Any) -> GraphStream:
    """Return a stream as it is, and graphs in memory as a stream of one chunk.

    Args:
        X: a stream, a `GraphSet`, or anything `isonn.as_graphset` takes.
    """
    if isinstance(X, GraphStream):
        return X
    graphs = as_graphset(X)
    chunk = GraphStream(lambda: [graphs], graphs.name, max(1, len(graphs)))
    chunk.graphs, chunk.whole = len(graphs), graphs
    return chunk


def stream(
    source: Any,
    at_once: int | None = None,
    *,
    bank: str | os.PathLike[str] | None = None,
    workers: int | Run | None = None,
    **options: Any,
) -> GraphStream:
    """Read graphs a few thousand at a time, for data that does not fit in memory.

    Chunks are slices of the set that :func:`isonn.load` would return. A TU folder should be sorted by graph, as the
    public collection is; else it is read whole, with a warning. A folder of many datasets is read one file at a time.

    Args:
        source: a name or path as in `isonn.load`; a `GraphSet`; a list of them; or a function that returns a new
            iterator over them on each call.
        at_once: number of graphs per chunk; None means 4,096.
        bank: a folder in which ``fit`` keeps the subgraphs it counted, so that a stopped run does not count them again;
            None uses a temporary folder.
        workers: number of threads that count graphs in ``fit``, or a function that counts them on a cluster
            (`isonn.experiments.cluster.calls_on_cluster`); None uses the estimator's ``n_jobs``.
        options: options for a name or path, as in `isonn.load`.

    Returns:
        The stream, to iterate over or to give to ``fit``; each iteration reads the graphs again.

    Example:
        >>> [len(chunk) for chunk in stream("MUTAG", at_once=100)]
        [100, 88]
    """
    graphs = _stream(source, AT_ONCE if at_once is None else at_once, options)
    if workers is not None and not callable(workers):
        check_count("workers", workers)
    graphs.bank, graphs.workers = None if bank is None else Path(bank), workers
    return graphs


def _stream(source: Any, at_once: int, options: dict[str, Any]) -> GraphStream:
    if isinstance(source, GraphStream):
        return GraphStream(source._pieces, source.name, at_once)
    if isinstance(source, (str, os.PathLike)):
        return _from_path(source, at_once, options)
    if options:
        raise InputError(
            f"options such as {next(iter(options))!r} go with a path; source is of type {type(source).__name__}"
        )
    if isinstance(source, GraphSet):
        return GraphStream(lambda: [source], source.name, at_once)
    if callable(source):
        return GraphStream(lambda: _checked(source()), "graphs", at_once)
    if isinstance(source, Iterator):
        raise InputError(
            "source is an iterator, which can be read only once; give a list, or a function that returns an iterator"
        )
    if isinstance(source, Iterable):
        return GraphStream(lambda: _checked(source), "graphs", at_once)
    raise InputError(f"source={source!r:.60} is not a stream of graphs; give a path, or a list of GraphSets")


def _from_path(source: str | os.PathLike[str], at_once: int, options: dict[str, Any]) -> GraphStream:
    entry, path = locate(source)
    if entry is not None and entry in known():  # these are small, and `read_entry` checks their contents
        return GraphStream(lambda: [read_entry(entry, path, **options)], entry.name, at_once)
    return GraphStream(lambda: path_pieces(path, at_once, **options), name_of(path), at_once)


def _checked(sets: Iterable[Any]) -> Iterator[GraphSet]:
    """Yield the sets; raise an error if their fields differ."""
    first = None
    for number, graphs in enumerate(sets):
        if not isinstance(graphs, GraphSet):
            raise InputError(
                f"item {number} of the stream is of type {type(graphs).__name__}; give GraphSets, such as "
                f"isonn.as_graphset makes"
            )
        first = first or graphs
        if reason := difference(first, graphs):
            raise InputError(f"item {number} of the stream ({graphs.name}) {reason}; give sets with the same fields")
        yield graphs
