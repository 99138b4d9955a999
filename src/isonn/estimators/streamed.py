"""Graphs too many to hold: read twice, a few thousand at a time, and kept on disk as banks of subgraphs."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isonn import progress
from isonn.data.graphs import GraphSet
from isonn.data.streams import GraphStream
from isonn.errors import InputError, IsoNNWarning
from isonn.estimators.encoding import Encoding, directed_graph
from isonn.estimators.gathering import Gathering
from isonn.matching.bank_files import Run, bank_to_folder, read_banks
from isonn.matching.subgraph_bank import Banked


@dataclass(frozen=True, eq=False)
class Seen:
    """What a first look at a stream found.

    Attributes:
        known: labels and values.
        y: the classes, or None when the graphs have none.
        graphs: how many there are.
        largest: nodes of the largest.
    """

    known: Gathering
    y: NDArray[Any] | None
    graphs: int
    largest: int


def look(stream: GraphStream, wanted: Callable[[GraphSet], list[str]], show: bool) -> Seen:
    """Read a stream once.

    Args:
        wanted: which columns to gather, from the first chunk.
        show: whether to show a progress bar.
    """
    known: Gathering | None = None
    classes: list[NDArray[Any] | None] = []
    graphs = largest = 0
    with progress.bar("reading", None, show=show) as report:
        for chunk in stream:
            known = known or Gathering(wanted(chunk))
            i = directed_graph(chunk)
            if i is not None:
                raise InputError(
                    f"graph {graphs + i} of {stream.name} is directed: an edge differs from the one back; subgraph "
                    f"regions are for undirected graphs, so make it symmetric, or use IsoNNClassifier"
                )
            known.add(chunk)
            classes.append(chunk.y)
            graphs, largest = graphs + len(chunk), max(largest, int(chunk.sizes.max()))
            report(graphs, "graphs read")
    if known is None:
        raise InputError(f"{stream.name} holds no graph; give at least one")
    y = (
        None
        if any(part is None for part in classes)
        else np.concatenate([part for part in classes if part is not None])
    )
    return Seen(known, y, graphs, largest)


def cut_to_folder(
    stream: GraphStream,
    encoding: Encoding,
    folder: Path,
    seen: Seen,
    limit: int,
    seed: int,
    jobs: int | Run,
    show: bool,
) -> None:
    """Read a stream again and keep its subgraphs in a folder; what is there already is not cut again."""
    with progress.bar("cutting", seen.graphs, show=show) as report:
        bank_to_folder((encoding.encode(chunk) for chunk in stream), folder, limit, seed, jobs, report)


def banks_of(folder: Path, seen: Seen, name: str) -> Banked:
    """The banks that `cut_to_folder` made."""
    banked = read_banks(folder)
    found = next(iter(banked.banks[0].values())).counts.shape[0]
    if found != seen.graphs:
        raise InputError(
            f"{name} held {seen.graphs} graphs when it was read first and {found} afterwards; leave it as it is while "
            f"it is being read"
        )
    return banked


@contextmanager
def bank_folder(given: str | Path | None) -> Iterator[Path]:
    """The folder for banks: the one given, or one that is gone afterwards."""
    if given is not None:
        yield Path(given)
        return
    with tempfile.TemporaryDirectory(prefix="isonn-bank-") as folder:
        yield Path(folder)


def sampled_shares(banked: Banked, graphs: int, name: str) -> dict[int, float]:
    """The graphs whose subgraphs were sampled, with the smallest share of any size; said once."""
    shares: dict[int, float] = {}
    for (graph, _), share in banked.sampled.items():
        shares[graph] = min(share, shares.get(graph, 1.0))
    if shares:
        warnings.warn(
            f"{len(shares)} of {graphs} graphs of {name} have more subgraphs than max_subgraphs and were "
            f"sampled, the largest at {min(shares.values()):.1%}; expected counts stay right",
            IsoNNWarning,
            stacklevel=2,
        )
    return shares
