"""TU folders for tests, written line by line."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from isonn.graphs.graph import GraphSet

FILES = {
    "A": ["1, 2", "2, 1", "3, 4", "4, 3", "4, 5", "5, 4"],
    "graph_indicator": ["1", "1", "2", "2", "2"],
    "graph_labels": ["-1", "1"],
}


def write(folder: Path, name: str = "DS", **files: list[str] | None) -> Path:
    for key, lines in {**FILES, **files}.items():
        if lines is not None:
            (folder / f"{name}_{key}.txt").write_text("".join(f"{line}\n" for line in lines))
    return folder


def write_tu(folder: Path, graphs: GraphSet, order: np.ndarray) -> Path:
    """A set as a TU folder with its nodes listed in the given order."""
    owner = np.repeat(np.arange(len(graphs)), graphs.sizes)
    line = np.empty(len(order), dtype=np.int64)
    line[order] = np.arange(1, len(order) + 1)
    cells = line[graphs.edges + graphs.node_offsets[graphs.graph_of_cell, None]]
    return write(
        folder,
        A=[f"{u}, {v}" for u, v in cells.tolist()],
        graph_indicator=[str(i + 1) for i in owner[order]],
        graph_labels=[str(label) for label in graphs.y],
        node_labels=[str(label) for label in graphs.node_labels[order]],
        edge_labels=[str(label) for label in graphs.edge_labels],
    )
