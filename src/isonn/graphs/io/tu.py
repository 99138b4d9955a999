"""Reader of TU folders, the format of the TUDataset benchmarks, whole or a few graphs at a time.

Lines are read in the order of the graphs. A folder that is not sorted by graph can only be read whole, because its
lines are sorted in memory first.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from isonn.graphs.graph import GraphSet
from isonn.graphs.io.registry import Reader
from isonn.graphs.io.tu_graphs import Labels, UnsortedError, check_end, next_graphs, targets_of, tu_name
from isonn.graphs.io.tu_lines import file_lines, sorted_lines
from isonn.graphs.io.tu_parts import TUPart, tu_parts


class TUReader(Reader):
    """Reader of TU folders, whole with `read_tu` and in pieces with `tu_pieces`."""

    name = "tu"
    expects = "a TU folder (*_A.txt)"

    def recognises(self, path: Path) -> bool:
        """Return whether the path is a folder with a ``*_A.txt`` file, or that file (`read` then names the folder)."""
        return any(path.glob("*_A.txt")) if path.is_dir() else path.name.endswith("_A.txt")

    def read(self, path: Path, *, target: str | None = None) -> GraphSet:
        """See `read_tu`."""
        return read_tu(path, target)

    def stream(self, path: Path, at_once: int, *, target: str | None = None) -> Iterator[GraphSet]:
        """See `tu_pieces`."""
        return tu_pieces(path, at_once, target)

    def parts(self, path: Path, at_once: int, *, target: str | None = None) -> list[TUPart] | None:
        """See `tu_parts`."""
        return tu_parts(path, at_once, target)

    def title(self, path: Path) -> str:
        """Return the part of the file name before ``_A.txt``."""
        return tu_name(path)


READER = TUReader()


def read_tu(folder: str | os.PathLike[str], target: str | None = None) -> GraphSet:
    """Read the graphs of a TU folder; ``DS`` below is the part of the file name before ``_A.txt``.

    ===============================  ================================================================
    ``DS_A.txt``                     a line ``row, column`` per cell, nodes counted from 1 over all
                                     graphs; a repeated line counts once
    ``DS_graph_indicator.txt``       the graph of each node, from 1; need not be sorted
    ``DS_graph_labels.txt``          the class of each graph
    ``DS_graph_attributes.txt``      optional, the numbers to predict for each graph
    ``DS_node_labels.txt``           optional
    ``DS_edge_labels.txt``           optional, one per line of ``DS_A.txt``
    ``DS_node_attributes.txt``       optional, real numbers
    ===============================  ================================================================

    Labels of several columns become one number per distinct row; ``node_label_names`` or ``edge_label_names`` map it to
    the row. Edge attributes are not read.

    Args:
        target: read ``y`` from "labels" or "attributes"; None prefers labels.
    """
    folder = Path(folder)
    try:
        (graphs,) = tu_pieces(folder, None, target)
    except UnsortedError:
        (graphs,) = tu_pieces(folder, None, target, in_memory=True)
    return graphs


def tu_pieces(
    folder: Path, at_once: int | None, target: str | None = None, in_memory: bool = False
) -> Iterator[GraphSet]:
    """Yield the result of `read_tu` in slices of ``at_once`` graphs, or whole; hold only ``y`` in memory.

    Args:
        in_memory: read all lines first and sort them by graph.
    """
    name = tu_name(folder)
    y, y_file = targets_of(folder, name, target)
    labels = {what: Labels(folder / f"{name}_{what}_labels.txt") for what in ("node", "edge")}
    with ExitStack() as stack:
        lines = sorted_lines(folder, name) if in_memory else file_lines(folder, name, stack, whole=at_once is None)
        step = len(y) if at_once is None else at_once
        for first in range(0, len(y), step):
            stop = min(first + step, len(y))
            yield next_graphs(lines, labels, name, y[first:stop], first, len(y), y_file)
        check_end(lines, len(y), y_file)
