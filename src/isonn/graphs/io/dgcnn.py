"""Reader of the text format of DGCNN and GIN, in which the paper's PTC is published: all graphs in one file.

The file starts with the number of graphs. Each graph has a line ``n class`` and one line per node:
``label degree neighbour ... [attribute ...]``, neighbours counted from 0 within the graph.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from isonn.errors import DatasetError
from isonn.graphs.graph import GraphSet
from isonn.graphs.io.registry import Reader
from isonn.graphs.io.tables import begins_with_number
from isonn.graphs.join import graphset_from_cells


class TextReader(Reader):
    """Reader of DGCNN and GIN text files; the set is named after the file.

    Graphs are undirected, even if only one of two neighbours lists the other. Numbers after the neighbours are node
    attributes; every node must have the same number of them.
    """

    name = "text"
    expects = "a .txt file of DGCNN or GIN"

    def recognises(self, path: Path) -> bool:
        """Return whether the path is a ``.txt`` file that begins with a number."""
        return path.suffix.lower() == ".txt" and begins_with_number(path)

    def read(self, path: Path) -> GraphSet:
        """Read the graphs of the file."""
        lines = _Lines(path)
        (n_graphs,) = lines.integers("the number of graphs", 1)
        if n_graphs < 1:
            raise lines.error(f"announces {n_graphs} graphs", "give at least one")
        sizes, y, labels, owner, cells, attributes = [], [], [], [], [], []
        for i in range(n_graphs):
            lines.inside = f"graph {i} of {n_graphs}"
            n, graph_class = lines.integers("number of nodes and class", 2)
            if n < 1:
                raise lines.error(f"gives graph {i} of {n_graphs} {n} nodes", "a graph has at least one")
            sizes.append(n)
            y.append(graph_class)
            for node in range(n):
                label, neighbours, numbers = lines.node(n)
                labels.append(label)
                attributes.append(numbers)
                if len(numbers) != (usual := len(attributes[0])):
                    raise lines.error(
                        f"has {len(numbers)} attributes after the neighbours where the nodes before have {usual}",
                        "give every node as many, and check the degree",
                    )
                cells += [(node, neighbour) for neighbour in neighbours]
                owner += [i] * len(neighbours)
        if lines.number < len(lines.lines):
            lines.number += 1
            raise lines.error(f"comes after the last of {n_graphs} graphs", "correct the number of graphs in line 1")
        there = np.array(cells, dtype=np.int64).reshape(-1, 2)
        return graphset_from_cells(
            owner * 2,
            np.concatenate([there, there[:, ::-1]]),
            sizes,
            node_labels=np.array(labels, dtype=np.int64),
            node_attributes=np.array(attributes) if attributes[0] else None,
            y=np.array(y, dtype=np.int64),
            name=path.stem,
        )


READER = TextReader()


class _Lines:
    """The lines of a file, with errors that name the current line."""

    def __init__(self, path: Path) -> None:
        self.path, self.number, self.inside = path, 0, "the header"
        self.lines = path.read_text(encoding="utf-8-sig").rstrip().splitlines()

    def error(self, what: str, remedy: str) -> DatasetError:
        return DatasetError(f"line {self.number} of {self.path} {what}; {remedy}")

    def words(self) -> list[str]:
        if self.number == len(self.lines):
            raise DatasetError(
                f"{self.path} ends after line {self.number}, in the middle of {self.inside}; get the whole file again"
            )
        self.number += 1
        return self.lines[self.number - 1].split()

    def integers(self, what: str, count: int) -> list[int]:
        """Read the next line, ``count`` integers."""
        words = self.words()
        try:
            values = [int(word) for word in words]
        except ValueError:
            values = []
        if len(values) != count:
            raise self.error(f"is {' '.join(words)!r:.60}", f"{what} belongs there ({count} integers)")
        return values

    def node(self, n: int) -> tuple[int, list[int], list[float]]:
        """Read the label, the neighbours and the attributes of the next node, of a graph of n nodes."""
        words = self.words()
        try:
            label, degree = int(words[0]), int(words[1])
            neighbours = [int(word) for word in words[2 : 2 + degree]]
            attributes = [float(word) for word in words[2 + degree :]]
        except (ValueError, IndexError):
            raise self.error(
                f"is {' '.join(words)!r:.60}", "a node is 'label degree neighbours...', integers, then its attributes"
            ) from None
        if len(neighbours) != degree:
            raise self.error(
                f"promises {degree} neighbours and has {len(neighbours)}", "correct the degree or the neighbours"
            )
        wrong = next((neighbour for neighbour in neighbours if not 0 <= neighbour < n), None)
        if wrong is not None:
            raise self.error(f"has the neighbour {wrong} in a graph with nodes 0 to {n - 1}", "correct it")
        if not np.isfinite(attributes).all():
            raise self.error("has an attribute that is not finite", "replace NaN and infinity by numbers")
        return label, neighbours, attributes
